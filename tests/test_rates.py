"""Rates from few labels and many scores: against integrals, other formulas, and wrong inputs."""

import functools

import numpy as np
import pytest
from scipy import special, stats
from sklearn.metrics import cohen_kappa_score

from bayescal.inference.design_effect import design_effect
from bayescal.sampling import (
    compare_rates,
    estimate_rate,
    judge_agreement,
    labels_needed_for_rate,
    plan_sample,
    rank_rates,
    rates_by_slice,
)
from bayescal.sampling.design import SamplingUnits
from bayescal.sampling.plans import as_design, draw_of_plans
from bayescal.sampling.rank_curve import BENDS, SCALES, SLOPES, columns_of, fit_rank_curve
from bayescal.sampling.rate_comparisons import (
    DEVIATIONS,
    _correlation,
    _correlations,
    _coupled,
    _newcombe,
)
from bayescal.sampling.rates import _dispersion, fit_by_spread, wilson_limits

N = 4_000


@functools.cache
def collection(apart=2.0, share=0.6, seed=0):
    """Return scores of classes some standard deviations apart, and labels."""
    rng = np.random.default_rng(seed)
    y = (rng.random(N) < share).astype(float)
    return rng.normal(size=N) + apart * y, y


def sampled(y, n=100, seed=1):
    """Return the labels of a simple random sample, nan for the others."""
    labels = np.full(y.size, np.nan)
    rows = np.random.default_rng(seed).choice(y.size, n, replace=False)
    labels[rows] = y[rows]
    return labels


@functools.cache
def rate_of(apart=2.0, n=100):
    scores, y = collection(apart)
    return estimate_rate(scores, sampled(y, n), design="random")


def test_bends_are_orthogonal_to_a_line_and_to_each_other():
    grid = np.linspace(-3.2, 3.2, 65)
    share = stats.norm.pdf(grid)
    columns = columns_of(grid)
    inner = (columns.T * share / share.sum()) @ columns
    np.testing.assert_allclose(inner - np.diag(np.diag(inner)), 0.0, atol=1e-8)
    sizes = np.diag(inner)[2:]
    assert (np.diff(sizes) < 0.0).all()
    assert sizes[-1] > 0.0


@pytest.mark.parametrize("power", [1.0, 3.0])
def test_equal_scores_have_the_posterior_of_a_share(power):
    """Scores that are equal leave one log-odds, whose prior is a mixture of normal densities."""
    p, _ = fit_rank_curve(
        np.zeros(1), np.array([30.0]), np.array([9.0]), power, np.random.default_rng(0)
    )
    x = np.linspace(-15.0, 15.0, 6001)
    scale = np.sqrt(SCALES**2 @ columns_of(np.zeros(1))[0] ** 2)
    prior = stats.norm.pdf(x[:, None], 0.0, scale).mean(axis=1)
    density = prior * np.exp(power * (9.0 * special.log_expit(x) + 21.0 * special.log_expit(-x)))
    density /= density.sum()
    mean = density @ special.expit(x)
    sd = np.sqrt(density @ (special.expit(x) - mean) ** 2)
    # The effective number of draws is above 2,000: five standard errors.
    assert p.mean() == pytest.approx(mean, abs=5.0 * sd / np.sqrt(2_000))
    assert p.std() == pytest.approx(sd, rel=5.0 / np.sqrt(4_000))


def test_the_probability_of_useless_scores_is_the_ratio_of_evidences():
    """One label a bin at two points: the evidence is an integral over normal log-odds."""
    z, total = np.array([-1.0, 1.0]), np.array([3.0, 17.0])
    _, useless = fit_rank_curve(z, np.full(2, 20.0), total, 1.0, np.random.default_rng(0))
    x = np.linspace(-12.0, 12.0, 201)
    log = [k * special.log_expit(x) + (20.0 - k) * special.log_expit(-x) for k in total]
    likelihood = np.exp(log[0][:, None] + log[1])
    columns, evidence = columns_of(z), []
    points = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1)
    for scale in SCALES:
        covariance = (columns * scale**2) @ columns.T
        prior = stats.multivariate_normal.pdf(points, np.zeros(2), covariance)
        evidence.append((likelihood * prior).sum() / prior.sum())
    assert len(evidence) == len(SLOPES) * len(BENDS)
    assert useless == pytest.approx(evidence[0] / sum(evidence), rel=0.1)
    assert fit_rank_curve(np.zeros(1), *np.full((2, 1), 9.0), 1.0, np.random.default_rng(0))[1] == 1


