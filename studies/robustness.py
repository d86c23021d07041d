"""Robustness: distance from the true P(+|s) and coverage, shapes of scores by number of positives.

python -m studies.robustness [--quick]
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import special

from bayescal import Densities, ScoreCalibrator
from bayescal.support.intervals import percent
from bayescal.support.numerics import probability
from bayescal.support.score_checks import without_scores_warnings
from bayescal.support.validation import Floats
from studies.command import Options, main, spread_over
from studies.papers.sigir2003.figures import lines
from studies.peers import ON_LOG_ODDS, PEERS, Labels, Method, Settings
from studies.reporting import (
    Bar,
    fill,
    markdown,
    with_error,
    write_bars,
    write_figure,
    write_page,
    write_table,
)
from studies.synthetic import divergence
from studies.truths import DESCRIPTIONS, GAUSSIAN, SHAPES, with_positives

CELL = ["shape", "n"]
SHOWN = ["default", "Platt", "isotonic", "beta", "Venn-Abers"]
# The allowed excess over Platt: share of its divergence, standard errors, thousandths of a nat.
SHARE, ERRORS, SLACK = 0.05, 2.0, 2.0
COVERAGE = (0.80, 0.99)
# Methods that need many positives.
DATA_HUNGRY = ("isotonic", "beta")
# The shape whose scores are probabilities, and the default that knows it, as beta does.
PROBABILITIES, DECLARED_NAME = "probabilities", "default, told"


def write_report(results: pd.DataFrame, out: Path) -> None:
    """Write robustness.md, a table in CSV and a figure.

    Parameters
    ----------
    results : pandas.DataFrame
        Columns shape, n (positives), repeat, method, kl (thousandths of a nat), coverage, width,
        seconds: what `studies.robustness.measure` returns.
    out : Path
        The folder to write to.
    """
    table = summarise(results)
    write_table(table, out, "robustness")
    write_figure(_figure(table), out, "robustness")
    write_table(against_vague(results), out, "robustness_vague")
    write_bars(bars(results), out, "robustness")
    write_page("robustness", out, page(out))


def page(folder: Path) -> str:
    """Return the page: shapes, the default's excess over Platt, and coverage of its bands."""
    table = pd.read_csv(folder / "robustness.csv")
    vague = pd.read_csv(folder / "robustness_vague.csv")
    default = table[table["method"] == "default"]
    rows = [_of_shape(str(shape), part) for shape, part in default.groupby("shape", sort=False)]
    counts = default.groupby("n", sort=False)["sets"].first()
    return fill(
        "robustness",
        folder,
        table=markdown(pd.DataFrame(rows)),
        vague=", ".join(
            f"{with_error(row['change %'], row['error %'], 1)} % with {row['n']:.0f}"
            for row in vague.to_dict("records")
        ),
        sets=", ".join(f"{sets} with n+ = {n}" for n, sets in counts.items()),
        without_slack=(default["difference"] > allowance(default, slack=0.0)).sum(),
        with_slack=(default["difference"] > allowance(default)).sum(),
        cells=len(default),
    )


