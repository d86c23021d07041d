"""The dissertation's online combiners: figures, what they are given, and what they decide."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from bayescal import ScoreCalibrator
from bayescal.combining.online.online_combiner import OnlineCombiner
from bayescal.support.numerics import probability
from studies.papers.online.experiment import (
    COMBINATIONS,
    GROUPS,
    ONLINE,
    PASSES,
    PUBLISHED,
    ExpertsOfInputs,
    rounds_table,
)
from studies.papers.strive.experiment import MEASURES, strive_table
from studies.papers.strive.methods import BASE, decide_all
from studies.papers.strive.voting import loss_of
from studies.tests.test_reproduce import make_corpus
from studies.tests.test_strive import made_topic
from studies.tests.tools import run_paper

TOPICS = [made_topic(0), made_topic(1)]


@pytest.fixture(scope="module")
def decided():
    """Return the rows without indicators, and one with, on two made topics."""
    asked = {name: COMBINATIONS[name] for name in ("WMA", "Winnow (R = 10)", "WinBMX", "EG")}
    return decide_all(TOPICS, asked), [each.truth for each in TOPICS]


class TestPublished:
    def test_every_method_of_the_table_is_made_again(self):
        assert set(PUBLISHED) <= {*BASE, *COMBINATIONS, "BestSelect"}
        assert {len(row) for row in PUBLISHED.values()} == {len(MEASURES)}
        assert len(PUBLISHED) == 22

    def test_what_the_text_says_of_the_figures(self):
        error, f1 = (
            {name: row[MEASURES.index(key)] for name, row in PUBLISHED.items()}
            for key in ("error", "MacroF1")
        )
        # Winnow gains by ten passes, and none of them comes up to stacking.
        assert error["Winnow (R = 10)"] < error["Winnow"]
        assert all(f1[name] < f1["Stack-S (norm)"] for name in (*GROUPS["O"], *GROUPS["I"]))

    def test_groups(self):
        assert len(GROUPS["O"]) == 4
        assert len(GROUPS["I"]) == 8
        assert set(GROUPS["O"]) | set(GROUPS["I"]) == set(PUBLISHED) & set(ONLINE)


class TestExpertsOfInputs:
    columns = np.c_[TOPICS[0].labelled.inputs.scores, TOPICS[0].labelled.inputs.indicators]
    positive = TOPICS[0].labelled.positive.astype(int)

    def test_scores_are_taken_for_log_odds(self):
        found = ExpertsOfInputs("wma").fit(self.columns, self.positive)
        own = OnlineCombiner("wma").fit(expit(self.columns[:, :5]), self.positive)
        np.testing.assert_allclose(found.combiner_.weights_, own.weights_, rtol=1e-9)

    def test_indicators_are_brought_to_their_range_and_probabilities_are_more_of_them(self):
        found = ExpertsOfInputs("bmx", indicators=True).fit(self.columns, self.positive)
        low, high = self.columns[:, 5:].min(axis=0), self.columns[:, 5:].max(axis=0)
        on = np.c_[(self.columns[:, 5:] - low) / (high - low), expit(self.columns[:, :5])]
        own = OnlineCombiner("bmx").fit(expit(self.columns[:, :5]), self.positive, indicators=on)
        np.testing.assert_allclose(found.combiner_.weights_, own.weights_, rtol=1e-9)
        far = np.r_[self.columns[:1, :5].ravel(), high + 99.0][None]
        at_end = np.r_[self.columns[:1, :5].ravel(), high][None]
        np.testing.assert_allclose(found.predict_proba(far), found.predict_proba(at_end))

    def test_scores_are_calibrated_if_asked_for(self):
        found = ExpertsOfInputs("wma", calibrated=True).fit(10.0 * self.columns, self.positive)
        of_likelihood = [
            ScoreCalibrator(inference="mle").fit(scores, self.positive)
            for scores in self.columns[:, :5].T
        ]
        pairs = zip(of_likelihood, self.columns.T, strict=False)
        said = np.stack([each.predict_proba(scores)[:, 1] for each, scores in pairs], axis=1)
        own = OnlineCombiner("wma").fit(said, self.positive)
        np.testing.assert_allclose(found.combiner_.weights_, own.weights_, rtol=1e-6)

    def test_sure_experts_are_not_rounded_to_certainty(self):
        found = ExpertsOfInputs("eg").fit(self.columns, self.positive)
        sure = found.predict_proba(np.full((1, 5), 60.0))[0]
        assert 0.0 < sure[0] < 1e-25

    def test_passes(self):
        combiner = ONLINE[f"WMA (R = {PASSES})"].combiner.fit(self.columns, self.positive).combiner_
        beta = 0.5
        for _ in range(PASSES - 1):
            beta += 0.25 * (1.0 - beta)
        assert combiner.beta_ == pytest.approx(beta)


class TestAllMethods:
    @pytest.mark.slow
    def test_all_have_probabilities_and_see_what_they_are_to_see(self, decided):
        found, truths = decided
        for name in ("WMA", "WinBMX", "EG"):
            for each, truth in zip(found[name], truths, strict=True):
                np.testing.assert_array_equal(each.score, each.log_odds)
                p = probability(each.log_odds)
                assert p[truth].mean() > p[~truth].mean() + 0.3
        assert [row.indicators for row in ONLINE.values()].count(True) == 12
        assert not ONLINE["WMA"].indicators

    @pytest.mark.slow
    def test_thresholds_are_by_measure(self, decided):
        found, truths = decided
        dear, cheap = (
            np.mean([each.taken[by].mean() for each in found["EG"]])
            for by in ("cost_1_10", "error")
        )
        assert dear > cheap
        errors = [
            loss_of("error", each.taken["error"], truth)
            for each, truth in zip(found["EG"], truths, strict=True)
        ]
        assert np.mean(errors) < 0.15

    @pytest.mark.slow
    def test_the_table(self, decided):
        found, truths = decided
        groups = {"B": GROUPS["B"], "O": ("WMA", "Winnow (R = 10)")}
        table = strive_table(found, truths, published=PUBLISHED, groups=groups)
        row = table.set_index("method").loc["WinBMX"]
        assert row["error, paper"] == "0.0134"
        assert table.set_index("method").loc["EG", "error, paper"] == "-"


def test_losses_online_beside_hindsight():
    table = rounds_table(TOPICS).set_index("method")
    loss = table["squared error"]
    assert loss["best mixture"] < loss["best classifier"]
    assert (loss[["WMA", "EG"]] <= table["bound"][["WMA", "EG"]]).all()
    assert (loss.drop("best mixture") > loss["best mixture"]).all()
    brute = sum(
        min(((expit(one) - each.labelled.positive) ** 2).sum() for one in scores.T)
        for each, scores in ((each, each.labelled.inputs.scores) for each in TOPICS)
    )
    assert loss["best classifier"] == pytest.approx(brute)
    assert len(table) == 2 + 8


@pytest.mark.slow
def test_the_command(tmp_path, monkeypatch):
    def rows(*_, **__):
        return TOPICS

    few = {name: COMBINATIONS[name] for name in (*GROUPS["D"], "WMA")}
    monkeypatch.setattr("studies.papers.corpora.fetch_reuters21578", lambda path: make_corpus())
    monkeypatch.setattr("studies.papers.strive.experiment.topic_inputs", rows)
    monkeypatch.setattr("studies.papers.online.experiment.COMBINATIONS", few)
    monkeypatch.setattr(
        "studies.papers.online.experiment.GROUPS", {"D": GROUPS["D"], "O": ("WMA",)}
    )
    call = ("online", "--topics", "2")
    shown = run_paper(*call, "--out", tmp_path / "out").stdout
    assert "O online combiners of classifiers alone" in " ".join(shown.split())
    table = pd.read_csv(tmp_path / "out" / "online.csv")
    assert table["method"].tolist() == [*BASE, *few, "BestSelect"]
    rounds = pd.read_csv(tmp_path / "out" / "online_rounds.csv")
    assert f"{rounds['squared error'][0]:.0f}" in shown
    assert (tmp_path / "out" / "online.md").read_text().startswith("| method |")
    assert "must be at least" in run_paper(*call, "--seed", "-1", code=2).stderr
