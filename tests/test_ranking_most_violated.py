"""The most violated constraint against brute force, and losses against the paper's toy examples."""

from functools import cache
from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from bayescal.ranking import average_precision
from bayescal.ranking.problem import (
    LOSSES,
    most_violated,
    most_violated_by_precision,
    search_blocks,
    search_table,
)

# The paper's tables 2 and 4: labels, and scores that fall or rise with the document's number.
TABLE_2 = np.array([1, 0, 0, 0, 0, 1, 1, 0])
TABLE_4 = np.array([1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0])


@cache
def all_ranks(n):
    """Return the rank of each document, from 1, in every ranking of n."""
    return np.array(list(permutations(range(1, n + 1))))


def losses_of(ranks, n_relevant, loss):
    """Return the loss of rankings, from the definitions: precision at ranks, or pairs."""
    relevant, others = ranks[:, :n_relevant], ranks[:, n_relevant:]
    if loss == "roc":
        return (others[:, None, :] < relevant[:, :, None]).mean(axis=(1, 2))
    found = (relevant[:, None, :] <= relevant[:, :, None]).sum(axis=2)
    return 1.0 - (found / relevant).mean(axis=1)


def value_of(ranks, scores, n_relevant):
    """Return w.Psi of rankings, pair by pair."""
    above = np.where(ranks[:, :n_relevant, None] < ranks[:, None, n_relevant:], 1.0, -1.0)
    differences = scores[:n_relevant, None] - scores[None, n_relevant:]
    return (above * differences).mean(axis=(1, 2))


def largest_violation(ranks, scores, n_relevant, loss):
    best = np.mean(scores[:n_relevant]) - np.mean(scores[n_relevant:])
    return (losses_of(ranks, n_relevant, loss) + value_of(ranks, scores, n_relevant) - best).max()


def violation_found(scores, n_relevant, loss):
    coefficients, delta = most_violated(scores, n_relevant, LOSSES[loss])
    return delta - coefficients @ scores


def cases(sizes, per_size, seed):
    """Yield scores and numbers of relevant documents: any, small, rounded to ties, all the same."""
    rng = np.random.default_rng(seed)
    for n in sizes:
        for k in range(per_size):
            scores = rng.normal(size=n) * 10.0 ** rng.uniform(-2, 1)
            if k % 3 == 1:
                scores = scores.round(1)
            elif k % 12 == 2:
                scores[:] = scores[0]
            yield scores, int(rng.integers(1, n))


@pytest.mark.parametrize("loss", LOSSES)
def test_equals_brute_force_over_all_rankings(loss):
    for scores, n_relevant in cases(range(2, 9), 60, seed=1):
        expected = largest_violation(all_ranks(scores.size), scores, n_relevant, loss)
        assert violation_found(scores, n_relevant, loss) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_loss_and_coefficients_are_of_one_ranking(loss):
    for scores, n_relevant in cases([2, 5, 8], 20, seed=3):
        coefficients, delta = most_violated(scores, n_relevant, LOSSES[loss])
        ranks = all_ranks(scores.size)
        losses = losses_of(ranks, n_relevant, loss)
        best = np.mean(scores[:n_relevant]) - np.mean(scores[n_relevant:])
        same = np.isclose(best - value_of(ranks, scores, n_relevant), coefficients @ scores)
        assert np.isclose(losses[same], delta).any()
        assert coefficients.sum() == pytest.approx(0.0, abs=1e-12)


def value_by_precision(relevant, nonrelevant, relevant_above):
    """Return loss plus score of interleavings, for sizes that brute force cannot reach."""
    above = np.searchsorted(relevant_above, np.arange(relevant.size), side="right")
    place = np.arange(1, relevant.size + 1)
    loss = 1.0 - np.mean(place / (place + above))
    pairs = np.arange(relevant.size)[:, None] >= relevant_above[None, :]
    swapped = pairs * (relevant[:, None] - nonrelevant[None, :])
    return loss - 2.0 * swapped.mean()


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (1, 7), (40, 300), (400, 900), (7, 5000)])
@pytest.mark.parametrize("scale", [0.0, 0.01, 1.0, 100.0])
def test_the_search_in_blocks_equals_the_search_of_the_table(shape, scale):
    rng = np.random.default_rng(sum(shape))
    relevant, nonrelevant = (scale * np.sort(rng.normal(size=n))[::-1] for n in shape)
    values = []
    for search in (search_table, search_blocks):
        found = np.maximum.accumulate(search(relevant, nonrelevant))
        values.append(value_by_precision(relevant, nonrelevant, found))
    assert values[0] == pytest.approx(values[1], abs=1e-11)


def test_large_queries_are_searched_in_blocks(monkeypatch):
    from bayescal.ranking import problem as module

    rng = np.random.default_rng(0)
    relevant, nonrelevant = (np.sort(rng.normal(size=n))[::-1] for n in (400, 900))
    monkeypatch.setattr(module, "search_table", None)
    assert most_violated_by_precision(relevant, nonrelevant).shape == (900,)


class TestToyExamples:
    """Tables 1 to 4: h1 ranks documents from first to last, h2 from last to first."""

    def test_published_numbers(self):
        falling = -np.arange(8)
        assert average_precision(TABLE_2, falling, [1] * 8).round(2).item() == 0.59
        assert average_precision(TABLE_2, -falling, [1] * 8).round(2).item() == 0.51
        assert average_precision(TABLE_4, -np.arange(11), [1] * 11).round(4).item() == 0.5635
        assert average_precision(TABLE_4, np.arange(11), [1] * 11).round(4).item() == 0.5109

    @pytest.mark.parametrize(("sign", "published"), [(-1, 0.47), (1, 0.53)])
    def test_roc_area(self, sign, published):
        order = np.argsort(-sign * np.arange(8))
        above = np.cumsum(1 - TABLE_2[order])[TABLE_2[order] == 1]
        area = 1.0 - LOSSES["roc"].value(above, 5)
        assert area == pytest.approx(roc_auc_score(TABLE_2, sign * np.arange(8)), abs=1e-15)
        assert round(area, 2) == published
