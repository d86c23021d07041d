"""Something of a model, as a report tells it."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True)
class Block:
    """
    Something of a model, as a report tells it.

    Attributes
    ----------
    title, text : str
        In words.
    formulas : tuple of Markup
        MathML.
    """

    title: str
    text: str
    formulas: tuple[Markup, ...] = ()
