"""TextCalibrator and `bayescal text`: from documents to probabilities, and bad input."""

import json
import warnings
from io import StringIO

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import stats
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline, make_union

from bayescal import ScoreCalibrator, load
from bayescal.cli.commands.text import CLASSIFIER_FILE
from bayescal.cli.writing import CURVE_COLUMNS
from bayescal.support.files import sealed
from bayescal.text import (
    TextCalibrator,
    UnknownWordsWarning,
    cross_val_scores,
    make_classifier,
    raw_scores,
)
from bayescal.text.classifiers import CLASSIFIERS
from bayescal.text.stored import read_classifier, score_texts, write_classifier
from tests.cli_tools import run, summary_of

FAST = ScoreCalibrator(inference="mle")


def make_documents(n=60, seed=0):
    rng = np.random.default_rng(seed)
    about = np.arange(n) % 3 == 0
    words = np.array(["price", "market", "report", "week", "trade"])
    texts = []
    for corn in about:
        subject = "corn harvest" if corn ^ (rng.random() < 0.1) else "crude oil"
        texts.append(f"{subject} {' '.join(rng.choice(words, 4))}")
    return texts, np.where(about, "corn", "oil")


TEXTS, LABELS = make_documents()


class TestTextCalibrator:
    def test_is_its_parts_put_together(self):
        found = TextCalibrator("naive_bayes", words=5, random_state=3, calibrator=FAST)
        found.fit(TEXTS, LABELS)
        counts = CountVectorizer().fit(TEXTS)
        model, matrix = make_classifier("naive_bayes", words=5), counts.transform(TEXTS)
        scores = cross_val_scores(model, matrix, LABELS == "oil", random_state=3)
        assert found.scores_.tolist() == scores.tolist()
        new = make_documents(seed=1)[0]
        by_hand = FAST.fit(scores, LABELS).predict_proba(
            raw_scores(clone(model).fit(matrix, LABELS == "oil"), counts.transform(new))
        )
        assert found.predict_proba(new) == pytest.approx(by_hand, rel=1e-12)

    def test_small_corpora_keep_rare_words(self):
        texts = [f"word{k} {'good' if k % 2 else 'bad'}{k % 6}" for k in range(24)]
        labels = [k % 2 for k in range(24)]
        fitted = TextCalibrator(calibrator=FAST).fit(texts, labels)
        assert np.unique(fitted.score_documents(texts)).size == 24
        chosen = fitted.calibrated_classifiers_[0].estimator.named_steps["words"]
        assert chosen.get_support().sum() == 30
        with pytest.warns(UnknownWordsWarning, match=r"20 of 24 .*words chosen \(1 of 30\)"):
            TextCalibrator("naive_bayes", words=1, calibrator=FAST).fit(texts, labels)
        some = [f"{text}{' common' * (k < 10)}" for k, text in enumerate(texts)]
        with pytest.warns(UnknownWordsWarning, match="14 of 24"):
            TextCalibrator(min_documents=5, calibrator=FAST).fit(some, labels)

    def test_gives_bands_and_the_same_bits(self):
        first, again = (TextCalibrator(words=5).fit(TEXTS, LABELS) for _ in range(2))
        low, high = first.predict_interval(TEXTS[:5], level=0.8).T
        p = first.predict_proba(TEXTS[:5])[:, 1]
        assert ((low < p) & (p < high)).all()
        assert again.predict_proba(TEXTS).tolist() == first.predict_proba(TEXTS).tolist()
        assert first.decision_function(TEXTS[:5]) == pytest.approx(np.log(p / (1 - p)))

    def test_either_class_may_be_the_positive_one(self):
        oil, corn = (
            TextCalibrator("naive_bayes", calibrator=FAST, positive=each).fit(TEXTS, LABELS)
            for each in ("oil", "corn")
        )
        assert corn.classes_.tolist() == ["corn", "oil"]
        assert corn.scores_.tolist() == (-oil.scores_).tolist()
        p = corn.predict_proba(TEXTS)
        assert p == pytest.approx(oil.predict_proba(TEXTS), abs=1e-9)
        assert corn.predict(TEXTS).tolist() == oil.predict(TEXTS).tolist()
        assert (corn.decision_function(TEXTS) > 0).tolist() == (p[:, 1] > 0.5).tolist()

    def test_weights_and_files_are_those_of_a_calibrated_classifier(self, tmp_path):
        settings = {"classifier": MultinomialNB(), "calibrator": FAST, "folds": 3}
        plain = TextCalibrator(**settings).fit(TEXTS, LABELS)
        weight = np.where(LABELS == "corn", 3.0, 1.0)
        more = TextCalibrator(**settings).fit(TEXTS, LABELS, sample_weight=weight)
        column = plain.classes_.tolist().index("corn")
        p, q = (each.predict_proba(TEXTS)[:, column].mean() for each in (plain, more))
        assert q > p + 0.05
        kept = TextCalibrator.load(more.save(tmp_path / "texts.joblib"))
        assert kept.predict_proba(TEXTS).tolist() == more.predict_proba(TEXTS).tolist()

    @pytest.mark.parametrize("positive", ["oil", "corn"])
    @pytest.mark.parametrize("blank", ["", " ! ", "nothing known"])
    def test_texts_without_known_words_get_the_base_rate(self, blank, positive):
        model = TextCalibrator("naive_bayes", positive=positive).fit(TEXTS, LABELS)
        texts = ["corn harvest", blank, "crude oil"]
        warning = r"1 of 3 documents hold no word .*number 2\): their probability is the base rate"
        with pytest.warns(UnknownWordsWarning, match=warning):
            p = model.predict_proba(texts)
        column = np.asarray(model.classes_).tolist().index(positive)
        # 20 of 60 documents are about corn, and one more of each class by the uniform prior.
        share = {"corn": 21 / 62, "oil": 41 / 62}
        assert p[1] == pytest.approx([share[name] for name in model.classes_], abs=1e-12)
        known = model.predict_proba([texts[0], texts[2]])
        assert p[[0, 2]].tolist() == known.tolist()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownWordsWarning)
            log_odds = model.decision_function(texts)
            ends = model.predict_interval(texts, level=0.8)
            draws = model.sample_proba(texts)
            assert model.predict(texts).tolist() == ["corn", "oil", "oil"]
            shifted = model.predict_proba(texts, prior=0.9)
            assert model.predict_interval(texts, prior=0.9)[1] == pytest.approx([0.9, 0.9])
        assert log_odds[1] == pytest.approx(np.log(p[1, 1] / p[1, 0]))
        counts = {"corn": 20, "oil": 40}
        beta = stats.beta(counts.pop(positive) + 1, sum(counts.values()) + 1)
        assert ends[1] == pytest.approx(beta.ppf([0.1, 0.9]), abs=0.005)
        assert draws[:, 1].std() == pytest.approx(beta.std(), rel=0.1)
        assert shifted[1, column] == pytest.approx(0.9)

    def test_weights_and_several_classes_have_a_base_rate_too(self):
        texts = [f"{word} {k}" for k in range(12) for word in ("corn bushels", "oil", "gold mine")]
        labels = np.array(["corn", "oil", "gold"] * 12)
        weight = np.where(labels == "corn", 2.0, 1.0)
        model = TextCalibrator(MultinomialNB(), calibrator=FAST, folds=3)
        model.fit(texts, labels, sample_weight=weight)
        assert model.predict(["corn", "mine", "oil"]).tolist() == ["corn", "gold", "oil"]
        assert model.score_documents(["corn"]).shape == (1, 3)
        with pytest.warns(UnknownWordsWarning):
            p, shifted = (model.predict_proba([""], prior=q)[0] for q in (None, [0.7, 0.2, 0.1]))
        with pytest.warns(UnknownWordsWarning):
            log_odds = model.decision_function([""])
        assert p == pytest.approx(np.array([25, 13, 13]) / 51)
        assert shifted == pytest.approx([0.7, 0.2, 0.1])
        assert log_odds[0] == pytest.approx(np.log(p / (1.0 - p)))

    def test_a_labelled_text_without_words_is_fitted(self):
        with pytest.warns(UnknownWordsWarning, match=r"1 of 60 documents .*first is number 1\)"):
            model = TextCalibrator("naive_bayes", calibrator=FAST).fit(["?!", *TEXTS[1:]], LABELS)
        assert np.isfinite(model.scores_).all()

    @pytest.mark.parametrize(
        ("texts", "labels", "message"),
        [
            ("corn", ["a"], "got one str: put it into a list"),
            (pd.DataFrame({"text": ["corn"]}), ["a"], "pass one of its columns, 'text'"),
            ([], [], "at least one document"),
            ([b"corn", "oil"], [0, 1], "type str, got bytes as document 1"),
            (["corn", None], [0, 1], "type str, got NoneType as document 2"),
            (["", " ! "], [0, 1], "got none in any of 2"),
            (TEXTS, LABELS[:-1], "X and y must have the same length"),
            (TEXTS, ["a"] * 60, "one class only"),
            (["corn"] * 3 + ["oil"] * 9, [1] * 3 + [0] * 9, "folds must be from 2 to 3"),
            (TEXTS, np.zeros((60, 2), int), r"one class per document, got shape \(60, 2\)"),
            (["corn", "oil", "gold"], [0, 1, 2], "'linear_svm' is for two classes, got 3"),
        ],
    )
    def test_refuses(self, texts, labels, message):
        with pytest.raises(ValueError, match=message):
            TextCalibrator().fit(texts, labels)

    def test_names_the_place_of_pipelines_that_read_texts(self):
        words = make_union(TfidfVectorizer(), TfidfVectorizer(analyzer="char"))
        for each in (make_pipeline(words, MultinomialNB()), TextCalibrator()):
            with pytest.raises(ValueError, match=r"reads texts itself: .* CalibratedClassifier\("):
                TextCalibrator(each).fit(TEXTS, LABELS)
        pipeline = make_pipeline(TfidfTransformer(), MultinomialNB())  # reads counts
        TextCalibrator(pipeline, calibrator=FAST).fit(TEXTS, LABELS)

    def test_refuses_settings(self):
        with pytest.raises(ValueError, match="words must be a positive whole number, got 0"):
            TextCalibrator("naive_bayes", words=0).fit(TEXTS, LABELS)
        with pytest.raises(ValueError, match="classifier must be one of"):
            TextCalibrator("forest").fit(TEXTS, LABELS)
        for folds in ("3", 2.5, True, None):
            with pytest.raises(ValueError, match="folds must be a positive whole number, got"):
                TextCalibrator(folds=folds).fit(TEXTS, LABELS)


