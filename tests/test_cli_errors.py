"""The command line on wrong input: one line that says what, exit code 2, nothing on disk."""

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from bayescal.cli.app import app, in_options

GOOD = "score,label,topic,weight,split\n" + "".join(
    f"{score},{label},{topic},1,{split}\n"
    for topic in "ab"
    for score, label, split in (
        (-2, 0, "train"),
        (-1, 0, "train"),
        (0.5, 1, "train"),
        (1, 0, "test"),
        (2, 1, "train"),
    )
)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def snapshot(folder):
    return {
        path: path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))
    }


def assert_refused(result, message, folder, before):
    assert result.exit_code == 2, (result.output, result.exception)
    assert re.fullmatch(f"Error: .*{message}.*\n", result.stderr), result.stderr
    assert result.stdout == ""
    assert snapshot(folder) == before


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.csv").write_text(GOOD)
    return tmp_path


CALLS = [
    ("refit", "No such command 'refit'"),
    ("fit scores.csv --scores x", "No such option: --scores"),
    (
        "decide a.nc b.csv --threshold 1",
        "No such option: --threshold; decide takes --at, --at-score,",
    ),
    ("fit", "Missing argument 'SCORES'"),
    ("fit none.csv", "there is no file none.csv; expected a .csv, .tsv"),
    ("fit folder.csv", "folder.csv is a folder: expected a .csv"),
    ("fit scores.txt", r"a \.csv, \.tsv, .* or \.parquet file, got scores\.txt"),
    ("fit scores.csv --family gaussian --parts logistic", "--family needs densities or combined"),
    ("fit scores.csv --family cauchy", "--family must be one of .*, got 'cauchy'"),
    ("fit scores.csv --inference vi", "--inference.*'vi'.*'exact'"),
    ("fit scores.csv --level 90", "--level must lie between 0 and 1.*, got 90"),
    ("fit scores.csv --draws 0", "--draws must be at least 1, got 0"),
    ("fit scores.csv --tune -1", "--tune must be at least 0, got -1"),
    ("fit scores.csv --target-accept 1", "--target-accept must lie between 0 and 1"),
    ("fit scores.csv --seed -1", "--seed must be at least 0, got -1"),
    ("predict none.nc scores.csv --prior 1", "--prior must lie between 0 and 1.*got 1"),
    ("predict none.nc scores.csv --band wide", "--band must be one of .*, got 'wide'"),
    ("fit scores.csv --draws many", "--draws.*integer, got 'many'"),
    ("fit scores.csv --draws 20 --draws many", "integer, got 'many'"),
    (
        "fit scores.csv --label-column score --score-column weight",
        r"hold two classes.*; MulticlassCalibrator \(in a shell --classes\)",
    ),
    (
        "recalibrate scores.csv --out out --probability-column weight --label-column label"
        " --refit x",
        "scores.csv: --refit must be one of",
    ),
    ("fit scores.csv --scores-are probabilities", "fit with --scores-are scores if they are none"),
    (
        "sample scores.csv --n 2 --out p.csv --group-column g",
        "no column 'g'.*name the one you mean with --group-column",
    ),
    ("fit scores.csv --split-column score", "in every row, got -2.0 in row 2 of the file"),
    ("fit scores.csv --seed=1.5", "--seed.*integer, got '1.5'"),
    ("predict scores.csv folder.nc", "got folder.nc. Where a calibrator is named too, it comes"),
    ("predict none.nc scores.csv --out ./scores.csv", "--out must differ from the input file"),
    ("text fit nothing", "there is no folder nothing of documents"),
    ("fit scores.csv --positive 2", "--positive.*'0' and '1', got '2'"),
    ("fit scores.csv --score-column s", "no column 's'; .*'score', 'label'"),
    ("fit scores.csv --label-column y", "no column 'y'.*--label-column"),
    ("fit scores.csv --weight-column=", "no column ''.*--weight-column"),
    (
        "fit scores.csv --weight-column score --inclusion-column score",
        "--weight-column counts rows and --inclusion-column .* leave out one",
    ),
    ("fit scores.csv --weight-column w", "no column 'w'.*--weight-column"),
    ("fit scores.csv --split-column s", "no column 's'.*--split-column"),
    ("fit scores.csv --cluster-column c", "no column 'c'.*--cluster-column"),
    ("fit scores.csv --score-column topic", "'topic'.*finite.*got 'a' in row 2 of"),
    ("fit scores.csv --label-column score", "must name different columns, got 'score' for both"),
    ("fit scores.csv --label-column weight", "'weight'.*only one class.*got only .*1"),
    (
        "fit scores.csv --model silent.py",
        "(?s:silent.py must define .*\n    def log_odds.score, intercept, slope.:\n.*)",
    ),
    ("fit scores.csv --model gaussian --family laplace", "says what is fitted: leave out --family"),
    ("models new broken.py", "broken.py exists: choose another name"),
    ("models new no/mine.py", "there is no folder 'no'"),
    ("models new mine.txt", "a program is a .py file"),
    ("fit scores.csv --model laplace --inference mle", "--model needs --inference"),
    ("fit scores.csv --out scores.txt", "--out must be a folder, but scores.txt"),
    ("fit scores.csv --holdout 1.5", "--holdout must lie between 0 and 1"),
    ("fit scores.csv --prior-knowledge none.nc", r"--prior-knowledge: .*no file 'none.nc'"),
    (
        "fit scores.csv --prior-knowledge none.json",
        "-knowledge: .*none.json: there is no such file",
    ),
    ("fit scores.csv --pool --prior-knowledge learned", "--pool learns a prior from the topics"),
    ("fit scores.csv --holdout 0.5", "--holdout.*without test rows, got 0.5 and 2"),
    ("demo corn", "unexpected extra argument"),
    ("models cauchy", "there is no program 'cauchy'; expected one of"),
    ("models empty.py", "must define a function model"),
    ("predict none.nc scores.csv", "there is no file none.nc"),
    ("predict scores.txt scores.csv", "scores.txt must be a file that a calibrator's save wrote"),
    ("predict folder.csv scores.csv", "folder.csv must be a .nc file or a folder"),
    ("predict none.nc scores.csv --out p.xlsx", r"--out must end in \.csv or \.parquet"),
    ("report none.nc --out page.pdf", r"--out must end in \.html or \.htm, got"),
]


