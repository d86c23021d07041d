"""Weights of classifiers: the posteriors that NUTS and the fast engine are compared on."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special

from bayescal.distributions import programs
from bayescal.fitting.engines.classifier_weights.model import Design
from bayescal.fitting.engines.program import draw_posterior

CHAINS = 4

NAMES = ("one problem", "three problems", "indicators")
CENTRE = np.array([0.6, 0.3, 0.1])
BASE = np.array([-2.0, -1.0, -3.0])


@dataclass(frozen=True)
class Case:
    """Evidence, indicators (or None), labels and problems of a made data set."""

    evidence: np.ndarray
    indicators: np.ndarray | None
    label: np.ndarray
    problem: np.ndarray

    def designs(self):
        """Return the arguments of the engine."""
        out = []
        for k in range(self.problem.max() + 1):
            own = self.problem == k
            columns = [np.ones((own.sum(), 1)), self.evidence[own]]
            if self.indicators is not None:
                columns.append(self.indicators[own])
            label = self.label[own] == 1
            out.append(Design(np.hstack(columns), float(BASE[k]), label, np.ones(label.size)))
        return out


@cache
def case(name):
    """Return one of the cases."""
    sizes, shifts = {
        "one problem": ([40], False),
        "three problems": ([30, 60, 90], False),
        "indicators": ([150, 100], True),
    }[name]
    rng = np.random.default_rng(11)
    problem = np.repeat(np.arange(len(sizes)), sizes)
    truth = rng.standard_normal((problem.size, 1))
    evidence = 1.5 * truth + rng.standard_normal((problem.size, 3)) * [0.5, 1.0, 2.0]
    indicators = rng.standard_normal((problem.size, 4)) if shifts else None
    log_odds = BASE[problem] + evidence @ [0.9, 0.2, 0.0]
    if shifts:
        log_odds = log_odds + indicators @ [1.0, 0.0, -0.5, 0.0]
    label = (rng.random(problem.size) < special.expit(log_odds)).astype(int)
    return Case(evidence, indicators, label, problem)


def model_of(name, program="classifier_weights"):
    """Return the model of a case by a program."""
    data = case(name)
    return programs.load(program).model(
        data.evidence,
        data.label,
        data.problem,
        indicators=data.indicators,
        base=BASE[: data.problem.max() + 1],
        centre=CENTRE,
    )


def sample(name, *, draws, tune, seed=1, program="classifier_weights"):
    """Return coefficients by NUTS, (chain, draw, k), and the share of divergent transitions."""
    data = case(name)
    options = {"target_accept": 0.95, "tune": tune}
    rng = np.random.default_rng(seed)
    groups = draw_posterior(
        model_of(name, program), rng, draws=draws, chains=CHAINS, options=options
    )
    names = ["bias", "weight"]
    names += [] if data.indicators is None else ["shift"]
    values = [
        groups["posterior"][each].to_numpy().reshape(CHAINS, draws, data.problem.max() + 1, -1)
        for each in names
    ]
    coefficients = np.concatenate(values, axis=-1).reshape(CHAINS, draws, -1)
    return coefficients, float(groups["sample_stats"]["diverging"].mean())
