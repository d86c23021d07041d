"""Summaries of a posterior are in raw score units, as maximum likelihood is."""

import numpy as np
import pytest
from arviz_stats import summary
from scipy import special

from bayescal import Densities, Monotone, ScoreCalibrator, TopicCalibrator
from bayescal.families import FAMILIES
from bayescal.fitting.engines.exact.engine import fit_densities
from bayescal.fitting.parts.part import all_paths, flat
from bayescal.fitting.results.calibration import read_calibration
from bayescal.fitting.scores import BinaryScores
from bayescal.text.reuters_scores import load_reuters_scores

RNG = np.random.default_rng(7)
POSITIVE = np.arange(60) >= 45
# Far from 0 and from unit spread, heavy-tailed: warps matter.
SCORES = 1000.0 + 10.0 * np.r_[RNG.standard_t(2, 45), 4.0 + RNG.gumbel(size=15)]
MIXED = {
    "combined": {},
    "average": {"parts": "average"},
    "gaussian": {"parts": Densities("gaussian", warp="average")},
    "asymmetric Laplace": {"parts": Densities("asymmetric_laplace", warp=1.0)},
}
DIRECT = {"monotone": {"parts": Monotone(warp=1.0)}, "logistic": {"parts": "logistic"}}


@pytest.fixture(scope="module")
def fitted():
    settings = {"draws": 100, "chains": 2, "random_state": 0}
    every = {**MIXED, **DIRECT, "plain": {"parts": "asymmetric_laplace"}}
    return {
        name: ScoreCalibrator(**settings, **own).fit(SCORES, POSITIVE)
        for name, own in every.items()
    }


@pytest.mark.parametrize("name", MIXED)
def test_modes_are_where_the_draws_densities_of_raw_scores_are_largest(fitted, name):
    posterior = fitted[name].posterior_["posterior"].to_dataset().stack(sample=("chain", "draw"))
    densities = read_calibration(flat(fitted[name].results_)).density_draws
    for k, density in enumerate(densities.both):
        mode, left, right = (
            posterior[each].transpose("klass", "sample").values[k]
            for each in ("mode", "left_width", "right_width")
        )
        at_mode = np.diagonal(density.logpdf(mode))
        for step in (-0.3 * left, -0.01 * left, 0.01 * right, 0.3 * right):
            assert (at_mode >= np.diagonal(density.logpdf(mode + step))).all()


@pytest.mark.parametrize("name", MIXED)
def test_the_table_has_both_in_the_same_units(fitted, name):
    table = fitted[name].summary()
    for label, part in (("False", SCORES[~POSITIVE]), ("True", SCORES[POSITIVE])):
        rows = table.loc[label]
        assert rows.index[:3].tolist() == ["mode", "left_width", "right_width"]
        # Within the scores' own range, and by about as much as they spread.
        middle, spread = np.median(part), np.subtract(*np.quantile(part, [0.9, 0.1]))
        assert (
            np.abs(rows.loc["mode", ["mle", "median", "lower", "upper"]] - middle) < spread
        ).all()
        widths = rows.loc[["left_width", "right_width"], "median"]
        assert widths.between(0.02 * spread, spread).all()


def test_corn_of_the_readme():
    corn = load_reuters_scores("linear_svm", "corn", "calibration")
    sample = corn.groupby("label").sample(frac=0.05, random_state=0)
    calibrator = ScoreCalibrator(random_state=1).fit(sample["score"], sample["label"])
    row = calibrator.summary().loc["1", "mode"]
    positives = sample.loc[sample["label"] == 1, "score"]
    grid = np.linspace(positives.min(), positives.max(), 400)
    drawn = grid[calibrator.class_densities(grid)["predictive"].values[1].argmax()]
    assert positives.min() - 0.1 < row["lower"] < row["mle"] < row["median"] < positives.max()
    assert row["lower"] < drawn < row["upper"]
    assert row["median"] == pytest.approx(drawn, abs=0.2)


