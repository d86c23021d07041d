"""The documentation site builds without a warning, says what there is, and fetches nothing."""

import importlib
import json
import re
import shutil
import subprocess
import sys
import threading
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import nbformat
import pytest

import bayescal
from tests.browser import browser

ROOT = Path(__file__).parent.parent
ROOMS = [
    "bayescal.calibrators", "bayescal.text.reuters_scores", "bayescal.decisions", "bayescal",
    "bayescal.distributions", "bayescal.families", "bayescal.ranking",
    "bayescal.combining.indicators", "bayescal.likelihood_ratio", "bayescal.metrics",
    "bayescal.plots", "bayescal.monitoring", "bayescal.distributions.programs", "bayescal.report",
    "bayescal.text",
]  # fmt: skip
# Scripts, style sheets, images and frames: what a browser fetches by itself.
FETCHED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"(?:https?:)?//[^\"]*\"")


def build(source, folder, *options):
    """Build a site with the configuration of this one; return its folder."""
    options += ("--builder", "html", "--fail-on-warning", "--keep-going", "--quiet")
    options += ("--conf-dir", ROOT / "docs", "--doctree-dir", folder / "trees")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, source, folder / "html"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


def pages_of(site):
    """Return the pages of a site by their names."""
    return {
        page.relative_to(site).as_posix(): page.read_text(encoding="utf-8")
        for page in site.rglob("*.html")
    }


@pytest.fixture(scope="module")
def site_folder(tmp_path_factory):
    # Notebooks run in tests of their own.
    folder = tmp_path_factory.mktemp("site")
    return build(ROOT / "docs", folder, "--define", "nb_execution_mode=off")


@pytest.fixture(scope="module")
def site(site_folder):
    return pages_of(site_folder)


def public_names(room):
    """Return the functions and classes that a room offers."""
    module = importlib.import_module(room)
    names = getattr(module, "__all__", None) or vars(module)
    return {
        f"{room}.{name}"
        for name in names
        if not name.startswith("_")
        and callable(getattr(module, name))
        and getattr(module, name).__module__.startswith(room)
    }


def test_rooms_offer_something():
    assert public_names("bayescal") >= {"bayescal.ScoreCalibrator", "bayescal.load"}
    assert all(public_names(room) for room in ROOMS)


LISTED = re.compile(r"^ +:members: *\S.*$", flags=re.MULTILINE)


def test_pages_of_the_reference_list_no_members():
    """Sphinx ignores such lists beside `autodoc_default_options`, so that they go stale."""
    assert LISTED.search(".. automodule:: bayescal.ranking\n   :members: ndcg\n")
    pages = [*(ROOT / "docs/reference").glob("*.rst"), *(ROOT / "docs/reference").glob("*.md")]
    assert len(pages) > 20
    listed = {page.name: LISTED.findall(page.read_text(encoding="utf-8")) for page in pages}
    assert {name: lines for name, lines in listed.items() if lines} == {}


@pytest.mark.docs
@pytest.mark.parametrize("room", ROOMS)
def test_the_reference_has_every_public_name(site, room):
    text = "".join(page for name, page in site.items() if name.startswith("reference/"))
    assert {name for name in public_names(room) if f'id="{name}"' not in text} == set()


@pytest.mark.docs
def test_the_reference_has_no_private_name(site):
    pages = [page for name, page in site.items() if name.startswith("reference/")]
    names = set(re.findall(r'id="(bayescal(?:\.\w+)+)"', "".join(pages)))
    assert len(names) > 200
    assert {name for name in names if re.search(r"\._", name)} == set()


@pytest.mark.docs
def test_pages_fit_a_telephone(site, site_folder):
    with browser() as new_page:
        page = new_page(viewport={"width": 390, "height": 844})
        wide = {}
        for name in site:
            if name.startswith(("reference/", "index", "validation/")):
                page.goto((site_folder / name).as_uri())
                width = page.evaluate("document.documentElement.scrollWidth")
                if width > 390:
                    wide[name] = width
        assert wide == {}


@pytest.mark.docs
def test_the_text_for_tools_has_all_pages(site_folder):
    text = (site_folder / "llms.txt").read_text(encoding="utf-8")
    titles = ["# bayescal", "# When not to use this", "# Stability", "# Coverage of the bands"]
    titles += ["# A document review, from the export to the signed page"]
    assert all(f"{title}\n" in text for title in titles)


