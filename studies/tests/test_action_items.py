"""Action items: the corpus's files, views, trials, tables and gains, on made sentences."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel
from sklearn.metrics import roc_auc_score

from bayescal.combining.combiners.measures import MEASURES as CUTS
from bayescal.text import cross_val_scores
from studies.papers.action_items import experiment
from studies.papers.action_items.experiment import roc_area_error
from studies.papers.action_items.trials import (
    CHOSEN,
    CLASSIFIERS,
    METHODS,
    TEST,
    TRAINING,
    Outcomes,
    Sentences,
    Trial,
    base_classifiers,
    count,
    cross_validation,
    read_files,
    read_sentences,
    run_trials,
    together,
    trial_inputs,
    without_repetitions,
)
from studies.papers.strive.methods import Decided
from studies.papers.strive.voting import loss_of
from studies.tests.tools import run_paper

FILLERS = [f"{c}{v}{d}" for c in "bdfgklmnpr" for v in "aeiou" for d in "bdgklmnst"]


def made_sentences(n, seed):
    """Return sentences; the order of two words marks the requests, but for a tenth."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for k in range(n):
        positive = k % 5 < 2
        asks = positive if rng.random() < 0.9 else not positive
        start = ["can you", "you can"][int(not asks)]
        end = "?" if rng.random() < (0.8 if positive else 0.2) else "."
        texts.append(f"{start} {' '.join(rng.choice(FILLERS, 6))}{end}")
        labels.append(positive)
    return Sentences(np.array(texts, dtype=object), np.array(labels))


def write_file(path, sentences):
    rows = zip(sentences.positive, sentences.texts, strict=True)
    path.write_text("".join(f"{'Yes' if p else 'No'}\t{text}\n" for p, text in rows))


@pytest.fixture(scope="module")
def one_trial():
    trial = Trial(made_sentences(150, 0), made_sentences(60, 1))
    return trial, trial_inputs(trial)


@pytest.fixture(scope="module")
def outcomes():
    """Return the methods of the dissertation, which take less time than ours, in two trials."""
    with pytest.MonkeyPatch.context() as patch:
        kept = {name: how for name, how in CHOSEN.items() if how.combiner != "bayes"}
        patch.setattr("studies.papers.action_items.trials.CHOSEN", kept)
        return run_trials(cross_validation(made_sentences(160, 0), 2))


class TestCorpus:
    def test_lines(self, tmp_path):
        path = tmp_path / TRAINING
        path.write_bytes(b"Yes\tCan you?\x85 now\xff\nNo\tA\ttab and \xc3\xa4\x0c\n\n")
        found = read_sentences(path)
        assert found.texts.tolist() == ["Can you?\ufffd now\ufffd", "A\ttab and ä"]
        assert found.positive.tolist() == [True, False]

    @pytest.mark.parametrize("line", ["Maybe\tcome", "Yes come", "Yes\t ", "yes\tcome"])
    def test_other_lines(self, tmp_path, line):
        (tmp_path / TRAINING).write_text(f"No\tWell.\n{line}\n")
        with pytest.raises(ValueError, match=r"line 2 of .* must be Yes or No, a tab and a sent"):
            read_sentences(tmp_path / TRAINING)

    def test_repetitions_are_left_out(self, tmp_path):
        (tmp_path / TRAINING).write_text("Yes\tCall me!\nNo\tI call.\nYes\tcall, me !\n")
        (tmp_path / TEST).write_text("No\tI CALL.\nYes\tCall us!\nYes\tCall us !\n")
        training, test = read_files(tmp_path)
        assert training.texts.tolist() == ["Call me!", "I call."]
        assert test.texts.tolist() == ["Call us!"]
        both = together(training, test)
        assert without_repetitions(both).texts.tolist() == both.texts.tolist()
        assert both.positive.tolist() == [True, False, True]

    def test_folder_without_the_files(self, tmp_path):
        (tmp_path / TRAINING).write_text("")
        with pytest.raises(ValueError, match=f"EmailIntentDataSet.* without {TEST}"):
            read_files(tmp_path)


