"""Controls, tables and texts of a report's page against the numbers that the page holds."""

import numpy as np
import pytest
from scipy import special

from bayescal import ScoreCalibrator
from bayescal.report import write_report
from tests.browser import DESKTOP, opened, settle
from tests.page_drawn import file_name, saved
from tests.page_numbers import PageTopic, as_text
from tests.report_data import as_number, data_of

pytestmark = pytest.mark.docs
MINUS = "\N{MINUS SIGN}"


# Each control: what its field shows of the slider's place, the inverse, and its digits.
SCALES = {
    "prior": (special.expit, special.logit, 3),
    "cost-fp": (lambda z: 10.0**z, np.log10, 3),
    "cost-fn": (lambda z: 10.0**z, np.log10, 3),
    "own": (float, float, 4),
    "recall": (float, float, 3),
}


def test_slider_field_and_printed_value_of_a_control_are_one(chromium, one_report):
    (topic,) = data_of(one_report)["topics"]
    with opened(chromium, one_report, viewport=DESKTOP) as page:
        page.set_checked("#prior-own", False)
        for name, (read, write, n) in SCALES.items():
            slider, field = page.locator(f"#{name}"), page.locator(f"#{name}-value")
            low, high, step = (float(slider.get_attribute(key)) for key in ("min", "max", "step"))
            ends = [float(field.get_attribute(key)) for key in ("min", "max")]
            if name == "own":
                assert [low, high] == ends == [topic["x"][0], topic["x"][-1]]
                assert step == pytest.approx((high - low) / 500)
            slider.evaluate(
                "(each, value) => { each.value = value; each.dispatchEvent(new Event('input')); }",
                low + 0.7 * (high - low),
            )
            taken = float(field.input_value())
            assert taken == float(f"{read(float(slider.input_value())):.{n}g}")
            for value in (taken, float(f"{ends[0] + 0.2 * (ends[1] - ends[0]):.3g}")):
                if value != taken:
                    field.fill(str(value))
                assert abs(float(slider.input_value()) - write(value)) < 0.51 * step
                assert slider.get_attribute("aria-valuetext") == as_text(value)
                printed = page.locator(f"[data-printed={name}]").all_text_contents()
                assert set(printed) == {as_text(value, n)}


def test_the_base_rate_is_set_only_where_it_is_not_the_fitted_one(chromium, one_report):
    data = data_of(one_report)
    fitted = PageTopic(data, data["topics"][0]).fitted_prior()
    with opened(chromium, one_report, viewport=DESKTOP) as page:
        for own in (True, False, True):
            page.set_checked("#prior-own", own)
            settle(page)
            assert page.is_disabled("#prior") == page.is_disabled("#prior-value") == own
            if own:
                assert float(page.input_value("#prior-value")) == float(f"{fitted:.3g}")
            else:
                page.fill("#prior-value", "0.4")


def regions_text(x, curve, limit):
    """Return in words where a curve, straight between its nodes, lies above a limit."""
    above = curve > limit
    turns = np.flatnonzero(above[1:] != above[:-1])
    at = [np.interp(limit, *zip(*sorted(zip(curve[j : j + 2], x[j : j + 2]))))  # noqa: B905
          for j in turns]  # fmt: skip
    ends = [*([-np.inf] if above[0] else []), *at, *([np.inf] if above[-1] else [])]
    texts = []
    for low, high in zip(ends[::2], ends[1::2], strict=True):
        if np.isinf(low) and np.isinf(high):
            texts.append("every score")
        elif np.isinf(low):
            texts.append(f"below {as_text(high)}")
        else:
            texts.append(
                f"above {as_text(low)}" if np.isinf(high)
                else f"between {as_text(low)} and {as_text(high)}"
            )  # fmt: skip
    return ", and ".join(texts) or "no score shown here"


@pytest.fixture(scope="module")
def bumpy(tmp_path_factory):
    """Return the report of a curve that rises and falls: negatives on both sides."""
    rng = np.random.default_rng(0)
    labels = np.arange(600) % 2
    scores = rng.normal(0.0, np.where(labels == 1, 0.7, 2.0))
    path = tmp_path_factory.mktemp("bumpy") / "report.html"
    return write_report(ScoreCalibrator("gaussian", "mle").fit(scores, labels), path)


@pytest.mark.parametrize("which", ["one_report", "bumpy"])
def test_regions_and_thresholds_are_those_of_the_curve_at_any_cost(chromium, which, request):
    path = request.getfixturevalue(which)
    data = data_of(path)
    topic = PageTopic(data, data["topics"][0])
    with opened(chromium, path, viewport=DESKTOP) as page:
        for costs in ((1, 1), (1000, 0.01), (0.01, 1000), (1, 3)):
            for name, cost in zip(("cost-fp", "cost-fn"), costs, strict=True):
                page.fill(f"#{name}-value", str(cost))
            settle(page)
            limit = np.log(costs[0] / costs[1])
            assert page.inner_text("#regions") == regions_text(topic.x, topic.point(None), limit)
            middle, *ends = topic.decision(*costs, None)["threshold"]
            assert page.inner_text("#threshold") == as_text(middle)
            shown = [as_text(end) for end in ends]
            band = "" if shown[0] == shown[1] else " to ".join(shown)
            assert page.inner_text("#threshold-band") == ("no band" if which == "bumpy" else band)


