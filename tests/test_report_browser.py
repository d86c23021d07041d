"""Reports in a real browser: they open without network, sort, search, compute, and stay safe."""

import re
from pathlib import Path

import numpy as np
import pytest

from bayescal import ScoreCalibrator, TopicCalibrator, report
from bayescal.report import write_report
from tests import browser as browsers
from tests.browser import opened
from tests.report_data import HOSTILE, as_number, data_of, make_problem, make_topics

pytestmark = [pytest.mark.docs, pytest.mark.one_era]
MINUS = "\N{MINUS SIGN}"
DESKTOP = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    """Return a calibrator of one problem with its report."""
    scores, labels = make_problem(200, seed=1)
    calibrator = ScoreCalibrator(random_state=0, draws=300).fit(scores, labels)
    path = tmp_path_factory.mktemp("single") / "report.html"
    return calibrator, scores, write_report(calibrator, path, test=make_problem(500, seed=2))


@pytest.fixture(scope="module")
def topics(tmp_path_factory):
    """Return a calibrator of topics, one with a hostile name, with its report."""
    frame = make_topics()
    calibrator = TopicCalibrator(random_state=0, draws=250).fit(frame)
    test = make_topics(seed=1)
    path = tmp_path_factory.mktemp("topics") / "report.html"
    write_report(calibrator, path, test=test[test["topic"] != "crude"], fitted=frame)
    return calibrator, frame, path


@pytest.mark.parametrize(
    ("variable", "outcome"), [("CI", pytest.fail.Exception), ("OTHER", pytest.skip.Exception)]
)
def test_without_a_browser_ci_fails(variable, outcome, monkeypatch):
    for name in browsers.REQUIRED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "1")
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(outcome, match="there is no chromium"):
        browsers.chromium()


@pytest.fixture(scope="module")
def rare(tmp_path_factory):
    """Return the report of a class that hardly any document has, with a collection."""
    rng = np.random.default_rng(0)

    def make(n):
        labels = (rng.random(n) < 0.02).astype(int)
        return rng.normal(0.7 * labels), labels

    calibrator = ScoreCalibrator("gaussian", random_state=0, draws=200).fit(*make(3000))
    path = tmp_path_factory.mktemp("rare") / "report.html"
    return write_report(calibrator, path, test=make(3000), collection=make(1000)[0])


@pytest.mark.parametrize("viewport", [DESKTOP, {"width": 1366, "height": 660}])
@pytest.mark.parametrize("which", ["single", "topics", "rare"])
def test_the_first_curve_stands_on_the_first_screen(chromium, which, viewport, request):
    found = request.getfixturevalue(which)
    with opened(chromium, found[-1] if which != "rare" else found, viewport=viewport) as page:
        box = page.locator("svg.chart").first.bounding_box()
        assert page.locator("svg.chart path.band").first.is_visible()
        assert 0 < box["y"] < box["y"] + box["height"] < viewport["height"]


def test_the_glossary_folds_away_and_is_printed(chromium, single):
    with opened(chromium, single[-1], viewport=DESKTOP) as page:
        definition = page.locator("#words dt", has_text="Base rate")
        assert not definition.is_visible()
        page.click("#words summary")
        assert definition.is_visible()
        page.click("#words summary")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert definition.is_visible()


TEXTS = """[...document.querySelectorAll("body *:not(script):not(style)")]
  .flatMap((each) => [...each.childNodes])
  .filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data).join(" ")"""


@pytest.mark.parametrize("which", ["single", "topics", "rare"])
def test_no_text_is_a_value_that_is_missing(chromium, which, request):
    fixture = request.getfixturevalue(which)
    with opened(chromium, fixture if which == "rare" else fixture[2]) as page:
        text = page.evaluate(TEXTS)
    assert "What each part says" in text or which == "rare"
    assert re.findall(r"NaN|undefined|Infinity|\[object .*", text) == []


def test_shares_are_in_per_cent_and_documents_are_counted(chromium, rare):
    with opened(chromium, rare, viewport=DESKTOP) as page:
        shown = page.inner_text("#summary") + page.inner_text("#decisions")
        assert re.search(r"[1-9]\.\d{4,}|\d{6}", shown) is None
        for where in ("#own-recall", "#own-taken", "#fpr", "#miss", "#threshold-probability"):
            assert page.inner_text(where).endswith(" %")
        rows = page.locator("#collection tbody tr").all_inner_texts()
        assert any(re.match(r"Documents to read\s+[\d,]+\s+[\d,]+$", row) for row in rows)


