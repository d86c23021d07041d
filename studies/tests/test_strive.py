"""The dissertation's combinations: figures, measures, marks, and all methods on made topics."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.svm import SVC

from bayescal.combining.combiners.measures import MEASURES as CUTS
from bayescal.combining.nested import Inputs, Labelled
from studies.papers.strive.classifiers import LinearSVM, LocalKernelSVM, cost_of, product_features
from studies.papers.strive.experiment import (
    GROUPS,
    MEASURES,
    PUBLISHED,
    by_topic,
    micro_f1,
    partial_roc_area,
    significance_marks,
    strive_table,
)
from studies.papers.strive.methods import (
    BASE,
    COMBINATIONS,
    Decided,
    TopicInputs,
    decide_all,
    topic_inputs,
)
from studies.papers.strive.voting import Best, MajorityVote, Voting, loss_of


def made_topic(seed, n=150, m=200):
    """Return five classifiers of varying quality, and two indicators, of which one tells."""
    rng = np.random.default_rng(seed)

    def draw(size):
        truth = rng.random(size) < 0.25
        sides = np.where(truth, 1.0, -1.0)
        scores = sides[:, None] + rng.normal(size=(size, 5)) * [1.5, 1.2, 2.0, 0.7, 1.0]
        indicators = np.c_[sides + 2.0 * rng.normal(size=size), rng.normal(size=size)]
        return truth, Inputs(scores, indicators)

    (positive, old), (truth, new) = draw(n), draw(m)
    return TopicInputs(f"topic {seed}", Labelled(old, positive, None, np.arange(n) % 3), new, truth)


@pytest.fixture(scope="module")
def decided():
    """Return all methods on two made topics."""
    topics = [made_topic(0), made_topic(1)]
    return decide_all(topics), [each.truth for each in topics]


class TestPublished:
    def test_every_method_of_the_table_is_made_again(self):
        assert set(PUBLISHED) <= {*BASE, *COMBINATIONS, "BestSelect"}
        assert {len(row) for row in PUBLISHED.values()} == {len(MEASURES)}

    def test_errors_fall_by_what_the_text_says(self):
        error = {name: row[MEASURES.index("error")] for name, row in PUBLISHED.items()}
        assert 1.0 - error["Stack-S (norm)"] / error["SVM"] == pytest.approx(0.14, abs=0.005)
        assert 1.0 - error["STRIVE-S (norm)"] / error["SVM"] == pytest.approx(0.17, abs=0.005)


class TestMeasures:
    def test_the_partial_area_is_the_integral_of_the_curve(self):
        rng = np.random.default_rng(0)
        truth = rng.random(400) < 0.3
        score = rng.normal(truth * 1.5)
        false, true, _ = roc_curve(truth, score, drop_intermediate=False)
        at = np.linspace(0.0, 0.1, 20_001)
        brute = np.interp(at, false, true).mean()
        assert partial_roc_area(truth, score) == pytest.approx(brute, abs=2e-3)
        # scikit-learn's own figure is another one.
        assert roc_auc_score(truth, score, max_fpr=0.1) != pytest.approx(brute, abs=0.05)

    def test_a_random_ranking_has_half_the_width(self):
        rng = np.random.default_rng(0)
        truth = rng.random(200_000) < 0.5
        found = partial_roc_area(truth, rng.random(200_000))
        assert found == pytest.approx(0.05, abs=0.002)

    def test_macro_is_of_topics_and_micro_of_decisions(self):
        truths = [np.array([True, False, False]), np.array([True, True, False])]
        taken = [np.array([True, False, False]), np.array([True, False, True])]
        found = [Decided(dict.fromkeys(CUTS, each)) for each in taken]
        assert by_topic(found, truths)["MacroF1"].mean() == pytest.approx((1.0 + 0.5) / 2.0)
        assert micro_f1(found, truths) == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
        assert -by_topic(found, truths)["C(1,10)"] == pytest.approx([0.0, (1 + 10) / 3])


class TestMarks:
    @staticmethod
    def methods(errors):
        """Return decisions with so many errors a topic: ten topics of a hundred documents."""
        truth = np.arange(100) < 30
        out = {}
        for name, wrong in errors.items():
            out[name] = []
            for topic in range(10):
                taken = truth.copy()
                taken[: wrong + topic % 2] ^= True
                out[name].append(Decided(dict.fromkeys(CUTS, taken), taken.astype(float)))
        return out, [truth] * 10

    def test_better_than_all_others_of_a_group(self):
        errors = dict.fromkeys([*BASE, *(n for group in GROUPS.values() for n in group)], 9)
        errors |= {"SVM": 5, "Stack-S (norm)": 2}
        marks = significance_marks(*self.methods(errors))
        assert marks["SVM", "error"] == "BDR"
        assert marks["Stack-S (norm)", "error"] == "BDSR"
        assert marks["Stack-S (norm)", "MicroF1"] == "BDSR"
        assert marks["kNN", "error"] == marks["Majority", "MacroF1"] == ""

    def test_a_method_that_is_a_group_by_itself_is_not_better_than_it(self):
        groups = {"S": ("Stack-S (norm)",), "B": ("SVM",)}
        decided = self.methods({"SVM": 5, "Stack-S (norm)": 2})
        marks = significance_marks(*decided, groups)
        assert marks["Stack-S (norm)", "error"] == "B"
        assert marks["SVM", "error"] == ""

    def test_no_marks_where_all_are_equal(self):
        errors = dict.fromkeys([*BASE, *(n for group in GROUPS.values() for n in group)], 4)
        assert set(significance_marks(*self.methods(errors)).values()) == {""}


class TestClassifiers:
    def test_inputs_that_differ_by_rounding_alone_have_no_cost_to_match(self):
        """With a C of 1e32 libsvm goes on for ever."""
        assert cost_of(np.full((60, 2), 1e-11)) == cost_of(np.zeros((60, 2))) == 1.0
        assert cost_of(np.array([[1.0, 0.0], [0.0, 2.0]])) == 1.0 / 2.5

    def test_the_linear_svm_is_svm_lights(self):
        labelled = made_topic(0).labelled
        X = labelled.inputs.scores
        z = (X - X.mean(axis=0)) / X.std(axis=0)
        expected = SVC(kernel="linear", C=1.0 / 5.0).fit(z, labelled.positive)  # mean <z, z> is 5
        found = LinearSVM().fit(z, labelled.positive)
        np.testing.assert_allclose(
            found.decision_function(z), expected.decision_function(z), atol=1e-6
        )

    def test_the_local_kernel_is_the_product_of_two(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(40, 5)), rng.random(40) < 0.5
        features = product_features(X, X[:, :2])
        gram = (X @ X.T + 1.0) * (X[:, :2] @ X[:, :2].T + 1.0)
        np.testing.assert_allclose(features @ features.T, gram, atol=1e-10)
        model = LocalKernelSVM(scores=2).fit(X, y)
        svm = SVC(kernel="precomputed", C=1.0 / np.diag(gram).mean()).fit(gram, y)
        np.testing.assert_allclose(
            model.decision_function(X), svm.decision_function(gram), atol=0.02
        )

    def test_it_finds_weights_that_depend_on_where(self):
        """A classifier that is right on one side and wrong on the other: no constant weight."""
        rng = np.random.default_rng(0)
        side = rng.choice([-1.0, 1.0], 600)
        y = rng.random(600) < 0.5
        X = np.c_[side * (2 * y - 1) + 0.5 * rng.normal(size=600), side]
        local, linear = (each.fit(X, y) for each in (LocalKernelSVM(scores=1), LinearSVM()))
        assert roc_auc_score(y, local.decision_function(X)) > 0.95
        assert roc_auc_score(y, linear.decision_function(X)) < 0.6

    def test_the_selected_kernel_has_the_trees_columns(self):
        X = np.random.default_rng(0).normal(size=(200, 6))
        model = LocalKernelSVM(scores=2, select=True).fit(X, X[:, 4] > 0)
        assert model.columns_.tolist() == [4]


class TestVoting:
    def test_majority_counts_votes_and_best_by_class_breaks_ties(self):
        X = np.array(list(itertools.product([0.0, 1.0], repeat=4)))
        X = np.repeat(X, 6, axis=0)
        y = X[:, 0] > 0.5  # the first classifier is right
        inputs = Inputs(X, np.empty((len(X), 0)))

        def vote(kind):
            documents = Labelled(inputs, y, None, np.arange(y.size) % 3)
            return Voting(kind).fit([documents], np.random.default_rng(0), None)[0]

        found = vote(MajorityVote)
        taken = found.decide(inputs, "error")
        # The others say nothing, and take no document, or all.
        assert (taken == Best.decide(found, inputs, "error"))[found.score(inputs) == 0.0].all()
        best = vote(Best)
        assert set(best.best.values()) == {0}


@pytest.mark.slow
class TestAllMethods:
    def test_what_has_probabilities_and_what_ranks(self, decided):
        found, _ = decided
        assert set(found) == {*BASE, *COMBINATIONS, "BestSelect"}
        for name, topics in found.items():
            for each in topics:
                assert set(each.taken) == set(CUTS)
                ranks = name not in {"Best By Class", "Majority", "BestSelect"}
                assert (each.score is not None) == ranks
        assert found["bayes"][0].log_odds is not None
        assert found["Stack-S (norm)"][0].log_odds is None

    def test_the_oracle_makes_no_error_that_one_classifier_does_not_make(self, decided):
        found, truths = decided
        for k, truth in enumerate(truths):
            wrong = found["BestSelect"][k].taken["error"] != truth
            all_wrong = np.all([found[name][k].taken["error"] != truth for name in BASE], axis=0)
            np.testing.assert_array_equal(wrong, all_wrong)

    def test_combinations_beat_the_single_classifiers_here(self, decided):
        found, truths = decided

        def errors(name):
            pairs = zip(found[name], truths, strict=True)
            return np.mean([loss_of("error", each.taken["error"], truth) for each, truth in pairs])

        best = min(errors(name) for name in BASE)
        for name in ("Stack-S (norm)", "STRIVE-S (norm)", "bayes", "bayes, indicators"):
            assert errors(name) < best

    def test_the_table(self, decided):
        table = strive_table(*decided)
        assert table["method"].tolist() == [*BASE, *COMBINATIONS, "BestSelect"]
        row = table.set_index("method").loc["Majority"]
        assert row["ROC"] == "-"
        assert row["error, paper"] == "0.0155"
        assert float(table.set_index("method").loc["bayes", "log-loss"]) > 0.0
        assert not any(", paper" in name for name in strive_table(*decided, with_paper=False))


def test_from_documents_to_inputs():
    """Ten words; one topic's documents have the first ones."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{chr(97 + k)}" for k in range(10)])
    rows = []
    for k in range(90):
        of_topic = k % 3 == 0
        share = np.where(np.arange(10) < 3, 4.0 if of_topic else 0.5, 1.0)
        text = " ".join(rng.choice(words, 30, p=share / share.sum()))
        rows.append(("train" if k < 60 else "test", ("corn",) if of_topic else (), text))
    corpus = pd.DataFrame(rows, columns=["split", "topics", "text"])
    (found,) = topic_inputs(corpus, ["corn"])
    assert found.labelled.inputs.scores.shape == (60, 5)
    assert found.labelled.inputs.indicators.shape == (60, 70)
    assert found.new.indicators.shape == (30, 70)
    np.testing.assert_array_equal(found.truth, np.arange(60, 90) % 3 == 0)
    for scores in found.new.scores.T:
        assert roc_auc_score(found.truth, scores) > 0.8
