"""A report's words: the answer first, the ranking, thresholds, names, letters."""

import hashlib
import re
import unicodedata
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from sklearn.linear_model import LogisticRegression

from bayescal import CalibratedClassifier, ScoreCalibrator, TopicCalibrator
from bayescal.decisions import (
    precision_at,
    rates_by_topic,
    recall_at,
    threshold_for_recall,
    thresholds_by_topic,
)
from bayescal.fitting.scores import BinaryScores
from bayescal.report import write_report
from bayescal.report.answer import TopicRow, answer_of, ranked
from bayescal.report.document import gather
from bayescal.report.held_out import cells_of
from bayescal.report.rendering import Cell, decimals, mark_formula, page_words
from bayescal.report.topic import CELLS, WIDEST, half_way, shares, smooth_shares, typical_scores
from bayescal.support.palette import CLASS_COLOURS, MLE_COLOUR, POSTERIOR_COLOUR
from tests.report_data import (
    CALIBRATORS,
    FAST,
    NAMES,
    data_of,
    fitted_topics,
    fitted_with,
    make_problem,
    make_topics,
    model_of,
    shown,
)

RIGHT = {
    "verdict": "Right.",
    "advice": "",
    "calibrated": True,
    "informative": True,
    "outcome": "right",
}
WRONG = RIGHT | {"verdict": "Off.", "advice": "Fit again.", "calibrated": False, "outcome": "off"}


@pytest.fixture(scope="module")
def single():
    scores, labels = make_problem(300, seed=0)
    return ScoreCalibrator(draws=200, random_state=0).fit(scores, labels), scores


@pytest.mark.parametrize(
    ("tested", "off", "state", "said"),
    [
        (None, (0, 0), "missing", "label some two hundred documents"),
        (RIGHT, (0, 1), "good", "Right."),
        (WRONG, (1, 1), "warning", "Off. Fit again."),
        (RIGHT | {"informative": False}, (0, 1), "unknown", "Right."),
        (RIGHT | {"outcome": "uncertain"}, (0, 1), "unknown", "Right."),
        (RIGHT, (1, 10), "good", "by chance alone it would be 0.5 or so"),
        (RIGHT, (6, 10), "warning", "6 of 10 topics are off at 5 %"),
        (WRONG, (1, 10), "warning", "The table of topics says which"),
    ],
)
def test_the_answer_is_what_held_out_documents_say(tested, off, state, said):
    found = answer_of(tested, off)
    assert found.state == state
    assert said in found.text


@pytest.mark.slow
def test_the_summary_answers_and_says_what_to_do(single, tmp_path):
    calibrator, _ = single
    text = calibrator.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Are the probabilities right? Nobody can tell yet" in text
    assert "<code>--test</code>" in text
    tested = calibrator.report(tmp_path / "report.html", make_problem(400, seed=2))
    text = tested.read_text(encoding="utf-8")
    assert "Are the probabilities right? Yes" in text
    assert "<code>--test</code>" not in text


def test_few_held_out_documents_are_no_answer(single, tmp_path):
    calibrator, _ = single
    text = calibrator.report(tmp_path / "report.html", ([-3.0, 3.0], [0, 1])).read_text("utf-8")
    assert "The held-out documents are too few to tell." in text


@pytest.mark.slow
def test_topics_are_ranked_by_how_uncertain_their_recall_is():
    calibrator, frame = fitted_topics()
    contents = gather(calibrator, test=None, fitted=frame, level=0.9)
    widths = [row.choices[4].value for row in contents["rows"]]
    assert widths == sorted(widths, reverse=True)
    assert contents["choice_columns"][4].startswith("Uncertainty")
    names = [topic["name"] for topic in contents["data"]["topics"]]
    assert [row.name for row in contents["rows"]] != names
    assert [names[row.index] for row in contents["rows"]] == [row.name for row in contents["rows"]]


def test_without_intervals_the_fewest_positives_come_first():
    row = TopicRow(0, "", (Cell(9.0), *4 * (Cell(None),)), (), None, "")
    few = replace(row, index=1, choices=(Cell(3.0), *row.choices[1:]))
    assert [each.index for each in ranked([row, few])] == [1, 0]


