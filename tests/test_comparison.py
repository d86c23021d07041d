"""Comparison of calibrators: leave-one-out scores against refits, and the rates of paired tests."""

import textwrap

import arviz_stats
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import special

from bayescal import Density, MulticlassCalibrator, Program, ScoreCalibrator, load
from bayescal.calibrators import (
    compare_estimates,
    compare_with_closed_form,
    leave_one_out,
    paired_bootstrap,
)
from bayescal.families import FAMILIES
from bayescal.inference.importance import smooth
from bayescal.support.numerics import centre_and_spread


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    return rng.normal(2.0 * y, 1.0), y


@pytest.mark.parametrize("model", [{"parts": "gaussian"}, {"parts": "logistic"}])
def test_leave_one_out_is_that_of_fits_without_the_document(model):
    scores, y = data(25)
    fitted = ScoreCalibrator(**model, point="mean", random_state=0).fit(scores, y)
    expected = []
    for i in range(25):
        others = np.arange(25) != i
        again = ScoreCalibrator(**model, point="mean", random_state=i).fit(
            scores[others], y[others]
        )
        expected.append(np.log(again.predict_proba(scores[[i]])[0, int(y[i])]))
    found = leave_one_out(fitted, draws=4000)
    assert found.elpd_i.values == pytest.approx(expected, abs=0.08)
    assert found.elpd == pytest.approx(sum(expected), abs=0.2)
    p = fitted.predict_proba(scores)[np.arange(25), y.astype(int)]
    assert np.log(p).sum() > sum(expected) + 0.4  # documents seen are predicted better


def loo_of(log_score):
    """Return ArviZ's result for draws of log scores, (draws, documents)."""
    group = xr.Dataset({"label": (("chain", "draw", "document"), log_score[None])})
    tree = xr.DataTree.from_dict({"log_likelihood": group})
    return arviz_stats.loo(tree, pointwise=True, reff=1.0)


def test_leave_one_out_of_direct_log_odds_is_arviz_alone():
    scores, y = data(80)
    fitted = ScoreCalibrator(parts="logistic", random_state=0).fit(scores, y)
    p = fitted.sample_proba(scores)
    log_score = np.log(np.where(y, p, 1 - p))
    expected = loo_of(log_score)
    found = leave_one_out(fitted, draws=4000)
    for name in ("elpd", "se", "p"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-6), name
    assert found.pareto_k.values == pytest.approx(expected.pareto_k.values)
    log_weight, k = smooth(-log_score.T)
    assert k == pytest.approx(expected.pareto_k.values)
    assert log_weight.shape == (80, 4000)


# A draw belongs to one part, even one that predicts a document badly: some ratios are uneven.
@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto")
def test_combination_is_scored_as_the_mixture_of_its_parts():
    scores, y = data(150, seed=1)
    fitted = ScoreCalibrator(scores_are="log_odds", prior_knowledge="vague", random_state=0).fit(
        scores, y
    )
    parts = fitted.combination_
    assert "identity" in parts.index
    found = leave_one_out(fitted)
    # The engine's own leave-one-out scores of the parts are worked out in other ways.
    alone = leave_one_out(ScoreCalibrator(parts="logistic", random_state=0).fit(scores, y))
    assert alone.elpd == pytest.approx(parts.loc["logistic", "elpd"], abs=0.3)
    assert parts["weight"] @ parts["elpd"] - 0.3 < found.elpd < parts["elpd"].max() + 2
    identity = special.log_expit(np.where(y, scores, -scores)).sum()
    assert parts.loc["identity", "elpd"] == pytest.approx(identity)
    assert 0 < found.p < 10


@pytest.fixture(scope="module")
def of_classes():
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=60)
    scores = rng.normal(size=(60, 3)) + 2.0 * np.eye(3)[y]
    return scores, y, MulticlassCalibrator(draws=150, random_state=0).fit(scores, y)


@pytest.mark.filterwarnings("ignore:the posterior draws are not to be trusted")
@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto")
def test_leave_one_out_of_several_classes_is_arviz_alone(of_classes):
    scores, y, fitted = of_classes
    expected = loo_of(np.log(fitted.sample_proba(scores)[:, np.arange(60), y]))
    assert leave_one_out(fitted).elpd_i.values == pytest.approx(expected.elpd_i.values, abs=1e-6)


# The map of scores in the wrong order depends on single documents, and few draws on chance.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the posterior draws are not to be trusted")
@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto")
def test_maps_of_several_classes_are_compared(of_classes):
    scores, y, fitted = of_classes
    moved = MulticlassCalibrator(draws=150, random_state=0).fit(scores[:, ::-1], y)
    assert leave_one_out(moved).elpd < leave_one_out(fitted).elpd
    weighted = MulticlassCalibrator(draws=20, random_state=0)
    weighted.fit(scores, y, sample_weight=np.full(60, 2.0))
    with pytest.raises(ValueError, match="no place for sample_weight"):
        leave_one_out(weighted)


