"""Programs of a user's own: the contract, what is wrong with a program, densities by a record."""

import pickle
import re
import signal
import textwrap

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
import scipy.stats as st
import xarray as xr
from arviz_base import convert_to_datatree
from matplotlib.figure import Figure
from scipy import optimize, special

import bayescal
from bayescal import NUTS, Density, Program, ScoreCalibrator
from bayescal.calibrators import compare_estimates
from bayescal.distributions import LogitBeta, programs
from bayescal.distributions.density import IN_SCORE_UNITS, distribution_of
from bayescal.fitting.covariates import Covariates
from bayescal.fitting.engines import program as engine
from bayescal.fitting.engines.program import build_model, log_likelihood, record_of, try_out
from bayescal.fitting.engines.program_functions import ProgramFunctions, ProgramRecord, compiled
from bayescal.fitting.parts.program import _elements
from bayescal.fitting.scores import BinaryScores
from bayescal.fitting.settings import ScoreParameters, inference_name
from bayescal.plots import ClassDensityDisplay, ReliabilityDisplay
from tests.uncompiled import UNCOMPILED, value_of

pytestmark = pytest.mark.filterwarnings("ignore:the posterior draws are not to be trusted")
RNG = np.random.default_rng(5)
LABEL = RNG.random(60) < 0.4
SCORE = RNG.standard_t(4, 60) + 1.5 * LABEL
COLUMN = RNG.normal(size=60)
SITE = np.where(RNG.random(60) < 0.5, "paris", "oslo")
COLUMNS = {"length": COLUMN, "site": SITE}

LOGISTIC = """
    import pymc as pm

    def model(score, label):
        with pm.Model() as program:
            intercept = pm.Normal("intercept", 0, 5)
            slope = pm.Normal("slope", 0, 2)
            pm.Bernoulli("label", logit_p=log_odds(score, intercept, slope), observed=label)
        return program

    def log_odds(score, intercept, slope):
        return intercept + slope * score
"""
GROUPS = """
    import pymc as pm

    def model(score, label, *, covariates, coords):
        with pm.Model(coords=coords) as program:
            slope = pm.Normal("slope", 0, 2)
            length = pm.Normal("length", 0, 2)
            site = pm.Normal("at_site", 0, 2, dims="site")
            logit = log_odds(score, covariates, slope, length, site)
            pm.Bernoulli("label", logit_p=logit, observed=label)
        return program

    def log_odds(score, covariates, slope, length, at_site):
        return slope * score + length * covariates["length"] + at_site[covariates["site"]]
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="mine.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def draws_of_prior(monkeypatch):
    """Replace NUTS by draws of the prior, which are of the right names and shapes."""

    def draw(model, rng, *, draws, chains, started=None, **_):
        started()
        names = [v.name for v in (*model.free_RVs, *model.deterministics)]
        values = pm.draw(
            [model[name] for name in names],
            draws * chains,
            random_seed=int(rng.integers(2**31)),
            mode=UNCOMPILED,
        )
        variables = {}
        for name, value in zip(names, values, strict=True):
            dims = model.named_vars_to_dims.get(name) or [
                f"{name}_{k}" for k in range(value.ndim - 1)
            ]
            shape = (chains, draws, *value.shape[1:])
            variables[name] = (("chain", "draw", *dims), np.reshape(value, shape))
        diverging = np.zeros((chains, draws), dtype=bool)
        coords = {k: list(v) for k, v in model.coords.items() if v}
        return {
            "posterior": xr.Dataset(variables, coords),
            "sample_stats": xr.Dataset({"diverging": (("chain", "draw"), diverging)}),
        }

    monkeypatch.setattr(engine, "draw_posterior", draw)


def fitted(parts, inference="auto", **columns):
    calibrator = ScoreCalibrator(parts, inference, draws=200, chains=2, random_state=0)
    return calibrator.fit(SCORE, LABEL, **columns)


@pytest.fixture
def grouped(write, draws_of_prior):
    return fitted(Program(write(GROUPS)), covariates=COLUMNS)


LOADED = [programs.load(name) for name in programs.available()]
ANSWERING = [each.name for each in LOADED if each.log_density or each.log_odds]


def test_all_programs_of_one_problem_answer():
    others = {"topics", "classifier_weights", "joint_multiclass", "ordinal"}
    assert set(programs.available()) - set(ANSWERING) == others


OWN_COLUMNS = {"sites": {"site": SITE}, "length": {"length": np.exp(COLUMN)}}


@pytest.mark.parametrize("name", ANSWERING)
def test_a_shipped_program_says_of_new_scores_what_its_model_says(name):
    """By the model's own likelihood: of documents for densities, of labels for log-odds."""
    program = programs.load(name)
    columns = OWN_COLUMNS.get(name)
    columns = None if columns is None else Covariates.read(columns, SCORE.size)
    data = BinaryScores(SCORE, LABEL, covariates=columns)
    model = build_model(program, data)
    record = ProgramRecord(
        "shipped", name, arguments=engine.resolve_hyperparameters(program, data, None)
    )
    functions = try_out(program, record, model, data)
    names = [v.name for v in (*model.free_RVs, *model.deterministics)]
    values = pm.draw([model[n] for n in names], 2, random_seed=3, mode=UNCOMPILED)
    draws = dict(zip(names, values, strict=True))
    whole = log_likelihood(record, data, draws)
    if program.log_density is not None:
        both = [functions.log_density(k, SCORE, draws, None) for k in (0, 1)]
        prior = draws["prior"][:, None]
        expected = np.where(LABEL, both[1] + np.log(prior), both[0] + np.log1p(-prior))
    else:
        own = None if columns is None else columns.columns
        chance = 1 / (1 + np.exp(-functions.log_odds(SCORE, draws, own)))
        if name == "noisy_logistic":
            n = LABEL.sum()
            chance = 1 / (62 - n) + (1 - 1 / (n + 2) - 1 / (62 - n)) * chance
        centre, spread = data.centre_and_spread
        expected = np.log(np.where(LABEL, chance, 1 - chance))
        if "score" in model.named_vars:
            expected = expected + st.t(4, centre, spread).logpdf(SCORE)
    np.testing.assert_allclose(whole, expected, rtol=1e-6, atol=1e-7)


