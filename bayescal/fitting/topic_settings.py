"""Checked settings from the parameters of a TopicCalibrator, and their legal values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bayescal.families import FAMILIES, Family
from bayescal.fitting.engines.pooled.combination import DENSITIES
from bayescal.fitting.engines.pooled.engine import POOLINGS
from bayescal.fitting.engines.pooled.hyperparameters import UNITS, read_hyperparameters
from bayescal.fitting.engines.pooled.nuts import Sampler
from bayescal.fitting.parts.combination import COMBINED
from bayescal.fitting.parts.configured import AUTO, NUTS
from bayescal.fitting.parts.densities import DENSITIES as DENSITIES_PART
from bayescal.fitting.results.calibration import POINTS
from bayescal.fitting.settings import REFERENCE, SCORES_ARE, read_lapse, resolve_scores
from bayescal.fitting.topic_fitting import TopicOptions
from bayescal.support.randomness import generator
from bayescal.support.validation import check_choice, check_count, warn_user

FAMILY_NAMES = ("gaussian", "laplace", REFERENCE, "asymmetric_gaussian")
PART_NAMES = (AUTO, COMBINED, DENSITIES_PART.name, *FAMILY_NAMES)
INFERENCES = ("exact", "nuts")
NEW_TOPICS = ("population", "error")


def read_topic_options(estimator: Any) -> TopicOptions:
    """Return the settings of a TopicCalibrator's fit."""
    parts, pooling = estimator.parts, estimator.pooling
    inference, sampler = _read_inference(estimator.inference)
    check_choice("pooling", pooling, POOLINGS)
    check_choice("parts", parts, PART_NAMES)
    check_choice("new_topics", estimator.new_topics, NEW_TOPICS)
    check_choice("scores_are", estimator.scores_are, SCORES_ARE)
    if estimator.point is not None:
        check_choice("point", estimator.point, tuple(POINTS))
    if sampler is not None:
        _check_sampled(pooling, parts == COMBINED)
    if parts == COMBINED:
        _check_combined(pooling)
    for name in ("draws", "chains"):
        check_count(name, getattr(estimator, name))
    families = families_of(estimator, pooling)
    lapse = read_lapse(estimator.lapse)
    if lapse and len(families) == 1:
        raise ValueError(
            f"lapse={estimator.lapse!r} needs the combination, parts='combined' with"
            f" pooling='partial' and inference='exact'; got parts={estimator.parts!r},"
            f" pooling={pooling!r}, inference={inference!r}."
        )
    return TopicOptions(
        families=families,
        pooling=pooling,
        hyperparameters=read_hyperparameters(estimator.hyperparameters, pooling, families),
        chains=estimator.chains,
        draws=estimator.draws,
        scores_are=resolve_scores(estimator.scores_are),
        sampler=sampler,
        rng=generator(estimator.random_state),
        lapse=lapse,
    )


def for_topics(options: TopicOptions, estimator: Any, topics: int) -> TopicOptions:
    """Return the options for so many topics: one makes no population."""
    if topics > 1 or options.pooling != "partial":
        return options
    if of_population := sorted(set(estimator.hyperparameters or {}) - set(UNITS)):
        raise ValueError(
            f"one topic makes no population, which hyperparameters {', '.join(of_population)} are"
            " of: give further topics, or pooling='none' and its hyperparameters."
        )
    warn_user("one topic makes no population: it is fitted by itself, as pooling='none' would.")
    return replace(options, pooling="none", families=families_of(estimator, "none"), sampler=None)


def families_of(estimator: Any, pooling: str) -> tuple[Family, ...]:
    """Return the families of densities that parameters mean; several are combined."""
    parts = estimator.parts
    implied = parts == AUTO and pooling == "partial" and estimator.inference == "exact"
    if parts == COMBINED or implied:
        return tuple(FAMILIES[name] for name in DENSITIES)
    return (FAMILIES[parts if parts in FAMILY_NAMES else REFERENCE],)


def _read_inference(inference: Any) -> tuple[str, Sampler | None]:
    """Return the name of an inference, and the sampler of "nuts"."""
    if not isinstance(inference, NUTS):
        check_choice("inference", inference, INFERENCES)
        return inference, Sampler() if inference == "nuts" else None
    if inference.program is not None or inference.hyperparameters is not None:
        raise ValueError(
            "NUTS of a TopicCalibrator samples the program models/topics.py, whose hyperparameters"
            f" are those of the calibrator: give neither program nor hyperparameters; got"
            f" {inference!r}."
        )
    inference.check_flags()
    return inference.name, Sampler(inference.sampler_options, inference.progressbar)


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


def _check_combined(pooling: str) -> None:
    if pooling != "partial":
        raise ValueError(
            f"parts='combined' needs pooling='partial', got pooling={pooling!r}: choose"
            " 'densities', or leave it at 'auto'."
        )
