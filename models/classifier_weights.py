r"""Several classifiers' log-odds weighed: problems around a population, indicators shifting them.

With the evidence e_i of classifier i, its calibrated log-odds less those of the base rate,

    mu_i     ~ Normal(centre, population_scale)         weight of classifier i in the population
    log_tau  ~ Normal(log scale, log_scale_sd)          how far problems are from it
    w_ki     ~ Normal(mu_i, tau)                        weight of classifier i in problem k
    b_k      ~ Normal(0, bias_scale)                    bias
    log_kappa ~ Normal(log shift_scale, log_shift_sd)   how much indicators matter
    v_kj     ~ Normal(0, kappa)                         what indicator j adds
    label    ~ Bernoulli(logit = base_k + b_k + sum_j v_kj r_j + sum_i w_ki e_i)

Scores are evidence, a column for each classifier; topics are the problems, in the order of
np.unique. Indicators r are facts about the documents: without them their term is left out. It is
the model that `CombinedClassifier(combiner="bayes")` draws from without MCMC.
"""

from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike


def model(
    score: ArrayLike,
    label: ArrayLike,
    topic: ArrayLike,
    *,
    indicators: ArrayLike | None = None,
    base: ArrayLike = 0.0,
    centre: ArrayLike | None = None,
    bias_scale: float = 0.5,
    population_scale: float = 0.15,
    scale: float = 0.15,
    log_scale_sd: float = 0.7,
    shift_scale: float = 0.1,
    log_shift_sd: float = 1.0,
) -> pm.Model:
    """Return the model of labels given evidence; centre is 1/m for m classifiers unless given."""
    evidence = np.asarray(score, dtype=float)
    names, k = np.unique(np.asarray(topic), return_inverse=True)
    m = evidence.shape[1]
    mean = np.full(m, 1.0 / m) if centre is None else np.asarray(centre)
    own_base = np.broadcast_to(np.asarray(base, dtype=float), names.shape)[k]
    coords: dict[str, Any] = {"topic": names, "classifier": np.arange(m)}
    with pm.Model(coords=coords) as program:
        mu = pm.Normal("population_weight", mean, population_scale, dims="classifier")
        tau = pm.math.exp(pm.Normal("log_tau", np.log(scale), log_scale_sd))
        # Offsets in units of tau: what few labels leave to the prior has no funnel then.
        offset = pm.Normal("offset", dims=("topic", "classifier"))
        w = pm.Deterministic("weight", mu + tau * offset, dims=("topic", "classifier"))
        b = pm.Normal("bias", 0.0, bias_scale, dims="topic")
        log_odds = own_base + b[k] + (w[k] * evidence).sum(axis=1)
        if indicators is not None:
            r = np.asarray(indicators, dtype=float)
            program.add_coord("indicator", np.arange(r.shape[1]))
            kappa = pm.math.exp(pm.Normal("log_kappa", np.log(shift_scale), log_shift_sd))
            unit = pm.Normal("unit", dims=("topic", "indicator"))
            v = pm.Deterministic("shift", kappa * unit, dims=("topic", "indicator"))
            log_odds = log_odds + (v[k] * r).sum(axis=1)
        pm.Bernoulli("label", logit_p=log_odds, observed=label)
    return program


def simulate(
    n_per_topic: int,
    topics: int,
    rng: np.random.Generator,
    *,
    classifiers: int = 3,
    draws: int | None = None,
    **hyperparameters: Any,
) -> dict[str, Any]:
    """Return evidence, labels, topics 0, 1, ..., and the parameters drawn from the prior.

    Evidence is standard normal times 2. With `draws`, so many data sets along a leading axis.
    """
    t = np.repeat(np.arange(topics), n_per_topic)
    score = 2.0 * rng.standard_normal((t.size, classifiers))
    program = model(score, 0 * t, t, **hyperparameters)
    names = ["label", "population_weight", "log_tau", "weight", "bias"]
    values = pm.draw([program[name] for name in names], draws=draws or 1, random_seed=rng)
    if draws == 1:  # pm.draw gives one draw no axis
        values = [value[np.newaxis] for value in values]
    fixed = {"score": score, "topic": t}
    if draws is not None:
        fixed = {name: np.repeat(value[np.newaxis], draws, axis=0) for name, value in fixed.items()}
    return fixed | dict(zip(names, values, strict=True))
