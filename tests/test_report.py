"""A report's contents; it is safe, and written whole or not at all."""

import re
import unicodedata

import numpy as np
import pandas as pd
import pytest
from scipy import special
from sklearn.exceptions import NotFittedError

from bayescal import Program, ScoreCalibrator, TopicCalibrator
from bayescal.distributions import programs
from bayescal.report import write_report
from bayescal.report.rendering import unpacked
from bayescal.report.topic import prior_log_odds
from tests.report_data import (
    CALIBRATORS,
    FAST,
    HOSTILE,
    NAMES,
    data_of,
    fitted_topics,
    fitted_with,
    make_problem,
    make_topics,
    model_of,
    shown,
)


@pytest.mark.parametrize("name", CALIBRATORS)
def test_curves_are_those_of_the_calibrator(name, tmp_path):
    calibrator, given, labels = fitted_with(name)
    options, are_probabilities = CALIBRATORS[name], name == "probabilities"
    path = calibrator.report(tmp_path / "report.html", (given, labels))
    (topic,) = data_of(path)["topics"]
    x = np.array(topic["x"])
    asked = special.expit(x) if are_probabilities else x
    expected = calibrator.decision_function(asked)
    np.testing.assert_allclose(topic["point"], expected, rtol=2e-3, atol=2e-3)
    if calibrator.inference != "mle":
        ends = special.expit(np.array([topic["lower"], topic["upper"]])).T
        np.testing.assert_allclose(ends, calibrator.predict_interval(asked), atol=1e-3)
    mle = np.clip(calibrator.mle_.log_odds(x), -1e3, 1e3)
    np.testing.assert_allclose(topic["mle"], mle, rtol=2e-3, atol=2e-3)
    assert (topic["negatives"], topic["positives"]) == (60, 20)
    assert topic["test"]["point"]["n"] == 80
    has_densities = options.get("parts") not in ("monotone", "logistic")
    assert ("predictive" in topic["densities"]) == (has_densities and calibrator.inference != "mle")


def test_independent_draws_have_no_smallest_effective_sample_size(tmp_path):
    # Beside the table's estimates of it, which scatter, their number would contradict the table.
    calibrator, *_ = fitted_with("combined")
    (topic,) = data_of(calibrator.report(tmp_path / "report.html"))["topics"]
    assert topic["diagnostics"]["independent_draws"] == calibrator.diagnostics_.draws
    assert not {"ess_bulk", "draws", "divergences"} & set(topic["diagnostics"])


@pytest.mark.parametrize("name", CALIBRATORS)
def test_the_model_has_formulas_that_parse(name):
    options, blocks = CALIBRATORS[name], model_of(fitted_with(name)[0])
    formulas = [line for block in blocks for line in block.formulas]
    assert formulas
    text = " ".join(map(shown, formulas))
    assert ("3.5 S" in text) == ("theta_scale" in str(options))
    assert ("InverseGamma" in text) == (
        options.get("parts") not in ("monotone", "logistic") and options.get("inference") != "mle"
    )


def spelled(text):
    """Return text with Greek letters by their names, and signs as keyboards have them."""
    for sign in set(text):
        name = unicodedata.name(sign, "")
        if name.startswith("GREEK SMALL LETTER"):
            text = text.replace(sign, name.split()[-1].lower())
    return text.replace("\N{MINUS SIGN}", "-").replace("\N{TILDE OPERATOR}", "~")


