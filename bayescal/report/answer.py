"""The answer of held-out documents to the question whether the probabilities are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy import stats

# Of the test of one topic: so many are called off by chance where nothing is.
BY_CHANCE = 0.05
UNKNOWN = "Nobody can tell yet: no held-out documents were given."
ASK_FOR_LABELS = (
    "Only documents whose classes are known, and which the fit has not seen, can tell whether the"
    " probabilities are right. What to do: label some two hundred documents or more, drawn at"
    " random from those that the probabilities are for, and write this report again with them."
)


@dataclass(frozen=True)
class Answer:
    """Whether the probabilities are right."""

    # {"good", "warning", "unknown", "missing"}: no sign that they are off; a sign; too few
    # documents, or too few labels fitted, to tell; no held-out documents at all
    state: str
    # The answer in a sentence
    headline: str
    # What it rests on, and what to do
    text: str


def answer_of(tested: dict[str, Any] | None, off: tuple[int, int]) -> Answer:
    """
    Return the answer of all held-out documents together.

    Examples
    --------
    >>> answer_of(None, (0, 0)).state
    'missing'
    """
    if tested is None:
        return Answer("missing", UNKNOWN, ASK_FOR_LABELS)
    number, topics = off
    text = tested["verdict"]
    # Of several topics together there is no one prior to set: what to do stands with each topic.
    text += _apart(number, topics) if topics > 1 else f" {tested['advice']}"
    if not tested["calibrated"]:
        return Answer("warning", "No: held-out documents show that they are off.", text.strip())
    if topics > 1 and stats.binom.sf(number - 1, topics, BY_CHANCE) < BY_CHANCE:
        headline = (
            f"Not for every topic: {number} of {topics} are off, though all together are not."
        )
        return Answer("warning", headline, text)
    if tested["outcome"] == "uncertain":
        headline = "Within what the bands allow: more labels would narrow them."
        return Answer("unknown", headline, text.strip())
    if not tested["informative"]:
        return Answer("unknown", "The held-out documents are too few to tell.", text.strip())
    return Answer("good", "Yes, as far as the held-out documents can tell.", text.strip())


def _apart(number: int, topics: int) -> str:
    which = " The table of topics says which." if number else ""
    return (
        f" Tested one by one, {number} of {topics} topics are off at 5 %; by chance alone it would"
        f" be {BY_CHANCE * topics:.2g} or so.{which}"
    )
