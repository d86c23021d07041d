"""Densities of many shapes end to end: fitted, predicted, checked, drawn, saved and exported."""

import runpy

import numpy as np
import pymc as pm
import pytest
from arviz_base import convert_to_datatree
from arviz_stats import loo
from matplotlib.figure import Figure
from scipy import optimize, special
from scipy import stats as st

import bayescal
from bayescal import NUTS, Density, Program, ScoreCalibrator, plots

pytestmark = [
    pytest.mark.slow,
    # So few draws are not to be trusted, but right enough.
    pytest.mark.filterwarnings("ignore:the posterior draws are not to be trusted"),
    pytest.mark.filterwarnings("ignore:Estimated shape parameter"),
    # PyMC 6 draws a skew normal in Python, and says so.
    pytest.mark.filterwarnings("ignore:Numba will use object mode"),
]
RNG = np.random.default_rng(1)
LABEL = np.arange(80) % 2 == 0
REAL = RNG.normal(1.5 * LABEL)
GAMMA = RNG.gamma(2.0 + 2.0 * LABEL)
ATOM = RNG.random(80) < np.where(LABEL, 0.1, 0.4)
MIXTURE = '''
"""Two normals in each class."""
import pymc as pm

def model(score, label, *, centre=0.0, spread=1.0):
    coords = {"klass": ["negative", "positive"], "component": ["left", "right"]}
    both = ("klass", "component")
    with pm.Model(coords=coords) as program:
        prior = pm.Beta("prior", 1, 1)
        w = pm.Dirichlet("w", [[2, 2], [2, 2]], dims=both)
        mu = pm.Normal("mu", [centre - spread, centre + spread], spread, dims=both)
        sigma = pm.InverseGamma("sigma", 3, spread, dims=both)
        k = pm.Bernoulli("label", prior, observed=label)
        pm.NormalMixture("score", w[k], mu[k], sigma[k], observed=score)
    return program

def log_density(score, klass, w, mu, sigma):
    return pm.logp(pm.NormalMixture.dist(w[klass], mu[klass], sigma[klass]), score)
'''
TRUNCATED = '''
"""Normals in [-4, 4]."""
import pymc as pm

def model(score, label):
    with pm.Model(coords={"klass": ["negative", "positive"]}) as program:
        prior = pm.Beta("prior", 1, 1)
        mu = pm.Normal("mu", 0, 2, dims="klass")
        sigma = pm.InverseGamma("sigma", 3, 2, dims="klass")
        k = pm.Bernoulli("label", prior, observed=label)
        own = pm.Normal.dist(mu[k], sigma[k])
        pm.Truncated("score", own, lower=-4, upper=4, observed=score)
    return program

def log_density(score, klass, mu, sigma):
    own = pm.Normal.dist(mu[klass], sigma[klass])
    return pm.logp(pm.Truncated.dist(own, lower=-4, upper=4), score)
'''
POSITIVE = Density("Gamma", alpha=2, beta=1)
# Name: density or program, and scores.
DENSITIES = {
    "skew_normal": (
        Density(pm.SkewNormal, priors={"alpha": Density("Normal", mu=0, sigma=3)}),
        REAL,
    ),
    "ex_gaussian": (
        Density(pm.ExGaussian, priors={"nu": Density("InverseGamma", alpha=2, beta=0.5)}),
        REAL,
    ),
    "mixture": (MIXTURE, REAL),
    "truncated": (TRUNCATED, REAL),
    "hurdle": (
        Density(
            pm.HurdleGamma,
            priors={"psi": Density("Beta", alpha=1, beta=1), "alpha": POSITIVE, "beta": POSITIVE},
        ),
        np.where(ATOM, 0.0, GAMMA),
    ),
}


# What of PyMC the others need, these need.
BOTH_ERAS = {"skew_normal", "ex_gaussian", "mixture"}


@pytest.fixture(
    params=[
        pytest.param(name, marks=[] if name in BOTH_ERAS else [pytest.mark.one_era])
        for name in DENSITIES
    ],
    scope="module",
)
def own(request, tmp_path_factory):
    """Return the program and its scores."""
    program, score = DENSITIES[request.param]
    if isinstance(program, str):
        path = tmp_path_factory.mktemp("programs") / f"{request.param}.py"
        path.write_text(program)
        program = Program(path)
    return program, score


def fit(program, score, inference):
    calibrator = ScoreCalibrator(
        program,
        inference,
        units={"centre": 0.0, "spread": 1.0},
        draws=150,
        chains=2,
        random_state=0,
    )
    return calibrator.fit(score, LABEL)


