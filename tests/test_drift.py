"""Drift: the Bayes factor is the one of its formula, a martingale, and finds what changed."""

import pickle
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import special, stats
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

from bayescal import CalibratedClassifier, ScoreCalibrator, TopicCalibrator
from bayescal.monitoring import CHANGES, Change, DriftMonitor
from bayescal.monitoring.drift import LATEST, remember
from bayescal.monitoring.running_evidence import not_yet
from bayescal.plots import DriftDisplay
from bayescal.text import TextCalibrator, UnknownWordsWarning
from studies.drift import PointCurve
from tests.drift_tools import KnownCurves, alarmed, stream
from tests.sizes import size

CURVES = KnownCurves(lambda s: 2.0 * s - 1.0, lambda s: 0.5 * s, lambda s: s + 0.3, base=0.3)
FEW = {
    "moved": Change(np.ones(1), np.array([-0.7, 0.4]), np.array([[0.25, 0.75]])),
    "turned": Change(
        np.array([0.5, 3.0]), np.array([0.0, 1.0]), np.array([[0.4, 0.1], [0.2, 0.3]])
    ),
}
QUICK = ScoreCalibrator("gaussian", draws=50, random_state=0)
SCORES = np.array([0.3, -1.2, 2.0, 0.1, -0.4])


def densities(labels):
    """Return p(labels as before) and, by change, the terms (first changed, slope, shift)."""
    beta = np.log(0.3 / 0.7)
    sign = 2 * np.asarray(labels) - 1
    before, changed = 0.0, {name: {} for name in FEW}
    n = len(sign)
    for curve in CURVES.curves:
        f = curve(SCORES[:n])
        before += np.prod(1 / (1 + np.exp(-sign * f))) / 3
        for name, change in FEW.items():
            for first in range(1, n + 2):  # n + 1: not yet
                survival = 1 / (1 + np.log(first)), 1 / (1 + np.log(first + 1))
                rho = survival[0] if first == n + 1 else survival[0] - survival[1]
                for (i, a), (j, b) in product(enumerate(change.slope), enumerate(change.shift)):
                    after = beta + a * (f - beta) + b
                    g = np.where(np.arange(1, n + 1) >= first, after, f)
                    term = rho * change.prior[i, j] * np.prod(1 / (1 + np.exp(-sign * g))) / 3
                    key = first, a, b
                    changed[name][key] = changed[name].get(key, 0.0) + term
    return before, changed


@pytest.mark.parametrize("labels", [(1, 0, 1, 1, 1), (0, 0, 0, 0, 1), (1, 1, 0, 1, 1)])
def test_bayes_factors_are_sums_over_all_that_may_have_happened(labels):
    monitor = DriftMonitor(CURVES, changes=FEW).update(SCORES, labels)
    for n in range(1, 6):
        before, changed = densities(labels[:n])
        row = monitor.log_bayes_factors_.loc[n]
        expected = {name: sum(terms.values()) / before for name, terms in changed.items()}
        expected["any"] = np.mean(list(expected.values()))
        assert np.exp(row[list(expected)]).tolist() == pytest.approx(list(expected.values()))
    assert monitor.bayes_factors_ == pytest.approx(expected)


def test_since_and_size_are_posterior_means():
    labels = (1, 1, 0, 1, 1)
    # So large an alpha that there is an alarm at the first Bayes factor above 1.1.
    monitor = DriftMonitor(CURVES, 0.9, changes=FEW).update(SCORES, labels)
    _, changed = densities(labels)
    alarm = monitor.alarm_
    own = {key: p for key, p in changed[alarm.change].items() if key[0] <= len(labels)}
    total = sum(own.values())
    mean = [sum(key[k] * p for key, p in own.items()) / total for k in range(3)]
    variance = sum((key[0] - mean[0]) ** 2 * p for key, p in own.items()) / total
    assert (alarm.since, alarm.slope, alarm.shift) == pytest.approx(tuple(mean))
    assert alarm.since_sd == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize("draws", [1, 2, 200])
