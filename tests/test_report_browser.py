"""Reports in a real browser: they open without network, sort, search, compute, and stay safe."""

import re
from pathlib import Path

import numpy as np
import pytest

from bayescal import ScoreCalibrator, TopicCalibrator, report
from bayescal.report import write_report
from tests import browser as browsers
from tests.browser import DESKTOP, opened, settle
from tests.report_data import HOSTILE, as_number, make_problem, make_topics

pytestmark = pytest.mark.docs
MINUS = "\N{MINUS SIGN}"


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    scores, labels = make_problem(200, seed=1)
    calibrator = ScoreCalibrator(random_state=0, draws=300).fit(scores, labels)
    path = tmp_path_factory.mktemp("single") / "report.html"
    return calibrator, scores, write_report(calibrator, path, test=make_problem(500, seed=2))


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
    rng = np.random.default_rng(0)

    def make(n):
        labels = (rng.random(n) < 0.02).astype(int)
        return rng.normal(0.7 * labels), labels

    calibrator = ScoreCalibrator("gaussian", random_state=0, draws=200).fit(*make(3000))
    path = tmp_path_factory.mktemp("rare") / "report.html"
    return write_report(calibrator, path, test=make(3000), collection=make(1000)[0])


@pytest.mark.parametrize("viewport", [DESKTOP, {"width": 1366, "height": 660}])
@pytest.mark.parametrize("which", ["one_report", "topics_report", "rare"])
def test_the_first_curve_stands_on_the_first_screen(chromium, which, viewport, request):
    with opened(chromium, request.getfixturevalue(which), viewport=viewport) as page:
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


@pytest.mark.parametrize(
    ("which", "words"),
    [
        ("one_report", "What each part says"),
        ("topics_report", HOSTILE),
        ("rare", "Documents to read"),
    ],
)
def test_no_text_is_a_value_that_is_missing(chromium, which, words, request):
    with opened(chromium, request.getfixturevalue(which)) as page:
        text = page.evaluate(TEXTS)
    assert words in text  # the page is drawn
    assert re.findall(r"NaN|undefined|Infinity|\[object .*", text) == []


def test_shares_are_in_per_cent_and_documents_are_counted(chromium, rare):
    with opened(chromium, rare, viewport=DESKTOP) as page:
        shown = page.inner_text("#summary") + page.inner_text("#decisions")
        # Six digits stand side by side in numbers such as 0.000186 alone, which are three.
        long = r"[1-9]\.\d{4,}|(?<!0\.)\d{6}|0\.(?!000)\d{6}"
        assert re.search(long, shown) is None
        for where in ("#own-recall", "#own-taken", "#fpr", "#miss", "#threshold-probability"):
            assert page.inner_text(where).endswith(" %")
        rows = page.locator("#collection tbody tr").all_inner_texts()
        assert any(re.match(r"Documents to read\s+[\d,]+\s+[\d,]+$", row) for row in rows)


SHOWN = {
    "format(2)": "2", "format(1234)": "1,234", "format(12345)": "12,345", "format(1234.5)": "1,235",
    "format(12.345)": "12.3", "format(0.5, 2)": "0.50", "format(-1.5)": f"{MINUS}1.50",
    "format(0)": "0", "format(0.00009)": f"9.00e{MINUS}5", "format(0.0001)": "0.000100",
    "format(1e6)": "1.00e6", "format(null)": "\N{EN DASH}",
    "format(-Infinity)": f"{MINUS}\N{INFINITY}", "formatShare(0.5)": "50 %",
    "formatShare(0.09)": "9.0 %", "formatShare(0.095)": "10 %", "formatShare(0.005)": "0.50 %",
    "formatShare(0.995)": "99.50 %", "formatShare(1)": "100 %", "formatShare(NaN)": "\N{EN DASH}",
    "quantile([1, 2, 4, 8], 0.5)": 3, "quantile([1, 2, 4, 8], 1)": 8,
    "quantile([-Infinity, -Infinity, 0], 0.25)": -np.inf,
    "quantile([-Infinity, 1, 2], 0.25)": -np.inf, "quantile([1, Infinity], 0.5)": np.inf,
    "quantile([1, Infinity], 0)": 1, "quantile([Infinity, Infinity], 0.5)": np.inf,
    "mean([1, 2, 6])": 3,
}  # fmt: skip


