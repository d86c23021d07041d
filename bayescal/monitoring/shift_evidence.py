"""Evidence of unlabelled scores on a shift: a test of label shift, and a Bayes factor.

With r(s) the ratio of the densities of new and of reference scores, and p(s) = P(positive | s) in
the reference, label shift (only the shares of the classes changed) means that

    r(s) is proportional to 1 - p(s) + exp(d) p(s),

with d the change of the log-odds of the classes. Covariate shift (the case mix changed, p(s) is as
it was) allows any ratio; a plausible one is

    log r(s) = a + (b - 1) (l - m) + g(z),    l = logit(p(s)),

with the priors of `bayescal.metrics.changes`. Both are logistic regressions of "new" against
"reference", whose densities need no model.
"""

import math
from typing import Any

import numpy as np
from scipy import special

from bayescal.inference.newton import climb_within
from bayescal.metrics import changes
from bayescal.metrics.changes import LogOddsCells
from bayescal.monitoring.running_evidence import base_rate_change, scales_density
from bayescal.support.validation import Floats

RESAMPLES = 199  # of the test
NODES, SHARES = 120, 81  # scores where distributions are compared; shares of positives tried
GROUPS, CURVES = 400, 100  # groups of similar scores and curves of the posterior for the evidence
FARTHEST = 36.0
LARGEST_LEVEL = 30.0  # of the log ratio of densities at the pivot


def mixture_test(
    new: Floats,
    positive: Floats,
    negative: Floats,
    rng: np.random.Generator,
    effects: tuple[float, float] = (1.0, 1.0),
) -> tuple[float, float]:
    """Return the distance of new scores from mixtures of two classes, and its p-value.

    `effects` are the design effects of new and of reference scores, which shrink the resamples.
    """
    distance, share = _distance(new, positive, negative)
    reached, size = 0, max(round(new.size / effects[0]), 1)
    for _ in range(RESAMPLES):
        k = int(rng.binomial(size, share))
        drawn = np.concatenate([rng.choice(positive, k), rng.choice(negative, size - k)])
        other = (
            rng.choice(each, max(round(each.size / effects[1]), 1)) for each in (positive, negative)
        )
        reached += _distance(drawn, *other)[0] >= distance
    return distance, (1.0 + reached) / (RESAMPLES + 1.0)


def _distance(new: Floats, positive: Floats, negative: Floats) -> tuple[float, float]:
    """Return the smallest Kolmogorov distance over shares of positives, and its share."""
    together = np.concatenate([new, positive, negative])
    at = np.quantile(together, np.linspace(0.005, 0.995, NODES))
    f, plus, minus = (
        np.searchsorted(np.sort(each), at, side="right") / each.size
        for each in (new, positive, negative)
    )
    shares = np.linspace(0.0, 1.0, SHARES)[:, None]
    worst = np.abs(f - shares * plus - (1.0 - shares) * minus).max(axis=1)
    best = int(worst.argmin())
    return float(worst[best]), float(shares[best, 0])


def thinned(draws: Floats, most: int) -> Floats:
    """Return at most `most` draws of probabilities, evenly chosen, away from 0 and 1."""
    kept = np.linspace(0, len(draws) - 1, min(most, len(draws))).astype(np.intp)
    tiny = special.expit(-FARTHEST)
    return np.clip(draws[kept], tiny, 1.0 - 1e-16)


def log_bayes_factor(
    calibrator: Any, new: Floats, old: Floats, effects: tuple[float, float] = (1.0, 1.0)
) -> float:
    """Return the natural log Bayes factor of label shift against a change of the case mix."""
    scores = np.concatenate([new, old])
    order = np.argsort(scores, kind="stable")
    starts = np.unique(np.linspace(0, order.size, GROUPS + 1).astype(np.intp)[:-1])
    weight = np.repeat(1.0 / np.array(effects), [new.size, old.size])
    total, recent, size = (
        np.add.reduceat(each[order], starts)
        for each in (weight * scores, weight * (np.arange(order.size) < new.size), weight)
    )
    curves = thinned(calibrator.sample_proba(total / size), CURVES)
    cells = LogOddsCells(changes.clipped_log_odds(curves.mean(axis=0)), recent, size)
    offset = math.log(new.size / old.size * effects[1] / effects[0])
    case_mix = changes.fit_changes(cells, (changes.SLOPE, changes.FULL), offset).log_evidence
    case_mix -= math.log(changes.PRIOR[changes.SLOPE] + changes.PRIOR[changes.FULL])
    return _log_evidence_of_label_shift(cells, curves, offset) - case_mix


def _log_evidence_of_label_shift(cells: LogOddsCells, curves: Floats, offset: float) -> float:
    """Return the log evidence, over curves and shifts, of cells whose "positives" are new."""
    change = base_rate_change()
    grows = np.expm1(change.shift)[:, None, None]
    tilt = np.log1p(grows * curves)  # (shifts, curves, cells)
    tilt += offset - np.log1p(grows * special.expit(cells.frame.pivot))

    def derivatives(level: Floats) -> tuple[Floats, Floats]:
        recent = special.expit(tilt + level[..., None])
        return (cells.positive - cells.weight * recent).sum(axis=-1), (
            cells.weight * recent * (1.0 - recent)
        ).sum(axis=-1)

    far = np.full(tilt.shape[:-1], LARGEST_LEVEL)
    level, _ = climb_within(
        np.zeros(far.shape), -far, far, derivatives, flattest=1e-12, tolerance=1e-3
    )
    # Laplace's approximation over the level; the factors sqrt(2 pi) of prior and integral cancel.
    log_prior = np.log(change.prior[0])[:, None] + np.log(
        scales_density(changes.SHIFT_SCALES, level)
    )
    _, curvature = derivatives(level)
    tilt += level[..., None]
    likelihood = special.log_expit(tilt) @ cells.positive
    likelihood += special.log_expit(-tilt) @ (cells.weight - cells.positive)
    evidence = log_prior + likelihood - 0.5 * np.log(curvature)
    return float(special.logsumexp(evidence)) - math.log(len(curves))
