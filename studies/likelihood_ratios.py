"""Likelihood ratios: Cllr against other methods, bands, overstatement, and shared sources.

python -m studies.likelihood_ratios --data FOLDER [--quick]

FOLDER holds likelihood_ratios/cartridges.csv.gz, glass.csv.gz and speakers_nfi_ru.csv.gz.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from sklearn.linear_model import LogisticRegression

from bayescal import ScoreCalibrator
from bayescal.likelihood_ratio import elub, likelihood_ratios, source_weights, validate
from bayescal.likelihood_ratio.measures import Comparisons, read_comparisons
from bayescal.likelihood_ratio.sources import random_folds, read_sources, source_folds
from bayescal.support.validation import Floats
from studies.command import Options, main, spread_over
from studies.reporting import Bar, fill, markdown, with_error, write_bars, write_page, write_table

Labels = NDArray[np.bool_]
# From fitted scores and labels to log10 LRs of new scores.
Method = Callable[[Floats, Labels], Callable[[Floats], Floats]]

DEFAULT, LOGISTIC, KDE = "bayescal", "logistic regression", "kernel densities"
WEIGHTED = "bayescal, weights by source"
SETS = ("cartridges", "glass", "speakers")
SIZES = {"all": None, "30+90": (30, 90), "10+30": (10, 30)}
MOST_CLLR = {
    ("cartridges", "all"): 0.515,
    ("cartridges", "30+90"): 0.535,
    ("cartridges", "10+30"): 0.535,
    ("glass", "all"): 0.033,
    ("glass", "30+90"): 0.055,
    ("glass", "10+30"): 0.066,
    ("speakers", "all"): 0.279,
    ("speakers", "30+90"): 0.297,
    ("speakers", "10+30"): 0.315,
}
DRAWS = 250  # of each of four chains
TESTED = 300  # scores of each simulated sample whose LRs are compared with the truth
RESAMPLES = 40  # of the bootstrap of other methods
LEVEL = 0.9


# Methods.


def default(scores: Floats, positive: Labels) -> Callable[[Floats], Floats]:
    """Fit the default, without weights."""
    fitted = ScoreCalibrator(draws=DRAWS, random_state=1).fit(scores, positive)
    return lambda new: likelihood_ratios(fitted, new, support=None).log10


def logistic(scores: Floats, positive: Labels) -> Callable[[Floats], Floats]:
    """Fit logistic regression with the same total weight for both classes."""
    model = LogisticRegression(C=1e6, max_iter=1000, class_weight="balanced")
    model.fit(scores[:, None], positive)
    return lambda new: model.decision_function(new[:, None]) / np.log(10.0)


def kernel_densities(scores: Floats, positive: Labels) -> Callable[[Floats], Floats]:
    """Fit a Gaussian kernel density to each class, with Silverman's bandwidth."""
    plus, minus = (stats.gaussian_kde(scores[positive == k], "silverman") for k in (True, False))

    def log10_lr(new: Floats) -> Floats:
        densities = [np.maximum(each(new), 1e-300) for each in (plus, minus)]
        ratio: Floats = np.log10(densities[0]) - np.log10(densities[1])
        return ratio

    return log10_lr


METHODS: dict[str, Method] = {DEFAULT: default, LOGISTIC: logistic, KDE: kernel_densities}
BOUNDED = {name: f"{name}, ELUB" for name in METHODS}
OTHERS = [name for name in (*METHODS, *BOUNDED.values()) if not name.startswith(DEFAULT)]


# Cllr of real comparisons, out of fold.


@dataclass(frozen=True)
class Set:
    """Comparisons of a data set."""

    score: Floats
    positive: Labels
    sources: tuple[NDArray[Any], NDArray[Any]] | None


def load(folder: Path, name: str) -> Set:
    """Return a data set of the folder."""
    file = {"speakers": "speakers_nfi_ru"}.get(name, name)
    table = pd.read_csv(folder / "likelihood_ratios" / f"{file}.csv.gz")
    positive = table["label"].to_numpy() == 1
    if name == "cartridges":
        return Set(table["score"].to_numpy(), positive, None)
    a, b = (table[column].astype(str).to_numpy() for column in ("source_a", "source_b"))
    if name == "speakers":
        # source_b names a recording, of the speaker whose it is in some same-speaker comparison.
        owner = dict(zip(b[positive], a[positive], strict=True))
        b = np.array([owner.get(each, f"recording {each}") for each in b])
        b = np.where(positive, a, b)
        kept = positive | (a != b)
        return Set(table["score"].to_numpy()[kept], positive[kept], (a[kept], b[kept]))
    return Set(table["score"].to_numpy(), positive, (a, b))


