"""Audits: loss after recalibration, bands, tests, sites, and probabilities without labels.

python -m studies.audit --data FOLDER [--quick]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

from bayescal import ScoreCalibrator
from bayescal.fitting.engines.sites import draw_sites
from bayescal.metrics import calibration_verdict
from bayescal.metrics.changes import LogOddsCells, clipped_log_odds, fit_changes, fit_regression
from bayescal.monitoring import Recalibrator, audit, foresee, labels_needed
from bayescal.monitoring.shift_evidence import mixture_test
from bayescal.support.validation import Floats
from studies.audit_sets import MODERATE, STRONG, available, outcomes, read
from studies.command import Options, main
from studies.reporting import Bar, fill, markdown, with_error, write_bars, write_page, write_table

REPETITIONS, MOST_TEST, LEAST_TEST = 15, 6000, 80
SIZES = (10, 30, 100, 300, 1000)
# Millibits a document, by size: the mean over moderate sets, any set, and the strong ones.
MEAN_BARS = dict(zip(SIZES, (0.0, -10.0, -1.0, -2.0, -2.0), strict=True))
WORST_BARS = dict(zip(SIZES, (30.0, 6.0, 3.0, 1.0, 1.0), strict=True))
STRONG_BARS = {10: -230.0, 100: -325.0, 1000: -345.0}
TRUTHS: dict[str, Callable[[Floats], Floats]] = {
    "right": lambda z: z,
    "shift .5": lambda z: z + 0.5,
    "slope .7": lambda z: -0.45 + 0.7 * z,
    "slope 1.3": lambda z: 0.45 + 1.3 * z,
    "bent": lambda z: np.where(z < -1.5, z, -1.5 + 0.45 * (z + 1.5)),
    "wavy": lambda z: z + 0.6 * np.sin(1.6 * z),
}
ERRORS: dict[str, tuple[str, Callable[[Floats], Floats]]] = {
    "shift .2": ("shift", lambda z: z + 0.2),
    "slope .8": ("slope", lambda z: -0.3 + 0.8 * z),
    "slope 1.25": ("slope", lambda z: 0.375 + 1.25 * z),
    "wavy": ("full", lambda z: z + 0.5 * np.sin(2.0 * z)),
}
FILES = ("spkr_trn", "spkr_tst", "emotion_tst", "emotion_tst_sh", "resnet_val")
FILES += ("resnet_tst_sc", "resnet_tst_p")
Labels = NDArray[np.bool_]


def drawn(
    n: int, truth: Callable[[Floats], Floats], rng: np.random.Generator
) -> tuple[Floats, Labels]:
    """Return log-odds as given, and labels of a truth."""
    z = rng.normal(-1.5, 1.2, n)
    return z, rng.random(n) < special.expit(truth(z))


def bits(p: Floats, y: Labels) -> float:
    """Return the mean log-loss in bits, probabilities cut at 1e-9."""
    p = np.clip(p, 1e-9, 1.0 - 1e-9)
    return float(-np.log2(np.where(y, p, 1.0 - p)).mean())


# Losses after recalibration.


def maximum_likelihood(z: Floats, y: Labels, free: int) -> Floats:
    """Return shift, or intercept and slope - 1, by maximum likelihood, all but unpenalised."""
    features = np.stack([np.ones(z.size), z], axis=1)[:, :free]
    cells = LogOddsCells(z, y.astype(float), np.ones(z.size))
    precision = 1e-8 * np.eye(free)
    return fit_regression(features, z, cells, np.zeros(free), precision).mode


def closed_test(z: Floats, y: Labels) -> Callable[[Floats], Floats]:
    """Return probabilities as is, shifted or linear, by Vergouwe's closed test at 5 %."""
    if y.all() or not y.any():
        return special.expit

    def likelihood(moved: Floats) -> float:
        return float(special.log_expit(np.where(y, moved, -moved)).sum())

    (shift,), (a, b) = maximum_likelihood(z, y, 1), maximum_likelihood(z, y, 2)
    full, own, shifted = (likelihood(each) for each in (a + (1.0 + b) * z, z, z + shift))
    if stats.chi2.sf(2.0 * (full - own), 2) > 0.05:
        return special.expit
    if stats.chi2.sf(2.0 * (full - shifted), 1) > 0.05:
        return lambda at: special.expit(at + shift)
    return lambda at: special.expit(a + (1.0 + b) * at)


