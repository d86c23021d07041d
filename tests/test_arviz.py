"""ArviZ's functions read a fitted calibrator's posterior, in either era."""

from importlib.metadata import version

import arviz_plots
import numpy as np
import pandas as pd
import pytest
import scipy.stats as st
import xarray as xr
from arviz_base import convert_to_datatree
from arviz_stats import compare, loo, summary
from matplotlib import pyplot as plt
from scipy import special

from bayescal import Densities, Monotone, ScoreCalibrator, load
from bayescal.calibrators import leave_one_out, score_results
from bayescal.families import FAMILIES
from bayescal.families.draws import raw_shapes
from bayescal.fitting.engines.exact.engine import fit_densities
from bayescal.fitting.parts.configured import ASINH_SCALES
from bayescal.fitting.parts.part import flat
from bayescal.fitting.results.calibration import read_calibration
from bayescal.fitting.scores import NOTHING, BinaryScores


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    return rng.normal(2.0 * y, 1.0), y


SCORES, LABELS = data(80, seed=2)


@pytest.fixture(scope="module")
def combined():
    return ScoreCalibrator(random_state=0).fit(SCORES, LABELS)


def tree_of(fitted, *given, **options):
    """Return the result of `to_arviz` as a DataTree, for either version of ArviZ."""
    return convert_to_datatree(fitted.to_arviz(*given, **options))


@pytest.fixture(autouse=True)
def figures():
    yield
    plt.close("all")


@pytest.mark.parametrize(
    ("parts", "units"),
    [("laplace", "1 / raw score"), (Densities("average"), "raw score"), ("logistic", "log-odds")],
)
def test_draws_have_long_names_and_units_in_files_too(parts, units, tmp_path):
    fitted = ScoreCalibrator(parts, draws=50, random_state=0).fit(SCORES, LABELS)
    again = load(fitted.save(tmp_path / "fit.nc"))
    for draws in (fitted.posterior_["posterior"], again.posterior_["posterior"]):
        found = {name: each.attrs["units"] for name, each in draws.data_vars.items()}
        assert all(each.attrs["long_name"] for each in draws.data_vars.values())
        assert found["prior"] == "probability"
        assert units in found.values()


NAMES = [f"mail {k:02}" for k in range(SCORES.size)]


