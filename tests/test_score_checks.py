"""Warnings of scores the wrong way round, and of scores that may be probabilities."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

import bayescal
from bayescal import (
    CalibratedClassifier,
    ConvergenceWarning,
    ScoreCalibrator,
    ScoresWarning,
    TopicCalibrator,
)
from bayescal.fitting.engines.monotone.engine import as_probabilities
from bayescal.fitting.scores import BinaryScores
from bayescal.metrics import losses
from bayescal.support.score_checks import direction, read_scores, swapped_classes, topic_problems
from bayescal.support.validation import as_scores_of
from bayescal.text import TextCalibrator
from tests.cli_tools import make_frame, make_topics, run, summary_of, write
from tests.report_data import data_of

RNG = np.random.default_rng(7)
LABELS = np.repeat(["Corn", "wheat"], [20, 180])  # ASCII has capitals first
SCORES = RNG.normal(2.0 * (LABELS == "Corn"), 1.0)
FAST = {"draws": 100, "chains": 2, "random_state": 0}


def test_one_score_beyond_probabilities_is_read_as_the_nearest():
    with pytest.warns(ScoresWarning, match=r"a score of 1\.7 is no probability"):
        found = read_scores([0.25, 1.7, 0.5], "probabilities", guessed=True)
    np.testing.assert_allclose(special.expit(found)[[0, 2]], [0.25, 0.5])
    assert special.expit(found[1]) > 0.99


def test_direction_is_that_of_mann_and_whitney_with_ties_and_weights():
    score, positive = np.round(RNG.normal(size=80), 1), RNG.random(80) < 0.2
    found = direction(score, positive)
    below, above = score[~positive], score[positive]
    test = stats.mannwhitneyu(
        above, below, alternative="less", method="asymptotic", use_continuity=False
    )
    assert found.auc == pytest.approx(test.statistic / (below.size * above.size))
    assert found.probability_below == pytest.approx(1.0 - test.pvalue)
    weight = RNG.integers(0, 4, 80)
    again = direction(np.repeat(score, weight), np.repeat(positive, weight))
    weighed = direction(score, positive, weight.astype(float))
    assert (weighed.auc, weighed.variance) == pytest.approx((again.auc, again.variance))
    assert direction(score, positive, np.full(80, 1 / 80)) is None  # one document's worth
    assert direction(score, np.zeros(80, dtype=bool)) is None


def test_probability_is_nearly_that_of_the_bayesian_bootstrap():
    for shift in (-0.4, 0.0, 0.2):
        plus, minus = RNG.normal(shift, 1.0, 25), RNG.normal(0.0, 1.0, 100)
        u, v = RNG.dirichlet(np.ones(25), 4000), RNG.dirichlet(np.ones(100), 4000)
        auc = np.einsum("bi,ij,bj->b", u, plus[:, None] > minus, v, optimize=True)
        found = direction(np.r_[plus, minus], np.arange(125) < 25)
        assert found.probability_below == pytest.approx((auc < 0.5).mean(), abs=0.04)


@pytest.mark.parametrize("positives", [3, 5, 10, 50])
def test_rates_of_alarm(positives):
    positive = np.arange(positives + 200) < positives

    def rate(shift):
        samples = RNG.normal(size=(1000, positive.size)) + shift * positive
        return np.mean([direction(each, positive).probability_below > 0.95 for each in samples])

    assert rate(0.0) == pytest.approx(0.05, abs=0.025)  # scores without information
    assert rate(0.5) < 0.02  # the right way round
    assert rate(-2.0) > 0.85  # the wrong way round


def test_topics_without_information_seldom_alarm():
    names, alarms = list("abcdefghij"), []
    for _ in range(300):
        directions = [direction(RNG.normal(size=60), np.arange(60) < 5) for _ in names]
        of_all, of_topics = topic_problems(names, directions, (0, 1))
        alarms.append((bool(of_all), bool(of_topics)))
    of_all, of_topics = np.mean(alarms, axis=0)
    assert of_all == pytest.approx(0.05, abs=0.04)
    assert of_topics < 0.08


def test_classes_are_swapped_only_if_the_scores_are_not():
    score, positive, names = SCORES, LABELS == "Corn", ["wheat", "Corn"]
    (text,) = swapped_classes(score, -3.0 * score, positive, None, names)
    assert text.startswith("documents of class 'Corn', the positive one, get lower probabilities")
    assert swapped_classes(score, 3.0 * score, positive, None, names) == ()
    assert swapped_classes(-score, -3.0 * score, positive, None, names) == ()
    assert swapped_classes(score, np.zeros(200), positive, None, names) == ()
    assert swapped_classes(score, -score, np.ones(200, dtype=bool), None, names) == ()


@pytest.mark.parametrize("options", [{"parts": "gaussian"}, {"inference": "mle"}], ids=str)
def test_labels_in_the_wrong_order_are_spoken_of_and_mended_by_positive(options, tmp_path):
    calibrator = ScoreCalibrator(**FAST | options)
    with pytest.warns(ScoresWarning, match="give positive='Corn' if .*, or negate") as caught:
        calibrator.fit(SCORES, LABELS)
    assert caught[0].filename == __file__
    assert "scores of class 'wheat', the positive one, lie below" in caught[0].message.args[0]
    mended = ScoreCalibrator(positive="Corn", **FAST | options).fit(SCORES, LABELS)
    assert mended.classes_.tolist() == ["Corn", "wheat"]
    assert mended.score_problems_ == ()
    by_number = ScoreCalibrator(**FAST | options).fit(SCORES, LABELS == "Corn")
    np.testing.assert_array_equal(
        mended.predict_proba(SCORES[:30])[:, ::-1], by_number.predict_proba(SCORES[:30])
    )
    for fitted in (calibrator, mended):
        again = bayescal.load(fitted.save(tmp_path / "one.nc"))
        assert again.score_problems_ == fitted.score_problems_
        assert again.positive == fitted.positive
    assert "lie below those of" in calibrator._repr_html_()


def test_negated_scores_are_spoken_of():
    labels = LABELS == "Corn"
    with pytest.warns(ScoresWarning, match=r"P\(AUC < 1/2\) = 1.000\)"):
        ScoreCalibrator(inference="mle").fit(-SCORES, labels)
    ScoreCalibrator(inference="mle", positive=False).fit(-SCORES, labels)


@pytest.mark.parametrize("positive", ["Co", 1, "corn"])
def test_positive_must_be_a_label(positive):
    with pytest.raises(ValueError, match="positive must be a label of y, 'Corn' or 'wheat'"):
        ScoreCalibrator(positive=positive).fit(SCORES, LABELS)


@pytest.mark.parametrize("inference", ["exact", "mle"])
def test_scores_that_say_nothing_are_spoken_of(inference):
    calibrator = ScoreCalibrator(inference=inference, **FAST)
    with pytest.warns(ScoresWarning, match="all scores are 0.5, so nothing is learnt"):
        calibrator.fit(np.full(40, 0.5), np.arange(40) % 4 == 0)
    given = ScoreCalibrator(inference=inference, scores_are="probabilities", **FAST)
    with pytest.warns(ScoresWarning, match="all scores are equal, so nothing is learnt"):
        given.fit(np.zeros(40), np.arange(40) % 4 == 0)
    labels = np.arange(2000) % 5 == 0
    noise = np.random.default_rng(1).normal(size=2000)
    with pytest.warns(ScoresWarning, match="hardly separate the classes"):
        calibrator.fit(noise, labels)
    # Their own curve says so where the scores are probabilities too.
    calibrator.set_params(scores_are="probabilities")
    with pytest.warns(ScoresWarning, match="hardly separate the classes"):
        calibrator.fit(special.expit(noise), labels)


def test_scores_without_a_direction_may_say_something():
    labels = np.arange(2000) % 5 == 0
    wide = np.random.default_rng(2).normal(size=2000) * np.where(labels, 4.0, 1.0)
    assert ScoreCalibrator("gaussian", **FAST).fit(wide, labels).score_problems_ == ()


def test_scores_that_may_be_probabilities_are_spoken_of_unless_the_user_said_what_they_are():
    p, labels = special.expit(SCORES), LABELS == "Corn"
    assert ScoreCalibrator().get_params()["scores_are"] == "auto"
    calibrator = ScoreCalibrator(inference="mle")
    with pytest.warns(ScoresWarning, match=r"all scores lie in \[0, 1\]: say what they are"):
        calibrator.fit(p, labels)
    told = ScoreCalibrator(inference="mle", scores_are="scores").fit(p, labels)
    np.testing.assert_array_equal(calibrator.predict_proba(p), told.predict_proba(p))
    ScoreCalibrator(inference="mle", scores_are="probabilities").fit(p, labels)
    ScoreCalibrator(inference="mle").fit(2.0 * p, labels)
    assert clone(told).scores_are == "scores"


# No warning for users who chose no scores: pytest turns warnings into errors


def test_flows_of_the_package_are_silent():
    X, y = np.random.default_rng(0).normal(size=(90, 2)), np.arange(90) % 3 == 0
    CalibratedClassifier(
        DecisionTreeClassifier(random_state=0), ScoreCalibrator(inference="mle"), cv=3
    ).fit(X, y)
    texts = [f"word{k % 7} word{k % 5} word{k % 3}" for k in range(40)]
    text = TextCalibrator(calibrator=ScoreCalibrator(inference="mle"), folds=2, positive="in")
    text.fit(texts, ["in", "out"] * 20)
    assert text.classes_.tolist() == ["in", "out"]
    (calibrator,) = text.calibrated_classifiers_[0].calibrators
    assert calibrator.score_problems_ != ()  # which those who ask can read
    with pytest.raises(ValueError, match="calibrator must leave positive at None, got 1"):
        CalibratedClassifier(calibrator=ScoreCalibrator(positive=1)).fit(X, y)


def test_topics_the_wrong_way_round(tmp_path):
    frame = make_topics()[["score", "label", "topic"]]
    options = {"pooling": "none", "parts": "laplace", "draws": 20, "random_state": 0}
    with pytest.warns(ScoresWarning, match="give positive=0 if that is what larger scores stand"):
        turned = TopicCalibrator(**options).fit(frame.assign(score=-frame["score"]))
    assert len(turned.score_problems_) == 1
    mended = TopicCalibrator(positive=0, **options).fit(frame.assign(score=-frame["score"]))
    assert (mended.classes_.tolist(), mended.score_problems_) == ([0, 1], ())
    one = frame["topic"] == "a"
    with pytest.warns(ScoresWarning, match="below negatives in 1 of 4 topics.* labels of 'a'"):
        mixed = TopicCalibrator(**options).fit(
            frame.assign(score=np.where(one, -frame["score"], frame["score"]))
        )
    assert list(mixed.flagged_) == ["a"]
    again = bayescal.load(mixed.save(tmp_path / "topics.nc"))
    assert again.flagged_ == mixed.flagged_
    (told,) = {row["name"]: row for row in data_of(again.report(tmp_path / "r.html"))["topics"]}[
        "a"
    ]["problems"]
    assert told.startswith("positives lie below negatives, unlike in other topics")
    new = frame[one].assign(topic="new", score=lambda f: -f["score"])
    with pytest.warns(ScoresWarning, match="2 of 5 topics"):
        mixed.add_topics(new)
    assert sorted(mixed.flagged_) == ["a", "new"]


def test_the_command_line_speaks_of_them_and_knows_the_options(tmp_path):
    frame = make_frame()
    words = np.where(frame["label"] == 1, "Corn", "wheat")
    scores = write(frame.assign(label=words), tmp_path / "scores.csv")
    fit = ("fit", scores, "--inference", "mle", "--out", tmp_path / "out")
    result = run(*fit)
    assert "give positive='Corn'" in result.stderr
    assert "Options for this: --positive, --lower-is-positive, --scores-are." in result.stderr
    (topic,) = summary_of(tmp_path / "out")["topics"]
    assert "'wheat', the positive one, lie below" in topic["score_problems"][0]
    run("report", tmp_path / "out", "--out", tmp_path / "report.html")
    (shown,) = data_of(tmp_path / "report.html")["topics"]
    assert shown["problems"][:1] == topic["score_problems"]
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<div id="verdict" class="verdict warning">' in text
    assert run(*fit, "--positive", "Corn").stderr == ""
    saved = bayescal.load(tmp_path / "out")
    assert saved.classes_.tolist() == ["Corn", "wheat"]
    assert saved.fitted_problems()[""].labels.tolist() == ["wheat", "Corn"]


def test_the_command_line_takes_probabilities(tmp_path):
    frame = make_frame()
    p = special.expit(frame["score"])
    scores = write(frame.assign(score=p), tmp_path / "scores.csv")
    fit = ("fit", scores, "--inference", "mle", "--out", tmp_path / "out")
    assert "all scores lie in [0, 1]" in run(*fit).stderr
    assert run(*fit, "--scores-are", "probabilities").stderr == ""
    expected = ScoreCalibrator("asymmetric_laplace", "mle", scores_are="probabilities")
    expected.fit(p, frame["label"])
    again = bayescal.load(tmp_path / "out")
    np.testing.assert_allclose(again.predict_proba(p), expected.predict_proba(p))
    assert "--scores-are must be one of" in run(*fit, "--scores-are", "odds", code=2).stderr


def test_every_topic_of_a_file_is_spoken_of(tmp_path):
    frame = make_topics()
    scores = write(frame.assign(score=-frame["score"]), tmp_path / "scores.csv")
    result = run("fit", scores, "--topic-column", "topic", "--inference", "mle")
    assert result.stderr.count("lie below those of") == 4
    pooled = run("fit", scores, "--topic-column", "topic", "--pool", "--family", "laplace",
                 "--draws", "20", "--out", tmp_path / "out")  # fmt: skip
    assert pooled.stderr.count("lie below those of") == 1
    assert len(summary_of(tmp_path / "out")["score_problems"]) == 1
    refused = run("fit", scores, "--topic-column", "topic", "--pool", "--family", "laplace",
                  "--scores-are", "probabilities", code=2)  # fmt: skip
    assert "probabilities must lie between 0 and 1" in refused.stderr


# Warnings name the line that called the package, from however deep they come


CORN = FAST | {"positive": "Corn"}
CALLS = {
    "fit": lambda: ScoreCalibrator(**FAST).fit(SCORES, LABELS),
    "fit mle": lambda: ScoreCalibrator("gaussian", "mle").fit(SCORES, LABELS),
    "predict": lambda: (
        ScoreCalibrator(**CORN).fit(special.expit(SCORES), LABELS).predict_proba([0.5, 1.5])
    ),
    "fit one topic": lambda: TopicCalibrator(**CORN).fit(SCORES, LABELS, np.repeat(0, 200)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_warnings_are_of_the_line_that_called(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    assert {each.filename for each in caught} == {__file__}


def test_warnings_of_updates_are_of_the_line_that_called(monkeypatch):
    fitted = ScoreCalibrator(positive="Corn", **FAST).fit(SCORES, LABELS)
    bad = replace(fitted.diagnostics_, problems=("raise draws",))
    monkeypatch.setattr("bayescal.fitting.results.diagnostics.diagnose", lambda _: bad)
    with pytest.warns(ConvergenceWarning, match="raise draws") as caught:
        fitted.update([0.0], [LABELS[0]])
    assert {each.filename for each in caught} == {__file__}


# Scores that all lie in [0, 1]: how they are read, and the warning to users


def network(n, seed=0):
    """Return probabilities of an overconfident network, nearly all close to 0 or 1, and labels."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(-3.0, 4.0, n)
    return special.expit(2.5 * log_odds), rng.random(n) < special.expit(log_odds)


