"""The combination: parts, weights by labels left out, curves, "do not calibrate", hard data."""

import numpy as np
import pytest
from scipy import special, stats

from bayescal import Densities, Identity, Logistic, Monotone, Recalibrated, ScoreCalibrator, load
from bayescal.families import FAMILIES
from bayescal.fitting.engines.combination import MOST_DOCUMENTS, pick_documents
from bayescal.fitting.engines.exact.engine import fit_densities, leave_one_out_of_densities
from bayescal.fitting.parts.combination import findings
from bayescal.fitting.scores import BinaryScores
from bayescal.metrics import losses
from bayescal.support.numerics import probability

RNG = np.random.default_rng(31)
SCORES = np.concatenate([RNG.gumbel(-2, 1, 60), RNG.gumbel(1, 1.5, 12)])
POSITIVE = np.arange(72) >= 60
X = np.linspace(-6, 8, 60)


@pytest.fixture(scope="module")
def calibrator():
    return ScoreCalibrator(prior_knowledge="vague", random_state=0).fit(SCORES, POSITIVE)


def test_default_is_the_weighted_mean_of_its_parts(calibrator):
    weight = calibrator.combination_["weight"]
    assert list(weight.index) == ["densities", "monotone", "logistic", "recalibrated"]
    assert weight.sum() == pytest.approx(1.0)
    parts = calibrator._fitted.calibration.draws.parts
    # Beyond the scores fitted no part turns back.
    ends = SCORES.min(), SCORES.max()
    inside = [probability(part.predictive(np.clip(X, *ends))) for part in parts]
    said = [probability(part.predictive(X)) for part in parts]
    for at_or_in, each in zip(inside, said, strict=True):
        each[ends[0] > X] = np.minimum(each, at_or_in)[ends[0] > X]
        each[ends[1] < X] = np.maximum(each, at_or_in)[ends[1] < X]
    # More than 32 scores are read off a table.
    rate, base = calibrator._fitted.calibration.draws.mean_lapse
    mixture = (1.0 - rate) * (weight.to_numpy() @ said) + rate * base
    assert calibrator.predict_proba(X)[:, 1] == pytest.approx(mixture, abs=1e-4)
    assert np.abs(said[0] - said[1]).max() > 0.04
    # The log-odds fits are what they are alone, but for other draws.
    for name, curve in zip(weight.index[1:], said[1:], strict=True):
        alone = ScoreCalibrator(parts=name, random_state=5).fit(SCORES, POSITIVE)
        within = (ends[0] <= X) & (ends[1] >= X)
        assert alone.predict_proba(X[within])[:, 1] == pytest.approx(curve[within], abs=0.02)


def test_left_out_predictions_are_those_of_a_fit_to_the_others(calibrator):
    left_out, fitted = calibrator._fit.left_out_log_odds, calibrator.decision_function(SCORES)
    for k in (0, 61, int(SCORES[:60].argmax())):
        others = ScoreCalibrator(prior_knowledge="vague", random_state=0)
        others.fit(np.delete(SCORES, k), np.delete(POSITIVE, k))
        expected = others.decision_function(SCORES[[k]])[0]
        assert left_out[k] == pytest.approx(expected, abs=0.15)
    # A document's own label draws the fit towards it.
    assert (np.where(POSITIVE, 1, -1) * (fitted - left_out)).mean() > 0.01


def test_bands_hold_the_draws_of_both_parts(calibrator):
    draws = calibrator.sample_proba(X)
    assert draws.shape == (4000, 60)
    low, high = calibrator.predict_interval(X).T
    assert (
        pytest.approx(np.stack([low, high], axis=1), abs=1e-5)
        == np.quantile(draws, [0.05, 0.95], axis=0).T
    )
    point = calibrator.predict_proba(X)[:, 1]
    assert np.all((low < point) & (point < high))
    assert draws.mean(axis=0) == pytest.approx(point, abs=0.1)


@pytest.mark.slow
def test_draws_do_not_depend_on_what_else_is_asked_for(calibrator):
    draws, scores = calibrator._fitted.calibration.draws, np.linspace(-4.0, 4.0, 1003)
    all_of_them = draws.log_odds(scores)
    for few in (1, 2, 7, 15, 16, 255, 500, 1001):
        assert np.array_equal(draws.log_odds(scores[:few]), all_of_them[:, :few])
        some = np.arange(3, 3 + few)
        assert np.array_equal(draws.take(some).log_odds(scores), all_of_them[some])


