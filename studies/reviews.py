"""Recall of planned samples, fits with inclusion probabilities, and stopping of reviews.

python -m studies.reviews [--quick]
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
from scipy import stats

from bayescal import ScoreCalibrator
from bayescal.metrics import log_loss
from bayescal.sampling import estimate_recall, inclusion_of, plan_sample, stop_review
from bayescal.sampling.design import SamplingUnits
from bayescal.sampling.plans import SamplePlan, draw_of_plans
from bayescal.sampling.stopping import rank_order_pvalue
from bayescal.support.intervals import Interval
from bayescal.support.score_checks import ScoresWarning
from bayescal.support.validation import Floats
from bayescal.text.reuters_scores import TOPICS, load_reuters_scores
from studies.command import Options, main, spread_over
from studies.reporting import Bar, fill, markdown, with_error, write_bars, write_page, write_table

DOCUMENTS, PILOT = 30_000, 0.2
HIDDEN = {"Gaussian": 0.0, "10 % hidden": 0.1, "25 % hidden": 0.25, "50 % hidden": 0.5}
HEAVY, REUTERS = "heavy tails", "Reuters, linear SVM"
POPULATIONS = (*HIDDEN, "half easy, half hard", "SVM-like", HEAVY)
# Population, share of positives, labels.
CELLS = (
    *((name, 0.01, 500) for name in POPULATIONS),
    ("Gaussian", 0.01, 2_000),
    ("25 % hidden", 0.01, 2_000),
    ("Gaussian", 0.005, 1_000),
    ("25 % hidden", 0.05, 500),
    (REUTERS, 0.0, 400),
)
RUNS = 72
# Population, share, labels: of intervals from the draw alone, which cost little.
DRAWN, DRAWS = (
    (
        ("Gaussian", 0.01, 500),
        ("25 % hidden", 0.01, 500),
        ("SVM-like", 0.01, 500),
        ("Gaussian", 0.01, 2_000),
        ("half easy, half hard", 0.05, 500),
    ),
    150,
)
METHODS = ("design-based", "hull", "no positives hidden", "Clopper-Pearson", "two strata, Jeffreys")
FITS, STOPS, WANTED, SURE = 25, 24, 0.8, 0.9
CONTROL_POSITIVES, STOP_LABELS, LOOK = 25, 2_400, 1_000
PART_WAY = 2 / 3  # how much of the first answer is read before the rule is asked again


PRIORS, EARLIER = ("vague", "learned"), 40
TABLES = ("reviews", "reviews_draws", "reviews_fits", "reviews_stops", "reviews_earlier")
PIECES = ("recalls", "draws", "fits", "stops", "earlier")


def draw(population: str, share: float, rng: np.random.Generator) -> tuple[Floats, np.ndarray]:
    """Return scores of a collection and its labels."""
    n = DOCUMENTS
    positive = np.zeros(n, dtype=bool)
    positive[: round(share * n)] = True
    count = int(positive.sum())
    if population == HEAVY:
        return stats.t(3).rvs(n, random_state=rng) / 1.3 + 2.5 * positive, positive
    if population == "SVM-like":
        scores = -1.0 + 0.35 * (rng.gamma(2.0, 0.5, n) - 1.0)
        scores[:count] = rng.normal(0.2, 0.8, count)
        return scores, positive
    scores = rng.normal(size=n)
    if population == "half easy, half hard":
        easy = rng.random(count) < 0.5
        scores[:count] = rng.normal(np.where(easy, 3.5, 1.2), 0.8)
        return scores, positive
    visible = np.arange(count) >= round(HIDDEN[population] * count)
    scores[:count] += 2.5 * visible
    return scores, positive


def threshold_of(population: str, scores: Floats, positive: np.ndarray) -> float:
    """Return the threshold with recall .8 of the positives that are not hidden."""
    own = scores[positive]
    hidden = round(HIDDEN.get(population, 0.0) * own.size)
    return float(np.quantile(own[hidden:], 0.2))


def labelled(positive: np.ndarray, *plans: SamplePlan) -> Floats:
    """Return the labels of the documents of some plans, nan for all others."""
    labels = np.full(positive.size, np.nan)
    for plan in plans:
        labels[plan.documents] = positive[plan.documents]
    return labels


def planned(
    scores: Floats, positive: np.ndarray, threshold: float, n: int, seed: int
) -> tuple[Floats, tuple[SamplePlan, SamplePlan]]:
    """Return the labels of a pilot and of a main sample, and their plans."""
    first = max(60, round(PILOT * n))
    pilot = plan_sample(scores, first, threshold=threshold, random_state=seed)
    labels = labelled(positive, pilot)
    plan = plan_sample(
        scores,
        n - first,
        threshold=threshold,
        labels=labels,
        inclusion=pilot,
        random_state=seed + 1,
    )
    return labelled(positive, pilot, plan), (pilot, plan)


def recall_of(population: str, share: float, n: int, seed: int) -> list[tuple[bool, float]]:
    """Return whether each method's interval holds the recall, and its width; then seconds."""
    rng = np.random.default_rng([seed, n, round(1e5 * share), crc32(population.encode())])
    if population == REUTERS:
        table = load_reuters_scores("linear_svm", TOPICS[seed % len(TOPICS)], "test")
        scores, positive = table["score"].to_numpy(), table["label"].to_numpy() == 1
    else:
        scores, positive = draw(population, share, rng)
    at = threshold_of(population, scores, positive)
    truth = float(np.mean(scores[positive] >= at))
    labels, plans = planned(scores, positive, at, n, int(rng.integers(2**31)))
    start = time.process_time()
    found = estimate_recall(scores, labels, at, design=plans, random_state=seed)
    seconds = time.process_time() - start
    assert found.design_based is not None  # noqa: S101
    peers = clopper_pearson(scores, positive, at, n, rng), two_strata(scores, positive, at, n, rng)
    each = (found.design_based, found.robust, found.without_hidden, *peers)
    held = [(bool(one.lower <= truth <= one.upper), one.width) for one in each]
    return [*held, (True, seconds)]


