"""Every figure and decision of every page, as a browser shows it, against the page's numbers."""

from pathlib import Path

import numpy as np
import pytest

from bayescal import MulticlassCalibrator, ScoreCalibrator, TopicCalibrator, report
from bayescal.monitoring import audit, load_heart_disease
from bayescal.ranking import RelevanceCalibrator
from bayescal.report import write_report
from tests import page_figures as figures
from tests.browser import DESKTOP, opened, settle
from tests.page_drawn import Drawn, read
from tests.page_numbers import PageTopic
from tests.report_data import HOSTILE, as_number, data_of, make_problem
from tests.test_relevance import queries

pytestmark = pytest.mark.docs


@pytest.fixture(scope="module")
def point(tmp_path_factory):
    calibrator = ScoreCalibrator("gaussian", "mle").fit(*make_problem(200, seed=3))
    return write_report(calibrator, tmp_path_factory.mktemp("point") / "report.html")


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    patients = load_heart_disease()
    sites = patients["site"].replace("va", HOSTILE)
    options = {"threshold": 0.1, "noun": "patient", "random_state": 0}
    checked = audit(patients["y"], patients["p"], sites, **options)
    return checked.report(tmp_path_factory.mktemp("audit") / "audit.html")


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    rng = np.random.default_rng(0)
    code = rng.integers(0, 3, 500)
    scores = np.eye(3)[code] + rng.normal(0.0, 1.0, (500, 3))
    label = np.array(["corn", HOSTILE, "oil"])[code]
    calibrator = MulticlassCalibrator(draws=50, random_state=0).fit(scores[:200], label[:200])
    path = tmp_path_factory.mktemp("classes") / "classes.html"
    return calibrator.report(path, test=(scores[200:], label[200:]))


@pytest.fixture(scope="module")
def rankings(tmp_path_factory):
    quick = TopicCalibrator(parts="gaussian", draws=50, random_state=0)
    scores, relevant, qid = queries(seed=0, number=4)
    fitted = RelevanceCalibrator(quick, random_state=0).fit(scores, relevant, qid)
    folder = tmp_path_factory.mktemp("rankings")
    return [fitted.report(folder / "judged.html", scores, qid, relevant),
            fitted.report(folder / "unread.html", scores, qid)]  # fmt: skip


COSTS = [(1.0, 1.0, None), (3.0, 2.0, None), (1.0, 8.0, 0.2), (2.5, 1.0, 0.7)]


def set_controls(page, costs, threshold, recall):
    for control, value in zip(("cost-fp", "cost-fn"), costs[:2], strict=True):
        page.fill(f"#{control}-value", str(value))
    page.set_checked("#prior-own", costs[2] is None)
    if costs[2] is not None:
        page.fill("#prior-value", str(costs[2]))
    page.fill("#own-value", str(threshold))
    page.fill("#recall-value", str(recall))
    settle(page)


def check_shown(page, name, expected):
    """Compare a value and its interval, to the digits that the table shows, with numbers."""
    ends = page.inner_text(f"#{name}-band")
    texts = [page.inner_text(f"#{name}"), *(ends.split(" to ") if ends else [])]
    # Ends that read the same are not shown.
    assert len(texts) == 3 or expected[2] - expected[1] < 1e-3
    for text, number in zip(texts, expected, strict=False):
        digits = text.removesuffix(" %").partition(".")[2]
        unit = 0.1 ** len(digits) * (0.01 if text.endswith("%") else 1.0)
        assert as_number(text) == pytest.approx(number, abs=0.51 * unit + 1e-4), name