def test_the_mean_bayes_factor_is_one_as_before(draws):
    """The martingale's mean, over all label sequences, without chance."""
    total = np.zeros(3)
    for labels in product((0, 1), repeat=5):
        monitor = DriftMonitor(CURVES, draws=draws, changes=FEW).update(SCORES, labels)
        total += densities(labels)[0] * np.array(list(monitor.bayes_factors_.values()))
    assert total == pytest.approx(np.ones(3), abs=1e-12)


def test_the_mean_is_more_than_one_where_a_curve_is_taken_for_certain():
    """Negative: labels follow one of three curves, and the monitor knows their mean alone."""

    def mean(s):
        return special.logit(CURVES.sample_proba(s).mean(axis=0))

    total = 0.0
    for labels in product((0, 1), repeat=5):
        monitor = DriftMonitor(KnownCurves(mean, base=0.3), changes=FEW).update(SCORES, labels)
        total += densities(labels)[0] * monitor.bayes_factors_["any"]
    assert total > 1.01


def test_change_points_have_a_proper_prior():
    assert not_yet(0) == 1.0
    values = [not_yet(t) for t in (1, 10, 10**3, 10**6, 10**12)]
    assert np.all(np.diff(values) < 0.0)
    # After a million documents a change at the next has a probability above that of e^-19.
    assert np.log(not_yet(10**6) - not_yet(10**6 + 1)) > -19.5


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_grids_are_priors(change):
    assert change.prior.sum() == pytest.approx(1.0)
    of_shift = change.prior.sum(axis=0)
    assert of_shift @ change.shift == pytest.approx(0.0, abs=1e-12)
    # The mixture of normal distributions that given probabilities' shifts have too.
    sds, share = np.array([0.15, 0.5, 1.5]), np.array([0.4, 0.4, 0.2])
    assert np.sqrt(of_shift @ change.shift**2) == pytest.approx(np.sqrt(share @ sds**2), rel=0.04)
    # Quadrature: the integral of a likelihood of twenty labels, by the grid and by many quantiles.
    y = np.arange(20) % 3 == 0
    by_grid = of_shift @ stats.bernoulli.pmf(y[:, None], special.expit(change.shift)).prod(axis=0)
    z = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    by_draws = sum(
        w * stats.bernoulli.pmf(y[:, None], special.expit(sd * z)).prod(axis=0).mean()
        for w, sd in zip(share, sds, strict=True)
    )
    assert by_grid == pytest.approx(by_draws, rel=0.02)


@pytest.fixture(scope="module")
def calibrator():
    fitted = ScoreCalibrator("gaussian", draws=200, random_state=0)
    return fitted.fit(*stream(np.random.default_rng(3), 300))


def watched(calibrator, rng, quiet, changed, draws=100, **after):
    monitor = DriftMonitor(calibrator, draws=draws).update(*stream(rng, quiet))
    assert not alarmed(monitor)
    return monitor.update(*stream(rng, changed, **after))


@pytest.mark.parametrize("rate", [0.05, 0.7])
def test_another_base_rate_is_found(calibrator, rate):
    alarm = watched(calibrator, np.random.default_rng(5), 200, 300, rate=rate).alarm_
    assert alarm.change == "base rate"
    assert "(label shift), predict with prior=" in alarm.text
    assert "if the case mix changed in what the scores do not show" in alarm.text
    assert 200 < alarm.document <= 500
    assert abs(alarm.since - 201) < max(3.0 * alarm.since_sd, 5.0)
    # The prior draws the estimate towards no change, the more the fewer labels came since.
    truth = special.logit(rate) - special.logit(0.3)
    assert 0.5 < alarm.shift / truth < 1.2
    assert alarm.slope == pytest.approx(1.0)


