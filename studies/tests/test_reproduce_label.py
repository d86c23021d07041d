"""The experiment of learning across tasks: corpora, inputs, methods, methods, table, command."""

import lzma

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import f1_score, log_loss, roc_auc_score

from studies.papers import corpora
from studies.papers.corpora import read_mulan
from studies.papers.label import methods
from studies.papers.label.experiment import MEASURES, PUBLISHED, by_task, label_table, mark_of
from studies.papers.label.methods import (
    BASE,
    Corpus,
    Decided,
    Setting,
    Task,
    multilabel,
    reuters,
    tasks_of,
)
from studies.tests.problems_data import STORY
from studies.tests.tools import run_paper

XML = '<labels xmlns="http://mulan.sourceforge.net/labels">{}</labels>'
LABEL = '<label name="{}"></label>'


def made_task(k, n=90, m=120, corpus="a"):
    """Return a task of four scores and two indicators, each task on a scale of its own."""
    rng = np.random.default_rng(k)
    scale = np.exp(rng.normal(size=6))

    def draw(size):
        truth = np.arange(size) % 6 == 0
        sides = np.where(truth, 1.0, -1.0)
        scores = sides[:, None] + rng.normal(size=(size, 4)) * [1.2, 1.2, 1.5, 0.8]
        return np.column_stack([scores, rng.normal(size=(size, 2))]) * scale, truth

    (old, positive), (new, truth) = draw(n), draw(m)
    return Task(corpus, f"topic {k}", old, positive, np.arange(n) // 6 % 2, new, truth)


TASKS = [made_task(k, corpus="ab"[k % 2]) for k in range(4)]


@pytest.fixture(scope="module")
def decided():
    return methods.decide_all(TASKS, "together")


def write_mulan(folder, name, *, documents=60, packed=True, seed=0):
    """Write words and two labels, of which each has words of its own; labels stand in between."""
    rng = np.random.default_rng(seed)
    labels, words = ("'with blank'", "rare"), [f"w{k}" for k in range(12)]
    names = [*words[:5], labels[0], *words[5:], labels[1]]
    head = ["@relation x", "", *(f"@attribute {each} {{0,1}}" for each in names), "", "@data"]
    for part in ("train", "test"):
        lines = []
        for k in range(documents):
            first, second = k % 3 == 0, k % 5 == 0
            share = np.full(12, 0.3)
            share[:3] += 0.5 * first
            share[3:6] += 0.5 * second
            there = rng.random(12) < share
            values = [*there[:5], first, *there[5:], second]
            lines.append("{" + ",".join(f"{i} 1" for i, v in enumerate(values) if v) + "}")
        content = "\n".join([*head, *lines])
        if packed:
            (folder / f"{name}-{part}.arff.xz").write_bytes(lzma.compress(content.encode()))
        else:
            (folder / f"{name}-{part}.arff").write_text(content)
    named = "".join(LABEL.format(each.strip("'")) for each in labels)
    (folder / f"{name}.xml").write_text(XML.format(named))


ARFF = """@relation r
@attribute w1 {0,1}
@attribute w2 {0, 1}
@attribute L {0,1}
@data
{0 1,2 1}
{1 1}
"""


def read_arff(folder, train, test=ARFF):
    (folder / "x.xml").write_text("<labels><label name='L'/></labels>")
    (folder / "x-train.arff").write_text(train)
    (folder / "x-test.arff").write_text(test)
    return read_mulan(folder, "x")


class TestReader:
    @pytest.mark.parametrize("packed", [True, False])
    def test_words_and_labels(self, tmp_path, packed):
        write_mulan(tmp_path, "enron", packed=packed)
        found = read_mulan(tmp_path, "enron")
        assert found.labels == ("with blank", "rare")
        assert found.train.shape == found.test.shape == (60, 12)
        assert set(found.train.data) == {1.0}
        assert found.train_labels.sum(axis=0).tolist() == [20, 12]
        # The first three words are the first label's.
        words = found.train.toarray()
        by_label = words[found.train_labels[:, 0]].mean(axis=0) > 0.6
        assert by_label.tolist()[:3] == [True] * 3

    def test_refusals(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"enron\.xml"):
            read_mulan(tmp_path, "enron")
        write_mulan(tmp_path, "enron")
        (tmp_path / "enron.xml").write_text(XML.format(LABEL.format("other")))
        with pytest.raises(ValueError, match=r"every label must be an attribute .* 'other'"):
            read_mulan(tmp_path, "enron")
        (tmp_path / "enron.xml").write_text("no XML")
        with pytest.raises(ValueError, match=r"enron\.xml must be an XML file of labels"):
            read_mulan(tmp_path, "enron")
        (tmp_path / "enron.xml").write_text("<labels><label/></labels>")
        with pytest.raises(ValueError, match=r"must hold labels, each with a name; got \[None\]"):
            read_mulan(tmp_path, "enron")

    @pytest.mark.parametrize(
        "changed",
        [
            ("{0 1,2 1}", " {0 1,2 1}  "),
            ("{0 1,2 1}", "{0 '1', 2 1}"),
            ("@attribute w1", "@attribute\tw1"),
            ("@data", "% a comment\n\n@data"),
        ],
    )
    def test_blanks_and_comments_mean_nothing(self, tmp_path, changed):
        found = read_arff(tmp_path, ARFF.replace(*changed))
        assert found.train.toarray().tolist() == [[1.0, 0.0], [0.0, 1.0]]
        assert found.train_labels.tolist() == [[True], [False]]

    @pytest.mark.parametrize("row", ["{-1 1}", "{9 1}", "{1 2}", "{a b}", "{1 ?}", "1,0,1", "{0 1"])
    def test_rows_that_are_not_sparse_words(self, tmp_path, row):
        with pytest.raises(ValueError, match=r"a row of x-train\.arff must be sparse, .* got"):
            read_arff(tmp_path, ARFF.replace("{1 1}", row))

    def test_both_parts_have_the_same_attributes(self, tmp_path):
        other = ARFF.replace("w1", "w3")
        with pytest.raises(ValueError, match=r"x-test\.arff must have the attributes of x-train"):
            read_arff(tmp_path, ARFF, other)

    def test_a_file_that_is_not_packed(self, tmp_path):
        write_mulan(tmp_path, "enron")
        (tmp_path / "enron-train.arff.xz").write_text("no archive")
        with pytest.raises(ValueError, match=r"enron-train\.arff\.xz must be a file packed by xz"):
            read_mulan(tmp_path, "enron")


class TestCorpora:
    def test_reuters(self):
        rows = [("train", ("corn",), "corn up")] * 3 + [("test", ("corn", "rye"), "corn down")]
        rows += [("train", ("rye",), "rye up"), ("train", (), "a ship")]
        frame = pd.DataFrame(rows, columns=["split", "topics", "text"])
        found = reuters(frame, 2)
        assert found.topics == ("corn", "rye")
        assert found.positive.sum(axis=0).tolist() == [3, 1]
        assert found.truth.sum(axis=0).tolist() == [1, 1]
        assert found.train.shape[0] == 5
        # One positive cannot be both trained on and held out.
        assert found.usable().topics == ("corn",)

    def test_topics_without_test_positives_are_left_out(self):
        positive, truth = np.ones((3, 2), dtype=bool), np.array([[True, False]])
        words = sparse.csr_matrix(np.eye(3))
        found = Corpus("x", ("a", "b"), words, words, positive, truth).usable()
        assert found.topics == ("a",)
        assert found.truth.tolist() == [[True]]

    @pytest.mark.slow
    def test_from_files_to_inputs(self, tmp_path):
        for seed, name in enumerate(("enron", "medical")):
            write_mulan(tmp_path, name, seed=seed)
        tasks = tasks_of([corpus.usable() for corpus in multilabel(tmp_path)])
        assert [task.name for task in tasks][:2] == ["enron/with blank", "enron/rare"]
        first = tasks[0]
        assert first.inputs.shape == first.new.shape == (60, 25)
        assert sorted(set(first.fold)) == [0, 1, 2, 3, 4]
        for k in range(len(BASE)):
            assert roc_auc_score(first.positive, first.inputs[:, k]) > 0.7
            assert roc_auc_score(first.truth, first.new[:, k]) > 0.7


class TestMethods:
    @pytest.mark.slow
    def test_all_decide_on_all_tasks(self, decided):
        assert list(decided) == [*methods.ALONE, *methods.TOGETHER]
        for found in decided.values():
            assert len(found) == 4
            for each, task in zip(found, TASKS, strict=True):
                assert set(each.taken) == {"f1", "error"}
                assert each.log_odds.shape == task.truth.shape
                assert roc_auc_score(task.truth, np.clip(each.log_odds, -99, 99)) > 0.8

    @pytest.mark.slow
    def test_a_method_of_one_task_sees_no_other(self, decided):
        for name, method in methods.ALONE.items():
            (alone,) = method(TASKS[:1], TASKS[:1], Setting())
            np.testing.assert_array_equal(alone.log_odds, decided[name][0].log_odds)

    @pytest.mark.slow
    def test_slow_ones_are_taken_if_asked_for(self, monkeypatch):
        monkeypatch.setattr(methods, "ALONE", {})
        monkeypatch.setattr(methods, "TOGETHER", {})
        assert methods.decide_all(TASKS[:1], "together") == {}
        (found,) = methods.decide_all(TASKS[:1], "together", slow=True)["bayes"]
        assert roc_auc_score(TASKS[0].truth, found.log_odds) > 0.8

    def test_a_method_of_all_tasks_does(self, decided):
        for name, method in methods.TOGETHER.items():
            alone = method(TASKS[:1], TASKS[:1], Setting())[0]
            assert (alone.log_odds != decided[name][0].log_odds).any()

    @pytest.mark.slow
    def test_test_labels_are_not_used(self, decided, monkeypatch):
        quick = {name: methods.ALONE[name] for name in ("SVM", "STRIVE-D")}
        monkeypatch.setattr(methods, "ALONE", quick)
        blind = [
            Task(t.corpus, t.topic, t.inputs, t.positive, t.fold, t.new, ~t.truth) for t in TASKS
        ]
        again = methods.decide_all(blind, "together")
        for name, found in again.items():
            for one, other in zip(found, decided[name], strict=True):
                np.testing.assert_array_equal(one.log_odds, other.log_odds)

    def test_kept_trees_change_nothing(self, tmp_path):
        method = methods.TOGETHER["LABEL-D (pooled)"]
        kept = Setting(joblib.Memory(tmp_path, verbose=0))
        for setting in (kept, kept, Setting()):
            found = method(TASKS, TASKS, setting)
            if setting is kept:
                first = found
        for one, other in zip(first, found, strict=True):
            np.testing.assert_array_equal(one.log_odds, other.log_odds)


class TestProtocols:
    @pytest.mark.parametrize("name", ["tasks-left-out", "corpora-left-out"])
    def test_every_task_is_left_out_once(self, name):
        groups = methods.PROTOCOLS[name](TASKS, 0)
        assert sorted(k for group in groups for k in group) == [0, 1, 2, 3]
        if name == "corpora-left-out":
            assert groups == [[0, 2], [1, 3]]

    def test_labels_of_tasks_left_out_are_not_seen(self):
        """Exchanging the classes of one corpus does not change the answers for its tasks."""
        turned = [
            Task(t.corpus, t.topic, t.inputs, ~t.positive, t.fold, t.new, t.truth)
            if t.corpus == "a"
            else t
            for t in TASKS
        ]
        before, after = (methods.decide_all(t, "corpora-left-out") for t in (TASKS, turned))
        for name, found in before.items():
            for k in (0, 2):
                np.testing.assert_array_equal(found[k].log_odds, after[name][k].log_odds)
            assert (found[1].log_odds != after[name][1].log_odds).any()

    @pytest.mark.parametrize("name", ["tasks-left-out", "corpora-left-out"])
    def test_all_at_once_are_refused(self, name):
        with pytest.raises(ValueError, match=f"{name} must leave tasks to learn from"):
            methods.decide_all(TASKS[:1], name)

    def test_answers_come_in_the_order_of_tasks(self):
        found = methods.decide_all(TASKS, "tasks-left-out")
        assert list(found) == list(methods.WITHOUT_LABELS)
        for decided in found.values():
            for each, task in zip(decided, TASKS, strict=True):
                assert roc_auc_score(task.truth, each.log_odds) > 0.8


class TestTable:
    def test_measures_against_scikit_learn(self, decided):
        table = by_task(decided, TASKS)
        row = table[(table["method"] == "weights, pooled") & (table["topic"] == "topic 2")].iloc[0]
        each, truth = decided["weights, pooled"][2], TASKS[2].truth
        assert row["Macro F1"] == pytest.approx(f1_score(truth, each.taken["f1"]))
        assert row["Error"] == pytest.approx((each.taken["error"] != truth).mean())
        assert row["norm Error"] == pytest.approx(row["Error"] / truth.mean())
        p = 1.0 / (1.0 + np.exp(-each.log_odds))
        assert row["log-loss"] == pytest.approx(log_loss(truth, p) / np.log(2.0))

    def test_certain_and_wrong_costs_all(self):
        task = TASKS[0]
        each = Decided(dict.fromkeys(("f1", "error"), task.truth), np.full(120, -np.inf))
        assert by_task({"sure": [each]}, [task])["log-loss"].tolist() == [np.inf]

    def test_marks(self):
        values = np.linspace(0.0, 1.0, 10)
        assert mark_of(values - 0.1, values, "Error") == "**"
        assert mark_of(values + 0.1, values, "Error") == ""
        mixed = values - 0.1 * np.where(np.arange(10) < 9, 1.0, -1.0)
        assert mark_of(mixed, values, "Error") == "*"
        assert mark_of(values, values, "Macro F1") == ""

    def test_the_table(self, decided):
        shown = label_table(by_task(decided, TASKS), against="SVM").set_index("method")
        assert shown.loc["LABEL-D (general)", "norm Error, paper"] == "0.4512"
        assert shown.loc["weights, pooled", "Error, paper"] == "-"
        assert set(PUBLISHED) <= set(decided)
        assert {len(row) for row in PUBLISHED.values()} == {len(MEASURES)}


class TestCommand:
    @pytest.fixture
    def data(self, tmp_path, monkeypatch):
        monkeypatch.setattr(corpora, "STORIES", 80)
        for seed, name in enumerate(("enron", "medical")):
            write_mulan(tmp_path, name, seed=seed)
        words = np.array(["corn", "wheat", "up", "down", "said", "a", "the", "mln"])
        rng, stories = np.random.default_rng(0), []
        for k in range(80):
            share = np.ones(8)
            share[:2] = 6.0 if k % 4 == 0 else 0.2
            text = " ".join(rng.choice(words, 20, p=share / share.sum()))
            topics = "<D>corn</D>" if k % 4 == 0 else ""
            split = "TRAIN" if k < 50 else "TEST"
            stories.append(STORY.format(split=split, number=k + 1, topics=topics, text=text))
        (tmp_path / "sgm").mkdir()
        (tmp_path / "sgm" / "reut2-000.sgm").write_text("\n".join(stories))
        return tmp_path

    @pytest.mark.slow
    def test_files(self, data, tmp_path, monkeypatch):
        quick = {name: methods.ALONE[name] for name in ("SVM", "STRIVE-D")}
        monkeypatch.setattr(methods, "ALONE", quick)
        options = ("--data", data / "sgm", "--multilabel", data, "--topics", "1")
        out = tmp_path / "out"
        shown = run_paper("label", *options, "--out", out).stdout
        assert "reuters: 1 of 1 topics" in shown
        assert "5 tasks, together" in shown
        table = pd.read_csv(out / "label.csv")
        assert len(table) == 5 * (2 + len(methods.TOGETHER))
        assert "LABEL-D (pooled)" in (out / "label.md").read_text()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--protocol", "one"), "argument --protocol: invalid choice: 'one'"),
            (("--topics", "0"), "--topics"),
            (("--multilabel", "nowhere"), "nowhere"),
        ],
    )
    def test_refusals(self, data, tmp_path, options, message):
        given = ("--data", data / "sgm", "--topics", "1", "--out", tmp_path / "out")
        done = run_paper("label", *given, *options, code=2)
        assert message in done.stderr
