"""Comparison of calibrators: leave-one-out scores against refits, and the rates of paired tests."""

import arviz_stats
import numpy as np
import pytest
import xarray as xr
from scipy import special

from bayescal import MulticlassCalibrator, ScoreCalibrator
from bayescal.calibrators import leave_one_out, paired_bootstrap
from bayescal.inference.importance import smooth


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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto")
@pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning")
def test_comparison_ranks_a_right_family_above_a_wrong_one():
    rng = np.random.default_rng(2)
    y = rng.random(400) < 0.5
    scores = np.where(y, rng.exponential(3, 400), -rng.exponential(0.3, 400))
    fits = {
        name: ScoreCalibrator(name, random_state=0).fit(scores, y)
        for name in ("gaussian", "asymmetric_laplace")
    }
    scores_apart = {name: leave_one_out(fit) for name, fit in fits.items()}
    table = arviz_stats.compare(scores_apart)
    assert table.index[0] == "asymmetric_laplace"
    assert table["rank"].tolist() == [0, 1]
    assert scores_apart["gaussian"].elpd < scores_apart["asymmetric_laplace"].elpd


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
