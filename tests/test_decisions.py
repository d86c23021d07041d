"""Decisions against enumeration of everything that can happen, on small cases."""

import itertools

import numpy as np
import pytest
from scipy import stats

from bayescal import ScoreCalibrator
from bayescal.decisions import (
    ABSTAIN,
    count_positives,
    decide,
    expected_costs,
    information_gain,
    precision_at,
    recall_at,
    threshold_for_precision,
    threshold_for_recall,
    value_of_label,
    with_abstention,
)

COSTS = np.array([[0.0, 5.0], [1.0, 0.0]])  # a miss costs five false alarms
RNG = np.random.default_rng(5)
DRAWS = RNG.beta(2, 3, (40, 7))
THREE = RNG.dirichlet([1, 2, 1], (30, 5))
THREE_COSTS = np.array([[0, 2, 4], [1, 0.5, 3], [2, 2, 0]])


def both_shapes(draws):
    return np.stack([1 - draws, draws], axis=-1)


def test_expected_costs_are_means_over_draws_and_classes():
    found = expected_costs(THREE, THREE_COSTS)
    for n, d in np.ndindex(5, 3):
        by_draw = [sum(THREE_COSTS[d, c] * p[n, c] for c in range(3)) for p in THREE]
        assert found[n, d] == pytest.approx(np.mean(by_draw))
    assert expected_costs(DRAWS, COSTS) == pytest.approx(expected_costs(both_shapes(DRAWS), COSTS))


@pytest.mark.parametrize("draws_costs", [(DRAWS, COSTS), (THREE, THREE_COSTS)])
def test_decisions_by_hand(draws_costs):
    draws, costs = draws_costs
    found = decide(draws, costs)
    classes = both_shapes(draws) if draws.ndim == 2 else draws
    for n in range(draws.shape[1]):
        cost = classes[:, n] @ costs.T  # draws x decisions
        best = cost.mean(axis=0).argmin()
        assert found.decision[n] == best
        assert found.expected_cost[n] == pytest.approx(cost.mean(axis=0).min())
        assert found.probability_optimal[n] == np.mean(cost.argmin(axis=1) == best)
        assert found.expected_regret[n] == pytest.approx(np.mean(cost[:, best] - cost.min(axis=1)))
    assert 0 < found.probability_optimal.min() < 1


def test_costs_vary_by_document():
    per_document = np.stack([COSTS * (1 + n) + n * np.eye(2) * 0.1 for n in range(7)])
    found = decide(DRAWS, per_document)
    for n in range(7):
        alone = decide(DRAWS[:, [n]], per_document[n])
        assert found.decision[n] == alone.decision[0]
        assert found.expected_cost[n] == pytest.approx(alone.expected_cost[0])


def test_abstention_is_chows_rule():
    p = np.linspace(0, 1, 101)[None]
    equal = [[0, 1], [1, 0]]
    found = decide(p, equal, abstain_cost=0.2)
    certain = np.maximum(p[0], 1 - p[0]) >= 0.8 - 1e-12
    assert (found.decision != ABSTAIN).tolist() == certain.tolist()
    assert found.expected_cost.max() == pytest.approx(0.2)
    cheap = np.where(np.arange(101) < 50, 0.0, 0.5)
    each = decide(p, equal, abstain_cost=cheap)
    assert (each.decision[1:50] == ABSTAIN).all()
    assert (each.decision[50:] != ABSTAIN).all()
    third = decide(p, with_abstention(equal, 0.2))
    assert ((third.decision == 2) == (found.decision == ABSTAIN)).all()


def test_probability_optimal_of_abstaining_counts_draws_that_would():
    draws = np.array([[0.1], [0.5], [0.6], [0.95]])
    found = decide(draws, [[0, 1], [1, 0]], abstain_cost=0.3)
    assert found.decision.tolist() == [ABSTAIN]
    assert found.probability_optimal.tolist() == [0.5]
    assert found.expected_regret[0] == pytest.approx((0.2 + 0.25) / 4)


