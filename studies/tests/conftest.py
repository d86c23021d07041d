"""Tests of studies, published experiments and tools: a lane of their own, in one PyMC era."""

from pathlib import Path

import pytest

from tests.conftest import pytest_runtest_protocol

__all__ = ["pytest_runtest_protocol"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests before pytest chooses those of a lane."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("studies")
            item.add_marker("one_era")
