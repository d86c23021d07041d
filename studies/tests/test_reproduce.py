"""The reproduction: its table and marks against plain counting, and no test label in any fit."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import special
from scipy.stats import binomtest

from bayescal.metrics import losses
from studies.papers.methods import METHODS, Method, installed_methods
from studies.papers.sigir2003 import experiment
from studies.papers.sigir2003.experiment import learning_table, total_bits, totals_by_size, wide
from studies.papers.sigir2003.figures import binned_log_odds
from studies.papers.sigir2003.scores import (
    Decisions,
    TopicScores,
    count_words,
    decide,
    largest_topics,
    score_topics,
)
from studies.papers.sigir2003.table import MEASURES, PUBLISHED, marks, sign_tests, totals_table
from studies.tests.tools import run_paper
from tests import corpus as reuters

PAPER = ("Gauss", "A.Gauss", "Laplace", "A.Laplace", "LogReg", "LR+Noise", "raw")
NAMES = ["corn", "oil", "gold"]


def make_corpus(n=150, seed=0):
    """Return documents of three topics, and of none; words of a topic are likelier there."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(n):
        topics = tuple(name for name in NAMES if rng.random() < 0.25)
        words = list(rng.choice([f"w{i}" for i in range(30)], 25))
        words += [t for topic in topics for t in rng.choice([topic, "and"], 2)]
        words += list(rng.choice(NAMES, 1))  # a word of a topic says it, but not always
        split = "train" if k < 2 * n // 3 else "test"
        rows.append((k + 1, split, topics, "", " ".join(words)))
    return pd.DataFrame(rows, columns=["document", "split", "topics", "title", "text"])


def score(corpus, **arguments):
    return score_topics(corpus, NAMES, experiment.classifiers(), **arguments)


@cache
def scored():
    """Return the scores of the made corpus, computed once."""
    return score(make_corpus())


def log_odds(methods, scores):
    return experiment.decide_each(methods, scores)["naive_bayes"].log_odds


class TestTestDocumentsStayOut:
    def test_permuted_test_labels_change_no_fitted_number(self):
        corpus, paper, first = make_corpus(), installed_methods("paper"), scored()
        permuted = corpus.copy()
        test = np.flatnonzero(corpus["split"] == "test")
        other = np.random.default_rng(1).permutation(test)
        permuted["topics"] = corpus["topics"].to_numpy()
        for to, origin in zip(test, other, strict=True):
            permuted.at[to, "topics"] = corpus.at[origin, "topics"]
        second = score(permuted)
        for a, b in zip(first, second, strict=True):
            assert a.scores.tolist() == b.scores.tolist()
            assert a.new.tolist() == b.new.tolist()
        found, again = log_odds(paper, first), log_odds(paper, second)
        assert all(found[name].tolist() == again[name].tolist() for name in paper)
        assert any((a.truth != b.truth).any() for a, b in zip(first, second, strict=True))

    def test_training_labels_do_change_them(self):
        corpus = make_corpus()
        other = corpus.copy()
        train = np.flatnonzero(corpus["split"] == "train")
        for to, origin in zip(train, np.roll(train, 1), strict=True):
            other.at[to, "topics"] = corpus.at[origin, "topics"]
        assert scored()[0].new.tolist() != score(other)[0].new.tolist()

    def test_texts_of_test_documents_change_no_training_score(self):
        other = make_corpus()
        other.loc[other["split"] == "test", "text"] = "corn oil gold entirely other words"
        for a, b in zip(scored(), score(other), strict=True):
            assert a.scores.tolist() == b.scores.tolist()

    @pytest.mark.slow
    def test_the_same_seed_gives_the_same_bits_in_any_number_of_processes(self):
        corpus = make_corpus()
        one, two = scored(), score(corpus, jobs=2)
        assert all(a.scores.tolist() == b.scores.tolist() for a, b in zip(one, two, strict=True))
        other = score(corpus, random_state=1)
        assert any(a.scores.tolist() != b.scores.tolist() for a, b in zip(one, other, strict=True))