def test_thresholds_are_told_as_the_decisions_have_them(single, tmp_path):
    calibrator, scores = single
    path = write_report(calibrator, tmp_path / "report.html", threshold=0.5, recall=0.8, level=0.8)
    selection = data_of(path)["topics"][0]["selection"]
    draws = calibrator.sample_proba(scores)
    at, wanted = selection["at"], selection["wanted"]
    assert at["threshold"] == [0.5]
    for name, of in (("precision", precision_at), ("recall", recall_at)):
        expected = of(0.5, scores, draws, of="population", level=0.8)
        ends = [expected.value, expected.lower, expected.upper]
        assert at[name] == pytest.approx(ends, abs=0.025)
    expected = threshold_for_recall(scores, draws, 0.8, of="population", level=0.8)
    ends = [expected.threshold, expected.lower, expected.upper]
    assert wanted["threshold"] == pytest.approx(ends, abs=0.1)
    assert wanted["recall"][0] == pytest.approx(0.8, abs=0.005)


def test_held_out_documents_are_counted_beside(single, tmp_path):
    calibrator, _ = single
    scores, labels = make_problem(400, seed=1)
    path = write_report(calibrator, tmp_path / "report.html", test=(scores, labels), threshold=0.5)
    counted = data_of(path)["topics"][0]["selection"]["at"]["held_out"]
    taken = scores >= 0.5
    assert counted["precision"] == pytest.approx(labels[taken].mean(), abs=1e-3)
    assert counted["recall"] == pytest.approx(labels[taken].sum() / labels.sum(), abs=1e-3)


def test_where_no_probability_reaches_one_half_there_is_no_threshold_there(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 10 == 0
    calibrator = ScoreCalibrator(**FAST).fit(rng.normal(0.5 * labels), labels.astype(int))
    path = calibrator.report(tmp_path / "report.html")
    assert data_of(path)["topics"][0]["selection"]["at"] is None
    assert "At no score shown is the probability one half" in path.read_text(encoding="utf-8")


def test_a_threshold_is_in_the_units_of_the_scores(tmp_path):
    scores, labels = make_problem(80, seed=0)
    calibrator = ScoreCalibrator(**FAST, scores_are="probabilities")
    calibrator.fit(special.expit(scores), labels)
    path = write_report(calibrator, tmp_path / "report.html", threshold=0.75)
    (threshold,) = data_of(path)["topics"][0]["selection"]["at"]["threshold"]
    assert threshold == pytest.approx(np.log(3.0), abs=1e-3)
    with pytest.raises(ValueError, match="must lie between 0 and 1, got 2"):
        write_report(calibrator, tmp_path / "report.html", threshold=2.0)
    with pytest.raises(ValueError, match="recall must lie between 0 and 1"):
        write_report(calibrator, tmp_path / "report.html", recall=90)


def test_the_crossing_of_a_curve_that_falls_again_is_the_last_rise():
    x = np.arange(6.0)
    assert half_way(x, np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])) == 2.5
    assert half_way(x, np.full(6, -1.0)) is None
    assert half_way(x, np.full(6, 1.0)) == 0.0


def test_typical_scores_have_the_share_of_each_stretch():
    x, share = np.array([0.0, 1.0, 3.0, 4.0]), np.array([0.1, 0.4, 0.3, 0.2])
    found = typical_scores(x, share, 10_000)
    assert (found < 0.5).mean() == pytest.approx(0.1, abs=1e-3)
    assert ((found > 0.5) & (found < 2.0)).mean() == pytest.approx(0.4, abs=1e-3)
    assert (found > 3.5).mean() == pytest.approx(0.2, abs=1e-3)


@pytest.mark.parametrize("which", ["single", pytest.param("pooled", marks=pytest.mark.slow)])
def test_the_facts_of_a_report_are_counts_of_its_data(which, single):
    """Counts, the fewest positives, the range of the scores, and what was held out."""
    calibrator, data = single if which == "single" else fitted_topics()
    if which == "single":
        score, label = make_problem(300, seed=0)
        parts, test, fitted = [(score, label)], make_problem(50, seed=1), None
        held_out = 50
    else:
        parts = [(each["score"], each["label"]) for _, each in data.groupby("topic")]
        test, fitted, held_out = data.iloc[::7], data, len(data.iloc[::7])
    facts = gather(calibrator, test=test, fitted=fitted, level=0.9)["facts"]
    score, label = (np.concatenate(each) for each in zip(*parts, strict=True))
    expected = {"Topics": f"{len(parts)}"} if which == "pooled" else {}
    positives = int(label.sum())
    expected |= {
        "Scores fitted": f"{label.size:,}",
        "Positives (class 1)": f"{positives}",
        "Negatives (class 0)": f"{label.size - positives}",
    }
    if which == "pooled":
        fewest = min(int(np.sum(each)) for _, each in parts)
        expected["Fewest positives of a topic"] = f"{fewest}"
    ends = f"{score.min():.4g}, {score.max():.4g}".replace("-", "\N{MINUS SIGN}")
    expected |= {"Scores from, to": ends, "Scores held out": f"{held_out}"}
    losses = {name: text for name, text in facts.items() if name.startswith("Log-loss")}
    assert facts == expected | losses
    assert next(iter(losses)) == "Log-loss per held-out document, posterior"