class TestStored:
    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_each_classifier_comes_back(self, name, tmp_path):
        model, new = TextCalibrator(name, calibrator=FAST).fit(TEXTS, LABELS), make_documents()[0]
        write_classifier(model, tmp_path / "c.skops")
        again = read_classifier(tmp_path / "c.skops")
        assert score_texts(again, new, "oil").tolist() == model.score_documents(new).tolist()

    def test_nothing_else_is_read(self, tmp_path):
        for held, message in (
            (Pipeline([("calibrator", FAST)]), "Untrusted types found in the file: .*Calibrator"),
            (CountVectorizer(), "must be a file that bayescal text fit wrote, got a CountVect"),
        ):
            (tmp_path / "c.skops").write_bytes(sealed(skops.io.dumps(held)))
            with pytest.raises(ValueError, match=message):
                read_classifier(tmp_path / "c.skops")


@pytest.fixture
def table():
    texts, labels = make_documents(90)
    split = np.where(np.arange(90) < 60, "train", "test")
    frame = pd.DataFrame({"id": [f"{k:03d}" for k in range(90)], "text": texts, "label": labels})
    frame.loc[::10, "label"] = None
    return frame.assign(split=split)


def fit(source, *arguments, code=0):
    return run("text", "fit", source, *arguments, code=code)