def test_a_good_judge_narrows_and_a_useless_or_reversed_one_does_no_harm():
    good, useless = rate_of(), rate_of(0.0)
    assert good.width < 0.75 * good.classical.width
    assert good.worth == pytest.approx(100 * (good.classical.width / good.width) ** 2)
    assert useless.width < 1.02 * useless.classical.width
    assert useless.useless > 0.3 > 0.01 > good.useless
    scores, y = collection()
    other = estimate_rate(-scores, sampled(y), design="random")
    # Monte Carlo errors of 4,000 draws.
    assert other.value == pytest.approx(good.value, abs=0.1 * good.width)
    assert other.width == pytest.approx(good.width, rel=0.1)


def test_only_ranks_count_and_labels_may_be_swapped():
    scores, y = collection()
    same = estimate_rate(np.exp(scores), sampled(y), design="random")
    np.testing.assert_array_equal(same.draws, rate_of().draws)
    swapped = estimate_rate(scores, 1.0 - sampled(y), design="random")
    assert swapped.value == pytest.approx(1.0 - rate_of().value, abs=0.1 * rate_of().width)


def test_known_labels_bound_the_rate():
    scores, y = collection()
    labels = sampled(y, N - 3)
    rate = estimate_rate(scores, labels, design="random")
    least = np.nansum(labels) / N
    assert least <= rate.lower <= y.mean() <= rate.upper <= least + 3 / N + 1e-12


def test_the_words_state_rate_labels_alone_worth_and_assumption():
    text = rate_of().text
    for part in (f"{rate_of():.1%}", f"{rate_of().classical:.1%}", "100 labels of 4,000", "random"):
        assert part in text
    assert f"your 100 labels are worth {rate_of().worth:.0f}" in text
    assert "fewer than 10 labels" in rate_of(n=9).text
    assert rate_of().notes == ()


def test_wilson_limits_are_scipys_and_those_of_more_labels_for_values():
    y = np.r_[np.ones(7), np.zeros(23)]
    expected = stats.binomtest(7, 30).proportion_ci(0.9, method="wilson")
    found = wilson_limits(y, 0.9)
    assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high))
    assert wilson_limits(np.zeros(20), 0.9).lower == 0.0
    # Ties halve the variance: 40 values with one of binary variance more count as about 78.
    values = np.r_[np.full(20, 0.5), np.ones(10), np.zeros(10)]
    more = stats.binomtest(39, 78).proportion_ci(0.9, method="wilson")
    assert wilson_limits(values, 0.9).upper == pytest.approx(more.high, abs=1e-3)


def test_values_between_have_the_variance_around_the_curve():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, 2_000)
    values = rng.binomial(4, p) / 4.0
    assert _dispersion(values, p[None]) == pytest.approx(0.25, rel=0.1)
    scores, _ = collection(seed=3)
    y = 0.5 * rng.binomial(2, special.expit(2.0 * scores - 2.0))
    rate = estimate_rate(scores, sampled(y), design="random")
    binary = estimate_rate(
        scores, sampled(np.round(y + 0.1 * rng.normal(size=N)).clip(0, 1)), design="random"
    )
    assert rate.lower < y.mean() < rate.upper
    assert rate.width < 0.85 * binary.width