def test_leave_one_out_refuses():
    scores, y = data(40)
    weighted = ScoreCalibrator("gaussian").fit(scores, y, sample_weight=np.arange(40) + 1)
    with pytest.raises(ValueError, match="no place for sample_weight"):
        leave_one_out(weighted)
    with pytest.raises(ValueError, match="needs a posterior"):
        leave_one_out(ScoreCalibrator(inference="mle").fit(scores, y))


@pytest.mark.one_era
@pytest.mark.slow
def test_bootstrap_interval_covers_the_difference():
    rng = np.random.default_rng(4)
    held, apart = [], []
    for _ in range(200):
        common = rng.exponential(5, 80)
        a, b = common + rng.exponential(1.0, 80), common + rng.exponential(1.5, 80)
        found = paired_bootstrap(a, b, resamples=300, rng=rng)
        held.append(found.lower <= -0.5 <= found.upper)
        # Methods taken for unpaired: an interval many times too wide holds always.
        apart.append(found.upper - found.lower)
    allowance = 3 * np.sqrt(0.09 / 200)
    assert 0.9 - allowance - 0.02 < np.mean(held) < 0.9 + allowance
    assert np.mean(apart) < 0.5 * 2 * 1.645 * np.sqrt(2 * 25 / 80)


def test_groups_are_drawn_whole():
    rng = np.random.default_rng(5)
    effect = np.repeat(rng.normal(0, 1, 30), 20)
    a, b = effect + rng.normal(0, 0.1, 600), np.zeros(600)
    apart = paired_bootstrap(a, b, rng=0)
    whole = paired_bootstrap(a, b, groups=np.repeat(np.arange(30), 20), rng=0)
    assert whole.difference == pytest.approx(apart.difference)
    assert whole.method == "bootstrap of groups"
    ratio = (whole.upper - whole.lower) / (apart.upper - apart.lower)
    assert ratio == pytest.approx(np.sqrt(20), rel=0.25)


def test_weights_and_who_is_better():
    a, b, weight = np.array([0.0, 1.0, 4.0]), np.array([1.0, 1.0, 1.0]), np.array([3, 1, 0])
    found = paired_bootstrap(a, b, sample_weight=weight, rng=0)
    assert found.difference == pytest.approx(-0.75)
    assert found.share_better > 0.8
    assert paired_bootstrap(b, b, rng=0).share_better == 0.5
    same = paired_bootstrap(a, b, sample_weight=weight, rng=0)
    assert same == found


def test_counts_are_repeated_documents_and_sampled_documents_are_not():
    rng = np.random.default_rng(6)
    a, b, counts = rng.exponential(1.5, 60), rng.exponential(1.0, 60), rng.integers(1, 7, 60)
    repeated = paired_bootstrap(np.repeat(a, counts), np.repeat(b, counts), rng=0)
    counted = paired_bootstrap(a, b, sample_weight=counts, rng=0)
    sampled = paired_bootstrap(a, b, inclusion=1.0 / counts, rng=0)
    widths = [each.upper - each.lower for each in (repeated, counted, sampled)]
    assert counted.difference == pytest.approx(repeated.difference)
    assert sampled.difference == pytest.approx(repeated.difference)
    # Of 2,000 resamples an end has a standard error of 2 % of the width.
    assert widths[1] == pytest.approx(widths[0], rel=0.1)
    share = counts / counts.sum()
    error = np.sqrt(np.sum((share * (a - b - share @ (a - b))) ** 2))
    assert widths[2] == pytest.approx(2 * 1.645 * error, rel=0.15)
    assert widths[2] > 1.5 * widths[1]
    at_scale = paired_bootstrap(a, b, inclusion=0.02 / counts, rng=0)
    assert at_scale.lower == pytest.approx(sampled.lower)
    with pytest.warns(UserWarning, match="pass inclusion=1"):
        paired_bootstrap(a, b, sample_weight=counts + 0.5, rng=0)
    with pytest.raises(ValueError, match="either sample_weight or inclusion"):
        paired_bootstrap(a, b, sample_weight=counts, inclusion=1.0 / counts, rng=0)


