"""Likelihood ratios of scores: the definition, bands, limits, words, bad inputs."""

import numpy as np
import pytest
from scipy import stats
from sklearn.isotonic import IsotonicRegression

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.fitting.results.calibration import Calibration
from bayescal.likelihood_ratio import diagnostic_ratios, elub, invariance_bounds, likelihood_ratios
from bayescal.likelihood_ratio.ratios import ENFSI, grade_of, shown

WORDS = "different sources", "same source"


def comparisons(positives=20, negatives=60, seed=0, distance=3.0):
    rng = np.random.default_rng(seed)
    same = np.repeat([True, False], [positives, negatives])
    return distance * same + rng.normal(size=same.size), np.where(same, WORDS[1], WORDS[0])


@pytest.fixture(scope="module")
def fitted():
    return ScoreCalibrator(random_state=0).fit(*comparisons())


def test_point_is_the_log_odds_at_equal_priors(fitted):
    scores = np.linspace(-3.0, 6.0, 12)
    expected = fitted.decision_function(scores, prior=0.5) / np.log(10.0)
    np.testing.assert_allclose(likelihood_ratios(fitted, scores).log10, expected, atol=1e-12)


@pytest.mark.parametrize("point", ["median", "mean"])
def test_point_is_that_of_the_predictive_whatever_the_calibrator_returns(fitted, point):
    other = ScoreCalibrator(random_state=0, point=point).fit(*comparisons())
    scores = [-1.0, 2.0, 4.0]
    np.testing.assert_array_equal(
        likelihood_ratios(other, scores).log10, likelihood_ratios(fitted, scores).log10
    )


def test_band_is_that_of_the_drawn_probabilities(fitted):
    scores = np.linspace(-2.0, 4.0, 12)
    p = fitted.sample_proba(scores, prior=0.5)
    drawn = (np.log(p) - np.log1p(-p)) / np.log(10.0)
    ratios = likelihood_ratios(fitted, scores, level=0.8)
    expected = np.quantile(drawn, [0.1, 0.9], axis=0)
    np.testing.assert_allclose([ratios.lower, ratios.upper], expected, atol=1e-6)


def test_bands_stay_finite_where_probabilities_are_1(fitted):
    ratios = likelihood_ratios(fitted, [-1e4, 1e4])
    assert np.isfinite([ratios.lower, ratios.upper]).all()


def test_what_was_fitted_reaches_to_its_ends(monkeypatch):
    """The extreme scores fitted, and an LR as large as n comparisons could contradict."""
    scores, labels = comparisons(positives=9, negatives=99)
    fitted = ScoreCalibrator("gaussian", "mle").fit(scores, labels)
    ends = np.array([scores.min(), scores.max()])
    within = likelihood_ratios(fitted, ends, force=True).beyond
    assert not any("range" in each for each in within)
    beyond = likelihood_ratios(fitted, np.add(ends, [-1e-9, 1e-9]), force=True).beyond
    assert all("range" in each for each in beyond)
    # 99 negatives contradict an LR above 1.
    limit = np.array([-1.0, 2.0]) * np.log(10.0)
    assert (limit / np.log(10.0)).tolist() == [-1.0, 2.0]
    for factor, flags in ((1.0, ["", ""]), (1.0 + 1e-9, ["data", "data"])):
        monkeypatch.setattr(Calibration, "log_odds", lambda *_, by=factor: by * limit)
        found = likelihood_ratios(fitted, ends, force=True).beyond
        assert found.tolist() == flags


def test_normal_classes_have_their_ratio():
    scores, labels = comparisons(4000, 4000, distance=2.0)
    calibrator = ScoreCalibrator(random_state=0).fit(scores, labels)
    at = np.array([-0.5, 1.0, 2.5])
    # log N(s; 2, 1) / N(s; 0, 1) = 2 s - 2
    ratios = likelihood_ratios(calibrator, at, level=0.999)
    expected = (2.0 * at - 2.0) / np.log(10.0)
    np.testing.assert_allclose(ratios.log10, expected, atol=0.1)
    assert ((ratios.lower < expected) & (expected < ratios.upper)).all()