def test_values_are_fitted_again_by_their_spread_around_the_last_curve():
    rng, powers = np.random.default_rng(0), []
    p = rng.uniform(0.2, 0.8, 2_000)

    def fit(power):
        powers.append(power)
        curves = p + 0.15 / np.sqrt(power) * rng.normal(size=(200, 1))
        return curves.clip(0.01, 0.99), None, None

    values, apart = rng.binomial(4, p) / 4.0, np.arange(p.size)
    *_, spread, effect = fit_by_spread(fit, values, apart)
    assert effect is None
    assert powers[0] == 1.0
    assert spread == 1.0 / powers[-1]
    # The first curves are uncertain: their variance of .0225 is a tenth of that of binary labels.
    one, last = 1.0 / powers[1], _dispersion(values, p[None])
    assert one > last + 0.08
    assert spread == pytest.approx(last + 0.1 * one, abs=0.015)
    powers.clear()
    assert fit_by_spread(fit, (rng.random(p.size) < p) * 1.0, apart)[2] == 1.0
    assert powers == [1.0]


def test_a_design_decides_what_is_stated_first():
    scores, y = collection()
    simple = plan_sample(scores, 100, purpose="prevalence", random_state=0)
    by_score = plan_sample(scores, 100, purpose="recall", random_state=0)
    labels = {}
    for name, plan in (("simple", simple), ("by score", by_score)):
        labels[name] = np.full(N, np.nan)
        labels[name][plan.documents] = y[plan.documents]
    rate = estimate_rate(scores, labels["simple"], design=simple)
    assert rate.method == "model"
    assert rate.classical == wilson_limits(y[simple.documents], 0.9)
    again = estimate_rate(scores, labels["simple"], design="random")
    np.testing.assert_array_equal(again.draws, rate.draws)
    first = estimate_rate(scores, labels["by score"], design=by_score)
    drawn = draw_of_plans(SamplingUnits.of(scores, labels["by score"], None), (by_score,))
    exact = drawn.limits("prevalence", np.ones(N, dtype=bool), 0.9)
    assert (first.method, first.lower, first.upper) == ("design", exact.lower, exact.upper)
    assert first.model.width < first.width
    assert np.isnan(first.worth)
    assert "needs no scores" in first.text
    unknown = estimate_rate(scores, labels["simple"])
    assert unknown.classical is None
    assert "'random' or a plan" in unknown.text
    np.testing.assert_array_equal(unknown.draws, rate.draws)
    # A label of no plan counts, but is no part of the sample.
    extra = np.where(
        np.arange(N) == np.flatnonzero(np.isnan(labels["simple"]))[0], 1.0, labels["simple"]
    )
    assert estimate_rate(scores, extra, design=simple).method == "design"
    assert as_design("random", scores, labels["simple"])[1] == pytest.approx(np.full(N, 100 / N))


def test_pairs_couple_two_systems():
    rng = np.random.default_rng(5)
    ease = 2.0 * rng.normal(size=N)
    y = [(rng.random(N) < special.expit(ease + shift)).astype(float) for shift in (0.6, 0.0)]
    scores = [each + rng.normal(size=N) for each in y]
    labels = [sampled(each, 150) for each in y]
    pairs = compare_rates(scores[0], labels[0], scores[1], labels[1])
    apart = compare_rates(scores[0], labels[0], scores[1], labels[1], paired=False)
    truth = y[0].mean() - y[1].mean()
    assert (pairs.paired, apart.paired) == (150, 0)
    assert pairs.lower < truth < pairs.upper
    assert pairs.width < 0.97 * apart.width
    assert pairs.classical.width < 0.97 * apart.classical.width
    assert pairs.probability_above == pytest.approx(np.mean(pairs.draws > 0.0), abs=0.01)
    other = compare_rates(scores[0], labels[0], scores[1][:-1], labels[1][:-1])
    assert other.paired == 0
    for part in (f"{pairs:+.1%}", f"{pairs.classical:+.1%}", "150 items", "random sample"):
        assert part in pairs.text
    with pytest.raises(ValueError, match=r"4,000 and 3,999 items"):
        compare_rates(scores[0], labels[0], scores[1][:-1], labels[1][:-1], paired=True)
    with pytest.raises(ValueError, match="paired must be True or False, got 'no'"):
        compare_rates(scores[0], labels[0], scores[1], labels[1], paired="no")
    with pytest.raises(ValueError, match="labels_b must hold at least one"):
        compare_rates(scores[0], labels[0], scores[1], np.full(N, np.nan))


