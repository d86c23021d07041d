"""Audits: numbers against independent ones, known truths, and every bad input."""

import html
from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from bayescal.decisions import decide
from bayescal.metrics import inputs
from bayescal.monitoring import Audit, audit, audit_numbers, labels_needed, load_heart_disease
from bayescal.support.intervals import Interval
from tests.report_data import data_of


def documents(n=400, seed=0, truth=lambda z: z, mean=-1.0):
    rng = np.random.default_rng(seed)
    z = rng.normal(mean, 1.2, n)
    return rng.random(n) < special.expit(truth(z)), special.expit(z)


Y, P = documents(truth=lambda z: z - 0.6)


def three(number):
    return [number.value, number.lower, number.upper]


@pytest.fixture(scope="module")
def found():
    return audit(Y, P, threshold=0.2, random_state=0)


def test_numbers_are_those_of_scikit_learn(found):
    numbers = found.numbers
    assert numbers["AUC"].value == pytest.approx(roc_auc_score(Y, P))
    assert numbers["Brier score"].value == pytest.approx(brier_score_loss(Y, P))
    assert numbers["log-loss in bits"].value == pytest.approx(log_loss(Y, P) / np.log(2))
    parts = [numbers[f"Brier score: {name}"].value for name in ("miscalibration", "uncertainty")]
    assert parts[0] - numbers["Brier score: discrimination"].value + parts[1] == pytest.approx(
        numbers["Brier score"].value
    )
    assert numbers["observed / expected"].value == pytest.approx(Y.sum() / P.sum())


def test_intercept_and_slope_are_those_of_logistic_regression_with_many_labels():
    y, p = documents(20_000, 1, lambda z: 0.3 + 0.8 * z)
    z = special.logit(p)[:, None]
    fit = LogisticRegression(C=np.inf).fit(z, y)
    numbers = audit(y, p, random_state=0).numbers
    assert numbers["slope"].value == pytest.approx(fit.coef_.item(), abs=0.003)
    assert numbers["intercept"].value == pytest.approx(fit.intercept_.item(), abs=0.003)
    # Wald's interval of the slope.
    q = fit.predict_proba(z)[:, 1]
    x = np.column_stack([np.ones(len(z)), z])
    sd = np.sqrt(np.linalg.inv((x.T * (q * (1 - q))) @ x)[1, 1])
    width = numbers["slope"].upper - numbers["slope"].lower
    assert width == pytest.approx(2 * stats.norm.ppf(0.95) * sd, rel=0.08)


def test_net_benefit_is_the_formula_of_the_labels_on_average():
    y, p = documents(8000, 3, lambda z: 0.5 + 1.2 * z)
    found = audit(y, p, threshold=0.2, random_state=0)
    taken, odds = p >= 0.2, 0.25
    gain = np.where(taken, y - odds * ~y, 0.0)
    everyone = np.where(y, 1.0, -odds)
    counted = {
        "net benefit": gain,
        "net benefit of treating all": everyone,
        "net benefit over treating all": gain - everyone,
    }
    for name, each in counted.items():
        number, wanted = found.numbers[name], stats.norm.ppf(0.95) * each.std() / np.sqrt(8000)
        assert number.value == pytest.approx(each.mean(), abs=1e-12)
        assert number.upper - number.value == pytest.approx(wanted, rel=0.15)
        assert number.value - number.lower == pytest.approx(wanted, rel=0.15)
        assert found.numbers[f"smoothed {name}"].value == pytest.approx(each.mean(), abs=0.006)
    shown = found.net_benefit["counted"]
    for own in shown[:, [4, 20, 61]].T:
        at = float(own["threshold"])
        everyone = y - at / (1 - at) * ~y
        gain = np.where(p >= at, everyone, 0.0)
        assert float(own.sel(strategy="as is")) == pytest.approx(gain.mean())
        assert float(own.sel(strategy="all")) == pytest.approx(everyone.mean())
    assert np.isnan(shown.sel(strategy="recalibrated")).all()
    assert f"counted {found.numbers['net benefit']}, over treating all" in found.text
    # Beyond the largest probability nobody is treated.
    assert float(found.net_benefit["mean"].sel(strategy="as is").isel(threshold=-1)) < 1e-3


