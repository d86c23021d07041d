"""Options of the shell have the defaults of the parameters that they stand for."""

import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from enum import Enum
from typing import is_typeddict

import bayescal
from bayescal.cli import commands

# Defaults of the shell alone: less work than in Python, numbers and names of examples, a switch.
OF_THE_SHELL = {
    "draws": [250],
    "positives": [5, 10],
    "label_column": ["label", "y"],
    "band": [True],
}


def functions_of(package, internal):
    """Yield the public functions and methods of a package's modules that are not internal."""
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if re.search(internal, info.name):
            continue
        module = importlib.import_module(info.name)
        for name, one in vars(module).items():
            if name.startswith("_") or getattr(one, "__module__", None) != info.name:
                continue
            if inspect.isclass(one) and not (is_typeddict(one) or issubclass(one, Enum | Warning)):
                yield one
                for method, each in vars(one).items():
                    function = getattr(each, "__func__", each)
                    if not method.startswith("_") and inspect.isfunction(function):
                        yield function
            elif inspect.isfunction(one):
                yield one


def defaults_of(functions):
    """Return the defaults that are numbers, texts or flags, by name."""
    found = defaultdict(set)
    for function in functions:
        for name, parameter in inspect.signature(function).parameters.items():
            value = getattr(parameter.default, "value", parameter.default)
            if isinstance(value, bool | int | float | str):
                found[name].add((type(value), value))
    return found


def test_options_have_the_defaults_of_python():
    """Where Python has none of that name, all commands have the same."""
    python = defaults_of(functions_of(bayescal, r"\._|\.cli|__main__"))
    own = {}
    for name, values in defaults_of(functions_of(commands, "^$")).items():
        other = values - python[name] if name in python else values
        if name in python or len(other) > 1:
            own[name] = sorted(value for _, value in other)
    assert {name: values for name, values in own.items() if values} == OF_THE_SHELL
