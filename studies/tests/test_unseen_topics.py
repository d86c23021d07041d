"""The study of pooled topics on unseen data sets: its samples and bars, and all of it in little."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import special

from bayescal import TopicCalibrator
from bayescal.metrics import losses
from studies import unseen
from studies.command import Options, main
from studies.peers import DEFAULT, PEERS, PLAIN, POOLED
from studies.problems.library import EmptyLibraryError
from studies.tests.unseen_data import CLASSES, documents, missed_bars, problem, write_library
from studies.unseen_report import (
    COVERAGES,
    LATER,
    SAME,
    against_default,
    compare,
    how_common,
    of_kinds,
    write_topics_report,
)
from studies.unseen_samples import draw_sample, rarer_share
from studies.unseen_topics import (
    CLASSIFIERS,
    LEAST_TOPICS,
    OneTopic,
    collections,
    fit_topics,
    measure,
    run,
)


def collection(shifts=(0.0, 0.5, 1.0), n=400):
    """Topics of one classifier, whose scores are moved by the shifts."""
    whole = problem(n)
    score, label = documents(n, 0, classes=len(shifts))
    return [
        replace(whole, class_name=name, score=score[:, k] + shift, positive=label[:, k])
        for k, (name, shift) in enumerate(zip("abcdefg", shifts, strict=False))
    ]


ALONE = {DEFAULT: {"prior_knowledge": "vague"}}


@pytest.fixture(scope="module")
def measured():
    return pd.DataFrame(measure(collection(), (10,)))


class TestCollections:
    def test_they_are_classes_of_a_data_set_that_one_classifier_scored(self, tmp_path):
        library = write_library(tmp_path)
        found = list(collections(library, 10, 0))
        assert [{each.data_set for each in group} for group in found] == [
            {"one"}, {"one"}, {"two"}, {"two"},
        ]  # fmt: skip
        for group in found:
            assert len({each.classifier for each in group}) == 1
            assert sorted(each.class_name for each in group) == list(CLASSES)
        assert {group[0].classifier for group in found} <= set(CLASSIFIERS)

    def test_topics_are_drawn_at_random_whatever_else_there_is(self, tmp_path):
        both, alone = write_library(tmp_path / "both"), tmp_path / "alone"
        write_library(alone, ("two",))
        drawn = [
            {
                tuple(each.class_name for each in group)
                for group in collections(folder, 2, seed)
                if group[0].data_set == "two"
            }
            for folder, seed in ((both, 0), (alone, 0), *((alone, seed) for seed in range(1, 8)))
        ]
        assert drawn[0] == drawn[1]
        assert {len(each) for names in drawn for each in names} == {2}
        assert len(set.union(*drawn)) > 3

    def test_two_classes_are_no_collection_nor_are_other_classifiers(self, tmp_path):
        library = write_library(tmp_path)
        path = library / "one" / "linear_svm.npz"
        with np.load(path) as file:
            two = dict(file) | {"classes": np.array(CLASSES[: LEAST_TOPICS - 1])}
        np.savez(path, **two)
        (library / "two" / "random_forest.npz").rename(library / "two" / "gradient_boosting.npz")
        found = [(group[0].data_set, group[0].classifier) for group in collections(library, 9, 0)]
        assert found == [("one", "random_forest"), ("two", "linear_svm")]


class TestMeasures:
    @pytest.mark.slow
    def test_single_topics_have_the_rows_of_the_study_of_single_topics(self, measured):
        assert set(measured["method"]) == {POOLED, DEFAULT, *PEERS, PLAIN}
        alone = [row for each in collection() for row in unseen.measure(each, (10,), ALONE)]
        rest = measured[measured["method"] != POOLED].reset_index(drop=True)
        share = rest.pop("share")
        pd.testing.assert_frame_equal(rest, pd.DataFrame(alone)[rest.columns])
        shares = {each.class_name: each.positive.mean() for each in collection()}
        assert share.tolist() == rest["class"].map(shares).tolist()

    @pytest.mark.slow
    def test_pooled_topics_are_one_fit_to_all_their_samples(self, measured):
        topics = collection()
        drawn = {each.class_name: draw_sample(each, 10) for each in topics}
        rows = pd.DataFrame(
            {"score": score, "label": label, "topic": name}
            for name, sample in drawn.items()
            for score, label in zip(sample.scores, sample.labels, strict=True)
        )
        fitted = TopicCalibrator(draws=250, random_state=0).fit(rows)
        for name, sample in drawn.items():
            for when, (score, positive) in sample.judged.items():
                log_odds = fitted.decision_function(score, [name] * score.size)
                bits = losses(log_odds, positive).log_loss / positive.size
                row = measured[
                    (measured["class"] == name)
                    & (measured["time"] == when)
                    & (measured["method"] == POOLED)
                ]
                assert row["bits"].to_numpy() == pytest.approx([bits])
        # On the same time, where the topic has four times the sample.
        large = {e.class_name for e in topics if 4 * drawn[e.class_name].labels.size <= 400}
        covered = measured[measured["coverage"].notna()]
        assert set(covered["class"]) == large
        assert set(covered["method"]) == {POOLED, DEFAULT}
        assert set(covered["time"]) == {SAME}

    def test_each_topic_is_asked_for_itself(self):
        topics = collection(shifts=(0.0, 4.0, 8.0))
        samples = {each.class_name: draw_sample(each, 60) for each in topics}
        fitted = fit_topics({"draws": 100}, samples)
        for k, name in enumerate(samples):
            at = np.array([-1.0, 0.0, 1.0]) + 4.0 * k
            topic = OneTopic(fitted, name)
            assert topic.decision_function(at) == pytest.approx(at - 4.0 * k, abs=0.7)
            low, high = topic.predict_interval(at, 0.9).T
            middle = special.expit(topic.decision_function(at))
            assert ((low < middle) & (middle < high)).all()

    @pytest.mark.slow
    def test_a_size_needs_three_topics_with_documents_enough(self):
        topics = collection(shifts=(0.0, 0.0, 0.0, 0.0))
        rare = [
            replace(each, positive=each.positive & (np.arange(400) % 5 == 0)) for each in topics[:2]
        ]
        two_rare = [*rare, *topics[2:]]
        n = round(0.5 * 400 * max(rarer_share(each.positive) for each in topics[2:]))
        assert measure(two_rare, (n,)) == []
        found = pd.DataFrame(measure([rare[0], *topics[1:]], (n,)))
        assert set(found["class"]) == {each.class_name for each in topics[1:]}


def made(pooled=1.0, band=0.9, sets=4):
    """Losses of the default 1 and of Platt 2 on collections of three topics."""
    rows = [
        (f"set {k}", topic, "linear_svm", "SVM", time, 10, method, each, covered)
        for k in range(sets)
        for topic in CLASSES
        for time in (SAME, LATER)
        for method, each, covered in (
            ("Platt", 2.0, np.nan),
            (DEFAULT, 1.0, band if time == SAME else np.nan),
            (POOLED, pooled, band if time == SAME else np.nan),
        )
    ]
    names = ["data_set", "class", "classifier", "kind", "time", "n", "method", "bits", "coverage"]
    found = pd.DataFrame(rows, columns=names)
    found["share"] = 0.1
    return found.assign(brier=found["bits"], **dict.fromkeys(COVERAGES, found["coverage"]))


class TestReport:
    def test_the_default_is_a_peer_of_pooled_topics(self):
        rows = made(pooled=0.5)
        table = compare(rows, ["kind", "time", "n"], ["data_set"], "bits", (POOLED,))
        row = table[(table["method"] == POOLED) & (table["time"] == SAME)].iloc[0]
        assert (row["peer"], row["theirs"], row["difference"]) == (DEFAULT, 1.0, -0.5)

    def test_all_kinds_count_alike_in_their_mean(self):
        svm, forest = made(0.5), made(1.0).assign(kind="forest", classifier="random_forest")
        # Fewer topics of forests weigh as much as all topics of the SVM.
        rows = pd.concat([svm, forest[forest["class"] == "a"]])
        table = of_kinds(against_default(rows), (POOLED,)).set_index(["kind", "time", "method"])
        assert table.loc[("all kinds", SAME, POOLED), "difference"] == pytest.approx(-0.25)
        assert table.loc[("SVM", SAME, POOLED), "difference"] == pytest.approx(-0.5)

    def test_topics_are_much_commoner_or_rarer_than_the_median_of_the_others(self):
        shares = {"a": 0.1, "b": 0.1, "c": 0.1, "common": 0.5, "less common": 0.3, "rare": 0.02}
        rows = pd.concat([made(sets=1).assign(**{"class": name}) for name in shares])
        rows = rows.assign(share=rows["class"].map(shares)).reset_index(drop=True)
        # Against odds of 1/9 those are 9 times as large, 3.9 times, and less than a fifth.
        expected = {"a": 0, "b": 0, "c": 0, "common": 1, "less common": 0, "rare": -1}
        found = how_common(rows)
        assert dict(zip(rows["class"], found, strict=True)) == expected
        # Another size is another fit: of its three topics two are unlike the others.
        other = rows[rows["class"].isin(["a", "common", "less common"])].assign(n=20)
        found = how_common(pd.concat([rows, other], ignore_index=True))[len(rows) :]
        assert dict(zip(other["class"], found, strict=True)) == {
            "a": -1, "common": 1, "less common": 0,
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("pooled", "band", "missed"),
        [
            (1.0, 0.9, set()),
            (1.019, 0.9, set()),
            (1.04, 0.9, {"SVM"}),
            (1.06, 0.9, {"SVM", "set"}),
            (1.0, 0.85, {"band"}),
            (1.0, 0.97, {"band"}),
        ],
    )
    def test_bars_hold_and_are_missed(self, pooled, band, missed, tmp_path, monkeypatch):
        monkeypatch.setattr("studies.unseen_report.write_figure", lambda *_: None)
        write_topics_report("unseen_topics", made(pooled, band), tmp_path)
        assert missed_bars(tmp_path, "unseen_topics") == missed


class TestRun:
    @pytest.mark.slow
    def test_the_page_shows_what_was_measured(self, tmp_path, monkeypatch, capsys):
        library = write_library(tmp_path / "library")
        arguments = ("--quick", "--problems", library, "--out", tmp_path)
        monkeypatch.setattr(sys, "argv", ["unseen_topics", *map(str, arguments)])
        main("unseen_topics")
        assert "unseen_topics.md" in capsys.readouterr().out
        page = (tmp_path / "unseen_topics.md").read_text(encoding="utf-8")
        assert "$" not in page
        assert "6 topics in 2 collections of 2 data sets" in page.replace("\n", " ")
        table = pd.read_csv(tmp_path / "unseen_topics.csv")
        assert set(table["measure"]) == {"bits", "brier", *COVERAGES}
        gains = pd.read_csv(tmp_path / "unseen_topics_gains.csv")
        assert set(gains["by"]) == {"kind", "data_set", "share"}
        shown = gains[(gains["by"] == "kind") & (gains["measure"] == "bits")]
        assert set(shown["time"]) == {SAME, LATER}
        assert all(f"| {each:+.1f} ± " in page for each in shown["change %"])
        assert (tmp_path / "unseen_topics.png").stat().st_size > 10_000

    def test_fresh_data_sets_have_a_page_of_their_own(self, tmp_path):
        write_topics_report("fresh_topics", made(), tmp_path)
        page = (tmp_path / "fresh_topics.md").read_text(encoding="utf-8")
        assert "$" not in page
        assert (tmp_path / "fresh_topics.png").exists()

    def test_a_folder_without_problems_is_an_error_that_says_what_to_do(self, tmp_path):
        with pytest.raises(EmptyLibraryError, match="which holds none: make it by python -m"):
            run(Options(problems=tmp_path, out=tmp_path))