def test_all_that_a_density_is_fitted_for(own, tmp_path):
    program, score = own
    drawn = fit(program, score, NUTS(sampler_options={"tune": 300}))
    mode = fit(program, score, "map")
    at = np.unique(np.append(np.quantile(score, [0.1, 0.5, 0.9]), score.min()))
    p = drawn.predict_proba(at)[:, 1]
    # Mean and mode of a posterior differ, most at the farthest score.
    assert np.abs(p - mode.predict_proba(at)[:, 1])[1:].max() < 0.15
    # By Bayes' rule with the densities that it shows, and another prior.
    density = drawn.class_densities(at)["predictive"].values
    np.testing.assert_allclose(
        drawn.predict_proba(at, prior=0.1)[:, 1],
        0.1 * density[1] / (0.1 * density[1] + 0.9 * density[0]),
        rtol=1e-5,
    )
    # A table of many scores has the answers of few.
    np.testing.assert_allclose(drawn.predict_proba(np.repeat(at, 30))[::30, 1], p, atol=2e-4)
    for kind in ("pointwise", "hdi", "simultaneous"):
        lower, upper = drawn.predict_interval(at, kind=kind).T
        assert (lower <= p + 0.02).all()
        assert (p <= upper + 0.02).all()
    groups = ["log_likelihood", "prior_predictive", "posterior_predictive"]
    tree = convert_to_datatree(drawn.to_arviz(groups, draws=100, random_state=0))
    assert -0.7 < loo(tree).elpd / LABEL.size < -0.2
    replicate = tree["posterior_predictive"]["score"].values
    assert np.mean(replicate == 0.0) == pytest.approx(np.mean(score == 0.0), abs=0.06)
    assert replicate.mean() == pytest.approx(score.mean(), abs=0.5)
    by_prior = tree["prior_predictive"]["score"].values
    assert np.isfinite(by_prior).all()
    # Draws of a prior differ more than those of its posterior, in the mean of their scores.
    assert by_prior.mean(axis=-1).std() > 2.0 * replicate.mean(axis=-1).std()
    assert np.isfinite(drawn.summary()["median"]).all()
    for display in (plots.ClassDensityDisplay, plots.LogOddsDisplay, plots.ProbabilityDisplay):
        display.from_estimator(drawn, ax=Figure().subplots())
    plots.ReliabilityDisplay.from_estimator(drawn, score, LABEL, ax=Figure().subplots())
    drawn.report(tmp_path / "report.html", (score, LABEL))
    again = bayescal.load(drawn.save(tmp_path / "own.nc"))
    np.testing.assert_array_equal(again.predict_proba(at)[:, 1], p)
    exported = runpy.run_path(str(drawn.export(tmp_path / "curve.py")))
    np.testing.assert_allclose(exported["predict"](at)[0], p, atol=2e-4)


MU, SIGMA = st.norm(0.0, 2.0), st.invgamma(2.0, scale=0.5)
# By scipy: the log density, the log prior, and the parameters at a point of R^n.
REFERENCES = {
    "skew_normal": (
        lambda x, mu, sigma, alpha: st.skewnorm.logpdf(x, alpha, mu, sigma),
        lambda mu, sigma, alpha: MU.logpdf(mu) + SIGMA.logpdf(sigma) + st.norm(0, 3).logpdf(alpha),
        lambda at: {"mu": at[0], "sigma": np.exp(at[1]), "alpha": at[2]},
    ),
    "ex_gaussian": (
        lambda x, mu, sigma, nu: st.exponnorm.logpdf(x, nu / sigma, mu, sigma),
        lambda mu, sigma, nu: MU.logpdf(mu) + SIGMA.logpdf([sigma, nu]).sum(),
        lambda at: {"mu": at[0], "sigma": np.exp(at[1]), "nu": np.exp(at[2])},
    ),
    "mixture": (
        lambda x, w, mu, sigma: special.logsumexp(
            st.norm.logpdf(x[:, None], mu, sigma), b=w, axis=1
        ),
        lambda w, mu, sigma: (
            st.dirichlet.logpdf(w, [2, 2])
            + st.norm.logpdf(mu, [-1, 1], 1).sum()
            + st.invgamma(3).logpdf(sigma).sum()
        ),
        lambda at: {"w": special.softmax([at[0], 0.0]), "mu": at[1:3], "sigma": np.exp(at[3:5])},
    ),
}


@pytest.mark.parametrize("own", REFERENCES, indirect=True)
def test_density_and_mode_are_those_of_scipy(own, request):
    """The mode has the largest posterior density that searches from ten points find."""
    log_density, log_prior, at = REFERENCES[request.node.callspec.params["own"]]
    program, score = own
    fitted = fit(program, score, "map")
    mode = fitted.results_["mode"]
    x = np.linspace(-3.0, 4.0, 30)
    densities = fitted.class_densities(x)["predictive"].values
    for klass, mine in enumerate((score[~LABEL], score[LABEL])):

        def log_posterior(given, mine=mine):
            return log_density(mine, **given).sum() + log_prior(**given)

        found = {name: mode[name].isel(klass=klass).values for name in at(np.zeros(5))}
        np.testing.assert_allclose(np.log(densities[klass]), log_density(x, **found), atol=1e-8)
        starts = np.random.default_rng(0).normal(size=(10, 5))[:, : 5 if "w" in found else 3]
        best = max(
            -optimize.minimize(lambda p, f=log_posterior: -f(at(p)), start).fun for start in starts
        )
        assert log_posterior(found) == pytest.approx(best, abs=1e-4)


def test_scores_that_no_class_can_have_leave_the_prior():
    calibrator = fit(Density(pm.TruncatedNormal, lower=-4.0, upper=4.0), REAL, "map")
    assert calibrator.predict_proba([4.1, -9.0], prior=0.3)[:, 1] == pytest.approx(0.3)
    assert calibrator.predict_proba([3.9], prior=0.3)[0, 1] > 0.5
