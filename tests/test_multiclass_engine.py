"""The engine of several classes: density, gradient, curvature, mode, scales, sampler, blocks."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import optimize, special, stats

from bayescal.fitting.engines.multiclass import engine
from bayescal.fitting.engines.multiclass.density import (
    GLOBALS,
    LEARNED,
    Likelihood,
    Maps,
    asymmetry_of,
    lapse_prior,
    probabilities,
    steepness,
)
from bayescal.fitting.engines.multiclass.features import Features, ScoredOptions, typical_gap, warp
from bayescal.fitting.engines.multiclass.mode import (
    ChunkedDocuments,
    derivatives,
    find_mode,
    first_map,
    fit_blocks,
)
from bayescal.inference import chains as chain_module
from bayescal.inference.chains import find_normal, sample, updated_root
from tests.multiclass_tools import chains_of, first_of, log_scores, posterior_of, random_point
from tests.multiclass_tools import reference_log_density as reference

LOG_P = log_scores(25, 4, 0)
LABEL = np.random.default_rng(1).integers(4, size=25)


@pytest.fixture(scope="module")
def posterior():
    return posterior_of(LOG_P, LABEL)


def test_density_is_the_model_s(posterior):
    points = np.stack([random_point(posterior, seed, 0.3) for seed in range(4)])
    value, _ = posterior(points)
    expected = [reference(posterior, LOG_P, LABEL, point) for point in points]
    np.testing.assert_allclose(np.diff(value), np.diff(expected), rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", ["plain", "excluded"])
def test_gradient_is_that_of_the_density(weighted, case):
    weight = np.linspace(0.2, 3.0, 25) if weighted else None
    log_p = LOG_P.copy()
    if case == "excluded":
        log_p[::3, 0] = -np.inf
    label = np.where(np.isneginf(log_p[np.arange(25), LABEL]), 1, LABEL)
    posterior = posterior_of(log_p, label, weight=weight)
    point = random_point(posterior, 3)
    _, gradient = posterior(point[None])
    numeric = optimize.approx_fprime(point, lambda x: posterior(x[None])[0][0], 1e-6)
    np.testing.assert_allclose(gradient[0], numeric, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("size", [1e60, 1e120, 1e149])
def test_scores_of_any_size_have_an_answer(size):
    """Powers of their depths would overflow."""
    scores = size * np.random.default_rng(0).normal(size=(40, 3))
    warped = warp(
        ScoredOptions.of(scores - scores.max(axis=1)[:, None], 1.0), np.array([[0, 3, 1]])
    )
    assert np.isfinite(warped.warped).all()
    np.testing.assert_array_equal(warped.probability[0].argmax(axis=0), scores.argmax(axis=1))


def test_typical_gap_is_a_weighted_median():
    log_p = np.log([[0.8, 0.1, 0.1], [0.5, 0.25, 0.25], [0.9, 0.05, 0.05]])
    assert typical_gap(log_p) == pytest.approx(np.log(8.0))
    assert typical_gap(log_p, np.array([1.0, 5.0, 1.0])) == pytest.approx(np.log(2.0))


def test_steepness_is_inverted():
    asymmetry = np.linspace(-1.5, 3.0, 40)
    back, slope, _ = asymmetry_of(steepness(asymmetry))
    np.testing.assert_allclose(back, asymmetry, atol=1e-12)
    numeric = np.gradient(asymmetry, steepness(asymmetry))
    np.testing.assert_allclose(slope[2:-2], numeric[2:-2], rtol=0.1)


def test_curvature_is_the_expected_hessian(posterior):
    mode = find_mode(posterior, first_of(posterior))
    maps = Maps(mode.maps.globals_, np.array([-60.0]), mode.maps.theta)
    curvature, _ = derivatives(posterior, maps)
    total = np.zeros_like(curvature)
    p = probabilities(posterior.likelihood.features, maps, posterior.likelihood.raw(maps.theta))[0]
    # Without lapses it is the sum over documents of the covariance of scores under the model.
    for i in range(LABEL.size):
        scores = []
        for label in range(4):
            one = posterior_with(posterior, i, label)
            scores.append(derivatives(one, maps)[1])
        scores = np.array(scores)
        total += (scores * p[:, i, None]).T @ scores
    np.testing.assert_allclose(curvature, total, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("rate", [1e-4, 0.05, 0.6])
@pytest.mark.parametrize("weight", [None, np.linspace(0.2, 3.0, 25)])
def test_information_on_lapses_is_the_mean_square_of_the_score(rate, weight):
    log_p = LOG_P.copy()
    log_p[::3, 0] = -np.inf
    posterior = posterior_of(log_p, np.where(np.arange(25) % 3, LABEL, 1), weight=weight)
    maps = posterior.maps(random_point(posterior, 5, 0.3)[None])
    maps = replace(maps, lapse_logit=np.array([special.logit(rate)]))
    root = np.sqrt(rate / (1.0 - rate))
    p = probabilities(posterior.likelihood.features, maps, posterior.likelihood.raw(maps.theta))[0]
    total = 0.0
    for i, each in enumerate(np.ones(25) if weight is None else weight):
        for label in np.flatnonzero(p[:, i]):
            one = posterior_with(
                replace(posterior, likelihood=replace(posterior.likelihood, weight=None)), i, label
            )
            score = 2.0 / root * one.likelihood.with_gradient(maps)[1].lapse_logit[0]
            total += each * p[label, i] * score**2
    assert posterior.likelihood.lapse_information(maps) == pytest.approx(total, rel=1e-6)


def posterior_with(posterior, document, label):
    """Return the posterior of one document with another label."""
    old = posterior.likelihood
    scored = old.scored.take(slice(document, document + 1))
    features = replace(
        old.features,
        scored=scored,
        log_p=old.features.log_p[:, [document]],
        certainty=old.features.certainty[:, [document]],
        shared=old.features.shared[:, [document]],
    )
    likelihood = replace(old, features=features, label=np.array([label]))
    return replace(posterior, likelihood=likelihood)


def test_mode_beats_its_surroundings(posterior):
    mode = find_mode(posterior, first_of(posterior))
    maps, scale = mode.maps, mode.scale

    def value(theta, globals_):
        off = (globals_ - posterior.mean) / posterior.sd
        small = theta / scale[posterior.block]
        at = Maps(globals_[None], maps.lapse_logit, posterior.spread_out(theta[None]))
        return posterior.likelihood.value(at)[0] - 0.5 * (off @ off + small @ small)

    best = maps.theta.reshape(-1)[posterior.used], maps.globals_[0]
    rng = np.random.default_rng(0)
    for size in (0.03, 0.3):
        for _ in range(20):
            moved = [each + size * rng.normal(size=each.size) for each in best]
            assert value(*moved) < value(*best) + 1e-3


def test_first_map_is_no_local_optimum():
    scores, prior = log_scores(300, 3, 5, spread=8.0), LEARNED
    label = np.array(
        [np.random.default_rng(k).choice(3, p=np.exp(row) ** 0.2 / (np.exp(row) ** 0.2).sum())
         for k, row in enumerate(scores)]
    )  # fmt: skip
    unit = typical_gap(scores)
    mean, sd = prior.of_globals(unit)
    scored = ScoredOptions.of(scores, unit)
    found = first_map(scored, label, None, prior, mean, sd, biases=False)

    def loss(globals_, lapse=found.lapse_logit):
        theta = np.zeros((1, 1, 3))
        maps = Maps(globals_[None], lapse, theta)
        nothing = np.zeros((0, 300))
        likelihood = Likelihood(Features(scored, nothing, nothing, nothing), label, None, None)
        of_lapse = lapse_prior(np.exp(0.5 * lapse), prior)[0][0]
        return -likelihood.value(maps)[0] - of_lapse + 0.5 * (((globals_ - mean) / sd) ** 2).sum()

    grid = [(g, w, c) for g in (-2, -1, 0, 1) for w in (-0.5, 0.3, 1, 2) for c in (-0.5, 0, 0.5)]
    assert loss(found.globals_[0]) <= min(loss(np.array(each, dtype=float)) for each in grid) + 1e-6
    best = loss(found.globals_[0])
    for change in (-0.5, -0.1, 0.1, 0.5):
        assert best <= loss(found.globals_[0], found.lapse_logit + change) + 1e-6


def test_single_precision_keeps_the_density():
    posterior = posterior_of(LOG_P, LABEL)
    single = replace(posterior, likelihood=posterior.likelihood.in_single_precision())
    points = np.stack([random_point(posterior, seed) for seed in range(4)])
    for one, two in zip(posterior(points), single(points), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-4)


def normal_density(mean, precision):
    def density(points):
        off = points - mean
        return -0.5 * np.einsum("ci,ij,cj->c", off, precision, off), -off @ precision

    return density


def test_scales_are_drawn_given_their_coefficients(posterior):
    """Their density is that of the posterior with the coefficients held, by numerical integrals."""
    point, count = random_point(posterior, 7, 0.3), 4000
    log_scale = slice(GLOBALS + 1, posterior.first)
    drawn = posterior.redraw_scales(np.tile(point, (count, 1)), np.random.default_rng(0))
    theta = posterior.maps(point[None]).theta
    np.testing.assert_allclose(posterior.maps(drawn[:5]).theta, np.tile(theta, (5, 1, 1)))
    np.testing.assert_array_equal(
        drawn[:, : GLOBALS + 1], np.tile(point[: GLOBALS + 1], (count, 1))
    )
    for k in range(len(posterior.names)):
        grid = np.linspace(-7.0, 5.0, 2001)
        along = np.tile(point, (grid.size, 1))
        along[:, log_scale][:, k] = grid
        mine = posterior.block == k
        along[:, posterior.first :][:, mine] *= np.exp(point[GLOBALS + 1 + k] - grid)[:, None]
        # The density of coefficients is that of standard ones over s^P.
        density = posterior(along)[0] - mine.sum() * grid
        cumulated = np.cumsum(np.exp(density - density.max()))
        share = np.interp(drawn[:, log_scale][:, k], grid, cumulated / cumulated[-1])
        # One Kolmogorov-Smirnov test in a thousand would fail by chance.
        assert stats.kstest(share, "uniform").pvalue > 1e-3


def test_sampler_draws_from_a_normal_distribution():
    rng = np.random.default_rng(4)
    half = rng.normal(size=(6, 6))
    precision, mean = half @ half.T + np.eye(6), rng.normal(size=6)
    # A metric that is wrong by a factor of up to two in each direction.
    root = np.linalg.cholesky(np.linalg.inv(precision)) * np.linspace(0.5, 2.0, 6)
    drawn = sample(
        normal_density(mean, precision), np.zeros((8, 6)), np.zeros(6), root,
        warmup=60, draws=500, rng=rng,
    )  # fmt: skip
    standard = (drawn.points.reshape(-1, 6) - mean) @ np.linalg.cholesky(precision)
    # Four standard errors of 4,000 draws that are about independent.
    assert np.abs(standard.mean(axis=0)).max() < 4.0 / np.sqrt(1000)
    assert np.abs(standard.var(axis=0) - 1.0).max() < 4.0 * np.sqrt(2.0 / 1000)


@pytest.mark.parametrize("classes", [4, 25])
def test_curvature_of_classes_is_the_diagonal_of_the_whole(classes, monkeypatch):
    log_p = log_scores(60, classes, 3)
    label = np.random.default_rng(2).integers(classes, size=60)
    weight = np.linspace(0.5, 2.0, 60)
    posterior = posterior_of(log_p, label, weight=weight)
    made = posterior.likelihood.design
    mode = find_mode(posterior, first_of(posterior))
    monkeypatch.setattr("bayescal.fitting.engines.multiclass.mode.CHUNK_SCORES", 17 * classes)
    if classes == 25:
        monkeypatch.setattr("bayescal.fitting.engines.multiclass.mode.MOST_KEPT", 0)
    documents = ChunkedDocuments(log_p, label, weight, made)
    blocks = documents.curvature(mode.maps)
    whole, slope = derivatives(posterior, mode.maps)
    row, klass = np.divmod(posterior.used, classes)
    close = partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-4)  # single precision
    for k in range(classes):
        mine = np.flatnonzero(klass == k)
        expected = whole[GLOBALS + mine[:, None], GLOBALS + mine]
        close(blocks[k][np.ix_(row[mine], row[mine])], expected)
    _, gradient = documents.with_gradient(mode.maps)
    close(gradient.theta.reshape(-1)[posterior.used], slope[GLOBALS:])


def test_the_normal_approximation_is_variational():
    # x = log of a gamma variable of shape a: E[a - exp(x)] = 0 and 1/s^2 = E[exp(x)], so that
    # s^2 = 1/a and m = log a - 1/(2a). Laplace's mean is log a.
    shape = np.array([0.5, 2.0, 10.0])
    found = [
        find_normal(
            lambda x: ((shape * x - np.exp(x)).sum(axis=1), shape - np.exp(x)),
            lambda x: np.diag(np.exp(x)),
            np.log(shape),
            np.random.default_rng(seed),
        )
        for seed in range(200)
    ]
    centre = np.mean([each for each, _ in found], axis=0)
    variance = np.mean([np.diag(root @ root.T) for _, root in found], axis=0)
    np.testing.assert_allclose(centre, np.log(shape) - 0.5 / shape, atol=0.1)
    np.testing.assert_allclose(variance, 1.0 / shape, rtol=0.15)


def test_a_root_follows_draws():
    rng = np.random.default_rng(0)
    wide = np.array([[2.0, 0.0], [1.0, 0.5]])
    draws = rng.standard_normal((100_000, 2)) @ wide.T + 3.0
    root = updated_root(np.eye(2), draws)
    np.testing.assert_allclose(root @ root.T, wide @ wide.T, rtol=0.02)
    few = updated_root(np.eye(2), draws[:20])
    half = 0.5 * (np.eye(2) + np.cov(draws[:20].T))
    np.testing.assert_allclose(few @ few.T, half)


def test_modes_share_chains_by_their_evidence(monkeypatch):
    log_p = log_scores(60, 3, 3)
    posterior = posterior_of(log_p, log_p.argmax(axis=1))
    first = first_of(posterior)
    right, warps = find_mode(posterior, first), []

    def search(posterior, start):
        warps.append(start.globals_[0, 1])
        off = replace(right.maps, globals_=right.maps.globals_ + 1.0)
        return right if start.globals_[0, 1] == 1.5 else replace(right, maps=off)

    monkeypatch.setattr(engine, "find_mode", search)
    modes, share = engine.find_modes(posterior, first)
    assert warps == [first.globals_[0, 1], 0.0, 1.5]
    assert share.sum() == pytest.approx(1.0)
    assert share[2] > 0.9
    np.testing.assert_array_equal(modes[2], right.point(posterior))


def test_chains_that_remember_their_start_disagree(monkeypatch):
    log_p = log_scores(60, 3, 4)
    posterior = posterior_of(log_p, log_p.argmax(axis=1))
    drawn, rhat = chains_of(posterior, np.random.default_rng(0), 4, 100)
    assert drawn.points.shape == (4, 100, posterior.size)
    assert rhat < engine.AGREEMENT
    monkeypatch.setattr(chain_module, "LENGTH", 0.02)
    monkeypatch.setattr(engine, "WARMUP", 0)
    monkeypatch.setattr(engine, "KEPT", 1)
    _, rhat = chains_of(posterior, np.random.default_rng(0), 4, 100, rounds=1)
    assert rhat > 1.5
    # Of four chains, the two that start in each of two modes disagree.
    mode = find_mode(posterior, first_of(posterior)).point(posterior)
    modes, half = np.stack([mode, mode + 3.0]), np.full(2, 0.5)
    drawn, _ = engine.draw_chains(posterior, modes, half, 4, 100, np.random.default_rng(0), 1)
    assert (drawn.points[:, :, 1].mean(axis=1) > mode[1] + 1.5).tolist() == [False] * 2 + [True] * 2


def test_blocks_find_the_mode_of_chains():
    log_p = log_scores(400, 5, 7)
    rng = np.random.default_rng(0)
    label = np.array([rng.choice(5, p=special.softmax(0.5 * row)) for row in log_p])
    start = engine.first_fit(log_p, label, None)
    posterior = start.posterior(log_p, label, None, LEARNED)
    whole = find_mode(posterior, start.first).maps
    found = fit_blocks(
        ChunkedDocuments(log_p, label, None, start.design),
        start.first,
        start.mean,
        start.sd,
        LEARNED,
    )
    design = start.design
    features = design.features(ScoredOptions.of(log_p, design.unit))
    p, q = (
        probabilities(features, maps, design.coefficients(maps.theta))[0]
        for maps in (whole, found.maps)
    )
    assert np.abs(p - q).max() < 0.03
    drawn = found.draw(400, design.used, LEARNED, rng)
    assert np.abs(drawn.theta[:, ~design.used]).max() == 0.0
    sd = drawn.theta.std(axis=0)[design.used]
    assert (sd < 1.5 * found.scale.max()).all()
    assert sd.min() > 0.0


def test_many_scores_are_approximated(monkeypatch):
    monkeypatch.setattr(engine, "MOST_SCORES", 500)
    rng = np.random.default_rng(0)
    log_p = log_scores(300, 3, 2)
    label = np.array([rng.choice(3, p=np.exp(row)) for row in log_p])
    drawn = engine.fit_map(log_p, label, None, chains=2, draws=50, rng=rng)
    assert drawn.method == "normal approximation"
    features = drawn.design.features(ScoredOptions.of(log_p, drawn.design.unit))
    p = probabilities(features, drawn.maps, drawn.design.coefficients(drawn.maps.theta)).mean(0)
    assert np.abs(p.T - np.exp(log_p)).mean() < 0.05


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(5)
    log_p = log_scores(700, 3, 5)
    return log_p, np.array([rng.choice(3, p=special.softmax(0.6 * row)) for row in log_p])


def _drawn(log_p, label, inference, **options):
    rng = np.random.default_rng(0)
    made = engine.fit_map(log_p, label, None, chains=4, draws=100, rng=rng, inference=inference)
    features = made.design.features(ScoredOptions.of(log_p[:50], made.design.unit))
    return made, probabilities(features, made.maps, made.design.coefficients(made.maps.theta))


def _errors(p, exact):
    """Return the largest error of means in posterior deviations, and the ratio of deviations."""
    away = np.abs(p.mean(axis=0) - exact.mean(axis=0)) / exact.std(axis=0)
    return away.max(), np.median(p.std(axis=0) / exact.std(axis=0))


def test_variational_draws_have_the_means_and_widths_of_chains(labelled, monkeypatch):
    _, exact = _drawn(*labelled, "chains")
    made, p = _drawn(*labelled, "variational")
    away, ratio = _errors(p, exact)
    assert away < 0.5
    assert 0.85 < ratio < 1.1
    assert np.isnan(made.rhat)
    # Without its updates the approximation is Laplace's, which is elsewhere.
    monkeypatch.setattr(chain_module, "UPDATES", 0)
    away, ratio = _errors(_drawn(*labelled, "variational")[1], exact)
    assert away > 0.5 or ratio > 1.1


@pytest.mark.parametrize(("documents", "chosen"), [(666, "chains"), (667, "variational")])
def test_auto_takes_chains_for_few_scores(labelled, documents, chosen):
    log_p, label = labelled[0][:documents], labelled[1][:documents]
    (auto, _), (other, _) = (_drawn(log_p, label, each) for each in ("auto", chosen))
    assert auto.method == other.method
    np.testing.assert_array_equal(auto.maps.theta, other.maps.theta)


def test_variational_draws_are_shared_by_modes():
    log_p = log_scores(60, 3, 3)
    posterior = posterior_of(log_p, log_p.argmax(axis=1))
    mode = find_mode(posterior, first_of(posterior)).point(posterior)
    share = np.array([0.75, 0.25, 0.0])
    modes = mode + np.array([[0.0], [100.0], [200.0]])
    normals = engine.find_normals(posterior, modes, share, np.random.default_rng(0))
    warp = normals.draw(400, np.random.default_rng(1))[:, 1] - mode[1]
    assert [int((np.abs(warp - at) < 50.0).sum()) for at in (0.0, 100.0, 200.0)] == [300, 100, 0]


@pytest.mark.parametrize("inference", ["chains", "variational"])
def test_the_order_of_documents_changes_no_draw(labelled, inference):
    log_p, label = labelled
    weight = 1.0 + np.arange(label.size) % 2
    order = np.random.default_rng(1).permutation(label.size)
    one, other = (
        engine.fit_map(
            log_p[rows], label[rows], weight[rows],
            chains=2, draws=20, rng=np.random.default_rng(0), inference=inference,
        )
        for rows in (slice(None), order)
    )  # fmt: skip
    np.testing.assert_array_equal(one.maps.theta, other.maps.theta)
    np.testing.assert_array_equal(one.maps.globals_, other.maps.globals_)
