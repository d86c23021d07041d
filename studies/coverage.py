"""Coverage of the true P(+|s) by pointwise bands: under the models' own priors, and fixed truths.

python -m studies.coverage [--quick]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescal import ScoreCalibrator
from bayescal.families import FAMILIES
from bayescal.support.intervals import percent
from bayescal.support.numerics import probability
from bayescal.support.score_checks import without_scores_warnings
from bayescal.support.validation import Floats
from studies.command import Options, main, spread_over
from studies.papers.methods import Labels, venn_abers_bounds
from studies.papers.sigir2003.figures import lines
from studies.peers import Settings, accepted, platt_coefficients
from studies.ranks import DataSet, Parameters, exact, simulate
from studies.reporting import (
    Bar,
    by_column,
    fill,
    with_error,
    with_errors,
    write_bars,
    write_figure,
    write_page,
    write_table,
)
from studies.truths import TRUTHS, Truth

RESAMPLES = 200

# A fitted method, which returns bands of several levels.
Bands = Callable[[Floats, float], Floats]
BandMethod = Callable[[Floats, Labels, int], Bands]


def ours(**settings: Any) -> BandMethod:
    """Return the posterior bands of a ScoreCalibrator with the settings."""

    def fit(scores: Floats, labels: Labels, seed: int) -> Bands:
        with without_scores_warnings():
            fitted = ScoreCalibrator(random_state=seed, **settings).fit(scores, labels)
        return lambda new, level: np.asarray(fitted.predict_interval(new, level))

    return fit


def venn_abers(scores: Floats, labels: Labels, seed: int) -> Bands:
    """Return [p0, p1], which does not depend on the level."""
    del seed
    return lambda new, level: venn_abers_bounds(scores, labels, new)


def bootstrap(scores: Floats, labels: Labels, seed: int) -> Bands:
    """Return percentile bands of Platt's sigmoid over bootstrap resamples of the documents."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(scores.size, np.full(scores.size, 1 / scores.size), RESAMPLES)
    intercept, slope = platt_coefficients(scores, labels, counts.astype(float)).T

    def bands(new: Floats, level: float) -> Floats:
        curves = intercept[:, None] + slope[:, None] * new
        tails = [0.5 - level / 2, 0.5 + level / 2]
        return probability(np.quantile(curves, tails, axis=0)).T

    return bands


# The largest |z| of a family's fifteen cells exceeds this by chance once in 140 times.
LARGEST_Z = 3.5
LEAST_COVERAGE = 0.90


