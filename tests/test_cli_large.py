"""Large files by shell: folders of parts, several processes, runs that go on, rows set aside.

Commands that count read small blocks here, and all rows in memory with large ones.
"""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

from bayescal.cli import blocks
from bayescal.monitoring import audit
from tests.cli_tools import make_frame, run, write
from tests.report_data import data_of
from tests.scale_out_tools import writes_on_a_full_disk


@pytest.fixture(scope="module")
def calibrator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    table = write(make_frame(), folder / "fit.csv")
    run("fit", table, "--family", "gaussian", "--draws", "50", "--out", folder / "calibrated")
    return folder / "calibrated"


@pytest.fixture(scope="module")
def calibrator_of_parts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    run("fit", write(make_frame(), folder / "fit.csv"), "--draws", "50", "--out", folder / "parts")
    return folder / "parts"


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


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
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


@pytest.mark.parametrize("command", ["predict", "decide"])
def test_no_file_that_a_pattern_or_a_folder_names_is_written(calibrator, files, command):
    asked = ("--at", "0.5") if command == "decide" else ()
    table = files.parent / "new0.parquet"
    before = table.read_bytes()
    for given in (files, files.parent, table):
        output = run(command, calibrator, given, *asked, "--out", table, code=2).output
        assert f"--out must differ from the input file {table}" in output.replace("\n", " ")
    assert table.read_bytes() == before


# Counts of rows: `audit`, `rate`, and the collection of `report`.


@pytest.fixture
def small_blocks(monkeypatch):
    """Read blocks of 7 rows, and return a function that reads files whole again."""
    commands = [
        f"bayescal.cli.commands.{name}.ROWS" for name in ("audit", "predict", "rate", "report")
    ]
    for name in commands:
        monkeypatch.setattr(name, 7)
    return lambda: [monkeypatch.setattr(name, 1 << 19) for name in commands]


def outcomes(n=120, seed=0):
    """Return probabilities of three decimals and labels, whose odds are twice the stated ones."""
    rng = np.random.default_rng(seed)
    p = np.round(rng.uniform(0.02, 0.9, n), 3)
    return pd.DataFrame({"p": p, "y": (rng.random(n) < 2.0 * p / (1.0 + p)).astype(int)})


def split(frame, folder, suffix=".parquet"):
    """Write the halves of a table, and the whole; return the pattern and the whole's path."""
    half = len(frame) // 2
    write(frame[:half], folder / f"part0{suffix}")
    write(frame[half:], folder / f"part1{suffix}")
    return folder / f"part*{suffix}", write(frame, folder / f"whole{suffix}")


def numbers_of(output):
    """Return the output of an audit without the name of its file and the next command."""
    lines = [line for line in output.splitlines() if not line.startswith("Next")]
    return re.sub(r"\S*(whole|part\*)\.\w+", "FILE", "\n".join(lines))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_an_audit_of_two_files_is_that_of_one(small_blocks, tmp_path, suffix):
    frame = outcomes().astype({"y": object})
    frame.loc[::9, "y"] = None
    many, one = split(frame, tmp_path, suffix)
    asked = ("--threshold", "0.3", "--out", tmp_path / "many.html")
    found = run("audit", many, *asked).stdout
    page = (tmp_path / "many.html").read_text()
    for words in ("120 read, 106 used, 14 left out", "p, y and counts", "part0", "part1"):
        assert words in page
    small_blocks()
    whole = run("audit", one, *asked[:2], "--out", tmp_path / "one.html").stdout
    assert numbers_of(found).replace("many.html", "one.html") == numbers_of(whole)
    counted, rows = (data_of(tmp_path / f"{name}.html") for name in ("many", "one"))
    assert counted == rows
    more = [
        re.search("This audit has .*? outcomes.*", text)[0]
        for text in (page, (tmp_path / "one.html").read_text())
    ]
    assert more[0] == more[1]


