"""Simulation-based calibration of two programs of a user's own, and that wrong ones are rejected.

Parameters and data come from the right program's prior; the program under test is sampled by NUTS.
Ranked are all parameters, and the likelihood and log-odds as the package computes them from draws.
"""

import numpy as np
import pymc as pm
import pytest

from bayescal.distributions import programs
from bayescal.fitting.engines.program_functions import FILE, ProgramFunctions, ProgramRecord
from studies.ranks import CompiledNuts
from studies.sbc import adjusted_p

pytestmark = pytest.mark.slow

# A right program fails with a probability of at most LEVEL, over all its quantities.
LEVEL, DATA_SETS, DOCUMENTS, DRAWS = 0.01, 30, 16, 19
# The mistake of student_t shows in 8 data sets, that of log_odds in 15.
WRONG_SETS = {"student_t": 12, "log_odds": 20}
COLUMN = """
import pymc as pm

def model(score, label, *, covariates):
    with pm.Model() as program:
        intercept = pm.Normal("intercept", 0, 2)
        slope = pm.Normal("slope", 0, 2)
        length = pm.Normal("length", 0, 2)
        logit = log_odds(score, covariates, intercept, slope, length)
        pm.Bernoulli("label", logit_p=logit, observed=label)
    return program

def log_odds(score, covariates, intercept, slope, length):
    return intercept + slope * score + length * covariates["length"]
"""
# Name: the right program, its columns, and a mistake in its model: what is replaced by what.
PROGRAMS = {
    "student_t": (programs.template(), (), ("sigma=sigma[k]", "lam=sigma[k]")),
    # Only the likelihood gives it away: the ranks of a parameter that keeps its prior are uniform.
    "log_odds": (COLUMN, ("length",), ("logit_p=logit", "logit_p=intercept + slope * score")),
}


def ranks(name, mistake, count, folder):
    """Return the ranks of all quantities by name, (count,) each."""
    text, columns, (old, new) = PROGRAMS[name]
    assert old in text
    right, tested = folder / "right.py", folder / "tested.py"
    right.write_text(text)
    tested.write_text(text.replace(old, new) if mistake else text)
    rng = np.random.default_rng(42)
    sets = simulate(programs.load(right), columns, count, rng)
    nuts = CompiledNuts(programs.load(tested), columns)
    functions = ProgramFunctions(ProgramRecord(FILE, "right", str(right), text), {})
    rows = []
    for score, label, further, truth in sets:
        drawn = nuts(score, label, DRAWS, rng, further)
        both = {each: np.append(drawn[each], truth[each][None], axis=0) for each in nuts.names}
        values = quantities(functions, both, score, label, further or None)
        rows.append({each: int((v[:-1] < v[-1]).sum()) for each, v in values.items()})
    return {each: np.array([row[each] for row in rows]) for each in rows[0]}


def simulate(program, columns, count, rng):
    """Return scores, labels, columns and parameters; scores of log-odds are standard normal."""
    score, label = rng.normal(size=DOCUMENTS), np.zeros(DOCUMENTS, dtype=int)
    further = {each: rng.normal(size=DOCUMENTS) for each in columns}
    model = program.model(score, label, **({"covariates": further} if columns else {}))
    names = [each.name for each in (*model.free_RVs, *model.observed_RVs)]
    # Compiled once: all data sets have the same columns.
    variables = [model[each] for each in names]
    drawn = pm.draw(variables, draws=count, random_seed=1, mode="FAST_COMPILE")
    sets = []
    for values in zip(*drawn, strict=True):
        found = dict(zip(names, values, strict=True))
        sets.append((found.pop("score", score), found.pop("label"), further, found))
    return sets


def quantities(functions, draws, score, label, columns):
    """Return every ranked quantity, (draws,) each."""
    out = {}
    for name, values in draws.items():
        flat = values.reshape(len(values), -1)
        out |= {f"{name} {k}": flat[:, k] for k in range(flat.shape[1])}
    if columns is None:
        negative, positive = (functions.log_density(k, score, draws, None) for k in (0, 1))
        prior = draws["prior"][:, None]
        log_odds = positive - negative + np.log(prior) - np.log1p(-prior)
        terms = np.where(label, positive + np.log(prior), negative + np.log1p(-prior))
    else:
        log_odds = functions.log_odds(score, draws, columns)
        terms = -np.logaddexp(0.0, np.where(label, -log_odds, log_odds))
    return out | {"log likelihood": terms.sum(axis=1), "log-odds": log_odds[:, 0]}


@pytest.mark.parametrize("name", PROGRAMS)
def test_draws_of_an_own_program_are_calibrated(name, tmp_path):
    assert adjusted_p(ranks(name, False, DATA_SETS, tmp_path), DRAWS) > LEVEL


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_with_a_mistake_is_rejected(name, tmp_path):
    assert adjusted_p(ranks(name, True, WRONG_SETS[name], tmp_path), DRAWS) < LEVEL
