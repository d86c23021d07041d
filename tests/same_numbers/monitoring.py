"""Probabilities in use: foresight, drift of labels, class priors, and shares of classes."""

from functools import cache, partial
from types import SimpleNamespace

import numpy as np

from bayescal import MulticlassCalibrator, ScoreCalibrator, monitoring
from bayescal.monitoring import class_shares, drift, foresight, prior_shift, running_evidence
from tests.same_numbers.audits import COUNTS, SAMPLED, P
from tests.same_numbers.plain import answer_of


def _of(log_odds):
    return 1.0 / (1.0 + np.exp(-log_odds))


def _documents(n, seed, share=0.4):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    return rng.normal(2.0 * positive).round(2), positive


@cache
def fitted():
    """Return a calibrator of one problem."""
    return ScoreCalibrator("gaussian", draws=40, chains=2, random_state=0).fit(*_documents(90, 1))


def what_scores_foretell():
    """Return the foreseen quality of probabilities in use."""
    reference = _documents(90, 1)
    new = _documents(60, 2, 0.15)[0]
    of = partial(monitoring.foresee, fitted(), reference=reference, random_state=5)
    said = {
        "alike": of(new),
        "options": of(new, threshold=0.3, level=0.5, alpha=0.01, metric=lambda y, p: (y - p).std()),
        "nothing predicted": of(new, threshold=0.999),
        "refuted": of(new - 4.0),
        "given": monitoring.foresee(
            1.0 / (1.0 + np.exp(1.0 - new)), new, reference=reference, random_state=5
        ),
    }
    ten = new[:10]
    refused = [
        (fitted(), new[:9], {}), (fitted(), ten, {"reference": reference[0]}),
        (fitted(), ten, {"reference": (reference[0], reference[1][:-1])}),
        (fitted(), ten, {"reference": (reference[0], reference[1] | True)}),
        (ten, ten, {}), (np.full(9, 0.5), ten, {}), (fitted(), ten, {"alpha": 0.0}),
    ]  # fmt: skip
    return {name: [each, each.text, each.to_frame()] for name, each in said.items()} | {
        "ten": of(ten).pvalue,
        "refused": [
            answer_of(monitoring.foresee, source, scores, **({"reference": reference} | each))
            for source, scores, each in refused
        ],
        "distances": [
            foresight._distance(new, reference[0][reference[1]], reference[0][~reference[1]]),
            foresight._distance(new + 2.0, new, new - 1.0),
        ],
    }


class Certain:
    """A calibrator whose scores are probabilities, also those of 0 and 1."""

    classes_ = np.array([False, True])
    mle_ = SimpleNamespace(prior=0.3)

    def sample_proba(self, scores):
        """Return three draws that differ where nothing is certain."""
        p = np.clip(np.asarray(scores, float), 0.0, 1.0)
        return np.stack([p, p**2, np.sqrt(p)])


def drift_of_labels():
    """Return a monitor's answers to stable, shifted and impossible labels."""
    scores, positive = _documents(120, 7)
    shifted = np.random.default_rng(8).random(120) < _of(2.0 * scores - 0.4)
    flat = np.random.default_rng(9).random(120) < 0.5
    every = {"as before": positive, "more": shifted, "flat": flat}
    found = {}
    for name, labels in every.items():
        monitor = monitoring.DriftMonitor(fitted(), draws=25, alpha=0.2)
        before = [monitor.bayes_factors_, monitor.alarm_, monitor.documents_]
        monitor.update(scores[:100], labels[:100]).update(scores[100:], labels[100:])
        found[name] = [
            before, monitor.bayes_factors_, monitor.log_bayes_factors_, monitor.alarm_,
            monitor.documents_,
        ]  # fmt: skip
    impossible = monitoring.DriftMonitor(
        Certain(), changes={"base rate": running_evidence.base_rate_change(9)}
    ).update([0.3, 1.0, 0.0, 0.6, 1.0], [True, True, True, False, False])
    found["impossible"] = [impossible.alarm_, impossible.log_bayes_factors_]
    mle = ScoreCalibrator("gaussian", inference="mle").fit(*_documents(90, 1))
    calls = [
        (object(), {}), (ScoreCalibrator(), {}), (mle, {}), (fitted(), {"alpha": 1.0}),
        (fitted(), {"draws": 0}), (fitted(), {"changes": {}}),
    ]  # fmt: skip
    new = monitoring.DriftMonitor(fitted())
    return found | {
        "refused": [answer_of(monitoring.DriftMonitor, one, **each) for one, each in calls]
        + [answer_of(new.update, [1.0], ["a"]), answer_of(new.update, [1.0, 2.0], [True])]
    }


def pieces_of_monitors():
    """Return changes that monitors know, and the rows that histories keep."""
    history = drift.History()
    for k in range(2 * drift.LATEST + 700):
        history.append(k + 1, [k / 2.0])
    slope = running_evidence.slope_change(5, 7)
    return {
        "changes": running_evidence.CHANGES,
        "small": [running_evidence.base_rate_change(5), slope],
        "after": slope.log_odds(np.array([-1.0, 0.5]), 0.3),
        "not yet": [running_evidence.not_yet(t) for t in (0, 1, 2, 1000)],
        "history": [len(history.row), history.document[:3], history.document[-1],
                    sum(history.document)],
    }  # fmt: skip


