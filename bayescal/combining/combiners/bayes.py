"""A Bayesian logistic model of calibrated log-odds; problems share a prior of the weights.

    log-odds(x) = beta_0 + b + sum_j v_j r_j(x) + sum_i w_i (lambda_i(x) - beta_0)

lambda_i are the log-odds by the `ScoreCalibrator` of classifier i, beta_0 the log-odds of the base
rate, r_j standardised indicators. The weights' prior (`engines.classifier_weights.model`) averages
the classifiers that are probably the best.

Each draw takes one calibration curve of every classifier, moves the mode of bias and weights to
their mode given these curves, and adds a draw of the coefficients' deviation from it: the labels'
information on the level counts once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
from scipy import special
from sklearn.utils.parallel import Parallel, delayed

from bayescal.calibrators.score_calibrator import ScoreCalibrator
from bayescal.combining.combiners.measures import Combined, Combiner
from bayescal.combining.nested import Inputs, Labelled, WithinRange
from bayescal.fitting.curves.part_draws import AveragedDraws, average, spread_over_scores
from bayescal.fitting.engines.classifier_weights import engine, model
from bayescal.fitting.engines.classifier_weights.engine import Weights
from bayescal.fitting.engines.classifier_weights.model import Design, WeightHyperparameters
from bayescal.fitting.results.diagnostics import ConvergenceWarning
from bayescal.inference.newton import log_scores
from bayescal.support.numerics import PSEUDO_COUNT, class_prior, one_blas_thread
from bayescal.support.score_checks import without_scores_warnings
from bayescal.support.validation import Floats, warn_user

CURVES = 100
CALIBRATOR_DRAWS, CHAINS = 250, 4
# Closer to 0 and 1, log-odds of floating-point probabilities are inaccurate.
NEAREST = 1e-15


@dataclass(frozen=True)
class CalibratedScores:
    """Calibrators of the classifiers' scores, and their log-odds of the documents fitted."""

    calibrators: list[ScoreCalibrator]  # one a classifier, fitted to all documents
    base: float  # log-odds of the base rate
    held_out: Floats = field(repr=False)  # (n, classifiers): of each document, given all others
    in_gaps: Floats  # (classifiers, 2): beta parameters of P(+) where there is no score
    seed: int  # chooses the draws

    def point(self, scores: Floats) -> Floats:
        """Return the calibrators' point estimates, log-odds of shape (n, classifiers)."""
        columns = zip(self.calibrators, scores.T, np.log(self.in_gaps), strict=True)
        return np.column_stack(
            [_with_gaps(own, each.decision_function, a - b) for each, own, (a, b) in columns]
        )

    def draws(self, scores: Floats) -> Floats:
        """Return log-odds of the curves' draws at scores, shape (curves, n, classifiers)."""
        drawn = []
        for i, (each, own) in enumerate(zip(self.calibrators, scores.T, strict=True)):
            rng, of_gaps = (np.random.default_rng([self.seed, i, *more]) for more in ([], [1]))
            read = partial(each.sample_proba, draws=CURVES, random_state=rng)
            a, b = self.in_gaps[i].tolist()
            drawn.append(_with_gaps(own, read, of_gaps.beta(a, b, CURVES)))
        inside = np.clip(np.stack(drawn, axis=2), NEAREST, 1.0 - NEAREST)
        return np.asarray(special.logit(inside))


def calibrate_scores(labelled: Labelled, seed: int) -> CalibratedScores:
    """Fit a calibrator to each classifier's scores."""
    scores, positive = labelled.inputs.scores, labelled.positive
    gap = np.isnan(scores)
    calibrators = [_fit(labelled, i, seed) for i in range(scores.shape[1])]
    counts = labelled.counts[:, None] * np.stack([positive, ~positive], axis=1)
    in_gaps = PSEUDO_COUNT + gap.T @ counts
    held_out = np.empty(scores.shape)
    for out, own, each, beta in zip(held_out.T, gap.T, calibrators, in_gaps, strict=True):
        out[~own] = each._fit.left_out_log_odds
        out[own] = np.log(beta - counts[own]) @ [1.0, -1.0]
    base = float(special.logit(class_prior(float(counts[:, 0].sum()), float(counts.sum()))))
    return CalibratedScores(calibrators, base, held_out, in_gaps, seed)


