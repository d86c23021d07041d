"""Displays of several classes: reliability, confusions, sets of classes, risk and coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayescal.decisions.selective import conformal_sets, expected_sets, risk_coverage, set_coverage
from bayescal.metrics import class_verdict, reliability_curve, top_label
from bayescal.metrics.inputs import read_class_outcomes
from bayescal.plots import display
from bayescal.support.palette import DATA_COLOUR, FAINT_COLOUR
from bayescal.support.validation import Floats, as_reals, check_fraction, generator

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ClassDisplay(display.PredictionsDisplay):
    """A display of probabilities of several exclusive classes; see its subclasses."""

    _filled = ("y_true", "y_prob", "classes", "draws")

    @classmethod
    def from_estimator(
        cls, calibrator: Any, scores: Any, y: Any, *, prior: Any = None, **options: Any
    ) -> Self:
        """
        Plot a fitted calibrator or classifier on held-out documents.

        Parameters
        ----------
        calibrator : MulticlassCalibrator, CalibratedClassifier or any classifier
            Fitted, of several exclusive classes; with posterior draws, if the display shows them.
        scores, y : array-like
            Held-out documents, as its `predict_proba` takes them, and their classes.
        prior : array-like or mapping, optional
            Shares of the classes among these documents; see `MulticlassCalibrator.predict_proba`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If it is no classifier, or has no posterior draws where the display shows them.
        ValueError
            If an argument is not as described.
        """
        given = cls._read(calibrator, scores, y, prior)
        return cls._made(**given, **options)

    @classmethod
    def _read(cls, calibrator: Any, scores: Any, y: Any, prior: Any) -> dict[str, Any]:
        """Return the arguments of `compute` that come from a calibrator and labels."""
        p = _answers(calibrator, "predict_proba", scores, prior)
        return {"y_true": y, "y_prob": p, "classes": calibrator.classes_}


def _answers(calibrator: Any, method: str, documents: Any, prior: Any) -> Floats:
    """Return probabilities of several classes, or posterior draws of them."""
    if not (hasattr(calibrator, method) and hasattr(calibrator, "classes_")):
        needs = (
            "be fitted, and have predict_proba and classes_"
            if method == "predict_proba"
            else f"have posterior draws ({method})"
        )
        raise TypeError(
            f"calibrator must {needs}, got an object of type {type(calibrator).__name__}."
        )
    options = {} if prior is None else {"prior": prior}
    return np.asarray(getattr(calibrator, method)(documents, **options))


TOP = "likeliest class"
PANEL, COLUMNS = 2.3, 4  # inches, and panels in a row
RESAMPLES = 300


class ClassReliabilityDisplay(ClassDisplay):
    """
    Reliability of the likeliest class and of each class, a panel for each.

    Points are bins of equal numbers of documents: the mean probability, and the share of documents
    that have the class. The band, around the diagonal, holds at each point `level` of the shares
    that calibrated probabilities would give. Each document counts once in each panel. Axes that are
    given hold the panel of the likeliest class alone.

    Parameters
    ----------
    data : xarray.Dataset
        predicted, observed, lower, upper and weight (curve, bin); nan where a curve has fewer bins.

    Attributes
    ----------
    axes_ : list of matplotlib.axes.Axes
        The panels, in the order of the curves.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal.plots import ClassReliabilityDisplay
    >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    >>> display = ClassReliabilityDisplay.from_predictions(p.argmax(axis=1), p)
    >>> display.data["curve"].values.tolist()
    ['likeliest class', '0', '1', '2']
    """

    _legend = "lower right"

    def __init__(self, data: xr.Dataset) -> None:
        super().__init__(data)
        self.axes_: list[Axes] = []

    @staticmethod
    def compute(
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        n_bins: int = 10,
        level: float = 0.9,
        random_state: Any = 0,
    ) -> xr.Dataset:
        """
        Compute the curves and their bands.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            The class of each document.
        y_prob : array-like of shape (n, K)
            Probabilities that sum to 1.
        classes : array-like of shape (K,), optional
            The classes, in the order of the columns; by default 0 to K - 1.
        n_bins : int
            Number of bins.
        level : float
            Probability of the band at each point.
        random_state : int, Generator, RandomState or None
            Seeds the band.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        label, p, names = read_class_outcomes(y_true, y_prob, classes)
        right, confidence = top_label(label, p)
        pairs = [(right, confidence), *((label == k, p[:, k]) for k in range(p.shape[1]))]
        curves = [
            reliability_curve(
                truth,
                probability,
                method="quantile",
                n_bins=n_bins,
                level=level,
                resamples=RESAMPLES,
                rng=random_state,
            )
            for truth, probability in pairs
        ]
        fields = {
            "predicted": "prob_pred",
            "observed": "prob_true",
            "lower": "lower",
            "upper": "upper",
            "weight": "weight",
        }
        tables = {name: np.full((len(curves), n_bins), np.nan) for name in fields}
        for name, field in fields.items():
            for row, each in zip(tables[name], curves, strict=True):
                values = getattr(each, field)
                row[: values.size] = values
        return xr.Dataset(
            {name: (("curve", "bin"), table) for name, table in tables.items()},
            {"curve": [TOP, *map(str, names.tolist())]},
            {"level": level},
        )

    def _new_axes(self) -> Axes:
        """Return the axes of the likeliest class, beside those of the classes."""
        panels = self.data.sizes["curve"]
        columns = min(COLUMNS, panels)
        rows = -(-panels // columns)
        figure, grid = display.require("matplotlib.pyplot").subplots(
            rows,
            columns,
            figsize=(PANEL * columns, PANEL * rows + 0.3),
            layout="constrained",
            squeeze=False,
            sharex=True,
            sharey=True,
        )
        self.axes_ = list(grid.ravel()[:panels])
        for spare in grid.ravel()[panels:]:
            spare.set_visible(False)
        figure.supxlabel("probability", fontsize="medium")
        figure.supylabel("share of documents", fontsize="medium")
        return self.axes_[0]

    def _draw(self, ax: Axes) -> None:
        if self.axes_[:1] != [ax]:
            self.axes_ = [ax]
            ax.set_xlabel("probability")
            ax.set_ylabel("share of documents")
        for panel, name in zip(self.axes_, self.data["curve"].values.tolist(), strict=False):
            self._draw_panel(panel, self.data.sel(curve=name).dropna("bin"), str(name))
            display.finish(panel, legend=None)

    def _draw_panel(self, ax: Axes, curve: xr.Dataset, name: str) -> None:
        x = curve["predicted"].values
        band: display.Look = {"color": FAINT_COLOUR, "alpha": 0.35, "linewidth": 0.0}
        text = f"{self._level}, if calibrated"
        ax.fill_between(x, curve["lower"], curve["upper"], label=text, **band)
        ax.plot([0.0, 1.0], [0.0, 1.0], **display.REFERENCE)
        look = display.POSTERIOR | {"marker": "o", "markersize": 3.5}
        ax.plot(x, curve["observed"], label="share in bins", **look)
        ax.set_title(name, fontsize="medium")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))