class TestTopics:
    def test_the_ten_largest_are_the_papers(self):
        corpus = reuters.corpus()
        assert largest_topics(corpus, 10) == list(reuters.TOPIC_COUNTS)
        assert len(largest_topics(corpus, 90)) == 90
        with pytest.raises(ValueError, match="topics must be from 1 to 90, got 91"):
            largest_topics(corpus, 91)

    def test_words_are_as_many_as_the_paper_says(self):
        train = reuters.corpus().query("split == 'train'")["text"]
        counts, _ = count_words(train, train.head(1))
        frequent = int((np.bincount(counts.nonzero()[1]) >= 3).sum())
        assert frequent == pytest.approx(15_000, rel=0.02)  # "approximately 15K"

    def test_few_positives_mean_fewer_folds_and_one_the_prior(self):
        corpus = make_corpus()
        train = np.flatnonzero(corpus["split"] == "train")
        corpus["topics"] = [t if "gold" not in t else () for t in corpus["topics"]]
        for k, number in enumerate((3, 1)):
            for row in train[10 * k : 10 * k + number]:
                corpus.at[row, "topics"] = (f"rare{number}",)
        rare3, rare1 = score_topics(
            corpus, ["rare3", "rare1"], {"naive_bayes": experiment.classifiers()["naive_bayes"]}
        )
        assert rare3.problem is not None
        assert np.isfinite(rare3.scores).all()
        assert rare1.problem is None
        found = decide({n: METHODS[n] for n in ("A.Laplace", "raw")}, [rare3, rare1]).log_odds
        n = rare1.labels.size
        assert special.expit(found["A.Laplace"][-1]) == pytest.approx(2 / (n + 2))
        assert found["raw"].tolist() == [*rare3.new, *rare1.new]


def decisions(**log_odds_by_method):
    truth = np.repeat([True, False], [20, 80])
    return Decisions(
        "naive_bayes", {k: np.asarray(v) for k, v in log_odds_by_method.items()}, truth
    )


@pytest.fixture
def random():
    """Seven methods that are right by more and more."""
    rng = np.random.default_rng(0)
    truth = np.repeat([1.0, -1.0], [20, 80])
    values = {n: truth * rng.normal(1.0 + 0.2 * k, 2.0, 100) for k, n in enumerate(PAPER)}
    return decisions(**values)


class TestTable:
    def test_totals_are_those_of_the_metrics(self, random):
        table = totals_table(random).set_index("method")
        for name, values in random.log_odds.items():
            expected = losses(values, random.truth)
            assert table.loc[name, "log_loss"] == expected.log_loss
            assert table.loc[name, "errors"] == expected.errors
            assert table.loc[name, "published_errors"] == PUBLISHED["naive_bayes"][name].errors

    def test_wins_are_counted_document_by_document(self, random):
        tests = sign_tests(random).set_index(["measure", "a", "b"])
        assert len(tests) == 3 * 21
        for a, b in (("Gauss", "A.Laplace"), ("LogReg", "raw")):
            p = {m: special.expit(random.log_odds[m]) for m in (a, b)}
            so = {m: np.where(random.truth, v, 1 - v) for m, v in p.items()}
            for measure, value in (
                ("log_loss", lambda v: -np.log2(v)),
                ("squared_error", lambda v: (1 - v) ** 2),
                ("errors", lambda v: v <= 0.5),
            ):
                lost = {m: value(v).astype(float) for m, v in so.items()}
                wins = int((lost[a] < lost[b]).sum()), int((lost[a] > lost[b]).sum())
                row = tests.loc[(measure, a, b)]
                assert (row["a_wins"], row["b_wins"]) == wins
                assert row["p"] == pytest.approx(binomtest(wins[0], sum(wins)).pvalue)

    def test_probabilities_that_round_to_one_still_differ(self):
        found = sign_tests(decisions(a=np.full(100, -50.0), b=np.full(100, -60.0)))
        assert found.query("measure == 'log_loss'")[["a_wins", "b_wins"]].to_numpy().tolist() == [
            [20, 80]
        ]

    @pytest.mark.parametrize(
        ("unbeaten", "expected"),
        [
            ((), "*"),
            (("raw",), "†"),
            (("A.Gauss",), "‡"),
            (("A.Gauss", "raw"), "‡"),
            (("LogReg",), ""),
            (("A.Gauss", "LogReg"), ""),
        ],
    )
    def test_marks_are_the_papers(self, unbeaten, expected):
        truth = np.repeat([1.0, -1.0], [20, 80])
        values = {}
        for name in PAPER:
            support = np.full(100, 2.0 if name == "A.Laplace" else 1.0)
            support[:3] = -50.0 if name != "A.Laplace" else 0.5  # each loses in total
            if name in unbeaten:
                support[3:60] = 3.0  # but wins every other decision
            values[name] = truth * support
        table, tests = totals_table(decisions(**values)), sign_tests(decisions(**values))
        assert marks(table, tests)["A.Laplace", "log_loss"] == expected

    def test_margins_have_errors_only(self, random):
        svm = Decisions("linear_svm", random.log_odds, random.truth)
        table = totals_table(svm).set_index("method")
        assert table.loc["raw", ["log_loss", "squared_error"]].isna().all()
        assert table.loc["raw", "errors"] > 0
        tests = sign_tests(svm)
        raw = tests[(tests["a"] == "raw") | (tests["b"] == "raw")]
        assert set(raw["measure"]) == {"errors"}

    def test_as_printed_marks_the_best_of_the_papers_methods(self, random):
        with_ours = Decisions(
            "naive_bayes",
            random.log_odds | {"default": np.where(random.truth, 9.0, -9.0)},
            random.truth,
        )
        found = experiment.tabulate({"naive_bayes": with_ours})
        shown = experiment.as_printed(found, "naive_bayes", bold="**").set_index("method")
        best = found.totals.set_index("method").loc[list(PAPER), "log_loss"].idxmin()
        assert shown.loc[best, "log loss"].startswith("**")
        assert sum(cell.startswith("**") for cell in shown["log loss"]) == 1
        assert shown.loc["A.Laplace", "log loss, paper"] == "3106.95‡"
        assert shown.loc["default", "errors, paper"] == "-"
        without = experiment.as_printed(found, "naive_bayes", with_paper=False)
        assert list(without.columns) == ["method", "log loss", "squared error", "errors"]

    def test_published_totals_have_the_papers_order(self):
        """A.Laplace best for naive Bayes, and of the class-conditional methods for the SVM."""
        for classifier, rivals in (("naive_bayes", PAPER), ("linear_svm", PAPER[:4])):
            for measure in MEASURES:
                values = {m: getattr(PUBLISHED[classifier][m], measure) for m in rivals}
                assert min(values, key=values.get) == "A.Laplace"


