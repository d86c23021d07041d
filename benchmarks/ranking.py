"""SVMMAPRanker in processor time: one pass over all queries, fits, and the fits of peers.

python -m benchmarks.ranking
"""

import time

import numpy as np
from sklearn.linear_model import LogisticRegression

from bayescal.ranking import SVMMAPRanker
from bayescal.ranking.problem import LOSSES, RankingProblem, search_blocks, search_table
from studies.papers.svm_map.baselines import BASELINES, ClassifierRanker, LambdaRanker

QUERIES, DOCUMENTS, FEATURES, RELEVANT = 50, 1000, 100, 30
# Seconds of processor time.
BAR_PASS = 0.040
BAR_FIT = 1.5
BAR_PAPER = 3.0


def linear_queries(noise=1.1):
    """Return documents of which the 30 first of each query by a noisy linear score are relevant."""
    rng = np.random.default_rng(0)
    coef = rng.normal(size=FEATURES) / FEATURES**0.5
    features = rng.normal(size=(QUERIES, DOCUMENTS, FEATURES))
    scores = features @ coef + noise * rng.normal(size=(QUERIES, DOCUMENTS))
    relevant = np.argsort(np.argsort(-scores)) < RELEVANT
    qid = np.repeat(np.arange(QUERIES), DOCUMENTS)
    return features.reshape(-1, FEATURES), relevant.ravel().astype(int), qid


def binned_queries(functions=15, thresholds=50, documents=3000, queries=10, noise=1.5):
    """Return documents as in the paper: 750 features 0 and 1 of 15 noisy, correlated functions."""
    rng = np.random.default_rng(0)
    n = queries * documents
    relevant = np.tile(np.arange(documents) < 40, queries)
    common = rng.normal(size=n) + relevant
    scores = common[:, None] + noise * rng.normal(size=(n, functions))
    at = np.quantile(scores, np.linspace(0.02, 0.98, thresholds), axis=0)
    features = (scores[:, :, None] >= at.T[None]).reshape(n, -1).astype(np.float32)
    return features, relevant.astype(int), np.repeat(np.arange(queries), documents)


def seconds(function, runs=3):
    """Return the processor time of a call, the least of several."""
    found = []
    for _ in range(runs):
        start = time.process_time()
        function()
        found.append(time.process_time() - start)
    return min(found)


def tell(name, taken, bar=None):
    verdict = "" if bar is None else f"   bar {bar:6.3f} s  {'holds' if taken <= bar else 'MISSED'}"
    print(f"{name:62} {taken:8.4f} s{verdict}")


def one_pass():
    features, relevant, _ = linear_queries()
    blocks = []
    for x, y in zip(np.split(features, QUERIES), np.split(relevant, QUERIES), strict=True):
        blocks.append(x[np.argsort(-y, kind="stable")])
    problem = RankingProblem(blocks, [RELEVANT] * QUERIES, LOSSES["map"])
    coef = np.random.default_rng(1).normal(size=FEATURES)
    taken = seconds(lambda: [problem.most_violated(k, coef) for k in range(QUERIES)], runs=7)
    tell(f"one pass, {QUERIES} queries x {DOCUMENTS} documents", taken, BAR_PASS)


def searches():
    rng = np.random.default_rng(2)
    for sizes in ((30, 970), (500, 5000), (2000, 20000)):
        relevant, nonrelevant = (np.sort(rng.normal(size=n))[::-1] for n in sizes)
        for search in (search_table, search_blocks):
            taken = seconds(lambda s=search, r=relevant, n=nonrelevant: s(r, n))
            tell(f"{search.__name__}, P, N = {sizes}", taken)


def fits():
    data = linear_queries()
    for cost in (1.0, 100.0, 1000.0):
        ranker = SVMMAPRanker(cost, tol=1e-2)
        taken = seconds(lambda r=ranker: r.fit(*data))
        bar = BAR_FIT if cost == 100.0 else None
        tell(f"fit, {QUERIES} x {DOCUMENTS} x {FEATURES}, C = {cost:g}, gap 1e-2", taken, bar)
    paper = binned_queries()
    for cost, tol in ((1.0, 1e-2), (10.0, 1e-2), (100.0, 1e-1), (100.0, 1e-2)):
        ranker = SVMMAPRanker(cost, tol=tol)
        taken = seconds(lambda r=ranker: r.fit(*paper), runs=1)
        tell(f"fit, 10 x 3000 x 750 binned, C = {cost:g}, gap {tol:g}", taken, BAR_PAPER)


def peers():
    data = linear_queries()
    mine = seconds(lambda: SVMMAPRanker(100.0, tol=1e-2).fit(*data))
    others = {
        "LogisticRegression": ClassifierRanker(LogisticRegression()),
        "LinearSVC": BASELINES["SVMacc"].make(1.0),
    }
    if BASELINES["lambdarank"].installed:
        others["LightGBM's lambdarank, 100 trees"] = LambdaRanker()
    for name, peer in others.items():
        taken = seconds(lambda p=peer: p.fit(*data), runs=2)
        print(f"fit at C = 100 against {name:39} {taken:8.4f} s   ratio {mine / taken:6.3f}")


def main():
    """Print times beside their bars, and ratios."""
    one_pass()
    searches()
    fits()
    peers()


if __name__ == "__main__":
    main()