def test_functions_survive_pickling_and_files(write):
    record = record_of(write(LOGISTIC))
    functions = ProgramFunctions(record, {"slope": np.array(2.0)})
    draws = {"intercept": np.array([0.0, 1.0])}
    expected = np.array([[2.0, 4.0], [3.0, 5.0]])
    score = np.array([1.0, 2.0])
    for each in (
        functions,
        pickle.loads(pickle.dumps(functions)),
        ProgramFunctions.of(functions.dataset()),
    ):
        np.testing.assert_allclose(each.log_odds(score, draws, None), expected)


def test_a_shipped_program_is_recorded_by_its_name_alone(write):
    shipped = record_of("gaussian")
    assert (shipped.kind, shipped.name, shipped.path, shipped.source) == (
        "shipped", "gaussian", "", "",
    )  # fmt: skip
    path = write(LOGISTIC)
    assert record_of(path).path == str(path)


def test_a_file_of_results_does_not_run_a_changed_program(write, draws_of_prior, tmp_path):
    path = write(LOGISTIC)
    saved = fitted(Program(path)).save(tmp_path / "mine.nc")
    before = bayescal.load(saved).predict_proba([0.0, 1.0])
    text = path.read_text()
    path.write_text(text + "\nraise SystemError\n")
    with pytest.raises(ValueError, match=r"hold its text: `bayescal models FILE\.nc`"):
        _ = reloaded(saved)
    path.write_text(text)
    assert np.array_equal(reloaded(saved).predict_proba([0.0, 1.0]), before)


def reloaded(path):
    from bayescal.fitting.engines import program_functions

    program_functions._program.cache_clear()
    return bayescal.load(path)


def test_a_class_prior_moves_log_odds(write, draws_of_prior):
    calibrator = fitted(Program(write(LOGISTIC)), NUTS())
    own = calibrator.sample_proba([0.3], prior=0.4)
    other = calibrator.sample_proba([0.3], prior=0.8)
    moved = np.log(other / (1 - other)) - np.log(own / (1 - own))
    np.testing.assert_allclose(moved, np.log(4) - np.log(0.4 / 0.6))


def test_draws_of_a_program_beside_other_parts_are_weighed(write, draws_of_prior):
    with pytest.warns(UserWarning, match="Pareto k|R-hat|effective sample size"):
        calibrator = fitted(["monotone", Program(write(LOGISTIC))])
    assert calibrator.inference_ == "exact"
    assert list(calibrator.combination_.index) == ["monotone", "mine"]
    assert calibrator.combination_["weight"].sum() == pytest.approx(1.0)
    assert calibrator.predict_interval([0.0]).shape == (1, 2)