def by_prior(population: str, seed: int) -> list[tuple[bool, float]]:
    """Return whether the hull holds by each prior of the share hidden, and its width."""
    rng = np.random.default_rng([seed, crc32(population.encode()), 13])
    scores, positive = draw(population, 0.01, rng)
    at = threshold_of(population, scores, positive)
    truth = float(np.mean(scores[positive] >= at))
    labels, _ = planned(scores, positive, at, 500, int(rng.integers(2**31)))
    found = [estimate_recall(scores, labels, at, hidden=each).robust for each in PRIORS]
    return [(bool(one.lower <= truth <= one.upper), one.width) for one in found]


def from_the_draw(population: str, share: float, n: int, seed: int) -> tuple[bool, float]:
    """Return whether the interval from the draw alone holds in one round, and its width."""
    rng = np.random.default_rng(seed + 10**6)
    scores, positive = draw(population, share, rng)
    at = threshold_of(population, scores, positive)
    truth = float(np.mean(scores[positive] >= at))
    plan = plan_sample(scores, n, threshold=at, random_state=seed)
    units = SamplingUnits.of(scores, labelled(positive, plan), None)
    drawn = draw_of_plans(units, (plan,))
    assert drawn is not None  # noqa: S101
    found = drawn.limits("recall", units.scores >= at, 0.9)
    return bool(found.lower <= truth <= found.upper), found.width


def clopper_pearson(
    scores: Floats, positive: np.ndarray, at: float, n: int, rng: np.random.Generator
) -> Interval:
    """Return the limits of recall from the positives of a simple random sample."""
    own = rng.choice(scores.size, n, replace=False)
    own = own[positive[own]]
    if not own.size:
        return Interval(np.nan, 0.0, 1.0)
    above = int((scores[own] >= at).sum())
    ends = stats.binomtest(above, own.size).proportion_ci(0.9, method="exact")
    return Interval(above / own.size, float(ends.low), float(ends.high))


