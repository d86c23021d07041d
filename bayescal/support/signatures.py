"""Signatures and documentation of methods that pass arguments on to other functions."""

import inspect
import re
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from typing import Any

HANDED_ON = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
SECTION = re.compile(r"^Parameters\n-{10}\n(.*?)(?=^\S[^\n]*\n---|\Z)", re.MULTILINE | re.DOTALL)


def with_options(
    method: Callable[..., Any],
    functions: Sequence[Callable[..., Any]],
    filled: Collection[str] = (),
) -> Any:
    """Return a method that shows arguments of functions, except `filled` ones, as its own."""
    method = inspect.unwrap(method)
    arguments = _arguments(method)
    hidden = {"self", *filled, *arguments}
    for function in functions:
        own = _arguments(function)
        arguments |= {name: own[name] for name in own if name not in hidden}

    @wraps(method)
    def shown(*given: Any, **options: Any) -> Any:
        return method(*given, **options)

    ordered = sorted(arguments.values(), key=lambda each: each.kind)
    shown.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    shown.__doc__ = _documentation(method, functions, arguments.keys() - hidden)
    return shown


def _arguments(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    every = inspect.signature(function).parameters
    return {name: each for name, each in every.items() if each.kind not in HANDED_ON}


def _documentation(
    method: Callable[..., Any], functions: Sequence[Callable[..., Any]], names: Collection[str]
) -> str | None:
    """Return the method's documentation, with entries from the functions for these parameters."""
    doc = inspect.getdoc(method)
    if doc is None:  # python -OO
        return None
    entries = {name: each for name, each in _entries(method).items() if name[0] != "*"}
    for function in functions:
        new = {name: each for name, each in _entries(function).items() if name in names}
        entries |= new
    text = "".join(dict.fromkeys(entries.values()))
    return SECTION.sub(lambda found: f"Parameters\n----------\n{text}\n", doc, count=1)


def _entries(function: Callable[..., Any]) -> dict[str, str]:
    """Return the text of each documented parameter."""
    found = SECTION.search(inspect.getdoc(function) or "")
    if found is None:
        return {}
    entries = re.findall(r"^\S[^\n]*\n(?:[ \n][^\n]*\n?)*", found[1].strip() + "\n", re.MULTILINE)
    return {
        name: entry for entry in entries for name in re.split(r",\s*", re.split(r" :|\n", entry)[0])
    }