def value_by_enumeration(draws, costs, i):
    """Return V(i) from the table of everything: draws x labels of all documents."""
    size, n, classes = draws.shape
    table = {
        (k, labels): np.prod([draws[k, j, c] for j, c in enumerate(labels)]) / size
        for k in range(size)
        for labels in itertools.product(range(classes), repeat=n)
    }

    def cost_of_best(seen):
        total = 0.0
        for j in range(n):
            total += min(
                sum(chance * row[y[j]] for (_, y), chance in table.items() if seen(y))
                for row in costs[j]
            )
        return total

    now = cost_of_best(lambda y: True)
    # Document i's own decision then knows its label, which `seen` fixes.
    after = sum(cost_of_best(lambda y, label=label: y[i] == label) for label in range(classes))
    return now - after


@pytest.mark.parametrize("classes", [2, 3])
def test_value_of_a_label_is_that_of_enumeration(classes):
    rng = np.random.default_rng(classes)
    draws = rng.dirichlet(np.ones(classes), (4, 3))
    costs = rng.random((3, classes + 1, classes)) + 0.5
    costs[:, range(classes), range(classes)] = 0.0
    found = value_of_label(draws, costs)
    expected = [value_by_enumeration(draws, costs, i) for i in range(3)]
    assert found == pytest.approx(expected)
    assert min(expected) > 0.01
    if classes == 2:
        assert value_of_label(draws[:, :, 1], costs) == pytest.approx(expected)


def test_value_of_a_label_of_another_document_leaves_out_its_own_decision():
    # All documents share one p ~ Beta(2, 3): after a label its mean is that of the conjugate.
    p = stats.beta(2, 3).ppf((np.arange(4000) + 0.5) / 4000)
    draws = np.tile(p[:, None], (1, 5))
    found = value_of_label(draws, [[0, 1], [1.0, 0]], candidates=p[:, None])
    # Mean 2/5 before, 3/6 or 2/6 after: min(p, 1 - p) of five documents.
    assert found[0] == pytest.approx(5 * (0.4 - (0.4 * 0.5 + 0.6 / 3)), abs=1e-4)
    costs = [[0, 3], [1.0, 0]]
    expected = 5 * (min(3 * 0.4, 0.6) - 0.4 * 0.5 - 0.6 * min(3 / 3, 2 / 3))
    assert value_of_label(draws, costs, candidates=p[:, None])[0] == pytest.approx(
        expected, abs=1e-4
    )


def test_value_of_a_label_needs_doubt():
    sure = np.tile([0.3, 0.9], (20, 1))
    # Draws that agree teach nothing about others; the label itself still saves its own error.
    assert value_of_label(sure, [[0, 1], [1, 0]]) == pytest.approx([0.3, 0.1])
    assert value_of_label(sure, [[0, 1], [1, 0]], candidates=sure) == pytest.approx([0, 0])
    assert information_gain(sure) == pytest.approx([0, 0])


def test_information_gain_is_the_mutual_information():
    for draws in (DRAWS, THREE):
        classes = both_shapes(draws) if draws.ndim == 2 else draws
        found = information_gain(draws)
        for n in range(classes.shape[1]):
            joint = classes[:, n] / classes.shape[0]
            apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
            assert found[n] == pytest.approx(np.sum(joint * np.log2(joint / apart)))


def test_number_of_positives_is_that_of_enumeration():
    draws = RNG.random((6, 5))
    pmf = np.zeros(6)
    for row in draws:
        for labels in itertools.product((0, 1), repeat=5):
            pmf[sum(labels)] += np.prod([p if y else 1 - p for p, y in zip(row, labels)]) / 6  # noqa: B905
    found = count_positives(draws, level=0.8)
    assert found.pmf == pytest.approx(pmf)
    assert found.value == pytest.approx(draws.sum(axis=1).mean())
    assert pmf[: found.lower].sum() <= 0.1 < pmf[: found.lower + 1].sum()
    assert pmf[: found.upper].sum() < 0.9 <= pmf[: found.upper + 1].sum()
    assert found.method == "exact"


