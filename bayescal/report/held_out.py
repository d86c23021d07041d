"""Predictions for held-out documents, and their losses."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from bayescal.fitting.curves.curves import Curve, Prior
from bayescal.fitting.problems.problem import FittedProblem, binned_log_odds
from bayescal.fitting.scores import BinaryScores, read_cells
from bayescal.metrics import CalibrationVerdict, calibration_verdict, losses
from bayescal.report.rendering import numbers
from bayescal.support import validation
from bayescal.support.intervals import counted, tails
from bayescal.support.validation import Columns, Floats

# Documents in bins: histograms, empirical log-odds, reliability of probabilities.

FEWEST_BARS, MOST_BARS = 8, 36
LEAST, MOST = 3, 12  # bins of about equally many documents
IN_A_BIN = 8.0  # documents of the rarer class
UNCERTAIN = 3.0  # variance of a bin's number of positives


def histogram(documents: BinaryScores, low: float, high: float) -> dict[str, Any]:
    """Return the number of documents of each class in even bins from low to high."""
    counts = []
    for klass in (False, True):
        score, weight = documents.weighted(klass)
        bars = int(np.clip(2.0 * np.sqrt(score.size), FEWEST_BARS, MOST_BARS))
        counts.append(np.histogram(score, bars, (low, high), weights=weight)[0])
    shown = [numbers(each) for each in counts]
    return {"low": numbers(low, 6), "high": numbers(high, 6), "counts": shown}


def empirical_log_odds(documents: BinaryScores, curve: Curve, level: float) -> dict[str, Any]:
    """Return log-odds in bins with equally many documents of the rarer class."""
    rarer = documents.positive == (documents.total(True) <= documents.total(False))
    place = np.zeros(documents.score.size, dtype=np.intp)
    for k, rows in enumerate(_bins(documents.score, documents.weights * rarer, IN_A_BIN)):
        place[rows] = k
    found = binned_log_odds(place, documents, curve, level)
    return {name: numbers(values) for name, values in found.items()}


def reliability(log_odds: Floats, positive: NDArray[np.bool_], level: float) -> dict[str, Any]:
    """Return the losses of predictions, and a reliability diagram of equally informative bins."""
    # A bin's band holds the share of positives with probability `level` if predictions are right.
    p = special.expit(log_odds)
    shares = tails(level)
    bins: list[tuple[float, ...]] = []
    for rows in _bins(p, p * (1.0 - p), UNCERTAIN):
        n, mean = rows.size, float(p[rows].mean())
        low, high = np.asarray(stats.binom.ppf(shares, n, mean)) / n
        values = (mean, positive[rows].mean(), low, high, n, positive[rows].sum())
        bins.append(values)
    names = ("predicted", "observed", "lower", "upper", "n", "positives")
    lost, columns = losses(log_odds, positive), zip(*bins, strict=True)
    return {
        "n": lost.n,
        "positives": int(positive.sum()),
        "expected": numbers(p.sum()),
        "log_loss": numbers(lost.log_loss / lost.n),
        "brier": numbers(lost.squared_error / lost.n),
        "errors": lost.errors,
        "bins": {name: numbers(each) for name, each in zip(names, columns, strict=True)},
    }


def _bins(values: Floats, weight: Floats, least: float) -> list[NDArray[np.intp]]:
    """Return positions in bins of about equal weight, equal values together."""
    total = float(weight.sum())
    n = int(np.clip(total // least, LEAST, MOST))
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    level = np.cumsum(weight[order])
    at = np.searchsorted(level, total * np.arange(1, n) / n)
    # Edges come after runs of equal values.
    ends = np.unique(np.searchsorted(ordered, ordered[np.minimum(at, values.size - 1)], "right"))
    return [part for part in np.split(order, ends) if part.size]


# Most documents with a cell each; beyond that, documents of similar log-odds share cells.
MOST_CELLS, CELL_WIDTH = 2000, 0.02
DRAWS = 400  # posterior draws for a verdict


class HeldOutCells(NamedTuple):
    """Counts of held-out documents of one class and similar probability."""

    p: Floats
    positive: NDArray[np.bool_]
    documents: Floats
    draws: NDArray[np.float32] | None

    def verdict(self) -> CalibrationVerdict:
        """Return the verdict of the labels, which allows for posterior draws if there are any."""
        verdict = calibration_verdict(
            self.positive, self.p, draws=self.draws, sample_weight=self.documents
        )
        if verdict.impossible:
            # The message gives positions of cells, not of documents.
            happened = np.where(self.positive, self.p, 1.0 - self.p)
            number = int(self.documents[happened == 0.0].sum())
            text = f"The class of {counted(number, 'document')} had probability 0."
            verdict = replace(verdict, impossible=text)
        return verdict


def cells_of(
    order_by: Floats,
    point: Floats,
    positive: NDArray[np.bool_],
    draws_of: Callable[[NDArray[np.intp]], Floats] | None,
) -> HeldOutCells:
    """Return rising cells of similar documents, with draws of each cell's lowest document."""
    order = np.lexsort((positive, order_by))
    point, positive, group = point[order], positive[order], np.arange(point.size)
    if point.size > MOST_CELLS:
        step = np.rint(point / CELL_WIDTH)
        group = np.cumsum(np.diff(step, prepend=step[:1]) != 0.0)
    _, first, cell, count = np.unique(
        2 * group + positive, return_index=True, return_inverse=True, return_counts=True
    )
    p = np.bincount(cell, special.expit(point)) / count
    draws = None if draws_of is None else draws_of(order[first]).astype(np.float32)
    return HeldOutCells(p, positive[first], count.astype(np.float64), draws)


