"""Probabilities on scores without labels: intervals where they may be given, requests elsewhere."""

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from bayescal import ScoreCalibrator
from bayescal.metrics import log_loss
from bayescal.metrics.changes import SHIFT_SCALES, LogOddsCells
from bayescal.monitoring import foresee, labels_needed
from bayescal.monitoring.foresight import _reading
from bayescal.monitoring.running_evidence import base_rate_change
from bayescal.monitoring.shift_evidence import _log_evidence_of_label_shift, mixture_test


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
            number = found.numbers["label shift"][name]
            held.setdefault(name, []).append(number.lower <= value <= number.upper)
        # The other reading does not correct the share of positives: there would be too many.
        other = found.numbers["case mix"]["share of positives"]
        blind += other.lower <= real["share of positives"] <= other.upper
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


@pytest.mark.slow
def test_a_changed_case_mix_is_answered_by_its_own_reading():
    # A right model, whose patients became sicker: P(y | p) has not changed at all.
    held, wrong, readings = [], 0, []
    for seed in range(8):
        rng = np.random.default_rng([8, seed])
        old, new = rng.normal(-1.5, 1.2, 500), rng.normal(-1.1, 1.2, 600)
        y, truth = (rng.random(z.size) < special.expit(z) for z in (old, new))
        calibrator = ScoreCalibrator("gaussian", draws=100, random_state=0).fit(old, y)
        found = foresee(calibrator, new, reference=(old, y), alpha=1e-9, random_state=seed)
        p = calibrator.predict_proba(new)[:, 1]
        real = {"share of positives": truth.mean(), "observed / expected": truth.sum() / p.sum()}
        for name, value in real.items():
            own, other = (found.numbers[each][name] for each in ("case mix", "label shift"))
            held.append(own.lower <= value <= own.upper)
            wrong += other.value > value + 0.05
        readings.append(found.reading)
    assert np.mean(held) > 0.9 - 3 * np.sqrt(0.09 / 8)
    assert wrong >= 12  # of 16: label shift states too many positives, and no test refutes it
    assert "label shift" not in readings


def test_the_scores_speak_for_label_shift_where_they_can(calibrator, reference):
    s, _ = sample(500, 0.15, np.random.default_rng(9))
    found = foresee(calibrator, s, reference=reference, random_state=0)
    assert found.log_bayes_factor > np.log(20.0)
    assert found.reading == "label shift"
    assert "speak for label shift" in found.text
    assert "can look the same by coincidence" in found.text
    assert "differ" not in found.text


def test_no_single_answer_where_readings_differ_and_scores_cannot_tell(calibrator, reference):
    s, _ = sample(150, 0.25, np.random.default_rng(10))
    found = foresee(calibrator, s, reference=reference, random_state=0)
    assert found.reading == "open"
    assert "share of positives" in found.differing
    assert found.text.startswith("No single answer: the readings differ in share of positives")
    assert str(found) == found.text
    assert "reading='open'" in repr(found)
    numbers = found.numbers["case mix"]["accuracy"], found.numbers["label shift"]["accuracy"]
    assert "accuracy: case mix {:.3f}, label shift {:.3f}".format(*numbers) in found.text


def test_readings_that_agree_are_said_to(calibrator, reference):
    s, _ = sample(400, 0.5, np.random.default_rng(11))
    found = foresee(calibrator, s, reference=reference, random_state=0)
    assert (found.reading, found.differing) == ("both", ())
    assert "do not contradict each other" in found.text


def test_evidence_against_label_shift_that_the_test_does_not_refute(calibrator, reference):
    s, _ = sample(300, 0.5, np.random.default_rng(12), shift=0.8)
    found = foresee(calibrator, s, reference=reference, alpha=1e-9, random_state=0)
    assert found.log_bayes_factor < -np.log(20.0)
    assert (found.refuted, found.reading) == (False, "case mix")
    assert "speak for a change of the case mix" in found.text
    assert "cannot show that P(positive | score) is as it was" in found.text


def test_decisive_evidence_counts_where_numbers_do_not_differ():
    assert _reading(-5.0, refuted=False, differ=False) == "case mix"
    assert _reading(5.0, refuted=False, differ=False) == "label shift"
    assert _reading(5.0, refuted=True, differ=True) == "case mix"
    assert _reading(1.0, refuted=False, differ=False) == "both"
    assert _reading(-1.0, refuted=False, differ=True) == "open"


