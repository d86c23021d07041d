"""Graded labels: one continuation-ratio model, or others, on real and simulated scores.

python -m studies.grades --data FOLDER [--quick]
"""

from __future__ import annotations

import lzma
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, special
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayescal import OrdinalCalibrator, ScoreCalibrator
from bayescal.metrics import ranked_probability_score
from bayescal.support.validation import Floats
from studies.command import Options, main, spread_over
from studies.papers.svm_map.features import read_queries
from studies.reporting import (
    Bar,
    by_column,
    fill,
    with_error,
    with_errors,
    write_bars,
    write_page,
    write_table,
)

Grades = NDArray[np.intp]
SIZES, SAMPLES = (20, 50, 100, 200, 500), 9
MOST_TESTED = 4000
DRAWS = {"draws": 100, "random_state": 0}
LEAST = 1e-3  # smallest probability in the log-loss: a product of curves may be 0
OURS, APART = "OrdinalCalibrator", "a curve for each threshold"
CUTS = np.array([0, 0, 3, 2, 1])  # Fair and Good, Ideal, Premium, Very Good
RINGS = (8, 10, 12)
HIGHEST = 3  # of relevance: few documents have grade 4


def out_of_fold(X: Floats, y: Grades, groups: NDArray[np.intp]) -> Floats:  # noqa: N803
    """Return predictions of the grade by boosted trees, from folds without the document's group."""
    model = HistGradientBoostingRegressor(max_iter=50, random_state=0)
    return np.asarray(cross_val_predict(model, X, y, groups=groups, cv=GroupKFold(5)))


def of_ranking(folder: Path, name: str) -> tuple[Floats, Grades]:
    """Return predicted and given grades of a ranking collection, query by query."""
    parts = [read_queries(path, **how) for path, how in _files(folder, name)]
    width = max(features.shape[1] for features, _, _ in parts)
    X = np.concatenate(  # noqa: N806
        [np.pad(each.toarray(), ((0, 0), (0, width - each.shape[1]))) for each, _, _ in parts]
    )
    query = np.concatenate([own + 10_000 * k for k, (_, _, own) in enumerate(parts)])
    y = np.clip(np.concatenate([grades for _, grades, _ in parts]), 0, HIGHEST).astype(np.intp)
    return out_of_fold(X, y, query), y


def _files(folder: Path, name: str) -> list[tuple[Path, dict[str, Path]]]:
    own = folder / "ranking" / name
    if name == "clueweb09":
        return [(own / f"part{k}.txt.xz", {}) for k in (1, 2, 3)]
    return [(own / f"{k}.xz", {"group_sizes": own / f"{k}.query"}) for k in _OF_LIGHTGBM]


_OF_LIGHTGBM = ("rank.train", "rank.test")


def of_abalone(folder: Path, name: str) -> tuple[Floats, Grades]:
    """Return predicted rings, and the rings in four bands."""
    with lzma.open(folder / "tabular" / "abalone.csv.xz", "rt") as lines:
        table = pd.read_csv(lines)
    rings = table.iloc[:, -1].to_numpy()
    X = pd.get_dummies(table.iloc[:, :-1]).to_numpy(dtype=np.float64)  # noqa: N806
    return out_of_fold(X, rings, np.arange(rings.size)), np.digitize(rings, RINGS)


def of_diamonds(folder: Path, name: str) -> tuple[Floats, Grades]:
    """Return the expected cut of diamonds by a classifier of five cuts, and the cut."""
    with np.load(folder / "multiclass" / f"{name}_gb.npz") as arrays:
        p, y = special.softmax(arrays["z"].astype(np.float64), axis=1), arrays["y"]
    return p @ CUTS, CUTS[y]


PROBLEMS: dict[str, Callable[[Path, str], tuple[Floats, Grades]]] = {
    "clueweb09": of_ranking,
    "lightgbm": of_ranking,
    "abalone": of_abalone,
    "diamonds": of_diamonds,
}


def merged(y: Grades, of: Grades) -> Grades:
    """Return grades among those of a sample: others count as the next lower one that it has."""
    kept = np.unique(of)
    return np.maximum(np.searchsorted(kept, y, side="right") - 1, 0)


# Methods: from scores and grades 0 to K to P(grade) of new scores.


def exceedances(fitted: OrdinalCalibrator, scores: Floats, y: Grades, new: Floats) -> Floats:
    """Return P(grade >= k), each by a `ScoreCalibrator` of its own; they may cross."""
    # The first is that of the first stage.
    each = [
        ScoreCalibrator(**DRAWS).fit(scores, y >= k).predict_proba(new)[:, 1]
        for k in range(2, y.max() + 1)
    ]
    return np.stack([fitted.exceedance(new)[:, 0], *each], axis=1)


