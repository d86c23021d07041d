"""Coverage of the true P(+|s) by pointwise bands: under the models' own priors, and fixed truths.

python -m studies.coverage [--quick]
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from bayescal.bayes import probability
from bayescal.families import FAMILIES
from bayescal.parallel import spread_over
from bayescal.validation import Floats
from studies.command import Options, main
from studies.coverage_report import write_report
from studies.intervals import BandMethod, bootstrap, ours, venn_abers
from studies.peers import Settings, accepted
from studies.ranks import DataSet, Parameters, exact, simulate
from studies.truths import TRUTHS, Truth

SIZES = (10, 20, 50, 100, 1000)
LEVELS = (0.5, 0.9, 0.95)
POSTERIOR_DRAWS = 2000
SCORES = 20
CHUNK = 20
NARROWING = 0.7
CASES = ("predictive", "new documents", "30 % too narrow")
FEWER_DRAWS = {"draws": 250}
OURS: dict[str, Settings] = {
    # These scores are no classifier's.
    "default": {"prior_knowledge": "vague"} | FEWER_DRAWS,
    "A.Laplace": {"family": "asymmetric_laplace", **FEWER_DRAWS},
    "A.Gaussian": {"family": "asymmetric_gaussian", **FEWER_DRAWS},
    "Gaussian": {"family": "gaussian", **FEWER_DRAWS},
    "average": {"family": "average", **FEWER_DRAWS},
}
OTHERS: dict[str, BandMethod] = {"Venn-Abers": venn_abers, "bootstrap Platt": bootstrap}


def run(options: Options) -> None:
    """Measure coverage under priors and under fixed truths; write page, tables, figures."""
    own = pd.concat(_under_priors(options), ignore_index=True)
    fixed = pd.concat(_under_truths(options), ignore_index=True)
    write_report(own, fixed, options)


def under_prior(sets: list[DataSet], seed: int) -> Floats:
    """
    Return coverage at every level and in every case, set by set; shape (sets, levels, CASES).

    The scores are drawn from the posterior predictive, given which the truth is one more posterior
    draw: there coverage is nominal exactly. A new document of the same parameters tells something
    of them itself, which the band, made before, does not know. Bands whose log-odds are narrowed
    about their median belong to a wrong engine.

    Parameters
    ----------
    sets : list of DataSet
        The last SCORES documents of each are the new ones, the others the data.
    seed : int
        Of the engine.
    """
    rng = np.random.default_rng(seed)
    out = np.empty((len(sets), len(LEVELS), len(CASES)))
    for r, data in enumerate(sets):
        seen = DataSet(data.score[:-SCORES], data.positive[:-SCORES], data.truth)
        drawn = exact(seen, POSTERIOR_DRAWS, rng)
        for new, cases in ((predictive(drawn, rng), (0, 2)), (data.score[-SCORES:], (1,))):
            true, curves = data.truth.log_odds(new)[0], drawn.log_odds(new)
            low, middle, high = _quantiles(curves)
            for case in cases:
                factor = NARROWING if case == 2 else 1.0
                above = middle + factor * (low - middle) <= true
                below = true <= middle + factor * (high - middle)
                out[r, :, case] = np.mean(above & below, axis=1)
    return out


def predictive(drawn: Parameters, rng: np.random.Generator) -> Floats:
    """Return scores of the posterior predictive, each from a draw of its own."""
    pick = rng.choice(drawn.prior.size, SCORES, replace=False)
    klass = (rng.random(SCORES) < drawn.prior[pick]).astype(np.intp)
    score = np.empty(SCORES)
    for k in (0, 1):
        values = (value[pick[klass == k], k] for value in drawn.values)
        score[klass == k] = FAMILIES[drawn.family].of_class(k == 1).rvs(*values, rng=rng)
    return score


def under_truth(
    truth: Truth, n: int, sets: int, seed: tuple[int, ...], methods: dict[str, BandMethod]
) -> pd.DataFrame:
    """Return coverage and mean width in probability: rows (set, method, level)."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(sets):
        score, positive = truth.draw(n, rng)
        new, _ = truth.draw(SCORES * 5, rng)
        true = probability(truth.log_odds(new))
        for name, method in methods.items():
            bands = method(score, positive.astype(np.int64), int(rng.integers(2**31)))
            for level in LEVELS[-1:] if name in OTHERS else LEVELS:
                low, high = bands(new, level).T
                inside = np.mean((low <= true) & (true <= high))
                rows.append((name, level, inside, np.mean(high - low)))
    return pd.DataFrame(rows, columns=["method", "level", "coverage", "width"])


def _quantiles(curves: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the lower ends of all levels, the median, and the upper ends."""
    half = np.array(LEVELS) / 2
    found = np.quantile(curves, np.concatenate([0.5 - half, [0.5], 0.5 + half]), axis=0)
    return found[: half.size], found[half.size], found[half.size + 1 :]


def _under_priors(options: Options) -> Iterator[pd.DataFrame]:
    for f, family in enumerate(sorted(FAMILIES)):
        for n in SIZES:
            sets = simulate(family, n + SCORES, options.size(800, CHUNK), seed=10_000 * f + n)
            chunks = [sets[i : i + CHUNK] for i in range(0, len(sets), CHUNK)]
            tasks = [(chunk, seed) for seed, chunk in enumerate(chunks)]
            found = np.concatenate(spread_over(options.jobs, under_prior, tasks))
            # Scores of one data set are no repeats: errors are between data sets.
            mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / len(found) ** 0.5
            yield pd.DataFrame(
                (family, n, case, level, mean[i, k], error[i, k], len(found))
                for i, level in enumerate(LEVELS)
                for k, case in enumerate(CASES)
            ).set_axis(["family", "n", "case", "level", "mean", "error", "sets"], axis=1)


def _under_truths(options: Options) -> Iterator[pd.DataFrame]:
    methods = {name: ours(**each) for name, each in accepted(OURS).items()} | OTHERS
    chunks = options.size(200, CHUNK) // CHUNK
    for t, (name, truth) in enumerate(TRUTHS.items()):
        for n in SIZES:
            tasks = [(truth, n, CHUNK, (t, n, k), methods) for k in range(chunks)]
            found = pd.concat(spread_over(options.jobs, under_truth, tasks))
            grouped = found.groupby(["method", "level"], sort=False)
            summary = pd.DataFrame(
                {
                    "mean": grouped["coverage"].mean(),
                    "error": grouped["coverage"].sem(),
                    "width": grouped["width"].mean(),
                    "width error": grouped["width"].sem(),
                }
            ).reset_index()
            yield summary.assign(truth=name, n=n, sets=chunks * CHUNK)


if __name__ == "__main__":
    main("coverage")
