"""False alarms, power and delay of drift monitors, and their alarms in later Reuters news.

python -m studies.drift [--quick]
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special

from bayescal import ScoreCalibrator
from bayescal.monitoring import Alarm, DriftMonitor
from bayescal.support.score_checks import ScoresWarning
from bayescal.support.validation import Floats
from bayescal.text.reuters_scores import CLASSIFIERS, TOPICS, load_reuters_scores
from studies.command import Options, main, spread_over
from studies.reporting import Bar, fill, markdown, with_error, write_bars, write_page, write_table
from studies.truths import TRUTHS, Truth

ALPHA = 0.05
SIZES, QUIET_LABELS = (50, 500), 500
# Slope and shift of the log-odds after a change.
SHIFTS = {
    "base rate, odds x 3": (1.0, np.log(3.0)),
    "base rate, odds / 3": (1.0, -np.log(3.0)),
    "slope x 1/3": (1.0 / 3.0, 0.0),
    "slope x 2": (2.0, 0.0),
}
QUIET, WATCHED, FITTED = (100, 1000), 600, 500
BATCH, FORGETTING = 500, 0.8
FOLLOWERS = {"updated": 1.0, "forgetting": FORGETTING}
# Truth and family of the calibrator; one family is that of its truth.
CALIBRATORS = (("asymmetric Laplace", "asymmetric_laplace"), *((truth, "auto") for truth in TRUTHS))
STREAMS, CHANGES = 40, 20
INTEGRATED, POINT = "posterior integrated", "point curve for certain"


class PointCurve:
    """A fitted calibrator that takes its point estimate as certain, which is wrong."""

    def __init__(self, fitted: ScoreCalibrator) -> None:
        self._fitted = fitted
        self.mle_, self.fitted_problems = fitted.mle_, fitted.fitted_problems

    def sample_proba(self, scores: Floats) -> Floats:
        """Return the point estimate as the only draw, shape (1, n)."""
        point: Floats = self._fitted.predict_proba(scores)[None, :, 1]
        return point


def draw(
    truth: Truth, n: int, rng: np.random.Generator, slope: float = 1.0, shift: float = 0.0
) -> tuple[Floats, np.ndarray]:
    """Return scores of a truth, and labels with unchanged or changed log-odds."""
    own = np.where(
        rng.random(n) < truth.prior,
        *(d.rvs(n, random_state=rng) for d in (truth.positive, truth.negative)),
    )
    base = special.logit(truth.prior)
    after = base + slope * (truth.log_odds(own) - base) + shift
    return own, (rng.random(n) < special.expit(after)).astype(int)


def fit(truth: Truth, n: int, rng: np.random.Generator, family: str = "auto") -> ScoreCalibrator:
    """Return a calibrator fitted to n documents of both classes."""
    while True:
        scores, labels = draw(truth, n, rng)
        if 1 < labels.sum() < n - 1:
            break
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoresWarning)
        return ScoreCalibrator(family, prior_knowledge="vague", random_state=0).fit(scores, labels)


def false_alarms(truth: str, family: str, n: int, seed: int) -> tuple[bool, bool]:
    """Return whether a stream without change raised an alarm, by posterior and by point."""
    rng = np.random.default_rng([seed, n])
    fitted = fit(TRUTHS[truth], n, rng, family)
    stream = draw(TRUTHS[truth], QUIET_LABELS, rng)
    monitors = DriftMonitor(fitted, ALPHA), DriftMonitor(PointCurve(fitted), ALPHA)
    results = [monitor.update(*stream).alarm_ is not None for monitor in monitors]
    return results[0], results[1]


def delay(change: str, quiet: int, seed: int) -> tuple[float, bool, float]:
    """Return the delay in documents, whether the kind is right, and the error of `since`."""
    rng, truth = np.random.default_rng([seed, quiet]), TRUTHS["Gaussian, equal variances"]
    monitor = DriftMonitor(fit(truth, FITTED, rng, "gaussian"), ALPHA)
    monitor.update(*draw(truth, quiet, rng))
    if monitor.alarm_ is not None:
        return np.nan, False, np.nan
    alarm = monitor.update(*draw(truth, WATCHED, rng, *SHIFTS[change])).alarm_
    if alarm is None:
        return np.inf, False, np.nan
    return alarm.document - quiet, change.startswith(alarm.change), alarm.since - quiet - 1


def reuters(classifier: str, topic: str) -> dict[str, object]:
    """Return the alarm in later news, and their log-loss with and without updates."""
    old, new = (load_reuters_scores(classifier, topic, split) for split in ("calibration", "test"))
    new = new.sort_values("document")  # numbered in the order of time
    scores, labels = new["score"].to_numpy(), new["label"].to_numpy()
    fitted = ScoreCalibrator(prior_knowledge="vague", random_state=0).fit(
        old["score"], old["label"]
    )
    monitor = DriftMonitor(fitted, ALPHA).update(scores, labels)
    bits = {"as deployed": _bits(fitted.decision_function(scores), labels)}
    for name, forgetting in FOLLOWERS.items():
        follower = ScoreCalibrator(prior_knowledge="vague", random_state=0).fit(
            old["score"], old["label"]
        )
        said = []
        for k in range(0, labels.size, BATCH):
            part = slice(k, k + BATCH)
            said.append(follower.decision_function(scores[part]))
            follower.update(scores[part], labels[part], forgetting=forgetting)
        bits[name] = _bits(np.concatenate(said), labels)
    row = {"classifier": classifier, "topic": topic, "any": monitor.bayes_factors_["any"]}
    return row | _told(monitor.alarm_) | _compared(bits)


def _bits(log_odds: Floats, labels: np.ndarray) -> Floats:
    bits: Floats = np.logaddexp(0.0, np.where(labels == 1, -log_odds, log_odds)) / np.log(2.0)
    return bits


def _told(alarm: Alarm | None) -> dict[str, object]:
    if alarm is None:
        return dict.fromkeys(("change", "alarm at", "since", "slope", "shift"), "")
    return {
        "change": alarm.change,
        "alarm at": alarm.document,
        "since": with_error(alarm.since, alarm.since_sd, 0),
        "slope": f"{alarm.slope:.2f}",
        "shift": f"{alarm.shift:+.2f}",
    }


def _compared(bits: dict[str, Floats]) -> dict[str, object]:
    """Return total bits as deployed, and the differences of updates with standard errors."""
    deployed = bits["as deployed"]
    out: dict[str, object] = {"as deployed": f"{deployed.sum():.0f}"}
    for name in FOLLOWERS:
        apart = bits[name] - deployed
        out[name] = with_error(apart.sum(), apart.std() * np.sqrt(apart.size), 1)
        out[f"{name} bits"] = float(apart.sum())
    return out


def run(options: Options) -> None:
    """Measure; write page and tables."""
    alarms, bars = _false_alarms(options)
    results, more = _power(options)
    news = _news(options)
    for name, table in (("drift", alarms), ("drift_power", results), ("drift_reuters", news)):
        write_table(table, options.out, name)
    write_bars([*bars, *more], options.out, "drift")
    write_page("drift", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: shares of streams without a change that raised an alarm."""
    news = pd.read_csv(folder / "drift_reuters.csv")
    return fill("drift", folder, table=markdown(pd.read_csv(folder / "drift.csv")), **_gains(news))


