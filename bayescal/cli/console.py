"""What the user sees: tables on stdout; progress and warnings on stderr; nothing when quiet."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

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
        """
        Show Python's warnings as warnings of this program.

        Parameters
        ----------
        subject : str
            Put before the message: which topic.
        advice : callable, optional
            Of the kind of warning: put behind it, which options help.
        """
        from bayescal.results.diagnostics import ConvergenceWarning
        from bayescal.score_checks import ScoresWarning

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