def gains(
    data: Path, name: str, sizes: tuple[int, ...], repetitions: int
) -> list[dict[str, object]]:
    """Return losses less those of leaving as is, in millibits a document, of one data set."""
    table, rows = outcomes(data, name), []
    groups = np.unique(table.site) if name == "heart" else np.array([None])
    parts = [table.site == each if each is not None else table.p >= 0.0 for each in groups]
    for n in sizes:
        usable = [np.flatnonzero(part) for part in parts if part.sum() >= n + LEAST_TEST]
        for k in range(repetitions if usable else 0):
            rng = np.random.default_rng(k)
            order = rng.permutation(usable[k % len(usable)])
            fitted, test = order[:n], order[n:][:MOST_TEST]
            z, y = clipped_log_odds(table.p), table.y
            before = bits(table.p[test], y[test])
            average = fit_changes(LogOddsCells.of(z[fitted], y[fitted])).predict(z[test])
            rival = closed_test(z[fitted], y[fitted])(z[test])
            row = {"data": name, "n": n, "repetition": k}
            for method, p in (("average", average), ("closed test", rival)):
                row[method] = 1e3 * (bits(p, y[test]) - before)
            rows.append(row)
    return rows


def losses(options: Options) -> tuple[pd.DataFrame, list[Bar]]:
    """Return losses of all data sets, and their bars."""
    assert options.data is not None  # noqa: S101
    repetitions, rows = options.size(REPETITIONS, 2), []
    for name in available(MODERATE):
        rows += gains(options.data, name, SIZES, repetitions)
    for name in STRONG:
        rows += gains(options.data, name, tuple(STRONG_BARS), repetitions)
    table = pd.DataFrame(rows)
    grouped = table.groupby(["data", "n"])[["average", "closed test"]]
    mean, error = grouped.mean(), grouped.sem()
    bars = []
    for n in SIZES:
        own = mean.xs(n, level="n")["average"]
        errors = error.xs(n, level="n")["average"]
        moderate = own[[name for name in own.index if name in MODERATE]]
        total = with_error(
            moderate.mean(), np.hypot.reduce(errors[moderate.index]) / len(moderate), 1
        )
        claim = f"mean over {len(moderate)} moderate sets, n = {n}: millibits"
        bars.append(
            Bar(claim, total, f"<= {MEAN_BARS[n]:g}", bool(moderate.mean() <= MEAN_BARS[n]))
        )
        worst = moderate.idxmax()
        figure = with_error(moderate[worst], errors[worst], 1)
        claim = f"worst moderate set ({worst}), n = {n}: millibits"
        bars.append(
            Bar(claim, figure, f"<= {WORST_BARS[n]:g}", bool(moderate.max() <= WORST_BARS[n]))
        )
    for n, limit in STRONG_BARS.items():
        own = mean.xs(n, level="n")["average"]
        strong = own[[name for name in own.index if name in STRONG]]
        claim = f"mean over {len(strong)} changed domains, n = {n}: millibits"
        bars.append(
            Bar(claim, f"{strong.mean():.0f}", f"<= {limit:g}", bool(strong.mean() <= limit))
        )
    return mean.join(error, rsuffix=", error").reset_index(), bars


# Bands of the calibration curve.


