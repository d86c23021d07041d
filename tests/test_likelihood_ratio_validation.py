"""Validation of likelihood ratios: sources, folds, intervals, out-of-fold ratios."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from bayescal import ScoreCalibrator
from bayescal.likelihood_ratio import (
    cllr,
    cross_validated,
    elub,
    likelihood_ratios,
    load_comparisons,
    min_cllr,
    source_weights,
    validate,
)
from bayescal.likelihood_ratio.ratios import shown
from bayescal.likelihood_ratio.sources import (
    Jackknife,
    jackknife,
    left_out_groups,
    random_folds,
    read_sources,
    source_folds,
)
from bayescal.likelihood_ratio.validation import _interval


def all_pairs(sources, items=2, seed=0, noise=0.5):
    """Return scores of all pairs of items of some sources, whether they are of one, and both."""
    rng = np.random.default_rng(seed)
    source = np.repeat(np.arange(sources), items)
    value = rng.normal(size=sources)[source] + noise * rng.normal(size=source.size)
    i, j = np.triu_indices(source.size, 1)
    return -np.abs(value[i] - value[j]), source[i] == source[j], source[i], source[j]


def test_weights_by_source():
    _, same, a, b = all_pairs(7, items=3)
    weight = source_weights(same, a, b)
    for source in range(7):
        assert weight[same & (a == source)].sum() == pytest.approx(1.0)
    assert weight[~same].sum() == pytest.approx(7.0)
    assert np.unique(weight[~same]).size == 1


def test_folds_by_source_test_every_pair_once_and_share_no_source():
    _, same, a, b = all_pairs(12)
    pairs = read_sources((a, b), same)
    tested = []
    parts = list(source_folds(pairs, 4, np.random.default_rng(0)))
    assert len(parts) == 10
    for fit, test in parts:
        assert not {*a[fit], *b[fit]} & {*a[test], *b[test]}
        tested.append(test)
    np.testing.assert_array_equal(np.sort(np.concatenate(tested)), np.arange(same.size))


def test_random_folds_hold_the_shares_of_classes():
    positive = np.arange(50) < 20
    parts = list(random_folds(positive, 5, np.random.default_rng(0)))
    for fit, test in parts:
        assert (positive[test].sum(), (~positive[test]).sum()) == (4, 6)
        np.testing.assert_array_equal(np.sort(np.append(fit, test)), np.arange(50))


def test_standard_error_of_a_mean_is_the_usual_one():
    values = np.random.default_rng(0).normal(size=40)
    groups = left_out_groups(None, 40, np.random.default_rng(0))
    found = jackknife(groups, lambda weight: np.average(values, weights=weight))
    assert found.error() == pytest.approx(stats.sem(values))


def test_standard_error_of_a_mean_over_pairs_is_that_of_repeated_samples():
    errors, means = [], []
    for seed in range(60):
        scores, same, a, b = all_pairs(20, items=1, seed=seed)
        groups = left_out_groups(read_sources((a, b), same), same.size, None)
        found = jackknife(groups, lambda weight, x=scores: np.average(x, weights=weight))
        errors.append(found.error() ** 2)
        means.append(found.value)
    # 60 samples know their variance to 18 %: three of those.
    assert np.mean(errors) == pytest.approx(np.var(means, ddof=1), rel=0.55)
    independent = np.var(scores) / scores.size
    assert np.mean(errors) > 4.0 * independent


def leave_one_out(values):
    return Jackknife(values.mean(), (values.sum() - values) / (values.size - 1.0))


def test_ends_are_where_the_transformed_t_has_its_quantiles():
    values = np.random.default_rng(0).exponential(size=12)
    lower, upper = leave_one_out(values).ends(0.8)
    t = (values.mean() - np.array([lower, upper])) / stats.sem(values)
    skewness = stats.skew(values) / np.sqrt(12.0)
    moved = t + skewness * t**2 / 3.0 + skewness**2 * t**3 / 27.0 + skewness / 6.0
    np.testing.assert_allclose(moved, stats.t.ppf([0.9, 0.1], 11), rtol=1e-9)
    assert upper - values.mean() > values.mean() - lower
    even = np.array([-2.0, -1.0, 1.0, 2.0])
    half = stats.t.ppf(0.9, 3) * stats.sem(even)
    np.testing.assert_allclose(leave_one_out(even).ends(0.8), (-half, half))


def test_intervals_of_skewed_means_miss_on_either_side_alike():
    rng, below, symmetric = np.random.default_rng(0), [], []
    for _ in range(200):
        values = rng.gamma(0.3, size=30)
        below.append(_interval(leave_one_out(values), 0.9).upper < 0.3)
        symmetric.append(values.mean() + stats.t.ppf(0.95, 29) * stats.sem(values) < 0.3)
    assert np.mean(below) < 0.09  # .045 is expected, error .015
    assert np.mean(symmetric) > 0.09  # .15 is expected


def test_many_sources_are_left_out_in_groups():
    pairs = read_sources((np.arange(500), np.arange(500)), np.ones(500, dtype=bool))
    groups = left_out_groups(pairs, 500, np.random.default_rng(0))
    assert groups.size == 200
    assert set(np.bincount(groups.first)) == {2, 3}


@pytest.fixture(scope="module")
def ratios():
    rng = np.random.default_rng(1)
    y = np.repeat([True, False], [80, 120])
    return y, np.where(y, 0.5, -0.5) + 0.7 * rng.normal(size=200)


def test_measures_are_those_of_the_functions(ratios):
    y, log10_lr = ratios
    found = validate(y, log10_lr)
    assert found.cllr.value == cllr(y, log10_lr)
    assert found.min_cllr.value == min_cllr(y, log10_lr)
    assert found.cal_cllr.value == pytest.approx(found.cllr.value - found.min_cllr.value)
    assert found.bounds["elub"] == elub(y, log10_lr)
    for name, bounds in found.bounds.items():
        assert found.bounded_cllr[name] == pytest.approx(cllr(y, np.clip(log10_lr, *bounds)))
    assert found.misleading["positive"].value == pytest.approx((log10_lr[y] < 0).mean())
    assert found.misleading["strong negative"].value == pytest.approx((log10_lr[~y] > 2).mean())
    assert found.comparisons == (120, 80)


def test_interval_of_independent_comparisons_is_that_of_the_delta_method(ratios):
    y, log10_lr = ratios
    found = validate(y, log10_lr, level=0.9)
    loss = np.log2(1.0 + 10.0 ** np.where(y, -log10_lr, log10_lr))
    value, error = found.cllr.value, 0.5 * np.hypot(stats.sem(loss[y]), stats.sem(loss[~y]))
    half = stats.t.ppf(0.95, 199) * error / (3.0 * value ** (2.0 / 3.0))
    # The correction for skewness moves both ends up, by much less than their distance.
    expected = (np.cbrt(value) + np.array([-half, half])) ** 3
    ends = np.array([found.cllr.lower, found.cllr.upper])
    np.testing.assert_allclose(ends, expected, atol=0.1 * found.cllr.width)
    assert (ends > expected).all()
    share = found.misleading["negative"]
    wrong = int((log10_lr[~y] > 0).sum())
    jeffreys = stats.beta(wrong + 0.5, 120 - wrong + 0.5).ppf([0.05, 0.95])
    np.testing.assert_allclose([share.lower, share.upper], jeffreys, atol=0.004)


def test_no_misleading_ratio_has_an_interval_by_sources():
    scores, same, a, b = all_pairs(12, items=3, noise=0.05)
    found = validate(same, np.where(same, 1.0, -1.0), sources=(a, b))
    for share in found.misleading.values():
        assert (share.value, share.lower) == (0.0, 0.0)
        assert share.upper == pytest.approx(stats.beta(0.5, 12.5).ppf(0.95))
    assert scores.size == 630


def test_intervals_by_source_are_wider():
    scores, same, a, b = all_pairs(20, items=3)
    log10_lr = 0.6 + scores
    by_pair = validate(same, log10_lr, rng=0)
    by_source = validate(same, log10_lr, sources=(a, b), rng=0)
    width = [each.cllr.upper - each.cllr.lower for each in (by_pair, by_source)]
    assert width[1] > 1.5 * width[0]
    assert by_source.sources == 20


def test_order_and_names_of_sources_do_not_matter():
    scores, same, a, b = all_pairs(9)
    rows = np.random.default_rng(0).permutation(same.size)
    one = validate(same, 0.6 + scores, sources=(a, b))
    names = np.array([f"pane {k}" for k in np.random.default_rng(1).permutation(9)])
    other = validate(same[rows], 0.6 + scores[rows], sources=(names[b][rows], names[a][rows]))
    np.testing.assert_allclose(one.table.to_numpy(), other.table.to_numpy(), atol=1e-9)


def test_table_and_text(ratios):
    found = validate(*ratios, level=0.8)
    measures = {
        "Cllr": found.cllr,
        "Cllr min": found.min_cllr,
        "Cllr cal": found.cal_cllr,
        "devPAV": found.devpav,
        "misleading, positives with LR < 1": found.misleading["positive"],
        "misleading, negatives with LR > 1": found.misleading["negative"],
        "strongly misleading, positives with LR < 1/100": found.misleading["strong positive"],
        "strongly misleading, negatives with LR > 100": found.misleading["strong negative"],
    }
    rows = {name: [each.value, each.lower, each.upper] for name, each in measures.items()}
    text = [
        "80 comparisons of the positive and 120 of the negative proposition; intervals of 80 %."
    ]
    text += [f"{name}: {a:.3f} ({b:.3f} to {c:.3f})" for name, (a, b, c) in rows.items()]
    for name, bounds in found.bounds.items():
        inside = found.bounded_cllr[name]
        rows[f"Cllr within {name} bounds"] = [inside, np.nan, np.nan]
        rows[f"{name} bound, lower (log10 LR)"] = [bounds.lower, np.nan, np.nan]
        rows[f"{name} bound, upper (log10 LR)"] = [bounds.upper, np.nan, np.nan]
        ends = f"{shown(bounds.lower)} to {shown(bounds.upper)}"
        text.append(f"{name} bounds: LR {ends}; Cllr within them {inside:.3f}")
    assert found.text.splitlines() == text
    assert found.table.columns.tolist() == ["value", "lower", "upper"]
    assert found.table.index.tolist() == list(rows)
    np.testing.assert_array_equal(found.table.to_numpy(), list(rows.values()))


def test_devpav_that_depends_on_few_comparisons_has_no_interval(ratios):
    y, log10_lr = ratios
    mild = validate(y, log10_lr)
    assert (mild.caveat, mild.devpav.lower > 0.0) == ("", True)
    wrong = log10_lr.copy()
    wrong[np.argmax(np.where(y, -9.0, log10_lr))] = 12.0
    with pytest.warns(
        UserWarning, match=r"only the 2 % most misleading LRs of a class reach \d+ %"
    ):
        found = validate(y, wrong)
    low, high = wrong[y].min(), wrong[~y].max()
    inner = np.quantile(wrong[~y], 0.98) - np.quantile(wrong[y], 0.02)
    assert found.extremes == pytest.approx(1.0 - inner / (high - low))
    assert found.devpav.value > 1.0
    assert np.isnan([found.devpav.lower, found.devpav.upper]).all()
    assert f"reach {100.0 * found.extremes:.0f} % of the range" in found.text
    assert np.isfinite(found.cllr.upper)


def test_classes_that_share_one_lr_have_no_extremes():
    found = validate([1, 1, 1, 0, 0, 0], [0.0, 0.5, 0.9, 0.0, -0.5, -0.9])
    assert found.extremes == 0.0
    assert found.caveat == ""


def test_infinite_ratios_are_said():
    found = validate([1, 1, 0, 0], [np.inf, -np.inf, -1.0, 0.0])
    assert found.cllr.value == np.inf
    assert np.isfinite(found.min_cllr.value)
    assert "Cllr is infinite: an LR of 0 or infinity contradicts the truth" in found.text


def test_few_comparisons_have_no_interval():
    found = validate([1, 0, 0, 0], [1.0, -1.0, -0.5, 0.2])
    assert np.isnan([found.cllr.lower, found.cllr.upper]).all()
    assert "no interval if a class has fewer than 3 comparisons" in found.text
    two = validate([1, 1, 0, 0, 0], [1.0, 0.2, -0.5, -1.0, 0.3])
    assert np.isnan(two.cllr.upper)


def test_a_measure_that_nothing_changes_has_no_interval():
    found = validate([1, 1, 1, 0, 0, 0], [1.0, 2.0, 1.5, -1.0, -2.0, -1.5])
    assert found.min_cllr.value == 0.0
    assert np.isnan(found.min_cllr.upper)
    assert np.isfinite(found.cllr.upper)


def test_out_of_fold_ratios_are_those_of_fits_without_the_sources():
    scores, same, a, b = all_pairs(9, items=2, noise=0.2)
    quick = ScoreCalibrator(draws=50, random_state=0, scores_are="scores")
    found = cross_validated(quick, scores, same, sources=(a, b), folds=3, rng=5)
    pairs = read_sources((a, b), same)
    fit, test = list(source_folds(pairs, 3, np.random.default_rng(5)))[1]
    weight = source_weights(same[fit], a[fit], b[fit])
    fitted = ScoreCalibrator(draws=50, random_state=0).fit(scores[fit], same[fit], weight)
    expected = fitted.decision_function(scores[test], prior=0.5) / np.log(10.0)
    np.testing.assert_allclose(found.log10[test], expected, atol=1e-9)
    assert (found.lower <= found.upper).all()
    assert not hasattr(quick, "_fitted")


def test_out_of_fold_ratios_without_sources_are_those_of_each_fold():
    scores, same, *_ = all_pairs(8)
    quick, done = ScoreCalibrator(draws=40, random_state=0, scores_are="scores"), []
    scale = {3.0: "some"}
    options = {"level": 0.6, "support": scale}
    found = cross_validated(quick, scores, same, folds=2, rng=1, progress=done.append, **options)
    largest = []
    for fit, test in random_folds(same, 2, np.random.default_rng(1)):
        own = likelihood_ratios(clone(quick).fit(scores[fit], same[fit]), scores[test], **options)
        for name in ("log10", "lower", "upper", "beyond", "support"):
            np.testing.assert_array_equal(getattr(found, name)[test], getattr(own, name))
        largest.append(own.largest)
        assert test.size == done[len(largest) - 1]
    assert found.largest == (max(low for low, _ in largest), min(high for _, high in largest))
    assert (found.level, found.classes, found.scale) == (0.6, ("False", "True"), scale)


@pytest.mark.slow
def test_out_of_fold_ratios_of_glass_are_good():
    glass = load_comparisons("glass")
    sources = glass["source_a"], glass["source_b"]
    quick = ScoreCalibrator(draws=50, random_state=0)
    found = cross_validated(quick, glass["score"], glass["label"], sources=sources, folds=3, rng=0)
    checked = validate(glass["label"] == "same source", found.log10, sources=sources)
    assert checked.cllr.upper < 0.15
    assert checked.sources == 120
    assert found.classes == ("different sources", "same source")


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (np.arange(4), r"sources must be a tuple \(a, b\) of two arrays.*got ndarray"),
        ((np.arange(4),), "one array does not say which comparisons share a source"),
        (([1, 1, 2], [1, 1, 3]), "must have the same length, got 4 and 3"),
        (([1, 2, 1, 1], [1, 2, 2, 1]), "position 3 is labelled as different sources, with sources"),
        (([1, 2, 1, 1], [1, 1, 2, 2]), "position 1 is labelled as one source, with sources 2 and"),
        ((["1", "2", "1", "1"], [1, 2, 2, 2]), "sources a and b must be of one type"),
        (([1, np.nan, 1, 1], [1, 2, 2, 2]), "sources a must not hold nan"),
    ],
)
def test_bad_sources(sources, message):
    with pytest.raises(ValueError, match=message):
        validate([1, 1, 0, 0], [1.0, 0.5, -0.5, -1.0], sources=sources)


def test_pairs_that_come_twice_are_noticed():
    same, lr = [1, 1, 0, 0, 0], [1.0, 0.5, -0.5, -0.5, -1.0]
    sources = ([1, 2, 1, 2, 1], [1, 2, 2, 1, 3])
    with pytest.warns(UserWarning, match=r"1 comparison comes twice, as \(a, b\) and \(b, a\)"):
        validate(same, lr, sources=sources)
    validate(same, [1.0, 0.5, -0.5, -0.6, -1.0], sources=sources)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 2, "sources": True}, "folds must be 3 or more, and at most the number of"),
        ({"folds": 10, "sources": True}, "the number of sources, 9; got 10"),
        ({"folds": 1}, "folds must be 2 or more"),
        ({"folds": 2.5}, "folds must be a positive whole number"),
        ({"support": "words", "folds": 3}, "support must be 'enfsi'"),
    ],
)
def test_bad_options_of_cross_validation(options, message):
    scores, same, a, b = all_pairs(9)
    if options.get("sources"):
        options = options | {"sources": (a, b)}
    with pytest.raises(ValueError, match=message):
        cross_validated(ScoreCalibrator(draws=20), scores, same, **options)


@pytest.mark.parametrize("name", ["positive", "negative"])
def test_folds_without_a_class_are_refused(name):
    # All pairs of nine sources, and one comparison of a source with itself; or the reverse.
    a, b = (np.append(each, 0) for each in np.triu_indices(9, 1))
    if name == "negative":
        a, b = np.append(np.arange(9), 0), np.append(np.arange(9), 1)
    quick = ScoreCalibrator(draws=20, random_state=0)
    with pytest.raises(ValueError, match=f"folds=3 leaves no {name} comparison to fit in one of"):
        cross_validated(quick, np.arange(float(a.size)), a == b, sources=(a, b), folds=3, rng=0)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="y must hold both classes"):
        cross_validated(ScoreCalibrator(), [1.0, 2.0], [1, 1])
