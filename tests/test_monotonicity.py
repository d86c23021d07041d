"""When log-odds never fall: the closed form against slopes counted on a grid."""

import numpy as np
import pytest

from bayescal import Densities, ScoreCalibrator
from bayescal.families import FAMILIES
from bayescal.families.draws import is_monotone
from bayescal.fitting.engines.exact import engine

pytestmark = pytest.mark.one_era

TWO_SIDED = {
    (1, 1): FAMILIES["asymmetric_laplace"],
    (2, 2): FAMILIES["asymmetric_gaussian"],
    (2, 1): FAMILIES["hybrid"],
    (1, 2): FAMILIES["hybrid"].of_class(True),
}


def random_sides(draws, rng):
    """Powers, modes and sides of many draws, a tenth of them with equal modes or sides."""
    powers = rng.integers(1, 3, (2, draws))
    theta = np.round(rng.normal(0, 2, draws), 1)
    left, right = np.round(rng.gamma(2, 1, (2, draws)) + 0.1, 1)
    return powers, theta, left, right


def log_density(sides, k, x):
    first, second, theta, left, right = (side[k] for side in (*sides[0], *sides[1:]))
    family = TWO_SIDED[int(first), int(second)]
    return family.logpdf(x, *family.from_sides(theta, left, right))


def test_closed_form_is_what_a_grid_shows():
    rng = np.random.default_rng(8)
    negative, positive = random_sides(1500, rng), random_sides(1500, rng)
    claimed = is_monotone(negative, positive)
    near = np.linspace(-12, 12, 12_001)
    x = np.concatenate([-np.geomspace(1e4, 13, 50), near, np.geomspace(13, 1e4, 50)])
    seen = np.array(
        [
            np.all(np.diff(log_density(positive, k, x) - log_density(negative, k, x)) >= -1e-9)
            for k in range(1500)
        ]
    )
    assert np.array_equal(claimed, seen)
    mixed = (negative[0][0] != negative[0][1]) | (positive[0][0] != positive[0][1])
    assert claimed[mixed].sum() > 20
    assert 40 < claimed.sum() < 1460


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(10)
    scores = np.concatenate([rng.gumbel(-2, 1, 60), rng.gumbel(1, 1.5, 6)])
    return scores, np.arange(66) >= 60


def test_conditioned_draws_never_fall_and_are_the_right_share(data):
    scores, positive = data
    free = ScoreCalibrator("asymmetric_laplace", random_state=0).fit(scores, positive)
    bound = ScoreCalibrator(Densities("asymmetric_laplace", monotone=True), random_state=1).fit(
        scores, positive
    )
    x = np.linspace(scores.min() - 20, scores.max() + 20, 1501)
    falls = np.diff(free.sample_proba(x, 1000, 0), axis=1).min(axis=1) < -1e-12
    assert 0.05 < falls.mean() < 0.95
    assert 1 - falls.mean() == pytest.approx(free.monotone_probability_, abs=4 * 0.5 / 1000**0.5)
    share = bound.monotone_probability_
    assert share == pytest.approx(free.monotone_probability_, abs=4 * 0.5 / 3000**0.5)
    assert np.diff(bound.sample_proba(x), axis=1).min() > -1e-12
    assert bound.sample_proba(x).shape[0] == 4000
    assert np.diff(bound.predict_proba(x)[:, 1]).min() > -1e-12
    # Conditioning is rejection: what is left of the free draws has the same law.
    kept = free.sample_proba(np.array([0.0]))[~_falls(free, x)]
    assert np.median(bound.sample_proba([0.0])) == pytest.approx(np.median(kept), abs=0.03)


def _falls(calibrator, x):
    return np.diff(calibrator.sample_proba(x), axis=1).min(axis=1) < -1e-12


def test_families_that_can_never_be_monotone_are_an_error(data):
    scores, positive = data
    never = Densities(monotone=True)
    with pytest.raises(ValueError, match="needs an asymmetric family"):
        ScoreCalibrator(Densities("gaussian", monotone=True)).fit(scores, positive)
    with pytest.raises(ValueError, match="needs an asymmetric family"):
        ScoreCalibrator(Densities("laplace", monotone=True)).fit(scores, positive)
    with pytest.raises(ValueError, match=r"log-odds always fall there; got family='hybrid'"):
        ScoreCalibrator(Densities("hybrid", monotone=True)).fit(scores, positive)
    with pytest.raises(ValueError, match="monotone=True needs inference='exact'"):
        ScoreCalibrator(never, "mle").fit(scores, positive)