def test_leave_one_out_of_densities_is_a_refit():
    family, rng = (FAMILIES["laplace"],), np.random.default_rng(0)
    data = BinaryScores(SCORES, POSITIVE)
    hyper = dict(zip(("centre", "spread"), data.centre_and_spread, strict=True))
    whole = fit_densities(family, data, rng, draws=20_000, hyperparameters=hyper)
    found, _ = leave_one_out_of_densities(whole.posterior, data)
    for i in range(0, 72, 5):
        keep = np.arange(72) != i
        rest = BinaryScores(SCORES[keep], POSITIVE[keep])
        again = fit_densities(family, rest, rng, draws=4000, hyperparameters=hyper)
        log_p = [special.logsumexp(again.posterior.of_class(c).logpdf(SCORES[[i]])) for c in (0, 1)]
        prior = np.log((rest.total(True) + 1) / (rest.total(False) + 1))
        assert found[i] == pytest.approx(prior + log_p[1] - log_p[0], abs=0.12)


OUTLIER = np.r_[np.random.default_rng(2).normal(np.repeat([0.0, 2.0], [40, 9])), 15.0]
OF_OUTLIER = np.arange(50) >= 40


@pytest.mark.parametrize(
    ("names", "averaging"),
    [("laplace", "evidence"), ("gaussian laplace", "evidence"), ("gaussian laplace", "stacking")],
)
def test_an_outlier_is_refitted_without_itself(names, averaging):
    families = tuple(FAMILIES[name] for name in names.split())
    data = BinaryScores(OUTLIER, OF_OUTLIER)
    own = {"averaging": averaging, "scale": data.centre_and_spread}
    rng = np.random.default_rng(0)
    without = fit_densities(families, data.take(np.arange(49)), rng, draws=20_000, **own)
    log_p = without.posterior.of_class(1).logpdf(OUTLIER[49:])
    expected = special.logsumexp(log_p) - np.log(log_p.size)
    for seed in (1, 2, 3):
        sampled, refitted = (
            fit_densities(
                families, data, np.random.default_rng(seed), draws=1000, refit=refit, **own
            )
            for refit in (False, True)
        )
        (log_odds, k), (exact, of_exact) = sampled.left_out, refitted.left_out
        assert k[49] > 0.7
        assert (of_exact[49], of_exact.max() <= 0.7) == (-np.inf, True)
        np.testing.assert_array_equal(exact[k <= 0.7], log_odds[k <= 0.7])
        score, found = refitted.posterior.refitted(1)
        at = score.tolist().index(15.0)
        assert found[at] == pytest.approx(expected, abs=0.2)
        # Importance sampling is too high, by a different amount for each seed.
        assert log_odds[49] - exact[49] > 0.25


def test_the_combination_shows_pareto_k():
    parts = [Densities("gaussian"), Monotone(), Recalibrated()]
    fitted = ScoreCalibrator(parts, draws=250, random_state=0).fit(OUTLIER, OF_OUTLIER)
    assert fitted.combination_["pareto_k"].between(0.0, 0.7).all()
    # Results keep the exact densities, which the recalibrated curve reads.
    densities = fitted._fitted.calibration.draws.parts[2].base
    _, k = leave_one_out_of_densities(densities, BinaryScores(OUTLIER, OF_OUTLIER))
    assert k[49] == -np.inf
    groups = dict(fitted._fitted.results.groups)
    large = ("part", [0.9, 0.2, np.nan])
    groups["combination"] = groups["combination"].assign_coords(pareto_k=large)
    (finding,) = findings(groups)
    assert "'densities' rest on a few draws (Pareto k up to 0.90" in finding.text()


def test_leave_one_out_log_odds_near_a_kink_do_not_tell_labels_apart():
    rng = np.random.default_rng(0)
    positive = rng.random(100_000) < 0.15
    scores = np.where(
        positive, rng.laplace(2.0, 0.7, positive.size), rng.laplace(size=positive.size)
    )
    data = BinaryScores(scores, positive)
    fit = fit_densities((FAMILIES["asymmetric_laplace"],), data, rng, draws=200)
    log_odds, _ = leave_one_out_of_densities(fit.posterior, data)
    log_density = stats.laplace(2.0, 0.7).logpdf(scores) - stats.laplace().logpdf(scores)
    off = log_odds - log_density - np.log(0.15 / 0.85)
    for kink in (0.0, 2.0):
        near = np.abs(scores - kink) < 0.05
        apart = off[near & positive].mean() - off[near & ~positive].mean()
        assert abs(apart) < 0.004  # .05 where each class has nodes of its own


