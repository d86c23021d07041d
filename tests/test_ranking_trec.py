"""TREC files, their measures against pytrec_eval, and `bayescal ranking`."""

import builtins
import gzip
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from ir_measures import AP
from scipy.stats import ttest_rel

from bayescal import TopicCalibrator
from bayescal.cli.commands.ranking import _p_values
from bayescal.cli.tables import share
from bayescal.cli.terminal import UsageError
from bayescal.ranking import (
    QueriesLeftOutWarning,
    SVMMAPRanker,
    average_precision,
    evaluate,
    judge_run,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)
from tests.cli_tools import run as run_command

RNG = np.random.default_rng(5)
QUERIES, JUDGED, DEPTH = 20, 50, 20
# Names by ir_measures and by trec_eval.
NAMES = {
    "AP": "map", "AP@5": "map_cut_5", "RR": "recip_rank", "Rprec": "Rprec", "R@10": "recall_10",
    "P@10": "P_10", "Bpref": "bpref", "nDCG": "ndcg", "nDCG@10": "ndcg_cut_10",
}  # fmt: skip


def collection(depth=DEPTH, tied=False):
    """Return a run that is cut at a depth, and judgements of grades -2 to 3."""
    rows = []
    for query in range(QUERIES):
        grade = RNG.choice([-2, 0, 1, 2, 3], JUDGED, p=[0.1, 0.5, 0.2, 0.1, 0.1])
        score = grade + 2.0 * RNG.normal(size=JUDGED)
        score = score.round() if tied else score
        names = [f"GX{document:03d}-{query}" for document in RNG.permutation(JUDGED)]
        rows += [(f"q{query:03d}", *row) for row in zip(names, grade, score, strict=True)]
    qrels = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance", "score"])
    best = qrels.sort_values(["query_id", "score"], ascending=[True, False], kind="stable")
    run = best.groupby("query_id").head(depth)
    return run.drop(columns="relevance"), qrels.drop(columns="score")


def as_dict(table, value):
    return {
        query: dict(zip(rows["doc_id"], rows[value].tolist(), strict=True))
        for query, rows in table.groupby("query_id")
    }


@pytest.mark.parametrize("tied", [False, True])
def test_measures_of_truncated_runs_are_trec_evals(tied):
    run, qrels = collection(tied=tied)
    found = evaluate(run.sample(frac=1.0, random_state=0), qrels, NAMES)
    evaluator = pytrec_eval.RelevanceEvaluator(as_dict(qrels, "relevance"), set(NAMES.values()))
    expected = pd.DataFrame(evaluator.evaluate(as_dict(run, "score"))).T
    assert found.index.tolist() == [f"q{query:03d}" for query in range(QUERIES)]
    for mine, theirs in NAMES.items():
        assert found[mine].tolist() == expected.loc[found.index, theirs].tolist()
    assert (found["retrieved"] == DEPTH).all()
    if not tied:
        judged = judge_run(run, qrels)
        columns = judged["relevance"], judged["score"], judged["query_id"]
        options = {"relevance_threshold": 1}
        own = average_precision(*columns, n_relevant=found["relevant"], **options)
        np.testing.assert_allclose(own[found.index], found["AP"], rtol=1e-12)
        # Over the relevant documents that were retrieved, it is too large.
        assert average_precision(*columns, **options).mean() > found["AP"].mean() + 0.1


def test_queries_without_relevant_documents_count_0():
    """MAP was 1 for one perfect and one failed query."""
    rows = [("good", "a", 2.0), ("failed", "a", 2.0), ("unjudged", "a", 1.0), ("none", "a", 1.0)]
    run = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    judged = [("good", "a", 1), ("failed", "b", 1), ("absent", "a", 1), ("none", "a", 0)]
    qrels = pd.DataFrame(judged, columns=["query_id", "doc_id", "relevance"])
    with pytest.warns(QueriesLeftOutWarning, match="^1 of 4 .* left out: .* 'unjudged'") as told:
        found = evaluate(run, qrels, [AP])
    assert told[0].filename == __file__
    assert found["AP"].to_dict() == {"good": 1.0, "failed": 0.0, "absent": 0.0, "none": 0.0}
    assert found["relevant"].tolist() == [1, 1, 1, 0]
    assert found["retrieved"].tolist() == [1, 1, 0, 1]


def test_equal_scores_rank_by_falling_name():
    run = pd.DataFrame({"query_id": 1, "doc_id": ["a", "b", "c"], "score": [1.0, 1.0, 1.0]})
    for document, expected in zip("abc", (1 / 3, 1 / 2, 1.0), strict=True):
        qrels = pd.DataFrame({"query_id": ["1"], "doc_id": [document], "relevance": [1]})
        assert evaluate(run, qrels, ["RR"])["RR"].to_list() == [pytest.approx(expected)]