def priors_of_collections():
    """Return class priors of new documents, by posterior and by expectation maximisation."""
    ratio = np.random.default_rng(11).normal(-0.5, 2.0, (1, 40)) + np.random.default_rng(12).normal(
        0.0, 0.4, (9, 1)
    )
    counts = np.arange(40) % 3
    of = partial(monitoring.prior_posterior, ratio, rng=2)
    extreme = np.where(ratio > 2.0, np.inf, ratio)
    found = of()
    em = monitoring.prior_by_em
    rows = np.random.default_rng(13).dirichlet([1.0, 2.0, 0.7], 30)
    old = [0.3, 0.5, 0.2]
    found_by_em = [
        em(P, 0.4), em(P, 0.4, sample_weight=COUNTS), em(P, [0.6, 0.4], inclusion=SAMPLED),
        em(rows, old), em([0.1, 0.2, 0.15], 0.5), em([0.9, 0.8], 0.3),
        em([0.0, 1.0, 0.4], 0.5), em([0.9, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], 0.5),
    ]  # fmt: skip
    return {
        "posterior": [
            found, of(a=3.0, b=0.5), of(level=0.5), of(sample_weight=counts),
            of(inclusion=np.where(counts > 0, 0.9, 0.3)),
            monitoring.prior_posterior(extreme, rng=2),
            monitoring.prior_posterior(np.full((4, 30), -9.0), rng=2),
        ],
        "probabilities": found.probabilities(extreme[:, :5]),
        "mode": prior_shift._mode(np.exp(ratio), np.ones(40), 1.0, 1.0),
        "estimated": [
            monitoring.estimate_prior(fitted(), _documents(70, 3, 0.1)[0], random_state=4),
            monitoring.estimate_prior(fitted(), _documents(2600, 3, 0.8)[0], draws=15, a=2.0,
                                      b=3.0, level=0.6, random_state=4),
        ],
        # What the search may still lack is rounding, which decides on its last steps.
        "em": [np.round(each.prior, 10) for each in found_by_em],
        "refused": [
            *(answer_of(em, *each) for each in (
                ([1.1], 0.5), ([-0.1], 0.5), ([], 0.5), ([[0.5, 0.6]], 0.5), ([0.5], 0.0),
                ([0.5], 1.0), ([[0.2, 0.3, 0.5]], 0.5), ([0.5], [0.5, 0.6]), ([[[0.5]]], 0.5),
            )),
            *(answer_of(monitoring.prior_posterior, each)
              for each in ([1.0], np.empty((0, 3)), [[np.nan]])),
            answer_of(of, a=0.0), answer_of(of, level=0.0),
            answer_of(monitoring.estimate_prior, fitted(), [1.0], draws=0),
            answer_of(monitoring.estimate_prior, fitted(), [1.0], b=0.0),
        ],
    }  # fmt: skip


@cache
def fitted_classes():
    """Return a calibrator of three classes."""
    rng = np.random.default_rng(14)
    y = rng.integers(0, 3, 60)
    scores = 2.0 * np.eye(3)[y] + rng.normal(size=(60, 3))
    return MulticlassCalibrator(draws=30, random_state=0).fit(scores, np.array(["b", "a", "c"])[y])


def shares_of_classes():
    """Return posteriors of the shares of several classes."""
    rng = np.random.default_rng(15)
    ratio = rng.dirichlet([0.5, 1.0, 2.0], (11, 25)) ** rng.uniform(0.5, 1.5, (11, 1, 1))
    apart = np.tile(np.eye(3)[[0, 0, 1, 2, 2, 2, 2]], (8, 1, 1))
    of = partial(monitoring.shares_posterior, ratio, rng=3)
    new = 2.0 * np.eye(3)[np.r_[np.zeros(30, int), 1, 2]] + rng.normal(size=(32, 3))
    wrong = [ratio[0], ratio[:, :, :1], -ratio, np.inf * ratio, ratio[:0], 0.0 * ratio]
    derivatives = class_shares._share_derivatives
    return {
        "posterior": [
            of(), of(["x", "y", "z"], concentration=0.3, level=0.5),
            monitoring.shares_posterior(apart, rng=1),
            monitoring.shares_posterior(apart, concentration=5.0, rng=1),
        ],
        "derivatives": [
            derivatives(np.array(at), ratio[0], 1.3)
            for at in ([0.0, 0.0], [4.0, -3.0], [-9.0, 9.0])
        ],
        "estimated": [
            monitoring.estimate_shares(fitted_classes(), new, random_state=2),
            monitoring.estimate_shares(fitted_classes(), new[:4], concentration=2.0, level=0.6,
                                       random_state=2),
        ],
        "refused": [answer_of(monitoring.shares_posterior, each) for each in wrong]
        + [answer_of(of, concentration=0.0), answer_of(of, level=1.0), answer_of(of, ["a"]),
           answer_of(monitoring.estimate_shares, fitted(), new),
           answer_of(monitoring.estimate_shares, fitted_classes(), new[:0]),
           answer_of(monitoring.estimate_prior, fitted_classes(), [1.0])],
    }  # fmt: skip


def embedded_patients():
    """Return the embedded probabilities of heart disease."""
    table = monitoring.load_heart_disease()
    return [table[["p", "y"]], table["site"].value_counts().to_dict()]


CASES = {
    "foresight": what_scores_foretell,
    "drift": drift_of_labels,
    "pieces of monitors": pieces_of_monitors,
    "priors": priors_of_collections,
    "shares of classes": shares_of_classes,
    "embedded patients": embedded_patients,
}
