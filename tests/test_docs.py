"""The Python of the pages in docs/ runs as it stands, page by page."""

import re
from pathlib import Path

import pytest

from tests.python_blocks import blocks_of, run

DOCS = Path(__file__).parent.parent / "docs"
ALL = {page.stem: blocks_of(page) for page in sorted(DOCS.glob("*.md"))}
PAGES = {name: blocks for name, blocks in ALL.items() if blocks}
# Whose files are looked at too, or which need a corpus.
TESTED_ELSEWHERE = ("scale_out", "tutorial_text")


def test_there_are_examples():
    assert len(PAGES["from_scikit_learn"]) == 8


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [name for name in PAGES if PAGES[name] and name not in TESTED_ELSEWHERE]
)
def test_page_runs(page, tmp_path):
    assert "Warning" not in run(PAGES[page], tmp_path)


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
