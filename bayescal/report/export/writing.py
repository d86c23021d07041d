"""Export of fitted calibrators to files that need no bayescal, in one of several `formats`."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np

from bayescal.fitting.curves.curves import Prior, prior_draws
from bayescal.fitting.problems.problem import Calibrator, FittedProblem, problem_of
from bayescal.fitting.results.tree import ESTIMATOR
from bayescal.report.export import formats, knots
from bayescal.report.export.class_map import ClassContent, make_class_content
from bayescal.report.export.knots import ExportedCurves, Table
from bayescal.support.files import check_target, whole_file
from bayescal.support.validation import check_choice, check_fraction, check_names

# Contents of a file in any format: the curves and their provenance.

SCORES = {
    "scores": "raw scores",
    "log_odds": "natural log-odds, ln(p / (1 - p))",
    "probabilities": "probabilities, from 0 to 1",
}


@dataclass(frozen=True)
class Content:
    """Contents of an exported file."""

    table: Table
    facts: dict[str, Any]  # for readers, as JSON: classes, level, error, provenance
    column: str  # name of the scores in the file

    @property
    def fact_lines(self) -> list[str]:
        """Return lines of facts, without characters that end a line or a comment."""
        return [f"{name}: {json.dumps(value)}" for name, value in self.facts.items()]


@dataclass(frozen=True)
class Format:
    """A file format."""

    name: str
    what: str  # a short description
    suffix: str  # of file names
    render: Callable[[Content], bytes]
    render_classes: Callable[[ClassContent], bytes] | None = None  # for several classes


def make_content(
    problem: FittedProblem, level: float | None, prior: Prior | None, column: str
) -> Content:
    """Return the curves of a problem and its facts."""
    curves = ExportedCurves.of(problem, level, prior)
    table, off = knots.make_table(curves)
    facts = _facts(problem, level, prior) | {
        "error": knots.TOLERANCE,
        "largest_difference_found": float(off[0]),
        "log_odds_beyond_are_cut_at": knots.SATURATED,
    }
    if level is not None:
        facts |= {
            "band_error": knots.BAND_TOLERANCE,
            "largest_band_difference": float(off[1:].max()),
        }
    return Content(table, facts, column)


def _facts(problem: FittedProblem, level: float | None, prior: Prior | None) -> dict[str, Any]:
    negative, positive = problem.labels.tolist()
    low, high = problem.shown(np.array(problem.calibration.score_range)).tolist()
    topic = {"topic": problem.name} if problem.name else {}
    attrs = problem.tree.attrs
    return topic | {
        "negative_class": negative,
        "positive_class": positive,
        "scores_are": SCORES[problem.scores_are],
        "scores_fitted_from_to": [low, high],
        "negatives_and_positives_fitted": list(problem.counts),
        "level": level,
        "prior": None if prior is None else round(float(prior_draws(prior, 1000).mean()), 12),
        "model": problem.model,
        "inference": problem.inference,
        "point": problem.point,
        "problems": list(problem.problems),
        "estimator": attrs[ESTIMATOR],
        "parameters": json.loads(attrs["bayescal_parameters"]),
        "versions": json.loads(attrs["bayescal_versions"]),
    }


# Formats by name, one in each module of the folder.
FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        import_module(f"{formats.__name__}.{module.name}").FORMAT
        for module in iter_modules(formats.__path__)
    )
}


def export(
    calibrator: Calibrator,
    path: str | Path,
    *,
    format: str = "python",
    topic: Any = None,
    level: float | None = 0.9,
    prior: Prior | None = None,
    column: str | None = None,
) -> Path:
    """Write a calibrator to a file that needs no bayescal.

    The file has knots, between which log-odds are linear, of the probability and both ends of its
    band. They are within 1e-4 of `predict_proba` and 1e-3 of `predict_interval`, in probability for
    all scores, which `export` checks before writing: beyond the knots, curves move by less than
    1e-5.

    Parameters
    ----------
    calibrator : ScoreCalibrator, TopicCalibrator, MulticlassCalibrator or one `bayescal.load` reads
        Fitted. For several classes the file has a score for each class and the posterior draws of
        the map in closed form; formats are "python", "json" and "onnx".
    path : str or Path
        The file to write or replace, in an existing folder, without another format's suffix.
    format : {"python", "json", "sql", "onnx"}
        "python" is a module with a function `predict` that needs numpy alone; "json" has the knots
        and instructions; "sql" is a list of expressions for SELECT, with EXP as their only
        function; "onnx" is a graph in double precision, which needs ``pip install
        bayescal[onnx]``.
    topic : label, optional
        The topic to write, for a calibrator of several topics.
    level : float or None
        Posterior probability of the pointwise interval at each score; None for no band.
    prior : float, array-like or frozen scipy.stats distribution, optional
        P(+) of the documents to predict, if it differs from the fitted one; see
        `ScoreCalibrator.decision_function`, and `MulticlassCalibrator.predict_proba` for shares of
        several classes.
    column : str, optional
        Name of the scores, by default "score", of several classes "scores": the column of "sql",
        the input of "onnx". "sql" quotes names that are
        reserved or hold characters other than small letters, digits and _.

    Returns
    -------
    Path
        Path of the file.

    Raises
    ------
    ValueError
        If an argument is not as described, or there is no posterior for a band; pass level=None.
    ImportError
        If the format needs a library that is not installed.
    RuntimeError
        If the knots differ more than that from the calibrator; then nothing is written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from bayescal import ScoreCalibrator
    >>> scores, labels = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> calibrator = ScoreCalibrator(inference="mle").fit(scores, labels)
    >>> with TemporaryDirectory() as folder:
    ...     print(export(calibrator, f"{folder}/corn.sql", format="sql", level=None).name)
    corn.sql
    """
    check_choice("format", format, tuple(FORMATS))
    several = bool(getattr(calibrator, "several_classes", False))
    if column is None:
        column = "scores" if several else "score"
    if not isinstance(column, str) or not column:
        raise ValueError(f"column must be the name of a column of scores, got {column!r}.")
    check_names(column, "column")
    target = check_target(path)
    for each in FORMATS.values():
        if target.suffix == each.suffix and each.name != format:
            raise ValueError(
                f"path must not end in {each.suffix!r} for format={format!r}: give"
                f" format={each.name!r}, or a name that ends in {FORMATS[format].suffix!r}."
            )
    if several:
        written = _render_classes(calibrator, FORMATS[format], topic, level, prior, column)
    else:
        problem = problem_of(calibrator, topic)
        problem.check_one_curve("an exported file")
        written = FORMATS[format].render(make_content(problem, level, prior, column))
    with whole_file(target) as temporary:
        temporary.write_bytes(written)
    return target


def _render_classes(
    calibrator: Any, chosen: Format, topic: Any, level: float | None, prior: Any, column: str
) -> bytes:
    """Return the file of a MulticlassCalibrator."""
    if not hasattr(calibrator, "results_"):
        raise ValueError(
            "calibrator must be a calibrator of scores, got a classifier of several classes: export"
            " calibrated_classifiers_[0].calibrators[0], a MulticlassCalibrator."
        )
    if chosen.render_classes is None:
        able = ", ".join(repr(each.name) for each in FORMATS.values() if each.render_classes)
        raise ValueError(
            f"format must be one of {able} for several classes, got {chosen.name!r}, which holds"
            " curves of one score."
        )
    if topic is not None:
        raise ValueError(f"topic must be left out, got {topic!r}: the calibrator has no topics.")
    if level is not None:
        check_fraction(level=level)
    return chosen.render_classes(make_class_content(calibrator, level, prior, column))
