"""Files of scores as people have them: read as they are, or refused with what to do."""

import csv
import gzip
import json
import zipfile
from contextlib import nullcontext
from contextvars import copy_context

import numpy as np
import pandas as pd
import pytest

import bayescal
from bayescal.cli.columns import ColumnReader
from bayescal.cli.files import BLOCK, dialect_of, read_frame
from bayescal.cli.numbers import DECIMAL, NumberFormat, as_numbers
from bayescal.cli.terminal import UsageError
from bayescal.support.files import file_row
from tests.cli_tools import MLE, make_frame, read, run, summary_of, write

FRAME = make_frame().assign(place="Zürich")
TEXT = FRAME.to_csv(index=False)

FILES = {
    "comma.csv": TEXT.encode(),
    "semicolon.csv": FRAME.to_csv(index=False, sep=";").encode(),
    "told.csv": ("sep=;\n" + FRAME.to_csv(index=False, sep=";")).encode(),
    "tab.tsv": FRAME.to_csv(index=False, sep="\t").encode(),
    "upper.CSV": TEXT.encode(),
    "marked.csv": b"\xef\xbb\xbf" + TEXT.encode(),
    "utf16.csv": TEXT.encode("utf-16"),
    "utf16 told.csv": ("sep=;\n" + FRAME.to_csv(index=False, sep=";")).encode("utf-16"),
    "latin1.csv": TEXT.encode("latin-1"),
    "bars.csv": FRAME.to_csv(index=False, sep="|").encode(),
    "no mark.csv": TEXT.encode("utf-16-le"),
    "minus.csv": TEXT.replace(",-", ",\N{MINUS SIGN}").encode(),
    "packed.csv.gz": gzip.compress(TEXT.encode()),
    "packed.tsv.gz": gzip.compress(FRAME.to_csv(index=False, sep="\t").encode("utf-16")),
}


@pytest.mark.parametrize("name", FILES)
def test_it_is_read_as_it_is(name, tmp_path):
    (tmp_path / name).write_bytes(FILES[name])
    table = read_frame(tmp_path / name)
    scores, _ = as_numbers(table["score"].tolist())
    table = table.assign(score=scores, label=table["label"].astype(int))
    pd.testing.assert_frame_equal(table, FRAME, check_dtype=False)