@pytest.mark.parametrize("which", ["one_report", "topics_report"])
def test_texts_and_tables_are_those_of_the_topic(chromium, which, request):
    path = request.getfixturevalue(which)
    data = data_of(path)
    words, several = data["words"], which == "topics_report"
    with opened(chromium, path, viewport=DESKTOP) as page:
        for k, topic in enumerate(data["topics"][:3]):
            if several:
                page.select_option("#choose", value=str(k))
                assert page.text_content("#topic-name") == topic["name"]
                assert page.text_content("#decisions-name") == topic["name"]
            facts = f"{topic['positives']} positives and {topic['negatives']} negatives"
            assert page.inner_text("#topic-facts") == f"Fitted to {facts}."
            lines = page.locator("#topic-verdict > *")
            classes = lines.evaluate_all("(all) => all.map((each) => each.className)")
            texts = lines.all_inner_texts()
            computed = texts.pop()
            assert classes.pop() == "note"
            for name, value in topic["diagnostics"].items():
                assert f"{words['diagnostics'].get(name, name)}: {as_text(value)}" in computed
            if several:
                problems = topic["problems"]
                assert classes[0] == ("problems" if problems else "good")
                assert texts[0] == "\n".join(problems) if problems else "No problem" in texts[0]
                if topic["test"]:
                    point = topic["test"]["point"]
                    state = {"right": "good", "off": "warning"}.get(point["outcome"], "unknown")
                    assert classes[1:] == [state]
                    assert texts[1] == f"{point['verdict']} {point['advice']}".strip()
                else:
                    assert texts[1:] == []
                assert page.locator("#figures .absent").count() == (topic["test"] is None)
            check_tables(page, topic, words, data["level"])