def test_the_saving_is_that_of_the_decisions_of_least_cost():
    costs = np.array([[0.0, 9.0], [1.0, 0.0]])
    y, p = documents(6000, 4, lambda z: z - 1.0)
    found = audit(y, p, costs=costs, level=0.99, random_state=0)
    assert found.threshold == pytest.approx(0.1)
    true = special.expit(special.logit(p) - 1.0)
    cost = np.zeros(2)
    for k, q in enumerate((p, true)):
        decision = decide(q[None], costs).decision
        cost[k] = np.mean(costs[decision, 0] * (1 - true) + costs[decision, 1] * true)
    saving = found.numbers["saving by recalibrating"]
    assert saving.lower < cost[0] - cost[1] < saving.upper
    assert 0.0 < saving.lower < saving.upper < 2.0 * saving.value
    # A threshold alone counts in true positives.
    alone = audit(y, p, threshold=0.1, random_state=0).numbers["saving by recalibrating"]
    assert 9 * alone.value == pytest.approx(saving.value)


def test_net_benefit_and_error_sizes_are_sums_over_documents():
    rng = np.random.default_rng(0)
    given, again = np.sort(rng.random(40)), rng.random(40)
    share, weight = rng.dirichlet(np.ones(40)), rng.dirichlet(np.ones(40), 30)
    true, averaged = rng.random((2, 30, 40))
    drawn = audit_numbers.AuditCurves(given, again, share, true, averaged, weight)
    at, odds = 0.3, 3.0 / 7.0

    def benefit(treated):
        return np.sum(weight * treated * (true - (1.0 - true) * odds), axis=1)

    as_is, recalibrated, everyone = benefit(given >= at), benefit(again >= at), benefit(1.0)
    expected = {
        "smoothed net benefit": as_is,
        "smoothed net benefit of treating all": everyone,
        "smoothed net benefit over treating all": as_is - everyone,
        "smoothed net benefit, recalibrated": recalibrated,
        "saving by recalibrating": 4.0 * (recalibrated - as_is),
    }
    numbers = audit_numbers.benefits_at(drawn, audit_numbers.Decision(at, 4.0), 0.8)
    assert numbers.pop("cost of a false negative").value == 4.0
    outcomes = inputs.Forecasts(rng.random(40) < given, given, None, False)
    shown = audit_numbers.net_benefit(drawn, outcomes, at, 0.8)
    for (name, number), strategy in zip(
        numbers.items(), ("as is", "all", None, "recalibrated", None), strict=True
    ):
        wanted = expected[name].mean(), *np.quantile(expected[name], [0.1, 0.9])
        assert three(number) == pytest.approx(wanted)
        if strategy:
            one = shown.sel(strategy=strategy, threshold=at)
            assert [float(one[each]) for each in ("mean", "lower", "upper")] == pytest.approx(
                three(number)
            )
    assert shown.attrs == {"asked": at, "level": 0.8}
    assert shown["threshold"].values == pytest.approx(np.arange(1, 100) / 100)
    error = np.abs(averaged - given)
    sizes = audit_numbers.error_sizes(drawn, 0.8)
    for name, share_below in (("median error (E50)", 0.5), ("90th percentile error (E90)", 0.9)):
        draws = [min(e for e in own if share[own <= e].sum() >= share_below) for own in error]
        expected[name] = np.array(draws)
    expected |= {"mean error (ICI)": error @ share, "largest error": error.max(axis=1)}
    for name, number in sizes.items():
        wanted = np.quantile(expected[name], [0.5, 0.1, 0.9])
        assert three(number) == pytest.approx(list(wanted)), name


def solve_newcombe(found, z, number, auc, variance):
    """Assert that both ends solve Newcombe's equation, of DeLong's variance if that is larger."""

    def of(a):
        each = (a / (2.0 - a) - a**2, 2.0 * a**2 / (1.0 + a) - a**2)  # Hanley and McNeil
        dependence = a * (1.0 - a) + (sum(number) / 2.0 - 1.0) * sum(each)
        return dependence / np.prod(number)

    wider = max(1.0, variance / of(auc)) if variance else 1.0
    for end in (found.lower, found.upper):
        assert (end - auc) ** 2 == pytest.approx(z**2 * wider * of(end), abs=1e-11)
    assert found.value == pytest.approx(auc)
    assert found.lower < auc <= found.upper + 1e-9


