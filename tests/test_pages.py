"""Every block of code in README and docs is run as it stands, page by page."""

import re
import shutil
import tomllib
from contextlib import chdir
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from importlib.util import find_spec

import pytest

from studies.papers.corpora import PATH_VARIABLE
from tests.browser import browser
from tests.corpus import corpus_path
from tests.pages import (
    PAGES,
    ROOT,
    blocks_of,
    commands_of,
    follow,
    languages_of,
    output_of,
    run_commands,
    run_in_shell,
    run_python,
    write_samples,
)

PYTHON = [page for page in PAGES if blocks_of(page)]
SHELL = [page for page in PAGES if commands_of(page)]
# From a spreadsheet to a page to sign: followed word by word, in an empty folder.
GUIDES = {
    "docs/guides/document_review.md": "recall.html",
    "docs/guides/comparison_of_speakers.md": "validation.html",
    "docs/guides/risk_model_in_hospitals.md": "audit.html",
}
TOOLS = ("awk", "head", "tail")  # of every shell
# Names of marks on an axis that lie on each other.
OVERLAPPING = """[...document.querySelectorAll("svg.chart")].flatMap((chart) => {
  const all = [...chart.querySelectorAll(".axis text:not(.label)")];
  const boxes = all.map((each) => each.getBoundingClientRect());
  return all.filter((_, k) => boxes.some((other, j) => j > k
    && boxes[k].left < other.right - 2 && other.left < boxes[k].right - 2
    && boxes[k].top < other.bottom - 2 && other.top < boxes[k].bottom - 2))
    .map((each) => each.textContent);
})"""
# What takes minutes, or the network: that there is such a thing is all that is tested.
NOT_RUN = ("make", "pip", "python", "PYTHONPATH=", "bayescal demo")
WRITTEN = {
    "docs/audit.md": {"audit.html"},
    "docs/export.md": {"corn.py", "corn.json", "corn.sql"},
    "docs/likelihood_ratios.md": {"validation.html"},
    "docs/report.md": {"corn.html", "topics.html", "apart.html"},
    "docs/multiclass.md": {"classes.html", "map.py", "map.json"},
    "docs/ranking.md": {"rankings.html", "ranker.run", "qrels.txt"},
    "docs/rates.md": {"plan.csv"},
    "docs/reviews.md": {"round1.plan.csv", "recall.html"},
    "docs/scale_out.md": {"probabilities", "scores.parquet", "topics_so_far"},
}


def command_of(words):
    """Return the command that words of a shell line name, or None."""
    from typer.main import get_command

    from bayescal.cli.app import app

    command = get_command(app)
    for word in words:
        if not hasattr(command, "commands"):
            return command
        command = command.commands.get(word)
    return command


def exists(line):
    """Return whether the make target, extra, module or command of a shell line is there."""
    program, *words = re.sub(r"^(\w+=\S+ )+", "", line).split()
    if program == "bayescal":
        return command_of(words) is not None
    if program == "make":
        return re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    if program == "python":
        return words[0] == "-m" and find_spec(words[1]) is not None
    if program in TOOLS:
        return shutil.which(program) is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = set(re.findall(r"[\w-]+", "".join(re.findall(r"\[(.*?)\]", line))))
    return program == "pip" and extras <= set(project["optional-dependencies"])


def missing_paths(text, page):
    """Return paths in backticks, from the checkout, bayescal/ or fitting/, and links to nothing."""
    roots = (ROOT, ROOT / "bayescal", ROOT / "bayescal" / "fitting")
    folders = {path.name for root in roots for path in root.iterdir() if path.is_dir()}
    # The layout of posteriors also has groups called parts/<name>; runs write into build.
    folders -= {"parts", "build"}

    def is_there(path):
        pattern = re.sub(r"\.[A-Z]\w*$", "", re.sub("<[^>]*>", "*", path))
        return any(any(root.glob(pattern + end)) for root in roots for end in ("", ".py"))

    paths = re.findall(r"`([\w.-]+/[\w./<>*-]*)`", text)
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", text)
    return [
        *(path for path in paths if path.split("/")[0] in folders and not is_there(path)),
        *(link for link in links if not (page.parent / link).exists()),
    ]


def test_there_are_examples():
    assert len(blocks_of("docs/tour.md")) >= 5
    assert {"README.md", "docs/tour.md", "docs/bands.md", "docs/decisions.md"} <= set(PYTHON)
    assert {"README.md", "docs/scale_out.md", "docs/validation/README.md"} <= set(SHELL)
    assert any(line.startswith("bayescal fit") for line in commands_of("README.md"))


@pytest.mark.slow
def test_the_first_page_shows_what_its_block_prints(tmp_path):
    (code,), (shown,) = blocks_of("README.md"), blocks_of("README.md", "")
    assert output_of([code], tmp_path) == shown


@pytest.mark.parametrize("page", PAGES)
def test_no_block_is_of_a_language_that_nobody_runs(page):
    names = {name for name in languages_of(page) if not name.startswith("{")}
    assert names <= {"python", "sh", ""}


