"""Learn the prior of calibration maps, also without one group of problems.

A map whose only coefficients are biases is fitted to many documents of each problem: with slopes
and confusions the labels would not tell G, lambda and c from these. Its likelihood of the three is
taken to be normal around the mode. Expectation-maximisation then finds the means and spreads over
problems, each group weighing one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bayescal.fitting.engines.multiclass.density import (
    BIAS,
    GLOBALS,
    LARGEST_GAP,
    LEARNED,
    Likelihood,
    MapHyperparameters,
    MapPosterior,
)
from bayescal.fitting.engines.multiclass.features import Features, ScoredOptions, typical_gap
from bayescal.fitting.engines.multiclass.mode import derivatives, first_map
from studies.multiclass.problems import GROUP_OF, MOST_CLASSES, PROBLEMS, Floats, Labels, load

DOCUMENTS = 1500
STEPS = 200
START = replace(LEARNED, gain=(0.0, 0.8, 1.0), warp=(1.0, 1.0), asymmetry=(0.0, 0.5))


@dataclass(frozen=True)
class Problem:
    """Documents of one problem."""

    group: str
    unit: float
    scored: ScoredOptions
    label: Labels

    @property
    def log_gap(self) -> float:
        """Return log min(r, 10), on which the mean of log G depends."""
        return float(np.log(min(self.unit, LARGEST_GAP)))

    def likelihood(self) -> tuple[Floats, Floats]:
        """Return mean and precision of the likelihood of (log G, lambda, c)."""
        mean, sd = START.of_globals(self.unit)
        first = first_map(self.scored, self.label, None, START, mean, sd, biases=True)
        nothing = np.zeros((0, self.label.size))
        features = Features(self.scored, nothing, nothing, nothing)
        used = np.ones(first.theta.shape[1:], dtype=np.bool_)
        documents = Likelihood(features, self.label, None, None)
        posterior = MapPosterior.of(documents, mean, sd, START, used)
        curvature, _ = derivatives(posterior, first)
        biases = curvature[GLOBALS:, GLOBALS:]
        biases = biases + np.eye(len(biases)) * START.scale(BIAS, len(biases)) ** -2.0
        cross = curvature[:GLOBALS, GLOBALS:]
        own = curvature[:GLOBALS, :GLOBALS] - cross @ np.linalg.solve(biases, cross.T)
        # At the mode of the posterior the slope of the likelihood cancels that of the prior.
        shift = np.linalg.lstsq(own, (first.globals_[0] - mean) / sd**2, rcond=1e-6)[0]
        return first.globals_[0] + shift, own


def read_all(folder: Path) -> list[Problem]:
    """Return the problems of few classes."""
    out = []
    for name in PROBLEMS:
        scores, labels = load(folder, name)
        if scores.shape[1] <= MOST_CLASSES:
            order = np.random.default_rng(0).permutation(labels.size)[:DOCUMENTS]
            unit = typical_gap(scores)
            scored = ScoredOptions.of(scores[order], unit)
            out.append(Problem(GROUP_OF[name], unit, scored, labels[order]))
    return out


Found = tuple[str, float, Floats, Floats]
"""Group, log min(r, 10), and mean and precision of the likelihood of one problem."""


def find_all(folder: Path) -> list[Found]:
    """Return the likelihoods of all problems of few classes."""
    return [(each.group, each.log_gap, *each.likelihood()) for each in read_all(folder)]


def learn(found: list[Found], without: str | None = None) -> MapHyperparameters:
    """Return the prior that the problems of all groups but one give."""
    kept = [each for each in found if each[0] != without]
    groups = [each[0] for each in kept]
    weight = np.array([1.0 / groups.count(group) for group in groups])
    weight /= weight.sum()
    gap = np.array([each[1] for each in kept])
    prior = START
    for _ in range(STEPS):
        moments = [_combined(prior, *each[1:]) for each in kept]
        modes, variances = np.array(moments).transpose(1, 2, 0)
        slope, intercept = np.polyfit(gap, modes[0], 1, w=np.sqrt(weight))
        means = [intercept + slope * gap, *(modes[1:] @ weight)[:, None]]
        spread = [
            float(np.sqrt(weight @ ((mode - mean) ** 2 + variance)))
            for mode, mean, variance in zip(modes, means, variances, strict=True)
        ]
        prior = replace(
            prior,
            gain=(float(intercept), float(slope), spread[0]),
            warp=(float(weight @ modes[1]), spread[1]),
            asymmetry=(float(weight @ modes[2]), spread[2]),
        )
    return prior


def _combined(
    prior: MapHyperparameters, gap: float, mean: Floats, precision: Floats
) -> tuple[Floats, Floats]:
    """Return posterior mean and variances of one problem's parameters."""
    own, sd = prior.of_globals(float(np.exp(gap)))
    covariance = np.linalg.inv(precision + np.diag(sd**-2.0))
    return covariance @ (precision @ mean + own / sd**2), np.diag(covariance)
