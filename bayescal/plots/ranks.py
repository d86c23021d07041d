"""A check of a program: ranks of truths drawn from its prior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr

from bayescal.fitting.program_check import ProgramCheck
from bayescal.inference.ranks import ecdf_difference, envelope
from bayescal.plots import display
from bayescal.support.palette import FAINT_COLOUR, POSTERIOR_COLOUR
from bayescal.support.validation import check_fraction

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RankDisplay(display.Display):
    """Ranks of the truth in a simulation-based calibration, against uniform ones.

    A step for each quantity shows how much larger the share of ranks up to some rank is than it
    would be if they were uniform. Right programs stay within the band, which holds all steps with
    probability `level`. A step that rises first has draws that lie too often above the truth; one
    that rises at both ends has draws that are too narrow.

    Parameters
    ----------
    data : xarray.Dataset
        difference (quantity, rank); lower, upper (rank); p_value (quantity).

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D
        A step for each quantity; the least uniform one last and in colour.
    band_ : matplotlib.collections.PolyCollection

    References
    ----------
    T. Säilynoja, P.-C. Bürkner and A. Vehtari, Statistics and Computing 32 (2022).

    Examples
    --------
    >>> import pandas as pd
    >>> from bayescal.fitting.program_check import ProgramCheck
    >>> ranks = pd.DataFrame({"slope": [0, 3, 1, 2]})
    >>> check = ProgramCheck(ranks, 3, 20, prior_predictive=pd.DataFrame(), difference=0.0)
    >>> display = RankDisplay.from_check(check)
    >>> display.data["difference"].values.tolist()
    [[0.0, 0.0, 0.0, 0.0]]
    """

    _legend = "lower left"
    _corner = (0.0, 1.0)  # above the axes: steps may reach all of their corners

    @classmethod
    def from_check(cls, check: ProgramCheck, **options: Any) -> Self:
        """Compute and plot.

        Parameters
        ----------
        check : ProgramCheck
            The result of `check_program`.
        **options
            Arguments of `compute` and `plot`.
        """
        return cls._made(check, **options)

    @staticmethod
    def compute(check: ProgramCheck, *, level: float = 0.99) -> xr.Dataset:
        """Compute the steps and their band.

        Parameters
        ----------
        check : ProgramCheck
            The result of `check_program`.
        level : float
            Probability that uniform ranks of all quantities stay within the band, at least.
        """
        check_fraction(level=level)
        names = list(check.ranks.columns)
        ranks = [check.ranks[name].to_numpy() for name in names]
        steps = [ecdf_difference(each, check.draws) for each in ranks]
        lower, upper = envelope(len(ranks[0]), check.draws, (1.0 - level) / len(names))
        return xr.Dataset(
            {
                "difference": (("quantity", "rank"), np.stack([each for _, each in steps])),
                "lower": ("rank", lower),
                "upper": ("rank", upper),
                "p_value": ("quantity", check.quantities["p_value"].to_numpy()),
            },
            {"quantity": names, "rank": steps[0][0]},
            {"level": level},
        )

    def _draw(self, ax: Axes) -> None:
        data = self.data.isel(quantity=np.argsort(-self.data["p_value"].values, kind="stable"))
        rank = data["rank"].values
        self.band_ = ax.fill_between(
            rank,
            data["lower"],
            data["upper"],
            step="post",
            label=f"{self._level} band",
            **display.GREY_BAND,
        )
        last = data.sizes["quantity"] - 1
        self.lines_ = []
        for k, name in enumerate(data["quantity"].values.tolist()):
            look = {"color": FAINT_COLOUR, "linewidth": 0.8}
            if k == last:
                p = f"{name} (p = {float(data['p_value'][k]):.2g})"
                look = {"color": POSTERIOR_COLOUR, "linewidth": 1.8, "label": p}
            step = data["difference"].isel(quantity=k).values
            self.lines_ += ax.step(rank, step, where="post", **look)
        ax.axhline(0.0, **display.REFERENCE)
        ax.set_xlim(0.0, 1.0)
        ax.set_xlabel("rank of the truth among the draws, as a share")
        ax.set_ylabel("share of data sets, minus uniform")
