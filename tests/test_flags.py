"""Arguments that are True or False are checked in one way, wherever they are."""

import inspect
from functools import cache
from importlib import import_module

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import bayescal
from bayescal import (
    NUTS,
    CalibratedClassifier,
    CombinedClassifier,
    Densities,
    MulticlassCalibrator,
    OnlineCombiner,
    ScoreCalibrator,
    TopicCalibrator,
    metrics,
    monitoring,
    plots,
    ranking,
    text,
)
from bayescal.combining.indicators import ReliabilityIndicators
from bayescal.combining.tasks import PooledCombiner
from bayescal.report import write_report

X, Y = make_classification(60, n_informative=4, random_state=3)
S, T = X[:, 0] + 2.0 * Y, np.repeat(["corn", "oil"], 30)
P = 1.0 / (1.0 + np.exp(-S))
BOTH = np.column_stack([1.0 - P, P])
PAIR = [("svm", LinearSVC()), ("naive_bayes", GaussianNB())]
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
    "MulticlassCalibrator": (
        lambda **flag: MulticlassCalibrator(**flag).fit(np.c_[S, -S], Y),
        ["exchangeable", "position_bias"],
    ),
    "CalibratedClassifier": (lambda **flag: CalibratedClassifier(**flag).fit(X, Y), ["ensemble"]),
    "CombinedClassifier": (
        lambda **flag: CombinedClassifier(PAIR, **flag).fit(X, Y),
        ["normalise", "allow_missing"],
    ),
    "OnlineCombiner": (
        lambda **flag: OnlineCombiner(**flag).fit(BOTH, Y),
        ["constant_experts", "allow_missing"],
    ),
    "PooledCombiner": (
        lambda **flag: PooledCombiner(**flag).fit(X[:, :2], Y, T),
        ["allow_missing"],
    ),
    "ReliabilityIndicators": (
        lambda **flag: ReliabilityIndicators(PAIR, **flag).fit(np.abs(X), Y),
        ["text", "prefit"],
    ),
    "linear_svm": (lambda **flag: text.linear_svm(**flag), ["normalise"]),
    "calibration_error": (
        lambda **flag: metrics.calibration_error(Y, P, norm="l2", **flag),
        ["debias"],
    ),
    "posterior_interval": (
        lambda **flag: metrics.posterior_interval(metrics.brier_score, Y, [P, P], **flag),
        ["resample"],
    ),
    "ProbabilityDisplay": (shown(plots.ProbabilityDisplay), ["mle", "ticks", "legend"]),
    "LogOddsDisplay": (shown(plots.LogOddsDisplay), ["mle", "legend"]),
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


def test_none_is_forgotten():
    """Every public callable that has a flag is among the cases."""
    modules = "metrics decisions monitoring text ranking plots report families combining.tasks"
    modules += " combining.online combining.indicators"
    names = ["bayescal", *(f"bayescal.{each}" for each in modules.split())]
    for module in map(import_module, names):
        for name in getattr(module, "__all__", None) or dir(module):
            each = getattr(module, name)
            if not callable(each) or name.startswith("_") or not hasattr(each, "__module__"):
                continue
            try:
                parameters = inspect.signature(each).parameters
            except (TypeError, ValueError):
                continue
            flags = [k for k, one in parameters.items() if isinstance(one.default, bool)]
            known = CASES.get(name, (None, []))[1]
            assert set(flags) <= set(known), (module.__name__, name, flags)
    assert bayescal.Densities is Densities
