"""The verdict of held-out labels on probabilities: its test, its numbers, its advice."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.fitting.scores import BinaryScores
from bayescal.metrics import calibration_verdict, smooth_calibration_error, spiegelhalter_test
from bayescal.report.held_out import predict
from tests.cli_tools import make_frame, make_topics, run, summary_of, write
from tests.report_data import data_of, make_problem


def log_odds_of(n, mean, seed=0):
    """Return log-odds of n documents, thirty different ones."""
    spread = stats.norm.ppf((np.arange(30) + 0.5) / 30)
    return mean + 2.0 * np.random.default_rng(seed).choice(spread, n)


def labels(log_odds, rng):
    return rng.random(log_odds.size) < special.expit(log_odds)


@pytest.mark.slow
def test_numbers_are_those_of_the_poisson_binomial_and_of_the_score_test():
    log_odds = log_odds_of(150, -1.5)
    p, y = special.expit(log_odds), labels(log_odds + 0.4, np.random.default_rng(1))
    found = calibration_verdict(y, p)
    assert (found.documents, found.observed) == (150, y.sum())
    assert found.expected == pytest.approx(p.sum())
    assert found.error == smooth_calibration_error(y, p)
    pmf = np.ones(1)
    for each in p:
        pmf = np.convolve(pmf, [1.0 - each, each])
    exact = np.searchsorted(np.cumsum(pmf), [0.025, 0.975])
    np.testing.assert_allclose([found.lower, found.upper], exact, atol=1)
    # The test, document by document, of labels drawn with another seed.
    drawn = np.vstack([y, np.random.default_rng(2).random((4000, 150)) < p])
    statistic, spread = by_hand(drawn - p, p)
    assert found.pvalue == pytest.approx((statistic[1:] >= statistic[0]).mean(), abs=0.04)
    assert calibration_verdict(y, p, sample_weight=np.ones(150)).pvalue == found.pvalue
    many = calibration_verdict(y, p, sample_weight=np.full(150, 0.999_999))
    rng = np.random.default_rng(3)
    limit = rng.chisquare(2, 100_000) + rng.chisquare(1, (100_000, spread.size)) @ spread
    assert many.pvalue == pytest.approx((limit > statistic[0]).mean(), abs=0.02)


def by_hand(residual, p):
    """Return T of residuals (samples, n), and the weights of its second term, from kernels."""
    z, v = special.logit(p), p * (1.0 - p)
    x = np.stack([np.ones(z.size), z], axis=1)
    inverse = np.linalg.inv((x.T * v) @ x)
    # The process on ten points, and what the line explains of it taken off.
    standard, at = np.clip((z - z.mean()) / z.std(), -3.0, 3.0), np.linspace(-2.5, 2.5, 10)
    kernel = lambda s, t: np.exp(-((s[:, None] - t) ** 2) / (2.0 * 0.8**2))  # noqa: E731
    process = kernel(standard, at)
    process = process @ np.linalg.solve(kernel(at, at) + 1e-6 * np.eye(10), process.T)
    rest = np.eye(z.size) - x @ inverse @ (x.T * v)
    process = rest @ process @ rest.T
    eigenvalues = np.linalg.eigvals(process * v).real
    spread = eigenvalues * np.sqrt(2.0 / (eigenvalues**2).sum())
    line = np.einsum("si,ij,sj->s", residual @ x, inverse, residual @ x)
    bend = np.einsum("si,ij,sj->s", residual, process, residual)
    return line + bend * np.sqrt(2.0 / (eigenvalues**2).sum()), spread


def test_a_weight_is_a_repetition():
    log_odds = log_odds_of(100, -1.0)
    p, y = special.expit(log_odds), labels(log_odds, np.random.default_rng(3))
    weight = np.random.default_rng(4).integers(0, 4, 100)
    repeated = np.repeat(y, weight), np.repeat(p, weight)
    weighed = calibration_verdict(y, p, sample_weight=weight)
    again = calibration_verdict(*repeated)
    for name in ("pvalue", "observed", "expected", "upper", "shift", "slope", "detectable"):
        assert getattr(weighed, name) == pytest.approx(getattr(again, name)), name


# How often it is right: seeds are fixed, bounds are three standard errors


@pytest.mark.slow
@pytest.mark.parametrize(("n", "mean"), [(30, -1.0), (1000, -6.0)])
def test_right_probabilities_are_seldom_called_off(n, mean):
    rng, log_odds = np.random.default_rng(5), log_odds_of(n, mean)
    p = special.expit(log_odds)
    off = [not calibration_verdict(labels(log_odds, rng), p).calibrated for _ in range(200)]
    assert np.mean(off) < 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "cause"),
    [
        (lambda z: z + 1.0, "base rate"),
        (lambda z: z - 1.0, "base rate"),
        (lambda z: 0.5 * z, "slope"),
        (lambda z: 2.0 * z + 1.0, "slope"),
    ],
    ids=["rarer when fitted", "more frequent when fitted", "too sure", "too timid"],
)
def test_wrong_probabilities_are_called_off_by_the_right_cause(truth, cause):
    rng, log_odds = np.random.default_rng(6), log_odds_of(600, -1.5)
    p, other = special.expit(log_odds), {"slope": "base rate", "base rate": "slope"}[cause]
    causes = [calibration_verdict(labels(truth(log_odds), rng), p).cause for _ in range(60)]
    assert causes.count(cause) >= 50
    assert causes.count(other) <= 9


@pytest.mark.slow
def test_power_is_what_is_promised():
    rng, log_odds = np.random.default_rng(7), log_odds_of(300, -1.5)
    p = special.expit(log_odds)
    shift = np.log(calibration_verdict(labels(log_odds, rng), p).detectable)
    seen = [
        not calibration_verdict(labels(log_odds + shift, rng), p).calibrated for _ in range(100)
    ]
    assert np.mean(seen) == pytest.approx(0.8, abs=0.12)


def test_bends_that_leave_intercept_and_slope_as_they_are_are_seen():
    log_odds = np.repeat([-2.0, 0.0, 2.0], 400)
    truth = special.expit(log_odds) + np.repeat([-0.1, 0.2, -0.1], 400)
    y = np.tile(np.arange(400), 3) < np.rint(400 * truth)
    p = special.expit(log_odds)
    found = calibration_verdict(y, p)
    assert (found.cause, found.outcome) == ("bend", "off")
    assert "bends" in found.finding
    assert "Fit again" in found.advice


@pytest.mark.slow
def test_the_test_has_power_against_waves_and_keeps_its_size():
    rng, log_odds = np.random.default_rng(8), np.random.default_rng(9).normal(-1.5, 1.2, 1000)
    p = special.expit(log_odds)
    wavy = special.expit(log_odds + 0.5 * np.sin(2.0 * log_odds))
    off = [calibration_verdict(rng.random(1000) < wavy, p).pvalue <= 0.05 for _ in range(60)]
    # .94 of 150 by a prototype; three standard errors below .9.
    assert np.mean(off) > 0.9 - 3.0 * np.sqrt(0.9 * 0.1 / 60)


@pytest.mark.parametrize(
    ("y", "p", "cause"),
    [
        ([0, 1, 1, 1], [0.5] * 4, "none"),
        ([0] * 5, [0.1, 0.2, 0.1, 0.2, 0.1], "none"),
        ([0] * 60, [0.5] * 60, "base rate"),
        ([1, 1, 1], [1e-9, 1e-9, 1e-9], "base rate"),
        ([0, 1], [0.0, 1.0], "none"),
        ([1], [0.3], "none"),
    ],
)
def test_edges(y, p, cause):
    found = calibration_verdict(y, p)
    assert found.cause == cause
    assert np.isfinite([found.intercept, found.slope, found.shift, found.pvalue]).all()
    assert ("prior=" in found.advice) == (cause == "base rate" and 0 < sum(y) < len(y))
    assert ("label shift" in found.finding) == (cause == "base rate")
    assert ("case mix changed" in found.advice) == ("prior=" in found.advice)
    if cause == "none":
        assert "no sign that they are off" in found.text


def test_the_words():
    log_odds = log_odds_of(2000, -1.5)
    p, rng = special.expit(log_odds), np.random.default_rng(10)
    rarer = calibration_verdict(y := labels(log_odds - 1.0, rng), p)
    assert "they are off (p = 0.001 or less, tested at 5 %)" in rarer.text
    assert "All odds are too large by about the same factor" in rarer.finding
    assert f"predict with prior={y.mean():.3g}" in rarer.advice
    sure = calibration_verdict(labels(0.5 * log_odds, rng), p)
    assert "too far apart: slope 0." in sure.finding
    assert sure.advice == "Fit again on documents like these."
    timid = calibration_verdict(labels(2.0 * log_odds, rng), p)
    assert "too close together" in timid.finding
    right = calibration_verdict(labels(log_odds, rng), p)
    assert "these documents would have shown it four times in five" in right.text
    few = calibration_verdict([0, 0], [0.01, 0.02])
    assert "too few to show even odds that are off by a factor of 100." in few.text


@pytest.mark.parametrize("flip", [False, True], ids=["0 and positive", "1 and negative"])
def test_an_impossible_event_settles_every_test_and_is_named(flip):
    row = np.arange(500)
    p, y = np.where(row % 2, 0.0, 0.4), (row % 10 < 3) & (row % 2 == 0)
    y[123] = True
    if flip:
        p, y = 1.0 - p, ~y
    found = calibration_verdict(y, p)
    assert (found.outcome, found.pvalue, found.cause) == ("off", 0.0, "impossible")
    name = f"Document 123 (counted from 0) is {'negative' if flip else 'positive'} and had"
    assert name in found.text
    assert spiegelhalter_test(y, p) == (np.inf, 0.0)
    # Documents of no weight, and draws that allow for it, make it possible.
    assert calibration_verdict(y, p, sample_weight=row != 123).cause == "none"
    possible = np.where(p == p[123], p[123] + (0.01 if not flip else -0.01), p)
    assert calibration_verdict(y, p, draws=np.stack([p, possible])).cause != "impossible"
    assert calibration_verdict(y, p, draws=np.stack([p, p])).cause == "impossible"


def test_many_impossible_events_are_counted():
    found = calibration_verdict(np.ones(9), np.zeros(9))
    assert "document 4 (counted from 0)" in found.impossible
    assert found.impossible.endswith("; so are 4 more.")


def draws_of(log_odds, sd, rng, draws=400):
    """Return draws of probabilities whose log-odds are all uncertain by one shift."""
    return special.expit(log_odds + sd * rng.normal(size=(draws, 1)))


@pytest.mark.slow
def test_probabilities_off_by_no_more_than_the_bands_allow_are_not_called_off():
    # The truth is a draw of the posterior: false alarms at 5 %, 3 standard errors of 120.
    rng, log_odds, outcomes = np.random.default_rng(12), log_odds_of(1000, -2.0), []
    for _ in range(120):
        y = labels(log_odds + 0.7 * rng.normal(), rng)
        drawn = draws_of(log_odds, 0.7, rng, draws=200)
        outcomes.append(calibration_verdict(y, drawn.mean(axis=0), draws=drawn))
    off = np.mean([each.outcome == "off" for each in outcomes])
    assert off < 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 120)
    # Taken for certain they would be called off in most.
    assert np.mean([each.pvalue_of_point <= 0.05 for each in outcomes]) > 0.6
    assert np.mean([each.outcome == "uncertain" for each in outcomes]) > 0.6
    inside = [each.lower <= each.observed <= each.upper for each in outcomes]
    assert 0.90 < np.mean(inside) < 0.99


def test_probabilities_off_by_more_than_the_bands_allow_are_called_off():
    rng, log_odds = np.random.default_rng(13), log_odds_of(2000, -2.0)
    drawn = draws_of(log_odds, 0.2, rng)
    moved = calibration_verdict(labels(log_odds + 1.5, rng), drawn.mean(axis=0), draws=drawn)
    assert (moved.outcome, moved.cause) == ("off", "base rate")
    assert "they are off, and right ones lie outside the bands" in moved.text
    assert "same factor, 2,981, as" in replace(moved, shift=8.0).finding
    # A wide band of the shift does not hide a wrong slope.
    drawn = draws_of(log_odds, 1.0, rng)
    flat = calibration_verdict(labels(0.5 * log_odds, rng), drawn.mean(axis=0), draws=drawn)
    assert (flat.outcome, flat.cause) == ("off", "slope")


def test_the_words_of_bands():
    rng, log_odds = np.random.default_rng(14), log_odds_of(2000, -2.0)
    drawn = draws_of(log_odds, 0.7, rng)
    found = calibration_verdict(labels(log_odds + 0.7, rng), special.expit(log_odds), draws=drawn)
    assert found.outcome == "uncertain"
    assert found.calibrated
    words = "single values are off, but the bands around them may hold the right ones"
    assert f"{words} (p = 0.001 or less without" in found.text
    assert found.cause == "base rate"
    assert found.advice == "Fit again with more labels: they narrow the bands."
    assert "if the bands are right" in found.text
    wide = calibration_verdict([0, 0], [0.01, 0.02], draws=np.full((5, 2), 0.015))
    assert "too few, or the bands too wide, to show" in wide.text


def test_draws_without_uncertainty_change_nothing():
    log_odds = log_odds_of(400, -1.0)
    p, y = special.expit(log_odds), labels(log_odds + 0.3, np.random.default_rng(15))
    certain, drawn = calibration_verdict(y, p), calibration_verdict(y, p, draws=np.tile(p, (3, 1)))
    for name in ("pvalue", "lower", "upper"):
        assert getattr(drawn, name) == pytest.approx(getattr(certain, name), abs=0.04), name
    assert drawn.detectable == pytest.approx(certain.detectable)
    for bad, message in (
        (p, r"draws must have shape \(draws, 400\), got \(400,\)"),
        (np.tile(2.0 * p, (2, 1)), "draws must hold probabilities from 0 to 1"),
        (np.full((2, 400), np.nan), "draws must hold probabilities from 0 to 1"),
    ):
        with pytest.raises(ValueError, match=message):
            calibration_verdict(y, p, draws=bad)


def test_a_new_prior_mends_what_it_is_advised_for():
    rng = np.random.default_rng(9)

    def draw(n, positives):
        y = np.arange(n) < positives
        return rng.normal(2.0 * y, 1.0), y

    calibrator = ScoreCalibrator("gaussian", draws=200, random_state=0).fit(*draw(2000, 1000))
    scores, y = draw(2000, 100)
    found = calibration_verdict(y, calibrator.predict_proba(scores)[:, 1])
    assert found.cause == "base rate"
    mended = calibrator.predict_proba(scores, prior=found.observed / found.documents)[:, 1]
    assert calibration_verdict(y, mended).calibrated


def test_the_report_tells_health_of_draws_from_calibration(tmp_path):
    scores, y = make_problem(400, seed=0)
    fast = {"draws": 50, "chains": 2, "random_state": 0}
    calibrator = ScoreCalibrator("gaussian", **fast).fit(scores, y)
    path = tmp_path / "report.html"
    without = calibrator.report(path).read_text(encoding="utf-8")
    assert '<div id="verdict" class="verdict good">' in without
    assert "Nobody can tell yet: no held-out documents were given" in without
    shifted = calibrator.report(path, (scores + 1.5, y))
    (topic,) = data_of(shifted)["topics"]
    drawn = calibrator.sample_proba(scores + 1.5)
    p = calibrator.predict_proba(scores + 1.5)[:, 1]
    expected = calibration_verdict(y == 1, p, draws=drawn)
    assert topic["test"]["point"]["verdict"] == f"{expected.test} {expected.finding}"
    assert not topic["test"]["point"]["calibrated"]
    text = shifted.read_text(encoding="utf-8")
    assert '<div id="calibration" class="verdict warning">' in text
    assert '<div id="verdict" class="verdict good">' in text  # the draws are fine all the same
    fair = calibrator.report(path, make_problem(400, seed=1)).read_text(encoding="utf-8")
    assert '<div id="calibration" class="verdict good">' in fair

    rng = np.random.default_rng(0)  # few labels fitted leave it uncertain and not alarmed
    y = np.arange(100) < 10
    calibrator = ScoreCalibrator("gaussian", random_state=0).fit(rng.normal(2.0 * y), y)
    many = rng.random(3000) < 0.14
    path = calibrator.report(tmp_path / "report.html", (rng.normal(2.0 * many), many))
    (topic,) = data_of(path)["topics"]
    assert topic["test"]["point"]["outcome"] == "uncertain"
    text = path.read_text(encoding="utf-8")
    assert '<div id="calibration" class="verdict unknown">' in text
    assert "Single values are off, but the bands may be right: fit more labels." in text


@pytest.mark.slow
def test_cells_of_many_documents_have_the_verdict_of_each():
    rng = np.random.default_rng(2)
    y = rng.random(200) < 0.2
    calibrator = ScoreCalibrator("gaussian", random_state=0).fit(rng.normal(2.0 * y), y)
    (problem,) = calibrator.fitted_problems().values()
    many = rng.random(6000) < 0.15
    scores = rng.normal(2.0 * many)
    cells = predict(problem, BinaryScores(scores, many)).cells
    assert cells.p.size < 2000
    assert cells.documents.sum() == 6000
    found = cells.verdict()
    drawn = calibrator.sample_proba(scores)[:: len(calibrator.sample_proba([0.0])) // 400]
    each = calibration_verdict(many, calibrator.predict_proba(scores)[:, 1], draws=drawn)
    assert found.outcome == each.outcome
    assert (found.documents, found.observed) == (each.documents, each.observed)
    assert found.pvalue == pytest.approx(each.pvalue, abs=0.1)  # of other draws
    assert found.pvalue_of_point == pytest.approx(each.pvalue_of_point, abs=0.03)
    for name, tolerance in (("expected", 1e-6), ("slope", 0.01), ("lower", 0.1), ("upper", 0.1)):
        assert getattr(found, name) == pytest.approx(getattr(each, name), rel=tolerance), name


def test_the_report_of_topics_counts_those_that_are_off(tmp_path):
    frame = make_topics()[["score", "label", "topic"]]
    calibrator = TopicCalibrator("none", "laplace", draws=20, random_state=0).fit(frame)
    moved = frame.assign(score=frame["score"] + np.where(frame["topic"] == "a", 4.0, 0.0))
    text = calibrator.report(tmp_path / "r.html", moved).read_text(encoding="utf-8")
    topics = {topic["name"]: topic for topic in data_of(tmp_path / "r.html")["topics"]}
    off = [name for name, each in topics.items() if not each["test"]["point"]["calibrated"]]
    assert off == ["a"]
    assert "1 of 4 topics are off at 5 %; by chance alone it would be 0.2" in " ".join(text.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with what `bayescal fit` wrote, and files of held-out scores."""
    path = tmp_path_factory.mktemp("verdicts")
    frame = make_frame(200)
    frame["split"] = np.where(np.arange(200) // 4 % 2 == 0, "train", "test")
    write(frame, path / "scores.csv")
    write(make_frame(200, seed=1), path / "fair.csv")
    rarer = make_frame(800, seed=1)
    write(rarer[(rarer["label"] == 0) | (rarer.index % 32 == 0)], path / "moved.csv")
    write(make_topics(), path / "topics.csv")
    mle = ("--inference", "mle", "--out")
    run("fit", path / "topics.csv", "--topic-column", "topic", *mle, path / "apart")
    result = run("fit", path / "scores.csv", *mle, path / "one")
    (path / "one.txt").write_text(result.stdout)
    return path


@pytest.mark.slow
def test_fit_gives_a_verdict_on_test_rows(folder):
    assert "Are the probabilities right?" in (folder / "one.txt").read_text()
    (topic,) = summary_of(folder / "one")["topics"]
    assert topic["verdict"]["documents"] == 100
    assert topic["verdict"]["text"].startswith("Probabilities against held-out labels")
    assert summary_of(folder / "apart")["topics"][0]["verdict"] is None


@pytest.mark.slow
def test_predict_gives_a_verdict_on_labelled_scores(folder, tmp_path):
    out = ("--out", tmp_path / "p.csv")
    plain = run("predict", folder / "one", folder / "fair.csv", *out)
    assert "Are the probabilities right?" not in plain.stdout
    fair = run("predict", folder / "one", folder / "fair.csv", "--test", *out)
    assert " no sign" in fair.stdout
    moved = run("predict", folder / "one", folder / "moved.csv", "--test", *out)
    assert "by base rate" in moved.stdout
    assert "All odds are too large by about the same factor" in moved.stdout
    mended = run("predict", folder / "one", folder / "moved.csv", "--test", "--prior", "0.01", *out)
    assert mended.stdout != moved.stdout
    piped = run("predict", folder / "one", folder / "moved.csv", "--test")
    assert piped.stdout.startswith("document,score,label,probability")
    assert "by base rate" in piped.stderr
    assert "by base rate" not in piped.stdout
    quiet = run("predict", folder / "one", folder / "moved.csv", "--test", "--quiet")
    assert quiet.stderr == ""


def test_predict_gives_a_verdict_on_topics(folder, tmp_path):
    out = ("--topic-column", "topic", "--test", "--out", tmp_path / "p.csv")
    result = run("predict", folder / "apart", folder / "topics.csv", *out)
    assert "of 4 topics are off, where 0.2 would be by chance" in result.stdout
    assert "\nall " in result.stdout


def test_predict_needs_labels_that_the_calibrator_knows(folder):
    arguments = ("predict", folder / "one", folder / "fair.csv", "--test", "--label-column")
    assert "no column 'none'" in run(*arguments, "none", code=2).stderr
    told = run(*arguments, "document", code=2).stderr
    assert "must hold the labels that were fitted, '0' and '1', got '000', '001'" in told
