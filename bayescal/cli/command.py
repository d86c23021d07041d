"""Commands whose options are the fields of a dataclass: a call is one frozen value."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields
from functools import cached_property
from typing import Any, TypeVar, get_type_hints

import typer

from bayescal.cli import options
from bayescal.cli.console import Screen

Asked = TypeVar("Asked", bound="Call")

# What the summary of a run leaves out: where it wrote, and whether it printed.
UNTOLD = ("out", "parameters", "quiet")


@dataclass(frozen=True, kw_only=True)
class Call:
    """
    What every call asks for; the commands' own options are fields of subclasses.

    Attributes
    ----------
    quiet : bool
        Whether to print errors only.
    """

    quiet: options.Quiet = False

    @cached_property
    def screen(self) -> Screen:
        """Return where to print."""
        return Screen(quiet=self.quiet)

    def told(self, command: str) -> dict[str, Any]:
        """Return what the summary tells about the call."""
        names = [field.name for field in fields(self) if field.name not in UNTOLD]
        return {"command": command, **{name: getattr(self, name) for name in names}}


def command(
    app: typer.Typer, asked: type[Asked], name: str | None = None
) -> Callable[[Callable[[Asked], None]], Callable[[Asked], None]]:
    """
    Make a function of a call a command; its help is the function's docstring.

    Parameters
    ----------
    app : typer.Typer
        Gets the command.
    asked : type
        Subclass of `Call` with the command's arguments and options.
    name : str, optional
        Of the command; by default the function's.
    """

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