def test_no_score_passes_the_largest_ratio(fitted):
    far = likelihood_ratios(fitted, [-1e100, -50.0, 50.0, 1e100])
    low, high = far.largest
    assert low <= far.log10.min() < -1.0
    assert 1.0 < far.log10.max() <= high
    lapse, base = fitted.lapse_, 20.0 / 80.0
    assert high == pytest.approx(np.log10(1.0 + (1.0 / lapse.mean() - 1.0) / base), abs=0.15)
    assert f"No score has an LR above {shown(high)} in this fit" in far.text


def test_without_lapses_the_text_says_that_nothing_limits_ratios():
    calibrator = ScoreCalibrator(random_state=0, lapse=0).fit(*comparisons())
    ratios = likelihood_ratios(calibrator, [2.0])
    assert ratios.largest == (-np.inf, np.inf)
    assert "Nothing limits the LR in this fit (lapse=0)" in ratios.text


@pytest.mark.parametrize(
    "options", [{"parts": "gaussian"}, {"parts": "logistic"}, {"inference": "mle"}]
)
def test_single_parts_are_refused_unless_forced(options):
    calibrator = ScoreCalibrator(random_state=0, **options).fit(*comparisons())
    with pytest.raises(ValueError, match=r"need a combination of parts, got the single part"):
        likelihood_ratios(calibrator, [40.0])
    forced = likelihood_ratios(calibrator, [40.0], force=True)
    assert abs(forced.log10[0]) > 5.0
    assert np.isnan(forced.lower[0]) == (options.get("inference") == "mle")
    assert "nan" not in forced.text


def test_beyond_says_what_is_exceeded(fitted):
    scores, _ = comparisons()
    inside = np.median(scores)
    ratios = likelihood_ratios(fitted, [inside, scores.max() + 1.0, scores.min() - 1.0])
    assert ratios.beyond.tolist() == ["", "data, range", "data, range"]
    grid = likelihood_ratios(fitted, np.linspace(-1.0, 4.0, 200))
    # 60 negatives could contradict an LR above 1, and 20 positives one below.
    more = np.where(grid.log10 > 0.0, grid.log10 > np.log10(61.0), grid.log10 < -np.log10(21.0))
    assert (np.array(["data" in each for each in grid.beyond]) == more).all()
    between = (np.abs(grid.log10) > np.log10(21.0)) & (np.abs(grid.log10) < np.log10(61.0))
    assert set(np.sign(grid.log10[between])) == {-1.0, 1.0}
    assert "the score lies outside those fitted" in ratios.text.splitlines()[1]


@pytest.mark.parametrize("bounds", ["elub", "invariance", "sources", (-0.5, 0.75)])
def test_bounds_clip_point_and_band(fitted, bounds):
    plain = likelihood_ratios(fitted, [-2.0, 1.4, 4.0])
    ratios = likelihood_ratios(fitted, [-2.0, 1.4, 4.0], bounds=bounds)
    low, high = ratios.bounds
    for name in ("log10", "lower", "upper"):
        expected = np.clip(getattr(plain, name), low, high)
        np.testing.assert_array_equal(getattr(ratios, name), expected)
    assert "at a bound of what the data support" in ratios.text.splitlines()[2]
    assert plain.bounds is None
    if bounds == "sources":
        np.testing.assert_allclose(ratios.bounds, (-np.log10(20.0), np.log10(60.0)))
    if method := {"elub": elub, "invariance": invariance_bounds}.get(bounds):
        scores, same = comparisons()
        log_odds = fitted.decision_function(scores, prior=0.5)
        np.testing.assert_allclose(
            ratios.bounds, method(same == "same source", log_odds / np.log(10.0)), atol=1e-3
        )


