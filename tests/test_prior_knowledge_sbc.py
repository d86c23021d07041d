"""Simulation-based calibration of one problem around a history, and that wrong engines are found.

A population from the hyperprior, topics from the population, documents from the topics, by the
programs; a history of all topics but one, a `ScoreCalibrator` around it for the last: the rank of
each true value among its posterior draws is uniform (Talts et al., arXiv:1804.06788).
"""

from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

import numpy as np
import pytest
from scipy import special

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.distributions import programs
from bayescal.families import FAMILIES
from bayescal.fitting.engines.pooled.log_odds import HYPERPRIOR, add_log_odds, draw_unseen
from bayescal.fitting.scores import BinaryScores
from studies.ranks import DataSet, Parameters, exact, rank_truths
from studies.sbc import adjusted_p
from tests import log_odds_population
from tests.log_odds_population import PIECES, values_of
from tests.one_more_topic import FAMILY, UNITS, certain, forget_the_evidence, wider
from tests.sizes import size

pytestmark = [
    pytest.mark.slow,
    # Few documents may have reversed scores by chance; the calibrator warns of wrong histories.
    pytest.mark.filterwarnings("ignore::bayescal.support.score_checks.ScoresWarning"),
    pytest.mark.filterwarnings("ignore:the posterior draws are not:UserWarning"),
]
MANY = 300
SETS, TOPICS, DOCUMENTS, DRAWS = size(40, MANY), 6, 40, 99
LABELLED = size(120, MANY)  # fewer do not tell another population in every run
NEW = (5, 20)  # documents of the new topic, from and to
# Of a right engine to be called wrong: of all quantities together.
LEVEL = 0.01


@dataclass(frozen=True, eq=False)
class OneMore(DataSet):
    """One more topic, and scores, labels and topics of those before it."""

    past: tuple[np.ndarray, ...]

    @cached_property
    def history(self):
        """Return those before it, fitted together."""
        fitted = TopicCalibrator(parts=FAMILY, draws=250, random_state=0, prior_knowledge=UNITS)
        return fitted.fit(*self.past)


@cache
def simulated():
    """Return data sets in which both classes are seen, which the posterior knows as we do."""
    rng, sets = np.random.default_rng(21), []
    simulate = programs.load("topics").simulate
    truth = simulate(DOCUMENTS, TOPICS + 1, rng, draws=3 * SETS, family=FAMILY)
    for r in range(3 * SETS):
        score, label, topic = (truth[name][r] for name in ("score", "label", "topic"))
        past = topic < TOPICS
        mine = np.flatnonzero(~past)[: rng.integers(NEW[0], NEW[1] + 1)]
        if np.unique(label[past]).size == 2 == np.unique(label[mine]).size:
            sides = (truth[name][r, :, TOPICS] for name in ("theta", "left", "right"))
            history = score[past], label[past], topic[past]
            parameters = parameters_of(sides, truth["prior"][r, TOPICS])
            sets.append(OneMore(score[mine], label[mine] == 1, parameters, history))
    return sets[:SETS]


def parameters_of(sides, rate):
    """Return the quantities to rank, from modes and sides of shape (2,) or (draws, 2)."""
    values = FAMILIES[FAMILY].from_sides(*map(np.atleast_2d, sides))
    return Parameters(FAMILY, tuple(values), np.atleast_1d(rate))


def drawn(fitted, draws, rng):
    """Return some draws of a calibrator of one problem."""
    groups = fitted.results_[f"parts/{FAMILY}/engine_draws"].to_dataset()
    flat = groups.stack(sample=("chain", "draw"))
    some = rng.choice(flat.sizes["sample"], draws, replace=False)
    sides = (flat[n].transpose("sample", "klass").values[some] for n in ("theta", "left", "right"))
    return parameters_of(sides, flat["prior"].values[some])


def around(data, draws, rng, change=lambda history: history):
    """Return draws of the new topic around its history, changed if that is asked for."""
    fitted = ScoreCalibrator(prior_knowledge=change(data.history), random_state=rng)
    return drawn(fitted.fit(data.score, data.positive), draws, rng)


WRONG = {
    "the priors of a problem without history": exact,
    "a population taken for certain": partial(around, change=certain),
    "the history of another population": partial(around, change=wider),
}


def p_of(engine):
    return adjusted_p(rank_truths(simulated(), engine, DRAWS, seed=22), DRAWS)


def test_ranks_are_uniform():
    assert p_of(around) > LEVEL


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_engine_is_rejected(wrong):
    assert p_of(WRONG[wrong]) < LEVEL


@pytest.mark.skipif(SETS < MANY, reason="few sets cannot tell; tests of NUTS can")
def test_a_population_that_the_new_topic_does_not_inform_is_rejected(monkeypatch):
    forget_the_evidence(monkeypatch)
    assert p_of(around) < LEVEL


# Log-odds fits: intercept and slopes of a topic around those of others.


@cache
def labelled():
    """Return new topics, the intercepts and slopes behind them, and what the engine learnt."""
    rng, sets = np.random.default_rng(23), []
    for k in range(LABELLED):
        point = rng.normal(HYPERPRIOR.mean, HYPERPRIOR.scale)
        values = draw_unseen(np.tile(point, (TOPICS + 1, 1)), PIECES, rng)
        sizes = [DOCUMENTS] * TOPICS + [rng.integers(NEW[0], NEW[1] + 1)]
        topics = [documents(own, n, rng) for own, n in zip(values.T, sizes, strict=True)]
        # By random numbers of its own: how many the engine takes does not change the sets.
        history = log_odds_population.history(topics[:-1], np.random.default_rng(k), draws=1000)
        sets.append((topics[-1], values[:, -1], history))
    return sets


def documents(values, n, rng):
    x = rng.normal(size=n)
    return BinaryScores(x, rng.random(n) < special.expit(log_odds(values, x)))


def log_odds(values, x):
    return values[0] + PIECES.basis(x) @ values[1:]


def p_of_log_odds(change=lambda history: history):
    """Return the p of intercepts, slopes, log-odds at two scores and the log likelihood."""
    rng, rows = np.random.default_rng(24), []
    for new, truth, history in labelled():
        found = values_of(add_log_odds([new], change(history), rng).topics)[:, 0]
        found = found[:, rng.choice(found.shape[1], DRAWS, replace=False)]
        rows.append((ranked(found, new) < ranked(truth[:, None], new)).sum(axis=1))
    return adjusted_p({str(k): each for k, each in enumerate(np.array(rows).T)}, DRAWS)


def ranked(values, data):
    signed = np.where(data.positive[:, None], 1, -1) * log_odds(values, data.score)
    at = log_odds(values, np.array([-2.0, 2.0]))
    return np.vstack([values, at, special.log_expit(signed).sum(axis=0)])


def median_alone(history):
    middle = np.median(history.population, axis=0)
    return replace(history, population=np.tile(middle, (len(history.population), 1)))


def steeper(history):
    """Return the history of another population, whose slopes are twice as large."""
    return replace(history, population=history.population + np.array([0.0, 0.0, np.log(2.0), 0.0]))


def test_ranks_of_log_odds_are_uniform():
    assert p_of_log_odds() > LEVEL


@pytest.mark.parametrize("wrong", [median_alone, steeper])
def test_log_odds_around_another_population_are_rejected(wrong):
    assert p_of_log_odds(wrong) < LEVEL