def test_the_mode_of_a_program_is_that_of_its_penalised_likelihood(write):
    def minus_log_posterior(point):
        log_odds = point[0] + point[1] * SCORE
        likelihood = np.where(LABEL, -np.logaddexp(0, -log_odds), -np.logaddexp(0, log_odds)).sum()
        return -likelihood + 0.5 * (point[0] / 5) ** 2 + 0.5 * (point[1] / 2) ** 2

    best = optimize.minimize(minus_log_posterior, np.zeros(2), tol=1e-10).x
    calibrator = fitted(Program(write(LOGISTIC)), "map")
    found = calibrator.summary()["map"]
    np.testing.assert_allclose(found[("log-odds", "intercept")], best[0], atol=1e-4)
    np.testing.assert_allclose(found[("log-odds", "slope")], best[1], atol=1e-4)
    log_odds = calibrator.decision_function([-1.0, 2.0])
    np.testing.assert_allclose(log_odds, best[0] + best[1] * np.array([-1.0, 2.0]), atol=1e-3)
    with pytest.raises(ValueError, match="predict_interval needs a posterior"):
        calibrator.predict_interval([0.0])


@pytest.mark.slow
def test_nuts_of_a_density_is_the_posterior_by_importance(tmp_path):
    """Student t densities of 4 degrees of freedom, by a grid of each class."""
    calibrator = ScoreCalibrator(Density(pm.StudentT, nu=4), random_state=0).fit(SCORE, LABEL)
    assert calibrator.inference_ == "nuts"
    centre, spread = calibrator.units_["centre"], calibrator.units_["spread"]
    mu, sigma = np.meshgrid(np.linspace(-3, 3, 301), np.exp(np.linspace(-3, 2, 300)))
    log_prior = st.norm(0, 2).logpdf(mu) + st.invgamma(2, scale=0.5).logpdf(sigma) + np.log(sigma)
    posterior = calibrator.posterior_["posterior"]
    for klass in (0, 1):
        x = (SCORE[klass == LABEL] - centre) / spread
        log = log_prior + st.t(4).logpdf((x[:, None, None] - mu) / sigma).sum(axis=0)
        log -= x.size * np.log(sigma)
        weight = np.exp(log - log.max())
        mean = (weight * mu).sum() / weight.sum()
        sd = np.sqrt((weight * (mu - mean) ** 2).sum() / weight.sum())
        drawn = posterior["mu"].isel(klass=klass).values
        # Over 1,000 effective draws: four standard errors.
        assert drawn.mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(1000))
        assert drawn.std() == pytest.approx(sd, rel=0.15)
    tree = convert_to_datatree(calibrator.to_arviz(draws=100))
    assert {"prior", "log_likelihood", "posterior_predictive"} <= set(tree.children)
    assert tree["posterior_predictive"]["score"].std() < 10 * SCORE.std()
    calibrator.report(tmp_path / "report.html")
    exported = calibrator.export(tmp_path / "curve.py")
    assert exported.exists()
    ClassDensityDisplay.from_estimator(calibrator, ax=Figure().subplots())


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["nutpie", "numpyro"])
def test_other_samplers_draw_the_posterior(sampler, write):
    """By a grid of the parameters, within four standard errors of 200 effective draws."""
    pytest.importorskip(sampler)
    inference = NUTS(sampler_options={"nuts_sampler": sampler})
    drawn = fitted(Program(write(LOGISTIC)), inference).posterior_["posterior"]
    intercept, slope = np.meshgrid(np.linspace(-6, 4, 201), np.linspace(-3, 5, 201))
    log_odds = intercept[..., None] + slope[..., None] * SCORE
    log = -np.logaddexp(0, np.where(LABEL, -log_odds, log_odds)).sum(axis=-1)
    log += st.norm(0, 5).logpdf(intercept) + st.norm(0, 2).logpdf(slope)
    weight = np.exp(log - log.max())
    for name, grid in (("intercept", intercept), ("slope", slope)):
        mean = np.average(grid, weights=weight)
        sd = np.sqrt(np.average((grid - mean) ** 2, weights=weight))
        assert drawn[name].values.mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(200))
        assert drawn[name].values.std() == pytest.approx(sd, rel=0.2)