def test_the_reliability_of_a_rare_class_fills_its_axes(chromium, rare):
    with opened(chromium, rare, viewport=DESKTOP) as page:
        figure = page.locator("figure", has_text="reliability")
        frame = figure.locator("clipPath rect")
        for centre, size in (("cx", "width"), ("cy", "height")):
            at = figure.locator(".chart circle.dot.posterior").evaluate_all(
                f"(all) => all.map((each) => Number(each.getAttribute('{centre}')))"
            )
            assert np.ptp(at) > 0.3 * float(frame.get_attribute(size))


SHOWN = {
    "format(2)": "2",
    "format(1234)": "1234",
    "format(12345)": "12,345",
    "format(1234.5)": "1235",
    "format(12.345)": "12.3",
    "format(0.5, 2)": "0.50",
    "format(-1.5)": f"{MINUS}1.50",
    "format(0)": "0",
    "format(0.00009)": f"9.00e{MINUS}5",
    "format(0.0001)": "0.000100",
    "format(1e6)": "1.00e6",
    "format(null)": "\N{EN DASH}",
    "format(-Infinity)": f"{MINUS}\N{INFINITY}",
    "formatShare(0.5)": "50 %",
    "formatShare(0.09)": "9.0 %",
    "formatShare(0.095)": "10 %",
    "formatShare(0.005)": "0.50 %",
    "formatShare(0.995)": "99.50 %",
    "formatShare(1)": "100 %",
    "formatShare(NaN)": "\N{EN DASH}",
    "quantile([1, 2, 4, 8], 0.5)": 3,
    "quantile([1, 2, 4, 8], 1)": 8,
    "quantile([-Infinity, -Infinity, 0], 0.25)": -np.inf,
    "quantile([-Infinity, 1, 2], 0.25)": -np.inf,
    "quantile([1, Infinity], 0.5)": np.inf,
    "quantile([1, Infinity], 0)": 1,
    "quantile([Infinity, Infinity], 0.5)": np.inf,
    "mean([1, 2, 6])": 3,
}


def test_numbers_are_shown_with_the_digits_that_matter(chromium, single):
    source = Path(report.__file__).with_name("page").joinpath("numbers.js").read_text("utf-8")
    with opened(chromium, single[-1]) as page:
        values = page.evaluate(f"(() => {{ {source}\nreturn [{', '.join(SHOWN)}]; }})()")
    assert dict(zip(SHOWN, values, strict=True)) == SHOWN


def test_numbers_of_a_csv_file_are_those_that_spreadsheets_and_pandas_read(chromium, single):
    source = Path(report.__file__).with_name("page").joinpath("tables.js").read_text("utf-8")
    rows = '[["a", null, NaN, Infinity, -Infinity, 1.5, "=1"]]'
    with opened(chromium, single[-1]) as page:
        text = page.evaluate(f"(() => {{ {source}\nreturn csv(['h'], {rows}); }})()")
    assert text == "h\r\na,,,inf,-inf,1.5,'=1\r\n"


