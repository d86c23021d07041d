"""NUTS on a program that is compiled once and given many data sets in turn."""

from __future__ import annotations

import numpy as np

from bayescal import programs
from bayescal.families import FAMILIES
from studies.ranks import STANDARD, DataSet, Parameters

TUNE = 300
# Draws apart; NUTS on these posteriors needs 2 to 4 for one effective draw.
THIN = 8


class CompiledNuts:
    """
    An engine that samples the program named like a family.

    pm.sample would compile the gradient again for every data set: here the data are shared
    variables and PyMC's step method is driven by hand, tuned anew for each data set.
    """

    def __init__(self, family: str) -> None:
        import pymc as pm
        import pytensor

        self._score = pytensor.shared(np.zeros(2), name="scores")
        self._label = pytensor.shared(np.zeros(2, dtype=np.int64), name="labels")
        self._model = programs.load(family).model(self._score, self._label, **STANDARD)
        self._family = family
        with self._model:
            self._step = pm.NUTS(target_accept=0.9)
        names = (*FAMILIES[family].parameters, "prior")
        outputs = self._model.replace_rvs_by_values([self._model[name] for name in names])
        self._read = self._model.compile_fn(outputs, inputs=self._model.value_vars)

    def __call__(self, data: DataSet, draws: int, rng: np.random.Generator) -> Parameters:
        """Return nearly independent draws."""
        self._score.set_value(data.score)
        self._label.set_value(data.positive.astype(np.int64))
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
        *values, prior = (np.stack(column) for column in zip(*rows, strict=True))
        return Parameters(self._family, tuple(values), prior)
