"""Lapses in words and formulas."""

from __future__ import annotations

from bayescal.engines.lapse import PRIOR
from bayescal.formulas.block import Block
from bayescal.formulas.mathml import distributed, formula, letter, row, sub
from bayescal.formulas.numbers import short

TEXT = (
    f"A share {letter('lambda')} of documents have labels that have nothing to do with their score."
    " P with index 0 is what the parts say together, P(+) the base rate."
)
LEARNT = f" Labels left out tell {letter('lambda')}."


def blocks(rate: float | None) -> list[Block]:
    """
    Return the lapses of a combination; no block where there are none.

    Parameters
    ----------
    rate : float or None
        The rate, where it is fixed; None where labels left out tell it.
    """
    if rate == 0.0:
        return []
    before = row(sub("P", "0"), "( + | s )")
    mixture = formula("P ( + | s ) = ( 1 - lambda )", before, "+ lambda P ( + )")
    if rate is not None:
        return [Block("Lapses", f"{TEXT} The rate is fixed at {rate:g}.", (mixture,))]
    prior = formula(distributed("lambda", "Beta", *map(short, PRIOR)))
    return [Block("Lapses", TEXT + LEARNT, (mixture, prior))]