def write_report(own: pd.DataFrame, fixed: pd.DataFrame, options: Options) -> None:
    """Write coverage.md, two tables in CSV and two figures.

    Parameters
    ----------
    own : pandas.DataFrame
        Coverage under the families' own priors: family, n, case, level, mean, error, sets.
    fixed : pandas.DataFrame
        Coverage of fixed truths: truth, n, method, level, mean, error, width, width error, sets.
    options : Options
        Says where.
    """
    write_table(own, options.out, "coverage_own_model")
    write_table(fixed, options.out, "coverage_fixed_truths")
    at_95 = own[own["level"] == own["level"].max()]
    labels = ("documents", "coverage of 95 % bands")
    figure = lines(at_95, "n", "case", "family", labels, columns=4, level=0.95)
    write_figure(figure, options.out, "coverage_own_model")
    figure = lines(
        fixed[fixed["level"] == 0.95], "n", "method", "truth", labels, columns=3, level=0.95
    )
    write_figure(figure, options.out, "coverage_fixed_truths")
    write_bars(_own_bars(own) + _fixed_bars(fixed), options.out, "coverage")
    write_page("coverage", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: coverage of fixed truths by 95 % bands."""
    own, fixed = (
        pd.read_csv(folder / f"coverage_{name}.csv") for name in ("own_model", "fixed_truths")
    )
    shown = fixed[fixed["level"] == fixed["level"].max()]
    texts = shown.assign(text=with_errors(shown["mean"], shown["error"], 3))
    return fill(
        "coverage",
        folder,
        table=by_column(texts, "text", ["truth", "method"], "n").replace("n+", "n"),
        own_sets=f"{own['sets'].max():,}",
        fixed_sets=f"{fixed['sets'].max():,}",
    )


def _own_bars(own: pd.DataFrame) -> list[Bar]:
    out = []
    for family in dict.fromkeys(own["family"]):
        for case, right in (("predictive", True), ("30 % too narrow", False)):
            each = own[(own["family"] == family) & (own["case"] == case)].reset_index()
            z = ((each["mean"] - each["level"]) / each["error"]).abs().to_numpy()
            level, n = each["level"][z.argmax()], each["n"][z.argmax()]
            out.append(
                Bar(
                    claim=f"{family}: bands {'cover' if right else case + ', found out'}",
                    measured=f"largest z = {z.max():.1f} ({percent(level, 0)} at n = {n})",
                    limit=f"{'≤' if right else '>'} {LARGEST_Z}",
                    holds=bool(z.max() <= LARGEST_Z) == right,
                )
            )
    return out


def _fixed_bars(fixed: pd.DataFrame) -> list[Bar]:
    out = []
    at_95 = fixed[(fixed["level"] == 0.95) & (fixed["method"] == "default")]
    for truth in dict.fromkeys(at_95["truth"]):
        part = at_95[at_95["truth"] == truth].reset_index()
        worst = part.to_dict("records")[part["mean"].to_numpy().argmin()]
        out.append(
            Bar(
                claim=f"{truth}: default 95 % band, worst size (n = {worst['n']})",
                measured=with_error(worst["mean"], worst["error"], 3),
                limit=f"≥ {LEAST_COVERAGE:.2f}",
                holds=worst["mean"] >= LEAST_COVERAGE,
            )
        )
    return out


SIZES = (10, 20, 50, 100, 1000)
LEVELS = (0.5, 0.9, 0.95)
POSTERIOR_DRAWS = 2000
SCORES = 20
CHUNK = 20
NARROWING = 0.7
CASES = ("predictive", "new documents", "30 % too narrow")
FEWER_DRAWS = {"draws": 250}
OURS: dict[str, Settings] = {
    # These scores come from no classifier.
    "default": {"prior_knowledge": "vague"} | FEWER_DRAWS,
    "A.Laplace": {"parts": "asymmetric_laplace", **FEWER_DRAWS},
    "A.Gaussian": {"parts": "asymmetric_gaussian", **FEWER_DRAWS},
    "Gaussian": {"parts": "gaussian", **FEWER_DRAWS},
    "average": {"parts": "average", **FEWER_DRAWS},
}
OTHERS: dict[str, BandMethod] = {"Venn-Abers": venn_abers, "bootstrap Platt": bootstrap}


def run(options: Options) -> None:
    """Measure coverage under priors and under fixed truths; write page, tables, figures."""
    own = pd.concat(_under_priors(options), ignore_index=True)
    fixed = pd.concat(_under_truths(options), ignore_index=True)
    write_report(own, fixed, options)


def under_prior(sets: list[DataSet], seed: int) -> Floats:
    """Return coverage at every level and in every case, set by set; shape (sets, levels, CASES).

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
    """Return scores of the posterior predictive, each from its own draw."""
    pick = rng.choice(drawn.prior.size, SCORES, replace=False)
    klass = (rng.random(SCORES) < drawn.prior[pick]).astype(np.intp)
    score = np.empty(SCORES)
    for k in (0, 1):
        values = (value[pick[klass == k], k] for value in drawn.values)
        score[klass == k] = FAMILIES[drawn.family].rvs(*values, rng=rng)
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
    results = np.quantile(curves, np.concatenate([0.5 - half, [0.5], 0.5 + half]), axis=0)
    return results[: half.size], results[half.size], results[half.size + 1 :]


def _under_priors(options: Options) -> Iterator[pd.DataFrame]:
    for f, family in enumerate(sorted(FAMILIES)):
        for n in SIZES:
            sets = simulate(family, n + SCORES, options.size(800, CHUNK), seed=10_000 * f + n)
            chunks = [sets[i : i + CHUNK] for i in range(0, len(sets), CHUNK)]
            tasks = [(chunk, seed) for seed, chunk in enumerate(chunks)]
            results = np.concatenate(spread_over(options.jobs, under_prior, tasks))
            # Scores of one data set share parameters, so errors are between data sets.
            mean, error = results.mean(axis=0), results.std(axis=0, ddof=1) / len(results) ** 0.5
            yield pd.DataFrame(
                (family, n, case, level, mean[i, k], error[i, k], len(results))
                for i, level in enumerate(LEVELS)
                for k, case in enumerate(CASES)
            ).set_axis(["family", "n", "case", "level", "mean", "error", "sets"], axis=1)


def _under_truths(options: Options) -> Iterator[pd.DataFrame]:
    methods = {name: ours(**each) for name, each in accepted(OURS).items()} | OTHERS
    chunks = options.size(200, CHUNK) // CHUNK
    for t, (name, truth) in enumerate(TRUTHS.items()):
        for n in SIZES:
            tasks = [(truth, n, CHUNK, (t, n, k), methods) for k in range(chunks)]
            results = pd.concat(spread_over(options.jobs, under_truth, tasks))
            grouped = results.groupby(["method", "level"], sort=False)
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
