"""What all displays have in common: a Dataset of what they draw, read, kept and written whole."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import xarray as xr
from numpy.typing import ArrayLike

from bayescal.curves.class_prior import Prior
from bayescal.fitted.problem import Calibrator
from bayescal.plots.reading import read_problem
from bayescal.plots.style import DPI, SIZE, new_axes
from bayescal.whole_file import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Display:
    """
    A plot and what it shows, after scikit-learn's displays.

    Parameters
    ----------
    data : xarray.Dataset
        All that is drawn; `from_estimator` and `from_predictions` compute it.

    Attributes
    ----------
    data : xarray.Dataset
        The numbers shown. Written with `to_netcdf` and read again, they make the same display.
    ax_ : matplotlib.axes.Axes
        Once plotted.
    figure_ : matplotlib.figure.Figure
        Once plotted.
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, data: xr.Dataset) -> None:
        self.data = data

    def save(self, path: str | Path, **options: Any) -> Path:
        """
        Write the figure to a file, whole or not at all; the name's ending chooses the format.

        Parameters
        ----------
        path : str or Path
            Such as figure.pdf, figure.png.
        **options
            Further arguments of matplotlib's `Figure.savefig`, such as dpi, by default 200.

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

    def _begin(self, ax: Axes | None, size: tuple[float, float] = SIZE) -> Axes:
        self.ax_ = new_axes(size) if ax is None else ax
        figure: Any = self.ax_.figure
        self.figure_ = figure
        return self.ax_


class ProblemDisplay(Display):
    """
    A plot of one problem: of a calibrator, or of one topic of it.

    A display defines `compute`, a static method that makes the Dataset of a `FittedProblem` and
    options, and `plot`, which draws the Dataset.
    """

    compute: Callable[..., xr.Dataset]
    plot: Callable[..., Self]

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
        """
        Plot a fitted calibrator.

        Parameters
        ----------
        calibrator : ScoreCalibrator, TopicCalibrator or another with `fitted_problems`
            Fitted.
        scores, y : array-like of shape (n,), optional
            Held-out documents to show in place of those fitted, which a TopicCalibrator does not
            keep.
        topic : str or int, optional
            The topic to show, if the calibrator is a TopicCalibrator.
        prior : float, array-like or frozen scipy.stats distribution, optional
            See `ScoreCalibrator.decision_function`; documents are shown as they are.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        **options
            Further arguments of `compute`, for what is shown, and of `plot`, for how.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the calibrator is not fitted.
        ValueError
            If an argument is not as described.
        """
        problem = read_problem(calibrator, scores, y, topic=topic, prior=prior)
        computed = {name: options.pop(name) for name in _options(cls.compute) if name in options}
        return cls(cls.compute(problem, **computed)).plot(ax=ax, **options)

    def __init_subclass__(cls) -> None:
        """Show in the signature of `from_estimator` what `compute` and `plot` of a display take."""
        if "from_estimator" in vars(cls):
            return
        shared = ProblemDisplay.__dict__["from_estimator"].__func__

        def from_estimator(cls: type[Self], *args: Any, **options: Any) -> Any:
            return shared(cls, *args, **options)

        told = inspect.signature(shared).parameters
        every = told | _options(cls.compute) | _options(cls.plot)
        del every["options"]
        signature = inspect.Signature(list(every.values()))
        from_estimator.__signature__ = signature  # type: ignore[attr-defined]
        from_estimator.__qualname__ = f"{cls.__qualname__}.from_estimator"
        from_estimator.__doc__ = shared.__doc__
        cls.from_estimator = classmethod(from_estimator)  # type: ignore[assignment]


def _options(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return a function's keyword-only parameters."""
    parameters = inspect.signature(function).parameters
    return {name: each for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY}