def test_paired_comparisons_refuse():
    with pytest.raises(ValueError, match="loss_a must be finite"):
        paired_bootstrap([np.inf, 1.0], [0.0, 1.0])
    with pytest.raises(ValueError, match="same length"):
        paired_bootstrap([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="at least two documents or groups"):
        paired_bootstrap([1.0, 2.0], [0.0, 1.0], groups=["a", "a"])


# Estimates side by side: curves in one picture, and modes beside closed forms

RNG = np.random.default_rng(3)
LABEL = np.repeat([False, True], [35, 25])  # odd numbers have one median
SCORE = 10.0 + 3.0 * RNG.normal(1.5 * LABEL)
# A normal density by its precision, with priors far from these scores.
OWN = """
    import pymc as pm

    def model(score, label):
        with pm.Model(coords={"klass": ["negative", "positive"]}) as program:
            prior = pm.Beta("prior", 50, 1)
            middle = pm.Normal("middle", -5, 2, dims="klass")
            precision = pm.Gamma("precision", 20, 2, dims="klass")
            k = pm.Bernoulli("label", prior, observed=label)
            pm.Normal("score", middle[k], tau=precision[k], observed=score)
        return program

    def log_density(score, klass, middle, precision):
        return pm.logp(pm.Normal.dist(middle[klass], tau=precision[klass]), score)
"""


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(textwrap.dedent(OWN))
    return Program(path)


def by_precision(x):
    return {"middle": x.mean(), "precision": 1.0 / x.var()}


@pytest.mark.slow
def test_the_mode_of_an_own_program_under_flat_priors_is_its_closed_form(own):
    table = compare_with_closed_form(own, by_precision, SCORE, np.where(LABEL, "spam", "ham"))
    assert list(table) == ["map", "closed_form", "difference"]
    assert list(table.index) == [
        (label, name) for label in ("ham", "spam") for name in ("middle", "precision")
    ]
    assert table["difference"].abs().max() < 1e-4
    assert table.loc[("ham", "middle"), "map"] == pytest.approx(SCORE[~LABEL].mean(), abs=1e-4)


@pytest.mark.slow
def test_own_priors_move_the_mode(own):
    mode = ScoreCalibrator(own, "map", random_state=0).fit(SCORE, LABEL).summary()["map"]
    assert abs(mode[("False", "middle")] - SCORE[~LABEL].mean()) > 0.5


def test_a_wrong_closed_form_differs(own):
    def unbiased(x):
        return {"middle": x.mean(), "precision": 1.0 / x.var(ddof=1)}

    difference = compare_with_closed_form(own, unbiased, SCORE, LABEL)["difference"]
    expected = 1 / SCORE[LABEL].var() - 1 / SCORE[LABEL].var(ddof=1)
    assert difference[("True", "precision")] == pytest.approx(expected, rel=1e-2)


@pytest.mark.slow
def test_a_density_is_compared_in_its_units():
    def laplace(x):
        return {"mu": np.median(x), "b": np.abs(x - np.median(x)).mean()}

    density = Density(pm.Laplace, priors={"b": Density(pm.HalfNormal, sigma=1.0)})
    table = compare_with_closed_form(density, laplace, SCORE, LABEL)
    assert table["difference"].abs().max() < 1e-3
    centre, spread = centre_and_spread(SCORE)
    median = (np.median(SCORE[LABEL]) - centre) / spread
    assert table.loc[("True", "mu"), "closed_form"] == pytest.approx(median)


@pytest.mark.slow
def test_parameters_of_a_density_are_in_score_units(tmp_path):
    raw = 1000.0 + 50.0 * SCORE
    fits = {
        "t": ScoreCalibrator(Density("StudentT", nu=30.0), "map", random_state=0).fit(raw, LABEL),
        "gaussian": ScoreCalibrator("gaussian", "mle").fit(raw, LABEL),
    }
    fits["t"].save(tmp_path / "t.nc")
    assert load(tmp_path / "t.nc").summary().equals(fits["t"].summary())
    table = compare_estimates(fits)
    for label in ("False", "True"):
        own, closed = table.loc[(label, "mu")].xs("estimate", level=1)
        assert own == pytest.approx(closed, abs=25.0)
        own, closed = table.loc[(label, "sigma")].xs("estimate", level=1)
        assert own == pytest.approx(closed, rel=0.25)


@pytest.mark.slow
def test_other_parameters_of_a_density_name_their_units():
    raw = 1000.0 + 50.0 * SCORE
    of_mu = Density("Normal", mu=0.0, sigma=2.0)
    density = Density("AsymmetricLaplace", kappa=1.0, b=1.0, priors={"mu": of_mu})
    fitted = ScoreCalibrator(density, "map", random_state=0).fit(raw, LABEL)
    centre, spread = centre_and_spread(raw)
    names = set(fitted.summary().index.get_level_values("parameter"))
    assert names == {f"mu of (s - {centre:.6g})/{spread:.6g}", "prior"}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_shipped_programs_have_the_closed_form_of_their_family(name):
    def closed_form(x):
        return FAMILIES[name].fit(x, scale_floor=None).parameters

    table = compare_with_closed_form(Program(name), closed_form, SCORE, LABEL)
    # Precise to the spread of the scores, about 4.
    assert table["difference"].abs().max() < 1e-3


@pytest.mark.parametrize(
    ("program", "closed_form", "message"),
    [
        ("gaussian", by_precision, "program must be a Program or a Density, got 'gaussian'"),
        (Program("logistic"), by_precision, "must define log_density, which Program"),
        (Program("gaussian"), by_precision, "'middle', which .* not have by class; it has mu, "),
    ],
)
def test_what_has_no_closed_form(program, closed_form, message):
    with pytest.raises(ValueError, match=message):
        compare_with_closed_form(program, closed_form, SCORE, LABEL)


def test_estimates_of_something_else_are_refused():
    with pytest.raises(TypeError, match=r"must be a fitted calibrator .* got .* type int"):
        compare_estimates({"three": 3})
