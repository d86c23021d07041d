"""Calibration of several classes: the joint map against other methods, on problems left out.

python -m studies.multiclass --data FOLDER [--quick]

FOLDER holds multiclass/, the scores of the problems. SVS and SMS need the package probmetrics.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from bayescal.fitting.engines.multiclass.engine import AGREEMENT
from studies.command import Options, spread_over
from studies.multiclass.measuring import CHAINS, DRAWS, FAST, OURS, append, measure
from studies.multiclass.methods import METHODS, available
from studies.multiclass.priors import find_all, learn
from studies.multiclass.problems import GROUPS, MOST_CLASSES, PROBLEMS, SIZES, load
from studies.reporting import Bar, fill, markdown, with_error, write_bars, write_page

NAME = "multiclass"
REPETITIONS = 3
QUICK = ("vehicle_svc", "waveform_knn")
QUICK_SIZES = (20, 50)
# The largest ratio of losses to the better of SVS and SMS that the method is to reach.
LARGEST_RATIO = dict(zip(SIZES, (0.92, 0.97, 0.98, 0.97, 0.96, 0.96, 0.94), strict=True))
COVERAGE, LOWEST_COVERAGE = (0.87, 0.93), 0.75
FARTHEST_BEHIND, ACCURACY_LOST = 0.01, 0.005
GAIN_LEVEL = 0.99


def run(options: Options) -> None:
    """Learn priors without each group, measure all methods, and write table and page."""
    if options.data is None:
        raise ValueError("the scores are read from the folder of the public data: give --data.")
    folder = options.data / NAME
    _, note = available()
    if note:
        print(note)  # noqa: T201
    found = find_all(folder)
    names = QUICK if options.quick else tuple(few_classes(folder))
    sizes = QUICK_SIZES if options.quick else SIZES
    priors = {group: learn(found, group) for group in GROUPS}
    of = {name: priors[group] for group, members in GROUPS.items() for name in members}
    path = options.out / f"{NAME}.csv"
    path.unlink(missing_ok=True)
    for repetition in range(options.size(REPETITIONS, 1)):
        tasks = [
            (folder, name, size, repetition, of[name], True) for size in sizes for name in names
        ]
        for rows in spread_over(options.jobs, measure, tasks):
            append(rows, path)
    write_bars(bars(pd.read_csv(path)), options.out, NAME)
    write_page(NAME, options.out, page(options.out))


def few_classes(folder: Path) -> Iterable[str]:
    """Yield the problems of the main tables."""
    return (name for name in PROBLEMS if load(folder, name)[0].shape[1] <= MOST_CLASSES)


def by_sample(table: pd.DataFrame, value: str = "log_loss") -> pd.DataFrame:
    """Return a row for each sample (n, group, problem, repetition), a column for each method."""
    known = table[table["error"].isna()]
    wide = known.pivot_table(
        index=["n", "group", "problem", "repetition"], columns="method", values=value
    )
    return wide.dropna(subset=[OURS])


def log_ratios(table: pd.DataFrame) -> pd.DataFrame:
    """Return 100 log(loss / loss of ours): rows (n, group, problem), a column for each method."""
    losses = by_sample(table)
    ratio = 100.0 * np.log(losses.div(losses[OURS], axis=0)).drop(columns=OURS)
    return ratio.groupby(level=["n", "group", "problem"]).mean()


def gain_beyond_noise(table: pd.DataFrame, method: str) -> pd.Series:
    """Return the lower 99 % t limit of 1 - loss of the method / loss of ours, by (n, problem)."""
    losses = by_sample(table)
    ratio = np.log(losses[method] / losses[OURS]).groupby(level=["n", "problem"])
    count = ratio.count()
    error = stats.t.ppf(GAIN_LEVEL, np.maximum(count - 1, 1)) * ratio.std(ddof=1) / np.sqrt(count)
    return 1.0 - np.exp(ratio.mean() + error)[count > 1]


def errors_over_groups(values: pd.Series) -> tuple[float, float]:
    """Return mean and standard error over groups."""
    kept = values.dropna()
    return float(kept.mean()), float(kept.std(ddof=1) / np.sqrt(max(kept.size, 1)))


def loss_table(table: pd.DataFrame) -> str:
    """Return the log ratios of losses with standard errors, a row for each method."""
    ratios = log_ratios(table).groupby(level=["n", "group"]).mean()
    sizes = sorted(ratios.index.unique(level="n"))
    rows = []
    for method in [name for name in METHODS if name in ratios]:
        cells = [
            with_error(*errors_over_groups(ratios.loc[size, method]), 1)
            if ratios.loc[size, method].notna().sum() > 1
            else ""
            for size in sizes
        ]
        rows.append([method, *cells])
    groups = [str(ratios.loc[size].shape[0]) for size in sizes]
    rows.append(["groups", *groups])
    return markdown(pd.DataFrame(rows, columns=["", *(f"{size:,}" for size in sizes)]))


def band_table(table: pd.DataFrame) -> str:
    """Return coverage, R-hat and seconds of ours by size."""
    ours = table[table["method"] == OURS]
    rows = []
    for size, some in ours.groupby("n"):
        means = some.groupby(["group", "problem"])[["class_bands", "top_bands"]].mean()
        of_groups = means.groupby(level="group").mean()
        rows.append(
            [
                f"{size:,}",
                with_error(*errors_over_groups(of_groups["class_bands"]), 3),
                with_error(*errors_over_groups(of_groups["top_bands"]), 3),
                f"{means['class_bands'].min():.2f}, {means['top_bands'].min():.2f}",
                f"{some['rhat'].median():.2f}",
                f"{some['seconds'].median():.1f}",
            ]
        )
    columns = ["n", "class by class", "likeliest class", "lowest problem", "R-hat", "seconds"]
    return markdown(pd.DataFrame(rows, columns=columns))


def fast_table(table: pd.DataFrame) -> str:
    """Return losses, coverage and seconds of draws by "auto" beside those of chains."""
    ratios = log_ratios(table)[FAST]
    columns = ["class_bands", "top_bands", "seconds"]
    rows = []
    for size, some in table.groupby("n"):
        of_problems = ratios.loc[size]
        ours, fast = (some.loc[some["method"] == name, columns] for name in (OURS, FAST))
        rows.append(
            [
                f"{size:,}",
                with_error(*errors_over_groups(of_problems.groupby(level="group").mean()), 2),
                f"{of_problems.max():.1f}",
                f"{fast['class_bands'].mean():.3f}, {fast['top_bands'].mean():.3f}",
                f"{ours['class_bands'].mean():.3f}, {ours['top_bands'].mean():.3f}",
                f"{fast['seconds'].median():.2f}, {fast['seconds'].max():.2f}",
                f"{ours['seconds'].median():.2f}, {ours['seconds'].max():.2f}",
            ]
        )
    titles = ["n", "loss, %", "worst problem", "bands", "bands, chains", "seconds"]
    return markdown(pd.DataFrame(rows, columns=[*titles, "seconds, chains"]))


def bars(table: pd.DataFrame) -> list[Bar]:
    """Return the goals of the method, with what was measured."""
    of_problems = log_ratios(table)
    ratios, out = of_problems.groupby(level=["n", "group"]).mean(), []
    peers = [name for name in ("SVS", "SMS") if name in ratios]
    for size in sorted(ratios.index.unique(level="n")):
        if peers:
            better = min(
                float(np.exp(-ratios.loc[size, name].dropna().mean() / 100.0)) for name in peers
            )
            worst = max(
                float(np.exp(-ratios.loc[size, name].dropna().mean() / 100.0)) for name in peers
            )
            limit = LARGEST_RATIO[size]
            out.append(
                Bar(
                    f"loss over the better of SVS and SMS, {size:,} labels",
                    f"{worst:.3f} (over the other {better:.3f})",
                    f"≤ {limit}",
                    worst <= limit,
                )
            )
    gain = gain_beyond_noise(table, "temperature")
    out.append(
        Bar(
            "temperature scaling's gain on any problem at any size, lower 99 % limit",
            f"{gain.max():.3f} ({gain.idxmax()[1]}, n = {gain.idxmax()[0]:,})",
            f"≤ {FARTHEST_BEHIND}",
            bool(gain.max() <= FARTHEST_BEHIND),
        )
    )
    accuracy = by_sample(table, "accuracy")
    lost = (accuracy["raw"] - accuracy[OURS]).groupby(level=["n", "group", "problem"]).mean()
    lost = lost.groupby(level=["n", "group"]).mean()
    lost = lost.groupby(level="n").mean()
    out.append(
        Bar(
            "accuracy below the raw scores', mean over groups",
            f"{lost.max():.4f} (n = {lost.idxmax():,})",
            f"≤ {ACCURACY_LOST}",
            bool(lost.max() <= ACCURACY_LOST),
        )
    )
    ours = table[table["method"] == OURS]
    for column, what in (("class_bands", "class by class"), ("top_bands", "likeliest class")):
        each = ours.groupby(["n", "group", "problem"])[column].mean()
        means = each.groupby(level=["n", "group"]).mean().groupby(level="n").mean()
        low, high = COVERAGE
        out.append(
            Bar(
                f"coverage of 90 % bands, {what}, mean by size",
                f"{means.min():.3f} to {means.max():.3f}",
                f"{low} to {high}",
                bool(means.min() >= low and means.max() <= high),
            )
        )
        out.append(
            Bar(
                f"coverage of 90 % bands, {what}, lowest problem",
                f"{each.min():.3f} ({each.idxmin()[2]}, n = {each.idxmin()[0]:,})",
                f"≥ {LOWEST_COVERAGE}",
                bool(each.min() >= LOWEST_COVERAGE),
            )
        )
    return out


def page(folder: Path) -> str:
    """Return the page: losses against other methods, coverage and time."""
    table = pd.read_csv(folder / f"{NAME}.csv")
    ours = table[table["method"] == OURS]
    return fill(
        NAME,
        folder,
        losses=loss_table(table),
        bands=band_table(table),
        fast=fast_table(table),
        problems=ours["problem"].nunique(),
        groups=ours["group"].nunique(),
        chains=CHAINS,
        draws=DRAWS,
        repetitions=ours["repetition"].nunique(),
        samples=len(ours),
        apart=int((ours["rhat"] > AGREEMENT).sum()),
    )
