"""Commands whose options are the fields of a dataclass: a call is one frozen value."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn, TypeVar, get_type_hints

import typer
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text
from typer.core import TyperGroup

from bayescal.cli import options

# What the user sees: tables on stdout; progress and warnings on stderr; nothing when quiet.

# Into a file or a pipe tables are written at full width, whatever the terminal's.
WIDTH_OF_FILES = 160


class Screen:
    """
    The two streams of a command.

    Parameters
    ----------
    quiet : bool
        Show nothing but errors, which are raised, not printed here.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self._out = _console(stderr=False)
        self._err = _console(stderr=True)

    def show(self, *renderables: RenderableType) -> None:
        """Print tables on stdout, a blank line after each."""
        self._print(self._out, renderables)

    def note(self, *renderables: RenderableType) -> None:
        """Print tables on stderr, a blank line after each."""
        self._print(self._err, renderables)

    def say(self, text: str) -> None:
        """Print a line on stdout, literally: names and paths may look like markup."""
        if not self.quiet:
            self._out.print(Text(text), soft_wrap=True)

    def tell(self, text: str) -> None:
        """Print a line on stderr, where it does not mix with a table that is piped on."""
        if not self.quiet:
            self._err.print(Text(text), soft_wrap=True)

    def warn(self, text: str) -> None:
        """Print a warning on stderr."""
        if not self.quiet:
            message = Text.assemble(("Warning: ", "bold yellow"), " ".join(text.split()))
            self._err.print(message, soft_wrap=True)

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Step]:
        """Show a progress bar while a number of steps are made; only on a terminal."""
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn())
        bar = Progress(
            *columns,
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._err,
            transient=True,
            disable=self.quiet or not self._err.is_terminal,
        )
        with bar:
            yield Step(bar, what, total)

    @contextmanager
    def warnings(
        self, subject: str = "", advice: Callable[[type[Warning]], str] = lambda _: ""
    ) -> Iterator[None]:
        """Show Python's warnings as warnings of this program."""
        from bayescal.fitting.results.diagnostics import ConvergenceWarning
        from bayescal.support.score_checks import ScoresWarning

        def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
            self.warn(f"{subject}{message} {advice(category)}")

        # Not catch_warnings(record=True): what other filters drop or turn into errors stays so.
        with warnings.catch_warnings():
            for category in (ConvergenceWarning, ScoresWarning):
                warnings.simplefilter("always", category)
            warnings.showwarning = show
            yield

    def _print(self, console: Console, renderables: Sequence[RenderableType]) -> None:
        for renderable in () if self.quiet else renderables:
            console.print(renderable)
            console.print()


class Step:
    """
    The steps of a progress bar.

    Parameters
    ----------
    bar : Progress
        Where they are shown.
    what : str
        What is being done.
    total : int
        Number of steps.
    """

    def __init__(self, bar: Progress, what: str, total: int) -> None:
        self._bar, self._what = bar, what
        self._task = bar.add_task(what, total=total)

    def begin(self, name: str) -> None:
        """Say what the step is about."""
        self._bar.update(self._task, description=f"{self._what} {name}".strip())

    def of(self, done: int, total: int) -> None:
        """Say that so many of all steps are done; work that goes over all again begins anew."""
        self._bar.update(self._task, description=self._what, completed=done, total=total)

    def end(self) -> None:
        """Count the step as done."""
        self._bar.advance(self._task)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console.width = WIDTH_OF_FILES
    return console


Asked = TypeVar("Asked", bound="Call")

# What the summary of a run leaves out: where it wrote, and whether it printed.
UNTOLD = ("out", "parameters", "quiet")


@dataclass(frozen=True, kw_only=True)
class Call:
    """Options common to all commands; subclasses add a command's own."""

    # Whether to print errors only
    quiet: options.Quiet = False

    @cached_property
    def screen(self) -> Screen:
        """Return where to print."""
        return Screen(quiet=self.quiet)

    def told(self, command: str) -> dict[str, Any]:
        """Return the record of the call for the summary."""
        names = [field.name for field in fields(self) if field.name not in UNTOLD]
        return {"command": command, **{name: getattr(self, name) for name in names}}


def command(
    app: typer.Typer, asked: type[Asked], name: str | None = None
) -> Callable[[Callable[[Asked], None]], Callable[[Asked], None]]:
    """Make a function of a call a command; its help is the function's docstring."""

    def register(function: Callable[[Asked], None]) -> Callable[[Asked], None]:
        def run(**given: Any) -> None:
            function(asked(**given))

        types = get_type_hints(asked, include_extras=True)
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__annotations__ = types
        # Typer reads arguments and options off a function's signature.
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [_parameter(field, types[field.name]) for field in _in_order(asked)]
        )
        app.command(name)(run)
        return function

    return register


def _in_order(asked: type[Call]) -> list[Field[Any]]:
    """Return the fields as help shows them: those of every command come last."""
    common = {field.name for field in fields(Call)}
    return sorted(fields(asked), key=lambda field: field.name in common)


def _parameter(field: Field[Any], annotation: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(field.name, kind, default=default, annotation=annotation)


# Wrong use: one line on stderr that says what was expected and what came, and exit code 2.

WRONG_USE = 2
INTERRUPTED = 130

# The class of all of typer's complaints about options and arguments. Typer carries its own copy of
# click now, and exports of its errors only this one, whose parent it is.
_TyperUsageError: type[Any] = typer.BadParameter.__mro__[1]


class UsageError(Exception):
    """A mistake in the call or in its data; the message is the line that the user reads."""


@contextmanager
def blamed_on_use(
    subject: str = "", kinds: tuple[type[Exception], ...] = (ValueError, OSError)
) -> Iterator[None]:
    """Turn the errors with which the package refuses its input into wrong use."""
    try:
        yield
    except kinds as err:
        raise UsageError(f"{subject}{err}") from err


class CommandGroup(TyperGroup):
    """The commands; wrong use of any of them ends in one line, not in a panel or a traceback."""

    def main(self, args: Sequence[str] | None = None, *others: Any, **extra: Any) -> NoReturn:
        """Run a command and leave with its exit code; see `typer.core.TyperGroup.main`."""
        extra["standalone_mode"] = False
        words = list(sys.argv[1:] if args is None else args)
        try:
            code = super().main(words, *others, **extra)
        except UsageError as err:
            _leave(str(err))
        except _TyperUsageError as err:
            # Without a command there is no error to tell: typer has printed the help.
            if type(err).__name__ == "NoArgsIsHelpError":
                _leave("")
            _leave(_told(err, words))
        except typer.Abort:
            sys.exit(INTERRUPTED)
        sys.exit(code or 0)


def _told(err: Any, words: Sequence[str]) -> str:
    """Return typer's message, with what came in place of a number, which it does not tell."""
    message: str = err.format_message()
    expected, unparsed, _ = message.partition(", unable to parse")
    names = getattr(getattr(err, "param", None), "opts", [])
    for word, following in pairwise([*words, ""]):
        name, equals, value = word.partition("=")
        if unparsed and name in names:
            return f"{expected}, got {value if equals else following!r}."
    return message


def _leave(message: str) -> NoReturn:
    if message:
        sys.stderr.write(f"Error: {' '.join(message.split())}\n")
    sys.exit(WRONG_USE)
