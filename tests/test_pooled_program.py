"""The program of many topics: its density is the fast engine's, and what it simulates is itself."""

import numpy as np
import pytensor
import pytest
import scipy.stats as st
from scipy import special

from bayescal.distributions import programs
from bayescal.families import FAMILIES
from bayescal.fitting.engines.exact.joint_density import DeviationSums
from bayescal.fitting.engines.pooled.population import (
    DENSITY_NAMES,
    OF_SHARE,
    Hyperprior,
    coefficients,
    statistics,
)
from tests.uncompiled import UNCOMPILED

FOUR = ["asymmetric_gaussian", "asymmetric_laplace", "gaussian", "laplace"]
TOPICS = 7
CENTRE, SPREAD = 3.0, 0.5


def data(rng):
    """
    Return raw scores, labels and topics.

    Topic 2 has no positives, topic 4 separated classes, topic 5 ties, topic 6 one document.
    """
    topic = np.repeat(np.arange(TOPICS), [30, 5, 8, 12, 10, 10, 1])
    label = (rng.random(topic.size) < 0.4) & (topic != 2)
    x = rng.normal(label, 1.0) + 20.0 * label * (topic == 4)
    return CENTRE + SPREAD * np.where(topic == 5, np.round(x), x), label.astype(int), topic


def random_point(family, rng):
    """Return values of all free variables of the program, by name."""
    power, symmetric = FAMILIES[family].power, FAMILIES[family].symmetric
    point = {name: rng.normal(size=2) for name in DENSITY_NAMES}
    if symmetric:
        for k in OF_SHARE:
            del point[DENSITY_NAMES[k]]
    else:
        point["logit_left_share"] = rng.normal(size=(2, TOPICS))
    point["theta"] = rng.normal(size=(2, TOPICS))
    point["width" if power == 1 else "squared_width"] = rng.gamma(3, size=(2, TOPICS))
    point["logit_rate"], point["log_documents"] = rng.normal(-2, 2), rng.normal(2, 1)
    return point | {"prior": rng.beta(2, 4, TOPICS)}


def of_the_engine(family, point, score, label, topic):
    """Return the log density by the engine's parts, each class and topic by itself."""
    record, total = FAMILIES[family], 0.0
    power = record.power
    hyperprior = Hyperprior.of(power)
    for k in (0, 1):
        # Symmetric families have no share: its hyperparameters stay where they are.
        population = np.array(
            [
                point[name][k] if name in point else mean
                for name, mean in zip(DENSITY_NAMES, hyperprior.mean, strict=True)
            ]
        )
        total += hyperprior.log_density(population)
        eta, normaliser = coefficients(population, record)
        for t in range(TOPICS):
            theta = point["theta"][k, t]
            log_odds = point["logit_left_share"][k, t] if "logit_left_share" in point else 0.0
            share = special.expit(log_odds)
            powered = point["width" if power == 1 else "squared_width"][k, t]
            width = powered ** (1 / power)
            total += eta @ statistics(theta, share, width, record) - normaliser
            # The density of its log, there.
            total -= np.log(powered)
            x = ((score - CENTRE) / SPREAD)[(label == k) & (topic == t)]
            sums = DeviationSums(x, None, record.power)
            left, right = share * width, (1 - share) * width
            deviations = zip(sums(np.array([theta])), (left, right), strict=True)
            total -= sum(d[0] / side**power for d, side in deviations) / power
            total -= x.size * np.log(left + right)
    return float(total)


def of_labels(point, label, topic):
    """Return the same of the base rates, by scipy."""
    rate, documents = special.expit(point["logit_rate"]), np.exp(point["log_documents"])
    total = st.norm(-2, 2).logpdf(point["logit_rate"])
    total += st.norm(np.log(10), 1).logpdf(point["log_documents"])
    total += st.beta(documents * rate, documents * (1 - rate)).logpdf(point["prior"]).sum()
    return total + st.bernoulli(point["prior"][topic]).logpmf(label).sum()


def sampler_space(model):
    """Return the function from all free variables to what the sampler sees of them."""
    seen = [
        rv if transform is None else transform.forward(rv, *rv.owner.inputs)
        for rv, transform in ((rv, model.rvs_to_transforms[rv]) for rv in model.free_RVs)
    ]
    forward = pytensor.function(model.free_RVs, seen, mode=UNCOMPILED, on_unused_input="ignore")
    names = [model.rvs_to_values[rv].name for rv in model.free_RVs]
    return lambda point: dict(
        zip(names, forward(*(point[rv.name] for rv in model.free_RVs)), strict=True)
    )


def differences_of_densities(family, rng, **hyperparameters):
    documents = data(rng)
    model = programs.load("topics").model(
        *documents, family=family, centre=CENTRE, spread=SPREAD, **hyperparameters
    )
    log_density = model.compile_logp(jacobian=False, mode=UNCOMPILED)
    seen = sampler_space(model)
    differences = []
    for _ in range(6):
        point = random_point(family, rng)
        expected = of_the_engine(family, point, *documents) + of_labels(point, *documents[1:])
        differences.append(float(log_density(seen(point))) - expected)
    return differences


@pytest.mark.slow
@pytest.mark.parametrize("family", FOUR)
def test_log_density_is_the_engines_up_to_a_constant(family):
    rng = np.random.default_rng(1)
    differences = differences_of_densities(family, rng)
    assert np.std(differences) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [{"log_scale": (0.0, 0.5)}, {"log_width": (0.0, 1.0)}])
def test_another_program_is_rejected(wrong):
    differences = differences_of_densities("laplace", np.random.default_rng(1), **wrong)
    assert np.std(differences) > 0.1


@pytest.mark.slow
def test_weights_are_repetitions():
    score, label, topic = data(np.random.default_rng(2))
    weight = np.random.default_rng(3).integers(0, 3, score.size)
    repeated = (np.repeat(each, weight) for each in (score, label, topic))
    program = programs.load("topics").model
    models = program(score, label, topic, weight=weight), program(*repeated)
    point = models[0].initial_point()
    one, other = (float(m.compile_logp(mode=UNCOMPILED)(point)) for m in models)
    assert one == pytest.approx(other, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("family", FOUR)
def test_simulate_draws_scores_from_the_parameters_it_returns(family):
    truth = programs.load("topics").simulate(
        2000, 3, np.random.default_rng(4), family=family, centre=CENTRE, spread=SPREAD
    )
    x, record = (truth["score"] - CENTRE) / SPREAD, FAMILIES[family]
    for k in (0, 1):
        for t in range(3):
            own = x[(truth["label"] == k) & (truth["topic"] == t)]
            theta, left, right = (truth[name][k, t] for name in ("theta", "left", "right"))
            parameters = record.from_sides(theta, left, right)
            other = record.from_sides(theta + left + right, left, right)
            if own.size > 100:
                assert st.kstest(own, lambda s, p=parameters: record.cdf(s, *p)).pvalue > 1e-3
                assert st.kstest(own, lambda s, p=other: record.cdf(s, *p)).pvalue < 1e-3
    share = [truth["label"][truth["topic"] == t].mean() for t in range(3)]
    assert share == pytest.approx(truth["prior"], abs=0.05)
