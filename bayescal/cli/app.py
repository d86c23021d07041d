"""The application: commands of `cli.commands`, the version, and exit codes of usage errors."""

import re
import sys
from collections.abc import Mapping, Sequence
from contextvars import copy_context
from importlib import import_module
from itertools import pairwise
from pkgutil import iter_modules
from typing import Annotated, Any, Literal, NoReturn

import typer
from typer.core import TyperGroup

import bayescal
from bayescal.cli import commands, numbers, terminal
from bayescal.support.files import printable

WRONG_USE = 2
INTERRUPTED = 130

# The base class of typer's usage errors. Typer vendors click, and exports only this one of its
# errors, a subclass.
_TyperUsageError: type[Any] = typer.BadParameter.__mro__[1]


class CommandGroup(TyperGroup):
    """The commands; usage errors end in one line, without a panel or a traceback."""

    def main(self, args: Sequence[str] | None = None, *others: Any, **extra: Any) -> NoReturn:
        """Run a command, and exit with its code; see `typer.core.TyperGroup.main`."""
        extra["standalone_mode"] = False
        words = _shared_first(sys.argv[1:] if args is None else args)
        try:
            # What an option sets does not outlive the call.
            code = copy_context().run(super().main, words, *others, **extra)
        except terminal.UsageError as err:
            _leave(in_options(str(err), self._options_of(words), words))
        except _TyperUsageError as err:
            # Without a command typer has printed the help: there is no error to report.
            _leave("" if type(err).__name__ == "NoArgsIsHelpError" else _message(err, words))
        except typer.Abort:
            sys.exit(INTERRUPTED)
        sys.exit(code or 0)

    def _options_of(self, words: Sequence[str]) -> dict[str, str]:
        """Return the options of the command called, by argument of functions."""
        command: Any = self
        for word in words:
            command = getattr(command, "commands", {}).get(word, command)
        options = [each for each in command.params if each.opts[0].startswith("--")]
        names = {each.opts[0][2:].replace("-", "_"): each.opts[0] for each in options}
        # Functions say path, commands --out.
        return names | ({"path": names["out"]} if "out" in names else {})


def _shared_first(words: Sequence[str]) -> list[str]:
    """Return the words of a call with --decimal, which all commands share, before the command."""
    for k, word in enumerate(words):
        if word.partition("=")[0] == "--decimal":
            end = k + 2 - ("=" in word)
            return [*words[k:end], *words[:k], *words[end:]]
    return list(words)


def in_options(message: str, options: Mapping[str, str], words: Sequence[str]) -> str:
    """Return a function's message with a command's options in place of arguments."""
    for argument, option in options.items():
        value = rf"(?<![\w-]){argument}=(?:True\b|'([^']*)'|(\d[\d.]*)|(?![\w']))"
        for found in reversed(list(re.finditer(value, message))):
            given = " ".join(filter(None, [option, *found.groups()]))
            message = message[: found.start()] + given + message[found.end() :]
        if any(word.partition("=")[0] == option for word in words):
            message = re.sub(rf"^((?:\S+: )?){argument} (?=must|needs)", rf"\1{option} ", message)
    return message


def _message(err: Any, words: Sequence[str]) -> str:
    """Return typer's message, with the word that is no number, which typer omits."""
    message: str = err.format_message()
    expected, unparsed, _ = message.partition(", unable to parse")
    names = getattr(getattr(err, "param", None), "opts", [])
    # The last of repeated options counts.
    for word, following in reversed(list(pairwise([*words, ""]))):
        name, equals, value = word.partition("=")
        if unparsed and name in names:
            return f"{expected}, got {value if equals else following!r}."
    # Typer suggests options of similar names, if there are any.
    if hasattr(err, "possibilities") and hasattr(err, "option_name") and not err.possibilities:
        command = err.ctx.command
        known = [each.opts[0] for each in command.params if each.opts[0].startswith("--")]
        message = f"{message.rstrip('.')}; {command.name} takes {', '.join(known)}."
    return message.replace(": Value error, ", ": ")


def _leave(message: str) -> NoReturn:
    if message:
        # Lines of code stay lines.
        code = "\n    " in message
        lines = message.splitlines() if code else [" ".join(message.split())]
        text = "\n".join(map(printable, lines))
        sys.stderr.write(f"Error: {text}\n")
    sys.exit(WRONG_USE)


app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # other errors are bugs, whose traceback helps
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bayescal {bayescal.__version__}")
        raise typer.Exit


def _answer(decimal: str | None) -> str | None:
    numbers.DECIMAL.set(decimal)
    return decimal


DECIMAL = (
    "Say how files of text write numbers that may be thousands, such as 1.234 or 1,234; before or"
    " after a command's name."
)


@app.callback()
def _bayescal(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    decimal: Annotated[
        Literal["point", "comma"] | None, typer.Option("--decimal", callback=_answer, help=DECIMAL)
    ] = None,
) -> None:
    """Turn classifier scores into probabilities, and quantify their uncertainty.

    Begin with [bold]bayescal demo[/bold], which calibrates real scores; then

    bayescal fit scores.csv --out calibrated

    where scores.csv has columns score and label.
    """


for command in iter_modules(commands.__path__):
    app.add_typer(import_module(f"{commands.__name__}.{command.name}").app)