def of_exceedances(reached: Floats) -> Floats:
    """Return P(grade) of exceedances, each at most the one before."""
    ends = np.pad(np.minimum.accumulate(reached, axis=1), ((0, 0), (1, 1)))
    ends[:, 0] = 1.0
    return -np.diff(ends, axis=1)


def proportional_odds(scores: Floats, y: Grades, new: Floats) -> Floats:
    """Return probabilities by logit P(grade >= k) = b s - c_k, ridge 1 on the standardised b."""
    centre, spread, grades = scores.mean(), scores.std() or 1.0, int(y.max())

    def reached(parameters: Floats, s: Floats) -> Floats:
        cuts = np.cumsum(np.append(parameters[1], np.exp(parameters[2:])))
        return special.expit(parameters[0] * ((s - centre) / spread)[:, None] - cuts)

    def loss(parameters: Floats) -> float:
        own = of_exceedances(reached(parameters, scores))[np.arange(y.size), y]
        penalty = 0.5 * parameters[0] ** 2 + 0.005 * (parameters[1:] ** 2).sum()
        return float(penalty - np.log(np.maximum(own, 1e-12)).sum())

    start = np.append([1.0, -1.0], np.zeros(grades - 1))
    found = optimize.minimize(loss, start, method="BFGS").x
    return of_exceedances(reached(found, new))


