"""Notebooks run from top to bottom without a warning, and carry no outputs in git."""

import re
from functools import reduce
from pathlib import Path
from types import ModuleType

import matplotlib.pyplot as plt
import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from bayescal import plots
from tests.sizes import size

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))

# Replacements in the code of notebooks, so that checks repeat simulations less often; `make docs`
# runs the notebooks unchanged.
FEWER = {
    "01_quick_start": {"in TOPICS:": "in TOPICS[:2]:"},
    "03_why_asymmetric": {"in TOPICS:": "in TOPICS[:2]:"},
    "04_when_maximum_likelihood_fails": {"samples=100": "samples=10", "range(30)": "range(2)"},
    "05_many_small_topics": {"range(5)": "range(2)"},
    "06_mle_posterior_platt": {"[3, 10, 30, 100], 10": "[3, 10], 2"},
    "07_trust": {"= 400, 40, 20, 99": "= 20, 40, 20, 99"},
    "08_decisions_and_prior_shift": {"range(20)": "range(2)"},
    "10_two_classifiers": {"make(20_000, 1)": "make(2_000, 1)"},
    "11_ranking_and_when_to_stop": {"= 140, 100": "= 70, 100"},
    "12_mail_that_keeps_coming": {"= 40, 40, 20": "= 40, 14, 12"},
    "14_audit_a_published_model": {"repetitions=6": "repetitions=1"},
    "17_a_judge_and_a_hundred_labels": {"range(100)": "range(3)"},
}


def code_of(path):
    cells = nbformat.read(path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "code"]


def shortened(path):
    """Return the code of a notebook with fewer repetitions."""
    code, fewer = code_of(path), FEWER.get(path.stem, {})
    assert all(many in "\n".join(code) for many in fewer)
    return [reduce(lambda cell, pair: cell.replace(*pair), fewer.items(), cell) for cell in code]


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
    for cell in size(shortened, code_of)(path):
        shell.run_cell(cell).raise_error()
        for number in plt.get_fignums():
            plt.figure(number).canvas.draw()
        plt.close("all")


def test_the_gallery_shows_every_display():
    (gallery,) = (path for path in NOTEBOOKS if path.stem.endswith("gallery"))
    code = "\n".join(code_of(gallery))
    # Its simulations take minutes.
    assert {name for name in plots.__all__ if f"plots.{name}." not in code} == {"RankDisplay"}
