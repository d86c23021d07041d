"""Fixtures for several files of tests: files of scores for the command line, figures closed."""

import sys

import pytest

from tests.cli_tools import make_frame, make_topics, replace_sampler, write


@pytest.fixture
def frame():
    return make_frame()


@pytest.fixture
def scores(frame, tmp_path):
    return write(frame, tmp_path / "scores.csv")


@pytest.fixture
def topics(tmp_path):
    return write(make_topics(), tmp_path / "topics.csv")


@pytest.fixture
def fake_nuts(monkeypatch):
    replace_sampler(monkeypatch)


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    """Close what pyplot keeps, of which it warns from the twentieth figure of a process on."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


# Files that take longest start first, so that no process waits for the other at the end.
LONGEST = {
    "test_live_nuts", "test_topics_combined", "test_topic_calibrator", "test_topics_nuts",
    "test_topics_studies", "test_pooled_sbc", "test_sbc",
}  # fmt: skip


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.stem not in LONGEST)
