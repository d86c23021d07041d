"""The terminal: tables on stdout; progress, warnings and errors on stderr."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from rich import progress
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from bayescal.support.files import printable
from bayescal.support.intervals import counted as counted
from bayescal.support.validation import check_fraction

# Width of output to a file or a pipe.
WIDTH_OF_FILES = 160

Advice = Callable[[type[Warning]], str]
# Updates a progress bar; see `rich.progress.Progress.update`.
Update = Callable[..., None]


class UsageError(Exception):
    """A mistake in the call or its data; the message is a line for the user."""


@contextmanager
def usage_errors(
    subject: str = "", errors: tuple[type[Exception], ...] = (ValueError, OSError)
) -> Iterator[None]:
    """Turn errors for wrong input into UsageError."""
    try:
        yield
    except errors as err:
        raise UsageError(f"{subject}{err}") from err


def number_check(name: str, least: int | None, *, fraction: bool) -> Callable[[Any], Any] | None:
    """Return the check of an option's number: that it is large enough, or between 0 and 1."""
    if least is None and not fraction:
        return None

    def checked(value: Any) -> Any:
        if value is not None and least is not None and value < least:
            raise UsageError(f"{name} must be at least {least}, got {value}.")
        if value is not None and fraction:
            with usage_errors():
                check_fraction(**{name: value})
        return value

    return checked


SAMPLER_ADVICE = "Options for this: --tune, --draws, --chains, --target-accept."
SCORES_ADVICE = "Options for this: --positive, --lower-is-positive, --scores-are."


def option_advice(
    category: type[Warning], texts: tuple[str, str] = (SAMPLER_ADVICE, SCORES_ADVICE)
) -> str:
    """Name the options that address a kind of warning."""
    advice = zip(warning_categories(), texts, strict=True)
    return next((text for kind, text in advice if issubclass(category, kind)), "")


def warning_categories() -> tuple[type[Warning], type[Warning]]:
    """Return the package's warnings about convergence and about scores."""
    from bayescal.fitting.results.diagnostics import ConvergenceWarning
    from bayescal.support.score_checks import ScoresWarning

    return ConvergenceWarning, ScoresWarning


class Screen:
    """The output streams of a command; `quiet` hides everything but errors, which are raised."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self._notes: list[tuple[str, bool]] = []
        self._out, self._err = _console(stderr=False), _console(stderr=True)

    def show(self, *renderables: RenderableType, stderr: bool = False) -> None:
        """Print tables, each with a blank line after it."""
        console = self._err if stderr else self._out
        for renderable in () if self.quiet else renderables:
            console.print(renderable)
            console.print()
        if renderables and not stderr:
            self.tell_notes(stderr=stderr)

    def say(self, text: str, *, stderr: bool = False) -> None:
        """Print a line literally, as names and paths may look like markup; nothing if empty."""
        if text and not self.quiet:
            (self._err if stderr else self._out).print(Text(text), soft_wrap=True)
            if not stderr:
                self.tell_notes(stderr=stderr)

    def note(self, text: str, *, warning: bool = False) -> None:
        """Keep a line on what was read, to print below the first output: errors stand alone."""
        self._notes.append((text, warning))

    def tell_notes(self, *, stderr: bool = False) -> None:
        """Print the notes kept so far, in lines of the terminal's width."""
        notes, self._notes = self._notes, []
        for text, warning in notes:
            if warning:
                self.warn(text)
            elif not self.quiet:
                (self._err if stderr else self._out).print(Text(text))

    def warn(self, text: str) -> None:
        """Print a warning on stderr."""
        if not self.quiet:
            message = Text.assemble(("Warning: ", "bold yellow"), " ".join(text.split()))
            self._err.print(message, soft_wrap=True)

    @contextmanager
    def progress(self, what: str, total: int | None) -> Iterator[Update]:
        """Show a progress bar on a terminal, with the time left; yield what updates it."""
        bar = progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            console=self._err,
            transient=True,
            disable=self.quiet or not self._err.is_terminal,
        )
        with bar:
            yield partial(bar.update, bar.add_task(what, total=total))

    @contextmanager
    def warnings(self, advice: Advice = option_advice) -> Iterator[None]:
        """Show Python's warnings as warnings of this program, each text once."""
        seen: set[str] = set()

        def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
            if str(message) not in seen:
                seen.add(str(message))
                self.warn(f"{message} {advice(category)}")

        # catch_warnings(record=True) would disable others' filters that drop or raise warnings.
        with warnings.catch_warnings():
            for category in warning_categories():
                warnings.simplefilter("always", category)
            warnings.showwarning = show
            yield


class _LiteralConsole(Console):
    """A console that prints control characters in names as pictures."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)


def _console(*, stderr: bool) -> Console:
    console = _LiteralConsole(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console.width = WIDTH_OF_FILES
    return console
