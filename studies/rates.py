"""Rates from few human labels and many machine scores, beside Wilson, PPI and PPI++.

python -m studies.rates [--quick]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special, stats
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import cross_val_predict

from bayescal import CombinedClassifier
from bayescal.sampling import (
    SamplePlan,
    compare_rates,
    estimate_rate,
    judge_agreement,
    plan_sample,
    rates_by_slice,
)
from bayescal.sampling.design import SamplingUnits
from bayescal.sampling.hidden import RankedCollection
from bayescal.sampling.plans import draw_of_plans
from bayescal.sampling.rank_curve import fit_rank_curve
from bayescal.sampling.rates import Rate, draw_rate, wilson_limits
from bayescal.support.intervals import Interval
from bayescal.support.validation import Floats
from studies.command import Options, main, spread_over
from studies.fusion import Column
from studies.reporting import Bar, fill, markdown, with_error, write_bars, write_page, write_table

DOCUMENTS, ITEMS, LEVEL = 10_000, 5_000, 0.9
Z = float(stats.norm.ppf(0.5 + LEVEL / 2.0))
SIZES, RUNS = (30, 100, 300), 500
DIFFERENCE_SIZES, DIFFERENCE_RUNS = (50, 200), 500
PLAN_SIZE, PILOT, PLAN_RUNS = 100, 60, 100
WILSON, PPI, PPI_TUNED, MODEL = "Wilson", "PPI", "PPI++", "estimate_rate"
VALUES = "win, tie, loss"
BY_SCORE, ROUND, POOLED = "by score: first interval", "second round: planned", "all but values"
PAIRED_T = "paired: t"
SLICES, SLICE_SIZES, SLICE_RUNS = 12, (10, 30), 40
SLICED = ("alike", "rates differ", "judges differ")
ALONE, SHARED, PARTIAL, TOTAL = (
    "alone: estimate_rate",
    "one curve for all",
    "rates_by_slice",
    "rates_by_slice: total",
)
PROMPTS, CLUSTER_SIZES, CLUSTER_RUNS = 2_000, (10, 20, 60), 60
CLUSTERED = ("independent", "dependent", "dependent, useless judge")
TABLES = (
    *("rates", "rates_differences", "rates_plans", "rates_slices", "rates_clusters"),
    *("rates_agreement", "rates_several"),
)
# Distances of the classes, in standard deviations, in the scores of three judges.
SEVERAL = {"alike": (1.5, 1.5, 1.5), "one useless": (1.5, 1.5, 0.0), "reversed": (1.5, 1.5, -1.5)}
SEVERAL_SIZES, SEVERAL_RUNS, SHARED_NOISE = (30, 100), 100, 0.3
FIRST, MEAN_RANK, COMBINED = "the first judge", "mean rank", 'CombinedClassifier, "logistic"'
AGREEMENT_RUNS = 200
# Judges whose verdicts are compared with labels, and the score from which on they are positive.
CUTS = {"informative": 0.3, "bimodal": 0.5, "ratings": 0.75, "useless": 0.5, "rare": 0.02}
# Judges of collections whose plans are measured.
PLANNED = ("informative", "useless", "rare", "hidden", "bimodal")
SCENARIOS = ("same judge", "favours A", "useless", "rare", VALUES)
POOLED_COVERAGE, LEAST_COVERAGE, WIDEST = 0.88, 0.84, 1.02
POOLED_WIDTH = {30: 0.86, 100: 0.83, 300: 0.80}


def _two_normals(share: float, apart: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return probabilities by two normal classes, and labels."""
    y = (rng.random(DOCUMENTS) < share).astype(float)
    t = rng.normal(size=DOCUMENTS) + apart * y
    return special.expit(special.logit(share) + apart * t - apart**2 / 2.0), y


def _biased(rng: np.random.Generator) -> tuple[Floats, Floats]:
    p, y = _two_normals(0.3, 2.0, rng)
    return special.expit(2.0 * special.logit(p) + 1.5), y


