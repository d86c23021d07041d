"""Five topics' monotone log-odds around a population: the posterior, by a PyMC model of its own."""

from functools import cache, partial

import numpy as np
import pymc as pm
import scipy.stats as st

from bayescal.families.draws import IDENTITY
from bayescal.fitting.engines.monotone.density import Pieces
from bayescal.fitting.engines.pooled.drawing import Health
from bayescal.fitting.engines.pooled.engine import TopicPosterior
from bayescal.fitting.engines.pooled.hyperparameters import draw_hyperposterior
from bayescal.fitting.engines.pooled.log_odds import (
    HYPERPRIOR,
    curves_of,
    draw_log_odds,
    draw_unseen,
)
from bayescal.fitting.engines.program import draw_posterior
from bayescal.fitting.scores import BinaryScores

PIECES = Pieces(np.array([-0.5, 0.6]), 0.1)
CHAINS = 4


@cache
def documents():
    """Return five topics, the first without positives, with 6 to 30 documents."""
    rng = np.random.default_rng(2)
    topics = []
    for t, size in enumerate((6, 8, 12, 20, 30)):
        x = rng.normal(size=size)
        positive = rng.random(size) < st.logistic.cdf(2.0 * x - 1.0 + 0.3 * t)
        topics.append(BinaryScores(x, positive & (t > 0)))
    return topics


def quantities(points, values):
    """Return hyperparameters, intercepts and log slopes of both topics looked at: (draw, k)."""
    looked_at = values[:, [0, 4]]
    return np.concatenate([points.T, looked_at[0], *np.log(looked_at[1:])]).T


def values_of(curves):
    """Return intercepts and slopes, (1 + J, ..., draws)."""
    return np.concatenate([curves.intercept[None], np.moveaxis(curves.slope, -1, 0)])


def history(past, rng, draws=1500):
    """Return the population of topics' log-odds, which the engine keeps for further topics."""
    draw = partial(draw_log_odds, past, PIECES)
    found = draw_hyperposterior(draw, HYPERPRIOR, rng, draws=draws, topic_draws=2000)
    unseen = curves_of(draw_unseen(found.points, PIECES, rng), 0.5, PIECES, 0.0, 1.0, IDENTITY)
    return TopicPosterior(
        topics=unseen,
        unseen=unseen,
        population=found.points,
        pareto_k=found.pareto_k,
        population_efficiency=found.efficiency,
        efficiency=np.empty(0),
        health=Health.without_proposals((0,)),
    )


def sample(*, draws, tune, seed=1):
    """Return the quantities by NUTS, (chain, draw, k), and the share of divergent transitions."""
    topics = documents()
    code = np.repeat(np.arange(len(topics)), [data.score.size for data in topics])
    x = np.concatenate([data.score for data in topics])
    positive = np.concatenate([data.positive for data in topics])
    low, high = np.array([-np.inf, -0.5, 0.6]), np.array([-0.5, 0.6, np.inf])
    length = np.clip(x[:, None], low, high) - np.clip(0.1, low, high)
    with pm.Model() as model:
        mu, log_tau, slope, log_sigma = (
            pm.Normal(f"point_{k}", *prior)
            for k, prior in enumerate(zip(HYPERPRIOR.mean, HYPERPRIOR.scale, strict=True))
        )
        a = pm.Normal("a", shape=5) * pm.math.exp(log_tau) + mu
        level = pm.Normal("level", shape=5) * pm.math.exp(log_sigma) + slope
        steps = pm.Normal("steps", shape=(5, 2))
        # nu/chi^2 of one topic for both of its steps: a bivariate t with four degrees of freedom.
        steps = steps / pm.math.sqrt(pm.Gamma("precision", 2.0, 2.0, shape=(5, 1)))
        change = 1.5 / np.sqrt(2.0) * steps
        log_b = pm.math.stack([level + change[:, 0], level, level + change[:, 1]], axis=1)
        pm.Deterministic("intercept", a)
        b = pm.Deterministic("slope", pm.math.exp(log_b))
        logit = a[code] + (length * b[code]).sum(axis=1)
        pm.Bernoulli("label", logit_p=logit, observed=positive)
    options, rng = {"target_accept": 0.95, "tune": tune}, np.random.default_rng(seed)
    groups = draw_posterior(model, rng, draws=draws, chains=CHAINS, options=options)
    found = groups["posterior"].stack(sample=("chain", "draw"))
    points = np.stack([found[f"point_{k}"].values for k in range(4)], axis=-1)
    slopes = np.moveaxis(found["slope"].values, 1, 0)
    values = np.concatenate([found["intercept"].values[None], slopes])
    divergent = float(groups["sample_stats"]["diverging"].mean())
    return quantities(points, values).reshape(CHAINS, draws, -1), divergent
