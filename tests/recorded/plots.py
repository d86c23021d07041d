"""Displays: their numbers, and all that they draw."""

from functools import cache

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.path import Path
from matplotlib.text import Text
from sklearn.naive_bayes import GaussianNB

from bayescal import OrdinalCalibrator, ScoreCalibrator, TopicCalibrator, plots
from bayescal.monitoring import Audit, DriftMonitor, audit
from bayescal.ranking import RelevanceCalibrator
from tests.recorded.metrics import CLASSES, INCLUSION, LABELS, WEIGHT, P, Y

S, NAMES, TOPICS = np.round(P, 1) * 4.0 - 2.0, np.where(Y, "yes", "no"), np.arange(60) // 15
VECTORS = 5.0 * CLASSES
TEST, GRID = (S[:40], NAMES[:40]), {"grid": np.linspace(-3.0, 3.0, 9)}
INSIDE = {"grid": np.array([0.02, 0.3, 0.5, 0.9, 0.97])}
GETTERS = (
    *("alpha", "array", "color", "edgecolor", "facecolor", "fontsize", "hatch", "height", "label"),
    *("linestyle", "linewidth", "markersize", "markeredgewidth", "offsets", "path", "paths"),
    *("position", "rotation", "segments", "size_inches", "texts", "title", "width", "xdata", "xy"),
    *("xlabel", "xlim", "xscale", "xticklabels", "xticks", "ydata", "ylabel", "ylim", "zorder"),
    *("yscale", "yticklabels", "yticks"),
)


@cache
def _fit(**options):
    x = P if "scores_are" in options else S
    return ScoreCalibrator(**{"draws": 20, "random_state": 0} | options).fit(x, NAMES)


def _plain(value):
    if isinstance(value, list):
        return [_plain(each) for each in value]
    value = value.get_text() if isinstance(value, Text) else value
    if isinstance(value, str):
        return f"{value} {len(value)}"  # so that another text differs
    return value.vertices if isinstance(value, Path) else value


def _drawn(*displays):
    """Return displays' data, and the properties of all artists of their figures."""
    found = {}
    for k, display in enumerate(displays):
        figure = display.figure_
        parts = [figure, *figure.texts]
        parts += [each for ax in figure.axes for each in (ax, *ax.get_children())]
        got = [{name: getattr(each, f"get_{name}", None) for name in GETTERS} for each in parts]
        looks = [{name: _plain(get()) for name, get in each.items() if get} for each in got]
        found[f"{k} {type(display).__name__}"] = display.data.to_dict(), _plain(parts), looks
        plt.close(figure)
    return found


def _show(kind, /, *given, **options):
    source = {np.ndarray: "predictions", Audit: "audit"}.get(type(given[0]), "estimator")
    return getattr(getattr(plots, f"{kind}Display"), f"from_{source}")(*given, **options)


def curves():
    found, same = {}, ([0.5, 0.5, -1.0, -2.0, 0.0], ["yes", "yes", "no", "no", "no"])
    mle, sure = _fit(inference="mle"), _fit(scores_are="probabilities")
    for kind, bins in (("Probability", {}), ("LogOdds", {"bins": 4})):
        first = _show(kind, _fit(), **GRID, level=0.8, name="one")
        found |= _drawn(
            _show(kind, _fit(), *TEST, **GRID, **bins, pos_label="no", band="simultaneous"),
            _show(kind, mle, prior=0.3, mle=False),
            _show(kind, sure, **INSIDE),
            _show(kind, mle, grid=[-4.0, 1.0], ax=first.ax_, legend=False),
        )
    return found | _drawn(
        _show("ClassDensity", _fit(), **GRID, draws=3, level=0.8),
        _show("ClassDensity", _fit(parts="gaussian"), *same, **GRID, mle=False, histogram=False),
        _show("ClassDensity", mle, *same, **GRID),
        _show("ClassDensity", sure, **INSIDE, draws=99, random_state=1, bins=5),
        _show("Decision", _fit(), **GRID, level=0.8, prior=0.2),
        _show("Decision", mle, grid=[-2.0, 0.5, 1.0], cost_ratio=(0.1, 20.0)),
    )


