"""The report of rankings: documents to read for each query, and outcomes if they are judged."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from bayescal.decisions.thresholds import enough_read, recall_by_rank
from bayescal.ranking import drawn_relevance
from bayescal.ranking.drawn_relevance import RankingSummary, Wanted
from bayescal.report.answer import BY_CHANCE
from bayescal.report.rendering import Cell, Row, count, describe_run, numbers, percent, write_page
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import xarray as xr

COLUMNS = (
    "Documents",
    "To read",
    "Share to read",
    "Relevant documents",
    "Relevant ones missed",
    "Average precision",
)
JUDGED_COLUMNS = ("Judged relevant", "Recall at the stop", "Average precision, judged")
BANDS = ("probability", "lower", "upper", "recall", "recall_lower", "recall_upper")
BY_RANK = ("rank", *BANDS, "reached")


@dataclass(frozen=True)
class Judged:
    """Measures of the ranking of one judged query."""

    relevant: NDArray[np.bool_]  # (documents,), best document first
    recall: Floats  # (documents,), at each rank; 1 if no document is relevant
    average_precision: float  # equal scores in the order given; nan if no document is relevant

    def recall_after(self, stop: int) -> float:
        """Return the recall after reading `stop` documents."""
        if stop:
            return float(self.recall[stop - 1])
        return 0.0 if self.relevant.any() else 1.0


def write_relevance_report(
    path: Path,
    readings: dict[Hashable, RankingSummary],
    relevant: NDArray[np.bool_] | None,
    posterior: xr.DataTree,
    *,
    fitted: int,
    wanted: Wanted,
    title: str | None,
) -> Path:
    """Write the report of `readings`, with judgements of all documents in `relevant`."""
    judged: dict[Hashable, Judged] = {}
    if relevant is not None:
        judged = {name: judge(relevant[reading.document]) for name, reading in readings.items()}
    described = [_described(name, readings[name], judged.get(name)) for name in readings]
    rows = [Row(str(name), _cells(reading, judged.get(name))) for name, reading in readings.items()]
    return write_page(
        path,
        "ranking",
        {"queries": described, **{key: numbers(value) for key, value in asdict(wanted).items()}},
        title=title,
        level=wanted.level,
        run=describe_run(posterior),
        wanted=wanted,
        columns=COLUMNS + (JUDGED_COLUMNS if judged else ()),
        rows=rows,
        facts=_facts(readings, fitted),
        outcome=_outcome(readings, judged, wanted) if judged else None,
    )


def judge(relevant: NDArray[np.bool_]) -> Judged:
    """Return measures of a ranking from the relevance of its documents, best first."""
    one = relevant[np.newaxis]
    return Judged(
        relevant, recall_by_rank(one)[0], float(drawn_relevance.average_precision_of(one)[0])
    )


def _described(name: Hashable, reading: RankingSummary, judged: Judged | None) -> dict[str, Any]:
    """Return the data that the page draws for a query."""
    data = {key: numbers(getattr(reading, key)) for key in BY_RANK}
    data |= {"name": str(name), "documents": reading.document.size, "stop": reading.stop}
    if judged is not None:
        data["judged"] = {
            "relevant": (np.flatnonzero(judged.relevant) + 1).tolist(),
            "recall": numbers(judged.recall[reading.rank - 1]),
        }
    return data


def _cells(reading: RankingSummary, judged: Judged | None) -> tuple[Cell, ...]:
    documents = reading.document.size
    cells = (
        Cell(documents),
        Cell(reading.stop),
        Cell(reading.stop / documents, shown="percent"),
        Cell.of(reading.relevant, "count"),
        Cell.of(reading.missed, "count"),
        Cell.of(reading.average_precision, "decimals"),
    )
    if judged is None:
        return cells
    precision = judged.average_precision
    return (
        *cells,
        Cell(int(judged.relevant.sum())),
        Cell(judged.recall_after(reading.stop), shown="percent"),
        Cell(None if np.isnan(precision) else precision, shown="decimals"),
    )


def _facts(readings: dict[Hashable, RankingSummary], fitted: int) -> dict[str, str]:
    """Return totals over all queries, each read to its stop."""
    each = list(readings.values())
    documents = sum(reading.document.size for reading in each)
    read = sum(reading.stop for reading in each)
    relevant = sum(reading.relevant.value for reading in each)
    missed = sum(reading.missed.value for reading in each)
    return {
        "Queries": f"{len(each):,}",
        "Documents": f"{documents:,}",
        "To read": f"{read:,} ({percent(read / documents)})",
        "Relevant documents, expected": count(relevant),
        "Of these missed, expected": count(missed),
        "Queries that the calibrator was fitted to": f"{fitted:,}",
    }


def _outcome(
    readings: dict[Hashable, RankingSummary], judged: dict[Hashable, Judged], wanted: Wanted
) -> dict[str, Any]:
    """Count judged queries read far enough, and average precisions inside their intervals."""
    recalls = [judged[name].recall_after(reading.stop) for name, reading in readings.items()]
    enough = int(enough_read(np.array(recalls), wanted.recall).sum())
    chance = float(binom.cdf(enough, len(recalls), wanted.probability))
    inside = [
        reading.average_precision.lower
        <= judged[name].average_precision
        <= reading.average_precision.upper
        for name, reading in readings.items()
        if not np.isnan(judged[name].average_precision)
    ]
    return {
        "queries": len(recalls),
        "enough": enough,
        "chance": chance,
        "few": chance < BY_CHANCE,
        "inside": sum(inside),
        "relevant": len(inside),
    }
