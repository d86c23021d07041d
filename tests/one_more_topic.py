"""One of the ten topics as the new one, the others its history: by NUTS of all, and around them."""

import numpy as np
from scipy import special

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.fitting.engines.pooled import drawing
from bayescal.fitting.engines.pooled.population import DENSITY_NAMES
from tests.pooled_tools import CHAINS, data, sampled

FAMILY = "asymmetric_laplace"
# With 3, 10 or 11, and 20 positives, four negatives to each.
TOPICS = (0, 4, 9)
SCORES = np.array([-2.5, -1.0, 0.0, 1.0, 2.5])
UNITS = {"centre": 0.0, "spread": 1.0}


def quantities(sides, rate):
    """
    Return modes, log widths, log-odds of shares and of the rate, and log-odds at SCORES: (draw, k).

    Log-odds by their arcsinh: the few draws far out are most of a variance.

    Parameters
    ----------
    sides : array of shape (2, 3, draw)
    rate : array of shape (draw,)
    """
    theta, left, right = np.moveaxis(sides, 1, 0)
    width, share = np.log(left + right), np.log(left) - np.log(right)
    distance = SCORES[:, None, None] - theta
    log_density = -np.abs(distance) / np.where(distance < 0, left, right) - width
    log_odds = special.logit(rate) + log_density[:, 1] - log_density[:, 0]
    return np.concatenate(
        [theta, width, *np.arcsinh([share]), [special.logit(rate)], np.arcsinh(log_odds)]
    ).T


def sample(topic, *, draws, tune, seed=1):
    """Return the quantities by NUTS of all ten topics, (chain, draw, k), and divergences."""
    found = sampled(FAMILY, draws, tune, seed)
    own = found.topics.take((topic, slice(None)))
    drawn = quantities(np.stack([own.theta.T, own.left.T, own.right.T], axis=1), own.prior)
    divergent = float(found.sample_stats["diverging"].mean())
    return drawn.reshape(CHAINS, draws, -1), divergent


def history(topic, seed):
    """Return the other nine topics, fitted together."""
    scores, labels, topics = data()
    past = topics != topic
    calibrator = TopicCalibrator(parts=FAMILY, draws=250, random_state=seed, prior_knowledge=UNITS)
    return calibrator.fit(scores[past], labels[past], topics[past])


def around(prior, topic, seed):
    """Return the quantities of the topic as one problem around a history; (draw, k)."""
    scores, labels, topics = data()
    mine = topics == topic
    fitted = ScoreCalibrator(prior_knowledge=prior, random_state=100 + seed)
    results = fitted.fit(scores[mine], labels[mine]).results_
    drawn = results[f"parts/{FAMILY}/engine_draws"].to_dataset().stack(sample=("chain", "draw"))
    sides = [drawn[name].transpose("klass", "sample") for name in ("theta", "left", "right")]
    return quantities(np.stack(sides, axis=1), drawn["prior"].values)


def certain(prior):
    """Return a history with the median population of its densities in place of all draws."""
    return _changed(prior, lambda draws: draws.median(("chain", "draw")).broadcast_like(draws))


def wider(prior):
    """Return the history of another population, whose widths are twice as large."""
    return _changed(prior, lambda draws: draws.assign(log_width=draws["log_width"] + np.log(2.0)))


def forget_the_evidence(monkeypatch):
    """Make the engine wrong: weight all populations equally, whatever their evidence."""

    def alike(log_evidence):
        return np.full(log_evidence.size, 1.0 / log_evidence.size), 1.0

    monkeypatch.setattr(drawing, "weigh", alike)


def _changed(prior, change):
    tree = prior.population_.posterior_.copy()
    group = tree[f"population/parts/{FAMILY}/hyperparameters"].to_dataset()
    there = change(group[list(DENSITY_NAMES)]).transpose(*group[DENSITY_NAMES[0]].dims)
    tree[f"population/parts/{FAMILY}/hyperparameters"] = group.assign(there)
    return prior.from_results(tree)