def test_a_character_across_two_blocks_is_one(tmp_path):
    path = tmp_path / "long.csv"
    path.write_bytes(b"score\n" + b"1" * (BLOCK - 7) + "ü\n".encode())
    assert dialect_of(path).encoding == "utf-8"
    path.write_bytes(b"score\n" + b"1" * (BLOCK - 7) + "ü\n".encode("latin-1"))
    assert dialect_of(path).encoding == "latin-1"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("Score,label", "no column 'score'.* Did you mean --score-column 'Score'?"),
        ("score, label", "no column 'label'.* Did you mean --label-column ' label'?"),
        ("points,label", "no column 'score'; its columns are 'points', 'label'"),
        ("score,score", "its header names the column 'score' twice: rename one of them"),
    ],
)
def test_headers_that_are_nearly_right(header, message, tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text(f"{header}\n1.5,1\n0.5,0\n2.0,1\n-1.0,0\n")
    told = " ".join(run("fit", path, *MLE, code=2).stderr.split())
    first, _, second = message.partition(".*")
    assert first in told
    assert second in told
    assert ("Did you mean" in told) == ("Did you mean" in message)


@pytest.mark.parametrize(
    ("cells", "asks"),
    [
        (["850", "1.012", "-2.500", "7"], True),
        (["1.012"] * 4, True),
        (["850", "1.012", "0.850", "7"], False),
        (["1.0120", "1.012", "2.500", "3"], False),
    ],
)
def test_points_that_may_be_thousands_are_asked_about(cells, asks, tmp_path):
    path = tmp_path / "scores.csv"
    rows = [f"{cell};{k % 2};{cell}" for k, cell in enumerate(cells)]
    path.write_text("\n".join(["score;label;size", *rows]))
    for column in (ColumnReader.scores, ColumnReader.covariate):
        with pytest.raises(UsageError, match="may be thousands") if asks else nullcontext():
            assert column(ColumnReader(path), "size").tolist() == [float(cell) for cell in cells]
    if asks:
        assert "column 'score' of" in run("fit", path, *MLE, code=2).stderr


@pytest.mark.parametrize(
    ("cells", "points", "commas"),
    [
        (["850", "1.012", "\N{MINUS SIGN}2.500"], [850.0, 1.012, -2.5], [850.0, 1012.0, -2500.0]),
        (["850", "1,012", "-2,500"], [850.0, 1012.0, -2500.0], [850.0, 1.012, -2.5]),
        (["0.5", "1,012", "3"], [0.5, 1012.0, 3.0], None),
        (["1.012", "12.5", "3"], [1.012, 12.5, 3.0], [1.012, 12.5, 3.0]),  # no thousands
        (["1.500%", "2.250 %", "4%"], [0.015, 0.0225, 0.04], [15.0, 22.5, 0.04]),
    ],
)
def test_decimal_says_how_thousands_are_written(cells, points, commas):
    for decimal, expected in (("point", points), ("comma", commas)):
        context = copy_context()
        context.run(DECIMAL.set, decimal)
        found, advice = context.run(as_numbers, cells)
        if expected is None:
            assert "decimal comma" in advice
        else:
            assert found.tolist() == pytest.approx(expected)


def test_decimal_stands_before_or_after_the_command_and_is_recorded(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("score;label\n850;1\n1.012;0\n2.500;0\n")
    fit = ("fit", path, *MLE, "--out", tmp_path / "out")
    calls = {"point": ("--decimal", "point", *fit), "comma": (*fit, "--decimal=comma")}
    for (decimal, words), expected in zip(calls.items(), (1.012, 1012.0), strict=True):
        run(*words)
        table = pd.read_csv(tmp_path / "out/probabilities.csv")
        assert table["score"].tolist()[:2] == [850.0, expected]
        assert summary_of(tmp_path / "out")["arguments"]["decimal"] == decimal
    assert "give --decimal point" in run(*fit, code=2).stderr


@pytest.mark.parametrize(
    ("first", "second", "expected", "advice"),
    [
        (["0.5", "3"], ["1.250", "2.125"], [1.25, 2.125], ""),
        (["0,5", "3"], ["1,250", "2,125"], [1.25, 2.125], ""),
        (["3", "4"], ["1.250", "2.125"], [np.nan, np.nan], "may be thousands"),
        (["0.5", "3"], ["1,5", "2"], [np.nan, 2.0], "decimal comma"),
        (["0,5", "3"], ["1.5", "2"], [np.nan, 2.0], "point"),
        (["50%", "30%"], ["60", "70%"], [np.nan, 0.7], "Per cent"),
        (["50", "30"], ["60%", "70"], [np.nan, 70.0], "Per cent"),
        ([np.nan, "  "], ["60%", "70%"], [0.6, 0.7], ""),
    ],
)
def test_the_first_block_decides_the_format_of_numbers(first, second, expected, advice):
    column = NumberFormat()
    column.read(first)
    found, told = column.read(second)
    np.testing.assert_allclose(found, expected)
    assert advice in told if advice else not told


def test_text_in_numbers_is_no_decimal_comma(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text('score,label\n"high, too",1\n2,0\n')
    told = run("fit", path, *MLE, code=2).stderr
    assert "got 'high, too' in row 2 of the file" in told
    assert "decimal comma" not in told


@pytest.mark.parametrize("label", [["ham", "spam"], [0, 1]])
def test_both_columns_of_predict_proba_are_told_apart(label, tmp_path):
    two = {"no": [0.75, 0.4, 0.3, 0.9], "yes": [0.25, 0.6, 0.7, 0.1], "label": 2 * label}
    pd.DataFrame(two).to_csv(tmp_path / "p.csv", index=False)
    told = run("fit", tmp_path / "p.csv", *MLE, code=2).stderr
    assert "Its columns 'no' and 'yes' sum to 1" in told
    assert "pass [:, 1], the positive class's, which is likely --score-column 'yes'" in told
    run("fit", tmp_path / "p.csv", *MLE, "--score-column", "yes")


def test_labels_and_their_opposite_are_no_probabilities(tmp_path):
    pd.DataFrame({"points": [1.5, 2.0], "label": [0, 1], "not": [1, 0]}).to_csv(
        tmp_path / "p.csv", index=False
    )
    assert "sum to 1" not in run("fit", tmp_path / "p.csv", code=2).stderr


def test_a_column_of_topics_that_is_not_used_is_named(tmp_path):
    path = tmp_path / "scores.csv"
    FRAME.assign(topic="corn").to_csv(path, index=False)
    assert "not used" not in run("fit", path, *MLE, "--out", tmp_path / "out").stderr
    FRAME.assign(topic=np.repeat(["corn", "ship"], 20)).to_csv(path, index=False)
    told = run("fit", path, *MLE).stderr
    assert "has a column 'topic' of 2 values, which is not used: --topic-column topic" in told
    assert "not used" not in run("fit", path, *MLE, "--topic-column", "topic").stderr
    told = run("predict", tmp_path / "out", path, "--out", tmp_path / "p.csv").stderr
    assert "has a column 'topic' of 2 values, which is not used" in told
    assert "is one calibrator for all rows" in told


@pytest.mark.parametrize("decimal", [".", ","])
def test_per_cent_signs_are_read_where_every_number_has_one(decimal, tmp_path):
    share = FRAME["score"] / 10.0
    cells = [f"{100.0 * value:.2f} %".replace(".", decimal) for value in share]
    FRAME.assign(score=cells).to_csv(tmp_path / "cent.csv", index=False, sep=";")
    run("fit", tmp_path / "cent.csv", *MLE, "--out", tmp_path / "out")
    np.testing.assert_allclose(read(tmp_path / "out/probabilities.csv")["score"], share)


def sheets(book, **frames):
    """Write a spreadsheet with these sheets."""
    with pd.ExcelWriter(book) as writer:
        for name, frame in frames.items():
            frame.to_excel(writer, sheet_name=name, index=False)


def test_the_sheet_of_a_spreadsheet_is_read(tmp_path):
    book = tmp_path / "scores.xlsx"
    label = FRAME["label"].astype(object).where(np.arange(40) < 30)
    blank = FRAME.assign(label=label)
    sheets(book, scores=blank, empty=pd.DataFrame())
    result = run("fit", book, *MLE, "--out", tmp_path / "out")
    assert "30 of 40 rows have a label" in result.stdout
    blank.to_csv(tmp_path / "scores.csv", index=False)
    run("fit", tmp_path / "scores.csv", *MLE, "--out", tmp_path / "text")
    found, expected = (read(tmp_path / name / "probabilities.csv") for name in ("out", "text"))
    assert found["probability"].equals(expected["probability"])


def test_spreadsheets_that_are_not_one_table_are_refused(tmp_path):
    book = tmp_path / "scores.xlsx"
    sheets(book, scores=FRAME, notes=FRAME)
    assert "one sheet with rows, got 'scores', 'notes'" in run("fit", book, code=2).stderr
    sheets(book, scores=FRAME[["score", "score", "label"]])
    assert "names the column 'score' twice" in run("fit", book, code=2).stderr
    title = pd.DataFrame([["score", "label"], [1.0, 0]], columns=["Run 3", None])
    sheets(book, scores=title)
    told = run("fit", book, code=2).stderr
    assert "delete the rows above the names of columns" in told
    assert "--score-column" not in told
    sheets(book, scores=pd.DataFrame())
    assert "a header and at least one row" in run("fit", book, code=2).stderr


def test_without_openpyxl_a_spreadsheet_is_refused_with_advice(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "openpyxl", None)
    book = tmp_path / "scores.xlsx"
    with zipfile.ZipFile(book, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    message = "spreadsheets need openpyxl: pip install bayescal[excel], or save the sheet as CSV"
    assert message in run("fit", book, code=2).stderr


@pytest.mark.parametrize(("name", "encoding"), [("long.csv", "utf-8"), ("long.csv.gz", "latin-1")])
def test_a_cell_of_many_megabytes_is_refused_before_it_is_read(tmp_path, name, encoding):
    text = "score,label,place\n1.0,1,Zürich\n0.0,0," + "x" * 11_000_000 + "\n0.5,1,a\n"
    data = text.encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(data, 1) if name.endswith(".gz") else data)
    message = run("fit", tmp_path / name, "--out", tmp_path / "out", code=2).stderr
    assert f"{name} cannot be read: one of its lines has more than 10,000,000 bytes" in message


COMMA = "decimal comma"
NAMED = "got 'x' in row {} of the file"
REFUSED = [
    ("s.csv", "score;label\n0,75;1\n-1.5;0\n", COMMA),  # a comma here, a point there
    ("s.csv", "score;label\n1,750;1\n-1,500;0\n", COMMA),  # or thousands
    ("s.csv", 'score,label\n"1,750",1\n2,0\n', COMMA),
    ("s.csv", "score,label\n0,75,1\n-1,5,0\n", COMMA),  # each number is two cells
    ("s.csv", "score,label\n1,1\n-1,5,0\n", COMMA),
    ("s.csv", 'score,label\n1,1\n"2,0\n3,0\n', "mark that opens in line 3 is never closed"),
    ("s.csv", "score,label\n1,1\n\n2,0\nx,1\n", NAMED.format(5)),  # as spreadsheets number rows
    ("s.csv", "\nscore,label\n1,1\nx,0\n", NAMED.format(4)),
    ("s.csv", 'score,label,t\n1,1,"a\nb"\nx,1,d\n', NAMED.format(3)),
    ("s.csv", "sep=,\nscore,label\n1,1\nx,0\n", NAMED.format(3)),
    ("s.csv", gzip.compress(TEXT.encode()), "let its name end in .csv.gz"),
    ("s.csv", b"PAR1\x15\x04", "let its name end in .parquet"),
    ("s.csv", b"\xd0\xcf\x11\xe0\xa1\xb1", "an old spreadsheet"),
    ("s.csv.gz", gzip.compress(TEXT.encode())[:-20], "cannot be read: Compressed file ended"),
    ("s.xlsx", TEXT, "s.xlsx cannot be read: it is no .xlsx file, or damaged"),
]


@pytest.mark.parametrize(("name", "content", "message"), REFUSED)
def test_files_that_cannot_be_read_are_refused(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert message in run("fit", tmp_path / name, *MLE, code=2).stderr


def test_a_spreadsheet_that_unpacks_to_far_more_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "scores.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", bytes(110_000_000))
    assert (tmp_path / "scores.xlsx").stat().st_size < 1_000_000
    message = run("fit", tmp_path / "scores.xlsx", code=2).stderr
    assert "scores.xlsx cannot be read: it unpacks to 110 MB, more than 100 times its" in message


# Text that spreadsheets or terminals would run

FORMULAS = ["=cmd|' /C calc'!A0", "+1+cmd", "-2+3", "@SUM(A1)", "\tx", "\rx", "\uff1dx", "'=quoted"]


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas_are_written_as_text_and_read_again(formula, tmp_path):
    frame = make_frame(40, topic=formula, note=formula)
    frame["note"] = ["-1.5", "+3 %", "-", formula] * 10
    scores = tmp_path / "scores.csv"
    quoted = {"index": False, "quoting": csv.QUOTE_ALL}
    frame.rename(columns={"document": formula}).to_csv(scores, **quoted)
    by_topic = ("--topic-column", "topic", "--out")
    run("fit", scores, *MLE, *by_topic, tmp_path / "out")
    table = tmp_path / "out/probabilities.csv"
    found = pd.read_csv(table, dtype=str, keep_default_na=False)
    assert not any(text.startswith(tuple("=+-@\t\r\uff1d")) for text in [*found, *found["topic"]])
    assert found["note"][:3].tolist() == ["-1.5", "+3 %", "-"]
    assert found["note"][3] == found["topic"][0] == f"'{formula.removeprefix(chr(39))}"
    # The topic keeps its name, and what was written may be read.
    assert summary_of(tmp_path / "out")["topics"][0]["topic"] == formula.removeprefix("'")
    again = pd.read_csv(table, dtype=str, keep_default_na=False)
    again[["score", "topic"]].to_csv(tmp_path / "again.csv", **quoted)
    run("predict", tmp_path / "out", tmp_path / "again.csv", *by_topic, tmp_path / "p.csv")
    predicted = pd.read_csv(tmp_path / "p.csv", dtype=str, keep_default_na=False)
    assert predicted["topic"].equals(found["topic"])
    assert predicted["probability"].equals(found["probability"])
    shown = run("predict", tmp_path / "out", tmp_path / "again.csv", *by_topic[:2]).stdout
    assert shown.splitlines() == (tmp_path / "p.csv").read_text(encoding="utf-8").splitlines()


def test_escape_codes_in_names_do_not_reach_the_terminal(tmp_path):
    name = "red\x1b[31m\x07\x9b2J"
    frame = pd.concat([make_frame(topic=name), make_frame(topic="good")])
    one_class = frame.assign(label=frame["label"].where(frame["topic"] != name, 0))
    scores, few = write(frame, tmp_path / "s.csv"), write(one_class, tmp_path / "few.csv")
    by_topic = ("--topic-column", "topic")
    results = [
        run("fit", scores, *MLE, *by_topic, "--parameters"),
        run("fit", few, *MLE, *by_topic, "--out", tmp_path / "out"),
        run("predict", tmp_path / "out", scores, *by_topic, "--out", tmp_path / "p.csv"),
        run("fit", scores, "--score-column", name, code=2),
        run("fit", scores, "--topic-column", name, code=2),
    ]
    printed = "".join(result.stdout + result.stderr for result in results)
    assert "red\N{SYMBOL FOR ESCAPE}[31m" in printed
    assert not any(sign in printed for sign in "\x1b\x07\x9b")


def test_escape_codes_in_names_do_not_reach_files_that_people_open(tmp_path):
    name = "red\x1b[31m\x07\x9b2J"
    frame = make_frame().assign(**{name: "v\x1b]0;title", "site": [name, "b"] * 20})
    scores = write(frame.assign(p=0.5, y=frame["label"]), tmp_path / "s.csv")
    results = [
        run("fit", scores, *MLE, "--out", tmp_path / "out"),
        run("predict", tmp_path / "out", scores),
        run("predict", tmp_path / "out", scores, "--out", tmp_path / "p.csv"),
        run("recalibrate", scores, "--site-column", "site", "--out", tmp_path / "again"),
        run("audit", scores, "--site-column", "site", "--out", tmp_path / "audit.html"),
        run("report", tmp_path / "out", "--title", name, "--out", tmp_path / "report.html"),
        run("fit", f"{name}.csv", code=2),
        run("fit", scores, f"--{name}", code=2),
        run(name, code=2),
    ]
    shown = "".join(result.stdout + result.stderr for result in results)
    files = [path for path in tmp_path.rglob("*") if path.suffix in (".csv", ".html")]
    written = {path.name: path.read_text("utf-8") for path in files if path != scores}
    assert set(written) == {"p.csv", "probabilities.csv", "audit.html", "report.html"}
    for text in (shown, *written.values()):
        assert "red\N{SYMBOL FOR ESCAPE}[31m" in text
        assert not any(sign in text for sign in "\x1b\x07\x9b")


def test_a_summary_names_no_file_elsewhere(tmp_path):
    scores = write(make_frame(topic="a"), tmp_path / "s.csv")
    for name in ("out", "other"):
        run("fit", scores, *MLE, "--topic-column", "topic", "--out", tmp_path / name)
    (tmp_path / "out/link.nc").symlink_to(tmp_path / "other/a.nc")
    summary = summary_of(tmp_path / "out")
    for path in ("../other/a.nc", str(tmp_path / "other/a.nc"), "link.nc"):
        summary["topics"][0]["file"] = path
        (tmp_path / "out/summary.json").write_text(json.dumps(summary))
        with pytest.raises(ValueError, match="must name files of its own folder"):
            bayescal.load(tmp_path / "out")
        result = run("predict", tmp_path / "out", scores, "--topic-column", "topic", code=2)
        assert "must name files of its own folder" in result.stderr


def test_files_of_two_topics_that_were_exchanged_are_refused(tmp_path):
    frame = pd.concat([make_frame(topic="a"), make_frame(seed=1, topic="b")])
    scores, out = write(frame, tmp_path / "s.csv"), tmp_path / "out"
    run("fit", scores, *MLE, "--topic-column", "topic", "--out", out)
    assert set(bayescal.load(out)) == {"a", "b"}
    for old, new in (("a", "c"), ("b", "a"), ("c", "b")):
        (out / f"{old}.nc").rename(out / f"{new}.nc")
    message = "must hold the calibrator of topic 'a', got that of 'b'"
    with pytest.raises(ValueError, match=message):
        bayescal.load(out)["a"]
    assert message in run("predict", out, scores, "--topic-column", "topic", code=2).stderr


@pytest.mark.slow
def test_a_folder_is_what_was_last_written_into_it(tmp_path):
    frame = pd.concat([make_frame(topic="a"), make_frame(seed=1, topic="b")])
    scores, out = write(frame, tmp_path / "s.csv"), tmp_path / "out"
    by_topic = ("--topic-column", "topic", "--out", out)
    run("fit", scores, "--pool", "--draws", "20", *by_topic)
    assert isinstance(bayescal.load(out), bayescal.TopicCalibrator)
    run("fit", scores, *MLE, *by_topic)
    assert set(bayescal.load(out)) == {"a", "b"}
    run("fit", scores, "--pool", "--draws", "20", *by_topic)
    assert isinstance(bayescal.load(out), bayescal.TopicCalibrator)


BLANK = {
    "blank lines.csv": TEXT.replace("\n", "\n\n").encode(),
    "blank above.csv": ("\n \n" + FRAME.to_csv(index=False, sep=";")).encode(),
    "empty cells.csv": (TEXT + "," * (len(FRAME.columns) - 1) + "\n").encode(),
    "utf32.csv": TEXT.encode("utf-32"),
}


@pytest.mark.parametrize("name", BLANK)
def test_blank_rows_are_left_out(name, tmp_path):
    (tmp_path / name).write_bytes(BLANK[name])
    pd.testing.assert_frame_equal(
        read_frame(tmp_path / name).reset_index(drop=True), FRAME.astype(str)
    )


def test_a_spreadsheet_may_begin_below_and_right_of_its_corner(tmp_path):
    path = tmp_path / "s.xlsx"
    FRAME.iloc[[0, 1]].to_excel(path, index=False, startrow=3, startcol=2)
    found = read_frame(path)
    assert found.columns.tolist() == list(FRAME)
    assert [file_row(int(k))[:5] for k in found.index] == ["row 5", "row 6"]


def test_text_that_a_parquet_file_holds_as_bytes_is_text(tmp_path):
    path = tmp_path / "s.parquet"
    labels = [text.encode() for text in np.where(FRAME["label"] == 1, "über", "no")]
    FRAME.assign(label=labels).to_parquet(path)
    assert sorted(set(read_frame(path)["label"])) == ["no", "über"]


def test_true_among_numbers_is_no_number():
    assert np.isnan(as_numbers([True, 1.5])[0]).tolist() == [True, False]
    assert as_numbers([True, False])[0].tolist() == [1.0, 0.0]


def test_a_folder_that_lacks_a_file_or_nests_without_end(tmp_path):
    frame = pd.concat([make_frame(topic="con"), make_frame(seed=1, topic="topics")])
    scores, out = write(frame, tmp_path / "s.csv"), tmp_path / "out"
    run("fit", scores, *MLE, "--topic-column", "topic", "--out", out)
    assert set(bayescal.load(out)) == {"con", "topics"}  # topics.nc would be pooled ones
    (out / "topic_con.nc").unlink()  # con.nc is a device of Windows
    predict = ("predict", out, scores, "--topic-column", "topic")
    assert "with all its files" in run(*predict, code=2).stderr
    assert (
        "--topic must name one of" in run("export", out, "--out", tmp_path / "x.py", code=2).stderr
    )
    (out / "summary.json").write_text("[" * 5000)
    assert "summary.json is missing or unreadable" in run(*predict, code=2).stderr


def test_labels_of_topics_that_were_left_out_test_nothing(tmp_path):
    extra = pd.DataFrame({"score": [1.0, 2.0], "label": [0, 0], "topic": ["lone", "lone"]})
    frame = pd.concat([make_frame(topic="a"), extra])
    scores, out = write(frame, tmp_path / "s.csv"), tmp_path / "out"
    run("fit", scores, *MLE, "--topic-column", "topic", "--out", out)
    frame["label"] = [None] * 40 + [0, 0]
    half = write(frame, tmp_path / "half.csv")
    of_topics = (half, "--topic-column", "topic")
    told = run("predict", out, *of_topics, "--test", "--out", tmp_path / "p.csv").stderr
    assert "there is nothing to test" in told
    told = run("report", out, "--test", *of_topics, "--out", tmp_path / "r.html", code=2).stderr
    assert "must hold a labelled row of a topic that was fitted" in told