@pytest.mark.parametrize("page", SHELL)
def test_commands_exist(page):
    assert [line for line in commands_of(page) if not exists(line)] == []


@pytest.mark.parametrize("page", PAGES)
def test_paths_exist(page):
    assert missing_paths((ROOT / page).read_text(encoding="utf-8"), ROOT / page) == []


def test_a_path_that_does_not_exist_is_found():
    text = "`bayescal/export/formats/`, `metrics/<name>.txt`, `text/` and [a page](nowhere.md#part)"
    assert missing_paths(text, ROOT / "README.md") == [
        "bayescal/export/formats/",
        "metrics/<name>.txt",
        "nowhere.md",
    ]


def test_what_does_not_exist_is_found():
    for line in ("bayescal fti a.csv", "bayescal text ift", "make tea", "pip install bayescal[no]"):
        assert not exists(line)
    assert not exists("python -m studies.no_such_study")


@pytest.mark.docs
# 2026-11: arviz-stats 0.8 sorts tables as pandas 4 will not.
@pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning")
# The block of README.md runs above, in a process of its own.
@pytest.mark.parametrize("page", [page for page in PYTHON if page not in ("README.md", *GUIDES)])
def test_python_runs(page, tmp_path, monkeypatch):
    blocks = blocks_of(page)
    if "fetch_reuters21578" in "".join(blocks):
        monkeypatch.setenv(PATH_VARIABLE, str(corpus_path()))
    monkeypatch.chdir(tmp_path)
    run_python(blocks)
    assert {path.name for path in tmp_path.iterdir()} >= WRITTEN.get(page, set())


@pytest.mark.docs
@pytest.mark.parametrize("page", [page for page in SHELL if page not in GUIDES])
def test_commands_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_samples(tmp_path)
    commands = [line for line in commands_of(page) if not line.startswith(NOT_RUN)]
    # A process a command costs seconds of imports: those of one page show that it works.
    (run_in_shell if page == "docs/audit.md" else run_commands)(commands)


@pytest.fixture(scope="module", params=GUIDES)
def followed(request, tmp_path_factory):
    """A guide, the folder in which it was followed, and what its blocks printed."""
    folder = tmp_path_factory.mktemp("guide")
    with chdir(folder):
        return request.param, folder, list(follow(request.param))


def differing(blocks):
    """Return the blocks whose output is not the one shown, with it; "..." stands for any words."""
    same, options = OutputChecker().check_output, ELLIPSIS | NORMALIZE_WHITESPACE
    outputs = [(*each, output.replace("\ufeff", "")) for *each, output in blocks]
    return [(b, out) for b, shown, out in outputs if shown and not same(shown, out, options)]


@pytest.mark.docs
def test_guides_print_what_they_show(followed):
    _, _, blocks = followed
    assert sum(shown != "" for _, shown, _ in blocks) >= 3
    assert differing(blocks) == []


@pytest.mark.docs
def test_pages_to_sign_fit_every_screen(followed):
    """Screenshots for readers of the guides are in build/guides."""
    guide, folder, _ = followed
    page = folder / GUIDES[guide]
    pictures = ROOT / "build/guides"
    pictures.mkdir(parents=True, exist_ok=True)
    with browser() as new_page:
        for width in (1280, 390):
            for scheme in ("light", "dark"):
                shown = new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
                shown.goto(page.as_uri())
                assert shown.evaluate("document.documentElement.scrollWidth") <= width
                assert shown.evaluate(OVERLAPPING) == []
                shown.screenshot(
                    path=pictures / f"{page.stem}-{width}-{scheme}.png", full_page=True
                )
                shown.close()


def test_an_output_that_differs_is_found():
    blocks = [("a", "1 of ... 3\n", "1 of\n2 3\n"), ("b", "", "4"), ("c", "5\n", "6\n")]
    assert differing(blocks) == [("c", "6\n")]


def test_the_pages_on_decisions_and_audits_name_all_there_is():
    from bayescal import calibrators, decisions, monitoring

    page = PAGES["docs/decisions.md"] + PAGES["docs/audit.md"] + PAGES["docs/multiclass.md"]
    functions = {
        name
        for room in (decisions, monitoring, calibrators)
        for name, value in vars(room).items()
        if callable(value) and not name.startswith("_") and not isinstance(value, type)
    }
    used = {name for name in functions if re.search(rf"\b{name}\b", page)}
    # Functions of arrays, which the functions that the page calls use.
    own = "expected_costs"
    assert functions - used == set(own.split())


def test_the_options_of_the_page_on_text_exist():
    from typer.main import get_command

    from bayescal.cli.app import app

    fit = get_command(app).commands["text"].commands["fit"]
    known = {option for parameter in fit.params for option in parameter.opts}
    assert set(re.findall(r"--[a-z][a-z-]*", PAGES["docs/tutorial_text.md"])) <= known