def test_a_density_is_that_of_scipy_in_raw_units():
    record = Density(pm.StudentT, nu=[3, 8]).record()
    program, data = record.program(), BinaryScores(SCORE, LABEL)
    centre, spread = data.centre_and_spread
    record = ProgramRecord(record.kind, record.name, source=record.source, units=(centre, spread))
    draws = {"mu": np.array([[0.0, 1.0]]), "sigma": np.array([[0.5, 2.0]])}
    functions = ProgramFunctions(record, {})
    for klass, (nu, mu, sigma) in enumerate([(3, 0, 0.5), (8, 1, 2)]):
        expected = st.t(nu, centre + spread * mu, spread * sigma).logpdf(SCORE)
        got = functions.log_density(klass, SCORE, draws, None)[0]
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    assert program.summary.startswith("In each class (s - m)/S ~ StudentT")


@pytest.mark.parametrize(
    ("density", "free"),
    [
        (Density(pm.Normal), "mu sigma"),
        (Density(pm.Normal, priors={"tau": Density("Gamma", alpha=2, beta=1)}), "mu tau"),
        (Density(pm.HalfNormal), "sigma"),
        (Density(pm.HurdleLogNormal, psi=0.5), "mu sigma"),
        # Two ways to say the same: the one that was not chosen has no prior.
        (Density(pm.Gamma, alpha=2.0, priors={"beta": Density("HalfNormal", sigma=1)}), "beta"),
        (Density(pm.Beta, nu=9.0, priors={"mu": Density("Beta", alpha=1, beta=1)}), "mu"),
    ],
)
def test_parameters_that_are_free(density, free):
    assert " ".join(density.record().program().answer_parameters()) == free


def test_operations_are_rewritten_for_numpy():
    """Values are those of PyTensor's own functions, and none calls Python for each element."""
    x = pt.vector("x")
    at = np.array([-800.0, -30.0, -1.0, -1e-20, 0.0, 1e-9, 2.0, 40.0, 900.0, np.nan])
    answers = [pt.softplus(x), pt.log1mexp(-pt.abs(x)), pt.clip(x, -2, 3), x**5, x**8 + x + 1.0]
    answers.append(pt.second(x[:, None], np.array([[-1.0, 2.0, 3.0]])))
    function = compiled([x], answers)
    expected = pytensor.function([x], answers, mode=UNCOMPILED)
    with np.errstate(all="ignore"):
        for own, other in zip(function(at), expected(at), strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-14)
    nodes = function.maker.fgraph.apply_nodes
    scalar = [node.op.scalar_op for node in nodes if hasattr(node.op, "scalar_op")]
    assert scalar
    assert all(op.nfunc_spec for op in scalar)


HALF = Density("HalfNormal", sigma=5.0)


@pytest.mark.parametrize(
    ("density", "message"),
    [
        (Density(pm.StudentT), r"StudentT needs nu, fixed or with a prior, such as nu=1.0"),
        (Density(pm.Normal, mu=0, sigma=1), "all parameters of Normal are fixed"),
        (Density(pm.Gamma), "Gamma needs some of alpha, beta, mu, sigma, fixed or with a prior"),
        (Density(pm.Flat), "Flat has no parameters, so that nothing would be fitted"),
        (Density(pm.Normal, mu=[1, 2, 3]), "must be finite numbers, or a pair"),
        (Density(pm.Normal, mu=0, priors={"mu": Density(pm.Normal)}), "is fixed and has a prior"),
        (Density(pm.Normal, mu="zero"), "Density: mu must be real numbers, got 'zero'"),
        (Density(pm.Normal, priors={"mu": 3}), "prior of 'mu' must be a Density of fixed"),
        *(
            (Density(pm.Normal, priors={"sigma": prior}), message)
            for prior, message in (
                (Density("HalfNormal", priors={"sigma": HALF}), "prior of sigma must have fixed"),
                (Density("HalfNormal", sigma=np.nan), "must be finite numbers, or a pair"),
                (Density("Gamma", alpha=2.0), "the prior of sigma, Gamma, lacks parameters"),
            )
        ),
    ],
)
def test_densities_that_are_none(density, message):
    with pytest.raises(ValueError, match=message):
        fitted(density)


