"""Reports as readers meet them: refused input, smooth curves, on a phone, on paper, in the dark."""

import re

import numpy as np
import pytest

from bayescal.report.review import write_review_report
from bayescal.sampling import estimate_recall, plan_sample
from bayescal.support.palette import CLASS_COLOURS, MLE_COLOUR, OKABE_ITO, POSTERIOR_COLOUR
from tests.browser import DESKTOP, opened, settle
from tests.report_data import as_number

pytestmark = pytest.mark.docs
PHONE = {"width": 360, "height": 800}
PAPER = {"width": 688, "height": 1000}  # A4 less its margins
CONTROLS = ("prior", "own", "recall", "cost-fp", "cost-fn")
KINDS = ("positive", "negative")


def fill(page, control, value):
    page.fill(f"#{control}-value", str(value))
    settle(page)


def results(page):
    return page.locator("#decisions table.results").all_inner_texts()


def test_numbers_out_of_range_are_refused_beside_the_field(chromium, one_report):
    with opened(chromium, one_report, viewport=DESKTOP) as page:
        page.set_checked("#prior-own", False)
        settle(page)
        for control in CONTROLS:
            check_refused(page, control, ("1e6", "-1e6", ""))


def check_refused(page, control, values):
    before, field = results(page), page.locator(f"#{control}-value")
    inside = field.input_value()
    refusal = page.locator(f"#{control}-refused")
    limits = [float(field.get_attribute(name)) for name in ("min", "max")]
    for value in values:
        fill(page, control, value)
        assert refusal.is_visible()
        ends = re.search(r"enter a number from (\S+) to (\S+)\. ", refusal.inner_text()).groups()
        assert [as_number(end) for end in ends] == limits
        assert field.get_attribute("aria-invalid") == "true"
        assert field.input_value() == value  # what was typed stays, to be corrected
        assert results(page) == before
    fill(page, control, inside)
    assert not refusal.is_visible()
    assert field.get_attribute("aria-invalid") == "false"


def test_a_slider_takes_the_place_of_what_was_refused(chromium, one_report):
    with opened(chromium, one_report, viewport=DESKTOP) as page:
        fill(page, "cost-fp", -1)
        page.focus("#cost-fp")
        page.keyboard.press("ArrowRight")
        assert not page.locator("#cost-fp-refused").is_visible()
        fill(page, "cost-fp", 1)
        page.set_checked("#prior-own", False)
        fill(page, "prior", 2)
        page.set_checked("#prior-own", True)
        settle(page)
        assert not page.locator("#prior-refused").is_visible()


@pytest.mark.parametrize("which", ["one_report", "topics_report"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE, PAPER], ids=["desktop", "phone", "paper"])
def test_nothing_is_wider_than_its_page(chromium, which, viewport, request):
    path = request.getfixturevalue(which)
    with opened(chromium, path, viewport=viewport) as page:
        if viewport is PAPER:
            page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
            page.emulate_media(media="print")
        assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]


OVERLAPS = """() => {
  const shown = (each) => each.checkVisibility() && !each.closest(".hidden, .skip, svg, math");
  const texts = [...document.querySelectorAll(
    "h1, h2, h3, p, label, input, button, dt, dd, figcaption, li, td, th, svg.chart")]
    .filter((each) => shown(each) && !each.closest(".scroll"));
  const boxes = texts.map((each) => [each, each.getBoundingClientRect()]);
  const found = [];
  for (const [a, p] of boxes) for (const [b, q] of boxes) {
    if (a === b || a.contains(b) || b.contains(a)) continue;
    const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (wide > 1 && high > 1) found.push(`${a.textContent || a.id} / ${b.textContent || b.id}`);
  }
  return found;
}"""


@pytest.mark.parametrize("which", ["one_report", "topics_report"])
def test_on_a_phone_tables_scroll_in_themselves_and_nothing_overlaps(chromium, which, request):
    path = request.getfixturevalue(which)
    with opened(chromium, path, viewport=PHONE) as page:
        assert page.evaluate(OVERLAPS) == []
        wide = page.evaluate(
            "[...document.querySelectorAll('table')].filter((each) => each.checkVisibility() &&"
            " each.getBoundingClientRect().right > innerWidth && !each.closest('.scroll')).length"
        )
        assert wide == 0
        if which == "topics_report":
            # What a row is about stays in sight.
            page.locator("#topics").evaluate("(table) => { table.parentElement.scrollLeft = 300; }")
            first = page.locator("#topics tbody th").first.bounding_box()
            assert 0 <= first["x"] < first["x"] + first["width"] < 200


