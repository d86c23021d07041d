"""Fusion of runs with gaps, against rank fusion: python -m studies.fusion --data DIR."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from bayescal import CombinedClassifier, OnlineCombiner
from bayescal.combining.tasks import PooledCombiner
from bayescal.ranking import average_precision
from bayescal.support.validation import Floats, Integers
from studies.command import Options, main
from studies.papers.svm_map.experiment import Collection, read_collections
from studies.reporting import fill, markdown, with_error, write_page, write_table

SYSTEMS = 5  # runs that are fused, drawn from the best
BEST = 10  # features by mean average precision on the queries to learn from
DEPTH = 3  # a run returns this part of a query's documents: a third
K = 60.0  # of reciprocal rank fusion
SPLITS = 4
REFERENCE = "reciprocal rank fusion"


@dataclass(frozen=True)
class Runs:
    """The union of several systems' runs."""

    scores: Floats  # (documents, systems): from 0 to 1 in each run, nan where not returned
    rank: Floats  # (documents, systems): from 1, nan where not returned
    relevant: Integers  # (documents,)
    qid: Integers  # (documents,)

    def take(self, rows: np.ndarray) -> Runs:
        """Return some of the documents."""
        return Runs(self.scores[rows], self.rank[rows], self.relevant[rows], self.qid[rows])


def runs_of(features: Floats, relevant: Integers, qid: Integers) -> Runs:
    """Return the best third of each query's documents by each feature."""
    by_query = pd.DataFrame(features).groupby(qid)
    rank = by_query.rank(ascending=False, method="first")
    depth = np.ceil(by_query.transform("size").to_numpy() / DEPTH)
    kept = pd.DataFrame(features).where(rank.le(depth, axis=0)).groupby(qid)
    width = kept.transform("max") - kept.transform("min")
    scores = (kept.obj - kept.transform("min")) / width.where(width > 0.0, 1.0)
    found = Runs(scores.to_numpy(), rank.where(scores.notna()).to_numpy(), relevant, qid)
    return found.take(scores.notna().any(axis=1).to_numpy())


def of_two_classes(relevant: Integers, qid: Integers) -> np.ndarray:
    """Return the documents of queries with relevant and other documents."""
    share = pd.Series(relevant).groupby(qid).transform("mean")
    return share.between(0.0, 1.0, inclusive="neither").to_numpy()


def precision_of(relevant: Integers, scores: Floats, qid: Integers) -> pd.Series:
    """Return the average precision of each query with relevant and other documents."""
    both = of_two_classes(relevant, qid)
    return average_precision(relevant[both], scores[both], qid[both])


def reciprocal_rank_fusion(runs: Runs) -> Floats:
    """Return the sum over runs of 1 / (60 + rank) (Cormack, Clarke and Buettcher, SIGIR 2009)."""
    return np.nansum(1.0 / (K + runs.rank), axis=1)


def comb_mnz(runs: Runs) -> Floats:
    """Return the sum of scores times the number of runs (Fox and Shaw, TREC-2)."""
    return np.nansum(runs.scores, axis=1) * (~np.isnan(runs.scores)).sum(axis=1)


class Column(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A system's scores as a classifier."""

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def fit(self, X: Floats, y: np.ndarray) -> Column:  # noqa: N803
        """Learn nothing."""
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: Floats) -> Floats:  # noqa: N803
        """Return the column."""
        return X[:, self.column]


Predict = Callable[[Runs], Floats]  # log-odds, or scores


def combined(combiner: str) -> Callable[[Runs], Predict]:
    """Return a method: `CombinedClassifier` of all queries' documents."""

    def fit(runs: Runs) -> Predict:
        columns = [(f"system {i}", Column(i)) for i in range(runs.scores.shape[1])]
        found = CombinedClassifier(columns, combiner=combiner, allow_missing=True, random_state=0)
        found.fit(runs.scores, runs.relevant)
        return lambda new: found.decision_function(new.scores)

    return fit


def pooled(runs: Runs) -> Predict:
    """Fit `PooledCombiner` with queries as tasks; new queries are added without labels."""
    own = runs.take(of_two_classes(runs.relevant, runs.qid))
    found = PooledCombiner(allow_missing=True, random_state=0)
    found.fit(own.scores, own.relevant, own.qid)

    def predict(new: Runs) -> Floats:
        return found.add_tasks(new.scores, new.qid).decision_function(new.scores, new.qid)

    return predict


def online(runs: Runs) -> Predict:
    """Calibrate each system on a third of the queries, and weigh them online on the others."""
    first = np.isin(runs.qid, np.unique(runs.qid)[::3])
    experts = []
    for own in runs.scores[first].T:
        scored = ~np.isnan(own)
        experts.append(
            LogisticRegression(C=1e4).fit(own[scored, None], runs.relevant[first][scored])
        )

    def advice(scores: Floats) -> Floats:
        out = np.full(scores.shape, np.nan)
        for i, each in enumerate(experts):
            scored = ~np.isnan(scores[:, i])
            out[scored, i] = each.predict_proba(scores[scored, i, None])[:, 1]
        return out

    found = OnlineCombiner(allow_missing=True).fit(
        advice(runs.scores[~first]), runs.relevant[~first]
    )

    def predict(new: Runs) -> Floats:
        p = np.clip(found.predict_proba(advice(new.scores))[:, 1], 1e-9, 1.0 - 1e-9)
        return np.log(p) - np.log1p(-p)

    return predict


