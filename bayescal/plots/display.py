"""What all displays have in common: a Dataset of what they draw, files written whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayescal.plots.style import SIZE, new_axes

if TYPE_CHECKING:
    import xarray as xr
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
        As given; `to_netcdf` keeps it, and the display of what was read draws the same again.
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
            Of matplotlib's `Figure.savefig`, such as dpi.

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
        target = Path(path)
        if not target.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {target.parent}; make it first.")
        # Beside the target and with its ending, so that the final step is one rename.
        temporary = target.with_name(f".{os.getpid()}.part.{target.name}")
        try:
            self.figure_.savefig(temporary, **options)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        return target

    def _begin(self, ax: Axes | None, size: tuple[float, float] = SIZE) -> Axes:
        self.ax_ = new_axes(size) if ax is None else ax
        figure: Any = self.ax_.figure
        self.figure_ = figure
        return self.ax_