def check_tables(page, topic, words, level):
    keys = [key for key in ("parameters", "parts", "byPart") if topic.get(key)]
    files = dict(zip(keys, saved(page, "#topic-tables button"), strict=True))
    blocks = page.locator("#topic-tables .block")
    assert blocks.count() == len(keys)
    note = blocks.first.locator(".note").inner_text()
    assert (f"Intervals are of {100 * level:g} %." in note) == ("lower" in topic)
    for block, key in zip(blocks.all(), keys, strict=True):
        columns, rows = topic[key]["columns"], topic[key]["rows"]
        heads = block.locator("thead th").all_text_contents()
        # Columns without any number are in the file only.
        shown = [k for k in range(len(columns)) if any(row[k] is not None for row in rows)]
        heads_of = [words["columns"].get(c, c.replace("-", MINUS)) for c in columns]
        assert heads == [heads_of[k] for k in shown]
        found = block.locator("tbody tr").evaluate_all(
            "(all) => all.map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
        for cells, row in zip(found, rows, strict=True):
            for cell, k in zip(cells, shown, strict=True):
                column, value = columns[k], row[k]
                kind = {"parameter": "parameters", "part": "parts", "guard": "guards"}.get(column)
                if kind in words and value in words[kind]:
                    assert cell == f"{words[kind][value]} ({value})"
                elif isinstance(value, str):
                    assert cell == value
                elif value is None:
                    assert cell == "\N{EN DASH}"
                else:
                    assert as_number(cell) == pytest.approx(value, rel=6e-4)
        name, head, lines = files[key]
        assert (name, head) == (file_name(topic["name"], key), columns)
        for line, row in zip(lines, rows, strict=True):
            for cell, value in zip(line, row, strict=True):
                if isinstance(value, str):
                    assert cell == value
                else:
                    assert cell == "" if value is None else float(cell) == value


CELLS = """(table) => [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => ({
  text: cell.textContent.trim(), ...cell.dataset, live: cell.dataset.live ?? "" })))"""


def test_every_column_sorts_both_ways_with_what_is_missing_last(chromium, topics_report):
    with opened(chromium, topics_report, viewport=DESKTOP) as page:
        for name in ("topics", "numbers"):
            table = page.locator(f"#{name}")
            rows = table.evaluate(CELLS)
            for k, head in enumerate(table.locator("thead th").all()):
                if head.get_attribute("aria-sort") is not None:
                    head.locator("button").click()  # now ascending
                    rows = table.evaluate(CELLS)
                for direction in ("ascending", "descending"):
                    head.locator("button").press("Enter")
                    if head.get_attribute("aria-sort") != direction:
                        head.locator("button").press("Enter")
                    assert table.locator("[aria-sort]").count() == 1
                    rows = in_order(rows, k, direction, head.get_attribute("data-kind"))
                    assert table.evaluate(CELLS) == rows


def in_order(rows, k, direction, kind):
    """Return rows in the order of a column; equal ones stay as they were."""
    keys = [row[k].get("value", row[k]["text"]) for row in rows]
    if kind == "number":
        missing = [row for row, key in zip(rows, keys, strict=True) if key == ""]
        rows = [row for row, key in zip(rows, keys, strict=True) if key != ""]
        keys = [float(key) for key in keys if key != ""]
    else:
        # As people sort: letters before signs count, capitals do not.
        missing, keys = [], [key.lower() for key in keys]
    sign = -1 if direction == "descending" else 1
    ranks = [sign * rank for rank in np.unique(keys, return_inverse=True)[1].tolist()]
    found = [row for _, row in sorted(zip(ranks, rows, strict=True), key=lambda pair: pair[0])]
    return found + missing


def test_the_costs_of_all_topics_follow_and_keep_their_order(chromium, topics_report):
    data = data_of(topics_report)
    pages = {each["name"]: PageTopic(data, each) for each in data["topics"]}
    with opened(chromium, topics_report, viewport=DESKTOP) as page:
        page.click("#numbers th:has-text('Expected cost') button >> visible=true")
        for costs in ((1, 1), (4, 1), (1, 30)):
            for name, cost in zip(("cost-fp", "cost-fn"), costs, strict=True):
                page.fill(f"#{name}-value", str(cost))
            settle(page)
            found = page.locator("#numbers").evaluate(CELLS)
            values = []
            for name, *_, threshold, cost in found:
                expected = pages[name["value"]].decision(*costs, None)
                for cell, key in ((threshold, "threshold"), (cost, "cost")):
                    # Called positive by halves of stretches, which are counted here.
                    assert float(cell["value"]) == pytest.approx(expected[key][0], rel=1e-3)
                    assert cell["text"] == as_text(float(cell["value"]))
                values.append(float(cost["value"]))
            assert values == sorted(values)


def test_tables_of_topics_are_searched_and_saved_as_they_stand(chromium, topics_report):
    with opened(chromium, topics_report, viewport=DESKTOP) as page:
        assert page.inner_text("#search-status") == "5 of 5 topics"
        for name in ("topics", "numbers"):
            ((file, head, lines),) = saved(page, f"#{name}-csv")
            assert file == f"{name}.csv"
            columns = page.locator(f"#{name} thead th button").all_text_contents()
            cells = page.locator(f"#{name}").evaluate(CELLS)
            expected, names = [[] for _ in cells], []
            for k, column in enumerate(columns):
                ends = ["lower", "upper"] if any("lower" in row[k] for row in cells) else []
                names += [column, *(f"{column}, {end}" for end in ends)]
                for line, row in zip(expected, cells, strict=True):
                    line += [row[k].get("value", row[k]["text"])]
                    line += [row[k].get(end, "") for end in ends]
            assert head == names
            assert [[each.removeprefix("'") for each in line] for line in lines] == expected
            assert len(names) > len(columns) or name == "numbers"
        (row, *_) = page.locator("#topics tbody tr", has_not_text="crude").all()
        row.evaluate("(row) => { row.dataset.verdict = 'Odd'; }")
        for wanted, found in {" odd ": [row.locator("th").inner_text()], "CRU": ["crude"],
                              "nothing like that": []}.items():  # fmt: skip
            page.fill("#search", wanted)
            assert page.locator("#topics tbody tr:visible th").all_inner_texts() == found
            assert page.inner_text("#search-status") == f"{len(found)} of 5 topics"


def test_the_topic_that_is_shown_is_marked_everywhere(chromium, topics_report):
    # Without motion the page is where it scrolls to.
    with opened(chromium, topics_report, viewport=DESKTOP, reduced_motion="reduce") as page:
        order = page.locator("#topics tbody tr").evaluate_all(
            "(all) => all.map((row) => row.dataset.topic)"
        )
        data = data_of(topics_report)
        for k, row in enumerate([None, 3, 1]):
            shown = order[row or 0]
            if row is not None:
                page.locator("#topics tbody button").nth(row).click()
                assert page.evaluate("document.activeElement.id") == "topic-heading"
                assert 0 < page.locator("#topic-heading").bounding_box()["y"] < 100
            assert page.input_value("#choose") == shown, k
            assert page.inner_text("#topic-name") == data["topics"][int(shown)]["name"]
            for table in ("topics", "numbers"):
                marked = page.locator(f"#{table} tr.current")
                assert marked.count() == 1
                assert marked.get_attribute("data-topic") == shown
            topic = data["topics"][int(shown)]
            assert float(page.get_attribute("#own", "min")) == topic["x"][0]
