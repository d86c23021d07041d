"""Notebooks run from top to bottom without a warning, and carry no outputs in git."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


def needs_pymc(path):
    """Return whether the code of a notebook samples, or asks ArviZ."""
    cells = nbformat.read(path, as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    return re.search(r"\b(pymc|arviz\w*|NUTS)\b", code)


RUN = [
    pytest.param(path, id=path.stem, marks=[] if needs_pymc(path) else [pytest.mark.one_era])
    for path in NOTEBOOKS
]


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_outputs_are_stripped(path):
    cells = nbformat.read(path, as_version=4).cells
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]


@pytest.mark.docs
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the notebook client's own loop
@pytest.mark.parametrize("path", RUN)
def test_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.get("execution_count") for cell in cells)
    written = [out for cell in cells for out in cell.outputs if out.get("name") == "stderr"]
    assert [out.text for out in written] == []
