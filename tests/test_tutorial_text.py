"""The tutorial's Python runs as it stands, where a copy of the corpus is at hand."""

import re
from pathlib import Path

import pytest

from bayescal.datasets.reuters21578 import PATH_VARIABLE
from tests.corpus import corpus_path
from tests.python_blocks import blocks_of, run

PAGE = Path(__file__).parent.parent / "docs" / "tutorial_text.md"


@pytest.mark.slow
def test_python_examples_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.setenv(PATH_VARIABLE, str(corpus_path()))
    assert len(blocks_of(PAGE)) == 3
    assert "Warning" not in run(blocks_of(PAGE), tmp_path)


def test_options_of_its_commands_exist():
    from typer.main import get_command

    from bayescal.cli.app import app

    fit = get_command(app).commands["text"].commands["fit"]
    known = {option for parameter in fit.params for option in parameter.opts}
    assert set(re.findall(r"--[a-z][a-z-]*", PAGE.read_text(encoding="utf-8"))) <= known
