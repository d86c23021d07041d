"""Checks whether scores separate the classes in the expected direction, with advice in words."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.support.intervals import percent
from bayescal.support.validation import PROBABILITY_ENDS, Floats, as_scores, as_scores_of, warn_user

# Posterior probability above which a check reports.
SURE = 0.95
# Uninformative scores: distance of the AUC from 1/2, and range of nearly all log-odds.
NEAR_HALF, FLAT = 0.1, 1.0
# Documents of a class that a direction uses at most (every k-th): far more than it needs.
MOST = 20_000


SAY_WHAT_THEY_ARE = (
    "all scores lie in [0, 1]: say what they are, scores_are='probabilities' (whose log-odds are"
    " calibrated then) or scores_are='scores'"
)

TAKEN_FOR_PROBABILITIES = (
    "all scores lie in [0, 1] and the labels say nothing against probabilities, whose log-odds were"
    " calibrated: say scores_are='probabilities', or scores_are='scores' if they are others"
)


class ScoresWarning(UserWarning):
    """Scores that look unlike what they should be; the message says what to do."""


@contextmanager
def without_scores_warnings() -> Iterator[None]:
    """Ignore warnings about scores that users did not choose, such as out-of-fold scores."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoresWarning)
        yield


@dataclass(frozen=True)
class Direction:
    """The posterior of AUC = P(a positive's score > a negative's), ties counting half."""

    # Normal around the observed AUC, with the rank sum's variance for uninformative scores: P(AUC <
    # 1/2) is one minus the p-value of Mann and Whitney's test (Casella and Berger, JASA 1987), and
    # exceeds .95 for 4.4 to 5.3 % of uninformative samples with 3 to 50 positives among 300
    # negatives (standard error .3); the Bayesian bootstrap for 15 % with three.

    auc: float  # observed
    variance: float  # posterior variance; 0 if all scores are equal

    @property
    def probability_below(self) -> float:
        """Return P(AUC < 1/2 | scores), the probability that positives lie below negatives."""
        return self._probability_below(0.5)

    def probability_near_half(self, distance: float) -> float:
        """Return P(|AUC - 1/2| < distance | scores)."""
        return self._probability_below(0.5 + distance) - self._probability_below(0.5 - distance)

    def _probability_below(self, auc: float) -> float:
        if self.variance == 0.0:
            return 0.5 * float(np.sign(auc - self.auc)) + 0.5
        return float(special.ndtr((auc - self.auc) / math.sqrt(self.variance)))


