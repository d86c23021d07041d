"""Thresholds for precision and recall against enumeration, and how often they keep their word."""

import itertools

import numpy as np
import pytest

from bayescal import ScoreCalibrator
from bayescal.decisions import (
    precision_at,
    recall_at,
    threshold_for_precision,
    threshold_for_recall,
)

SCORES = np.array([3.0, 1.0, 2.0, 2.0, 0.0])
P = np.array([0.9, 0.4, 0.6, 0.7, 0.1])
RNG = np.random.default_rng(0)
TIED = np.round(RNG.normal(size=30), 1)
DRAWN = RNG.beta(1.0, 2.0, (400, 30))


def enumerate_cuts(selected, measure):
    """Return the distribution of a measure over all labels of the five documents."""
    values, chances = [], []
    for labels in itertools.product((0, 1), repeat=5):
        y = np.array(labels)
        values.append(measure(y, selected))
        chances.append(np.prod(np.where(y, P, 1 - P)))
    return np.array(values), np.array(chances)


def precision(y, selected):
    return y[selected].mean()


def recall(y, selected):
    return y[selected].sum() / y.sum() if y.any() else 1.0


@pytest.mark.parametrize(
    ("find", "measure", "wanted"),
    [(threshold_for_precision, precision, 0.6), (threshold_for_recall, recall, 0.8)],
)
@pytest.mark.parametrize("assurance", [None, 0.7])
def test_thresholds_are_those_of_enumeration(find, measure, wanted, assurance):
    draws = np.tile(P, (100_000, 1))
    good = {}
    for cut in np.unique(SCORES):
        values, chances = enumerate_cuts(cut <= SCORES, measure)
        reached = chances @ (values >= wanted)
        mean = chances @ values
        if (mean >= wanted) if assurance is None else (reached >= assurance):
            good[cut] = mean, reached
    best = min(good) if measure is precision else max(good)
    assert 0 < len(good) < 4  # something to choose
    found = find(SCORES, draws, wanted, assurance=assurance, rng=0)
    assert found.threshold == best
    assert found.selected == np.sum(best <= SCORES)
    mean, reached = good[best]
    assert found.achieved.value == pytest.approx(mean, abs=0.005)
    assert found.probability == pytest.approx(reached, abs=0.006)


def test_population_rates_need_no_labels():
    draws = np.tile(P, (3, 1))
    found = threshold_for_precision(SCORES, draws, 0.65, of="population")
    assert found.threshold == 1.0  # the means from above: .9, .733, .65, .54
    assert found.achieved.value == pytest.approx(0.65)
    assert (found.lower, found.upper) == (1.0, 1.0)
    found = threshold_for_recall(SCORES, draws, 0.8, of="population")
    assert found.threshold == 2.0
    assert found.achieved.value == pytest.approx(2.2 / 2.7)


def test_credible_intervals_keep_their_word():
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 2, 150)
    slopes = rng.normal([-1, 1], [0.4, 0.15], (1000, 2))
    draws = 1 / (1 + np.exp(-(slopes[:, :1] + slopes[:, 1:] * scores)))
    held = {"documents": [], "population": []}
    for find, measure in ((threshold_for_precision, precision), (threshold_for_recall, recall)):
        found = {of: find(scores, draws, 0.8, of=of, rng=2) for of in held}
        for _ in range(2000):
            y = rng.random(150) < draws[rng.integers(1000)]
            for of, each in found.items():
                actual = measure(y, scores >= each.threshold)
                held[of].append(each.achieved.lower <= actual <= each.achieved.upper)
    # Rates of few documents are steps: an interval of 90 % holds somewhat more.
    assert 0.88 < np.mean(held["documents"]) < 0.96
    assert np.mean(held["population"]) < 0.85  # without the labels' own chance: too narrow


def test_what_no_threshold_reaches_is_said():
    draws = np.tile(P, (50, 1))
    with pytest.raises(ValueError, match=r"no threshold reaches precision 0.99: the best is 0.9"):
        threshold_for_precision(SCORES, draws, 0.99, of="population")
    with pytest.raises(ValueError, match=r"with assurance 0\.99"):
        threshold_for_precision(SCORES, draws, 0.8, assurance=0.99, rng=0)