class TestViews:
    def test_columns_of_views(self):
        counts = count(np.array(["can you?", "you can"]), np.array(["you can you?", "other words"]))
        words, ngrams = (counts.new[:, own].toarray() for own in counts.columns.values())
        # The words are ?, can, you.
        assert words.tolist() == [[1, 1, 2], [0, 0, 0]]
        assert counts.columns["n-grams"].stop == counts.train.shape[1] == counts.new.shape[1]
        # "you?" stands in both; of the n-grams of "other words" only the boundaries are known.
        assert ngrams[1].sum() == 2

    def test_ten_classifiers_each_of_its_own_view(self):
        trial = made_sentences(80, 0)
        counts = count(trial.texts, trial.texts)
        made = base_classifiers(counts.columns, features=40)
        assert tuple(made) == CLASSIFIERS
        assert len(made) == 10
        for name, classifier in made.items():
            other = "n-grams" if name.endswith(", words") else "words"
            fitted = classifier.fit(counts.train, trial.positive)
            blind = counts.train.copy().tolil()
            blind[:, counts.columns[other]] = 0
            np.testing.assert_allclose(
                fitted.decision_function(blind.tocsr()), fitted.decision_function(counts.train)
            )
            assert classifier["words"].k == 40

    def test_chi_squared_sees_the_training_parts_alone(self):
        rng = np.random.default_rng(0)
        texts, labels = made_sentences(150, 0).texts, rng.random(150) < 0.5
        counts = count(texts, texts)
        bayes = base_classifiers(counts.columns, features=50)["naive Bayes, n-grams"]
        # Labels are chance: held out, nothing can be known of them.
        scores = cross_val_scores(bayes, counts.train, labels)
        assert 0.35 < roc_auc_score(labels, scores) < 0.6
        # Chosen with the labels of all, features know some of those held out.
        chosen = bayes[:-1].fit(counts.train, labels).transform(counts.train)
        leaked = cross_val_scores(bayes[-1], chosen, labels)
        assert roc_auc_score(labels, leaked) > 0.75


class TestTrials:
    def test_folds_hold_every_sentence_once(self):
        sentences = made_sentences(50, 0)
        trials = cross_validation(sentences, 5)
        held = Counter(text for trial in trials for text in trial.new.texts)
        assert held == Counter(sentences.texts.tolist())
        for trial in trials:
            assert trial.new.positive.sum() == 4
            assert not set(trial.new.texts) & set(trial.train.texts)
        first, again, other = (cross_validation(sentences, 5, seed)[0].new for seed in (1, 1, 2))
        assert first.texts.tolist() == again.texts.tolist() != other.texts.tolist()

    def test_too_few_sentences(self):
        with pytest.raises(ValueError, match="folds must be from 2 to 4"):
            cross_validation(made_sentences(10, 0), 5)

    @pytest.mark.slow
    def test_inputs_are_ten_scores_and_sixty_indicators_of_models(self, one_trial):
        trial, inputs = one_trial
        assert inputs.labelled.inputs.scores.shape == (150, 10)
        assert inputs.new.indicators.shape == (60, 60)
        assert np.isfinite(inputs.new.matrix).all()
        np.testing.assert_array_equal(inputs.truth, trial.new.positive)
        areas = {
            name: roc_auc_score(inputs.truth, score)
            for name, score in zip(CLASSIFIERS, inputs.new.scores.T, strict=True)
        }
        # The order of words tells more than the words.
        assert areas["SVM, n-grams"] > areas["SVM, words"] + 0.1
        assert areas["naive Bayes, n-grams"] > 0.8

    @pytest.mark.slow
    def test_labels_of_new_sentences_are_not_seen(self, one_trial):
        trial, inputs = one_trial
        turned = Sentences(trial.new.texts, ~trial.new.positive)
        again = trial_inputs(Trial(trial.train, turned))
        np.testing.assert_array_equal(again.new.matrix, inputs.new.matrix)

    def test_scores_to_learn_from_are_held_out(self, one_trial):
        trial, inputs = one_trial
        column = CLASSIFIERS.index("decision tree, n-grams")
        positive = trial.train.positive
        held_out = roc_auc_score(positive, inputs.labelled.inputs.scores[:, column])
        counts = count(trial.train.texts, trial.new.texts)
        known = base_classifiers(counts.columns)["decision tree, n-grams"]
        scores = known.fit(counts.train, positive).decision_function(counts.train)
        assert held_out < roc_auc_score(positive, scores)

    @pytest.mark.slow
    def test_all_methods(self, outcomes):
        assert list(outcomes.found) == [*CLASSIFIERS, *METHODS[:-2], "BestSelect"]
        for name, found in outcomes.found.items():
            for decided, truth in zip(found, outcomes.truths, strict=True):
                assert set(decided.taken) == set(CUTS)
                assert decided.taken["error"].shape == truth.shape
                ranks = name not in {"Majority", "Best By Class", "BestSelect"}
                assert (decided.score is not None) == ranks
        combined, truth = outcomes.found["logistic, indicators"][0], outcomes.truths[0]
        assert combined.log_odds is not None
        assert roc_auc_score(truth, combined.score) > 0.7


