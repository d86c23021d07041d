"""What fitted calibrators show in a notebook: a compact table beside a small picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.bayes import probability
from bayescal.html.svg import curve_picture, interval_picture
from bayescal.html.tables import paragraph, side_by_side, table
from bayescal.parts.places import COMBINATION, Groups
from bayescal.results.calibration import Calibration

LEVEL = 0.9
# Scores of the picture and of the table; topics of either.
POINTS, ROWS, TOPICS = 96, 5, 12
POINT_NAMES = {"exact": "posterior", "nuts": "posterior", "map": "mode"}


def calibrator_html(
    tree: xr.DataTree,
    calibration: Calibration,
    problems: Sequence[str],
    classes: NDArray[Any],
    settings: tuple[str, str, str],
) -> str:
    """
    Return a ScoreCalibrator's results as HTML.

    Parameters
    ----------
    tree : xarray.DataTree
        Its results.
    calibration : Calibration
        What they say about scores.
    problems : sequence of str
        What is wrong with its scores and draws.
    classes : array of shape (2,)
        Its labels.
    settings : tuple of str
        Its family, inference and point estimate.
    """
    family, inference, point = settings
    observed = tree["observed_data"].to_dataset()
    label = observed["label"].values
    counts = [f"{int((label == k).sum()):,} of class {name}" for k, name in enumerate(classes)]
    parts = [paragraph(f"ScoreCalibrator, {family}, {inference}: {', '.join(counts)}", strong=True)]
    if COMBINATION in tree:
        weights = tree[COMBINATION]["weight"].to_series()
        each = ", ".join(f"{name} {value:.2f}" for name, value in weights.items())
        parts.append(paragraph(f"Weights: {each}."))
    parts += [paragraph(problem) for problem in problems]
    name = str(observed["score"].attrs.get("long_name", "score"))
    curve = _Curve(calibration, point, "posterior" in tree, POINT_NAMES.get(inference))
    about = f"P({classes[1]} | {name})"
    return "".join(
        [*parts, side_by_side(curve.picture(name, about), curve.table(observed, name, about))]
    )


class _Curve:
    """A calibration's probabilities, for picture and table."""

    def __init__(
        self, calibration: Calibration, point: str, banded: bool, name: str | None
    ) -> None:
        self._calibration, self._point, self._banded, self._name = calibration, point, banded, name

    def picture(self, name: str, about: str) -> str:
        low, high = self._calibration.score_range
        if low == high:
            low, high = low - self._calibration.spread, high + self._calibration.spread
        x = self._shown(np.linspace(low, high, POINTS))
        curve, band, mle = self._values(x)
        return curve_picture(x, curve, band, mle, (name, about))

    def table(self, observed: xr.Dataset, name: str, about: str) -> str:
        """Return probabilities at scores from the median of one class to that of the other."""
        score, label = observed["score"].values, observed["label"].values
        low, high = (float(np.median(score[label == k])) for k in (0, 1))
        x = self._shown(np.unique(np.linspace(low, high, ROWS)))
        curve, band, mle = self._values(x)
        columns = [[f"{value:.4g}" for value in x]]
        head = [name]
        if mle is not None or self._name is None:
            head.append("maximum likelihood")
            columns.append([f"{value:.3f}" for value in (curve if mle is None else mle)])
        if self._name is not None:
            head.append(self._name)
            columns.append([f"{value:.3f}" for value in curve])
        if band is not None:
            head.append(f"{100 * LEVEL:g} % interval")
            columns.append([f"{lower:.3f} to {upper:.3f}" for lower, upper in band])
        return table(head, zip(*columns, strict=True), about)

    def _values(self, x: Any) -> tuple[Any, Any, Any]:
        calibration = self._calibration
        curve = probability(calibration.log_odds(x, self._point))
        band = calibration.interval(x, LEVEL, "pointwise") if self._banded else None
        mle = probability(calibration.fits.log_odds(calibration.read(x))) if self._name else None
        return curve, band, mle

    def _shown(self, internal: Any) -> Any:
        """Return scores in the user's units."""
        if self._calibration.scores_are != "probabilities":
            return internal
        return special.expit(internal)


def topics_html(
    groups: Groups,
    problems: Sequence[str],
    classes: NDArray[Any],
    pooling: str,
    flagged: int,
) -> str:
    """
    Return a TopicCalibrator's results as HTML: the topics with fewest positives first.

    Parameters
    ----------
    groups : mapping of str to Dataset
        Of its results.
    problems : sequence of str
        What is wrong with its scores and draws.
    classes : array of shape (2,)
        Its labels.
    pooling : str
        Its parameter.
    flagged : int
        With how many topics something is wrong.
    """
    topics = groups["topics"]
    documents = topics["documents"].transpose("klass", "topic").values
    order = np.argsort(documents[1], kind="stable")[:TOPICS]
    names = [str(name) for name in topics["topic"].values[order].tolist()]
    mode = groups["posterior"]["theta"].sel(klass="positive").isel(topic=order)
    draws = mode.transpose("topic", "chain", "draw").values
    draws = draws.reshape(order.size, draws.shape[1] * draws.shape[2])
    tails = [0.5 - LEVEL / 2.0, 0.5 + LEVEL / 2.0]
    middle, interval = draws.mean(axis=1), np.quantile(draws, tails, axis=1).T
    size = topics.sizes["topic"]
    head = f"TopicCalibrator, pooling {pooling}: {size:,} topics, {documents.sum():,.0f} documents"
    notes = [paragraph(head, strong=True)]
    if flagged:
        notes.append(paragraph(f"Something is wrong with {flagged:,} topics (flagged_)."))
    notes += [paragraph(problem) for problem in problems]
    if size == 0:
        return "".join([*notes, paragraph("Their population answers for topics: add_topics.")])
    if size > order.size:
        notes.append(paragraph(f"Shown: the {order.size} with fewest of class {classes[1]}."))
    rows = [
        (name, *documents[:, k].round(2), f"{dot:.3g}", f"{ends[0]:.3g} to {ends[1]:.3g}")
        for name, k, dot, ends in zip(names, order, middle, interval, strict=True)
    ]
    about = f"mode of the scores of class {classes[1]}"
    counts = [f"of class {label}" for label in classes]
    columns = ["topic", *counts, "mode", f"{100 * LEVEL:g} % interval"]
    picture = interval_picture(names, middle, interval, (about, about))
    return "".join([*notes, side_by_side(picture, table(columns, rows, about))])