@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        ("StudentTee", "no distribution 'StudentTee' in pymc, did you mean"),
        (3.0, "distribution must be a distribution such as pm.StudentT"),
        (pm.Normal, "parameters of Normal are mu, sigma, tau; got nu"),
        (pm.Poisson, "Poisson is discrete, and scores are real numbers"),
        ("Bernoulli", "Bernoulli is discrete"),
        (pm.MvNormal, "MvNormal is multivariate, and a document has one score"),
        (pm.Wishart, "Wishart is multivariate"),
        (pm.Mixture, "Mixture is discrete or a mixture, whose components are no numbers"),
        (pm.ZeroInflatedPoisson, "ZeroInflatedPoisson is discrete or a mixture"),
        (pm.AR, "AR is of a series"),
        (pm.Truncated, "Truncated is made of other distributions"),
        (pm.CustomDist, "CustomDist is made of other .* write a program: see models/README.md"),
    ],
)
def test_densities_that_cannot_be_made(distribution, message):
    with pytest.raises(ValueError, match=message):
        Density(distribution, nu=3.0)


def test_all_densities_of_pymc_of_one_real_number_can_be_made():
    continuous = [
        each
        for name in dir(pm)
        if getattr(each := getattr(pm, name), "__module__", "") == "pymc.distributions.continuous"
        and hasattr(each, "dist")
    ]
    assert len(continuous) > 30
    for each in [*continuous, pm.HurdleGamma, pm.HurdleLogNormal, LogitBeta]:
        Density(each)


def test_densities_are_equal_if_their_parameters_are():
    arrays = [Density("Gumbel", beta=kind([0.5, 1.0])) for kind in (np.array, tuple, list)]
    assert arrays[0] == arrays[1] == arrays[2]
    assert arrays[0] != Density("Gumbel", beta=[0.5, 2.0])


def test_covariates_reach_the_model_and_the_log_odds(grouped, tmp_path):
    posterior = grouped.posterior_["posterior"]
    assert posterior["at_site"].coords["site"].values.tolist() == ["oslo", "paris"]
    one = {"length": [2.0], "site": ["paris"]}
    draws = {n: posterior[n].values.reshape(400, -1)[:, -1] for n in ("slope", "length", "at_site")}
    log_odds = 0.7 * draws["slope"] + 2.0 * draws["length"] + draws["at_site"]
    expected = 1 / (1 + np.exp(-log_odds))
    np.testing.assert_allclose(grouped.sample_proba([0.7], covariates=one)[:, 0], expected)
    many = {name: np.repeat(value, 3000) for name, value in one.items()}
    got = grouped.predict_proba(np.full(3000, 0.7), covariates=many)[:, 1]
    np.testing.assert_allclose(got, expected.mean())
    again = bayescal.load(grouped.save(tmp_path / "mine.nc"))
    assert np.array_equal(
        again.predict_interval([0.7], covariates=one),
        grouped.predict_interval([0.7], covariates=one),
    )


def test_reliability_is_of_the_documents(grouped):
    p = grouped.predict_proba(SCORE, covariates=COLUMNS)[:, 1]
    shown = ReliabilityDisplay.from_estimator(
        grouped, SCORE, LABEL, covariates=COLUMNS, ax=Figure().subplots()
    )
    expected = ReliabilityDisplay.from_predictions(LABEL, p, ax=Figure().subplots())
    np.testing.assert_allclose(shown.data["prob_pred"], expected.data["prob_pred"])
    with pytest.raises(ValueError, match="takes covariates length, site: pass covariates="):
        ReliabilityDisplay.from_estimator(grouped, SCORE, LABEL)


def test_programs_of_families_stand_beside_their_maximum_likelihood(draws_of_prior):
    table = fitted("gaussian", "nuts").summary()["mle"]
    for label in (False, True):
        own = SCORE[label == LABEL]
        assert table[(str(label), "mu")] == pytest.approx(own.mean())
        assert table[(str(label), "sigma")] == pytest.approx(own.std())


NEW_GROUP = """
    def new_group(rng, slope):
        return {"at_site": rng.normal(0, 2, slope.shape)}
"""


def with_new_group(write, text=NEW_GROUP):
    return Program(write(GROUPS + text))