def test_another_slope_is_found(calibrator):
    """Scores that no longer predict labels: the slope falls to nearly 0."""
    alarm = watched(calibrator, np.random.default_rng(5), 200, 300, distance=0.0).alarm_
    assert alarm.change == "slope"
    assert alarm.slope < 0.5
    assert abs(alarm.since - 201) < max(3.0 * alarm.since_sd, 5.0)


@pytest.mark.slow
def test_a_change_after_a_long_quiet_time_is_found_soon(calibrator):
    delays = [
        watched(
            calibrator, np.random.default_rng(5), quiet, 150, draws=40, rate=0.7
        ).alarm_.document
        - quiet
        for quiet in (50, 3000)
    ]
    assert all(0 < delay < 100 for delay in delays)


@pytest.mark.slow
def test_alarms_as_before_are_no_more_than_alpha(calibrator):
    """Labels by curves from the posterior, which is what Ville's inequality is about."""
    rng, alarms, streams = np.random.default_rng(8), 0, 120
    scores = rng.normal(0.6, 1.3, 100)
    for p in calibrator.sample_proba(scores, streams, random_state=1):
        monitor = DriftMonitor(calibrator, 0.2, draws=50)
        alarms += alarmed(monitor.update(scores, (rng.random(100) < p).astype(int)))
    assert alarms / streams <= 0.2


def alarm_rates(fitted, labels, streams, draws):
    """Return false-alarm rates of monitors of small fits, and of their point curves."""
    alarms = np.zeros((streams, 2))
    for k in range(streams):
        rng = np.random.default_rng([fitted, k])
        small = ScoreCalibrator("gaussian", draws=250, random_state=0).fit(*stream(rng, fitted))
        later = stream(rng, labels)
        alarms[k, 0] = alarmed(DriftMonitor(small, draws=draws).update(*later))
        alarms[k, 1] = alarmed(DriftMonitor(PointCurve(small)).update(*later))
    return alarms.mean(axis=0)


@pytest.mark.slow
def test_false_alarms_of_small_fits_are_at_the_nominal_rate():
    streams = size(60, 200)
    integrated, point = alarm_rates(fitted=100, labels=400, streams=streams, draws=50)
    assert integrated <= 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / streams)
    assert point > 0.15