def with_decoys(decoys, at, n=300):
    """Scores of two Gaussian classes, and negatives far above all positives."""
    rng = np.random.default_rng(0)
    positive = rng.random(n) < 0.3
    scores = rng.normal(np.where(positive, 1.0, -1.0))
    return np.append(scores, np.full(decoys, at)), np.append(positive, np.zeros(decoys, bool))


@pytest.mark.parametrize("family", ["asymmetric_laplace", "asymmetric_gaussian"])
def test_splitting_finds_the_draws_that_rejection_finds(family, monkeypatch):
    data = with_decoys(1, 10.0, 1000)
    x = np.array([-2.0, -1.0, 0.0, 1.0, 3.0, 10.0])
    parts = Densities(family, monotone=True)

    def fitted(seed):
        found = ScoreCalibrator(parts, draws=500, random_state=seed).fit(*data)
        return found.monotone_probability_, found.sample_proba(x)

    share, rejected = fitted(0)
    monkeypatch.setattr(engine, "MOST_PROPOSED", 0)
    again, split = fitted(1)
    assert 0.001 < share < 0.9
    # 2,000 dependent draws, of which a tenth is taken to be effective; four standard errors.
    assert np.log(again / share) == pytest.approx(0.0, abs=0.4)
    error = rejected.std(axis=0) * np.sqrt(2.0 / 200.0)
    assert (np.abs(split.mean(axis=0) - rejected.mean(axis=0)) < 4.0 * error).all()
    assert split.std(axis=0) == pytest.approx(rejected.std(axis=0), rel=0.3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("decoys", "at", "parts"),
    [
        (1, 100.0, Densities(monotone=True)),
        (5, 100.0, ["combined", Densities(monotone=True)]),
        (1, 1e3, Densities("asymmetric_laplace", monotone=True)),
    ],
)
def test_decoys_do_not_keep_a_fit_from_monotone_log_odds(decoys, at, parts):
    calibrator = ScoreCalibrator(parts, draws=100, random_state=0).fit(*with_decoys(decoys, at))
    assert calibrator.monotone_probability_ < 1e-3
    x = np.linspace(-20.0, 120.0, 500)
    assert np.diff(calibrator.sample_proba(x), axis=1).min() > -1e-12
    p = calibrator.predict_proba([-3.0, 2.0])[:, 1]
    assert p[0] < 0.1
    assert p[1] > p[0] + 0.2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:scores of class:UserWarning")
def test_of_scores_the_wrong_way_round_monotone_log_odds_are_flat():
    scores, positive = with_decoys(0, 0.0)
    parts = Densities(monotone=True)
    calibrator = ScoreCalibrator(parts, draws=100, random_state=0).fit(-scores, positive)
    middle = calibrator.predict_proba(np.quantile(-scores, [0.05, 0.5, 0.95]))[:, 1]
    assert middle == pytest.approx(positive.mean(), abs=0.05)


@pytest.mark.parametrize(
    "parts", [["combined", Densities(monotone=True)], Densities("average", monotone=True)]
)
def test_families_that_always_fall_somewhere_are_left_out_of_several(parts):
    """Gaussians beside other families keep hardly any draws, even if both classes are Gaussian."""
    rng = np.random.default_rng(0)
    positive = rng.random(200) < 0.2
    scores = rng.normal(2.0 * positive)
    found = ScoreCalibrator(parts, draws=100, random_state=0).fit(scores, positive)
    x = np.linspace(-10.0, 12.0, 300)
    assert np.diff(found.sample_proba(x), axis=1).min() > -1e-12
    names = found.posterior_["parts/densities/engine_draws"].attrs["families"].split()
    assert names == [name for name in names if "asymmetric" in name]


def test_log_odds_of_the_hybrid_always_fall_somewhere(data):
    scores, positive = data
    calibrator = ScoreCalibrator("hybrid", random_state=0).fit(scores, positive)
    assert calibrator.monotone_probability_ == 0.0
    x = np.linspace(-200, 200, 2001)
    assert _falls(calibrator, x).all()