def test_the_formulas_are_those_of_the_default_model():
    blocks = model_of(fitted_with("combined")[0])
    assert [block.title for block in blocks] == [
        "Inference", "Class densities", "Warps", "Gaussian", "Asymmetric Laplace",
        "Priors of the densities", "Monotone log-odds", "Logistic regression",
        "Recalibrated densities", "Log-odds around other problems'", "Combination", "Lapses",
    ]  # fmt: skip
    assert blocks[0].text == "Independent draws from the posterior, without Markov chains."
    lines = [line for block in blocks for line in block.formulas]
    assert [" ".join(spelled(shown(line)).split()) for line in lines] == [
        "log P ( + | s ) P ( - | s ) = log P ( + ) 1 - P ( + ) + log p ( s | + ) p ( s | - )",
        "x = m + c asinh ( s - m c )",
        "p ( s ) = 1 sigma 2 pi exp ( - ( s - mu ) 2 2 sigma 2 )",
        "p ( s ) = beta gamma beta + gamma { exp ( - beta ( theta - s ) ) s ≤ theta"
        " exp ( - gamma ( s - theta ) ) s > theta",
        "mu , theta ~ Normal ( m , 2 S )",
        "w ~ Beta ( 2 , 2 ) (share of the left side)",
        "v ~ InverseGamma ( 2 , S ) , v = 1 / beta + 1 / gamma",
        "v 2 ~ InverseGamma ( 2 , ( S ) 2 ) , v = 2 sigma",
        "P ( + ) ~ Beta ( 1 , 1 )",
        "log P ( + | x ) P ( - | x ) = a + ∑ j b j ( length of piece j between x 0 and x )",
        "a ~ Normal ( 0 , 5 )",
        "log b j = eta + 1.5 J - 1 ∑ steps to j u",
        "eta ~ Normal ( 0 , 1 ) , u ~ Student t ( 4 )",
        "log P ( + | x ) P ( - | x ) = a + b ( x - x 0 )",
        "a ~ Normal ( 0 , 5 )",
        "log b ~ Normal ( 0 , 1 )",
        "log P ( + | x ) P ( - | x ) = a + ∑ j b j ( length of piece j between x 0 and x )",
        "a ~ Normal ( 0 , 5 )",
        "log b j = eta + 1.5 J - 1 ∑ steps to j u",
        "eta ~ Normal ( 0 , 0.4 ) , u ~ Student t ( 4 )",
        "P ( + | s ) = ∑ k w k P k ( + | s )",
        "P ( + | s ) = ( 1 - lamda ) P 0 ( + | s ) + lamda P ( + )",
        "lamda ~ Beta ( 0.2 , 13 )",
    ]


def test_of_several_calibrators_the_model_has_no_centre_of_its_own():
    calibrator, *_ = fitted_with("combined")
    one, many = (
        " ".join(block.text for block in model_of(calibrator, several=several))
        for several in (False, True)
    )
    centre = f"{float(calibrator.results_['constant_data']['centre']):.4g}"
    assert centre in one.replace("\N{MINUS SIGN}", "-")
    assert centre not in many.replace("\N{MINUS SIGN}", "-")
    assert "standardised by m and S" in many


@pytest.mark.slow
def test_what_pymc_samples_is_reported_too(fake_nuts, tmp_path):
    scores, labels = make_problem(40, seed=0)
    mine = tmp_path / "mine.py"
    mine.write_text(programs.load("asymmetric_laplace").source)
    for parts in ("asymmetric_laplace", Program(mine)):
        calibrator = ScoreCalibrator(parts, "nuts", draws=500, random_state=0)
        calibrator.fit(scores, labels)
        text = calibrator.report(tmp_path / "report.html").read_text(encoding="utf-8")
        assert "No-U-Turn" in text
        assert (f"model program {mine}" in text) == (parts != "asymmetric_laplace")


@pytest.mark.slow
def test_topics_are_those_of_the_calibrator(tmp_path):
    calibrator, frame = fitted_topics()
    path = calibrator.report(tmp_path / "report.html", make_topics(1), fitted=frame)
    topics = data_of(path)["topics"]
    assert [topic["name"] for topic in topics] == sorted(NAMES)
    for topic in topics:
        x = np.array(topic["x"])
        names = [topic["name"]] * x.size
        expected = calibrator.decision_function(x, names)
        np.testing.assert_allclose(topic["point"], expected, rtol=2e-3, atol=2e-3)
        band = special.expit(np.array([topic["lower"], topic["upper"]])).T
        np.testing.assert_allclose(band, calibrator.predict_interval(x, names), atol=1e-3)
        rows = frame[frame["topic"] == topic["name"]]
        assert topic["positives"] == (rows["label"] == 1).sum()
        # Documents counted at nodes have the mean that they have.
        inside = np.clip(rows["score"], x[0], x[-1])
        assert topic["share"] @ x / np.sum(topic["share"]) == pytest.approx(inside.mean(), abs=2e-3)


