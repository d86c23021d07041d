"""Pictures of ranks that should be uniform, with simultaneous envelopes.

The envelope of simultaneous coverage 1 - alpha consists of the pointwise binomial intervals at the
alpha quantile of gamma; see `bayescal.fitting.program_check`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from bayescal.fitting.program_check import cumulative_counts, p_value, reference_gammas
from bayescal.support.validation import Floats, Integers
from studies.papers.sigir2003.figures import COLOURS, panels


def ecdf_difference(ranks: Integers, draws: int) -> tuple[Floats, Floats]:
    """Return z_j and the empirical distribution function of ranks at j less z_j, j = 0, ..., draws.

    Examples
    --------
    >>> ecdf_difference(np.array([0, 1]), draws=1)[1]
    array([0., 0.])
    """
    z = np.arange(1, draws + 2) / (draws + 1)
    return z, cumulative_counts(ranks[None], draws)[0] / ranks.size - z


def envelope(n_ranks: int, draws: int, alpha: float) -> tuple[Floats, Floats]:
    """Return the lower and upper envelope of `ecdf_difference`, shape (draws + 1,) each."""
    gamma = float(np.quantile(reference_gammas(n_ranks, draws), alpha))
    z = np.arange(1, draws + 2) / (draws + 1)
    binomial = stats.binom(n_ranks, z)
    return binomial.ppf(gamma / 2) / n_ranks - z, binomial.isf(gamma / 2) / n_ranks - z


def least_uniform(ranks: Mapping[str, Integers], draws: int) -> tuple[str, float]:
    """Return the quantity whose ranks are the least uniform, and its p-value."""
    p_values = {name: p_value(each, draws) for name, each in ranks.items()}
    name = min(p_values, key=p_values.__getitem__)
    return name, p_values[name]


def draw_ranks(ax: Axes, ranks: np.ndarray, draws: int, alpha: float) -> None:
    """Draw the ECDF difference of ranks over its simultaneous envelope."""
    z, difference = ecdf_difference(ranks, draws)
    lower, upper = envelope(ranks.size, draws, alpha)
    ax.fill_between(z, lower, upper, step="post", color="#BBBBBB", linewidth=0)
    ax.step(z, difference, where="post", color=COLOURS[0], linewidth=1.2)
    ax.axhline(0.0, color="#444444", linewidth=0.5)
    ax.set_xlim(0.0, 1.0)
    ax.tick_params(labelsize=7)


def rank_panels(ranks: Mapping[str, np.ndarray], draws: int, alpha: float) -> Figure:
    """Return a figure with a panel for each quantity."""
    figure, axes = panels(len(ranks))
    for ax, (name, each) in zip(axes, ranks.items(), strict=True):
        draw_ranks(ax, each, draws, alpha)
        ax.set_title(name, fontsize=9)
    figure.supxlabel("rank of the truth / (draws + 1)", fontsize=9)
    figure.supylabel("ECDF - uniform", fontsize=9)
    return figure


def rejections(engines: Mapping[str, Mapping[str, np.ndarray]], draws: int, level: float) -> Figure:
    """Return a figure with a panel for each wrong engine: its least uniform quantity."""
    figure, axes = panels(len(engines))
    for ax, (engine, ranks) in zip(axes, engines.items(), strict=True):
        worst, _ = least_uniform(ranks, draws)
        draw_ranks(ax, ranks[worst], draws, level / len(ranks))
        ax.set_title(f"{engine}:\n{worst}", fontsize=7)
    figure.supxlabel("rank of the truth / (draws + 1)", fontsize=9)
    figure.supylabel("ECDF - uniform", fontsize=9)
    return figure