def three_systems():
    rng = np.random.default_rng(7)
    ease, systems = 2.0 * rng.normal(size=N), {}
    for name, shift in (("low", -1.0), ("high", 0.7), ("higher", 0.72)):
        y = (rng.random(N) < special.expit(ease + shift)).astype(float)
        systems[name] = y + rng.normal(size=N), sampled(y, 150)
    return systems


def test_a_ranking_holds_for_all_systems_at_once():
    ranking = rank_rates(three_systems())
    lower, upper = np.array([(each.lower, each.upper) for each in ranking.intervals.values()]).T
    inside = (lower[:, None] <= ranking.draws) & (ranking.draws <= upper[:, None])
    assert inside.all(axis=0).mean() == pytest.approx(0.9, abs=0.01)
    assert all(ranking.intervals[k].width > rate.width for k, rate in ranking.rates.items())
    np.testing.assert_allclose(ranking.rank_probability.sum(axis=0), 1.0)
    np.testing.assert_allclose(ranking.rank_probability.sum(axis=1), 1.0)
    table = ranking.to_frame()
    best = np.mean(ranking.draws.argmax(axis=0) == 2)
    assert table.loc["higher", "best"] == pytest.approx(best, abs=0.005)
    assert table.index[-1] == "low"
    assert table.loc["low", ["rank_from", "rank_to"]].tolist() == [3, 3]
    assert table.loc["high", ["rank_from", "rank_to"]].tolist() == [1, 2]
    assert f"low: {ranking.intervals['low']:.1%}, best with probability 0 %" in ranking.text
    with pytest.raises(ValueError, match=r"names of two or more systems .*, got {.low.: "):
        rank_rates({"low": three_systems()["low"]})
    with pytest.raises(ValueError, match="labels of 'low' must hold at least one"):
        rank_rates(three_systems() | {"low": (np.zeros(N), np.full(N, np.nan))})


def test_draws_have_the_correlations_of_pairs_of_systems():
    systems = three_systems()
    paired, apart = (np.corrcoef(rank_rates(systems, paired=p).draws) for p in (None, False))
    rows = np.triu_indices(3, 1)
    assert paired[rows].min() > 0.1
    # Five standard errors of 4,000 draws.
    assert abs(apart[rows]).max() < 5.0 / np.sqrt(4_000)
    labels = [each for _, each in systems.values()]
    found = _correlations(labels, None)
    own = [y[~np.isnan(y)] for y in labels]
    np.testing.assert_allclose(found[rows], np.corrcoef(own)[rows] * 150 / 160)
    rates = list(rank_rates(systems).rates.values())
    given = np.array([[1.0, 0.8, 0.3], [0.8, 1.0, 0.5], [0.3, 0.5, 1.0]])
    drawn = _coupled(rates, given, np.random.default_rng(0))
    np.testing.assert_allclose(stats.spearmanr(drawn.T)[0], given, atol=0.05)
    np.testing.assert_array_equal(np.sort(drawn[0]), np.sort(rates[0].draws))


def test_newcombes_interval_is_his_own_example():
    # 56 of 70 against 48 of 80: 0.0524 to 0.3339 (Statistics in Medicine 17, 1998, 873-890).
    ones = [wilson_limits(np.repeat([1.0, 0.0], [k, n - k]), 0.95) for k, n in ((56, 70), (48, 80))]
    found = _newcombe(*ones, 0.0, 0.95)
    assert (found.lower, found.upper) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert _newcombe(*ones, 0.5, 0.95).width < found.width
    assert _correlation(np.ones(5), np.arange(5.0)) == 0.0
    assert _correlation(np.arange(10.0), np.arange(10.0)) == pytest.approx(0.5)


@pytest.mark.parametrize(("width", "rate"), [(0.1, 0.5), (0.04, 0.03), (0.3, 0.7)])
def test_labels_needed_are_the_fewest_of_wilsons_interval(width, rate):
    def width_of(n):
        z2 = stats.norm.ppf(0.95) ** 2
        return 2.0 * np.sqrt(z2 * (rate * (1 - rate) / n + z2 / (4 * n**2))) / (1 + z2 / n)

    found = labels_needed_for_rate(width, rate=rate)
    assert width_of(found) <= width < width_of(found - 1)


