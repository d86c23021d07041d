"""Pictures of priors on P(+|s): docs/prior.png and docs/learned_prior.png.

python -m studies.prior_picture [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from bayescal import TopicCalibrator
from bayescal.families import FAMILIES
from bayescal.families.draws import IDENTITY
from bayescal.fitting.engines.exact import engine as densities
from bayescal.fitting.engines.monotone import engine as monotone
from bayescal.fitting.engines.monotone.density import Pieces, Prior
from bayescal.fitting.engines.monotone.engine import LogOddsPopulation
from bayescal.fitting.engines.monotone.posterior import MonotoneDraws
from bayescal.fitting.learned_prior import shipped_populations
from bayescal.fitting.parts.configured import ASINH_SCALES
from bayescal.fitting.scores import BinaryScores
from bayescal.fitting.settings import DENSITIES
from bayescal.support.numerics import probability
from bayescal.support.validation import Floats
from studies.history import history

DRAWS, SHOWN = 4000, 12
SPREADS = np.linspace(-4.0, 4.0, 161)
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
SHOWN_SCORES = {
    "margins": (-2.0, 1.5, "margin of a linear SVM"),
    "log-odds": (-8.0, 6.0, "log-odds of a classifier"),
    "naive Bayes": (-60.0, 60.0, "log-odds of naive Bayes"),
    "shares": (-5.0, 5.0, "log-odds of a share of votes"),
}


class Panel(NamedTuple):
    """Draws of P(+|s) of shape (draws, scores), with their scores and the axis label."""

    scores: Floats
    curves: Floats
    label: str


def main(folder: Path) -> None:
    """Draw the pictures and write them."""
    spreads = "score, in spreads from the centre"
    of_default = {
        "default: densities": Panel(SPREADS, of_densities(), spreads),
        "default: monotone log-odds": Panel(SPREADS, of_log_odds(), spreads),
        "history: nine Reuters topics, linear SVM": Panel(SPREADS, of_history(), spreads),
    }
    learned = {each.name: of_population(each) for each in shipped_populations()}
    for name, panels in (("prior", of_default), ("learned_prior", learned)):
        picture(panels).savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})


def picture(panels: Mapping[str, Panel]) -> Figure:
    """Return bands of P(+|s), some curves and their median, a panel for each prior."""
    figure = Figure(figsize=(3.3 * len(panels), 3.2), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True)
    for axis, (name, (x, curves, label)) in zip(axes, panels.items(), strict=True):
        low, lower, middle, upper, high = np.quantile(curves, LEVELS, axis=0)
        axis.fill_between(x, low, high, color="#4477aa", alpha=0.2, lw=0, label="90 %")
        axis.fill_between(x, lower, upper, color="#4477aa", alpha=0.3, lw=0, label="50 %")
        axis.plot(x, curves[:SHOWN].T, color="#777777", lw=0.5)
        axis.plot(x, middle, color="#224466", label="median")
        axis.set(title=name, xlabel=label)
        axis.title.set_fontsize("medium")
    axes[0].set_ylabel("P(+|s) before any label")
    axes[-1].legend(fontsize="small", loc="upper left")
    return figure


def of_densities() -> Floats:
    """Return P_k(+|s) by draws of both classes' densities and the base rate; (draws, scores)."""
    nothing = BinaryScores(np.empty(0), np.empty(0, dtype=bool), units=(0.0, 1.0))
    results = densities.fit_densities(
        tuple(FAMILIES[name] for name in DENSITIES),
        nothing,
        np.random.default_rng(0),
        draws=DRAWS,
        asinh_scales=ASINH_SCALES,
    )
    return probability(results.posterior.log_odds(SPREADS))


def of_log_odds() -> Floats:
    """Return draws of piecewise linear log-odds with nine pieces."""
    pieces = Pieces(np.linspace(-1.6, 1.6, 8), 0.0)
    intercept, slope = monotone.draw_prior(Prior(), pieces, DRAWS, np.random.default_rng(0))
    half = np.full(DRAWS, 0.5)
    curves = MonotoneDraws(pieces, intercept, slope, half, 0.0, 1.0, IDENTITY)
    return probability(curves.log_odds(SPREADS))


def of_population(population: LogOddsPopulation) -> Panel:
    """Return draws around a shipped population, in the classifier's own units."""
    pieces, rng = population.pieces, np.random.default_rng(0)
    intercept, slope = monotone.draw_prior(population.prior, pieces, DRAWS, rng)
    scale = population.centre, population.spread, population.asinh_scale
    curves = MonotoneDraws(pieces, intercept, slope, np.full(DRAWS, 0.5), *scale)
    low, high, label = SHOWN_SCORES[population.name]
    x = np.linspace(low, high, SPREADS.size)
    return Panel(x, probability(curves.log_odds(x)), label)


def of_history() -> Floats:
    """Return draws for an unlabelled topic, around a population of nine."""
    population = history("linear_svm", "corn")
    scores = population.units["centre"] + population.units["spread"] * SPREADS
    fitted = TopicCalibrator.from_results(population.tree)
    return fitted.sample_proba(scores, np.repeat("new", scores.size))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
