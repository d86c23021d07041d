r"""One calibration map for several exclusive classes, with the scales of its coefficients.

`score` holds the natural log-probabilities u of K classes, one row a document, `label` the class.
With r the unit, g = -u,

    log_gain   ~ Normal(gain_location, gain_scale)            G = exp(log_gain)
    warp       ~ Normal(warp_location, warp_scale)            lambda
    asymmetry  ~ Normal(asymmetry_location, asymmetry_scale)  c
    lapse      ~ Beta(lapse_alpha, lapse_beta)                eps
    scale_b^2  ~ scaled inverse chi-squared(2, s0_b^2)        of each block b of coefficients
    theta      ~ Normal(0, scale of its block)

    e0  = -G ((1 + g/r)^lambda - 1) / (2^lambda - 1)
    q   = -log(1 - softmax(e0)),    e = e0 + c q
    eta = e + bias + slope s(l) + certainty s(q') + confusion s(l)
    P(label = k) = (1 - eps) softmax(eta)_k + eps / K

`confusion` holds the effect on each class of every other class, row by row. The features l and q'
are those of an anchor, fixed (log_gain, warp, asymmetry), centred and divided
by fixed numbers class by class: `centre` and `size` of shape (3 + K, K), whose rows are those of
bias, slope, certainty and of the confusions with each class.
"""

from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike, NDArray

LEAST_REST = 1e-6
DEEPEST = 30.0
NO_WARP = 1e-6
BLOCKS = ("bias", "slope", "certainty", "confusion")


def model(
    score: ArrayLike,
    label: ArrayLike,
    *,
    unit: float,
    anchor: ArrayLike,
    centre: ArrayLike,
    size: ArrayLike,
    gain_location: float = 0.0,
    gain_scale: float = 0.8,
    warp_location: float = 1.4,
    warp_scale: float = 1.4,
    asymmetry_location: float = -0.1,
    asymmetry_scale: float = 0.4,
    lapse_alpha: float = 0.5,
    lapse_beta: float = 50.0,
    scales: ArrayLike = (0.25, 0.12, 0.12, 0.05),
) -> pm.Model:
    """Return the model of labels given log-probabilities."""
    log_p = np.asarray(score, dtype=float)
    depth = np.log1p(np.maximum(-log_p, 0.0) / unit)
    classes = log_p.shape[1]
    deep, sure = _features(depth, *np.asarray(anchor, dtype=float))
    middle, divisor = np.asarray(centre, dtype=float), np.asarray(size, dtype=float)
    with pm.Model() as program:
        log_gain = pm.Normal("log_gain", gain_location, gain_scale)
        warp = pm.Normal("warp", warp_location, warp_scale)
        asymmetry = pm.Normal("asymmetry", asymmetry_location, asymmetry_scale)
        lapse = pm.Beta("lapse", lapse_alpha, lapse_beta)
        # 2 s0^2 / s^2 is chi-squared with two degrees of freedom: exponential with mean 2.
        ratio = pm.Exponential("ratio", 0.5, shape=len(BLOCKS))
        scale = pm.Deterministic("scale", np.asarray(scales) * pm.math.sqrt(2.0 / ratio))
        theta = [pm.Normal(name, 0.0, scale[k], shape=classes) for k, name in enumerate(BLOCKS[:3])]
        pairs = np.flatnonzero(~np.eye(classes, dtype=bool))
        confusion = pm.Normal("confusion", 0.0, scale[3], shape=pairs.size)
        place = np.eye(classes**2)[pairs]
        matrix = pm.math.dot(confusion, place).reshape((classes, classes))
        lam = pm.math.switch(pm.math.abs(warp) < NO_WARP, NO_WARP, warp)
        plain = -pm.math.exp(log_gain) * (pm.math.exp(lam * depth) - 1.0) / (2.0**lam - 1.0)
        rest = 1.0 - pm.math.softmax(plain, axis=-1)
        certainty = -pm.math.log(pm.math.maximum(rest, LEAST_REST))
        eta = plain + asymmetry * certainty + theta[0]
        eta += theta[1] * (deep - middle[1]) / divisor[1]
        eta += theta[2] * (sure - middle[2]) / divisor[2]
        for other in range(classes):
            feature = (deep[:, other, None] - middle[3 + other]) / divisor[3 + other]
            eta += matrix[:, other] * feature
        chance = (1.0 - lapse) * pm.math.softmax(eta, axis=-1) + lapse / classes
        pm.Categorical("label", p=chance, observed=label)
    return program


def _features(
    depth: NDArray[Any], log_gain: float, warp: float, asymmetry: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return l and q of one fixed map."""
    lam = NO_WARP if abs(warp) < NO_WARP else warp
    plain = -np.exp(log_gain) * (np.exp(lam * depth) - 1.0) / (2.0**lam - 1.0)
    sure = -np.log(np.maximum(1.0 - _softmax(plain), LEAST_REST))
    return np.maximum(np.log(_softmax(plain + asymmetry * sure) + 1e-300), -DEEPEST), sure


def _softmax(values: NDArray[Any]) -> NDArray[Any]:
    shifted = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


def simulate(
    n: int, rng: np.random.Generator, *, draws: int | None = None, **hyperparameters: Any
) -> dict[str, Any]:
    """Return labels of n documents, their log-probabilities, and the parameters that made them.

    With `draws`, so many data sets, each from parameters of its own: a leading axis everywhere.
    Three classes; the features keep centres of 0 and sizes of 1 unless given.
    """
    classes = 3
    logits = 2.0 * rng.standard_normal((n, classes))
    score = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    rows = 3 + classes
    settings: dict[str, Any] = {
        "unit": 1.0,
        "anchor": (0.0, 1.0, 0.0),
        "centre": np.zeros((rows, classes)),
        "size": np.ones((rows, classes)),
    } | hyperparameters
    program = model(score, np.zeros(n, dtype=int), **settings)
    names = ["label", "log_gain", "warp", "asymmetry", "lapse", "scale", *BLOCKS]
    values = pm.draw([program[name] for name in names], draws=draws or 1, random_seed=rng)
    if draws in (None, 1):
        values = [np.asarray(value)[np.newaxis] for value in values]
    out = dict(zip(names, values, strict=True))
    out["score"] = np.broadcast_to(score, (draws or 1, *score.shape))
    return out if draws else {name: value[0] for name, value in out.items()}