def _with_gaps(scores: Floats, read: Callable[[Floats], Floats], in_gaps: Floats) -> Floats:
    """Return a function of scores, along its last axis, and other values where they are nan."""
    out = np.repeat(np.asarray(in_gaps)[..., None], scores.size, axis=-1)
    if (scored := ~np.isnan(scores)).any():
        out[..., scored] = read(scores[scored])
    return out


def _fit(labelled: Labelled, i: int, seed: int) -> ScoreCalibrator:
    labelled = labelled.take(np.flatnonzero(~np.isnan(labelled.inputs.scores[:, i])))
    if len(np.unique(labelled.positive)) < 2:
        raise ValueError(
            "every classifier must score documents of both classes, got one class of classifier"
            f" {i}: leave it out, or use combiner='logistic'."
        )
    # Learned priors were not compared with "vague" here: docs/validation.
    calibrator = ScoreCalibrator(
        scores_are="scores",
        prior_knowledge="vague",
        draws=CALIBRATOR_DRAWS,
        chains=CHAINS,
        random_state=seed,
    )
    # The weights handle classifiers whose scores fall with the positive class: no warning.
    with without_scores_warnings():
        scores = labelled.inputs.scores[:, i]
        return calibrator.fit(scores, labelled.positive, labelled.weight)


# Most documents that each draw's curve averages over.
MOST_AVERAGED = 2000


def uneven(weights: Weights) -> str:
    """Return the problem of unreliable draws, with advice."""
    return (
        f"the posterior draws of the weights are uneven (Pareto k {weights.pareto_k:.2f}): give"
        " fewer indicators, or more documents of each class"
    )


def warn_of_weights(drawn: Sequence[Weights]) -> None:
    """Warn of the worst draws where some are unreliable."""
    worst = max(drawn, key=lambda weights: weights.pareto_k)
    if not all(weights.trusted for weights in drawn):
        warn_user(f"{uneven(worst)}.", ConvergenceWarning)


@dataclass(frozen=True)
class Bayesian(Combined):
    """The posterior of one problem's combination."""

    bayes_rule: ClassVar[bool] = True
    calibrated: CalibratedScores
    scale: WithinRange  # of the indicators
    weights: Weights
    moves: Floats = field(repr=False)  # (curves, d): shift of the coefficients' mode by each draw
    cross_validated: Floats = field(repr=False)  # (n,): log-odds by coefficients of other folds
    prior: WeightHyperparameters

    @property
    def held_out(self) -> Floats:
        """Return log-odds by calibrators and coefficients that had not seen the labels."""
        return self.cross_validated

    @one_blas_thread()
    def score(self, inputs: Inputs) -> Floats:
        """Return log-odds by the calibrators' point estimates and coefficients' posterior means."""
        # The mean probability of all draws would be dominated by high curves if positives are rare.
        evidence = self.calibrated.point(inputs.scores) - self.calibrated.base
        columns = _columns(evidence, self.scale.apply(inputs.indicators))
        return np.asarray(self.calibrated.base + columns @ self.weights.draws.mean(axis=0))

    @one_blas_thread()
    def sample(self, inputs: Inputs) -> Floats:
        """Return log-odds of posterior draws, shape (draws, n)."""
        base, draws = self.calibrated.base, self.weights.draws
        evidence = self.calibrated.draws(inputs.scores) - base
        head = evidence.shape[2] + 1
        out = draws[:, head:] @ self.scale.apply(inputs.indicators).T
        for curve, (own, move) in enumerate(zip(evidence, self.moves, strict=True)):
            # Draws are in random order: each curve takes every len(evidence)-th.
            some = slice(curve, None, len(evidence))
            shared = draws[some, :head] + move[:head]
            out[some] += shared[:, :1] + shared[:, 1:] @ own.T
        return np.asarray(out + base)

    @cached_property
    @one_blas_thread()
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
        """Return problems of the draws of the weights, with advice."""
        return () if self.weights.trusted else (uneven(self.weights),)


