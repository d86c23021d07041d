"""Every figure and decision of every page, as a browser shows it, against the page's numbers."""

from pathlib import Path

import numpy as np
import pytest

from bayescal import MulticlassCalibrator, ScoreCalibrator, TopicCalibrator, report
from bayescal.monitoring import audit, load_heart_disease
from bayescal.ranking import RelevanceCalibrator
from bayescal.report import write_report
from tests import page_figures as figures
from tests.browser import opened
from tests.page_drawn import READ, Drawn
from tests.page_numbers import PageTopic
from tests.report_data import as_number, data_of, make_problem, make_topics
from tests.test_relevance import queries

pytestmark = [pytest.mark.docs, pytest.mark.one_era]
DESKTOP = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    """Return the report of a problem with held-out documents and the weight of evidence."""
    calibrator = ScoreCalibrator(random_state=0, draws=100).fit(*make_problem(200, seed=1))
    path = tmp_path_factory.mktemp("single") / "report.html"
    test = make_problem(300, seed=2)
    return write_report(calibrator, path, test=test, likelihood_ratio=True, level=0.8)


@pytest.fixture(scope="module")
def topics(tmp_path_factory):
    """Return the report of topics, one without held-out documents."""
    frame, test = make_topics(), make_topics(seed=1)
    calibrator = TopicCalibrator(parts="gaussian", random_state=0, draws=100).fit(frame)
    path = tmp_path_factory.mktemp("topics") / "report.html"
    return write_report(calibrator, path, test=test[test["topic"] != "crude"], fitted=frame)


@pytest.fixture(scope="module")
def point(tmp_path_factory):
    """Return the report of maximum likelihood, which has no posterior."""
    calibrator = ScoreCalibrator("gaussian", "mle").fit(*make_problem(200, seed=3))
    return write_report(calibrator, tmp_path_factory.mktemp("point") / "report.html")


COSTS = [(1.0, 1.0, None), (3.0, 2.0, None), (1.0, 8.0, 0.2), (2.5, 1.0, 0.7)]


def set_controls(page, costs, threshold, recall):
    for control, value in zip(("cost-fp", "cost-fn"), costs[:2], strict=True):
        page.fill(f"#{control}-value", str(value))
    page.set_checked("#prior-own", costs[2] is None)
    if costs[2] is not None:
        page.fill("#prior-value", str(costs[2]))
    page.fill("#own-value", str(threshold))
    page.fill("#recall-value", str(recall))
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


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
def test_decisions_follow_from_the_draws_of_the_page(chromium, single, costs):
    data = data_of(single)
    topic = PageTopic(data, data["topics"][0])
    threshold = float(np.quantile(topic.x, 0.6))
    expected = topic.decision(*costs)
    with opened(chromium, single, viewport=DESKTOP) as page:
        start = as_number(page.input_value("#own-value"))
        assert start == pytest.approx(topic.topic["selection"]["at"]["threshold"][0], rel=1e-4)
        set_controls(page, costs, threshold, 70)
        for name in ("cost", "fpr", "miss", "threshold"):
            check_shown(page, name, expected[name])
        wanted = topic.threshold_for(0.7)
        check_shown(page, "wanted-threshold", wanted)
        for start, at in (("own", threshold), ("wanted", wanted[0])):
            for name, each in topic.selection(at, costs[2]).items():
                if page.locator(f"#{start}-{name}").count():
                    check_shown(page, f"{start}-{name}", each)
        spoken = page.locator("#spoken").text_content()
        assert (
            spoken == f"; expected cost {page.inner_text('#cost')}, {page.inner_text('#cost-band')}"
        )
        if costs[2] is None:
            prior = as_number(page.input_value("#prior-value"))
            assert prior == pytest.approx(topic.fitted_prior(), rel=6e-3)


@pytest.mark.parametrize(("which", "costs"), [("single", COSTS[2]), ("topics", COSTS[1]),
                                              ("point", COSTS[0])])  # fmt: skip
def test_figures_of_a_topic_show_its_numbers(chromium, which, costs, request):
    path = request.getfixturevalue(which)
    data = data_of(path)
    names = dict(zip(("false_positive", "false_negative", "prior"), costs, strict=True))
    with opened(chromium, path, viewport=DESKTOP) as page:
        for k, topic in list(enumerate(data["topics"]))[:2]:
            one = PageTopic(data, topic)
            threshold = float(np.quantile(one.x, 0.4))
            if len(data["topics"]) > 1:
                page.select_option("#choose", value=str(k))
            set_controls(page, costs, threshold, 80)
            expected = figures.topic_figures(data, one, names, threshold)
            expected |= {each.title: each for each in figures.evidence_figures(data)}
            if len(data["topics"]) > 1:
                overall = figures.reliability(data["test"], data["level"], ", all topics")
                expected[overall.title] = overall
                first = figures.topic_figures(data, one, names, threshold)["Probability by score"]
                first.title += f": {topic['name']}"
                expected[first.title] = first
            found = page.evaluate(READ)
            assert sorted(each["title"] for each in found) == sorted(expected)
            for each in found:
                Drawn(each).check(expected[each["title"]])


