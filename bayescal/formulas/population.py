"""The populations that topics are around, in formulas, and the mixture of parts."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from bayescal.engines.monotone.density import Prior
from bayescal.engines.pooled import log_odds_population as of_log_odds
from bayescal.engines.pooled.base_rates import hyperpriors_of_rates
from bayescal.engines.pooled.hyperprior import Normal
from bayescal.engines.pooled.population import NAMES, Hyperprior
from bayescal.formulas.log_odds import straight_pieces
from bayescal.formulas.mathml import both, distributed, row, sub, sup, words
from bayescal.formulas.numbers import short


def combination() -> list[Markup]:
    """Return the mixture of parts."""
    one = sub("P", "k")
    return [row("P ( + | s ) =", sub("sum", "k"), sub("w", "k"), one, "( + | s )")]


def log_odds_population(given: Mapping[str, Normal]) -> list[Markup]:
    """Return the model of topics' monotone log-odds, and of their population; see `population`."""
    start, level = (
        distributed("a", "Normal", "mu", "tau"),
        distributed("eta", "Normal", "nu", "psi"),
    )
    prior = of_log_odds.HYPERPRIOR.given(of_log_odds.NAMES, given)
    hyper = ("mu", "log tau", "nu", "log psi"), prior.mean, prior.scale
    priors = [
        distributed(row(name), "Normal", short(mean), short(sd))
        for name, mean, sd in zip(*hyper, strict=True)
    ]
    return [*straight_pieces(start, level, Prior()), *priors]


def population(power: int, *, symmetric: bool, given: Mapping[str, Normal]) -> list[Markup]:
    """
    Return the priors of topics around a population, and of the population.

    Parameters
    ----------
    power : int
        Of the sides of the densities.
    symmetric : bool
        Whether the sides are alike.
    given : mapping
        Means and standard deviations of hyperparameters, by name, that are not the usual.
    """
    t = "t"
    width = sub("v", t) if power == 1 else both("v", t, "2")
    scale = row("a m") if power == 1 else row("a", sup("m", "2"))
    out = [distributed(sub("theta", t), "Normal", "mu", "tau")]
    share = distributed(sub("w", t), "Beta", "kappa omega", row("kappa ( 1 - omega )"))
    out += [] if symmetric else [row(share, words(" (share of the left side)"))]
    out.append(row(distributed(width, "InverseGamma", "a", scale), words(" (width)")))
    hyper = Hyperprior.of(power).given(NAMES, given)
    names = ["mu", "log tau", "logit omega", "log kappa", "log a", "log m"]
    for name, mean, sd in zip(names, hyper.mean, hyper.scale, strict=True):
        if not (symmetric and name in ("logit omega", "log kappa")):
            out.append(distributed(row(name), "Normal", short(mean), short(sd)))
    rates = distributed(sub("P", row("t")), "Beta", "c r", row("c ( 1 - r )"))
    out.append(row(rates, words(" (P(+) of topic t)")))
    both_rates = zip(("logit r", "log c"), hyperpriors_of_rates(given), strict=True)
    out += [distributed(row(name), "Normal", short(a), short(b)) for name, (a, b) in both_rates]
    return out