@pytest.mark.parametrize("apart", [4.0, 1.0, 0.2])
def test_the_auc_has_newcombes_interval_at_least_as_wide_as_delongs(apart):
    n, m, z = 40, 15, stats.norm.ppf(0.95)
    s = np.concatenate([np.linspace(-1.0, 1.0, n), np.linspace(-0.9, 0.8, m) + apart])
    s[-4:] += 3.0 * (apart < 1.0)  # positives of two kinds
    y = np.arange(n + m) >= n
    wins = s[y][:, None] > s[~y]
    variance = wins.mean(axis=1).var(ddof=0) / (m - 1.0) + wins.mean(axis=0).var(ddof=0) / (n - 1.0)
    found = audit(y, special.expit(s), random_state=0).numbers["AUC"]
    solve_newcombe(found, z, (m, n), wins.mean(), variance)


def test_counts_of_0_leave_benefits_and_losses_uncertain():
    numbers = audit([0] * 59 + [1], [0.1] * 60, threshold=0.2, random_state=0).numbers
    assert numbers["net benefit"].lower < numbers["net benefit"].value == 0.0
    assert numbers["net benefit"].upper > 0.0
    numbers = audit([0] * 60, [0.1] * 60).numbers
    assert numbers["Brier score"].value == pytest.approx(0.01)
    assert np.isnan([numbers["Brier score"].lower, numbers["log-loss in bits"].upper]).all()


def test_intervals_of_a_designed_sample_have_its_effective_size():
    y, p = documents(160, 15)
    weight = np.where(np.arange(160) % 3 == 0, 1.0, 8.0)
    numbers = audit(y, p, inclusion=1.0 / weight, level=0.8, random_state=0).numbers
    z, share = stats.norm.ppf(0.9), weight / weight.sum()
    size = 1.0 / np.sum(share**2)
    rate, expected = share @ y, share @ p
    ratio = stats.beta(size * rate + 0.5, size * (1.0 - rate) + 0.5).ppf([0.1, 0.9]) / expected
    loss = (y - p) ** 2
    mean = share @ loss
    half = z * np.sqrt(share @ (loss - mean) ** 2 / size)
    wins = (p[y][:, None] > p[~y]) + 0.5 * (p[y][:, None] == p[~y])
    auc, variance = weight[y] @ wins @ weight[~y] / (weight[y].sum() * weight[~y].sum()), 0.0
    for placed, own in (
        (wins @ weight[~y] / weight[~y].sum(), weight[y]),
        (weight[y] @ wins / weight[y].sum(), weight[~y]),
    ):
        number = own.sum() ** 2 / (own @ own)
        variance += own @ (placed - auc) ** 2 / own.sum() / (number - 1.0)
    number = [own.sum() ** 2 / (own @ own) for own in (weight[y], weight[~y])]
    solve_newcombe(numbers["AUC"], z, number, auc, variance)
    for name, value, ends in (
        ("observed / expected", rate / expected, ratio),
        ("Brier score", mean, (mean - half, mean + half)),
    ):
        assert three(numbers[name]) == pytest.approx([value, *ends]), name
    # Equal probabilities of inclusion are none.
    equal, plain = (
        audit(y, p, threshold=0.2, inclusion=chance, random_state=0)
        for chance in (np.full(160, 0.02), None)
    )
    assert (equal.documents, plain.documents) == (pytest.approx(8_000.0), 160.0)
    for name, number in plain.numbers.items():
        assert three(equal.numbers[name]) == pytest.approx(three(number), nan_ok=True), name
    np.testing.assert_allclose(equal.net_benefit["upper"], plain.net_benefit["upper"])


