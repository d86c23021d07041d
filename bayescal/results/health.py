"""What is wrong with the draws of a part, and with how they were made.

Every reader asks here: diagnostics and, by them, summaries, reports and comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.engines.exact.engine import EFFICIENCY_LIMIT
from bayescal.engines.monotone.importance import WORST_EFFICIENCY, WORST_K
from bayescal.engines.parts import Part
from bayescal.engines.pooled.hyperposterior import GOOD_K
from bayescal.results.curves import NOT_FINITE
from bayescal.results.topics import DRAWS, HYPERPARAMETERS

# Of few values, one of them infinite: a choice among warps.
CHOSEN = ("bend",)
# Fewer draws may be the same one by chance: those of topics are picked from some hundreds.
FEWEST_DRAWS = 10
MOST_NAMES = 5
AGAIN = "fit again with another random_state"
OTHERS = "look for extreme outliers among the scores, or compare with another family or pooling"


@dataclass(frozen=True)
class Finding:
    """
    Something wrong.

    Attributes
    ----------
    what : str
        In words, "{whose}" standing for the part and its topics.
    advice : str
        What to do.
    part : str
        The part's name.
    topics : array of shape (topics,) of bool, or None
        The topics it is wrong with; None for the only problem, or for what topics share.
    """

    what: str
    advice: str
    part: str
    topics: NDArray[np.bool_] | None = None

    def text(self, names: NDArray[Any] | None = None) -> str:
        """Return what is wrong and what to do, with the names of some of the topics if given."""
        whose = f"the part {self.part!r}"
        if names is not None and self.topics is not None:
            whose = f"{whose} for {_listed(names[self.topics].tolist())}"
        return f"{self.what.format(whose=whose)}: {self.advice}"


def findings(tree: xr.DataTree, parts: Iterable[Part]) -> list[Finding]:
    """Return all that is wrong with the draws of some parts; groups that are absent say nothing."""
    out: list[Finding] = []
    for part in parts:
        for name in part.draws:
            out += _of_draws(part.name, tree[name].to_dataset())
        for evidence in evidence_of(tree, [part]):
            out += CHECKS[part.engine](part.name, evidence)
    return out


def evidence_of(tree: xr.DataTree, parts: Iterable[Part]) -> list[xr.Dataset]:
    """Return the groups that say how well the draws of some parts were made."""
    return [tree[part.evidence].to_dataset() for part in parts if part.evidence in tree.children]


def _of_draws(part: str, draws: xr.Dataset) -> Iterator[Finding]:
    """Find draws that are not numbers, and draws that are all the same number."""
    several = draws.sizes["chain"] * draws.sizes["draw"] >= FEWEST_DRAWS
    for by_topic in (False, True):
        ends = {
            name: (values.min(DRAWS, skipna=False), values.max(DRAWS, skipna=False))
            for name, values in draws.items()
            if _drawn(values) and name not in CHOSEN and ("topic" in values.dims) == by_topic
        }
        endless = [_any(~(_finite(low) & _finite(high))) for low, high in ends.values()]
        # Topics apart have a population that is none, of fixed hyperparameters.
        varied = [each for name, each in ends.items() if name not in HYPERPARAMETERS]
        constant = [_any(low == high) for low, high in varied if several]
        for what, wrong in (
            (NOT_FINITE, endless),
            ("are all the same", constant),
        ):
            if np.any(wrong):
                topics = np.any(wrong, axis=0) if by_topic else None
                yield Finding(f"the draws of {{whose}} {what}", AGAIN, part, topics)


def _drawn(values: xr.DataArray) -> bool:
    return set(DRAWS) <= set(values.dims) and values.dtype.kind == "f"


def _finite(values: xr.DataArray) -> xr.DataArray:
    return abs(values) < np.inf


def _any(wrong: xr.DataArray) -> NDArray[np.bool_]:
    """Return whether any value is wrong, topic by topic where there are topics."""
    return np.asarray(wrong.any([dim for dim in wrong.dims if dim != "topic"]))


def _of_exact(part: str, evidence: xr.Dataset) -> Iterator[Finding]:
    if not evidence["resolved"].all():
        yield Finding(
            "the exact engine's grid did not resolve the posterior of {whose}",
            "check the scores for extreme outliers, or use inference='nuts'",
            part,
        )
    efficiency = float(evidence["efficiency"].min(skipna=False))
    if not efficiency >= EFFICIENCY_LIMIT:
        yield Finding(
            f"the exact engine's proposals of {{whose}} have efficiency {efficiency:.2f} (limit"
            f" {EFFICIENCY_LIMIT})",
            "use inference='nuts'",
            part,
        )


def _of_importance(part: str, evidence: xr.Dataset) -> Iterator[Finding]:
    k, efficiency = float(evidence["pareto_k"]), float(evidence["efficiency"])
    if not (evidence["resolved"] and k <= WORST_K and efficiency >= WORST_EFFICIENCY):
        yield Finding(
            "the importance weights of {whose} are too uneven, or its likelihood is too coarse"
            f" (Pareto k {k:.2f}, efficiency {efficiency:.3f}, error of the log likelihood"
            f" {float(evidence['likelihood_error']):.2g} nats)",
            "raise draws, or choose a family without that part",
            part,
        )


def _of_population(part: str, evidence: xr.Dataset) -> Iterator[Finding]:
    k = float(evidence["pareto_k"].max(skipna=False))
    # Earlier versions did not keep the shares; nan of a topic is one that they added.
    share = float(evidence.get("population_efficiency", xr.DataArray(1.0)).min(skipna=False))
    if not (k <= GOOD_K and share >= WORST_EFFICIENCY):
        what = f"the population's posterior of {{whose}} was not resolved (Pareto k {k:.2f}, good"
        yield Finding(f"{what} below {GOOD_K}; efficiency {share:.3f})", OTHERS, part)
    unresolved = _any(evidence["resolved"] == 0)
    if unresolved.any():
        topics = unresolved if unresolved.ndim else None
        yield Finding("the posterior of {whose} was not resolved", OTHERS, part, topics)
    uneven = _any(evidence.get("efficiency", xr.DataArray(1.0)) < WORST_EFFICIENCY)
    if uneven.any():
        what = "too few draws of {whose} agree with the population (effective share below"
        yield Finding(f"{what} {WORST_EFFICIENCY})", OTHERS, part, uneven)


CHECKS = {"exact": _of_exact, "importance": _of_importance, "population": _of_population}


def _listed(names: list[Any]) -> str:
    shown = ", ".join(map(repr, names[:MOST_NAMES]))
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"topic{'s' if len(names) > 1 else ''} {shown}{more}"