def test_topics_have_ratios_of_their_own():
    rng = np.random.default_rng(0)
    topic = np.repeat(["a", "b"], 60)
    same = np.tile(np.repeat([True, False], 30), 2)
    scores = same * np.where(topic == "a", 1.0, 4.0) + rng.normal(size=120)
    calibrator = TopicCalibrator(draws=100, random_state=0).fit(scores, same, topic)
    ratios = [likelihood_ratios(calibrator, [3.0], topic=name).log10[0] for name in "ab"]
    log_odds = calibrator.decision_function([3.0, 3.0], ["a", "b"], prior=0.5)
    np.testing.assert_allclose(ratios, log_odds / np.log(10.0), atol=1e-9)
    with pytest.raises(ValueError, match="topic must be one of those fitted"):
        likelihood_ratios(calibrator, [3.0])
    with pytest.raises(ValueError, match="needs the comparisons fitted"):
        likelihood_ratios(calibrator, [3.0], topic="a", bounds="elub")


def test_grades_of_the_guideline_and_ratios_for_readers():
    for lr, grade in (
        *((1.0, "no support"), (1.9, "no support"), (2.0, "weak support"), (9.9, "weak support")),
        *((10.0, "moderate support"), (100.0, "moderately strong support")),
        *((1e3, "strong support"), (1e4, "very strong support")),
        *((999_999.0, "very strong support"), (1e6, "extremely strong support")),
    ):
        assert grade_of(np.log10(lr), ENFSI) == grade_of(-np.log10(lr), ENFSI) == grade
    texts = {0.0: "1", 1.84: "69", -1.84: "0.014", 3.0: "1,000", 7.25: "10^7.2", np.inf: "infinity"}
    assert {each: shown(each) for each in texts} == texts


def test_text_of_a_ratio(fitted):
    ratios = likelihood_ratios(fitted, [3.0, -1.0])
    first, second = ratios.text.splitlines()
    size, low, high = (shown(each[0]) for each in (ratios.log10, ratios.lower, ratios.upper))
    assert first.startswith(
        f"LR {size} (90 % {low} to {high}): the findings are {size} times more probable given same"
        " source than given different sources: moderate support for same source (band: "
    )
    assert "more probable given different sources than given same source" in second
    assert ratios.support[1].endswith("support for different sources")


def test_scales_of_ones_own(fitted):
    ratios = likelihood_ratios(fitted, [3.0, 1.4], support={5: "some", 1000: "much"})
    assert ratios.support.tolist() == ["some for same source", "no support"]
    none = likelihood_ratios(fitted, [3.0], support=None)
    assert none.support.tolist() == [""]
    assert "support" not in none.text.replace("more than the labelled", "")


def test_posterior_odds_are_prior_odds_times_the_ratio(fitted):
    ratios = likelihood_ratios(fitted, [1.0, 3.0])
    odds = ratios.posterior_odds(0.25)
    expected = 0.25 * 10.0 ** np.stack([ratios.log10, ratios.lower, ratios.upper], axis=1)
    np.testing.assert_allclose(odds, expected)
    for wrong in (0.0, -1.0, np.inf, "1"):
        with pytest.raises(ValueError, match="prior_odds must be a positive number"):
            ratios.posterior_odds(wrong)


def test_ratios_of_results_are_those_of_the_rates():
    scores, labels = comparisons(2000, 2000, distance=2.0)
    calibrator = ScoreCalibrator(draws=100, random_state=0).fit(scores, labels)
    found = diagnostic_ratios(calibrator, 1.2, level=0.99)
    sensitivity, specificity = stats.norm(2.0).sf(1.2), stats.norm(0.0).cdf(1.2)
    expected = (
        (found.sensitivity, sensitivity),
        (found.specificity, specificity),
        (found.log10_positive, np.log10(sensitivity / (1.0 - specificity))),
        (found.log10_negative, np.log10((1.0 - sensitivity) / specificity)),
    )
    for each, true in expected:
        assert each.lower < each.value < each.upper
        assert each.lower < true < each.upper
        assert each.value == pytest.approx(true, abs=0.05)
    binomial = stats.beta(0.79 * 2000, 0.21 * 2000).std()
    assert found.sensitivity.draws.std() == pytest.approx(binomial, rel=0.25)
    assert found.text.startswith(f"Result of 1.2 or more: LR {shown(found.log10_positive.value)} (")


