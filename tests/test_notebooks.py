"""Notebooks run from top to bottom without a warning, and carry no outputs in git."""

import re
from pathlib import Path
from types import ModuleType

import matplotlib.pyplot as plt
import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


def code_of(path):
    cells = nbformat.read(path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "code"]


def needs_pymc(path):
    """Return whether the code of a notebook samples, or asks ArviZ."""
    return re.search(r"\b(pymc|arviz\w*|NUTS)\b", "\n".join(code_of(path)))


RUN = [
    pytest.param(path, id=path.stem, marks=[] if needs_pymc(path) else [pytest.mark.one_era])
    for path in NOTEBOOKS
]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_outputs_are_stripped(path):
    cells = nbformat.read(path, as_version=4).cells
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]


@pytest.mark.docs
# Python shows users those of their own code alone.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("path", RUN)
def test_runs(path, tmp_path, monkeypatch):
    """In this process: a kernel takes seconds to start; the test of the site starts one."""
    monkeypatch.chdir(tmp_path)
    config = Config({"HistoryManager": {"enabled": False}})
    shell = InteractiveShell(config=config, user_module=ModuleType("notebook"))
    for cell in code_of(path):
        shell.run_cell(cell).raise_error()
        for number in plt.get_fignums():
            plt.figure(number).canvas.draw()
        plt.close("all")
