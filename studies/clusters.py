"""Bands, shares and verdicts of documents that come in clusters, with and without `clusters=`.

python -m studies.clusters --data FOLDER [--quick]
"""

from __future__ import annotations

import lzma
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special, stats
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.metrics import calibration_verdict
from bayescal.monitoring import foresee
from bayescal.support.validation import Floats
from studies.command import Options, main, spread_over
from studies.reporting import Bar, fill, markdown, with_error, write_bars, write_page, write_table

# Clusters and positives expected; correlations; sizes of clusters m with P(m) proportional to 1/m.
SIZES = ((100, 20), (300, 30), (300, 100), (1000, 200))
CORRELATIONS = (0.0, 0.1, 0.3, 0.6)
LARGEST = 20
GIANT = 500
KINDS = ("shared", "copies")  # a common effect on labels and scores, or near copies
APART = 2.0  # distance of the classes' means in standard deviations
RUNS, QUICK_RUNS = 25, 1  # of each size and correlation
REAL_RUNS = 25  # of each set of real data
DESIGN_RUNS = 40  # of each design but those of `RUNS_OF`
METHODS = ("default", "clusters=")
LEVEL = 0.9
Labelled = tuple[Floats, np.ndarray, np.ndarray]  # scores, labels, clusters

MEASURES = ("bands", "share", "recall", "precision")


def draw(
    rng: np.random.Generator, clusters: int, positives: int, rho: float, kind: str
) -> tuple[Floats, np.ndarray, np.ndarray, float]:
    """Return latent scores, labels, clusters and the share of positives."""
    sizes = np.arange(1, LARGEST + 1)
    chance = (1.0 / sizes) / (1.0 / sizes).sum()
    of = np.repeat(np.arange(clusters), rng.choice(sizes, clusters, p=chance))
    share = positives / (clusters * float(chance @ sizes))
    if kind == "shared":
        rate = np.full(clusters, share)
        if rho > 0.0:
            rate = rng.beta(share * (1.0 - rho) / rho, (1.0 - share) * (1.0 - rho) / rho, clusters)
        positive = rng.random(of.size) < rate[of]
        noise = np.sqrt(rho) * rng.normal(size=clusters)[of]
        noise += np.sqrt(1.0 - rho) * rng.normal(size=of.size)
        return APART * positive + noise, positive, of, share
    first = rng.random(clusters) < share
    first_score = APART * first + rng.normal(size=clusters)
    own = rng.random(of.size) < share
    own_score = APART * own + rng.normal(size=of.size)
    copied = rng.random(of.size) < np.sqrt(rho)
    near = first_score[of] + 0.05 * rng.normal(size=of.size)
    positive = np.where(copied, first[of], own)
    return np.where(copied, near, own_score), positive, of, share


def log_odds(latent: Floats, share: float) -> Floats:
    """Return the true log-odds at latent scores."""
    return special.logit(share) + APART * latent - APART**2 / 2.0


