r"""Ours: a Bayesian logistic model of calibrated log-odds, around those of all problems together.

    log-odds(x) = beta_0 + b + sum_j v_j r_j(x)
                  + sum_i (w_i + sum_j u_ij z_j(x)) (lambda_i(x) - beta_0)

lambda_i are the log-odds that a `ScoreCalibrator` gives classifier i, beta_0 those of the base
rate, r_j standardised indicators. The moderators z_j, of which "bayes" has none and "local_bayes"
has some, are principal components of these (`combining.shifts`): there weights differ between
documents. The weights' prior (`engines.classifier_weights.prior`) has them average the classifiers
that are probably the best, so that few positives change little about that.

Calibration curves are uncertain as weights are. Each draw takes one curve of every classifier,
moves the mode of bias and weights to where the labels have it given these curves, and adds a draw
of the coefficients' deviation from their mode: what labels say of the level is counted once.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from bayescal.combining.calibrated_scores import CalibratedScores, calibrate_scores
from bayescal.combining.combiners.bayesian import Bayesian, uneven
from bayescal.combining.combiners.combiner import Combined, Combiner
from bayescal.combining.inputs import Labelled
from bayescal.combining.shifts import Shifts
from bayescal.engines.classifier_weights.design import Design, interactions
from bayescal.engines.classifier_weights.engine import (
    Nodes,
    Weights,
    draw_weights,
    fit_modes,
    follow,
)
from bayescal.engines.classifier_weights.mode import find_mode
from bayescal.engines.classifier_weights.prior import WeightsPrior, centre_of_weights
from bayescal.engines.combined import log_scores
from bayescal.results.diagnostics import ConvergenceWarning
from bayescal.small_arrays import small_arrays
from bayescal.validation import Floats

DRAWS = 1000


@dataclass(frozen=True)
class Bayes(Combiner):
    """
    The Bayesian combination.

    Attributes
    ----------
    prior : WeightsPrior
        Scales of bias, weights and indicators' coefficients.
    draws : int
        How many draws of the coefficients.
    weight_shifts : bool
        Whether indicators shift weights too.
    """

    prior: WeightsPrior = field(default_factory=WeightsPrior)
    draws: int = DRAWS
    weight_shifts: bool = False
    gives_log_odds: bool = True

    def fit(
        self, problems: Sequence[Labelled], rng: np.random.Generator, n_jobs: int | None
    ) -> Sequence[Combined]:
        """Return the combinations of all problems, their weights around those of all."""
        seeds = rng.integers(2**31, size=len(problems)).tolist()
        calibrated = list(
            Parallel(n_jobs=n_jobs)(
                delayed(calibrate_scores)(labelled, seed)
                for labelled, seed in zip(problems, seeds, strict=True)
            )
        )
        return self.weigh(problems, calibrated, rng)

    @small_arrays()
    def weigh(
        self,
        problems: Sequence[Labelled],
        calibrated: Sequence[CalibratedScores],
        rng: np.random.Generator,
    ) -> list[Bayesian]:
        """Return the combinations of problems whose scores are calibrated already."""
        shifts = [
            Shifts.of(each.inputs.indicators, each.weight, of_weights=self.weight_shifts)
            for each in problems
        ]
        moderators = [
            shift.moderators(each.inputs.indicators)
            for shift, each in zip(shifts, problems, strict=True)
        ]
        designs = [
            _design(labelled, own, shift)
            for labelled, own, shift in zip(problems, calibrated, shifts, strict=True)
        ]
        centre = _centre(problems, calibrated, rng)
        nodes = fit_modes(designs, centre, self.prior)
        held_out = _cross_validated(problems, designs, nodes)
        found = draw_weights(nodes, self.draws, rng)
        _warn_of_draws(found)
        return [
            Bayesian(
                labelled,
                own,
                shift,
                weights,
                _moves(weights, design, own, z),
                scores,
                self.prior,
            )
            for labelled, own, shift, weights, design, z, scores in zip(
                problems, calibrated, shifts, found, designs, moderators, held_out, strict=True
            )
        ]


def combiner(*, normalise: bool = True) -> Bayes:
    """Return the Bayesian combination, whose inputs have one scale whatever `normalise` says."""
    return Bayes()


def local(*, normalise: bool = True) -> Bayes:
    """Return the Bayesian combination whose weights depend on the indicators."""
    return Bayes(weight_shifts=True)


def _warn_of_draws(found: Sequence[Weights]) -> None:
    worst = max(found, key=lambda weights: weights.pareto_k)
    if not all(weights.trusted for weights in found):
        warnings.warn(f"{uneven(worst)}.", ConvergenceWarning, stacklevel=5)


def _design(labelled: Labelled, calibrated: CalibratedScores, shifts: Shifts) -> Design:
    evidence = calibrated.held_out - calibrated.base
    columns = shifts.design(evidence, labelled.inputs.indicators)
    interactions = evidence.shape[1] * shifts.axes.shape[1]
    return Design(columns, calibrated.base, labelled.positive, _weight(labelled), interactions)


def _weight(labelled: Labelled) -> Floats:
    return np.ones(labelled.positive.size) if labelled.weight is None else labelled.weight


def _centre(
    problems: Sequence[Labelled], calibrated: Sequence[CalibratedScores], rng: np.random.Generator
) -> Floats:
    """Return weights of the classifiers by what they say of all problems' labels held out."""
    each = [
        log_scores(own.held_out.T, labelled.positive)
        for labelled, own in zip(problems, calibrated, strict=True)
    ]
    weight = np.concatenate([_weight(labelled) for labelled in problems])
    return centre_of_weights(np.concatenate(each, axis=1), weight, rng)


def _cross_validated(
    problems: Sequence[Labelled], designs: Sequence[Design], nodes: Nodes
) -> list[Floats]:
    """Return log-odds of each fold's documents by the mode that all other folds have."""
    model = nodes.likeliest.model
    out = [np.full(labelled.positive.size, np.nan) for labelled in problems]
    for fold in range(1 + max(int(labelled.fold.max()) for labelled in problems)):
        kept = [
            design.take(labelled.fold != fold)
            for design, labelled in zip(designs, problems, strict=True)
        ]
        # Two scales that all documents have chosen know next to nothing of any of them.
        points = find_mode(replace(model, designs=kept)).points
        for scores, labelled, design, point in zip(out, problems, designs, points, strict=True):
            held = labelled.fold == fold
            scores[held] = design.offset + design.columns[held] @ point
    return out


def _moves(
    weights: Weights, design: Design, calibrated: CalibratedScores, moderators: Floats
) -> Floats:
    """Return how far each draw of the curves moves the mode."""
    evidence = calibrated.held_out_draws - calibrated.base
    return np.array(
        [follow(weights, design, each, interactions(each, moderators)) for each in evidence]
    )
