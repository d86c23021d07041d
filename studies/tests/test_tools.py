"""The tools that check the project: faults put in, times of tests, what a machine lacks."""

import ast
import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import machine, test_times
from tools.mutations import table
from tools.mutations.faults import faults_of
from tools.mutations.sample import ROOMS, draw_faults, room_of

ROOT = Path(__file__).parents[2]
SOURCE = '''"""A module."""

LIMIT = 0.5


def clip(x: float, *, low: float = 0.0) -> float:
    """Return x or the limit."""
    if x < low:
        raise ValueError(f"too low: {x + 1}")
    return -min(x, LIMIT)
'''


@pytest.fixture
def faults(tmp_path):
    (tmp_path / "clip.py").write_text(SOURCE)
    return faults_of(tmp_path, "clip.py")


def test_faults_are_small_changes_of_what_runs(faults):
    changes = {(fault.function, fault.before, fault.after) for fault in faults}
    assert changes == {
        ("", "0.5", "0.75"),
        ("clip", "0.0", "1.0"),
        ("clip", "x < low", "(x >= low)"),
        ("clip", "x < low", "(x <= low)"),
        ("clip", "-min(x, LIMIT)", "min(x, LIMIT)"),
        ("clip", "min(x, LIMIT)", "max(x, LIMIT)"),
    }


def test_every_fault_is_python_and_changes_its_line_alone(faults):
    lines = SOURCE.splitlines()
    for fault in faults:
        found = fault.applied(SOURCE).splitlines()
        ast.parse("\n".join(found))
        changed = [k + 1 for k, (a, b) in enumerate(zip(lines, found, strict=True)) if a != b]
        assert changed == [fault.first]


def test_the_same_faults_are_drawn_when_other_code_changes(faults, tmp_path):
    (tmp_path / "clip.py").write_text(SOURCE.replace("LIMIT = 0.5", "OTHER = 7\nLIMIT = 0.5"))
    moved = faults_of(tmp_path, "clip.py")
    assert {fault.rank for fault in faults} < {fault.rank for fault in moved}


def test_equal_changes_in_one_function_are_drawn_apart(tmp_path):
    (tmp_path / "twice.py").write_text("def twice(x):\n    return f(x, 1) + g(x, 1)\n")
    ones = [fault for fault in faults_of(tmp_path, "twice.py") if fault.before == "1"]
    assert len(ones) == len({fault.rank for fault in ones}) == 2


def test_every_module_of_the_package_is_in_a_room():
    files = [path.relative_to(ROOT) for path in (ROOT / "bayescal").glob("*/**/*.py")]
    assert {room_of(path.as_posix()) for path in files} == set(ROOMS)


@pytest.mark.slow
def test_every_room_has_its_share_of_faults():
    drawn = draw_faults(ROOT, 24)
    assert len(drawn) == 24 * len(ROOMS) >= 150
    assert {room_of(fault.path) for fault in drawn} == set(ROOMS)
    for fault in drawn:
        compile(fault.applied((ROOT / fault.path).read_text()), fault.path, "exec")
    others = draw_faults(ROOT, 24, "another seed")
    assert len(set(others) & set(drawn)) < len(drawn) / 3


def test_the_page_of_faults_shows_its_table():
    folder = ROOT / "docs" / "validation"
    rows = list(table.read(folder / "mutations.csv"))
    page = (folder / "mutations.md").read_text()
    assert table.table(rows) in page
    assert len(rows) >= 110
    # The tests that were added for faults are there.
    tests = [row["why"].split("::") for row in rows if row["judged"] == table.TESTED]
    for path, *names in tests:
        assert f"def {names[-1]}(" in (ROOT / path).read_text(), names


def test_a_survivor_must_be_judged():
    row = {"room": "families", "path": "x.py", "line": "1", "ended": "survived", "judged": ""}
    with pytest.raises(ValueError, match=r"x\.py, line 1 is not judged"):
        table.table([row])


def test_times_are_added_up_by_file(tmp_path):
    cases = "".join(
        f'<testcase classname="tests.{file}" name="{name}" time="{seconds}"/>'
        for file, name, seconds in [
            ("test_a", "x", 1.5),
            ("test_a", "y|z", 2.0),
            ("test_b", "x", 9),
        ]
    )
    path = tmp_path / "lane.xml"
    path.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    lines = test_times.table(list(test_times.read_cases(path))).splitlines()[2:]
    assert lines == [
        "| lane | all | 3 | 12.5 | `x` | 9.0 |",
        "| lane | test_b | 1 | 9.0 | `x` | 9.0 |",
        "| lane | test_a | 2 | 3.5 | `y\\|z` | 2.0 |",
    ]


@pytest.mark.parametrize(
    ("version", "programs", "wanted", "message"),
    [
        ((3, 10), {"g++", "chromium"}, [], "needs Python 3.11 or later, and this is 3.10"),
        ((3, 11), {"chromium"}, [], "no C.. compiler.*apt-get install g"),
        ((3, 11), {"g++"}, ["browser"], "no chromium.*apt-get install chromium"),
    ],
)
def test_the_message_names_what_a_machine_lacks(monkeypatch, version, programs, wanted, message):
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.setattr(machine.shutil, "which", lambda name: name in programs)
    monkeypatch.delenv("CXX", raising=False)
    found = machine.missing(wanted)
    assert re.search(message, found)
    assert "\n" not in found


def test_a_machine_that_has_all_gets_no_message(monkeypatch):
    monkeypatch.setattr(machine.shutil, "which", lambda name: name == "chromium")
    monkeypatch.setattr(sys, "version_info", (3, 12))  # PyMC 6 compiles with numba
    assert machine.missing(["browser"]) is None


@pytest.mark.slow
@pytest.mark.one_era
def test_faults_are_tried_from_coverage_to_table(tmp_path):
    package, tests = tmp_path / "bayescal" / "families", tmp_path / "tests"
    package.mkdir(parents=True)
    tests.mkdir()
    for folder in (package.parent, package, tests):
        (folder / "__init__.py").touch()
    lines = ["def seen(x):", "    return x + 1", "", "", "def unseen(x):", "    return x + 2"]
    (package / "sums.py").write_text("\n".join(lines) + "\n")
    test = ["from bayescal.families import sums", "", "", "def test_seen():"]
    test += ["    sums.unseen(0)", "    assert sums.seen(1) == 2", ""]
    (tests / "test_sums.py").write_text("\n".join(test))
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    command = [sys.executable, "-m", "tools.mutations", "--root", str(tmp_path), "--jobs", "1"]
    command += ["--folder", str(tmp_path / "kept"), "--out", str(tmp_path / "faults.csv")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    rows = csv.DictReader((tmp_path / "faults.csv").read_text().splitlines())
    found = {(row["function"], row["after"]): row["ended"] for row in rows}
    assert {found[key] for key in found if key[0] == "seen"} == {"found"}
    assert {found[key] for key in found if key[0] == "unseen"} == {"survived"}
    assert f"{sum(each == 'found' for each in found.values())} of" in done.stdout.replace("  ", " ")
