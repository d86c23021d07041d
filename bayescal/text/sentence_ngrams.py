"""Words and n-grams of sentences, with the beginning, the end and the punctuation of a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sklearn.feature_extraction.text import CountVectorizer

from bayescal.validation import check_count

# Neither can be a token: these hold letters, digits or one mark of punctuation.
BEGINNING, END = "<s>", "</s>"
LONGEST = 4
# Words with inner hyphens, apostrophes and points; and the punctuation that ends sentences.
TOKEN = re.compile(r"\w+(?:[-'\u2019.]\w+)*|[.!?]")
# After punctuation that ends a sentence, and where a line is empty.
BOUNDARY = re.compile(r"(?<=[.!?])\s+|\n\s*\n")

Split = Callable[[str], Sequence[str]]


def split_sentences(document: str) -> list[str]:
    """
    Return the sentences of a document by a simple rule.

    A sentence ends at `.`, `!` or `?` before white space, or at an empty line. Abbreviations
    followed by a space end one too; where that matters, split by a parser and give its sentences.

    Parameters
    ----------
    document : str
        Text.

    Examples
    --------
    >>> split_sentences("Thanks! Can you send the 2.1 draft?  Bob")
    ['Thanks!', 'Can you send the 2.1 draft?', 'Bob']
    """
    return [part.strip() for part in BOUNDARY.split(document) if part.strip()]


def sentence_tokens(sentence: str) -> list[str]:
    """
    Return the words of a sentence in lower case, and its sentence-ending punctuation.

    One letter is a word too, and `.`, `!` and `?` are tokens: "I" and "?" tell requests from
    reports. Points within words and numbers are no tokens.

    Parameters
    ----------
    sentence : str
        Text.

    Examples
    --------
    >>> sentence_tokens("Could I have it by 5.30 p.m.?")
    ['could', 'i', 'have', 'it', 'by', '5.30', 'p.m', '.', '?']
    """
    return TOKEN.findall(sentence.lower())


def ngrams(tokens: Sequence[str], longest: int) -> list[str]:
    """
    Return all n-grams of tokens, from single ones up to a length.

    Parameters
    ----------
    tokens : sequence of str
        In their order.
    longest : int
        Tokens in the longest n-grams.

    Examples
    --------
    >>> ngrams(["let", "me", "know"], 2)
    ['let', 'me', 'know', 'let me', 'me know']
    """
    return [
        " ".join(tokens[start : start + size])
        for size in range(1, longest + 1)
        for start in range(len(tokens) - size + 1)
    ]


@dataclass(frozen=True)
class SentenceAnalyzer:
    """
    What `CountVectorizer` counts of a text: the n-grams of its sentences, none across two.

    Attributes
    ----------
    longest : int
        Tokens in the longest n-grams.
    boundaries : bool
        Whether the beginning and the end of a sentence are tokens.
    split : callable, optional
        From a document to its sentences; None if each text is one sentence.
    """

    longest: int
    boundaries: bool
    split: Split | None = None

    def __call__(self, text: str) -> list[str]:
        """Return what is counted."""
        sentences = [text] if self.split is None else self.split(text)
        return [each for one in sentences for each in ngrams(self._tokens(one), self.longest)]

    def _tokens(self, sentence: str) -> list[str]:
        tokens = sentence_tokens(sentence)
        return [BEGINNING, *tokens, END] if self.boundaries else tokens


def sentence_words(*, split: Split | None = None) -> CountVectorizer:
    """
    Return a vectoriser that counts words and sentence-ending punctuation.

    Parameters
    ----------
    split : callable, optional
        From a document to its sentences, such as `split_sentences`; None if each text is one.

    References
    ----------
    The bag of words of Bennett's dissertation, section 10.3.

    Examples
    --------
    >>> sentence_words().fit(["Can you come?"]).get_feature_names_out().tolist()
    ['?', 'can', 'come', 'you']
    """
    return CountVectorizer(analyzer=SentenceAnalyzer(1, boundaries=False, split=split))


def sentence_ngrams(longest: int = LONGEST, *, split: Split | None = None) -> CountVectorizer:
    """
    Return a vectoriser that counts all n-grams of sentences, with their beginning and end.

    Each occurrence of an n-gram is one of all n-grams within it too, so that classifiers can fall
    back on shorter ones. The beginning `<s>` and the end `</s>` of a sentence are tokens, for
    e-mail lacks punctuation; no n-gram reaches across two sentences.

    Parameters
    ----------
    longest : int
        Tokens in the longest n-grams, the two that bound a sentence included.
    split : callable, optional
        From a document to its sentences, such as `split_sentences`; None if each text is one.

    Raises
    ------
    ValueError
        If `longest` is no positive integer.

    References
    ----------
    Bennett's dissertation, section 10.3.

    Examples
    --------
    >>> vectorizer = sentence_ngrams(2).fit(["Have you?"])
    >>> vectorizer.get_feature_names_out().tolist()
    ['</s>', '<s>', '<s> have', '?', '? </s>', 'have', 'have you', 'you', 'you ?']
    """
    check_count("longest", longest)
    return CountVectorizer(analyzer=SentenceAnalyzer(longest, boundaries=True, split=split))
