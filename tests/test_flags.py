"""Flags of displays, reports and NUTS; test_recorded.py tries those of other functions."""

import inspect
from functools import cache

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import make_classification

from bayescal import NUTS, ScoreCalibrator, TopicCalibrator, metrics, monitoring, plots, ranking
from bayescal.report import write_report

X, Y = make_classification(60, n_informative=4, random_state=3)
S, T = X[:, 0] + 2.0 * Y, np.repeat(["corn", "oil"], 30)
P = 1.0 / (1.0 + np.exp(-S))
QUICK = ScoreCalibrator("gaussian", draws=20, chains=1, random_state=0).fit(S, Y)
TOPICS = TopicCalibrator("none", "gaussian", draws=20, chains=1, random_state=0).fit(S, Y, T)


def shown(display, estimator=None):
    """Return a function that draws with a flag."""
    return lambda **flag: display.from_estimator(
        QUICK if estimator is None else estimator, ax=Figure().subplots(), **flag
    )


def of_scores(display):
    return lambda **flag: display.from_estimator(QUICK, S, Y, ax=Figure().subplots(), **flag)


def drift(**flag):
    monitor = monitoring.DriftMonitor(QUICK, draws=5).update(S, Y)
    return plots.DriftDisplay.from_estimator(monitor, ax=Figure().subplots(), **flag)


@cache
def relevance():
    quick = TopicCalibrator(parts="gaussian", draws=20, chains=1, random_state=0)
    return ranking.RelevanceCalibrator(quick, random_state=0).fit(S, Y, np.repeat([1, 2], 30))


def ranked(**flag):
    return plots.RankingDisplay.from_estimator(relevance(), S[:9], ax=Figure().subplots(), **flag)


@cache
def audit():
    return monitoring.audit(Y, P, Y, draws=20, random_state=0)


def audited(display):
    return lambda **flag: display.from_audit(audit(), ax=Figure().subplots(), **flag)


CASES = {
    "NUTS": (lambda **flag: ScoreCalibrator(inference=NUTS(**flag)).fit(S, Y), ["progressbar"]),
    "NUTS of topics": (
        lambda **flag: TopicCalibrator(inference=NUTS(**flag)).fit(S, Y, T),
        ["progressbar"],
    ),
    "ProbabilityDisplay": (shown(plots.ProbabilityDisplay), ["mle", "ticks", "legend"]),
    "LogOddsDisplay": (shown(plots.LogOddsDisplay), ["mle", "legend"]),
    "LikelihoodRatioDisplay": (
        shown(plots.LikelihoodRatioDisplay, ScoreCalibrator(draws=20, random_state=0).fit(S, Y)),
        ["bounds", "ticks"],
    ),
    "ClassDensityDisplay": (shown(plots.ClassDensityDisplay), ["mle", "histogram", "legend"]),
    "ReliabilityDisplay": (of_scores(plots.ReliabilityDisplay), ["counts", "legend"]),
    "TopicForestDisplay": (shown(plots.TopicForestDisplay, TOPICS), ["legend"]),
    "DecisionDisplay": (shown(plots.DecisionDisplay), ["legend"]),
    "DriftDisplay": (drift, ["legend"]),
    "RankingDisplay": (ranked, ["legend"]),
    "CalibrationCurveDisplay": (audited(plots.CalibrationCurveDisplay), ["legend"]),
    "NetBenefitDisplay": (audited(plots.NetBenefitDisplay), ["legend"]),
    "SitesDisplay": (audited(plots.SitesDisplay), ["legend"]),
    "write_report": (
        lambda **flag: write_report(QUICK, "report.html", **flag),
        ["likelihood_ratio"],
    ),
}


@pytest.mark.parametrize(
    ("name", "flag"), [(k, flag) for k, (_, own) in CASES.items() for flag in own]
)
def test_is_true_or_false(name, flag):
    for wrong in ("yes", "no", "False", 1, None):
        with pytest.raises(
            ValueError, match=rf"{flag} must be True(, | or )False.*, got {wrong!r}"
        ):
            CASES[name][0](**{flag: wrong})


@pytest.mark.parametrize("flag", [np.True_, np.False_, True, False])
def test_numpys_own_are_fine(flag):
    assert metrics.calibration_error(Y, P, norm="l2", debias=flag) >= 0.0


def test_no_flag_of_a_display_is_forgotten():
    for name in plots.__all__:
        drawing = getattr(getattr(plots, name), "_draw", None)
        parameters = inspect.signature(drawing).parameters.values() if drawing else ()
        flags = {each.name for each in parameters if isinstance(each.default, bool)}
        assert flags <= set(CASES.get(name, ("", []))[1]), (name, flags)