def _bimodal(rng: np.random.Generator) -> tuple[Floats, Floats]:
    y = rng.random(DOCUMENTS) < 0.5
    verdict = y ^ (rng.random(DOCUMENTS) < 0.15)
    p = np.where(verdict, rng.beta(8, 0.5, DOCUMENTS), rng.beta(0.5, 8, DOCUMENTS))
    return p, y.astype(float)


def _ratings(rng: np.random.Generator) -> tuple[Floats, Floats]:
    y = (rng.random(DOCUMENTS) < 0.6).astype(float)
    return np.digitize(rng.normal(size=DOCUMENTS) + 1.2 * y, [-1.0, 0.0, 1.0, 1.8]) / 4.0, y


def _hump(rng: np.random.Generator) -> tuple[Floats, Floats]:
    t = rng.normal(size=DOCUMENTS)
    y = rng.random(DOCUMENTS) < special.expit(2.5 - 3.0 * np.abs(t - 0.3))
    return special.expit(t), y.astype(float)


def _hidden(rng: np.random.Generator) -> tuple[Floats, Floats]:
    y = rng.random(DOCUMENTS) < 0.1
    seen = y & (rng.random(DOCUMENTS) >= 0.5)
    return special.expit(rng.normal(size=DOCUMENTS) + 3.0 * seen), y.astype(float)


def _reversed(rng: np.random.Generator) -> tuple[Floats, Floats]:
    p, y = _two_normals(0.3, 1.5, rng)
    return 1.0 - p, y


def _values(rng: np.random.Generator) -> tuple[Floats, Floats]:
    y = 0.5 * rng.binomial(2, 0.55, DOCUMENTS)
    return special.expit(4.0 * (y - 0.5) + rng.normal(size=DOCUMENTS)), y


JUDGES: dict[str, Callable[[np.random.Generator], tuple[Floats, Floats]]] = {
    "informative": lambda rng: _two_normals(0.3, 2.5, rng),
    "useless": lambda rng: (rng.random(DOCUMENTS), (rng.random(DOCUMENTS) < 0.4).astype(float)),
    "biased": _biased,
    "bimodal": _bimodal,
    "rare": lambda rng: _two_normals(0.02, 2.5, rng),
    "ratings": _ratings,
    "hump": _hump,
    "hidden": _hidden,
    "reversed": _reversed,
    VALUES: _values,
}


def ppi(y: Floats, judged: Floats, others: Floats, power: float | None = 1.0) -> Interval:
    """Return the interval of prediction-powered inference; with power None it is tuned (PPI++).

    `judged` are the judge's scores of labelled documents, `others` those of unlabelled ones.
    """
    n, rest = y.size, others.size
    if power is None:
        variance = np.concatenate([judged, others]).var()
        power = float(np.cov(y, judged, ddof=0)[0, 1] / ((1.0 + n / rest) * variance))
        power = min(max(power, 0.0), 1.0)
    value = power * others.mean() + (y - power * judged).mean()
    error = np.sqrt((y - power * judged).var() / n + power**2 * others.var() / rest)
    return Interval(float(value), float(value - Z * error), float(value + Z * error), LEVEL)