class TestInterface:
    def test_pieces_are_one_stream(self, calibrator):
        s, y = stream(np.random.default_rng(1), 60)
        one = DriftMonitor(calibrator, draws=50).update(s, y)
        many = DriftMonitor(calibrator, draws=50)
        for k in range(0, 60, 7):
            many = pickle.loads(pickle.dumps(many)).update(s[k : k + 7], y[k : k + 7])
        assert many.documents_ == 60
        np.testing.assert_allclose(many.log_bayes_factors_, one.log_bayes_factors_, rtol=1e-12)

    def test_probabilities_that_are_none_change_nothing(self):
        p = special.expit(SCORES)
        fitted = ScoreCalibrator("gaussian", draws=50, scores_are="probabilities", random_state=0)
        monitor = DriftMonitor(fitted.fit(p, [1, 0, 1, 1, 0]))
        with pytest.raises(ValueError, match=r"must lie between 0 and 1, got 1\.5"):
            monitor.update(np.r_[np.full(300, 0.5), 1.5], np.zeros(301, dtype=int))
        assert monitor.documents_ == 0

    @pytest.mark.parametrize("positive", ["corn", "oil"])
    def test_a_classifier_of_texts_is_watched_by_its_own_draws(self, positive):
        labels = np.array(["corn", "oil", "oil", "oil"] * 20)
        texts = [f"{label if k % 7 else 'gold'} {k % 5} prices" for k, label in enumerate(labels)]
        model = TextCalibrator("naive_bayes", calibrator=QUICK, positive=positive)
        model.fit(texts, labels)

        class Rows:
            """The draws of documents by their numbers."""

            classes_ = np.array([False, True])
            mle_ = SimpleNamespace(prior=(np.sum(labels == positive) + 1) / 82)

            def fitted_problems(self):
                return {"": SimpleNamespace(labels=self.classes_)}

            def sample_proba(self, rows):
                return model.sample_proba([texts[int(k)] for k in rows])

        expected = DriftMonitor(Rows(), draws=10).update(np.arange(80), labels == positive)
        monitor = DriftMonitor(model, draws=10)
        with pytest.raises(ValueError, match="type str, got NoneType as document 258"):
            monitor.update(texts[:1] * 257 + [None], ["oil"] * 258)
        monitor.update(texts, labels)
        assert monitor.documents_ == 80
        np.testing.assert_allclose(monitor.log_bayes_factors_, expected.log_bayes_factors_)
        with pytest.warns(UnknownWordsWarning, match="2 of 258 documents hold no word") as caught:
            monitor.update(["!", *texts[:1] * 256, "?"], ["oil"] * 258)
        assert len(caught) == 1

    def test_before_any_document_all_factors_are_one(self, calibrator):
        monitor = DriftMonitor(calibrator)
        assert monitor.bayes_factors_ == {"base rate": 1.0, "slope": 1.0, "any": 1.0}
        assert monitor.log_bayes_factors_.empty
        assert monitor.alarm_ is None

    def test_an_update_of_the_calibrator_later_changes_nothing(self):
        rng = np.random.default_rng(2)
        fitted = ScoreCalibrator("gaussian", draws=100, random_state=0).fit(*stream(rng, 100))
        later = stream(rng, 30)
        expected = DriftMonitor(fitted).update(*later).log_bayes_factors_
        monitor = DriftMonitor(fitted)
        fitted.update(*stream(rng, 100, rate=0.9))
        np.testing.assert_array_equal(monitor.update(*later).log_bayes_factors_, expected)

    def test_evidence_beyond_all_numbers_stays_finite(self):
        curve = KnownCurves(lambda s: np.full(s.shape, -20.0), base=0.5)
        monitor = DriftMonitor(curve).update(np.zeros(400), np.ones(400, dtype=int))
        assert monitor.bayes_factors_["base rate"] == np.inf
        assert np.isfinite(monitor.log_bayes_factors_.values).all()
        # A shift of 4.5 is the largest there is: nearly 4.5 nats a label.
        assert 1700 < monitor.log_bayes_factors_["base rate"].iloc[-1] < 1800
        assert monitor.alarm_.since == pytest.approx(1.0, abs=0.01)

    def test_certainties_that_fail_rule_nothing_out(self):
        certain = KnownCurves(lambda s: np.full(s.shape, np.inf), lambda s: -s, base=0.5)
        monitor = DriftMonitor(certain).update(np.zeros(3), [0, 0, 1])
        assert np.isfinite(monitor.log_bayes_factors_.values).all()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([1.0], [2]), "labels must hold 0, 1 only, got 2"),
            (([1.0, 2.0], [1]), "scores and labels must have the same length, got 2 and 1"),
            (([np.inf], [1]), "scores must be finite"),
            (([], []), "scores must hold at least one score"),
        ],
    )
    def test_bad_documents_are_named_and_change_nothing(self, calibrator, arguments, message):
        monitor = DriftMonitor(calibrator, draws=20).update([0.0], [1])
        before = monitor.log_bayes_factors_
        with pytest.raises(ValueError, match=message):
            monitor.update(*arguments)
        np.testing.assert_array_equal(monitor.log_bayes_factors_, before)

    @pytest.mark.parametrize(
        ("wish", "message"),
        [
            ({"alpha": 1.0}, "alpha must lie between 0 and 1"),
            ({"draws": 0}, "draws must be a positive whole number"),
            ({"changes": {}}, "changes must hold at least one kind of change"),
        ],
    )
    def test_wrong_wishes_are_named(self, calibrator, wish, message):
        with pytest.raises(ValueError, match=message):
            DriftMonitor(calibrator, **wish)

    def test_a_calibrator_without_posterior_is_refused(self):
        fitted = ScoreCalibrator(inference="mle").fit([0.0, 1.0, 2.0], [0, 1, 1])
        with pytest.raises(ValueError, match="a monitor needs a posterior and its calibrator has"):
            DriftMonitor(fitted)
        with pytest.raises(NotFittedError, match="ScoreCalibrator instance is not fitted"):
            DriftMonitor(ScoreCalibrator())

    @pytest.mark.parametrize(
        "make",
        [
            lambda s, y: CalibratedClassifier(GaussianNB(), QUICK, ensemble=True).fit(
                s[:, None], y
            ),
            lambda s, y: CalibratedClassifier(GaussianNB(), QUICK).fit(
                s[:, None], np.arange(60) % 3
            ),
            lambda s, y: TopicCalibrator(parts="gaussian", draws=50).fit(s, y, np.arange(60) % 2),
            lambda s, y: 5,
        ],
    )
    def test_what_cannot_be_monitored_is_named(self, make):
        other = make(*stream(np.random.default_rng(0), 60))
        name = type(other).__name__
        message = f"or a classifier of two classes without ensemble, got {name}: make a monitor"
        with pytest.raises(ValueError, match=message):
            DriftMonitor(other)