def test_documents_spread_out_keep_their_mean_and_have_no_gaps(single):
    calibrator, _ = single
    (problem,) = calibrator.fitted_problems().values()
    rng = np.random.default_rng(0)
    score = np.concatenate([rng.normal(-1.0, 0.5, 200), [0.5, 1.4, 2.0]])
    few = replace(problem, documents=BinaryScores(score, np.arange(203) >= 200))
    nodes = np.linspace(-4.0, 4.0, 129)
    as_they_are, smooth = shares(few, nodes), smooth_shares(few, nodes)
    assert smooth.sum() == pytest.approx(1.0)
    assert smooth @ nodes == pytest.approx(as_they_are @ nodes, abs=0.05)
    between = (nodes > 0.5) & (nodes < 2.0)
    assert (as_they_are[between] == 0.0).any()
    assert (smooth[between] > 1e-4).all()


def test_documents_are_spread_out_by_kernels_that_are_wide_where_they_are_few(single):
    """Silverman's adaptive kernel estimate of each class, written out with scipy.stats."""
    (problem,) = single[0].fitted_problems().values()
    rng = np.random.default_rng(1)
    cells, nodes = np.linspace(-4.0, 4.0, CELLS), np.linspace(-4.0, 4.0, 65)
    classes = [cells[rng.integers(100, 300, 80)], cells[[250, 260, 300, 480]]]
    density = np.zeros(nodes.size)
    for score in classes:
        places, counts = np.unique(score, return_counts=True)
        share = counts / score.size
        ends = np.interp([0.25, 0.75], np.cumsum([np.mean(score == c) for c in cells]), cells)
        width = 0.9 * min(score.std(), np.ptp(ends) / 1.34) * score.size**-0.2
        pilot = stats.norm.pdf(places[:, None], places, width) @ share
        wider = np.sqrt(np.exp(share @ np.log(pilot)) / pilot)
        scale = width * np.clip(wider, 1.0, WIDEST)
        density += score.size * (stats.norm.pdf(nodes[:, None], places, scale) @ share)
    documents = BinaryScores(np.concatenate(classes), np.arange(84) >= 80)
    found = smooth_shares(replace(problem, documents=documents), nodes)
    np.testing.assert_allclose(found, density / density.sum(), rtol=1e-3)


def test_documents_are_spread_out_alike_in_any_units(single):
    (problem,) = single[0].fitted_problems().values()
    score, nodes = np.array([0.0, 1.0]), np.linspace(-3.0, 4.0, 129)
    usual, tiny = (
        smooth_shares(
            replace(problem, documents=BinaryScores(unit * score, np.array([False, True]))),
            unit * nodes,
        )
        for unit in (1.0, 1e-8)
    )
    np.testing.assert_allclose(tiny, usual, atol=1e-12)


@pytest.mark.parametrize("name", [*CALIBRATORS, "topics"])
def test_names_in_tables_have_words(name):
    calibrator, *_ = fitted_topics() if name == "topics" else fitted_with(name)
    problem = next(iter(calibrator.fitted_problems().values()))
    table, words = problem.parameters(0.9), page_words()
    names = [name for _, name in table.index if not name.startswith("at ")]
    assert set(names) <= words["parameters"].keys()
    assert set(table.columns) <= words["columns"].keys() | {"documents"}
    if problem.parts is not None:
        assert set(problem.parts.index) <= words["parts"].keys()
        assert set(problem.parts.columns) <= words["columns"].keys()


def greek(text):
    return {each for each in text if unicodedata.name(each, "").startswith("GREEK SMALL")}


@pytest.mark.parametrize("name", [*CALIBRATORS, "topics", "separate topics"])
def test_letters_are_explained_in_words_before_formulas(name):
    calibrator, *_ = fitted_with(name) if name in CALIBRATORS else fitted_topics()
    if name == "separate topics":
        calibrator = TopicCalibrator("none", **FAST).fit(make_topics())
    told = set()
    for block in model_of(calibrator, several=name not in CALIBRATORS):
        told |= greek(block.text)
        for line in block.formulas:
            letters = greek(shown(line))
            assert letters - {"\N{GREEK SMALL LETTER PI}"} <= told, block.title