def measure(size: int, rho: float, seed: int) -> list[dict[str, Any]]:
    """Return a row for each method: coverage, width, expected log-loss, design effect, verdicts."""
    clusters, positives = SIZES[size]
    kind, skewed = KINDS[seed % 2], bool(seed // 2 % 2)
    rng = np.random.default_rng([size, round(10 * rho), seed, 7])
    positive = np.zeros(1, dtype=bool)
    while not 2 <= positive.sum() < positive.size - 1:
        latent, positive, of, share = draw(rng, clusters, positives, rho, kind)

    def raw(values: Floats) -> Floats:
        return np.exp(0.5 * values) if skewed else values

    even = np.linspace(-5.0, 8.0, 4001)
    mixture = 0.5 * stats.norm.cdf(even) + 0.5 * stats.norm.cdf(even - APART)
    grid = np.interp(np.linspace(0.01, 0.99, 41), mixture, even)
    whole = np.linspace(-4.0, APART + 4.0, 81)
    density = (1.0 - share) * stats.norm.pdf(whole) + share * stats.norm.pdf(whole - APART)
    density /= density.sum()
    truth, all_truth = (special.expit(log_odds(each, share)) for each in (grid, whole))
    high = whole > APART / 2.0
    # The same probabilities, right and with all odds doubled, are judged by the drawn labels.
    own = log_odds(latent, share)
    rows = []
    for method in METHODS:
        given = {"clusters": of} if method != METHODS[0] else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = ScoreCalibrator(random_state=0).fit(raw(latent), positive, **given)
        lower, upper = fitted.predict_interval(raw(grid), LEVEL).T
        drawn = fitted.sample_proba(raw(whole))
        found = (drawn * density)[:, high].sum(axis=1)
        total = (drawn * density).sum(axis=1)
        of_draws = {"share": total, "recall": found / total}
        of_draws["precision"] = found / density[high].sum()
        true = {"share": share, "recall": (all_truth * density)[high].sum() / share}
        true["precision"] = (all_truth * density)[high].sum() / density[high].sum()
        held = {
            name: float(np.quantile(values, 0.05) <= true[name] <= np.quantile(values, 0.95))
            for name, values in of_draws.items()
        }
        p = fitted.predict_proba(raw(whole))[:, 1].clip(1e-12, 1.0 - 1e-12)
        loss = -(all_truth * np.log(p) + (1.0 - all_truth) * np.log1p(-p)) @ density
        off = [
            calibration_verdict(positive, special.expit(own + shift), **given).outcome == "off"
            for shift in (0.0, np.log(2.0))
        ]
        effect = fitted.design_effect_
        rows.append(
            {
                "clusters": clusters,
                "positives": positives,
                "rho": rho,
                "seed": seed,
                "kind": kind,
                "method": method,
                "bands": float(np.mean((lower <= truth) & (truth <= upper))),
                **held,
                "width": float(np.median(special.logit(upper) - special.logit(lower))),
                "loss": float(loss),
                "factor": 1.0 if effect is None else effect.factor,
                "off_if_right": float(off[0]),
                "off_if_doubled": float(off[1]),
            }
        )
    return rows


def speakers(data: Path) -> Labelled:
    """Return scores, labels and speakers of trials of speaker recognition."""
    table = pd.read_csv(data / "likelihood_ratios" / "speakers_nfi_ru.csv.gz")
    _, code = np.unique(table["source_a"].astype(str), return_inverse=True)
    return table["score"].to_numpy(), table["label"].to_numpy() == 1, code


def queries(data: Path) -> Labelled:
    """Return scores of pages by a logistic regression on other queries, relevance, and queries."""
    first, second, third = (_pages(data / "ranking" / "clueweb09" / name) for name in PARTS)
    model = LogisticRegression(max_iter=1000).fit(first[0], first[1] > 0)
    score = [model.decision_function(part[0]) for part in (second, third)]
    grade, query = (np.concatenate([second[k], third[k]]) for k in (1, 2))
    return np.concatenate(score), grade > 0, np.unique(query, return_inverse=True)[1]


PARTS = ("part1.txt.xz", "part2.txt.xz", "part3.txt.xz")


def _pages(path: Path) -> Any:
    """Return features, grades and queries of a file."""
    with lzma.open(path) as file:
        return load_svmlight_file(file, query_id=True)


REAL = {"speakers": (speakers, 10), "queries": (queries, 8)}  # and clusters drawn


def measure_real(data: Path, name: str, seed: int) -> list[dict[str, Any]]:
    """Return a row for each method: intervals of shares in clusters that were not drawn."""
    read, drawn = REAL[name]
    score, positive, of = read(data)
    rng = np.random.default_rng([seed, 13])
    order = rng.permutation(score.size)
    rank = pd.Series(of[order]).groupby(of[order]).cumcount().to_numpy()
    fitted = np.isin(of, rng.choice(of.max() + 1, drawn, replace=False))
    rows = order[fitted[order] & (rank < LARGEST)]
    high = score > np.median(score)
    out = []
    for method in METHODS:
        given = {"clusters": of[rows]} if method != METHODS[0] else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            calibrator = ScoreCalibrator(random_state=0).fit(score[rows], positive[rows], **given)
        effect, row = calibrator.design_effect_, {"data": name, "seed": seed, "method": method}
        for part, members in (("all", ~fitted), ("high", ~fitted & high)):
            share = calibrator.sample_proba(score[members]).mean(axis=1)
            lower, upper = np.quantile(share, [0.05, 0.95])
            row[part] = float(lower <= positive[members].mean() <= upper)
            row[f"width_{part}"] = upper - lower
        out.append(row | {"factor": 1.0 if effect is None else effect.factor})
    return out


def measure_giant(seed: int) -> list[dict[str, Any]]:
    """Return a row for each method, with a cluster of 500 beside 300 of one to three documents."""
    rng, rho, share = np.random.default_rng([seed, 99]), 0.3, 0.2
    sizes = np.r_[GIANT, rng.choice(np.arange(1, 4), 300)]
    of = np.repeat(np.arange(sizes.size), sizes)
    shape = share * (1.0 - rho) / rho, (1.0 - share) * (1.0 - rho) / rho
    positive = rng.random(of.size) < rng.beta(*shape, sizes.size)[of]
    latent = APART * positive + np.sqrt(rho) * rng.normal(size=sizes.size)[of]
    latent += np.sqrt(1.0 - rho) * rng.normal(size=of.size)
    whole = np.linspace(-4.0, APART + 4.0, 81)
    density = (1.0 - share) * stats.norm.pdf(whole) + share * stats.norm.pdf(whole - APART)
    density /= density.sum()
    truth, out = special.expit(log_odds(whole, share)), []
    for method, kept, named in (
        (METHODS[0], of >= 0, False),
        (METHODS[1], of >= 0, True),
        ("clusters=, without the giant", of > 0, True),
    ):
        given = {"clusters": of[kept]} if named else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = ScoreCalibrator(random_state=0).fit(latent[kept], positive[kept], **given)
        lower, upper = fitted.predict_interval(whole[20:61], LEVEL).T
        held, drawn = truth[20:61], (fitted.sample_proba(whole) * density).sum(axis=1)
        low, high = np.quantile(drawn, [0.05, 0.95])
        out.append(
            {
                "seed": seed,
                "method": method,
                "bands": float(np.mean((lower <= held) & (held <= upper))),
                "share": float(low <= share <= high),
            }
        )
    return out


# Designs that are more than one sample of documents, all with the correlation .3.
SIZED, WHOLE, WITHIN, TOPICS, NEW = (
    "large clusters are more often positive",
    "clusters drawn whole, unevenly",
    "documents drawn unevenly within clusters",
    "six topics of 60 clusters",
    "new documents without labels",
)
DESIGNS = (WHOLE, WITHIN, TOPICS, NEW, SIZED)
DESIGN_RHO = 0.3
RUNS_OF = {TOPICS: 12, NEW: 160}


def measure_design(design: str, seed: int) -> list[dict[str, Any]]:
    """Return a row for each method: coverage of bands and of the share of positives."""
    rng = np.random.default_rng([seed, 17, DESIGNS.index(design)])
    kinds = {TOPICS: _of_topics, NEW: _of_new, SIZED: _of_sizes}
    measured = kinds.get(design, _of_inclusion)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = measured(rng, design)
    return [
        {"design": design, "seed": seed, "method": method, "bands": bands, "share": share}
        for method, (bands, share) in zip(METHODS, found, strict=True)
    ]


Coverage = tuple[float, float]  # of bands and of the share of positives


def _coverage(
    share: float, interval: Callable[[Floats], Floats], draws: Callable[[Floats], Floats]
) -> Coverage:
    """Return the coverage by a calibrator of a population with a share of positives."""
    whole = np.linspace(-4.0, APART + 4.0, 81)
    density = (1.0 - share) * stats.norm.pdf(whole) + share * stats.norm.pdf(whole - APART)
    density /= density.sum()
    held = whole[20:61]
    lower, upper = interval(held).T
    truth = special.expit(log_odds(held, share))
    low, high = np.quantile((draws(whole) * density).sum(axis=1), [0.05, 0.95])
    return float(np.mean((lower <= truth) & (truth <= upper))), float(low <= share <= high)


def _of_inclusion(rng: np.random.Generator, design: str) -> list[Coverage]:
    """Return the coverage with clusters, or documents within them, drawn by their scores."""
    latent, positive, of, share = draw(rng, 1500, 1500, DESIGN_RHO, "shared")
    if design == WHOLE:
        mean = np.bincount(of, latent) / np.maximum(np.bincount(of), 1)
        chance = np.where(mean > np.median(mean), 0.2, 0.08)
        drawn = (rng.random(chance.size) < chance)[of]
        inclusion = chance[of]
    else:
        inclusion = np.where(latent > np.median(latent), 0.2, 0.08)
        drawn = rng.random(of.size) < inclusion
    out = []
    for method in METHODS:
        given = {"clusters": of[drawn]} if method != METHODS[0] else {}
        fitted = ScoreCalibrator(random_state=0)
        fitted.fit(latent[drawn], positive[drawn], inclusion=inclusion[drawn], **given)
        interval = partial(fitted.predict_interval, level=LEVEL)
        out.append(_coverage(share, interval, fitted.sample_proba))
    return out


def _of_sizes(rng: np.random.Generator, _: str) -> list[Coverage]:
    """Return the coverage where the rate of positives grows with the size of a cluster."""
    sizes = np.arange(1, LARGEST + 1)
    of = np.repeat(np.arange(300), rng.choice(sizes, 300, p=(1.0 / sizes) / (1.0 / sizes).sum()))
    # Of documents, sizes are uniform, so that their mean rate is .02 (LARGEST + 1) / 2.
    mean, share = 0.02 * np.bincount(of, minlength=300), 0.01 * (LARGEST + 1)
    odds = (1.0 - DESIGN_RHO) / DESIGN_RHO
    positive = rng.random(of.size) < rng.beta(mean * odds, (1.0 - mean) * odds)[of]
    latent = APART * positive + np.sqrt(DESIGN_RHO) * rng.normal(size=300)[of]
    latent += np.sqrt(1.0 - DESIGN_RHO) * rng.normal(size=of.size)
    out = []
    for method in METHODS:
        given = {"clusters": of} if method != METHODS[0] else {}
        fitted = ScoreCalibrator(random_state=0).fit(latent, positive, **given)
        interval = partial(fitted.predict_interval, level=LEVEL)
        out.append(_coverage(share, interval, fitted.sample_proba))
    return out


def _of_one_topic(
    method: Callable[..., Floats], topic: int, **options: float
) -> Callable[[Floats], Floats]:
    """Return the method of a TopicCalibrator for scores of one topic."""
    return lambda scores: method(scores, np.full(scores.size, topic), **options)


def _of_topics(rng: np.random.Generator, _: str) -> list[Coverage]:
    """Return the mean coverage over topics that are fitted together."""
    samples = [draw(rng, 60, positives, DESIGN_RHO, "shared") for positives in (10, 20, 30) * 2]
    latent, positive, of = (np.concatenate([each[k] for each in samples]) for k in range(3))
    topic = np.repeat(np.arange(len(samples)), [each[0].size for each in samples])
    out = []
    for method in METHODS:
        given = {"clusters": of + 1000 * topic} if method != METHODS[0] else {}
        fitted = TopicCalibrator(draws=250, random_state=0).fit(latent, positive, topic, **given)
        held = [
            _coverage(
                share,
                _of_one_topic(fitted.predict_interval, k, level=LEVEL),
                _of_one_topic(fitted.sample_proba, k),
            )
            for k, (_, _, _, share) in enumerate(samples)
        ]
        out.append((float(np.mean([a for a, _ in held])), float(np.mean([b for _, b in held]))))
    return out


def _of_new(rng: np.random.Generator, _: str) -> list[Coverage]:
    """Return whether `foresee` holds the share of positives of new documents."""
    old, new = (draw(rng, 150, 60, DESIGN_RHO, "shared") for _ in range(2))
    out = []
    for method in METHODS:
        named = method != METHODS[0]
        fitted = ScoreCalibrator(random_state=0)
        fitted.fit(old[0], old[1], clusters=old[2] if named else None)
        pair = (new[2], old[2]) if named else None
        ahead = foresee(
            fitted, new[0], reference=old[:2], alpha=1e-9, clusters=pair, random_state=0
        )
        numbers = ahead.numbers["case mix"]["share of positives"]
        out.append((np.nan, float(numbers.lower <= new[1].mean() <= numbers.upper)))
    return out


def run(options: Options) -> None:
    """Measure, and write the page."""
    if options.data is None:
        raise ValueError(
            "clusters are measured on public data, too: give their folder, --data FOLDER."
        )
    seeds = range(options.size(REAL_RUNS, QUICK_RUNS))
    cases = [(options.data, name, seed) for name in REAL for seed in seeds]
    real = [row for each in spread_over(options.jobs, measure_real, cases) for row in each]
    write_table(pd.DataFrame(real), options.out, "clusters_real")
    giants = [
        row
        for each in spread_over(options.jobs, measure_giant, [(k,) for k in seeds])
        for row in each
    ]
    write_table(pd.DataFrame(giants), options.out, "clusters_giant")
    cases = [
        (design, k)
        for design in DESIGNS
        for k in range(options.size(RUNS_OF.get(design, DESIGN_RUNS), QUICK_RUNS))
    ]
    designs = [row for each in spread_over(options.jobs, measure_design, cases) for row in each]
    write_table(pd.DataFrame(designs), options.out, "clusters_designs")
    runs = options.size(RUNS, QUICK_RUNS)
    sizes = range(len(SIZES)) if not options.quick else (0,)
    tasks = [(size, rho, seed) for rho in CORRELATIONS for size in sizes for seed in range(runs)]
    rows = [row for each in spread_over(options.jobs, measure, tasks) for row in each]
    table = pd.DataFrame(rows)
    write_table(table, options.out, "clusters")
    write_bars(bars(table), options.out, "clusters")
    write_page("clusters", options.out, page(options.out))


def paired(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a column of both methods side by side, a row for each sample."""
    index = ["clusters", "positives", "rho", "seed"]
    wide = table.pivot_table(column, index, "method")
    return wide.reset_index()


def bars(table: pd.DataFrame) -> list[Bar]:
    """Return the bars of the page."""
    out = []
    own = table[table["method"] == METHODS[1]]
    width, loss = paired(table, "width"), paired(table, "loss")
    for rho in CORRELATIONS:
        here = own[own["rho"] == rho]
        change = np.log(loss[METHODS[1]] / loss[METHODS[0]])[loss["rho"] == rho] * 100.0
        ratio = float((width[METHODS[1]] / width[METHODS[0]])[width["rho"] == rho].median())
        if rho == 0.0:
            both = paired(table, "bands")
            off = (both[METHODS[1]] - both[METHODS[0]])[both["rho"] == rho]
            out.append(_bar("rho 0: coverage beside the default", off.mean(), 0.01, "within"))
            out.append(_bar("rho 0: width over the default's", ratio, 1.03, "most"))
            out.append(_bar("rho 0: change of log-loss, %", change.mean(), 0.2, "within"))
            continue
        out.append(_bar(f"rho {rho:g}: coverage of bands", here["bands"].mean(), 0.90, "least"))
        for (clusters, positives), cell in here.groupby(["clusters", "positives"]):
            what = f"rho {rho:g}: {clusters} clusters, {positives} positives, coverage of bands"
            out.append(_bar(what, cell["bands"].mean(), 0.85, "least"))
        for name, limit in (("share", 0.87), ("recall", 0.87), ("precision", 0.83)):
            out.append(_bar(f"rho {rho:g}: intervals of {name}", here[name].mean(), limit, "least"))
        out.append(_bar(f"rho {rho:g}: change of log-loss, %", change.mean(), 0.5, "most"))
        if rho in (0.1, 0.6):
            limit = 1.3 if rho == 0.1 else 1.6
            out.append(_bar(f"rho {rho:g}: width over the default's", ratio, limit, "most"))
        if rho <= 0.3:
            some = here[here["clusters"] == 300]["off_if_right"].mean()
            out.append(_bar(f"rho {rho:g}: right probabilities called off", some, 0.09, "most"))
    return out


def _bar(claim: str, value: float, limit: float, side: str) -> Bar:
    """Return a bar; `side` says whether the value must be at least, at most or within the limit."""
    holds = {"least": value >= limit, "most": value <= limit, "within": abs(value) <= limit}[side]
    words = {"least": f"at least {limit:g}", "most": f"at most {limit:g}"}
    return Bar(claim, f"{value:.3f}", words.get(side, f"within {limit:g}"), bool(holds))


def page(folder: Path) -> str:
    """Return the page: coverage by correlation and method."""
    table = pd.read_csv(folder / "clusters.csv")
    columns = [*MEASURES, "off_if_right", "off_if_doubled"]
    shown = []
    for (rho, method), here in table.groupby(["rho", "method"], sort=False):
        error = here[columns].std(ddof=1) / len(here) ** 0.5
        cells = [with_error(here[name].mean(), error[name], 2) for name in columns]
        factor = f"{here['factor'].median():.2f}"
        shown.append([f"{rho:g}", method, len(here), *cells, factor])
    titles = ["rho", "method", "samples", *MEASURES, "off, right", "off, odds x 2", "k"]
    text = markdown(pd.DataFrame(shown, columns=titles))
    return fill(
        "clusters",
        folder,
        table=text,
        real=_real(folder),
        giant=_coverages(folder / "clusters_giant.csv", ["method"]),
        designs=_coverages(folder / "clusters_designs.csv", ["design", "method"]),
        largest=LARGEST,
    )


def _coverages(path: Path, names: list[str]) -> str:
    """Return a table of the coverage of bands and of shares."""
    shown = []
    for key, here in pd.read_csv(path).groupby(names, sort=False):
        error = here[["bands", "share"]].std(ddof=1) / len(here) ** 0.5
        cells = [
            "-" if np.isnan(error[each]) else with_error(here[each].mean(), error[each], 2)
            for each in ("bands", "share")
        ]
        shown.append([*key, len(here), *cells])
    return markdown(pd.DataFrame(shown, columns=[*names, "samples", "bands", "share"]))


def _real(folder: Path) -> str:
    """Return the table of real data: how often intervals of shares hold, and their width."""
    table, columns = pd.read_csv(folder / "clusters_real.csv"), ["all", "high"]
    shown = []
    for (name, method), here in table.groupby(["data", "method"], sort=False):
        error = here[columns].std(ddof=1) / len(here) ** 0.5
        cells = [with_error(here[each].mean(), error[each], 2) for each in columns]
        widths = [f"{here[f'width_{each}'].median():.2f}" for each in columns]
        factor = f"{here['factor'].median():.2f}"
        shown.append([name, method, len(here), cells[0], widths[0], cells[1], widths[1], factor])
    titles = ["data", "method", "samples", "share", "width", "share, high scores", "width", "k"]
    return markdown(pd.DataFrame(shown, columns=titles))


if __name__ == "__main__":
    main("clusters")
