"""Rankings: measures, the ranker, relevance by query, files of runs."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from bayescal import TopicCalibrator, ranking
from tests.ranking_data import linear_queries

X, RELEVANT, QUERY = linear_queries(n_queries=4, size=20, n_features=3, grid=True)
# Without ties, which another order of additions breaks otherwise in the solver.
FEATURES = X + 0.01 * np.random.default_rng(5).normal(size=X.shape)
SCORES = X @ np.array([1.0, 0.5, -0.5]) + 3.0 * QUERY
RUN = pd.DataFrame(
    {"query_id": QUERY.astype(str), "doc_id": np.arange(80).astype(str), "score": SCORES}
)
QRELS = RUN.drop(columns="score").assign(relevance=RELEVANT * (1 + (np.arange(80) % 3 == 0)))


def measures():
    values = {
        f"average precision, {ties}, {n is None}": ranking.average_precision(
            RELEVANT, SCORES, QUERY, ties=ties, n_relevant=n
        )
        for ties, n in (
            ("pessimistic", None),
            ("expected", None),
            ("expected", dict.fromkeys(range(4), 15)),
        )
    }
    with tempfile.TemporaryDirectory() as folder:
        run, qrels = Path(folder) / "run", Path(folder) / "qrels"
        ranking.write_run(RUN, run)
        ranking.write_qrels(QRELS, qrels)
        files = [ranking.read_run(run), ranking.read_qrels(qrels), run.read_text()]
    judged = ranking.judge_run(RUN, QRELS.iloc[::2])
    evaluated = ranking.evaluate(RUN, QRELS, ("AP", "nDCG@10", "RR"))
    return values | {"files": files, "judged": judged, "evaluated": evaluated}


def ranker():
    results = {}
    for loss in ("map", "roc"):
        for ties in ("pessimistic", "expected"):
            found = ranking.SVMMAPRanker(C=2.0, loss=loss, ties=ties, tol=1e-4)
            found.fit(FEATURES, RELEVANT, QUERY)
            results[f"{loss}, {ties}"] = [found.coef_, found.dual_gap_, found.n_iter_]
            results[f"{loss}, {ties}, score"] = found.score(FEATURES, RELEVANT, qid=QUERY)
    path = ranking.SVMMAPRanker(tol=1e-3).fit_path([0.1, 1.0], FEATURES, RELEVANT, QUERY)
    return results | {"path": [each.coef_ for each in path]}


def relevance():
    inner = TopicCalibrator(parts="gaussian", draws=20, chains=2, random_state=0)
    found = ranking.RelevanceCalibrator(inner, random_state=0).fit(SCORES, RELEVANT, QUERY)
    new = SCORES[:40:2], QUERY[:40:2]
    return {
        "p": found.predict_proba(*new),
        "bands": found.predict_interval(*new, level=0.8),
        "draws": found.sample_proba(*new)[:3],
        "precision": found.expected_average_precision(*new),
        "below": found.relevant_below(*new, rank=3, level=0.8),
        "stop": found.when_to_stop(*new),
        "read": found.read(*new),
    }
