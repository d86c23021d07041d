"""What the Bayesian combination knows of one problem: a posterior of weights and of curves."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import special

from bayescal.combining.calibrated_scores import CalibratedScores
from bayescal.combining.combiners.combiner import Combined
from bayescal.combining.inputs import Inputs
from bayescal.combining.measures import MEASURES, best_threshold
from bayescal.combining.shifts import Shifts
from bayescal.curves.averaged_draws import AveragedDraws, average, spread_over_scores
from bayescal.engines.classifier_weights.design import interactions
from bayescal.engines.classifier_weights.engine import Weights
from bayescal.engines.classifier_weights.prior import WeightsPrior
from bayescal.small_arrays import small_arrays
from bayescal.validation import Floats

# Of so many documents at most each draw's curve is an average.
MOST_AVERAGED = 2000


def uneven(weights: Weights) -> str:
    """Return what is wrong with draws that are not to be trusted, and what to do."""
    return (
        f"the posterior draws of the weights are uneven (Pareto k {weights.pareto_k:.2f}): give"
        " fewer indicators, or more documents of each class"
    )


@dataclass(frozen=True)
class Bayesian(Combined):
    """
    The posterior of one problem's combination.

    Attributes
    ----------
    calibrated : CalibratedScores
        The classifiers' calibrators.
    shifts : Shifts
        What indicators are made into.
    weights : Weights
        Draws of the coefficients.
    moves : array of shape (curves, d)
        How far each draw of calibration curves moves their mode.
    cross_validated : array of shape (n,)
        Log-odds of the documents fitted, by coefficients of the other folds.
    prior : WeightsPrior
        What was believed of the coefficients.
    """

    calibrated: CalibratedScores
    shifts: Shifts
    weights: Weights
    moves: Floats = field(repr=False)
    cross_validated: Floats = field(repr=False)
    prior: WeightsPrior

    @property
    def held_out(self) -> Floats:
        """Return log-odds by calibrators and coefficients that had not seen the labels."""
        return self.cross_validated

    @property
    def thresholds(self) -> dict[str, float]:
        """Return Bayes' rule for costs; F1 is best where it is on the documents fitted."""
        positive, weight = self.labelled.positive, self.labelled.weight
        return {
            name: best_threshold(name, self.held_out, positive, weight)
            if measure.log_odds is None
            else measure.log_odds
            for name, measure in MEASURES.items()
        }

    @small_arrays()
    def score(self, inputs: Inputs) -> Floats:
        """
        Return log-odds by the calibrators' point estimates and the coefficients' posterior means.

        The mean probability of all draws would be too large where positives are rare: curves that
        run too high weigh more in it than those that run too low.
        """
        evidence = self.calibrated.point(inputs.scores) - self.calibrated.base
        columns = self.shifts.design(evidence, inputs.indicators)
        return np.asarray(self.calibrated.base + columns @ self.weights.draws.mean(axis=0))

    @small_arrays()
    def sample(self, inputs: Inputs) -> Floats:
        """Return log-odds of posterior draws, shape (draws, n)."""
        base, draws = self.calibrated.base, self.weights.draws
        evidence = self.calibrated.draws(inputs.scores) - base
        columns = self.shifts.columns(inputs.indicators)
        moderators = self.shifts.moderators(inputs.indicators)
        head = evidence.shape[2] + 1
        tail = head + columns.shape[1]
        out = draws[:, head:tail] @ columns.T
        for curve, (own, move) in enumerate(zip(evidence, self.moves, strict=True)):
            # Draws are in random order, so that each curve may have every so many of them.
            some = slice(curve, None, len(evidence))
            shared = draws[some, :head] + move[:head]
            out[some] += shared[:, :1] + shared[:, 1:] @ own.T
            out[some] += draws[some, tail:] @ interactions(own, moderators).T
        return np.asarray(out + base)

    @cached_property
    @small_arrays()
    def curves(self) -> AveragedDraws:
        """Return draws of P(+) among documents of a combined score, from those fitted."""
        labelled = self.labelled
        if labelled.weight is not None:
            labelled = labelled.take(np.flatnonzero(labelled.weight > 0.0))
        score = self.score(labelled.inputs)
        rows = spread_over_scores(score, MOST_AVERAGED)
        weight = None if labelled.weight is None else labelled.weight[rows]
        drawn = self.sample(labelled.inputs.take(rows))
        return average(score[rows], drawn, float(special.expit(self.calibrated.base)), weight)

    @property
    def problems(self) -> tuple[str, ...]:
        """Return what is wrong with the draws of the weights, and what to do."""
        return () if self.weights.trusted else (uneven(self.weights),)