class TestBounds:
    def test_a_history_keeps_the_first_and_the_latest_rows(self):
        history = []
        for document in range(1, 30_001):
            remember(history, document, [float(document)])
        assert len(history) < 2 * LATEST
        kept = [document for document, _ in history]
        assert kept[0] == 1
        assert kept[-LATEST:] == list(range(30_001 - LATEST, 30_001))
        assert [row[0] for _, row in history] == kept
        gaps = np.diff(kept)
        assert (np.diff(gaps) <= 0)[10:].all()  # coarser the longer ago

    def test_a_monitor_of_many_documents_is_no_larger_than_one_of_few(self, monkeypatch):
        monkeypatch.setattr("bayescal.monitoring.drift.LATEST", 20)
        rng = np.random.default_rng(5)
        s, y = stream(rng, 700)
        monitor = DriftMonitor(CURVES, changes=FEW).update(s[:100], y[:100])
        before = len(pickle.dumps(monitor.update(s[:100], y[:100])._history))
        monitor.update(s, y)
        assert monitor.documents_ == 900
        assert len(pickle.dumps(monitor._history)) < 2 * before
        table = monitor.log_bayes_factors_
        assert table.index[0] == 1
        assert table.index[-20:].tolist() == list(range(881, 901))
        assert len(table) < 40
        assert np.exp(table["any"].iloc[-1]) == pytest.approx(monitor.bayes_factors_["any"])


@pytest.mark.parametrize("label", [0, 1])
def test_an_impossible_label_raises_the_alarm_at_once(label):
    sure = np.inf if label == 0 else -np.inf
    curves = KnownCurves(*2 * [lambda s: np.where(s > 0.0, sure, 0.0)], base=0.5)
    monitor = DriftMonitor(curves).update(-np.ones(3), [0, 1, 0])
    monitor.update(np.ones(4), 4 * [1 - label])
    assert monitor.alarm_ is None
    monitor.update([1.0, -1.0], [label, 1])
    alarm = monitor.alarm_
    assert (alarm.change, alarm.document, alarm.since, alarm.since_sd) == ("impossible", 8, 8.0, 0)
    assert monitor.bayes_factors_["any"] == np.inf
    assert np.isfinite([alarm.slope, alarm.shift]).all()
    assert np.isfinite(monitor.log_bayes_factors_["slope"]).all()
    figure = DriftDisplay.from_estimator(monitor, ax=Figure().subplots())
    assert figure.alarm_.get_xdata()[0] == 8
