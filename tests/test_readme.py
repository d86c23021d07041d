"""The README's Python runs as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_there_are_examples():
    assert len(BLOCKS) == 6
    assert "ScoreCalibrator" in BLOCKS[0]


@pytest.mark.slow
def test_python_examples_run_one_after_the_other(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(BLOCKS)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    assert "not to be trusted" not in done.stderr


def test_every_command_in_the_readme_exists():
    from typer.main import get_command

    from bayescal.cli.app import app

    shell = "\n".join(re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL))
    used = set(re.findall(r"^bayescal (\w+)", shell, flags=re.MULTILINE))
    assert used >= {"fit", "predict", "compare", "models"}
    assert used <= set(get_command(app).commands)