class TestFigures:
    def test_bins_hold_every_document_once(self):
        rng = np.random.default_rng(2)
        positive = rng.random(500) < 0.1
        scores = rng.normal(2.0 * positive, 1.0)
        bins = binned_log_odds(scores, positive)
        share = 1.0 / np.exp(-bins.log_odds)
        assert (np.diff(bins.score) > 0).all()
        weight = 1.0 / bins.error**2  # (n_+ + 1/2)(n_- + 1/2)/(n + 1)
        n = weight * (share + 1) ** 2 / share - 1
        assert n.sum() == pytest.approx(500)

    @pytest.mark.slow
    def test_the_figures_show_what_they_should(self):
        from studies.papers.sigir2003.figures import draw_figures

        by_classifier = {each.classifier: each for each in scored() if each.topic == "oil"}
        figures = draw_figures(by_classifier)
        assert list(figures) == [
            "figure_2_gaussians",
            "figure_3_asymmetric_gaussians",
            "figure_4_densities",
            "figure_5_log_odds",
        ]
        assert [len(figure.axes) for figure in figures.values()] == [1, 1, 2, 2]
        lines = {line.get_label() for line in figures["figure_5_log_odds"].axes[0].lines}
        assert {"A.Laplace", "LogReg", "default, vague prior"} <= lines
        for figure in figures.values():
            figure.draw_without_rendering()


class TestSmallData:
    def test_totals_are_sums_over_topics_of_the_same_subsets(self):
        methods = ("LR+Noise", "raw", "A.Laplace")
        found = total_bits("linear_svm", 5, 0, methods)
        assert np.isnan(found["raw"])
        assert found == pytest.approx(total_bits("linear_svm", 5, 0, methods), nan_ok=True)
        assert found["LR+Noise"] != total_bits("linear_svm", 5, 1, methods)["LR+Noise"]
        assert found["LR+Noise"] != total_bits("linear_svm", 5, 0, methods, seed=1)["LR+Noise"]
        assert np.isfinite(total_bits("naive_bayes", 5, 0, ("raw",))["raw"])

    def test_platt_has_the_published_figure(self):
        bits = totals_by_size(3, sizes=(20,), classifiers=("linear_svm",), methods=["LR+Noise"])
        assert bits["LR+Noise"].mean() == pytest.approx(2120, rel=0.05)
        table = learning_table(bits)
        assert table["mean"].tolist() == [bits["LR+Noise"].mean()]
        assert table["error"].tolist() == pytest.approx([bits["LR+Noise"].std() / 3**0.5])
        assert wide(table)["n+ = 20"].iloc[0] == f"{table['mean'][0]:.0f} ± {table['error'][0]:.0f}"


