"""The report of several exclusive classes."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.decisions.selective import risk_coverage
from bayescal.metrics import ClassVerdict, class_verdict, top_label
from bayescal.metrics.inputs import read_class_outcomes
from bayescal.report.answer import ASK_FOR_LABELS, UNKNOWN, Answer, of_outcome
from bayescal.report.held_out import reliability
from bayescal.report.rendering import Cell, Row, describe_run, numbers, percent, short, write_page
from bayescal.support.files import check_target
from bayescal.support.validation import Floats, check_fraction

DRAWS = 200  # posterior draws for a verdict
MOST_FIGURES, MOST_PAIRS = 24, 40
FARTHEST = 36.0  # log-odds of probabilities that round to 0 or 1
COLUMNS = ("Documents", "Expected", "Smooth calibration error")
PAIR_COLUMNS = ("Documents", "Expected")


def write_class_report(
    calibrator: Any,
    path: str | Path,
    *,
    test: Any = None,
    level: float = 0.9,
    title: str | None = None,
) -> Path:
    """Write a report of a calibrator or classifier of exclusive classes; see `write_report`."""
    check_fraction(level=level)
    target = check_target(path)
    classes = [str(each) for each in np.asarray(calibrator.classes_).tolist()]
    summary = calibrator.summary(level)
    verdict, data = None, {"level": level, "figures": [], "risk": None}
    if test is not None:
        verdict, data = _tested(calibrator, test, level)
    problems = _problems(calibrator.diagnostics_)
    of_what = "options" if _has_options(calibrator) else "classes"
    by_class = verdict if of_what == "classes" else None
    return write_page(
        target,
        "classes",
        data,
        title=title,
        level=level,
        run=_run(calibrator.posterior_),
        answer=_answer(verdict, of_what),
        problems=problems,
        findings=calibrator.findings(level),
        of_what=of_what,
        facts=_facts(of_what, classes, verdict),
        tested=verdict is not None,
        rows=[] if by_class is None else _class_rows(by_class),
        columns=COLUMNS,
        pairs=[] if by_class is None else _pairs(by_class),
        pair_columns=PAIR_COLUMNS,
        parameter_names=[str(name) for name in summary.index.names],
        parameter_columns=[str(name) for name in summary.columns],
        parameters=[
            ([str(part) for part in (index if isinstance(index, tuple) else (index,))], row)
            for index, row in zip(summary.index.tolist(), _cells(summary), strict=True)
        ],
        hashes={} if test is None else {"Held-out labels and probabilities": data.pop("hash")},
    )


def _has_options(calibrator: Any) -> bool:
    """Return whether columns are positions of options, whose meaning differs by document."""
    return bool(getattr(calibrator, "exchangeable", False))


def _tested(calibrator: Any, test: Any, level: float) -> tuple[ClassVerdict, dict[str, Any]]:
    """Return the verdict of held-out documents, and the data of the page's figures."""
    if not isinstance(test, tuple) or len(test) != 2:
        raise ValueError(
            "test must be a pair of held-out documents and their classes, got"
            f" {type(test).__name__}."
        )
    documents, y = test
    names = np.asarray(calibrator.classes_)
    p = np.asarray(calibrator.predict_proba(documents))
    draws = np.asarray(calibrator.sample_proba(documents))
    some = np.unique(np.linspace(0, len(draws) - 1, min(DRAWS, len(draws))).astype(np.intp))
    draws = draws[some]
    verdict = class_verdict(y, p, names, draws=draws)
    label = read_class_outcomes(y, p, names)[0]
    right, confidence = top_label(label, p)
    figures = [{"name": "the likeliest class", **_reliability(confidence, right, level)}]
    shown = 0 if _has_options(calibrator) else MOST_FIGURES
    frequent = np.argsort(-p.sum(axis=0), kind="stable")[:shown]
    figures += [
        {"name": str(names.tolist()[k]), **_reliability(p[:, k], label == k, level)}
        for k in sorted(frequent.tolist())
    ]
    risk = risk_coverage(draws, label, level=level)
    curve = {
        name: numbers(getattr(risk, name))
        for name in ("coverage", "probability", "risk", "lower", "upper", "observed")
    }
    digest = hashlib.sha256(p.astype("<f8").tobytes() + label.astype("<i8").tobytes()).hexdigest()
    return verdict, {"level": level, "figures": figures, "risk": curve, "hash": digest}


