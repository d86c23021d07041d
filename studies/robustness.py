"""Robustness: distance from the true P(+|s) and coverage, shapes of scores by number of positives.

python -m studies.robustness [--quick]
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from bayescal import ScoreCalibrator
from bayescal.bayes import probability
from bayescal.parallel import spread_over
from bayescal.score_checks import without_scores_warnings
from bayescal.validation import Floats
from studies.command import Options, main
from studies.peers import ON_LOG_ODDS, PEERS, Labels, Method, Settings
from studies.robustness_report import PROBABILITIES, TOLD_NAME, write_report
from studies.shapes import SHAPES, with_positives
from studies.synthetic import divergence

LEVEL = 0.9
# Of each class; both count by their prior, so that rare positives are seen as well. Each is the
# middle of so many draws in order: stratified, few scores do the work of many.
NEW_SCORES, STRATUM = 250, 21
# Positives, and data sets of each shape: all methods but the parts on all of them.
REPEATS = {3: 64, 5: 64, 10: 64, 20: 48, 50: 48, 100: 48, 1000: 24}
QUICK_REPEATS = {3: 2, 20: 2}
# Bayesian logistic regression is among ours here.
OTHERS = {name: method for name, method in PEERS.items() if name != "Bayes logistic"}
FEWER_DRAWS = {"draws": 250}
DEFAULT: dict[str, Settings] = {
    "default": FEWER_DRAWS,
    "vague": {"prior_knowledge": "vague"} | FEWER_DRAWS,
}
# And so does the default where it is told what beta calibration takes for granted.
TOLD: dict[str, Settings] = {TOLD_NAME: {"scores_are": "probabilities"} | FEWER_DRAWS}
PARTS: dict[str, Settings] = {
    "A.Laplace": {"family": "asymmetric_laplace"} | FEWER_DRAWS,
    "A.Laplace, mean": {"family": "asymmetric_laplace", "point": "mean"} | FEWER_DRAWS,
    "A.Laplace, median": {"family": "asymmetric_laplace", "point": "median"} | FEWER_DRAWS,
    "A.Laplace, warped": {"family": "asymmetric_laplace", "warp": "average"} | FEWER_DRAWS,
    "average, stacked": {"family": "average"} | FEWER_DRAWS,
    "average, evidence": {"family": "average", "averaging": "evidence"} | FEWER_DRAWS,
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
    found = [row for rows in spread_over(options.jobs, measure, tasks) for row in rows]
    write_report(pd.DataFrame(found), options.out)


def repeats_of_parts(sets: int) -> int:
    """Return to how many of the data sets the parts are fitted too: a quarter."""
    return -(-sets // 4)


def stratified(distribution: Any, rng: np.random.Generator) -> Floats:
    """Return NEW_SCORES scores spread over the distribution, in order."""
    drawn = distribution.rvs(NEW_SCORES * STRATUM, random_state=rng)
    return np.asarray(np.sort(drawn)[STRATUM // 2 :: STRATUM])


def measure(shape: str, n_positive: int, repeat: int, settings: dict[str, Settings]) -> list[Row]:
    """
    Return one row a method: mean divergence, coverage and width of the band, CPU seconds.

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
    for name, each in (settings | (TOLD if shape == PROBABILITIES else {})).items():
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
    """Return log-odds and CPU seconds, which other processes do not stretch."""
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