def test_the_style_sheet_has_the_colours_of_the_plots_and_no_others_for_data(single, tmp_path):
    calibrator, _ = single
    text = calibrator.report(tmp_path / "report.html").read_text(encoding="utf-8")
    style = text[text.index("<style>") : text.index("</style>")]
    expected = dict(
        zip(("negative", "positive"), CLASS_COLOURS, strict=True),
        posterior=POSTERIOR_COLOUR,
        mle=MLE_COLOUR,
    )
    for name, colour in expected.items():
        assert f"--{name}: {colour};" in style


def test_impossible_documents_of_many_cells_are_counted_not_numbered():
    # So many documents share cells, whose positions are not theirs.
    point = np.append(np.linspace(-3.0, 3.0, 3000), [-800.0, -800.0])
    positive = np.append(np.arange(3000) % 2 == 0, [True, True])
    found = cells_of(point, point, positive, None).verdict()
    assert found.finding == "The class of 2 documents had probability 0."


def test_numbers_of_one_column_have_one_format():
    assert [decimals(each) for each in (1.0, 0.9231, None)] == ["1.000", "0.923", "\N{EN DASH}"]


MARKED = {
    "x + 12.5": "<mi>x</mi><mo>+</mo><mn>12.5</mn>",
    "β -3 2e-05": "<mi>β</mi><mn>\N{MINUS SIGN}3</mn><mn>2e\N{MINUS SIGN}05</mn>",
    "- &lt; ∑ ,": "<mo>\N{MINUS SIGN}</mo><mo>&lt;</mo><mo>∑</mo><mo>,</mo>",
    "log s": "{0}<mi>log</mi>{0}<mi>s</mi>".format('<mspace width="0.17em"></mspace>'),
    "<mtext> if a - b </mtext> y": "<mtext> if a - b </mtext><mi>y</mi>",
    '<mo stretchy="false">(</mo><msqrt>2 π</msqrt>': '<mo stretchy="false">(</mo>'
    "<msqrt><mn>2</mn><mi>π</mi></msqrt>",
}


@pytest.mark.parametrize(("text", "expected"), MARKED.items())
def test_formulas_are_marked_as_letters_numbers_and_signs(text, expected):
    assert mark_formula(text) == expected


# A collection in a report: how many to read, found and missed, as `bayescal decide` has it


@pytest.fixture(scope="module")
def gaussian():
    return ScoreCalibrator("gaussian", **FAST).fit(*make_problem(200, seed=0))


def check_rows(found, at, wanted):
    """Compare what a page holds with the tables of `bayescal.decisions`."""
    for part, table in (("at", at), ("wanted", wanted)):
        for name, row in table.to_dict("index").items():
            shown = found[str(name)][part]
            assert {key: shown[key] for key in row} == pytest.approx(row, rel=1e-6, nan_ok=True)


@pytest.mark.parametrize("asked", [{}, {"threshold": 0.5, "recall": 0.7, "level": 0.8}])
def test_a_page_has_the_numbers_of_the_decisions(gaussian, asked, tmp_path):
    scores, _ = make_problem(500, seed=1)
    path = gaussian.report(tmp_path / "report.html", collection=scores, **asked)
    common = {"level": asked.get("level", 0.9), "random_state": 0}
    taken = {"threshold": 0.5} if "threshold" in asked else {"probability": 0.5}
    at = rates_by_topic(gaussian, scores, **taken, **common)
    wanted = thresholds_by_topic(gaussian, scores, recall=asked.get("recall", 0.9), **common)
    check_rows(data_of(path)["collection"], at, wanted)
    text = re.sub("<[^>]+>|\\s+", " ", path.read_text("utf-8"))
    row = wanted.loc[""]
    share = "70 %" if asked else "90 %"
    assert f"{row['selected']:.0f} of 500, those of score" in text
    assert f"to find {share} of the positives" in text
    assert f"about {row['found']:.0f} found ({row['found_lower']:.0f} to" in text
    assert "the score asked for, or more" in text if asked else "probability ½ or more" in text


@pytest.mark.slow
def test_of_topics_there_is_a_row_each(tmp_path):
    calibrator, frame = fitted_topics()
    new = make_topics(seed=3)
    path = calibrator.report(tmp_path / "report.html", fitted=frame, collection=new)
    common = {"level": 0.9, "random_state": 0}
    at = rates_by_topic(calibrator, new["score"], new["topic"], probability=0.5, **common)
    wanted = thresholds_by_topic(calibrator, new["score"], new["topic"], recall=0.9, **common)
    found = data_of(path)["collection"]
    assert list(found) == wanted.index.tolist()
    check_rows(found, at, wanted)
    text = path.read_text("utf-8")
    rows = text[text.index("What to read of every topic") : text.index('id="words"')]
    assert rows.count("data-show=") == len(NAMES)
    as_arrays = calibrator.report(
        tmp_path / "arrays.html", fitted=frame, collection=(new["score"], new["topic"])
    )
    assert data_of(as_arrays)["collection"] == found