def test_both_gains_in_one_call_are_what_they_say():
    """ir_measures gives two gains in one call each other's values."""
    grades = {"a": 1, "b": 3, "c": 0, "d": 2, "e": -2}
    run = pd.DataFrame({"query_id": "q", "doc_id": list("eabcd"), "score": [5.0, 4, 3, 2, 1]})
    qrels = pd.DataFrame({"query_id": "q", "doc_id": list(grades), "relevance": grades.values()})
    discount = 1.0 / np.log2(np.arange(5) + 2.0)
    order, best = np.array([0, 1, 3, 0, 2]), np.array([3, 2, 1, 0, 0])
    found = evaluate(run, qrels, ["nDCG(dcg='exp-log2')", "nDCG", "nDCG(dcg='exp-log2')@2"])
    assert found["nDCG"].item() == pytest.approx(order @ discount / (best @ discount))
    order, best = 2.0**order - 1.0, 2.0**best - 1.0
    exponential = found["nDCG(dcg='exp-log2')"].item()
    assert exponential == pytest.approx(order @ discount / (best @ discount))
    cut = found["nDCG(dcg='exp-log2')@2"].item()
    assert cut == pytest.approx((order * discount)[:2].sum() / (best * discount)[:2].sum())


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_files_come_back_as_they_were_written(tmp_path, suffix):
    run, qrels = collection(depth=3)
    path, judgements = tmp_path / f"a.run{suffix}", tmp_path / f"qrels.txt{suffix}"
    write_run(run.sample(frac=1.0, random_state=1), path, tag="mine")
    write_qrels(qrels, judgements)
    key = ["query_id", "doc_id"]
    for found, expected in ((read_run(path), run), (read_qrels(judgements), qrels)):
        pd.testing.assert_frame_equal(
            found.sort_values(key, ignore_index=True), expected.sort_values(key, ignore_index=True)
        )
    text = gzip.decompress(path.read_bytes()) if suffix else path.read_bytes()
    lines = [line.split() for line in text.decode().splitlines()]
    assert [line[3] for line in lines] == ["1", "2", "3"] * QUERIES
    assert {(line[1], line[5]) for line in lines} == {("Q0", "mine")}
    scores = np.array([float(line[4]) for line in lines]).reshape(-1, 3)
    assert (np.diff(scores, axis=1) <= 0).all()


RUN = "q1 Q0 d1 1 2.5 x\n"


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_run, RUN + "\nq1 Q0 d2 2 1.5\n", "like 'q1 Q0 d7 1 2.5 bm25', got 'q1 Q0 d2 2 1.5' "
         "in line 3: not enough values"),
        (read_run, RUN + "q1 Q0 d2 2 high x", "in line 2: could not convert .* 'high'"),
        (read_run, RUN + "q1 Q0 d2 2 nan x", "score must be finite, got nan at position 1"),
        (read_run, RUN + RUN, "each document of a query once, got 'd1' twice for the query 'q1'"),
        (read_run, "", "must be a table with columns query_id, doc_id, score, and hold a document"),
        (read_run, b"q1 Q0 d\xff 1 2 x", "in line 1: 'utf-8' codec"),
        (read_qrels, "q1 0 d1 1\nq1 0 d2 1.5\n", "like 'q1 0 d7 2', got .* in line 2: invalid lit"),
        (read_qrels, RUN, "in line 1: too many values"),
    ],
)  # fmt: skip
def test_bad_files_are_named_with_the_line(tmp_path, read, text, message):
    path = tmp_path / "bad.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=f"^{path}.*{message}"):
        read(path)


def table(**columns):
    return pd.DataFrame({"query_id": ["q"], "doc_id": ["d"]} | columns)


@pytest.mark.parametrize(
    ("run", "qrels", "measures", "message"),
    [
        (table(), table(relevance=1), "AP", "run must be a table with columns query_id, doc_id, s"),
        ({"q": {"d": 1}}, table(relevance=1), "AP", "run must be a table"),
        (table(score=1.0), table(relevance=0.5), "AP", "qrels must hold whole numbers as relevan"),
        (table(score=1.0, doc_id=None), table(relevance=1), "AP", "name the query and the docum"),
        (table(score=1.0), table(relevance=1, query_id="r"), "AP", "in common, got 'q' .* 'r' in"),
        (table(score=1.0), table(relevance=1), "mapp", "measures must be .* got 'mapp'"),
        (table(score=1.0), table(relevance=1), "P", "measures must be .* got 'P'"),
        (table(score=1.0), table(relevance=1), "AP(of=3)", r"must be .* got 'AP\(of=3\)'"),
        (table(score=1.0), table(relevance=1), "AP@ten", "measures must be .* got 'AP@ten'"),
    ],
)
def test_bad_tables_and_measures_are_named(run, qrels, measures, message):
    with pytest.raises(ValueError, match=message):
        evaluate(run, qrels, [measures])


@pytest.mark.parametrize("name", ["a b", ""])
def test_names_that_a_file_cannot_hold_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match=f"must be text without spaces, got '{name}'"):
        write_run(table(score=1.0, doc_id=name), tmp_path / "a.run")
    assert list(tmp_path.iterdir()) == []