def _of_shape(shape: str, default: pd.DataFrame) -> dict[str, str]:
    excess = default["difference"] - allowance(default)
    worst, covered = default.loc[excess.idxmax()], default.set_index("n")["coverage"]
    return {
        "shape": shape,
        **dict(zip(("negatives", "positives"), DESCRIPTIONS[shape], strict=True)),
        "P(+)": f"{SHAPES[shape].prior:.3g}",
        "KL, default - Platt": with_error(worst["difference"], worst["difference error"], 1),
        "at n+": f"{worst['n']}",
        "least coverage": f"{covered.min():.2f} (n+ = {covered.idxmin()})",
        "greatest": f"{covered.max():.2f} (n+ = {covered.idxmax()})",
    }


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row a shape, number of positives and method.

    Divergence and its standard error; `versus` Platt; coverage and its error; width; median
    seconds; sets.
    """
    grouped = results.groupby([*CELL, "method"], sort=False)
    measures = grouped[["kl", "coverage"]]
    out = measures.mean().join(measures.sem().add_suffix(" error"))
    out = out.join(versus(results, "Platt")).join(grouped["width"].mean())
    return out.assign(seconds=grouped["seconds"].median(), sets=grouped.size()).reset_index()


def versus(results: pd.DataFrame, peer: str) -> pd.DataFrame:
    """Return by shape, n and method: the difference of divergence to a peer's, and its error.

    Taken data set by data set; the column `peer` is the peer's mean over the same data sets.
    """
    key = [*CELL, "repeat"]
    theirs = results[results["method"] == peer].set_index(key)["kl"].rename("peer")
    rows = results.join(theirs, on=key)
    rows["difference"] = rows["kl"] - rows["peer"]
    grouped = rows.groupby([*CELL, "method"], sort=False)
    errors = grouped["difference"].sem().rename("difference error")
    return grouped[["peer", "difference"]].mean().join(errors)


def against_vague(results: pd.DataFrame) -> pd.DataFrame:
    """Return the excess of the default's divergence over that with vague priors, in per cent by n.

    The mean over shapes of log(mean divergence / mean divergence with vague priors), and its
    standard error by the delta method, data set by data set.
    """
    both = results[results["method"].isin(["default", "vague"])]
    each = both.pivot(index=[*CELL, "repeat"], columns="method", values="kl")
    cells = each.groupby(CELL, sort=False)
    mean, relative = cells.mean(), each / cells.transform("mean")
    change = np.log(mean["default"] / mean["vague"])
    error = (relative["default"] - relative["vague"]).groupby(CELL, sort=False).sem()
    table = 100.0 * pd.DataFrame({"change %": change, "error %": error})
    by_size = table.groupby("n", sort=False)
    shapes = by_size.size()
    out = pd.DataFrame(
        {
            "change %": by_size["change %"].mean(),
            "error %": by_size["error %"].agg(np.linalg.norm) / shapes,
        }
    )
    return out.reset_index()


def allowance(rows: pd.DataFrame, slack: float = SLACK) -> pd.Series[float]:
    """Return the allowed excess of each row of `versus`, in thousandths of a nat."""
    limits = [SHARE * rows["peer"], ERRORS * rows["difference error"]]
    return pd.concat(limits, axis=1).max(axis=1).clip(lower=slack)


def bars(results: pd.DataFrame) -> list[Bar]:
    """Return bars: against Platt, against isotonic and beta with most positives, and coverage."""
    table = summarise(results)
    default = table[table["method"] == "default"]
    parts = dict(iter(default.groupby("shape", sort=False)))
    out = [_against_platt(str(shape), part) for shape, part in parts.items()]
    for peer in DATA_HUNGRY:
        excess = versus(results, peer).reset_index()
        declared = (excess["shape"] == PROBABILITIES) & (peer == "beta")
        ours = excess["method"] == np.where(declared, DECLARED_NAME, "default")
        most = excess["n"] == excess["n"].max()
        last = excess[ours & most & ~excess["shape"].isin(GAUSSIAN)]
        out += [_at_most(peer, row) for row in last.to_dict("records")]
    for shape, part in parts.items():
        out += _coverage(str(shape), part)
    return out


def _against_platt(shape: str, default: pd.DataFrame) -> Bar:
    rows = default.assign(allowed=allowance(default))
    over = (rows["difference"] - rows["allowed"]).to_numpy()
    worst = rows.to_dict("records")[over.argmax()]
    return Bar(
        claim=f"{shape}: default minus Platt, worst size (n+ = {worst['n']})",
        measured=f"{with_error(worst['difference'], worst['difference error'], 1)}"
        f" ({(over > 0).sum()} of {over.size} sizes over)",
        limit=f"≤ {worst['allowed']:.1f}",
        holds=not (over > 0).any(),
    )


def _at_most(peer: str, row: dict[Hashable, Any]) -> Bar:
    limit = ERRORS * row["difference error"]
    return Bar(
        claim=f"{row['shape']}: {row['method']} minus {peer}, n+ = {row['n']}",
        measured=f"{with_error(row['difference'], row['difference error'], 2)}"
        f" ({peer} {row['peer']:.2f})",
        limit=f"≤ {limit:.2f}, two errors",
        holds=row["difference"] <= limit,
    )


def _coverage(shape: str, default: pd.DataFrame) -> list[Bar]:
    least, most = COVERAGE
    limit = f"{percent(least, 0)} to {percent(most, 0)}"
    each, error = default["coverage"].to_numpy(), default["coverage error"].to_numpy()
    outside = (each < least) | (each > most)
    worst = np.abs(each - np.mean(COVERAGE)).argmax()
    return [
        Bar(
            claim=f"{shape}: 90 % band, mean over sizes",
            measured=with_error(each.mean(), float(np.linalg.norm(error)) / each.size, 3),
            limit=limit,
            holds=bool(least <= each.mean() <= most),
        ),
        Bar(
            claim=f"{shape}: 90 % band, worst size (n+ = {default['n'].to_numpy()[worst]})",
            measured=f"{with_error(each[worst], error[worst], 3)}"
            f" ({outside.sum()} of {each.size} sizes outside)",
            limit=limit,
            holds=not outside.any(),
        ),
    ]


def _figure(table: pd.DataFrame) -> Figure:
    rows = table[table["method"].isin(SHOWN)].rename(columns={"kl": "mean", "kl error": "error"})
    # The first method gets the first colour.
    rows = rows.sort_values("method", key=lambda names: names.map(SHOWN.index), kind="stable")
    labels = ("positives", "mean KL (0.001 nats)")
    return lines(rows, "n", "method", "shape", labels, columns=4, log=True)


LEVEL = 0.9
# New scores of each class, weighted by the prior. Each is the middle one of STRATUM sorted draws.
NEW_SCORES, STRATUM = 250, 21
# Data sets of each shape by number of positives, for all methods but the parts.
REPEATS = {3: 64, 5: 64, 10: 64, 20: 48, 50: 48, 100: 48, 1000: 24}
QUICK_REPEATS = {3: 2, 20: 2}
# Bayesian logistic regression is among ours here.
OTHERS = {name: method for name, method in PEERS.items() if name != "Bayes logistic"}
FEWER_DRAWS = {"draws": 250}
DEFAULT: dict[str, Settings] = {
    "default": FEWER_DRAWS,
    "vague": {"prior_knowledge": "vague"} | FEWER_DRAWS,
}
# The default with the scale of scores declared, as beta calibration assumes it.
DECLARED: dict[str, Settings] = {DECLARED_NAME: {"scores_are": "probabilities"} | FEWER_DRAWS}
PARTS: dict[str, Settings] = {
    "A.Laplace": {"parts": "asymmetric_laplace"} | FEWER_DRAWS,
    "A.Laplace, mean": {"parts": "asymmetric_laplace", "point": "mean"} | FEWER_DRAWS,
    "A.Laplace, median": {"parts": "asymmetric_laplace", "point": "median"} | FEWER_DRAWS,
    "A.Laplace, warped": {"parts": Densities("asymmetric_laplace", warp="average")} | FEWER_DRAWS,
    "average, stacked": {"parts": "average"} | FEWER_DRAWS,
    "average, evidence": {"parts": Densities("average", averaging="evidence")} | FEWER_DRAWS,
    "monotone": {"parts": "monotone"} | FEWER_DRAWS,
    "logistic": {"parts": "logistic"} | FEWER_DRAWS,
    "recalibrated": {"parts": "recalibrated"} | FEWER_DRAWS,
}
Row = dict[str, Any]


def run(options: Options) -> None:
    """Measure all methods on all shapes; write page, table and figure."""
    repeats = QUICK_REPEATS if options.quick else REPEATS
    tasks = [
        (shape, n, repeat, DEFAULT | PARTS if repeat < repeats_of_parts(sets) else DEFAULT)
        for n, sets in repeats.items()
        for shape in list(SHAPES)[:: 2 if options.quick else 1]
        for repeat in range(sets)
    ]
    results = [row for rows in spread_over(options.jobs, measure, tasks) for row in rows]
    write_report(pd.DataFrame(results), options.out)


def repeats_of_parts(sets: int) -> int:
    """Return the number of data sets for the parts: a quarter."""
    return -(-sets // 4)


def stratified(distribution: Any, rng: np.random.Generator) -> Floats:
    """Return NEW_SCORES scores spread over the distribution, in order."""
    drawn = distribution.rvs(NEW_SCORES * STRATUM, random_state=rng)
    return np.asarray(np.sort(drawn)[STRATUM // 2 :: STRATUM])


def measure(shape: str, n_positive: int, repeat: int, settings: dict[str, Settings]) -> list[Row]:
    """Return one row a method: mean divergence, coverage and width of the band, CPU seconds.

    The divergence is in thousandths of a nat; coverage and width are ours only.

    Parameters
    ----------
    shape : str
        A name of SHAPES.
    n_positive : int
        Positives of the data set, negatives in proportion.
    repeat : int
        Which data set.
    settings : dict of str to dict
        Of ScoreCalibrator, by the name of the method.
    """
    rng = np.random.default_rng((list(SHAPES).index(shape), n_positive, repeat))
    truth, n = with_positives(SHAPES[shape], n_positive)
    score, positive = truth.draw(n, rng)
    labels = positive.astype(np.int64)
    new = np.concatenate([stratified(each, rng) for each in (truth.negative, truth.positive)])
    true, shares = truth.log_odds(new), (1.0 - truth.prior, truth.prior)
    rows = []
    for name, method in OTHERS.items():
        change = special.logit if shape == PROBABILITIES and name in ON_LOG_ODDS else np.asarray
        estimate, seconds = _timed(method, change(score), labels, change(new))
        rows.append({"method": name, "kl": _divergence(true, estimate, shares), "seconds": seconds})
    for name, each in (settings | (DECLARED if shape == PROBABILITIES else {})).items():
        fitted = ScoreCalibrator(random_state=0, **each)
        estimate, seconds = _timed(_predictions(fitted), score, labels, new)
        band = _band(fitted.predict_interval(new, LEVEL), probability(true), shares)
        kl = _divergence(true, estimate, shares)
        rows.append({"method": name, "kl": kl, "seconds": seconds} | band)
    return [{"shape": shape, "n": n_positive, "repeat": repeat} | row for row in rows]


def _predictions(calibrator: ScoreCalibrator) -> Method:
    def log_odds(scores: Floats, labels: Labels, new: Floats) -> Floats:
        with without_scores_warnings():
            calibrator.fit(scores, labels)
        return np.asarray(calibrator.decision_function(new))

    return log_odds


def _timed(method: Method, *arguments: Any) -> tuple[Floats, float]:
    """Return log-odds and CPU seconds."""
    start = time.process_time()
    return method(*arguments), time.process_time() - start


def _divergence(true: Floats, estimate: Floats, shares: tuple[float, float]) -> float:
    """Return the mean divergence in thousandths of a nat, each class's scores by its share."""
    halves = zip(np.split(true, 2), np.split(estimate, 2), strict=True)
    return 1000.0 * float(np.dot(shares, [divergence(*half) for half in halves]))


def _band(band: Floats, true: Floats, shares: tuple[float, float]) -> Row:
    """Return coverage and mean width over all scores, those of each class by its share."""
    low, high = band.T
    measures = {"coverage": (low <= true) & (true <= high), "width": high - low}
    return {
        name: float(np.dot(shares, each.reshape(2, -1).mean(axis=1)))
        for name, each in measures.items()
    }


if __name__ == "__main__":
    main("robustness")
