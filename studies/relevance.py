"""Calibrated relevance on public ranking data: python -m studies.relevance --data DIR."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.ranking import RelevanceCalibrator, average_precision
from bayescal.ranking.queries import group_by_query, standardise
from bayescal.support.validation import Floats
from studies.command import Options, main
from studies.papers.svm_map.experiment import Collection, read_collections
from studies.reporting import Bar, fill, markdown, with_error, write_bars, write_page, write_table

RECALLS, PROBABILITY = (0.5, 0.8), 0.9
LOWEST = 0.86  # the bar of coverage, two standard errors allowed
READ = 20  # rank below which relevant documents are counted
OURS = "RelevanceCalibrator"

Judged = tuple[Floats, np.ndarray, np.ndarray]
Fit = Callable[[Judged], Callable[[Floats, np.ndarray], Floats]]


def calibrator(units: str = "query") -> RelevanceCalibrator:
    """Return our calibrator, with enough draws for counts of documents."""
    return RelevanceCalibrator(
        TopicCalibrator(draws=500, random_state=0), units=units, random_state=0
    )


def pooled(units: str) -> Fit:
    """Return our calibrator as a method."""

    def fit(judged: Judged) -> Callable[[Floats, np.ndarray], Floats]:
        fitted = calibrator(units).fit(*judged)
        return lambda scores, qid: fitted.predict_proba(scores, qid)[:, 1]

    return fit


def one_curve(make: Callable[[], object], units: str) -> Fit:
    """Return a method that treats all documents as those of one query."""

    def in_units(scores: Floats, qid: np.ndarray) -> Floats:
        if units != "query":
            return scores
        return standardise(scores, group_by_query(qid, scores.size))

    def fit(judged: Judged) -> Callable[[Floats, np.ndarray], Floats]:
        scores, relevant, qid = judged
        fitted = make().fit(in_units(scores, qid)[:, None], relevant)
        return lambda new, of: fitted.predict_proba(in_units(new, of)[:, None])[:, 1]

    return fit


def base_rate(judged: Judged) -> Callable[[Floats, np.ndarray], Floats]:
    """Return the share of relevant documents for every score."""
    share = float(judged[1].mean())
    return lambda scores, _: np.full(scores.size, share)


METHODS: dict[str, Fit] = {
    OURS: pooled("query"),
    f"{OURS}, scores as they are": pooled("score"),
    "ScoreCalibrator, units of the query": one_curve(
        lambda: ScoreCalibrator(prior_knowledge="vague", random_state=0), "query"
    ),
    "logistic, units of the query": one_curve(lambda: LogisticRegression(C=1e4), "query"),
    "logistic, scores as they are": one_curve(lambda: LogisticRegression(C=1e4), "score"),
    "base rate": base_rate,
}


def rotations(collection: Collection) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield masks of thirds of the queries for ranking, calibration and test, in all orders."""
    order = np.random.default_rng(0).permutation(collection.queries)
    thirds = [np.isin(collection.qid, part) for part in np.array_split(order, 3)]
    yield from permutations(thirds)


