"""Imports only go down, and heavy libraries stay out until they are used."""

import ast
import graphlib
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "bayescal"

# Lowest first: a folder imports only folders of lower levels. The files of fitting/ beside its own
# folders are of two kinds: what a fit starts from, below them, and whole fits, above them.
LEVELS = [
    {"support"},
    {"inference"},
    {"families", "distributions"},
    {"metrics", "decisions"},
    {"sampling"},
    {"fitting.covariates"},
    {"fitting.scores"},
    {"fitting.posterior"},
    {"fitting.engines"},
    {"fitting.curves"},
    {"fitting.parts"},
    {"fitting.learned_prior"},
    {"fitting.results"},
    {"fitting.settings"},
    {"fitting.population"},
    {"fitting.problems"},
    {"fitting"},
    {"likelihood_ratio"},
    {"report", "plots"},
    {"calibrators"},
    {"monitoring"},
    {"text", "ranking"},
    {"combining"},
    {"cli"},
    {"__main__"},
]
LEVEL = {folder: level for level, folders in enumerate(LEVELS) for folder in folders}
HEAVY = {"pymc", "pytensor", "pandas", "matplotlib", "sklearn"}
HEAVY |= {"arviz_stats", "arviz_base", "arviz_plots"}
# Imported with the folder; a function's imports are paid when it runs.
ALLOWED_HEAVY = {
    "distributions": {"pymc", "pytensor"},
    **{
        folder: {"sklearn"}
        for folder in (
            *("calibrators", "monitoring", "report", "plots", "text", "ranking", "combining"),
        )
    },
}

FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def module_name(path):
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    )


MODULES = {module_name(path) for path in FILES}


def folder_of(module):
    """Return the entry of LEVEL that a module belongs to."""
    parts = module.split(".")[1:]
    inner = ".".join(parts[:2])
    return inner if inner in LEVEL else parts[0] if parts else ""


def imported_modules(tree, *, top_level_only):
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            submodules = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (each if each in MODULES else node.module for each in submodules)


def imports_upwards(own, source):
    """Return the imports of a file of a folder that its level does not allow."""
    tree = ast.parse(source)
    wrong = []
    for module in imported_modules(tree, top_level_only=False):
        if module.partition(".")[0] != "bayescal":
            continue
        other = folder_of(module)
        if other in ("", own) or other not in LEVEL:
            continue
        if LEVEL[other] >= LEVEL[own]:
            wrong.append(f"{own} imports {module}")
    return wrong


@pytest.mark.slow
def test_imports_point_down():
    found = [imports_upwards(folder_of(module_name(path)), path.read_text()) for path in FILES]
    assert list(chain.from_iterable(found)) == []


@pytest.mark.parametrize(
    ("own", "source"),
    [
        ("families", "from bayescal.fitting.engines import combination"),
        ("inference", "from bayescal.metrics import changes"),
        ("families", "def f():\n    from bayescal.fitting.results.tree import build_tree"),
        ("decisions", "import bayescal.metrics.scores"),
        ("distributions", "from bayescal.families import FAMILIES"),
        ("fitting.curves", "from bayescal.fitting.parts.part import Part"),
        ("plots", "if TYPE_CHECKING:\n    from bayescal.calibrators import estimates"),
    ],
)
def test_imports_that_point_up_are_found(own, source):
    assert imports_upwards(own, source)


def test_every_folder_has_a_level():
    assert {folder_of(module_name(path)) for path in FILES} == set(LEVEL)


@pytest.mark.slow
def test_every_class_has_a_name_of_its_own():
    classes = [
        node.name
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    assert sorted({name for name in classes if classes.count(name) > 1}) == []


@pytest.mark.slow
def test_no_file_imports_itself_through_others():
    graph = {module_name(path): set() for path in FILES}
    for path in FILES:
        for module in imported_modules(ast.parse(path.read_text()), top_level_only=False):
            own = module_name(path)
            if module in graph and module != own:
                graph[own].add(module)
    sorter = graphlib.TopologicalSorter(graph)
    sorter.prepare()  # raises CycleError


def test_heavy_libraries_are_imported_where_they_are_used():
    found = {}
    for path in FILES:
        modules = imported_modules(ast.parse(path.read_text()), top_level_only=True)
        heavy = {module.split(".")[0] for module in modules} & HEAVY
        if heavy - ALLOWED_HEAVY.get(folder_of(module_name(path)), set()):
            found[path.relative_to(PACKAGE)] = heavy
    assert found == {}


def test_programs_import_pymc_and_our_distributions_only():
    for path in (PACKAGE.parent / "models").glob("*.py"):
        modules = imported_modules(ast.parse(path.read_text()), top_level_only=False)
        allowed = {"typing", "numpy", "numpy.typing", "pymc", "bayescal.distributions"}
        assert set(modules) <= allowed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import bayescal", HEAVY | {"xarray", "rich", "typer"}),
        ("import bayescal.families, bayescal.distributions.programs", HEAVY | {"xarray"}),
        ("from bayescal import ScoreCalibrator", {"pymc", "pytensor", "matplotlib"}),
        ("import bayescal.plots", {"pymc", "pytensor", "matplotlib", "arviz_plots"}),
        ("import bayescal.cli", {"pymc", "pytensor", "matplotlib", "pandas", "sklearn"}),
        # Work in one process, which needs no backend.
        ("from bayescal.support.parallel import workers\nwith workers(1): pass", {"joblib"}),
    ],
)
def test_import_leaves_out(statement, absent):
    code = f"{statement}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not absent & set(done.stdout.split())


@pytest.mark.slow
def test_commands_leave_out_what_they_do_not_use(tmp_path):
    scores, folder = tmp_path / "scores.csv", str(tmp_path / "out")
    rows = "".join(f"{k % 7}.{k},{k % 7 > 3:d}\n" for k in range(40))
    scores.write_text("score,label\n" + rows)
    absent = {"pymc", "pytensor", "arviz_base", "arviz_stats", "arviz_plots", "matplotlib"}
    # Around the learnt populations and not, and whatever reads what was fitted.
    for words in (
        ["fit", str(scores), "--draws", "50", "--out", folder],
        ["fit", str(scores), "--draws", "50", "--prior-knowledge", "vague", "--out", folder],
        ["predict", folder, str(scores)],
        ["decide", folder, str(scores), "--recall", "0.9"],
        ["export", folder, "--format", "sql", "--out", f"{folder}/curve.sql"],
    ):
        found = modules_of_command(words)
        assert {"bayescal.fitting.fitted_scores", "xarray"} <= found
        assert not absent & found, words


def modules_of_command(words):
    """Return the modules that a command has imported when it ends."""
    code = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr));"
        f"from bayescal.cli.app import app; app({words!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_unknown_names_are_attribute_errors():
    import bayescal

    assert "ScoreCalibrator" in dir(bayescal)
    with pytest.raises(AttributeError, match="no attribute 'no_such_thing'"):
        _ = bayescal.no_such_thing