class TestCommand:
    @pytest.mark.slow
    def test_every_row_gets_a_probability(self, table, tmp_path):
        table.to_csv(tmp_path / "docs.csv", index=False)
        out = tmp_path / "out"
        shown = fit(tmp_path / "docs.csv", "--positive", "corn", "--out", out).stdout
        assert "Losses on test rows" in shown
        found = pd.read_csv(out / "probabilities.csv", dtype=str)
        assert found["id"].tolist() == table["id"].tolist()
        assert "text" not in found
        p, score = found["probability"].astype(float), found["score"].astype(float)
        # corn sorts before oil: that it is the positive one must turn the scores round.
        corn = np.arange(90) % 3 == 0
        assert p[corn].mean() > 0.6 > 0.4 > p[~corn].mean()
        assert np.corrcoef(score, p)[0, 1] > 0.5
        assert ((found["lower"].astype(float) <= p) & (p <= found["upper"].astype(float))).all()
        apart = found["scored_by"] == "classifier of the other folds"
        assert (apart == (table["label"].notna() & (table["split"] == "train"))).all()
        summary = summary_of(out)
        assert summary["topics"][0]["rows"] == {"negatives": 36, "positives": 18, "test": 27}
        assert summary["arguments"]["command"] == "text fit"
        saved = load(out / "posterior.nc")
        assert saved.predict_proba(score)[:, 0] == pytest.approx(p, abs=1e-6)
        # Later documents in another order get what the fit gave rows that it did not train on.
        later = table.iloc[::-1].drop(columns="label").rename(columns={"text": "message"})
        later.to_parquet(tmp_path / "new.parquet", index=False)
        asked = ("--text-column", "message", "--out", tmp_path / "p.csv")
        run("text", "predict", out, tmp_path / "new.parquet", *asked)
        given = pd.read_csv(tmp_path / "p.csv", dtype=str)
        assert given.columns.tolist() == ["id", "split", "score", *CURVE_COLUMNS]
        assert given["id"].tolist() == later["id"].tolist()
        again = given.iloc[::-1].reset_index(drop=True)[~apart].drop(columns=["id", "split"])
        expected = found[~apart][again.columns].astype(float)
        pd.testing.assert_frame_equal(again.astype(float), expected)

    @pytest.mark.slow
    @pytest.mark.filterwarnings("always::bayescal.text.UnknownWordsWarning")
    def test_a_row_without_words_is_warned_of_and_answered(self, table, tmp_path):
        table.loc[[4, 89], "text"] = "!?"
        table.to_csv(tmp_path / "docs.csv", index=False)
        result = fit(tmp_path / "docs.csv", "--out", tmp_path / "out")
        assert "1 of 54 documents hold no word" in result.stderr
        assert "they have the same score" in result.stderr
        found = pd.read_csv(tmp_path / "out" / "probabilities.csv")
        assert found["probability"].between(0, 1).all()

    @pytest.mark.slow
    def test_test_labels_reach_nothing_but_the_losses(self, table, tmp_path):
        other = table.copy()
        test = (other["split"] == "test") & other["label"].notna()
        other.loc[test, "label"] = np.where(other.loc[test, "label"] == "corn", "oil", "corn")
        found = []
        for name, frame in (("a", table), ("b", other)):
            frame.to_csv(tmp_path / f"{name}.csv", index=False)
            fit(tmp_path / f"{name}.csv", "--out", tmp_path / name, "--classifier", "naive_bayes")
            found.append(pd.read_csv(tmp_path / name / "probabilities.csv").drop(columns="label"))
        pd.testing.assert_frame_equal(*found)

    @pytest.mark.slow
    def test_a_folder_of_text_files(self, tmp_path):
        texts, labels = make_documents(45)
        for k, (text, label) in enumerate(zip(texts, labels, strict=True)):
            folder = tmp_path / "docs" / (label if k < 40 else "")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{k:02d}.txt").write_text(text, encoding="utf-8")
        shown = fit(tmp_path / "docs", "--out", tmp_path / "out", "--words", "5").stdout
        assert "14 positives" in shown or "26 positives" in shown
        found = pd.read_csv(tmp_path / "out" / "probabilities.csv")
        assert len(found) == 45
        assert found["label"].isna().sum() == 5
        assert found["probability"].between(0, 1).all()

    @pytest.mark.parametrize("positive", [0, 1])
    def test_later_documents(self, tmp_path, positive):
        labels = (LABELS == "corn").astype(int)
        model = TextCalibrator("naive_bayes", calibrator=FAST, positive=positive)
        model.fit(TEXTS, labels)
        record = {"arguments": {"command": "text fit"}, "topics": [{"topic": None, "file": "p.nc"}]}
        model.calibrated_classifiers_[0].calibrators[0].save(tmp_path / "p.nc")
        write_classifier(model, tmp_path / CLASSIFIER_FILE)
        (tmp_path / "summary.json").write_text(json.dumps(record))
        new = pd.DataFrame({"text": ["crude oil", "!?", "corn harvest"], "id": ["c", "01", "a"]})
        new.to_csv(tmp_path / "new.csv", index=False)
        found = run("text", "predict", tmp_path, tmp_path / "new.csv")
        assert "1 of 3 documents hold no word of the documents fitted" in found.stderr
        shown = pd.read_csv(StringIO(found.stdout), dtype={"id": str})
        assert shown.columns.tolist() == ["id", "score", "probability", "log_odds"]
        assert shown["id"].tolist() == new["id"].tolist()
        with pytest.warns(UnknownWordsWarning):
            scores, p = model.score_documents(new["text"]), model.predict_proba(new["text"])
        assert shown["score"].to_numpy() == pytest.approx(scores)
        known = [0, 2]
        assert shown["probability"][known].to_numpy() == pytest.approx(p[known, positive])
        for frame, message in (
            (new.drop(columns="text"), "has no column 'text'"),
            (new.assign(text=None), "must hold a document in every row, got an empty cell in row"),
            (new.assign(score=1.0), "has a column 'score', which the output adds"),
        ):
            frame.to_csv(tmp_path / "new.csv", index=False)
            assert message in run("text", "predict", tmp_path, tmp_path / "new.csv", code=2).stderr
        (tmp_path / CLASSIFIER_FILE).write_bytes(b"PK")
        new.to_csv(tmp_path / "new.csv", index=False)
        broken = run("text", "predict", tmp_path, tmp_path / "new.csv", code=2).stderr
        assert "does not end with its checksum" in broken
        record["arguments"]["command"] = "fit"  # a later fit left the classifier's file behind
        (tmp_path / "summary.json").write_text(json.dumps(record))
        other = run("text", "predict", tmp_path, tmp_path / "new.csv", code=2).stderr
        assert "must be a folder that bayescal text fit --out has written" in other

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda f: f.drop(columns="text"), "has no column 'text'"),
            (lambda f: f.drop(columns="label"), "has no column 'label'"),
            (lambda f: f.assign(label=None), "must hold labels to learn from, got none"),
            (lambda f: f.assign(label="corn"), "only one class"),
            (lambda f: f.assign(text=[None, *f["text"][1:]]), "got an empty cell in row 2 of"),
            (lambda f: f.assign(text="!?"), "must hold documents with words, got none"),
            (lambda f: f.assign(score=1.0), "has a column 'score', which the output adds"),
            (lambda f: f.iloc[:6], "folds must be from 2 to"),
        ],
    )
    def test_bad_tables_end_in_one_line(self, table, tmp_path, change, message):
        change(table).to_csv(tmp_path / "docs.csv", index=False)
        result = fit(tmp_path / "docs.csv", "--out", tmp_path / "out", code=2)
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
        assert not (tmp_path / "out").exists()

    def test_bad_files_end_in_one_line(self, table, tmp_path):
        path = tmp_path / "docs.csv"
        path.write_bytes(b"text;label\ncaf\xe9;corn\noil;oil\n")  # read as Latin-1
        assert "folds must be from 2 to 1" in fit(path, code=2).stderr
        assert "there is no file" in fit(tmp_path / "absent.csv", code=2).stderr
        folder = tmp_path / "docs"
        (folder / "corn").mkdir(parents=True)
        assert "must hold text files" in fit(folder, code=2).stderr
        (folder / "corn" / "a.txt").write_bytes(b"caf\xe9")
        assert "must be UTF-8 text, got byte 0xe9 at 3" in fit(folder, code=2).stderr
        (folder / "corn" / "a.txt").write_text(" \n")
        assert "got an empty file" in fit(folder, code=2).stderr
        table.to_csv(path, index=False)
        assert "--classifier must be one of" in fit(path, "--classifier", "tree", code=2).stderr
        assert "--words must be at least 1" in fit(path, "--words", "0", code=2).stderr
