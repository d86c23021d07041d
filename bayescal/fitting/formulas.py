"""Class densities in formulas: Bayes' rule, warps, the families and their priors."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from bayescal.families import Family
from bayescal.fitting.engines.classifier_weights.model import WeightsPrior
from bayescal.fitting.engines.combination import LAPSE_PRIOR
from bayescal.fitting.engines.exact.mixture import Hyperparameters, resolve
from bayescal.fitting.engines.monotone.density import Prior
from bayescal.fitting.engines.monotone.engine import LogOddsPopulation
from bayescal.fitting.engines.pooled import log_odds as of_log_odds
from bayescal.fitting.engines.pooled.population import (
    DENSITY_NAMES,
    LOG_ODDS_NAMES,
    Hyperprior,
    Normal,
    hyperpriors_of_rates,
)
from bayescal.support.mathml import (
    both,
    cases,
    distributed,
    formula,
    frac,
    in_text,
    letter,
    root,
    row,
    short,
    sub,
    sup,
    words,
)


@dataclass(frozen=True)
class Block:
    """A part of a model as reports describe it."""

    title: str  # in words
    text: str
    formulas: tuple[Markup, ...] = ()  # mathML


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


def density_blocks(
    families: tuple[Family, ...],
    asinh_scales: tuple[float, ...],
    scale: tuple[float, float] | None,
    hyperparameters: Mapping[str, float],
) -> list[Block]:
    """Return the densities and their priors."""
    values = resolve(families, scale or (0.0, 1.0), hyperparameters)
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
    """Return the meanings of the priors' symbols."""
    skewed = any(not family.symmetric for family in families)
    share = " the share of the left side in the width w," if skewed else ""
    return f"The peak is {letter('mu')} or {letter('theta')},{share} the width of the density v."


def title(family: Family) -> str:
    """Return the name of a family as a heading."""
    return family.name.replace("_", " ").title()


def in_words(family: Family) -> str:
    """Return the density of a family and the meanings of its symbols."""
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
    """Return the definition of v."""
    widths = _all(_WIDTHS[family.powers, family.symmetric] for family in families)
    return row(words(",  "), row("v =", widths))


def _all(each: Iterable[Markup]) -> Markup:
    return Markup("<mo>,</mo>").join(each)


def _spreads(value: float) -> Markup:
    """Return so many spreads."""
    return row("S") if value == 1.0 else row(short(value), "S")


# The weights of several classifiers in formulas, with their priors.


def classifier_weight_blocks(
    prior: WeightsPrior, *, indicators: int, moderators: int
) -> list[Block]:
    """Return the combination of classifiers, and what is believed of it before labels are seen."""
    evidence = row("(", sub("lambda", "i"), "-", sub("lambda", "0"), ")")
    weight = sub("w", "i")
    if moderators:
        shifted = row(sub("sum", "j"), sub("u", "i j"), sub("z", "j"))
        weight = row("(", weight, "+", shifted, ")")
    line = row(
        "logit P ( + | x ) =", sub("lambda", "0"), "+ b +", sub("sum", "i"), weight, evidence
    )
    if indicators:
        line = row(line, "+", sub("sum", "j"), sub("v", "j"), sub("r", "j"))
    return [
        Block("Combination", _in_words(indicators, moderators), (formula(line),)),
        Block(
            "Priors",
            _of_population(indicators),
            tuple(map(formula, _priors(prior, indicators, moderators))),
        ),
    ]


def _in_words(indicators: int, moderators: int) -> str:
    text = (
        f"Each classifier's score is calibrated by itself: {letter('lambda')} with i are its"
        f" log-odds, with 0 those of the base rate, w its weight and b a bias."
    )
    if indicators:
        text += f" The {indicators} indicators r are standardised; v is what each adds."
    if moderators:
        text += (
            f" Weights differ between documents by {moderators} moderators z, principal components"
            " of the indicators, with the coefficients u."
        )
    return text + " A band holds what is unknown of the calibration curves and of the coefficients."