def made_outcomes(errors, trials=10, n=100):
    """Return decisions with so many errors in the first trial, and scores that are as wrong."""
    truth = np.arange(n) < 40
    found = {}
    for name in (*CLASSIFIERS, *METHODS):
        found[name] = []
        for trial in range(trials):
            taken = truth.copy()
            # By turns of their own, so that differences vary.
            own = errors.get(name, 20)
            taken[: own + (trial + own) % (3 if name in errors else 2)] ^= True
            score = taken + 0.4 * np.cos(np.arange(n))
            ranks = name not in {"Majority", "Best By Class"}
            found[name].append(Decided(dict.fromkeys(CUTS, taken), score if ranks else None))
    return Outcomes(found, [truth] * trials)


class TestTable:
    @pytest.mark.slow
    def test_measures_are_those_of_each_trial(self, outcomes):
        values = experiment.measure(outcomes)
        for name, found in outcomes.found.items():
            for k, (decided, truth) in enumerate(zip(found, outcomes.truths, strict=True)):
                assert -values[name]["error"][k] == (decided.taken["error"] != truth).mean()
                assert values[name]["F1"][k] == -loss_of("f1", decided.taken["f1"], truth)
                if decided.log_odds is not None:
                    p = 1.0 / (1.0 + np.exp(-decided.log_odds))
                    bits = -np.log2(np.where(truth, p, 1.0 - p)).mean()
                    assert -values[name]["log-loss"][k] == pytest.approx(bits)

    def test_intervals_cover_the_mean_as_often_as_they_say(self):
        rng = np.random.default_rng(0)
        samples = rng.normal(0.8, 0.05, size=(4000, 10))
        inside = [abs(each.mean() - 0.8) < experiment.half_width(each) for each in samples]
        assert np.mean(inside) == pytest.approx(0.95, abs=0.012)

    def test_marks_are_of_paired_tests_against_whole_groups(self):
        values = experiment.measure(made_outcomes({"SVM, n-grams": 10, "Stack-S (norm)": 5}))
        # Without another stacking method as good Stack-S (norm) is better than all groups.
        assert experiment.marks(values, "Stack-S (norm)", "error") == "BDSR"
        assert experiment.marks(values, "SVM, n-grams", "error") == "BDR"
        assert experiment.marks(values, "kNN, words", "error") == ""
        # A method without ROC area is not beaten by it.
        assert experiment.marks(values, "Stack-S (norm)", "ROC") == "BSR"

    def test_a_mean_that_is_better_by_chance_has_no_mark(self):
        rng = np.random.default_rng(3)
        one, two = rng.normal(0.80, 0.05, 10), rng.normal(0.79, 0.05, 10)
        assert one.mean() > two.mean()
        assert ttest_rel(one, two).pvalue > 0.05
        values = {name: {"ROC": two} for name in (*CLASSIFIERS, *METHODS)}
        assert experiment.marks(values | {"bayes": {"ROC": one}}, "bayes", "ROC") == ""
        far = values | {"bayes": {"ROC": one + 0.5}}
        assert experiment.marks(far, "bayes", "ROC") == "BDSR"

    def test_as_printed(self):
        long = experiment.table_of(made_outcomes({"Majority": 2}))
        printed = experiment.measures_as_printed(long).set_index("method")
        assert list(printed) == list(experiment.MEASURES)
        assert printed.loc["Majority", "error"] == "0.0310 BDSR"
        assert printed.loc["Majority", "ROC"] == printed.loc["SVM, words", "log-loss"] == "-"
        assert 0.6 < float(printed.loc["SVM, words", "ROC"].split(" ± ")[0]) < 0.9
        assert "±" in printed.loc["SVM, words", "ROC[0,.1]"]

    def test_one_trial_has_the_error_of_its_area_and_no_marks(self):
        made = made_outcomes({"SVM, words": 1}, trials=1)
        long = experiment.table_of(made).set_index(["method", "measure"])
        assert set(long["marks"]) == {""}
        known = long["half_width"].dropna().reset_index()
        assert set(known["measure"]) == {"ROC"}
        score = made.found["SVM, words"][0].score
        expected = 1.959964 * roc_area_error(made.truths[0], score)
        assert long.loc[("SVM, words", "ROC"), "half_width"] == pytest.approx(expected)


