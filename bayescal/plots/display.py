"""Bases of all displays, their looks, and the problem that they draw."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import xarray as xr
from numpy.typing import ArrayLike

from bayescal.decisions.by_topic import are_scores
from bayescal.fitting.curves.curves import Prior
from bayescal.fitting.problems.problem import Calibrator, FittedProblem, problem_of, problems_of
from bayescal.fitting.scores import BinaryScores
from bayescal.support import palette
from bayescal.support.files import whole_file
from bayescal.support.intervals import percent
from bayescal.support.labels import match_labels
from bayescal.support.validation import Floats, check_flag, check_same_length
from bayescal.support.weighting import as_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def require(module: str) -> Any:
    """Return a module of the extra `plots`."""
    try:
        return import_module(module)
    except ModuleNotFoundError as err:
        # Other modules may be missing inside an installed library.
        library = module.split(".")[0]
        if err.name is None or err.name.split(".")[0] != library:
            raise
        raise ImportError(
            f"plots need {library.replace('_', '-')}, which is not installed:"
            " pip install bayescal[plots]."
        ) from err


def read_problem(
    calibrator: Calibrator,
    scores: Any = None,
    y: ArrayLike | None = None,
    *,
    topic: Any = None,
    prior: Prior | None = None,
    sample_weight: ArrayLike | None = None,
) -> FittedProblem:
    """Return the problem of a fitted calibrator, or of one topic, class or label."""
    problem = problem_of(calibrator, topic)
    problem = replace(problem, calibration=problem.calibration.with_prior(prior))
    if (scores is None) != (y is None):
        raise ValueError("scores and y must be given together: held-out scores and their labels.")
    if scores is None or y is None:
        return problem
    labelled = getattr(calibrator, "labelled_scores", None)
    if labelled is not None and not are_scores(scores):
        scores, y = _of_topic(labelled(scores, y), problem.name)
    score = problem.read(scores)
    positive = match_labels(y, problem.labels)
    check_same_length("scores", score.size, "y", positive.size)
    weight = as_weights(sample_weight, score.size)
    return replace(problem, documents=BinaryScores(score, positive, weight), held_out=True)


def _of_topic(labelled: Any, topic: str) -> tuple[Any, Any]:
    """Return the scores and labels of one topic."""
    if isinstance(labelled, tuple):
        return labelled
    rows = labelled[labelled["topic"] == topic]
    return rows["score"], rows["label"]


# Keyword arguments of an artist. Looks differ without colour too.
Look = dict[str, Any]

POSTERIOR: Look = {"color": palette.POSTERIOR_COLOUR, "linestyle": "-", "linewidth": 1.8}
MLE: Look = {"color": palette.MLE_COLOUR, "linestyle": (0, (5, 2)), "linewidth": 1.4}
BAND: Look = {"color": palette.POSTERIOR_COLOUR, "alpha": 0.22, "linewidth": 0}
GREY_BAND: Look = {"color": palette.FAINT_COLOUR, "alpha": 0.35, "linewidth": 0.0}
DATA: Look = {
    "color": palette.DATA_COLOUR,
    "linestyle": "none",
    "marker": "o",
    "markersize": 3.6,
    "elinewidth": 0.9,
}
REFERENCE: Look = {"color": palette.FAINT_COLOUR, "linestyle": ":", "linewidth": 1.0}

# Adjacent lines, which differ in colour, marker and dashes.
MANY_LINES: tuple[Look, ...] = tuple(
    {
        "color": palette.OKABE_ITO[name],
        "marker": marker,
        "linestyle": dashes,
        "markersize": 4.5,
        "linewidth": 1.5,
    }
    for name, marker, dashes in (
        ("blue", "o", "-"),
        ("vermilion", "s", "--"),
        ("bluish green", "^", "-."),
        ("reddish purple", "D", ":"),
        ("orange", "v", "-"),
        ("sky blue", "<", "--"),
        ("black", ">", "-."),
    )
)

# Dashes and edges of the negative and of the positive class.
CLASS_DASHES: tuple[Any, Any] = ((0, (7, 1.5, 1.5, 1.5)), "-")
CLASS_EDGES = (0.0, 0.9)

SIZE = (5.2, 3.7)
DPI = 200  # of figures saved as pixels
MANY = 500  # points; more are rasterised in vector files, and fainter


def finish(ax: Axes, *, legend: str | None, corner: tuple[float, float] | None = None) -> None:
    """Remove the upper and right spines, and add a legend in a corner."""
    ax.spines[["top", "right"]].set_visible(False)
    if legend is not None:
        # Translucent, to keep curves behind the legend visible.
        paper: Look = {"framealpha": 0.8, "edgecolor": "none", "borderpad": 0.2}
        ax.legend(loc=legend, bbox_to_anchor=corner, fontsize="small", handlelength=2.6, **paper)


def label_scores(ax: Axes, data: xr.Dataset, *, widen: bool = False) -> None:
    """Label the axis of the scores in their own units, and end it at the curves' ends."""
    if data.attrs["scores_are"] == "probabilities":
        ax.set_xscale("logit")
        ax.xaxis.set_major_formatter("{x:.4g}")
        ax.xaxis.set_minor_formatter("")
    x = data["score"].values
    if x[0] < x[-1]:
        low, high = ax.get_xlim() if widen else (x[0], x[-1])
        ax.set_xlim(min(low, x[0]), max(high, x[-1]))
    ax.set_xlabel(data.attrs["score_name"])


