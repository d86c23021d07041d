"""Documents of a file by identifiers, or by rows as a spreadsheet counts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal.cli.columns import IDENTIFIERS, ColumnReader, Mask, Rows, plain_name
from bayescal.cli.terminal import UsageError, counted
from bayescal.support.files import FIRST_ROW, ROW
from bayescal.support.validation import first_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from bayescal.sampling import SamplePlan

LABEL = "label"


class DocumentNames:
    """The documents of a file of scores: their rows, and identifiers if the file has them.

    Identified documents are ordered by identifier: the order of rows and columns changes no draw.
    """

    def __init__(self, reader: ColumnReader, column: str | None, others: int = 0) -> None:
        self.path, self.frame = reader.path, reader.frame
        self.rows: Rows = reader.frame.index.to_numpy() + FIRST_ROW
        self.identifiers: dict[str, pd.Index[Any]] = {}
        self._unfit: dict[str, str] = {}  # why columns of such names identify no documents
        for name in _identifying(reader, column):
            filled, texts = reader.present(name, "--id-column"), _texts(reader.frame[name])
            if filled.all() and texts.is_unique:
                self.identifiers[name] = texts
                continue
            repeated = texts[filled & texts.duplicated()].unique().tolist()
            self._unfit[plain_name(name)] = why = (
                f"{reader.name(name)} must hold another value in each row to identify documents,"
                f" it {f'repeats {first_of(repeated)}' if repeated else 'has an empty cell'}."
            )
            if column is not None:
                raise UsageError(f"--id-column: {why}")
        if self.identifiers:
            order = self.identifiers[min(self.identifiers)].argsort()
            self.frame, self.rows = self.frame.iloc[order], self.rows[order]
            self.identifiers = {name: texts[order] for name, texts in self.identifiers.items()}
        by = first_of([*self.identifiers]) or f"{ROW!r}, as a spreadsheet counts"
        unfit = [] if self.identifiers else self._unfit.values()
        note = f"{counted(self.rows.size + others, 'document')} in {self.path}, identified by {by}."
        reader.screen.note(" ".join([note, *unfit]), warning=bool(unfit))

    def name(self, position: int) -> str:
        """Return the name of a document for messages."""
        names = [f"document {texts[position]}" for texts in self.identifiers.values()]
        return (*names, f"row {self.rows[position]} of {self.path}")[0]

    def plan_table(self, plan: SamplePlan) -> pd.DataFrame:
        """Return the file of a plan: identifiers, and the plan's own columns."""
        import pandas as pd

        columns = plan.columns(self.rows[plan.documents])
        return pd.DataFrame({**self._identified(plan.documents), **columns})

    def label_table(self, plan: SamplePlan, shown: Sequence[str]) -> pd.DataFrame:
        """Return the file to label: what identifies documents, columns to show, an empty label."""
        import pandas as pd

        own = plan.to_label
        more = {name: self.frame[name].to_numpy()[own] for name in shown}
        return pd.DataFrame({**self.named(own), **more, LABEL: ""})

    def named(self, documents: Rows) -> dict[str, Any]:
        """Return columns that identify documents, for a file of their labels."""
        return self._identified(documents) or {ROW: self.rows[documents]}

    def _identified(self, documents: Rows) -> dict[str, Any]:
        return {name: texts[documents] for name, texts in self.identifiers.items()}

    def positions(self, reader: ColumnReader) -> tuple[Rows, str]:
        """Return positions of the documents of a file of labels, and the column that names them."""
        import pandas as pd

        known = {**self.identifiers, ROW: pd.Index(self.rows.astype(str))}
        own = {plain_name(name): str(name) for name in reader.frame.columns}
        shared = [name for name in known if plain_name(name) in own]
        if not shared:
            unfit = next((f"{self._unfit[name]} " for name in own if name in self._unfit), "")
            raise UsageError(
                f"{unfit}{reader.path} must name its documents in one of the columns"
                f" {first_of(list(known))}; its columns are {first_of(list(own.values()))}. {ROW!r}"
                f" is the row of {self.path} as a spreadsheet counts, whose first row is 1;"
                " --id-column names a column that identifies documents."
            )
        column, texts = own[plain_name(shared[0])], known[shared[0]]
        given = _texts(reader.frame[column])
        position = texts.get_indexer(given)
        bare = texts.str.lstrip("0")
        if (position < 0).any() and bare.is_unique:
            position = bare.get_indexer(given.str.lstrip("0"))
            reader.screen.note(f"{reader.name(column)} is read without leading zeros.")
        if unknown := np.flatnonzero(position < 0).tolist():
            raise UsageError(
                f"{reader.name(column)} must name documents of {self.path}, which has no"
                f" {given[unknown[0]]!r} of {reader.row(unknown[0])} ({len(unknown)} of"
                f" {len(given)} rows)."
            )
        return position.astype(np.intp), column


def named_rows(reader: ColumnReader, column: str | None, labels: Sequence[pd.DataFrame]) -> Mask:
    """Return the mask of the first row, of one without identifier, and of those labels may name."""
    rows: Mask = np.arange(len(reader.frame)) == 0
    for name in _identifying(reader, column):
        # One empty cell shows that the column identifies no documents.
        rows[np.flatnonzero(~reader.present(name, "--id-column"))[:1]] = True
        bare = _texts(reader.frame[name]).str.lstrip("0")
        for frame in labels:
            for own in (each for each in frame if plain_name(each) == plain_name(name)):
                rows |= bare.isin(_texts(frame[own]).str.lstrip("0"))
    return rows


def _identifying(reader: ColumnReader, column: str | None) -> list[str]:
    """Return the column that identifies documents, or those whose names say so."""
    named = [str(name) for name in reader.frame if IDENTIFIERS.fullmatch(plain_name(name))]
    return named if column is None else [column]


def _texts(cells: pd.Series[Any]) -> pd.Index[Any]:
    """Return cells as text, whole numbers without decimals."""
    import pandas as pd

    whole = [int(c) if isinstance(c, float) and c.is_integer() else c for c in cells.tolist()]
    return pd.Index([str(cell).strip() for cell in whole], dtype=object)
