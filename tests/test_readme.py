"""The README's Python runs as it stands."""

import re
from pathlib import Path

import pytest

from tests.python_blocks import blocks_of, run

PAGE = Path(__file__).parent.parent / "README.md"
README, BLOCKS = PAGE.read_text(), blocks_of(PAGE)


def test_there_are_examples():
    assert len(BLOCKS) == 8
    assert "ScoreCalibrator" in BLOCKS[0]


@pytest.mark.slow
def test_python_examples_run_one_after_the_other(tmp_path):
    assert "not to be trusted" not in run(BLOCKS, tmp_path)


def test_every_command_in_the_readme_exists():
    from typer.main import get_command

    from bayescal.cli.app import app

    shell = "\n".join(re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL))
    used = set(re.findall(r"^bayescal (\w+)", shell, flags=re.MULTILINE))
    assert used >= {"fit", "predict", "compare", "models"}
    assert used <= set(get_command(app).commands)
