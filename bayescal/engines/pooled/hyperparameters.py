"""What users may say of the priors of many topics: of their populations, or of each topic's own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from bayescal.engines.exact.hyperparameters import Hyperparameters
from bayescal.engines.pooled import log_odds_population
from bayescal.engines.pooled.base_rates import OF_RATES, REACH
from bayescal.engines.pooled.hyperprior import Normal
from bayescal.engines.pooled.population import NAMES, OF_SHARE
from bayescal.families import Family
from bayescal.validation import check_count, check_positive

UNITS, SEGMENTS = ("centre", "spread"), "n_segments"
# So far from 0 what logarithms and log-odds are of can still be told from 0, 1 and infinity.
FURTHEST = 35.0


@dataclass(frozen=True)
class TopicHyperparameters:
    """
    What is not the default.

    Attributes
    ----------
    populations : mapping of str to (mean, standard deviation)
        Of the normal priors of populations' hyperparameters, by name.
    own : mapping of str to float
        Keyword arguments of the families' programs: centre, spread, and of topics without a
        population the prior of each; see `engines.exact.hyperparameters`.
    n_segments : int or None
        Pieces of monotone log-odds, at most.
    """

    populations: Mapping[str, Normal] = field(default_factory=dict)
    own: Mapping[str, float] = field(default_factory=dict)
    n_segments: int | None = None


def read_hyperparameters(
    given: Mapping[str, Any] | None, pooling: str, families: Sequence[Family]
) -> TopicHyperparameters:
    """
    Return the hyperparameters that users gave.

    Parameters
    ----------
    given : mapping or None
        By name.
    pooling : {"partial", "none", "complete"}
        How topics are fitted.
    families : sequence of Family
        Of the densities; of several their combination with other parts.

    Raises
    ------
    ValueError
        If one is unknown, or out of range; `own` are looked at where they are used.

    Examples
    --------
    >>> from bayescal.families import FAMILIES
    >>> read_hyperparameters({"log_scale": [0, 0.5]}, "partial", [FAMILIES["gaussian"]]).populations
    {'log_scale': (0.0, 0.5)}
    """
    values = dict(given or {})
    known = known_names(pooling, families)
    if unknown := sorted(set(values) - set(known)):
        raise ValueError(
            f"hyperparameters of topics with pooling={pooling!r} and family"
            f" {', '.join(repr(family.name) for family in families)} are {', '.join(known)}; got"
            f" {', '.join(map(repr, unknown))}."
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
        shares = [NAMES[k] for k in OF_SHARE] if symmetric else []
        names = [*UNITS, *(name for name in NAMES if name not in shares), *OF_RATES]
        return [*names, *log_odds_population.NAMES, SEGMENTS] if len(families) > 1 else names
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
        pair = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
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