@pytest.mark.parametrize("costs", COSTS)
def test_decisions_follow_from_the_draws_of_the_page(chromium, one_report, costs):
    data = data_of(one_report)
    topic = PageTopic(data, data["topics"][0])
    threshold = float(np.quantile(topic.x, 0.6))
    recall = 60 + 10 * COSTS.index(costs)
    expected = topic.decision(*costs)
    with opened(chromium, one_report, viewport=DESKTOP) as page:
        start = as_number(page.input_value("#own-value"))
        assert start == pytest.approx(topic.topic["selection"]["at"]["threshold"][0], rel=1e-4)
        set_controls(page, costs, threshold, recall)
        for name in ("cost", "fpr", "miss", "threshold"):
            check_shown(page, name, expected[name])
        wanted = topic.threshold_for(recall / 100)
        check_shown(page, "wanted-threshold", wanted)
        for start, at in (("own", threshold), ("wanted", wanted[0])):
            for name, each in topic.selection(at, costs[2]).items():
                if page.locator(f"#{start}-{name}").count():
                    check_shown(page, f"{start}-{name}", each)
        spoken = page.locator("#spoken").text_content()
        assert spoken.split("cost ")[1] == ", ".join(map(page.inner_text, ("#cost", "#cost-band")))
        if costs[2] is None:
            prior = as_number(page.input_value("#prior-value"))
            assert prior == pytest.approx(topic.fitted_prior(), rel=6e-3)


PAGES = [("one_report", COSTS[2], DESKTOP), ("topics_report", COSTS[1], DESKTOP),
         ("point", COSTS[0], {"width": 330, "height": 800})]  # fmt: skip


@pytest.mark.parametrize(("which", "costs", "viewport"), PAGES)
def test_figures_of_a_topic_show_its_numbers(chromium, which, costs, viewport, request):
    path = request.getfixturevalue(which)
    data = data_of(path)
    names = dict(zip(("false_positive", "false_negative", "prior"), costs, strict=True))
    with opened(chromium, path, viewport=viewport) as page:
        for k, topic in list(enumerate(data["topics"]))[:2]:
            one = PageTopic(data, topic)
            threshold = float(np.quantile(one.x, 0.4))
            if len(data["topics"]) > 1:
                page.select_option("#choose", value=str(k))
            set_controls(page, costs, threshold, 80)
            expected = figures.topic_figures(data, one, names, threshold)
            expected += [figures.evidence_figure(each) for each in data["evidence"]]
            if len(data["topics"]) > 1:
                expected.append(figures.reliability(data["test"], data["level"], ", all topics"))
            found = {each["title"]: Drawn(each) for each in read(page)}
            assert sorted(found) == sorted(each.title for each in expected)
            for each in expected:
                found[each.title].check(each)


def check(chromium, path, expected, names=None):
    with opened(chromium, path, viewport=DESKTOP) as page:
        found = read(page)
        assert [each["title"] for each in found] == [each.title for each in expected]
        # The first stands on the first screen.
        box = page.locator("svg.chart").first.bounding_box()
        assert 0 < box["y"] < box["y"] + box["height"] < DESKTOP["height"]
        for drawn, each in zip(found, expected, strict=True):
            Drawn(drawn, (names or {}).get(each.title, ())).check(each)


def test_figures_of_an_audit_show_its_numbers(chromium, audited):
    data = data_of(audited)
    names = {"Explanations": data["explanations"]["name"]}
    names |= {f"{each.capitalize()} by site": data["sites"][each]["name"] for each in data["sites"]}
    check(chromium, audited, figures.audit_figures(data), names)


def test_a_page_counts_what_its_noun_names(chromium, audited):
    with opened(chromium, audited, viewport=DESKTOP) as page:
        page.locator("details.words > summary").click()
        text = page.locator("body").inner_text()
    assert text.count("patient") > 5
    assert "Patients" in text
    assert "document" not in text.casefold()


def test_figures_of_several_classes_show_their_numbers(chromium, classes):
    check(chromium, classes, figures.class_figures(data_of(classes)))


def test_figures_of_a_query_show_its_numbers(chromium, rankings):
    for path, judged in zip(rankings, (True, False), strict=True):
        data = data_of(path)
        first = data["queries"][0]
        assert ("judged" in first) == judged
        with opened(chromium, path, viewport=DESKTOP) as page:
            page.select_option("#choose", value="0")
            assert page.inner_text("#query-name") == first["name"]
            (marked,) = page.locator("#queries tr.current").all()
            assert marked.get_attribute("data-topic") == "0"
            stop = "none" if not first["stop"] else first["stop"]
            stop = "all" if first["stop"] == first["documents"] else stop
            facts = page.inner_text("#query-facts")
            assert facts.startswith(f"Read {stop} of {first['documents']}")
            found = read(page)
            for drawn, each in zip(found, figures.query_figures(data, first), strict=True):
                Drawn(drawn).check(each)