def spline_band(z: Floats, y: Labels, at: Floats) -> tuple[Floats, Floats]:
    """Return the 90 % Wald band of a restricted cubic spline with five knots, as in rms."""
    knots = np.quantile(z, [0.05, 0.275, 0.5, 0.725, 0.95])

    def cubes(x: Floats, knot: float) -> Floats:
        return np.maximum(x - knot, 0.0) ** 3

    def features(x: Floats) -> Floats:
        last, before = knots[-1], knots[-2]
        width = (last - knots[0]) ** 2
        tails = [
            cubes(x, k)
            - cubes(x, before) * (last - k) / (last - before)
            + cubes(x, last) * (before - k) / (last - before)
            for k in knots[:-2]
        ]
        return np.column_stack([np.ones(x.size), x, *(tail / width for tail in tails)])

    cells = LogOddsCells(z, y.astype(float), np.ones(z.size))
    fit = fit_regression(features(z), np.zeros(z.size), cells, np.zeros(5), 1e-6 * np.eye(5))
    x = features(at)
    middle, sd = x @ fit.mode, np.sqrt(np.einsum("ij,jk,ik->i", x, fit.covariance, x))
    half = stats.norm.ppf(0.95) * sd
    return special.expit(middle - half), special.expit(middle + half)


def bands(options: Options) -> tuple[pd.DataFrame, list[Bar]]:
    """Return coverage and width of bands, by truth and number of labels."""
    levels = np.linspace(0.025, 0.975, 20)
    at, rows = stats.norm(-1.5, 1.2).ppf(levels), []
    for name, truth in TRUTHS.items():
        right = special.expit(truth(at))
        for n in (100, 500, 2000):
            for k in range(options.size(80, 2)):
                rng = np.random.default_rng([k, n])
                z, y = drawn(n, truth, rng)
                posterior = fit_changes(LogOddsCells.of(z, y), kinds=("full",))
                curves = special.expit(
                    posterior.draw(800, rng) @ posterior.frame.features(at).T + at
                )
                lower, upper = np.quantile(curves, [0.05, 0.95], axis=0)
                low, high = spline_band(z, y, at)
                rows.append(
                    {
                        "truth": name,
                        "n": n,
                        "held": np.mean((lower <= right) & (right <= upper)),
                        "width": np.mean(upper - lower),
                        "held, spline": np.mean((low <= right) & (right <= high)),
                        "width, spline": np.mean(high - low),
                    }
                )
    table = pd.DataFrame(rows)
    grouped = table.groupby(["truth", "n"], sort=False)
    mean, error = grouped.mean(), grouped.sem()
    bars = []
    for (name, n), row in mean.iterrows():
        held = with_error(row["held"], error.loc[(name, n), "held"], 3)
        claim = f"band, {name}, n = {n}: holds the truth"
        bars.append(Bar(claim, held, ".86 to .96", bool(0.86 <= row["held"] <= 0.96)))
    wider = (mean["width"] > mean["width, spline"]).sum()
    bars.append(
        Bar("cells whose band is wider than the spline's", str(wider), "0", bool(wider == 0))
    )
    return mean.join(error[["held", "held, spline"]], rsuffix=", error").reset_index(), bars


# Explanations, tests and the size of the error.


