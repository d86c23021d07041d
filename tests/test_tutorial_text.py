"""The tutorial's Python runs as it stands, where a copy of the corpus is at hand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bayescal.datasets.reuters21578 import PATH_VARIABLE
from tests.corpus import corpus_path

TUTORIAL = (Path(__file__).parent.parent / "docs" / "tutorial_text.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TUTORIAL, flags=re.DOTALL)


@pytest.mark.slow
def test_python_examples_run_one_after_the_other(tmp_path):
    assert len(BLOCKS) == 3
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(BLOCKS)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | {PATH_VARIABLE: str(corpus_path())},
    )
    assert done.returncode == 0, done.stderr


def test_options_of_its_commands_exist():
    from typer.main import get_command

    from bayescal.cli.app import app

    fit = get_command(app).commands["text"].commands["fit"]
    known = {option for parameter in fit.params for option in parameter.opts}
    assert set(re.findall(r"--[a-z][a-z-]*", TUTORIAL)) <= known