def test_costs_of_right_decisions_shift_all_costs():
    y, p = documents(200, 16, lambda z: z - 1.0)
    one, other = (
        audit(y, p, costs=costs, random_state=0)
        for costs in ([[0.0, 9.0], [1.0, 0.0]], [[2.0, 13.0], [3.0, 4.0]])
    )
    assert one.to_frame().equals(other.to_frame())
    assert one.numbers["cost of a false negative"].value == 9.0
    assert one.threshold == other.threshold == 0.1
    for costs in ([[0, 9], [0, 0]], [[0, 5], [1, 5]]):
        with pytest.raises(ValueError, match="costs of both wrong decisions"):
            audit(y, p, costs=costs)


@pytest.mark.slow
def test_right_probabilities_are_left_alone():
    advice, zero = [], []
    for seed in range(20):
        found = audit(*documents(500, seed), random_state=seed)
        advice.append(found.advice.startswith("Leave"))
        zero.append(found.numbers["mean error (ICI)"].lower < 1e-9)
    assert sum(advice) >= 16
    assert sum(zero) >= 18


@pytest.mark.parametrize(
    ("truth", "kind", "words"),
    [
        (lambda z: z + 0.8, "shift", "Add 0."),
        (lambda z: z - 0.8, "shift", "Subtract 0."),
        (lambda z: -0.3 + 0.5 * z, "slope", "Replace log-odds"),
        (lambda z: z + 0.9 * np.sin(2 * z), "full", "bends"),
    ],
)
def test_the_advice_names_the_error(truth, kind, words):
    found = audit(*documents(3000, 6, truth), random_state=0)
    assert found.explanation == kind
    assert words in found.advice
    assert sum(found.model_probability.values()) == pytest.approx(1.0)
    assert found.advice == found.text.splitlines()[0]


def test_nothing_is_left_as_it_is_without_reserve_unless_the_rest_is_excluded():
    left = excluding = 0
    for seed in range(12):
        found = audit(*documents(200, seed, lambda z: -0.4 + 0.75 * z), draws=200, random_state=0)
        if found.explanation != "as is":
            continue
        left += 1
        kept = [k for k, each in found.model_probability.items() if each >= 0.05 and k != "as is"]
        assert kept
        assert "with reserve: the outcomes do not exclude" in found.advice
        slope = found.numbers["slope"]
        excludes = slope.upper < 1.0 or slope.lower > 1.0
        assert ("excludes 1" in found.advice) == excludes
        excluding += excludes
    assert left >= 4
    assert excluding >= 1
    sure = replace(found, model_probability={"as is": 0.97, "shift": 0.03})
    sure = replace(sure, numbers={**found.numbers, "slope": Interval(1.0, 0.9, 1.1, 0.9)})
    assert sure.advice == "Leave the probabilities as they are."


def test_sites_that_differ_are_found():
    patients = load_heart_disease()
    found = audit(patients["y"], patients["p"], patients["site"], random_state=0)
    assert "site" in found.advice
    shift = found.sites["mean"].sel(number="shift")
    assert float(shift.sel(site="switzerland")) > 1.0 > float(shift.sel(site="va"))
    assert int(found.sites["documents"].sum()) == len(patients)
    own = patients.groupby("site")
    for name, values in (("observed", own["y"].sum()), ("expected", own["p"].sum())):
        assert found.sites[name].to_series().to_dict() == pytest.approx(values.to_dict())
    ends = found.sites
    assert ((ends["lower"] < ends["mean"]) & (ends["mean"] < ends["upper"])).all()
    assert (
        (ends["between_lower"] < ends["between"]) & (ends["between"] < ends["between_upper"])
    ).all()
    # A new site is one of the population: its interval is that of the standard deviation or wider.
    width = ends["new_upper"] - ends["new_lower"]
    assert (width > 2 * 1.645 * ends["between_lower"]).all()
    assert (
        (ends["new_lower"] < ends["mean"].mean("site"))
        & (ends["mean"].mean("site") < ends["new_upper"])
    ).all()
    between = ends.sel(number="shift")
    assert found.text.splitlines()[-1] == (
        f"Between sites, shifts have standard deviation {between['between'].item():.2f}"
        f" ({between['between_lower'].item():.2f} to {between['between_upper'].item():.2f}); a new"
        f" site's shift lies between {between['new_lower'].item():.2f} and"
        f" {between['new_upper'].item():.2f}."
    )
    y, p = documents(900, 7)
    alike = audit(y, p, np.arange(900) % 3, random_state=0)
    assert not alike.sites_differ
    assert alike.advice.startswith("Leave the probabilities as they are")