@pytest.mark.parametrize("cells", [1 << 15, pytest.param(1 << 17, marks=pytest.mark.slow)])
def test_an_audit_of_more_scores_than_cells_is_nearly_that_of_rows(monkeypatch, tmp_path, cells):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.9, 300_000 * cells >> 17)
    frame = pd.DataFrame({"p": p, "y": rng.random(p.size) < 1.2 * p / (1.0 + 0.2 * p)})
    many, _ = split(frame, tmp_path)
    found = []

    def kept(outcomes, *arguments, **options):
        found.append(audit_outcomes(outcomes, *arguments, **options))
        return found[-1]

    from bayescal.monitoring.auditing import audit_outcomes

    for name in ("condense", "joined"):
        monkeypatch.setattr(blocks, name, partial(getattr(blocks, name), cells=cells))
    monkeypatch.setattr("bayescal.cli.commands.audit.ROWS", p.size // 6)
    monkeypatch.setattr("bayescal.monitoring.auditing.audit_outcomes", kept)
    run("audit", many, "--threshold", "0.3")
    (counted,) = found
    assert counted.outcomes.p.size < 2 * cells + 2 < p.size
    rows = audit(frame["y"], frame["p"], threshold=0.3, random_state=0).to_frame()
    np.testing.assert_allclose(counted.to_frame()["value"], rows["value"], atol=1e-4)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["no", "yes"], ("yes", "no")),
        ([0, 1], ("1", "0")),
        (["0", "1"], ("1", "0")),
        ([True, False], ("True", "False")),
        (["B", "A"], ("B", "A")),
    ],
)
@pytest.mark.parametrize("missing", [False, True])
def test_labels_of_the_last_block_count_as_all_others(
    small_blocks, tmp_path, labels, classes, missing
):
    frame = outcomes(60)
    frame["y"] = [labels[0]] * 56 + [labels[1]] * 4
    if missing:
        frame["y"] = frame["y"].astype(object)
        frame.loc[57, "y"] = None
    many, one = split(frame, tmp_path)
    found = run("audit", many)
    text = " ".join(found.stdout.split())  # the path of the files decides where lines break
    assert f"Positive label: '{classes[0]}'" in text
    assert f"negative: '{classes[1]}'" in text
    small_blocks()
    whole = run("audit", one)
    assert numbers_of(found.stdout) == numbers_of(whole.stdout)
    assert numbers_of(found.stderr) == numbers_of(whole.stderr)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"p": 1.5}, "part1.parquet, row 14 of the file (its first row is row 1): p must lie"),
        ({"p": 40.0}, "got 40: correct the values that do not"),
        ({"p": None}, "part1.parquet must hold a finite number in every row"),
        ({"y": 2}, "two"),
    ],
)
def test_bad_values_are_named_by_file_and_row(small_blocks, tmp_path, change, words):
    frame = outcomes(60)
    for name, value in change.items():
        frame.loc[42, name] = value
    many, _ = split(frame, tmp_path)
    told = " ".join(run("audit", many, code=2).stderr.split())
    assert words in told
    if "p" in change:
        assert "row 14 of the file" in told


def test_a_column_of_names_or_of_nothing_holds_no_labels(small_blocks, monkeypatch, tmp_path):
    many, _ = split(outcomes(60).assign(name=np.arange(60).astype(str), none=None), tmp_path)
    monkeypatch.setattr("bayescal.cli.blocks.MOST_CELLS", 5)
    for column, words in (("name", "two"), ("none", "must hold labels to learn from, got none")):
        assert words in run("audit", many, "--label-column", column, code=2).stderr