def said_by_part(topic):
    """Return the scores of a page's table of parts, and its rows by name."""
    _, *heads = topic["byPart"]["columns"]
    rows = {name: said for name, *said in topic["byPart"]["rows"]}
    return np.array([float(head.removeprefix("score ")) for head in heads]), rows


@pytest.mark.slow
def test_topics_have_the_weights_of_their_parts_and_what_they_say(tmp_path):
    calibrator, _ = fitted_topics()
    weights = calibrator.posterior_["combination"]["weight"]
    for topic in data_of(calibrator.report(tmp_path / "report.html"))["topics"]:
        found = {row[0]: row[1] for row in topic["parts"]["rows"]}
        expected = weights.sel(topic=topic["name"]).to_series().to_dict()
        assert found == pytest.approx(expected, abs=1e-3)
        at, rows = said_by_part(topic)
        expected = calibrator.predict_proba(at, [topic["name"]] * at.size)[:, 1]
        assert rows["combined"] == pytest.approx(expected, abs=0.01)
        assert list(rows)[1:] == list(found)
    assert [each.title for each in model_of(calibrator)[-2:]] == ["Combination", "Lapses"]


@pytest.mark.slow
def test_a_table_has_what_each_part_says(tmp_path):
    calibrator, *_ = fitted_with("combined")
    (topic,) = data_of(calibrator.report(tmp_path / "report.html"))["topics"]
    at, rows = said_by_part(topic)
    weight = calibrator.combination_["weight"]
    assert list(rows) == ["combined", *weight.index]
    assert rows["combined"] == pytest.approx(calibrator.predict_proba(at)[:, 1], abs=0.01)
    drawn = dict(zip(weight.index, calibrator._fitted.calibration.draws.parts, strict=True))
    for name, part in drawn.items():
        assert rows[name] == pytest.approx(special.expit(part.predictive(at)), abs=0.01), name
    alone, *_ = fitted_with("gaussian")
    (topic,) = data_of(alone.report(tmp_path / "alone.html"))["topics"]
    assert topic["byPart"] is None


@pytest.mark.slow
def test_without_the_scores_fitted_there_are_no_histograms(tmp_path):
    calibrator, _ = fitted_topics()
    path = calibrator.report(tmp_path / "report.html")
    for topic in data_of(path)["topics"]:
        assert "histogram" not in topic
        assert np.sum(topic["share"]) == pytest.approx(1.0, abs=0.01)
        assert max(topic["densities"]["predictive"][1]) > 0.05
    assert "were not given with the calibrator" in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_scores_fitted_are_read_as_what_they_are_told_to_be(tmp_path):
    frame = make_topics()
    told = frame.assign(score=special.expit(frame["score"]))
    of_log_odds, of_probabilities = (
        TopicCalibrator("none", scores_are=kind, **FAST).fit(each)
        for kind, each in (("log_odds", frame), ("probabilities", told))
    )
    first, second = (
        data_of(calibrator.report(tmp_path / f"{k}.html", fitted=each))["topics"]
        for k, (calibrator, each) in enumerate(((of_log_odds, frame), (of_probabilities, told)))
    )
    for one, other in zip(first, second, strict=True):
        assert one["histogram"] == other["histogram"]


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["none", "complete"])
def test_other_poolings_and_topics_that_lack_a_class(pooling, tmp_path):
    frame = make_topics()
    lacking = pd.DataFrame({"score": [0.0, -1.0, 0.3], "label": [0, 0, 0], "topic": "none"})
    frame = pd.concat([frame, lacking])
    calibrator = TopicCalibrator(pooling, **FAST).fit(frame)
    assert not model_of(calibrator)[-1].title.startswith("Comb")
    path = calibrator.report(tmp_path / "report.html", fitted=frame)
    found = {topic["name"]: topic for topic in data_of(path)["topics"]}
    assert "no documents of class 1" in found["none"]["problems"][0]
    assert "mle" not in found["none"]
    assert not found["corn"]["problems"]
    assert "1 of 6 topics have a problem" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "options", [{}, {"scores_are": "log_odds"}, {"parts": "monotone"}, {"parts": "average"}]
)
def test_another_prior_moves_every_draw_by_what_the_page_adds(options):
    scores, labels = make_problem(60, seed=4)
    calibrator = ScoreCalibrator(**FAST | options).fit(scores, labels)
    draws = calibrator.fitted_problems()[""].draws
    x, prior = np.linspace(-2.0, 3.0, 7), 0.03
    moved = draws.with_prior(np.full(draws.size, prior)).log_odds(x) - draws.log_odds(x)
    expected = special.logit(prior) - prior_log_odds(draws, 0.0)
    np.testing.assert_allclose(moved, np.tile(expected[:, None], x.size), atol=1e-9)


