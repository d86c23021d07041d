"""The posteriors that NUTS and the fast engines are compared on: data, quantities, how to sample.

`make references` samples all of them at length and stores what it finds, tests/reference/.
"""

from __future__ import annotations

import sys
import time
import warnings
from functools import cache, partial

import numpy as np

from bayescal import NUTS, Program, ScoreCalibrator
from bayescal.distributions import programs
from bayescal.families import FAMILIES
from bayescal.fitting.engines import program as nuts
from bayescal.fitting.engines.monotone.density import Pieces, place_pieces
from bayescal.fitting.engines.program import build_model
from bayescal.fitting.scores import BinaryScores
from tests import (
    learned_prior_cases,
    log_odds_population,
    one_more_topic,
    pooled_tools,
    weights_cases,
)
from tests.nuts_reference import Reference, write

CHAINS = 4
POSITIVES = (3, 20, 200)
DIRECT = ("logistic", "monotone_log_odds")
SHAPES = ("overlapping", "separable", "three positives")
BOUNDED = ("left_share", "prior")


# Densities of both classes


@cache
def two_classes(n_positive):
    """Return scores and labels, three or four negatives to a positive, and five new scores."""
    rng = np.random.default_rng(17)
    n_negative = 4 * n_positive if n_positive < 100 else 3 * n_positive
    scores = np.concatenate([rng.gumbel(-2, 1, n_negative), rng.gumbel(1, 1.5, n_positive)])
    new = np.quantile(scores, [0.01, 0.25, 0.5, 0.75, 0.99])
    return scores, np.arange(scores.size) >= n_negative, new


def of_densities(calibrator, new):
    """
    Return draws of every parameter of both classes, of the prior and of P(+|s): (chain, draw, k).

    Scales and inverse scales by their logarithms, which have all moments: with three scores a scale
    has no fourth moment, so that its standard deviation has no standard error. Quantiles are those
    of the scale all the same.
    """
    posterior = calibrator.posterior_["posterior"].to_dataset()
    out = []
    for name in sorted(posterior.data_vars):
        values = posterior[name].transpose("chain", "draw", ...).to_numpy()
        scale = name not in {*BOUNDED, "theta", "mu"}
        out.append((np.log(values) if scale else values).reshape(*values.shape[:2], -1))
    curves = calibrator.sample_proba(new)
    return np.concatenate([*out, curves.reshape(*out[0].shape[:2], -1)], axis=-1)


def sample_densities(family, n_positive, *, draws, tune, seed=1, program=None):
    """Return the quantities by NUTS, and the share of divergent transitions."""
    scores, positive, new = two_classes(n_positive)
    options = {"target_accept": 0.95, "tune": tune}
    calibrator = ScoreCalibrator(
        family if program is None else Program(program),
        NUTS(options),
        draws=draws,
        chains=CHAINS,
        random_state=seed,
    ).fit(scores, positive)
    divergent = calibrator.diagnostics_.divergences / (CHAINS * draws)
    return of_densities(calibrator, new), divergent


# Log-odds fits


@cache
def labelled(shape):
    """Return the data of log-odds fits, and five standardised scores to look at."""
    rng = np.random.default_rng(17)
    n_positive = 3 if shape == "three positives" else 20
    x = np.r_[rng.gumbel(-1, 1, 60), rng.gumbel(6 if shape == "separable" else 1, 1, n_positive)]
    data = BinaryScores(x, np.arange(x.size) >= 60)
    centre, spread = data.centre_and_spread
    standard = (x - centre) / spread
    return data, standard, np.quantile(standard, [0.02, 0.3, 0.6, 0.9, 1.0])


def of_log_odds(log_odds):
    """Return log-odds by their arcsinh: the few draws far out are most of a variance."""
    return np.arcsinh(log_odds)


def sample_log_odds(name, shape, *, draws, tune, seed=1):
    """Return the quantities by NUTS, and the share of divergent transitions."""
    data, standard, at = labelled(shape)
    options = {"target_accept": 0.97, "tune": tune}
    found = nuts.draw_posterior(
        build_model(programs.load(name), data),
        np.random.default_rng(seed),
        draws=draws,
        chains=CHAINS,
        options=options,
    )
    posterior = found["posterior"]
    slopes = posterior["slope"].to_numpy().reshape(CHAINS, draws, -1)
    basis = pieces_of(name, standard, data.positive).basis(at)
    curves = posterior["intercept"].to_numpy()[..., None] + slopes @ basis.T
    return of_log_odds(curves), float(found["sample_stats"]["diverging"].mean())


def pieces_of(name, standard, positive):
    """Return the knots that the program takes: none, or those of nine pieces."""
    if name == "noisy_logistic":
        return Pieces(np.zeros(0), 0.0)
    return place_pieces(standard, positive, None, 1 if name == "logistic" else 9)


# Long runs: draws and steps of tuning a chain.
CASES = (
    {
        f"{family}, {n} positives": (partial(sample_densities, family, n), 1500, 1000)
        for family in FAMILIES
        for n in POSITIVES
    }
    | {
        f"{name}, {shape}": (partial(sample_log_odds, name, shape), 2000, 1500)
        for name in DIRECT
        for shape in SHAPES
    }
    | {
        f"topics, {family}, class {klass}": (partial(pooled_tools.sample, family, klass), 1500, 800)
        for family in pooled_tools.SAMPLED
        for klass in (0, 1)
    }
    | {
        f"one more topic, {topic}": (partial(one_more_topic.sample, topic), 1500, 800)
        for topic in one_more_topic.TOPICS
    }
    | {"noisy_logistic": (partial(sample_log_odds, "noisy_logistic", "overlapping"), 2000, 1500)}
    | {
        f"learned prior, {name}": (partial(learned_prior_cases.sample, name), 2000, 1500)
        for name in learned_prior_cases.POPULATIONS
    }
    | {"population of log-odds": (log_odds_population.sample, 1500, 1500)}
    | {
        f"classifier_weights, {name}": (partial(weights_cases.sample, name), 2000, 1500)
        for name in weights_cases.NAMES
    }
)


def main(names):
    """Sample cases at length, all or those named, and store what was found."""
    warnings.simplefilter("ignore")  # what is wrong with the draws is in the reference
    found = {}
    for name in names or CASES:
        sample, draws, tune = CASES[name]
        started = time.monotonic()
        found[name] = Reference.of(*sample(draws=draws, tune=tune))
        seconds = time.monotonic() - started
        line = f"{name}: {seconds:.0f} s, {found[name].effective:.0f} effective draws\n"
        sys.stderr.write(line)
    write(found)


if __name__ == "__main__":
    main(sys.argv[1:])
