"""The Python of the pages in docs/ runs as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ["decisions.md"]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_python_examples_run_one_after_the_other(page, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL)
    assert blocks
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning:bayescal", "-c", "\n".join(blocks)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr


def test_the_page_on_decisions_names_all_there_is():
    from bayescal import comparison, decisions, prior_shift

    page = (DOCS / "decisions.md").read_text()
    functions = {
        name
        for room in (decisions, prior_shift, comparison)
        for name, value in vars(room).items()
        if callable(value) and not name.startswith("_") and not isinstance(value, type)
    }
    used = {name for name in functions if re.search(rf"\b{name}\b", page)}
    # Steps of what the page shows, for arrays of one's own.
    assert functions - used == {
        "expected_costs",
        "with_abstention",
        "prior_posterior",
        "leave_one_out",
    }