WIDTHS = """() => [...document.querySelectorAll("figure")].map((figure) =>
  [figure.parentElement.id, figure.clientWidth,
   figure.querySelector("svg.chart").viewBox.baseVal.width, figure.querySelector("clipPath").id])"""


@pytest.mark.parametrize("which", ["one_report", "topics_report", "audited", "classes", "rankings"])
def test_figures_are_drawn_for_the_width_that_they_have(chromium, which, request):
    path = request.getfixturevalue(which)
    path = path[0] if which == "rankings" else path

    def check_widths(page, least, most):
        found = page.evaluate(WIDTHS)
        assert found
        for where, wide, drawn, _ in found:
            assert drawn == pytest.approx(min(max(wide, least), most), abs=1), where
        names = [each[-1] for each in found]
        assert len(set(names)) == len(names)

    with opened(chromium, path, viewport=DESKTOP) as page:
        page.evaluate("window.print = () => { window.printed = true; }")
        page.click("#print")
        assert page.evaluate("window.printed")
        if which == "topics_report":
            page.click("#lay-out")
            names = page.locator("#all-topics article > h3").all_inner_texts()
            assert names == [each["name"] for each in data_of(path)["topics"]]
        check_widths(page, 280, 620)
        for width in (250, 1500, 900):
            page.set_viewport_size({"width": width, "height": 900})
            settle(page)
            check_widths(page, 280, 620)
        before = page.evaluate(WIDTHS)
        for event, printing in (("beforeprint", True), ("afterprint", False)):
            page.evaluate(f"window.dispatchEvent(new Event('{event}'))")
            if printing:
                check_widths(page, 380, 380)
            folded = page.locator("details.words").evaluate_all("(all) => all.map((d) => d.open)")
            assert set(folded) <= {printing}
        assert [each[:3] for each in page.evaluate(WIDTHS)] == [each[:3] for each in before]
        for theme in ("light", "dark", "auto"):
            page.click(f"[data-theme-choice={theme}]")
            pressed = page.locator("[data-theme-choice][aria-pressed=true]")
            assert pressed.all_inner_texts() == [theme.capitalize()]
            chosen = page.evaluate("document.documentElement.dataset.theme ?? 'auto'")
            assert chosen == theme


def points(*costs):
    """Return outcomes of thresholds 0, 1, ... with these costs, each its own band."""
    ends = ("mean", "lower", "upper")
    return [{"x": k, "cost": dict.fromkeys(ends, cost)} for k, cost in enumerate(costs)]


def deciding(cost):
    return {"threshold": 0.5, "cost": {"upper": cost}}


def chart(x, y=(0, 1), width=300):
    return {"width": width, "x": x, "y": y, "xLabel": "", "yLabel": "", "label": ""}


# Texts below the axis of x, and the line where y equals x, of a chart.
MARKS = """((given) => [...new Chart(given).root.querySelectorAll("text[text-anchor=middle]")]
  .map((each) => each.textContent).filter(Boolean))"""
DIAGONAL = """((given) => { const drawn = new Chart(given); drawn.diagonal();
  return [...drawn.plot.children].map((each) => each.getAttribute("d")); })"""
