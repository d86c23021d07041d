"""Online combiners by every rule, and the bounds on what they lose."""

from functools import partial

import numpy as np

from bayescal import OnlineCombiner
from bayescal.combining.online import (
    best_mixture,
    blum_mansour_loss,
    exponentiated_gradient_loss,
    specialists_mistakes,
    weighted_majority_loss,
    weighted_majority_mistakes,
    winnow_mistakes,
)
from bayescal.combining.online.rules import RULES
from tests.same_numbers.plain import answer_of, attributes_of

RNG = np.random.default_rng(11)
LABELS = RNG.choice([0, 1, 2], size=60, p=[0.6, 0.3, 0.1])
TRUTH = np.eye(3)[LABELS]
# Experts of different worth: a good one, one that has two classes exchanged, one that guesses.
EXPERTS = np.stack(
    [
        0.3 * TRUTH + 0.7 * RNG.dirichlet([1.0, 1.0, 1.0], 60),
        0.1 * TRUTH[:, [1, 0, 2]] + 0.9 * RNG.dirichlet([2.0, 1.0, 1.0], 60),
        RNG.dirichlet([3.0, 2.0, 1.0], 60),
        np.full((60, 3), 1.0 / 3.0),
    ],
    axis=1,
)
BINARY = np.where(LABELS == 0, 1.0, 0.0)
BINARY_EXPERTS = np.stack([EXPERTS[:, 0, 0], EXPERTS[:, 1, 0], np.full(60, 0.5)], axis=1)
INDICATORS = np.column_stack([RNG.random(60), np.ones(60), RNG.random(60) < 0.4])
AWAKE = RNG.random((60, 4)) < 0.7
AWAKE[:, 0] = True
LOSSES = [12.5, 7.25, 30.0]


def of_rule(rule, **options):
    """Return the weights and predictions for three classes and for two."""
    indicators = None if rule in ("wma", "winnow") else INDICATORS
    combiner = OnlineCombiner(rule, beta=0.6, eta=0.4, passes=3, **options)
    combiner.fit(EXPERTS, LABELS, indicators=indicators)
    parts = OnlineCombiner(rule, beta=0.3, **options)
    for rows in (slice(0, 25), slice(25, 60)):
        parts.partial_fit(BINARY_EXPERTS[rows], BINARY[rows], classes=[0.0, 1.0])
    return {
        "in passes": attributes_of(combiner) | {"weights": combiner.weights_},
        "proba": combiner.predict_proba(
            EXPERTS[:9], indicators=None if indicators is None else indicators[:9]
        ),
        "class": combiner.predict(
            EXPERTS[:9], indicators=None if indicators is None else indicators[:9]
        ),
        "in parts": attributes_of(parts) | {"weights": parts.weights_},
        "proba of two": parts.predict_proba(BINARY_EXPERTS[:9]),
        "defaults": OnlineCombiner(rule).fit(BINARY_EXPERTS, BINARY).weights_,
    }


def of_sleepers():
    """Return the weights of "winnow" where experts sleep, by a mask and by nan."""
    masked = OnlineCombiner("winnow", constant_experts=False).fit(EXPERTS, LABELS, awake=AWAKE)
    experts = np.where(AWAKE[..., None], EXPERTS, np.nan)
    unsaid = OnlineCombiner("winnow", constant_experts=False).fit(experts, LABELS)
    return {
        "masked": attributes_of(masked) | {"weights": masked.weights_},
        "nan": attributes_of(unsaid) | {"weights": unsaid.weights_},
        "proba": masked.predict_proba(EXPERTS[:9], awake=AWAKE[:9]),
    }


