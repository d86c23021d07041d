"""The studies behind docs/validation: their parts against references, each in its smallest unit."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from studies import combining, drift, grades, indicator_shifts, rates, reuters, sbc, synthetic
from studies.__main__ import PAGES
from studies.command import Options
from studies.coverage import OTHERS, under_truth, write_report
from studies.envelope import ecdf_difference, envelope, p_value
from studies.multiclass.measures import coverage
from studies.papers.methods import platt, venn_abers
from studies.peers import PEERS, PRIOR_SCALES, accepted, platt_coefficients, posterior_mean_log_odds
from studies.reporting import index, write_index
from studies.scale_floor import FACTORS, held_out_bits
from studies.truths import TRUTHS

DOCS = Path(__file__).parents[2] / "docs/validation"
LONGEST = 80
RNG = np.random.default_rng(3)
SCORES, POSITIVE = TRUTHS["Gaussian, equal variances"].draw(60, RNG)
LABELS = POSITIVE.astype(np.int64)
NEW = np.linspace(-4.0, 4.0, 9)


def test_platt_of_many_weightings_is_scikit_learns():
    counts = np.array([np.ones(60), RNG.multinomial(60, np.full(60, 1 / 60))])
    fitted = platt_coefficients(SCORES, LABELS, counts)
    repeated = np.repeat(np.arange(60), counts[1].astype(int))
    for (intercept, slope), which in zip(fitted, (np.arange(60), repeated), strict=True):
        expected = platt(SCORES[which], LABELS[which], NEW)
        assert intercept + slope * NEW == pytest.approx(expected, abs=2e-4)


def test_bayesian_logistic_is_the_integral():
    z, new = (SCORES - SCORES.mean()) / SCORES.std(), 1.0
    intercept, slope = np.linspace(-15, 10, 251)[:, None, None], np.linspace(-3, 20, 231)[:, None]
    prior = stats.norm(0, PRIOR_SCALES[0]).logpdf(intercept) + stats.norm(
        0, PRIOR_SCALES[1]
    ).logpdf(slope)
    curve = intercept + slope * z
    log_density = (LABELS * curve - np.logaddexp(0, curve)).sum(-1) + prior[..., 0]
    density = np.exp(log_density - log_density.max())
    positive = special.expit(intercept + slope * new)[..., 0]
    expected = (density * positive).sum() / density.sum()
    found = posterior_mean_log_odds(SCORES, LABELS, np.array([SCORES.mean() + SCORES.std()]))
    assert special.expit(found[0]) == pytest.approx(expected, abs=1e-4)
    # The negative: the most likely curve is another one.
    plain = LogisticRegression(C=np.inf).fit(z[:, None], LABELS)
    assert plain.predict_proba([[new]])[0, 1] != pytest.approx(expected, abs=1e-3)


def test_venn_abers_is_two_isotonic_regressions():
    def fitted(extra, at):
        both = np.append(SCORES, at), np.append(LABELS, extra)
        return IsotonicRegression().fit(*both).predict([at])[0]

    p0, p1 = (np.array([fitted(k, at) for at in NEW]) for k in (0, 1))
    assert special.expit(venn_abers(SCORES, LABELS, NEW)) == pytest.approx(p1 / (1 - p0 + p1))


@pytest.mark.parametrize("name", sorted(PEERS))
def test_peers_give_finite_rising_log_odds_and_keep_the_warnings(name):
    before = list(warnings.filters), np.geterr()
    found = PEERS[name](SCORES, LABELS, NEW)
    assert np.isfinite(found).all()
    assert (np.diff(found) >= -1e-9).all()
    assert found[-1] > found[0]
    assert (list(warnings.filters), np.geterr()) == before


def test_settings_that_the_calibrator_does_not_know_are_left_out():
    known = accepted({"a": {"parts": "laplace"}, "b": {"family": "no such"}, "c": {"nonsense": 1}})
    assert list(known) == ["a"]


def test_p_values_of_uniform_ranks_are_uniform_and_agree_with_the_envelope():
    draws, size = 39, 200
    lower, upper = envelope(size, draws, alpha=0.1)
    p, outside = [], []
    for ranks in np.random.default_rng(5).integers(0, draws + 1, (200, size)):
        p.append(p_value(ranks, draws))
        _, difference = ecdf_difference(ranks, draws)
        outside.append(((difference < lower - 1e-12) | (difference > upper + 1e-12)).any())
    # Discrete counts make the test a little conservative: stochastically larger, hardly.
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    assert np.mean(outside) == pytest.approx(0.1, abs=0.07)
    assert np.mean(outside == (np.array(p) < 0.1)) > 0.97
    # The negative: a posterior 20 % too wide.
    narrow = stats.norm(0, 1 / 1.2).rvs(2000, random_state=1)
    assert p_value((stats.norm.cdf(narrow) * (draws + 1)).astype(int), draws) < 1e-3


def test_divergence_is_that_of_bernoulli_distributions():
    expected = stats.entropy([0.3, 0.7], [0.2, 0.8])
    found = synthetic.divergence(special.logit(np.array([0.3])), special.logit(np.array([0.2])))
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("name", sorted(TRUTHS))
def test_truths_have_the_log_odds_that_their_scores_show(name):
    truth = TRUTHS[name]
    score, positive = truth.draw(40_000, np.random.default_rng(2))
    p = special.expit(truth.log_odds(score))
    assert positive.mean() == pytest.approx(truth.prior)
    # z of calibration within fifths of the scores.
    fifth = np.argsort(np.argsort(p)) * 5 // p.size
    excess = np.bincount(fifth, positive - p) / np.sqrt(np.bincount(fifth, p * (1 - p)))
    assert np.abs(excess).max() < 4


@pytest.mark.slow
def test_synthetic_orders_methods_as_published():
    methods = {name: PEERS[name] for name in ("Platt", "Bayes logistic", "isotonic")}
    found = synthetic.divergences(TRUTHS["Gaussian, equal variances"], 20, 20, (1,), methods)
    mean = found.mean()
    assert mean["Bayes logistic"] < mean["Platt"] < mean["isotonic"]


def test_reuters_has_the_published_figure_of_platt():
    found = [reuters.totals("linear_svm", 100, r, {"Platt": platt}, False)["Platt"] for r in (0, 1)]
    assert np.mean(found) == pytest.approx(reuters.PUBLISHED["linear_svm"]["Platt"][-1], rel=0.05)
    # Within the calibration split there are 4,802 documents a topic to test on, not 3,299.
    half = reuters.totals("linear_svm", 100, 0, {"Platt": platt}, True)["Platt"]
    assert half > 1.2 * np.mean(found)


def test_the_floor_study_finds_that_no_floor_is_worst():
    bits = held_out_bits("linear_svm", "asymmetric_laplace", 3, repeats=1)[0]
    assert bits.shape == (len(FACTORS),)
    assert bits[0] == bits.max()


def test_sbc_adjusts_for_its_quantities():
    ranks = {name: np.arange(200) % 100 for name in "abc"} | {"d": np.zeros(200, dtype=int)}
    assert sbc.adjusted_p({"a": ranks["a"]}, 99) > 0.9
    assert sbc.adjusted_p(ranks, 99) == pytest.approx(4 * p_value(ranks["d"], 99))


def test_pages_name_missed_bars_and_the_index_counts_them(tmp_path):
    truth = TRUTHS["t4 against Gumbel"]
    fixed = under_truth(truth, 20, 2, (1,), OTHERS)
    columns = ["family", "n", "case", "level", "mean", "error", "sets"]
    rows = [
        ("laplace", 10, case, 0.95, mean, 0.01, 9)
        for case, mean in (("predictive", 0.96), ("30 % too narrow", 0.94), ("new documents", 0.9))
    ]
    own = pd.DataFrame(rows, columns=columns)
    fixed = fixed.groupby(["method", "level"]).agg("mean").reset_index()
    fixed = fixed.rename(columns={"coverage": "mean"}).assign(
        error=0.01, n=20, truth="t4 against Gumbel", sets=2, **{"width error": 0.01}
    )
    fixed.loc[0, "method"] = "default"
    write_report(own, fixed, Options(out=tmp_path))
    assert "**Bars: 2 of 3 hold**" in (tmp_path / "coverage.md").read_text(encoding="utf-8")
    write_index(tmp_path, PAGES)
    index = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| [coverage](coverage.md) | Do the bands contain the true P" in index
    assert "| 2 of 3 |" in index
    # |0.94 - 0.95| is one standard error: bands that narrow are not detected, and the page says so.
    page = " ".join((tmp_path / "coverage.md").read_text(encoding="utf-8").split())
    assert "Missed: laplace: bands 30 % too narrow, found out." in page
    assert (tmp_path / "coverage_own_model.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_what_their_tables_say_and_short(name):
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert PAGES[name](DOCS) == text
    assert len(text.splitlines()) <= LONGEST
    assert "**Verdict.** " in text
    assert all((DOCS / file).exists() for file in re.findall(r"`(\w+\.csv)`", text))


def test_every_table_and_page_is_named():
    assert index(DOCS, PAGES) == (DOCS / "README.md").read_text(encoding="utf-8")
    assert {path.stem for path in DOCS.glob("*.md")} == {*PAGES, "README"}
    pages = "".join((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in PAGES)
    assert [path.name for path in DOCS.glob("*.csv") if path.name not in pages] == []


def test_indicators_that_cost_miss_their_bar(tmp_path):
    study = indicator_shifts
    methods = study.PLAIN, study.SHIFTED
    # With 50 positives they gain a tenth in both sets, with 200 they cost it.
    shares = {50: (1.0, 0.9), 200: (1.0, 1.1)}
    rows = [
        {"data_set": name, "class": "x", "n": n, "method": method, "bits": bits * share}
        for name, bits in (("a", 0.5), ("b", 0.02))
        for n, of_methods in shares.items()
        for method, share in zip(methods, of_methods, strict=True)
    ]
    study.write_report(pd.DataFrame(rows).assign(indicators=7), tmp_path)
    page = (tmp_path / "indicator_shifts.md").read_text(encoding="utf-8")
    assert "| bayes, indicators | 0.900 ± 0.000 | 1.100 ± 0.000 |" in page
    verdicts = pd.read_csv(tmp_path / "indicator_shifts_bars.csv")["verdict"].tolist()
    assert verdicts == ["holds", "MISSED"]


def test_methods_that_beat_ours_miss_their_bar(tmp_path):
    ours, shares = grades.OURS, {grades.APART: 1.02, "multinomial": 0.9, "proportional odds": 1.1}
    rows = [
        {"problem": name, "n": 20, "sample": 0, "method": method, "crossing": 0.25}
        | {"rps": share * rps, "log_loss": share}
        for name, rps in (("a", 0.5), ("b", 0.02))
        for method, share in {ours: 1.0, **shares}.items()
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "grades.csv", index=False)
    held = {"truth": "one", "n": 50, "k": 1, "width": 0.2}
    bands = pd.DataFrame([held | {"sample": k, "coverage": 0.9 - 0.2 * k} for k in range(2)])
    bands.to_csv(tmp_path / "grades_bands.csv", index=False)
    grades.write_report(tmp_path)
    page = (tmp_path / "grades.md").read_text(encoding="utf-8")
    assert "| multinomial | -10.5 ± 0.0 |" in page
    assert "25 % with 20 labels" in page
    assert "| one | 0.800 ± 0.100, 0.20 |" in page
    verdicts = pd.read_csv(tmp_path / "grades_bars.csv")["verdict"].tolist()
    assert verdicts == ["holds", "MISSED", "holds", "holds"]


def test_proportional_odds_find_slope_and_cuts_and_samples_merge_grades():
    rng = np.random.default_rng(0)
    s = rng.normal(size=4000)
    y = (rng.random((4000, 1)) < grades.TRUTHS["proportional odds"](s)).sum(axis=1)
    new = np.array([-1.0, 0.5, 2.0])
    reached = grades.proportional_odds(s, y, new)[:, ::-1].cumsum(axis=1)[:, -2::-1]
    # Twice the standard error at any of these scores is below .04.
    np.testing.assert_allclose(reached, grades.TRUTHS["proportional odds"](new), atol=0.04)
    assert grades.merged(np.array([0, 1, 2, 3]), np.array([1, 3])).tolist() == [0, 0, 0, 1]


def test_bands_of_classes_are_held_as_often_as_draws_are_right():
    """Each of 60 data sets has one truth, of which the draws are 200 others: a fixed seed."""
    rng, right, narrow = np.random.default_rng(0), [], []
    for _ in range(60):
        shared = rng.dirichlet([24.0, 12.0, 4.0], size=201)
        labels = rng.choice(3, size=150, p=shared[0])
        draws = np.repeat(shared[1:, None], 150, axis=1)
        right.append(coverage(draws, labels, rng)["class_bands"])
        close = 0.9 * draws.mean(axis=0) + 0.1 * draws
        narrow.append(coverage(close, labels, rng)["class_bands"])
    assert np.mean(right) == pytest.approx(0.9, abs=4.0 * stats.sem(right))
    assert np.mean(narrow) < 0.9 - 4.0 * stats.sem(narrow)


def test_combinations_are_compared_on_the_same_samples():
    bits = {"a": (0.2, 0.4), "b": (0.9, 0.3), "c": (0.5, 0.5)}
    rows = pd.DataFrame(
        {"n": 3, "classifiers": 2, "data_set": name, "method": method, "bits": b, "seconds": b}
        for name, pair in bits.items()
        for method, b in zip((combining.OURS, combining.LOGISTIC), pair, strict=True)
    )
    row = combining.against_logistic(rows).iloc[0]
    logs = np.log([1 / 2, 3.0, 1.0])
    assert (row["sets"], row["better"]) == (3, 1)
    assert row["ratio"] == pytest.approx(np.exp(logs.mean()))
    assert row["ratio error"] == pytest.approx(logs.std(ddof=1) / np.sqrt(3))
    assert row["logistic seconds"] == pytest.approx(0.4)


def test_ppi_is_that_of_ppi_python():
    """By ppi-python 0.2.3: ppi_mean_ci(y, judged, others, alpha=0.1, lam=1.0), and without lam."""
    rng = np.random.default_rng(0)
    y = (rng.random(30) < 0.3) * 1.0
    judged = np.clip(0.6 * y + 0.4 * rng.random(30), 0, 1)
    others = np.clip(0.6 * (rng.random(5000) < 0.3) + 0.4 * rng.random(5000), 0, 1)
    y[:6] = 1.0 - y[:6]
    plain, tuned = rates.ppi(y, judged, others), rates.ppi(y, judged, others, None)
    assert (plain.lower, plain.upper) == pytest.approx((0.18822258, 0.43041584))
    assert (tuned.lower, tuned.upper) == pytest.approx((0.18681354, 0.42659092), rel=1e-4)


def test_differences_and_plans_have_an_interval_of_each_method():
    for found in (rates.differences(rates.VALUES, 50, 0), rates.plans("rare", 0)):
        for _, width, error in found.values():
            assert 0.4 < width < 2.0
            assert abs(error) < 0.3
    assert found[rates.ROUND][1] < 1.05


def test_tables_of_rates_average_runs():
    table = rates._table(Options(quick=True, jobs=1), rates.rates, ("rare",), (30,), 2, "judge")
    own = table[table["method"] == rates.MODEL].iloc[0]
    both = [rates.rates("rare", 30, seed)[rates.MODEL] for seed in (0, 1)]
    assert all(0.5 < each[1] < 1.2 for each in both)
    assert own["coverage"] == pytest.approx(np.mean([each[0] for each in both]))
    assert own["width"] == pytest.approx(np.mean([each[1] for each in both]))
    assert own["rmse"] == pytest.approx(np.sqrt(np.mean([each[2] ** 2 for each in both])))


def test_drift_draws_labels_by_changed_log_odds():
    truth = TRUTHS["Gaussian, equal variances"]
    scores, labels = drift.draw(truth, 40_000, np.random.default_rng(0), slope=0.5, shift=1.0)
    # Log-odds of two Gaussians a distance of 2 apart are 2 s + logit(0.2), those of the base rate.
    p = special.expit(special.logit(0.2) + scores + 1.0)
    for low, high in ((-3.0, -1.0), (-1.0, 0.5), (0.5, 3.0)):
        own = (low < scores) & (scores < high)
        error = np.sqrt((p[own] * (1 - p[own])).sum()) / own.sum()
        assert abs(labels[own].mean() - p[own].mean()) < 4.0 * error
