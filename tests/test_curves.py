"""Draws of curves, of every kind: some of the draws, other class priors, levels at the ends."""

from dataclasses import dataclass

import numpy as np
import pytest
import xarray as xr
from scipy import special
from scipy.special import expit, logit

from bayescal.fitting.covariates import Covariates
from bayescal.fitting.curves.curves import FEW_ROWS, _Table
from bayescal.fitting.curves.part_draws import (
    AveragedDraws,
    ChangedDraws,
    CombinedDraws,
    IdentityDraws,
    LevelledCurves,
    RecalibratedDraws,
    _kernel,
    average,
    read_levels,
    spread_over_scores,
)
from bayescal.fitting.engines.combination import GROUP, Ends
from bayescal.fitting.engines.exact.engine import DensitySides
from bayescal.fitting.engines.monotone.density import Pieces
from bayescal.fitting.engines.monotone.posterior import MonotoneDraws
from bayescal.fitting.parts.program import DocumentCurves, ProgramClassDraws, ProgramLogOdds
from bayescal.fitting.scores import BinaryScores
from bayescal.metrics.changes import LogOddsFrame

RNG = np.random.default_rng(12)
DRAWS = 6
PRIOR = RNG.uniform(0.1, 0.6, DRAWS)
SHIFT = RNG.normal(0.0, 0.3, DRAWS)
SCORES = np.array([-3.0, -0.5, 0.0, 0.4, 1.1, 2.0])
DATA = BinaryScores(SCORES, np.array([False, False, True, False, True, True]))
SOME = np.array([4, 0, 4, 3])
OTHER = RNG.uniform(0.1, 0.9, DRAWS)


@dataclass(frozen=True)
class Line:
    """Functions of a program without a program: log-odds, and log densities of two classes."""

    def log_odds(self, scores, values, columns):
        added = 0.0 if columns is None else np.asarray(columns["length"])
        return values["slope"][:, None] * scores + added

    def log_density(self, klass, scores, values, columns):
        return -np.abs(self.log_odds(scores, values, columns) - klass)


def densities(draws=DRAWS):
    """Return draws of Gaussian and of asymmetric Laplace densities."""
    which, warp = np.arange(draws) % 2, np.where(np.arange(draws) % 3, np.inf, 2.0)
    sides = [
        RNG.uniform([[k - 0.5], [0.8], [0.8]], [[k], [2.0], [2.0]], (3, draws)) for k in (0, 1)
    ]
    # Sides of a symmetric family are alike.
    for each in sides:
        each[2] = np.where(which == 0, each[1], each[2])
    family = np.stack([which, which], axis=1)
    names = "gaussian", "asymmetric_laplace"
    return DensitySides(names, *np.stack(sides, axis=-1), PRIOR[:draws], family, warp, 0.1)


MONOTONE = MonotoneDraws(
    Pieces(np.array([-2.0, 0.0, 1.0]), 0.2),
    RNG.normal(size=DRAWS),
    RNG.uniform(0.2, 1.5, (DRAWS, 4)),
    PRIOR,
    0.1,
    1.4,
    3.0,
)
PROGRAM = Line(), {"slope": RNG.uniform(0.5, 2.0, DRAWS)}, PRIOR, SHIFT
KINDS = {
    "monotone": MONOTONE,
    "identity": IdentityDraws(PRIOR, SHIFT),
    "averaged": AveragedDraws(
        PRIOR, SHIFT, np.array([-1.0, 0.3, 1.0]), RNG.normal(size=(DRAWS, 3))
    ),
    "changed": ChangedDraws(
        LogOddsFrame.of(SCORES, np.ones(SCORES.size)),
        RNG.normal(0.0, 0.2, (DRAWS, 2)),
        PRIOR,
        SHIFT,
    ),
    "densities": densities(),
    "program": ProgramLogOdds(*PROGRAM),
    "program of densities": ProgramClassDraws(*PROGRAM),
}
KINDS["recalibrated"] = RecalibratedDraws(KINDS["densities"], MONOTONE)
KINDS["levelled"] = LevelledCurves(
    KINDS["identity"],
    Ends(np.array([-0.5, 1.1]), np.array([True, False])),
    RNG.normal(size=(DRAWS, 2)),
    RNG.uniform(0.1, 0.6, DRAWS),
)
PARTS = (MONOTONE, KINDS["densities"]), np.array([0.3, 0.7]), np.array([1, 0, 1, 1, 0, 1])
KINDS["combined"] = CombinedDraws(*PARTS, None, PRIOR)
WITH_LAPSES = CombinedDraws(*PARTS, RNG.uniform(0.0, 0.1, DRAWS), PRIOR, (-1.0, 1.5))