@pytest.mark.filterwarnings("always:Each of 3 rows")
def test_impossible_outcomes_are_counted_and_likely_clusters_named(small_blocks, tmp_path):
    frame = outcomes(60).assign(patient=np.arange(60) // 2)
    frame.loc[[3, 30, 50], ["p", "y"]] = 0.0, 1
    many, _ = split(frame, tmp_path)
    told = run("audit", many).stderr
    assert "Each of 3 rows is positive and had probability 0." in told
    assert "--cluster-column" in told
    for column in ("cluster", "site", "inclusion"):
        refused = run("audit", many, f"--{column}-column", "patient", code=2).stderr
        assert f"names 2 files: --{column}-column needs all rows in one" in refused


def test_the_sample_to_recalibrate_is_named(small_blocks, tmp_path):
    many, _ = split(outcomes(400).rename(columns={"p": "risk"}), tmp_path)
    told = run("audit", many, "--probability-column", "risk").stdout
    step = "bayescal recalibrate SAMPLE.csv --probability-column risk --out FOLDER"
    assert f"Next, with a random sample of the rows in SAMPLE.csv: {step}" in told


@pytest.mark.parametrize("lower", [(), ("--lower-is-positive",)])
def test_a_report_counts_a_collection_of_many_files(small_blocks, tmp_path, lower):
    table = make_frame(200)
    sign = -1.0 if lower else 1.0
    folder = tmp_path / "fitted"
    fitted = write(table.assign(score=sign * table["score"]), tmp_path / "fit.csv")
    run("fit", fitted, *lower, "--family", "gaussian", "--draws", "50", "--out", folder)
    new = make_frame(120, seed=1).drop(columns="label")
    many, one = split(new.assign(score=sign * new["score"]), tmp_path)
    pages = []
    for path in (many, one):
        pages.append(tmp_path / f"{len(pages)}.html")
        run("report", folder, "--collection", path, "--out", pages[-1])
        small_blocks()
    (counted,), (rows,) = (data_of(page)["collection"].values() for page in pages)
    assert counted["at"]["documents"] == rows["at"]["documents"] == 120
    for name in ("selected", "score"):
        assert counted["at"][name] == pytest.approx(rows["at"][name], rel=1e-12)
    # Labels are drawn: 200 draws of the number of positives.
    for question in ("at", "wanted"):
        found, expected = counted[question]["found"], rows[question]["found"]
        assert found == pytest.approx(expected, abs=1.5)


def test_a_report_names_bad_scores_and_refuses_topics_in_many_files(
    small_blocks, calibrator, tmp_path
):
    frame = make_frame(60)
    many, _ = split(frame.assign(score=frame["score"].where(frame.index != 42)), tmp_path)
    asked = ("report", calibrator, "--collection", many, "--out", tmp_path / "r.html")
    told = " ".join(run(*asked, code=2).stderr.split())
    assert (
        "part1.parquet must hold a finite number in every row, got an empty cell in row 14" in told
    )
    assert "names 2 files: --topic-column" in run(*asked, "--topic-column", "t", code=2).stderr


@pytest.mark.parametrize("bounds", [(), ("--bounds", "elub")])
def test_likelihood_ratios_of_many_files_are_those_of_one(
    small_blocks, calibrator_of_parts, tmp_path, bounds
):
    # With more than 32 rows the whole would be interpolated, blocks of 7 would not.
    many, one = split(make_frame(30).drop(columns="label"), tmp_path)
    asked = ("--likelihood-ratio", *bounds, "--out")
    run("predict", calibrator_of_parts, many, *asked, tmp_path / "many.parquet")
    small_blocks()
    run("predict", calibrator_of_parts, one, *asked, tmp_path / "one.parquet")
    tables = [pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("many", "one")]
    assert "log10_lr_lower" in tables[0]
    pd.testing.assert_frame_equal(*tables, atol=1e-12)


@pytest.fixture
def judged(tmp_path):
    """Return scores of 120 documents, and the path of labels of 40 without their leading zeros."""
    rng = np.random.default_rng(0)
    good = rng.random(120) < 0.4
    names = pd.Series([f"{k:04d}" for k in range(1, 121)])
    frame = pd.DataFrame({"id": names, "score": np.round(good + rng.normal(size=120), 1)})
    chosen = rng.choice(120, 40, replace=False)
    labels = pd.DataFrame({"id": names[chosen].str.lstrip("0"), "label": good[chosen].astype(int)})
    return frame, write(labels, tmp_path / "labels.csv")


def told_of(result, path):
    """Return the output of a command without the path of the scores."""
    return result.output.replace(str(path), "FILE")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("options", [(), ("--design", "random", "--lower-is-positive")])
def test_a_rate_of_two_files_is_that_of_one(small_blocks, judged, tmp_path, suffix, options):
    frame, labels = judged
    many, one = split(frame, tmp_path, suffix)
    asked = ("--labels", labels, *options)
    counted = [run("rate", path, *asked) for path in (many, one)]
    small_blocks()
    rows = told_of(run("rate", one, *asked), one)
    assert "from 40 labels of 120 documents" in rows
    assert [told_of(*each) for each in zip(counted, (many, one), strict=True)] == [rows, rows]


def test_identifiers_that_floats_do_not_hold_are_matched(small_blocks, judged, tmp_path):
    frame, labels = judged
    first = (1 << 53) + 1
    numbers = frame.assign(id=first + frame.index, doc=frame.index)
    numbers["doc"] = numbers["doc"].where(numbers.index > 70)  # floats in the second file alone
    read = pd.DataFrame({"id": first + 2 * np.arange(30), "label": [0, 1] * 15})
    many, _ = split(numbers, tmp_path)
    told = run("rate", many, "--labels", write(read, labels)).output
    assert "from 30 labels of 120 documents" in told


def repeated(frame, cell):
    frame.loc[3, "id"] = cell
    return pd.DataFrame({"id": ["0100", "0050"], "label": [0, 1]})


def of_unknown(*names, known=None):
    return pd.concat([known, pd.DataFrame({"id": names, "label": "1"})])


# A function that spoils the scores or returns spoilt labels, and the words of the error.
REFUSED = {
    "all have labels": (
        lambda frame, _: frame[["id"]].assign(label=frame["score"].gt(0.5).astype(int)),
        "got 120 labels of 120 documents",
    ),
    "no column of names": (
        lambda _, read: read.rename(columns={"id": "key"}),
        "must name its documents in one of the columns 'id', 'row'",
    ),
    "an unknown document": (lambda _, read: of_unknown("9999", known=read), "which has no '9999'"),
    "unknown documents": (lambda *_: of_unknown("9999", "8888", "7777"), "which has no '9999'"),
    "an identifier twice": (lambda frame, _: repeated(frame, "0100"), "it repeats '0100'"),
    "no identifier": (lambda frame, _: repeated(frame, None), "it has an empty cell"),
}
NAMED = ("--id-column", "id")


@pytest.mark.parametrize(
    ("name", "options"),
    [*((name, ()) for name in REFUSED), *((name, NAMED) for name in REFUSED if "ident" in name)],
)
def test_labels_that_fit_no_documents_are_refused(small_blocks, judged, tmp_path, name, options):
    frame, labels = judged
    change, words = REFUSED[name]
    write(change(frame, pd.read_csv(labels, dtype=str)), labels)
    many, one = split(frame, tmp_path)
    asked = ("--labels", labels, *options)
    counted = told_of(run("rate", many, *asked, code=2), many)
    small_blocks()
    rows = told_of(run("rate", one, *asked, code=2), one)
    assert words in " ".join(counted.split())
    # The note before the error counts the documents.
    assert counted == rows


def test_a_bad_score_of_many_files_is_named_by_file_and_row(small_blocks, judged, tmp_path):
    frame, labels = judged
    frame["score"] = frame["score"].where(frame.index != 83)
    many, _ = split(frame, tmp_path)
    told = " ".join(run("rate", many, "--labels", labels, code=2).stderr.split())
    assert "part1.parquet must hold a finite number in every row" in told
    assert "row 25 of the file" in told


def test_what_needs_all_rows_of_a_rate_is_refused_in_many_files(small_blocks, judged, tmp_path):
    frame, labels = judged
    many, one = split(frame.assign(language="en"), tmp_path)
    against = ("--against", write(frame, tmp_path / "old.csv"), "--against-labels", labels)
    for asked in (
        ("--at-score", 0.5),
        ("--by-column", "language"),
        ("--cluster-column", "language"),
        ("--report", tmp_path / "rate.html"),
        against,
    ):
        told = " ".join(run("rate", many, "--labels", labels, *asked, code=2).stderr.split())
        assert f"names 2 files: {asked[0]} needs all rows in one" in told
    told = run("rate", one, "--labels", labels, *against).output  # one file is read whole
    assert "120 documents" in told
    rows = write(pd.DataFrame({"row": [2, 3], "label": [0, 1]}), tmp_path / "rows.csv")
    told = " ".join(run("rate", many, "--labels", rows, code=2).stderr.split())
    assert f"column 'row' of {rows} needs all rows in one" in told
    assert "from 2 labels of 120" in run("rate", one, "--labels", rows).output
    drawn = tmp_path / "drawn.csv"
    run("sample", one, "--n", 20, "--out", drawn)
    write(pd.read_csv(drawn, dtype=str).assign(label=["0", "1"] * 10), drawn)
    told = " ".join(run("rate", many, "--labels", drawn, code=2).stderr.split())
    assert f"the plan {tmp_path / 'drawn.plan.csv'} needs all rows in one" in told
    assert "from 20 labels of 120" in run("rate", one, "--labels", drawn).output