def explanations(options: Options) -> tuple[pd.DataFrame, list[Bar]]:
    """Return the shares of right explanations, size and power of the test, and errors."""
    bars, rows = [], []

    def share(claim: str, hits: list[bool], limit: float, *, most: bool = False) -> None:
        p = float(np.mean(hits))
        error = np.sqrt(max(p * (1.0 - p), 1e-4) / len(hits))
        sign = "<=" if most else ">="
        holds = p <= limit if most else p >= limit
        bars.append(Bar(claim, with_error(p, error, 3), f"{sign} {limit:g}", bool(holds)))
        rows.append({"claim": claim, "share": p, "error": error, "repetitions": len(hits)})

    def best(n: int, truth: Callable[[Floats], Floats], k: int) -> str:
        z, y = drawn(n, truth, np.random.default_rng([k, n]))
        models = fit_changes(LogOddsCells.of(z, y)).probability
        return max(models, key=lambda name: models[name])

    for n in (100, 1000, 5000):
        hits = [best(n, TRUTHS["right"], k) == "as is" for k in range(options.size(200, 2))]
        share(f"right probabilities, n = {n}: called right", hits, 0.88)
    named = {"shift .2": 0.65, "slope .8": 0.60, "slope 1.25": 0.70, "wavy": 0.55}
    for name, (kind, truth) in ERRORS.items():
        hits = [best(1000, truth, k) != "as is" for k in range(options.size(400, 2))]
        share(f"{name}, n = 1000: not called right", hits, named[name])
        hits = [best(5000, truth, k) == kind for k in range(options.size(60, 2))]
        share(f"{name}, n = 5000: called {kind}", hits, 0.9)

    def rejected(n: int, truth: Callable[[Floats], Floats], k: int) -> bool:
        z, y = drawn(n, truth, np.random.default_rng([k, n, 1]))
        return calibration_verdict(y, special.expit(z)).pvalue <= 0.05

    for n in (100, 1000):
        hits = [rejected(n, TRUTHS["right"], k) for k in range(options.size(1000, 2))]
        share(f"test at 5 %, n = {n}: right probabilities rejected", hits, 0.065, most=True)
    for name, limit in (("wavy", 0.85), ("slope .8", 0.6), ("slope 1.25", 0.65)):
        hits = [rejected(1000, ERRORS[name][1], k) for k in range(options.size(400, 2))]
        share(f"test at 5 %, {name}, n = 1000: rejected", hits, limit)
    held, sizes = [], []
    for k in range(options.size(100, 2)):
        z, y = drawn(200, TRUTHS["right"], np.random.default_rng([k, 2]))
        number = audit(y, special.expit(z), random_state=k).numbers["mean error (ICI)"]
        held.append(number.lower <= 1e-9)
        sizes.append(number.value)
    share("mean error of right probabilities, n = 200: interval holds 0", held, 0.9)
    middle = float(np.median(sizes))
    bars.append(Bar("the same: median", f"{middle:.4f}", "<= 0.005", bool(middle <= 0.005)))
    return pd.DataFrame(rows), bars


# New sites, and a domain that changed.


def new_sites(options: Options) -> tuple[pd.DataFrame, list[Bar]]:
    """Return losses at sites without labels, by the population of the others."""
    assert options.data is not None  # noqa: S101
    rows = []
    for name in ("538 nba", "538 mlb"):
        table = outcomes(options.data, name)
        z = clipped_log_odds(table.p)
        sites = [each for each in np.unique(table.site) if (table.site == each).sum() >= 800]
        masks = [table.site == each for each in sites]
        cells = [LogOddsCells.of(z[mask], table.y[mask]) for mask in masks]
        frame = LogOddsCells.of(z, table.y).frame
        for j, mask in enumerate(masks):
            others = [own for k, own in enumerate(cells) if k != j]
            new = draw_sites(others, frame, 1000, np.random.default_rng(j)).new
            moved = special.expit(new @ frame.linear(z[mask]).T + z[mask]).mean(axis=0)
            gain = 1e3 * (bits(moved, table.y[mask]) - bits(table.p[mask], table.y[mask]))
            rows.append({"data": name, "site": sites[j], "gain": gain})
    table = pd.DataFrame(rows)
    grouped = table.groupby("data")["gain"]
    bars = []
    for name, limit in (("538 nba", -7.0), ("538 mlb", 0.5)):
        mean, error = grouped.mean()[name], grouped.sem()[name]
        claim = f"a new season without labels, {name}: millibits"
        bars.append(Bar(claim, with_error(mean, error, 1), f"<= {limit:g}", bool(mean <= limit)))
    return table, bars


def cllr(log_ratio: Floats, y: Labels) -> float:
    """Return the log-likelihood-ratio cost in bits."""
    costs = np.logaddexp(0.0, np.where(y, -log_ratio, log_ratio)) / np.log(2.0)
    return float(0.5 * (costs[y].mean() + costs[~y].mean()))