@pytest.mark.parametrize("kind", KINDS)
def test_no_draws_have_no_curves(kind):
    # A combination may take no draw of a part.
    if kind != "combined":
        nothing = KINDS[kind].take(np.empty(0, dtype=np.intp))
        assert nothing.log_odds(SCORES).shape == (0, SCORES.size)


@pytest.mark.parametrize("kind", KINDS)
def test_some_draws_say_what_they_say_among_all(kind):
    curves = KINDS[kind]
    taken = curves.take(SOME)
    assert (curves.size, taken.size) == (DRAWS, SOME.size)
    np.testing.assert_array_equal(taken.prior, curves.prior[SOME])
    np.testing.assert_allclose(taken.log_odds(SCORES), curves.log_odds(SCORES)[SOME], rtol=1e-12)
    moved = taken.with_prior(OTHER[SOME]).log_odds(SCORES)
    np.testing.assert_allclose(moved, curves.with_prior(OTHER).log_odds(SCORES)[SOME], rtol=1e-9)
    if kind != "combined":
        of_labels = curves.label_log_odds(DATA)
        np.testing.assert_allclose(taken.label_log_odds(DATA), of_labels[SOME])
        if kind != "recalibrated":
            np.testing.assert_array_equal(of_labels, curves.log_odds(SCORES))


def test_some_draws_keep_their_lapses():
    for curves in (WITH_LAPSES, WITH_LAPSES.by_part().take(SOME)):
        taken = curves.take(np.array([3, 1]))
        np.testing.assert_array_equal(taken.lapse, curves.lapse[[3, 1]])
        np.testing.assert_array_equal(taken.base, curves.base[[3, 1]])
        np.testing.assert_allclose(taken.log_odds(SCORES), curves.log_odds(SCORES)[[3, 1]])


@pytest.mark.parametrize("kind", KINDS)
def test_another_prior_moves_every_draw_by_its_log_odds(kind):
    curves = KINDS[kind]
    moved = curves.with_prior(OTHER)
    by = (logit(OTHER) - logit(curves.prior))[:, None]
    np.testing.assert_array_equal(moved.prior, OTHER)
    np.testing.assert_allclose(moved.log_odds(SCORES), curves.log_odds(SCORES) + by, atol=1e-9)
    # The first one is forgotten where a second one is given.
    back = moved.with_prior(curves.prior)
    np.testing.assert_allclose(back.log_odds(SCORES), curves.log_odds(SCORES), atol=1e-9)


# A combination's predictive curve is of all draws, an averaged one's of the score.
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"combined", "averaged"}))
def test_one_draw_predicts_what_it_says(kind):
    one = KINDS[kind].take(np.array([2]))
    np.testing.assert_allclose(one.predictive(SCORES), one.log_odds(SCORES)[0], atol=1e-9)


def test_levels_stand_at_and_beyond_the_ends():
    levelled, part = KINDS["levelled"], KINDS["identity"]
    low, high = levelled.level.T
    own = part.log_odds(SCORES)
    said = levelled.log_odds(SCORES)
    np.testing.assert_array_equal(said[:, :2], np.stack([low, low], axis=1))
    np.testing.assert_array_equal(said[:, 2:4], own[:, 2:4])
    np.testing.assert_array_equal(said[:, 4:], np.stack([high, high], axis=1))
    means = logit(expit(np.stack([low, high])).mean(axis=1))
    np.testing.assert_allclose(levelled.predictive(SCORES)[[0, 1, 4, 5]], np.repeat(means, 2))
    np.testing.assert_allclose(levelled.predictive(SCORES)[2:4], part.predictive(SCORES[2:4]))


def test_a_level_counts_for_its_own_documents_alone():
    densities, scored = KINDS["densities"], RNG.normal(size=(DRAWS, SCORES.size))
    levelled = LevelledCurves(
        densities, Ends(np.array([1.1]), np.array([False])), RNG.normal(size=(DRAWS, 1)), PRIOR
    )
    assert levelled.densities is densities
    seen, own = levelled.seen(DATA, scored), densities.seen(DATA, scored)
    np.testing.assert_array_equal(seen, np.where(SCORES >= 1.1, scored, own))
    assert KINDS["levelled"].seen(DATA, scored) is None  # its part was fitted to nothing


