"""Model programs: found, loaded, named by their log density, and telling what is wrong."""

import numpy as np
import pytest
import scipy.stats as st
from scipy import special

from bayescal import Program, ScoreCalibrator
from bayescal.distributions import programs
from bayescal.families import FAMILIES
from tests.uncompiled import UNCOMPILED, value_of

SCORE = np.array([-3.0, -1.5, -1.0, -0.2, 0.1, 0.8, 2.5, 4.0])
LABEL = np.array([0, 0, 0, 0, 1, 0, 1, 1])


def test_one_program_a_family_and_ten_more():
    others = ["logistic", "noisy_logistic", "monotone_log_odds", "topics", "classifier_weights"]
    others += ["joint_multiclass", "sites", "length", "gaussian_process", "ordinal"]
    assert programs.available() == sorted([*FAMILIES, *others])


@pytest.mark.parametrize("name", programs.available())
def test_programs_describe_themselves(name):
    program = programs.load(name)
    assert program.summary.endswith(".")
    if name in {"classifier_weights", "joint_multiclass"}:  # whose scores are logarithms already
        return
    assert program.hyperparameters()["centre"] == 0.0
    assert program.hyperparameters()["spread"] == 1.0


def reference_log_density(name, point, centre, spread):
    """The log density written with scipy, hyperparameters spelled out; no code of the package."""
    lines = [st.beta(1, 1).logpdf(point["prior"])]
    theta = point["mu" if name == "gaussian" else "theta"]
    lines.extend(st.norm(centre, 2 * spread).logpdf(theta))
    w = point.get("left_share", np.array([0.5, 0.5]))
    side = st.expon
    if "left_share" in point:
        lines.extend(st.beta(2, 2).logpdf(w))
    if name in {"gaussian", "asymmetric_gaussian"}:
        squared = point["squared_width"]
        lines.extend(st.invgamma(2, scale=spread**2).logpdf(squared))
        width = np.sqrt(squared)
        # Two half Gaussians, weighted by their lengths.
        side = st.halfnorm
    else:
        width = point["width"]
        lines.extend(st.invgamma(2, scale=spread).logpdf(width))
    for s, k in zip(SCORE, LABEL, strict=True):
        share = 1 - w[k] if s > theta[k] else w[k]
        lines.append(np.log(share) + side.logpdf(abs(s - theta[k]), scale=share * width[k]))
        lines.append(st.bernoulli(point["prior"]).logpmf(k))
    return float(np.sum(lines))


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_a_name_is_bound_to_its_log_density(name):
    centre, spread = 3.0, 0.5
    model = programs.load(name).model(SCORE, LABEL, centre=centre, spread=spread)
    log_density = model.compile_logp(jacobian=False, mode=UNCOMPILED)
    rng = np.random.default_rng(5)
    for _ in range(3):
        point = {"prior": rng.uniform(), "theta": rng.normal(size=2) * 2}
        point["left_share"], point["width"] = rng.uniform(size=2), rng.gamma(3, size=2)
        if name == "gaussian":
            point["mu"] = point.pop("theta")
        if name.endswith("gaussian"):
            point["squared_width"] = point.pop("width")
        if FAMILIES[name].symmetric:
            del point["left_share"]
        expected = reference_log_density(name, point, centre, spread)
        # pytensor takes the logarithm of a constant such as 2.0 in single precision.
        found = float(log_density(seen_by_the_sampler(model, point)))
        assert found == pytest.approx(expected, abs=1e-7)


def seen_by_the_sampler(model, point):
    """Return the transformed values of a program's free variables at a point."""
    return {
        model.rvs_to_values[rv].name: value_of(
            model.rvs_to_transforms[rv].forward(np.asarray(point[rv.name]), *rv.owner.inputs)
        )
        for rv in model.free_RVs
    }


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_simulate_draws_scores_from_the_parameters_it_returns(name):
    family = FAMILIES[name]
    truth = programs.load(name).simulate(4000, np.random.default_rng(3), centre=1.0, spread=2.0)
    score, label = truth["score"], truth["label"].astype(bool)
    assert label.mean() == pytest.approx(float(truth["prior"]), abs=0.04)
    for k in (0, 1):
        own = [truth[parameter][k] for parameter in family.parameters]
        other = [truth[parameter][1 - k] for parameter in family.parameters]
        sample = score[label == k]
        # The negative: the other class's parameters are rejected.
        assert st.kstest(sample, lambda x, p=own: family.cdf(x, *p)).pvalue > 1e-3
        assert st.kstest(sample, lambda x, p=other: family.cdf(x, *p)).pvalue < 1e-3