def test_a_page_of_a_review_follows_its_buttons_and_says_what_scrolls(chromium, tmp_path):
    rng = np.random.default_rng(0)
    positive = rng.random(1_000) < 0.1
    scores = rng.normal(size=1_000) + 2.5 * positive
    plan = plan_sample(scores, 200, threshold=1.8, random_state=7)
    labels = np.full(scores.size, np.nan)
    labels[plan.documents] = positive[plan.documents]
    found = estimate_recall(scores, labels, 1.8, design=plan)
    path = write_review_report(tmp_path / "review.html", found, scores, labels, [plan])
    for viewport, state in ((PHONE, "attached"), (DESKTOP, "detached")):
        with opened(chromium, path, viewport=viewport) as page:
            # A locator waits without `eval`, which the page's policy forbids between frames.
            page.locator(".sideways").wait_for(state=state)
            page.click("[data-theme-choice=dark]")
            assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    hint = "getComputedStyle(document.querySelector('.sideways'), '::before').content"
    with opened(chromium, path, viewport=PHONE) as page:
        page.wait_for_selector(".sideways")
        assert "Scroll sideways" in page.evaluate(hint)
    with opened(chromium, path, viewport=DESKTOP) as page:
        chart = page.locator("#evidence-figures svg.chart")
        assert chart.locator(".dot.positive").count() == found.found
        # The summary's interval stands at the number of documents taken, on a logarithmic axis.
        band, line = (
            np.array(
                re.findall(r"([\d.]+) ([\d.]+)", chart.locator(kind).get_attribute("d")), float
            )
            for kind in ("path.band", "path.empirical")
        )
        left, right = band[:, 0].min(), band[:, 0].max()
        share = np.log(np.sum(scores >= 1.8)) / np.log(scores.size)
        assert line[:, 0] == pytest.approx(left + share * (right - left), abs=0.02)
        top, bottom = (float(chart.locator(f".dot.{k}").first.get_attribute("cy")) for k in KINDS)
        height = (np.array([found.lower, found.upper]) + 0.03) / 1.06  # dots are at 1.03 and -.03
        assert line[:, 1] == pytest.approx(bottom + height * (top - bottom), abs=0.02)
        assert chart.locator(".line.diagonal").count() == len(plan.strata) - 1


def test_heads_of_tables_are_repeated_on_paper_and_rows_stay_whole(chromium, topics_report):
    with opened(chromium, topics_report) as page:
        page.emulate_media(media="print")
        style = "(each) => getComputedStyle(each)"
        for table in page.locator("table").all():
            assert table.locator("thead").evaluate(
                f"{style[:10]}getComputedStyle(each).display"
            ) == ("table-header-group")
            assert (
                table.locator("tbody tr")
                .first.evaluate("(each) => getComputedStyle(each).breakInside")
                .startswith("avoid")
            )
        # Chromium repeats heads without what buttons in them say.
        for head in page.locator("#topics thead th, #numbers thead th").all():
            assert head.inner_text()
            assert not head.locator("button").is_visible()
        assert page.locator(".scroll").first.evaluate(
            "(each) => [getComputedStyle(each).overflowX, getComputedStyle(each).maxHeight]"
        ) == ["visible", "none"]


def test_paper_has_what_was_set_in_place_of_controls(chromium, one_report, tmp_path):
    with opened(chromium, one_report, viewport=DESKTOP) as page:
        fill(page, "cost-fp", 7)
        fill(page, "own", 0.5)
        pdf = page.pdf(path=tmp_path / "report.pdf", format="A4")
        assert pdf.startswith(b"%PDF")
        page.emulate_media(media="print")
        for where in ("fieldset", "nav", "details"):
            assert not page.locator(where).first.is_visible()
        printed = " ".join(page.locator(".printed:visible").all_inner_texts())
        assert "Cost of a false positive: 7" in printed
        assert "Threshold of your own: 0.5" in printed
        assert page.is_visible("#threshold")
        assert page.locator("figure").first.is_visible()


def rgb(colour):
    return f"rgb({', '.join(str(int(colour[k : k + 2], 16)) for k in (1, 3, 5))})"


DRAWN = {
    ".bar.negative": ("fill", CLASS_COLOURS[0]),
    ".bar.positive": ("fill", CLASS_COLOURS[1]),
    "path.line.posterior.negative": ("stroke", CLASS_COLOURS[0]),
    "path.line.posterior.positive": ("stroke", CLASS_COLOURS[1]),
    "path.line.draw.positive": ("stroke", CLASS_COLOURS[1]),
    "path.line.mle": ("stroke", MLE_COLOUR),
    ".dot.mle": ("stroke", MLE_COLOUR),
    "path.band.posterior": ("fill", POSTERIOR_COLOUR),
    "#cost-figure path.line": ("stroke", POSTERIOR_COLOUR),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_are_those_of_the_plots(chromium, one_report, scheme):
    with opened(chromium, one_report, color_scheme=scheme) as page:
        for where, (name, colour) in DRAWN.items():
            if scheme == "dark" and colour == POSTERIOR_COLOUR:
                colour = OKABE_ITO["sky blue"]
            for drawn in page.locator(where).all():
                assert drawn.evaluate(f"(each) => getComputedStyle(each).{name}") == rgb(colour)


def test_classes_and_estimates_are_told_apart_without_colour(chromium, one_report):
    with opened(chromium, one_report) as page:
        looks = [
            page.locator(f"path.line.{kind}").first.evaluate(
                "(each) => getComputedStyle(each).strokeDasharray"
            )
            for kind in ("posterior.negative", "posterior.positive", "mle")
        ]
        assert len(set(looks)) == 3
        outlined = [
            page.locator(f".bar.{kind}").first.evaluate("(each) => getComputedStyle(each).stroke")
            for kind in ("negative", "positive")
        ]
        assert outlined[0] == "none" != outlined[1]
