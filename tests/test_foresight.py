"""Probabilities on scores without labels: intervals where they may be given, requests elsewhere."""

import numpy as np
import pytest
from scipy import special, stats

from bayescal import ScoreCalibrator
from bayescal.metrics import log_loss
from bayescal.monitoring import foresee, labels_needed
from bayescal.monitoring.foresight import mixture_test

pytestmark = pytest.mark.one_era


def sample(n, share, rng, shift=0.0):
    y = rng.random(n) < share
    return rng.normal(2.0 * y + shift), y


@pytest.fixture(scope="module")
def reference():
    return sample(600, 0.5, np.random.default_rng(0))


@pytest.fixture(scope="module")
def calibrator(reference):
    return ScoreCalibrator("gaussian", draws=150, random_state=0).fit(*reference)


@pytest.mark.slow
def test_intervals_hold_what_the_labels_say(calibrator, reference):
    held, blind = {}, 0
    for seed in range(20):
        rng = np.random.default_rng([1, seed])
        s, y = sample(500, 0.15, rng)
        found = foresee(calibrator, s, reference=reference, alpha=1e-9, random_state=seed)
        p = calibrator.predict_proba(s)[:, 1]
        taken = p >= 0.5
        real = {
            "share of positives": y.mean(),
            "accuracy": np.mean(taken == y),
            "Brier score": np.mean((p - y) ** 2),
            "observed / expected": y.sum() / p.sum(),
            "recall at 0.5": np.mean(taken[y]),
            "precision at 0.5": np.mean(y[taken]),
        }
        for name, value in real.items():
            number = found.numbers[name]
            held.setdefault(name, []).append(number.lower <= value <= number.upper)
        # Without correction for the share of positives there would be too many of them.
        drawn = np.random.default_rng(seed).random((100, 500)) < p
        lower, upper = np.quantile(drawn.mean(axis=1), [0.05, 0.95])
        blind += lower <= real["share of positives"] <= upper
    for name, each in held.items():
        assert np.mean(each) > 0.9 - 3 * np.sqrt(0.09 / 20), name
    assert blind < 5


@pytest.mark.slow
def test_the_test_keeps_its_size_and_sees_what_is_no_mixture():
    alarms, missed = [], []
    for seed in range(25):
        rng = np.random.default_rng([2, seed])
        (old, y), (new, _) = sample(300, 0.5, rng), sample(200, 0.2, rng)
        alarms.append(mixture_test(new, old[y], old[~y], rng)[1] <= 0.05)
        moved = sample(200, 0.2, rng, shift=-1.5)[0]
        missed.append(mixture_test(moved, old[y], old[~y], rng)[1] > 0.05)
    assert np.mean(alarms) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 25)
    assert np.mean(missed) < 0.1


def test_the_distance_is_that_of_kolmogorov_and_smirnov_from_one_class():
    rng = np.random.default_rng(3)
    a, b = rng.normal(0, 1, 5000), rng.normal(0.5, 1, 5000)
    distance, _ = mixture_test(b, a, a, rng)
    assert distance == pytest.approx(stats.ks_2samp(a, b).statistic, abs=0.01)


def test_refuted_means_no_number_but_a_request(calibrator, reference):
    s = sample(400, 0.3, np.random.default_rng(4), shift=-3.0)[0]
    found = foresee(calibrator, s, reference=reference, random_state=0)
    assert found.refuted
    assert found.share is None
    assert found.numbers == {}
    assert found.to_frame().empty
    assert f"Label about {found.labels_needed:,} documents" in found.text
    assert found.pvalue <= 0.05


def test_the_words_say_what_it_cannot_see(calibrator, reference):
    found = foresee(calibrator, reference[0], reference=reference, random_state=0)
    assert not found.refuted
    assert "cannot see a change of P(positive | score)" in found.text
    assert "accuracy" in found.text
    assert list(found.to_frame().columns) == ["value", "lower", "upper"]


@pytest.mark.slow
def test_probabilities_in_place_of_a_calibrator_and_a_metric_of_one_s_own(calibrator, reference):
    s, y = sample(300, 0.5, np.random.default_rng(5))
    p = calibrator.predict_proba(s)[:, 1]
    found = foresee(p, s, reference=reference, metric=log_loss, random_state=0)
    number = found.numbers["log_loss"]
    assert number.lower < log_loss(y, p) < number.upper
    # The probabilities judged are those given: bad ones have a bad Brier score.
    bad = foresee(1.0 - p, s, reference=reference, random_state=0)
    assert bad.numbers["Brier score"].lower > found.numbers["Brier score"].upper