def _of_population(indicators: int) -> str:
    text = (
        f"{letter('mu')} are the weights of a population of problems, {letter('tau')} how far a"
        " problem's own are from them; m is larger for classifiers that are probably the best, and"
        " sums to 1 over all."
    )
    return text + (f" {letter('kappa')} is how much indicators matter." if indicators else "")


def _priors(prior: WeightsPrior, indicators: int, moderators: int) -> list[Markup]:
    lines = [
        distributed("b", "Normal", "0", short(prior.bias_scale)),
        distributed(sub("mu", "i"), "Normal", sub("m", "i"), short(prior.population_scale)),
        distributed(sub("w", "i"), "Normal", sub("mu", "i"), "tau"),
        _scale("tau", prior.scale, prior.log_scale_sd),
    ]
    if indicators:
        lines.append(distributed(sub("v", "j"), "Normal", "0", "kappa"))
        lines.append(_scale("kappa", prior.shift_scale, prior.log_shift_sd))
    if moderators:
        lines.append(distributed(sub("u", "i j"), "Normal", "0", "rho"))
        lines.append(_scale("rho", prior.weight_shift_scale, prior.log_weight_shift_sd))
    return lines


def _scale(name: str, median: float, sd: float) -> Markup:
    return distributed(name, "LogNormal", f"log {short(median)}", short(sd))


# Lapses in words and formulas.

TEXT = (
    f"A share {letter('lambda')} of documents have labels that have nothing to do with their score."
    " P with index 0 is what the parts say together, P(+) the base rate."
)
LEARNT = f" Labels left out tell {letter('lambda')}."


def lapse_blocks(rate: float | None) -> list[Block]:
    """Return the lapses of a combination; no block where there are none."""
    if rate == 0.0:
        return []
    before = row(sub("P", "0"), "( + | s )")
    mixture = formula("P ( + | s ) = ( 1 - lambda )", before, "+ lambda P ( + )")
    if rate is not None:
        return [Block("Lapses", f"{TEXT} The rate is fixed at {rate:g}.", (mixture,))]
    prior = formula(distributed("lambda", "Beta", *map(short, LAPSE_PRIOR)))
    return [Block("Lapses", TEXT + LEARNT, (mixture, prior))]


# Log-odds in straight pieces in formulas, with their priors.

START = (
    "The log-odds at x\N{SUBSCRIPT ZERO}, the median of x with both classes weighing alike, are a"
)
STRAIGHT = f"{START}; the slope is b."
PIECES = (
    f"{START}; the slope of piece j is b with j, and there are J pieces. The logarithm of the slope"
    f" at x\N{SUBSCRIPT ZERO} is {letter('eta')}, and u is a step from one piece's to the"
    " next one's."
)
_LOG_ODDS = row("log", frac(row("P ( + | x )"), row("P ( - | x )")))


def block(
    title: str,
    text: str,
    hyperparameters: Mapping[str, float],
    scale: tuple[float, float] | None,
    *,
    straight: bool = False,
    along_densities: bool = False,
) -> Block:
    """Return log-odds that rise with x."""
    others = dict(hyperparameters)
    own = [others.pop(name, None) for name in ("centre", "spread")]
    if scale is not None:
        own = [value if each is None else each for each, value in zip(own, scale, strict=True)]
    lines = direct_priors(Prior(**others), straight=straight)
    along = "the log-odds that the densities give"
    if not along_densities:
        along = f"the score, standardised by {in_text(own[0], 'm')} and {in_text(own[1], 'S')}"
    words = STRAIGHT if straight else PIECES
    return Block(title, f"{text} Here x is {along}. {words}", tuple(map(formula, lines)))


def block_of_populations(title: str, text: str, populations: Sequence[LogOddsPopulation]) -> Block:
    """Return log-odds around the likeliest of several populations, each in a sentence."""
    known = [
        f"{each.name}, log-odds of {each.prior.intercept_location:.2g} within"
        f" {each.prior.intercept_scale:.2g} at a score of {each.reference_score:.3g}, where they"
        f" rise by {each.usual_slope:.2g} a unit of the score, more or less by a factor of"
        f" {math.exp(each.prior.slope_scale):.2g}"
        for each in populations
    ]
    return Block(title, f"{text} The populations are: {'; '.join(known)}.")


