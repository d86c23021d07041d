"""Fits of many topics: their whole results, topics added, one problem more, notes and errors."""

import tempfile
from functools import cache, partial
from pathlib import Path

import numpy as np

from bayescal import ScoreCalibrator, TopicCalibrator, load
from tests.same_numbers.plain import every_group, every_name, outcome

RNG = np.random.default_rng(33)
TOPICS = np.repeat(["b", "a", "few", "none", "only"], [19, 14, 5, 6, 3])
LABELS = np.r_[
    np.arange(19) % 3 == 0, np.arange(14) % 4 == 1, [0, 1, 0, 0, 1], np.zeros(6), [1] * 3
]
LABELS = LABELS.astype(int)
SHIFT = np.repeat([0.0, 0.8, -0.5, 0.2, 1.0], [19, 14, 5, 6, 3])
SCORES = (RNG.laplace(1.9 * LABELS - 0.9 + SHIFT, 0.9)).round(2)
WEIGHTS = RNG.integers(1, 5, LABELS.size) / 2.0
INCLUSION = np.where(SCORES > 0.0, 1.0, 0.4)
SHARES = np.clip(0.5 + SCORES / 8.0, 0.0, 1.0).round(1)
SMALL = {"draws": 20, "chains": 2, "random_state": 6}
SHOWN = [-9.0, -0.7, 0.3, 1.1, 14.0]
AT_ENDS = [0.0, 0.3, 0.5, 0.93, 1.0]
GIVEN = {"intercept_location": (0.5, 1.0), "log_scale": (0.1, 0.4), "n_segments": 3}
APART = {"theta_scale": 1.5}

# By name: parameters, and what `fit` takes.
FITS = {
    "combined": ({}, {}),
    "weighted": ({"lapse": 0.03, "point": "mean"}, {"sample_weight": WEIGHTS}),
    "probabilities": ({"scores_are": "probabilities"}, {"scores": SHARES}),
    "hyperparameters": ({"hyperparameters": GIVEN, "point": "median"}, {}),
    "densities": ({"parts": "densities"}, {"inclusion": INCLUSION}),
    "laplace": ({"parts": "laplace", "scores_are": "log_odds"}, {}),
    "gaussian": ({"parts": "asymmetric_gaussian", "positive": 0}, {"scores": -SCORES}),
    "apart": ({"pooling": "none", "hyperparameters": APART}, {}),
    "together": ({"pooling": "complete", "parts": "gaussian"}, {"sample_weight": WEIGHTS}),
}
REFUSED = {
    "no topics": ({}, {"topics": None}),
    "lengths": ({}, {"topics": TOPICS[1:]}),
    "pooling": ({"pooling": "some"}, {}),
    "parts": ({"parts": "hybrid"}, {}),
    "combined apart": ({"pooling": "none", "parts": "combined"}, {}),
    "new topics": ({"new_topics": "refuse"}, {}),
    "hyperparameters": ({"hyperparameters": {"theta_scale": 1.0}}, {}),
    "of a pair": ({"hyperparameters": {"log_scale": 1.0}}, {}),
    "inference": ({"inference": "mle"}, {}),
    "lapse": ({"lapse": -0.1}, {}),
    "one class": ({}, {"labels": np.zeros(LABELS.size, int)}),
    "reversed": ({"parts": "laplace"}, {"scores": np.where(TOPICS == "a", -SCORES, SCORES)}),
    "look like": ({"parts": "laplace"}, {"scores": SHARES}),
    "three classes": ({}, {"labels": np.arange(LABELS.size) % 3}),
}


@cache
def fitted(name):
    """Return the calibrator of one of the fits."""
    parameters, data = FITS[name]
    given = {"scores": SCORES, "labels": LABELS, "topics": TOPICS} | data
    return TopicCalibrator(**SMALL | parameters).fit(**given)


