"""Data from a program's prior, and the rank of the truth among posterior draws.

Parameters from the prior, data from the parameters, posterior from the data: the rank of a true
quantity among independent posterior draws of it is uniform (Talts et al., arXiv:1804.06788). A
posterior that sees part of the data has uniform ranks of parameters too; the likelihood of all
data, a quantity as well, gives it away (Modrák et al., Bayesian Analysis 2023).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.distributions import programs
from bayescal.distributions.programs import COVARIATES, ModelProgram
from bayescal.families import FAMILIES
from bayescal.fitting.engines.exact.engine import fit_densities
from bayescal.fitting.parts.densities import in_raw_units
from bayescal.fitting.scores import KLASS, BinaryScores
from bayescal.support.numerics import log_odds
from bayescal.support.validation import Floats

STANDARD = {"centre": 0.0, "spread": 1.0}


@dataclass(frozen=True)
class Parameters:
    """Draws of a family's parameters in both classes, and of the class prior.

    Attributes
    ----------
    family : str
        Name of the family.
    values : tuple of arrays of shape (draws, 2)
        In the family's order; negative class first.
    prior : array of shape (draws,)
        Probability of the positive class.
    """

    family: str
    values: tuple[Floats, ...]
    prior: Floats

    def log_densities(self, score: Floats) -> Floats:
        """Return log p(s|class), shape (2, draws, scores)."""
        family = FAMILIES[self.family]
        return np.stack([family.logpdf(score, *(v[:, [k]] for v in self.values)) for k in (0, 1)])

    def log_odds(self, score: Floats) -> Floats:
        """Return the log-odds of P(+|s), shape (draws, scores)."""
        negative, positive = self.log_densities(score)
        return log_odds(self.prior[:, None], positive, negative)


@dataclass(frozen=True)
class DataSet:
    """Scores, labels, and the parameters (one draw) that generated them."""

    score: Floats
    positive: NDArray[np.bool_]
    truth: Parameters


Engine = Callable[[DataSet, int, np.random.Generator], Parameters]


def simulate(family: str, n: int, count: int, seed: int) -> list[DataSet]:
    """Return `count` data sets of n documents, each from the prior of the family's program."""
    draw = programs.load(family).simulate
    if draw is None:
        raise ValueError(f"program {family!r} must define simulate(n, rng, *, draws=None).")
    truth = draw(n, np.random.default_rng(seed), draws=count, **STANDARD)
    columns = [truth[name] for name in FAMILIES[family].parameters]
    return [
        DataSet(
            truth["score"][r],
            truth["label"][r] == 1,
            Parameters(family, tuple(c[r : r + 1] for c in columns), truth["prior"][r : r + 1]),
        )
        for r in range(count)
    ]


def exact(data: DataSet, draws: int, rng: np.random.Generator, **wrong: float) -> Parameters:
    """Return draws of the exact engine, with wrong hyperparameters if given."""
    name = data.truth.family
    scores = BinaryScores(data.score, data.positive)
    hyperparameters = STANDARD | wrong
    results = fit_densities(
        (FAMILIES[name],), scores, rng, draws=draws, hyperparameters=hyperparameters
    )
    return read_posterior(name, in_raw_units(results.posterior, (1, draws)))


def read_posterior(family: str, posterior: Any) -> Parameters:
    """Return the one chain of a posterior dataset."""
    values = tuple(posterior[name].values[0] for name in FAMILIES[family].parameters)
    return Parameters(family, values, posterior["prior"].values[0])


def half_of_the_data(data: DataSet, draws: int, rng: np.random.Generator) -> Parameters:
    """Return draws given every second document only: a wrong engine."""
    return exact(replace(data, score=data.score[::2], positive=data.positive[::2]), draws, rng)


def sides_swapped(data: DataSet, draws: int, rng: np.random.Generator) -> Parameters:
    """Return draws with the scales of the two sides exchanged: a wrong engine."""
    results = exact(data, draws, rng)
    theta, left, right = results.values
    return replace(results, values=(theta, right, left))


