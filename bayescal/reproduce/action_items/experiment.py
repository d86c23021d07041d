"""All of the experiment: three ways to deal the sentences, what is found in each, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bayescal.reproduce.action_items import comparisons, table
from bayescal.reproduce.action_items.corpus import read_files, together
from bayescal.reproduce.action_items.trials import Trial, cross_validation, run_trials
from bayescal.reproduce.markdown import markdown_table

if TYPE_CHECKING:
    import pandas as pd


class Found(NamedTuple):
    """
    What is found by one way to deal the sentences.

    Attributes
    ----------
    measured : pandas.DataFrame
        See `table.table_of`.
    gains : pandas.DataFrame
        See `comparisons.gains`.
    """

    measured: pd.DataFrame
    gains: pd.DataFrame

    @property
    def printed(self) -> pd.DataFrame:
        """Return the measures as they are printed."""
        return table.as_printed(self.measured)

    @property
    def printed_gains(self) -> pd.DataFrame:
        """Return the gains as they are printed."""
        return comparisons.as_printed(self.gains)


def parts(folder: Path, folds: int, random_state: int = 0) -> dict[str, list[Trial]]:
    """
    Return the trials of each part of the experiment, by its name.

    The files are of another time and other annotators, so that both ways are worth seeing: to mix
    them, and to learn from one and be judged by the other.

    Parameters
    ----------
    folder : Path
        See `read_files`.
    folds : int
        Of the cross-validations.
    random_state : int
        Deals sentences to folds.

    Raises
    ------
    ValueError
        If a file is not as expected, or a class has too few sentences.
    """
    training, test = read_files(folder)
    return {
        "training file": cross_validation(training, folds, random_state),
        "both files": cross_validation(together(training, test), folds, random_state),
        "test file": [Trial(training, test)],
    }


def measure_part(trials: Sequence[Trial], random_state: int = 0, jobs: int = 1) -> Found:
    """Run the trials of a part, and measure what every method decides."""
    outcomes = run_trials(trials, random_state=random_state, jobs=jobs)
    return Found(table.table_of(outcomes), comparisons.gains(table.measure(outcomes)))


def write(found: Mapping[str, Found], folder: Path) -> None:
    """Write all parts: action_items.csv, action_items_gains.csv, and action_items.md as printed."""
    import pandas as pd

    for which, name in (("measured", "action_items"), ("gains", "action_items_gains")):
        tables = [getattr(each, which).assign(sentences=part) for part, each in found.items()]
        path = folder / f"{name}.csv"
        pd.concat(tables).to_csv(path, index=False, float_format="%.6g")
    pages = [
        f"## {part}\n\n{markdown_table(each.printed)}\n\n{markdown_table(each.printed_gains)}\n"
        for part, each in found.items()
    ]
    (folder / "action_items.md").write_text("\n".join(pages), encoding="utf-8")
