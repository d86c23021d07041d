"""The contents of wheel and sdist; the wheel works away from the checkout."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
CHECKOUT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, CHECKOUT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_wheel_holds_the_package_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"bayescal"}
    assert "bayescal/_models/asymmetric_laplace.py" in names
    assert "bayescal/text/reuters_scores.npz" in names
    assert "bayescal/py.typed" in names
    assert not [name for name in names if "__pycache__" in name or name.startswith("models/")]


def test_a_second_build_has_the_same_bytes(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path]
    subprocess.run([*command, CHECKOUT], capture_output=True, check=True)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_the_page_on_stability_gives_a_reason_for_every_dependency():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    page = (CHECKOUT / "docs/stability.md").read_text()
    table, _, extras = page.partition("| packages | MB |")[2].partition("Extras")
    for name in (re.match(r"[\w-]+", each)[0] for each in project["dependencies"]):
        assert re.search(rf"[| ]{name}[, ]", table), name
    for name in project["optional-dependencies"]:
        assert f"`{name}`" in extras, name


def test_the_sdist_can_be_tested(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"models/laplace.py", "bayescal/__init__.py", "tests/test_fit.py", "LICENSE"} <= names
    assert not [name for name in names if name.startswith((".", "requirements", "demo_output"))
                and name not in {".gitignore"}]  # fmt: skip


def test_the_wheel_finds_its_programs(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        "import bayescal, bayescal.distributions.programs as p, bayescal.text.reuters_scores as d;"
        "print(bayescal.__file__, p.folder().name, p.available(), len(d.load_reuters_scores()))"
    )
    environment = {"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True, cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert str(tmp_path) in done.stdout
    assert "_models ['asymmetric_gaussian'" in done.stdout
    assert "258040" in done.stdout
