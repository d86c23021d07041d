"""Wrong use: one line on stderr that says what was expected and what came, and exit code 2."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

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
    """
    Turn the errors with which the package refuses its input into wrong use.

    Parameters
    ----------
    subject : str
        Put in front of the message, such as "topic 'corn': ".
    kinds : tuple of exception types
        What to turn.
    """
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
