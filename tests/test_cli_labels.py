"""Labels of held-out files: matched where they mean the same, explained where they may not."""

import numpy as np
import pandas as pd
import pytest

from tests.cli_tools import MLE, make_frame, read, run, summary_of, write
from tests.report_data import data_of

FRAME = make_frame()


@pytest.fixture(autouse=True)
def whole_sentences(monkeypatch):
    """Keep each sentence on one line, so that lines can be compared."""
    monkeypatch.setattr("bayescal.cli.terminal.WIDTH_OF_FILES", 2_000)


def spelled(negative, positive):
    return FRAME.assign(label=np.where(FRAME["label"] == 1, positive, negative))


def fit(frame, folder, *options):
    run("fit", write(frame, folder / "fitted.csv"), *MLE, *options, "--out", folder / "out")
    return folder / "out"


def verdict(folder, frame, *options, code=0):
    path = write(frame, folder / "held_out.csv")
    options = ("--test", "--out", folder / "p.csv", *options)
    return run("predict", folder / "out", path, *options, code=code)


SPAM = ("ham", "spam")
HELD_OUT = [(0, 1), ("No", "YES"), ("False", "True"), ("neg", "Pos"), ("0.0", "1.0")]


@pytest.mark.parametrize("fitted", [(0, 1), ("no", "yes"), ("negative", "positive")])
def test_words_for_no_and_yes_are_matched(fitted, tmp_path):
    fit(spelled(*fitted), tmp_path)
    same = verdict(tmp_path, spelled(*fitted))
    assert "are read as those fitted" not in same.stderr
    for held_out in HELD_OUT:
        if held_out != fitted:
            other = verdict(tmp_path, spelled(*held_out))
            assert same.stdout == other.stdout, held_out
            assert f"{str(held_out[1])!r} as {str(fitted[1])!r}" in other.stderr


def test_either_class_and_any_capitals_are_matched(tmp_path):
    fit(spelled("no", "yes"), tmp_path, "--positive", "no")
    same, other = (verdict(tmp_path, spelled(*each)) for each in (("no", "yes"), HELD_OUT[2]))
    assert same.stdout == other.stdout
    fit(spelled(*SPAM), tmp_path)
    same, other = (verdict(tmp_path, spelled(*each)) for each in (SPAM, ("Ham ", "SPAM")))
    assert same.stdout == other.stdout
    assert "'SPAM' as 'spam'" in other.stderr


def test_other_labels_are_explained_and_may_be_named(tmp_path):
    fit(spelled("ham", "spam"), tmp_path)
    told = verdict(tmp_path, spelled(0, 1), code=2).stderr
    assert "must hold the labels that were fitted, 'ham' and 'spam', got '0', '1'" in told
    assert "name the one that stands for 'spam' with --positive" in told
    assert not (tmp_path / "p.csv").exists()
    same = verdict(tmp_path, spelled("ham", "spam"))
    named = verdict(tmp_path, spelled(0, 1), "--positive", "1")
    assert named.stdout == same.stdout
    assert "'0' as 'ham', '1' as 'spam'" in named.stderr
    told = verdict(tmp_path, spelled(0, 1), "--positive", "spam", code=2).stderr
    assert "--positive must be one of the labels in" in told


def test_report_matches_them_too(tmp_path):
    fit(spelled(0, 1), tmp_path)
    path = write(spelled("No", "Yes"), tmp_path / "held_out.csv")
    result = run("report", tmp_path / "out", "--test", path, "--out", tmp_path / "r.html")
    assert data_of(tmp_path / "r.html")["topics"][0]["test"]["point"]["positives"] == 10
    assert "'No' as '0', 'Yes' as '1'" in result.stderr


# One file with blank labels: the usual export of a review