def test_the_evidence_is_the_integral_that_quadrature_gives():
    # One curve: the level and the shift integrated on a grid, without Laplace's approximation.
    rng = np.random.default_rng(13)
    log_odds = np.linspace(-3.0, 2.0, 12)
    cells = LogOddsCells(log_odds, rng.poisson(60.0, 12).astype(float), np.full(12, 150.0))
    curve, offset = special.expit(log_odds)[None], -0.3
    change, level = base_rate_change(), np.linspace(-4.0, 4.0, 4001)
    pivot = special.expit(cells.frame.pivot)
    mixed = np.log(1 - curve[0] + np.exp(change.shift)[:, None] * curve[0])
    mixed -= np.log(1 - pivot + np.exp(change.shift) * pivot)[:, None]
    at = offset + mixed[:, None] + level[:, None]
    likelihood = special.log_expit(at) @ cells.positive
    likelihood += special.log_expit(-at) @ (cells.weight - cells.positive)
    density = sum(w * stats.norm.pdf(level, 0, sd) for sd, w in SHIFT_SCALES.items())
    joint = np.exp(likelihood - likelihood.max()) * density * change.prior[0][:, None]
    exact = np.log(np.trapezoid(joint, level).sum()) + likelihood.max()
    found = _log_evidence_of_label_shift(cells, curve, offset)
    assert found == pytest.approx(exact, abs=0.1)


def test_the_order_of_documents_changes_no_number(calibrator, reference):
    rng = np.random.default_rng(4)
    scores, (old, labels) = rng.normal(1.0, 1.2, 60), map(np.asarray, reference)
    shuffled, other = rng.permutation(60), rng.permutation(len(old))
    found = [
        foresee(calibrator, new, reference=known, random_state=0)
        for new, known in ((scores, reference), (scores[shuffled], (old[other], labels[other])))
    ]
    pd.testing.assert_frame_equal(*[each.to_frame() for each in found], rtol=1e-12)
    assert found[0].pvalue == found[1].pvalue
    assert found[0].log_bayes_factor == pytest.approx(found[1].log_bayes_factor, rel=1e-9)


def test_scores_beyond_the_reference_are_counted(calibrator, reference):
    s = np.append(sample(45, 0.5, np.random.default_rng(14))[0], [40.0] * 5)
    found = foresee(calibrator, s, reference=reference, alpha=1e-9, random_state=0)
    assert found.outside == 0.1
    assert "10.0 % of the new scores lie beyond those of the reference" in found.text


def test_refuted_means_a_request_and_no_number_of_label_shift(calibrator, reference):
    s = sample(400, 0.3, np.random.default_rng(4), shift=-3.0)[0]
    found = foresee(calibrator, s, reference=reference, random_state=0)
    assert found.refuted
    assert found.share is None
    assert found.numbers["label shift"] == {}
    assert list(found.to_frame().columns.levels[0]) == ["case mix"]
    assert found.reading == "case mix"
    assert found.text.startswith("Do not trust the probabilities on these scores without labels")
    assert "hold only if nothing but the case mix did, which no score can show" in found.text
    assert f"audit about {found.labels_needed:,} outcomes." in found.text
    assert found.pvalue <= 0.05


def test_the_words_say_what_it_cannot_see(calibrator, reference):
    found = foresee(calibrator, reference[0], reference=reference, random_state=0)
    assert not found.refuted
    assert "No score can show a change of P(positive | score)" in found.text
    assert "covariate shift" in found.text
    ends = ["value", "lower", "upper"]
    readings = [(each, end) for each in ("case mix", "label shift") for end in ends]
    assert found.to_frame().columns.tolist() == readings


@pytest.mark.slow
def test_probabilities_in_place_of_a_calibrator_and_a_metric_of_one_s_own(calibrator, reference):
    s, y = sample(300, 0.5, np.random.default_rng(5))
    p = calibrator.predict_proba(s)[:, 1]
    found = foresee(p, s, reference=reference, metric=log_loss, random_state=0)
    number = found.numbers["case mix"]["log_loss"]
    assert number.lower < log_loss(y, p) < number.upper
    # The probabilities judged are those given: bad ones have a bad Brier score.
    bad = foresee(1.0 - p, s, reference=reference, random_state=0)
    for reading, own in found.numbers.items():
        assert bad.numbers[reading]["Brier score"].lower > own["Brier score"].upper


def test_numbers_are_those_of_the_labels_drawn(calibrator, reference):
    s = np.sort(sample(60, 0.4, np.random.default_rng(7))[0])  # the order in which labels are drawn
    seen = []

    def prevalence(y, p):
        seen.append((y, p))
        return y.mean()

    options = {"threshold": 0.7, "level": 0.8, "alpha": 1e-9, "random_state": 0}
    found = foresee(calibrator, s, reference=reference, metric=prevalence, **options)
    draws = len(seen) // 2  # of each reading
    for reading, own in zip(found.numbers, (seen[:draws], seen[draws:]), strict=True):
        y, p = (np.array(each) for each in zip(*own, strict=True))
        check_drawn(found, reading, y, p, calibrator.predict_proba(s)[:, 1])
    assert found.labels_needed == labels_needed(p[0], ratio_width=0.4)["ratio"]
    assert f"audit about {found.labels_needed:,} outcomes." in found.text
    # The labels of label shift are drawn with the share of positives that the scores show.
    assert found.share.level == 0.8
    error = np.sqrt(0.25 / 60 / len(y))
    assert y.mean() == pytest.approx(found.share.value, abs=4 * error + 0.02)
    chance = calibrator.sample_proba(s).mean()
    positives = np.mean([own for own, _ in seen[:draws]])
    assert positives == pytest.approx(chance, abs=4 * error + 0.02)


