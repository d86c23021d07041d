"""What is wrong with the draws of a part, and how it is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.curves.curves import NOT_FINITE
from bayescal.parts.places import DRAWS
from bayescal.validation import Floats

# Of few values, one of them infinite: a choice among warps.
CHOSEN = ("asinh_scale",)
# Fewer draws may be the same one by chance: those of topics are picked from some hundreds.
FEWEST_DRAWS = 10
MOST_NAMES = 5
AGAIN = "fit again with another random_state"


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


def of_draws(part: str, draws: xr.Dataset, fixed: tuple[str, ...] = ()) -> Iterator[Finding]:
    """
    Find draws that are not numbers, and draws that are all the same number.

    Parameters
    ----------
    part : str
        Its name.
    draws : xarray.Dataset
        With the dimensions chain and draw.
    fixed : tuple of str
        Variables that may be all the same.
    """
    several = draws.sizes["chain"] * draws.sizes["draw"] >= FEWEST_DRAWS
    # Variables, not arrays with coordinates: every fit pays for this.
    drawn = {str(name): each for name, each in draws.variables.items() if _drawn(str(name), each)}
    for by_topic in (False, True):
        own = {name: each for name, each in drawn.items() if ("topic" in each.dims) == by_topic}
        ends = {name: _ends(each) for name, each in own.items()}
        endless = [
            (~np.isfinite(low) | ~np.isfinite(high)).any(axis=1) for low, high in ends.values()
        ]
        varied = [each for name, each in ends.items() if name not in fixed]
        constant = [(low == high).any(axis=1) for low, high in varied if several]
        for what, wrong in (
            (NOT_FINITE, endless),
            ("are all the same", constant),
        ):
            if np.any(wrong):
                topics = np.any(wrong, axis=0) if by_topic else None
                yield Finding(f"the draws of {{whose}} {what}", AGAIN, part, topics)


def _drawn(name: str, variable: xr.Variable) -> bool:
    return set(DRAWS) <= set(variable.dims) and variable.dtype.kind == "f" and name not in CHOSEN


def _ends(variable: xr.Variable) -> tuple[Floats, Floats]:
    """Return the least and the largest draw of each element; topics first where there are any."""
    axes = tuple(variable.dims.index(name) for name in DRAWS)
    low, high = variable.values.min(axis=axes), variable.values.max(axis=axes)
    kept = [name for name in variable.dims if name not in DRAWS]
    if "topic" not in kept:
        return low.reshape(1, -1), high.reshape(1, -1)
    where = kept.index("topic")
    topics = low.shape[where]
    shape = topics, low.size // max(topics, 1)  # of a population without topics -1 is no number
    low, high = (np.moveaxis(each, where, 0).reshape(shape) for each in (low, high))
    return low, high


def any_of(wrong: xr.Variable) -> NDArray[np.bool_]:
    """Return whether any value is wrong, topic by topic where there are topics."""
    axes = tuple(k for k, dim in enumerate(wrong.dims) if dim != "topic")
    return np.asarray(wrong.values.any(axis=axes))


def unresolved(part: str, evidence: xr.Dataset) -> Iterator[Finding]:
    """Find evidence that says of itself that the posterior was not resolved."""
    if "resolved" in evidence and not evidence["resolved"].all():
        yield Finding("the posterior of {whose} was not resolved", AGAIN, part)


def _listed(names: list[Any]) -> str:
    shown = ", ".join(map(repr, names[:MOST_NAMES]))
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"topic{'s' if len(names) > 1 else ''} {shown}{more}"