CELL, LEAST = 0.62, 3.2  # inches of a cell, and of the axes
MOST_TEXT = 12  # classes whose cells have numbers
LIGHT = 0.55  # share of the darkest colour from which text is white


class ConfusionDisplay(ClassDisplay):
    """
    The table of confusions beside what the probabilities expect.

    Rows are likeliest classes, columns own classes. A cell has the number of documents, and below
    it the interval in which it lies if probabilities and bands are right. A number outside its
    interval is bold and framed.

    Parameters
    ----------
    data : xarray.Dataset
        observed, expected, lower and upper (likeliest, own).

    Attributes
    ----------
    image_ : matplotlib.image.AxesImage
        The cells, coloured by the share of their row.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal.plots import ConfusionDisplay
    >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    >>> display = ConfusionDisplay.from_predictions(p.argmax(axis=1), p)
    >>> int(display.data["observed"].sum())
    200
    """

    @staticmethod
    def compute(
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        draws: ArrayLike | None = None,
        level: float = 0.95,
    ) -> xr.Dataset:
        """
        Compute both tables; see `bayescal.metrics.class_verdict`.

        Parameters
        ----------
        y_true, y_prob, classes, draws
            See `bayescal.metrics.class_verdict`.
        level : float
            Probability of each cell's interval.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        result = class_verdict(y_true, y_prob, classes, draws=draws, level=level)
        names = [str(name) for name in result.classes.tolist()]
        tables = {
            "observed": result.confusion,
            "expected": result.confusion_expected,
            "lower": result.confusion_lower,
            "upper": result.confusion_upper,
        }
        return xr.Dataset(
            {name: (("likeliest", "own"), table) for name, table in tables.items()},
            {"likeliest": names, "own": names},
            {"level": level},
        )

    @classmethod
    def _read(cls, calibrator: Any, scores: Any, y: Any, prior: Any) -> dict[str, Any]:
        own = super()._read(calibrator, scores, y, prior)
        return own | {"draws": _answers(calibrator, "sample_proba", scores, prior)}

    def _size(self) -> tuple[float, float]:
        size = max(LEAST, CELL * self.data.sizes["own"] + 1.2)
        return size, size

    def _draw(self, ax: Axes) -> None:
        data, names = self.data, self.data["own"].values.tolist()
        observed = data["observed"].values
        share = observed / np.maximum(observed.sum(axis=1, keepdims=True), 1.0)
        self.image_ = ax.imshow(share, cmap="Blues", vmin=0.0, vmax=1.0)
        outside = (observed < data["lower"].values) | (observed > data["upper"].values)
        for j, k in np.ndindex(*observed.shape):
            if len(names) <= MOST_TEXT:
                self._write(ax, j, k, bool(share[j, k] > LIGHT), bool(outside[j, k]))
            if outside[j, k]:
                patches = display.require("matplotlib.patches")
                frame = patches.Rectangle((k - 0.47, j - 0.47), 0.94, 0.94, fill=False)
                ax.add_patch(frame)
        ax.set_xticks(range(len(names)), names, rotation=45 if len(names) > 4 else 0)
        ax.set_yticks(range(len(names)), names)
        ax.set_xlabel("own class")
        ax.set_ylabel("likeliest class")

    def _finish(self, ax: Axes, *, legend: bool) -> None:
        """Leave the frame of the table; it has no legend."""

    def _write(self, ax: Axes, j: int, k: int, dark: bool, outside: bool) -> None:
        cell = self.data.isel(likeliest=j, own=k)
        look: display.Look = {"ha": "center", "color": "white" if dark else "black"}
        weight = "bold" if outside else "normal"
        ax.text(k, j, f"{float(cell['observed']):.0f}", va="bottom", weight=weight, **look)
        ends = f"{float(cell['lower']):.0f} to {float(cell['upper']):.0f}"
        ax.text(k, j + 0.08, ends, va="top", fontsize="x-small", **look)


COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98)
KINDS = ("expected", "conformal")
LABELS = {
    "expected": "threshold by probabilities, no labels",
    "conformal": "split conformal, by the other half's labels",
}


class PredictionSetDisplay(ClassDisplay):
    """
    Coverage of sets of classes, and their mean size, by the coverage asked for.

    Sets by probabilities alone (`bayescal.decisions.expected_sets`) stand beside split conformal
    sets, whose threshold for each random half of the documents comes from the labels of the other
    half. On the left, coverage with Jeffreys' intervals against what was asked; on the right, the
    mean number of classes. Axes that are given hold the coverage alone.

    Parameters
    ----------
    data : xarray.Dataset
        covered, lower, upper and size (kind, coverage).

    Attributes
    ----------
    axes_ : list of matplotlib.axes.Axes
        The panels of coverage and of size.

    References
    ----------
    V. Vovk, A. Gammerman and G. Shafer, *Algorithmic learning in a random world*, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal.plots import PredictionSetDisplay
    >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    >>> display = PredictionSetDisplay.from_predictions(p.argmax(axis=1), p)
    >>> display.data["size"].dims
    ('kind', 'coverage')
    """

    _legend = "lower right"

    def __init__(self, data: xr.Dataset) -> None:
        super().__init__(data)
        self.axes_: list[Axes] = []

    @staticmethod
    def compute(
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        coverages: ArrayLike = COVERAGES,
        level: float = 0.9,
        random_state: Any = 0,
    ) -> xr.Dataset:
        """
        Compute the coverage and the size of both kinds of sets.

        Parameters
        ----------
        y_true, y_prob, classes
            See `bayescal.metrics.class_verdict`.
        coverages : array-like of shape (m,)
            Coverages to ask for, between 0 and 1.
        level : float
            Probability of the intervals of coverage.
        random_state : int, Generator, RandomState or None
            Halves the documents.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        label, p, _ = read_class_outcomes(y_true, y_prob, classes)
        asked = np.sort(as_reals(coverages, "coverages").ravel())
        for share in asked.tolist():
            check_fraction(coverages=share)
        half = generator(random_state).permutation(label.size) % 2 == 0
        found = np.empty((len(KINDS), asked.size, 4))
        for j, share in enumerate(asked.tolist()):
            for i, sets in enumerate((expected_sets(p, share), _conformal(p, label, half, share))):
                each = set_coverage(sets, label, level=level)
                found[i, j] = each.coverage, each.lower, each.upper, each.size
        names = ("covered", "lower", "upper", "size")
        return xr.Dataset(
            {name: (("kind", "coverage"), found[:, :, k]) for k, name in enumerate(names)},
            {"kind": list(KINDS), "coverage": asked},
            {"level": level},
        )

    def _new_axes(self) -> Axes:
        """Return the axes of coverage, beside those of the sizes."""
        subplots = display.require("matplotlib.pyplot").subplots
        self.axes_ = list(subplots(1, 2, figsize=(8.6, 3.7), layout="constrained")[1])
        return self.axes_[0]

    def _draw(self, ax: Axes) -> None:
        if self.axes_[:1] != [ax]:
            self.axes_ = [ax]
        data, x = self.data, self.data["coverage"].values
        ax.plot(x, x, **display.REFERENCE)
        for k, kind in enumerate(data["kind"].values.tolist()):
            mine, look = data.sel(kind=kind), display.MANY_LINES[k]
            ends = np.abs(np.stack([mine["lower"], mine["upper"]]) - mine["covered"].values)
            # Side by side, where both stand at the same coverage.
            at = x + (k - 0.5) * 0.006
            ax.errorbar(at, mine["covered"], ends, elinewidth=0.9, label=LABELS[kind], **look)
            for sizes in self.axes_[1:]:
                sizes.plot(x, mine["size"], label=LABELS[kind], **look)
        ax.set_ylabel("share of sets that hold the class")
        for sizes in self.axes_[1:]:
            sizes.set_ylabel("classes in a set, mean")
            display.finish(sizes, legend=None)
        for panel in self.axes_:
            panel.set_xlabel("coverage asked for")