def _drawn(y: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Return the labels of a simple random sample, nan for the others."""
    labels = np.full(y.size, np.nan)
    rows = rng.choice(y.size, n, replace=False)
    labels[rows] = y[rows]
    return labels


def rates(judge: str, n: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """Return whether each method's interval holds the rate, its width / Wilson's, its error."""
    rng = np.random.default_rng([seed, n, list(JUDGES).index(judge)])
    scores, y = JUDGES[judge](rng)
    labels = _drawn(y, n, rng)
    known = ~np.isnan(labels)
    own = labels[known], scores[known], scores[~known]
    found = {
        WILSON: wilson_limits(labels[known], LEVEL),
        PPI: ppi(*own),
        PPI_TUNED: ppi(*own, None),
        MODEL: estimate_rate(scores, labels, design="random", random_state=rng),
    }
    return _judged(found, float(y.mean()), WILSON)


def _judged(
    found: dict[str, Interval], truth: float, usual: str
) -> dict[str, tuple[float, float, float]]:
    return {
        name: (
            each.lower <= truth <= each.upper,
            each.width / found[usual].width,
            each.value - truth,
        )
        for name, each in found.items()
    }


def differences(scenario: str, n: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """Return the same of differences of two systems, with labels of the same items and not."""
    rng = np.random.default_rng([seed, n, SCENARIOS.index(scenario)])
    ease = 1.5 * rng.normal(size=ITEMS)
    levels = (-4.2, -3.6) if scenario == "rare" else (0.5, 0.2)
    trials = 2 if scenario == VALUES else 1
    y = [rng.binomial(trials, special.expit(level + ease)) / trials for level in levels]
    apart = 0.0 if scenario == "useless" else 2.2
    favour = 1.0 if scenario == "favours A" else 0.0
    scores = [apart * each + rng.normal(size=ITEMS) for each in y]
    scores[0] += favour
    judged = [special.expit(each - (apart + favour) / 2.0) for each in scores]
    rows = rng.choice(ITEMS, n, replace=False)
    labels = [np.full(ITEMS, np.nan) for _ in y]
    for each, true in zip(labels, y, strict=True):
        each[rows] = true[rows]
    elsewhere = _drawn(y[1], n, rng)
    pairs = compare_rates(scores[0], labels[0], scores[1], labels[1], random_state=rng)
    apart_too = compare_rates(
        scores[0], labels[0], scores[1], elsewhere, paired=False, random_state=rng
    )
    d = (y[0] - y[1])[rows]
    half = stats.t.ppf(0.5 + LEVEL / 2.0, n - 1) * d.std(ddof=1) / np.sqrt(n)
    others = np.delete(judged[0] - judged[1], rows)
    of_pairs: dict[str, Interval] = {
        "paired: Newcombe": pairs.classical,
        PAIRED_T: Interval(d.mean(), d.mean() - half, d.mean() + half, LEVEL),
        "paired: PPI++": ppi(d, (judged[0] - judged[1])[rows], others, None),
        "paired: compare_rates": pairs,
    }
    of_others: dict[str, Interval] = {
        "unpaired: Newcombe": apart_too.classical,
        "unpaired: compare_rates": apart_too,
    }
    truth = float(y[0].mean() - y[1].mean())
    return _judged(of_pairs, truth, "paired: Newcombe") | _judged(
        of_others, truth, "unpaired: Newcombe"
    )


def slices(scenario: str, n: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """Return the same of slices with n labels each, averaged over slices; widths by ALONE's."""
    rng = np.random.default_rng([seed, n, SLICED.index(scenario)])
    code = np.repeat(np.arange(SLICES), np.geomspace(200, 2_000, SLICES).astype(int))
    spread = 0.0 if scenario == "alike" else 0.7
    rate = special.expit(0.5 + spread * rng.normal(size=SLICES))
    y = (rng.random(code.size) < rate[code]).astype(float)
    apart, shift = np.full(SLICES, 2.0), np.zeros(SLICES)
    if scenario == "judges differ":
        apart[rng.permutation(SLICES)[: SLICES // 3]] = 0.0
        shift = 0.7 * rng.normal(size=SLICES)
    scores = shift[code] + apart[code] * (y - 0.5) + rng.normal(size=code.size)
    labels = np.full(code.size, np.nan)
    for k in range(SLICES):
        own = np.flatnonzero(code == k)
        labels[own] = _drawn(y[own], n, rng)
    found = rates_by_slice(scores, labels, code, random_state=rng)
    collection, known = RankedCollection.even(scores), ~np.isnan(labels)
    counts = collection.count(known), collection.count(known, labels)
    p, _ = fit_rank_curve(collection.z, *counts, 1.0, rng)
    answers = []
    for k in range(SLICES):
        own = code == k
        shared = draw_rate(labels[own], collection.count(own & ~known), p, 1.0, rng)
        each = {
            ALONE: estimate_rate(scores[own], labels[own], random_state=rng),
            SHARED: Interval.of_draws(shared, LEVEL),
            PARTIAL: found.rates[str(k)],
        }
        answers.append(_judged(each, float(y[own].mean()), ALONE))
    means = {name: np.mean([each[name] for each in answers], axis=0) for name in answers[0]}
    wilson = wilson_limits(labels[known], LEVEL)
    whole = _judged({WILSON: wilson, TOTAL: found.total or wilson}, float(y.mean()), WILSON)
    return means | {TOTAL: whole[TOTAL]}


def clusters(scenario: str, n: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """Return the same of n prompts whose answers, 1 to 9, are all labelled."""
    rng = np.random.default_rng([seed, n, CLUSTERED.index(scenario)])
    size = rng.integers(1, 10, PROMPTS)
    code = np.repeat(np.arange(PROMPTS), size)
    ease = 0.0 if scenario == "independent" else 2.5
    y = rng.random(code.size) < special.expit(0.5 + ease * rng.normal(size=PROMPTS)[code])
    scores = (0.0 if "useless" in scenario else 2.0) * y + rng.normal(size=code.size)
    drawn = np.isin(code, rng.choice(PROMPTS, n, replace=False))
    labels = np.where(drawn, y, np.nan)
    found: dict[str, Interval] = {WILSON: wilson_limits(labels[drawn], LEVEL)}
    for name, cluster in ((MODEL, None), (f"{MODEL}, clusters=", code)):
        options = {"design": "random", "random_state": rng}
        found[name] = estimate_rate(scores, labels, clusters=cluster, **options)
    return _judged(found, float(y.mean()), WILSON)


def agreement(judge: str, n: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """Return the same of `judge_agreement`; widths by Wilson's of labels alone, kappa's as is."""
    rng = np.random.default_rng([seed, n, 3, list(JUDGES).index(judge)])
    scores, y = JUDGES[judge](rng)
    labels = _drawn(y, n, rng)
    verdict, known = scores >= CUTS[judge], ~np.isnan(labels)
    found = judge_agreement(scores, labels, CUTS[judge], random_state=rng)
    shares = {
        "sensitivity": (found.sensitivity, verdict, y == 1.0),
        "specificity": (found.specificity, ~verdict, y == 0.0),
    }
    out = {}
    for name, (interval, right, own) in shares.items():
        alone = right[own & known].astype(float)
        width = wilson_limits(alone, LEVEL).width if alone.size else 1.0
        out |= _judged(
            {name: interval, WILSON: Interval(0.0, 0.0, width)}, right[own].mean(), WILSON
        )
    kappa = float(cohen_kappa_score(y, verdict))
    out |= _judged({"kappa": found.kappa, WILSON: Interval(0.0, 0.0, 1.0)}, kappa, WILSON)
    return {name: numbers for name, numbers in out.items() if name != WILSON}


def several(case: str, n: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """Return the same of `estimate_rate` by one of three judges, and by ways to combine them."""
    rng = np.random.default_rng([seed, n, 13, list(SEVERAL).index(case)])
    y = (rng.random(DOCUMENTS) < 0.4).astype(float)
    noise = rng.normal(size=(DOCUMENTS, 4)) * np.sqrt([1.0 - SHARED_NOISE] * 3 + [SHARED_NOISE])
    judged = y[:, None] * SEVERAL[case] + noise[:, :3] + noise[:, 3:]
    own = rng.choice(DOCUMENTS, n, replace=False)
    labels = np.full(DOCUMENTS, np.nan)
    labels[own] = y[own]
    scores = {
        FIRST: judged[:, 0],
        MEAN_RANK: stats.rankdata(judged, axis=0).mean(axis=1),
        COMBINED: _combined(judged, labels),
    }
    found = {
        name: estimate_rate(each, labels, design="random", random_state=rng)
        for name, each in scores.items()
    }
    limits: dict[str, Interval] = {WILSON: wilson_limits(y[own], LEVEL), **found}
    return _judged(limits, float(y.mean()), WILSON)


def _combined(judged: Floats, labels: Floats) -> Floats:
    """Return log-odds by all judges; of labelled documents, by the other labelled ones."""
    known = ~np.isnan(labels)
    columns = [(f"judge {k}", Column(k)) for k in range(judged.shape[1])]
    combined = CombinedClassifier(columns, combiner="logistic", random_state=0)
    out = combined.fit(judged[known], labels[known]).decision_function(judged)
    out[known] = cross_val_predict(
        combined, judged[known], labels[known], cv=5, method="decision_function"
    )
    return np.asarray(out)


def plans(judge: str, seed: int) -> dict[str, tuple[float, float, float]]:
    """Return the same of plans: one by score, and two rounds for prevalence."""
    rng = np.random.default_rng([seed, 7, list(JUDGES).index(judge)])
    scores, y = JUDGES[judge](rng)

    def labelled(*drawn: SamplePlan) -> Floats:
        labels = np.full(y.size, np.nan)
        for plan in drawn:
            labels[plan.documents] = y[plan.documents]
        return labels

    by_score = plan_sample(scores, PLAN_SIZE, purpose="recall", random_state=seed)
    rate: Rate = estimate_rate(scores, labelled(by_score), design=by_score, random_state=rng)
    first = plan_sample(scores, PILOT, purpose="prevalence", random_state=seed)
    options = {"labels": labelled(first), "inclusion": first, "random_state": seed}
    simple, planned = (
        plan_sample(scores, PLAN_SIZE, purpose=purpose, **options)  # type: ignore[arg-type]
        for purpose in ("control", "prevalence")
    )
    of_rounds: dict[str, Interval] = {
        name: _limits(scores, labelled(first, plan), (first, plan))
        for name, plan in (("second round: random", simple), (ROUND, planned))
    }
    of_score: dict[str, Interval] = {BY_SCORE: rate, "by score: model": rate.model}
    truth = float(y.mean())
    return _judged(of_score, truth, BY_SCORE) | _judged(of_rounds, truth, "second round: random")


def _limits(scores: Floats, labels: Floats, of: tuple[SamplePlan, ...]) -> Interval:
    drawn = draw_of_plans(SamplingUnits.of(scores, labels, None), of)
    if drawn is None:
        raise ValueError("the labels must be those of the plans.")
    return drawn.limits("prevalence", np.ones(labels.size, dtype=bool), LEVEL)


def run(options: Options) -> None:
    """Measure; write page and tables."""
    measured = [
        _table(options, rates, JUDGES, SIZES, RUNS, "judge"),
        _table(options, differences, SCENARIOS, DIFFERENCE_SIZES, DIFFERENCE_RUNS, "systems"),
        _table(options, _plans, PLANNED, (PLAN_SIZE,), PLAN_RUNS, "judge"),
        _table(options, slices, SLICED, SLICE_SIZES, SLICE_RUNS, "slices"),
        _table(options, clusters, CLUSTERED, CLUSTER_SIZES, CLUSTER_RUNS, "answers to one prompt"),
        _table(options, agreement, CUTS, SIZES, AGREEMENT_RUNS, "judge"),
        _table(options, several, SEVERAL, SEVERAL_SIZES, SEVERAL_RUNS, "judges"),
    ]
    for name, table in zip(TABLES, measured, strict=True):
        write_table(table, options.out, name)
    write_bars(_bars(*measured[:3]), options.out, "rates")
    write_page("rates", options.out, page(options.out))


def _plans(judge: str, _: int, seed: int) -> dict[str, tuple[float, float, float]]:
    return plans(judge, seed)


def _table(
    options: Options,
    measure: Callable[[str, int, int], dict[str, tuple[float, float, float]]],
    names: Iterable[str],
    sizes: tuple[int, ...],
    runs: int,
    column: str,
) -> pd.DataFrame:
    """Return coverage, relative width and error of each method, by case, size and pooled."""
    cells = [(name, n) for name in names for n in sizes]
    tasks = [(*cell, seed) for cell in cells for seed in range(options.size(runs, 2))]
    found = spread_over(options.jobs, measure, tasks)
    rows = pd.DataFrame(
        [
            (name, n, method, *numbers)
            for (name, n, _), each in zip(tasks, found, strict=True)
            for method, numbers in each.items()
        ],
        columns=[column, "n", "method", "coverage", "width", "error"],
    )
    pooled = rows[rows[column] != VALUES].assign(**{column: POOLED})
    groups = pd.concat([rows, pooled]).groupby([column, "n", "method"], sort=False)
    table = groups.mean().join(groups.sem().add_suffix("_se"))
    table["rmse"] = groups["error"].apply(lambda error: np.sqrt(np.mean(error**2)))
    return table.reset_index()


def page(folder: Path) -> str:
    """Return the page: coverage and relative width of each method."""
    rated, compared, _, sliced, clustered, *_ = (
        pd.read_csv(folder / f"{name}.csv") for name in TABLES
    )
    few = rated[(rated["n"] == SIZES[0]) | (rated["judge"] == POOLED)]
    pooled = _fewest(compared[compared["systems"].isin((POOLED, VALUES))])
    return fill(
        "rates",
        folder,
        rates=markdown(_wide(few)),
        differences=markdown(_wide(pooled)),
        **{
            name: markdown(_wide(_fewest(table[table.iloc[:, 0] != POOLED])))
            for name, table in (("slices", sliced), ("clusters", clustered))
        },
    )


def _fewest(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the fewest labels."""
    return table[table["n"] == table["n"].min()]


def _wide(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each case and size, and "coverage / relative width" of each method."""
    cells = [f"{c:.2f} / {w:.2f}" for c, w in zip(table["coverage"], table["width"], strict=True)]
    case = table.columns[0]
    wide = table.assign(cell=cells).pivot_table(
        index=[case, "n"], columns="method", values="cell", aggfunc="first", sort=False
    )
    return wide[list(dict.fromkeys(table["method"]))].reset_index()


def _bars(rated: pd.DataFrame, compared: pd.DataFrame, planned: pd.DataFrame) -> list[Bar]:
    bars = []

    def bar(row: pd.Series[Any], number: str, limit: float, *, most: bool = False) -> None:
        value, error = float(row[number]), float(row[f"{number}_se"])
        claim = f"{row.iloc[0]}, n = {row['n']}, {row['method']}: {number}"
        holds = value <= limit + 2.0 * error if most else value >= limit - 2.0 * error
        text = f"{'<=' if most else '>='} {limit}, two errors allowed"
        bars.append(Bar(claim, with_error(value, error, 3), text, bool(holds)))

    for _, row in rated[rated["method"] == MODEL].iterrows():
        pooled = row["judge"] == POOLED
        bar(row, "coverage", POOLED_COVERAGE if pooled else LEAST_COVERAGE)
        bar(row, "width", POOLED_WIDTH[row["n"]] if pooled else WIDEST, most=True)
    pooled_rows = compared[compared["systems"] == POOLED]
    of_t = pooled_rows[pooled_rows["method"] == PAIRED_T].set_index("n")["width"]
    for _, row in pooled_rows[pooled_rows["method"].str.endswith("compare_rates")].iterrows():
        bar(row, "coverage", 0.87)
        usual = of_t[row["n"]] if row["method"].startswith("paired") else 1.0
        bar(row, "width", round(WIDEST * usual, 3), most=True)
    for _, row in planned.iterrows():
        if row["method"] == BY_SCORE:
            bar(row, "coverage", POOLED_COVERAGE)
        if row["method"] == ROUND:
            bar(row, "width", 1.0, most=True)
    return bars


if __name__ == "__main__":
    main("rates")
