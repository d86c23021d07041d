"""Leaves with a fixed weight of the other tasks: equation 8.1, its limits, and the methods."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from bayescal.combining.tasks import PooledCombiner
from bayescal.combining.tasks.metaclassifier import normalised, scales_of
from bayescal.combining.tasks.tree import LeafCounts
from bayescal.text.word_models import DecisionTree
from studies.papers.label.tree import GENERAL, REPOP, KeptTree, m_estimate, of_all_tasks
from tests.task_scores import made_tasks

RNG = np.random.default_rng(0)
LEAF, TASK = RNG.integers(4, size=300), RNG.integers(3, size=300)
POSITIVE = RNG.random(300) < 0.1 + 0.2 * LEAF
# The first task has no document at the last leaf.
SEEN = ~((TASK == 0) & (LEAF == 3))
LEAF, TASK, POSITIVE = LEAF[SEEN], TASK[SEEN], POSITIVE[SEEN]
COUNTS = LeafCounts.of(LEAF, TASK, POSITIVE, (3, 4))


def combiner(m):
    return PooledCombiner(KeptTree(m=m), random_state=0)


class TestEquation81:
    @pytest.mark.parametrize("m", [0.5, 10.0, 1000.0])
    def test_brute_force(self, m):
        """Document by document, as the equation is written."""
        found = m_estimate(COUNTS, m)
        for i in range(3):
            for leaf in range(4):
                here = [p for p, k in zip(POSITIVE, LEAF, strict=True) if k == leaf]
                own = [
                    p for p, k, t in zip(POSITIVE, LEAF, TASK, strict=True) if k == leaf and t == i
                ]
                prior = (sum(here) + 1) / (len(here) + 2)
                expected = (sum(own) + m * prior) / (m + len(own))
                assert found[i, leaf] == pytest.approx(expected, rel=1e-12)

    def test_without_others_it_is_the_share_and_at_empty_leaves_the_tasks_own(self):
        found = m_estimate(COUNTS, 0.0)
        assert COUNTS.total[0, 3] == 0.0
        assert found[0, 3] == POSITIVE[TASK == 0].mean()
        filled = COUNTS.total > 0.0
        share = COUNTS.positive[filled] / COUNTS.total[filled]
        np.testing.assert_array_equal(found[filled], share)

    def test_with_all_the_weight_on_others_tasks_are_alike(self):
        found = m_estimate(COUNTS, np.inf)
        assert np.ptp(found, axis=0).max() == 0.0
        np.testing.assert_allclose(found[0], of_all_tasks(COUNTS))

    def test_finite_m_leads_from_one_limit_to_the_other(self):
        filled = COUNTS.total > 0.0
        near, far = m_estimate(COUNTS, 1e-9), m_estimate(COUNTS, 1e12)
        np.testing.assert_allclose(near[filled], m_estimate(COUNTS, 0.0)[filled], atol=1e-8)
        np.testing.assert_allclose(far, m_estimate(COUNTS, np.inf), atol=1e-8)
        # An empty leaf takes the population's estimate as soon as this counts at all.
        assert near[0, 3] == pytest.approx(of_all_tasks(COUNTS)[3])


class TestCombiner:
    def test_leaves_of_the_tree_that_scikit_learn_grows(self):
        """Equation 8.1 from the documents at each leaf, by the tree refitted here."""
        x, y, task = made_tasks()
        own = normalised(x, code := np.unique(task, return_inverse=True)[1], scales_of(x, code, 6))
        node = DecisionTree().fit(own, y).tree_.apply(own)
        probability = combiner(20.0).fit(x, y, task).predict_proba(x, task)[:, 1]
        for i in range(0, len(x), 17):
            leaf = node == node[i]
            prior = (y[leaf].sum() + 1) / (leaf.sum() + 2)
            mine = leaf & (task[i] == task)
            expected = (y[mine].sum() + 20.0 * prior) / (mine.sum() + 20.0)
            assert probability[i] == pytest.approx(expected)

    @pytest.mark.parametrize("m", [REPOP, GENERAL, 20.0])
    def test_it_ranks_and_has_no_posterior(self, m):
        x, y, task = made_tasks()
        found = combiner(m).fit(x, y, task)
        assert roc_auc_score(y, found.predict_proba(x, task)[:, 1]) > 0.85
        assert np.isfinite(found.scores_).all() or m == REPOP
        with pytest.raises(ValueError, match="no posterior"):
            found.predict_interval(x, task)
        labels = np.random.default_rng(3).permutation(y)
        scores = np.clip(combiner(m).fit(x, labels, task).scores_, -99, 99)
        assert abs(roc_auc_score(labels, scores) - 0.5) < 0.12

    def test_without_labels_is_general(self):
        x, y, task = made_tasks(tasks=7, seed=0)
        old = task != "task 6"
        answers = []
        for m in (GENERAL, REPOP, 20.0):
            found = combiner(m).fit(x[old], y[old], task[old]).add_tasks(x[~old], task[~old])
            answers.append(found.decision_function(x[~old], task[~old]))
        np.testing.assert_array_equal(answers[0], answers[1])
        np.testing.assert_array_equal(answers[0], answers[2])