def _news(options: Options) -> pd.DataFrame:
    problems = [(c, t) for c in CLASSIFIERS for t in (TOPICS[-1:] if options.quick else TOPICS)]
    return pd.DataFrame(spread_over(options.jobs, reuters, problems))


def _gains(news: pd.DataFrame) -> dict[str, str]:
    """Return the number of problems with an alarm, and the gains of updates with and without."""
    raised = news["change"].notna()
    out = {"raised": str(int(raised.sum())), "problems": str(len(news))}
    for where, mask in (("alarm", raised), ("quiet", ~raised)):
        for name in FOLLOWERS:
            out[f"{where}_{name}"] = f"{-news.loc[mask, f'{name} bits'].sum():.0f}"
    return out


def _false_alarms(options: Options) -> tuple[pd.DataFrame, list[Bar]]:
    cells = [(*each, n) for each in CALIBRATORS for n in SIZES]
    seeds = range(options.size(STREAMS, 2))
    tasks = [(*cell, seed) for cell in cells for seed in seeds]
    results = np.reshape(spread_over(options.jobs, false_alarms, tasks), (len(cells), -1, 2))
    rows, bars = [], []
    for (truth, family, n), each in zip(cells, results, strict=True):
        share = each.mean(axis=0)
        error = np.sqrt(share * (1.0 - share) / len(each))
        texts = [with_error(*pair, 3) for pair in zip(share, error, strict=True)]
        rows.append((truth, family, n, *texts))
        claim = f"{truth}, family {family!r}, n = {n}: false alarms"
        limit = ALPHA + 2.0 * np.sqrt(ALPHA * (1.0 - ALPHA) / len(each))
        bars.append(
            Bar(claim, texts[0], f"<= {ALPHA}, two errors allowed", bool(share[0] <= limit))
        )
    smallest = results[[n == SIZES[0] for _, _, n in cells], :, 1].mean()
    claim = f"negative: a point curve, n = {SIZES[0]}, is found fault with too often"
    bars.append(Bar(claim, f"{smallest:.3f}", f"> {2 * ALPHA}", bool(smallest > 2 * ALPHA)))
    columns = ["truth", "family", "n", INTEGRATED, POINT]
    return pd.DataFrame(rows, columns=columns), bars


def _power(options: Options) -> tuple[pd.DataFrame, list[Bar]]:
    cells = [(change, quiet) for change in SHIFTS for quiet in QUIET]
    seeds = range(options.size(CHANGES, 2))
    tasks = [(*cell, seed) for cell in cells for seed in seeds]
    results = np.reshape(spread_over(options.jobs, delay, tasks), (len(cells), -1, 3))
    rows, bars = [], []
    for (change, quiet), each in zip(cells, results, strict=True):
        own = each[~np.isnan(each[:, 0])]
        seen = np.isfinite(own[:, 0])
        share, right = seen.mean(), own[seen, 1].mean()
        error, of_right = (
            np.sqrt(p * (1.0 - p) / k) for p, k in ((share, len(own)), (right, seen.sum()))
        )
        middle = np.quantile(own[:, 0], (0.25, 0.5, 0.75), method="inverted_cdf")
        rows.append(
            (
                change,
                quiet,
                with_error(share, error, 2),
                "{1:.0f} ({0:.0f} to {2:.0f})".format(*middle),
                with_error(right, of_right, 2),
                with_error(own[seen, 2].mean(), own[seen, 2].std() / np.sqrt(seen.sum()), 0),
            )
        )
        claim = f"{change} after {quiet} documents: found within {WATCHED}"
        bars.append(Bar(claim, with_error(share, error, 2), ">= 0.9", bool(share >= 0.9)))
    columns = ["change", "quiet before", "found", "delay (quartiles)", "kind right", "since, error"]
    return pd.DataFrame(rows, columns=columns), bars


if __name__ == "__main__":
    main("drift")