def class_name(data: xr.Dataset | FittedProblem) -> str:
    """Return the event of P(+): the topic, otherwise the positive class."""
    return str(data.attrs.get("topic", data.attrs["positive_class"]))


def rug(ax: Axes, scores: Any, height: float) -> Any:
    """Mark scores by ticks at a height, fainter for many."""
    alpha = min(1.0, max(0.08, (MANY / max(len(scores), 1)) ** 0.5))
    (artist,) = ax.plot(
        scores,
        [height] * len(scores),
        linestyle="none",
        marker="|",
        markersize=6,
        markeredgewidth=0.7,
        color=palette.DATA_COLOUR,
        alpha=alpha,
        rasterized=len(scores) > MANY,
    )
    return artist


def note(ax: Axes, text: str, position: tuple[float, float], align: tuple[str, str]) -> Any:
    """Write small text at a share of the axes' width and a value on their vertical axis."""
    horizontal, vertical = align
    shift = 5.0 if vertical == "bottom" else -5.0
    return ax.annotate(
        text,
        position,
        xycoords=("axes fraction", "data"),
        xytext=(0.0, shift),
        textcoords="offset points",
        ha=horizontal,
        va=vertical,
        fontsize="small",
        color=palette.DATA_COLOUR,
    )


def with_reach(inner: Floats, outer: Floats, margin: float) -> tuple[float, float]:
    """Return the range of curves, at most doubled for their bands on each side, with a margin."""
    low, high = inner.min(), inner.max()
    reach = (high - low) or 1.0
    low = max(outer.min(initial=low), low - reach)
    high = min(outer.max(initial=high), high + reach)
    gap = margin * (high - low)
    return float(low - gap), float(high + gap)


# Signatures and documentation of methods that pass arguments on to other functions.

HANDED_ON = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
SECTION = re.compile(r"^Parameters\n-{10}\n(.*?)(?=^\S[^\n]*\n---|\Z)", re.MULTILINE | re.DOTALL)


def with_options(
    method: Callable[..., Any],
    functions: Sequence[Callable[..., Any]],
    filled: Collection[str] = (),
) -> Any:
    """Return a method that shows arguments of functions, except `filled` ones, as its own."""
    method = inspect.unwrap(method)
    arguments = _arguments(method)
    hidden = {"self", *filled, *arguments}
    for function in functions:
        own = _arguments(function)
        arguments |= {name: own[name] for name in own if name not in hidden}

    @wraps(method)
    def shown(*given: Any, **options: Any) -> Any:
        return method(*given, **options)

    ordered = sorted(arguments.values(), key=lambda each: each.kind)
    shown.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    shown.__doc__ = _documentation(method, functions, arguments.keys() - hidden)
    return shown


