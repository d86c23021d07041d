"""Answers of fits of many topics at scores, and their problems as plots and reports see them."""

from functools import partial

import numpy as np

from tests.same_numbers.plain import outcome
from tests.same_numbers.topic_fits import AT_ENDS, FITS, SHOWN, fitted

ASKED = ("a", "few", "none", "only", "new")


def answers_of(name):
    """Return what a fit answers for topics, one of which it does not know."""
    calibrator = fitted(name)
    at = AT_ENDS if name == "probabilities" else SHOWN
    scores = np.tile(at, len(ASKED))
    topics = np.repeat(ASKED, len(at))
    some = slice(8, 13)
    return {
        "log-odds": calibrator.decision_function(scores, topics),
        "proba": calibrator.predict_proba(scores, topics)[:, 1],
        "log proba": calibrator.predict_log_proba(scores[some], topics[some]),
        "prior": calibrator.predict_proba(scores[some], topics[some], 0.1)[:, 1],
        "priors": outcome(calibrator.predict_proba, scores[:5], topics[:5], {"a": 0.2}),
        "interval": calibrator.predict_interval(scores[some], topics[some], 0.7),
        "band": calibrator.predict_interval(scores[some], topics[some], kind="simultaneous"),
        "sample": calibrator.sample_proba(scores[some], topics[some], 3, 1),
        "all": calibrator.sample_proba(scores[some], topics[some], prior=0.3),
        "summary": calibrator.summary(0.8).round(7),
    }


def problems_of(name):
    """Return what plots and reports see of some topics."""
    problems = fitted(name).fitted_problems()
    return {
        "names": [str(each) for each in problems],
        "parts": {n: problems[n].parts for n in ("a", "none")},
        "diagnostics": {n: problems[n].diagnostics for n in ("a", "only")},
        "problems": {n: problems[n].problems for n in ("a", "none", "only")},
        "model": problems["few"].model,
        "parameters": problems["few"].parameters(0.7),
        "attrs": problems["none"].attrs,
        "has": [problems["none"].has_mle, problems["a"].has_mle, problems["a"].has_posterior],
        "counts": [problems[n].counts for n in problems],
        "grid": problems["few"].grid(points=5),
        "scale": problems["a"].scale,
        "several": len(problems["a"].describe(several=True)),
        "unknown": outcome(lambda: problems["new"].model),
        "answering": outcome(lambda: problems.answering("new").model),
    }


CASES = {
    **{name: partial(answers_of, name) for name in FITS},
    **{f"{n}, problems": partial(problems_of, n) for n in ("combined", "gaussian", "apart")},
}