@pytest.mark.parametrize(("call", "message"), CALLS)
def test_wrong_calls(call, message, work):
    (work / "scores.txt").write_text(GOOD)
    (work / "folder.csv").mkdir()
    (work / "folder.nc").mkdir()
    (work / "empty.py").write_text('"""No model."""\n')
    (work / "broken.py").write_text("undefined_name\n")
    (work / "silent.py").write_text("def model(score, label): ...\n")
    before = snapshot(work)
    assert_refused(run(*call.split()), message, work, before)


CELL = "column '{}' of bad.csv must hold .*in every row, got {} in row {} of the file "
WEIGHED = "score,label,weight\n1,0,{}\n2,0,{}\n3,1,{}\n"
FILES = [
    ("", "bad.csv cannot be read: it is empty: expected a header and rows"),
    ("score,label\n", "bad.csv must hold a header and at least one row"),
    (b"\xff\xfe\x00PK\x00", "bad.csv must hold a header"),
    ("score,label\n1,0\n2,1,3\n", "bad.csv cannot be read"),
    ("score,label\n1,0,5\n2,1,5\n", "more cells than its header"),
    ("s,label\n1,0\n2,1\n", "bad.csv has no column 'score'; its columns are 's', 'label'"),
    ("1.5,1\n0.5,0\n", "Its first line looks like data, where names"),
    ("score label\n1 1\n0 0\n", "has one column: separate cells by commas, semicolons, tabs"),
    ("Run 3\nscore,label\n1,1\n0,0\n", "no line may stand above the header"),
    ("score,label\n1_0,1\n0,0\n", CELL.format("score", "'1_0'", 2)),
    ("score,label\n95 %,1\n1,0\n", "every number has one: add those that lack"),
    ("Run 3,\nscore,label\n1,1\n0,0\n", "delete the rows above the names"),
    ("score,label\n1,1\n0,0\n1,NA\n", r"leave the cell empty\); MulticlassCalibrator"),
    ("score,label\n1,\n0, \n", "must hold labels to learn from, got none"),
    (b"PK\x03\x04\x14\x00", "bad.csv cannot be read: it is a spreadsheet"),
    ("score,label\n1,0\n2,1\n3,?\n", "got 3 classes .*Leave out documents of other classes"),
    ("score,label\n1,a\n2,b\0c\n", "column 'label' of bad.csv must not hold null characters"),
    ("score,la\0bel\n1,a\n2,b\n", "the names of its columns must not hold null characters"),
    ("score,label\n1,0\n,1\n", CELL.format("score", "an empty cell", 3)),
    ("score,label\n1,0\n2,1\nhigh,1\n", CELL.format("score", "'high'", 4)),
    (f"score,label\n1,0\n{99 * 'x'},1\n", CELL.format("score", f"'{56 * 'x'}...", 3)),
    ("score,label\n1,0\nnan,1\n", CELL.format("score", "'nan'", 3)),
    ("score,label\n1,0\n-inf,1\n", CELL.format("score", "'-inf'", 3)),
    ("score,label\n1,0\n1e200,1\n", "column 'score' of bad.csv must lie within 1e150"),
    ("score,label\n1,0\n2,0\n", "column 'label' of bad.csv.*only one class.*got only .*0"),
    ("score,label\n1,0\n2,1\n3,2\n", "column 'label' of bad.csv.*got 3 classes"),
    ("score,label,split\n1,0,train\n2,1,dev\n", CELL.format("split", "'dev'", 3)),
    ("score,label,split\n1,0,train\n2,1,test\n", "need rows to fit.*got none with label 1"),
    (WEIGHED.format("1", "", "1"), "column 'weight' of bad.csv.*an empty cell in row 3 of"),
    (WEIGHED.format("1", "1", "-2"), "column 'weight' of bad.csv must not be negative, got -2"),
    (WEIGHED.format("1", "inf", "1"), "column 'weight' of bad.csv.*got 'inf' in row 3 of"),
    (WEIGHED.format("0", "0", "0"), "column 'weight' of bad.csv must not be all zero"),
    (WEIGHED.format("0", "0", "1"), "both classes need rows to fit.*got none with label 0"),
    ("score,label,probability\n1,0,0\n2,1,0\n", "bad.csv has a column 'probability'"),
    ("score,label,held_out\n1,0,0\n2,1,0\n", "bad.csv has a column 'held_out'"),
]


