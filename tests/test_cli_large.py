"""Large files by shell: folders of parts, several processes, runs that go on, rows set aside."""

import re

import numpy as np
import pandas as pd
import pytest

from tests.cli_tools import make_frame, run, write
from tests.scale_out_tools import writes_on_a_full_disk

pytestmark = pytest.mark.one_era


@pytest.fixture(scope="module")
def calibrator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    table = write(make_frame(), folder / "fit.csv")
    run("fit", table, "--family", "gaussian", "--draws", "50", "--out", folder / "calibrated")
    return folder / "calibrated"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Return a pattern of two files, read by blocks of 7 rows."""
    monkeypatch.setattr("bayescal.cli.answer_folder.ROWS", 7)
    monkeypatch.setattr("bayescal.cli.commands.decide.ROWS", 7)
    (tmp_path / "in").mkdir()
    for k in range(2):
        write(make_frame(16, seed=k).drop(columns="label"), tmp_path / "in" / f"new{k}.parquet")
    return tmp_path / "in" / "new*.parquet"


def parts(folder):
    names = sorted(folder.glob("part-*.parquet"))
    return names, pd.concat([pd.read_parquet(name) for name in names], ignore_index=True)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder_has_the_rows_of_a_file(calibrator, files, tmp_path, jobs):
    run("predict", calibrator, files, "--out", tmp_path / "whole.parquet")
    result = run("predict", calibrator, files, "--out", tmp_path / "answers", "--jobs", jobs)
    assert f"Written to {tmp_path / 'answers'}: 32 rows" in result.output.replace("\n", "")
    names, found = parts(tmp_path / "answers")
    assert len(names) == 6  # 7, 7 and 2 rows of each file
    pd.testing.assert_frame_equal(found, pd.read_parquet(tmp_path / "whole.parquet"), atol=1e-12)


def test_a_run_that_ended_early_goes_on(calibrator, files, tmp_path):
    out, second = tmp_path / "answers", files.parent / "new1.parquet"
    good = pd.read_parquet(second)
    write(good.assign(score=good["score"].where(np.arange(16) != 9)), second)
    result = run("predict", calibrator, files, "--out", out, code=2)
    assert "new1.parquet" in result.output
    assert "row 11 of the file" in result.output
    before = {name: name.stat().st_mtime_ns for name in parts(out)[0]}
    assert len(before) >= 2  # whole parts, written before the row that was wrong
    write(good, second)
    first, *others = before
    rows = sum(len(pd.read_parquet(name)) for name in others)
    table = pd.read_parquet(first)
    # A part with other rows is not kept.
    table.assign(document="other").to_parquet(first)
    for again in ("answered", "there"):
        output = run("predict", calibrator, files, "--out", out, "--resume").output
        kept = re.search(r"32 rows, of which ([\d,]+) were there", output.replace("\n", " "))
        assert int(kept[1]) == {"answered": rows, "there": 32}[again]
    found = parts(out)[1]
    run("predict", calibrator, files, "--out", tmp_path / "whole.parquet")
    pd.testing.assert_frame_equal(found, pd.read_parquet(tmp_path / "whole.parquet"), atol=1e-12)
    assert [name.stat().st_mtime_ns for name in others] == [before[name] for name in others]


@pytest.mark.slow
def test_a_part_without_room_on_the_disk_is_written_later(calibrator, files, tmp_path, monkeypatch):
    out = tmp_path / "answers"
    with monkeypatch.context() as patched:
        patched.setattr("bayescal.cli.answer_folder._write", writes_on_a_full_disk)
        result = run("predict", calibrator, files, "--out", out, "--jobs", 2, code=2)
    assert "--out: " in result.output
    assert "File too large" in result.output.replace("\n", " ")
    before = {path: path.stat().st_mtime_ns for path in parts(out)[0]}
    assert out / "part-000000.parquet" in before
    assert out / "part-000002.parquet" not in before
    # Nothing but whole parts and the record of the run.
    assert {*out.iterdir()} == {*before, out / "run.json"}
    run("predict", calibrator, files, "--out", out, "--jobs", 2, "--resume")
    assert {path: path.stat().st_mtime_ns for path in before} == before
    run("predict", calibrator, files, "--out", tmp_path / "whole.parquet")
    expected = pd.read_parquet(tmp_path / "whole.parquet")
    pd.testing.assert_frame_equal(parts(out)[1], expected, atol=1e-12)


@pytest.mark.parametrize("score", ["text", "number"])
def test_rows_without_a_score_are_set_aside(calibrator, files, tmp_path, score):
    frame = make_frame(16)
    bad = frame.assign(score=frame["score"].where(~frame.index.isin([0, 1, 2, 3, 4, 5, 6, 9])))
    table = write(bad, tmp_path / ("bad.csv" if score == "text" else "bad.parquet"))
    output = run(
        "predict", calibrator, table, "--out", tmp_path / "out", "--on-error", "skip"
    ).output
    assert "8 rows without a score" in output
    rejected = pd.concat(
        [pd.read_csv(each) for each in sorted((tmp_path / "out").glob("rejected-*.csv"))]
    )
    assert rejected["document"].tolist() == [0, 1, 2, 3, 4, 5, 6, 9]
    assert rejected["row"].str.startswith("row 2 of the file").iloc[0]
    assert rejected["reason"].str.contains("score is .* no finite number").all()
    _, found = parts(tmp_path / "out")
    assert found["document"].astype(int).tolist() == [7, 8, 10, 11, 12, 13, 14, 15]
    assert found["probability"].between(0.0, 1.0).all()


@pytest.mark.parametrize("command", ["predict", "decide"])
def test_a_file_that_ends_early_is_named(calibrator, files, command):
    second = files.parent / "new1.parquet"
    second.write_bytes(second.read_bytes()[:900])
    asked = ("--at", "0.5") if command == "decide" else ()
    output = run(command, calibrator, files, *asked, code=2).output
    assert f"{second} cannot be read" in output.replace("\n", "")


def test_what_a_folder_cannot_be_is_refused(calibrator, files, tmp_path):
    out = tmp_path / "answers"
    run("predict", calibrator, files, "--out", out)
    for arguments, message in (
        (("--out", out), "must be a new or an empty folder"),
        (("--out", out, "--resume", "--level", "0.8"), "level was 0.9, is 0.8"),
        (("--out", tmp_path), "must be a new or an empty folder"),
        (("--out", tmp_path / "none" / "answers"), "there is no folder"),
        (("--out", tmp_path / "new", "--test"), "write one file"),
        (("--out", tmp_path / "new.csv", "--jobs", 2), "need a folder"),
    ):
        output = run("predict", calibrator, files, *arguments, code=2).output
        assert message in " ".join(output.split())
    assert len(parts(out)[0]) == 6


def test_decide_counts_the_rows_of_many_files(calibrator, files, tmp_path, monkeypatch):
    whole = write(
        pd.concat([pd.read_parquet(each) for each in sorted(files.parent.iterdir())]),
        tmp_path / "whole.parquet",
    )
    tables = {}
    for name, given in (("many", files), ("one", whole)):
        if name == "one":
            monkeypatch.setattr("bayescal.cli.commands.decide.ROWS", 1 << 19)
        for asked in (("--at-score", "0.5"), ("--recall", "0.8")):
            out = tmp_path / f"{name}.parquet"
            run("decide", calibrator, given, *asked, "--out", out)
            tables[name, asked[0]] = pd.read_parquet(out)
    for question in ("--at-score", "--recall"):
        many, one = tables["many", question], tables["one", question]
        assert many["documents"].item() == one["documents"].item() == 32
        assert many["selected"].item() == pytest.approx(one["selected"].item(), abs=2)
        # Labels are drawn: 200 draws of the share of about ten positives.
        assert many["recall"].item() == pytest.approx(one["recall"].item(), abs=0.05)
    output = run(
        "decide", calibrator, files, "--recall", "0.8", "--topic-column", "t", code=2
    ).output
    assert "names 2 files" in output
