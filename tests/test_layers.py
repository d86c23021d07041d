"""Imports only go down, and heavy libraries stay out until they are used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "bayescal"

# Lowest first. A room may import its own layer's and lower ones; distributions and programs stand
# apart from the core, so that each side is the other's test oracle.
LAYERS = {
    "validation": 0,
    "palette": 0,
    "small_arrays": 0,
    "whole_file": 0,
    "html": 1,
    "log_sum": 1,
    "robust": 1,
    "bayes": 1,
    "quantisation": 1,
    "randomness": 1,
    "parallel": 1,
    "unfinished": 1,
    "warps": 1,
    "monotonicity": 1,
    "labels": 1,
    "sign_test": 1,
    "_compat": 1,
    "families": 2,
    "datasets": 2,
    "distributions": 2,
    "programs": 2,
    "metrics": 2,
    "prior_shift": 2,
    "decisions": 2,
    "drift": 2,
    "locality": 2,
    "score_checks": 2,
    "topic_scores": 3,
    "density_draws": 3,
    "density_shapes": 4,
    "engines": 4,
    "curves": 5,
    "formulas": 5,
    "learned_prior": 5,
    "parts": 6,
    "results": 7,
    "comparison": 8,
    "settings": 8,
    "topic_fitting": 8,
    "prior_knowledge": 8,
    "score_fitting": 9,
    "score_updating": 9,
    "topic_settings": 9,
    "fitted": 9,
    "plain_calibrator": 10,
    "saved": 10,
    "score_calibrator": 11,
    "topic_calibrator": 11,
    "loading": 12,
    "classification": 12,
    "methods": 12,
    "plots": 12,
    "report": 12,
    "export": 12,
    "calibrated_classifier": 13,
    "text": 14,
    "ranking": 14,
    "indicators": 15,
    "experts": 15,
    "combining": 15,
    "combined_classifier": 16,
    "tasks": 16,
    "reproduce": 17,
    "cli": 18,
    "__main__": 19,
}
CORE = {
    "validation",
    "log_sum",
    "quantisation",
    "robust",
    "bayes",
    "randomness",
    "labels",
    "score_checks",
    "warps",
    "monotonicity",
    "families",
    "density_draws",
    "density_shapes",
    "prior_shift",
    "decisions",
    "drift",
    "locality",
    "sign_test",
}
PYMC_SIDE = {"distributions", "programs"}
HEAVY = {
    "pymc",
    "pytensor",
    "pandas",
    "matplotlib",
    "sklearn",
    "arviz_stats",
    "arviz_base",
    "arviz_plots",
}
# At module level, which is paid at import; a function's imports are paid when it runs.
ALLOWED_HEAVY = {
    "distributions": {"pymc", "pytensor"},
    "score_calibrator": {"sklearn"},
    "topic_calibrator": {"sklearn"},
    "classification": {"sklearn"},
    "calibrated_classifier": {"sklearn"},
    "report": {"sklearn"},
    "plots": {"sklearn"},
    "text": {"sklearn"},
    "ranking": {"sklearn"},
    "indicators": {"sklearn"},
    "experts": {"sklearn"},
    "combining": {"sklearn"},
    "combined_classifier": {"sklearn"},
    "reproduce": {"sklearn"},
    "tasks": {"sklearn"},
}

# Methods that hand the estimator to a room of the face, which they import when they are called.
METHODS_OF_THE_FACE = {
    (estimator, room)
    for estimator in ("score_calibrator", "topic_calibrator")
    for room in ("report", "export")
} | {("classification", "report")}

FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def room(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(tree, *, top_level_only):
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "bayescal":
                yield from (f"bayescal.{alias.name}" for alias in node.names)
            else:
                yield node.module


def test_arrows_go_down():
    assert [wrong for path in FILES for wrong in wrong_arrows(room(path), path.read_text())] == []


@pytest.mark.parametrize(
    ("own", "source"),
    [
        ("families", "from bayescal.engines import inference"),
        ("families", "def f():\n    from bayescal.results.tree import build_tree"),
        ("decisions", "import bayescal.metrics.scores"),
        ("distributions", "from bayescal.families import FAMILIES"),
        ("score_calibrator", "from bayescal.report.document import write"),
    ],
)
def test_arrows_that_go_up_are_found(own, source):
    assert wrong_arrows(own, source)


def wrong_arrows(own, source):
    """Return the imports of a file of a room that its layer, or its side, may not have."""
    tree = ast.parse(source)
    at_import = set(imported_modules(tree, top_level_only=True))
    wrong = []
    for module in imported_modules(tree, top_level_only=False):
        first, _, rest = module.partition(".")
        other = rest.partition(".")[0]
        if first != "bayescal" or other in ("", own, "__version__"):
            continue
        if (own, other) in METHODS_OF_THE_FACE and module not in at_import:
            continue
        allowed = LAYERS[other] < LAYERS[own]
        allowed &= own not in CORE or other in CORE
        allowed &= own not in PYMC_SIDE or other == "_compat"
        if not allowed:
            wrong.append(f"{own} imports {module}")
    return wrong


def test_heavy_libraries_are_imported_where_they_are_used():
    found = {}
    for path in FILES:
        modules = imported_modules(ast.parse(path.read_text()), top_level_only=True)
        heavy = {module.split(".")[0] for module in modules} & HEAVY
        if heavy - ALLOWED_HEAVY.get(room(path), set()):
            found[path.relative_to(PACKAGE)] = heavy
    assert found == {}


def test_every_room_has_a_layer():
    assert {room(path) for path in FILES} == set(LAYERS)


def test_programs_import_pymc_and_our_distributions_only():
    for path in (PACKAGE.parent / "models").glob("*.py"):
        modules = imported_modules(ast.parse(path.read_text()), top_level_only=False)
        allowed = {"typing", "numpy", "numpy.typing", "pymc", "bayescal.distributions"}
        assert set(modules) <= allowed


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import bayescal", HEAVY | {"xarray", "rich", "typer"}),
        ("import bayescal.families, bayescal.programs", HEAVY | {"xarray"}),
        ("from bayescal import ScoreCalibrator", {"pymc", "pytensor", "matplotlib"}),
        ("import bayescal.plots", {"pymc", "pytensor", "matplotlib", "arviz_plots"}),
        ("import bayescal.cli", {"pymc", "pytensor", "matplotlib", "pandas", "sklearn"}),
    ],
)
def test_import_leaves_out(statement, absent):
    code = f"{statement}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not absent & set(done.stdout.split())


def test_commands_leave_out_what_they_do_not_use(tmp_path):
    scores, folder = tmp_path / "scores.csv", str(tmp_path / "out")
    rows = "".join(f"{k % 7}.{k},{k % 7 > 3:d}\n" for k in range(40))
    scores.write_text("score,label\n" + rows)
    absent = {
        *("pymc", "pytensor", "arviz_base", "arviz_stats", "arviz_plots", "matplotlib"),
        *("sklearn", "joblib", "scipy.stats", "scipy.optimize", "scipy.interpolate"),
    }
    # Around the learnt populations and not, and whatever reads what was fitted.
    for words in (
        ["fit", str(scores), "--draws", "50", "--out", folder],
        ["fit", str(scores), "--draws", "50", "--prior-knowledge", "vague", "--out", folder],
        ["predict", folder, str(scores)],
        ["decide", folder, str(scores), "--recall", "0.9"],
        ["export", folder, "--format", "sql", "--out", f"{folder}/curve.sql"],
    ):
        found = modules_of_command(words)
        assert {"bayescal.plain_calibrator", "xarray"} <= found
        assert not absent & found, words


def modules_of_command(words):
    """Return what a command has imported when it is done."""
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