def test_documents_stand_for_their_classes():
    positive = RNG.random(50_000) < 0.02
    weight = RNG.integers(0, 3, 50_000).astype(float)
    data = BinaryScores(RNG.normal(size=50_000), positive, weight)
    index, share = pick_documents(data)
    assert index.size <= MOST_DOCUMENTS
    assert np.unique(index).size == index.size
    assert np.count_nonzero(positive[index]) == np.count_nonzero(positive & (data.weight > 0))
    for label in (False, True):
        total = share[positive[index] == label].sum()
        assert total == pytest.approx(data.total(label))


def vague(**settings):
    """Return a calibrator that knows nothing of other problems."""
    return ScoreCalibrator(prior_knowledge="vague", random_state=0, **settings)


class TestDoNotCalibrate:
    def data(self, n, slope=1.0):
        rng = np.random.default_rng(4)
        log_odds = 2.0 * rng.normal(size=n)
        return slope * log_odds, rng.random(n) < special.expit(log_odds)

    def test_identity_wins_where_it_is_right_and_loses_where_it_is_not(self):
        scores, positive = self.data(600)
        right = vague(scores_are="log_odds").fit(scores, positive)
        assert right.combination_["weight"].idxmax() == "identity"
        scores, positive = self.data(600, slope=3.0)
        wrong = vague(scores_are="log_odds").fit(scores, positive)
        table = wrong.combination_
        assert table["elpd"].idxmin() == "identity"
        assert table.loc["identity", "weight"] < 0.2
        assert table["elpd"].max() - table.loc["identity", "elpd"] > 3 * table.loc["identity", "se"]
        plain = ScoreCalibrator(random_state=0).fit(scores, positive)
        assert "identity" not in plain.combination_.index

    @pytest.mark.slow
    def test_probabilities_are_their_log_odds(self, tmp_path):
        scores, positive = self.data(60)
        # What is known of probabilities is more: shares of votes as well.
        of_log_odds = vague(scores_are="log_odds").fit(scores, positive)
        p = probability(scores)
        fitted = vague(scores_are="probabilities").fit(p, positive)
        assert fitted.predict_proba(p) == pytest.approx(of_log_odds.predict_proba(scores), abs=1e-6)
        again = load(fitted.save(tmp_path / "fit.nc"))
        assert np.array_equal(again.predict_proba(p), fitted.predict_proba(p))
        assert np.isfinite(fitted.predict_proba([0.0, 1.0])).all()
        with pytest.raises(ValueError, match=r"between 0 and 1, got 1\.5"):
            fitted.predict_proba([0.5, 1.5])
        with pytest.raises(ValueError, match="scores_are must be one of"):
            ScoreCalibrator(scores_are="odds").fit(p, positive)


@pytest.mark.slow
@pytest.mark.parametrize("parts", ["combined", "monotone", "logistic", "recalibrated"])
def test_saved_is_the_same_and_another_prior_moves_it(parts, tmp_path):
    fitted = ScoreCalibrator(parts=parts, random_state=0).fit(SCORES, POSITIVE)
    again = load(fitted.save(tmp_path / "fit.nc"))
    for method in ("predict_proba", "predict_interval"):
        assert np.array_equal(getattr(again, method)(X), getattr(fitted, method)(X))
        rare, common = (getattr(fitted, method)(X, prior=p)[:, 1] for p in (0.01, 0.9))
        assert np.all(rare < common)
    assert list(again.summary().index) == list(fitted.summary().index)
    assert fitted.diagnostics_.ok


def test_logistic_is_monotone_of_one_piece():
    fitted = ScoreCalibrator(parts="logistic", random_state=0).fit(SCORES, POSITIVE)
    curves = special.logit(fitted.sample_proba(X, 50, 0))
    assert np.abs(np.diff(curves, 2, axis=1)).max() < 1e-6
    several = ScoreCalibrator(parts="monotone", random_state=0).fit(SCORES, POSITIVE)
    curves = several._fitted.calibration.draws.log_odds(X)[:50]
    assert np.diff(curves, axis=1).min() > 0
    assert np.abs(np.diff(curves, 2, axis=1)).max() > 0.01