def folds_of(data: Set, folds: int, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return positions to fit and to test, by source where sources are known."""
    rng = np.random.default_rng(seed)
    if data.sources is None:
        return list(random_folds(data.positive, folds, rng))
    return list(source_folds(read_sources(data.sources, data.positive), folds, rng))


def out_of_fold(data: Set, size: str, seed: int) -> dict[str, float]:
    """Return the Cllr of every method."""
    counts, rng = SIZES[size], np.random.default_rng(seed)
    names = [*METHODS, *BOUNDED.values()]
    if data.sources is not None and counts is None:
        names.append(WEIGHTED)
    ratios = {name: np.full(data.score.size, np.nan) for name in names}
    for fit, test in folds_of(data, 10 if counts is None else 5, seed):
        rows = fit if counts is None else _some(fit, data.positive, counts, rng)
        scores, positive = data.score[rows], data.positive[rows]
        for name, method in METHODS.items():
            fitted = method(scores, positive)
            ratios[name][test] = fitted(data.score[test])
            bounds = elub(positive, fitted(scores))
            ratios[BOUNDED[name]][test] = np.clip(ratios[name][test], *bounds)
        if WEIGHTED in ratios and data.sources is not None:
            weight = source_weights(positive, *(each[rows] for each in data.sources))
            calibrator = ScoreCalibrator(draws=DRAWS, random_state=1)
            calibrator.fit(scores, positive, sample_weight=weight)
            ratios[WEIGHTED][test] = likelihood_ratios(calibrator, data.score[test]).log10
    return {
        name: read_comparisons(data.positive, log10_lr).cllr() for name, log10_lr in ratios.items()
    }


def _some(
    rows: NDArray[np.intp], positive: Labels, counts: tuple[int, int], rng: np.random.Generator
) -> NDArray[np.intp]:
    parts = [rows[positive[rows]], rows[~positive[rows]]]
    return np.concatenate(
        [rng.choice(part, n, False) for part, n in zip(parts, counts, strict=True)]
    )


def real_cllr(folder: Path, name: str, size: str, seed: int) -> dict[str, Any]:
    """Return the Cllr of every method on one data set."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"set": name, "size": size, **out_of_fold(load(folder, name), size, seed)}


# Bands where the LR is known.


@dataclass(frozen=True)
class Classes:
    """Distributions of the scores of both classes."""

    positive: Any
    negative: Any

    def log10_lr(self, scores: Floats) -> Floats:
        """Return the true log10 LR."""
        ratio: Floats = self.positive.logpdf(scores) - self.negative.logpdf(scores)
        return ratio / np.log(10.0)

    def draw(self, counts: tuple[int, int], rng: np.random.Generator) -> tuple[Floats, Labels]:
        """Return scores of so many positives and negatives."""
        parts = zip((self.positive, self.negative), counts, strict=True)
        scores = [each.rvs(n, random_state=rng) for each, n in parts]
        return np.concatenate(scores), np.repeat([True, False], counts)


CLASSES = {
    "normal, two apart": Classes(stats.norm(2.0, 1.0), stats.norm(0.0, 1.0)),
    "normal, four apart": Classes(stats.norm(4.0, 1.0), stats.norm(0.0, 1.0)),
    "normal, unequal": Classes(stats.norm(2.0, 0.7), stats.norm(0.0, 1.3)),
    "skewed": Classes(stats.gumbel_l(2.5, 1.0), stats.gumbel_r(0.0, 0.8)),
    "heavy tails": Classes(stats.t(4, 2.5, 1.0), stats.t(4, 0.0, 1.0)),
}
FITTED = {"10+30": (10, 30), "30+90": (30, 90), "100+300": (100, 300)}


def known_ratios(truth: str, size: str, seed: int, with_others: bool) -> list[dict[str, Any]]:
    """Return, by method, how many true log LRs a band holds, and how many LRs overstate."""
    classes, rng = CLASSES[truth], np.random.default_rng([seed, *FITTED[size]])
    scores, positive = classes.draw(FITTED[size], rng)
    new, _ = classes.draw((TESTED // 2, TESTED // 2), rng)
    true = classes.log10_lr(new)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = ScoreCalibrator(draws=DRAWS, random_state=1).fit(scores, positive)
        ratios = likelihood_ratios(fitted, new, LEVEL, support=None)
        answers = {DEFAULT: (ratios.log10, ratios.lower, ratios.upper)}
        for name in (LOGISTIC, KDE) if with_others else ():
            answers[name] = _bootstrapped(METHODS[name], scores, positive, new, rng)
    return [
        {
            "truth": truth,
            "size": size,
            "method": name,
            "held": float(((low <= true) & (true <= high)).mean()),
            "overstated": float((np.sign(true) * (point - true) > 1.0).mean()),
            "width": float((high - low).mean()),
        }
        for name, (point, low, high) in answers.items()
    ]


def _bootstrapped(
    method: Method, scores: Floats, positive: Labels, new: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Return LRs of a method, with the quantiles of those of resampled comparisons."""
    both = [np.flatnonzero(positive == k) for k in (True, False)]
    drawn = []
    for _ in range(RESAMPLES):
        rows = np.concatenate([rng.choice(each, each.size) for each in both])
        drawn.append(method(scores[rows], positive[rows])(new))
    low, high = np.quantile(drawn, [0.5 - LEVEL / 2.0, 0.5 + LEVEL / 2.0], axis=0)
    return method(scores, positive)(new), low, high


# Sources whose scores have a known LR: items scatter about their source in several dimensions.


GRID = np.linspace(-20.0, 20.0, 80001)  # of scores


class KnownScores:
    """Pairs of items whose scores have known densities."""

    def draw(
        self, sources: int, rng: np.random.Generator, items: int
    ) -> tuple[Floats, Labels, NDArray[np.intp], NDArray[np.intp]]:
        """Return scores of all pairs of items, whether they are of one source, and both sources."""
        raise NotImplementedError

    def log_densities(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the log densities of different-source and of same-source scores."""
        raise NotImplementedError

    def log10_lr(self, scores: Floats) -> Floats:
        """Return the true log10 LR."""
        apart, same = self.log_densities(scores)
        ratio: Floats = (same - apart) / np.log(10.0)
        return ratio

    def compared(self, system: Callable[[Floats], Floats]) -> Comparisons:
        """Return a system's LRs of a fine grid of scores, weighted by the densities of classes."""
        weight = np.exp(np.concatenate(self.log_densities(GRID)))
        positive = np.repeat([False, True], GRID.size)
        return read_comparisons(positive, np.tile(system(GRID), 2), weight)


@dataclass(frozen=True)
class Population(KnownScores):
    """Sources with standard normal means in some dimensions, and items about them.

    The score is minus the logarithm of the distance of two items, whose square is a multiple of a
    chi-squared variable. Sources scatter by one of two widths.
    """

    dimensions: int
    widths: tuple[float, float]
    share: float  # of sources with the first width

    def draw(
        self, sources: int, rng: np.random.Generator, items: int = 3
    ) -> tuple[Floats, Labels, NDArray[np.intp], NDArray[np.intp]]:
        """Return scores of all pairs of items, whether they are of one source, and both sources."""
        width = np.where(rng.random(sources) < self.share, *self.widths)
        source = np.repeat(np.arange(sources), items)
        centre = rng.normal(size=(sources, self.dimensions))[source]
        item = centre + width[source, None] * rng.normal(size=centre.shape)
        i, j = np.triu_indices(source.size, 1)
        distance = np.linalg.norm(item[i] - item[j], axis=1)
        return -np.log(distance), source[i] == source[j], source[i], source[j]

    def log_densities(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the log densities of different-source and of same-source scores."""
        first, second = self.widths
        p = self.share
        same = [(p, 2.0 * first**2), (1.0 - p, 2.0 * second**2)]
        apart = [
            (p**2, 2.0 + 2.0 * first**2),
            (2.0 * p * (1.0 - p), 2.0 + first**2 + second**2),
            ((1.0 - p) ** 2, 2.0 + 2.0 * second**2),
        ]
        return self._density(scores, apart), self._density(scores, same)

    def _density(self, scores: Floats, parts: list[tuple[float, float]]) -> Floats:
        square = np.exp(-2.0 * scores)[:, None]
        weight, variance = np.array(parts).T
        # The Jacobian of the logarithm is the same for all.
        log_density = stats.chi2(self.dimensions).logpdf(square / variance) - np.log(variance)
        top = log_density.max(axis=1, keepdims=True)
        out: Floats = top[:, 0] + np.log(np.exp(log_density - top) @ weight)
        return out + np.log(2.0 * square[:, 0])


@dataclass(frozen=True)
class Recordings(KnownScores):
    """Speakers whose scores are sums of effects of both speakers and both recordings.

    Same-speaker scores are around 2, others around -2. Effects are normal, and those of some
    recordings have a large variance, which a system that takes scores as normal does not know.
    """

    speakers: float = 0.09  # variances of effects
    recordings: float = 0.12
    bad: float = 4.0
    share: float = 0.05  # of recordings that are bad

    def draw(
        self, sources: int, rng: np.random.Generator, items: int = 4
    ) -> tuple[Floats, Labels, NDArray[np.intp], NDArray[np.intp]]:
        """Return scores of all pairs of items, whether they are of one source, and both sources."""
        source = np.repeat(np.arange(sources), items)
        variance = np.where(rng.random(source.size) < self.share, self.bad, self.recordings)
        item = np.sqrt(self.speakers) * rng.normal(size=sources)[source]
        item = item + np.sqrt(variance) * rng.normal(size=source.size)
        i, j = np.triu_indices(source.size, 1)
        same = source[i] == source[j]
        return np.where(same, 2.0, -2.0) + item[i] + item[j], same, source[i], source[j]

    def log_densities(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the log densities of different-source and of same-source scores."""
        one, other, p = self.recordings, self.bad, self.share
        parts = [(2.0 * one, (1.0 - p) ** 2), (one + other, 2.0 * p * (1.0 - p))]
        parts.append((2.0 * other, p**2))
        apart, same = (
            sum(w * stats.norm.pdf(scores, mean, np.sqrt(own + v)) for v, w in parts)
            for mean, own in ((-2.0, 2.0 * self.speakers), (2.0, 4.0 * self.speakers))
        )
        return np.log(apart), np.log(same)


POPULATIONS = {"panes": Population(5, (0.15, 0.4), 0.7), "voices": Population(3, (0.3, 0.8), 0.6)}
RECORDINGS = Recordings()
# Systems whose measures are asked for: the true LRs, overconfident ones, and quadratic ones of a
# system that knows of no bad recordings.
SYSTEMS: dict[tuple[str, str], tuple[KnownScores, int, Callable[[Floats], Floats]]] = {
    **{
        (name, kind): (each, 3, lambda x, k=exponent, each=each: k * each.log10_lr(x))
        for name, each in POPULATIONS.items()
        for kind, exponent in (("calibrated", 1.0), ("overconfident", 1.5))
    },
    ("recordings", "calibrated"): (RECORDINGS, 4, RECORDINGS.log10_lr),
    ("recordings", "heavy tails"): (RECORDINGS, 4, replace(RECORDINGS, share=0.0).log10_lr),
}
SOURCES = (10, 20, 40)
REPETITIONS = {10: 100, 20: 100, 40: 20}  # of intervals


def bands_by_source(name: str, sources: int, seed: int) -> list[dict[str, Any]]:
    """Return the coverage of true log LRs, fitted to all pairs with weights and without."""
    population, rng = POPULATIONS[name], np.random.default_rng([seed, sources])
    scores, same, a, b = population.draw(sources, rng)
    new, truth, _, _ = population.draw(120, rng, items=2)
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(truth == k), 100, False) for k in (True, False)]
    )
    true = population.log10_lr(new[rows])
    inside = np.abs(true) < 3.0
    out = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, weight in (("weights", source_weights(same, a, b)), ("none", None)):
            fitted = ScoreCalibrator(draws=DRAWS, random_state=1)
            fitted.fit(scores, same, sample_weight=weight)
            ratios = likelihood_ratios(fitted, new[rows], LEVEL, support=None)
            held = (ratios.lower <= true) & (true <= ratios.upper)
            out.append(
                {
                    "population": name,
                    "sources": sources,
                    "weights": kind,
                    "held": float(held[inside].mean()),
                    "width": float((ratios.upper - ratios.lower)[inside].mean()),
                }
            )
    return out


@cache
def true_costs(name: str, system: str) -> tuple[float, float]:
    """Return a system's Cllr in the population, and the part lost by calibration."""
    population, _, log10_lr_of = SYSTEMS[name, system]
    every = population.compared(log10_lr_of)
    return every.cllr(), every.cllr() - every.min_cllr()


def cllr_intervals(name: str, system: str, sources: int, seed: int) -> dict[str, Any]:
    """Return whether intervals of Cllr and of its loss by calibration hold the population's."""
    population, items, log10_lr_of = SYSTEMS[name, system]
    rng = np.random.default_rng([seed, sources])
    scores, same, a, b = population.draw(sources, rng, items)
    log10_lr = log10_lr_of(scores)
    true, lost = true_costs(name, system)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checked = validate(same, log10_lr, sources=(a, b), level=LEVEL, rng=0)
    ends = {
        "jackknife": (checked.cllr.lower, checked.cllr.upper),
        "bootstrap": _resampled_sources(same, log10_lr, a, b, rng),
        "pairs": _interval_of_independent_pairs(same, log10_lr),
    }
    out = {"population": name, "sources": sources, "system": system, "true": true}
    for kind, (lower, upper) in ends.items():
        out[kind] = bool(lower <= true <= upper)
        out[f"{kind} width"] = upper - lower
    out["calibration"] = bool(checked.cal_cllr.lower <= lost <= checked.cal_cllr.upper)
    out |= {"lost": lost, "lost here": checked.cal_cllr.value, "devPAV": checked.devpav.value}
    out["devPAV without interval"] = bool(np.isnan(checked.devpav.lower))
    return out


def _interval_of_independent_pairs(same: Labels, log10_lr: Floats) -> tuple[float, float]:
    """Return an interval of Cllr, symmetric in its logarithm, for independent comparisons."""
    compared = read_comparisons(same, log10_lr)
    parts = [compared.losses[same == k] for k in (True, False)]
    error = 0.5 * np.sqrt(sum(each.var(ddof=1) / each.size for each in parts)) / compared.cllr()
    factor = np.exp(stats.norm.ppf(0.5 + LEVEL / 2.0) * error)
    return compared.cllr() / factor, compared.cllr() * factor


def _resampled_sources(
    same: Labels,
    log10_lr: Floats,
    a: NDArray[np.intp],
    b: NDArray[np.intp],
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return the interval of the Bayesian bootstrap, with a weight a source."""
    compared = read_comparisons(same, log10_lr)
    drawn = []
    for _ in range(300):
        weight = rng.exponential(size=int(b.max()) + 1)
        both = weight[a] * np.where(same, 1.0, weight[b])
        drawn.append(compared.weighted(both).cllr())
    low, high = np.quantile(drawn, [0.5 - LEVEL / 2.0, 0.5 + LEVEL / 2.0])
    return float(low), float(high)


def other_sources(folder: Path, sources: int, seed: int) -> dict[str, Any]:
    """Return whether the interval of some panes holds the Cllr of others; fitted to third ones."""
    data, rng = load(folder, "glass"), np.random.default_rng([seed, sources])
    assert data.sources is not None  # noqa: S101
    a, b = (each.astype(int) for each in data.sources)
    panes = rng.permutation(np.unique(a))
    fitted_to, mine, theirs = panes[:100], panes[100 : 100 + sources], panes[100 + sources :]
    fit = np.isin(a, fitted_to) & np.isin(b, fitted_to)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weight = source_weights(data.positive[fit], a[fit], b[fit])
        fitted = ScoreCalibrator(draws=DRAWS, random_state=1)
        fitted.fit(data.score[fit], data.positive[fit], sample_weight=weight)
        ratios = likelihood_ratios(fitted, data.score, support=None).log10
        # Panes are compared with few others: with any that the fit does not know.
        free = ~np.isin(b, fitted_to)
        rows, rest = (np.isin(a, group) & free for group in (mine, theirs))
        found = validate(data.positive[rows], ratios[rows], sources=(a[rows], b[rows])).cllr
        true = read_comparisons(data.positive[rest], ratios[rest]).cllr()
    held = bool(found.lower <= true <= found.upper)
    return {"sources": sources, "held": held, "width": found.upper - found.lower, "true": true}


# The study.


def run(options: Options) -> None:
    """Measure; write page and tables."""
    costs = _costs(options)
    bands = _tasks(options, known_ratios, _band_cells(options))
    sources = _tasks(options, bands_by_source, _cells(options, 12, 1))
    tasks = [
        (*each, m, k) for each in SYSTEMS for m in SOURCES for k in range(options.size(100, 2))
    ]
    intervals = pd.DataFrame(spread_over(options.jobs, cllr_intervals, tasks))
    tables = {"": costs, "_bands": bands, "_sources": sources, "_intervals": intervals}
    if options.data is not None:
        tasks = [(options.data, m, k) for m in SOURCES[1:] for k in range(options.size(30, 1))]
        tables["_glass"] = pd.DataFrame(spread_over(options.jobs, other_sources, tasks))
    summaries = {name: _summary(name, table) for name, table in tables.items()}
    for name, table in summaries.items():
        write_table(table, options.out, f"likelihood_ratios{name}")
    write_bars(_bars(summaries), options.out, "likelihood_ratios")
    write_page("likelihood_ratios", options.out, page(options.out))


def _costs(options: Options) -> pd.DataFrame:
    if options.data is None:
        raise SystemExit("--data must name the folder of the public data, which holds the scores.")
    names = SETS[:1] if options.quick else SETS
    tasks = [
        (options.data, name, size, seed)
        for name in names
        for size, counts in SIZES.items()
        for seed in range(1 if counts is None else options.size(4, 1))
    ]
    return pd.DataFrame(spread_over(options.jobs, real_cllr, tasks))


def _band_cells(options: Options) -> list[tuple[Any, ...]]:
    seeds = range(options.size(30, 1))
    return [(t, size, k, k < 10) for t in CLASSES for size in FITTED for k in seeds]


def _cells(options: Options, repetitions: int, quick: int) -> list[tuple[Any, ...]]:
    seeds = range(options.size(repetitions, quick))
    return [(name, m, k) for name in POPULATIONS for m in SOURCES for k in seeds]


def _tasks(
    options: Options, function: Callable[..., list[dict[str, Any]]], cells: list[tuple[Any, ...]]
) -> pd.DataFrame:
    results = spread_over(options.jobs, function, cells)
    return pd.DataFrame([row for each in results for row in each])


KEYS = {
    "": ["set", "size"],
    "_bands": ["truth", "size", "method"],
    "_sources": ["population", "sources", "weights"],
    "_intervals": ["population", "sources", "system"],
    "_glass": ["sources"],
}


def _summary(name: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return means over repetitions, and the standard errors of shares of held values."""
    groups = rows.groupby(KEYS[name], sort=False)
    table = groups.mean()
    for column in ("held", "jackknife", "bootstrap", "pairs", "calibration"):
        if column in rows:
            spread = rows.assign(**{column: rows[column].astype(float)}).groupby(
                KEYS[name], sort=False
            )[column]
            table[f"{column} error"] = spread.std() / np.sqrt(groups.size())
    table["repetitions"] = groups.size()
    return table.reset_index()


def _bars(tables: dict[str, pd.DataFrame]) -> list[Bar]:
    return [
        *_cllr_bars(tables[""]),
        *_band_bars(tables["_bands"]),
        *_source_bars(tables["_sources"]),
        *_interval_bars(tables["_intervals"]),
        *([] if "_glass" not in tables else _glass_bars(tables["_glass"])),
    ]


def _cllr_bars(costs: pd.DataFrame) -> list[Bar]:
    bars = []
    for row in costs.to_dict("records"):
        cell, own = f"{row['set']}, {row['size']}", row[DEFAULT]
        apart = own - min(row[name] for name in OTHERS)
        most = MOST_CLLR[row["set"], row["size"]]
        claim = f"{cell}: Cllr less that of the best other method"
        bars += [
            Bar(claim, f"{apart:+.4f}", "<= .003", bool(apart <= 0.003)),
            Bar(f"{cell}: Cllr", f"{own:.4f}", f"<= {most}", bool(own <= most)),
        ]
    return bars


def _band_bars(bands: pd.DataFrame) -> list[Bar]:
    own, bars = bands[bands["method"] == DEFAULT], []
    for size, cells in own.groupby("size", sort=False):
        held = cells["held"].mean()
        error = np.sqrt((cells["held error"] ** 2).sum()) / len(cells)
        claim, text = f"bands of 90 %, {size}, all truths: held", with_error(held, error, 3)
        bars.append(Bar(claim, text, ".90 to .96", bool(0.90 <= held <= 0.96)))
    worst, most = (own.loc[row] for row in (own["held"].idxmin(), own["overstated"].idxmax()))
    held, share = worst["held"], most["overstated"]
    text = with_error(held, worst["held error"], 3)
    claim = f"bands, worst cell ({worst['truth']}, {worst['size']}): held"
    bars.append(Bar(claim, text, ">= .84", bool(held >= 0.84)))
    claim = f"LRs that overstate tenfold, worst cell ({most['truth']}, {most['size']})"
    bars.append(Bar(claim, f"{100 * share:.2f} %", "<= 1.5 %", bool(share <= 0.015)))
    return bars


def _source_bars(sources: pd.DataFrame) -> list[Bar]:
    held = sources.groupby("weights")["held"].mean()
    claim = "all pairs of 10 to 40 sources, weights by source: held, mean of six cells"
    own, none = float(held["weights"]), float(held["none"])
    return [
        Bar(claim, f"{own:.3f}", ">= .85", own >= 0.85),
        Bar("negative: the same without weights", f"{none:.3f}", "< .85", none < 0.85),
    ]


def _interval_bars(intervals: pd.DataFrame) -> list[Bar]:
    bars = []
    for row in intervals[intervals["sources"] >= SOURCES[1]].to_dict("records"):
        claim = f"{row['population']}, {row['sources']} sources, {row['system']}"
        bars.append(_held(claim, row["jackknife"], row["jackknife error"]))
    return bars


def _glass_bars(glass: pd.DataFrame) -> list[Bar]:
    return [
        _held(
            f"{row['sources']} panes of glass, Cllr of other panes", row["held"], row["held error"]
        )
        for row in glass.to_dict("records")
    ]


def _held(claim: str, held: float, error: float) -> Bar:
    text = with_error(held, error, 2)
    return Bar(f"interval of Cllr, {claim}: held", text, ">= .70", bool(held >= 0.70))


def page(folder: Path) -> str:
    """Return the page, from its tables."""
    costs = pd.read_csv(folder / "likelihood_ratios.csv").drop(columns=[WEIGHTED, "repetitions"])
    bands = pd.read_csv(folder / "likelihood_ratios_bands.csv")
    held = bands.groupby(["method", "size"], sort=False)["held"].mean().unstack(sort=False)
    sources = pd.read_csv(folder / "likelihood_ratios_sources.csv")
    names = {"weights": "weights by source", "none": "no weights"}
    sources = sources.assign(weights=sources["weights"].map(names))
    intervals = pd.read_csv(folder / "likelihood_ratios_intervals.csv")
    shown = intervals[intervals["system"] != "overconfident"].rename(
        columns={"calibration": "jackknife, Cllr cal"}
    )
    kinds = ["jackknife", "bootstrap", "pairs", "jackknife, Cllr cal"]
    shown = shown.melt(["population", "system", "sources"], kinds, "interval", "held")
    return fill(
        "likelihood_ratios",
        folder,
        costs=markdown(costs[costs["size"] != "30+90"].round(3)),
        bands=markdown(held.reset_index().round(2)),
        sources=_by_sources(sources, ["population", "weights"]),
        intervals=_by_sources(shown, ["population", "system", "interval"]),
    )


def _by_sources(rows: pd.DataFrame, names: list[str]) -> str:
    table = rows.pivot(index=names, columns="sources", values="held")
    return markdown(table.reset_index().round(2))


if __name__ == "__main__":
    main("likelihood_ratios")
