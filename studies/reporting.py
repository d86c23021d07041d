"""Output of a study: tables and bars in CSV, figures, and a page filled from the tables."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

import pandas as pd
from matplotlib.figure import Figure

from studies.papers import command

markdown = command.markdown_table

PROSE = Path(__file__).parent / "prose"
WIDTH = 130


@dataclass(frozen=True)
class Bar:
    """One measured figure beside its limit.

    Attributes
    ----------
    claim : str
        The claim under test.
    measured, limit : str
        The figure and its limit, as text.
    holds : bool
        Whether the figure keeps the limit.
    """

    claim: str
    measured: str
    limit: str
    holds: bool


def fill(name: str, folder: Path, **pieces: object) -> str:
    """Return a page: its template in studies/prose, with pieces and the state of its bars.

    Parameters
    ----------
    name : str
        Name of the page.
    folder : Path
        Folder with the tables, among them <name>_bars.csv if the page has bars.
    **pieces : object
        Values of the template's names besides $bars.
    """
    template = Template((PROSE / f"{name}.md").read_text(encoding="utf-8"))
    return template.substitute(pieces, bars=_state_of_bars(name, folder))


def write_page(name: str, out: Path, text: str) -> None:
    """Write <name>.md and report how many bars hold."""
    (out / f"{name}.md").write_text(text, encoding="utf-8")
    sys.stdout.write(f"wrote {out / name}.md{_count(name, out)}\n")


def write_index(out: Path, names: Iterable[str]) -> None:
    """Write README.md, the table of the pages in the folder."""
    (out / "README.md").write_text(index(out, names), encoding="utf-8")


def index(folder: Path, names: Iterable[str]) -> str:
    """Return the table of pages: question, verdict and bars, one line each."""
    rows = []
    for name in names:
        path = folder / f"{name}.md"
        if path.exists():
            text = path.read_text(encoding="utf-8")
            question = text.split("\n\n")[1]
            # The verdict's first sentence: a full stop before a capital ends it.
            verdict = re.split(
                r"(?<=[.]) (?=[A-Z])",
                _one_line(text.partition("**Verdict.** ")[2].split("\n\n")[0]),
            )[0]
            count = _count(name, folder).removeprefix(": ").removesuffix(" bars hold")
            rows.append((f"[{name}]({name}.md)", _one_line(question), verdict, count))
    table = pd.DataFrame(rows, columns=["page", "question", "verdict", "bars that hold"])
    template = Template((PROSE / "README.md").read_text(encoding="utf-8"))
    return template.substitute(pages=markdown(table))


def write_bars(bars: Sequence[Bar], out: Path, name: str) -> None:
    """Write bars as <name>_bars.csv, with a verdict each."""
    rows = [(b.claim, b.measured, b.limit, "holds" if b.holds else "MISSED") for b in bars]
    table = pd.DataFrame(rows, columns=["claim", "measured", "bar", "verdict"])
    table.to_csv(out / f"{name}_bars.csv", index=False)


def write_table(frame: pd.DataFrame, out: Path, name: str) -> None:
    """Write a table of figures as <name>.csv, six significant digits."""
    frame.to_csv(out / f"{name}.csv", index=False, float_format="%.6g")


def write_figure(figure: Figure, out: Path, name: str) -> None:
    """Write a figure as <name>.png, without the date that would change it every time."""
    figure.savefig(out / f"{name}.png", dpi=110, bbox_inches="tight", metadata={"Software": None})


def with_error(mean: float, error: float, digits: int) -> str:
    """Return a mean and its standard error.

    Examples
    --------
    >>> with_error(0.0512, 0.00123, 3)
    '0.051 ± 0.001'
    """
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def in_percent(share: float, error: float) -> str:
    """Return a share and its standard error in percent, with its sign.

    Examples
    --------
    >>> in_percent(0.0213, 0.004)
    '+2.1 ± 0.4 %'
    """
    return f"{100 * share:+.1f} ± {100 * error:.1f} %"


def with_errors(means: Iterable[float], errors: Iterable[float], digits: int) -> list[str]:
    """Return `with_error` of each pair."""
    return [with_error(*pair, digits) for pair in zip(means, errors, strict=True)]


def by_column(rows: pd.DataFrame, value: str, index: list[str], columns: str) -> str:
    """Return a table in Markdown with one column for each value of `columns`; sizes as n+ = ....

    Examples
    --------
    >>> rows = pd.DataFrame({"method": ["Platt", "Platt"], "n": [3, 5], "kl": ["1.2", "0.9"]})
    >>> print(by_column(rows, "kl", ["method"], "n"))
    | method | n+ = 3 | n+ = 5 |
    |---|---|---|
    | Platt | 1.2 | 0.9 |
    """
    order = list(dict.fromkeys(rows[columns]))
    wide = rows.pivot_table(index=index, columns=columns, values=value, aggfunc="first", sort=False)
    wide = wide[order].fillna("").reset_index()
    if columns == "n":
        wide.columns = [f"n+ = {name}" if name in order else name for name in wide.columns]
    return markdown(wide)


def _verdicts(name: str, folder: Path) -> pd.DataFrame | None:
    path = folder / f"{name}_bars.csv"
    return pd.read_csv(path) if path.exists() else None


def _count(name: str, folder: Path) -> str:
    bars = _verdicts(name, folder)
    return (
        "" if bars is None else f": {(bars['verdict'] == 'holds').sum()} of {len(bars)} bars hold"
    )


def _state_of_bars(name: str, folder: Path) -> str:
    """Return the number of bars that hold, and the claims of the missed ones."""
    bars = _verdicts(name, folder)
    if bars is None:
        return ""
    missed = bars.loc[bars["verdict"] != "holds", "claim"].tolist()
    text = f"**Bars{_count(name, folder).removesuffix(' bars hold')} hold** (`{name}_bars.csv`)."
    if missed:
        text += f" Missed: {'; '.join(missed)}."
    return textwrap.fill(text, WIDTH, break_on_hyphens=False, break_long_words=False)


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("\\\\|", "\\|")