@pytest.mark.parametrize("n", [1, 2, 37, 400])
def test_number_of_positives_of_one_draw_is_scipys(n):
    p = RNG.beta(0.3, 3, n)
    found = count_positives(p[None])
    expected = stats.poisson_binom.pmf(np.arange(n + 1), p)
    assert found.pmf == pytest.approx(expected, abs=1e-13)


def test_drawn_numbers_follow_the_exact_distribution():
    draws = np.random.default_rng(0).beta(2, 8, (4000, 60))
    exact, drawn = (count_positives(draws, method=method, rng=1) for method in ("exact", "drawn"))
    seen = np.flatnonzero(exact.pmf * 4000 > 5)
    expected = exact.pmf[seen] * 4000
    found = np.zeros(61)
    found[drawn.least + np.arange(drawn.pmf.size)] = drawn.pmf * 4000
    statistic = np.sum((found[seen] - expected) ** 2 / expected)
    assert stats.chi2(seen.size - 1).sf(statistic) > 0.001
    assert drawn.method == "drawn"


def test_few_draws_still_give_a_distribution():
    draws = np.full((2, 60), 0.2)
    exact, drawn = (count_positives(draws, method=method, rng=1) for method in ("exact", "drawn"))
    assert drawn.sd == pytest.approx(exact.sd, rel=0.1)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([[0, 1, 2], [1, 0, 2]], r"costs must have shape \(decisions, 2\).*got \(2, 3\)"),
        ([[0, 1]], r"at least 2 decisions"),
        ([0, 1], r"got \(2,\)"),
        (np.zeros((6, 2, 2)), r"\(7, decisions, 2\).*got \(6, 2, 2\)"),
        ([[0, np.nan], [1, 0]], "costs must be finite"),
        ([[-1, 5], [1, 0]], r"right decisions \(the diagonal\) must not be negative, got -1"),
        ([[2, 5], [1, 0]], "smaller for a wrong decision"),
        ([["a", 1], [1, 0]], "real numbers"),
    ],
)
def test_costs_are_refused(costs, message):
    for function in (decide, expected_costs, value_of_label):
        with pytest.raises(ValueError, match=message):
            function(DRAWS, costs)


def test_draws_are_refused():
    for draws, message in (
        (DRAWS[0], r"draws must have shape \(draws, documents\), got"),
        (DRAWS * 2, "from 0 to 1"),
        (DRAWS * np.nan, "from 0 to 1"),
        (THREE[:, :, :2], "must sum to 1"),
        (np.stack([DRAWS[:, 0], 1.0 - DRAWS[:, 0]], axis=1), "as predict_proba returns them"),
    ):
        with pytest.raises(ValueError, match=message):
            decide(draws, COSTS)
    with pytest.raises(ValueError, match=r"pass draws\[:, :, k\]"):
        count_positives(THREE)
    with pytest.raises(ValueError, match="same 40 draws of 2 classes"):
        value_of_label(DRAWS, COSTS, candidates=DRAWS[:3])


def test_abstention_is_refused():
    for abstain, message in ((-1, "not negative"), (np.nan, "finite"), ([0.1] * 3, "same length")):
        with pytest.raises(ValueError, match=message):
            decide(DRAWS, COSTS, abstain_cost=abstain)
    with pytest.raises(ValueError, match="one a document"):
        with_abstention(np.zeros((4, 2, 2)), [1, 2])


# Thresholds for precision and recall against enumeration, and how often they keep their word

SCORES = np.array([3.0, 1.0, 2.0, 2.0, 0.0])
P = np.array([0.9, 0.4, 0.6, 0.7, 0.1])
TIES_RNG = np.random.default_rng(0)
TIED = np.round(TIES_RNG.normal(size=30), 1)
DRAWN = TIES_RNG.beta(1.0, 2.0, (400, 30))


def enumerate_cuts(selected, measure):
    """Return the distribution of a measure over all labels of the five documents."""
    values, chances = [], []
    for labels in itertools.product((0, 1), repeat=5):
        y = np.array(labels)
        values.append(measure(y, selected))
        chances.append(np.prod(np.where(y, P, 1 - P)))
    return np.array(values), np.array(chances)