@pytest.mark.slow
def test_topics_that_were_not_fitted_stand_without_a_link(tmp_path):
    calibrator, frame = fitted_topics()
    new = pd.DataFrame({"score": [0.0, 1.0, 2.0], "topic": ["corn", "new", "new"]})
    path = calibrator.report(tmp_path / "report.html", fitted=frame, collection=new)
    assert set(data_of(path)["collection"]) == {"corn", "new"}
    assert '<tr><th scope="row">new</th>' in path.read_text("utf-8")


def test_a_classifier_takes_documents(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=200), [-0.5, 0.7])
    calibrator = ScoreCalibrator("gaussian", **FAST)
    classifier = CalibratedClassifier(LogisticRegression(), calibrator, cv=3)
    path = classifier.fit(X, y > 0).report(tmp_path / "report.html", collection=X[:50])
    wanted = thresholds_by_topic(classifier, X[:50], recall=0.9, random_state=0)
    shown = data_of(path)["collection"]
    assert list(shown) == [""]
    assert shown[""]["wanted"]["selected"] == wanted.loc["", "selected"]
    with pytest.raises(ValueError, match=r"collection.* must be left out for several classes"):
        classifier.fit(X, y).report(tmp_path / "report.html", collection=X[:50])


def test_without_a_collection_there_is_nothing_about_one(gaussian, tmp_path):
    path = gaussian.report(tmp_path / "report.html")
    assert data_of(path)["collection"] == {}
    assert "What to read" not in path.read_text("utf-8")


@pytest.mark.slow
def test_a_collection_is_checked(gaussian, tmp_path):
    path = tmp_path / "report.html"
    with pytest.raises(ValueError, match=r"collection must be .*columns score.* lacks score"):
        gaussian.report(path, collection=pd.DataFrame({"p": [0.5]}))
    with pytest.raises(ValueError, match=r"columns score, topic.* lacks topic"):
        fitted_topics()[0].report(path, collection=pd.DataFrame({"score": [0.5]}))
    with pytest.raises(ValueError, match="scores must be finite"):
        gaussian.report(path, collection=[0.0, np.nan])
    mle = ScoreCalibrator(inference="mle").fit(*make_problem(40, seed=0))
    with pytest.raises(ValueError, match="intervals need a posterior"):
        mle.report(path, collection=[0.0, 1.0])
    assert list(tmp_path.iterdir()) == []


def sha(topics):
    """Return the hash of documents as a report describes it."""
    total = hashlib.sha256()
    for name, score, label in topics:
        total.update(name.encode() + np.asarray(score, "<f8").tobytes())
        total.update(np.asarray(label, np.uint8).tobytes())
    return total.hexdigest()


def test_held_out_documents_are_told_from_those_fitted(tmp_path):
    fitted, held_out = make_problem(120, seed=0), make_problem(90, seed=1)
    calibrator = ScoreCalibrator("gaussian", **FAST).fit(*fitted)
    path = calibrator.report(tmp_path / "report.html", held_out)
    text = path.read_text("utf-8")
    for name, documents in (("fitted", fitted), ("held out", held_out)):
        hashed = f'<dt>Scores {name}</dt><dd class="hash">{sha([("", *documents)])}</dd>'
        assert hashed in text
        assert f"<dt>Scores {name}</dt><dd>{documents[1].size}</dd>" in text
    (topic,) = data_of(path)["topics"]
    assert (topic["negatives"], topic["positives"]) == (90, 30)
    assert np.sum(topic["histogram"]["counts"][1]) == pytest.approx(30, abs=1)
    assert (topic["test"]["point"]["n"], topic["test"]["point"]["positives"]) == (90, 23)
    p = calibrator.predict_proba(held_out[0])[:, 1]
    assert topic["test"]["point"]["expected"] == pytest.approx(p.sum(), rel=1e-3)


@pytest.mark.slow
def test_held_out_topics_are_told_from_those_fitted(tmp_path):
    calibrator, frame = fitted_topics()
    held_out = make_topics(seed=1)
    held_out = held_out[held_out["topic"] != "crude"]
    path = write_report(calibrator, tmp_path / "report.html", test=held_out, fitted=frame)
    for name, documents in (("fitted", frame), ("held out", held_out)):
        groups = documents.groupby("topic")
        hashed = sha((topic, rows["score"], rows["label"]) for topic, rows in groups)
        assert f'<dt>Scores {name}</dt><dd class="hash">{hashed}</dd>' in path.read_text("utf-8")