def quantities(parameters: Parameters, data: DataSet) -> dict[str, Floats]:
    """Return all ranked quantities by name, each of shape (draws,)."""
    names = FAMILIES[parameters.family].parameters
    out = {"prior": parameters.prior}
    for k, klass in enumerate(KLASS):
        out |= {f"{name} {klass}": parameters.values[i][:, k] for i, name in enumerate(names)}
        if len(names) == 3:
            out[f"skew {klass}"] = parameters.values[1][:, k] / parameters.values[2][:, k]
    negative, positive = parameters.log_densities(data.score)
    log_prior = np.where(
        data.positive, *np.log([parameters.prior, 1 - parameters.prior])[..., None]
    )
    terms = np.where(data.positive, positive, negative) + log_prior
    out["log likelihood"] = terms.sum(axis=1)
    out["log-odds at 0"] = parameters.log_odds(np.zeros(1))[:, 0]
    return out


def rank_truths(sets: list[DataSet], engine: Engine, draws: int, seed: int) -> dict[str, Any]:
    """Return the rank of every quantity's truth among `draws` draws, each of shape (sets,)."""
    rng = np.random.default_rng(seed)
    rows = []
    for data in sets:
        drawn = quantities(engine(data, draws, rng), data)
        true = quantities(data.truth, data)
        rows.append({name: int((drawn[name] < true[name][0]).sum()) for name in drawn})
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


TUNE = 300
# Thinning; NUTS on these posteriors needs 2 to 4 draws for one effective draw.
THIN = 8


class CompiledNuts:
    """NUTS of a program, for many data sets.

    pm.sample would compile the gradient again for every data set: here the data are shared
    variables and PyMC's step method is driven by hand, tuned anew for each data set.
    """

    def __init__(
        self, program: ModelProgram, columns: tuple[str, ...] = (), **hyperparameters: Any
    ) -> None:
        import pymc as pm
        import pytensor

        self._score = pytensor.shared(np.zeros(2), name="scores")
        self._label = pytensor.shared(np.zeros(2, dtype=np.int64), name="labels")
        self._columns = {name: pytensor.shared(np.zeros(2), name=name) for name in columns}
        further = {COVARIATES: self._columns} if columns else {}
        self._model = program.model(self._score, self._label, **hyperparameters, **further)
        with self._model:
            self._step = pm.NUTS(target_accept=0.9)
        free = self._model.free_RVs
        self.names = [each.name for each in (*free, *self._model.deterministics)]
        outputs = self._model.replace_rvs_by_values([self._model[name] for name in self.names])
        self._read = self._model.compile_fn(outputs, inputs=self._model.value_vars)

    def __call__(
        self,
        score: Floats,
        label: NDArray[np.int64],
        draws: int,
        rng: np.random.Generator,
        columns: Mapping[str, Floats] | None = None,
    ) -> dict[str, Floats]:
        """Return nearly independent draws of the variables by name, (draws, ...)."""
        self._score.set_value(score)
        self._label.set_value(label)
        for name, column in self._columns.items():
            column.set_value((columns or {})[name])
        self._step.reset_tuning()
        if hasattr(self._step, "setup_chain"):  # PyMC 6
            self._step.setup_chain(rng, TUNE, draws * THIN)
        else:
            self._step.set_rng(rng)
        start = self._model.initial_point()
        point = {name: value + rng.uniform(-1, 1, np.shape(value)) for name, value in start.items()}
        for _ in range(TUNE):
            point, _ = self._step.step(point)
        self._step.stop_tuning()
        rows = []
        for _ in range(draws):
            for _ in range(THIN):
                point, _ = self._step.step(point)
            rows.append(self._read(point))
        return dict(zip(self.names, map(np.stack, zip(*rows, strict=True)), strict=True))


class FamilyNuts:
    """An engine that samples the program named like a family."""

    def __init__(self, family: str) -> None:
        self._family, self._nuts = family, CompiledNuts(programs.load(family), **STANDARD)

    def __call__(self, data: DataSet, draws: int, rng: np.random.Generator) -> Parameters:
        """Return nearly independent draws."""
        drawn = self._nuts(data.score, data.positive.astype(np.int64), draws, rng)
        values = tuple(drawn[name] for name in FAMILIES[self._family].parameters)
        return Parameters(self._family, values, drawn["prior"])
