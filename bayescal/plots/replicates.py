"""Replicates of documents, drawn from the posterior, as cumulative curves over the score."""

from __future__ import annotations

import numpy as np

from bayescal.bayes import probability
from bayescal.engines.data import KLASS
from bayescal.fitted.problem import FittedProblem
from bayescal.validation import Floats

LABELS, SCORES = "labels", "scores"
Replicates = tuple[Floats, tuple[str, ...], Floats, Floats]
# Scores at which a draw's curve is evaluated; between them it is all but straight.
NODES = 1000


def replicate_labels(problem: FittedProblem, draws: int, rng: np.random.Generator) -> Replicates:
    """
    Return the number of positives at or above each score: documents, and replicates of labels.

    Replicate r draws each label from P_k(+ | s) of one posterior draw k.

    Parameters
    ----------
    problem : FittedProblem
        With documents and a posterior.
    draws : int
        How many replicates.
    rng : numpy Generator
        Draws them.

    Returns
    -------
    x : array of shape (scores,)
        On the calibration's own scale.
    klasses : tuple of str
        "positive" alone.
    observed : array of shape (1, scores)
        Of the documents.
    replicates : array of shape (1, draws, scores)
        Of the replicates.
    """
    documents, x = problem.documents, problem.grid()
    order = np.argsort(documents.score)[::-1]
    score, weight = documents.score[order], documents.weight[order]
    # How many of the documents, from the highest score down, lie at or above each x.
    above = np.searchsorted(-score, -x, side="right")

    def counted(positive: Floats) -> Floats:
        running = np.zeros(score.size + 1)
        np.cumsum(positive * weight, out=running[1:])
        return running[above]

    observed = counted(documents.positive[order].astype(np.float64))
    distinct = np.unique(score)
    nodes = distinct[np.linspace(0, distinct.size - 1, min(NODES, distinct.size)).astype(np.intp)]
    curves = problem.sample(draws, rng).log_odds(nodes)
    replicates = np.empty((draws, x.size))
    for r in range(draws):
        chance = probability(np.interp(score, nodes, curves[r]))
        replicates[r] = counted((rng.random(score.size) < chance).astype(np.float64))
    return x, KLASS[1:], observed[None], replicates[None]


def replicate_scores(problem: FittedProblem, draws: int, rng: np.random.Generator) -> Replicates:
    """
    Return the share of each class's scores up to each: documents, and replicates of scores.

    Replicate r draws n_c scores from p(s | c) of one posterior draw, as counts between the scores
    x. Weighted documents count as their effective number, (sum w)^2 / sum w^2.

    Parameters
    ----------
    problem : FittedProblem
        With documents and a posterior of densities.
    draws : int
        How many replicates.
    rng : numpy Generator
        Draws them.

    Returns
    -------
    x : array of shape (scores,)
        On the calibration's own scale.
    klasses : tuple of str
        Those that have documents.
    observed : array of shape (klasses, scores)
        Of the documents.
    replicates : array of shape (klasses, draws, scores)
        Of the replicates.

    Raises
    ------
    ValueError
        If the family has no densities.
    """
    draws_of = problem.calibration.density_draws
    if draws_of is None or not problem.has_posterior:
        raise ValueError("replicates of scores need posterior draws: fit with inference='exact'.")
    x, names, observed, replicates = problem.grid(), [], [], []
    some = draws_of.take(rng.integers(draws_of.size, size=draws))
    for k, density in enumerate((some.negative, some.positive)):
        score, weight = problem.documents.of_class(bool(k))
        if not weight.any():
            continue
        order = np.argsort(score)
        running = np.append(0.0, np.cumsum(weight[order]))
        names.append(KLASS[k])
        observed.append(running[np.searchsorted(score[order], x, side="right")] / running[-1])
        n = max(1, round(float(weight.sum() ** 2 / (weight**2).sum())))
        replicates.append(_counts(density.cdf(x), n, rng) / n)
    return x, tuple(names), np.stack(observed), np.stack(replicates)


def _counts(cdf: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Return how many of n scores lie up to each x, for every draw's distribution function."""
    share = np.diff(cdf, axis=1, prepend=0.0, append=1.0)
    # Rounding may leave a difference of -1e-17, which a multinomial refuses.
    share = np.maximum(share, 0.0)
    counts: Floats = rng.multinomial(n, share / share.sum(axis=1, keepdims=True)).cumsum(axis=1)
    return counts[:, :-1].astype(np.float64)
