"""What a calibration method is: labelled scores in, log-odds of new scores out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

from numpy.typing import NDArray

from bayescal.validation import Floats

Labels = NDArray[Any]
OneTopic = Callable[[Floats, Labels, Floats], Floats]

GROUPS = ("paper", "peer", "ours")
PEERS_EXTRA = "bayescal[peers]"


class Problem(NamedTuple):
    """
    One topic: what to calibrate with, and what to calibrate.

    Attributes
    ----------
    scores : array of shape (n,)
        Raw scores of labelled documents.
    labels : array of shape (n,)
        1 for positives, 0 for negatives; both occur.
    new : array of shape (m,)
        Raw scores that want log-odds.
    """

    scores: Floats
    labels: Labels
    new: Floats


@dataclass(frozen=True)
class Method:
    """
    A named way from scores to log-odds.

    Attributes
    ----------
    name : str
        As tables have it.
    group : str
        "paper" (Bennett's table), "peer" (what others use) or "ours".
    one_topic : callable or None
        (scores, labels, new) -> natural log-odds of the new scores.
    many_topics : callable or None
        A sequence of Problem -> a list of log-odds, where topics inform each other.
    needs : str
        The package that must be installed, if any.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal.methods import METHODS
    >>> scores, labels = np.array([-3.0, -1.0, 0.5, -0.5, 1.0, 2.0]), np.array([0, 0, 0, 1, 1, 1])
    >>> METHODS["LogReg"](scores, labels, np.array([-2.0, 2.0])).round(1)
    array([-2.5,  2.6])
    """

    name: str
    group: str
    one_topic: OneTopic | None = None
    many_topics: Callable[[Sequence[Problem]], list[Floats]] | None = None
    needs: str = ""

    @property
    def installed(self) -> bool:
        """Return whether the package that it needs is there."""
        return not self.needs or find_spec(self.needs) is not None

    def __call__(self, scores: Floats, labels: Labels, new: Floats) -> Floats:
        """Return natural log-odds of new scores; of one topic by itself."""
        return self.over_topics([Problem(scores, labels, new)])[0]

    def over_topics(self, problems: Sequence[Problem]) -> list[Floats]:
        """
        Return the log-odds of several topics' new scores, in their order.

        Raises
        ------
        ImportError
            If the package that the method needs is not installed.
        """
        if not self.installed:
            raise ImportError(
                f"{self.name} needs the package {self.needs}: pip install '{PEERS_EXTRA}'."
            )
        if self.many_topics is not None:
            return self.many_topics(problems)
        assert self.one_topic is not None  # noqa: S101
        return [self.one_topic(*problem) for problem in problems]