HARD = {
    "constant scores": (np.ones(20), np.arange(20) < 5),
    "zero median absolute deviation": (np.r_[np.zeros(30), 1, 2, 3, -1.0], np.arange(34) >= 28),
    "fewer distinct scores than knots": (np.tile([0.0, 1.0, 2.0], 20), np.arange(60) % 3 == 2),
    "all positives above all negatives": (np.arange(40.0), np.arange(40) >= 30),
    "all positives below all negatives": (-np.arange(40.0), np.arange(40) >= 30),
    "two documents": (np.array([0.0, 1.0]), np.array([False, True])),
    "far outliers": (np.r_[SCORES, 1e9, -1e9], np.r_[POSITIVE, True, False]),
}


@pytest.mark.filterwarnings("ignore::bayescal.support.score_checks.ScoresWarning")
@pytest.mark.parametrize("name", HARD)
def test_hard_data(name):
    scores, positive = HARD[name]
    fitted = ScoreCalibrator(random_state=0).fit(scores, positive)
    x = np.r_[scores, scores.min() - 1, scores.max() + 1, 0.0]
    found = fitted.predict_proba(x)
    assert np.all((found > 0) & (found < 1))
    low, high = fitted.predict_interval(x).T
    assert np.all(low <= high)
    rate = (positive.sum() + 1) / (positive.size + 2)
    if name == "constant scores":
        assert fitted.predict_proba([1.0])[0, 1] == pytest.approx(rate, abs=0.12)
    else:
        smoothed = losses(np.full(positive.size, special.logit(rate)), positive).log_loss
        assert losses(fitted.decision_function(scores), positive).log_loss <= 1.25 * smoothed


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"parts": "identity"}, "parts must hold another one beside 'identity'"),
        ({"parts": ["monotone", "identity"]}, "'identity' need scores_are='log_odds'"),
        ({"parts": 3}, "parts must be one of 'auto', .* got 3"),
        ({"parts": ["logistic", "logistic"]}, r"each once; got \['logistic', 'logistic'\]"),
        ({"parts": []}, "parts must be 'auto', 'combined', a part or several of densities"),
        ({"parts": ["combined", "monotone"]}, r"beside parts .* got \['combined', 'monotone'\]"),
        ({"parts": ["combined", Identity()]}, "'combined' beside parts with options, such as"),
        ({"parts": "trees"}, "parts must be one of 'auto', 'combined', .* got 'trees'"),
        ({"parts": "combined", "inference": "nuts"}, "parts='combined' needs inference='exact'"),
        ({"parts": "monotone", "inference": "mle"}, "parts='monotone' needs inference='exact'"),
        ({"parts": Monotone(prior_knowledge={"walk": 1.0})}, "of Monotone may hold .* got 'walk'"),
        (
            {"parts": ["combined", Monotone(prior_knowledge={"walk_scale": -1.0})]},
            "walk_scale must be positive",
        ),
        ({"parts": Logistic(prior_knowledge={"theta_scale": 1.0})}, "got 'theta_scale'"),
        ({"parts": "average", "inference": "nuts"}, "family='average' needs inference='exact'"),
        ({"parts": Densities(warp=2.0), "inference": "mle"}, "warp=2.0 needs inference='exact'"),
        ({"parts": Densities(warp=0.0)}, "warp must be positive and finite, got 0.0"),
        ({"parts": Monotone(warp="log")}, "Monotone: warp must be one of 'auto', .* got 'log'"),
        ({"parts": Logistic(warp=True)}, "Logistic: warp must be 'auto', .* got True"),
        ({"parts": Densities(averaging="bic")}, "averaging must be one of"),
        ({"draws": True}, "draws must be a positive whole number, got True"),
        ({"parts": Densities(prior_knowledge={"theta_scale": -1.0})}, "scale must be positive"),
        ({"parts": Densities(prior_knowledge="x")}, "must be a dict of hyperparameters by name"),
        ({"random_state": "x"}, "random_state must be a whole number from 0 on, .* got 'x'"),
        ({"random_state": -1}, "random_state must be a whole number from 0 on, .* got -1"),
    ],
)
def test_settings_that_are_none(settings, message):
    with pytest.raises(ValueError, match=message):
        ScoreCalibrator(**settings).fit(SCORES, POSITIVE)


def test_what_a_direct_fit_does_not_have():
    fitted = ScoreCalibrator(parts="monotone", random_state=0).fit(SCORES, POSITIVE)
    assert fitted.monotone_probability_ == 1.0
    with pytest.raises(ValueError, match="family of densities; curves of log-odds have none"):
        fitted.class_densities(X)
    with pytest.raises(AttributeError, match="no class densities to compare"):
        _ = fitted.family_weight_
    with pytest.raises(AttributeError, match="are not combined"):
        _ = fitted.combination_


