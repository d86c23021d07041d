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
    letter,
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

PEAK = f"the score at which the density of the class peaks is {letter('theta')}"
STEEPNESS = "the inverse of the mean distance from the peak on that side"
BELL = f"the standard deviation of the bell {letter('sigma')}"
# By the powers of the sides, and whether these are alike: what is what, before the formula.
IN_WORDS = {
    ((2, 2), True): "A bell: the score at which the density of the class peaks is"
    f" {letter('mu')}, its standard deviation {letter('sigma')}.",
    ((1, 1), True): f"A peak with the same exponential fall on both sides: {PEAK}; the steepness of"
    f" the fall, {STEEPNESS}, is {letter('beta')}.",
    ((1, 1), False): f"A peak with an exponential fall of its own on either side: {PEAK}; the"
    f" steepness of the fall, {STEEPNESS}, is {letter('beta')} towards lower scores and"
    f" {letter('gamma')} towards higher ones.",
    ((2, 2), False): f"A peak with half a bell of its own on either side: {PEAK}; {BELL} has an l,"
    " for left, towards lower scores and an r, for right, towards higher ones.",
    ((2, 1), False): "A peak with an exponential fall on the side that faces the other class and"
    f" half a bell on the other side: {PEAK}, the steepness of the fall {letter('rho')}, {BELL}.",
}
RULE = (
    "The scores s of each class have a density: p(s | +) of the positives,"
    " p(s | \N{MINUS SIGN}) of the negatives. The base rate is P(+). Bayes' rule makes log-odds of"
    " the three."
)


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
    rule = RULE
    out = [Block("Class densities", rule, (formula(bayes_rule()),))]
    if len(asinh_scales) > 1 or asinh_scales[0] != float("inf"):
        text = (
            "Scores may be warped before they are fitted, which draws in heavy tails: x is the"
            " warped score, m and S the centre and spread of all scores, c how far from the centre"
            " the warp begins; c in use,"
        )
        shown = ", ".join("\N{INFINITY}" if c == float("inf") else f"{c:g} S" for c in asinh_scales)
        out.append(Block("Warps", f"{text} {shown}.", (formula(warp()),)))
    return out + [
        Block(title(each), in_words(each), (formula(density(each)),)) for each in families
    ]


def priors(families: Sequence[Family], values: Hyperparameters, where: str) -> Block:
    """Return the priors of the families' parameters; `where` says what m and S are."""
    formulas = [formula(line) for line in density_priors(list(families), values)]
    formulas.append(formula(prior_of_labels(values)))
    text = (
        f"What is believed of each class before its scores are seen; {where}. {_told(families)}"
        " The base rate is P(+). The priors vanish at width 0, where the likelihood degenerates."
    )
    return Block("Priors of the densities", text, tuple(formulas))


def _told(families: Iterable[Family]) -> str:
    """Return what the symbols of the priors mean."""
    skewed = any(not family.symmetric for family in families)
    share = " the share of the left side in the width w," if skewed else ""
    return f"The peak is {letter('mu')} or {letter('theta')},{share} the width of the density v."


def title(family: Family) -> str:
    """Return the name of a family as a heading."""
    return family.name.replace("_", " ").title()


def in_words(family: Family) -> str:
    """Return what the density of a family is and what its symbols mean."""
    return IN_WORDS[family.powers, family.symmetric]


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