def direction(
    score: Floats, positive: NDArray[np.bool_], weight: Floats | None = None
) -> Direction | None:
    """Return the direction of the scores; None without documents of both classes."""
    parts = np.flatnonzero(positive), np.flatnonzero(~positive)
    kept = np.concatenate([part[:: 1 + part.size // MOST] for part in parts])
    score, positive = score[kept], positive[kept]
    count = np.ones(score.size) if weight is None else weight[kept]
    values, code = np.unique(score, return_inverse=True)
    plus, minus = (np.bincount(code, count * side, values.size) for side in (positive, ~positive))
    n_plus, n_minus, n = plus.sum(), minus.sum(), count.sum()
    # Weights of one document or less in all are no evidence.
    if not (n_plus > 0.0 and n_minus > 0.0 and n > 1.0):
        return None
    below = np.cumsum(minus) - 0.5 * minus
    ties = float(((plus + minus) ** 3).sum())
    variance = max(n**3 - ties, 0.0) / (12.0 * n * (n - 1.0) * n_plus * n_minus)
    return Direction(float(plus @ below / (n_plus * n_minus)), float(variance))


def pooled_direction(directions: Iterable[Direction]) -> Direction | None:
    """Pool the AUC of topics, each weighted by its precision."""
    known = [each for each in directions if each.variance > 0.0]
    if not known:
        return None
    precision = np.array([1.0 / each.variance for each in known])
    auc = float(precision @ [each.auc for each in known] / precision.sum())
    return Direction(auc, float(1.0 / precision.sum()))


def score_problems(
    score: Floats,
    positive: NDArray[np.bool_],
    weight: Floats | None,
    *,
    classes: Sequence[Any],
    stated: bool,
    log_odds: Callable[[Floats], Floats],
    taken: str = "scores",
) -> tuple[str, ...]:
    """Return problems of the scores that a calibrator was fitted to, with advice."""
    inside = score.min() >= 0.0 and score.max() <= 1.0
    if score.min() == score.max():
        # Of probabilities these are log-odds, which users did not give.
        same = "equal" if taken == "probabilities" else f"{score[0]:g}"
        return (
            f"all scores are {same}, so nothing is learnt: documents with that score get the"
            " base rate, and for others nothing but the prior speaks;"
            " check that these are the classifier's scores",
        )
    separation = direction(score, positive, weight)
    problems = []
    if separation is not None and separation.probability_below > SURE:
        problems.append(_reversed(separation, classes))
    elif separation is not None and _says_nothing(separation, score, log_odds):
        problems.append(
            "the scores hardly separate the classes: every document gets about the base rate,"
            " because a positive's score is the larger one in"
            f" {percent(separation.auc, 0)} of all pairs with a negative; check"
            " that scores and labels belong to the same documents"
        )
    if inside and not stated:
        problems.append(SAY_WHAT_THEY_ARE)
    if taken == "probabilities" and not stated:
        problems.append(TAKEN_FOR_PROBABILITIES)
    return tuple(problems)


def swapped_classes(
    score: Floats,
    log_odds: Floats,
    positive: NDArray[np.bool_],
    weight: Floats | None,
    classes: Sequence[Any],
) -> tuple[str, ...]:
    """Return the problem of log-odds that are lower for positives, where scores are not."""
    own, fitted = (direction(each, positive, weight) for each in (score, log_odds))
    # Scores that are reversed have a message of their own.
    if own is None or fitted is None or own.probability_below > SURE:
        return ()
    if fitted.probability_below <= SURE:
        return ()
    return (
        f"documents of class {classes[1]!r}, the positive one, get lower probabilities than those"
        f" of {classes[0]!r} (AUC {fitted.auc:.2f}): the program seems to swap the classes. Its"
        f" label 1 and klass 1 mean {classes[1]!r}, and its log_odds must be larger where that is"
        " likelier; bayescal.check_program compares its predictions with its model",
    )


def topic_problems(
    names: Sequence[Any], directions: Sequence[Direction | None], classes: Sequence[Any]
) -> tuple[tuple[str, ...], dict[Any, str]]:
    """Return problems of all topics together, and of single topics by name."""
    # With uninformative scores at most 5 % of fits name one of T topics.
    known = {name: each for name, each in zip(names, directions, strict=True) if each is not None}
    pooled = pooled_direction(known.values())
    if pooled is None:
        return (), {}
    if pooled.probability_below > SURE:
        return (_reversed(pooled, classes),), {}
    limit = 1.0 - (1.0 - SURE) / len(known)
    return (), {
        name: f"positives lie below negatives, unlike in other topics (AUC {each.auc:.2f}): check"
        " the labels"
        for name, each in known.items()
        if each.probability_below > limit
    }


def read_scores(
    scores: ArrayLike,
    scores_are: str,
    *,
    guessed: bool,
    name: str = "scores",
    ends: tuple[float, float] = PROBABILITY_ENDS,
) -> Floats:
    """Return users' scores on the scale of a calibration; see `validation.as_scores_of`."""
    # A calibrator in use must not fail: of scores that were taken for probabilities because all
    # fitted ones lay in [0, 1], others are read as the nearest of 0 and 1, with a warning.
    if guessed and scores_are == "probabilities":
        scores = _nearest_probabilities(as_scores(scores, name))
    return as_scores_of(scores, scores_are, name, ends)


def _nearest_probabilities(values: Floats) -> Floats:
    strange = (values < 0.0) | (values > 1.0)
    if strange.any():
        warn_of_scores(
            f"a score of {values[strange][0]:g} is no probability, for which the scores were"
            " taken because all that were fitted lay in [0, 1]; it is read as the nearest of 0"
            " and 1: fit again with scores_are='scores'"
        )
    return np.clip(values, 0.0, 1.0)


def warn_of_scores(*problems: str) -> None:
    """Issue one warning of all problems of the scores."""
    if problems:
        warn_user("; ".join(problems) + ".", ScoresWarning)


def warn_if_reversed(
    score: Floats, positive: NDArray[np.bool_], weight: Floats | None, classes: Sequence[Any]
) -> None:
    """Warn if positives lie below negatives."""
    separation = direction(score, positive, weight)
    if separation is not None and separation.probability_below > SURE:
        warn_of_scores(_reversed(separation, classes))


def _reversed(separation: Direction, classes: Sequence[Any]) -> str:
    negative, positive = classes
    return (
        f"scores of class {positive!r}, the positive one, lie below those of {negative!r} (AUC"
        f" {separation.auc:.2f}; P(AUC < 1/2) = {_shown(separation.probability_below)}): give"
        f" positive={negative!r} if that is what larger scores stand for, or negate the scores"
    )


def _shown(probability: float) -> str:
    return "1.000" if probability > 0.9995 else f"{probability:.3f}"


def _says_nothing(
    separation: Direction, score: Floats, log_odds: Callable[[Floats], Floats]
) -> bool:
    if separation.probability_near_half(NEAR_HALF) < SURE:
        return False
    # Scores without a direction may be informative, such as positives on both sides.
    curve = log_odds(np.quantile(score, np.linspace(0.01, 0.99, 33)))
    return bool(np.ptp(curve) < FLAT)