def two_strata(
    scores: Floats, positive: np.ndarray, at: float, n: int, rng: np.random.Generator
) -> Interval:
    """Return recall from a quarter of the labels above and the rest below, Jeffreys' priors."""
    above = np.flatnonzero(scores >= at)
    below = np.flatnonzero(scores < at)
    first = min(above.size, max(20, n // 4))
    counts = []
    for frame, size in ((above, first), (below, n - first)):
        own = positive[rng.choice(frame, size, replace=False)]
        rate = rng.beta(0.5 + own.sum(), 0.5 + (~own).sum(), 4_000)
        counts.append(own.sum() + rng.binomial(frame.size - size, rate))
    recall = counts[0] / np.maximum(counts[0] + counts[1], 1)
    lower, upper = np.quantile(recall, [0.05, 0.95])
    return Interval(float(recall.mean()), float(lower), float(upper))


def fitted(population: str, seed: int) -> tuple[bool, float, float, float]:
    """Return whether a calibrator's recall holds with inclusion=, its width, and two losses."""
    rng = np.random.default_rng([seed, len(population), 7])
    scores, positive = draw(population, 0.01, rng)
    at = threshold_of(population, scores, positive)
    truth = float(np.mean(scores[positive] >= at))
    labels, plans = planned(scores, positive, at, 400, seed)
    rows = ~np.isnan(labels)
    simple = rng.choice(scores.size, 400, replace=False)
    if positive[simple].sum() < 2:
        simple[:2] = np.flatnonzero(positive)[:2]
    calibrators = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoresWarning)
        for own, chance in ((rows, inclusion_of(plans, scores)[rows]), (simple, None)):
            calibrator = ScoreCalibrator(random_state=seed, draws=300)
            calibrators.append(calibrator.fit(scores[own], positive[own], inclusion=chance))
    # Documents of like scores together: a thousand are as good as thirty thousand.
    order = np.argsort(scores)
    bins = np.array_split(order, np.r_[np.arange(100, 29_000, 100), np.arange(29_000, 30_000, 5)])
    middle = np.array([scores[each].mean() for each in bins])
    p = calibrators[0].sample_proba(middle)
    known = np.array([np.nansum(labels[each]) for each in bins])
    left = np.array([np.isnan(labels[each]).sum() for each in bins])
    total = known + rng.binomial(left, p)
    recall = total[:, middle >= at].sum(axis=1) / np.maximum(total.sum(axis=1), 1)
    lower, upper = np.quantile(recall, [0.05, 0.95])
    bits = [1_000.0 * log_loss(positive, each.predict_proba(scores)[:, 1]) for each in calibrators]
    return bool(lower <= truth <= upper), float(upper - lower), *bits


def stopped(population: str, seed: int) -> list[tuple[bool, int]]:
    """Return whether each rule reached the recall, and how many documents were read in all."""
    rng = np.random.default_rng([seed, crc32(population.encode()), 11])
    scores, positive = draw(population, 0.01, rng)
    order = np.argsort(-scores)
    by_rank = positive[order]
    options = {"recall": WANTED, "assurance": SURE, "random_state": seed}
    # A control sample that grew until it held 25 positives.
    shuffled = rng.permutation(scores.size)
    control = shuffled[: int(np.argmax(np.cumsum(positive[shuffled]) == CONTROL_POSITIVES)) + 1]
    labels = np.full(scores.size, np.nan)
    labels[control] = positive[control]
    qbcb = stop_review(scores, labels, rule="control", control=control, **options)
    at = float(np.sort(scores)[-600])
    labels, _ = planned(scores, positive, at, STOP_LABELS, int(rng.integers(2**31)))
    first = stop_review(scores, labels, **options).rank
    assert first is not None  # noqa: S101
    part = order[: round(PART_WAY * first)]
    labels[part] = positive[part]
    posterior = stop_review(scores, labels, **options)
    out = []
    for read, drawn in ((posterior.rank, ~np.isnan(labels)), (qbcb.rank, None)):
        mask = np.zeros(scores.size, dtype=bool)
        mask[order[:read]] = True
        mask[control if drawn is None else np.flatnonzero(drawn)] = True
        reached = positive[mask].sum() >= WANTED * positive.sum()
        out.append((bool(reached), int(mask.sum())))
    read = next(
        n
        for n in [*range(LOOK, scores.size, LOOK), scores.size]
        if n == scores.size
        or rank_order_pvalue(by_rank[:n].astype(float), scores.size, WANTED) < 1.0 - SURE
    )
    return [*out, (bool(by_rank[:read].sum() >= WANTED * positive.sum()), read)]


def run(options: Options) -> None:
    """Measure; write page and tables."""
    recalls, bars = _recalls(options)
    drawn, of_draws = _from_the_draw(options)
    fits, more = _fits(options)
    stops, rest = _stops(options)
    earlier = _earlier(options)
    for name, table in zip(TABLES, (recalls, drawn, fits, stops, earlier), strict=True):
        write_table(table, options.out, name)
    write_bars([*bars, *of_draws, *more, *rest], options.out, "reviews")
    write_page("reviews", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: coverage and width of intervals, fits, and stops."""
    tables = (markdown(pd.read_csv(folder / f"{name}.csv")) for name in TABLES)
    return fill("reviews", folder, **dict(zip(PIECES, tables, strict=True)))


def _share(held: np.ndarray) -> tuple[float, float]:
    """Return a share, and its standard error with one success and one failure added."""
    share, n = float(held.mean()), held.size
    smoothed = (held.sum() + 1.0) / (n + 2.0)
    return share, float(np.sqrt(smoothed * (1.0 - smoothed) / n))


def _ratio(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Return the ratio of two means over the same runs, and its standard error."""
    ratio = float(one.mean() / other.mean())
    return ratio, float(np.std(one - ratio * other) / np.sqrt(one.size) / other.mean())


def _recalls(options: Options) -> tuple[pd.DataFrame, list[Bar]]:
    rows, bars, first = [], [], []
    for population, share, n in CELLS:
        tasks = [(population, share, n, seed) for seed in range(options.size(RUNS, 2))]
        results = np.array(spread_over(options.jobs, recall_of, tasks), dtype=float)
        cell = f"{population}, {100 * share:g} %, {n} labels" if share else f"{population}, {n}"
        shares = [_share(results[:, k, 0]) for k in range(len(METHODS))]
        width = results[:, :-1, 1].mean(axis=0)
        texts = [
            f"{value:.2f} ± {error:.2f} / {each:.2f}"
            for (value, error), each in zip(shares, width, strict=True)
        ]
        rows.append((cell, len(tasks), *texts))
        limit = 0.85 if population == HEAVY else 0.88
        for k, name in ((0, "interval stated first"), (1, "hull")):
            claim = f"{cell}: coverage of the {name}"
            bars.append(Bar(claim, with_error(*shares[k], 2), f">= {limit}", shares[k][0] >= limit))
        if population != REUTERS:
            ratio = _ratio(results[:, 1, 1], results[:, 3, 1])
            claim = f"{cell}: width of the hull over Clopper-Pearson's"
            bars.append(Bar(claim, with_error(*ratio, 2), "<= 0.75", ratio[0] <= 0.75))
        if population in ("Gaussian", "25 % hidden"):
            ratio = _ratio(results[:, 1, 1], results[:, 4, 1])
            claim = f"{cell}: width of the hull over two strata's"
            bars.append(Bar(claim, with_error(*ratio, 2), "<= 0.95", ratio[0] <= 0.95))
        first.append(results[:, 0, 0])
        seconds = float(results[:, -1, 1].mean())
        if n == 1_000:
            bars.append(Bar("seconds an estimate", f"{seconds:.2f}", "<= 2", seconds <= 2.0))
    pooled = _share(np.concatenate(first))
    claim = "all cells together: coverage of the interval stated first"
    bars.append(Bar(claim, with_error(*pooled, 3), ">= 0.9", pooled[0] >= 0.9))
    return pd.DataFrame(rows, columns=["collection", "runs", *METHODS]), bars


def _from_the_draw(options: Options) -> tuple[pd.DataFrame, list[Bar]]:
    rows, bars = [], []
    for cell in DRAWN:
        tasks = [(*cell, seed) for seed in range(options.size(DRAWS, 2))]
        held, width = np.array(spread_over(options.jobs, from_the_draw, tasks), dtype=float).T
        population, share, n = cell
        name = f"{population}, {100 * share:g} %, {n} labels"
        covered = _share(held)
        rows.append((name, len(tasks), with_error(*covered, 2), f"{width.mean():.2f}"))
        claim = f"{name}, one round: coverage from the draw alone"
        bars.append(Bar(claim, with_error(*covered, 2), ">= 0.9", covered[0] >= 0.9))
    return pd.DataFrame(rows, columns=["collection", "runs", "coverage", "width"]), bars


def _fits(options: Options) -> tuple[pd.DataFrame, list[Bar]]:
    rows, bars = [], []
    for population in ("Gaussian", "25 % hidden"):
        tasks = [(population, seed) for seed in range(options.size(FITS, 2))]
        held, width, own, simple = np.array(spread_over(options.jobs, fitted, tasks)).T
        share = _share(held)
        bits = [with_error(x.mean(), x.std() / np.sqrt(x.size), 1) for x in (own, simple)]
        rows.append((population, len(tasks), with_error(*share, 2), f"{width.mean():.2f}", *bits))
        claim = f"{population}: coverage of recall by a fit with inclusion="
        bars.append(Bar(claim, with_error(*share, 2), ">= 0.88", share[0] >= 0.88))
        apart = own - simple
        mean, error = float(apart.mean()), float(apart.std() / np.sqrt(apart.size))
        claim = f"{population}: log-loss of the plan less that of a simple sample"
        holds = mean <= 2.0 * error
        bars.append(Bar(claim, with_error(mean, error, 1), "<= 0, two errors allowed", holds))
    columns = ["collection", "runs", "coverage of recall", "width", "bits, planned", "bits, simple"]
    return pd.DataFrame(rows, columns=columns), bars


def _stops(options: Options) -> tuple[pd.DataFrame, list[Bar]]:
    rows, bars = [], []
    for population in ("Gaussian", "10 % hidden", "25 % hidden"):
        tasks = [(population, seed) for seed in range(options.size(STOPS, 2))]
        results = np.array(spread_over(options.jobs, stopped, tasks), dtype=float)
        shares = [_share(results[:, k, 0]) for k in range(3)]
        read = results[:, :, 1].mean(axis=0)
        texts = [f"{with_error(*s, 2)}, {n:,.0f}" for s, n in zip(shares, read, strict=True)]
        rows.append((population, len(tasks), *texts))
        claim = f"{population}: recall {WANTED} reached by the posterior"
        bars.append(Bar(claim, with_error(*shares[0], 2), ">= 0.88", shares[0][0] >= 0.88))
        cheaper = 1 + int(read[1:].argmin())
        ratio = _ratio(results[:, 0, 1], results[:, cheaper, 1])
        claim = f"{population}: documents read over those of the cheaper of QBCB and buscar"
        bars.append(Bar(claim, with_error(*ratio, 2), "<= 1.05", ratio[0] <= 1.05))
    columns = ["collection", "runs", "posterior", "QBCB", "buscar"]
    return pd.DataFrame(rows, columns=columns), bars


def _earlier(options: Options) -> pd.DataFrame:
    rows = []
    for population in ("Gaussian", "25 % hidden"):
        tasks = [(population, seed) for seed in range(options.size(EARLIER, 2))]
        results = np.array(spread_over(options.jobs, by_prior, tasks), dtype=float)
        texts = [
            f"{with_error(*_share(results[:, k, 0]), 2)} / {results[:, k, 1].mean():.2f}"
            for k in range(len(PRIORS))
        ]
        rows.append((population, len(tasks), *texts))
    return pd.DataFrame(rows, columns=["collection", "runs", *PRIORS])


if __name__ == "__main__":
    main("reviews")
