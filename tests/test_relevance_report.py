"""The report of rankings says what the calibrator says, judges it, and stays one safe file."""

import re
from html import unescape

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score

from bayescal import TopicCalibrator
from bayescal.ranking import RelevanceCalibrator, average_precision
from tests.browser import browser, opened
from tests.report_data import HOSTILE, data_of
from tests.test_relevance import queries

LONG = 400


@pytest.fixture(scope="module")
def fitted():
    quick = TopicCalibrator(parts="gaussian", draws=100, random_state=0)
    return RelevanceCalibrator(quick, random_state=0).fit(*queries(seed=0))


@pytest.fixture(scope="module")
def ranked():
    """Return scores, relevance and queries, one of a hostile name, one long, one with nothing."""
    scores, relevant, qid = queries(seed=1, number=5)
    rng = np.random.default_rng(2)
    names = np.array([HOSTILE, "b", "c", "d", "nothing", "long"], dtype=object)
    code = np.concatenate([np.asarray(qid), np.full(LONG, 5)])
    scores = np.concatenate([scores, rng.normal(size=LONG)])
    relevant = np.concatenate([relevant * (qid != 4), rng.random(LONG) < 0.1])
    return scores, relevant.astype(int), names[code]


@pytest.fixture(scope="module")
def path(fitted, ranked, tmp_path_factory):
    scores, relevant, qid = ranked
    return fitted.report(tmp_path_factory.mktemp("report") / "a.html", scores, qid, relevant)


@pytest.mark.slow
def test_a_reading_is_what_the_calibrator_says_one_by_one(fitted, ranked):
    scores, _, qid = ranked
    readings = fitted.read(scores, qid, recall=0.7, probability=0.8, level=0.5)
    stops = fitted.when_to_stop(scores, qid, recall=0.7, probability=0.8)
    precision = fitted.expected_average_precision(scores, qid, level=0.5)
    point = fitted.predict_proba(scores, qid)[:, 1]
    for name, reading in readings.items():
        ordered = scores[reading.document]
        assert set(qid[reading.document]) == {name}
        assert (np.diff(ordered) <= 0).all()
        assert reading.document.size == stops.loc[name, "documents"]
        assert reading.stop == stops.loc[name, "stop"]
        assert reading.relevant.value == pytest.approx(stops.loc[name, "relevant"])
        assert reading.missed.value == pytest.approx(stops.loc[name, "missed"])
        found = reading.average_precision
        assert [found.value, found.lower, found.upper] == pytest.approx([*precision.loc[name]])
        assert reading.probability == pytest.approx(point[reading.document][reading.rank - 1])
        # The stop is the first rank at which enough is reached, among the ranks shown.
        before, after = reading.rank < reading.stop, reading.rank >= reading.stop
        assert (reading.reached[before] < 0.8).all()
        assert (reading.reached[after] >= 0.8 - 1e-9).all()
        assert (reading.recall_lower <= reading.recall_upper).all()
        assert (np.diff(reading.recall) >= 0).all()
        assert reading.rank[[0, -1]].tolist() == [1, reading.document.size]


@pytest.mark.slow
def test_the_page_holds_it_with_what_was_judged(fitted, ranked, path):
    scores, relevant, qid = ranked
    data = data_of(path)
    assert [each["name"] for each in data["queries"]] == list(dict.fromkeys(qid))
    assert (data["recall"], data["probability"], data["level"]) == (0.8, 0.9, 0.9)
    readings = fitted.read(scores, qid)
    for each in data["queries"]:
        mine = qid == each["name"]
        ranks = np.argsort(np.argsort(-scores[mine], kind="stable"), kind="stable") + 1
        assert each["judged"]["relevant"] == sorted(ranks[relevant[mine] == 1].tolist())
        assert each["probability"] == pytest.approx(readings[each["name"]].probability, rel=1e-3)
        assert len(each["judged"]["recall"]) == len(each["rank"]) <= 240
    text = path.read_text(encoding="utf-8")
    mine = qid == "b"
    by_query = average_precision(relevant[mine], scores[mine], qid[mine])
    assert f'data-value="{by_query["b"]:.6g}"' in text


@pytest.mark.slow
def test_too_little_read_is_noticed(fitted, tmp_path):
    scores, relevant, qid = queries(seed=3, number=60)
    good = fitted.report(tmp_path / "good.html", scores, qid, relevant)
    assert "No sign that too little is read" in good.read_text(encoding="utf-8")
    # As after a change of the ranker that turned half its scores into noise.
    rng = np.random.default_rng(4)
    noise = np.where(rng.random(scores.size) < 0.5, rng.permutation(scores), scores)
    bad = fitted.report(tmp_path / "bad.html", noise, qid, relevant)
    assert "Not often enough: too little is read" in bad.read_text(encoding="utf-8")


@pytest.mark.slow
def test_without_judgements_nobody_can_tell(fitted, ranked, tmp_path):
    scores, _, qid = ranked
    text = fitted.report(tmp_path / "a.html", scores, qid).read_text(encoding="utf-8")
    assert "Nobody can tell yet" in text
    assert "Judged relevant" not in text