def test_some_parts_are_weighed_among_themselves():
    some = ScoreCalibrator(parts=["logistic", "recalibrated"], random_state=0).fit(SCORES, POSITIVE)
    weight = some.combination_["weight"]
    # The densities are there for what follows them, without a weight of their own.
    assert list(weight.index) == ["densities", "logistic", "recalibrated"]
    assert weight["densities"] == 0.0
    assert weight[["logistic", "recalibrated"]].sum() == pytest.approx(1.0)
    assert (weight[["logistic", "recalibrated"]] > 0.0).all()
    with_scores = ScoreCalibrator(
        parts=["monotone", "identity"], scores_are="log_odds", random_state=0
    ).fit(SCORES, POSITIVE)
    assert list(with_scores.combination_.index) == ["monotone", "identity"]
    assert np.isfinite(with_scores.predict_interval(X)).all()


# Densities recalibrated: monotone along the densities' log-odds, mended where they are wrong

TAILS_RNG = np.random.default_rng(17)
GRID = np.linspace(-8, 12, 400)


def heavy_tails(n, rng):
    positive = rng.random(n) < 0.1
    return stats.t(2, 3.0 * positive).rvs(n, random_state=rng), positive


@pytest.fixture(scope="module")
def fitted():
    return ScoreCalibrator(parts="recalibrated", draws=250, random_state=0).fit(
        *heavy_tails(3000, TAILS_RNG)
    )


def part(fitted, k):
    return fitted._fitted.calibration.draws.parts[k]


def test_it_is_alone(fitted):
    table = fitted.combination_
    assert list(table.index) == ["densities", "recalibrated"]
    assert table["weight"].tolist() == [0.0, 1.0]
    assert np.array_equal(
        fitted._fitted.calibration.draws.log_odds(GRID), part(fitted, 1).log_odds(GRID)
    )


def test_every_draw_rises_with_the_densities(fitted):
    densities, recalibrated = part(fitted, 0), part(fitted, 1)
    order = np.argsort(densities.predictive(GRID))
    curves = recalibrated.log_odds(GRID)[:, order]
    assert np.diff(curves, axis=1).min() > -1e-9
    # Here they fall far out on either side, and so does what follows them.
    assert np.diff(densities.predictive(GRID)).min() < -1e-3
    assert np.diff(recalibrated.predictive(GRID)).min() < -1e-3


@pytest.mark.slow
def test_it_mends_densities_that_are_wrong(fitted):
    new, positive = heavy_tails(50_000, TAILS_RNG)
    wrong, mended = (losses(part(fitted, k).predictive(new), positive).log_loss for k in (0, 1))
    assert mended < wrong


def test_it_leaves_densities_that_are_right(fitted):
    positive = TAILS_RNG.random(4000) < 0.3
    scores = TAILS_RNG.normal(2.0 * positive, 1.0)
    right = ScoreCalibrator(parts="recalibrated", draws=250, random_state=0).fit(scores, positive)
    true = special.logit(0.3) + 2.0 * GRID[(GRID > -2) & (GRID < 4)] - 2.0
    found = right.decision_function(GRID[(GRID > -2) & (GRID < 4)])
    assert probability(found) == pytest.approx(probability(true), abs=0.06)


def test_another_prior_moves_it_by_its_log_odds(fitted):
    moved = fitted.decision_function(GRID, prior=0.5)
    assert moved - fitted.decision_function(GRID) == pytest.approx(
        special.logit(0.5) - special.logit(0.1), abs=0.3
    )


def test_a_part_that_is_wrong_loses_its_weight():
    # Bimodal negatives: two-sided densities cannot follow, monotone log-odds can.
    rng = np.random.default_rng(2)
    negative = np.where(rng.random(1400) < 0.6, rng.normal(-4, 0.5, 1400), rng.normal(1, 0.5, 1400))
    scores = np.concatenate([negative, rng.normal(2.5, 0.8, 600)])
    calibrator = ScoreCalibrator(random_state=0).fit(scores, np.arange(2000) >= 1400)
    table = calibrator.combination_
    assert table["weight"].idxmax() == "monotone"
    assert table.loc["densities", "weight"] < 0.1
    assert table.loc["monotone", "elpd"] > table.loc["densities", "elpd"] + 2 * table["se"].max()