@pytest.mark.parametrize("draws", [1, 3])
def test_simulate_draws_data_sets_along_a_leading_axis(draws):
    truth = programs.load("asymmetric_laplace").simulate(5, np.random.default_rng(3), draws=draws)
    assert truth["score"].shape == truth["label"].shape == (draws, 5)
    assert truth["prior"].shape == (draws,)
    assert truth["theta"].shape == truth["beta"].shape == truth["gamma"].shape == (draws, 2)
    # Each data set has parameters of its own.
    assert np.unique(truth["theta"][:, 0]).size == draws


def test_simulate_depends_on_the_seed_only():
    simulate = programs.load("laplace").simulate
    first, again, other = (simulate(5, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first["score"], again["score"])
    assert not np.array_equal(first["score"], other["score"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "must define a function model"),
        ("model = 3\n", "must define a function model"),
        ("\nimport no_such_module\n", "mine.py, line 2, does not run: ModuleNotFoundError"),
        ("def model(:\n", "mine.py, line 1, does not run: SyntaxError"),
        ("int('x')\n", "mine.py, line 1, does not run: ValueError: invalid literal"),
    ],
)
def test_files_that_are_no_programs(tmp_path, text, message):
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        programs.load(path)


def test_errors_inside_a_model_name_the_program_and_the_line(tmp_path):
    path = tmp_path / "mine.py"
    text = "import math\n\n\ndef model(score, label):\n    math.sqrt(-1.0)\n"
    path.write_text(text + "\n\ndef log_odds(score): ...\n")
    calibrator = ScoreCalibrator(Program(path))
    with pytest.raises(ValueError, match=r"mine.py, line 5, fails: ValueError: ") as raised:
        calibrator.fit(SCORE, LABEL)
    assert isinstance(raised.value.__cause__, ValueError)  # the traceback goes on below


def test_loading_leaves_nothing_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    path = tmp_path / "mine.py"
    path.write_text("def model(score, label): ...\n")
    programs.load(path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["no_such_program", "../laplace", "no/such/file.py", "LAPLACE"])
def test_unknown_programs_are_named(name):
    with pytest.raises(ValueError, match="there is no program"):
        programs.load(name)