def test_the_draws_of_the_page_are_draws_of_the_posterior(tmp_path):
    scores, labels = make_problem(60, seed=4)
    calibrator = ScoreCalibrator(parts="asymmetric_laplace", **FAST).fit(scores, labels)
    (topic,) = data_of(calibrator.report(tmp_path / "report.html"))["topics"]
    x, draws = np.array(topic["x"]), unpacked(topic["draws"])
    all_draws = np.clip(special.logit(calibrator.sample_proba(x)), -20.0, 20.0)
    step = np.ptp(all_draws, axis=0).max() / 255.0
    assert draws.shape == all_draws.shape
    np.testing.assert_allclose(draws, all_draws, atol=step)


# The labels sort the other way round, which the report says in their own words.
@pytest.mark.filterwarnings("ignore::bayescal.support.score_checks.ScoresWarning")
def test_text_from_the_data_stays_text(tmp_path):
    scores, labels = make_problem(40, seed=0)
    hostile = "</script><script>alert(1)</script>"
    named = np.where(labels == 1, hostile, "<b>no</b>")
    calibrators = {
        name: ScoreCalibrator(inference="mle").fit(scores, named) for name in (hostile, "</title>")
    }
    path = write_report(calibrators, tmp_path / "report.html", title=f"{HOSTILE} & 'others'")
    text = path.read_text(encoding="utf-8")
    tags = re.findall(r"<(\w+)", re.sub(r"(<script[^>]*>).*?</script>", r"\1", text, flags=re.S))
    assert (tags.count("script"), tags.count("title"), tags.count("b")) == (2, 1, 0)
    assert "&lt;script&gt;alert(1)" in text
    assert all(each.startswith("#") for each in re.findall(r' (?:src|href)="([^"]*)"', text))
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert data_of(path)["classes"] == sorted(["<b>no</b>", hostile])


@pytest.mark.slow
def test_the_same_calibrator_gives_the_same_file(tmp_path):
    calibrator, frame = fitted_topics()
    first, second = (calibrator.report(tmp_path / f"{k}.html", frame, fitted=frame) for k in "ab")
    assert first.read_bytes() == second.read_bytes()


def test_provenance_tells_seed_versions_and_hash(tmp_path):
    scores, labels = make_problem(40, seed=0)
    pages = []
    for changed in (scores, scores + np.r_[1e-9, np.zeros(39)]):
        calibrator = ScoreCalibrator(inference="mle", random_state=123).fit(changed, labels)
        pages.append(calibrator.report(tmp_path / "report.html").read_text(encoding="utf-8"))
    hashes = [re.search(r'"hash">([0-9a-f]{64})<', page)[1] for page in pages]
    assert hashes[0] != hashes[1]
    assert "<dt>random_state (seed)</dt><dd>123</dd>" in pages[0]
    assert f"<dt>numpy</dt><dd>{np.__version__}</dd>" in pages[0]