def blank(frame, every=3):
    kept = np.arange(len(frame)) % every == 0
    return frame.astype({"label": object}).assign(label=lambda f: f["label"].where(kept)), kept


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_blank_labels_are_answered_and_not_fitted(suffix, tmp_path):
    frame = make_frame(120, weight=1.0 + np.arange(120) % 2)
    scores, kept = blank(frame)
    scores.loc[~kept, "weight"] = np.nan
    weights = ("--weight-column", "weight", "--out")
    result = run("fit", write(scores, tmp_path / f"s{suffix}"), *MLE, *weights, tmp_path / "out")
    assert "40 of 120 rows have a label" in result.stdout
    assert "the other 80 get a probability only" in result.stdout
    alone = write(frame[kept], tmp_path / "kept.csv")
    assert "have a label" not in run("fit", alone, *MLE, *weights, tmp_path / "alone").stdout
    run("predict", tmp_path / "alone", write(frame[["score"]], tmp_path / "all.csv"),
        "--out", tmp_path / "expected.csv")  # fmt: skip
    found, expected = read(tmp_path / "out/probabilities.csv"), read(tmp_path / "expected.csv")
    assert found["probability"].equals(expected["probability"])
    assert found["label"].tolist() == [
        str(y) if k else "" for y, k in zip(frame["label"], kept, strict=True)
    ]
    assert summary_of(tmp_path / "out")["topics"][0]["rows"]["negatives"] == 30


@pytest.mark.slow
def test_blank_labels_of_topics_and_splits(tmp_path):
    split = np.where(np.arange(120) % 2, "test", "train").astype(object)
    frame, kept = blank(make_frame(120, topic=np.where(np.arange(120) < 60, "a", "b")))
    frame["split"] = np.where(kept, split, None)
    scores, by_topic = write(frame, tmp_path / "s.csv"), ("--topic-column", "topic")
    for options in (MLE, ("--pool", "--draws", "20")):
        run("fit", scores, *by_topic, *options, "--out", tmp_path / "out")
        rows = summary_of(tmp_path / "out")["topics"][0]["rows"]
        assert rows == {"negatives": 5, "positives": 5, "test": 10}
        assert (read(tmp_path / "out/probabilities.csv")["probability"] != "").all()
    result = run("predict", tmp_path / "out", scores, *by_topic, "--test",
                 "--out", tmp_path / "p.csv")  # fmt: skip
    (line,) = (line for line in result.stdout.splitlines() if line.startswith("all "))
    assert line.split()[1] == "40"
    run("report", tmp_path / "out", "--test", scores, "--out", tmp_path / "r.html")
    topics = data_of(tmp_path / "r.html")["topics"]
    assert [topic["test"]["point"]["n"] for topic in topics] == [10, 10]


@pytest.mark.slow
def test_fit_holds_out_labelled_rows_only(tmp_path):
    scores, _ = blank(make_frame(120))
    path = write(scores, tmp_path / "s.csv")
    run("fit", path, "--draws", "20", "--holdout", "0.3", "--out", tmp_path / "out")
    table = read(tmp_path / "out/probabilities.csv")
    assert (table.loc[table["held_out"], "label"] != "").all()
    assert summary_of(tmp_path / "out")["topics"][0]["rows"]["test"] == 12