def _arguments(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    every = inspect.signature(function).parameters
    return {name: each for name, each in every.items() if each.kind not in HANDED_ON}


def _documentation(
    method: Callable[..., Any], functions: Sequence[Callable[..., Any]], names: Collection[str]
) -> str | None:
    """Return the method's documentation, with entries from the functions for these parameters."""
    doc = inspect.getdoc(method)
    if doc is None:  # python -OO
        return None
    entries = {name: each for name, each in _entries(method).items() if name[0] != "*"}
    for function in functions:
        new = {name: each for name, each in _entries(function).items() if name in names}
        entries |= new
    text = "".join(dict.fromkeys(entries.values()))
    return SECTION.sub(lambda found: f"Parameters\n----------\n{text}\n", doc, count=1)


def _entries(function: Callable[..., Any]) -> dict[str, str]:
    """Return the text of each documented parameter."""
    found = SECTION.search(inspect.getdoc(function) or "")
    if found is None:
        return {}
    entries = re.findall(r"^\S[^\n]*\n(?:[ \n][^\n]*\n?)*", found[1].strip() + "\n", re.MULTILINE)
    return {
        name: entry for entry in entries for name in re.split(r",\s*", re.split(r" :|\n", entry)[0])
    }


class Display:
    """A plot and its data, after scikit-learn's displays.

    Make it with one of its constructors `from_...`, which raise ImportError without matplotlib, and
    NotFittedError for an estimator that is not fitted. All methods raise ValueError if an argument
    is not as described. Plot several models in one picture with ``ax=display.ax_``; each has its
    own look.

    Parameters
    ----------
    data : xarray.Dataset
        The result of `compute`. A copy read by xarray from a file makes the same display.

    Attributes
    ----------
    data : xarray.Dataset
        The numbers shown.
    ax_, figure_ : matplotlib.axes.Axes, matplotlib.figure.Figure
        Once plotted.
    axes_ : list of matplotlib.axes.Axes
        All panels, the first of which is `ax_`; axes passed as `ax` hold that panel alone.

    Notes
    -----
    Subclasses define `compute`, which returns the numbers as a Dataset, and `_draw`. `plot` and the
    constructors take the keyword arguments of both.
    """

    compute: ClassVar[Callable[..., xr.Dataset]]
    ax_: Axes
    axes_: list[Axes]
    figure_: Figure
    before_: list[Any]
    # The corner of the legend, and the point of the axes where it touches.
    _legend: str = "upper left"
    _corner: tuple[float, float] | None = None
    # Arguments of `compute` that `from_estimator` computes.
    _filled: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "compute"):
            return
        if "plot" not in vars(cls):
            cls.plot = with_options(cls.plot, [cls._draw])  # type: ignore[method-assign]
        for name in [each for each in dir(cls) if each.startswith("from_")]:
            if own := getattr(cls, name, None):
                filled = cls._filled if name.startswith("from_estimator") else ()
                made = with_options(own.__func__, [cls.compute, cls.plot], filled)
                setattr(cls, name, classmethod(made))

    def __init__(self, data: xr.Dataset) -> None:
        self.data = data

    @classmethod
    def _made(cls, *given: Any, **options: Any) -> Self:
        """Compute the numbers, and return the plotted display."""
        drawn = inspect.signature(cls.plot).parameters
        own = {name: options.pop(name) for name in drawn if name in options}
        require("matplotlib")
        return cls(cls.compute(*given, **options)).plot(**own)

    def plot(self, *, ax: Axes | None = None, legend: bool = True, **options: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw, also into another display of this kind; by default axes of a new figure.
        legend : bool
            Draw a legend.
        """
        defaults = inspect.signature(self._draw).parameters
        flags = [name for name in options if isinstance(defaults[name].default, bool)]
        ax = self._begin(ax, legend=legend, **{name: options[name] for name in flags})
        self._draw(ax, **options)
        self._finish(ax, legend=legend)
        return self

    def _size(self) -> tuple[float, float]:
        """Return the size of a new figure in inches."""
        return SIZE

    def _new_axes(self) -> list[Axes]:
        """Return the axes of a new figure, one for each panel."""
        pyplot = require("matplotlib.pyplot")
        return [pyplot.subplots(figsize=self._size(), layout="constrained")[1]]

    def _draw(self, ax: Axes) -> None:
        """Draw the data; keyword arguments become options of `plot`."""
        raise NotImplementedError

    def _finish(self, ax: Axes, *, legend: bool) -> None:
        """Remove the upper and right spines, and draw the legend."""
        finish(ax, legend=self._legend if legend else None, corner=self._corner)

    def save(self, path: str | Path, **options: Any) -> Path:
        """Write the figure to a file, in the format of the name's ending.

        Parameters
        ----------
        path : str or Path
            Such as figure.pdf or figure.png.
        **options
            Options of matplotlib's `Figure.savefig`, such as dpi, by default 200.

        Raises
        ------
        AttributeError
            If nothing was plotted yet.
        FileNotFoundError
            If the folder does not exist.
        ValueError
            If matplotlib does not know the format.
        """
        if not hasattr(self, "figure_"):
            raise AttributeError("there is no figure yet: call plot first.")
        with whole_file(path) as temporary:
            self.figure_.savefig(temporary, **{"dpi": DPI} | options)
        return Path(path)

    def _begin(self, ax: Axes | None, **flags: bool) -> Axes:
        """Check the flags, and return the axes to draw on, of a new figure if there are none."""
        check_flag(**flags)
        self.axes_ = self._new_axes() if ax is None else [ax]
        self.ax_ = self.axes_[0]
        figure: Any = self.ax_.figure
        self.figure_ = figure
        # Later displays of the same kind in these axes have another look.
        drawn = vars(self.ax_).setdefault("_bayescal_drawn", [])
        self.before_ = [each for each in drawn if type(each) is type(self)]
        drawn.append(self)
        return self.ax_

    @property
    def _level(self) -> str:
        """Return the probability of intervals and bands as text."""
        return percent(self.data.attrs["level"])

    def _looks(self) -> tuple[Look, Look]:
        """Return the looks of the line and of its band, unlike those drawn before."""
        if not self.before_:
            return POSTERIOR, BAND
        # The second of these looks has maximum likelihood's colour.
        look = MANY_LINES[2:][(len(self.before_) - 1) % len(MANY_LINES[2:])]
        return look | {"marker": None}, BAND | {"color": look["color"], "alpha": 0.15}


class EstimatorDisplay(Display):
    """A display of a fitted estimator."""

    @classmethod
    def from_estimator(cls, *given: Any, **options: Any) -> Self:
        """Compute and plot.

        Parameters
        ----------
        *given, **options
            Arguments of `compute` and `plot`.
        """
        return cls._made(*given, **options)


class PredictionsDisplay(Display):
    """A display of labels and predictions."""

    @classmethod
    def from_predictions(cls, *given: Any, **options: Any) -> Self:
        """Compute and plot.

        Parameters
        ----------
        *given, **options
            Arguments of `compute` and `plot`.
        """
        return cls._made(*given, **options)


class ProblemDisplay(Display):
    """A display of a problem of a fitted calibrator."""

    _filled = ("problem",)

    @classmethod
    def from_estimator(
        cls,
        calibrator: Calibrator,
        scores: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        topic: Any = None,
        prior: Prior | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Plot a fitted calibrator.

        Parameters
        ----------
        calibrator : ScoreCalibrator, TopicCalibrator or another with `fitted_problems`
            Fitted.
        scores, y : array-like of shape (n,), optional
            Held-out documents (of a classifier X and y) to show instead of the fitted ones, which a
            TopicCalibrator does not store.
        topic : str or int, optional
            The topic of a TopicCalibrator, or the class or label.
        prior : float, array-like or frozen scipy.stats distribution, optional
            See `ScoreCalibrator.decision_function`; documents are shown unchanged.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        """
        pos_label = options.get("pos_label")
        if topic is None and pos_label is not None and problems_of(calibrator).by_topic:
            topic = pos_label
        problem = read_problem(calibrator, scores, y, topic=topic, prior=prior)
        return cls._made(problem, ax=ax, **options)
