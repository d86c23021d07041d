"""One of many topics, as a function of scores."""

from __future__ import annotations

import numpy as np

from bayescal.bayes import class_prior
from bayescal.curves.combined_draws import ModelCurves
from bayescal.curves.densities import SIDES
from bayescal.engines.data import KLASS
from bayescal.engines.maximum_likelihood import ClassFits
from bayescal.families import Family, Fit, ScaleFloor
from bayescal.parts.places import COMBINATION, Groups
from bayescal.results.calibration import Calibration
from bayescal.results.topic_documents import read_range, read_scores_are
from bayescal.results.topic_parts import read_topic
from bayescal.results.topics import read_curve, read_scale
from bayescal.validation import Floats


def topic_calibration(groups: Groups, family: Family, topic: int | None) -> Calibration:
    """
    Return a topic's calibration: its pooled posterior, and its own maximum likelihood.

    Parameters
    ----------
    groups : mapping of str to Dataset
        What `results.topics.build_topics` returns.
    family : Family
        Of the densities; of a combination, of the first of them.
    topic : int or None
        Its position; None for a topic without documents, for which the population answers.

    Returns
    -------
    Calibration
        The parameters of its `fits` are nan for a class without documents.
    """
    centre, spread = read_scale(groups)
    draws: ModelCurves
    draws = (
        read_topic(groups, topic) if COMBINATION in groups else read_curve(groups, family, topic)
    )
    return Calibration(
        fits=_fits(groups, family, topic),
        draws=draws,
        centre=centre,
        spread=spread,
        score_range=read_range(groups, topic),
        scores_are=read_scores_are(groups),
    )


def _fits(groups: Groups, family: Family, topic: int | None) -> ClassFits:
    # Variables, not arrays with coordinates: thousands of topics are read one by one.
    known = groups["topics"].variables

    def own(name: str) -> Floats:
        if topic is None:
            return np.full(len(KLASS), 0.0 if name == "documents" else np.nan)
        values: Floats = known[name].isel(topic=topic).values
        return values

    documents, sides = own("documents"), np.stack([own(name) for name in SIDES])
    fits = []
    for k in range(len(KLASS)):
        densities = family.of_class(bool(k))
        values = map(float, densities.from_sides(*sides[:, k]))
        parameters = dict(zip(densities.parameters, values, strict=True))
        # Results keep neither; nothing that is drawn asks for them.
        fits.append(Fit(parameters, np.nan, float(documents[k]), ScaleFloor("", 0.0, ())))
    prior = class_prior(float(documents[1]), float(documents.sum()))
    return ClassFits(family, fits[0], fits[1], prior)
