"""Files for contributors agree with each other and with the project."""

import re
from pathlib import Path

import pytest
import yaml

import bayescal

ROOT = Path(__file__).parent.parent
ERAS = ("3.11", "3.12")


def pins(name):
    """Return the versions of a file of requirements, by package."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+)", text, flags=re.MULTILINE))


@pytest.mark.parametrize("era", ERAS)
def test_the_demo_has_the_versions_of_the_tests(era):
    demo, every = pins(f"demo-{era}.txt"), pins(f"python-{era}.txt")
    assert {"numpy", "pymc", "matplotlib"} <= set(demo)
    assert demo.items() <= every.items()
    assert len(demo) < len(every) / 2


def test_a_forge_runs_our_own_check():
    read = yaml.safe_load((ROOT / ".github/workflows/check.yml").read_text(encoding="utf-8"))
    steps = read["jobs"]["check"]["steps"]
    assert steps[-1]["run"] == ".ci/run"
    versions = next(step["with"]["python-version"] for step in steps if "with" in step)
    assert sorted(versions.split()) == sorted(ERAS)


def test_hooks_run_what_lint_runs():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    entries = [hook["entry"] for repo in hooks["repos"] for hook in repo["hooks"]]
    lint = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\nlint:")[2]
    wanted = re.findall(r"\$\(BIN\)/(ruff .*) \.$", lint.partition("\n\n")[0], flags=re.MULTILINE)
    assert [entry.removeprefix(".venv/bin/") for entry in entries] == wanted


def test_versions_agree():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert cited == bayescal.__version__ == re.findall(r"^## (\S+?):", changes, re.MULTILINE)[0]