@pytest.mark.slow
def test_lower_scores_may_stand_for_positives(tmp_path):
    frame = make_frame()
    scores = write(frame, tmp_path / "s.csv")
    distances = write(frame.assign(score=-frame["score"]), tmp_path / "d.csv")
    few = ("--family", "gaussian", "--draws", "50", "--out")
    run("fit", scores, *few, tmp_path / "up")
    text = run("fit", distances, "--lower-is-positive", *few, tmp_path / "down").stdout
    up, down = (read(tmp_path / name / "probabilities.csv") for name in ("up", "down"))
    assert down["probability"].equals(up["probability"])
    assert down["score"].equals(-up["score"])
    assert f"{-frame.loc[frame['label'] == 1, 'score'].median():.4g}" in text
    # The folder remembers; a calibrator that is moved elsewhere needs the option.
    moved = tmp_path / "moved.nc"
    moved.write_bytes((tmp_path / "down/posterior.nc").read_bytes())
    for words in ((tmp_path / "down",), (moved, "--lower-is-positive")):
        run("predict", words[0], distances, *words[1:], "--out", tmp_path / "p.csv")
        assert read(tmp_path / "p.csv")["probability"].equals(up["probability"])
    _, downs = (
        run("decide", tmp_path / name, path, "--recall", "0.8", "--out", tmp_path / f"{name}.csv")
        for name, path in (("up", scores), ("down", distances))
    )
    assert "up to score" in downs.stdout
    first, second = (read(tmp_path / f"{name}.csv").iloc[0] for name in ("up", "down"))
    assert second["threshold"] == -first["threshold"]
    assert second["threshold_lower"] == -first["threshold_upper"]
    assert second["selected"] == first["selected"]
    at = run("decide", tmp_path / "down", distances, "--at-score", "-0.5").stdout
    assert "Documents whose score is -0.5 or less are taken" in at
    assert f"{(frame['score'] >= 0.5).sum()} of 40" in at
    result = run("report", tmp_path / "down", "--test", distances, "--out", tmp_path / "r.html")
    assert "takes -score in place of score" in result.stderr
    assert data_of(tmp_path / "r.html")["topics"][0]["test"]["point"]["positives"] == 10
    result = run("export", tmp_path / "down", "--out", tmp_path / "c.py")
    assert "takes -score in place of score" in result.stderr
    refused = run("fit", distances, "--lower-is-positive", "--scores-are", "probabilities", code=2)
    assert "--lower-is-positive turns the sign of scores" in refused.stderr


# The positive label is stated, by its words or else with a warning


@pytest.mark.parametrize("words", [("survived", "died"), ("H2", "H1"), (-1, 1)])
def test_words_decide_which_label_is_positive(words, tmp_path):
    result = run("fit", write(spelled(*words), tmp_path / "s.csv"), *MLE)
    stated = f"Positive label: '{words[1]}', 10 of 40 labelled rows in column 'label' of"
    assert stated in result.stdout
    assert "in sorted order" not in result.stderr


@pytest.mark.parametrize("words", [("1", "2"), ("a", "b")])
def test_words_that_do_not_say_are_warned_of(words, tmp_path):
    scores = write(spelled(*words[::-1]), tmp_path / "s.csv")
    result = run("fit", scores, *MLE)
    assert f"'{words[1]}' is taken, the last in sorted order. Name the positive" in result.stderr
    assert "--positive" in result.stderr.split("lie below")[1]
    named = run("fit", scores, *MLE, "--positive", words[0])
    assert f"Positive label: '{words[0]}'" in named.stdout
    assert named.stderr == ""


def test_every_command_states_the_positive_label_once(tmp_path):
    frame = spelled("nein", "ja").assign(p=lambda f: 1 / (1 + np.exp(-f["score"])))
    scores = write(frame.iloc[:, 1:], tmp_path / "s.csv")
    folder, again = tmp_path / "out", tmp_path / "again"
    of_p = ("--label-column", "label", "--probability-column", "p")
    for words in (
        ("fit", scores, "--family", "gaussian", "--draws", "20", "--out", folder),
        ("predict", folder, scores, "--out", tmp_path / "p.csv"),
        ("predict", folder, scores),
        ("decide", folder, scores, "--at", "0.5"),
        ("report", folder, "--out", tmp_path / "r.html"),
        ("export", folder, "--out", tmp_path / "e.py"),
        ("audit", scores, *of_p, "--out", tmp_path / "a.html"),
        ("recalibrate", scores, *of_p, "--refit", "never", "--out", again),
        ("predict", again, scores, "--score-column", "p", "--out", tmp_path / "p.csv"),
    ):
        result = run(*words)
        piped = words == ("predict", folder, scores)
        stated = (result.stderr if piped else result.stdout).count("Positive label")
        assert stated == 1, words
        assert "'ja'" in result.output
    for page, words in (("r", "Positives (class ja)"), ("a", "Positives (label ja)")):
        assert words in (tmp_path / f"{page}.html").read_text()