def direct_priors(prior: Prior, *, straight: bool) -> list[Markup]:
    """Return the model of log-odds fits: one straight line, or straight pieces."""
    start = distributed(
        "a", "Normal", short(prior.intercept_location), short(prior.intercept_scale)
    )
    level = row(short(prior.slope_location)), row(short(prior.slope_scale))
    if straight:
        line = row(_LOG_ODDS, "= a + b ( x -", sub("x", "0"), ")")
        return [line, start, distributed(row("log b"), "Normal", *level)]
    return straight_pieces(start, distributed("eta", "Normal", *level), prior)


def straight_pieces(start: Markup, level: Markup, prior: Prior) -> list[Markup]:
    """Return log-odds in straight pieces, given the priors of start and level."""
    ends = sub("x", "0"), words(" and "), "x"
    length = row("(", words("length of piece "), "j", words(" between "), *ends, ")")
    line = row(_LOG_ODDS, "= a +", sub("sum", "j"), sub("b", "j"), length)
    steps = sub("sum", words("steps to j"))
    walk = row(frac(short(prior.walk_scale), root(row("J - 1"))), steps, "u")
    return [
        line,
        start,
        row("log", sub("b", "j"), "=", "eta", "+", walk),
        row(level, words(",  "), distributed("u", "Student t", short(prior.walk_freedom))),
    ]


# The populations that topics are around, in formulas, and the mixture of parts.


def combination() -> list[Markup]:
    """Return the mixture of parts."""
    one = sub("P", "k")
    return [row("P ( + | s ) =", sub("sum", "k"), sub("w", "k"), one, "( + | s )")]


def log_odds_population(hyperpriors: Mapping[str, Normal]) -> list[Markup]:
    """Return the model of topics' monotone log-odds, and of their population; see `population`."""
    start, level = (
        distributed("a", "Normal", "mu", "tau"),
        distributed("eta", "Normal", "nu", "psi"),
    )
    prior = of_log_odds.HYPERPRIOR.with_values(LOG_ODDS_NAMES, hyperpriors)
    hyper = ("mu", "log tau", "nu", "log psi"), prior.mean, prior.scale
    priors = [
        distributed(row(name), "Normal", short(mean), short(sd))
        for name, mean, sd in zip(*hyper, strict=True)
    ]
    return [*straight_pieces(start, level, Prior()), *priors]


def population(power: int, *, symmetric: bool, hyperpriors: Mapping[str, Normal]) -> list[Markup]:
    """Return the priors of topics around a population, and of the population."""
    t = "t"
    width = sub("v", t) if power == 1 else both("v", t, "2")
    scale = row("a m") if power == 1 else row("a", sup("m", "2"))
    out = [distributed(sub("theta", t), "Normal", "mu", "tau")]
    share = distributed(sub("w", t), "Beta", "kappa omega", row("kappa ( 1 - omega )"))
    out += [] if symmetric else [row(share, words(" (share of the left side)"))]
    out.append(row(distributed(width, "InverseGamma", "a", scale), words(" (width)")))
    hyper = Hyperprior.of(power).with_values(DENSITY_NAMES, hyperpriors)
    names = ["mu", "log tau", "logit omega", "log kappa", "log a", "log m"]
    for name, mean, sd in zip(names, hyper.mean, hyper.scale, strict=True):
        if not (symmetric and name in ("logit omega", "log kappa")):
            out.append(distributed(row(name), "Normal", short(mean), short(sd)))
    rates = distributed(sub("P", row("t")), "Beta", "c r", row("c ( 1 - r )"))
    out.append(row(rates, words(" (P(+) of topic t)")))
    both_rates = zip(("logit r", "log c"), hyperpriors_of_rates(hyperpriors), strict=True)
    out += [distributed(row(name), "Normal", short(a), short(b)) for name, (a, b) in both_rates]
    return out