def test_post_test_probabilities_follow_from_odds(fitted):
    found = diagnostic_ratios(fitted, 1.5)
    after = found.post_test(0.2)
    for row, each in zip(after, (found.log10_positive, found.log10_negative), strict=True):
        odds = 0.25 * 10.0 ** np.array([each.value, each.lower, each.upper])
        np.testing.assert_allclose(row, odds / (1.0 + odds))
    with pytest.raises(ValueError, match="prevalence must lie between 0 and 1"):
        found.post_test(1.0)


def test_results_that_cannot_be_are_refused(fitted):
    with pytest.raises(ValueError, match="threshold must lie within the scores fitted"):
        diagnostic_ratios(fitted, 50.0)
    with pytest.raises(ValueError, match="threshold must be finite"):
        diagnostic_ratios(fitted, np.nan)
    mle = ScoreCalibrator(inference="mle").fit(*comparisons())
    with pytest.raises(ValueError, match="need the scores fitted and posterior draws"):
        diagnostic_ratios(mle, 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": "iv"}, "bounds must be one of 'elub', 'invariance', 'sources', a pair"),
        ({"bounds": (0.1, 40.0)}, r"lower <= 0 <= upper, got \(0.1, 40.0\): take numpy.log10"),
        ({"bounds": (-1.0, 0.0, 1.0)}, "bounds must be .lower, upper. in log10"),
        ({"support": "verbal"}, "support must be 'enfsi', a mapping"),
        ({"support": {0.5: "weak"}}, "limits of support must be LRs of 1 or more, got 0.5"),
        ({"support": {}}, "support must be 'enfsi', a mapping"),
        ({"topic": "a"}, "topic must be left out, got 'a'"),
    ],
)
def test_bad_options(fitted, options, message):
    with pytest.raises(ValueError, match=message):
        likelihood_ratios(fitted, [1.0], **options)


def test_bad_scores_and_calibrators(fitted):
    with pytest.raises(ValueError, match="scores must be finite, got nan at position 0"):
        likelihood_ratios(fitted, [np.nan])
    with pytest.raises(TypeError, match="calibrator must be a fitted calibrator"):
        likelihood_ratios(IsotonicRegression(), [1.0])


def test_ratios_do_not_depend_on_the_share_of_positives():
    scores, labels = comparisons(400, 400, distance=2.0)
    at = [-1.0, 0.5, 1.0, 2.5]
    few = (labels == WORDS[0]) | (np.arange(800) % 4 == 0)
    even, uneven = (
        likelihood_ratios(ScoreCalibrator(random_state=0).fit(scores[rows], labels[rows]), at)
        for rows in (slice(None), few)
    )
    # Odds differ by a factor of four.
    np.testing.assert_allclose(even.log10, uneven.log10, atol=0.2)


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
def test_exchanged_classes_and_signs_give_the_negative(seed):
    scores, labels = comparisons(30, 30, seed, distance=2.0)
    swapped = np.where(labels == WORDS[0], WORDS[1], WORDS[0])
    at = np.linspace(-1.0, 3.0, 9)
    one = ScoreCalibrator(random_state=0).fit(scores, labels)
    other = ScoreCalibrator(random_state=0).fit(-scores, swapped)
    np.testing.assert_allclose(
        likelihood_ratios(other, -at).log10, -likelihood_ratios(one, at).log10, atol=0.05
    )