@dataclass(frozen=True)
class HeldOut:
    """Predictions for held-out documents."""

    score: Floats  # (n,), on the scale of the calibration
    point: Floats  # (n,), natural log-odds of the point estimate
    mle: Floats | None  # (n,), of maximum likelihood
    positive: NDArray[np.bool_]  # (n,)
    cells: HeldOutCells

    def reliability(self, level: float) -> dict[str, Any]:
        """Return losses and diagrams of both, and a verdict on the point estimate."""
        out = {"point": {**reliability(self.point, self.positive, level), **self._verdict()}}
        if self.mle is not None:
            out["mle"] = reliability(self.mle, self.positive, level)
        return out

    def _verdict(self) -> dict[str, Any]:
        verdict = self.cells.verdict()
        return {
            "verdict": f"{verdict.test} {verdict.finding}",
            "advice": verdict.advice,
            "calibrated": verdict.calibrated,
            "outcome": verdict.outcome,
            "informative": verdict.informative,
            "pvalue": numbers(verdict.pvalue),
        }


def predict(
    problem: FittedProblem,
    test: BinaryScores,
    prior: Prior | None = None,
    covariates: Columns | None = None,
) -> HeldOut:
    """Return a problem's predictions for held-out documents."""
    score = test.score
    point = problem.of_documents(score, covariates).log_odds(score, prior)
    mle = problem.calibration.fits.log_odds(score) if problem.has_mle else None
    if mle is not None and not np.isfinite(mle).all():
        mle = None
    draws_of = None
    if problem.has_posterior and problem.draws is not None:
        size = problem.draws.size
        chosen = np.unique(np.linspace(0, size - 1, min(DRAWS, size)).astype(np.intp))
        posterior = problem.calibration.with_prior(prior).take(chosen)

        def draws_of(rows: NDArray[np.intp]) -> Floats:
            own = validation.take_columns(covariates, rows)
            return posterior.of_documents(score[rows], own).sample(score[rows])

    order_by = score if covariates is None else point
    cells = cells_of(order_by, point, test.positive, draws_of)
    return HeldOut(score, point, mle, test.positive, cells)


