"""Defaults: a parameter has the same one wherever it occurs, in Python and in the shell."""

import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from enum import Enum

import pytest

import bayescal
from bayescal.cli import commands

pytestmark = pytest.mark.one_era

# Names that mean different things in different places, or whose use differs: all their defaults.
SEVERAL = {
    "assurance": (0.95, 0.9),
    "averaging": ("stacking", "auto"),
    "band": ("consistency", "pointwise", True),
    "bounds": (True,),
    "classifier": ("linear_svm",),
    "column": ("scores", "score"),
    "draws": (1000, 100, 4000, 200, 400, 250, 30),
    "folds": (10, 5),
    "gives_log_odds": (True, False),
    "inference": ("auto", "exact", "nuts"),
    "k": (10, 300),
    "kind": ("pointwise", "marginal", "percentile", "naive_bayes", 1),
    "lapse": ("auto", 0.0),
    "level": (0.9, 0.95),
    "loss": ("log", "map"),
    "method": ("sigmoid", "auto", "Hamiltonian Monte Carlo", "average", "corp"),
    "most": (20000, 120, 5),
    "n_bins": (15, 10),
    "n_segments": (1, 9),
    "points": (50, 400, 25, 11),
    "pooling": ("complete", "partial"),
    "positives": (5, 10),
    "power": (0.8,),
    "prior": (0.4,),
    "probability": (0.0, 0.9),
    "recall": (0.9, 0.8),
    "repeats": (True, 5),
    "resamples": (2000, 1000, 500),
    "rounds": (400, 3),
    "rule": ("eg", "posterior"),
    "scale": (0.15,),
    "scores_are": ("auto", "scores"),
    "several": (False, True),
    "threshold": (0.5, 0.0),
    "tolerance": (0.0, 1e-12),
    "weight_shifts": (False, 0),
}
# What names of objects and of columns are by default says nothing of other places.
TEXTS = (
    "name",
    "label_column",
    "topic",
    "score",
    "scores",
    "units",
    "whose",
    "test",
    "point",
    "weights",
    "start",
)
TEXTS += ("population", "rng", "random_state", "lower", "upper", "base", "thresholds", "refit")


def functions_of(package, internal):
    """Yield the public functions and methods of a package's modules that are not internal."""
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if re.search(internal, info.name):
            continue
        module = importlib.import_module(info.name)
        for name, one in vars(module).items():
            if name.startswith("_") or getattr(one, "__module__", None) != info.name:
                continue
            if inspect.isclass(one) and not issubclass(one, Enum | Warning):
                yield one
                for method, each in vars(one).items():
                    function = getattr(each, "__func__", each)
                    if not method.startswith("_") and inspect.isfunction(function):
                        yield function
            elif inspect.isfunction(one):
                yield one


@pytest.fixture(scope="module")
def defaults():
    """Return the defaults that are numbers, texts or flags, by name, with where they occur."""
    found = defaultdict(lambda: defaultdict(list))
    shell = list(functions_of(commands, "^$"))
    for function in [*functions_of(bayescal, r"\._|\.cli|__main__"), *shell]:
        for name, parameter in inspect.signature(function).parameters.items():
            value = getattr(parameter.default, "value", parameter.default)
            if isinstance(value, bool | int | float | str) and name not in TEXTS:
                found[name][type(value), value].append(function.__qualname__)
    return found


def test_a_parameter_has_the_same_default_wherever_it_occurs(defaults):
    different = {}
    for name, by_value in defaults.items():
        allowed = [(type(value), value) for value in SEVERAL.get(name, ())]
        if not (set(by_value) <= set(allowed) if allowed else len(by_value) == 1):
            different[name] = {value: places for (_, value), places in by_value.items()}
    assert different == {}


def test_exceptions_occur(defaults):
    """A name with one default, or a default that is nowhere, is no exception."""
    for name, values in SEVERAL.items():
        found = {value for _, value in defaults[name]}
        assert found == set(values), name