def precision(y, selected):
    return y[selected].mean()


def recall(y, selected):
    return y[selected].sum() / y.sum() if y.any() else 1.0


@pytest.mark.parametrize(
    ("find", "measure", "wanted"),
    [(threshold_for_precision, precision, 0.6), (threshold_for_recall, recall, 0.8)],
)
@pytest.mark.parametrize("assurance", [None, 0.7])
def test_thresholds_are_those_of_enumeration(find, measure, wanted, assurance):
    draws = np.tile(P, (100_000, 1))
    good = {}
    for cut in np.unique(SCORES):
        values, chances = enumerate_cuts(cut <= SCORES, measure)
        reached = chances @ (values >= wanted)
        mean = chances @ values
        if (mean >= wanted) if assurance is None else (reached >= assurance):
            good[cut] = mean, reached
    best = min(good) if measure is precision else max(good)
    assert 0 < len(good) < 4  # something to choose
    found = find(SCORES, draws, wanted, assurance=assurance, rng=0)
    assert found.threshold == best
    assert found.selected == np.sum(best <= SCORES)
    mean, reached = good[best]
    assert found.achieved.value == pytest.approx(mean, abs=0.005)
    assert found.probability == pytest.approx(reached, abs=0.006)


def test_population_rates_need_no_labels():
    draws = np.tile(P, (3, 1))
    found = threshold_for_precision(SCORES, draws, 0.65, of="population")
    assert found.threshold == 1.0  # the means from above: .9, .733, .65, .54
    assert found.achieved.value == pytest.approx(0.65)
    assert (found.lower, found.upper) == (1.0, 1.0)
    found = threshold_for_recall(SCORES, draws, 0.8, of="population")
    assert found.threshold == 2.0
    assert found.achieved.value == pytest.approx(2.2 / 2.7)


def test_what_no_threshold_reaches_is_said():
    draws = np.tile(P, (50, 1))
    with pytest.raises(ValueError, match=r"no threshold reaches precision 0.99: the best is 0.9"):
        threshold_for_precision(SCORES, draws, 0.99, of="population")
    with pytest.raises(ValueError, match=r"with assurance 0\.99: the best is assurance 0\.\d"):
        threshold_for_precision(SCORES, draws, 0.8, assurance=0.99, rng=0)


def test_draws_without_a_positive_have_full_recall():
    found = threshold_for_recall([1.0, 2.0], np.zeros((5, 2)), 0.9)
    assert found.threshold == 2.0
    assert found.achieved.value == 1.0


def test_refuses():
    for arguments, message in (
        ({"precision": 90}, "precision must lie between"),
        ({"precision": 0.5, "of": "set"}, "of must be one of"),
        ({"precision": 0.5, "assurance": 1.0}, "assurance must lie between"),
    ):
        with pytest.raises(ValueError, match=message):
            threshold_for_precision(SCORES, np.tile(P, (3, 1)), **arguments)
    with pytest.raises(ValueError, match="same length, got 2 and 5"):
        threshold_for_recall([1.0, 2.0], np.tile(P, (3, 1)), 0.5)


# Precision and recall at a threshold that is given.


def by_hand(threshold, labels):
    """Return precision and recall of every draw of labels."""
    taken = threshold <= TIED
    found = labels[:, taken].sum(axis=1)
    everything = labels.sum(axis=1)
    recall = np.where(everything > 0, found / np.maximum(everything, 1), 1.0)
    return found / max(taken.sum(), 1), recall


@pytest.mark.parametrize("threshold", [-9.0, -0.35, 0.0, float(np.sort(TIED)[-3]), 1.234])
def test_it_is_the_share_of_every_draw_of_labels(threshold):
    certain = (DRAWN > 0.6).astype(float)
    precision, recall = by_hand(threshold, certain)
    for measure, values in ((precision_at, precision), (recall_at, recall)):
        found = measure(threshold, TIED, certain, level=0.8, rng=0)
        assert found.value == pytest.approx(values.mean())
        assert (found.lower, found.upper) == pytest.approx(np.quantile(values, [0.1, 0.9]))
        assert found.selected == (threshold <= TIED).sum()


