"""Calibrated relevance on public ranking data: python -m studies.relevance --data DIR."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.ranking import RelevanceCalibrator, average_precision, standardise_within_queries
from bayescal.reproduce.markdown import markdown_table
from bayescal.reproduce.svm_map.collections import Collection, read_collections
from bayescal.validation import Floats
from studies.command import DOCS
from studies.reporting import Bar, with_error, write_page, write_table

RECALLS, PROBABILITY = (0.5, 0.8), 0.9
LOWEST = 0.86  # what a bar asks of coverage, two standard errors allowed
READ = 20  # documents, of the count of relevant ones below
OURS = "RelevanceCalibrator"

Judged = tuple[Floats, np.ndarray, np.ndarray]
Fit = Callable[[Judged], Callable[[Floats, np.ndarray], Floats]]


def calibrator(units: str = "query") -> RelevanceCalibrator:
    """Return ours, with as many draws as counts of documents need."""
    return RelevanceCalibrator(
        TopicCalibrator(draws=500, random_state=0), units=units, random_state=0
    )


def pooled(units: str) -> Fit:
    """Return ours as a method."""

    def fit(judged: Judged) -> Callable[[Floats, np.ndarray], Floats]:
        fitted = calibrator(units).fit(*judged)
        return lambda scores, qid: fitted.predict_proba(scores, qid)[:, 1]

    return fit


def one_curve(make: Callable[[], object], units: str) -> Fit:
    """Return a method that takes all documents for those of one query."""

    def in_units(scores: Floats, qid: np.ndarray) -> Floats:
        return standardise_within_queries(scores, qid) if units == "query" else scores

    def fit(judged: Judged) -> Callable[[Floats, np.ndarray], Floats]:
        scores, relevant, qid = judged
        fitted = make().fit(in_units(scores, qid)[:, None], relevant)
        return lambda new, of: fitted.predict_proba(in_units(new, of)[:, None])[:, 1]

    return fit


def base_rate(judged: Judged) -> Callable[[Floats, np.ndarray], Floats]:
    """Return the share of relevant documents, whatever the score."""
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
    """Yield masks of thirds of the queries, to rank, calibrate and test, in all orders."""
    order = np.random.default_rng(0).permutation(collection.queries)
    thirds = [np.isin(collection.qid, part) for part in np.array_split(order, 3)]
    yield from permutations(thirds)


def measure(collection: Collection) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return log-losses by query and method, and what was foretold of each query beside it."""
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
    found: dict[str, pd.Series] = {}
    ranked = {q: relevant[qid == q][np.argsort(-scores[qid == q])] for q in pd.unique(qid)}
    for recall in RECALLS:
        table = fitted.when_to_stop(scores, qid, recall=recall, probability=PROBABILITY)
        stops = table["stop"]
        found[f"recall {recall}"] = pd.Series(
            {q: own[: stops[q]].sum() >= recall * own.sum() - 1e-9 for q, own in ranked.items()}
        )
        found[f"read {recall}"] = stops / table["documents"]
        needed = {
            q: np.searchsorted(own.cumsum(), recall * own.sum() - 1e-9) + 1
            for q, own in ranked.items()
        }
        found[f"needed {recall}"] = pd.Series(needed) / table["documents"]
    precision = fitted.expected_average_precision(scores, qid)
    below = fitted.relevant_below(scores, qid, rank=READ)
    true = (
        average_precision(relevant, scores, qid),
        pd.Series({q: own[READ:].sum() for q, own in ranked.items()}),
    )
    for name, said, truth in zip(("precision", "below"), (precision, below), true, strict=True):
        found[f"{name} covered"] = (said["lower"] <= truth) & (truth <= said["upper"])
        found[f"{name} said"], found[f"{name} true"] = said["mean"], truth
    return pd.DataFrame(found).astype(float)


def _mean_of_queries(frame: pd.DataFrame, column: str) -> tuple[float, float]:
    """Return the mean over queries and its standard error; a query is tested more than once."""
    each = frame.groupby("query")[column].mean()
    return float(each.mean()), float(each.std() / np.sqrt(each.size))


def run(data: Path, out: Path) -> None:
    """Measure all collections, and write the page."""
    rows, bars, losses = [], [], {}
    for collection in read_collections(data):
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
    frame = pd.DataFrame(rows)
    write_table(frame, out, "relevance")
    write_page(
        "relevance",
        out,
        bars,
        losses=markdown_table(_loss_table(losses)),
        foretold=markdown_table(frame.set_index("data").T.reset_index(names="")),
        methods=str(len(METHODS)),
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


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition(":")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of ranking data")
    parser.add_argument("--out", type=Path, default=DOCS, help=f"folder (default {DOCS})")
    given = parser.parse_args()
    if not given.data.is_dir():
        parser.error(f"--data must be the folder of ranking data, there is no {given.data}")
    run(given.data, given.out)


if __name__ == "__main__":
    main()
