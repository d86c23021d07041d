"""What a study leaves behind: tables, bars, figures, and a page of prose around them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from string import Template

import pandas as pd
from matplotlib.figure import Figure

from bayescal.reproduce.markdown import markdown_table as markdown

PROSE = Path(__file__).parent / "prose"


@dataclass(frozen=True)
class Bar:
    """
    One measured figure beside its limit.

    Attributes
    ----------
    claim : str
        What is claimed.
    measured, limit : str
        Both as the page shows them.
    holds : bool
        Whether the measurement keeps the limit.
    """

    claim: str
    measured: str
    limit: str
    holds: bool


def write_page(name: str, out: Path, bars: list[Bar], **pieces: str) -> None:
    """
    Write <name>.md from its template in studies/prose, and its bars as <name>_bars.csv.

    Parameters
    ----------
    name : str
        Of the study.
    out : Path
        The folder to write to.
    bars : list of Bar
        Shown where the template says $bars.
    **pieces : str
        What else the template's $names stand for.
    """
    table = bars_table(bars)
    if bars:
        table.to_csv(out / f"{name}_bars.csv", index=False)
    prose = Template((PROSE / f"{name}.md").read_text(encoding="utf-8"))
    page = prose.substitute(pieces, bars=markdown(table) if bars else "")
    (out / f"{name}.md").write_text(page, encoding="utf-8")
    held = int((table["verdict"] == "holds").sum())
    counts = f": {held} of {len(bars)} bars hold" if bars else ""
    sys.stdout.write(f"wrote {out / name}.md{counts}\n")


def write_index(out: Path) -> None:
    """Write README.md: the pages, how many bars of each hold, and every bar that is missed."""
    tables = {path.stem.removesuffix("_bars"): path for path in sorted(out.glob("*_bars.csv"))}
    bars = pd.concat(
        [pd.read_csv(path).assign(page=f"[{n}.md]({n}.md)") for n, path in tables.items()]
    )
    counts = bars.groupby("page")["verdict"].agg(
        bars="size", hold=lambda verdicts: int((verdicts == "holds").sum())
    )
    missed = bars.loc[bars["verdict"] != "holds", ["page", "claim", "measured", "bar"]]
    page = Template((PROSE / "README.md").read_text(encoding="utf-8")).substitute(
        summary=markdown(counts.reset_index()), missed=markdown(missed) if len(missed) else "none"
    )
    (out / "README.md").write_text(page, encoding="utf-8")


def bars_table(bars: list[Bar]) -> pd.DataFrame:
    """Return bars as a table with a verdict each."""
    rows = [(b.claim, b.measured, b.limit, "holds" if b.holds else "MISSED") for b in bars]
    return pd.DataFrame(rows, columns=["claim", "measured", "bar", "verdict"])


def write_table(frame: pd.DataFrame, out: Path, name: str) -> None:
    """Write a table of figures as <name>.csv, six significant digits."""
    frame.to_csv(out / f"{name}.csv", index=False, float_format="%.6g")


def write_figure(figure: Figure, out: Path, name: str) -> None:
    """Write a figure as <name>.png, without the date that would change it every time."""
    figure.savefig(out / f"{name}.png", dpi=110, bbox_inches="tight", metadata={"Software": None})


def with_error(mean: float, error: float, digits: int) -> str:
    """
    Return a mean and its standard error.

    Examples
    --------
    >>> with_error(0.0512, 0.00123, 3)
    '0.051 ± 0.001'
    """
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def by_column(rows: pd.DataFrame, value: str, index: list[str], columns: str) -> str:
    """
    Return a table in Markdown with the values of one column across; of sizes as n+ = ....

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