@pytest.mark.docs
def test_every_command_notebook_and_study_is_there(site):
    from typer.main import get_command

    from bayescal.cli.app import app

    headings = re.findall("<h2>(.*?)</h2>", site["reference/command_line.html"])
    words = " ".join(re.sub("<[^>]+>", "", heading) for heading in headings)
    assert {name for name in get_command(app).commands if f"bayescal {name}" not in words} == set()
    notebooks = {f"notebooks/{path.stem}.html" for path in (ROOT / "notebooks").glob("*.ipynb")}
    studies = {f"validation/{path.stem}.html" for path in (ROOT / "docs/validation").glob("*.md")}
    assert notebooks | studies <= set(site)


@pytest.mark.docs
@pytest.mark.parametrize("repository", [None, "someone/bayescal"])
def test_pages_lead_to_their_sources_where_a_forge_builds_them(tmp_path, monkeypatch, repository):
    if repository:
        monkeypatch.setenv("GITHUB_REPOSITORY", repository)
    else:
        monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    source = tmp_path / "source"
    sources = {"index": "docs/index.md", "papers/label/README": "studies/papers/label/README.md"}
    for name in sources:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / f"{name}.md").write_text("---\norphan: true\n---\n# Page\n", encoding="utf-8")
    pages = pages_of(build(source, tmp_path))
    for name, path in sources.items():
        links = re.findall(r'href="([^"]*/edit/[^"]*)"', pages[f"{name}.html"])
        assert links == [f"https://github.com/{repository}/edit/main/{path}"] * bool(repository)


@pytest.mark.docs
def test_notebooks_show_their_outputs(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "index.md").write_text("# Site\n\n```{toctree}\nnotebook\n```\n", encoding="utf-8")
    cells = [nbformat.v4.new_markdown_cell("# Page"), nbformat.v4.new_code_cell("print(6 * 7)")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), source / "notebook.ipynb")
    cache = f"nb_execution_cache_path={tmp_path / 'cache'}"
    page = pages_of(build(source, tmp_path, "--define", cache))["notebook.html"]
    assert re.search(r'class="cell_output.*?<pre>(<span></span>)?42\b', page, flags=re.DOTALL)


@pytest.mark.docs
def test_signatures_have_values_in_place_of_names_of_constants(site):
    text = {name: unescape(re.sub("<[^>]+>", "", page)) for name, page in site.items()}
    assert 'lapse="auto"' in text["reference/score_calibrator.html"]
    signature = re.compile(r'<dt class="sig.*?</dt>', flags=re.DOTALL)
    for name, page in site.items():
        if name.startswith("reference/"):
            for found in signature.findall(page):
                shown = unescape(re.sub("<[^>]+>", "", found))
                assert not re.search(r"=(?!UNSET)[A-Z]{3,}|=<|='", shown), (name, shown)


@pytest.mark.docs
def test_the_first_page_is_that_of_the_readme(site):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("| you have | take |\n|---|---|\n")[2].partition("\n\n")[0]
    wanted = [line.strip("| ").partition(" | ")[0] for line in table.splitlines()]
    assert len(wanted) > 10
    shown = unescape(re.sub("<[^>]+>", "", site["index.html"]))
    assert [words for words in wanted if words not in shown] == []
    leads_to = re.findall(r'href="([^"]+)"', site["index.html"])
    assert {"prior.html", "when_not_to_use.html"} <= set(leads_to)
    assert "reference/score_calibrator.html#bayescal.ScoreCalibrator" in leads_to
    assert not [link for link in leads_to if "docs/" in link or link.endswith(".md")]


@pytest.mark.docs
def test_versions_are_switched_by_the_list_of_the_server(site_folder, tmp_path):
    """The list is that of docs/conf.py; pages from disk show their own version alone."""
    shutil.copytree(site_folder, tmp_path / bayescal.__version__)
    entry = {"name": "0.9", "version": "0.9", "url": "/0.9/"}
    (tmp_path / "versions.json").write_text(json.dumps([entry]), encoding="utf-8")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, browser() as new_page:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/{bayescal.__version__}/index.html")
        links = page.locator(".version-switcher__menu a")
        links.first.wait_for(state="attached")
        assert links.evaluate_all("all => all.map(each => new URL(each.href).pathname)")[0] == (
            "/0.9/index.html"
        )
        page.goto((site_folder / "index.html").as_uri())
        assert page.locator(".version-switcher__menu a").count() == 0
        server.shutdown()


@pytest.mark.docs
def test_no_page_fetches_anything(site):
    found = {name: FETCHED.findall(page) for name, page in site.items()}
    assert {name: tags for name, tags in found.items() if tags} == {}


def test_what_would_be_fetched_is_found():
    assert FETCHED.search('<script defer src="https://cdn.example/a.js"></script>')
    assert FETCHED.search('<link rel="stylesheet" href="//cdn.example/a.css" />')
    assert not FETCHED.search(
        '<script src="_static/a.js"></script><a href="https://x.example">x</a>'
    )
