"""Sentences of e-mail with and without a request or a promise, as Parakweet Labs publishes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.text import sentence_tokens

TRAINING, TEST = "Ask0729-fixed.txt", "testSet-qualifiedBatch-fixed.txt"
SOURCE = "github.com/ParakweetLabs/EmailIntentDataSet, folder src/resources"
LABELS = {"Yes": True, "No": False}


@dataclass(frozen=True)
class Sentences:
    """
    Labelled sentences.

    Attributes
    ----------
    texts : array of shape (n,) of str
        Sentences.
    positive : array of shape (n,) of bool
        Which of them ask for something or promise it.
    """

    texts: NDArray[Any]
    positive: NDArray[np.bool_]

    def take(self, rows: NDArray[np.intp]) -> Sentences:
        """Return some of the sentences."""
        return Sentences(self.texts[rows], self.positive[rows])


def read_files(folder: Path) -> tuple[Sentences, Sentences]:
    """
    Return the sentences of the training file, and those of the test file that are not in it.

    Repetitions, of which there are 27, are left out: one that is held out would be known.

    Parameters
    ----------
    folder : Path
        With both files.

    Raises
    ------
    ValueError
        If a file is missing, or a line is not as expected.
    """
    missing = [name for name in (TRAINING, TEST) if not (folder / name).is_file()]
    if missing:
        raise ValueError(
            f"--data must be a folder with {TRAINING} and {TEST} (of {SOURCE}), got {folder}"
            f" without {' and '.join(missing)}."
        )
    training, test = (read_sentences(folder / name) for name in (TRAINING, TEST))
    known = without_repetitions(training)
    both = without_repetitions(together(known, test))
    return known, both.take(np.arange(known.positive.size, both.positive.size))


def read_sentences(path: Path) -> Sentences:
    """
    Return the sentences of a file: a line is Yes or No, a tab, and a sentence.

    Parameters
    ----------
    path : Path
        A text file; bytes that are not UTF-8 are replaced.

    Raises
    ------
    ValueError
        If a line is not as expected.
    """
    # Only line feeds end lines here: some sentences hold other characters that might.
    lines = path.read_bytes().decode("utf-8", errors="replace").split("\n")
    texts, labels = [], []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        label, tab, text = line.partition("\t")
        if label not in LABELS or not tab or not text.strip():
            raise ValueError(
                f"line {number} of {path} must be Yes or No, a tab and a sentence, got"
                f" {line[:60]!r}."
            )
        texts.append(text.strip())
        labels.append(LABELS[label])
    return Sentences(np.array(texts, dtype=object), np.array(labels, dtype=np.bool_))


def together(first: Sentences, second: Sentences) -> Sentences:
    """Return the sentences of both, those of the first before those of the second."""
    return Sentences(
        np.concatenate([first.texts, second.texts]),
        np.concatenate([first.positive, second.positive]),
    )


def without_repetitions(sentences: Sentences) -> Sentences:
    """Return each sentence once, at its first place; equal are those of the same tokens."""
    first: dict[tuple[str, ...], int] = {}
    for row, text in enumerate(sentences.texts):
        first.setdefault(tuple(sentence_tokens(text)), row)
    return sentences.take(np.fromiter(first.values(), dtype=np.intp))
