"""The program `topics` and likelihoods of grouped scores, against scipy, with their gradients."""

from functools import partial

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
import scipy.stats as st
from scipy import special

from bayescal.distributions import GroupedScores, programs
from bayescal.families import FAMILIES
from bayescal.fitting.engines.exact.joint_density import DeviationSums
from bayescal.fitting.engines.pooled.population import (
    DENSITY_NAMES,
    OF_SHARE,
    Hyperprior,
    coefficients,
    statistics,
)
from tests.uncompiled import UNCOMPILED, value_of

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


# Likelihoods of grouped scores: against sums over documents by scipy, and their gradients

GROUPS, EMPTY = 5, 2
SIDE = {1: st.expon, 2: st.halfnorm}


def grouped_scores(centre, scale, seed=0, far=1e6):
    """Return scores with ties, two far away from the others, weights, and groups, one empty."""
    rng = np.random.default_rng(seed)
    group = rng.choice(np.delete(np.arange(GROUPS), EMPTY), 80)
    x = rng.normal(size=80)
    x[:20] = np.round(x[:20])
    x[20:22] = -far, far
    return centre + scale * x, group, rng.gamma(2.0, size=80)


def by_document(x, group, weight, theta, left, right, power):
    out = np.zeros(GROUPS)
    for s, g, w in zip(x, group, weight, strict=True):
        side = left[g] if s <= theta[g] else right[g]
        share = side / (left[g] + right[g])
        out[g] += w * (np.log(share) + SIDE[power].logpdf(abs(s - theta[g]), scale=side))
    return out


function = partial(pytensor.function, mode=UNCOMPILED)  # C takes longer than a few calls


def compiled(scores):
    """Return the density, and what compiles its gradients."""
    arguments = [pt.dvector(name) for name in ("theta", "left", "right")]
    density = scores.log_density(*arguments)
    return function(arguments, density), lambda: function(
        arguments, pytensor.grad(density.sum(), arguments)
    )


def points(x, scale, rng):
    """Yield modes below, among, at and above the scores, and sides."""
    modes = [x.min() - scale, x.max() + scale, *(rng.choice(x, (3, GROUPS)))]
    modes += [np.median(x) + scale * rng.normal(size=GROUPS) for _ in range(5)]
    for mode in modes:
        yield np.broadcast_to(mode, GROUPS), *(scale * rng.gamma(2.0, size=(2, GROUPS)))


@pytest.mark.parametrize(
    ("power", "centre", "scale"),
    [(1, 0.0, 1.0), (2, 1e9, 1.0), (1, 1e9, 1.0), (2, -3.0, 1e-30), (1, 0.0, 1e30)],
)
def test_log_density_is_the_sum_over_documents(power, centre, scale):
    x, group, weight = grouped_scores(centre, scale)
    density, _ = compiled(GroupedScores(x, group, GROUPS, power=power, weight=weight))
    rng = np.random.default_rng(1)
    for theta, left, right in points(x, scale, rng):
        expected = by_document(x, group, weight, theta, left, right, power)
        assert density(theta, left, right) == pytest.approx(expected, rel=1e-9)
        assert density(theta, left, right)[EMPTY] == 0.0


@pytest.mark.parametrize("power", [1, 2])
def test_gradients_are_finite_differences(power):
    x, group, weight = grouped_scores(0.0, 1.0, far=10.0)
    density, compile_gradients = compiled(
        GroupedScores(x, group, GROUPS, power=power, weight=weight)
    )
    gradients = compile_gradients()
    rng = np.random.default_rng(2)
    for _ in range(5):
        point = [rng.normal(size=GROUPS), *rng.gamma(2.0, size=(2, GROUPS))]
        found = gradients(*point)
        for k, gradient in enumerate(found):
            up, down = ([*point] for _ in range(2))
            h = 1e-6
            # No score may lie within the difference: there the gradient jumps.
            assert np.abs(x[:, None] - point[0]).min() > h
            up[k], down[k] = point[k] + h, point[k] - h
            differences = (density(*up) - density(*down)) / (2 * h)
            assert gradient == pytest.approx(differences, rel=1e-6, abs=1e-4)


