"""The Python of the pages in docs/ runs as it stands, page by page."""

from pathlib import Path

import pytest

from tests.python_blocks import blocks_of, run

DOCS = Path(__file__).parent.parent / "docs"
PAGES = {page.stem: blocks_of(page) for page in sorted(DOCS.glob("*.md"))}


def test_there_are_examples():
    assert len(PAGES["from_scikit_learn"]) == 8


@pytest.mark.slow
@pytest.mark.parametrize("page", [name for name, blocks in PAGES.items() if blocks])
def test_page_runs(page, tmp_path):
    assert "Warning" not in run(PAGES[page], tmp_path)