def check(chromium, path, expected, names=None):
    with opened(chromium, path, viewport=DESKTOP) as page:
        found = page.evaluate(READ)
        assert [each["title"] for each in found] == [each.title for each in expected]
        for drawn, each in zip(found, expected, strict=True):
            Drawn(drawn, (names or {}).get(each.title, ())).check(each)


def test_figures_of_an_audit_show_its_numbers(chromium, tmp_path):
    patients = load_heart_disease()
    checked = audit(patients["y"], patients["p"], patients["site"], threshold=0.1, random_state=0)
    path = checked.report(tmp_path / "audit.html")
    data = data_of(path)
    names = {"Explanations": data["explanations"]["name"]}
    names |= {f"{each.capitalize()} by site": data["sites"][each]["name"] for each in data["sites"]}
    check(chromium, path, figures.audit_figures(data), names)


@pytest.mark.filterwarnings("ignore:the posterior draws are not to be trusted")  # they are few
def test_figures_of_several_classes_show_their_numbers(chromium, tmp_path):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 500)
    scores = np.eye(3)[label] + rng.normal(0.0, 1.0, (500, 3))
    calibrator = MulticlassCalibrator(draws=25, random_state=0).fit(scores[:200], label[:200])
    path = calibrator.report(tmp_path / "classes.html", test=(scores[200:], label[200:]))
    check(chromium, path, figures.class_figures(data_of(path)))


def test_figures_of_a_query_show_its_numbers(chromium, tmp_path):
    quick = TopicCalibrator(parts="gaussian", draws=50, random_state=0)
    scores, relevant, qid = queries(seed=0, number=4)
    fitted = RelevanceCalibrator(quick, random_state=0).fit(scores, relevant, qid)
    for name, judged in (("judged", [relevant]), ("unread", [])):
        path = fitted.report(tmp_path / f"{name}.html", scores, qid, *judged)
        data = data_of(path)
        first = data["queries"][0]
        if name == "unread":
            assert "judged" not in first
        with opened(chromium, path, viewport=DESKTOP) as page:
            page.select_option("#choose", value="0")
            read = "none" if not first["stop"] else first["stop"]
            read = "all" if first["stop"] == first["documents"] else read
            assert page.inner_text("#query-facts").startswith(
                f"Read {read} of {first['documents']}"
            )
            found = page.evaluate(READ)
            for drawn, each in zip(found, figures.query_figures(data, first), strict=True):
                Drawn(drawn).check(each)


def points(*costs):
    """Return outcomes of thresholds 0, 1, ... with these costs, each its own band."""
    ends = ("mean", "lower", "upper")
    return [{"x": k, "cost": dict.fromkeys(ends, cost)} for k, cost in enumerate(costs)]


def deciding(cost):
    return {"threshold": 0.5, "cost": {"upper": cost}}


TOPIC = {"x": [0, 1, 2], "lower": [0, 0, 0]}
AXIS = "((...given) => costFigure(...given).chart.xRange)"
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
    ("rowsOf", ({"x": [1, 2], "y": [3, 4]},), [{"x": 1, "y": 3}, {"x": 2, "y": 4}]),
    ("rowsOf", ({},), []),
    ("axisOfShares", ([0.2, 0.4], None, [0.7]), [0.17, 0.73]),
    ("axisOfShares", ([0.2, 0.9],), [-0.03, 1.03]),
    ("axisOfShares", ([0.2, 0.2],), [-0.03, 1.03]),
    ("ticks", (0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]),
    ("ticks", (-3, 11, 7), [-2, 0, 2, 4, 6, 8, 10]),
    ("ticks", (0, 0.0034, 6), [0, 0.0005, 0.001, 0.0015, 0.002, 0.0025, 0.003]),
]  # fmt: skip


def test_functions_of_figures_return_what_they_should(chromium, single):
    folder = Path(report.__file__).with_name("page")
    files = ("numbers", "svg", "tables", "decisions", "figure_element", "figures")
    source = "\n".join((folder / f"{each}.js").read_text(encoding="utf-8") for each in files)
    with opened(chromium, single) as page:
        for name, given, expected in RETURNED:
            call = f"(given) => {{ {source}; return {name}(...given); }}"
            found = page.evaluate(call, list(given))
            assert found == (expected if name == "rowsOf" else pytest.approx(expected)), name
