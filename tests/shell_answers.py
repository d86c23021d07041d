"""What commands say on small files: both streams, the exit code, and the files they write."""

import gzip
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import warnings
import zlib
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from typer.main import get_command

import bayescal
from bayescal.cli.app import app
from bayescal.fitting.results import storage
from bayescal.fitting.results.tree import versions
from tests.report_data import data_of

# Longer texts are kept as their numbers and a checksum of their words.
WHOLE = 700
LONG_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d{9,}(?:[eE][-+]?\d+)?(?![\w.])")
NUMBER = re.compile(r"-?\d+\.\d+(?:[eE][-+]?\d+)?")


def said(*commands, after=(), files=()):
    """Return what commands, one after the other in a new folder, say and write."""
    with _folder(after, dict(files)) as folder:
        before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
        out = {words: _run(shlex.split(words)) for words in commands}
        written = sorted(path for path in folder.rglob("*") if path.is_file())
        changed = [path for path in written if before.get(path) != path.stat().st_mtime_ns]
        return out | {str(path.relative_to(folder)): _content(path) for path in changed}


@contextmanager
def _folder(after, files):
    """Make a folder of samples, and of what commands before left, the current one."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for path, content in (samples() | files).items():
            data = content if isinstance(content, bytes) else content.encode()
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        for words in after:
            shutil.copytree(_made(words), folder, dirs_exist_ok=True)
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(here)


@cache
def _made(words):
    """Return a folder of what a command has written, which stays."""
    place = tempfile.TemporaryDirectory()
    _KEPT.append(place)
    with _folder((), {}) as folder:
        known = set(folder.iterdir())
        result = _run(shlex.split(words))
        if not result.startswith("0\n"):
            raise AssertionError(result)
        for path in set(folder.iterdir()) - known:
            shutil.move(path, Path(place.name) / path.name)
    return place.name


_KEPT = []


def _run(words):
    """Run a command; return its exit code and both streams as text."""
    out, err, code = StringIO(), StringIO(), None
    with (
        warnings.catch_warnings(),
        mock.patch.object(storage, "read_tree", _read_once),
        mock.patch.object(sys, "argv", ["bayescal", *words]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        warnings.simplefilter("ignore")
        try:
            COMMAND.main(words, prog_name="bayescal")
        except SystemExit as end:
            code = end.code
    said = f"{code}\n{out.getvalue()}"
    return _without_place(said + (f"\n[stderr] {err.getvalue()}" if err.getvalue() else ""))


def _read_once(path, topic=None):
    """Read a file of results, which takes long, but once."""
    content = Path(path).read_bytes()
    if content not in _READ:
        _READ[content] = _read_tree(path, topic)
    return _READ[content].copy()


COMMAND = get_command(app)
_READ, _read_tree = {}, storage.read_tree


def _without_place(text):
    """Return a text without what depends on the place, the version or the size of files."""
    text = text.replace(str(Path.cwd()), "HERE").replace(bayescal.__version__, "VERSION")
    text = text.replace(str(Path(bayescal.__file__).parents[1]), "PROJECT")
    for version in versions().values():
        text = re.sub(rf'(?<=["> ]){re.escape(version)}(?=["<\n])', "VERSION", text)
    text = re.sub(r"\d+(\.\d+)? [kM]B", "SIZE", text)
    # Processors round the last digits of full numbers differently.
    text = LONG_NUMBER.sub(lambda found: f"{float(found[0]):.9g}", text)
    lines = (re.sub("\N{BOX DRAWINGS LIGHT HORIZONTAL}+", "--", line) for line in text.split("\n"))
    return "\n".join(line.rstrip() for line in lines).rstrip()


def _content(path):
    """Return what a written file holds."""
    if path.suffix in (".nc", ".png", ".onnx"):
        return "written"
    if path.suffix == ".html":
        return digest(data_of(path)) | {"words": words_of(path)}
    if path.name == "summary.json":
        record = json.loads(path.read_text(encoding="utf-8"))
        return digest(record | {"versions": None})
    if path.suffix == ".parquet":
        return _table(pd.read_parquet(path))
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".csv" and len(text) > WHOLE:
        return _table(pd.read_csv(path, keep_default_na=False, na_values=[""]))
    return _without_place(text) if len(text) <= WHOLE else digest_of_text(_without_place(text))


def _table(frame):
    texts = frame.select_dtypes(exclude="number").astype(object).fillna("").astype(str)
    return {
        "columns": " ".join(f"{name}:{kind}" for name, kind in frame.dtypes.items()),
        "texts": checksum("\n".join(texts.to_numpy().ravel())),
        **{str(name): each.to_numpy() for name, each in frame.select_dtypes("number").items()},
    }


def words_of(path):
    """Return the words that a page shows, without what depends on versions and the scripts."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"(?s)<(script|style)\b.*?</\1>", "", text)
    text = re.sub(r"sha256-[^']*'", "", text)
    return digest_of_text(re.sub(r"\s+", " ", _without_place(text)))


def digest_of_text(text):
    """Return the numbers of a long text, and a checksum of its words."""
    return {
        "length": text.count("\n"),
        "numbers": _without_rounding([float(each) for each in NUMBER.findall(text)]),
        "words": checksum(NUMBER.sub("#", text)),
    }


