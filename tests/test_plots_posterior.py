"""Standard pictures of a posterior: what arviz-plots gets, in both of its eras."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from bayescal import ScoreCalibrator
from bayescal.plots.posterior import plot_pair, plot_rank, plot_sbc_ecdf, plot_trace

SCORES, LABELS = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]


@pytest.fixture(scope="module")
def calibrator():
    return ScoreCalibrator(draws=50, random_state=0).fit(SCORES, LABELS)


def test_trace_draws_every_chain_of_every_quantity(calibrator):
    plot_trace(calibrator)
    axes = [ax for ax in plt.gcf().axes if ax.lines]
    # Mode and widths of both classes, and the prior.
    assert len(axes) == 7
    mode = calibrator.posterior_["posterior"]["mode"].sel(klass="negative").values
    drawn = [np.asarray(line.get_ydata()) for line in axes[0].lines]
    for chain in mode:
        assert any(line.shape == chain.shape and (line == chain).all() for line in drawn)


def test_rank_and_pair_draw_what_is_asked_for(calibrator):
    plot_rank(calibrator, "mode", coords={"klass": "positive"})
    assert len([ax for ax in plt.gcf().axes if ax.lines]) == 1
    plot_pair(calibrator, ["mode"], marginal=False)
    assert any(ax.collections or ax.lines for ax in plt.gcf().axes)


def test_sbc_draws_the_ranks_of_every_quantity():
    rng = np.random.default_rng(0)
    plot_sbc_ecdf({"theta": rng.integers(0, 101, 80), "prior": rng.integers(0, 101, 80)}, 100)
    axes = [ax for ax in plt.gcf().axes if ax.lines]
    assert len(axes) == 2
    # Of uniform ranks the curve stays near zero, of ranks in the middle it does not.
    near = max(np.abs(line.get_ydata()).max() for line in axes[0].lines)
    plt.close("all")
    plot_sbc_ecdf({"theta": rng.integers(40, 61, 80)}, 100)
    far = max(np.abs(line.get_ydata()).max() for ax in plt.gcf().axes for line in ax.lines)
    assert near < 0.2 < far


@pytest.mark.slow
def test_ranks_that_are_alike_are_no_deviation_from_uniform_ones():
    plot_sbc_ecdf({"theta": np.arange(2000) % 10}, 9)
    largest = [np.abs(line.get_ydata()).max() for ax in plt.gcf().axes for line in ax.lines]
    # Were ranks points, the curve would go up by a tenth at each of the ten.
    assert max(largest) < 0.02


def test_maximum_likelihood_has_no_posterior_to_plot():
    mle = ScoreCalibrator(inference="mle").fit(SCORES, LABELS)
    with pytest.raises(AttributeError, match="has no posterior"):
        plot_trace(mle)
