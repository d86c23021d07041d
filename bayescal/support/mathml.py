"""Formulas as MathML, which browsers draw by themselves.

Pieces are texts of words with blanks between: names of Greek letters become letters, numbers
numbers, and other single words identifiers; what a function of this module made stays.
"""

import math
import re
import unicodedata

from markupsafe import Markup, escape

OPERATORS = {"-": "\N{MINUS SIGN}", "<=": "≤", "~": "\N{TILDE OPERATOR}", "sum": "∑"}
FUNCTIONS = ("log", "logit", "exp", "asinh")
SPACE = Markup('<mspace width="0.17em"></mspace>')
NUMBER = re.compile(r"-?[\d.,]+(e-?\d+)?$")
NAME = re.compile(r"[A-Za-z]+$")

Piece = str | Markup


def formula(*pieces: Piece, block: bool = True) -> Markup:
    """Return a formula."""
    shown = Markup(' display="block"') if block else Markup()
    return Markup("<math{}>{}</math>").format(shown, row(*pieces))


def row(*pieces: Piece) -> Markup:
    """Return pieces one after the other."""
    return Markup().join(_read(piece) for piece in pieces)


def frac(above: Piece, below: Piece) -> Markup:
    """Return a fraction."""
    return _tag("mfrac", above, below)


def sub(base: Piece, index: Piece) -> Markup:
    """Return a base with an index."""
    return _tag("msub", base, index)


def sup(base: Piece, power: Piece) -> Markup:
    """Return a base with an exponent."""
    return _tag("msup", base, power)


def both(base: Piece, index: Piece, power: Piece) -> Markup:
    """Return a base with index and exponent."""
    return _tag("msubsup", base, index, power)


def root(inside: Piece) -> Markup:
    """Return a square root."""
    return _tag("msqrt", inside)


def words(text: str) -> Markup:
    """Return upright text inside a formula; blanks at its ends stay."""
    return Markup("<mtext>{}</mtext>").format(text.replace(" ", "\u00a0"))


def cases(*lines: tuple[Piece, Piece]) -> Markup:
    """Return alternatives after a brace, each with its condition."""
    rows = Markup().join(
        Markup("<mtr><mtd>{}</mtd><mtd>{}</mtd></mtr>").format(_read(value), _read(condition))
        for value, condition in lines
    )
    brace = Markup('<mo stretchy="true" fence="true">{</mo>')
    return Markup("<mrow>{}<mtable>{}</mtable></mrow>").format(brace, rows)


def distributed(name: Piece, distribution: str, *parameters: Piece) -> Markup:
    """Return name ~ Distribution(parameters)."""
    inside = Markup("<mo>,</mo>").join(row(each) for each in parameters)
    opening = Markup('<mo stretchy="false">(</mo>')
    closing = Markup('<mo stretchy="false">)</mo>')
    return row(name, "~", words(distribution)) + opening + inside + closing


def _tag(tag: str, *pieces: Piece) -> Markup:
    inside = Markup().join(Markup("<mrow>{}</mrow>").format(_read(piece)) for piece in pieces)
    return Markup("<{0}>{1}</{0}>").format(Markup(tag), inside)


def _read(piece: Piece) -> Markup:
    if isinstance(piece, Markup):
        return piece
    return Markup().join(_word(word) for word in piece.split())


def _word(word: str) -> Markup:
    if (greek := _greek(word)) is not None:
        return Markup("<mi>{}</mi>").format(greek)
    if word in FUNCTIONS:
        return SPACE + Markup("<mi>{}</mi>").format(word) + SPACE
    if NUMBER.match(word):
        return Markup("<mn>{}</mn>").format(word.replace("-", "\N{MINUS SIGN}"))
    if word == "sum" or not NAME.match(word):
        return Markup("<mo>{}</mo>").format(OPERATORS.get(word, word))
    return Markup("<mi>{}</mi>").format(escape(word))


def letter(name: str) -> str:
    """Return a Greek letter's name with the letter, for sentences before formulas."""
    return f"{name} ({_greek(name)})"


def _greek(name: str) -> str | None:
    """Return the Greek letter of a name; None for other words."""
    try:
        # Unicode spells one of them in its own way.
        return unicodedata.lookup(f"GREEK SMALL LETTER {name.replace('lambda', 'lamda')}")
    except KeyError:
        return None


# Numbers in formulas and beside them.


def short(value: float) -> str:
    """Return a number with three digits."""
    return f"{0.0 if math.isclose(value, 0.0) else value:.3g}"


def in_text(value: float | None, name: str = "") -> str:
    """Return a number as text, or the name of one that problems have each their own of."""
    return name if value is None else f"{value:.4g}".replace("-", "\N{MINUS SIGN}")
