"""Find and load model programs: the files in models/, or a user's own.

A program is code: loading one runs it. Only the package's own folder and explicit paths are ever
read, never the working directory.
"""

import inspect
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

LOG_DENSITY, LOG_ODDS, NEW_GROUP = "log_density", "log_odds", "new_group"
# Arguments that the package passes: documents, not hyperparameters.
COVARIATES, COORDS = "covariates", "coords"
OF_DOCUMENTS = ("score", "klass", COVARIATES)
LOAD_LIMIT = 60  # seconds that a program's file may run
CONTRACT = """\
    def log_density(score, klass, mu, sigma):  # of a class, 0 or 1; P(+) is the variable `prior`
        mine = pm.Normal.dist(mu[klass], sigma[klass])
        return pm.logp(mine, score)

or, where the model is of labels given scores,

    def log_odds(score, intercept, slope):
        return intercept + slope * score
"""


@dataclass(frozen=True)
class ModelProgram:
    """A loaded model program."""

    name: str  # file name without ".py"
    path: Path | None  # its file; None for the program of a `Density`
    source: str  # its text
    model: Callable[..., Any]  # ``(score, label, **hyperparameters) -> pymc.Model``
    # ``(score, klass, **parameters)``: symbolic log p(score | klass), shape of the score
    log_density: Callable[..., Any] | None
    log_odds: Callable[..., Any] | None  # ``(score, **parameters)``: symbolic log-odds
    # ``(n, rng, **hyperparameters)`` -> dict of a score, a label and the parameters behind them
    simulate: Callable[..., dict[str, Any]] | None
    summary: str  # the first line of its docstring
    # ``(rng, **variables)`` -> dict of the variables of one group that was not fitted, by draw
    new_group: Callable[..., dict[str, Any]] | None = None
    standardised: bool = False  # whether its scores are (score - centre)/spread
    # Of a standardised program: (a, b) of parameters that are a centre + spread^b value in score
    # units
    score_units: Mapping[str, tuple[int, int]] | None = None

    @property
    def file(self) -> str:
        """Return its file, or its name without one."""
        return str(self.path or self.name)

    @property
    def label(self) -> str:
        """Return the name for messages."""
        return f"program {self.file}"

    def hyperparameters(self) -> dict[str, Any]:
        """Return the keyword arguments of `model` and their defaults."""
        parameters = inspect.signature(self.model).parameters.values()
        passed = (COVARIATES, COORDS)
        return {
            p.name: None if p.default is p.empty else p.default
            for p in parameters
            if p.kind is p.KEYWORD_ONLY and p.name not in passed
        }

    @property
    def takes_covariates(self) -> bool:
        """Return whether `model` takes covariates."""
        return COVARIATES in inspect.signature(self.model).parameters

    @property
    def takes_coords(self) -> bool:
        """Return whether `model` takes the levels of text columns, as PyMC's coords."""
        return COORDS in inspect.signature(self.model).parameters

    @property
    def answers(self) -> bool:
        """Return whether the program defines predictions for new scores."""
        return self.log_density is not None or self.log_odds is not None

    @property
    def answer(self) -> Callable[..., Any]:
        """Return the function of the contract: `log_density` or `log_odds`."""
        if "topic" in inspect.signature(self.model).parameters:
            raise ValueError(
                f"{self.label} is a model of many topics: a ScoreCalibrator has one problem; use"
                " pm.sample, or a TopicCalibrator or CombinedClassifier."
            )
        if self.log_density is not None and self.log_odds is not None:
            raise ValueError(
                f"{self.label} must define log_density or log_odds, it defines both: leave one out."
            )
        function = self.log_density or self.log_odds
        if function is None and self.path is not None and self.path.parent == folder():
            raise ValueError(
                f"{self.label} is a model of many topics, classes or grades: a ScoreCalibrator has"
                " one problem of two classes; use pm.sample, or a TopicCalibrator,"
                " CombinedClassifier, MulticlassCalibrator or OrdinalCalibrator."
            )
        if function is None:
            raise ValueError(
                f"{self.label} must define how its parameters answer for new scores. Add one of"
                f"\n\n{CONTRACT}\nwhose arguments are variables of its model; see models/README.md."
            )
        return function

    def answer_parameters(self) -> list[str]:
        """Return the arguments of `answer` that are variables of the model or hyperparameters."""
        return [n for n in inspect.signature(self.answer).parameters if n not in OF_DOCUMENTS]

    def group_parameters(self) -> list[str]:
        """Return the arguments of `new_group` that are variables or hyperparameters."""
        if self.new_group is None:
            return []
        return [name for name in inspect.signature(self.new_group).parameters if name != "rng"]


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