def test_a_weight_repeats_a_document():
    y, p = documents(200, 8)
    weight = np.random.default_rng(0).integers(0, 4, 200)
    weighed = audit(y, p, threshold=0.2, sample_weight=weight, random_state=0)
    again = audit(np.repeat(y, weight), np.repeat(p, weight), threshold=0.2, random_state=0)
    for name, number in again.numbers.items():
        own = weighed.numbers[name]
        assert three(own) == pytest.approx(three(number), rel=1e-6, nan_ok=True), name


def test_inclusion_undoes_a_choice_by_outcome():
    y, p = documents(3000, 9)
    chance = np.where(y, 1.0, 0.25)
    kept = np.random.default_rng(0).random(y.size) < chance
    plain = audit(y[kept], p[kept], random_state=0)
    mended = audit(y[kept], p[kept], inclusion=chance[kept], random_state=0)
    assert plain.explanation != "as is"
    assert mended.explanation == "as is"
    ratio = mended.numbers["observed / expected"]
    assert ratio.lower < 1.0 < ratio.upper
    assert mended.verdict.calibrated


def test_the_table_of_numbers(found):
    table = found.to_frame()
    assert list(table.columns) == ["value", "lower", "upper"]
    assert table.index.is_unique
    assert table.loc["AUC", "value"] == found.numbers["AUC"].value
    assert table.loc["probability of shift", "value"] == found.model_probability["shift"]
    assert isinstance(found, Audit)
    assert audit(Y, P, threshold=0.2, random_state=0).to_frame().equals(table)


def test_the_whole_text(found):
    def shown(name, times=1.0):
        value, lower, upper = (
            0.0 if abs(times * each) < 5e-4 else times * each for each in three(found.numbers[name])
        )
        return f"{value:.3g} ({lower:.3g} to {upper:.3g})"

    shift = found.numbers["calibration in the large"].value
    kinds = [found.model_probability[kind] for kind in ("as is", "shift", "slope", "full")]
    needed = labels_needed(P, ratio_width=0.2, slope_width=0.2, level=0.9)
    expected = [
        f"Subtract {-shift:.2f} from all log-odds (odds times {np.exp(shift):,.4g}): Recalibrator"
        " does so, as far as the labels support it.",
        "Probability of each explanation (before the outcomes): right as is {:.2f} (0.40), shifted"
        " {:.2f} (0.30), shift and slope {:.2f} (0.20), bent {:.2f} (0.10); test that they are"
        " right: p = 0.001 or less. {}".format(
            *kinds,
            f"The outcomes do not exclude shift and slope ({kinds[2]:.2f}), bent ({kinds[3]:.2f}).",
        ),
        f"{Y.sum():,} of 400 documents are positive (label 1) where {P.sum():,.4g} were expected:"
        f" ratio {shown('observed / expected')} (90 % intervals).",
        f"Slope: {shown('slope')}; the interval includes 1.",
        f"Mean error (ICI): {shown('mean error (ICI)')}.",
        f"AUC: {shown('AUC')}.",
        f"Net benefit at threshold 0.2, in true positives per document: counted"
        f" {shown('net benefit')}, over treating all {shown('net benefit over treating all')};"
        f" smoothed by the curve {shown('smoothed net benefit')}.",
        f"Recalibrating would save {shown('saving by recalibrating', 1000.0)} true positives per"
        " 1,000 documents at threshold 0.2.",
    ]
    assert found.text.splitlines() == expected
    assert found.more_labels == (
        "This audit has 400 outcomes. For documents like these, about"
        f" {needed['slope']:,} would narrow the interval of the slope to a width of 0.2 and about"
        f" {needed['ratio']:,} would narrow the interval of observed / expected to a width of 0.2."
    )


