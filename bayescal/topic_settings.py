"""What the parameters of a TopicCalibrator say, checked; the names that they may be."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from bayescal.engines.pooled.engine import POOLINGS
from bayescal.engines.pooled.hyperparameters import UNITS, read_hyperparameters
from bayescal.engines.pooled.sampled import Sampler
from bayescal.engines.pooled.weights import DENSITIES
from bayescal.families import FAMILIES, Family
from bayescal.parts.densities import DENSITIES as DENSITIES_PART
from bayescal.parts.stack import COMBINED
from bayescal.randomness import generator
from bayescal.results.calibration import POINTS
from bayescal.settings import (
    AUTO,
    REFERENCE,
    SCORES_ARE,
    modern_names,
    read_lapse,
    resolve_scores,
)
from bayescal.topic_fitting import TopicOptions
from bayescal.validation import check_choice, check_count

FAMILY_NAMES = (AUTO, "gaussian", "laplace", REFERENCE, "asymmetric_gaussian")
PART_NAMES = (AUTO, COMBINED, DENSITIES_PART.name)
INFERENCES = ("exact", "nuts")
NEW_TOPICS = ("population", "error")


def read_topic_options(estimator: Any) -> TopicOptions:
    """
    Return what a TopicCalibrator's parameters ask to fit.

    Parameters
    ----------
    estimator : TopicCalibrator
        Or any object with its parameters as attributes.

    Raises
    ------
    ValueError
        If a parameter is unknown, out of range, or does not go with another.
    """
    parts, family = modern_names(estimator.parts, estimator.family)
    pooling, inference = estimator.pooling, estimator.inference
    check_choice("pooling", pooling, POOLINGS)
    check_choice("parts", parts, PART_NAMES)
    check_choice("family", family, FAMILY_NAMES)
    check_choice("inference", inference, INFERENCES)
    check_choice("new_topics", estimator.new_topics, NEW_TOPICS)
    check_choice("scores_are", estimator.scores_are, SCORES_ARE)
    if estimator.point is not None:
        check_choice("point", estimator.point, tuple(POINTS))
    sampled = inference != "exact"
    if sampled:
        _check_sampled(pooling, parts == COMBINED)
    if parts == COMBINED:
        _check_combined(pooling, family)
    for name in ("draws", "chains"):
        check_count(name, getattr(estimator, name))
    families = families_of(estimator, pooling)
    lapse = read_lapse(estimator.lapse)
    if lapse and len(families) == 1:
        raise ValueError(
            f"lapse={estimator.lapse!r} needs the combination, parts='combined' with"
            f" pooling='partial' and inference='exact'; got parts={estimator.parts!r},"
            f" pooling={pooling!r}, inference={inference!r}, family={estimator.family!r}."
        )
    return TopicOptions(
        families=families,
        pooling=pooling,
        hyperparameters=read_hyperparameters(estimator.hyperparameters, pooling, families),
        chains=estimator.chains,
        draws=estimator.draws,
        scores_are=resolve_scores(estimator.scores_are),
        sampler=Sampler(estimator.sampler_options, estimator.progressbar) if sampled else None,
        rng=generator(estimator.random_state),
        lapse=lapse,
    )


def for_topics(options: TopicOptions, estimator: Any, topics: int) -> TopicOptions:
    """
    Return the options for so many topics: one makes no population.

    Raises
    ------
    ValueError
        If hyperparameters are of the population that there is not.

    Warns
    -----
    UserWarning
        If one topic is fitted by itself, where a population was asked for.
    """
    if topics > 1 or options.pooling != "partial":
        return options
    if of_population := sorted(set(estimator.hyperparameters or {}) - set(UNITS)):
        raise ValueError(
            f"one topic makes no population, which hyperparameters {', '.join(of_population)} are"
            " of: give further topics, or pooling='none' and its hyperparameters."
        )
    warnings.warn(
        "one topic makes no population: it is fitted by itself, as pooling='none' would.",
        stacklevel=3,
    )
    return replace(options, pooling="none", families=families_of(estimator, "none"), sampler=None)


def families_of(estimator: Any, pooling: str) -> tuple[Family, ...]:
    """Return the families of densities that parameters mean; several are combined."""
    parts, family = estimator.parts, estimator.family
    implied = (parts, family) == (AUTO, AUTO) and pooling == "partial"
    if COMBINED in (parts, family) or (implied and estimator.inference == "exact"):
        return tuple(FAMILIES[name] for name in DENSITIES)
    return (FAMILIES[REFERENCE if family == AUTO else family],)


def _check_sampled(pooling: str, combined: bool) -> None:
    if pooling != "partial":
        raise ValueError(
            "inference must be 'exact' unless pooling is 'partial', got 'nuts' with"
            f" pooling={pooling!r}: without a population every topic's posterior is exact."
        )
    if combined:
        raise ValueError(
            "parts must be 'densities' with inference='nuts', got 'combined': its other parts"
            " are no draws of the program; leave inference at 'exact'."
        )


def _check_combined(pooling: str, family: str) -> None:
    if pooling != "partial":
        raise ValueError(
            f"parts='combined' needs pooling='partial', got pooling={pooling!r}: choose"
            " 'densities', or leave it at 'auto'."
        )
    if family != AUTO:
        raise ValueError(
            "family must be 'auto' with parts='combined', whose densities are of two families;"
            f" got {family!r}."
        )