def speakers(options: Options) -> tuple[pd.DataFrame, list[Bar]]:
    """Return Cllr of a calibrator of one domain in another, recalibrated by few labels."""
    assert options.data is not None  # noqa: S101
    old, new = (read(options.data, f"shift_spkr_{part}") for part in ("trn", "tst"))
    calibrator = ScoreCalibrator(random_state=1, draws=250)
    calibrator.fit(old["score"][::4].to_numpy(), old["label"][::4].to_numpy())
    ratio = special.logit(
        np.clip(
            calibrator.predict_proba(new["score"].to_numpy(), prior=0.5)[:, 1], 1e-12, 1 - 1e-12
        )
    )
    y, rows = (
        new["label"].to_numpy() == 1,
        [{"labels": "none", "refit": "", "Cllr": cllr(ratio, new["label"] == 1)}],
    )
    bars = []
    for (plus, minus), limit in (((10, 30), 0.10), ((30, 90), 0.05)):
        prior = special.logit(plus / (plus + minus))
        # By default a fit from scratch is not compared with ten of the rarer class.
        for refit in ("auto", "always"):
            values = []
            for k in range(options.size(8, 2)):
                rng = np.random.default_rng(k)
                rows_of = [
                    rng.choice(np.flatnonzero(y == side), n, replace=False)
                    for side, n in ((True, plus), (False, minus))
                ]
                fitted = np.concatenate(rows_of)
                again = Recalibrator(refit=refit, random_state=k, draws=1000)
                again.fit(special.expit(ratio[fitted] + prior), y[fitted].astype(int))
                test = rng.choice(y.size, 20_000, replace=False)
                moved = again.decision_function(special.expit(ratio[test] + prior)) - prior
                values.append(cllr(moved, y[test]))
            mean, error = np.mean(values), np.std(values) / np.sqrt(len(values))
            rows.append({"labels": f"{plus}+{minus}", "refit": refit, "Cllr": mean})
            claim = f"speakers, {plus}+{minus} labels of the new domain, refit={refit!r}: Cllr"
            bars.append(
                Bar(claim, with_error(mean, error, 3), f"<= {limit:g}", bool(mean <= limit))
            )
    return pd.DataFrame(rows), bars


# Without labels.


def scores_of(data: Path, name: str) -> tuple[Floats, Labels]:
    """Return scores, or log-odds, and labels of a file."""
    table = read(data, f"shift_{name}")
    if "score" in table:
        return table["score"].to_numpy(), table["label"].to_numpy() == 1
    return clipped_log_odds(table["p"].to_numpy()), table["y"].to_numpy() == 1


