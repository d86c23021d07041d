"""Hyperparameters that users can set for many topics: of populations, or of each topic's prior."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from bayescal.families import Family
from bayescal.fitting.engines.exact.mixture import Hyperparameters
from bayescal.fitting.engines.pooled.population import (
    DENSITY_NAMES,
    LOG_ODDS_NAMES,
    OF_RATES,
    OF_SHARE,
    REACH,
    Normal,
)
from bayescal.support.validation import as_reals, check_count, check_positive

UNITS, SEGMENTS = ("centre", "spread"), "n_segments"
# Exponentials of numbers so far from 0 are still distinct from 0, 1 and infinity.
FURTHEST = 35.0


@dataclass(frozen=True)
class TopicHyperparameters:
    """Hyperparameters that differ from the defaults."""

    # of the normal priors of populations' hyperparameters, by name
    populations: Mapping[str, Normal] = field(default_factory=dict)
    # keyword arguments of the families' programs: centre, spread, and of topics without a
    # population the prior of each; see `engines.exact.hyperparameters`
    own: Mapping[str, float] = field(default_factory=dict)
    n_segments: int | None = None  # pieces of monotone log-odds, at most


def read_hyperparameters(
    stated: Mapping[str, Any] | None, pooling: str, families: Sequence[Family]
) -> TopicHyperparameters:
    """Return the hyperparameters that users gave."""
    values = dict(stated or {})
    known = known_names(pooling, families)
    if unknown := sorted(set(values) - set(known)):
        raise ValueError(
            f"prior_knowledge of topics with pooling={pooling!r} and family"
            f" {', '.join(repr(family.name) for family in families)} may hold {', '.join(known)};"
            f" got {', '.join(map(repr, unknown))}."
        )
    segments = values.pop(SEGMENTS, None)
    if segments is not None:
        check_count(SEGMENTS, segments)
    of_topics = {each.name for each in fields(Hyperparameters)}
    return TopicHyperparameters(
        populations={k: _normal(k, v) for k, v in values.items() if k not in of_topics},
        own={k: v for k, v in values.items() if k in of_topics},
        n_segments=segments,
    )


def known_names(pooling: str, families: Sequence[Family]) -> list[str]:
    """Return the names of all hyperparameters that there are."""
    symmetric = all(family.symmetric for family in families)
    if pooling == "partial":
        shares = [DENSITY_NAMES[k] for k in OF_SHARE] if symmetric else []
        names = [*UNITS, *(name for name in DENSITY_NAMES if name not in shares), *OF_RATES]
        return [*names, *LOG_ODDS_NAMES, SEGMENTS] if len(families) > 1 else names
    own = [each.name for each in fields(Hyperparameters)]
    if symmetric:
        own = [name for name in own if not name.startswith("share")]
    if pooling == "none":
        return own
    # One density for all topics; their base rates still have a population.
    return [*(name for name in own if not name.startswith("prior")), *OF_RATES]


def _normal(name: str, value: Any) -> Normal:
    """Return a mean and a standard deviation."""
    try:
        pair = as_reals(value, name)
    except ValueError:
        pair = np.empty(0)
    if pair.shape != (2,):
        raise ValueError(
            f"{name} must be the mean and the standard deviation of a normal prior, such as"
            f" (0.0, 1.0), got {value!r}."
        )
    mean, deviation = pair.tolist()
    if not math.isfinite(mean):
        raise ValueError(f"the mean of {name} must be finite, got {mean}.")
    check_positive(**{f"the standard deviation of {name}": deviation})
    if name.startswith("log") and abs(mean) + REACH * deviation > FURTHEST:
        raise ValueError(
            f"{name} must lie within {FURTHEST:g} of 0, {REACH:g} standard deviations from the mean"
            f" too, got {mean:g} and {deviation:g}: it is a logarithm."
        )
    return mean, deviation
