"""Synthetic truths, few documents: mean divergence of the estimated from the true P(+|s).

python -m studies.synthetic [--quick]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from bayescal.support.validation import Floats
from studies.command import Options, main, spread_over
from studies.papers.sigir2003.figures import lines
from studies.peers import PEERS, Method, Settings, accepted, calibrator
from studies.reporting import (
    Bar,
    by_column,
    fill,
    with_error,
    write_bars,
    write_figure,
    write_page,
    write_table,
)
from studies.truths import TRUTHS, Truth

SIZES = (20, 50, 100)
TEST = 2000
CHUNK = 10
FEWER_DRAWS = {"draws": 250}
OURS: dict[str, Settings] = {
    "A.Laplace": {"parts": "asymmetric_laplace"} | FEWER_DRAWS,
    "A.Laplace, mean": {"parts": "asymmetric_laplace", "point": "mean"} | FEWER_DRAWS,
    "A.Laplace, median": {"parts": "asymmetric_laplace", "point": "median"} | FEWER_DRAWS,
    "A.Gaussian": {"parts": "asymmetric_gaussian"} | FEWER_DRAWS,
    "Laplace": {"parts": "laplace"} | FEWER_DRAWS,
    "Gaussian": {"parts": "gaussian"} | FEWER_DRAWS,
    "average": {"parts": "average"} | FEWER_DRAWS,
    # These scores come from no classifier.
    "default": {"prior_knowledge": "vague"} | FEWER_DRAWS,
}
PUBLISHED = {
    "Platt": ((0.082, 0.066, 0.054), (0.048, 0.024, 0.007), (0.049, 0.032, 0.020)),
    "Venn-Abers": ((0.062, 0.045, 0.028), (0.078, 0.044, 0.024), (0.093, 0.041, 0.027)),
    "A.Laplace": ((0.043, 0.030, 0.013), (0.057, 0.039, 0.022), (0.044, 0.027, 0.022)),
    "Bayes logistic": ((0.081, 0.065, 0.052), (0.037, 0.020, 0.007), (0.045, 0.025, 0.018)),
}
"""Published figures by method, truth and size: prototypes and peers, 60 sets each."""


def divergence(true: Floats, estimate: Floats) -> float:
    """Return the mean Kullback-Leibler divergence of Bernoulli distributions, in nats.

    Parameters
    ----------
    true, estimate : array of shape (n,)
        Log-odds.

    Examples
    --------
    >>> divergence(np.zeros(1), np.zeros(1))
    0.0
    """
    p = special.expit(true)
    positive = special.log_expit(true) - special.log_expit(estimate)
    negative = special.log_expit(-true) - special.log_expit(-estimate)
    return float(np.mean(p * positive + (1.0 - p) * negative))


def divergences(
    truth: Truth, n: int, sets: int, seed: tuple[int, ...], methods: dict[str, Method]
) -> pd.DataFrame:
    """Return one row a data set, one column a method."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(sets):
        score, positive = truth.draw(n, rng)
        new, _ = truth.draw(TEST, rng)
        true, labels = truth.log_odds(new), positive.astype(np.int64)
        rows.append({k: divergence(true, m(score, labels, new)) for k, m in methods.items()})
    return pd.DataFrame(rows)


def run(options: Options) -> None:
    """Compare all methods on all truths; write page, table and figure."""
    methods = PEERS | {name: calibrator(**each) for name, each in accepted(OURS).items()}
    chunks = options.size(300, CHUNK) // CHUNK
    cases = [(name, n) for name in TRUTHS for n in SIZES]
    tasks: list[tuple[Any, ...]] = [
        (TRUTHS[name], n, CHUNK, (list(TRUTHS).index(name), n, k), methods)
        for name, n in cases
        for k in range(chunks)
    ]
    parts = spread_over(options.jobs, divergences, tasks)
    rows: list[dict[str, Any]] = []
    for i, (name, n) in enumerate(cases):
        results = pd.concat(parts[i * chunks : (i + 1) * chunks])
        mean, error = results.mean(), results.sem()
        rows += [
            {"truth": name, "n": n, "method": m, "mean": mean[m], "error": error[m]}
            for m in methods
        ]
    table = pd.DataFrame(rows)
    keys = table[["method", "truth", "n"]].values
    table["published"] = [_published(*key) if key[0] in PUBLISHED else np.nan for key in keys]
    write_table(table, options.out, "synthetic")
    labels = ("documents", "mean KL (nats)")
    # Temperature has no intercept and a much larger divergence: only in the table.
    shown = table[table["method"] != "temperature"]
    figure = lines(shown, "n", "method", "truth", labels, columns=3, log=True)
    write_figure(figure, options.out, "synthetic")
    write_bars(_bars(table), options.out, "synthetic")
    write_page("synthetic", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: mean divergence of all methods."""
    table = pd.read_csv(folder / "synthetic.csv")
    cell = table["truth"] + ", " + table["n"].astype(str)
    texts = table.assign(text=table["mean"].map("{:.4f}".format), cell=cell)
    return fill("synthetic", folder, table=by_column(texts, "text", ["method"], "cell"))


def _published(method: str, truth: str, n: int) -> float:
    return PUBLISHED[method][list(TRUTHS).index(truth)][SIZES.index(n)]


def _bars(table: pd.DataFrame) -> list[Bar]:
    """Return bars: the default against the best peer and the prototype, two errors allowed."""
    out = []
    for truth, n in [(truth, n) for truth in TRUTHS for n in SIZES]:
        part = table[(table["truth"] == truth) & (table["n"] == n)]
        mean = dict(zip(part["method"], part["mean"], strict=True))
        error = dict(zip(part["method"], part["error"], strict=True))["default"]
        peer = min(PEERS, key=mean.__getitem__)
        limits = {f"the best peer here, {peer}": mean[peer]}
        limits["the prototype"] = _published("A.Laplace", truth, n)
        out += [
            Bar(
                claim=f"{truth}, n = {n}: default against {name}",
                measured=with_error(mean["default"], error, 4),
                limit=f"≤ {limit:.4f}, two errors allowed",
                holds=mean["default"] - 2 * error <= limit,
            )
            for name, limit in limits.items()
        ]
    return out


if __name__ == "__main__":
    main("synthetic")
