"""The paper's class-conditional methods: densities by maximum likelihood, Bayes' rule."""

from __future__ import annotations

import numpy as np

from bayescal.engines.data import BinaryScores
from bayescal.engines.maximum_likelihood import fit_classes
from bayescal.families import FAMILIES, ScaleFloorOption
from bayescal.methods.method import Labels
from bayescal.validation import Floats


def maximum_likelihood(
    scores: Floats,
    labels: Labels,
    new: Floats,
    *,
    family: str,
    candidates: str = "exact",
    scale_floor: ScaleFloorOption = "auto",
) -> Floats:
    """
    Return log-odds by densities of a family fitted to each class, prior (n_+ + 1)/(n + 2).

    Parameters
    ----------
    scores, labels, new
        See `Problem`.
    family : str
        A name in `bayescal.families.FAMILIES`.
    candidates, scale_floor
        Of the fit: see `bayescal.families.asymmetric_laplace.fit`. The paper's are "bennett" and
        None. For the paper's ten topics, which are large, neither changes its table.
    """
    data = BinaryScores(scores, np.asarray(labels) == 1)
    fits = fit_classes(FAMILIES[family], data, candidates=candidates, scale_floor=scale_floor)
    return fits.log_odds(new)


def raw(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return the new scores as they are: right only if they are calibrated log-odds."""
    return new
