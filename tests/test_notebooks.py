"""Notebooks run without a warning, say what they compute, and carry no outputs in git."""

import re
from functools import reduce
from itertools import chain
from pathlib import Path
from types import ModuleType

import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from bayescal import plots
from tests.sizes import size
from tests.test_figures_in_text import SOURCES

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


def uncomputed(path, outputs):
    """Return the decimals, and figures from 100 on, that the text has from no cell and no link."""
    cells = nbformat.read(path, as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    pages = re.findall(r"\]\((\.\./docs/[\w/]*\.md)", text)
    sources = [(path.parent / page).read_text(encoding="utf-8") for page in pages]
    # Another test compares these with their table.
    sources += [text for page, text in chain(*(each() for each in SOURCES)) if path.name in page]
    sources = re.sub("[,_]", "", "\n".join(code_of(path) + outputs + sources))
    numbers = [float(each) for each in re.findall(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", sources)]
    years_and_code = r"`[^`]*`|\]\([^)]*\)|\b(?:19|20)\d\d\b|Python 3\.\d+"
    figures = re.findall(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?\b", re.sub(years_and_code, "", text))
    for figure in (each.replace(",", "") for each in figures):
        unit = 10.0 ** -len(figure.partition(".")[2])
        close = any(abs(number - float(figure)) <= 0.501 * unit for number in numbers)
        if not close and (unit < 1.0 or float(figure) >= 100.0):
            yield figure


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
    outputs = []
    for cell in size(shortened, code_of)(path):
        wide = pd.option_context("display.width", 1000, "display.max_columns", None)
        with wide, capture_output() as shown:
            shell.run_cell(cell).raise_error()
        outputs.append(shown.stdout)
        for number in plt.get_fignums():
            plt.figure(number).canvas.draw()
        plt.close("all")
    if size(path.stem not in FEWER, True):
        assert not list(uncomputed(path, outputs))


def test_the_gallery_shows_every_display():
    (gallery,) = (path for path in NOTEBOOKS if path.stem.endswith("gallery"))
    code = "\n".join(code_of(gallery))
    assert [name for name in plots.__all__ if f"plots.{name}." not in code] == []
