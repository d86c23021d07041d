"""Precision and recall at a threshold that is given."""

import numpy as np
import pytest

from bayescal import ScoreCalibrator
from bayescal.decisions import (
    precision_at,
    recall_at,
    threshold_for_precision,
    threshold_for_recall,
)

pytestmark = pytest.mark.one_era
RNG = np.random.default_rng(0)
SCORES = np.round(RNG.normal(size=30), 1)  # some of them tie
DRAWS = RNG.beta(1.0, 2.0, (400, 30))


def by_hand(threshold, labels):
    """Return precision and recall of every draw of labels."""
    taken = threshold <= SCORES
    found = labels[:, taken].sum(axis=1)
    everything = labels.sum(axis=1)
    recall = np.where(everything > 0, found / np.maximum(everything, 1), 1.0)
    return found / max(taken.sum(), 1), recall


@pytest.mark.parametrize("threshold", [-9.0, -0.35, 0.0, float(np.sort(SCORES)[-3]), 1.234])
def test_it_is_the_share_of_every_draw_of_labels(threshold):
    certain = (DRAWS > 0.6).astype(float)
    precision, recall = by_hand(threshold, certain)
    for measure, values in ((precision_at, precision), (recall_at, recall)):
        found = measure(threshold, SCORES, certain, level=0.8, rng=0)
        assert found.value == pytest.approx(values.mean())
        assert (found.lower, found.upper) == pytest.approx(np.quantile(values, [0.1, 0.9]))
        assert found.selected == (threshold <= SCORES).sum()


@pytest.mark.parametrize(
    ("choose", "at"), [(threshold_for_precision, precision_at), (threshold_for_recall, recall_at)]
)
def test_it_is_what_a_threshold_that_was_chosen_promises(choose, at):
    chosen = choose(SCORES, DRAWS, 0.33, of="population")
    found = at(chosen.threshold, SCORES, DRAWS, of="population")
    assert found.value == pytest.approx(chosen.achieved.value)
    assert (found.lower, found.upper) == (chosen.achieved.lower, chosen.achieved.upper)


def test_above_all_scores_nothing_is_taken():
    assert np.isnan(precision_at(99.0, SCORES, DRAWS).value)
    assert recall_at(99.0, SCORES, DRAWS).value == 0.0
    assert recall_at(99.0, SCORES, DRAWS).selected == 0


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
        ({"scores": SCORES[:-1]}, "must have the same length"),
    ],
)
def test_wrong_arguments(arguments, message):
    given = {"threshold": 0.0, "scores": SCORES, "draws": DRAWS} | arguments
    with pytest.raises(ValueError, match=message):
        recall_at(**given)
