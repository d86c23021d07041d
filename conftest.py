"""For tests and examples: figures are closed, and examples know their PyMC era."""

import sys
from collections.abc import Iterator

import pytest
from _pytest.doctest import DoctestItem

# Folders whose examples run PyMC, and so in both of its eras.
SAMPLED = ("bayescal/distributions", "bayescal/fitting", "models")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Mark examples that PyMC has no part in, before items are chosen by their marks."""
    for item in items:
        where = item.path.relative_to(config.rootpath).as_posix()
        if isinstance(item, DoctestItem) and not where.startswith(SAMPLED):
            item.add_marker(pytest.mark.one_era)


@pytest.fixture(autouse=True)
def _no_figure_stays_open() -> Iterator[None]:
    """Close the figures of pyplot, which warns from the twentieth figure of a process on."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
