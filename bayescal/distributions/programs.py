"""Find and load model programs: the files in models/, or a user's own.

A program is code: loading one runs it. Only the package's own folder and explicit paths are ever
read, never the working directory.
"""

import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Program:
    """A loaded model program."""

    name: str  # file name without ".py"
    path: Path  # where it was read from
    model: Callable[..., Any]  # ``(score, label, **hyperparameters) -> pymc.Model``
    # ``(n, rng, **hyperparameters)`` -> dict of a score, a label and the parameters behind them
    simulate: Callable[..., dict[str, Any]] | None
    summary: str  # the first line of its docstring

    def hyperparameters(self) -> dict[str, float]:
        """Return the keyword arguments of `model` and their defaults."""
        parameters = inspect.signature(self.model).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def folder() -> Path:
    """Return the folder of the package's programs: models/ in a checkout, else _models."""
    package = Path(__file__).parent.parent
    checkout = package.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / "models").is_dir():
        return checkout / "models"
    return package / "_models"


def available() -> list[str]:
    """Return the names of the package's programs."""
    return sorted(path.stem for path in folder().glob("*.py"))


def load(name_or_path: str | Path) -> Program:
    """
    Load a program by name, or from an explicit path to a .py file. Loading runs the file.

    Examples
    --------
    >>> load("laplace").name
    'laplace'
    """
    path = _find(name_or_path)
    module = _run(path)
    model = getattr(module, "model", None)
    if not callable(model):
        raise ValueError(
            f"program {path} must define a function model(score, label, ...) that returns a"
            " pymc.Model; it defines no `model`."
        )
    summary = (module.__doc__ or "").strip().splitlines()
    return Program(
        name=path.stem,
        path=path,
        model=model,
        simulate=getattr(module, "simulate", None),
        summary=summary[0] if summary else "",
    )


@contextmanager
def blamed_on_program(path: Path, what: str = "fails") -> Iterator[None]:
    """Turn whatever a program raises into a ValueError that names its file and line."""
    try:
        yield
    except Exception as err:
        line = _line_of(err, str(path))
        where = "" if line is None else f", line {line},"
        raise ValueError(f"program {path}{where} {what}: {type(err).__name__}: {err}") from err


def _line_of(err: Exception, file: str) -> int | None:
    """Return the last line of a file that an error went through."""
    if isinstance(err, SyntaxError) and err.filename == file:
        return err.lineno
    frames = traceback.extract_tb(err.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == file]
    return lines[-1] if lines else None


def _find(name_or_path: str | Path) -> Path:
    text = str(name_or_path)
    if not text.endswith(".py"):
        path = folder() / f"{text}.py"
        if text not in available():
            raise ValueError(
                f"there is no program {text!r}; expected one of {', '.join(available())},"
                " or a path to a .py file."
            )
        return path
    path = Path(text).expanduser()
    if not path.is_file():
        raise ValueError(f"there is no program file {text!r}; give the path of a .py file.")
    return path.resolve()


def _run(path: Path) -> ModuleType:
    # A name of its own keeps two files of the same stem, or a stem like "random", apart. Compiled
    # here and not imported: an import would leave a __pycache__ beside the user's file.
    module = ModuleType(f"_bayescal_program_{path.stem}")
    module.__file__ = str(path)
    with blamed_on_program(path, "does not run"):
        code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
        exec(code, module.__dict__)
    return module
