"""Where tests find Reuters-21578, which the project does not contain."""

import os
from functools import cache
from pathlib import Path

import pytest

from studies.papers.corpora import PATH_VARIABLE, fetch_reuters21578

# Documents a topic in the ModApte split, train and test, as Lewis's distribution has them.
TOPIC_COUNTS = {
    "earn": (2877, 1087), "acq": (1650, 719), "money-fx": (538, 179), "grain": (433, 149),
    "crude": (389, 189), "trade": (369, 117), "interest": (347, 131), "wheat": (212, 71),
    "ship": (197, 89), "corn": (181, 56),
}  # fmt: skip


def corpus_path():
    """Return a copy's path; without one skip the test, but fail it in CI."""
    shared = Path(__file__).parents[2] / "shared" / "data"
    source = Path(os.environ.get("BAYESCAL_SHARED_DATA", shared))
    found = os.environ.get(PATH_VARIABLE) or source / "reuters21578" / "reuters21578.tar.xz"
    if not Path(found).exists():
        reason = f"Reuters-21578 is not beside this checkout ({PATH_VARIABLE} names a copy)"
        # Where it is expected a silent skip would hide that nothing was tested.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    return Path(found)


@cache
def corpus():
    """Return the corpus, read once for all tests."""
    return fetch_reuters21578(path=corpus_path())