@pytest.mark.filterwarnings("default:Positives have lower probabilities")
@pytest.mark.parametrize("command", ["fit", "lr", "recalibrate", "audit"])
def test_a_label_with_the_lower_scores_names_the_option(command, tmp_path):
    frame = spelled("b", "a").assign(p=lambda f: 1 / (1 + np.exp(-f["score"])))
    of_p = ("--label-column", "label", "--probability-column", "p")
    options = {
        "fit": MLE,
        "lr": ("--draws", "20", "--folds", "2"),
        "recalibrate": (*of_p, "--refit", "never", "--out", tmp_path / "out"),
        "audit": of_p,
    }[command]
    result = run(command, write(frame, tmp_path / "s.csv"), *options)
    (line,) = (line for line in result.stderr.splitlines() if "AUC" in line)
    assert "--positive" in line


# Names of groups that differ in capitals and blanks only

SPELLINGS = ["Mercy", "MERCY", "mercy ", "St Mary", "st  mary", "ST MARY"]
SPELLINGS += ["North", " north", "NORTH"]


def test_three_hospitals_in_nine_spellings_are_three(tmp_path):
    rng, n = np.random.default_rng(0), 360
    frame = make_frame(n).assign(p=lambda f: 1 / (1 + np.exp(-f["score"])))
    site = np.array(SPELLINGS)[rng.integers(9, size=n)]
    plain = [" ".join(name.split()).casefold() for name in site.tolist()]
    shown = []
    for names in (site, plain):
        scores = write(frame.assign(site=names), tmp_path / "s.csv")
        of_p = ("--label-column", "label", "--probability-column", "p", "--site-column", "site")
        shown.append(run("audit", scores, *of_p).stdout)
        assert "3 sites in site: " in shown[-1]
    assert "Capitals and blanks apart, these are one site: " in shown[0]
    assert "one site" not in shown[1]
    first, second = (
        [line for line in text.splitlines() if "one site" not in line and "3 sites" not in line]
        for text in shown
    )
    assert first[:-1] == second[:-1]


def test_topics_are_found_in_other_spellings(tmp_path):
    frame = make_frame(80, topic=np.where(np.arange(80) < 40, "Corn", "oil"))
    run("fit", write(frame, tmp_path / "s.csv"), "--topic-column", "topic", *MLE,
        "--out", tmp_path / "out")  # fmt: skip
    other = write(frame.assign(topic=frame["topic"].str.upper() + " "), tmp_path / "n.csv")
    for file, out in ((tmp_path / "s.csv", "a.csv"), (other, "b.csv")):
        options = ("--topic-column", "topic", "--out", tmp_path / out)
        result = run("predict", tmp_path / "out", file, *options)
        assert "2 topics in topic: 'Corn', 'oil'" in result.stdout
    assert "'CORN  as Corn'" in result.stdout
    first, second = (read(tmp_path / name) for name in ("a.csv", "b.csv"))
    assert first["probability"].equals(second["probability"])


def test_sources_of_both_columns_are_one_in_any_spelling(tmp_path):
    rng = np.random.default_rng(0)
    pairs = [(i, j) for i in range(12) for j in range(i, 12)]
    frame = pd.DataFrame({"a": [f"S{i}" for i, _ in pairs], "b": [f"s{j} " for _, j in pairs]})
    same = np.array([i == j for i, j in pairs])
    frame["label"] = np.where(same, "same", "different")
    frame["score"] = rng.normal(size=same.size) + 2.5 * same
    options = ("--source-columns", "a,b", "--draws", "20", "--folds", "3")
    found = run("lr", write(frame, tmp_path / "s.csv"), *options).stdout
    assert "Positive label: 'same', 12 of 78 labelled rows" in found
    assert "12 sources in a and b: " in found
    assert "these are one source: " in found