DRAWS = 1000


@dataclass(frozen=True)
class Bayes(Combiner):
    """The Bayesian combination."""

    prior: WeightHyperparameters = field(default_factory=WeightHyperparameters)
    draws: int = DRAWS
    gives_log_odds: bool = True

    def fit(
        self, problems: Sequence[Labelled], rng: np.random.Generator, n_jobs: int | None
    ) -> Sequence[Combined]:
        """Return the combinations of all problems, whose weights share a population."""
        seeds = rng.integers(2**31, size=len(problems)).tolist()
        tasks = map(delayed(calibrate_scores), problems, seeds)
        return self.weigh(problems, list(Parallel(n_jobs=n_jobs)(tasks)), rng)

    @one_blas_thread()
    def weigh(
        self,
        problems: Sequence[Labelled],
        calibrated: Sequence[CalibratedScores],
        rng: np.random.Generator,
    ) -> list[Bayesian]:
        """Return the combinations of problems whose scores are calibrated already."""
        scales = [WithinRange.of(each.inputs.indicators, each.weight) for each in problems]
        known = list(zip(problems, calibrated, scales, strict=True))
        designs = [_design(*each) for each in known]
        # Held-out log scores of all problems give the centre of the weights.
        scores = [log_scores(own.held_out.T, each.positive) for each, own, _ in known]
        counts = np.concatenate([each.counts for each in problems])
        centre = model.centre_of_weights(np.concatenate(scores, axis=1), counts, rng)
        nodes = engine.fit_modes(designs, centre, self.prior)
        held_out = _cross_validated(problems, designs, nodes)
        drawn = engine.draw_weights(nodes, self.draws, rng)
        warn_of_weights(drawn)
        return [
            Bayesian(*own, weights, _moves(*own[:2], weights, design), scores, self.prior)
            for own, weights, design, scores in zip(known, drawn, designs, held_out, strict=True)
        ]


def _columns(evidence: Floats, indicators: Floats) -> Floats:
    """Return the columns of the logistic model, in the order of the coefficients."""
    return np.hstack([np.ones((len(evidence), 1)), evidence, indicators])


def _design(labelled: Labelled, calibrated: CalibratedScores, scale: WithinRange) -> Design:
    """Return the columns of the logistic model, from held-out log-odds, and its labels."""
    evidence = calibrated.held_out - calibrated.base
    columns = _columns(evidence, scale.apply(labelled.inputs.indicators))
    return Design(columns, calibrated.base, labelled.positive, labelled.counts)


def _moves(
    labelled: Labelled, calibrated: CalibratedScores, weights: Weights, design: Design
) -> Floats:
    """Return the shift of the mode by each draw of the curves, (curves, coefficients)."""
    inputs = labelled.inputs
    shift = calibrated.held_out - calibrated.point(inputs.scores)
    evidence = calibrated.draws(inputs.scores) + shift - calibrated.base
    return np.array([engine.follow(weights, design, each) for each in evidence])


def _cross_validated(
    problems: Sequence[Labelled], designs: Sequence[Design], nodes: engine.GridModes
) -> list[Floats]:
    """Return log-odds of each fold's documents by the mode of the other folds."""
    likeliest = nodes.likeliest.model
    out = [np.full(labelled.positive.size, np.nan) for labelled in problems]
    for fold in range(1 + max(int(labelled.fold.max()) for labelled in problems)):
        kept = [
            design.take(labelled.fold != fold)
            for design, labelled in zip(designs, problems, strict=True)
        ]
        # The two scales are of all documents: they depend little on any one.
        points = model.find_mode(replace(likeliest, designs=kept)).points
        for scores, labelled, design, point in zip(out, problems, designs, points, strict=True):
            held = labelled.fold == fold
            scores[held] = design.offset + design.columns[held] @ point
    return out
