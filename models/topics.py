r"""Many topics at once: class densities and base rates of topics around those of a population.

Of each class, with x = (score - centre)/spread, one centre and spread for all topics,

    location, log_scale, logit_share, log_concentration, log_shape, log_width ~ Normal, each:
    mu, log tau, logit omega, log kappa, log a and log m of the population, and for each topic

    theta      ~ Normal(mu, tau)                         mode
    logit_left_share = logit(share), share ~ Beta(kappa omega, kappa (1 - omega))
                 left/(left + right); symmetric families 1/2
    width      ~ InverseGamma(a, a m)                    left + right; in the Gaussian families
                 its square ~ InverseGamma(a, a m^2)
    x          ~ family(theta, left, right)              sides: mean distances, or sigmas

and with logit_rate ~ Normal and log_documents ~ Normal, each topic's

    prior      ~ Beta(documents rate, documents (1 - rate))    P(+)

NUTS sees a mode by its distance from where its scores have it best (`Anchored`), shares and widths
relative to their population (`Relative`): a side that is nearly nothing would be a wall otherwise.

The likelihood is two potentials, "score" and "label", sums over all documents, the former read off
tables made once: a gradient costs the same for ten documents and a million. Topics stand in the
order of np.unique; modes and sides are those of x. Label 0 negative, 1 positive.
"""

from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike

from bayescal.distributions import (
    Anchored,
    AsymmetricGaussian,
    AsymmetricLaplace,
    GroupedScores,
    LogitBeta,
    NormalMode,
    Relative,
    of_beta,
    of_inverse_gamma,
)

POWERS = {"gaussian": 2, "laplace": 1, "asymmetric_gaussian": 2, "asymmetric_laplace": 1}
FURTHEST = 150.0  # log-odds: no score sees smaller sides, whose squares would round to nothing
LOG_4, LOG_3, LOG_10 = np.log([4.0, 3.0, 10.0])

Prior = tuple[float, float]  # mean and standard deviation of a hyperparameter


def model(
    score: ArrayLike,
    label: ArrayLike,
    topic: ArrayLike,
    *,
    family: str = "asymmetric_laplace",
    weight: ArrayLike | None = None,
    centre: float = 0.0,
    spread: float = 1.0,
    location: Prior = (0.0, 2.0),
    log_scale: Prior = (0.0, 1.0),
    logit_share: Prior = (0.0, 1.0),
    log_concentration: Prior = (LOG_4, 1.0),
    log_shape: Prior = (LOG_3, 1.0),
    log_width: Prior | None = None,
    logit_rate: Prior = (-2.0, 2.0),
    log_documents: Prior = (LOG_10, 1.0),
) -> pm.Model:
    """Return the model; weights are powers of documents' likelihoods; m^p is about 1/2."""
    if family not in POWERS:
        raise ValueError(f"family must be one of {', '.join(POWERS)}, got {family!r}.")
    names, t = np.unique(np.asarray(topic), return_inverse=True)
    x, group = (np.asarray(score) - centre) / spread, np.asarray(label) * names.size + t
    p = POWERS[family]
    sums = GroupedScores(x, group, 2 * names.size, power=p, weight=weight)
    n = sums.total.reshape(2, -1)
    each = ("klass", "topic")
    with pm.Model(coords={"klass": ["negative", "positive"], "topic": names}) as program:
        mu = pm.Normal("location", *location, dims="klass")[:, None]
        tau = pm.math.exp(pm.Normal("log_scale", *log_scale, dims="klass"))[:, None]
        log_odds = np.zeros(n.shape)
        if family.startswith("asymmetric"):
            omega = pm.math.sigmoid(pm.Normal("logit_share", *logit_share, dims="klass"))[:, None]
            kappa = pm.Normal("log_concentration", *log_concentration, dims="klass")[:, None]
            beta = pm.math.exp(kappa) * omega, pm.math.exp(kappa) * (1.0 - omega)
            seen = Relative(of_beta, n)
            log_odds = LogitBeta("logit_left_share", *beta, transform=seen, dims=each)
            log_odds = pm.math.clip(log_odds, -FURTHEST, FURTHEST)
        a = pm.math.exp(pm.Normal("log_shape", *log_shape, dims="klass"))[:, None]
        log_m = pm.Normal("log_width", *(log_width or (-np.log(2.0) / p, 1.0)), dims="klass")
        scale = a * pm.math.exp(p * log_m)[:, None]
        seen = Relative(of_inverse_gamma, n)
        power = pm.InverseGamma(
            ("width", "squared_width")[p - 1], a, scale, transform=seen, dims=each
        )
        width = power ** (1.0 / p)
        left = pm.Deterministic("left", width * pm.math.sigmoid(log_odds), dims=each)
        right = pm.Deterministic("right", width * pm.math.sigmoid(-log_odds), dims=each)
        best = sums.quantile((left / width).flatten()).reshape(n.shape)
        seen = Anchored(n)
        theta = NormalMode("theta", mu, tau, left, right, best, transform=seen, dims=each)
        flat = [values.flatten() for values in (theta, left, right)]
        pm.Potential("score", sums.log_density(*flat).sum())
        rate = pm.math.sigmoid(pm.Normal("logit_rate", *logit_rate))
        documents = pm.math.exp(pm.Normal("log_documents", *log_documents))
        prior = pm.Beta("prior", documents * rate, documents * (1.0 - rate), dims="topic")
        pm.Potential("label", (n[0] * pm.math.log(1.0 - prior) + n[1] * pm.math.log(prior)).sum())
    return program


def simulate(
    n_per_topic: int,
    topics: int,
    rng: np.random.Generator,
    *,
    draws: int | None = None,
    family: str = "asymmetric_laplace",
    centre: float = 0.0,
    spread: float = 1.0,
    **hyperparameters: Any,
) -> dict[str, Any]:
    """Return scores, labels, topics 0, 1, ..., and the parameters drawn from the prior behind them.

    With `draws`, so many data sets, each from parameters of its own: a leading axis everywhere.
    """
    t = np.repeat(np.arange(topics), n_per_topic)
    program = model(t, 0 * t, t, family=family, **hyperparameters)
    label = pm.Bernoulli.dist(program["prior"][t])
    theta, left, right = (program[name][label, t] for name in ("theta", "left", "right"))
    density: Any = AsymmetricGaussian
    if POWERS[family] == 1:
        density, left, right = AsymmetricLaplace, 1.0 / left, 1.0 / right
    x = density.dist(theta, left, right)
    names = [v.name for v in (*program.free_RVs, *program.deterministics)]
    drawn = [centre + spread * x, label, *(program[name] for name in names)]
    values = pm.draw(drawn, draws=draws or 1, random_seed=rng)
    if draws == 1:  # pm.draw gives one draw no axis
        values = [value[np.newaxis] for value in values]
    out = dict(zip(["score", "label", *names], values, strict=True))
    return out | {"topic": t if draws is None else np.tile(t, (draws, 1))}