def test_numbers_are_those_of_the_labels_drawn(calibrator, reference):
    s, _ = sample(60, 0.4, np.random.default_rng(7))
    seen = []

    def prevalence(y, p):
        seen.append((y, p))
        return y.mean()

    options = {"threshold": 0.7, "level": 0.8, "alpha": 1e-9, "random_state": 0}
    found = foresee(calibrator, s, reference=reference, metric=prevalence, **options)
    y, p = (np.array(each) for each in zip(*seen, strict=True))
    np.testing.assert_array_equal(p, np.tile(calibrator.predict_proba(s)[:, 1], (len(p), 1)))
    taken = p >= 0.7
    hits = (y * taken).sum(axis=1)
    expected = {
        "share of positives": y.mean(axis=1),
        "accuracy": (y == taken).mean(axis=1),
        "Brier score": ((y - p) ** 2).mean(axis=1),
        "observed / expected": y.sum(axis=1) / p.sum(axis=1),
        "recall at 0.7": hits / y.sum(axis=1),
        "precision at 0.7": hits / taken.sum(axis=1),
        "prevalence": y.mean(axis=1),
    }
    assert list(found.numbers) == list(expected)
    text = [
        f"The scores may be a mixture of the two classes of the reference (p = {found.pvalue:.2g})."
    ]
    for name, draws in expected.items():
        number = found.numbers[name]
        ends = [draws.mean(), *np.quantile(draws, [0.1, 0.9])]
        assert [number.value, number.lower, number.upper] == pytest.approx(ends), name
        assert found.to_frame().loc[name].tolist() == [number.value, number.lower, number.upper]
        text.append("{}: {:.3f} ({:.3f} to {:.3f})".format(name, *ends))
    assert found.text.splitlines()[1:-1] == text[1:]
    assert found.text.startswith(text[0])
    assert found.labels_needed == labels_needed(p[0], ratio_width=0.4)["ratio"]
    assert f"label about {found.labels_needed:,} documents and audit." in found.text
    # The labels are drawn with the share of positives that the scores show.
    assert found.share.level == 0.8
    error = np.sqrt(0.25 / 60 / len(y))
    assert y.mean() == pytest.approx(found.share.value, abs=4 * error + 0.02)


def test_a_calibrator_whose_positive_class_is_the_first(reference):
    s, y = reference
    words = np.where(y, "a", "b")
    named = ScoreCalibrator("gaussian", positive="a", draws=150, random_state=0).fit(s, words)
    found = foresee(named, s, reference=(s, words), random_state=0)
    assert found.numbers["accuracy"].value > 0.75


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [0.0] * 5}, "scores must hold at least 10 scores, got 5"),
        ({"scores": [np.nan] * 20}, "scores must be finite"),
        ({"reference": 3}, r"reference must be a pair \(scores, labels\), got int"),
        ({"reference": ([0.0, 1.0], [0, 0])}, "must hold both classes"),
        ({"reference": ([0.0, 1.0], [0])}, "same length"),
        ({"reference": ([0.0, 1.0], [0, 5])}, "reference labels must hold"),
        ({"calibrator_or_p": np.full(20, 3.0)}, "calibrator_or_p must lie between 0 and 1"),
        ({"calibrator_or_p": np.full(3, 0.3)}, "calibrator_or_p and scores must have the same"),
        ({"threshold": 0.0}, "threshold must lie between"),
        ({"level": 2}, "level must lie between"),
        ({"alpha": 0}, "alpha must lie between"),
    ],
)
def test_wrong_inputs(calibrator, reference, change, message):
    arguments = {
        "calibrator_or_p": calibrator,
        "scores": np.linspace(-1, 3, 20),
        "reference": reference,
    } | change
    with pytest.raises(ValueError, match=message):
        foresee(**arguments)


def test_it_takes_a_recalibrator():
    from bayescal.monitoring import Recalibrator

    rng = np.random.default_rng(6)
    p = special.expit(rng.normal(0, 1.5, 400))
    y = (rng.random(400) < p).astype(int)
    again = Recalibrator(refit="never", draws=300, random_state=0).fit(p, y)
    found = foresee(again, p, reference=(p, y), random_state=0)
    assert found.numbers["share of positives"].value == pytest.approx(y.mean(), abs=0.1)


def test_ratios_without_a_denominator_are_undefined(reference):
    scores = np.linspace(-1.0, 3.0, 40)
    found = foresee(np.zeros(40), scores, reference=reference, alpha=1e-9, random_state=0)
    for name in ("observed / expected", "precision at 0.5"):
        assert np.isnan(found.numbers[name].value)
        assert f"{name}: undefined" in found.text
    assert found.numbers["recall at 0.5"].value == 0.0