def test_numbers_are_shown_with_the_digits_that_matter(chromium, single):
    source = Path(report.__file__).with_name("page").joinpath("numbers.js").read_text("utf-8")
    with opened(chromium, single[-1]) as page:
        values = page.evaluate(f"(() => {{ {source}\nreturn [{', '.join(SHOWN)}]; }})()")
    assert dict(zip(SHOWN, values, strict=True)) == SHOWN


def test_numbers_of_a_csv_file_are_those_that_spreadsheets_and_pandas_read(chromium, single):
    source = Path(report.__file__).with_name("page").joinpath("tables.js").read_text("utf-8")
    rows = '[["a", null, NaN, Infinity, -Infinity, 1.5, "=1", "@a", "-2", "-b", -2.5]]'
    with opened(chromium, single[-1]) as page:
        text = page.evaluate(f"(() => {{ {source}\nreturn csv(['h'], {rows}); }})()")
    assert text == "h\r\na,,,inf,-inf,1.5,'=1,'@a,-2,'-b,-2.5\r\n"


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


def number(page, where):
    return as_number(page.locator(where).inner_text())


def interval(page, where):
    return [as_number(end) for end in page.locator(where).inner_text().split(" to ")]


def set_costs(page, false_positive, false_negative, prior=None):
    page.fill("#cost-fp-value", str(false_positive))
    page.fill("#cost-fn-value", str(false_negative))
    page.set_checked("#prior-own", prior is None)
    if prior is not None:
        page.fill("#prior-value", str(prior))
    settle(page)


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


def test_sliders_move_by_the_keyboard(chromium, single):
    with opened(chromium, single[-1], viewport=DESKTOP) as page:
        before = number(page, "#cost"), number(page, "#threshold")
        page.focus("#cost-fp")
        for _ in range(35):
            page.keyboard.press("ArrowRight")
        settle(page)
        assert page.input_value("#cost-fp-value") == "5.01"
        assert page.get_attribute("#cost-fp", "aria-valuetext") == "5.01"
        assert page.inner_text("#threshold-probability") == "83 %"
        assert number(page, "#threshold") > before[1]
        assert number(page, "#cost") > before[0]


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


def test_a_hostile_name_is_text(chromium, topics_report):
    with opened(chromium, topics_report, viewport=DESKTOP) as page:
        assert HOSTILE in names(page)
        page.click(f'#topics button:text-is("{HOSTILE}")')
        assert page.inner_text("#topic-name") == HOSTILE
        assert page.evaluate("document.activeElement.id") == "topic-heading"
        assert page.locator("script").count() == 2  # the data and the page's own
        page.click("#lay-out")
        assert page.locator("#all-topics article").count() == len(names(page))


def test_next_and_previous_go_through_all_topics_and_stop_at_the_ends(chromium, topics_report):
    with opened(chromium, topics_report, viewport=DESKTOP) as page:
        expected = page.locator("#choose option").all_text_contents()
        page.select_option("#choose", index=0)
        page.click("#previous")
        found = [page.inner_text("#topic-name")]
        for _ in expected:
            page.click("#next")
            found.append(page.inner_text("#topic-name"))
        assert found == [*expected, expected[-1]]


def test_controls_have_names(chromium, single):
    with opened(chromium, single[-1], viewport=DESKTOP) as page:
        unnamed = page.evaluate(
            "[...document.querySelectorAll('input, select, button')].filter((each) =>"
            " !each.textContent.trim() && !each.labels?.length && !each.ariaLabel).length"
        )
        assert unnamed == 0


def test_light_and_dark(chromium, single):
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = "rgb(255, 255, 255)", "rgb(20, 24, 29)"
    with opened(chromium, single[-1], color_scheme="dark") as page:
        assert page.evaluate(background) == dark
        page.click("text=Light")
        assert page.evaluate(background) == light
        page.click("[data-theme-choice=dark]")
        assert page.evaluate(background) == dark
        page.emulate_media(media="print")
        assert page.evaluate(background) == light
    with opened(chromium, single[-1], color_scheme="light") as page:
        assert page.evaluate(background) == light


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