@pytest.mark.slow
def test_a_hundred_topics_fit_into_three_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    topic = np.repeat(np.arange(8), 300)
    label = (rng.random(topic.size) < 0.1).astype(int)
    frame = pd.DataFrame({"score": rng.gumbel(2.0 * label), "label": label, "topic": topic})

    def report(topics):
        some = frame[frame["topic"] < topics]
        calibrator = TopicCalibrator("none", **FAST).fit(some)
        return calibrator.report(tmp_path / f"{topics}.html", some, fitted=some)

    few, more = report(2), report(8)
    assert len(data_of(more)["topics"]) == 8
    # Each topic adds the same to the page, within a few per cent: 92 further ones make a hundred.
    of_six = more.stat().st_size - few.stat().st_size
    assert more.stat().st_size + 92 / 6 * of_six < 3e6


def test_not_fitted(tmp_path):
    for calibrator in (ScoreCalibrator(), TopicCalibrator(), {"corn": ScoreCalibrator()}):
        with pytest.raises(NotFittedError):
            write_report(calibrator, tmp_path / "report.html")
    with pytest.raises(ValueError, match="at least one fitted calibrator"):
        write_report({}, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


SCORES, LABELS = make_problem(40, seed=0)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ((SCORES, np.where(SCORES > 1, np.nan, LABELS)), "must be 0 or 1, got nan at position"),
        ((SCORES, ["2"] * 40), "must be 0 or 1, got '2'"),
        ((SCORES, LABELS[:-1]), "the same length, got 40 and 39"),
        ((np.r_[np.nan, SCORES[1:]], LABELS), "must be finite, got nan"),
        (SCORES, "must be a DataFrame with columns score, label"),
        ((SCORES,), "or a tuple of these, got a tuple of 1"),
        (pd.DataFrame({"score": SCORES}), "it lacks label"),
    ],
)
def test_held_out_documents_are_checked(test, message, tmp_path):
    calibrator = ScoreCalibrator(inference="mle").fit(SCORES, LABELS)
    with pytest.raises(ValueError, match=message):
        calibrator.report(tmp_path / "report.html", test)
    assert list(tmp_path.iterdir()) == []


def test_held_out_documents_of_one_class_will_do(tmp_path):
    calibrator = ScoreCalibrator(inference="mle").fit(SCORES, LABELS)
    path = calibrator.report(tmp_path / "report.html", (SCORES, np.zeros(40)))
    (topic,) = data_of(path)["topics"]
    assert topic["test"]["point"]["positives"] == 0


def test_topics_given_are_checked(tmp_path):
    calibrator, frame = fitted_topics()
    other = frame.assign(topic="tin")
    for given in ({"test": other}, {"fitted": other}):
        with pytest.raises(ValueError, match="topics that were fitted, got 'tin'"):
            calibrator.report(tmp_path / "report.html", **given)
    single = ScoreCalibrator(inference="mle").fit(SCORES, LABELS)
    with pytest.raises(ValueError, match="a ScoreCalibrator keeps its scores"):
        write_report(single, tmp_path / "report.html", fitted=(SCORES, LABELS))
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        single.report(tmp_path / "report.html", level=90)


def test_a_path_that_cannot_be_written(tmp_path, monkeypatch):
    calibrator = ScoreCalibrator(inference="mle").fit(SCORES, LABELS)
    with pytest.raises(FileNotFoundError, match="make it first"):
        calibrator.report(tmp_path / "no" / "report.html")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        calibrator.report(tmp_path)
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    for method in ("write_text", "replace"):
        with monkeypatch.context() as patched:
            patched.setattr(f"pathlib.Path.{method}", full)
            with pytest.raises(OSError, match="No space left"):
                calibrator.report(path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]