def measure(collection: Collection) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return log-losses by query and method, and predictions for each query with the truth."""
    losses, foretold = [], []
    for train, calibrate, test in rotations(collection):
        ranker = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        ranker.fit(collection.features[train], collection.relevant[train])
        scores = ranker.decision_function(collection.features)
        judged, new = (
            (scores[part], collection.relevant[part], collection.qid[part])
            for part in (calibrate, test)
        )
        for name, fit in METHODS.items():
            losses.append(_log_losses(fit(judged)(new[0], new[2]), new).rename(name))
        foretold.append(_foretold(calibrator().fit(*judged), new))
    table = pd.concat([each.to_frame("bits").assign(method=each.name) for each in losses])
    return table.reset_index(names="query"), pd.concat(foretold).reset_index(names="query")


def _log_losses(p: Floats, new: Judged) -> pd.Series:
    _, relevant, qid = new
    own = -np.log2(np.clip(np.where(relevant == 1, p, 1.0 - p), 1e-12, 1.0))
    return pd.Series(own).groupby(qid).mean()


def _foretold(fitted: RelevanceCalibrator, new: Judged) -> pd.DataFrame:
    scores, relevant, qid = new
    results: dict[str, pd.Series] = {}
    ranked = {q: relevant[qid == q][np.argsort(-scores[qid == q])] for q in pd.unique(qid)}
    for recall in RECALLS:
        table = fitted.when_to_stop(scores, qid, recall=recall, probability=PROBABILITY)
        stops = table["stop"]
        results[f"recall {recall}"] = pd.Series(
            {q: own[: stops[q]].sum() >= recall * own.sum() - 1e-9 for q, own in ranked.items()}
        )
        results[f"read {recall}"] = stops / table["documents"]
        needed = {
            q: np.searchsorted(own.cumsum(), recall * own.sum() - 1e-9) + 1
            for q, own in ranked.items()
        }
        results[f"needed {recall}"] = pd.Series(needed) / table["documents"]
    precision = fitted.expected_average_precision(scores, qid)
    below = fitted.relevant_below(scores, qid, rank=READ)
    true = (
        average_precision(relevant, scores, qid),
        pd.Series({q: own[READ:].sum() for q, own in ranked.items()}),
    )
    for name, said, truth in zip(("precision", "below"), (precision, below), true, strict=True):
        results[f"{name} covered"] = (said["lower"] <= truth) & (truth <= said["upper"])
        results[f"{name} said"], results[f"{name} true"] = said["mean"], truth
    return pd.DataFrame(results).astype(float)


def _mean_of_queries(frame: pd.DataFrame, column: str) -> tuple[float, float]:
    """Return the mean over queries and its standard error; a query is tested more than once."""
    each = frame.groupby("query")[column].mean()
    return float(each.mean()), float(each.std() / np.sqrt(each.size))


def run(options: Options) -> None:
    """Measure all collections; write page and tables."""
    if options.data is None or not options.data.is_dir():
        raise ValueError(f"--data must be the folder of ranking data, got {options.data}.")
    out = options.out
    rows, bars, losses = [], [], {}
    for collection in read_collections(options.data):
        table, foretold = measure(collection)
        losses[collection.name] = table
        for recall in RECALLS:
            share, error = _mean_of_queries(foretold, f"recall {recall}")
            claim = f"{collection.name}: recall of {recall} by the stop, asked with probability .9"
            limit = f"at least {LOWEST}"
            holds = share + 2.0 * error >= LOWEST
            bars.append(Bar(claim, with_error(share, error, 3), limit, holds))
        rows.append(
            {"data": collection.name, "queries": collection.queries.size}
            | {
                column: with_error(*_mean_of_queries(foretold, column), 2)
                for column in foretold.columns
                if column != "query"
            }
        )
    write_table(pd.DataFrame(rows), out, "relevance")
    write_table(_loss_table(losses), out, "relevance_losses")
    write_bars(bars, out, "relevance")
    write_page("relevance", out, page(out))


def page(folder: Path) -> str:
    """Return the page: predictions for queries beside the truth."""
    frame = pd.read_csv(folder / "relevance.csv", dtype=str)
    return fill(
        "relevance", folder, table=markdown(frame.set_index("data").T.reset_index(names=""))
    )


def _loss_table(losses: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return log-losses by method and collection, and differences to ours with their errors."""
    out = {}
    for name, table in losses.items():
        by_query = table.pivot_table(index="query", columns="method", values="bits")
        ours = by_query[OURS]
        column = {}
        for method in METHODS:
            apart = by_query[method] - ours
            error = apart.std() / np.sqrt(apart.size)
            shown = f"{ours.mean():.4f}" if method == OURS else with_error(apart.mean(), error, 4)
            column[method] = shown
        out[name] = column
    return pd.DataFrame(out).reset_index(names="method")


if __name__ == "__main__":
    main("relevance")