def test_a_group_that_was_not_fitted_is_drawn_from_the_population(write, draws_of_prior, tmp_path):
    calibrator = fitted(with_new_group(write), covariates=COLUMNS)
    columns = {"length": [0.0, 0.0, 0.0, 0.0], "site": ["rome", "oslo", "bern", "rome"]}
    got = calibrator.sample_proba(np.full(4, 0.7), covariates=columns)
    posterior = calibrator.posterior_["posterior"]
    draws = {n: posterior[n].values.reshape(400, -1)[:, 0] for n in ("slope", "at_site")}
    fitted_site = 0.7 * draws["slope"] + draws["at_site"]
    np.testing.assert_allclose(got[:, 1], special.expit(fitted_site))
    # One site has one curve; two sites have independent shifts, here of scale 2.
    np.testing.assert_array_equal(got[:, 0], got[:, 3])
    shifts = special.logit(got[:, [0, 2]]) - 0.7 * draws["slope"][:, None]
    assert shifts.std(axis=0) == pytest.approx([2.0, 2.0], rel=0.15)  # 4 standard errors
    assert abs(np.corrcoef(shifts.T)[0, 1]) < 0.2
    # Other documents beside it, their order, and a saved file change nothing.
    rome = {name: values[:1] for name, values in columns.items()}
    np.testing.assert_array_equal(calibrator.sample_proba([0.7], covariates=rome)[:, 0], got[:, 0])
    again = bayescal.load(calibrator.save(tmp_path / "mine.nc"))
    np.testing.assert_array_equal(again.sample_proba([0.7], covariates=rome)[:, 0], got[:, 0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def new_group(rng):\n    return {'at_site': rng.normal()}", r"of shape \(400,\)"),
        (
            "def new_group(rng):\n    return {'at_town': rng.normal(size=400)}",
            "must return 'at_site'",
        ),
        ("def new_group(rng, tau):\n    return {}", "takes tau, which is no variable"),
        ("def new_group(rng):\n    return 1 / 0", "cannot draw a new group: ZeroDivisionError"),
    ],
)
def test_a_new_group_has_the_shapes_of_the_draws(text, message, write, draws_of_prior):
    program = with_new_group(write, textwrap.indent(f"\n{text}\n", "    "))
    calibrator = fitted(program, covariates=COLUMNS)
    with pytest.raises(ValueError, match=message):
        calibrator.predict_proba([0.0], covariates={"length": [0.0], "site": ["rome"]})


def test_a_mode_has_no_new_groups(write):
    calibrator = fitted(with_new_group(write), "map", covariates=COLUMNS)
    with pytest.raises(ValueError, match="'rome', which was not fitted"):
        calibrator.predict_proba([0.0], covariates={"length": [0.0], "site": ["rome"]})


def test_updates_take_covariates_of_old_and_new_groups(write, draws_of_prior):
    program = with_new_group(write)
    columns = {"length": COLUMN, "site": np.append(SITE[:-1], "bern")}
    first = {name: values[:50] for name, values in columns.items()}
    rest = {name: values[50:] for name, values in columns.items()}
    updated = ScoreCalibrator(program, draws=200, chains=2, random_state=0)
    updated.fit(SCORE[:50], LABEL[:50], covariates=first)
    with pytest.raises(ValueError, match="takes covariates length, site: pass covariates="):
        updated.update(SCORE[50:], LABEL[50:])
    updated.update(SCORE[50:], LABEL[50:], covariates=rest)
    at_once = ScoreCalibrator(program, draws=200, chains=2, random_state=0, units=updated.units_)
    at_once.fit(SCORE, LABEL, covariates=columns)
    for group in ("covariates", "observed_data", "posterior"):
        xr.testing.assert_equal(
            updated.posterior_[group].to_dataset(), at_once.posterior_[group].to_dataset()
        )


@pytest.mark.slow
def test_the_mode_stands_beside_maximum_likelihood_and_the_posterior():
    fits = {
        name: ScoreCalibrator("gaussian", name, random_state=0).fit(SCORE, LABEL)
        for name in ("mle", "map", "exact")
    }
    table = compare_estimates(fits)
    estimates = table.xs("estimate", axis=1, level=1)
    assert list(estimates) == ["mle", "map", "exact"]
    # Vague priors and 24 to 36 scores: all within half of a standard error of a mean.
    assert np.ptp(estimates.loc[("True", "mu")]) < 0.15
    lower, upper = table[("exact", "lower")], table[("exact", "upper")]
    assert ((lower < estimates["map"]) & (estimates["map"] < upper)).all()
    with pytest.raises(TypeError, match="must be a dict of fitted calibrators"):
        compare_estimates(list(fits.values()))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (None, "the model takes covariates length, site: pass covariates="),
        ({"length": [1.0]}, "there is no site"),
        ({"length": [1.0], "site": ["rome"]}, "'site' holds 'rome', which was not fitted"),
        ({"length": [np.nan], "site": ["oslo"]}, "'length' holds nan"),
        ({"length": [1.0, 2.0], "site": ["oslo"]}, r"'length' has shape \(2,\) and there are 1"),
        ({"length": ["long"], "site": ["oslo"]}, "'length' must hold numbers"),
        ([1.0], "must be a DataFrame or a dict of columns"),
    ],
)
def test_columns_that_are_none(columns, message, grouped):
    with pytest.raises(ValueError, match=message):
        grouped.predict_proba([0.0], covariates=columns)