def test_the_extra_is_named_where_it_is_missing(monkeypatch, tmp_path):
    real = builtins.__import__

    def without(name, *arguments):
        if name == "ir_measures":
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install bayescal\[ranking\]"):
        read_run(tmp_path / "a.run")


def test_rankers_take_judged_runs():
    run, qrels = collection()
    judged = judge_run(run, qrels[qrels["query_id"] < "q006"])
    assert judged.index.tolist() == run.index[run["query_id"] < "q006"].tolist()
    # Documents without a judgement are not relevant.
    fewer = judge_run(run, qrels[qrels["relevance"] > 0])
    assert (fewer["relevance"] == 0).sum() == (judge_run(run, qrels)["relevance"] <= 0).sum()
    columns = judged["relevance"], judged["query_id"]
    ranker = SVMMAPRanker(relevance_threshold=1).fit(judged[["score"]], *columns)
    assert ranker.coef_.item() > 0.0


class TestShell:
    def test_p_values_are_those_of_all_signs_and_of_pairs(self):
        rng = np.random.default_rng(0)
        first, second = rng.random((2, 8))
        t, turned = _p_values(first - second, 0)
        assert t == pytest.approx(ttest_rel(first, second).pvalue, rel=1e-12)
        every = [abs((first - second) @ signs) for signs in product([-1.0, 1.0], repeat=8)]
        assert turned == np.mean(np.array(every) >= abs((first - second).sum()) - 1e-12)
        # The Monte Carlo error of 10,000 signs is at most .005.
        many = rng.random((2, 40))
        pair, turned = _p_values(many[0] - many[1], 1)
        assert (pair, turned) == _p_values(many[0] - many[1], 1)
        assert turned == pytest.approx(pair, abs=0.03)
        assert _p_values(np.zeros(8), 0) == (1.0, 1.0)
        with pytest.raises(UsageError, match="at least two queries with judgements, got one"):
            _p_values(np.ones(1), 0)

    @pytest.fixture
    def files(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        run, qrels = collection()
        worse = run.assign(score=run["score"] + 2.0 * RNG.normal(size=len(run)))
        write_run(run, "a.run")
        write_run(worse, "b.run")
        write_qrels(qrels, "qrels.txt")
        return run, worse, qrels

    def test_evaluates_and_compares(self, files):
        run, worse, qrels = files
        asked = ["ranking", "evaluate", "qrels.txt", "a.run"]
        text = run_command(*asked).stdout
        means = evaluate(run, qrels).mean()
        for name in ("AP", "nDCG@10", "RR"):
            assert f"{means[name]:.4f}" in next(x for x in text.splitlines() if name in x)
        text = run_command(*asked, "b.run", "-m", "AP(rel=2)", "--out", "out.csv").stdout
        first, second = (evaluate(each, qrels, ["AP(rel=2)"])["AP(rel=2)"] for each in (run, worse))
        (row,) = (line.split() for line in text.splitlines() if "AP(rel=2)" in line)
        assert row[1:3] == [f"{first.mean():.4f}", f"{second.mean():.4f}"]
        expected = _p_values((first - second).to_numpy(), 0)
        assert row[3:5] == [share(p) for p in expected]
        written = pd.read_csv("out.csv")
        assert written["run"].tolist() == ["a.run"] * QUERIES + ["b.run"] * QUERIES
        assert written["AP(rel=2)"].to_numpy() == pytest.approx(np.r_[first, second])

    def test_calibrates_queries_that_nobody_judged(self, files, monkeypatch):
        quick = partial(TopicCalibrator, parts="gaussian", draws=50)
        monkeypatch.setattr("bayescal.ranking.drawn_relevance.TopicCalibrator", quick)
        run, _, qrels = files
        write_run(
            run[run["query_id"].isin(["q000", "q001", "q002", "q003", "q018", "q019"])], "a.run"
        )
        write_qrels(qrels[qrels["query_id"] < "q004"], "judged.txt")
        result = run_command("ranking", "fit", "judged.txt", "a.run", "--out", "p.csv")
        found = pd.read_csv("p.csv")
        assert found["query_id"].tolist() == ["q018"] * DEPTH + ["q019"] * DEPTH
        assert (found["lower"] <= found["probability"]).all()
        truth = found.merge(qrels, on=["query_id", "doc_id"])["relevance"] > 0
        assert found["probability"][truth].mean() > found["probability"][~truth].mean() + 0.05
        assert "q018 " in result.stdout
        assert "q003 " not in result.stdout

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("evaluate a.run qrels.txt", "must hold lines like 'q1 0 d7 2', got .* in line 1"),
            ("evaluate qrels.txt none.run", "No such file .*none.run"),
            ("evaluate qrels.txt a.run -m mapp", "measures must be measures of ir_.* got 'mapp'"),
            ("fit qrels.txt a.run", "a.run must hold queries without judgements in qrels.txt"),
        ],
    )
    def test_says_what_is_wrong(self, files, arguments, message):
        error = run_command("ranking", *arguments.split(), code=2).stderr
        assert pd.Series([" ".join(error.split())]).str.contains(f"^Error: .*{message}").item()