def bounds():
    """Return every bound, of experts that differ."""
    return {
        "majority, mistakes": weighted_majority_mistakes(LOSSES, 0.3),
        "majority, default": weighted_majority_mistakes(LOSSES),
        "majority, decisions": weighted_majority_mistakes(LOSSES, 0.3, decisions=True),
        "majority, loss": [weighted_majority_loss(LOSSES), weighted_majority_loss(LOSSES, 0.3)],
        "winnow": [winnow_mistakes(9, 3), winnow_mistakes(9, 3, 0.2), winnow_mistakes(9, 1)],
        "specialists": [specialists_mistakes(9, 3), specialists_mistakes(4, 1)],
        "blum mansour": [blum_mansour_loss(LOSSES), blum_mansour_loss(LOSSES, 0.2)],
        "gradient": [
            exponentiated_gradient_loss(3.5, 9),
            exponentiated_gradient_loss(3.5, 9, 0.2, n_indicators=4),
        ],
        "mixture": best_mixture(EXPERTS, LABELS),
        "mixture without constants": best_mixture(EXPERTS, LABELS, constant_experts=False),
        "mixture of two": best_mixture(BINARY_EXPERTS, BINARY, classes=[0.0, 1.0]),
    }


def refusals():
    """Return the errors that wrong arguments raise."""
    learnt = OnlineCombiner().fit(EXPERTS, LABELS, indicators=INDICATORS)
    few = {"P": EXPERTS[:5], "y": LABELS[:5], "classes": [0, 1, 2]}
    wrong = [
        (weighted_majority_mistakes, [[1.0, -1.0]]),
        (weighted_majority_mistakes, [LOSSES, 1.0]),
        (weighted_majority_loss, [[]]),
        (blum_mansour_loss, [[1.0, np.nan]]),
        (winnow_mistakes, [0, 1]),
        (winnow_mistakes, [3, 4]),
        (winnow_mistakes, [3, 1, 0.0]),
        (specialists_mistakes, [2, 0]),
        (exponentiated_gradient_loss, [-1.0, 3]),
        (exponentiated_gradient_loss, [1.0, 0]),
        (exponentiated_gradient_loss, [1.0, 3, 1.0]),
        (best_mixture, [EXPERTS, LABELS[:9]]),
        (learnt.predict_proba, [EXPERTS]),
        (learnt.predict_proba, [EXPERTS[:, :2]]),
        (learnt.partial_fit, [EXPERTS, LABELS + 1]),
        (OnlineCombiner().predict, [EXPERTS]),
        (OnlineCombiner().partial_fit, [EXPERTS, LABELS]),
        (OnlineCombiner().fit, [EXPERTS * 2.0, LABELS]),
        (OnlineCombiner().fit, [EXPERTS * 0.5, LABELS]),
        (OnlineCombiner().fit, [EXPERTS[0], LABELS]),
        (OnlineCombiner("wma").fit, [np.where(AWAKE[..., None], EXPERTS, np.nan), LABELS]),
    ]
    of_inputs = [
        {"indicators": INDICATORS[:4]},
        {"indicators": -INDICATORS[:5]},
        {"indicators": 0.0 * INDICATORS[:5]},
        {"indicators": INDICATORS[0]},
        {"indicators": INDICATORS[:5, :0]},
        {"awake": AWAKE[:4]},
        {"awake": AWAKE[:5, :3]},
        {"awake": np.zeros((5, 4), dtype=bool)},
        {"classes": [0, 1]},
    ]
    options = [{"rule": "em"}, {"beta": 1.0}, {"eta": 0.0}, {"passes": 0}, {"beta": 1e-200}]
    return [
        *(answer_of(function, *args) for function, args in wrong),
        *(answer_of(OnlineCombiner().fit, **few | each) for each in of_inputs),
        *(answer_of(OnlineCombiner(**each).fit, EXPERTS, LABELS) for each in options),
    ]


CASES = {rule: partial(of_rule, rule) for rule in RULES} | {
    "without constant experts": partial(of_rule, "eg", constant_experts=False),
    "sleepers": of_sleepers,
    "bounds": bounds,
    "refusals": refusals,
}
