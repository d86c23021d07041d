"""What the scores of one kind of classifier mean, learnt from problems that it posed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from bayescal.engines.data import read_binary_scores, together
from bayescal.engines.monotone.density import Prior
from bayescal.engines.monotone.population import LogOddsPopulation
from bayescal.engines.pooled.log_odds import fit_log_odds
from bayescal.engines.pooled.log_odds_population import moments
from bayescal.randomness import generator
from bayescal.robust import units_of
from bayescal.small_arrays import small_arrays
from bayescal.validation import check_choice

FEWEST = 5  # problems; of fewer nobody can tell how alike they are
DRAWS = 1000
# What scores may be said to be where a population of these is asked for.
SCORES_ARE = ("scores", "log_odds", "probabilities")


def learn_population(
    name: str,
    problems: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    scores_are: str = "scores",
    random_state: Any = None,
) -> LogOddsPopulation:
    r"""
    Return what the log-odds of one kind of scores are like, from problem to problem.

    The log-odds at the reference r and the logarithms of the slopes there are from normal
    distributions, a_t ~ Normal(mu, tau) and log b_t ~ Normal(nu, sigma), over problems t. Their
    four parameters have a posterior, given all problems' labels; of a new problem they make the
    prior

        a ~ Normal(E mu, sqrt(E tau^2 + Var mu)),   log b ~ Normal(E nu, sqrt(E sigma^2 + Var nu)).

    Parameters
    ----------
    name : str
        Of the population.
    problems : sequence of (scores, labels)
        At least five. Scores of documents that their classifier was not trained on, in its own
        units; labels of two values each, the second in sorted order being the positive one.
    scores_are : {"scores", "log_odds", "probabilities"}
        What the scores are. A population of log-odds also serves for the log-odds of probabilities.
    random_state : int, numpy Generator, RandomState or None
        Seeds the draws.

    Returns
    -------
    LogOddsPopulation
        For `ScoreCalibrator(prior_knowledge=(population,))`, or to be written by
        `write_populations`.

    Raises
    ------
    ValueError
        If there are fewer than five problems, or scores or labels are not as described.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal.learned_prior import learn_population
    >>> rng = np.random.default_rng(0)
    >>> labels = [rng.random(200) < 0.3 for _ in range(8)]
    >>> problems = [(rng.normal(3.0 * y), y) for y in labels]  # log-odds rise by 3 a unit
    >>> found = learn_population("simulated", problems, random_state=0)
    >>> found.prior.slope_scale < 0.7
    True
    """
    check_choice("scores_are", scores_are, SCORES_ARE)
    if len(problems) < FEWEST:
        raise ValueError(
            f"problems must be at least {FEWEST}, to tell how alike they are; got {len(problems)}."
        )
    topics = [read_binary_scores(s, y, None, scores_are)[0] for s, y in problems]
    everything = together(topics)
    scale = units_of(everything.score, everything.positive, everything.weight)
    with small_arrays():
        found = fit_log_odds(topics, scale, generator(random_state), draws=DRAWS)
    return LogOddsPopulation(
        name=name,
        scores_are=(scores_are,),
        centre=float(found.centre),
        spread=float(found.spread),
        asinh_scale=float(found.asinh_scale),
        pieces=found.pieces,
        prior=Prior(*moments(found.population)),
    )