def test_the_curve_spans_the_probabilities_evenly_in_log_odds(found):
    z = special.logit(P)
    at = special.logit(found.curve["probability"].values)
    np.testing.assert_allclose(at, np.linspace(z.min(), z.max(), 101))
    assert found.curve.attrs["level"] == 0.9
    one, all_of_them = (found.curve.sel(kind=kind) for kind in ("pointwise", "simultaneous"))
    mean = found.curve["mean"]
    assert ((all_of_them["lower"] < one["lower"]) & (one["lower"] < mean)).all()
    assert ((mean < one["upper"]) & (one["upper"] < all_of_them["upper"])).all()
    wide, narrow = (
        special.logit(each["upper"]) - special.logit(mean) for each in (all_of_them, one)
    )
    assert 1.3 < np.median(wide / narrow) < 1.9  # of normal curves: 1.5 with three coefficients
    # Log-odds are .6 too large.
    np.testing.assert_allclose(special.logit(mean.values[30:80]), at[30:80] - 0.6, atol=0.35)


def test_the_report_has_the_answer_first(found, tmp_path):
    path = found.report(tmp_path / "audit.html", title="My audit")
    text = path.read_text(encoding="utf-8")
    assert "<title>My audit</title>" in text
    assert text.index(found.advice[:20]) < text.index("observed / expected")
    assert "SHA-256" in text
    with pytest.raises(FileNotFoundError):
        found.report(tmp_path / "nowhere" / "audit.html")


def test_contradicted_certainties_are_named():
    y, p = documents(100, 10)
    y[3], p[3], y[7], p[7] = True, 0.0, False, 1.0
    with pytest.warns(UserWarning, match="Document 3 .* is positive and had probability 0"):
        found = audit(y, p, random_state=0)
    assert "29 bits" in found.text
    assert found.numbers["log-loss in bits"].value > 2 * 28 / 100
    assert np.isfinite(found.to_frame()["value"]).all()


@pytest.mark.filterwarnings("ignore:Document")
@pytest.mark.parametrize(
    ("positives", "p"), [(0, 0.0), (1, 0.0), (1, 1e-300), (50, 1.0), (49, 1.0)]
)
def test_certainties_are_audited_in_words(positives, p, tmp_path):
    found = audit(np.arange(50) < positives, np.full(50, p), random_state=0)
    ratio = found.numbers["observed / expected"].value
    assert ratio == pytest.approx(positives / 50) if p == 1.0 else np.isnan(ratio)
    assert ("where none was expected" in found.text) == (p < 1.0)
    assert "e+" not in found.text
    assert found.more_labels in html.unescape(found.report(tmp_path / "a.html").read_text("utf-8"))


def test_a_page_of_counts_is_that_of_their_documents(tmp_path):
    rng = np.random.default_rng(0)
    p, y = np.linspace(0.05, 0.6, 40), np.arange(40) % 3 == 0
    counts = rng.integers(1, 30, 40)
    found = audit(y, p, sample_weight=counts, random_state=0)
    rows = audit(np.repeat(y, counts), np.repeat(p, counts), random_state=0)
    assert found.more_labels == rows.more_labels
    pages = [each.report(tmp_path / f"{k}.html") for k, each in enumerate((found, rows))]
    counted, single = map(data_of, pages)
    for name in ("positives", "negatives"):
        assert counted[name] == single[name]
    assert "p, y and counts" in pages[0].read_text("utf-8")
    assert "p, y and counts" not in pages[1].read_text("utf-8")


@pytest.mark.parametrize("outcome", [0, 1])
def test_one_class_alone_is_audited(outcome):
    found = audit(np.full(60, outcome), np.full(60, 0.4) + np.arange(60) / 1000, random_state=0)
    ratio = found.numbers["observed / expected"]
    assert ratio.lower < ratio.upper
    assert "one class" in found.text
    assert np.isnan(found.numbers["AUC"].value)
    assert not found.verdict.calibrated
    assert found.numbers["slope"].upper - found.numbers["slope"].lower > 1.0
    # The interval of a rate that is at its end holds it.
    ratio = audit(np.full(60, outcome), np.full(60, 0.1)).numbers["observed / expected"]
    assert ratio.lower <= ratio.value <= ratio.upper