class TestRocAreaError:
    @pytest.mark.parametrize("ties", [False, True])
    def test_brute_force(self, ties):
        rng = np.random.default_rng(0)
        truth = np.arange(40) < 13
        score = rng.normal(truth * 1.0)
        score = np.round(score) if ties else score
        above = (score[truth][:, None] > score[~truth]) + 0.5 * (
            score[truth][:, None] == score[~truth]
        )
        assert above.mean() == pytest.approx(roc_auc_score(truth, score))
        variance = above.mean(axis=1).var(ddof=1) / 13 + above.mean(axis=0).var(ddof=1) / 27
        assert roc_area_error(truth, score) == pytest.approx(np.sqrt(variance))

    def test_is_the_spread_over_samples(self):
        rng = np.random.default_rng(0)
        truth = np.arange(200) < 60
        samples = [rng.normal(truth * 1.2) for _ in range(400)]
        spread = np.std([roc_auc_score(truth, each) for each in samples])
        mean = np.mean([roc_area_error(truth, each) for each in samples])
        assert mean == pytest.approx(spread, rel=0.1)


class TestGains:
    @pytest.mark.slow
    def test_those_published(self):
        gains = experiment.gains(experiment.measure(made_outcomes({}))).set_index("kind")
        assert gains.loc["STRIVE-S (norm) over Stack-S (norm)", "ROC_published"] == pytest.approx(
            0.9145 - 0.8996
        )
        # The best classifier by each measure: decision tree on words, SVM on n-grams.
        stacked = gains.loc["Stack-S (norm) over the best classifier"]
        assert stacked["ROC_published"] == pytest.approx(0.8996 - 0.8885)
        assert stacked["error_published"] == pytest.approx(0.1693 - 0.1814)
        assert np.isnan(gains.loc["bayes over Stack-S (norm)", "ROC_published"])
        whole = gains.loc["n-grams over words, of whole e-mails"]
        assert np.isnan(whole["ROC"])
        assert whole["ROC_published"] == pytest.approx(
            np.mean([0.005, 0.0577, 0.0792, 0.0273, 0.0575])
        )

    @pytest.mark.slow
    def test_those_here(self):
        errors = dict.fromkeys(experiment.WORDS, 30) | {"bayes": 12, "SVM, n-grams": 15}
        gains = experiment.gains(experiment.measure(made_outcomes(errors))).set_index("kind")
        assert gains.loc["n-grams over words, of sentences", "error"] == pytest.approx(0.1132)
        assert gains.loc["bayes over Stack-S (norm)", "error"] == pytest.approx(0.076)
        assert gains.loc["Majority over the best classifier", "error"] == pytest.approx(-0.046)
        assert np.isnan(gains.loc["Majority over the best classifier", "ROC"])
        assert gains.loc["bayes over Stack-S (norm)", "ROC"] > 0.0

    def test_as_printed(self):
        gains = experiment.gains(experiment.measure(made_outcomes({"bayes": 12}, trials=3)))
        printed = experiment.gains_as_printed(gains).set_index("kind")
        assert printed.loc["bayes over Stack-S (norm)", "error"] == "+0.0733 ± 0.0287"
        assert printed.loc["bayes over Stack-S (norm)", "error, published"] == "-"
        one = experiment.gains(experiment.measure(made_outcomes({"bayes": 12}, trials=1)))
        shown = experiment.gains_as_printed(one).set_index("kind")
        assert shown.loc["bayes over Stack-S (norm)", "error"] == "+0.0800"

    def test_all_names_are_known(self):
        known = {*CLASSIFIERS, *METHODS, *experiment.PUBLISHED, experiment.BEST_CLASSIFIER}
        for comparison in experiment.COMPARISONS:
            assert {*comparison.first, *comparison.second} <= known