def _reliability(p: Floats, positive: NDArray[np.bool_], level: float) -> dict[str, Any]:
    with np.errstate(divide="ignore"):
        log_odds = np.clip(special.logit(p), -FARTHEST, FARTHEST)
    return reliability(log_odds, positive, level)


def _answer(verdict: ClassVerdict | None, of_what: str) -> Answer:
    if verdict is None:
        return Answer("missing", UNKNOWN, ASK_FOR_LABELS)
    text = verdict.text
    if of_what == "options" and verdict.cause == "shares":
        # A position has no share that a prior could change.
        text = (
            f"{verdict.test} Options at some positions are right more often than expected: fit"
            " with position_bias=True, or on documents like these."
        )
    return of_outcome(verdict.outcome, text, informative=verdict.informative)


def _problems(diagnostics: Any) -> list[str]:
    """Return the distinct problems of all calibrators."""
    every = diagnostics.values() if isinstance(diagnostics, dict) else [diagnostics]
    found = [problem for each in every if each is not None for problem in each.problems]
    return list(dict.fromkeys(found))


def _facts(of_what: str, classes: list[str], verdict: ClassVerdict | None) -> dict[str, str]:
    out = {of_what.capitalize(): f"{len(classes):,}"}
    if verdict is None:
        return out | {"Documents held out": "none given"}
    return out | {
        "Documents held out": f"{verdict.documents:,.0f}",
        "Likeliest class right": percent(verdict.accuracy),
        "Likeliest class right, expected": percent(verdict.accuracy_expected),
        "Log-loss per document": f"{verdict.log_loss:.4g} nats",
        "Squared error per document (Brier, sum over classes)": f"{verdict.brier:.4g}",
        "Smooth calibration error of the likeliest class": f"{verdict.error:.2g}",
    }


def _class_rows(verdict: ClassVerdict) -> list[Row]:
    """Return the row of each class, marked if its number is outside the interval."""
    numbers_of = (verdict.observed, verdict.expected, verdict.lower, verdict.upper)
    rows = []
    for name, error, *counts in zip(
        verdict.classes.tolist(), verdict.class_errors, *numbers_of, strict=True
    ):
        cells, outside = _compared(*map(float, counts))
        rows.append(Row(str(name), [*cells, Cell(float(error))], outside))
    return rows


def _pairs(verdict: ClassVerdict) -> list[Row]:
    """Return the rows of the most frequent confusions: likeliest class, class, documents."""
    off = ~np.eye(verdict.classes.size, dtype=bool)
    at = np.argwhere(off & ((verdict.confusion > 0.0) | (verdict.confusion_expected >= 0.5)))
    order = sorted(at.tolist(), key=lambda jk: -verdict.confusion_expected[jk[0], jk[1]])
    ends, rows = (verdict.confusion_lower, verdict.confusion_upper), []
    tables = verdict.confusion, verdict.confusion_expected, *ends
    for j, k in order[:MOST_PAIRS]:
        cells, outside = _compared(*(float(each[j, k]) for each in tables))
        rows.append(Row(str(verdict.classes[j]), [str(verdict.classes[k]), *cells], outside))
    return rows


def _compared(
    observed: float, expected: float, lower: float, upper: float
) -> tuple[list[Cell], bool]:
    """Return cells of an observed and an expected number, and True if they disagree."""
    cells = [Cell(observed, shown="count"), Cell(expected, lower, upper, "count")]
    return cells, not lower <= observed <= upper


def _cells(summary: Any) -> list[list[str]]:
    """Return the numbers of a table as text."""
    return [
        [short(value) if np.isreal(value) and np.isfinite(value) else str(value) for value in row]
        for row in summary.to_numpy(dtype=object).tolist()
    ]


def _run(tree: xr.DataTree) -> dict[str, dict[str, str]]:
    """Return the versions and parameters behind a tree, or the first of its branches."""
    first = next(node for node in tree.subtree if "bayescal_versions" in node.attrs)
    return describe_run(first)