def check_drawn(found, reading, y, p, given):
    np.testing.assert_array_equal(p, np.tile(given, (len(p), 1)))
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
    numbers = found.numbers[reading]
    assert list(numbers) == list(expected)
    for name, draws in expected.items():
        number = numbers[name]
        ends = [draws.mean(), *np.quantile(draws, [0.1, 0.9])]
        assert [number.value, number.lower, number.upper] == pytest.approx(ends), name
        assert found.to_frame()[reading].loc[name].tolist() == pytest.approx(ends), name
        assert f"{reading} {{:.3f}} ({{:.3f}} to {{:.3f}})".format(*ends) in found.text


def test_a_calibrator_whose_positive_class_is_the_first(reference):
    s, y = reference
    words = np.where(y, "a", "b")
    named = ScoreCalibrator("gaussian", positive="a", draws=150, random_state=0).fit(s, words)
    found = foresee(named, s, reference=(s, words), random_state=0)
    assert found.numbers["case mix"]["accuracy"].value > 0.75


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
    for own in found.numbers.values():
        assert own["share of positives"].value == pytest.approx(y.mean(), abs=0.1)


def test_ratios_without_a_denominator_are_undefined(reference):
    scores = np.linspace(-1.0, 3.0, 40)
    found = foresee(np.zeros(40), scores, reference=reference, alpha=1e-9, random_state=0)
    for own in found.numbers.values():
        for name in ("observed / expected", "precision at 0.5"):
            assert np.isnan(own[name].value)
            assert f"{name}: case mix undefined" in found.text
        assert own["recall at 0.5"].value == 0.0


def copied(n, share, rng, copies=6):
    """Return scores and labels of documents that come in copies, and their clusters."""
    s, y = sample(n, share, rng)
    return np.repeat(s, copies), np.repeat(y, copies), np.repeat(np.arange(n), copies)


def test_clusters_of_size_one_change_nothing(calibrator, reference):
    s = sample(200, 0.3, np.random.default_rng(2))[0]
    alone = foresee(calibrator, s, reference=reference, random_state=0)
    each = tuple(np.arange(n).astype(str) for n in (200, 600))
    same = foresee(calibrator, s, reference=reference, clusters=each, random_state=0)
    assert same.text == alone.text
    assert same.log_bayes_factor == alone.log_bayes_factor


@pytest.mark.slow
def test_copies_count_once():
    """Of copies, all of a cluster have one label, and intervals are those of one document each."""
    rng = np.random.default_rng(3)
    (s, y, old), (t, _, new) = copied(120, 0.5, rng), copied(80, 0.3, rng)
    one = foresee(
        special.expit(t[::6]), t[::6], reference=(s[::6], y[::6]), alpha=1e-9, random_state=0
    )
    many, naive = (
        foresee(
            special.expit(t),
            t,
            reference=(s, y),
            alpha=1e-9,
            clusters=(new, old) if named else None,
            random_state=0,
        )
        for named in (True, False)
    )

    def width(found, reading):
        interval = found.numbers[reading]["share of positives"]
        return interval.upper - interval.lower

    for reading in ("case mix", "label shift"):
        assert width(many, reading) == pytest.approx(width(one, reading), rel=0.25)
        assert width(naive, reading) < 0.6 * width(one, reading)
    assert many.log_bayes_factor == pytest.approx(one.log_bayes_factor, abs=0.5)
    assert abs(naive.log_bayes_factor) > 2.0 * abs(one.log_bayes_factor)


@pytest.mark.slow
def test_the_test_of_label_shift_takes_copies_for_copies():
    """Without clusters it refutes half of the samples of copies, of level 5 %."""
    refuted = {"with": 0, "without": 0}
    for seed in range(20):
        rng = np.random.default_rng([4, seed])
        (s, y, _), (t, _, _) = copied(100, 0.5, rng), copied(100, 0.3, rng)
        for how, effects in (("with", (6.0, 6.0)), ("without", (1.0, 1.0))):
            pvalue = mixture_test(t, s[y], s[~y], np.random.default_rng(seed), effects)[1]
            refuted[how] += pvalue <= 0.05
    assert refuted["with"] <= 4  # more with a probability of .003 at 5 %
    assert refuted["without"] >= 6


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        (["a"] * 50, "clusters must be a pair, those of the new and those of the reference"),
        ((["a"] * 49, ["b"] * 600), "clusters and scores must have the same length, got 49 and 50"),
        ((["a"] * 50, ["b"] * 10), "clusters and reference scores must .* got 10 and 600"),
    ],
)
def test_wrong_clusters_are_named(calibrator, reference, clusters, message):
    s = sample(50, 0.3, np.random.default_rng(2))[0]
    with pytest.raises(ValueError, match=message):
        foresee(calibrator, s, reference=reference, clusters=clusters)