class TestPublished:
    def test_every_combination_is_made_again(self):
        assert set(experiment.COMBINED) <= {*METHODS, "BestSelect"}
        assert {*CLASSIFIERS} <= set(experiment.PUBLISHED)
        assert {len(row) for row in experiment.PUBLISHED.values()} == {
            len(experiment.PUBLISHED_MEASURES)
        }
        assert len(experiment.PUBLISHED) == 27

    def test_what_the_text_says_of_it(self):
        ranking = {
            name: row[experiment.PUBLISHED_MEASURES.index("ROC")]
            for name, row in experiment.PUBLISHED.items()
            if row[-1] is not None
        }
        assert max(ranking, key=ranking.get) == "STRIVE-S (norm)"
        del ranking["STRIVE-S (norm)"]
        assert max(ranking, key=ranking.get) == "Stack-S (norm)"


@pytest.fixture
def folder(tmp_path):
    """Return a folder with both files."""
    write_file(tmp_path / TRAINING, made_sentences(120, 0))
    write_file(tmp_path / TEST, made_sentences(50, 1))
    return tmp_path


class TestCommand:
    @pytest.mark.slow
    def test_writes_tables(self, folder, monkeypatch):
        asked = []

        def made(trials, **_):
            asked.append(trials)
            return made_outcomes({"bayes": 12 - len(asked)}, trials=len(trials))

        monkeypatch.setattr(experiment, "run_trials", made)
        out = folder / "out"
        options = ["--data", folder, "--out", out, "--folds", "3"]
        shown = run_paper("action_items", *options).stdout
        sizes = [[(t.train.positive.size, t.new.positive.size) for t in trials] for trials in asked]
        assert sizes[0] == [(80, 40)] * 3
        assert sum(new for _, new in sizes[1]) == 170
        assert sizes[2] == [(120, 50)]
        measured = pd.read_csv(out / "action_items.csv")
        assert measured["sentences"].unique().tolist() == [
            "training file",
            "both files",
            "test file",
        ]
        own = measured.set_index(["sentences", "method", "measure"])
        assert own.loc[("test file", "bayes", "error"), "mean"] == 0.09
        assert "0.0900" in shown
        page = (out / "action_items.md").read_text()
        assert page.count("| bayes | ") == 3
        assert page.count("| bayes over Stack-S (norm) | ") == 3
        gains = pd.read_csv(out / "action_items_gains.csv")
        assert len(gains) == 3 * len(experiment.COMPARISONS)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--data", "nowhere"], "must be a folder with Ask0729-fixed.txt and"),
            (["--data", ".", "--folds", "1"], "--folds"),
            (["--data", ".", "--jobs", "0"], "--jobs"),
            ([], "--data"),
        ],
    )
    def test_wrong_use(self, tmp_path, options, message):
        done = run_paper("action_items", "--out", tmp_path / "out", *options, code=2)
        assert message in " ".join(done.stderr.split())
        assert not (tmp_path / "out").exists()