def regression(columns: Callable[[Runs], Floats]) -> Callable[[Runs], Predict]:
    """Return a method: logistic regression on columns."""

    def fit(runs: Runs) -> Predict:
        found = LogisticRegression(C=1e4, max_iter=2000).fit(columns(runs), runs.relevant)
        return lambda new: found.decision_function(columns(new))

    return fit


METHODS: dict[str, Callable[[Runs], Predict]] = {
    # Calibrated, which keeps the order, so that there is a log-loss.
    REFERENCE: regression(lambda runs: 100.0 * reciprocal_rank_fusion(runs)[:, None]),
    "CombMNZ": regression(lambda runs: comb_mnz(runs)[:, None]),
    "logistic, gaps as the lowest score": regression(lambda runs: np.nan_to_num(runs.scores)),
    'CombinedClassifier, "logistic"': combined("logistic"),
    'CombinedClassifier, "bayes"': combined("bayes"),
    "PooledCombiner": pooled,
    "OnlineCombiner": online,
}


def splits(collection: Collection, count: int) -> Iterator[tuple[Runs, Runs]]:
    """Yield the fused runs of two halves of the queries: to learn from, and new ones."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        order = rng.permutation(collection.queries)
        learn = np.isin(collection.qid, order[: order.size // 2])
        quality = [
            precision_of(collection.relevant[learn], own[learn], collection.qid[learn]).mean()
            for own in collection.features.T
        ]
        best = np.argsort(quality)[::-1][:BEST]
        chosen = rng.choice(best, min(SYSTEMS, best.size), replace=False)
        halves = [
            runs_of(
                collection.features[half][:, chosen],
                collection.relevant[half],
                collection.qid[half],
            )
            for half in (learn, ~learn)
        ]
        yield halves[0], halves[1]


def constructed(queries: int = 60, documents: int = 100) -> Collection:
    """Return queries with ten systems of unequal quality, whose errors are correlated."""
    rng = np.random.default_rng(54)
    qid = np.repeat(np.arange(queries), documents)
    relevant = rng.random(qid.size) < np.repeat(rng.beta(2.0, 18.0, queries), documents)
    quality = np.linspace(0.5, 2.5, 10) + 0.5 * rng.normal(size=(queries, 10))
    noise = 0.6 * rng.normal(size=(qid.size, 1)) + 0.8 * rng.normal(size=(qid.size, 10))
    scores = quality[qid] * relevant[:, None] + noise
    return Collection("constructed systems", scores, relevant.astype(np.intp), qid, functions=True)


def measure(collection: Collection, count: int) -> pd.DataFrame:
    """Return average precision and log-loss in bits, by query, split and method."""
    rows = []
    for split, (learn, new) in enumerate(splits(collection, count)):
        for name, fit in METHODS.items():
            log_odds = fit(learn)(new)
            signed = np.where(new.relevant == 1, -log_odds, log_odds)
            bits = pd.Series(np.logaddexp(0.0, signed) / np.log(2.0)).groupby(new.qid).mean()
            precision = precision_of(new.relevant, log_odds, new.qid)
            own = pd.DataFrame({"MAP": precision, "bits": bits}).rename_axis("query").reset_index()
            rows.append(own.assign(method=name, split=split))
    return pd.concat(rows)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return means by method, as differences from rank fusion with standard errors."""
    out = {}
    for column in ("MAP", "bits"):
        by_query = table.pivot_table(index="query", columns="method", values=column)
        apart = by_query.sub(by_query[REFERENCE], axis=0)
        error = apart.std() / np.sqrt(apart.count())
        out[column] = {
            name: f"{by_query[name].mean():.3f}"
            if name == REFERENCE
            else with_error(apart[name].mean(), error[name], 3)
            for name in METHODS
        }
    return pd.DataFrame(out)


def run(options: Options) -> None:
    """Measure all collections; write page and table."""
    count = options.size(SPLITS, 1)
    collections = [constructed()]
    if options.data is not None:
        # The first one there has two features.
        collections += read_collections(options.data)[1:]
    tables = {each.name: summary(measure(each, count)) for each in collections}
    frame = pd.concat(tables, axis=1)
    frame.columns = [f"{data}, {column}" for data, column in frame.columns]
    write_table(frame.rename_axis("method").reset_index(), options.out, "fusion")
    write_page("fusion", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: gains over rank fusion."""
    return fill("fusion", folder, table=markdown(pd.read_csv(folder / "fusion.csv", dtype=str)))


if __name__ == "__main__":
    main("fusion")