def ratios():
    lr, item = np.round(0.7 * S + 0.1, 2), np.arange(60) // 6
    infinite = np.where(np.arange(60) % 9, lr, np.where(Y, np.inf, -np.inf))
    sources = {"sources": (item, np.where(Y, item, (item + 1 + np.arange(60) % 6) % 10))}
    first = _show("LikelihoodRatio", _fit(), **GRID, level=0.8)
    return _drawn(
        _show("LikelihoodRatio", _fit(), *TEST, **GRID),
        _show("LikelihoodRatio", _fit(draws=15), grid=[-1.0, 4.0], ax=first.ax_),
        *(_show("Tippett", Y, lr, kind=kind, **sources, level=0.8) for kind in (1, 2)),
        *(_show("Pav", Y, each) for each in (lr + 4.0, infinite)),
        _show("CrossEntropy", Y, lr, log10_prior_odds=[-2.0, 0.0, 0.5, 1.0]),
        *(_show("Consistency", Y, lr, bins=bins, **sources, level=0.8) for bins in (None, 3)),
    )


def monitoring():
    found = audit(Y, P, np.arange(60) % 3, threshold=0.2, level=0.8, draws=60, random_state=0)
    plain = audit(Y[:40], P[:40], draws=60, random_state=0, inclusion=INCLUSION[:40])
    monitor = DriftMonitor(_fit(), draws=9).update(np.tile(S, 2), np.tile(NAMES[::-1], 2))
    pooled = TopicCalibrator(parts="gaussian", draws=20, random_state=0).fit(S, Y, TOPICS)
    ranked = RelevanceCalibrator(pooled, random_state=0).fit(S, Y, TOPICS)
    asked = {"theta": "positive", "left": "negative", "prior": "negative"}
    return _drawn(
        *(_show(kind, found) for kind in ("CalibrationCurve", "NetBenefit", "Sites")),
        _show("NetBenefit", plain),
        _show("Sites", found, number="slope"),
        _show("Drift", monitor),
        _show("Ranking", ranked, S[:30], y=Y[:30], recall=0.6, probability=0.7, level=0.8),
        *(_show("TopicForest", pooled, parameter=k, klass=asked[k], level=0.8) for k in asked),
        _show("TopicForest", pooled, parameter="width", topics=[2, 0], legend=False),
    )


def reliability():
    kind, mean = "Reliability", 0.2 + 0.3 * P
    test, given = (S[:40], LABELS[:40]), (LABELS, CLASSES)
    graded = OrdinalCalibrator(draws=20, random_state=0).fit(S, LABELS)
    first = _show(kind, _fit(), *TEST, level=0.8, name="one")
    many = np.random.default_rng(0).dirichlet(np.ones(14), 40)
    return _drawn(
        _show(kind, _fit(inference="mle"), *TEST, prior=0.4, ax=first.ax_, band="confidence"),
        _show(kind, _fit(), S, NAMES, pos_label="no", sample_weight=WEIGHT, counts=False),
        _show(kind, Y, mean, method="uniform", n_bins=5, inclusion=INCLUSION, band=None),
        _show(kind, NAMES, P, pos_label="yes", method="quantile", n_bins=4),
        _show(kind, GaussianNB().fit(VECTORS, LABELS), VECTORS, LABELS, pos_label=2),
        _show(kind, GaussianNB().fit(VECTORS, NAMES), VECTORS, NAMES),
        _show("ClassReliability", *given, n_bins=4, level=0.8),
        _show("ClassReliability", graded, *test, n_bins=3, ax=plt.figure().subplots()),
        _show("Confusion", graded, *test),
        _show("Confusion", many.argmax(axis=1)[::-1], many, level=0.8),
        _show("PredictionSet", *given, coverages=[0.9, 0.5], level=0.8),
        _show("RiskCoverage", graded, *test, name="one", level=0.8),
    )