def test_equal_probabilities_have_no_slope():
    found = audit(np.arange(80) % 4 == 0, np.full(80, 0.5), threshold=0.2, random_state=0)
    assert np.isnan(found.numbers["slope"].value)
    assert found.explanation == "shift"
    assert "slope is not defined" in found.text
    assert found.curve.sizes["probability"] == 1
    assert "slope" not in found.more_labels


def test_few_documents_say_almost_nothing():
    found = audit([0, 1, 0], [0.2, 0.4, 0.3], random_state=0)
    assert "fewer than ten" in found.advice
    assert found.numbers["slope"].upper - found.numbers["slope"].lower > 2.0


def test_probabilities_of_the_other_class_are_warned_of():
    y, p = documents(200, 11)
    with pytest.warns(UserWarning, match=r"AUC 0\.\d+.*pass 1 - p"):
        audit(y, 1 - p, random_state=0)


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([0, 1], [20.0, 45.0], "p must lie between 0 and 1, got 20: they look like per cent"),
        ([0, 1], [-2.0, 3.0], "if these are scores, ScoreCalibrator"),
        ([0, 1, 0], [0.2, 1.2, 0.4], "got 1.2: correct the values that do not"),
        ([0, 1], [0.2, np.nan], "p must be finite"),
        ([0, 1, 0], [0.2, 0.3], "y and p must have the same length, got 3 and 2"),
        (["dead", "alive"], [0.2, 0.3], "y must hold booleans, 0 and 1.*pass y == positive"),
        ([0, 2], [0.2, 0.3], "y must hold booleans"),
        ([], [], "at least one"),
    ],
)
def test_wrong_documents(y, p, message):
    with pytest.raises(ValueError, match=message):
        audit(y, p)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0.1, "costs": [[0, 9], [1, 0]]}, "threshold or costs, not both"),
        ({"threshold": 1.0}, "threshold must lie between 0 and 1"),
        ({"costs": [[0, 0], [0, 0]]}, "costs of both wrong decisions"),
        ({"costs": [[0, 9], [1, 0], [2, 2]]}, r"costs must have shape \(2, 2\)"),
        ({"sites": ["a"]}, "sites and p must have the same length"),
        ({"sites": ["a", "b", None]}, "sites must hold labels of one type"),
        ({"inclusion": [1, 2, 1]}, "inclusion must hold the probability"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        audit([0, 1, 0], [0.2, 0.6, 0.3], **options)


def test_sites_of_one_class_and_of_one_document():
    y, p = documents(120, 12)
    site = np.where(np.arange(120) < 100, "large", "small").astype(object)
    y[100:119], site[119] = False, "single"
    found = audit(y, p, site, random_state=0)
    shift = found.sites.sel(number="shift")
    width = (shift["upper"] - shift["lower"]).values
    assert np.isfinite(width).all()
    assert dict(zip(found.sites["site"].values, width, strict=True))["large"] < width.max()
    assert list(found.sites["documents"].values) == [100, 1, 19]


def test_labels_needed_are_those_of_pmvalsampsize():
    # Riley et al.: linear predictor Normal(-5, 2.5), prevalence .018, C-statistic .8; the package
    # prints 905, 4544 and 4252.
    p = special.expit(stats.norm(-5, 2.5).ppf((np.arange(100_000) + 0.5) / 100_000))
    widths = {"slope_width": 0.2, "ratio_width": 1.0, "auc_width": 0.1}
    needed = labels_needed(p, **widths, prevalence=0.018, auc=0.8)
    assert needed["ratio"] == pytest.approx(905, rel=0.01)
    assert needed["slope"] == pytest.approx(4544, rel=0.01)
    assert needed["auc"] == 4252
    # Newcombe's interval is as narrow as asked for with these labels, and wider with one less.
    for width in (0.2, 0.4, 0.6):
        n = labels_needed(p, auc_width=width, prevalence=0.3, auc=0.8)["auc"] - np.arange(2)
        sums = 1.0 + (n / 2.0 - 1.0) * (0.2 / 1.2 + 0.8 / 1.8)
        error = np.sqrt(0.8 * 0.2 * sums / (0.3 * 0.7)) / n
        own, wider = 2.0 * stats.norm.ppf(0.975) * error
        assert own <= width < wider


def test_an_audit_of_so_many_labels_has_intervals_of_that_width():
    _, p = documents(3000, 13)
    needed = labels_needed(p, slope_width=0.3, ratio_width=0.2, auc_width=0.06, level=0.9)
    rng, wanted = np.random.default_rng(0), (("AUC", "auc", 0.06), ("slope", "slope", 0.3))
    for name, key, width in (*wanted, ("observed / expected", "ratio", 0.2)):
        q = rng.choice(p, needed[key])
        number = audit(rng.random(q.size) < q, q, random_state=0).numbers[name]
        assert number.upper - number.lower == pytest.approx(width, rel=0.2)


@pytest.mark.slow
def test_simulated_numbers_need_the_more_labels_the_narrower_they_are():
    _, p = documents(1000, 14)
    wide, narrow = (
        labels_needed(p, error_width=w, saving_width=w / 10, threshold=0.3, random_state=0)
        for w in (0.04, 0.02)
    )
    assert 1.5 < narrow["error"] / wide["error"] < 20
    assert narrow["saving"] > wide["saving"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give at least one of slope_width"),
        ({"slope_width": 0.0}, "slope_width must be positive"),
        ({"saving_width": 0.1}, "saving_width and threshold must be given together"),
        ({"ratio_width": 0.1, "prevalence": 0.0}, "prevalence must lie between"),
        ({"auc_width": 0.1, "auc": 1.0}, "auc must lie between"),
        ({"p": [0.2, 0.2], "slope_width": 0.1}, "probabilities that differ"),
        ({"p": [20, 30], "slope_width": 0.1}, "p must lie between 0 and 1"),
    ],
)
def test_wrong_plans_of_labels(options, message):
    with pytest.raises(ValueError, match=message):
        labels_needed(**{"p": [0.1, 0.2]} | options)