def without_labels(options: Options) -> tuple[pd.DataFrame, list[Bar]]:
    """Return alarms of the test of a mixture, and coverage of intervals without labels."""
    assert options.data is not None  # noqa: S101
    files = {name: scores_of(options.data, name) for name in FILES}
    pairs = {
        ("spkr_trn", "spkr_tst"): True,
        ("emotion_tst", "emotion_tst_sh"): True,
        ("resnet_val", "resnet_tst_sc"): True,
        ("spkr_trn", "spkr_trn"): False,
        ("emotion_tst", "emotion_tst"): False,
        ("resnet_val", "resnet_val"): False,
    }
    rows, bars = [], []
    for (source, target), changed in pairs.items():
        alarms = []
        for k in range(options.size(40, 2)):
            rng = np.random.default_rng(k)
            order = rng.permutation(files[source][0].size)
            s, y = (each[order[:1000]] for each in files[source])
            rest = order[1000:2000] if source == target else None
            pool = files[target][0]
            new = pool[rest] if rest is not None else rng.choice(pool, 1000, replace=False)
            alarms.append(mixture_test(new, s[y], s[~y], rng)[1] <= 0.05)
        share = float(np.mean(alarms))
        error = np.sqrt(max(share * (1.0 - share), 1e-4) / len(alarms))
        limit = 0.95 if changed else 0.08
        holds = share >= limit if changed else share <= limit
        claim = f"alarms, {source} to {target}"
        sign = ">=" if changed else "<="
        bars.append(Bar(claim, with_error(share, error, 2), f"{sign} {limit:g}", bool(holds)))
        rows.append({"reference": source, "new": target, "what": "alarm", "share": share})
    for target in ("resnet_val", "resnet_tst_p"):
        held: dict[str, list[bool]] = {}
        for k in range(options.size(60, 2)):
            rng = np.random.default_rng(k)
            order = rng.permutation(files["resnet_val"][0].size)
            s, y = (each[order[:2000]] for each in files["resnet_val"])
            own = (
                order[2000:3000]
                if target == "resnet_val"
                else rng.permutation(files[target][0].size)[:1000]
            )
            new, truth = (each[own] for each in files[target])
            calibrator = ScoreCalibrator(prior_knowledge="vague", random_state=1, draws=150).fit(
                s, y
            )
            found = foresee(calibrator, new, reference=(s, y), alpha=1e-9, random_state=k)
            p = calibrator.predict_proba(new)[:, 1]
            real = {
                "accuracy": np.mean((p >= 0.5) == truth),
                "Brier score": np.mean((p - truth) ** 2),
                "share of positives": truth.mean(),
            }
            for name, value in real.items():
                number = found.numbers["label shift"][name]
                held.setdefault(name, []).append(bool(number.lower <= value <= number.upper))
        for name, each in held.items():
            share = float(np.mean(each))
            error = np.sqrt(max(share * (1.0 - share), 1e-4) / len(each))
            claim = f"interval of {name}, resnet_val to {target}"
            bars.append(Bar(claim, with_error(share, error, 2), ">= 0.85", bool(share >= 0.85)))
            rows.append({"reference": "resnet_val", "new": target, "what": name, "share": share})
    return pd.DataFrame(rows), bars


# Two readings of scores without labels: a right model, whose patients change.

REFERENCE, NEW = 500, 1000
CHANGES: dict[str, tuple[str, float]] = {
    "nothing": ("case mix", 0.0),
    "case mix: log-odds + 0.4": ("case mix", 0.4),
    "case mix: log-odds + 1": ("case mix", 1.0),
    "label shift: odds x 1.5": ("label shift", 0.4),
    "label shift: odds x 2.7": ("label shift", 1.0),
}


def patients(
    n: int, rng: np.random.Generator, kind: str = "case mix", size: float = 0.0
) -> tuple[Floats, Labels]:
    """Return log-odds of a right model and outcomes, after a change."""
    if kind == "case mix":
        z = rng.normal(-1.5 + size, 1.2, n)
        return z, rng.random(n) < special.expit(z)
    many, y = patients(40 * n, rng)
    k = rng.binomial(n, special.expit(special.logit(y.mean()) + size))
    rows = np.concatenate([np.flatnonzero(y)[:k], np.flatnonzero(~y)[: n - k]])
    return many[rows], y[rows]