def join(parts: Sequence[HeldOut]) -> HeldOut:
    """Return the predictions of several topics together."""
    mles = [part.mle for part in parts if part.mle is not None]
    return HeldOut(
        np.concatenate([part.score for part in parts]),
        np.concatenate([part.point for part in parts]),
        np.concatenate(mles) if len(mles) == len(parts) else None,
        np.concatenate([part.positive for part in parts]),
        _join_cells([part.cells for part in parts]),
    )


def _join_cells(parts: Sequence[HeldOutCells]) -> HeldOutCells:
    p, positive, count, draws = zip(*parts, strict=True)
    drawn = [each for each in draws if each is not None]
    fewest = min(map(len, drawn), default=0)
    return HeldOutCells(
        np.concatenate(p),
        np.concatenate(positive),
        np.concatenate(count),
        # Draws of the same number belong together if topics were fitted together.
        np.concatenate([each[:fewest] for each in drawn], axis=1)
        if drawn and len(drawn) == len(parts)
        else None,
    )


# Labelled scores passed to a report: held out, or fitted.

SINGLE = "score", "label"
OF_TOPICS = "score", "label", "topic"


def read_labelled(documents: Any, problem: FittedProblem, name: str = "test") -> BinaryScores:
    """Return the labelled scores of one problem."""
    scores, labels = _columns(documents, SINGLE, name)
    values = problem.read(scores)
    positive = read_positive(labels, problem.labels, values.size, name)
    return BinaryScores(values, positive)


def read_labelled_topics(
    documents: Any, problem: FittedProblem, known: Iterable[Any], name: str = "test"
) -> dict[Any, BinaryScores]:
    """Return the labelled scores of each topic; topics without any are left out."""
    scores, labels, topics = _columns(documents, OF_TOPICS, name)
    cells = read_cells(scores, topics)
    positive = read_positive(labels, problem.labels, cells.score.size, name)
    score = problem.read(cells.score)
    names, code = np.unique(cells.topic, return_inverse=True)
    if unknown := sorted(set(names.tolist()) - set(known), key=str):
        raise ValueError(
            f"{name} must hold topics that were fitted, got {', '.join(map(repr, unknown[:5]))}"
            f" ({len(unknown)} unknown): leave their rows out."
        )
    return {
        topic: BinaryScores(score[code == k], positive[code == k])
        for k, topic in enumerate(names.tolist())
    }


def read_positive(labels: ArrayLike, classes: NDArray[Any], n: int, name: str) -> NDArray[np.bool_]:
    """Return the mask of positive labels, which may be given as text."""
    values = np.asarray(validation.as_array(labels, f"labels of {name}"), dtype=object)
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.ndim != 1:
        raise ValueError(
            f"labels of {name} must have shape (n,), one a document, got {values.shape}."
        )
    validation.check_same_length(f"scores of {name}", n, "its labels", values.size)
    negative, positive = classes.tolist()
    matches = np.array([_same(value, positive) for value in values])
    other = ~matches & ~np.array([_same(value, negative) for value in values])
    if other.any():
        first = int(np.flatnonzero(other)[0])
        raise ValueError(
            f"labels of {name} must be {negative!r} or {positive!r}, got {values[first]!r} at"
            f" position {first} ({int(other.sum())} of {n}): leave unlabelled documents out."
        )
    return matches


def _same(value: Any, label: Any) -> bool:
    if validation.is_missing(value):
        return False
    return bool(value == label) or (isinstance(value, str) and value == str(label))


def _columns(documents: Any, wanted: tuple[str, ...], name: str) -> list[Any]:
    expected = f"{name} must be a DataFrame with columns {', '.join(wanted)}, or a tuple of these"
    if hasattr(documents, "columns"):
        if missing := [
            column for column in wanted if column not in validation.column_names(documents)
        ]:
            raise ValueError(f"{expected}; it lacks {', '.join(missing)}.")
        return [np.asarray(documents[column]) for column in wanted]
    if not isinstance(documents, tuple):
        raise ValueError(f"{expected}, got {type(documents).__name__}.")
    if len(documents) != len(wanted):
        raise ValueError(f"{expected}, got a tuple of {len(documents)}.")
    return list(documents)
