"""Simulation-based calibration: ranks of the truth among posterior draws are uniform.

python -m studies.sbc [--quick]
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescal.families import FAMILIES
from studies.command import Options, main, spread_over
from studies.envelope import least_uniform, p_value, rank_panels, rejections
from studies.ranks import (
    DataSet,
    Engine,
    FamilyNuts,
    exact,
    half_of_the_data,
    rank_truths,
    sides_swapped,
    simulate,
)
from studies.reporting import (
    Bar,
    by_column,
    fill,
    write_bars,
    write_figure,
    write_page,
    write_table,
)

DOCUMENTS = 40
DRAWS = 99
NUTS_DRAWS = 39
CHUNK = 50
# Probability that the check rejects a correct engine, by family over all quantities.
LEVEL = 0.01
ASYMMETRIC = ("asymmetric_gaussian", "asymmetric_laplace")

WRONG: dict[str, Engine] = {
    "prior scale of theta halved": partial(exact, theta_scale=1.0),
    "half of the data": half_of_the_data,
    "share prior forgotten": partial(exact, share_alpha=1.0, share_beta=1.0),
    "sides swapped": sides_swapped,
}
"""Engines that must be rejected."""

Ranks = dict[str, np.ndarray]


def wrong_engines(family: str) -> dict[str, Engine]:
    """Return the wrong engines of the family; equal sides cannot be swapped."""
    names = list(WRONG) if family in ASYMMETRIC else list(WRONG)[:2]
    return {name: WRONG[name] for name in names}


def adjusted_p(ranks: Ranks, draws: int) -> float:
    """Return the smallest p-value of all quantities times their number, at most 1."""
    return min(1.0, len(ranks) * least_uniform(ranks, draws)[1])


def run(options: Options) -> None:
    """Rank truths by both engines and by wrong ones; write page, tables and figures."""
    bars, rows = [], []
    count = options.size(2000, 60)
    rejected: dict[str, Ranks] = {}
    for seed, family in enumerate(sorted(FAMILIES)):
        sets = simulate(family, DOCUMENTS, count, seed)
        ranks = _ranks(sets, exact, options)
        bars.append(_bar(f"{family}: exact engine", ranks, DRAWS, uniform=True))
        rows.append(_rows(family, "exact", ranks, DRAWS))
        figure = rank_panels(ranks, DRAWS, LEVEL / len(ranks))
        write_figure(figure, options.out, f"sbc_{family}")
        for name, engine in wrong_engines(family).items():
            ranks = _ranks(sets, engine, options)
            bars.append(_bar(f"{family}: {name}", ranks, DRAWS, uniform=False))
            rows.append(_rows(family, name, ranks, DRAWS))
            rejected[f"{family.replace('_', ' ')}, {name}"] = ranks
        ranks = _nuts_ranks(sets[: options.size(100, 4)], family, options)
        bars.append(_bar(f"{family}: NUTS", ranks, NUTS_DRAWS, uniform=True))
        rows.append(_rows(family, "NUTS", ranks, NUTS_DRAWS))
        figure = rank_panels(ranks, NUTS_DRAWS, LEVEL / len(ranks))
        write_figure(figure, options.out, f"sbc_nuts_{family}")
    write_figure(rejections(rejected, DRAWS, LEVEL), options.out, "sbc_rejected")
    _write(options, pd.concat(rows), bars)


def _ranks(sets: list[DataSet], engine: Engine, options: Options) -> Ranks:
    chunks = [sets[i : i + CHUNK] for i in range(0, len(sets), CHUNK)]
    tasks = [(chunk, engine, DRAWS, seed) for seed, chunk in enumerate(chunks)]
    return _joined(spread_over(options.jobs, rank_truths, tasks))


def _nuts_ranks(sets: list[DataSet], family: str, options: Options) -> Ranks:
    parts = [sets[k :: options.jobs] for k in range(options.jobs)]
    tasks = [(part, family, seed) for seed, part in enumerate(parts)]
    return _joined(spread_over(options.jobs, nuts_ranks, tasks))


def nuts_ranks(sets: list[DataSet], family: str, seed: int) -> Ranks:
    """Return the ranks by NUTS of the family's program, compiled once a process."""
    return rank_truths(sets, _compiled(family), NUTS_DRAWS, seed)


@cache
def _compiled(family: str) -> FamilyNuts:
    return FamilyNuts(family)


def _joined(parts: list[Ranks]) -> Ranks:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _bar(claim: str, ranks: Ranks, draws: int, *, uniform: bool) -> Bar:
    p = adjusted_p(ranks, draws)
    worst, _ = least_uniform(ranks, draws)
    size = next(iter(ranks.values())).size
    what = "uniform" if uniform else "rejected"
    return Bar(
        claim=f"{claim} {what}, {size:,} data sets",
        measured=f"p = {p:.4f} ({worst})",
        limit=f"p {'≥' if uniform else '<'} {LEVEL}",
        holds=(p >= LEVEL) == uniform,
    )


def _rows(family: str, engine: str, ranks: Ranks, draws: int) -> pd.DataFrame:
    rows: list[dict[str, Any]] = [
        {
            "family": family,
            "engine": engine,
            "quantity": name,
            "data sets": each.size,
            "mean rank": (each.mean() + 0.5) / (draws + 1),
            "error": each.std() / (draws + 1) / each.size**0.5,
            "p": p_value(each, draws),
        }
        for name, each in ranks.items()
    ]
    return pd.DataFrame(rows)


def _write(options: Options, table: pd.DataFrame, bars: list[Bar]) -> None:
    write_table(table, options.out, "sbc")
    write_bars(bars, options.out, "sbc")
    write_page("sbc", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: adjusted p-values by family and engine."""
    table = pd.read_csv(folder / "sbc.csv")
    grouped = table.groupby(["engine", "family"], sort=False)["p"]
    adjusted = (grouped.min() * grouped.size()).clip(upper=1.0).map("{:.4f}".format)
    return fill(
        "sbc",
        folder,
        table=by_column(adjusted.rename("p").reset_index(), "p", ["engine"], "family"),
        documents=DOCUMENTS,
        sets=f"{table['data sets'].max():,}",
        draws=DRAWS,
        nuts_draws=NUTS_DRAWS,
        level=LEVEL,
    )


if __name__ == "__main__":
    main("sbc")