def test_the_working_directory_is_not_searched(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("def model(score, label): ...\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="there is no program 'mine'"):
        programs.load("mine")
    assert programs.load("mine.py").name == "mine"


def test_weights_have_their_log_density():
    """Written with scipy, at a point of the program's own variables, by topic and document."""
    rng = np.random.default_rng(3)
    evidence, r = rng.normal(size=(8, 2)), rng.normal(size=(8, 3))
    topic, base = np.array([0, 0, 0, 1, 1, 1, 1, 1]), np.array([-1.0, 0.5])
    # pytensor takes the logarithm of 0.5, the default bias_scale, in single precision.
    hyperparameters = {"centre": [0.7, 0.3], "bias_scale": 0.3}
    model = programs.load("classifier_weights").model(
        evidence, LABEL, topic, indicators=r, base=base, **hyperparameters
    )
    point = {k: rng.normal(size=np.shape(v)) for k, v in model.initial_point().items()}
    lines = [st.norm([0.7, 0.3], 0.15).logpdf(point["population_weight"])]
    scales = {}
    for name, median, sd in (("tau", 0.15, 0.7), ("kappa", 0.1, 1.0)):
        lines.append(st.norm(np.log(median), sd).logpdf(point[f"log_{name}"]))
        scales[name] = np.exp(point[f"log_{name}"])
    lines += [st.norm.logpdf(point[each]) for each in ("offset", "unit")]
    lines.append(st.norm(0.0, 0.3).logpdf(point["bias"]))
    for i, k in enumerate(topic):
        weight = point["population_weight"] + scales["tau"] * point["offset"][k]
        log_odds = base[k] + point["bias"][k] + weight @ evidence[i]
        log_odds += scales["kappa"] * point["unit"][k] @ r[i]
        lines.append(st.bernoulli(special.expit(log_odds)).logpmf(LABEL[i]))
    expected = sum(float(np.sum(line)) for line in lines)
    found = model.compile_logp(jacobian=False, mode=UNCOMPILED)(point)
    assert float(found) == pytest.approx(expected, rel=1e-10)


# The programs with groups, columns and smooth curves, written again with scipy.


def labels_log_density(log_odds):
    return st.bernoulli(special.expit(log_odds)).logpmf(LABEL).sum()


def of_sites(point):
    at, slope = (
        np.arange(SCORE.size) % 3,
        np.exp(point["level"] + point["level_scale"] * point["level_z"]),
    )
    return [
        st.norm(0, 5).logpdf(point["mean"]),
        st.gamma(2, scale=0.5).logpdf(point["mean_scale"]),
        st.norm(point["mean"], point["mean_scale"]).logpdf(point["intercept"]),
        st.norm(0, 1).logpdf(point["level"]),
        st.halfnorm(scale=0.5).logpdf(point["level_scale"]),
        st.norm(0, 1).logpdf(point["level_z"]),
        labels_log_density(point["intercept"][at] + slope[at] * (SCORE - 1.0) / 2.0),
    ]


def of_length(point):
    length = np.log2(1.0 + LENGTH)
    length = length - length.mean()
    slope = np.exp(point["level"] + point["length_level"] * length)
    return [
        st.norm(0, 5).logpdf(point["intercept"]),
        st.norm(0, 1).logpdf([point["length_shift"], point["level"]]),
        st.norm(0, 0.5).logpdf(point["length_level"]),
        labels_log_density(
            point["intercept"] + point["length_shift"] * length + slope * (SCORE - 1.0) / 2.0
        ),
    ]


def of_gaussian_process(point):
    x = (SCORE - 1.0) / 2.0
    curve = np.zeros(SCORE.size)
    for m, weight in enumerate(point["frequency_weight"], start=1):
        w = m * np.pi / 10.0
        density = point["amplitude"] ** 2 * np.sqrt(2 * np.pi) * point["length"]
        density *= np.exp(-((point["length"] * w) ** 2) / 2)
        curve += weight * np.sqrt(density) * np.sin(w * (x + 5.0)) / np.sqrt(5.0)
    return [
        st.norm(0, 5).logpdf(point["intercept"]),
        st.norm(0, 1).logpdf(point["level"]),
        st.halfnorm(scale=1.0).logpdf(point["amplitude"]),
        st.lognorm(0.5, scale=np.exp(0.5)).logpdf(point["length"]),
        st.norm(0, 1).logpdf(point["frequency_weight"]),
        labels_log_density(point["intercept"] + np.exp(point["level"]) * x + curve),
    ]


LENGTH = np.array([3.0, 10.0, 40.0, 200.0, 5.0, 80.0, 20.0, 1.0])
SITES = {"covariates": {"site": np.arange(SCORE.size) % 3}, "coords": {"site": ["a", "b", "c"]}}


@pytest.mark.parametrize(
    ("name", "expected", "more"),
    [
        ("sites", of_sites, SITES),
        ("length", of_length, {"covariates": {"length": LENGTH}}),
        ("gaussian_process", of_gaussian_process, {}),
    ],
)
def test_curves_of_labels_have_their_log_density(name, expected, more):
    model = programs.load(name).model(SCORE, LABEL, centre=1.0, spread=2.0, **more)
    log_density = model.compile_logp(jacobian=False, mode=UNCOMPILED)
    start, rng = model.initial_point(), np.random.default_rng(5)
    for _ in range(3):
        point, given = {}, {}
        for free in model.free_RVs:
            value = model.rvs_to_values[free].name
            own = rng.uniform(0.2, 1.5, np.shape(start[value]))
            positive = value.endswith("_log__")
            point[free.name], given[value] = own, np.log(own) if positive else own
        terms = np.concatenate([np.ravel(each) for each in expected(point)])
        assert float(log_density(given)) == pytest.approx(terms.sum(), rel=1e-7)