def test_an_impossible_event_refutes_the_probabilities_as_they_are():
    rng = np.random.default_rng(3)
    p = np.append(np.zeros(50), rng.beta(1.0, 3.0, 200))
    y = rng.random(250) < p
    y[7] = True
    with pytest.warns(UserWarning, match="Document 7"):
        found = audit(y, p, draws=50)
    assert found.model_probability["as is"] == 0.0
    assert sum(found.model_probability.values()) == pytest.approx(1.0)


@pytest.mark.slow
def test_bands_hold_the_truth_and_shifted_ones_do_not():
    at = np.linspace(-2.5, 0.5, 9)
    held, wrong, whole = [], [], []
    for seed in range(40):
        y, p = documents(300, seed, lambda z: np.where(z < -1, z, -1 + 0.5 * (z + 1)))
        curve = audit(y, p, draws=400, random_state=seed).curve
        x = special.logit(curve["probability"].values)
        right = special.expit(np.where(at < -1, at, -1 + 0.5 * (at + 1)))
        ends = {
            kind: [np.interp(at, x, curve[e].sel(kind=kind)) for e in ("lower", "upper")]
            for kind in ("pointwise", "simultaneous")
        }
        lower, upper = ends["pointwise"]
        held.append(np.mean((lower < right) & (right < upper)))
        off = special.expit(special.logit(right) + 0.6)
        wrong.append(np.mean((lower < off) & (off < upper)))
        assert (ends["simultaneous"][0] <= lower + 1e-9).all()
        whole.append(((ends["simultaneous"][0] < right) & (right < ends["simultaneous"][1])).all())
    # 40 samples of strongly dependent places: standard error about .04.
    assert 0.8 < np.mean(held) < 0.99
    assert np.mean(wrong) < 0.6
    assert np.mean(whole) > 0.8


@pytest.mark.parametrize(("positives", "n", "threshold"), [(7, 70, 0.1), (12, 60, 0.2)])
def test_a_net_benefit_whose_counts_cancel_is_0(positives, n, threshold):
    y, p = np.arange(n) >= n - positives, np.linspace(0.05, 0.95, n)
    found = audit(y, p, threshold=threshold, draws=20, random_state=0).numbers
    assert f"{found['net benefit of treating all']:.3g}".startswith("0 ")
