"""The documentation site: `make docs`. Nothing is fetched from elsewhere to build or to read it.

Publish `build/site` as the folder /VERSION/ of a server, and list the versions in its
/versions.json: [{"name": "1.0.0", "version": "1.0.0", "url": "/1.0.0/"}]. Pages that are
read from disk show their own version alone.
"""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from docutils import nodes

DOCS = Path(__file__).parent
CLASS = re.compile(r"^(?:bayescal\.[\w.]+|[A-Z][a-z]+[A-Z]\w*)")
NAMES = re.compile(r"^:(?:ivar|vartype) \w+(?:, \w+)*:")
# Examples in the commands' help: in bold, or a line of their own.
EXAMPLE = re.compile(r"\[bold\](.*?)\[/bold\]|^(bayescal .*)$", flags=re.MULTILINE)
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT))

from bayescal import __version__  # noqa: E402

project, author, copyright = "bayescal", "the bayescal developers", "the bayescal developers"
version = release = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build"]

toc_object_entries_show_parents = "hide"

html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme = "pydata_sphinx_theme"
html_title = "bayescal"
html_show_sourcelink = False
html_math_renderer = "tex"
html_copy_source = False
html_theme_options = {
    "logo": {"text": "bayescal"},
    "switcher": {"json_url": "/versions.json", "version_match": version},
    "check_switcher": False,  # the list lies on the server
    "navbar_end": ["version-switcher", "theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 1,
    "show_toc_level": 2,
    "use_edit_page_button": "GITHUB_REPOSITORY" in os.environ,
}
# A forge that builds the site names its repository; elsewhere pages have no public address.
# Notebooks and experiments are copies of files outside this folder.
FOLDERS = "{'notebooks': '', 'papers': 'studies/'}.get(file_name.split('/')[0], 'docs/')"
REPOSITORY = f"https://github.com/{os.environ.get('GITHUB_REPOSITORY')}"
html_context = {
    "edit_page_provider_name": "GitHub",
    "edit_page_url_template": f"{REPOSITORY}/edit/main/{{{{ {FOLDERS} }}}}{{{{ file_name }}}}",
}

# Notebooks are run for the site, so that it shows their outputs, and again only if they change.
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "build/notebooks")
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True
myst_enable_extensions: list[str] = []
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say what arguments are
autodoc_preserve_defaults = False  # values, not the names of constants
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True


def leave_out(_app: Any, what: str, name: str, *_: Any) -> bool | None:
    """Leave out the methods for metadata routing that scikit-learn adds to every estimator."""
    routed = what == "class" and name.startswith("set_") and name.endswith("_request")
    return True if routed or name == "get_metadata_routing" else None


def keep_text(*event: Any) -> None:
    """Escape text that Sphinx would read as markup, such as the bars of |x - theta|."""
    lines: list[str] = event[-1]
    example = False
    for k, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if NAMES.match(line):
            lines[k] = NAMES.sub(lambda names: names[0].replace(", ", ","), line)
        elif not example and "``" not in line:
            lines[k] = line.replace("|", r"\|")


def write_defaults(*event: Any) -> tuple[str | None, str | None]:
    """Write functions that are defaults by their names."""
    signature, returns = event[-2:]
    return signature and re.sub(r"<function ([\w.]+)>", r"\1", signature), returns


def quote_defaults(_app: Any, doctree: Any) -> None:
    """Write text that is a default in double quotes, as in the source."""
    for node in list(doctree.findall(nodes.inline)):
        if "default_value" in node["classes"]:
            text = node.astext().replace("'", '"')
            node.children = []
            node += nodes.Text(text)


def link_names(app: Any, doctree: Any, docname: str) -> None:
    """Link names of classes and functions that are written as code to their reference."""
    known = app.env.get_domain("py").objects
    for node in list(doctree.findall(nodes.literal)):
        found = CLASS.match(node.astext())
        if found is None or isinstance(node.parent, nodes.reference):
            continue
        ends = [name for name in known if f".{name}".endswith(f".{found[0]}")]
        if ends:
            entry = known[min(ends, key=len)]
            uri = f"{app.builder.get_relative_uri(docname, entry.docname)}#{entry.node_id}"
            link = nodes.reference("", "", internal=True, refuri=uri)
            node.replace_self(link)
            link += node


def write_text(app: Any, error: Exception | None) -> None:
    """Write all pages into one file of plain text, for tools that read."""
    if error is None and app.builder.name == "html":
        pages = [
            ROOT / "README.md",
            *sorted(DOCS.glob("*.md")),
            *sorted(DOCS.glob("guides/*.md")),
            *sorted(DOCS.glob("validation/*.md")),
        ]
        text = "\n\n".join(page.read_text(encoding="utf-8") for page in pages)
        (Path(app.outdir) / "llms.txt").write_text(text, encoding="utf-8")


def command_line(_app: Any, docname: str, source: list[str]) -> None:
    """Insert the commands' help into the page on the command line."""
    if docname == "reference/command_line":
        import click
        from typer.cli import get_docs_for_click
        from typer.main import get_command

        from bayescal.cli.app import app

        command = get_command(app)
        context = click.Context(command, info_name="bayescal")
        text = get_docs_for_click(obj=command, ctx=context, name="bayescal")
        text = text.partition("\n")[2]  # the page has its title
        source[0] += EXAMPLE.sub(lambda found: f"`{found[1] or found[2]}`", text)


def bring_notebooks(_app: Any, _config: Any) -> None:
    """Copy the notebooks into the source folder of Sphinx."""
    shutil.rmtree(DOCS / "notebooks", ignore_errors=True)
    shutil.copytree(ROOT / "notebooks", DOCS / "notebooks")


def bring_papers(_app: Any, _config: Any) -> None:
    """Copy the pages of the published experiments to where Sphinx looks for sources."""
    shutil.rmtree(DOCS / "papers", ignore_errors=True)
    for page in (ROOT / "studies/papers").glob("*/README.md"):
        code = shutil.ignore_patterns("*.py", "__pycache__")
        shutil.copytree(page.parent, DOCS / "papers" / page.parent.name, ignore=code)


def mend_links(_app: Any, docname: str, source: list[str]) -> None:
    """Point links to notebooks and experiments, right in the repository, to the copies."""
    if docname.startswith("notebooks/"):
        source[0] = source[0].replace("](../docs/", "](../")
    elif docname.startswith("papers/"):
        source[0] = source[0].replace("](../../../docs/", "](../../")
    else:
        source[0] = source[0].replace("](../studies/papers/", "](papers/")
        source[0] = source[0].replace("](../../studies/papers/", "](../papers/")
        source[0] = source[0].replace("](../notebooks/", "](notebooks/")


def write_formula(translator: Any, node: Any) -> None:
    """Write a formula as TeX, because renderers are fetched from the network."""
    tag = "pre" if isinstance(node, nodes.math_block) else "code"
    text = translator.encode(node.astext())
    translator.body.append(f'<{tag} class="formula">{text}</{tag}>')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Connect the hooks."""
    app.add_html_math_renderer("tex", (write_formula, None), (write_formula, None))
    app.connect("config-inited", bring_notebooks)
    app.connect("config-inited", bring_papers)
    app.connect("source-read", mend_links)
    app.connect("autodoc-skip-member", leave_out)
    app.connect("autodoc-process-docstring", keep_text)
    app.connect("autodoc-process-signature", write_defaults)
    app.connect("doctree-read", quote_defaults)
    app.connect("doctree-resolved", link_names)
    app.connect("build-finished", write_text)
    app.connect("source-read", command_line)