def test_ends_are_quantiles_of_the_thresholds_of_every_draw():
    certain, cuts = (DRAWN > 0.6).astype(float), np.unique(TIED)[::-1]
    recalls = np.array([by_hand(cut, certain)[1] for cut in cuts])
    own = cuts[(recalls >= 0.8).argmax(axis=0)]  # the first from above
    found = threshold_for_recall(TIED, certain, 0.8, level=0.8, rng=0)
    ends = np.quantile(own, [0.1, 0.9], method="nearest")
    assert (found.lower, found.upper) == pytest.approx(ends)


@pytest.mark.parametrize(
    ("choose", "at"), [(threshold_for_precision, precision_at), (threshold_for_recall, recall_at)]
)
def test_it_is_what_a_threshold_that_was_chosen_promises(choose, at):
    chosen = choose(TIED, DRAWN, 0.33, of="population")
    found = at(chosen.threshold, TIED, DRAWN, of="population")
    assert found.value == pytest.approx(chosen.achieved.value)
    assert (found.lower, found.upper) == (chosen.achieved.lower, chosen.achieved.upper)


def test_above_all_scores_nothing_is_taken():
    assert np.isnan(precision_at(99.0, TIED, DRAWN).value)
    assert recall_at(99.0, TIED, DRAWN).value == 0.0
    assert recall_at(99.0, TIED, DRAWN).selected == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": np.nan}, "threshold must be a finite number, got nan"),
        ({"threshold": "high"}, "threshold must be a finite number, got 'high'"),
        ({"of": "sample"}, "of must be one of 'documents', 'population', got 'sample'"),
        ({"scores": TIED[:-1]}, "must have the same length"),
    ],
)
def test_rates_refuse_wrong_arguments(arguments, message):
    given = {"threshold": 0.0, "scores": TIED, "draws": DRAWN} | arguments
    with pytest.raises(ValueError, match=message):
        recall_at(**given)


def test_credible_intervals_keep_their_word():
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 2, 150)
    slopes = rng.normal([-1, 1], [0.4, 0.15], (1000, 2))
    draws = 1 / (1 + np.exp(-(slopes[:, :1] + slopes[:, 1:] * scores)))
    held = {"documents": [], "population": []}
    for find, measure in ((threshold_for_precision, precision), (threshold_for_recall, recall)):
        found = {of: find(scores, draws, 0.8, of=of, rng=2) for of in held}
        for _ in range(2000):
            y = rng.random(150) < draws[rng.integers(1000)]
            for of, each in found.items():
                actual = measure(y, scores >= each.threshold)
                held[of].append(each.achieved.lower <= actual <= each.achieved.upper)
    # Rates of few documents are steps: an interval of 90 % holds somewhat more.
    assert 0.88 < np.mean(held["documents"]) < 0.96
    assert np.mean(held["population"]) < 0.85  # without the labels' own chance: too narrow


def test_intervals_hold_the_truth_as_often_as_they_say():
    # Seeded: 90 % of 60 sets, within three standard errors of a share of .9.
    held = {precision_at: 0, recall_at: 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = rng.random(300) < 0.3
        scores = rng.normal(2.0 * y)
        fitted = ScoreCalibrator("gaussian", draws=200, chains=2, random_state=seed).fit(
            scores[:150], y[:150]
        )
        new, truth = scores[150:], y[150:]
        draws, taken = fitted.sample_proba(new), new >= 1.0
        for measure, right in (
            (precision_at, truth[taken].mean()),
            (recall_at, truth[taken].sum() / truth.sum()),
        ):
            found = measure(1.0, new, draws, rng=seed)
            held[measure] += found.lower <= right <= found.upper
    assert min(held.values()) > 60 * (0.9 - 3 * 0.039)
