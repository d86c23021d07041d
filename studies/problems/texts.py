"""Short texts: sentences, questions and messages."""

from __future__ import annotations

import lzma
from collections import Counter
from pathlib import Path
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from studies.problems.data_set import DataSet, one_of, with_random_test

NAMES = ("sms_spam", "email_intent", "questions", "subjectivity", "sentence_polarity")
# Fine classes of questions with fewer are left out.
LEAST_DOCUMENTS = 20

Texts = NDArray[np.object_]


def load(data: Path, name: str, seed: int) -> DataSet:
    """Return the texts of a data set, and their classes."""
    return READERS[name](data, seed)


def _sms_spam(data: Path, seed: int) -> DataSet:
    content = lzma.decompress((data / "text" / "sms_spam.tsv.xz").read_bytes())
    kinds, texts = _columns(content.decode("utf-8", "replace"), "\t")
    return with_random_test("sms_spam", "texts", ("spam",), texts, one_of(kinds, ("spam",)), seed)


def _email_intent(data: Path, seed: int) -> DataSet:
    files = ("Ask0729-fixed.txt", "testSet-qualifiedBatch-fixed.txt")
    parts = [(data / "email_intent" / file).read_text(encoding="latin-1") for file in files]
    (kinds, train), (test_kinds, test) = (_columns(part, "\t") for part in parts)
    label, test_label = one_of(kinds, ("Yes",)), one_of(test_kinds, ("Yes",))
    classes = ("intent",)
    return DataSet("email_intent", "texts", classes, train, label, test, test_label, "separate")


def _questions(data: Path, seed: int) -> DataSet:
    with ZipFile(data / "text" / "qc.zip") as archive:
        parts = [archive.read(f"qc/{part}.txt").decode("latin-1") for part in ("train", "test")]
    (kinds, train), (test_kinds, test) = (_columns(part, " ") for part in parts)
    coarse = sorted({kind.partition(":")[0] for kind in kinds})
    fine = sorted(kind for kind, count in Counter(kinds).items() if count >= LEAST_DOCUMENTS)
    classes = (*coarse, *fine)
    label, test_label = (_coarse_or_fine(one, classes) for one in (kinds, test_kinds))
    return DataSet("questions", "texts", classes, train, label, test, test_label, "separate")


def _coarse_or_fine(kinds: list[str], classes: tuple[str, ...]) -> NDArray[np.bool_]:
    return one_of([kind.partition(":")[0] for kind in kinds], classes) | one_of(kinds, classes)


def _subjectivity(data: Path, seed: int) -> DataSet:
    # Quotes of reviews are subjective, sentences of plots are not.
    files = ("quote.tok.gt9.5000", "plot.tok.gt9.5000")
    return _two_files(data, "subjectivity", files, "subjective", seed)


def _sentence_polarity(data: Path, seed: int) -> DataSet:
    files = ("rt-polarity.pos", "rt-polarity.neg")
    return _two_files(data, "sentence_polarity", files, "positive", seed)


def _two_files(data: Path, name: str, files: tuple[str, str], positive: str, seed: int) -> DataSet:
    with ZipFile(data / "text" / f"{name}.zip") as archive:
        parts = [archive.read(f"{name}/{file}").decode("latin-1") for file in files]
    of_file = [part.strip("\n").split("\n") for part in parts]
    label = np.repeat([True, False], [len(lines) for lines in of_file])[:, None]
    texts = np.array([*of_file[0], *of_file[1]], dtype=object)
    return with_random_test(name, "texts", (positive,), texts, label, seed)


def _columns(content: str, separator: str) -> tuple[list[str], Texts]:
    """Return the first word of each line, and the rest of it."""
    lines = [line.partition(separator) for line in content.split("\n") if line.strip()]
    return [kind for kind, _, _ in lines], np.array([text for _, _, text in lines], dtype=object)


READERS = {
    "sms_spam": _sms_spam,
    "email_intent": _email_intent,
    "questions": _questions,
    "subjectivity": _subjectivity,
    "sentence_polarity": _sentence_polarity,
}
