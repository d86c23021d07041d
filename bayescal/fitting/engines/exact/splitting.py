r"""Rare events: pairs of class densities with monotone log-odds, of any small probability.

If all sides of both densities are exponential, or all are Gaussian, the log-odds never fall if and
only if

    theta_- <= theta_+,    left_- >= left_+,    right_- <= right_+:

three nonnegative margins in x = (theta, log left, log right) of both classes. Multilevel splitting
(S.-K. Au, J. L. Beck, Probabilistic Engineering Mechanics 16, 2001) starts from draws of the
posterior, keeps the half with the largest smallest margin, copies them, and moves all by Markov
chains above that level, until the level is 0. The product of the shares kept estimates
P(monotone | data).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayescal.support.validation import Floats

if TYPE_CHECKING:
    from bayescal.fitting.engines.exact.class_posterior import ClassPosterior

# Moves of all pairs at a level, and at the last one.
MOVES, LAST_MOVES = 10, 100
# Differential evolution moves x + F (x_a - x_b) of six numbers, accepted by a fifth (ter Braak
# 2006).
STEP = 2.38 / math.sqrt(2.0 * 6.0)
# One move in ten is a whole difference, and every move has a little noise.
WHOLE, NOISE = 0.1, 1e-3
# Half of the pairs are kept at each level: P(monotone | data) may be 2^-3000.
MOST_LEVELS = 3000


@dataclass(frozen=True)
class MonotonePairs:
    """Draws of both classes' densities whose log-odds never fall."""

    # (3, draws, 2): mode, left and right side of negatives and positives, in standardised units
    sides: Floats
    log_share: float  # natural log of P(monotone | data)


def monotone_pairs(
    classes: tuple[ClassPosterior, ClassPosterior], draws: int, rng: np.random.Generator
) -> MonotonePairs:
    """Return draws of two classes of one asymmetric family, given that log-odds never fall."""
    drawn = [posterior.draw(draws, rng) for posterior in classes]
    x = np.stack([np.stack([each.theta, *np.log(each.sides)]) for each in drawn], axis=2)
    log_share, level = 0.0, -math.inf
    # Posterior standard deviations make margins comparable.
    unit = np.maximum(x.std(axis=1).max(axis=1), np.finfo(float).tiny)
    for _ in range(MOST_LEVELS):
        smallest = _margins(x, unit)
        level = min(float(np.median(smallest)), 0.0)
        kept = np.flatnonzero(smallest >= level)
        log_share += math.log(kept.size / draws)
        x = x[:, rng.permutation(np.resize(kept, draws))]
        moves = MOVES if level < 0.0 else LAST_MOVES
        for _ in range(moves):
            x = _moved(x, classes, unit, level, rng)
        if level == 0.0:
            break
    else:
        raise ValueError(
            "Densities: monotone=True needs draws near monotone log-odds, but no draw came near"
            " any: negate the scores if smaller ones mean positives, or use monotone=False."
        )
    return MonotonePairs(np.stack([x[0], *np.exp(x[1:])]), log_share)


def _margins(x: Floats, unit: Floats) -> Floats:
    """Return the smallest of the three margins of each pair, in units."""
    difference = (x[..., 1] - x[..., 0]) / unit[:, None]
    smallest: Floats = np.minimum(np.minimum(difference[0], -difference[1]), difference[2])
    return smallest


def _moved(
    x: Floats,
    classes: tuple[ClassPosterior, ClassPosterior],
    unit: Floats,
    level: float,
    rng: np.random.Generator,
) -> Floats:
    """Return pairs after one Metropolis step each, by differences of two other pairs."""
    size = x.shape[1]
    one, other = rng.integers(size, size=(2, size))
    factor = np.where(rng.random(size) < WHOLE, 1.0, STEP * rng.random(size))[None, :, None]
    noise = NOISE * unit[:, None, None] * rng.normal(size=x.shape)
    new = x + factor * (x[:, one] - x[:, other]) + noise
    inside = np.flatnonzero(_margins(new, unit) >= level)
    rise = sum(
        posterior.log_density(*new[:, inside, k]) - posterior.log_density(*x[:, inside, k])
        for k, posterior in enumerate(classes)
    )
    taken = inside[np.log(rng.random(inside.size)) < rise]
    out = x.copy()
    out[:, taken] = new[:, taken]
    return out
