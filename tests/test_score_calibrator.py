"""The estimator: what it returns, what it refuses, and what it keeps."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from arviz_base import convert_to_datatree
from scipy import special, stats

import bayescal
from bayescal import NUTS, Densities, ScoreCalibrator
from bayescal.families import FAMILIES
from bayescal.fitting.results.diagnostics import ConvergenceWarning
from bayescal.support.files import sealed

RNG = np.random.default_rng(12)
SCORES = np.concatenate([RNG.gumbel(-2, 1, 80), RNG.gumbel(1, 1.5, 20)])
LABELS = np.array(["no"] * 80 + ["yes"] * 20)
NEW = np.linspace(-8, 10, 19)


@pytest.fixture(scope="module")
def drawn():
    return ScoreCalibrator("laplace", draws=60, chains=2, random_state=3).fit(SCORES, LABELS)


@pytest.fixture(scope="module")
def point():
    return ScoreCalibrator("laplace", "mle").fit(SCORES, LABELS)


@pytest.fixture(scope="module")
def sampled():
    """One posterior by NUTS of few draws, which says itself that they are few."""
    calibrator = ScoreCalibrator(
        "laplace", NUTS(sampler_options={"tune": 200}), draws=60, chains=2, random_state=3
    )
    with pytest.warns(ConvergenceWarning, match="effective sample size"):
        return calibrator.fit(SCORES, LABELS)


@pytest.fixture(scope="module")
def moded():
    return ScoreCalibrator("laplace", "map", random_state=3).fit(SCORES, LABELS)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_mle_is_bayes_rule_with_the_closed_forms(family):
    calibrator = ScoreCalibrator(Densities(family, scale_floor=0.1), "mle").fit(SCORES, LABELS)
    density = FAMILIES[family]
    negative, positive = (
        density.fit(SCORES[label == LABELS], scale_floor=0.1) for label in ("no", "yes")
    )
    prior = 21 / 102
    near = np.linspace(-3, 3, 13)  # where no density underflows
    joint = [
        weight * np.exp(density.logpdf(near, *fit.parameters.values()))
        for weight, fit in zip((1 - prior, prior), (negative, positive), strict=True)
    ]
    expected = joint[1] / (joint[0] + joint[1])
    assert calibrator.predict_proba(near)[:, 1] == pytest.approx(expected, rel=1e-9)
    assert calibrator.mle_.positive == positive
    assert calibrator.diagnostics_ is None


def test_shapes_classes_and_consistency():
    calibrator = ScoreCalibrator(inference="mle").fit(SCORES, LABELS)
    probability = calibrator.predict_proba(NEW)
    assert probability.shape == (19, 2)
    assert probability.sum(axis=1) == pytest.approx(1.0)
    log_odds = calibrator.decision_function(NEW)
    assert special.expit(log_odds) == pytest.approx(probability[:, 1])
    assert calibrator.predict(NEW).tolist() == np.where(log_odds > 0, "yes", "no").tolist()
    assert calibrator.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize(
    "labels",
    [
        np.where(LABELS == "yes", 1, 0),
        np.where(LABELS == "yes", 1, -1),
        LABELS == "yes",
        np.where(LABELS == "yes", 2.5, 1.5),
        pd.Series(LABELS),
        list(LABELS),
        np.where(LABELS == "yes", "yes", "no").astype(object),
    ],
)
def test_any_two_labels(labels):
    calibrator = ScoreCalibrator(inference="mle").fit(SCORES, labels)
    reference = ScoreCalibrator(inference="mle").fit(SCORES, LABELS)
    assert np.array_equal(calibrator.predict_proba(NEW), reference.predict_proba(NEW))
    assert calibrator.predict(NEW).dtype == np.asarray(labels).dtype


@pytest.mark.parametrize(
    ("parts", "inference"),
    [("asymmetric_laplace", "mle"), pytest.param("gaussian", "map", marks=pytest.mark.slow)],
)
def test_a_weight_is_a_number_of_repetitions(parts, inference):
    weight = RNG.integers(0, 3, SCORES.size)
    repeat = np.repeat(np.arange(SCORES.size), weight)
    settings = {"parts": parts, "inference": inference, "random_state": 0}
    weighted = ScoreCalibrator(**settings).fit(SCORES, LABELS, weight)
    repeated = ScoreCalibrator(**settings).fit(SCORES[repeat], LABELS[repeat])
    expected = repeated.decision_function(NEW)
    # A mode is as precise as the root of the rounding of its density.
    assert weighted.decision_function(NEW) == pytest.approx(expected, rel=1e-5, abs=1e-5)


class TestPosterior:
    @pytest.mark.slow
    def test_is_a_tree_in_arviz_schema(self, sampled):
        tree = sampled.posterior_
        assert isinstance(tree, xr.DataTree)
        assert {"posterior", "sample_stats", "observed_data", "constant_data"} <= set(tree.children)
        posterior = tree["posterior"]
        assert dict(posterior.sizes) == {"chain": 2, "draw": 60, "klass": 2}
        assert {"theta", "beta", "prior"} <= set(posterior.data_vars)
        assert tree["observed_data"]["score"].values == pytest.approx(SCORES)
        assert tree["observed_data"]["label"].values.sum() == 20

    def test_predictive_is_bayes_rule_with_mean_densities(self, drawn):
        draws = drawn.posterior_["posterior"].to_dataset().stack(sample=("chain", "draw"))
        pdf = [
            np.exp(FAMILIES["laplace"].logpdf(NEW[:, None], *parameters)).mean(axis=1)
            for parameters in zip(draws["theta"].values, draws["beta"].values, strict=True)
        ]
        prior = float(draws["prior"].mean())
        expected = prior * pdf[1] / (prior * pdf[1] + (1 - prior) * pdf[0])
        assert drawn.predict_proba(NEW)[:, 1] == pytest.approx(expected, rel=1e-9)

    def test_mean_is_the_mean_of_the_curves(self, drawn):
        curves = drawn.sample_proba(NEW)
        assert curves.shape == (120, 19)
        drawn.set_params(point="mean")
        mean = drawn.predict_proba(NEW)
        drawn.set_params(point="predictive")
        assert mean[:, 1] == pytest.approx(curves.mean(axis=0), rel=1e-9)
        assert mean[:, 0] == pytest.approx(1 - curves.mean(axis=0), rel=1e-9)

    def test_intervals_are_quantiles_of_the_curves_and_nest(self, drawn):
        wide, narrow = (drawn.predict_interval(NEW, level) for level in (0.9, 0.5))
        curves = np.sort(drawn.sample_proba(NEW), axis=0)
        # Quantiles are taken of the log-odds, monotone in the probability: between order
        # statistics the two interpolate differently, so compare with the ones around.
        assert (curves[5] <= wide[:, 0]).all()
        assert (wide[:, 0] <= curves[6]).all()
        assert (curves[113] <= wide[:, 1]).all()
        assert (wide[:, 1] <= curves[114]).all()
        assert (wide[:, 0] <= narrow[:, 0]).all()
        assert (narrow[:, 1] <= wide[:, 1]).all()

    def test_blocks_do_not_change_the_answer(self, drawn, monkeypatch):
        whole = drawn.predict_proba(NEW), drawn.predict_interval(NEW)
        monkeypatch.setattr("bayescal.fitting.curves.curves.BLOCK_ELEMENTS", 120 * 4)
        assert np.array_equal(whole[0], drawn.predict_proba(NEW))
        assert np.array_equal(whole[1], drawn.predict_interval(NEW))

    def test_some_draws(self, drawn):
        some = drawn.sample_proba(NEW, draws=7, random_state=1)
        assert some.shape == (7, 19)
        assert np.array_equal(some, drawn.sample_proba(NEW, draws=7, random_state=1))
        rows = {tuple(row) for row in drawn.sample_proba(NEW)}
        assert {tuple(row) for row in some} <= rows
        assert len({tuple(row) for row in some}) == 7
        for wrong in (0, 121):
            with pytest.raises(
                ValueError, match=f"draws must be a whole number from 1 to 120, got {wrong}"
            ):
                drawn.sample_proba(NEW, draws=wrong)

    def test_class_densities(self, drawn):
        grid = np.linspace(-80, 80, 4001)
        densities = drawn.class_densities(grid)
        for name in ("mle", "predictive"):
            assert densities[name].integrate("score").values == pytest.approx(1.0, abs=2e-3)
        inside = (densities["lower"] <= densities["upper"]).all()
        assert bool(inside)

    @pytest.mark.slow
    def test_summary(self, sampled, moded):
        with pytest.warns(ConvergenceWarning, match="raise draws"):  # so few are not enough
            table = sampled.summary(level=0.8)
        assert list(table.index) == [
            ("no", "theta"), ("no", "beta"), ("yes", "theta"), ("yes", "beta"), ("yes", "prior"),
        ]  # fmt: skip
        draws = sampled.posterior_["posterior"]["theta"].sel(klass="positive").values
        row = table.loc["yes", "theta"]
        assert row["median"] == pytest.approx(np.median(draws))
        assert row["lower"] == pytest.approx(np.quantile(draws, 0.1))
        assert row["mle"] == sampled.mle_.positive.parameters["theta"]
        assert {"rhat", "ess_bulk"} <= set(table.columns)
        assert "map" in moded.summary().columns

    def test_the_summary_of_independent_draws_counts_them(self):
        calibrator = ScoreCalibrator("gaussian", draws=50, chains=2, random_state=0)
        table = calibrator.fit([-2.0, -1.0, 0.5, 1.0, 2.0, 3.0], [0, 0, 0, 1, 1, 1]).summary()
        assert (table["ess_bulk"] == calibrator.diagnostics_.ess_bulk).all()
        assert table["rhat"].isna().all()

    def test_the_prior_of_a_program(self, drawn):
        tree = convert_to_datatree(drawn.to_arviz(["prior"], draws=400, random_state=0))
        prior, posterior = tree["prior"].to_dataset(), tree["posterior"].to_dataset()
        assert set(prior.data_vars) == set(posterior.data_vars)
        # No more draws than there are of the posterior.
        assert dict(prior.sizes) == {"chain": 1, "draw": 120, "klass": 2}
        constants = tree["constant_data"].to_dataset()
        expected = stats.norm(float(constants["centre"]), 2.0 * float(constants["spread"]))
        assert stats.kstest(prior["theta"].values.ravel(), expected.cdf).pvalue > 1e-3

    @pytest.mark.slow
    def test_problems_say_what_to_do(self, sampled):
        assert not sampled.diagnostics_.ok
        assert sampled.diagnostics_.draws == 120
        assert "raise draws or chains" in " ".join(sampled.diagnostics_.problems)


def test_parameters_changed_after_the_fit_do_not_change_its_family():
    calibrator = ScoreCalibrator("laplace", "mle").fit(SCORES, LABELS)
    before = calibrator.decision_function(NEW)
    calibrator.set_params(parts="gaussian")
    assert np.array_equal(calibrator.decision_function(NEW), before)


class TestWithoutPosterior:
    @pytest.mark.slow
    def test_mode_is_bayes_rule_at_the_mode(self, moded):
        mode = moded.results_["mode"]
        logpdf = FAMILIES["laplace"].logpdf
        parameters = [(float(mode["theta"][k]), float(mode["beta"][k])) for k in (0, 1)]
        expected = special.logit(float(mode["prior"])) + logpdf(NEW, *parameters[1])
        expected -= logpdf(NEW, *parameters[0])
        assert moded.decision_function(NEW) == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize("method", ["predict_interval", "sample_proba"])
    def test_asking_for_one_says_what_to_do(self, point, method):
        with pytest.raises(ValueError, match=f"{method} needs a posterior.*inference='exact'"):
            getattr(point, method)(NEW)

    def test_there_is_no_posterior_attribute(self, point):
        assert not hasattr(point, "posterior_")
        with pytest.raises(AttributeError, match="fit with inference='exact'"):
            _ = point.posterior_


SLOW_KINDS = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("sampled", "moded")]


class TestSaveAndLoad:
    def same(self, left, right):
        assert left.get_params() == right.get_params()
        assert left.classes_.tolist() == right.classes_.tolist()
        assert left.mle_ == right.mle_
        assert left.diagnostics_ == right.diagnostics_
        assert np.array_equal(left.predict_proba(NEW), right.predict_proba(NEW))
        assert left.results_.equals(right.results_)

    @pytest.mark.parametrize("kind", ["drawn", "point", *SLOW_KINDS])
    def test_round_trip(self, kind, request, tmp_path):
        calibrator = request.getfixturevalue(kind)
        path = calibrator.save(tmp_path / "fit.nc")
        assert list(tmp_path.iterdir()) == [path]
        self.same(calibrator, bayescal.load(path))
        self.same(calibrator, pickle.loads(pickle.dumps(calibrator)))

    @pytest.mark.parametrize("labels", [LABELS, LABELS == "yes", np.where(LABELS == "yes", 3, 1)])
    def test_labels_and_weights_survive(self, labels, tmp_path):
        weight = RNG.random(SCORES.size)
        calibrator = ScoreCalibrator(Densities("gaussian", scale_floor=None), "mle").fit(
            SCORES, labels, weight
        )
        loaded = bayescal.load(calibrator.save(tmp_path / "fit.nc"))
        self.same(calibrator, loaded)
        assert loaded.predict(NEW).dtype == calibrator.predict(NEW).dtype

    def test_what_cannot_be_read(self, point, tmp_path):
        other = tmp_path / "other.nc"
        other.write_bytes(sealed(xr.DataTree().to_netcdf(engine="h5netcdf")))
        with pytest.raises(ValueError, match="was not written by bayescal"):
            bayescal.load(tmp_path / "other.nc")
        tree = point.results_.copy()
        for version, advice in ((99, "update bayescal"), (0, "fit and save it again")):
            tree.attrs["bayescal_schema"] = version
            other.write_bytes(sealed(tree.to_netcdf(engine="h5netcdf")))
            with pytest.raises(ValueError, match=rf"schema {version}.*{advice}"):
                bayescal.load(tmp_path / "other.nc")

    def test_an_error_leaves_the_old_file(self, point, tmp_path, monkeypatch):
        path = point.save(tmp_path / "fit.nc")
        before = path.read_bytes()

        write = Path.write_bytes

        def fail(self, data):
            write(self, data[:100])
            raise OSError("disk full")

        monkeypatch.setattr(Path, "write_bytes", fail)
        with pytest.raises(OSError, match="disk full"):
            point.save(path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]
        with pytest.raises(FileNotFoundError, match="there is no folder"):
            point.save(tmp_path / "no" / "fit.nc")