def test_naive_bayes_has_the_papers_pattern():
    """On the corpus itself: A.Laplace best of the paper's methods in all three, far above raw."""
    corpus = reuters.corpus()
    bayes = {"naive_bayes": experiment.classifiers()["naive_bayes"]}
    scores = score_topics(corpus, largest_topics(corpus, 10), bayes)
    found = experiment.tabulate(experiment.decide_each(installed_methods("paper"), scores))
    totals = found.totals.set_index("method")
    for measure in MEASURES:
        assert totals[measure].idxmin() == "A.Laplace"
    assert totals.loc["raw", "log_loss"] > 10 * totals.loc["A.Laplace", "log_loss"]
    assert found.marks["naive_bayes", "A.Laplace", "log_loss"] == "‡"
    assert found.marks["naive_bayes", "A.Laplace", "squared_error"] == "‡"
    assert totals.loc["A.Laplace", "log_loss"] == pytest.approx(3107, rel=0.25)


@pytest.mark.slow
def test_the_svm_has_the_papers_pattern_in_log_loss():
    """A.Laplace best of the class-conditional methods, and within 1 % of LogReg."""
    corpus = reuters.corpus()
    svm = {"linear_svm": experiment.classifiers()["linear_svm"]}
    scores = score_topics(corpus, largest_topics(corpus, 10), svm, jobs=2)
    found = experiment.tabulate(experiment.decide_each(installed_methods("paper"), scores))
    bits = found.totals.set_index("method")["log_loss"]
    assert list(bits.iloc[:4].sort_values().index) == ["A.Laplace", "Laplace", "Gauss", "A.Gauss"]
    assert bits["A.Laplace"] == pytest.approx(bits["LogReg"], rel=0.01)
    assert bits["A.Laplace"] == pytest.approx(2599, rel=0.05)
    # What the paper's figure 4 shows, by which the weights were chosen.
    assert -15 < scores[0].scores.min() < -10
    assert 10 < scores[0].scores.max() < 15


def test_scores_of_topics_are_what_methods_get():
    one = TopicScores("x", "t", np.array([0.0, 1.0]), np.array([0, 1]), np.zeros(1), np.ones(1) > 0)
    answered = []

    def spy(scores, labels, new):
        answered.append((scores.tolist(), labels.tolist(), new.tolist()))
        return new

    decide({"spy": Method("spy", "ours", one_topic=spy)}, [one])
    assert answered == [([0.0, 1.0], [0, 1], [0.0])]


class TestCommand:
    def test_bad_calls_end_in_one_line(self, tmp_path):
        call = ("sigir2003", "--out", tmp_path / "out", "--data")
        assert "no copy of Reuters" in run_paper(*call, tmp_path / "absent", code=2).stderr
        (tmp_path / "x.tar").write_bytes(b"no tar")
        assert "no tar archive" in run_paper(*call, tmp_path / "x.tar", code=2).stderr
        wrong = run_paper(*call, tmp_path / "x.tar", "--methods", "some", code=2)
        assert "argument --methods: invalid choice" in wrong.stderr
        assert (
            "--repeats: must be at least"
            in run_paper("small_data", "--repeats", "0", code=2).stderr
        )
        assert not (tmp_path / "out").exists()

    @pytest.mark.slow
    def test_writes_tables_and_figures(self, tmp_path, monkeypatch):
        monkeypatch.setattr("studies.papers.corpora.fetch_reuters21578", lambda path: make_corpus())
        out = tmp_path / "out"
        call = ("sigir2003", "--out", out, "--topics", "2")
        shown = run_paper(*call, "--methods", "paper").stdout
        assert "Naive Bayes: totals over 100 decisions" in shown
        assert "paper" not in shown.split("Bold")[0].split("errors")[1]  # of ten topics only
        assert sorted(path.name for path in out.iterdir()) == [
            "figure_2_gaussians.png",
            "figure_3_asymmetric_gaussians.png",
            "figure_4_densities.png",
            "figure_5_log_odds.png",
            "reuters.csv",
            "reuters.md",
            "reuters_sign_tests.csv",
        ]
        assert "| method | log loss |" in (out / "reuters.md").read_text()
        first = [(path.name, path.read_bytes()) for path in sorted(out.iterdir())]
        run_paper(*call, "--methods", "paper")
        assert [(path.name, path.read_bytes()) for path in sorted(out.iterdir())] == first

    def test_small_data_writes_what_it_shows(self, tmp_path, monkeypatch):
        monkeypatch.setattr("studies.papers.sigir2003.experiment.SIZES", (5,))
        monkeypatch.setattr(
            "studies.papers.sigir2003.experiment.installed_methods",
            lambda: ["LR+Noise", "A.Laplace"],
        )
        out = tmp_path / "out"
        shown = run_paper("small_data", "--out", out, "--repeats", "2").stdout
        table = pd.read_csv(out / "small_data.csv")
        assert set(table["method"]) == {"LR+Noise", "A.Laplace"}
        assert f"{table['mean'][0]:.0f} ± {table['error'][0]:.0f}" in shown
        assert (out / "small_data.png").stat().st_size > 10_000
