"""Files of given probabilities and outcomes, for `audit` and `recalibrate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.cli import options
from bayescal.cli.columns import ColumnReader, spelled
from bayescal.cli.terminal import UsageError
from bayescal.support.validation import Floats

PROBABILITY = "Given probabilities of the positive class."
ProbabilityColumn = Annotated[
    str, options.option("--probability-column", options.COLUMNS, PROBABILITY)
]
OUTCOME = "Outcomes of two classes; rows without one are left out."
OutcomeColumn = Annotated[str, options.option("--label-column", options.COLUMNS, OUTCOME)]
SITE = "Sites, such as hospitals or months."
SiteColumn = Annotated[str | None, options.option("--site-column", options.COLUMNS, SITE)]


@dataclass(frozen=True)
class OutcomeTable:
    """The labelled rows of a file, and the reader of all rows."""

    reader: ColumnReader
    labelled: NDArray[np.bool_]  # (rows,): mask of rows with an outcome
    p: Floats  # (labelled rows,), like the arrays below
    positive: NDArray[np.bool_]
    sites: NDArray[np.str_] | None
    inclusion: Floats | None
    classes: tuple[Any, Any]  # negative and positive

    def name_of(self, position: int) -> str:
        """Return the name of a labelled row for messages."""
        return self.reader.row(int(np.flatnonzero(self.labelled)[position]))


def read(
    path: Path,
    probability_column: str,
    label_column: str,
    site_column: str | None,
    inclusion_column: str | None,
    positive: str | None,
) -> OutcomeTable:
    """Read the probabilities, outcomes, sites and inclusion probabilities of a file."""
    reader = ColumnReader(path)
    p = reader.scores(probability_column, "--probability-column")
    present = reader.present(label_column, "--label-column")
    classes: tuple[Any, Any]
    if reader.frame[label_column][present].nunique() == 1:
        # The meaning of a single class comes from its name or --positive.
        values, labelled = reader.class_labels(label_column)
        classes = (0, 1)
        is_positive = labelled & _only_positive(reader.name(label_column), values[0], positive)
    else:
        classes, is_positive, labelled = reader.labels(label_column, positive)
    sites = None
    if site_column is not None:
        sites = reader.names(site_column, "--site-column", "a site")[labelled]
    inclusion = None
    if inclusion_column is not None:
        inclusion = reader.weights(inclusion_column, labelled, sampled=True)[labelled]
    positives = is_positive[labelled]
    return OutcomeTable(reader, labelled, p[labelled], positives, sites, inclusion, classes)


def _only_positive(name: str, label: Any, positive: str | None) -> bool:
    """Return True if the only label of a column is the positive one."""
    if positive is not None:
        return str(label) == positive
    meanings = spelled(np.array([label]), np.array((0, 1)))
    if meanings is None:
        raise UsageError(
            f"{name} must hold two labels, or one that means 0 or 1, got {str(label)!r} only: name"
            " the positive label with --positive."
        )
    return meanings[label]