def _conformal(
    p: Floats, label: NDArray[np.intp], half: NDArray[np.bool_], coverage: float
) -> NDArray[np.bool_]:
    """Return the sets of each half of the documents by the labels of the other."""
    sets = np.empty(p.shape, dtype=np.bool_)
    for part in (half, ~half):
        sets[part] = conformal_sets(p[~part], label[~part], p[part], coverage)
    return sets


class RiskCoverageDisplay(ClassDisplay):
    """
    The share of wrong answers if only the surest documents are answered, with its band.

    Parameters
    ----------
    data : xarray.Dataset
        risk, lower, upper, probability, and with labels observed (coverage).

    Attributes
    ----------
    line_, band_ : matplotlib artists
        The expected share of errors, and its band.
    observed_ : matplotlib.lines.Line2D or None
        The share of errors by the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal.plots import RiskCoverageDisplay
    >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    >>> display = RiskCoverageDisplay.from_predictions(p[None], p.argmax(axis=1))
    >>> float(display.data["observed"].max())
    0.0
    """

    @staticmethod
    def compute(
        draws: ArrayLike,
        y_true: ArrayLike | None = None,
        *,
        level: float = 0.9,
        name: str | None = None,
    ) -> xr.Dataset:
        """
        Compute the risk of answers by posterior draws of probabilities.

        Parameters
        ----------
        draws, y_true
            See `bayescal.decisions.risk_coverage`.
        level : float
            Probability of the band at each coverage.
        name : str, optional
            Name of the model in the legend.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        result = risk_coverage(draws, y_true, level=level)
        variables = {
            each: ("coverage", getattr(result, each))
            for each in ("risk", "lower", "upper", "probability")
        }
        if result.observed is not None:
            variables["observed"] = "coverage", result.observed
        attrs = {"level": level, "name": name or ""}
        return xr.Dataset(variables, {"coverage": result.coverage}, attrs)

    @classmethod
    def from_estimator(
        cls,
        calibrator: Any,
        scores: Any,
        y: ArrayLike | None = None,
        *,
        prior: Any = None,
        **options: Any,
    ) -> Self:
        """
        Plot the risk of a calibrator's answers; labels are not needed.

        Parameters
        ----------
        calibrator : MulticlassCalibrator or CalibratedClassifier
            Fitted, of several exclusive classes.
        scores : array-like
            Documents, as its `predict_proba` takes them.
        y : array-like of shape (n,), optional
            Their classes.
        prior : array-like or mapping, optional
            Shares of the classes among these documents.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If an argument is not as described.
        """
        return super().from_estimator(calibrator, scores, y, prior=prior, **options)

    @classmethod
    def _read(cls, calibrator: Any, scores: Any, y: Any, prior: Any) -> dict[str, Any]:
        label = None
        if y is not None:
            position = {each: k for k, each in enumerate(calibrator.classes_.tolist())}
            unknown = [each for each in np.asarray(y).tolist() if each not in position]
            if unknown:
                raise ValueError(f"y must hold classes that were fitted, got {unknown[0]!r}.")
            label = np.array([position[each] for each in np.asarray(y).tolist()])
        return {"draws": _answers(calibrator, "sample_proba", scores, prior), "y_true": label}

    def _draw(self, ax: Axes) -> None:
        data, (own, band) = self.data, self._looks()
        x, name = data["coverage"].values, data.attrs["name"]
        name = f"{name}, " if name else ""
        text = f"{name}{self._level} band"
        self.band_ = ax.fill_between(x, data["lower"], data["upper"], label=text, **band)
        (self.line_,) = ax.plot(x, data["risk"], label=f"{name}expected", **own)
        self.observed_ = None
        if "observed" in data:
            look: display.Look = {"color": DATA_COLOUR, "linewidth": 1.0}
            (self.observed_,) = ax.plot(x, data["observed"], label=f"{name}by labels", **look)
        ax.set_xlim(0.0, 1.01)
        ax.set_ylim(bottom=0.0)
        ax.set_xlabel("share of documents answered, surest first")
        ax.set_ylabel("share of wrong answers")
