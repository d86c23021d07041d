"""Class densities in formulas: Bayes' rule, warps, the families and their priors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from bayescal.engines.exact.hyperparameters import Hyperparameters, resolve
from bayescal.families import Family
from bayescal.formulas.block import Block
from bayescal.formulas.mathml import (
    cases,
    distributed,
    formula,
    frac,
    root,
    row,
    sub,
    sup,
    words,
)
from bayescal.formulas.numbers import in_text, short


def _exp(inside: Markup) -> Markup:
    return row("exp (", "-", inside, ")")


def _exponential(rate: str, distance: str) -> Markup:
    return _exp(row(f"{rate} (", distance, ")"))


def _square(sigma: Markup) -> Markup:
    return _exp(frac(row("(", "s - theta", sup(")", "2")), row("2", sup(sigma, "2"))))


_LEFT, _RIGHT = row("s <= theta"), row("s > theta")
_SL, _SR = sub("sigma", "l"), sub("sigma", "r")
_SCORE = row("p ( s )", "=")

# By the powers of the sides, and whether these are alike.
DENSITIES = {
    ((2, 2), True): row(
        _SCORE, frac("1", row("sigma", root("2 pi"))),
        _exp(frac(row("(", "s - mu", sup(")", "2")), row("2", sup("sigma", "2")))),
    ),
    ((1, 1), True): row(_SCORE, frac("beta", "2"), _exp(row("beta | s - theta |"))),
    ((1, 1), False): row(
        _SCORE, frac("beta gamma", "beta + gamma"),
        cases(
            (_exponential("beta", "theta - s"), _LEFT),
            (_exponential("gamma", "s - theta"), _RIGHT),
        ),
    ),
    ((2, 2), False): row(
        _SCORE, frac("2", row(root("2 pi"), "(", _SL, "+", _SR, ")")),
        cases((_square(_SL), _LEFT), (_square(_SR), _RIGHT)),
    ),
    ((2, 1), False): row(
        _SCORE, frac("1", row("1 / rho + sigma", root("pi / 2"))),
        cases(
            (_exp(row("rho | s - theta |")), words("facing the other class")),
            (_square(row("sigma")), words("outside")),
        ),
    ),
}  # fmt: skip

EITHER = "Density of either class."


def blocks(
    families: tuple[Family, ...],
    asinh_scales: tuple[float, ...],
    scale: tuple[float, float] | None,
    given: Mapping[str, float],
) -> list[Block]:
    """
    Return the densities and their priors.

    Parameters
    ----------
    families : tuple of Family
        Of the densities.
    asinh_scales : tuple of float
        Of the warps, in spreads.
    scale : tuple of float or None
        Centre and spread of the scores; None where problems have each their own.
    given : mapping of str to float
        Hyperparameters that are not the defaults.
    """
    values = resolve(families, scale or (0.0, 1.0), given)
    where = (
        "m and S are the robust centre and spread of all scores of a topic, labels ignored"
        if scale is None
        else f"m = {in_text(values.centre)} and S = {in_text(values.spread)} are the robust centre"
        " and spread of all scores, labels ignored"
    )
    return [*likelihood(families, asinh_scales), priors(families, values, where)]


def likelihood(families: tuple[Family, ...], asinh_scales: tuple[float, ...]) -> list[Block]:
    """Return Bayes' rule, the warps and the families."""
    rule = "Each class has a density of the score s; Bayes' rule makes log-odds of the two."
    out = [Block("Class densities", rule, (formula(bayes_rule()),))]
    if len(asinh_scales) > 1 or asinh_scales[0] != float("inf"):
        text = "Scores may be warped before they are fitted, which draws in heavy tails; c in use,"
        shown = ", ".join("\N{INFINITY}" if c == float("inf") else f"{c:g} S" for c in asinh_scales)
        out.append(Block("Warps", f"{text} {shown}.", (formula(warp()),)))
    return out + [Block(title(each), EITHER, (formula(density(each)),)) for each in families]


def priors(families: Iterable[Family], values: Hyperparameters, where: str) -> Block:
    """Return the priors of the families' parameters; `where` says what m and S are."""
    formulas = [formula(line) for line in density_priors(list(families), values)]
    formulas.append(formula(prior_of_labels(values)))
    text = f"Of each class; {where}. They vanish at width 0, where the likelihood degenerates."
    return Block("Priors of the densities", text, tuple(formulas))


def title(family: Family) -> str:
    """Return the name of a family as a heading."""
    return family.name.replace("_", " ").title()


def density(family: Family) -> Markup:
    """Return the density of a family."""
    return DENSITIES[family.powers, family.symmetric]


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


def prior_of_labels(values: Hyperparameters) -> Markup:
    """Return the prior of P(+)."""
    return distributed(row("P ( + )"), "Beta", short(values.prior_alpha), short(values.prior_beta))


def density_priors(families: Sequence[Family], values: Hyperparameters) -> list[Markup]:
    """Return the priors of mode, share and width of families."""
    modes = dict.fromkeys(family.parameters[0] for family in families)
    out = [distributed(_all(map(row, modes)), "Normal", "m", _spreads(values.theta_scale))]
    if not all(family.symmetric for family in families):
        shape = short(values.share_alpha), short(values.share_beta)
        out.append(row(distributed("w", "Beta", *shape), words(" (share of the left side)")))
    scale, shape_of_width = _spreads(values.width_scale), short(values.width_shape)
    # Of two Gaussian sides the square of the width has the prior.
    squared = [family for family in families if family.powers == (2, 2)]
    linear = [family for family in families if family.powers != (2, 2)]
    if linear:
        of_width = distributed("v", "InverseGamma", shape_of_width, scale)
        out.append(row(of_width, _where_width(linear)))
    if squared:
        square = sup(row("(", scale, ")"), "2")
        of_square = distributed(sup("v", "2"), "InverseGamma", shape_of_width, square)
        out.append(row(of_square, _where_width(squared)))
    return out


_WIDTHS = {
    ((1, 1), True): row("2 / beta"),
    ((1, 1), False): row("1 / beta + 1 / gamma"),
    ((2, 1), False): row("1 / rho + sigma", root("pi / 2")),
    ((2, 2), True): row("2 sigma"),
    ((2, 2), False): row(_SL, "+", _SR),
}


def _where_width(families: Iterable[Family]) -> Markup:
    """Return what v is."""
    widths = _all(_WIDTHS[family.powers, family.symmetric] for family in families)
    return row(words(",  "), row("v =", widths))


def _all(each: Iterable[Markup]) -> Markup:
    return Markup("<mo>,</mo>").join(each)


def _spreads(value: float) -> Markup:
    """Return so many spreads."""
    return row("S") if value == 1.0 else row(short(value), "S")
