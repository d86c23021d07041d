"""Reading the SGML of Reuters-21578: stories, their topics and their place in the ModApte split."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

STORY = re.compile(r"<REUTERS\b([^>]*)>(.*?)</REUTERS>", re.DOTALL)
ATTRIBUTE = re.compile(r'([A-Z]+)\s*=\s*"([^"]*)"')
TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
TOPIC = re.compile(r"<D>(.*?)</D>", re.DOTALL)
TEXT = re.compile(r"<TEXT\b[^>]*>(.*?)</TEXT>", re.DOTALL)
TITLE = re.compile(r"<TITLE>(.*?)</TITLE>", re.DOTALL)
BODY = re.compile(r"<BODY>(.*?)</BODY>", re.DOTALL)
# Transmission codes such as &#3;, which ends a story, and &#22;: marks, not text.
CONTROL = re.compile(r"&#(?:[0-9]|[12][0-9]|3[01]);")

# Every byte is a character: a few stories hold bytes that are neither ASCII nor UTF-8.
ENCODING = "latin-1"
PARTS = {"TRAIN": "train", "TEST": "test"}


@dataclass(frozen=True)
class Story:
    """
    One document of the corpus.

    Attributes
    ----------
    document : int
        Its NEWID.
    split : str
        Its part in the ModApte split: train, test or unused.
    topics : tuple of str
        In the order of the file, each once.
    title, text : str
        The headline; headline and body, or all text where neither is marked.
    """

    document: int
    split: str
    topics: tuple[str, ...]
    title: str
    text: str


def read_stories(content: bytes) -> Iterator[Story]:
    r"""
    Yield the stories of one SGML file, in its order.

    Parameters
    ----------
    content : bytes
        Of the file.

    Raises
    ------
    ValueError
        If a story lacks an attribute that says what it is.

    Examples
    --------
    >>> [story] = read_stories(
    ...     b'<REUTERS TOPICS="YES" LEWISSPLIT="TEST" NEWID="7"><TOPICS><D>corn</D></TOPICS>'
    ...     b"<TEXT><TITLE>Corn &amp; rice</TITLE><BODY>Up.&#3;</BODY></TEXT></REUTERS>"
    ... )
    >>> story.split, story.topics, story.text
    ('test', ('corn',), 'Corn & rice\nUp.')
    """
    for found in STORY.finditer(content.decode(ENCODING)):
        yield _story(dict(ATTRIBUTE.findall(found[1])), found[2])


def _story(attributes: dict[str, str], inner: str) -> Story:
    missing = {"NEWID", "TOPICS", "LEWISSPLIT"} - set(attributes)
    if missing:
        raise ValueError(
            f"every REUTERS element must have the attributes NEWID, TOPICS and LEWISSPLIT, got"
            f" one without {', '.join(sorted(missing))}: is the file damaged?"
        )
    text = _inside(TEXT, inner)
    title, body = _inside(TITLE, text), _inside(BODY, text)
    # ModApte takes documents that indexers saw (TOPICS="YES"), with topics or without.
    part = PARTS.get(attributes["LEWISSPLIT"]) if attributes["TOPICS"] == "YES" else None
    topics = TOPIC.findall(_inside(TOPICS, inner))
    return Story(
        document=int(attributes["NEWID"]),
        split=part or "unused",
        topics=tuple(dict.fromkeys(topics)),  # two documents name a topic twice
        title=_clean(title),
        # Unprocessed stories have neither headline nor body marked; some have a headline only.
        text=_clean(f"{title}\n{body}" if title or body else text),
    )


def _inside(element: re.Pattern[str], text: str) -> str:
    found = element.search(text)
    return found[1] if found else ""


def _clean(text: str) -> str:
    return html.unescape(CONTROL.sub(" ", text)).strip()
