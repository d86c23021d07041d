"""Likelihood ratios in pictures, in reports and in the shell."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.figure import Figure
from scipy import stats

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.cli.scores import read_scores
from bayescal.likelihood_ratio import (
    cllr,
    cross_validated,
    elub,
    empirical_cross_entropy,
    likelihood_ratios,
    min_cllr,
    source_bounds,
    source_weights,
    validate,
)
from bayescal.plots import (
    ConsistencyDisplay,
    CrossEntropyDisplay,
    LikelihoodRatioDisplay,
    PavDisplay,
    TippettDisplay,
)
from bayescal.report import write_report, write_validation
from tests.browser import browser, opened
from tests.cli_tools import run
from tests.report_data import data_of
from tests.test_likelihood_ratio_validation import all_pairs


@pytest.fixture(scope="module")
def pairs():
    """Return all pairs of items of twelve sources, with LRs."""
    scores, same, a, b = all_pairs(12, items=3, noise=0.3)
    return same, 0.8 + scores, (a, b)


@pytest.fixture(scope="module")
def calibrator():
    rng = np.random.default_rng(0)
    label = np.repeat([1, 0], [30, 60])
    return ScoreCalibrator(draws=100, random_state=0).fit(2.0 * label + rng.normal(size=90), label)


def test_tippett_curves_are_shares_of_larger_ratios(pairs, ax):
    same, log10_lr, sources = pairs
    display = TippettDisplay.from_predictions(same, log10_lr, sources=sources, ax=ax)
    for line, truth in zip(display.lines_, (~same, same), strict=True):
        x, y = line.get_data()
        np.testing.assert_allclose(y, [(log10_lr[truth] > t).mean() for t in x])
    data = display.data
    assert ((data["positive_lower"] <= data["positive"]) & (data["positive"] <= 1.0)).all()
    wide = TippettDisplay.from_predictions(same, log10_lr, ax=ax).data
    middle = len(wide["log10_lr"]) // 2
    gaps = [(each["negative_upper"] - each["negative_lower"])[middle] for each in (data, wide)]
    assert gaps[0] > gaps[1]


def test_tippett_of_misleading_ratios(pairs, ax):
    same, log10_lr, _ = pairs
    display = TippettDisplay.from_predictions(same, log10_lr, kind=2, ax=ax, legend=False)
    x, y = display.lines_[1].get_data()
    np.testing.assert_allclose(y, [(log10_lr[same] < t).mean() for t in x])
    assert ax.get_legend() is None
    with pytest.raises(ValueError, match="kind must be 1 or 2, got 3"):
        TippettDisplay.from_predictions(same, log10_lr, kind=3, ax=ax)


def test_curves_of_independent_comparisons_have_the_intervals_of_jeffreys(ax):
    rng = np.random.default_rng(2)
    y = np.arange(90) < 30
    log10_lr = np.round(np.where(y, 0.5, -0.4) + 0.6 * rng.normal(size=90), 1)
    data = TippettDisplay.from_predictions(y, log10_lr, level=0.8, ax=ax).data
    for truth, name, n in ((y, "positive", 30), (~y, "negative", 60)):
        share = (log10_lr[truth] > data["log10_lr"].values[:, None]).mean(axis=1)
        # A mean of n has the standard error of n - 1 documents; of equal ones there are n.
        size = np.where((share > 0.0) & (share < 1.0), n - 1.0, n)
        posterior = stats.beta(size * share + 0.5, size * (1.0 - share) + 0.5)
        lower = np.where(share == 0.0, 0.0, posterior.ppf(0.1))
        upper = np.where(share == 1.0, 1.0, posterior.ppf(0.9))
        np.testing.assert_allclose(data[name], share)
        np.testing.assert_allclose(data[f"{name}_lower"], lower)
        np.testing.assert_allclose(data[f"{name}_upper"], upper)
    data = ConsistencyDisplay.from_predictions(y, log10_lr, level=0.8, ax=ax).data
    assert data.sizes["bin"] == 30 // 5
    edges = np.r_[0, np.cumsum(data["comparisons"])]
    order = np.argsort(log10_lr, kind="stable")
    for k in range(6):
        rows = order[edges[k] : edges[k + 1]]
        own = [np.count_nonzero(y[rows] == side) for side in (True, False)]
        weight = np.where(y[rows], 1 / 30, 1 / 60)
        assert data["stated"][k] == pytest.approx(np.average(log10_lr[rows], weights=weight))
        shares = [
            stats.beta((n - 1) * j / n + 0.5, (n - 1) * (1 - j / n) + 0.5)
            if 0 < j < n
            else stats.beta(j + 0.5, n - j + 0.5)
            for j, n in zip(own, (30, 60), strict=True)
        ]
        observed = np.log10(shares[0].mean() / shares[1].mean())
        assert data["observed"][k] == pytest.approx(observed)
        drawn = [np.log10(each.rvs(20_000, random_state=0)) for each in shares]
        ends = np.quantile(drawn[0] - rng.permutation(drawn[1]), [0.1, 0.9])
        np.testing.assert_allclose([data["lower"][k], data["upper"][k]], ends, atol=0.1)


def test_pav_has_infinities_at_the_edges(ax):
    y = [0, 0, 1, 0, 1, 1]
    display = PavDisplay.from_predictions(y, [-2.0, -1.0, 0.0, 0.5, 1.0, np.inf], ax=ax)
    np.testing.assert_allclose(display.data["pav"], [-np.inf, -np.inf, 0.0, 0.0, np.inf, np.inf])
    np.testing.assert_array_equal(display.data["negatives"], [1, 1, 0, 1, 0, 0])
    np.testing.assert_array_equal(display.data["positives"], [0, 0, 1, 0, 1, 1])
    assert display.data.attrs["devpav"] == 0.25
    np.testing.assert_array_equal(display.line_.get_xdata(), [0.0, 0.5])
    low, high = (line.get_ydata() for line in display.edges_)
    assert (low < -2.0).all()
    assert (high > 1.0).all()
    below, above = (line.get_xdata() for line in display.edges_)
    np.testing.assert_array_equal(below, [-2.0, -1.0])
    assert above[0] == 1.0
    assert ax.get_ylim()[0] < low[0] < high[0] < ax.get_ylim()[1]


def test_cross_entropy_is_cllr_at_even_odds(pairs, ax):
    same, log10_lr, _ = pairs
    odds = [-1.0, 0.0, 2.0]
    display = CrossEntropyDisplay.from_predictions(same, log10_lr, log10_prior_odds=odds, ax=ax)
    stated, best, neutral = (line.get_ydata() for line in display.lines_)
    assert stated[1] == pytest.approx(cllr(same, log10_lr))
    assert best[1] == pytest.approx(min_cllr(same, log10_lr))
    assert neutral[1] == pytest.approx(1.0)
    np.testing.assert_allclose(stated, empirical_cross_entropy(same, log10_lr, odds))
    low, high = ax.get_ylim()
    assert low == 0.0
    assert max(1.0, min(stated.max(), 2.0)) < high <= 2.5


def test_consistency_compares_shares_of_bins(pairs, ax):
    same, log10_lr, sources = pairs
    display = ConsistencyDisplay.from_predictions(same, log10_lr, sources=sources, bins=4, ax=ax)
    data = display.data
    assert data["comparisons"].sum() == same.size
    assert data.sizes["bin"] == 4
    edges = data["comparisons"].values.cumsum()[:-1]
    order = np.argsort(log10_lr, kind="stable")
    half = [np.cumsum(k[order]) / k.sum() for k in (same, ~same)]
    np.testing.assert_allclose(((half[0] + half[1]) / 2)[edges - 1], [0.25, 0.5, 0.75], atol=0.03)
    assert ((data["lower"] < data["observed"]) & (data["observed"] < data["upper"])).all()


def test_ratio_against_score(calibrator, ax):
    display = LikelihoodRatioDisplay.from_estimator(calibrator, ax=ax)
    data = display.data
    expected = likelihood_ratios(calibrator, data["score"].values)
    np.testing.assert_allclose(data["log10_lr"], expected.log10)
    np.testing.assert_allclose(data["upper"], expected.upper)
    own = likelihood_ratios(calibrator, data["document_score"].values).log10
    np.testing.assert_allclose(data["elub"], elub(data["label"].values, own))
    assert [len(rug.get_xdata()) for rug in display.rugs_] == [60, 30]
    assert len(display.bounds_) == 4
    plain = LikelihoodRatioDisplay.from_estimator(
        calibrator, ax=Figure().subplots(), bounds=False, ticks=False, legend=False
    )
    assert (plain.bounds_, plain.rugs_, plain.ax_.get_legend()) == ([], [], None)


def test_ratio_against_probabilities_and_of_topics(ax):
    rng = np.random.default_rng(0)
    label = np.arange(120) % 2
    p = 1.0 / (1.0 + np.exp(-(2.0 * label - 1.0 + rng.normal(size=120))))
    calibrator = ScoreCalibrator(scores_are="probabilities", draws=50, random_state=0).fit(p, label)
    display = LikelihoodRatioDisplay.from_estimator(calibrator, ax=ax)
    scores = display.data["score"].values
    assert ((scores > 0.0) & (scores < 1.0)).all()
    assert ax.get_xscale() == "logit"
    expected = likelihood_ratios(calibrator, scores).log10
    np.testing.assert_allclose(display.data["log10_lr"], expected, atol=1e-9)
    topics = TopicCalibrator(draws=50, scores_are="probabilities", random_state=0)
    topics.fit(p, label, np.repeat(["a", "b"], 60))
    shown = LikelihoodRatioDisplay.from_estimator(topics, topic="b", ax=Figure().subplots())
    assert shown.bounds_ == []


@pytest.mark.slow
def test_displays_are_drawn_again_from_their_data(pairs, calibrator, tmp_path):
    same, log10_lr, sources = pairs
    made = [
        TippettDisplay.from_predictions(same, log10_lr, sources=sources, ax=Figure().subplots()),
        PavDisplay.from_predictions(same, log10_lr, ax=Figure().subplots()),
        CrossEntropyDisplay.from_predictions(same, log10_lr, ax=Figure().subplots()),
        ConsistencyDisplay.from_predictions(same, log10_lr, ax=Figure().subplots()),
        LikelihoodRatioDisplay.from_estimator(calibrator, ax=Figure().subplots()),
    ]
    for k, display in enumerate(made):
        path = tmp_path / f"{k}.nc"
        display.data.to_netcdf(path, engine="h5netcdf")
        again = type(display)(xr.load_dataset(path, engine="h5netcdf"))
        again.plot(ax=Figure().subplots())
        assert again.ax_.get_ylabel() == display.ax_.get_ylabel()
        assert again.ax_.get_ylim() == pytest.approx(display.ax_.get_ylim())


@pytest.mark.slow
def test_validation_page(pairs, tmp_path):
    same, _, sources = pairs
    scores = all_pairs(12, items=3, noise=0.3)[0]
    labels = np.where(same, "same", "<b>other</b>")
    quick = ScoreCalibrator(draws=50, random_state=0, positive="same")
    ratios = cross_validated(quick, scores, labels, sources=sources, folds=3, rng=0)
    path = write_validation(
        tmp_path / "validation.html", same, ratios, sources=sources, run={"Run": {"seed": "0"}}
    )
    text = path.read_text(encoding="utf-8")
    found = validate(same, ratios.log10, sources=sources, rng=0)
    for each in (found.cllr, found.min_cllr, found.cal_cllr):
        assert f'<td class="number">{each.value:.3f}</td>' in text
        assert f"{each.lower:.3f} to {each.upper:.3f}" in text
    assert "of 12 sources" in text
    beyond = sum("range" in each for each in ratios.beyond)
    assert f"Scores beyond those fitted in {beyond} cases" in text
    assert "<b>other</b>" not in text
    figures = data_of(path)["evidence"]
    titles = [figure["title"] for figure in figures]
    assert [title.split()[0] for title in titles] == ["Shares", "Stated", "Empirical"]
    entropy = figures[2]["series"][0]
    at = entropy["x"].index(0)
    assert entropy["y"][at] == pytest.approx(found.cllr.value, rel=1e-3)
    wrong = ratios.log10.copy()
    wrong[np.flatnonzero(~same)[0]] = 40.0
    with pytest.warns(UserWarning, match="devPAV depends on few comparisons") as caught:
        write_validation(path, same, replace(ratios, log10=wrong), sources=sources)
    assert f"<li>{caught[0].message}</li>" in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_report_has_the_section_if_asked(calibrator, tmp_path):
    rng = np.random.default_rng(1)
    label = np.repeat([1, 0], 40)
    test = 2.0 * label + rng.normal(size=80), label
    plain, asked = tmp_path / "plain.html", tmp_path / "asked.html"
    calibrator.report(plain, test)
    calibrator.report(asked, test, likelihood_ratio=True)
    assert "Weight of evidence" not in plain.read_text(encoding="utf-8")
    text, figures = asked.read_text(encoding="utf-8"), data_of(asked)["evidence"]
    expected = cllr(label, likelihood_ratios(calibrator, test[0]).log10)
    assert f'<td class="number">{expected:.3f}</td>' in text
    assert "Comparisons are taken as independent" in text
    assert len(figures) == 3
    pav = figures[1]
    shown = np.concatenate([each[axis] for each in pav["series"] for axis in ("x", "y")])
    (low, high), reach = pav["x"], np.ptp(shown)
    assert pav["y"] == pav["x"]
    assert low < shown.min() < low + 0.1 * reach
    assert high - 0.1 * reach < shown.max() < high
    with pytest.raises(ValueError, match="likelihood_ratio=True needs test"):
        write_report(calibrator, asked, likelihood_ratio=True)


@pytest.mark.docs
def test_a_browser_draws_the_figures(pairs, calibrator, tmp_path):
    rng = np.random.default_rng(1)
    label = np.repeat([1, 0], 40)
    test = 2.0 * label + rng.normal(size=80), label
    ratios = likelihood_ratios(calibrator, test[0])
    alone = write_validation(tmp_path / "alone.html", label, ratios)
    section = calibrator.report(tmp_path / "report.html", test, likelihood_ratio=True)
    plain = calibrator.report(tmp_path / "plain.html", test)
    with browser() as chromium:
        for path, figures in ((alone, 3), (section, 3), (plain, 0)):
            with opened(chromium, path) as page:
                drawn = page.locator("#evidence-figures figure svg.chart")
                assert drawn.count() == figures
                if figures:
                    page.locator("#evidence-figures summary").first.click()
                    heads = page.locator("#evidence-figures th").all_inner_texts()
                    assert heads[:3] == ["log10 LR", "0", "1"]
                    lines = page.locator("#evidence-figures figure").nth(2).locator("path.line")
                    assert lines.count() == 3
                    # LR = 1 is marked in the first figure.
                    first = page.locator("#evidence-figures figure").first
                    assert first.locator("svg.chart line.diagonal").count() == 1


def test_bad_ratios_are_said(tmp_path, calibrator):
    ratios = likelihood_ratios(calibrator, [0.0, 1.0, 2.0, 3.0])
    with pytest.warns(UserWarning, match="natural logarithms"):
        page = write_validation(tmp_path / "v.html", [1, 1, 0, 0], ratios)
    assert "These LRs are worse than LR = 1 for every comparison" in page.read_text("utf-8")
    with pytest.raises(TypeError, match=r"must be LikelihoodRatios.* got an object of type"):
        write_validation(tmp_path / "array.html", [1, 1, 0, 0], ratios.log10)
    assert not (tmp_path / "array.html").exists()


@pytest.fixture(scope="module")
def glass_like(tmp_path_factory):
    scores, same, a, b = all_pairs(9, items=3, noise=0.3)
    frame = pd.DataFrame({"score": scores, "label": np.where(same, "same", "other")})
    path = tmp_path_factory.mktemp("lr") / "pairs.csv"
    frame.assign(a=[f"pane {k}" for k in a], b=[f"pane {k}" for k in b]).to_csv(path, index=False)
    return path


LR = ("--folds", "3", "--draws", "30", "--positive", "same")


@pytest.mark.slow
def test_lr_validates_by_source(glass_like, tmp_path):
    page, table = tmp_path / "validation.html", tmp_path / "ratios.csv"
    result = run("lr", glass_like, "--source-columns", "a,b", *LR, "--out", page, "--ratios", table)
    assert (
        "27 comparisons of the positive and 324 of the negative proposition of 9" in result.stdout
    )
    frame = pd.read_csv(table)
    found = validate(frame["label"] == "same", frame["log10_lr"], sources=(frame["a"], frame["b"]))
    assert f"Cllr: {found.cllr.value:.3f} ({found.cllr.lower:.3f} to" in result.stdout
    assert "Weight of evidence" in page.read_text(encoding="utf-8")
    assert set(frame["support"].dropna()) & {"weak support for same", "no support"}
    assert (frame["log10_lr_lower"] <= frame["log10_lr_upper"]).all()


@pytest.mark.slow
def test_lr_takes_distances(glass_like, tmp_path, monkeypatch):
    monkeypatch.setattr("bayescal.cli.terminal.WIDTH_OF_FILES", 2_000)
    frame = pd.read_csv(glass_like)
    frame["score"] = -frame["score"]
    distances = tmp_path / "distances.csv"
    frame.to_csv(distances, index=False)
    options = ("--source-columns", "a,b", *LR)
    plain = run("lr", glass_like, *options).stdout
    found = run("lr", distances, *options, "--lower-is-positive").stdout
    assert str(distances) in found
    assert found.replace(str(distances), str(glass_like)) == plain


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--source-columns", "a"), "--source-columns must name two columns"),
        (("--source-columns", "a,a"), "--source-columns must name two columns"),
        (("--source-columns", "a,c"), "has no column 'c'"),
        (("--source-columns", "a,b", "--positive", "other"), "exactly where the two sources are"),
        (("--folds", "1"), "--folds must be at least 2, got 1"),
        (("--level", "90"), "--level must lie between 0 and 1"),
        (("--support", "words"), "--support must be one of 'enfsi', 'none'"),
        (("--out", "page.csv"), "--out must end in .html or .htm"),
        (("--label-column", "a"), "must hold two classes, got 9 classes"),
    ],
)
def test_lr_names_wrong_options(glass_like, options, message):
    result = run("lr", glass_like, *LR, *options, code=2)
    assert re.search(message, result.stderr.replace("\n", " "))


@pytest.mark.slow
def test_predict_adds_likelihood_ratios(tmp_path):
    rng = np.random.default_rng(0)
    label = np.repeat([1, 0], [20, 40])
    frame = pd.DataFrame({"score": 2.0 * label + rng.normal(size=60), "label": label})
    frame = frame.assign(a=np.arange(60) % 7, b=(np.arange(60) + (label == 0)) % 7)
    scores, out = tmp_path / "scores.csv", tmp_path / "out.csv"
    frame.to_csv(scores, index=False)
    folder = tmp_path / "fit"
    noted = run("fit", scores, "--draws", "50", "--out", folder)
    assert "a and b agree exactly in the positive rows" in noted.stdout.replace("\n", " ")
    ratios = "predict", folder, scores, "--likelihood-ratio"
    warned = run(*ratios, "--level", "0.8", "--out", out)
    assert "Fit again with --source-columns a,b." in warned.stderr
    import bayescal

    fitted = bayescal.load(folder / "posterior.nc")
    expected = likelihood_ratios(fitted, frame["score"], 0.8)
    table = pd.read_csv(out)
    np.testing.assert_allclose(table["log10_lr"], expected.log10)
    np.testing.assert_allclose(table["log10_lr_lower"], expected.lower)
    np.testing.assert_allclose(table["log10_lr_upper"], expected.upper)
    assert table["support"].tolist() == expected.support.tolist()
    assert table["beyond"].fillna("").tolist() == expected.beyond.tolist()
    assert table["sentence"].tolist() == expected.text.splitlines()
    ends = ["log10_lr_least", "log10_lr_largest"]
    np.testing.assert_allclose(table[ends], [expected.largest] * len(table))
    run(*ratios, "--support", "none", "--bounds", "sources", "--out", out)
    bounded = pd.read_csv(out)
    assert "support" not in bounded
    np.testing.assert_allclose(bounded[ends], [source_bounds(40, 20)] * len(table))
    assert bounded["log10_lr"].between(*source_bounds(40, 20)).all()
    again = run("predict", folder, out, "--likelihood-ratio", code=2)
    assert "has a column 'log10_lr', which the output adds" in again.stderr
    run("fit", scores, "--inference", "mle", "--out", folder)
    refused = run(*ratios, code=2)
    assert "--likelihood-ratio: likelihood ratios need a combination" in refused.stderr


def test_fit_weighs_comparisons_by_their_sources(glass_like, tmp_path):
    arguments = {"score_column": "score", "label_column": "label", "positive": "same"}
    table = read_scores(glass_like, {**arguments, "source_columns": "a,b"})
    names = table.frame["a"].to_numpy(), table.frame["b"].to_numpy()
    found = table.weights(table.fit_rows)["sample_weight"]
    np.testing.assert_array_equal(found, source_weights(table.positive, *names))
    assert table.unnamed_sources is None
    unnamed = read_scores(glass_like, {**arguments, "source_columns": None})
    assert unnamed.unnamed_sources == ("a", "b")
    typed = pd.read_csv(glass_like, dtype=str)
    typed["a"], typed["b"] = "s" + typed["a"], "S" + typed["b"] + " "
    typed.to_csv(tmp_path / "typed.csv", index=False)
    typed = read_scores(tmp_path / "typed.csv", {**arguments, "source_columns": None})
    assert typed.unnamed_sources == ("a", "b")
    assert unnamed.weights(unnamed.fit_rows)["sample_weight"] is None
    both = run("fit", glass_like, "--source-columns", "a,b", "--cluster-column", "a", code=2)
    assert "--source-columns weighs the rows by itself" in both.stderr.replace("\n", " ")


def test_columns_that_are_no_sources_are_not_named(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"score": rng.normal(size=60), "a": rng.permutation(60), "b": 0})
    frame["c"] = frame["a"].where(frame["score"] > 0.0, frame["a"] + 60)
    frame["label"] = (frame["score"] > 0.0).astype(int)  # no name of a or c repeats
    path = tmp_path / "scores.csv"
    frame.to_csv(path, index=False)
    arguments = {"score_column": "score", "label_column": "label", "positive": "1"}
    assert read_scores(path, {**arguments, "source_columns": None}).unnamed_sources is None