@pytest.mark.parametrize("lapse", [None, np.array([0.02, 0.06])])
def test_levels_of_a_tree_have_their_lapses_taken_out(lapse):
    level = RNG.uniform(0.3, 0.9, (2, 3, 2))
    level[1, 1, 1] = 1e-9
    prior = RNG.uniform(0.2, 0.4, (2, 3))
    group = xr.Dataset(
        {
            "level": (("end", "chain", "draw"), np.moveaxis(level, 2, 0)),
            "prior": (("chain", "draw"), prior),
            "lowest": ("end", [True, False]),
        },
        {"end": [-1.0, 2.0]},
    )
    (found,) = read_levels({GROUP: group}, (KINDS["identity"],), lapse)
    assert found.part is KINDS["identity"]
    np.testing.assert_array_equal(found.prior, prior.ravel())
    assert (found.ends.end.tolist(), found.ends.lowest.tolist()) == ([-1.0, 2.0], [True, False])
    # A document lapses with probability r, and is then positive as often as any other.
    rate = 0.0 if lapse is None else 0.04
    with_lapses = rate * prior.mean() + (1.0 - rate) * expit(found.level)
    held = np.ones((6, 2), dtype=bool)
    held[4, 1] = False
    np.testing.assert_allclose(with_lapses[held], level.reshape(6, 2)[held])
    assert found.level[4, 1] == pytest.approx(logit(1e-6))


def test_trees_without_levels_and_with_spoilt_ones():
    parts = KINDS["identity"], MONOTONE
    assert read_levels({}, parts, None) is parts
    group = xr.Dataset(
        {
            "level": (("chain", "draw", "end"), [[[0.5]]]),
            "prior": (("chain", "draw"), [[np.nan]]),
            "lowest": ("end", [True]),
        },
        {"end": [0.0]},
    )
    for spoilt in (group, group.assign(prior=group["prior"] * 0 + 0.2, level=group["level"] / 0)):
        with pytest.raises(ValueError, match="the draws of the levels hold values"):
            read_levels({GROUP: spoilt}, parts, None)


@pytest.mark.parametrize("kind", ["program", "program of densities"])
def test_documents_have_columns_of_their_own(kind):
    curves = KINDS[kind]
    columns = Covariates.read({"length": np.array([0.5, -1.0, 2.0])}, 3)
    score = np.array([0.3, -0.2, 1.0])
    documents = DocumentCurves(curves, score, columns)
    rows = np.array([2.0, 0.0, 2.0])
    slope, length = PROGRAM[1]["slope"][:, None], np.array([2.0, 0.5, 2.0])
    line = slope * np.array([1.0, 0.3, 1.0]) + length
    if kind == "program":
        expected = line + SHIFT[:, None]
    else:
        expected = logit(PRIOR)[:, None] - np.abs(line - 1.0) + np.abs(line)
    np.testing.assert_allclose(documents.log_odds(rows), expected)
    of_two = documents.take(SOME).log_odds(rows)
    np.testing.assert_allclose(of_two, expected[SOME])
    by = (logit(OTHER) - logit(PRIOR))[:, None]
    np.testing.assert_allclose(documents.with_prior(OTHER).log_odds(rows), expected + by)
    assert (documents.size, documents.prior is curves.prior) == (DRAWS, True)
    one = documents.take(np.array([1]))
    np.testing.assert_allclose(one.predictive(rows), one.log_odds(rows)[0])
    data = BinaryScores(score, np.array([True, False, True]), covariates=columns)
    each = documents.log_odds(np.arange(3.0))
    np.testing.assert_array_equal(curves.label_log_odds(data), each)


# Curves that are averages over documents: held to sums over groups of them

rng_of = np.random.default_rng


def test_a_draw_that_adds_a_function_of_the_score_adds_it_to_the_curve():
    score = np.sort(rng_of(0).normal(0.0, 2.0, 3000))
    added = np.stack([0.3 * np.sin(score), 0.2 * score])
    at = np.linspace(-3.0, 3.0, 31)
    found = average(score, score + added, 0.3).log_odds(at)
    expected = at + np.stack([0.3 * np.sin(at), 0.2 * at])
    np.testing.assert_allclose(found, expected, atol=0.05)


def test_probabilities_are_averaged_and_not_log_odds():
    """Half of the documents of each score have two more, half two less."""
    score = np.repeat(np.linspace(-4.0, 4.0, 2000), 2)
    side = np.tile([2.0, -2.0], 2000)
    at = np.array([-2.0, 0.0, 1.0])
    (found,) = average(score, (score + side)[None], 0.5).log_odds(at)
    shares = 0.5 * special.expit(at + 2.0) + 0.5 * special.expit(at - 2.0)
    np.testing.assert_allclose(special.expit(found), shares, atol=0.01)
    assert abs(found[0] - -2.0) > 0.3  # where a mean of log-odds would be


