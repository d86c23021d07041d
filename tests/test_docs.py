"""The Python of the pages in docs/ runs as it stands, page by page."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = {
    page.stem: re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    for page in sorted(DOCS.glob("*.md"))
}


def test_there_are_examples():
    assert len(PAGES["from_scikit_learn"]) == 8


@pytest.mark.slow
@pytest.mark.parametrize("page", [name for name, blocks in PAGES.items() if blocks])
def test_page_runs(page, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(PAGES[page])],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
