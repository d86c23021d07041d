"""The recorder of public calls finds what changes between two versions of a package."""

import importlib
import sys
from contextlib import suppress

import pytest

from tools import recording

pytestmark = pytest.mark.one_era
PACKAGE = {
    "__init__.py": """
from importlib import import_module

__all__ = ["Curve", "lazily"]

def __getattr__(name):
    if name in __all__:
        return getattr(import_module("toy.home"), name)
    raise AttributeError(name)
""",
    "home.py": """
from dataclasses import dataclass
import numpy as np

def lazily(x):
    if x < 0.0:
        raise ValueError("negative")
    return {"doubled": 2.0 * x, "far": np.arange(100.0) * x, "text": "a"}

@dataclass
class Point:
    name: str
    at: float

class Base:
    def points(self):
        return [Point("a", 1.0), lazily(3.0)]

class Curve(Base):
    @classmethod
    def made(cls):
        return cls()

    @staticmethod
    def missing():
        return np.array([np.nan, 1.0])

def private():
    return 1
""",
}
CHANGES = {
    "2.0 * x": ("2.001 * x", "lazily (call 1): .doubled: 2.001, was 2.0"),
    "100.0": ("101.0", "lazily (call 1): .far.shape: [101], was [100]"),
    '"text": "a"': ('"text": "b"', "lazily (call 1): .text: 'b', was 'a'"),
    '("negative")': ('("below 0")', "lazily (call 2): : 'ValueError: below 0', was"),
    '"a", 1.0': ('"a", 1.1', "Curve.points (call 1): [0].at: 1.1, was 1.0"),
    "np.nan, 1.0": ("1.0, 1.0", "Curve.missing (call 1): : [1.0, 1.0], was [nan, 1.0]"),
    "return cls()": ("return 0", "Curve.made (call 1): : 0, was '<Curve>'"),
    "x < 0.0": ("x < -5.0", "lazily (call 2): : {'doubled': -2.0"),
    "2.0": ("2.0000000001", None),
    "return 1": ("return 2", None),
}


def recorded(folder, name, text, monkeypatch):
    """Record some calls of a version of the toy package."""
    (folder / name / "toy").mkdir(parents=True)
    for file, lines in (PACKAGE | {"home.py": text}).items():
        (folder / name / "toy" / file).write_text(lines)
    monkeypatch.syspath_prepend(folder / name)
    toy = importlib.import_module("toy")
    try:
        recorder = recording.Recorder(folder / f"{name}.jsonl", toy)
        recorder.install()
        toy.lazily(5.0)  # belongs to no test
        recorder.begin("a test")
        toy.lazily(1.0)
        with suppress(ValueError):
            toy.lazily(-1.0)
        toy.Curve.made()
        toy.Curve().points()
        toy.Curve.missing()
        toy.home.private()
        recorder.end()
    finally:
        for module in ("toy", "toy.home"):
            sys.modules.pop(module, None)
    return folder / f"{name}.jsonl"


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_result_is_listed(change, tmp_path, monkeypatch):
    changed, expected = CHANGES[change]
    text = PACKAGE["home.py"]
    before = recorded(tmp_path, "before", text, monkeypatch)
    after = recorded(tmp_path, "after", text.replace(change, changed), monkeypatch)
    *lines, summary = recording.compare(before, after)
    assert summary.startswith("5 calls, ")
    if expected is None:
        assert not lines
    else:
        assert lines[0].startswith(f"a test {expected}")


def test_a_call_that_vanished_is_listed(tmp_path, monkeypatch):
    path = recorded(tmp_path, "before", PACKAGE["home.py"], monkeypatch)
    other = tmp_path / "after.jsonl"
    other.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    lines = recording.compare(path, other)
    assert lines == ["a test Curve.missing (call 1): vanished", "5 calls, 1 differ or vanished"]
