"""Scores that all lie in [0, 1]: how they are read, and the warning to users."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import special

import bayescal
from bayescal import ScoreCalibrator
from bayescal.fitting.engines.monotone.engine import as_probabilities
from bayescal.fitting.scores import BinaryScores
from bayescal.metrics import losses
from bayescal.support.score_checks import ScoresWarning
from bayescal.support.validation import as_scores_of


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
