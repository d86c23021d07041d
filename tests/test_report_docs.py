"""The code of docs/report.md runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent / "docs/report.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_examples_run_one_after_the_other(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"corn.html", "topics.html", "apart.html"}