def readings(options: Options) -> tuple[pd.DataFrame, list[Bar]]:
    """Return the coverage of each reading, under its own assumption and under the other."""
    rows = []
    for change, (kind, size) in CHANGES.items():
        held: dict[str, list[bool]] = {}
        for k in range(options.size(40, 2)):
            rng = np.random.default_rng([8, k])
            (old, labels), (new, truth) = patients(REFERENCE, rng), patients(NEW, rng, kind, size)
            calibrator = ScoreCalibrator(prior_knowledge="vague", random_state=1, draws=150)
            calibrator.fit(old, labels)
            found = foresee(calibrator, new, reference=(old, labels), alpha=1e-9, random_state=k)
            p = calibrator.predict_proba(new)[:, 1]
            real = {"share of positives": truth.mean(), "accuracy": np.mean((p >= 0.5) == truth)}
            refuted = found.pvalue <= 0.05
            spoken = "case mix" if refuted else found.reading
            answer = {"both": list(found.numbers), "open": []}.get(spoken, [spoken])
            for what, value in real.items():
                ends = {
                    name: (own[what].lower, own[what].upper) for name, own in found.numbers.items()
                }
                for name, (lower, upper) in ends.items():
                    held.setdefault(f"{what} by {name}", []).append(lower <= value <= upper)
                if answer:
                    lower, upper = np.transpose([ends[name] for name in answer])
                    inside = lower.min() <= value <= upper.max()
                    held.setdefault(f"{what} by the answer given", []).append(inside)
            held.setdefault("label shift refuted", []).append(refuted)
            for reading in ("both", "open", "case mix", "label shift"):
                held.setdefault(f"reading {reading}", []).append(spoken == reading)
        shares = {
            name: with_error(np.mean(each), np.std(each) / np.sqrt(len(each)), 2)
            for name, each in held.items()
        }
        rows.append({"change": change} | shares)
    return pd.DataFrame(rows), []


def published() -> list[Bar]:
    """Return labels needed beside the values of pmvalsampsize, and seconds of an audit."""
    p = special.expit(stats.norm(-5.0, 2.5).ppf((np.arange(100_000) + 0.5) / 100_000))
    needed = labels_needed(p, slope_width=0.2, ratio_width=1.0, prevalence=0.018)
    bars = [
        Bar(
            f"labels for {name}",
            str(needed[key]),
            f"{value} of pmvalsampsize, 1 %",
            abs(needed[key] / value - 1.0) <= 0.01,
        )
        for name, key, value in (
            ("observed / expected", "ratio", 905),
            ("the slope", "slope", 4544),
        )
    ]
    for n, limit in ((1000, 0.3), (100_000, 3.0)):
        z, y = drawn(n, TRUTHS["slope .7"], np.random.default_rng(0))
        seconds = []
        for _ in range(5):
            start = time.process_time()
            audit(y, special.expit(z), threshold=0.1, random_state=0)
            seconds.append(time.process_time() - start)
        best = min(seconds)
        bars.append(
            Bar(
                f"seconds of a processor for an audit of {n:,} outcomes",
                f"{best:.2f}",
                f"<= {limit:g}",
                best <= limit,
            )
        )
    return bars


PARTS = {
    "audit_losses": losses,
    "audit_bands": bands,
    "audit_explanations": explanations,
    "audit_sites": new_sites,
    "audit_speakers": speakers,
    "audit_without_labels": without_labels,
    "audit_readings": readings,
}


def run(options: Options) -> None:
    """Measure; write page and tables."""
    if options.data is None:
        raise ValueError("audit is measured on public data: give their folder, --data FOLDER.")
    bars: list[Bar] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, part in PARTS.items():
            table, own = part(options)
            write_table(table, options.out, name)
            bars += own
            write_bars(bars, options.out, "audit")
    write_bars([*bars, *published()], options.out, "audit")
    write_page("audit", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: losses after recalibration by data set and number of labels."""
    table = pd.read_csv(folder / "audit_losses.csv")
    shown = table.pivot_table(index="data", columns="n", values="average", sort=False)
    shown = shown.round(1).astype(object).where(shown.notna(), "").reset_index()
    shown.columns = [each if each == "data" else f"n = {each}" for each in shown.columns]
    return fill(
        "audit",
        folder,
        table=markdown(shown),
        readings=markdown(by_number(pd.read_csv(folder / "audit_readings.csv"))),
        repetitions=REPETITIONS,
    )


def by_number(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each number of the readings, and a column for each change."""
    turned = table.set_index("change").T.rename_axis("number").reset_index()
    turned.columns.name = None
    return turned


if __name__ == "__main__":
    main("audit")
