"""Log-odds in straight pieces in formulas, with their priors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from bayescal.engines.monotone.density import Prior
from bayescal.engines.monotone.population import LogOddsPopulation
from bayescal.formulas.block import Block
from bayescal.formulas.mathml import distributed, formula, frac, letter, root, row, sub, words
from bayescal.formulas.numbers import in_text, short

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
    given: Mapping[str, float],
    scale: tuple[float, float] | None,
    *,
    straight: bool = False,
    along_densities: bool = False,
) -> Block:
    """
    Return log-odds that rise with x.

    Parameters
    ----------
    title, text : str
        What they are, in words.
    given : mapping of str to float
        Hyperparameters that are not the defaults; centre and spread among them.
    scale : tuple of float or None
        Centre and spread of the scores; None where problems have each their own.
    straight : bool
        Whether they are one straight line.
    along_densities : bool
        Whether x is the log-odds that class densities give.
    """
    others = dict(given)
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
