"""The formulas of the families, of their priors and of direct log-odds."""

from __future__ import annotations

import math
from collections.abc import Iterable

from markupsafe import Markup

from bayescal.engines.exact.hyperparameters import Hyperparameters
from bayescal.engines.monotone.density import Prior as DirectPrior
from bayescal.engines.pooled.base_rates import LOG_CONCENTRATION, LOGIT_RATE
from bayescal.engines.pooled.log_odds_population import HYPERPRIOR
from bayescal.engines.pooled.population import Hyperprior
from bayescal.report.mathml import both, cases, distributed, frac, root, row, sub, sup, words

FAMILY_TITLES = {
    "gaussian": "Gaussian",
    "laplace": "Laplace",
    "asymmetric_laplace": "Asymmetric Laplace",
    "asymmetric_gaussian": "Asymmetric Gaussian",
    "hybrid": "Hybrid",
}
DIRECT = {
    "monotone": ("Monotone log-odds", "Log-odds that rise with x in straight pieces of slopes b."),
    "logistic": ("Logistic regression", "Log-odds that rise with x along one straight line."),
    "recalibrated": ("Recalibrated densities", "Log-odds that rise in straight pieces."),
}


_LOG_ODDS = row("log", frac(row("P ( + | x )"), row("P ( - | x )")))


def _exp(inside: Markup) -> Markup:
    return row("exp (", "-", inside, ")")


def _exponential(rate: str, distance: str) -> Markup:
    return _exp(row(f"{rate} (", distance, ")"))


def _square(sigma: Markup) -> Markup:
    return _exp(frac(row("(", "s - theta", sup(")", "2")), row("2", sup(sigma, "2"))))


_LEFT, _RIGHT = row("s <= theta"), row("s > theta")
_SL, _SR = sub("sigma", "l"), sub("sigma", "r")
_SCORE = row("p ( s )", "=")

DENSITIES = {
    "gaussian": row(
        _SCORE, frac("1", row("sigma", root("2 pi"))),
        _exp(frac(row("(", "s - mu", sup(")", "2")), row("2", sup("sigma", "2")))),
    ),
    "laplace": row(_SCORE, frac("beta", "2"), _exp(row("beta | s - theta |"))),
    "asymmetric_laplace": row(
        _SCORE, frac("beta gamma", "beta + gamma"),
        cases(
            (_exponential("beta", "theta - s"), _LEFT),
            (_exponential("gamma", "s - theta"), _RIGHT),
        ),
    ),
    "asymmetric_gaussian": row(
        _SCORE, frac("2", row(root("2 pi"), "(", _SL, "+", _SR, ")")),
        cases((_square(_SL), _LEFT), (_square(_SR), _RIGHT)),
    ),
    "hybrid": row(
        _SCORE, frac("1", row("1 / rho + sigma", root("pi / 2"))),
        cases(
            (_exp(row("rho | s - theta |")), words("facing the other class")),
            (_square(row("sigma")), words("outside")),
        ),
    ),
}  # fmt: skip


def bayes_rule() -> Markup:
    """Return log-odds as Bayes' rule makes them of two densities."""
    plus, minus = (row("p ( s |", sign, ")") for sign in ("+", "-"))
    prior = row("log", frac(row("P ( + )"), row("1 - P ( + )")))
    ratio = row("log", frac(plus, minus))
    posterior = row("log", frac(row("P ( + | s )"), row("P ( - | s )")))
    return row(posterior, "=", prior, "+", ratio)


def warp() -> Markup:
    """Return the asinh warp."""
    return row("x = m + c", "asinh (", frac("s - m", "c"), ")")


def combination() -> list[Markup]:
    """Return the mixture of parts."""
    one = sub("P", "k")
    return [row("P ( + | s ) =", sub("sum", "k"), sub("w", "k"), one, "( + | s )")]


def prior_of_labels(values: Hyperparameters) -> Markup:
    """Return the prior of P(+)."""
    return distributed(row("P ( + )"), "Beta", _n(values.prior_alpha), _n(values.prior_beta))


def density_priors(names: Iterable[str], values: Hyperparameters) -> list[Markup]:
    """Return the priors of mode, share and width of families."""
    known = list(names)
    out = [
        distributed(_mode(known), "Normal", "m", _spreads(values.theta_scale)),
    ]
    if any(name not in ("gaussian", "laplace") for name in known):
        shape = _n(values.share_alpha), _n(values.share_beta)
        out.append(row(distributed("w", "Beta", *shape), words(" (share of the left side)")))
    linear = [name for name in known if name not in ("gaussian", "asymmetric_gaussian")]
    scale = _spreads(values.width_scale)
    if linear:
        about = row("v =", Markup("<mo>,</mo>").join(_WIDTHS[name] for name in linear))
        out.append(row(distributed("v", "InverseGamma", _n(values.width_shape), scale), _if(about)))
    if len(linear) < len(known):
        square = [_WIDTHS[name] for name in known if name not in linear]
        about = row("v =", Markup("<mo>,</mo>").join(square))
        squared = sup(row("(", scale, ")"), "2")
        of_square = distributed(sup("v", "2"), "InverseGamma", _n(values.width_shape), squared)
        out.append(row(of_square, _if(about)))
    return out


