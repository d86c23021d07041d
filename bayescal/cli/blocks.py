"""Rows of files larger than memory, read by blocks and counted by score and label."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayescal.cli.columns import ColumnReader, Mask
from bayescal.cli.files import count_rows, files_of, read_blocks
from bayescal.cli.terminal import Screen, Update, UsageError
from bayescal.support.condensing import ScoreCounts, condense, joined

MOST_CELLS = 100  # no two labels have more spellings


def read_rows(
    path: Path,
    rows: int | None,
    screen: Screen,
    score_column: str,
    *,
    label_column: str | None = None,
    option: str = "--score-column",
    whole: Sequence[str] = (),
    check: Callable[[ColumnReader, Mask], None] = lambda _reader, _labelled: None,
    keep: Callable[[ColumnReader], Mask] | None = None,
) -> tuple[ColumnReader, ColumnReader]:
    """Return readers of the first block of rows and of all; of counts if these are more.

    Options named by `whole` need all rows at once. `check` gets each block that is counted. With
    `keep` the first reader has the rows that it selects, and the second counts all others.
    """
    import pandas as pd

    paths = files_of(path)
    if whole and len(paths) > 1:
        raise UsageError(
            f"{path} names {len(paths)} files: {' and '.join(whole)} needs all rows in one file."
        )
    blocks = (
        ColumnReader(file, frame, screen, formats)
        for file, frame, formats in read_blocks(paths, None if whole else rows)
    )
    first, second = next(blocks), next(blocks, None)
    if second is None:
        return first, first
    # Cells of labels, with their types: only those of all blocks show what the labels are.
    codes: dict[tuple[type, Any], int] = {}
    unlabelled = 0
    kept: list[pd.DataFrame] = []

    def parts(update: Update) -> Iterator[ScoreCounts]:
        nonlocal unlabelled
        for reader in itertools.chain([first, second], blocks):
            values = reader.scores(score_column, option)
            update(advance=values.size)
            if keep is not None:
                apart = keep(reader)
                # As objects: whole numbers would become floats beside gaps in other files.
                kept.append(reader.frame[apart].astype(object))
                yield condense(values, ~apart)
                continue
            if label_column is None:
                yield condense(values)
                continue
            cells, labelled = reader.label_cells(label_column)
            check(reader, labelled)
            unlabelled += int((~labelled).sum())
            code = [codes.setdefault((type(x), x), len(codes)) for x in cells.tolist()]
            if len(codes) > MOST_CELLS:
                reader.labels(label_column, None)  # raises the error for more than two labels
            if code:
                yield condense(values[labelled], code)
        if label_column is not None and not codes:
            first.class_labels(label_column)  # raises the error for no label

    with screen.progress("rows", count_rows(paths)) as update:
        found = joined(parts(update))
    if kept:
        first = ColumnReader(path, pd.concat(kept), screen)
        found = ScoreCounts(found.scores[found.labels], None, found.counts[found.labels])
    frame, counts = pd.DataFrame({score_column: found.scores}), found.counts
    if label_column is not None:
        frame[label_column] = np.array([x for _, x in codes], dtype=object)[found.labels]
    if unlabelled:  # one row for all of them
        frame.loc[len(frame)] = [found.scores[0], None]
        counts = np.append(counts, unlabelled)
    return first, ColumnReader(path, frame, screen, counts=counts)