def test_a_pilot_lowers_the_labels_needed():
    pilot = rate_of()
    alone = labels_needed_for_rate(0.05, rate=pilot.value)
    assert labels_needed_for_rate(0.05, pilot=pilot) == pytest.approx(
        alone * 100 / pilot.worth, abs=2
    )
    scores, y = collection()
    with pytest.raises(ValueError, match="design='random'"):
        labels_needed_for_rate(0.05, pilot=estimate_rate(scores, sampled(y)))
    with pytest.raises(ValueError, match="width must lie between"):
        labels_needed_for_rate(0.0)


def changed(value):
    scores, y = collection()
    labels = sampled(y)
    labels[0] = value
    return scores, labels


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (lambda: changed(1.5), {}, "labels must lie between 0 and 1, or nan.*got 1.5"),
        (lambda: (collection()[0], np.ones(3)), {}, r"labels must have shape \(4000,\)"),
        (lambda: (collection()[0], np.full(N, np.nan)), {}, "at least one label"),
        (lambda: collection(), {}, "scores of the whole collection; where all have labels"),
        (lambda: (np.r_[np.nan, collection()[0][1:]], changed(1.0)[1]), {}, "scores"),
        (lambda: changed(1.0), {"design": "guessed"}, "design must be one of 'random'"),
        (
            lambda: changed(1.0),
            {"design": plan_sample(-collection()[0], 9, random_state=0)},
            "scores must be those of the plan",
        ),
        (
            lambda: changed(1.0),
            {"design": plan_sample(collection()[0], 9, random_state=0)},
            "label of each planned document",
        ),
        (
            lambda: changed(0.5),
            {"design": np.where(np.arange(N) < N / 2, 0.01, 0.04)},
            "labels must be 0 or 1.*prevalence",
        ),
    ],
)
def test_wrong_inputs(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        estimate_rate(*arguments(), **options)


def test_few_equal_or_tied_inputs_have_an_answer():
    scores, y = collection()
    none = estimate_rate(scores, 0.0 * sampled(y, 30), design="random")
    assert none.lower < 0.01 < none.upper < 0.15
    ties = estimate_rate(np.zeros(N), sampled(y), design="random")
    assert ties.width == pytest.approx(ties.classical.width, rel=0.05)
    ties_of_two = estimate_rate(scores, 0.5 + 0.0 * sampled(y, 30), design="random")
    assert ties_of_two.lower < 0.5 < ties_of_two.upper
    assert 0.02 < ties_of_two.width < 0.15


@functools.cache
def sliced(spread, apart=2.0, seed=3):
    """Return scores, labels of 12 documents of each of five slices, slices and all labels."""
    rng = np.random.default_rng(seed)
    code = np.repeat(np.arange(5), N // 5)
    share = special.expit(0.5 + spread * np.linspace(-2.0, 2.0, 5))
    y = (rng.random(N) < share[code]).astype(float)
    labels = np.concatenate([sampled(y[code == k], 12, seed + k) for k in range(5)])
    return rng.normal(size=N) + apart * y, labels, code, y


def test_slices_borrow_as_much_as_they_are_alike():
    scores, labels, code, _ = sliced(0.0)
    alike = rates_by_slice(scores, labels, code)
    rates = alike.rates.values()
    widths = [(rate.width, rate.classical.width) for rate in rates]
    assert np.divide(*np.mean(widths, axis=0)) < 0.6
    assert min(rate.worth for rate in rates) > 20.0
    scores, labels, code, _ = sliced(1.5, apart=0.0)
    found = rates_by_slice(scores, labels, code)
    rates = np.array([rate.value for rate in found.rates.values()])
    seen = np.array([np.nanmean(labels[code == k]) for k in range(5)])
    assert rates[-1] - rates[0] > 0.7 * (seen[-1] - seen[0]) > 0.5
    assert found.rates["0"].classical == wilson_limits(labels[(code == 0) & ~np.isnan(labels)], 0.9)


def test_the_total_of_slices_counts_documents_not_labels():
    scores, labels, code, y = sliced(1.0)
    # All but two labels of the two slices with low rates are taken away.
    for k in range(2):
        labels = labels.copy()
        labels[np.flatnonzero((code == k) & ~np.isnan(labels))[2:]] = np.nan
    found = rates_by_slice(scores, labels, code)
    draws = np.stack([rate.draws for rate in found.rates.values()])
    np.testing.assert_allclose(found.total.value, np.median(draws.mean(axis=0)))
    assert found.total.lower < y.mean() < found.total.upper < np.nanmean(labels)
    assert f"All together: {found.total:.1%}" in found.text
    assert "All together" not in rank_rates(three_systems()).text


def test_a_slice_without_labels_or_with_all_has_a_rate():
    scores, labels, code, y = sliced(0.0)
    labels = np.where(code == 0, np.nan, np.where(code == 1, y, labels))
    found = rates_by_slice(scores, labels, code).rates
    assert found["0"].classical is None
    assert found["0"].width > found["2"].width
    assert found["1"].lower == found["1"].upper == pytest.approx(y[code == 1].mean())
    ties = np.where(np.isnan(labels), np.nan, 0.5 + 0.1 * (labels - 0.5))
    values = rates_by_slice(scores, ties, code).rates
    assert values["2"].width < 0.5 * found["2"].width
    with pytest.raises(ValueError, match="2 to 100 slices, got 1:"):
        rates_by_slice(scores, labels, np.zeros(N))
    with pytest.raises(ValueError, match="got 4,000: join"):
        rates_by_slice(scores, labels, np.arange(N))
    with pytest.raises(ValueError, match="labels must hold at least one label"):
        rates_by_slice(scores, y, code)


def test_slices_have_the_posterior_of_a_common_curve_and_deviations():
    """With equal scores the log-odds of two slices are normal, with a known covariance."""
    counts, sums = np.array([20, 10]), np.array([15, 2])
    code = np.repeat([0, 1], 1_000)
    labels = np.full(2_000, np.nan)
    for k in (0, 1):
        labels[1_000 * k : 1_000 * k + counts[k]] = np.arange(counts[k]) < sums[k]
    found = rates_by_slice(np.zeros(2_000), labels, code)
    x = np.linspace(-9.0, 9.0, 181)
    log = [
        k * special.log_expit(x) + (n - k) * special.log_expit(-x)
        for n, k in zip(counts, sums, strict=True)
    ]
    points, square = (
        np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1),
        columns_of(np.zeros(1)) ** 2,
    )
    posterior = np.zeros((x.size, x.size))
    for scale in SCALES:
        for sigma in DEVIATIONS:
            covariance = (scale**2 @ square[0]) + sigma**2 * np.eye(2)
            posterior += stats.multivariate_normal.pdf(points, np.zeros(2), covariance)
    posterior *= np.exp(log[0][:, None] + log[1])
    posterior /= posterior.sum()
    for k, marginal in enumerate((posterior.sum(axis=1), posterior.sum(axis=0))):
        expected = (sums[k] + (1_000 - counts[k]) * special.expit(x) @ marginal) / 1_000
        sd = np.sqrt(marginal @ special.expit(x) ** 2 - (special.expit(x) @ marginal) ** 2)
        # The effective number of draws is above 1,000: four standard errors.
        assert found.rates[str(k)].draws.mean() == pytest.approx(
            expected, abs=4.0 * sd / 1_000**0.5
        )


def prompts(size=5, drawn=40, shift=0.0, seed=4):
    """Return scores, labels of whole clusters, clusters and all labels; a cluster shares its ease.

    The labels hold a simple random sample of the clusters.
    """
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(N // size), size)
    ease = 2.5 * np.random.default_rng(1).normal(size=N // size)
    y = (rng.random(N) < special.expit(0.5 + shift + ease[cluster])).astype(float)
    asked = np.isin(cluster, np.random.default_rng(2).choice(N // size, drawn, replace=False))
    return y + rng.normal(size=N), np.where(asked, y, np.nan), cluster, y


def test_labels_of_clusters_count_by_their_design_effect():
    scores, labels, cluster, _ = prompts()
    alone = estimate_rate(scores, labels, design="random")
    found = estimate_rate(scores, labels, design="random", clusters=cluster)
    k = found.design_effect.factor
    assert k > 1.5
    assert found.width == pytest.approx(alone.width * np.sqrt(k), rel=0.1)
    own = ~np.isnan(labels)
    share = np.full(own.sum(), labels[own].mean())
    whole = design_effect(labels[own] == 1.0, share, cluster[own]).factor
    mean = stats.binomtest(int(labels[own].sum()), own.sum()).statistic
    fewer = wilson_limits(labels[own], 0.9)
    assert found.classical.value == mean
    assert found.classical.width == pytest.approx(fewer.width * np.sqrt(whole), rel=0.03)
    assert f"{found.design_effect}." in found.text
    assert "the clusters with labels are a simple random sample" in found.text
    sliced = rates_by_slice(scores, labels, cluster % 2, clusters=cluster)
    assert sliced.rates["0"].design_effect.factor == pytest.approx(k, rel=0.3)
    # Without pairs of a cluster nothing changes.
    single = estimate_rate(scores, labels, design="random", clusters=np.arange(N))
    np.testing.assert_array_equal(single.draws, alone.draws)


def test_clusters_couple_systems_by_their_totals():
    (scores, labels, cluster, y), other = prompts(seed=4), prompts(shift=-1.0, seed=5)
    both = {"clusters_a": cluster, "clusters_b": other[2]}
    found = compare_rates(scores, labels, *other[:2], **both)
    apart = compare_rates(scores, labels, *other[:2], **both, paired=False)
    assert (found.paired, apart.paired) == (40, 0)
    assert found.width < 0.95 * apart.width
    assert found.classical.width < 0.9 * apart.classical.width
    assert found.lower < y.mean() - other[3].mean() < found.upper
    assert "40 clusters are labelled for both" in found.text
    assert f"{found.second.design_effect}." in found.text
    # The order of a system's items, or names in place of numbers, says nothing.
    order = np.random.default_rng(0).permutation(N)
    again = compare_rates(
        *(scores, labels, other[0][order], other[1][order]),
        clusters_a=cluster.astype(str),
        clusters_b=other[2][order].astype(str),
    )
    assert again.paired == 40
    assert again.width == pytest.approx(found.width, rel=0.03)
    with pytest.raises(ValueError, match="clusters_a and clusters_b must be given together"):
        compare_rates(scores, labels, *other[:2], clusters_a=cluster)


def test_clusters_couple_all_systems_of_a_ranking():
    found = {name: prompts(shift=-k, seed=k) for k, name in enumerate("abc")}
    systems = {name: each[:2] for name, each in found.items()}
    clusters = {name: each[2] for name, each in found.items()}
    ranking = rank_rates(systems, clusters=clusters)
    for name, rate in ranking.rates.items():
        own, cluster = ~np.isnan(systems[name][1]), clusters[name]
        assert rate.design_effect.clusters == np.unique(cluster[own]).size == 40
        assert rate.design_effect.factor > 1.5
    # Pairs are coupled as by compare_rates.
    both = {"clusters_a": clusters["a"], "clusters_b": clusters["b"]}
    change = compare_rates(*systems["a"], *systems["b"], **both)
    of_ranking = np.ptp(np.quantile(ranking.draws[0] - ranking.draws[1], [0.05, 0.95]))
    assert of_ranking == pytest.approx(change.width, rel=0.06)
    with pytest.raises(ValueError, match="names of the systems, a, b, c, got a, b"):
        rank_rates(systems, clusters={name: clusters[name] for name in "ab"})


def test_clusters_need_binary_labels_of_a_simple_random_sample():
    scores, labels, cluster, _ = prompts()
    with pytest.raises(ValueError, match="labels must be 0 or 1 with clusters"):
        estimate_rate(scores, 0.5 * labels, clusters=cluster)
    with pytest.raises(ValueError, match="clusters must be None for several inclusion"):
        estimate_rate(scores, labels, design=np.linspace(0.1, 0.5, N), clusters=cluster)
    with pytest.raises(ValueError, match="clusters and scores must have the same length"):
        estimate_rate(scores, labels, clusters=cluster[1:])


@functools.cache
def verdicts(apart=2.0, n=150, seed=3):
    """Return scores, labels of some, all labels and verdicts."""
    scores, y = collection(apart, seed=seed)
    return scores, sampled(y, n), y, scores >= 1.0


def test_agreement_with_all_labels_known_is_the_collections():
    scores, _, y, verdict = verdicts()
    labels = y.copy()
    labels[0] = np.nan
    found = judge_agreement(scores, labels, 1.0)
    assert found.called == verdict.mean()
    truth = verdict[y == 1.0].mean(), 1.0 - verdict[y == 0.0].mean(), cohen_kappa_score(y, verdict)
    for own, true in zip((found.sensitivity, found.specificity, found.kappa), truth, strict=True):
        assert own.value == pytest.approx(true, abs=0.002)
        assert own.width < 0.05


def test_agreement_has_jeffreys_posteriors_of_both_verdicts():
    scores, labels, _, verdict = verdicts()
    found, own = judge_agreement(scores, labels, 1.0), ~np.isnan(labels)
    called, p = verdict.mean(), []
    for mine in (verdict, ~verdict):
        k, n = np.nansum(labels[mine]), np.count_nonzero(own & mine)
        p.append(stats.beta(k + 0.5, n - k + 0.5).mean())
    caught, missed = called * p[0], (1.0 - called) * p[1]
    assert found.sensitivity.value == pytest.approx(caught / (caught + missed), abs=0.01)
    specificity = (1.0 - called) * (1.0 - p[1]) / (1.0 - caught - missed)
    assert found.specificity.value == pytest.approx(specificity, abs=0.01)
    part, total = (verdict & (labels == 1.0)).sum(), (labels == 1.0).sum()
    alone = stats.binomtest(int(part), int(total)).proportion_ci(0.9, method="wilson")
    assert found.sensitivity.width < 0.95 * (alone.high - alone.low)
    called = f"calls {100.0 * called:.1f} % of the documents positive"
    for words in (called, f"{found.sensitivity:.1%} of the pos", f"kappa is {found.kappa:.3f}"):
        assert words in found.text


def test_agreement_has_an_answer_without_a_class_and_counts_clusters():
    scores, labels, _, _ = verdicts()
    none = judge_agreement(scores, np.where(np.isnan(labels), np.nan, 1.0), 1.0)
    assert none.specificity.width > 0.8
    assert none.sensitivity.width < 0.1
    scores, labels, cluster, _ = prompts()
    plain, named = (judge_agreement(scores, labels, 0.5, clusters=each) for each in (None, cluster))
    assert named.kappa.width > 1.15 * plain.kappa.width


@pytest.mark.parametrize(
    ("labels", "threshold", "message"),
    [
        (None, np.nan, "threshold must be a finite number"),
        (None, 99.0, "threshold must divide the scores.*got 99.0"),
        (0.5, 1.0, "labels must be 1, 0,.*got 0.5"),
    ],
)
def test_agreement_needs_verdicts_and_binary_labels(labels, threshold, message):
    scores, known = verdicts()[:2]
    if labels is not None:
        known = labels * known
    with pytest.raises(ValueError, match=message):
        judge_agreement(scores, known, threshold)


def test_agreement_holds_as_often_as_it_says():
    # 90 % intervals of 100 samples hold each truth fewer than 80 times with probability .001.
    scores, _, y, verdict = verdicts()
    truth = verdict[y == 1.0].mean(), 1.0 - verdict[y == 0.0].mean(), cohen_kappa_score(y, verdict)
    held = np.zeros(3, dtype=int)
    for seed in range(100):
        found = judge_agreement(scores, sampled(y, 60, seed), 1.0, random_state=seed)
        three = found.sensitivity, found.specificity, found.kappa
        held += [own.lower <= true <= own.upper for own, true in zip(three, truth, strict=True)]
    assert held.min() >= 80
