"""What the default says of P(+|s) before any label, and what a history says: docs/prior.png.

python -m studies.prior_picture [FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from bayescal import TopicCalibrator
from bayescal.bayes import probability
from bayescal.curves.class_draws import ClassDraws
from bayescal.curves.monotone_draws import MonotoneDraws
from bayescal.engines.data import BinaryScores
from bayescal.engines.exact import engine as densities
from bayescal.engines.monotone import prior_draws as monotone
from bayescal.engines.monotone.basis import Pieces
from bayescal.engines.monotone.density import Prior
from bayescal.families import FAMILIES
from bayescal.parts.densities import ASINH_SCALES
from bayescal.settings import DENSITIES
from bayescal.validation import Floats
from bayescal.warps import IDENTITY
from studies.history import history

DRAWS, SHOWN = 4000, 12
SPREADS = np.linspace(-4.0, 4.0, 161)
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def main(path: Path) -> None:
    """Draw the picture and write it."""
    history_name = "history: nine Reuters topics, linear SVM"
    panels = {
        "default: densities": of_densities(),
        "default: monotone log-odds": of_log_odds(),
        history_name: of_history(),
    }
    figure = Figure(figsize=(10.0, 3.2), layout="constrained")
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    for axis, (name, curves) in zip(axes, panels.items(), strict=True):
        low, lower, middle, upper, high = np.quantile(curves, LEVELS, axis=0)
        axis.fill_between(SPREADS, low, high, color="#4477aa", alpha=0.2, lw=0, label="90 %")
        axis.fill_between(SPREADS, lower, upper, color="#4477aa", alpha=0.3, lw=0, label="50 %")
        axis.plot(SPREADS, curves[:SHOWN].T, color="#777777", lw=0.5)
        axis.plot(SPREADS, middle, color="#224466", label="median")
        axis.set(title=name, xlabel="score, in spreads from the centre")
        axis.title.set_fontsize("medium")
    axes[0].set_ylabel("P(+|s) before any label")
    axes[2].legend(fontsize="small", loc="upper left")
    figure.savefig(path, dpi=110, metadata={"Software": None})


def of_densities() -> Floats:
    """Return P_k(+|s) by draws of both classes' densities and the base rate; (draws, scores)."""
    nothing = BinaryScores(np.empty(0), np.empty(0, dtype=bool), units=(0.0, 1.0))
    found = densities.draw_prior(
        tuple(FAMILIES[name] for name in DENSITIES),
        nothing,
        np.random.default_rng(0),
        draws=DRAWS,
        asinh_scales=ASINH_SCALES,
    )
    curves = ClassDraws(found.of_class(0), found.of_class(1), found.prior)
    return probability(curves.log_odds(SPREADS))


def of_log_odds() -> Floats:
    """Return the same by draws of log-odds in nine straight pieces, knots a fifth of a unit off."""
    pieces = Pieces(np.linspace(-1.6, 1.6, 8), 0.0)
    intercept, slope = monotone.draw_prior(Prior(), pieces, DRAWS, np.random.default_rng(0))
    half = np.full(DRAWS, 0.5)
    curves = MonotoneDraws(pieces, intercept, slope, half, 0.0, 1.0, IDENTITY)
    return probability(curves.log_odds(SPREADS))


def of_history() -> Floats:
    """Return the same of a topic that nobody has labelled, around a population of nine."""
    population = history("linear_svm", "corn")
    scores = population.units["centre"] + population.units["spread"] * SPREADS
    fitted = TopicCalibrator.from_results(population.tree)
    return fitted.sample_proba(scores, np.repeat("new", scores.size))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/prior.png"))
