"""The experiment of ranking: roles, collections, trials, tables, and the command."""

import lzma
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bayescal.ranking import SVMMAPRanker, average_precision
from studies.papers.svm_map import experiment as trials_module
from studies.papers.svm_map.experiment import (
    COSTS,
    Collection,
    Roles,
    as_printed,
    contenders,
    deal,
    query_means,
    read_collections,
    run_trial,
    run_trials,
    spam,
    table_of,
)
from studies.tests.tools import run_paper
from tests.ranking_data import linear_queries

X, Y, QID = linear_queries(n_queries=12, noise=2.0)
SMALL = Collection("small", X, Y, QID, functions=True)


class TestRoles:
    @pytest.mark.parametrize(("n", "trials"), [(50, 50), (36, 20), (10, 10)])
    def test_every_query_has_every_role_alike(self, n, trials):
        queries = np.arange(n) * 3
        dealt = deal(queries, trials)
        assert len(dealt) == trials
        for roles in dealt:
            together = np.concatenate([roles.train, roles.validate, roles.test])
            assert sorted(together) == queries.tolist()
        for role, share in (("train", 0.2), ("validate", 0.1), ("test", 0.7)):
            times = np.unique(
                np.concatenate([getattr(roles, role) for roles in dealt]), return_counts=True
            )
            assert times[0].tolist() == queries.tolist()
            assert set(times[1]) == {round(share * trials)}

    def test_as_in_the_paper(self):
        sizes = {(r.train.size, r.validate.size, r.test.size) for r in deal(np.arange(50), 50)}
        assert sizes == {(10, 5, 35)}

    def test_seeds(self):
        first, again, other = (deal(np.arange(50), 10, seed)[3].train for seed in (1, 1, 2))
        assert first.tolist() == again.tolist() != other.tolist()

    @pytest.mark.parametrize(("n", "trials"), [(9, 10), (50, 15), (50, 0)])
    def test_too_few(self, n, trials):
        with pytest.raises(ValueError, match=f"got {n} and {trials}"):
            deal(np.arange(n), trials)


class TestCollections:
    def test_the_constructed_one(self):
        found = spam()
        assert found.features.shape == (10_000, 2)
        assert np.bincount(found.qid, weights=found.relevant).tolist() == [10.0] * 50
        single = [average_precision(found.relevant, f, found.qid).mean() for f in found.features.T]
        ranker = SVMMAPRanker(100.0).fit(found.features, found.relevant, found.qid)
        both = ranker.score(found.features, found.relevant, qid=found.qid)
        assert both > single[1] + 0.05 > single[0] + 0.1
        assert 0.0 < ranker.coef_[0] < ranker.coef_[1]

    def test_files(self, tmp_path):
        lines = "2 qid:1 1:0.5\n0 qid:1 42:1\n0 qid:2 1:1\n0 qid:2 1:2\n"
        (tmp_path / "clueweb09").mkdir()
        (tmp_path / "clueweb09/part1.txt").write_text(lines)
        (tmp_path / "clueweb09/part2.txt.xz").write_bytes(lzma.compress(lines.encode()))
        (tmp_path / "lightgbm").mkdir()
        (tmp_path / "lightgbm/rank.train").write_text("2 1:1\n1 2:1\n0 3:1\n")
        (tmp_path / "lightgbm/rank.train.query").write_text("2\n1\n")
        constructed, web, trees = read_collections(tmp_path)
        assert constructed.name == "constructed"
        assert (web.name, trees.name) == ("ClueWeb09", "LightGBM")
        # Queries of one class are left out; the same number in two files is two queries.
        assert web.queries.size == 2
        assert web.features.shape == (4, 42)
        assert web.relevant.tolist() == [1, 0, 1, 0]
        assert trees.features.shape == (2, 300)
        assert trees.relevant.tolist() == [1, 0]

    def test_folders_without_any(self, tmp_path):
        with pytest.raises(ValueError, match="must hold a folder clueweb09 or lightgbm"):
            read_collections(tmp_path)
        (tmp_path / "clueweb09").mkdir()
        with pytest.raises(ValueError, match=r"must hold files clueweb09/part\*.txt\*, got none"):
            read_collections(tmp_path)
        assert [each.name for each in read_collections(None)] == ["constructed"]


