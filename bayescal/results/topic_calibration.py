"""One topic of a tree of many topics, as a function of scores."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayescal.bayes import class_prior
from bayescal.engines.data import KLASS
from bayescal.engines.maximum_likelihood import ClassFits
from bayescal.engines.parts import COMBINATION
from bayescal.families import Family, Fit, Guard
from bayescal.results.calibration import Calibration
from bayescal.results.curves import Curves
from bayescal.results.densities import SIDES
from bayescal.results.topic_parts import read_topic
from bayescal.results.topics import read_curve, read_scale

# A density has all but vanished so many sides from its mode.
SIDES_SHOWN = 4.0


def topic_calibration(tree: xr.DataTree, family: Family, topic: int) -> Calibration:
    """
    Return a topic's calibration: its pooled posterior, and its own maximum likelihood.

    Parameters
    ----------
    tree : xarray.DataTree
        What `results.topics.build_topics` returns.
    family : Family
        Of the densities; of a combination, of the first of them.
    topic : int
        Its position.

    Returns
    -------
    Calibration
        Its reach is that of the densities, for the tree holds no scores; the parameters of `fits`
        are nan for a class without documents.
    """
    centre, spread = read_scale(tree)
    draws: Curves
    draws = read_topic(tree, topic) if COMBINATION in tree else read_curve(tree, family, topic)
    return Calibration(
        fits=_fits(tree["topics"].to_dataset().isel(topic=topic), family),
        draws=draws,
        centre=centre,
        spread=spread,
        reach=_reach(tree["posterior"].to_dataset().isel(topic=topic)),
        scores_are="scores",
    )


def _fits(topic: xr.Dataset, family: Family) -> ClassFits:
    documents = topic["documents"].values
    fits = []
    for k in range(len(KLASS)):
        sides = (topic[name].values[k] for name in SIDES)
        densities = family.of_class(bool(k))
        values = map(float, densities.from_sides(*map(np.asarray, sides)))
        parameters = dict(zip(densities.parameters, values, strict=True))
        # The tree keeps neither; nothing that is drawn asks for them.
        fits.append(Fit(parameters, np.nan, float(documents[k]), Guard("", 0.0, ())))
    prior = class_prior(float(documents[1]), float(documents.sum()))
    return ClassFits(family, fits[0], fits[1], prior)


def _reach(posterior: xr.Dataset) -> tuple[float, float]:
    theta, left, right = (posterior[name].median(("chain", "draw")).values for name in SIDES)
    low, high = theta - SIDES_SHOWN * left, theta + SIDES_SHOWN * right
    return float(low.min()), float(high.max())
