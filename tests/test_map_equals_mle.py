"""Under flat priors the mode found through PyMC is the closed form's maximum of the likelihood."""

import numpy as np
import pymc as pm
import pytest

from bayescal.distributions import AsymmetricGaussian, AsymmetricLaplace
from bayescal.families import FAMILIES
from bayescal.fitting.engines.point_estimates import STARTS, ParameterSpace, find_mode
from bayescal.support.numerics import centre_and_spread
from bayescal.text.reuters_scores import TOPICS, load_reuters_scores
from tests.sizes import size

SAMPLES = {"auto": size(5, 100), None: size(4, 40)}
MOST_SCORES = size(300, 1000)
SIZES = (2, 3, 5, 8, 13, 30, 100, 300)

# Parametrised by lengths, which the degenerate maxima of small samples send to 0, not infinity.
LIKELIHOODS = {
    "gaussian": (("sigma",), lambda t, s, x: pm.Normal("score", t, s, observed=x)),
    "laplace": (("beta",), lambda t, u, x: pm.Laplace("score", t, u, observed=x)),
    "asymmetric_gaussian": (
        ("sigma_left", "sigma_right"),
        lambda t, s, r, x: AsymmetricGaussian("score", t, s, r, observed=x),
    ),
    "asymmetric_laplace": (
        ("beta", "gamma"),
        lambda t, u, v, x: AsymmetricLaplace("score", t, 1 / u, 1 / v, observed=x),
    ),
}


def lengths(name, values):
    """Return the scales of a fit as lengths: 1/beta, 1/gamma, or the sigmas themselves."""
    return [1 / v if key in {"beta", "gamma"} else v for key, v in values.items()][1:]


class FlatModel:
    """One class with flat priors on scales above a floor, compiled once; the scores change."""

    def __init__(self, name):
        self.name = name
        self.scales, likelihood = LIKELIHOODS[name]
        with pm.Model() as self.model:
            data = pm.Data("data", np.zeros(3))
            floor = pm.Data("floor", 0.0)
            mode = pm.Flat("mode", initval=0.0)
            excess = [pm.HalfFlat(f"{side}_excess", initval=1.0) for side in self.scales]
            sides = [
                pm.Deterministic(side, floor + e)
                for side, e in zip(self.scales, excess, strict=True)
            ]
            likelihood(mode, *sides, data)
        self.space = ParameterSpace(self.model)

    def search(self, x, rng, floor=0.0, starts=STARTS):
        """Return the log-likelihood and (mode, lengths) that the search through PyMC finds."""
        with self.model:
            pm.set_data({"data": x, "floor": floor})
        mode = find_mode(self.space, rng, starts)
        return mode.log_density, [float(mode.values[v]) for v in ("mode", *self.scales)]


def agree(flat, x, rng, scale_floor):
    """Return the largest difference of search and closed form, on standardised scores."""
    centre, spread = centre_and_spread(x)
    z = (x - centre) / spread
    fit = FAMILIES[flat.name].fit(z, scale_floor=scale_floor)
    if fit.scale_floor.name == "off" and fit.scale_floor.acted:
        # The likelihood's supremum is at scale 0, where no search arrives; above it, none may be.
        assert flat.search(z, rng, starts=3)[0] <= fit.log_likelihood + 1e-9 * z.size
        return None
    floor = fit.scale_floor.floor if fit.scale_floor.name != "off" else 0.0
    found, parameters = flat.search(z, rng, floor)
    # Never above the closed form (to rounding), and not more than 1e-6 a score below it.
    assert found <= fit.log_likelihood + 1e-9 * z.size
    assert found >= fit.log_likelihood - 1e-6 * z.size
    if not has_one_maximum(flat.name, z):
        return 0.0
    closed = [next(iter(fit.parameters.values())), *lengths(flat.name, fit.parameters)]
    return np.abs(np.subtract(parameters, closed)).max()


def has_one_maximum(name, z):
    """Any point between the two middle scores is a median; two scores have two best modes."""
    return not (name == "laplace" and z.size % 2 == 0) and z.size > 2


def random_sample(rng):
    n = rng.choice(SIZES)
    kind = rng.integers(4)
    if kind == 0:
        return rng.gumbel(size=n) * rng.choice([-1, 1])
    if kind == 1:
        return rng.standard_t(2, size=n)
    if kind == 2:
        return np.where(rng.random(n) < 0.3, -0.2, 3.0) * rng.exponential(size=n)
    return np.concatenate([rng.normal(-2, 0.5, n // 2), rng.normal(2, 1.5, n - n // 2)])


@pytest.mark.slow
@pytest.mark.one_era
@pytest.mark.parametrize("scale_floor", ["auto", None])
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_random_samples(name, scale_floor):
    flat = FlatModel(name)
    rng = np.random.default_rng(20030728)
    worst = [agree(flat, random_sample(rng), rng, scale_floor) for _ in range(SAMPLES[scale_floor])]
    regular = np.array([w for w in worst if w is not None])
    assert regular.size == SAMPLES[scale_floor] or (
        scale_floor is None and regular.size >= SAMPLES[scale_floor] / 8
    )
    assert regular.max() < 1e-3, np.sort(regular)[-5:]


@pytest.mark.slow
@pytest.mark.one_era
@pytest.mark.parametrize(
    ("name", "classifier"),
    [("asymmetric_gaussian", "naive_bayes"), ("asymmetric_laplace", "linear_svm")],
)
def test_reuters_topics(name, classifier):
    flat = FlatModel(name)
    rng = np.random.default_rng(1)
    worst = []
    for topic in TOPICS[: size(4, len(TOPICS))]:
        rows = load_reuters_scores(classifier, topic, "calibration")
        for label in (0, 1):
            scores = rows["score"][rows["label"] == label].to_numpy()
            worst.append(agree(flat, rng.permutation(scores)[:MOST_SCORES], rng, "auto"))
    assert max(worst) < 1e-3


class TwoModes:
    """A space of one parameter: a broad mode, and a narrow higher one between points of a scan."""

    size, initial, classes = 1, np.zeros(1), ()
    places, widths, heights = np.array([-1.0, 1.53]), np.array([0.8, 0.02]), np.array([1.0, 3.0])

    def objective(self, points):
        z = (points - self.places) / self.widths
        parts = self.heights * np.exp(-0.5 * z * z)
        return -parts.sum(axis=1), (parts * z / self.widths).sum(axis=1)[:, None]

    def values(self, point):
        return {"place": point}


def test_a_scan_follows_minima_apart_not_the_lowest_points():
    # All of the lowest points of the scan lie around the broad mode, where the one search ends.
    found = find_mode(TwoModes(), np.random.default_rng(0), starts=1)
    assert found.values["place"] == pytest.approx(1.53, abs=1e-3)
