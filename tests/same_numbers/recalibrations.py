"""Recalibrations of given probabilities, and tests of paired losses."""

from functools import partial

import numpy as np
from scipy import special

from bayescal.calibrators.comparison import paired_bootstrap, paired_sign_test
from bayescal.calibrators.recalibrator import Recalibrator
from tests.same_numbers.plain import every_group, outcome

RNG = np.random.default_rng(45)
P = special.expit(RNG.normal(-0.8, 1.5, 150)).round(3)
Y = (RNG.random(150) < special.expit(0.7 * special.logit(P) + 0.6)).astype(int)
SITES = np.repeat(["x", "y", "z"], [80, 55, 15])
HALF = RNG.integers(1, 4, 150) / 2.0
FITS = {
    "complete": ({}, {}),
    "never": ({"refit": "never", "positive": 0}, {"p": 1.0 - P}),
    "always": ({"refit": "always"}, {"p": P[:60], "y": Y[:60], "sample_weight": HALF[:60]}),
    "inclusion": ({}, {"inclusion": np.where(P > 0.4, 1.0, 0.6)}),
    "sites": ({"pooling": "partial"}, {"sites": SITES}),
    "sites, weighted": ({"pooling": "partial"}, {"sites": SITES, "sample_weight": HALF}),
    "good": ({"draws": 60}, {"y": (np.random.default_rng(1).random(150) < P).astype(int)}),
}


def facts_of(problem):
    """Return the facts of a problem that plots and reports show, without its curve."""
    facts = ("name", "labels", "point", "counts", "score_name", "scores_are", "inference", "site")
    documents = [problem.documents.count(each) for each in (False, True)]
    return {each: getattr(problem, each) for each in facts} | {"documents": documents}


def results_of(name):
    """Return a recalibration's results, tables and answers."""
    parameters, data = FITS[name]
    fit = Recalibrator(**{"draws": 50, "random_state": 3} | parameters)
    fit.fit(**{"p": P, "y": Y} | data)
    sites = ["x", "z", "new", "y", "x"] if "sites" in data else None
    at = [0.0001, 0.2, 0.5, 0.77, 0.999]
    problems = fit.fitted_problems()
    problem = problems[next(iter(problems))]
    return {
        "posterior": every_group(fit.posterior_),
        "models": outcome(lambda: fit.model_probability_),
        "refit": fit.refit_weight_,
        "sites": fit.sites_,
        "classes": fit.classes_,
        "mle": fit.mle_.prior,
        "summary": fit.summary(0.8),
        "log-odds": fit.decision_function(at, sites),
        "prior": fit.predict_proba(at, sites, 0.2)[:, 1],
        "predict": fit.predict(at, sites),
        "interval": fit.predict_interval(at, 0.7, sites=sites),
        "hdi": fit.predict_interval(at, 0.9, "hdi", sites, 0.3),
        "sample": fit.sample_proba(at, 2, 1, sites=sites),
        "all": outcome(fit.sample_proba, at[1:3], sites=sites and sites[:2]),
        "names": [str(each) for each in problems],
        "model": problem.model,
        "parts": problem.parts,
        "problems": problem.problems,
        "parameters": problem.parameters(0.7),
        "described": [str(block) for block in problem.describe(several=False)][:6],
        "diagnostics": problem.diagnostics,
        "facts": facts_of(problem),
        "facts of a new site": facts_of(fit._fitted.problem(None)),
    }


def refusals():
    """Return the errors and warnings of recalibrations."""
    asked = {
        "pooling": ({"pooling": "none"}, {}),
        "refit": ({"refit": "yes"}, {}),
        "refit of sites": ({"pooling": "partial", "refit": "always"}, {"sites": SITES}),
        "no sites": ({"pooling": "partial"}, {}),
        "sites": ({}, {"sites": SITES}),
        "beyond 1": ({}, {"p": P + 0.5}),
        "one class": ({}, {"y": 0 * Y}),
        "draws": ({"draws": 0}, {}),
        "ends": ({}, {"p": np.round(P)}),
    }
    said = {}
    for name, (parameters, data) in asked.items():
        given = {"p": P, "y": Y} | data
        answer = outcome(Recalibrator(**{"draws": 20} | parameters, random_state=1).fit, **given)
        said[name] = {each: text for each, text in answer.items() if each != "answer"}
    return said


def paired():
    """Return tests of paired losses, with ties and groups."""
    rng = np.random.default_rng(5)
    first = rng.gamma(1.0, 0.3, 40).round(1)
    second = (first + rng.normal(0.06, 0.15, 40)).round(1)
    groups = np.repeat([3, 1, 2, 7, 5], 8)
    weight = rng.integers(0, 3, 40).astype(float)
    few = {"resamples": 70, "rng": 2}
    return {
        "signs": paired_sign_test(first, second),
        "tolerance": paired_sign_test(first, second, tolerance=0.1),
        "equal": paired_sign_test(first, first),
        "bootstrap": paired_bootstrap(first, second, **few),
        "default": paired_bootstrap(first, second, rng=1),
        "level": paired_bootstrap(second, first, level=0.5, **few),
        "groups": paired_bootstrap(first, second, groups=groups, **few),
        "weighted": paired_bootstrap(first, second, sample_weight=weight, **few),
        "groups, weighted": paired_bootstrap(
            first, second, groups=groups, sample_weight=weight, **few
        ),
        "inclusion": paired_bootstrap(first, second, inclusion=0.2 + weight / 3.0, **few),
        "lengths": outcome(paired_bootstrap, first, second[1:]),
        "few resamples": outcome(paired_bootstrap, first, second, resamples=0),
        "one group": outcome(paired_bootstrap, first, second, groups=[1] * 40),
        "bad level": outcome(paired_bootstrap, first, second, level=1.0),
        "bad tolerance": outcome(paired_sign_test, first, second, tolerance=-0.1),
        "not finite": outcome(paired_sign_test, first, second * np.nan),
    }


CASES = {
    **{name: partial(results_of, name) for name in FITS},
    "refusals": refusals,
    "paired losses": paired,
}