def test_gradient_at_a_score_is_one_sided():
    scores = GroupedScores(np.array([0.0, 1.0]), np.zeros(2, dtype=int), 1, power=1)
    _, compile_gradients = compiled(scores)
    slope, *_ = compile_gradients()(np.array([1.0]), np.array([0.5]), np.array([2.0]))
    assert slope == pytest.approx([-4.0])


def test_a_weight_is_a_number_of_repetitions():
    x, group, _ = grouped_scores(0.0, 1.0)
    weight = np.random.default_rng(3).integers(0, 4, x.size)
    repeat = np.repeat(np.arange(x.size), weight)
    weighted, _ = compiled(GroupedScores(x, group, GROUPS, power=2, weight=weight))
    repeated, _ = compiled(GroupedScores(x[repeat], group[repeat], GROUPS, power=2))
    for point in points(x, 1.0, np.random.default_rng(4)):
        assert weighted(*point) == pytest.approx(repeated(*point), rel=1e-9)


def quantiles(x, share, weight=None):
    """Return the smoothed quantiles of one group."""
    scores = GroupedScores(x, np.zeros(x.size, dtype=int), 1, power=1, weight=weight)
    one = pt.dvector("share")
    smoothed = function([one], scores.quantile(one))
    return np.array([smoothed([each])[0] for each in share])


def test_quantiles_of_few_scores_are_the_scores():
    x = 1e9 + np.array([5.0, -1.0, 3.0, 3.0])
    share = np.array([0.0, 1e-300, 0.125, 0.25, 0.375, 0.625, 0.875, 1.0])
    expected = 1e9 + np.array([-1.0, -1.0, -1.0, 1.0, 3.0, 3.0, 5.0, 5.0])
    assert quantiles(x, share) == pytest.approx(expected, rel=1e-15)


def test_quantiles_of_many_scores_follow_them_and_end_at_the_outermost():
    x = np.sort(np.random.default_rng(0).gamma(2.0, size=1000))
    share = np.linspace(0.05, 0.95, 10)
    found = quantiles(x, share)
    assert np.all(np.diff(found) > 0.0)
    assert np.interp(found, x, np.linspace(0.0, 1.0, x.size)) == pytest.approx(share, abs=0.02)
    assert quantiles(x, [0.0, 0.0005, 0.9995, 1.0]) == pytest.approx(x[[0, 0, -1, -1]])


def test_quantiles_of_weighted_scores_are_those_of_repetitions():
    rng = np.random.default_rng(1)
    for n in (4, 40):
        x, weight = rng.normal(size=n), rng.integers(0, 4, n)
        share = np.linspace(0.0, 1.0, 15)
        repeated = quantiles(np.repeat(x, weight), share)
        assert quantiles(x, share, weight) == pytest.approx(repeated, rel=1e-12)


def test_quantiles_of_less_than_one_score():
    assert quantiles(np.array([2.0]), [0.0, 0.5, 1.0], np.array([0.3])).tolist() == [2.0] * 3


def test_no_scores_at_all():
    nothing = GroupedScores(np.array([]), np.array([], dtype=int), 2, power=1)
    density, compile_gradients = compiled(nothing)
    point = np.array([0.0, 1.0]), np.ones(2), np.ones(2)
    assert np.array_equal(density(*point), np.zeros(2))
    assert np.array_equal(compile_gradients()(*point), np.zeros((3, 2)))
    assert value_of(nothing.quantile([0.2, 1.0])).tolist() == [0.0, 0.0]


def test_a_power_that_is_none():
    with pytest.raises(ValueError, match=r"power must be 1 .* or 2 .*, got 3"):
        GroupedScores(np.zeros(1), np.zeros(1, dtype=int), 1, power=3)