def test_the_table_facts_and_answer_are_those_of_the_readings(fitted, ranked, path):
    scores, relevant, qid = ranked
    readings = fitted.read(scores, qid)
    text = path.read_text(encoding="utf-8")
    rows = [
        [
            [float(each) for each in re.findall(r'data-\w+="([^"]+)"', cell)]
            for cell in re.findall(r"<td class=.number.([^>]*)>", row)
        ]
        for row in re.findall(r'<tr data-topic="\d+".*?</tr>', text, re.S)
    ]
    enough, held, known = 0, 0, 0
    for row, (name, reading) in zip(rows, readings.items(), strict=True):
        size, stop = reading.document.size, reading.stop
        own = relevant[qid == name]
        best = own[np.argsort(-scores[qid == name], kind="stable")]
        recall = best[:stop].sum() / own.sum() if own.any() else 1.0
        expected = [[size], [stop], [stop / size]]
        for each in (reading.relevant, reading.missed, reading.average_precision):
            expected.append([each.value, each.lower, each.upper])
        expected += [[own.sum()], [recall], []]
        if own.any():
            precision = average_precision_score(own, scores[qid == name])
            expected[-1] = [precision]
            ends = reading.average_precision
            held, known = held + (ends.lower <= precision <= ends.upper), known + 1
        assert [len(cell) for cell in row] == [len(cell) for cell in expected]
        assert np.concatenate(row) == pytest.approx(np.concatenate(expected), rel=1e-5)
        enough += recall >= 0.8
    shown = unescape(re.sub(r"<[^>]+>", " ", text))
    read = sum(each.stop for each in readings.values())
    for fact in (
        f"Queries {len(readings)}",
        f"Documents {scores.size:,}",
        f"To read {read:,} ({100 * read / scores.size:.0f} %)",
        f"Relevant documents, expected {sum(r.relevant.value for r in readings.values()):.0f}",
        f"Of these missed, expected {sum(r.missed.value for r in readings.values()):.0f}",
        "Queries that the calibrator was fitted to 30",
        f"reaches the recall of 80 % in {enough} of 6 judged queries ({100 * enough / 6:.0f} %),"
        " where 90 % or more were asked for; so few or fewer come by chance with probability"
        f" {stats.binom.cdf(enough, 6, 0.9):.3g}.",
        f"holds the judged one in {held} of {known} queries that have relevant documents.",
    ):
        assert fact in " ".join(shown.split())


def test_names_are_escaped(path):
    assert HOSTILE not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"y": [0, 1]}, "must have the same length"),
        ({"recall": 1.5}, "recall must be a number above 0 and at most 1"),
        ({"level": 2.0}, "level must lie between 0 and 1"),
        ({"path": "missing/a.html"}, "missing"),
    ],
)
def test_nothing_is_written_of_wrong_wishes(fitted, ranked, tmp_path, wrong, match):
    scores, relevant, qid = ranked
    asked = {"y": relevant, **wrong}
    path = tmp_path / asked.pop("path", "a.html")
    with pytest.raises((ValueError, OSError), match=match):
        fitted.report(path, scores, qid, **asked)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("spoil", ["queries", "random", "times 7"])
def test_relevance_in_other_grades_is_refused(fitted, ranked, tmp_path, spoil):
    scores, relevant, qid = ranked
    y = {
        "queries": np.unique(qid, return_inverse=True)[1] + 20,
        "random": np.random.default_rng(0).random(scores.size),
        "times 7": 7 * relevant,
    }[spoil]
    asked = relevant if spoil == "queries" else qid
    with pytest.raises(ValueError, match=r"y must hold 0\.0, 1\.0 only, .*qid and y are exchanged"):
        fitted.report(tmp_path / "a.html", scores, asked, y)
    assert list(tmp_path.iterdir()) == []


def test_with_a_threshold_other_grades_are_taken_unless_all_are_better(tmp_path):
    scores, relevant, qid = queries(seed=0, number=6)
    quick = TopicCalibrator(parts="gaussian", draws=50, random_state=0)
    graded = RelevanceCalibrator(quick, relevance_threshold=2, random_state=0)
    graded.fit(scores, 3 * relevant, qid)
    graded.report(tmp_path / "a.html", scores, qid, 4 * relevant)
    message = "grades like those from 0 to 3 that were fitted, got 20 for the least relevant"
    with pytest.raises(ValueError, match=message):
        graded.report(tmp_path / "b.html", scores, relevant, qid + 20)


@pytest.mark.docs
def test_a_browser_shows_the_queries(path):
    with browser() as chromium, opened(chromium, path) as page:
        assert page.locator("#figures figure").count() == 2
        page.select_option("#choose", label="long")
        assert page.locator("#query-name").inner_text() == "long"
        page.fill("#search", "noth")
        assert page.locator("#search-status").inner_text() == "1 of 6 queries"
        page.fill("#search", "")
        page.locator("#queries thead button", has_text="Documents").first.click()
        page.locator("#queries thead button", has_text="Documents").first.click()
        assert page.locator("#queries tbody th").first.inner_text() == "long"
        page.locator("#queries tbody button").nth(1).click()
        assert page.locator("#query-name").inner_text() != "long"
