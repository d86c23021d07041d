"""
Public functions and classes take the arguments, in the order and with the defaults, written down.

A default that changes is a change that users see: `python -m tests.test_signatures` writes the
file anew, and its difference shows what changed.
"""

import importlib
import inspect
import pkgutil
from pathlib import Path

import numpy as np

import bayescal

WRITTEN = Path(__file__).parent / "reference" / "signatures.txt"


def public_names():
    """Yield each public object of the package once, with its name."""
    packages = [
        name
        for _, name, is_package in pkgutil.walk_packages(bayescal.__path__, "bayescal.")
        if is_package and "_models" not in name
    ]
    seen = set()
    for package in ["bayescal", *packages]:
        module = importlib.import_module(package)
        for name in sorted({*vars(module), *getattr(module, "__all__", ())}):
            found = getattr(module, name)
            own = (getattr(found, "__module__", None) or "").startswith("bayescal")
            warning = inspect.isclass(found) and issubclass(found, Exception)
            if callable(found) and own and not (warning or name.startswith("_") or found in seen):
                seen.add(found)
                yield f"{package}.{name}", found


class Shown(str):
    """A default as text."""

    def __repr__(self):
        return str(self)


def bare(parameter):
    """Return a parameter without its type, whose default is one that reads the same each time."""
    default = parameter.default
    if inspect.isfunction(default):
        default = Shown(default.__name__)
    elif isinstance(default, np.ndarray):
        default = Shown(default.tolist())
    return parameter.replace(annotation=parameter.empty, default=default)


def signature(function):
    """Return a signature without types."""
    own = inspect.signature(function)
    parameters = [bare(each) for each in own.parameters.values()]
    return str(own.replace(parameters=parameters, return_annotation=own.empty))


def signatures():
    """Return a line for each public function, class and method of the package."""
    lines = []
    for name, found in public_names():
        lines.append(f"{name}{signature(found)}")
        if not inspect.isclass(found):
            continue
        for method, own in inspect.getmembers(found, inspect.isroutine):
            module = getattr(own, "__module__", None) or ""
            if not method.startswith("_") and module.startswith("bayescal"):
                lines.append(f"{name}.{method}{signature(own)}")
    return "\n".join(lines) + "\n"


def test_public_signatures_are_those_written_down():
    assert signatures() == WRITTEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    WRITTEN.write_text(signatures(), encoding="utf-8")