def no_probabilities(n, seed=0):
    """Return scores, half of them so near 0 that log-odds tear apart what is alike, and labels."""
    rng = np.random.default_rng(seed)
    tiny, even = 10.0 ** -rng.uniform(3, 300, n // 2), rng.uniform(0.05, 0.95, n - n // 2)
    score = np.concatenate([tiny, even])
    return score, rng.random(n) < special.expit(30.0 * (score - 0.5))


def test_labels_tell_probabilities_from_others():
    assert as_probabilities(BinaryScores(*network(400))).scores_are == "probabilities"
    assert as_probabilities(BinaryScores(*no_probabilities(400))).scores_are == "scores"


@pytest.mark.parametrize("outside", [-0.001, 1.001])
def test_one_score_outside_is_enough_to_know(outside):
    p, y = network(50)
    p[7] = outside
    data = BinaryScores(p, y)
    assert as_probabilities(data) is data


@pytest.mark.parametrize("flat", [np.zeros(20), np.ones(20), np.full(20, 0.3), np.arange(20) % 2.0])
def test_constants_and_decisions_are_scores(flat):
    data = BinaryScores(flat, np.arange(20) > 9)
    assert as_probabilities(data) is data


def test_users_are_warned_and_nothing_is_lost():
    p, y = network(60, seed=4)
    new, truth = network(4000, seed=5)
    told = ScoreCalibrator(scores_are="probabilities", draws=250, random_state=0).fit(p, y)
    with pytest.warns(ScoresWarning, match="whose log-odds were calibrated"):
        auto = ScoreCalibrator(draws=250, random_state=0).fit(p, y)
    np.testing.assert_array_equal(auto.predict_proba(new), told.predict_proba(new))
    raw = ScoreCalibrator(scores_are="scores", draws=250, random_state=0).fit(p, y)
    loss = {
        name: losses(each.decision_function(new), truth).log_loss
        for name, each in {"auto": auto, "raw": raw}.items()
    }
    assert loss["auto"] < 0.98 * loss["raw"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ScoreCalibrator(scores_are="scores", draws=50, random_state=0).fit(p, y)
    with pytest.raises(ValueError, match="scores_are='scores' if they are none"):
        told.predict_proba([1.2])


@pytest.mark.slow
def test_what_was_only_taken_for_probabilities_meets_others_later(tmp_path):
    # As of margins that a few documents all have between 0 and 1 by chance.
    p, y = network(60, seed=4)
    with pytest.warns(ScoresWarning, match="say scores_are='probabilities'"):
        auto = ScoreCalibrator(draws=250, random_state=0).fit(p, y)
    auto.save(tmp_path / "auto.nc")
    nearest = [0.0, 1.0, 0.5]
    for each in (auto, pickle.loads(pickle.dumps(auto)), bayescal.load(tmp_path / "auto.nc")):
        for method in ("predict_proba", "predict_interval", "sample_proba", "decision_function"):
            asked = getattr(each, method)
            with pytest.warns(ScoresWarning, match="a score of -0.3 is no .*fit again with"):
                found = asked([-0.3, 1.2, 0.5])
            np.testing.assert_array_equal(found, asked(nearest))
        problem = each.fitted_problems()[""]
        with pytest.warns(ScoresWarning, match="fit again with"):
            read = problem.read([-0.3, 1.2, 0.5])
        np.testing.assert_array_equal(read, as_scores_of(nearest, "probabilities"))
        np.testing.assert_array_equal(problem.log_odds(read), each.decision_function(nearest))
        with pytest.raises(ValueError, match="threshold must be finite"):
            problem.read([np.nan], "threshold")


def test_certain_probabilities_are_scores_like_others():
    read = as_scores_of([0.0, 0.5, 1.0], "probabilities", ends=(0.01, 0.98))
    np.testing.assert_allclose(read, special.logit([0.01, 0.5, 0.98]))
    for outside in (-1e-9, 1.0 + 1e-9):
        with pytest.raises(ValueError, match="probabilities must lie between 0 and 1"):
            as_scores_of([0.5, outside], "probabilities")
