"""Model programs: how they are found, loaded and built of records, and their densities."""

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytensor
import pytensor.tensor as pt

from bayescal.distributions import programs
from bayescal.distributions.density import check_density, density_program, distribution_of
from tests.same_numbers.distributions import PLAIN
from tests.same_numbers.plain import outcome

TEXTS = {
    "both": '"""Both.\n\nMore."""\ndef model(score, label, *, a=2.0, b): pass\n'
    "def log_odds(score, a): pass\ndef log_density(score, klass, a): pass\n",
    "odds": "def model(score, label, *, covariates, coords, a=2.0): pass\n"
    "def log_odds(score, covariates, a, slope): pass\n",
    "density": '"""  One line. """\ndef model(score, label): pass\n'
    "def log_density(score, klass, mu): pass\ndef simulate(n, rng): pass\n",
    "topic": "def model(score, label, topic): pass\ndef log_odds(score): pass\n",
    "none": "def model(score, label): pass\n",
    "empty": "",
    "variable": "model = 3\n",
    "raises": "\n\nraise KeyError('x')\n",
    "exits": "import sys\nsys.exit(2)\n",
    "syntax": "def model(:\n",
}
NAMES = ["Laplace", "lapace", "xyz", "odds", "missing.py"]
FREE = {"distribution": "Gamma", "fixed": {"alpha": 2.0, "beta": 1.0}, "priors": {}}
RECORDS = {
    "normal": {"distribution": "Normal", "fixed": {}, "priors": {}},
    "student": {"distribution": "StudentT", "fixed": {"nu": 4.0}, "priors": {}},
    "a pair": {"distribution": "StudentT", "fixed": {"nu": [4.0, 9.0]}, "priors": {"mu": FREE}},
    "skewed": {"distribution": "SkewNormal", "fixed": {"tau": 2.0}, "priors": {"alpha": FREE}},
    "lam": {"distribution": "StudentT", "fixed": {"nu": 3.0}, "priors": {"lam": FREE}},
    "gamma": {"distribution": "Gamma", "fixed": {"sigma": 2.0}, "priors": {"mu": FREE}},
    "ours": {
        "distribution": "bayescal.Hybrid",
        "fixed": {"theta": [-1.0, 1.0], "rate": 2.0, "facing": [1.0, -1.0]},
        "priors": {"sigma": FREE},
    },
}
WRONG = {
    "name": ("Normel", {}, {}),
    "nothing alike": ("bayescal.Xyzzy", {}, {}),
    "a function": ("logp", {}, {}),
    "no parameters": ("Flat", {}, {}),
    "unknown": ("Normal", {"nu": 1.0}, {}),
    "both": ("Normal", {"mu": 1.0}, {"mu": FREE}),
    "missing": ("StudentT", {}, {}),
    "needs some": ("Gamma", {}, {}),
    "all fixed": ("Normal", {"mu": 1.0, "sigma": 2.0}, {}),
    "three": ("Normal", {"mu": [1.0, 2.0, 3.0]}, {}),
    "infinite": ("Normal", {"mu": float("inf")}, {}),
    "prior": ("Normal", {}, {"mu": {"distribution": "Nowhere", "fixed": {}, "priors": {}}}),
}


def facts_of(name):
    """Return all that a program of the package says of itself."""
    program = programs.load(name)
    return _without(_facts(program) | {"label": program.label})


def _facts(program):
    return {
        "name": program.name,
        "path": program.path,
        "summary": program.summary,
        "standardised": program.standardised,
        "simulates": program.simulate is not None,
        "hyperparameters": program.hyperparameters(),
        "takes": [program.takes_covariates, program.takes_coords, program.needs_topics],
        "answers": program.answers,
        "parameters": outcome(program.answer_parameters),
        "by": outcome(lambda: [program.answers_by(each) for each in ("covariates", "klass", "a")]),
    }


def own_programs():
    """Return what programs of a user say of themselves, or why they cannot be loaded."""
    with tempfile.TemporaryDirectory() as folder:
        said = {}
        for name, text in TEXTS.items():
            path = Path(folder) / f"{name}.py"
            path.write_text(text, encoding="utf-8")
            said[name] = outcome(lambda path=path: _facts(programs.load(path)))
        (Path(folder) / "latin.py").write_bytes(b"# \xe4\n")
        said["latin"] = outcome(programs.load, Path(folder) / "latin.py")
    return _without(said, str(Path(folder).resolve()), folder)


def _without(said, *folders):
    """Return results without the names of temporary and of the project's own folders."""
    if isinstance(said, dict):
        return {name: _without(each, *folders) for name, each in said.items()}
    if isinstance(said, str):
        for folder in (*folders, str(programs.folder())):
            said = said.replace(f"{folder}/", "")
    return said


def found():
    """Return the package's programs, its template, and what is said of other names."""
    return {
        "available": programs.available(),
        "of scores": programs.of_scores(),
        "template": programs.template(),
        **{name: _without(outcome(programs.load, name)) for name in NAMES},
    }


def of_record(name):
    """Return the program of a record: its words, its joint density and that of scores."""
    plain = RECORDS[name]
    check_density(plain)
    program = density_program(plain["distribution"], plain)
    scores, labels = np.array([-1.5, 0.2, 0.7, 3.0]), np.array([0, 1, 0, 1])
    model = program.model(np.abs(scores), labels)
    value = pt.constant(np.abs(scores))
    drawn = {n: pt.constant([0.4, 1.3]) for n in program.answer_parameters()}
    densities = [program.log_density(value, k, **drawn) for k in (0, 1)]
    return {
        **_facts(program),
        "source": program.source,
        "variables": [v.name for v in model.basic_RVs],
        "coords": model.coords,
        "start": model.initial_point(0),
        "joint": _at_start(model),
        "densities": pytensor.function([], densities, mode=PLAIN)(),
    }


def _at_start(model):
    point = model.initial_point(0)
    compute = pytensor.function(model.value_vars, model.logp(sum=False), mode=PLAIN)
    return compute(*(point[v.name] for v in model.value_vars))


def refusals():
    """Return why records are refused, and the errors of programs that fail."""
    said = {}
    for name, (distribution, fixed, priors) in WRONG.items():
        plain = {"distribution": distribution, "fixed": fixed, "priors": priors}
        said[name] = outcome(check_density, plain)
    names = ("Normal", "bayescal.Hybrid", "bayescal.Relative")
    kinds = {name: outcome(lambda name=name: distribution_of(name).__name__) for name in names}

    def fails():
        with programs.blamed_on_program("mine.py", "cannot be sampled"):
            raise KeyError("nu")

    return said | kinds | {"blamed": outcome(fails), "pymc": outcome(distribution_of, "model")}


CASES = {
    **{f"program {name}": partial(facts_of, name) for name in programs.available()},
    "own programs": own_programs,
    "names": found,
    **{f"record {name}": partial(of_record, name) for name in RECORDS},
    "refusals": refusals,
}