@pytest.mark.parametrize("name", [*DIRECT, "combined"])
def test_direct_log_odds_are_those_of_the_curve_at_raw_scores(fitted, name):
    calibrator = fitted[name]
    groups = ["posterior"]
    if name == "combined":
        groups = ["parts/monotone/draws", "parts/logistic/draws"]
    for k, group in enumerate(groups):
        drawn = calibrator.posterior_[group]["log_odds"].stack(sample=("chain", "draw"))
        curves = read_calibration(flat(calibrator.results_)).draws
        curves = curves.parts[1 + k] if name == "combined" else curves
        at = drawn["score"].values
        np.testing.assert_allclose(drawn.T.values, curves.log_odds(at), rtol=1e-9)
        assert at[0] == SCORES.min()
        assert at[-1] == SCORES.max()


def test_the_table_of_direct_log_odds_stands_beside_those_of_maximum_likelihood(fitted):
    calibrator = fitted["monotone"]
    rows = calibrator.summary().loc["log-odds"]
    at = calibrator.posterior_["posterior"]["score"].values
    assert rows.index.tolist() == [f"at {score:.6g}" for score in at]
    np.testing.assert_allclose(rows["mle"], calibrator.mle_.log_odds(at))
    chances = calibrator.sample_proba(at)
    np.testing.assert_allclose(special.expit(rows["median"]), np.median(chances, axis=0), atol=0.01)


def test_recalibrated_log_odds_are_those_of_what_the_densities_say(fitted):
    drawn = fitted["combined"].posterior_["parts/recalibrated/draws"]["log_odds"]
    along = read_calibration(flat(fitted["combined"].results_)).draws.parts[3].along
    at = drawn["density_log_odds"].values
    np.testing.assert_allclose(
        drawn.stack(sample=("chain", "draw")).T.values, along.log_odds(at), rtol=1e-9
    )


@pytest.mark.slow
def test_groups_of_draws_hold_draws_alone_and_arviz_takes_them(fitted):
    topics = TopicCalibrator(draws=100, chains=2, random_state=0)
    topics.fit(SCORES, POSITIVE, np.tile(["corn", "earn", "grain"], 20))
    trees = [*(each.posterior_ for each in fitted.values()), topics.posterior_]
    for tree in trees:
        for name, node in flat(tree).items():
            if "chain" not in node.dims:
                continue
            dims = [each.dims for each in node.data_vars.values()]
            assert all({"chain", "draw"} <= set(each) for each in dims), name
            # The scale of no warp is infinite, which has no mean.
            if not name.endswith("engine_draws"):
                above, _, group = name.rpartition("/")
                part = tree[above] if above else tree
                table = summary(part, group=group, kind="stats", round_to="none")
                assert np.isfinite(table.to_numpy()).all(), name


@pytest.mark.parametrize("name", [*MIXED, *DIRECT])
def test_the_engines_own_coordinates_say_so(fitted, name):
    tree = fitted[name].posterior_
    first = all_paths(flat(tree))[0]
    assert "engine's own coordinates" in tree[first.draws[0]].attrs["description"]
    assert not {"theta", "left", "right", "slope", "family", "asinh_scale"} & set(
        tree["posterior"].data_vars
    )


def test_a_centre_that_is_given_is_the_centre_of_the_warp_everywhere():
    data, family = BinaryScores(SCORES, POSITIVE), FAMILIES["gaussian"]
    given = {"centre": 950.0, "spread": 10.0}
    calibrator = ScoreCalibrator(
        Densities("gaussian", warp=1.0), units=given, draws=50, chains=1, random_state=3
    ).fit(SCORES, POSITIVE)
    rng = np.random.default_rng(3)
    found = fit_densities(
        (family,), data, rng, draws=50, hyperparameters=given, asinh_scales=(1.0,)
    )
    at = np.array([930.0, 990.0, 1050.0])
    expected = np.exp(found.posterior.of_class(1).logpdf(at)).mean(axis=0)
    np.testing.assert_allclose(calibrator.class_densities(at)["predictive"][1], expected)