def test_draws_without_a_positive_have_full_recall():
    found = threshold_for_recall([1.0, 2.0], np.zeros((5, 2)), 0.9)
    assert found.threshold == 2.0
    assert found.achieved.value == 1.0


def test_refuses():
    for arguments, message in (
        ({"precision": 90}, "precision must lie between"),
        ({"precision": 0.5, "of": "set"}, "of must be one of"),
        ({"precision": 0.5, "assurance": 1.0}, "assurance must lie between"),
    ):
        with pytest.raises(ValueError, match=message):
            threshold_for_precision(SCORES, np.tile(P, (3, 1)), **arguments)
    with pytest.raises(ValueError, match="same length, got 2 and 5"):
        threshold_for_recall([1.0, 2.0], np.tile(P, (3, 1)), 0.5)


# Precision and recall at a threshold that is given.


def by_hand(threshold, labels):
    """Return precision and recall of every draw of labels."""
    taken = threshold <= TIED
    found = labels[:, taken].sum(axis=1)
    everything = labels.sum(axis=1)
    recall = np.where(everything > 0, found / np.maximum(everything, 1), 1.0)
    return found / max(taken.sum(), 1), recall


@pytest.mark.parametrize("threshold", [-9.0, -0.35, 0.0, float(np.sort(TIED)[-3]), 1.234])
def test_it_is_the_share_of_every_draw_of_labels(threshold):
    certain = (DRAWN > 0.6).astype(float)
    precision, recall = by_hand(threshold, certain)
    for measure, values in ((precision_at, precision), (recall_at, recall)):
        found = measure(threshold, TIED, certain, level=0.8, rng=0)
        assert found.value == pytest.approx(values.mean())
        assert (found.lower, found.upper) == pytest.approx(np.quantile(values, [0.1, 0.9]))
        assert found.selected == (threshold <= TIED).sum()


@pytest.mark.parametrize(
    ("choose", "at"), [(threshold_for_precision, precision_at), (threshold_for_recall, recall_at)]
)
def test_it_is_what_a_threshold_that_was_chosen_promises(choose, at):
    chosen = choose(TIED, DRAWN, 0.33, of="population")
    found = at(chosen.threshold, TIED, DRAWN, of="population")
    assert found.value == pytest.approx(chosen.achieved.value)
    assert (found.lower, found.upper) == (chosen.achieved.lower, chosen.achieved.upper)


def test_above_all_scores_nothing_is_taken():
    assert np.isnan(precision_at(99.0, TIED, DRAWN).value)
    assert recall_at(99.0, TIED, DRAWN).value == 0.0
    assert recall_at(99.0, TIED, DRAWN).selected == 0


def test_intervals_hold_the_truth_as_often_as_they_say():
    # Seeded: 90 % of 60 sets, within three standard errors of a share of .9.
    held = {precision_at: 0, recall_at: 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = rng.random(300) < 0.3
        scores = rng.normal(2.0 * y)
        fitted = ScoreCalibrator("gaussian", draws=200, chains=2, random_state=seed).fit(
            scores[:150], y[:150]
        )
        new, truth = scores[150:], y[150:]
        draws, taken = fitted.sample_proba(new), new >= 1.0
        for measure, right in (
            (precision_at, truth[taken].mean()),
            (recall_at, truth[taken].sum() / truth.sum()),
        ):
            found = measure(1.0, new, draws, rng=seed)
            held[measure] += found.lower <= right <= found.upper
    assert min(held.values()) > 60 * (0.9 - 3 * 0.039)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": np.nan}, "threshold must be a finite number, got nan"),
        ({"threshold": "high"}, "threshold must be a finite number, got 'high'"),
        ({"of": "sample"}, "of must be one of 'documents', 'population', got 'sample'"),
        ({"level": 1.0}, "level must lie between 0 and 1"),
        ({"scores": TIED[:-1]}, "must have the same length"),
    ],
)
def test_rates_refuse_wrong_arguments(arguments, message):
    given = {"threshold": 0.0, "scores": TIED, "draws": DRAWN} | arguments
    with pytest.raises(ValueError, match=message):
        recall_at(**given)