def multinomial(scores: Floats, y: Grades, new: Floats) -> Floats:
    """Return probabilities by scikit-learn's logistic regression of several classes."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return np.asarray(model.fit(scores[:, None], y).predict_proba(new[:, None]))


METHODS = {"proportional odds": proportional_odds, "multinomial": multinomial}


def losses(p: Floats, y: Grades) -> dict[str, float]:
    """Return the ranked probability score and the log-loss in nats, with probabilities floored."""
    own = np.maximum(p[np.arange(y.size), y], LEAST)
    rps = ranked_probability_score(y, p / p.sum(axis=1, keepdims=True))
    return {"rps": rps, "log_loss": float(-np.log(own).mean())}


def measure(data: Path, name: str, samples: int) -> list[dict[str, object]]:
    """Return a row for each size, sample and method."""
    scores, y = PROBLEMS[name](data, name)
    pairs = ((n, sample) for n in SIZES for sample in range(samples))
    return [row for pair in pairs for row in one_sample(name, scores, y, *pair)]


def one_sample(
    name: str, scores: Floats, y: Grades, n: int, sample: int
) -> list[dict[str, object]]:
    """Return a row for each method, fitted to a sample of n documents."""
    order = np.random.default_rng([n, sample]).permutation(y.size)
    some, test = order[:n], order[n : n + MOST_TESTED]
    grade, truth = (merged(y[part], y[some]) for part in (some, test))
    where = {"problem": name, "n": n, "sample": sample, "grades": int(grade.max()) + 1}
    known = scores[some], grade, scores[test]
    fitted = OrdinalCalibrator(**DRAWS).fit(*known[:2])
    reached = exceedances(fitted, *known)
    crossing = float((np.diff(reached, axis=1) > 0.0).any(axis=1).mean())
    p = {name: fit(*known) for name, fit in METHODS.items()}
    p |= {OURS: fitted.predict_proba(scores[test]), APART: of_exceedances(reached)}
    rows = [where | {"method": method} | losses(each, truth) for method, each in p.items()]
    return [row | ({"crossing": crossing} if row["method"] == APART else {}) for row in rows]


# Bands on simulated scores.

TRUTHS = {
    "proportional odds": lambda s: special.expit(2.0 * (s[:, None] - [0.0, 0.8, 1.6])),
    "a slope for each stage": lambda s: np.cumprod(
        special.expit([2.5, 1.5, 0.7] * (s[:, None] - [0.0, 0.3, 0.6])), axis=1
    ),
}
"""P(grade >= k | s) of scores from a standard normal."""
BAND_SIZES, BAND_SAMPLES = (50, 100, 200), 18


def one_band(truth: str, n: int, sample: int) -> list[dict[str, object]]:
    """Return for each grade k the share of 90 % bands that contain P(grade >= k | s), and width."""
    rng = np.random.default_rng([n, sample])
    s, new = rng.normal(size=n), rng.normal(size=200)
    y = (rng.random((n, 1)) < TRUTHS[truth](s)).sum(axis=1)
    fitted = OrdinalCalibrator(**DRAWS).fit(s, y)
    # The events of grades that the sample has.
    reached = TRUTHS[truth](new)[:, fitted.classes_[1:] - 1]
    lower, upper = np.moveaxis(fitted.predict_interval(new), -1, 0)
    held = ((lower <= reached) & (reached <= upper)).mean(axis=0)
    where = {"truth": truth, "n": n, "sample": sample}
    return [
        where | {"k": k, "coverage": share, "width": width}
        for k, share, width in zip(
            fitted.classes_[1:].tolist(), held, (upper - lower).mean(axis=0), strict=True
        )
    ]


def run(options: Options) -> None:
    """Measure all problems and simulated bands; write page and tables."""
    if options.data is None or not options.data.is_dir():
        raise ValueError(f"--data must be the folder of the public data, got {options.data}.")
    samples = options.size(SAMPLES, 2)
    tasks = [(options.data, name, samples) for name in PROBLEMS]
    found = [row for rows in spread_over(options.jobs, measure, tasks) for row in rows]
    write_table(pd.DataFrame(found), options.out, "grades")
    some = options.size(BAND_SAMPLES, 2)
    simulated = [(truth, n, k) for truth in TRUTHS for n in BAND_SIZES for k in range(some)]
    held = [row for rows in spread_over(options.jobs, one_band, simulated) for row in rows]
    write_table(pd.DataFrame(held), options.out, "grades_bands")
    write_report(options.out)


def write_report(out: Path) -> None:
    """Write the bars and the page from the tables."""
    write_bars(list(bars(out)), out, "grades")
    write_page("grades", out, page(out))


def differences(results: pd.DataFrame, loss: str) -> pd.DataFrame:
    """Return 100 log(loss of a method / ours): mean over problems and its standard error."""
    wide = results.pivot_table(loss, ["problem", "n", "sample"], "method")
    logs = 100.0 * np.log(wide.div(wide[OURS], axis="index")).drop(columns=OURS)
    of_problem = logs.groupby(["problem", "n"]).mean().stack().rename("mean").reset_index()
    grouped = of_problem.groupby(["method", "n"])["mean"]
    return pd.DataFrame({"mean": grouped.mean(), "error": grouped.sem()}).reset_index()


def coverage(held: pd.DataFrame) -> pd.DataFrame:
    """Return the mean coverage and width by truth and size, with standard errors over samples."""
    by_sample = held.groupby(["truth", "n", "sample"], sort=False)[["coverage", "width"]].mean()
    grouped = by_sample.groupby(["truth", "n"], sort=False)
    table = grouped.mean().assign(error=grouped["coverage"].sem())
    return table.reset_index()


def bars(out: Path) -> Iterator[Bar]:
    """Yield bars: no method is better by more than two standard errors; bands hold."""
    for _, row in differences(pd.read_csv(out / "grades.csv"), "rps").iterrows():
        claim = f"{row['n']} labels: RPS of {row['method']} against ours, 100 log ratio"
        limit = -2.0 * row["error"]
        holds = bool(row["mean"] >= limit)
        yield Bar(claim, with_error(row["mean"], row["error"], 1), f"≥ {limit:.1f}", holds)
    for _, row in coverage(pd.read_csv(out / "grades_bands.csv")).iterrows():
        claim = f"{row['n']} labels, {row['truth']}: coverage of 90 % bands"
        holds = bool(row["coverage"] + 2.0 * row["error"] >= 0.88)
        measured = with_error(row["coverage"], row["error"], 3)
        yield Bar(claim, measured, "≥ 0.88, two standard errors allowed", holds)


def page(folder: Path) -> str:
    """Return the page: losses against ours, crossings, and bands."""
    results = pd.read_csv(folder / "grades.csv")
    tables = {}
    for loss in ("rps", "log_loss"):
        found = differences(results, loss)
        text = found.assign(text=with_errors(found["mean"], found["error"], 1))
        tables[loss] = by_column(text, "text", ["method"], "n").replace("n+ = ", "n = ")
    apart = results[results["method"] == APART]
    crossing = 100.0 * apart.groupby("n")["crossing"].mean()
    simulated = pd.read_csv(folder / "grades_bands.csv")
    held = coverage(simulated)
    texts = with_errors(held["coverage"], held["error"], 3)
    shown = held.assign(text=[f"{t}, {w:.2f}" for t, w in zip(texts, held["width"], strict=True)])
    return fill(
        "grades",
        folder,
        **tables,
        crossing=", ".join(f"{share:.0f} % with {n} labels" for n, share in crossing.items()),
        bands=by_column(shown, "text", ["truth"], "n").replace("n+ = ", "n = "),
        samples=results["sample"].max() + 1,
        band_samples=simulated["sample"].max() + 1,
    )


if __name__ == "__main__":
    main("grades")