@pytest.mark.parametrize(("content", "message"), FILES)
def test_wrong_files(content, message, work):
    (work / "bad.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    before = snapshot(work)
    options = ("--weight-column", "weight") if "weight" in str(content) else ()
    result = run("fit", "bad.csv", "--inference", "mle", "--out", "out", *options)
    assert_refused(result, message, work, before)


@pytest.mark.parametrize(
    ("column", "cell"),
    [("score", [0]), ("label", [1, 2]), ("topic", {"a": 1}), ("weight", [0]), ("split", [1, 2])],
)
def test_cells_of_parquet_that_hold_several_values_are_named(column, cell, work):
    frame = pd.DataFrame({"score": [1.0, 2.0], "label": [0, 1], "topic": ["a", "a"]})
    frame = frame.assign(weight=1.0, split="train").assign(**{column: [cell, cell]})
    frame.to_parquet(work / "bad.parquet")
    before = snapshot(work)
    options = ("--topic-column", "topic", "--weight-column", "weight", "--out", "out")
    what = re.escape(f"a {type(cell).__name__} {cell} in row 2 of")
    message = f"column '{column}' of bad.parquet must hold .* in every row, got {what}"
    assert_refused(run("fit", "bad.parquet", *options), message, work, before)


def test_labels_of_parquet_may_be_of_any_type_that_has_a_text(work):
    days = pd.to_datetime(["2020-01-01", "2020-01-02"] * 4)
    pd.DataFrame({"score": np.arange(8.0), "label": days}).to_parquet(work / "days.parquet")
    result = run("fit", "days.parquet", "--inference", "mle", "--out", "out")
    assert result.exit_code == 0, result.output
    assert "2020-01-02" in (work / "out/summary.json").read_text()


def test_parquet_is_checked_too(work):
    (work / "bad.parquet").write_text(GOOD)
    before = snapshot(work)
    assert_refused(run("fit", "bad.parquet"), "bad.parquet cannot be read", work, before)
    pd.DataFrame({"score": [1.0, np.nan], "label": [0, 1]}).to_parquet(work / "nan.parquet")
    pd.DataFrame({"score": [1.0, 2.0], "label": ["no", None]}).to_parquet(work / "none.parquet")
    before = snapshot(work)
    assert_refused(run("fit", "nan.parquet"), "an empty cell in row 3 of", work, before)
    assert_refused(run("fit", "none.parquet"), "only one class.*got only 'no'", work, before)


PREDICTIONS = [
    ("topics scores.csv", "topics holds many topics: name.*--topic-column"),
    ("single scores.csv --topic-column topic", "--topic-column needs a folder"),
    ("topics/a.nc scores.csv --topic-column topic", "--topic-column needs a folder"),
    ("topics new.csv --topic-column topic", "'topic' of new.csv.*'a', 'b'; got 'z'"),
    ("single scores.csv --out no/p.csv", "--out: there is no folder no"),
    ("single scores.csv --out folder.csv", "--out: folder.csv is a folder"),
    ("single again.csv", "again.csv has a column 'probability'"),
]


def test_wrong_predictions(work):
    for out, arguments in (("single", ()), ("topics", ("--topic-column", "topic"))):
        result = run("fit", "scores.csv", "--inference", "mle", "--out", out, *arguments)
        assert result.exit_code == 0, result.output
    (work / "new.csv").write_text("score,topic\n1,a\n2,z\n")
    (work / "again.csv").write_text("score,probability\n1,0.5\n")
    (work / "folder.csv").mkdir()
    before = snapshot(work)
    for call, message in PREDICTIONS:
        assert_refused(run("predict", *call.split()), message, work, before)


@pytest.mark.parametrize("existing", [True, False])
def test_a_failure_while_writing_changes_nothing(existing, work, monkeypatch):
    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr("bayescal.cli.writing.write_frame", fail)
    if existing:
        (work / "out").mkdir()
        (work / "out/summary.json").write_text("old")
    before = snapshot(work)
    result = run("fit", "scores.csv", "--inference", "mle", "--out", "out", "--quiet")
    assert_refused(result, "--out: the disk is full", work, before)


def test_a_folder_in_the_place_of_a_file_stops_all_of_them(work):
    (work / "out/summary.json").mkdir(parents=True)
    before = snapshot(work)
    result = run("fit", "scores.csv", "--inference", "mle", "--out", "out", "--quiet")
    assert_refused(result, "summary.json is a folder", work, before)


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_found_before_the_fit(work, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError("[Errno 13] Permission denied: 'out'")

    monkeypatch.setattr("bayescal.cli.fitting.calibrate_one", None)
    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    before = snapshot(work)
    for call in (
        "fit scores.csv --out out",
        "fit scores.csv --topic-column topic --out out",
        "predict none.nc scores.csv --out p.csv",
        "report none.nc",
        "text fit none.csv --out out",
        "demo",
    ):
        assert_refused(
            run(*call.split()), "--out must be where files.*Permission denied", work, before
        )


def test_bugs_end_with_their_traceback_and_code_1(work, monkeypatch):
    def fail(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr("bayescal.cli.fitting.calibrate_one", fail)
    before = snapshot(work)
    result = run("fit", "scores.csv", "--inference", "mle", "--out", "out")
    assert result.exit_code == 1
    assert isinstance(result.exception, RuntimeError)
    assert snapshot(work) == before


def test_interrupting_is_no_error(work, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("bayescal.cli.fitting.calibrate_one", interrupt)
    result = run("fit", "scores.csv", "--inference", "mle", "--out", "out")
    assert (result.exit_code, result.stdout) == (130, "")
    assert not (work / "out").exists()


OPTIONS = {
    each.replace("-", "_"): f"--{each}" for each in ("level", "format", "likelihood-ratio", "prior")
}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("level must lie above 0", "--level must lie above 0"),
        ("scores.csv: level must be", "scores.csv: --level must be"),
        ("give format='sql', or level=0.9.", "give --format sql, or --level 0.9."),
        ("likelihood_ratio=True needs data", "--likelihood-ratio needs data"),
        ("the level must stay, and a level=None", "the level must stay, and a level=None"),
        ("--level must lie above 0", "--level must lie above 0"),
        ("prior must be a number", "prior must be a number"),
    ],
)
def test_messages_of_functions_name_options(message, expected):
    assert in_options(message, OPTIONS, ["predict", "--level=1"]) == expected