TOPIC = {"x": [0, 1, 2], "lower": [0, 0, 0]}
AXIS = "((...given) => costFigure(...given).chart.xRange)"
SLOPES = {"x": [0, 1, 2, 3], "smooth": [0.1, 0.2, 0.1, 0.6]}
REGIONS, COSTS_OF = (
    [[0.5, 1.25], [2.75, 9]],
    [
        {"cost": {"mean": mean, "upper": upper}}
        for mean, upper in zip([2, 2, 1, 2, 2, 2], [9, 2, 3, 2, 8, 1], strict=True)
    ],
)
# What functions of figures.js return of arguments.
RETURNED = [
    # Half as much again as calling all, or nothing, positive costs.
    ("costLimit", (points(4, 1, 6), deciding(1)), 6),
    ("costLimit", (points(6, 1, 4), deciding(1)), 6),
    # Room for what deciding well costs, and for the least of the thresholds.
    ("costLimit", (points(4, 1, 6), deciding(10)), 12),
    ("costLimit", (points(4, 3, 4), deciding(1)), 6),
    ("costLimit", (points(0, 0, 0), deciding(0)), 1),
    # A spike of maximum likelihood is cut at four times the other class's peak.
    ("cap", ([[1, 3, 2], [1, 100, 1]],), [12]),
    ("cap", ([[1, 3, 2], [1, 11, 1]],), [11]),
    # One threshold alone has no stretch: the axis is that of the scores.
    (AXIS, (TOPIC, points(2), deciding(1), 400), [0, 2]),
    (AXIS, (TOPIC, points(2, 2), deciding(1), 400), [0, 1]),
    # What lies on the threshold is not above it.
    ("shareAbove", (1.0, 1.0, 1.0), 0),
    ("shareAbove", (0.0, 1.0, 1.0), 0),
    ("shareAbove", (-1.0, 3.0, 0.0), 0.75),
    # The main threshold is that of the region with most documents.
    ("mainThreshold", (SLOPES, REGIONS), 2.75),
    ("mainThreshold", (SLOPES | {"smooth": [0.1, 0.6, 0.1, 0.2]}, REGIONS), 0.5),
    # Costs are drawn around the least one while their bands, not their means, are below.
    ("stretchBelow", (COSTS_OF, 3), COSTS_OF[1:4]),
    ("rowsOf", ({"x": [1, 2], "y": [3, 4]},), [{"x": 1, "y": 3}, {"x": 2, "y": 4}]),
    ("rowsOf", ({},), []),
    ("axisOfShares", ([0.2, 0.4], None, [0.7]), [0.17, 0.73]),
    ("axisOfShares", ([0.2, 0.9],), [-0.03, 1.03]),
    ("axisOfShares", ([0.2, 0.2],), [-0.03, 1.03]),
    # A mark for each 90 pixels, and three at least.
    (MARKS, (chart([0, 0.9], width=200),), ["0", "0.2", "0.4", "0.6", "0.8"]),
    (MARKS, (chart([0, 1], width=200),), ["0", "0.5", "1"]),
    (MARKS, (chart([0, 0.9], width=580),), ["0", "0.2", "0.4", "0.6", "0.8"]),
    (MARKS, (chart([0, 0.9], width=620),), [f"{k / 10:g}" for k in range(10)]),
    (MARKS, (chart([0, 1]) | {"xTicks": [[0.3, "a"], [0.7, "b"]]},), ["a", "b"]),
    # 222 pixels across and 204 down, from 64 and to 216, where both axes show a value.
    (DIAGONAL, (chart([0, 2], [-1, 1]),), ["M64 114L175 12"]),
    (DIAGONAL, (chart([-1, 1], [0, 2]),), ["M175 216L286 114"]),
    (DIAGONAL, (chart([0, 1], [2, 3]),), []),
    (DIAGONAL, (chart([0, 1], [1, 3]),), []),
    *(("tickText", (value,), text) for value, text in {
        0: "0", -0.25: "\N{MINUS SIGN}0.25", 99999: "99999", 1e5: "1e5", -2e6: "\N{MINUS SIGN}2e6",
        1e-3: "0.001", 5e-4: "5e\N{MINUS SIGN}4"}.items()),
    ("ticks", (0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]),
    ("ticks", (-3, 11, 7), [-2, 0, 2, 4, 6, 8, 10]),
    ("ticks", (0, 0.0034, 6), [0, 0.0005, 0.001, 0.0015, 0.002, 0.0025, 0.003]),
]  # fmt: skip


def test_functions_of_figures_return_what_they_should(chromium, one_report):
    folder = Path(report.__file__).with_name("page")
    files = ("numbers", "svg", "tables", "decisions", "figure_element", "figures")
    source = "\n".join((folder / f"{each}.js").read_text(encoding="utf-8") for each in files)
    with opened(chromium, one_report) as page:
        for name, given, expected in RETURNED:
            call = f"(given) => {{ {source}; return {name}(...given); }}"
            found = page.evaluate(call, list(given))
            exact = name in ("rowsOf", "stretchBelow", "tickText", MARKS, DIAGONAL)
            assert found == (expected if exact else pytest.approx(expected)), name