def of_scores() -> list[str]:
    """Return the names of the package's programs of scores and labels."""
    return [name for name in available() if load(name).answers]


def template() -> str:
    """Return the text of a program that runs, with comments on what to edit."""
    return (Path(__file__).parent / "template.txt").read_text(encoding="utf-8")


def load(name_or_path: str | Path) -> ModelProgram:
    """Load a program by name, or from an explicit path to a .py file. Loading runs the file."""
    path = _find(name_or_path)
    source = _read(path)
    module = _run(path, source)
    model = getattr(module, "model", None)
    if not callable(model):
        raise ValueError(
            f"program {path} must define a function model(score, label, ...) that returns a"
            " pymc.Model; it defines no `model`."
        )
    summary = (module.__doc__ or "").strip().splitlines()
    return ModelProgram(
        name=path.stem,
        path=path,
        source=source,
        model=model,
        log_density=getattr(module, LOG_DENSITY, None),
        log_odds=getattr(module, LOG_ODDS, None),
        simulate=getattr(module, "simulate", None),
        summary=summary[0] if summary else "",
        new_group=getattr(module, NEW_GROUP, None),
    )


@contextmanager
def blamed_on_program(program: Path | str, what: str = "fails") -> Iterator[None]:
    """Turn any error of a program into a ValueError that names its file and line."""
    try:
        # PyTensor tries constants in single precision, which units such as 1e60 overflow.
        with np.errstate(over="ignore"):
            yield
    except (Exception, SystemExit) as err:  # exit() in a program must not end this process
        line = _line_of(err, str(program))
        where = "" if line is None else f", line {line},"
        raise ValueError(f"program {program}{where} {what}: {type(err).__name__}: {err}") from err


@contextmanager
def deadline(seconds: float, message: str) -> Iterator[Callable[[], None]]:
    """Raise TimeoutError after some seconds, or never once cancelled; in the main thread only."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield lambda: None
        return

    def late(*_: Any) -> None:
        raise TimeoutError(message)

    def cancel() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)

    handler = signal.signal(signal.SIGALRM, late)
    outer, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield cancel
    finally:
        cancel()
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, outer)


def _line_of(err: BaseException, file: str) -> int | None:
    """Return the last line of a file in an error's traceback."""
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
            near = get_close_matches(text.lower(), available(), n=2, cutoff=0.5)
            if Path(f"{text}.py").is_file():
                near = [f"{text}.py"]
            meant = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise ValueError(
                f"there is no program {text!r}; expected one of {', '.join(of_scores())}, which can"
                " be fitted to scores and labels, one of many topics, classes or grades that"
                f" bayescal models lists, or a path to a .py file.{meant}"
            )
        return path
    path = Path(text).expanduser()
    if not path.is_file():
        raise ValueError(f"there is no program file {text!r}; give the path of a .py file.")
    return path.resolve()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as err:
        raise ValueError(f"program {path} is no text of Python: {err}") from None


def _run(path: Path, source: str) -> ModuleType:
    # A unique name avoids clashes with other modules; compiling in place of importing leaves no
    # __pycache__ beside the user's file.
    module = ModuleType(f"_bayescal_program_{path.stem}")
    module.__file__ = str(path)
    import pymc  # noqa: F401 - a cold import may take longer than the limit

    late = f"it does not end within {LOAD_LIMIT} s: move what takes long into model(score, label)"
    with blamed_on_program(path, "does not run"), deadline(LOAD_LIMIT, late):
        code = compile(source, str(path), "exec")
        exec(code, module.__dict__)
    return module