class TestTrials:
    def test_every_contender_is_chosen_by_validation_and_tested(self):
        roles = Roles(np.arange(5), np.arange(5, 8), np.arange(8, 12))
        found = run_trial(SMALL, roles)
        names = [contender.name for contender in contenders(SMALL)]
        assert names[:6] == ["SVM-MAP", "SVM-ROC", "SVMacc", "SVMacc2", "SVMacc3", "SVMacc4"]
        assert list(found.precisions) == list(found.costs) == names
        for name in names:
            assert sorted(found.precisions[name].index) == [8, 9, 10, 11]
            assert found.precisions[name].mean() > 0.4
            assert found.costs[name] in COSTS or name == "lambdarank"
        assert 0.0 < found.gap < 0.05
        assert found.tightest >= 0.0

    @pytest.mark.slow
    def test_labels_of_test_queries_are_not_seen(self):
        roles = Roles(np.arange(5), np.arange(5, 8), np.arange(8, 12))
        turned = replace(SMALL, relevant=np.where(QID >= 8, 1 - Y, Y))
        first, second = (run_trial(each, roles) for each in (SMALL, turned))
        assert first.costs == pytest.approx(second.costs, nan_ok=True)
        assert first.precisions["SVM-MAP"].mean() > second.precisions["SVM-MAP"].mean()

    def test_features_that_are_no_functions_are_not_binned_nor_normalised(self):
        raw = replace(SMALL, functions=False)
        assert {c.name for c in contenders(SMALL)} - {c.name for c in contenders(raw)} == {
            "SVMacc3",
            "SVMacc4",
        }

    def test_a_slack_below_the_loss_ends_the_run(self, monkeypatch):
        def broken(*task):
            return replace(run_trial(*task), tightest=-0.01)

        monkeypatch.setattr(trials_module, "run_trial", broken)
        with pytest.raises(ValueError, match=r"slack must bound the loss .* got -0.01 below it"):
            run_trials(SMALL, deal(SMALL.queries, 10)[:1])


@pytest.mark.slow
def test_tables():
    outcomes = run_trials(SMALL, deal(SMALL.queries, 10)[:5])
    means = query_means(SMALL, outcomes)
    pooled = pd.concat([outcome.precisions["SVM-ROC"] for outcome in outcomes])
    assert means["SVM-ROC"].to_dict() == pooled.groupby(level=0).mean().to_dict()
    assert list(means)[-3:] == ["best func.", "2nd best", "3rd best"]
    table = table_of(means).set_index("model")
    assert table.loc["SVM-MAP", "map"] == pytest.approx(means["SVM-MAP"].mean())
    wins = (means["SVM-MAP"] > means["best func."]).sum()
    assert table.loc["best func.", "wins"] == wins
    assert table.loc["best func.", "map"] > table.loc["3rd best", "map"]


def test_tables_as_the_paper_prints_them():
    table = pd.DataFrame(
        {
            "model": ["SVM-MAP", "SVM-ROC", "SVMacc"],
            "map": [0.2421, 0.2374, 0.1469],
            "wins": [np.nan, 29, 47],
            "losses": [np.nan, 21, 3],
            "p_value": [np.nan, 0.2, 1e-9],
        }
    )
    assert as_printed(table).to_numpy().tolist() == [
        ["SVM-MAP", "0.242", "-"],
        ["SVM-ROC", "0.237", "29/21"],
        ["SVMacc", "0.147", "47/3 **"],
    ]


class TestCommand:
    @pytest.mark.slow
    def test_writes_tables(self, tmp_path):
        out = tmp_path / "out"
        shown = run_paper("svm_map", "--out", out).stdout
        assert "constructed: mean average precision, 10 trials" in shown
        table = pd.read_csv(out / "svm_map.csv").set_index("model")
        assert table.loc["SVM-MAP", "map"] > table.loc["SVM-ROC", "map"] + 0.005
        assert table.loc["SVM-ROC", "wins"] > 2 * table.loc["SVM-ROC", "losses"]
        assert table.loc["SVM-ROC", "p_value"] < 0.01
        assert table["largest_gap"].max() <= 0.01
        assert table["least_margin"].min() > 0.0
        page = (out / "svm_map.md").read_text()
        assert f"| SVM-MAP | {table.loc['SVM-MAP', 'map']:.3f} | - |" in page
        assert f"{table.loc['SVM-MAP', 'map']:.3f}" in shown

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--trials", "7"], "trials a multiple of 10"),
            (["--jobs", "0"], "--jobs"),
            (["--data", "nowhere"], "must hold a folder clueweb09 or lightgbm"),
        ],
    )
    def test_wrong_use(self, tmp_path, options, message):
        done = run_paper("svm_map", "--out", tmp_path / "out", *options, code=2)
        assert message in " ".join(done.stderr.split())
        assert not (tmp_path / "out").exists()