@pytest.mark.parametrize(
    "named",
    [
        pd.Series(SCORES, NAMES),
        pd.DataFrame({"margin": SCORES}, NAMES),
        xr.DataArray(SCORES, {"mail": NAMES}, "mail"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_documents_keep_their_identifiers(named, tmp_path):
    fitted = ScoreCalibrator("gaussian", draws=20, random_state=0).fit(named, LABELS)
    read = load(fitted.save(tmp_path / "fit.nc"))
    tree = tree_of(read, groups=("log_likelihood", "posterior_predictive"))
    for group in ("observed_data", "log_likelihood", "posterior_predictive"):
        assert tree[group]["document"].values.tolist() == NAMES
    one = read.posterior_["observed_data"].to_dataset().sel(document="mail 07")
    assert float(one["score"]) == SCORES[7]
    # Updates keep them if all documents have one of their own.
    new = pd.Series(SCORES[:5], [f"new {k}" for k in range(5)])
    updated = read.update(new, LABELS[:5]).posterior_["observed_data"]
    assert updated["document"].values.tolist() == NAMES + list(new.index)
    for other in (SCORES[:5], pd.Series(SCORES[:5], NAMES[:5])):
        again = read.update(other, LABELS[:5]).posterior_["observed_data"]
        assert "document" not in again.coords


def test_positions_and_repeated_names_identify_nothing():
    for index in (None, [0, *range(SCORES.size - 1)]):
        fitted = ScoreCalibrator(inference="mle").fit(pd.Series(SCORES, index), LABELS)
        assert "document" not in fitted.results_["observed_data"].coords


# Pareto k of documents that all draws are sure of, whose weights hardly differ.
SURE = pytest.mark.filterwarnings("ignore:Estimated shape parameter")


@SURE
@pytest.mark.parametrize("model", [{"parts": "gaussian"}, {"parts": "logistic"}])
def test_loo_is_the_log_score_of_labels_left_out(model):
    scores, y = data(25)
    fitted = ScoreCalibrator(**model, random_state=0).fit(scores, y)
    expected = []
    for i in range(25):
        others = np.arange(25) != i
        again = ScoreCalibrator(**model, random_state=i).fit(scores[others], y[others])
        expected.append(np.log(again.predict_proba(scores[[i]])[0, int(y[i])]))
    found = loo(fitted.to_arviz(["log_likelihood"], draws=4000), pointwise=True)
    assert found.elpd_i.values == pytest.approx(expected, abs=0.08)
    assert found.elpd == pytest.approx(sum(expected), abs=0.2)
    # Without leaving anything out the score is better than that.
    p = fitted.predict_proba(scores)[np.arange(25), y.astype(int)]
    assert np.log(p).sum() > sum(expected) + 0.4


@SURE
def test_loo_of_a_combination_is_that_of_the_mixture_of_its_parts(combined):
    curves = read_calibration(flat(combined.results_)).draws
    values = combined.to_arviz(["log_likelihood"], draws=4000)["log_likelihood"]["label"].values
    found = -np.log(np.exp(-values).mean(axis=(0, 1)))
    # By hand, of the densities and of the monotone log-odds, all of whose draws are taken.
    parts, weight = [], curves.weight
    for part in (0, 1, 2):
        p = special.expit(curves.parts[part].log_odds(SCORES))
        parts.append(1.0 / (1.0 / np.where(LABELS, p, 1.0 - p)).mean(axis=0))
    without_recalibrated = np.log(weight[:3] @ np.array(parts) / weight[:3].sum())
    assert found == pytest.approx(without_recalibrated, abs=0.15)
    assert found.sum() == pytest.approx(leave_one_out(combined).elpd, abs=0.5)
    assert loo(combined.to_arviz(["log_likelihood"]), pointwise=True).elpd == pytest.approx(
        found.sum(), abs=0.3
    )


@SURE
def test_documents_that_all_draws_are_sure_of_do_not_break_the_smoothing():
    scores = np.r_[SCORES, 40.0, 41.0, -40.0]
    fitted = ScoreCalibrator("gaussian", random_state=0).fit(scores, np.r_[LABELS, 1, 1, 0])
    assert np.isfinite(loo(fitted.to_arviz(["log_likelihood"]), pointwise=True).elpd_i).all()


@SURE
# 2026-11: arviz-stats 0.8 sorts in place, which pandas 3.1 announces the end of.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_compare_ranks_calibrators_of_either_kind():
    scores, y = data(300, seed=3)
    models = {
        "gaussian": {"parts": "gaussian"},
        "logistic": {"parts": "logistic"},
        "laplace": {"parts": Densities("laplace", warp=1.0)},
    }
    trees = {
        name: ScoreCalibrator(random_state=0, **own).fit(scores, y).to_arviz(["log_likelihood"])
        for name, own in models.items()
    }
    table = compare(trees)
    assert set(table.index) == set(models)
    # Scores are Gaussian: a straight line is as right, and costs a parameter less.
    assert table.index[-1] == "laplace"


def test_the_prior_is_the_program_s():
    fitted = ScoreCalibrator("asymmetric_laplace", random_state=0).fit(SCORES, LABELS)
    tree = tree_of(fitted, ["prior"], draws=2000, random_state=0)
    prior, posterior = tree["prior"].to_dataset(), tree["posterior"].to_dataset()
    assert set(prior.data_vars) == set(posterior.data_vars)
    assert dict(prior.sizes) == {"chain": 1, "draw": 2000, "klass": 2}
    centre, spread = (float(tree["constant_data"][name]) for name in ("centre", "spread"))
    drawn = {
        "theta": st.norm(centre, 2.0 * spread),
        "left_share": st.beta(2.0, 2.0),
        "width": st.invgamma(2.0, scale=spread),
    }
    for name, expected in drawn.items():
        for klass in (0, 1):
            assert st.kstest(prior[name].values[0, :, klass], expected.cdf).pvalue > 1e-3, name
    assert st.kstest(prior["prior"].values[0], "uniform").pvalue > 1e-3
    # Negative: the posterior is something else.
    assert st.kstest(posterior["theta"].values[..., 0].ravel(), drawn["theta"].cdf).pvalue < 1e-6


def test_replicates_by_the_prior_are_the_program_s(combined):
    fitted = ScoreCalibrator("gaussian", random_state=0).fit(SCORES, LABELS)
    tree = tree_of(fitted, ["prior_predictive"], draws=4000, random_state=0)
    centre, spread = (float(tree["constant_data"][name]) for name in ("centre", "spread"))
    assert "prior" not in tree.children
    rng = np.random.default_rng(0)
    mean = rng.normal(centre, 2.0 * spread, 4000)
    squared_width = spread**2 * st.invgamma(2.0).rvs(4000, random_state=rng)
    expected = rng.normal(mean, np.sqrt(squared_width) / 2.0)
    replicates = tree["prior_predictive"]
    for document in (0, 40):
        own = replicates["score"].values[0, :, document]
        assert st.ks_2samp(own, expected).pvalue > 1e-3
        # Negative: the posterior knows the scores.
        seen = tree_of(fitted, ["posterior_predictive"], random_state=0)["posterior_predictive"]
        assert st.ks_2samp(seen["score"].values[..., document].ravel(), own).pvalue < 1e-6
    # By symmetry of the classes half of the replicated labels are positive.
    assert replicates["label"].values.mean() == pytest.approx(0.5, abs=0.05)
    with pytest.raises(ValueError, match=r"needs a model of one family or .* 'densities',"):
        combined.to_arviz(["prior_predictive"])


def test_the_prior_is_drawn_only_if_asked_for(combined, monkeypatch):
    monkeypatch.setattr(score_results, "draw_prior", lambda *_: pytest.fail("a prior was drawn"))
    combined.to_arviz(["log_likelihood", "posterior_predictive"], draws=100)
    with pytest.raises(pytest.fail.Exception, match="a prior was drawn"):
        combined.to_arviz(["prior"], draws=100)


def test_the_prior_of_a_mixture_is_in_raw_score_units():
    families = FAMILIES["gaussian"], FAMILIES["asymmetric_laplace"]
    documents = BinaryScores(SCORES, LABELS)
    found = fit_densities(
        families,
        NOTHING,
        np.random.default_rng(0),
        draws=2000,
        asinh_scales=ASINH_SCALES,
        scale=documents.centre_and_spread,
    )
    # All families and warps alike.
    share = np.bincount(found.mixture.component.ravel(), minlength=8) / 4000
    assert share == pytest.approx(0.125, abs=0.03)
    fitted = ScoreCalibrator(parts="combined", random_state=1).fit(SCORES, LABELS)
    prior = tree_of(fitted, ["prior"], draws=2000, random_state=0)["prior"].to_dataset()
    for klass in (0, 1):
        own = raw_shapes(found.posterior.of_class(klass))
        for name, values in zip(("mode", "left_width", "right_width"), own, strict=True):
            assert st.ks_2samp(prior[name].values[0, :, klass], values).pvalue > 1e-3
    assert np.isfinite(prior.to_array()).all()


def test_the_prior_of_monotone_log_odds():
    monotone = Monotone(3, warp="none", prior_knowledge={"intercept_scale": 2.0})
    fitted = ScoreCalibrator(monotone, draws=50, random_state=0).fit(SCORES, LABELS)
    tree = tree_of(fitted, ["prior"], draws=4000, random_state=0)
    size = tree["prior"].sizes["draw"]
    assert size == 200  # no more than the posterior has
    constants = tree["parts/monotone/engine_draws"].to_dataset()
    reference = float(constants["centre"] + constants["spread"] * constants["reference"])
    prior = tree["prior"]["log_odds"].values[0]
    assert (np.diff(prior, axis=1) >= 0.0).all()
    nodes = tree["prior"]["score"].values
    at_reference = [np.interp(reference, nodes, curve) for curve in prior]
    assert st.kstest(at_reference, st.norm(0.0, 2.0).cdf).pvalue > 1e-3


def test_replicates_are_drawn_from_the_posterior_predictive(combined):
    tree = convert_to_datatree(
        combined.to_arviz(["posterior_predictive"], draws=2000, random_state=0)
    )
    replicates = tree["posterior_predictive"].to_dataset()
    assert dict(replicates.sizes) == {"chain": 4, "draw": 500, "document": 80}
    share = replicates["label"].mean(("chain", "draw")).values
    expected = combined.sample_proba(SCORES).mean(axis=0)
    assert share == pytest.approx(expected, abs=5 * 0.5 / 2000**0.5)
    densities = read_calibration(flat(combined.results_)).density_draws
    for k, each in enumerate(densities.both):
        drawn = replicates["score"].values[..., k == LABELS].reshape(2000, -1)[:, 0]
        at = np.quantile(drawn, [0.1, 0.5, 0.9])
        assert each.cdf(at).mean(axis=0) == pytest.approx([0.1, 0.5, 0.9], abs=0.04)


def test_all_groups_have_the_same_draws(combined):
    tree = tree_of(combined, draws=100, random_state=0)
    whole = combined.posterior_["posterior"].to_dataset()
    thinned = tree["posterior"].to_dataset()
    assert thinned.equals(whole.sel(draw=thinned["draw"]))
    for group in ("posterior", "log_likelihood", "posterior_predictive", "parts/monotone/draws"):
        assert tree[group].sizes["chain"] == 4, group
        assert tree[group].sizes["draw"] == 25, group
    added = {"log_likelihood", "prior", "posterior_predictive"}
    # InferenceData, before ArviZ 1.0, has no group without variables.
    without = {"combination"}
    assert set(combined.posterior_.children) - without == set(tree.children) - added - without
    again = tree_of(combined, draws=100, random_state=0)
    assert again["posterior_predictive"].equals(tree["posterior_predictive"])
    assert again["prior"].equals(tree["prior"])


@pytest.mark.slow
def test_arviz_plots_draws_the_groups(combined):
    tree = tree_of(combined, draws=200, random_state=0)
    arviz_plots.plot_ppc_pava(tree, var_names="label", backend="matplotlib")
    arviz_plots.plot_ppc_dist(tree, var_names="score", backend="matplotlib")
    arviz_plots.plot_prior_posterior(tree, var_names=["mode", "prior"], backend="matplotlib")
    part = tree["parts/monotone"]
    arviz_plots.plot_forest(part, group="draws", var_names="log_odds", backend="matplotlib")


def test_arviz_itself_reads_the_tree_from_its_version_1_on(combined):
    import arviz

    if int(version("arviz").split(".")[0]) >= 1:
        assert arviz.summary(combined.posterior_).equals(summary(combined.posterior_))
        return
    # Before, its functions take groups as datasets.
    with pytest.raises(TypeError, match="cannot directly convert a DataTree"):
        arviz.summary(combined.posterior_)
    table = arviz.summary(combined.posterior_["posterior"].to_dataset())
    assert "mode[negative]" in table.index


@SURE
@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.filterwarnings("ignore:For one or more samples the posterior variance")
def test_the_installed_arviz_compares_calibrators():
    """`loo` and `compare` are in both eras, and `waic` before 1.0."""
    import arviz

    trees = {
        name: ScoreCalibrator(name, draws=100, random_state=0).fit(SCORES, LABELS).to_arviz()
        for name in ("gaussian", "logistic")
    }
    own = arviz.loo(trees["gaussian"])
    found = own.elpd_loo if hasattr(own, "elpd_loo") else own.elpd
    assert found == pytest.approx(loo(trees["gaussian"]).elpd, abs=0.01)
    assert set(arviz.compare(trees).index) == set(trees)
    if hasattr(arviz, "waic"):
        assert arviz.waic(trees["gaussian"]).elpd_waic == pytest.approx(found, abs=0.1)


def test_weighted_documents_cannot_be_left_out_but_replicated(combined):
    fitted = ScoreCalibrator("gaussian", random_state=0).fit(SCORES, LABELS, np.full(80, 2.0))
    with pytest.raises(ValueError, match="log_likelihood has no place for sample_weight"):
        fitted.to_arviz()
    assert "prior" in fitted.to_arviz(["prior", "posterior_predictive"])
    for wrong in ({"groups": ["waic"]}, {"draws": 0}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
            combined.to_arviz(**wrong)
    with pytest.raises(AttributeError, match="has no posterior"):
        ScoreCalibrator(inference="mle").fit(SCORES, LABELS).to_arviz()