def test_programs_say_whether_they_take_covariates(write):
    with pytest.raises(ValueError, match="takes covariates: pass fit"):
        fitted(Program(write(GROUPS)))
    with pytest.raises(ValueError, match="takes no covariates, got length"):
        fitted(Program(write(LOGISTIC)), covariates={"length": COLUMN})
    with pytest.raises(ValueError, match="covariates are for a Program alone"):
        fitted("gaussian", covariates={"length": COLUMN})
    for columns in (COLUMNS, None):
        with pytest.raises(ValueError, match="'mine' takes covariates: fit it alone"):
            fitted(["densities", Program(write(GROUPS))], covariates=columns)


SLOPE, ANSWER = 'slope = pm.Normal("slope", 0, 2)', "return intercept + slope * score"
# What is replaced by what, and the words of the error.
BAD = [
    ("slope = pm.Normal", "slope = 1 / 0 * pm.Normal", "line 7, fails: ZeroDivisionError"),
    ("return intercept", "return len(3) + intercept", "TypeError"),
    (
        f'pm.Normal("intercept", 0, 5)\n        {SLOPE}',
        'pm.Deterministic("intercept", pm.math.constant(0.0)); slope = pm.Data("slope", 1.0)',
        "has no free variable",
    ),
    (SLOPE, f'{SLOPE}; pm.Normal("draw")', "variables named draw, which results keep"),
    (SLOPE, f'{SLOPE}; pm.Normal("chain")', "variables named chain"),
    (SLOPE, f'{SLOPE}; pm.Beta("prior", 1, 1)', "variables named prior"),
    (ANSWER, "return intercept", r"of the shape of the scores, \(60,\), got \(\)"),
    (ANSWER, "return pm.math.log(-1.0 - score**2) + intercept", "returns nan for 60 of 60"),
    ("log_odds(", "log_oods(", "Add one of\n\n    def log_density"),
    (
        "(score, intercept, slope):",
        "(score, intercept, slop=1.0, slope=2.0):",
        "takes 'slop', which is no variable.*those are intercept, slope; did you mean 'slope'",
    ),
    ('pm.Bernoulli("label"', 'pm.Bernoulli("labels"', "named label; it observes no label, but lab"),
    ("return program", "return None", "must return a pymc.Model, got NoneType"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD)
def test_what_is_wrong_is_said(old, new, message, write):
    text = textwrap.dedent(LOGISTIC)
    assert old in text
    text = text.replace(old, new)
    if new == "return intercept":  # the model itself has one log-odds a score
        text = text.replace("=log_odds(score, intercept, slope)", "=intercept + 0 * score")
    with pytest.raises(ValueError, match=re.compile(message, re.DOTALL)):
        fitted(Program(write(text)))


def test_a_program_that_hangs_is_stopped(write, monkeypatch):
    monkeypatch.setattr(engine, "COMPILE_LIMIT", 0.2)
    path = write(LOGISTIC.replace("with pm.Model()", "while True: pass\n        with pm.Model()"))
    with pytest.raises(ValueError, match=r"line 5, fails: TimeoutError: .* has no draw after"):
        fitted(Program(path))


def test_a_file_that_hangs_is_stopped_inside_another_deadline(write, monkeypatch):
    monkeypatch.setattr(programs, "LOAD_LIMIT", 0.2)
    path = write("import os\nwhile True: pass")
    with programs.deadline(60, "too late"):
        with pytest.raises(ValueError, match=r"line 2, does not run: TimeoutError: .* within 0\.2"):
            programs.load(path)
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 50
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0


SWAPPED_DENSITIES = """
    import pymc as pm

    def model(score, label):
        with pm.Model() as program:
            prior = pm.Beta("prior", 1, 1)
            mu = pm.Normal("mu", 0, 3, shape=2)
            k = pm.Bernoulli("label", prior, observed=label)
            pm.Normal("score", mu[k], 1, observed=score)
        return program

    def log_density(score, klass, mu):
        return pm.logp(pm.Normal.dist(mu[1 - klass], 1), score)
"""
SWAPPED = LOGISTIC.replace("return intercept + slope * score", "return -intercept - slope * score")
SWAPPED = SWAPPED.replace("logit_p=log_odds(", "logit_p=-log_odds(")


@pytest.mark.parametrize("text", [SWAPPED, SWAPPED_DENSITIES])
def test_swapped_classes_are_warned_of(text, write):
    calibrator = ScoreCalibrator(Program(write(text)), "map")
    with pytest.warns(UserWarning, match=r"of class 'yes', the positive one, get lower .* swap"):
        calibrator.fit(SCORE, np.where(LABEL, "yes", "no"))
    assert len(calibrator.score_problems_) == 1


def test_chains_that_disagree_are_called_improper(write, draws_of_prior, monkeypatch):
    drawn = engine.draw_posterior

    def apart(*args, **options):
        groups = drawn(*args, **options)
        shifted = groups["posterior"].assign(slope=groups["posterior"]["slope"] + [[0.0], [50.0]])
        return groups | {"posterior": shifted}

    monkeypatch.setattr(engine, "draw_posterior", apart)
    with pytest.warns(UserWarning, match="several modes, or an improper posterior"):
        fitted(Program(write(LOGISTIC)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inference": "exact"}, "inference='exact' has no engine for Program"),
        ({"inference": "mle"}, "inference='mle' would ignore Program"),
        ({"parts": ["monotone", Program("logistic")], "inference": "map"}, "would ignore Program"),
        ({"parts": [Program("laplace"), Program("logistic")], "inference": "map"}, "would ignore"),
        ({"parts": ["monotone", Program("logistic"), Program("logistic")]}, "different names"),
        ({"parts": Program("topics")}, "is a model of many topics"),
    ],
)
def test_inferences_that_would_ignore_a_program(settings, message):
    with pytest.raises(ValueError, match=message):
        ScoreCalibrator(**{"parts": Program("logistic")} | settings).fit(SCORE, LABEL)


def test_several_programs_are_a_combination():
    two = [Program("laplace"), Program("logistic")]
    assert inference_name(ScoreParameters(two)) == "exact"
    assert inference_name(ScoreParameters(two[:1])) == "nuts"


def test_elements_of_a_variable_are_named_by_their_places():
    values = xr.DataArray(
        np.arange(12.0).reshape(1, 2, 2, 3),
        dims=("chain", "draw", "klass", "k"),
        coords={"klass": ["negative", "positive"], "k": [0, 1, 2]},
    )
    found = dict(_elements(values))
    places = [(klass, k) for klass in ("negative", "positive") for k in range(3)]
    assert list(found) == [f"[{klass}, {k}]" for klass, k in places]
    for own, (klass, k) in zip(found.values(), places, strict=True):
        np.testing.assert_array_equal(own.values, values.sel(klass=klass, k=k).values)
    assert list(dict(_elements(values[..., 0, 0]))) == [""]


SPREADS = ("lam", "sigma", "tau")  # of which a distribution takes one
UNITS = [
    (name, spread)
    for name, units in IN_SCORE_UNITS.items()
    for spread in [each for each in SPREADS if each in units] or [None]
]


@pytest.mark.parametrize(("name", "spread"), UNITS)
def test_parameters_in_score_units_are_those_of_the_scores(name, spread):
    """The density of m + S y is that of y, over S."""
    units, y, m, s = IN_SCORE_UNITS[name], np.linspace(-0.8, 2.0, 7), 3.0, 2.5
    standard = {each: 0.7 for each in units if each == spread or each not in SPREADS}
    raw = {each: units[each][0] * m + s ** units[each][1] * x for each, x in standard.items()}
    own, of_scores = (distribution_of(name).dist(**each) for each in (standard, raw))
    found = value_of(pm.logp(of_scores, m + s * y)) + np.log(s)
    np.testing.assert_allclose(found, value_of(pm.logp(own, y)), rtol=1e-6)
