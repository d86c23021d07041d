"""The work of every study and paper, with default options, reaches two processes."""

import os
from importlib import import_module
from pathlib import Path

import pytest

from bayescal.support.parallel import in_parallel
from studies.command import Options
from studies.papers.__main__ import EXPERIMENTS
from studies.tests.problems_data import write_all
from studies.tests.test_action_items import TEST, TRAINING, made_sentences, write_file
from studies.tests.test_reproduce import make_corpus
from studies.tests.tools import run_paper
from studies.tests.unseen_data import write_library

HOME = Path(__file__).parents[1]
STUDIES = [
    path.relative_to(HOME.parent).with_suffix("").as_posix().replace("/", ".")
    for path in sorted(HOME.rglob("*.py"))
    if "\ndef run(options: Options)" in path.read_text(encoding="utf-8")
]
# They compute in one process.
ALONE = {
    "studies.audit",
    "studies.expected_precision",
    "studies.fusion",
    "studies.relevance",
    "studies.__main__",
}
SLOW = {"studies.combining", "studies.coverage", "studies.word_weights"}


class ReachedError(Exception):
    """The first tasks were opened by two processes."""


def opened(task):
    """Return the process that a task has reached, without doing it."""
    function, arguments = task
    assert callable(function)
    assert isinstance(arguments, tuple)
    return os.getpid()


def send(function, items):
    """Send two tasks, the only one twice, to other processes, and go no further."""
    processes = list(in_parallel(opened, [items[0], items[-1]]))
    assert os.getpid() not in processes
    raise ReachedError


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_all(folder)
    write_library(folder / "library")
    (folder / "sentences").mkdir()
    for seed, name in enumerate((TRAINING, TEST)):
        write_file(folder / "sentences" / name, made_sentences(50, seed))
    return folder


@pytest.fixture(autouse=True)
def _first_tasks_alone(monkeypatch):
    monkeypatch.setattr("studies.command.in_parallel", send)
    for module in ("studies.papers.corpora", "studies.word_weights"):
        monkeypatch.setattr(f"{module}.fetch_reuters21578", lambda path=None: make_corpus())
    # Priors of several classes take minutes to learn.
    monkeypatch.setattr("studies.multiclass.study.find_all", lambda folder: {})
    monkeypatch.setattr("studies.multiclass.study.learn", lambda found, group: None)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
        for name in STUDIES
        if name not in ALONE
    ],
)
def test_studies(name, data, tmp_path):
    options = Options(quick=True, out=tmp_path, data=data, problems=data / "library")
    with pytest.raises(ReachedError):
        import_module(name).run(options)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_papers(name, data, tmp_path):
    own = {"action_items": ("--data", data / "sentences"), "small_data": (), "svm_map": ()}
    with pytest.raises(ReachedError):
        run_paper(name, "--out", tmp_path, *own.get(name, ("--topics", "2")))
