"""Displays of fitted calibrators in notebooks: a table and a matplotlib picture."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from html import escape
from io import BytesIO
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.fitting.parts.part import COMBINATION, Groups
from bayescal.fitting.results.calibration import Calibration
from bayescal.fitting.results.topics import names_of
from bayescal.fitting.results.tree import LIKELIHOOD
from bayescal.support.intervals import percent
from bayescal.support.numerics import probability

LEVEL = 0.9
INTERVAL = f"{percent(LEVEL)} interval"
# Rows of the tables of one problem and of topics.
ROWS, TOPICS = 5, 12
POINT_NAMES = {"exact": "posterior", "nuts": "posterior", "map": "mode"}
WITHOUT_PICTURE = "pip install bayescal[plots] shows the picture."
WIDTH, HEIGHT, ROW_HEIGHT, DPI = 5.5, 3.4, 0.24, 90  # inches, and dots per inch

# Draws into axes of matplotlib.
Draw = Callable[[Any], object]


class FittedHTML:
    """Mixin that shows `_fitted_html()` after a fit; it precedes BaseEstimator."""

    def _fitted_html(self) -> str | None:
        """Return the results as HTML; None before the fit."""
        raise NotImplementedError

    def _repr_html_inner(self) -> str:
        own = self._fitted_html()
        if own is not None:
            return own
        inner: str = super()._repr_html_inner()  # type: ignore[misc]
        return inner

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle


def calibrator_html(
    tree: xr.DataTree,
    calibration: Calibration,
    problems: Sequence[str],
    classes: NDArray[Any],
    settings: tuple[str, str, str],
    draw: Draw,
) -> str:
    """Return a ScoreCalibrator's results as HTML."""
    family, inference, point = settings
    observed = tree["observed_data"].to_dataset()
    label = observed["label"].values
    counts = [f"{int((label == k).sum()):,} of class {name}" for k, name in enumerate(classes)]
    notes = [f"Model: {family}. Inference: {inference}."]
    if COMBINATION in tree:
        weights = tree[COMBINATION]["weight"].to_series()
        each = ", ".join(f"{percent(value, 0)} {name}" for name, value in weights.items())
        notes = [f"Model: {each}. Inference: {inference}."]
    table = _curve_table(
        observed, calibration, point, "posterior" in tree, POINT_NAMES.get(inference)
    )
    title = f"Probability of class {classes[1]} given the score"
    return _page(
        f"ScoreCalibrator fitted to {label.size:,} scores: {' and '.join(counts)}",
        [*notes, *problems],
        _picture(draw, title, HEIGHT),
        _table(table, title),
    )


def _curve_table(
    observed: xr.Dataset, calibration: Calibration, point: str, banded: bool, name: str | None
) -> dict[str, list[str]]:
    """Return probabilities at scores from the median of one class to that of the other."""
    score, label = observed["score"].values, observed["label"].values
    low, high = (float(np.median(score[label == k])) for k in (0, 1))
    x = np.unique(np.linspace(low, high, ROWS))
    if calibration.scores_are == "probabilities":
        x = special.expit(x)
    columns = {str(observed["score"].attrs.get("long_name", "score")): [f"{v:.4g}" for v in x]}
    mle = probability(calibration.fits.log_odds(calibration.read(x)))
    curve = probability(calibration.log_odds(x, point))
    columns["maximum likelihood"] = [f"{value:.3f}" for value in (mle if name else curve)]
    if name:
        columns[name] = [f"{value:.3f}" for value in curve]
    if banded:
        band = calibration.interval(x, LEVEL, "pointwise")
        columns[INTERVAL] = [f"{lower:.3f} to {upper:.3f}" for lower, upper in band]
    return columns


def topics_html(
    groups: Groups,
    problems: Sequence[str],
    classes: NDArray[Any],
    pooling: str,
    flagged: int,
    draw: Callable[[Any, NDArray[Any]], object],
) -> str:
    """Return a TopicCalibrator's results as HTML: the topics with fewest positives first."""
    documents = groups[LIKELIHOOD]["total_weight"].transpose("klass", "topic").values
    size, order = documents.shape[1], np.argsort(documents[1], kind="stable")[:TOPICS]
    head = f"TopicCalibrator fitted to {documents.sum():,.0f} documents of {size:,} topics"
    notes = [f"Pooling: {pooling}."]
    notes += [f"{flagged:,} topics have warnings (flagged_)."] if flagged else []
    notes += problems
    if size == 0:
        return _page(head, [*notes, "Their population answers for topics: add_topics."])
    if size > order.size:
        notes.append(f"Shown: the {order.size} with fewest of class {classes[1]}.")
    mode = groups["posterior"]["theta"].sel(klass="positive").isel(topic=order)
    mean = mode.mean(("chain", "draw")).values
    ends = mode.quantile([0.5 - LEVEL / 2.0, 0.5 + LEVEL / 2.0], ("chain", "draw")).values.T
    names = names_of(groups)[order]
    columns = {
        "topic": [str(name) for name in names.tolist()],
        **{f"of class {label}": documents[k, order].round(2) for k, label in enumerate(classes)},
        "mode": [f"{value:.3g}" for value in mean],
        INTERVAL: [f"{lower:.3g} to {upper:.3g}" for lower, upper in ends],
    }
    title = f"Mode of the scores of class {classes[1]} in each topic"
    picture = _picture(lambda ax: draw(ax, names), title, 1.6 + ROW_HEIGHT * order.size)
    return _page(head, notes, picture, _table(columns, title))


def picture_html(head: str, notes: Sequence[str], title: str, draw: Draw) -> str:
    """Return a head, notes and a picture as HTML."""
    return _page(head, notes, _picture(draw, title, HEIGHT))


def _page(head: str, notes: Sequence[str], *side_by_side: str) -> str:
    lines = [f"<strong>{escape(head)}</strong>", *map(escape, notes)]
    row = "".join(f"<div>{each}</div>" for each in side_by_side)
    return (
        "".join(f"<p style='margin:0.2em 0'>{line}</p>" for line in lines)
        + f"<div style='display:flex;flex-wrap:wrap;gap:1.5em'>{row}</div>"
    )


def _table(columns: dict[str, Any], title: str) -> str:
    import pandas as pd

    return f"<p>{escape(title)}</p>{pd.DataFrame(columns).to_html(index=False, border=0)}"


def _picture(draw: Draw, title: str, height: float) -> str:
    """Return a picture as HTML; without matplotlib the command that installs it."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        return f"<p>{WITHOUT_PICTURE}</p>"
    figure, image = Figure(figsize=(WIDTH, height), layout="constrained"), BytesIO()
    with rc_context({"text.parse_math": False}):  # names may hold dollar signs
        ax = figure.subplots()
        draw(ax)
        ax.set_title(title)
        figure.savefig(image, format="png", dpi=DPI)
    code = b64encode(image.getvalue()).decode()
    return f"<img alt='{escape(title)}' src='data:image/png;base64,{code}'>"