_WIDTHS = {
    "laplace": row("2 / beta"),
    "asymmetric_laplace": row("1 / beta + 1 / gamma"),
    "hybrid": row("1 / rho + sigma", root("pi / 2")),
    "gaussian": row("2 sigma"),
    "asymmetric_gaussian": row(_SL, "+", _SR),
}


def direct_priors(prior: DirectPrior, *, straight: bool) -> list[Markup]:
    """Return the model of direct log-odds: one straight line, or straight pieces."""
    start = distributed("a", "Normal", _n(prior.intercept_location), _n(prior.intercept_scale))
    level = row(_n(prior.slope_location)), row(_n(prior.slope_scale))
    if straight:
        line = row(_LOG_ODDS, "= a + b ( x -", sub("x", "0"), ")")
        return [line, start, distributed(row("log b"), "Normal", *level)]
    return _straight_pieces(start, distributed("eta", "Normal", *level), prior)


def log_odds_population() -> list[Markup]:
    """Return the model of topics' monotone log-odds, and of their population."""
    start, level = (
        distributed("a", "Normal", "mu", "tau"),
        distributed("eta", "Normal", "nu", "psi"),
    )
    hyper = ("mu", "log tau", "nu", "log psi"), HYPERPRIOR.mean, HYPERPRIOR.scale
    priors = [
        distributed(row(name), "Normal", _n(mean), _n(sd))
        for name, mean, sd in zip(*hyper, strict=True)
    ]
    return [*_straight_pieces(start, level, DirectPrior()), *priors]


def _straight_pieces(start: Markup, level: Markup, prior: DirectPrior) -> list[Markup]:
    ends = sub("x", "0"), words(" and "), "x"
    length = row("(", words("length of piece "), "j", words(" between "), *ends, ")")
    line = row(_LOG_ODDS, "= a +", sub("sum", "j"), sub("b", "j"), length)
    steps = sub("sum", words("steps to j"))
    walk = row(frac(_n(prior.walk_scale), root(row("J - 1"))), steps, "u")
    return [
        line,
        start,
        row("log", sub("b", "j"), "=", "eta", "+", walk),
        row(level, words(",  "), distributed("u", "Student t", _n(prior.walk_freedom))),
    ]


def population(power: int, *, symmetric: bool) -> list[Markup]:
    """Return the priors of topics around a population, and of the population."""
    t = "t"
    width = sub("v", t) if power == 1 else both("v", t, "2")
    scale = row("a m") if power == 1 else row("a", sup("m", "2"))
    out = [distributed(sub("theta", t), "Normal", "mu", "tau")]
    share = distributed(sub("w", t), "Beta", "kappa omega", row("kappa ( 1 - omega )"))
    out += [] if symmetric else [row(share, words(" (share of the left side)"))]
    out.append(row(distributed(width, "InverseGamma", "a", scale), words(" (width)")))
    hyper = Hyperprior.of(power)
    names = ["mu", "log tau", "logit omega", "log kappa", "log a", "log m"]
    for name, mean, sd in zip(names, hyper.mean, hyper.scale, strict=True):
        if not (symmetric and name in ("logit omega", "log kappa")):
            out.append(distributed(row(name), "Normal", _n(mean), _n(sd)))
    rates = distributed(sub("P", row("t")), "Beta", "c r", row("c ( 1 - r )"))
    out.append(row(rates, words(" (P(+) of topic t)")))
    both_rates = (("logit r", LOGIT_RATE), ("log c", LOG_CONCENTRATION))
    out += [distributed(row(name), "Normal", _n(a), _n(b)) for name, (a, b) in both_rates]
    return out


def _mode(names: list[str]) -> Markup:
    found = ["mu" if name == "gaussian" else "theta" for name in names]
    return Markup("<mo>,</mo>").join(row(name) for name in dict.fromkeys(found))


def _spreads(value: float) -> Markup:
    """Return so many spreads."""
    return row("S") if value == 1.0 else row(_n(value), "S")


def _if(condition: Markup) -> Markup:
    return row(words(",  "), condition)


def _n(value: float) -> str:
    return f"{0.0 if math.isclose(value, 0.0) else value:.3g}"