def test_widths_of_tied_scores_are_in_units_of_the_scores():
    score, knots, counts = np.repeat([0.0, 1.0, 3.0], 60), np.array([0.0, 1.0, 3.0]), np.ones(180)
    expected = _kernel(score, knots, counts)
    for unit in (1e-6, 1e6):
        np.testing.assert_allclose(_kernel(unit * score, unit * knots, counts), expected)


def test_weights_count_documents():
    rng = rng_of(1)
    score = rng.normal(size=200)
    draws = score + rng.normal(size=(5, 200))
    weight = rng.integers(1, 4, 200).astype(float)
    rows = np.repeat(np.arange(200), weight.astype(int))
    # Of equal knots and widths: those are of documents, however often they count.
    one = average(score, draws, 0.5, weight)
    same = average(score, draws, 0.5, np.ones(200))
    assert np.abs(one.deviation - same.deviation).max() > 0.01
    i = np.flatnonzero(np.isclose(one.knots, one.knots[20]))[0]
    near = np.partition(np.abs(score - one.knots[i]), 13)[13]
    kernel = np.exp(-0.5 * ((score[rows] - one.knots[i]) / near) ** 2)
    mean = special.expit(draws[:, rows]) @ kernel / kernel.sum()
    own = special.expit(score[rows]) @ kernel / kernel.sum()
    np.testing.assert_allclose(
        one.deviation[:, i], special.logit(mean) - special.logit(own), atol=1e-9
    )


def test_the_point_is_the_score_and_another_prior_moves_all():
    score = rng_of(2).normal(size=100)
    curves = average(score, score + rng_of(3).normal(size=(20, 1)), 0.2)
    at = np.array([-1.0, 0.0, 50.0])
    np.testing.assert_allclose(curves.predictive(at), at)
    moved = curves.with_prior(np.full(20, 0.5))
    np.testing.assert_allclose(moved.log_odds(at) - curves.log_odds(at), np.log(4.0))
    np.testing.assert_allclose(moved.predictive(at) - at, np.log(4.0))
    again = moved.with_prior(np.full(20, 0.2))
    np.testing.assert_allclose(again.log_odds(at), curves.log_odds(at))
    some = curves.take(np.array([3, 1]))
    np.testing.assert_array_equal(some.log_odds(at), curves.log_odds(at)[[3, 1]])
    assert curves.densities is None


def test_scores_that_are_all_the_same_have_one_deviation():
    curves = average(np.zeros(9), np.full((2, 9), [[1.0], [-1.0]]), 0.5)
    np.testing.assert_allclose(curves.log_odds(np.array([-5.0, 0.0])), [[-4.0, 1.0], [-6.0, -1.0]])


def test_far_out_nothing_overflows():
    score = np.linspace(-900.0, 900.0, 60)
    found = average(score, score + np.array([[1.0], [-1.0]]), 0.5).log_odds(score)
    assert np.isfinite(found).all()


def test_documents_are_chosen_by_their_score_alone():
    rng = rng_of(4)
    score = rng.standard_cauchy(50_000)
    chosen = spread_over_scores(score, 400)
    assert chosen.size <= 400
    assert np.unique(chosen).size == chosen.size
    # Half stand evenly: the far ends are there, which even ranks alone would leave out.
    assert {score.argmin(), score.argmax()} <= set(chosen.tolist())
    middle = np.abs(score[chosen]) < 1.0
    assert middle.mean() > 0.2
    assert spread_over_scores(score[:10], 400).tolist() == list(range(10))


@pytest.mark.parametrize("n", [2, 3, 12])
def test_few_documents_will_do(n):
    score = np.arange(n, dtype=float)
    curves = average(score, score + np.array([[0.5], [-0.5]]), 0.5)
    lower, upper = np.sort(curves.log_odds(np.array([0.5])), axis=0)[:, 0]
    assert lower < 0.5 < upper


@pytest.mark.parametrize("rows", [2, FEW_ROWS + 1])
def test_tables_are_read_linearly_up_to_their_last_cell(rows):
    node = np.array([-1.0, 0.0, 0.5, 2.0])
    values, scores = RNG.normal(size=(rows, 4)), np.array([-1.0, -0.3, 0.5, 1.2, 1.9, 2.0])
    expected = [np.interp(scores, node, row) for row in values]
    np.testing.assert_allclose(_Table(node, values, -1.0, 2.0).read(scores), expected, atol=1e-12)