def results_of(name):
    """Return the groups of a fit and its attributes."""
    calibrator = fitted(name)
    own = ("combination_", "lapse_")
    return {
        "groups": every_group(calibrator.posterior_),
        "classes": calibrator.classes_,
        "topics": calibrator.topics_,
        "families": calibrator.families_,
        "flagged": calibrator.flagged_,
        "problems": calibrator.score_problems_,
        "diagnostics": calibrator.diagnostics_,
        **{each: outcome(getattr, calibrator, each) for each in own},
    }


def added(name):
    """Return results and answers after topics have been added, one of them known."""
    parameters, data = FITS[name]
    given = {"scores": SCORES, "labels": LABELS, "topics": TOPICS} | data
    calibrator = TopicCalibrator(**SMALL | parameters).fit(**given)
    scores = given["scores"][3:16]
    first = outcome(
        lambda: calibrator.add_topics(scores, LABELS[3:16], ["new"] * 9 + ["late"] * 4) and None
    )
    again = outcome(lambda: calibrator.add_topics(scores[:4], LABELS[3:7], ["a"] * 4) and None)
    asked = ["new"] * 3 + ["late"] * 3
    at = (AT_ENDS if name == "probabilities" else SHOWN)[1:4] * 2
    return {
        "outcomes": [first, again],
        "groups": every_group(calibrator.posterior_),
        "interval": outcome(calibrator.predict_interval, at, asked),
    }


def around():
    """Return one more problem around a population, and the population read from files."""
    population = fitted("combined").population_
    one = {"scores": SCORES[5:18], "y": LABELS[5:18]}
    own = ScoreCalibrator(prior_knowledge=population, random_state=2).fit(**one)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.nc"
        fitted("laplace").save(path)
        loaded = load(path)
        of_file = ScoreCalibrator(prior_knowledge=path, random_state=2).fit(**one)
    problem = next(iter(own.fitted_problems().values()))
    return {
        "groups": every_group(own.results_),
        "combination": own.combination_,
        "interval": own.predict_interval(SHOWN),
        "of file": of_file.predict_proba(SHOWN)[:, 1],
        "loaded": loaded.predict_proba(SHOWN, ["a"] * 5)[:, 1],
        "moved": problem.prior_moved,
        "described": [str(block)[:150] for block in problem.describe(several=False)],
        "without topics": every_group(population.posterior_),
        "prior": every_group(own.to_arviz(["prior"], draws=7, random_state=0)["prior"]),
    }


def refusals():
    """Return the errors and warnings of fits and of questions."""
    said = {}
    for name, (parameters, data) in REFUSED.items():
        given = {"scores": SCORES, "labels": LABELS, "topics": TOPICS} | data
        answer = outcome(TopicCalibrator(**SMALL | parameters).fit, **given)
        said[name] = {each: text for each, text in answer.items() if each != "answer"}
    calibrator = fitted("laplace")
    strict = TopicCalibrator(**SMALL, parts="laplace", new_topics="error")
    strict.fit(SCORES, LABELS, TOPICS)
    return said | {
        "strict": outcome(strict.predict_proba, SHOWN, ["a", "new", "b", "newer", "a"]),
        "no topics asked": outcome(calibrator.predict_proba, SHOWN),
        "lengths asked": outcome(calibrator.predict_proba, SHOWN, ["a"]),
        "priors": outcome(calibrator.predict_proba, SHOWN, ["a"] * 5, {"new": 0.2}),
        "prior": outcome(calibrator.predict_proba, SHOWN, ["a"] * 5, 1.0),
        "kind": outcome(calibrator.predict_interval, SHOWN, ["a"] * 5, kind="all"),
        "draws": outcome(calibrator.sample_proba, SHOWN, ["a"] * 5, 400),
        "not fitted": outcome(TopicCalibrator().predict_proba, SHOWN, ["a"] * 5),
        "population": outcome(lambda: fitted("apart").population_),
        "names": every_name(fitted("combined").posterior_),
    }


CASES = {
    **{name: partial(results_of, name) for name in FITS},
    **{
        f"{n}, added": partial(added, n)
        for n in ("combined", "probabilities", "gaussian", "apart", "together")
    },
    "around": around,
    "refusals": refusals,
}