def digest(value):
    """Return the numbers of nested data in their order, and a checksum of all else."""
    numbers, rest = [], []

    def walk(each, place):
        if isinstance(each, dict):
            for name, one in each.items():
                walk(one, f"{place}.{name}")
        elif isinstance(each, list):
            for k, one in enumerate(each):
                walk(one, f"{place}[{k}]")
        elif isinstance(each, int | float) and not isinstance(each, bool):
            numbers.append(float(each))
            rest.append(place)
        else:
            rest.append(f"{place}={each}")

    walk(value, "")
    return {"numbers": _without_rounding(numbers), "rest": checksum("\n".join(rest))}


def _without_rounding(numbers):
    """Return numbers, 0 for what rounding alone has left."""
    array = np.array(numbers, dtype=float)
    return np.where(np.abs(array) < 1e-14, 0.0, array)


def checksum(text):
    """Return a number that another text hardly has."""
    return f"{len(text)}:{zlib.crc32(text.encode()):08x}"


# Files that commands read.


@cache
def samples():
    """Return the files of every folder: names and contents."""
    rng = np.random.default_rng(21)
    n = 62
    label = (rng.random(n) < 0.35).astype(int)
    score = np.round(rng.laplace(2.2 * label - 1.0), 2)
    frame = pd.DataFrame(
        {
            "document": [f"{k:03d}" for k in range(n)],
            "score": score,
            "label": label,
            "topic": np.array(["corn", "a/b", "NA"])[np.arange(n) % 7 // 3],
            "weight": rng.integers(0, 3, n),
            "inclusion": np.where(score > 0.0, 0.9, 0.3),
            "split": np.where(np.arange(n) % 4 == 3, "test", "train"),
            "length": rng.integers(1, 9, n),
        }
    )
    fitted = frame.drop(columns=["topic", "split"])
    text = np.where(frame["label"] == 1, "yes", "no")
    blank = text.astype(object)
    blank[::5] = ""
    dim = frame.assign(label=np.where(frame["topic"] == "NA", 0, frame["label"]))
    new = fitted.head(45).drop(columns="label").assign(score=np.round(score[:45] * 1.3 + 0.1, 2))
    classes = np.array(["ant", "bee", "wasp"])
    klass = classes[rng.choice(3, 80, p=[0.5, 0.3, 0.2])]
    logits = np.round(1.8 * (klass[:, None] == classes) + rng.normal(size=(80, 3)), 2)
    wide = pd.DataFrame(logits, columns=classes).assign(label=klass)
    p = np.round(np.clip(1.0 / (1.0 + np.exp(-0.6 * score - 0.4)), 0.02, 0.98), 3)
    outcomes = pd.DataFrame({"p": p, "y": label, "site": frame["topic"]})
    source, other = np.arange(60) % 9, np.arange(60) // 9 + np.arange(60) % 9
    same = np.arange(60) % 4 == 1
    pairs = pd.DataFrame(
        {
            "score": np.round(rng.normal(2.0 * same, 1.0), 2),
            "label": same.astype(int),
            "a": source,
            "b": np.where(same, source, np.where(other == source, source + 10, other + 10)),
        }
    )
    words = np.array([["wheat", "crop", "harvest", "corn"], ["bank", "rate", "loan", "dollar"]])
    kind = rng.integers(0, 2, 50)
    docs = pd.DataFrame(
        {
            "text": [" ".join(rng.choice([*words[k], *words.ravel()], 7)) for k in kind],
            "label": np.where(np.arange(50) % 9 == 0, "", np.array(["grain", "money"])[kind]),
        }
    )
    tables = {
        "scores": fitted,
        "topics": frame.drop(columns="split"),
        "split": frame.drop(columns="topic"),
        "split_topics": frame,
        "words": fitted.assign(label=text),
        "blank": fitted.assign(label=blank),
        "one_class": dim,
        "lower": fitted.assign(score=-fitted["score"]),
        "new": new,
        "new_topics": new.assign(topic=frame["topic"].head(45)),
        "held_out": frame.head(50).assign(score=np.round(score[:50] * 0.8 - 0.3, 2)),
        "logits": wide,
        "split_logits": wide.assign(split=np.where(np.arange(80) % 3 == 0, "test", "train"),
                                    weight=np.arange(80) % 3, inclusion=0.5),
        "new_logits": wide.drop(columns="label").tail(25) + 0.25,
        "outcomes": outcomes,
        "next": outcomes[["p"]].iloc[::2],
        "pairs": pairs,
        "docs": docs,
        "read": pd.DataFrame({"document": np.arange(0, 62, 2), "label": label[::2]}),
        "costs": pd.DataFrame({"decision": [*classes, "ask"], "ant": [0, 1, 4, 0.3],
                               "bee": [2, 0, 1, 0.3], "wasp": [1, 3, 0, 0.3]}),
    }  # fmt: skip
    out = {f"{name}.csv": each.to_csv(index=False) for name, each in tables.items()}
    out["plan.csv"] = _filled_plan(fitted["score"].to_numpy(), label)
    out["semicolons.csv"] = fitted.to_csv(index=False, sep=";", decimal=",")
    out["zipped.csv.gz"] = gzip.compress(out["scores.csv"].encode(), mtime=0)
    return out


def _filled_plan(score, label):
    """Return a plan of documents to label, filled in."""
    from bayescal.sampling import plan_sample

    plan = plan_sample(score, 30, threshold=0.3, random_state=1)
    with tempfile.TemporaryDirectory() as folder:
        plan.to_csv(Path(folder) / "plan.csv")
        frame = pd.read_csv(Path(folder) / "plan.csv")
    frame["label"] = label[frame["document"].to_numpy()]
    return frame.to_csv(index=False)