def luminance(colour):
    channel = np.array(colour) / 255.0
    linear = np.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    """Return the contrast of two colours by WCAG, from 1 to 21."""
    darker, lighter = sorted([luminance(one), luminance(other)])
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize(("scheme", "least"), [("light", 1.2), ("dark", 2.0)])
def test_bands_are_seen_and_lines_are_seen_on_them(chromium, single, scheme, least):
    style = "(each) => { const s = getComputedStyle(each); return [s.fill, s.stroke, s.opacity]; }"
    numbers = lambda text: np.array(re.findall(r"\d+", text)[:3], dtype=float)  # noqa: E731
    with opened(chromium, single[-1], color_scheme=scheme, viewport=DESKTOP) as page:
        paper = numbers(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        for kind in ("posterior", "precision", "recall"):
            fill, _, opacity = page.locator(f"path.band.{kind}").first.evaluate(style)
            line = numbers(page.locator(f"path.line.{kind}").first.evaluate(style)[1])
            band = float(opacity) * numbers(fill) + (1.0 - float(opacity)) * paper
            assert contrast(band, paper) > least, kind
            assert contrast(line, band) > 1.8, kind


def test_names_that_spreadsheets_would_run_are_text_in_csv(chromium, single):
    with opened(chromium, single[-1]) as page:
        text = javascript(page, "csv")(["topic", "x"], [["=1+1", -2.5], ["@a", "-2"], ["-b", None]])
    assert text == "topic,x\r\n'=1+1,-2.5\r\n'@a,-2\r\n'-b,\r\n"


def javascript(page, name):
    """Return a function of the page's scripts, which hide their names, to call from here."""
    folder = Path(__file__).parent.parent / "bayescal/report/page"
    files = ("numbers", "svg", "tables", "decisions")
    source = "\n".join((folder / f"{each}.js").read_text(encoding="utf-8") for each in files)

    def call(*arguments):
        body = f"(given) => {{ {source}; return {name}(...given); }}"
        return page.evaluate(body, list(arguments))

    return call


def test_the_share_of_a_stretch_above_a_threshold_is_counted(chromium, single):
    rng = np.random.default_rng(0)
    t = (np.arange(20_000) + 0.5) / 20_000
    with opened(chromium, single[-1]) as page:
        share = javascript(page, "shareAbove")
        for a, b, threshold in [*rng.normal(size=(12, 3)), (1.0, 1.0, 0.5), (1.0, 1.0, 2.0)]:
            expected = ((1.0 - t) * a + t * b > threshold).mean()
            assert share(float(a), float(b), float(threshold)) == pytest.approx(expected, abs=1e-4)
        # What lies on the threshold is not above it.
        assert share(1.0, 1.0, 1.0) == 0
        assert share(0.0, 1.0, 1.0) == 0
        curve, threshold = rng.normal(size=9), 0.2
        found = javascript(page, "calledPositive")(curve.tolist(), threshold)
        fine = np.linspace(-0.5, 0.5, 4001)
        for j, value in enumerate(found):
            at = j + fine[(j + fine >= 0) & (j + fine <= 8)]
            expected = (np.interp(at, np.arange(9), curve) > threshold).mean()
            assert value == pytest.approx(expected, abs=1e-3)


def test_a_cut_takes_the_share_that_is_wanted(chromium, single):
    rng = np.random.default_rng(1)
    x, weights = np.cumsum(rng.random(8)), rng.random(8)
    with opened(chromium, single[-1]) as page:
        cut, called = javascript(page, "cutFromAbove"), javascript(page, "calledPositive")
        for wanted in (0.1, 0.5, 0.93):
            at = cut(x.tolist(), weights.tolist(), wanted)
            taken = weights @ np.array(called(x.tolist(), at))
            assert taken == pytest.approx(wanted * weights.sum(), rel=1e-6)
        regions = javascript(page, "regionsAbove")
        found = regions([0, 1, 2, 3], [-1, 1, -3, 1], 0)
        assert found == [[0.5, 1.25], [2.75, float("inf")]]
        # The main threshold is that of the region with most documents.
        topic = {"x": [0, 1, 2, 3], "smooth": [0.1, 0.2, 0.1, 0.6]}
        main = javascript(page, "mainThreshold")
        assert main(topic, [[0.5, 1.25], [2.75, 9]]) == 2.75
        assert main(topic | {"smooth": [0.1, 0.6, 0.1, 0.2]}, [[0.5, 1.25], [2.75, 9]]) == 0.5
        # Costs are drawn around the least one while their bands, not their means, are below.
        upper, mean = [9, 2, 3, 2, 8, 1], [2, 2, 1, 2, 2, 2]
        costs = [{"cost": {"mean": m, "upper": u}} for m, u in zip(mean, upper, strict=True)]
        assert javascript(page, "stretchBelow")(costs, 3) == costs[1:4]


BY_THRESHOLD = """((data, costs) => {
  window.DATA = data;
  const [topic] = data.topics, all = outcomesByThreshold(topic, costs);
  const some = [0, 20, 40, all.length - 1].map((j) => all[j]);
  const called = (at) => outcomesOf(topic, topic.x.map((x) => (x > at ? 1 : 0)), costs);
  const numbers = (of) => ["cost", "precision", "recall"].map(of);
  return [
    some.map((each) => numbers((name) => each[name].mean)),
    some.map((each) => numbers((name) => mean(called(each.x)[name]))),
  ];
})"""


def test_outcomes_by_threshold_are_those_of_calling_documents(chromium, single):
    costs = {"falsePositive": 2, "falseNegative": 7, "prior": None}
    with opened(chromium, single[-1]) as page:
        found, expected = javascript(page, BY_THRESHOLD)(data_of(single[-1]), costs)
    np.testing.assert_allclose(np.array(found, float), np.array(expected, float), rtol=1e-6)
    assert found[0][2] > 0.9 > 0.1 > found[-1][2]


def number(page, where):
    return as_number(page.locator(where).inner_text())


def interval(page, where):
    return [as_number(end) for end in page.locator(where).inner_text().split(" to ")]


def wait_for_frame(page):
    """Wait until the page has drawn what controls changed, which it does once a frame."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


def set_costs(page, false_positive, false_negative, prior=None):
    page.fill("#cost-fp-value", str(false_positive))
    page.fill("#cost-fn-value", str(false_negative))
    page.set_checked("#prior-own", prior is None)
    if prior is not None:
        page.fill("#prior-value", str(prior))
    wait_for_frame(page)


def decisions(calibrator, scores, false_positive, false_negative, prior=None):
    """Return decisions from all draws at all documents, straight from their definitions."""
    limit = false_positive / (false_positive + false_negative)
    called = calibrator.predict_proba(scores, prior=prior)[:, 1] > limit
    positive = calibrator.sample_proba(scores)
    fpr = ((1 - positive) * called).sum(axis=1) / (1 - positive).sum(axis=1)
    miss = (positive * ~called).sum(axis=1) / positive.sum(axis=1)
    rate = positive.mean(axis=1) if prior is None else prior
    grid = np.linspace(scores.min(), scores.max(), 801)
    point = calibrator.predict_proba(grid, prior=prior)[:, 1]
    curves = calibrator.sample_proba(grid, prior=prior)
    return {
        "threshold": grid[np.argmax(point > limit)],
        "thresholds": grid[np.argmax(curves > limit, axis=1)],
        "cost": (1 - rate) * false_positive * fpr + rate * false_negative * miss,
        "fpr": fpr,
        "miss": miss,
    }


@pytest.mark.parametrize("costs", [(5, 1, None), (2, 1, 0.6)])
def test_decisions_are_those_of_the_calibrator(chromium, single, costs):
    calibrator, scores, path = single
    expected = decisions(calibrator, scores, *costs)
    reach = np.ptp(scores)
    with opened(chromium, path, viewport=DESKTOP) as page:
        set_costs(page, *costs)
        assert number(page, "#threshold-probability") == pytest.approx(
            costs[0] / (costs[0] + costs[1]), abs=0.006
        )
        assert number(page, "#threshold") == pytest.approx(expected["threshold"], abs=0.01 * reach)
        ends = np.quantile(expected["thresholds"], [0.05, 0.95])
        assert interval(page, "#threshold-band") == pytest.approx(ends, abs=0.05 * reach)
        # The page has a third of the draws, and shares out the document at the threshold: one of
        # the positives, which are a quarter of all.
        one = max(costs[:2]) / (0.25 * scores.size)
        for name in ("cost", "fpr", "miss"):
            sd = expected[name].std()
            middle, ends = expected[name].mean(), np.quantile(expected[name], [0.05, 0.95])
            assert number(page, f"#{name}") == pytest.approx(middle, abs=0.2 * sd + one)
            assert interval(page, f"#{name}-band") == pytest.approx(ends, abs=0.4 * sd + one)


def test_a_wrong_cost_would_be_noticed(chromium, single):
    calibrator, scores, path = single
    expected = decisions(calibrator, scores, 1, 5)
    with opened(chromium, path, viewport=DESKTOP) as page:
        set_costs(page, 5, 1)
        assert abs(number(page, "#cost") - expected["cost"].mean()) > 0.25 * expected["cost"].std()
        assert abs(number(page, "#threshold") - expected["threshold"]) > 0.01 * np.ptp(scores)


def test_sliders_move_by_the_keyboard(chromium, single):
    _, _, path = single
    with opened(chromium, path, viewport=DESKTOP) as page:
        before = number(page, "#cost"), number(page, "#threshold")
        page.focus("#cost-fp")
        for _ in range(35):
            page.keyboard.press("ArrowRight")
        wait_for_frame(page)
        assert page.input_value("#cost-fp-value") == "5.01"
        assert page.get_attribute("#cost-fp", "aria-valuetext") == "5.01"
        assert page.inner_text("#threshold-probability") == "83 %"
        assert number(page, "#threshold") > before[1]
        assert number(page, "#cost") > before[0]


def test_the_point_under_another_prior_is_the_calibrators(chromium, single):
    calibrator, _, path = single
    with opened(chromium, path, viewport=DESKTOP) as page:
        for prior in (0.02, 0.3, 0.9):
            set_costs(page, 1, 1, prior)
            found = number(page, "#threshold")
            (p,) = calibrator.predict_proba([found], prior=prior)[:, 1]
            assert p == pytest.approx(0.5, abs=0.02)


def names(page):
    return page.locator("#topics tbody tr:visible th").all_inner_texts()


def test_two_topics_are_several(chromium, tmp_path):
    frame = make_topics()
    frame = frame[frame["topic"].isin(["corn", "crude"])]
    fitted = TopicCalibrator(parts="gaussian", random_state=0, draws=100).fit(frame)
    with opened(chromium, write_report(fitted, tmp_path / "report.html")) as page:
        names = page.locator("#choose option").all_text_contents()
        assert sorted(names) == ["corn", "crude"]
        page.select_option("#choose", index=0)
        page.click("#next")
        assert page.inner_text("#topic-name") == names[1]


def test_a_hostile_name_is_text(chromium, topics):
    _, _, path = topics
    with opened(chromium, path, viewport=DESKTOP) as page:
        assert HOSTILE in names(page)
        page.click(f'#topics button:text-is("{HOSTILE}")')
        assert page.inner_text("#topic-name") == HOSTILE
        assert page.evaluate("document.activeElement.id") == "topic-heading"
        assert page.locator("script").count() == 2  # the data and the page's own
        page.click("#lay-out")
        assert page.locator("#all-topics article").count() == len(names(page))


def test_next_and_previous_go_through_all_topics_and_stop_at_the_ends(chromium, topics):
    _, _, path = topics
    with opened(chromium, path, viewport=DESKTOP) as page:
        expected = page.locator("#choose option").all_text_contents()
        page.select_option("#choose", index=0)
        page.click("#previous")
        found = [page.inner_text("#topic-name")]
        for _ in expected:
            page.click("#next")
            found.append(page.inner_text("#topic-name"))
        assert found == [*expected, expected[-1]]


def test_figures_have_names_and_tables(chromium, single):
    _, _, path = single
    with opened(chromium, path, viewport=DESKTOP) as page:
        figures = page.locator("figure")
        assert figures.count() == 6
        for figure in figures.all():
            assert figure.locator("svg[role=img]").get_attribute("aria-label")
            figure.locator("summary").click()
            figure.locator("table tbody tr").nth(2).wait_for()  # made when first opened
        unnamed = page.evaluate(
            "[...document.querySelectorAll('input, select, button')].filter((each) =>"
            " !each.textContent.trim() && !each.labels?.length && !each.ariaLabel).length"
        )
        assert unnamed == 0


def test_light_and_dark(chromium, single):
    _, _, path = single
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = "rgb(255, 255, 255)", "rgb(20, 24, 29)"
    with opened(chromium, path, color_scheme="dark") as page:
        assert page.evaluate(background) == dark
        page.click("text=Light")
        assert page.evaluate(background) == light
        page.click("[data-theme-choice=dark]")
        assert page.evaluate(background) == dark
        page.emulate_media(media="print")
        assert page.evaluate(background) == light
    with opened(chromium, path, color_scheme="light") as page:
        assert page.evaluate(background) == light


def test_without_a_posterior_there_is_no_band(chromium, tmp_path):
    calibrator = ScoreCalibrator(inference="mle").fit(*make_problem(100, seed=3))
    with opened(chromium, write_report(calibrator, tmp_path / "report.html")) as page:
        assert page.inner_text("#cost-band") == "no band"
        assert page.locator("#figures path.band").count() == 0
        limit = number(page, "#threshold")
        (p,) = calibrator.predict_proba([limit])[:, 1]
        assert p == pytest.approx(0.5, abs=0.02)


def test_curves_that_fall_have_several_regions(chromium, tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(2000) % 2
    scores = rng.normal(1.0 * labels, np.where(labels == 1, 2.0, 0.7))
    calibrator = ScoreCalibrator("gaussian", "mle").fit(scores, labels)
    fits = calibrator.mle_
    # Log-odds of two Gaussians are a parabola: its roots in closed form.
    parabola = np.log(fits.prior / (1 - fits.prior))
    for fit, sign in ((fits.positive, 1), (fits.negative, -1)):
        mu, sigma = fit.parameters["mu"], fit.parameters["sigma"]
        square = np.array([1.0, -2.0 * mu, mu**2]) / (2 * sigma**2)
        parabola = np.polysub(parabola, sign * np.polyadd(square, np.log(sigma)))
    low, high = np.sort(np.roots(parabola))
    with opened(chromium, write_report(calibrator, tmp_path / "report.html")) as page:
        text = page.inner_text("#regions").replace(MINUS, "-")
        found = re.fullmatch(r"below (\S+), and above (\S+)", text)
        assert [float(end) for end in found.groups()] == pytest.approx([low, high], abs=0.02)
