"""Displays in figures of the user's: nothing is clipped or covered, legends tell things apart."""

import numpy as np
import pytest
from matplotlib import colors
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bayescal import ScoreCalibrator, TopicCalibrator, plots
from bayescal.plots import (
    ClassDensityDisplay,
    DecisionDisplay,
    LogOddsDisplay,
    ProbabilityDisplay,
    ReliabilityDisplay,
    TopicForestDisplay,
)
from tests import test_flags
from tests.report_data import make_problem, make_topics


@pytest.fixture(scope="module")
def calibrator():
    return ScoreCalibrator(draws=100, random_state=0).fit(*make_problem(80, seed=0))


@pytest.fixture(scope="module")
def flat():
    """Return a calibrator of scores that separate the classes little: its curves are flat."""
    labels = np.arange(400) % 2
    scores = np.random.default_rng(0).normal(size=400) + 0.5 * labels
    return ScoreCalibrator(draws=100, random_state=0).fit(scores, labels)


@pytest.fixture(scope="module")
def topics():
    return TopicCalibrator(draws=100, random_state=0).fit(make_topics())


def reliability(ax, **options):
    rng = np.random.default_rng(0)
    p = rng.beta(1.0, 3.0, 300)
    return ReliabilityDisplay.from_predictions(rng.random(300) < p, p, ax=ax, **options)


@pytest.mark.slow
@pytest.mark.parametrize("layout", [None, "constrained", "tight"])
def test_reliability_keeps_to_the_room_of_its_axes(layout):
    figure = Figure(figsize=(9.0, 7.0), layout=layout)
    axes = figure.subplots(2, 2)
    for ax in axes[0]:
        ax.plot([0.0, 1.0])
    figure.draw_without_rendering()
    whole = axes[1, 0].get_window_extent().frozen()
    display = reliability(axes[1, 0])
    figure.draw_without_rendering()
    counts, diagram = display.counts_ax_.get_window_extent(), display.ax_.get_window_extent()
    assert diagram.y1 < counts.y0
    np.testing.assert_allclose([counts.x0, counts.x1], [diagram.x0, diagram.x1], atol=0.5)
    if layout is None:  # others move all axes to where there is room
        assert whole.y0 - 0.5 <= diagram.y0 < counts.y1 <= whole.y1 + 0.5
    boxes = [each.get_tightbbox() for each in (*axes[0], axes[1, 1])]
    for own in (display.ax_.get_tightbbox(), display.counts_ax_.get_tightbbox()):
        assert not any(own.overlaps(other) for other in boxes)
        assert figure.bbox.x0 <= own.x0 < own.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= own.y0 < own.y1 <= figure.bbox.y1


@pytest.mark.slow
def test_the_legend_of_a_forest_stands_within_its_axes_and_covers_no_topic(topics):
    figure = Figure(figsize=(9.0, 4.0))
    display = TopicForestDisplay.from_estimator(topics, ax=figure.subplots(1, 2)[1])
    figure.draw_without_rendering()
    legend, ax = display.ax_.get_legend().get_window_extent(), display.ax_.get_window_extent()
    assert ax.y0 < legend.y0 < legend.y1 <= ax.y1
    first_row = display.ax_.transData.transform((0.0, 0.0))[1]
    assert legend.y0 > first_row


def look_without_colour(handle):
    """Return the marks of an entry that need no colour: dashes, marker, hatch, grey."""
    if isinstance(handle, Line2D):
        marker = handle.get_marker(), handle.get_markerfacecolor() == "white"
        # Matplotlib calls all dashes of one's own alike, but keeps them.
        return "line", handle.get_linestyle(), str(handle._dash_pattern), *marker
    if hasattr(handle, "get_facecolor"):
        red, green, blue, alpha = colors.to_rgba_array(handle.get_facecolor())[0]
        grey = 1.0 - alpha * (1.0 - (0.299 * red + 0.587 * green + 0.114 * blue))
        return "patch", handle.get_hatch(), round(grey / 0.05)
    (line, *_) = handle  # error bars
    return look_without_colour(line)


DRAWN = {
    "probability": ProbabilityDisplay,
    "log-odds": LogOddsDisplay,
    "densities": ClassDensityDisplay,
    "decision": DecisionDisplay,
}


@pytest.mark.parametrize("name", [*DRAWN, "reliability", "forest"])
def test_entries_of_legends_are_told_apart_without_colour(name, calibrator, topics):
    ax = Figure().subplots()
    if name == "reliability":
        reliability(ax)
    elif name == "forest":
        TopicForestDisplay.from_estimator(topics, ax=ax)
    else:
        DRAWN[name].from_estimator(calibrator, ax=ax)
    # Of error bars a legend has the bars alone: the axes know their markers.
    drawn = ax.get_legend_handles_labels()[0]
    handles = ax.get_legend().legend_handles if name == "decision" else drawn
    looks = [look_without_colour(each) for each in handles]
    assert len(looks) > 1
    assert len(set(looks)) == len(looks), looks


def documents_of(name):
    """Return the arguments of a display's `from_predictions`."""
    rng = np.random.default_rng(0)
    if name in ("TippettDisplay", "PavDisplay", "CrossEntropyDisplay", "ConsistencyDisplay"):
        return test_flags.Y, test_flags.S
    p = rng.dirichlet(np.ones(3), 200)
    labels = (p.cumsum(axis=1) < rng.random((200, 1))).sum(axis=1)
    return (p[None], labels) if name == "RiskCoverageDisplay" else (labels, p)


@pytest.mark.parametrize("name", plots.__all__)
def test_lines_and_notes_end_within_their_axes_and_notes_cover_no_tick(name, flat):
    kind = getattr(plots, name)
    if name in (*(each.__name__ for each in DRAWN.values()), "LikelihoodRatioDisplay"):
        display = kind.from_estimator(flat, ax=Figure().subplots())
    elif name in test_flags.CASES:
        display = test_flags.CASES[name][0]()
    else:
        display = kind.from_predictions(*documents_of(name), ax=Figure().subplots())
    display.figure_.draw_without_rendering()
    for ax in display.figure_.axes:
        inside = ax.get_window_extent().padded(0.5)
        for line in ax.lines:
            x, y = line.get_transform().transform(np.column_stack(line.get_data())).T
            # The net benefit of treating all has no lower bound: its line may leave the axes.
            low = -np.inf if line.get_label() == "treat all" else inside.y0
            assert ((inside.x0 <= x) & (x <= inside.x1) | np.isnan(x)).all(), line
            assert ((low <= y) & (y <= inside.y1) | np.isnan(y)).all(), line
        for text in ax.texts:
            own = text.get_window_extent()
            assert (inside.min <= own.min).all()
            assert (own.max <= inside.max).all()
            for ticks in (each.get_window_extent() for each in getattr(display, "rugs_", [])):
                assert own.y1 <= ticks.y0 or ticks.y1 <= own.y0


def test_pictures_have_two_hundred_dots_an_inch(tmp_path):
    display = reliability(Figure(figsize=(3.0, 2.0)).subplots())
    image = plt.imread(display.save(tmp_path / "reliability.png"))
    assert image.shape[:2] == (400, 600)
    coarse = plt.imread(display.save(tmp_path / "coarse.png", dpi=50))
    assert coarse.shape[:2] == (100, 150)
