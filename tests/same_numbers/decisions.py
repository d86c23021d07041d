"""Decisions from draws of probabilities: costs, thresholds, counts, sets, what labels are worth."""

from functools import cache, partial

import numpy as np

from bayescal import ScoreCalibrator, TopicCalibrator, decisions
from bayescal.decisions import by_topic, draws, ranks, thresholds
from bayescal.decisions.expected_cost import as_costs
from tests.same_numbers.plain import answer_of

RNG = np.random.default_rng(41)
N = 23
LOGIT = RNG.normal(-0.5, 1.6, N)
SCORES = LOGIT.round(0) + 0.0  # many tie
P = 1.0 / (1.0 + np.exp(-LOGIT - RNG.normal(0.0, 0.6, (31, 1)) - RNG.normal(0.0, 0.2, (31, N))))
CLASS_P = RNG.dirichlet([1.4, 0.8, 0.5], (17, 13))
LABEL = RNG.integers(0, 3, 13)
COSTS = {
    "two": [[0.0, 5.0], [1.0, 0.5]],
    "three decisions": [[0.2, 5.0], [1.0, 0.5], [0.6, 0.9]],
    "each its own": np.stack([[[0.0, 4.0 + k], [1.0 + k / 5.0, 0.1]] for k in range(N)]),
}
CLASS_COSTS = np.array([[0.0, 2.0, 7.0], [1.0, 0.3, 3.0], [4.0, 1.5, 0.1]])
EVEN = [[0.5, 0.25], [0.5, 0.25]]


def costs_of_decisions():
    """Return the cheapest decisions, and what all decisions cost."""
    abstain = np.linspace(0.1, 0.9, N)
    found = {
        name: [
            decisions.expected_costs(P, costs),
            decisions.decide(P, costs),
            decisions.decide(P, costs, abstain_cost=0.45, level=0.5),
            decisions.decide(P, costs, abstain_cost=abstain),
        ]
        for name, costs in COSTS.items()
    }
    return found | {
        "classes": [
            decisions.expected_costs(CLASS_P, CLASS_COSTS),
            decisions.decide(CLASS_P, CLASS_COSTS),
            decisions.decide(CLASS_P, CLASS_COSTS, abstain_cost=0.8),
        ],
        "equally cheap": decisions.decide(EVEN, [[0, 1], [1, 0]], abstain_cost=0.25),
        "abstention": [
            decisions.with_abstention(COSTS["two"], 0.3),
            decisions.with_abstention(COSTS["two"], abstain[:3]),
            decisions.with_abstention(COSTS["each its own"][:3], abstain[:3]),
        ],
    }


def what_labels_are_worth():
    """Return the saving by labels, and their evidence on the calibration."""
    other = 1.0 - 0.8 * P[:, :5]
    return {
        "saving": {name: decisions.value_of_label(P, costs) for name, costs in COSTS.items()},
        "abstaining": decisions.value_of_label(P, decisions.with_abstention(COSTS["two"], 0.3)),
        "others": decisions.value_of_label(P, COSTS["two"], candidates=other),
        "classes": decisions.value_of_label(CLASS_P, CLASS_COSTS),
        "bits": [decisions.information_gain(each) for each in (P, CLASS_P, EVEN)],
        "refused": [
            answer_of(decisions.value_of_label, P, COSTS["two"], candidates=each)
            for each in (other[:-1], CLASS_P)
        ],
    }


def counts_of_positives():
    """Return posteriors of the number of positives."""
    return {
        "exact": decisions.count_positives(P),
        "narrow": decisions.count_positives(P, level=0.4, method="exact"),
        "drawn": decisions.count_positives(P, method="drawn", rng=3),
        "at quantiles": decisions.count_positives([[0.5, 0.5]] * 2, level=0.5),
        "certain": decisions.count_positives([[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]).pmf.round(12),
        "one": decisions.count_positives([[0.3], [0.1]], level=0.8),
        "very many": answer_of(
            decisions.count_positives, np.tile(P[:, :20], (1, 3300)), method="auto", rng=1
        ).lower,
    }


def thresholds_on_scores():
    """Return thresholds for precision and recall, and what given ones take."""
    options = [
        {}, {"assurance": 0.8}, {"level": 0.5}, {"of": "population"},
        {"of": "population", "assurance": 0.6},
    ]  # fmt: skip
    found = {}
    for name, find in (
        ("precision", decisions.threshold_for_precision),
        ("recall", decisions.threshold_for_recall),
    ):
        found[name] = [
            answer_of(find, SCORES, P, wanted, rng=5, **each)
            for wanted in (0.5, 0.7, 0.97) for each in options
        ]  # fmt: skip
        at = {"precision": decisions.precision_at, "recall": decisions.recall_at}[name]
        found[f"{name} at"] = [
            answer_of(at, threshold, SCORES, P, rng=5, **each)
            for threshold in (1.0, 0.5, -9.0, 9.0, np.nan)
            for each in (options[0], *options[2:4])
        ]
    even = np.tile([0.9, 0.5, 0.1], (4, 1))
    found["at the limit"] = [
        decisions.threshold_for_precision([3.0, 2.0, 1.0], even, 0.7, of="population"),
        decisions.threshold_for_recall([3.0, 2.0, 1.0], even, 0.6, of="population"),
    ]
    found["cuts"] = thresholds.cuts_of(SCORES, P, "documents", 2)
    found["refused"] = [
        answer_of(decisions.threshold_for_recall, SCORES, P, 0.5, **each)
        for each in ({"of": "all"}, {"level": 1.0}, {"assurance": 1.0})
    ] + [answer_of(decisions.precision_at, None, SCORES, P),
         answer_of(decisions.recall_at, 0.0, SCORES[:-1], P)]  # fmt: skip
    return found


def ranks_to_read():
    """Return the ranks at which reading may stop."""
    positives = [[1, 0, 2, 1, 1], [0, 0, 0, 0, 0], [0, 3, 0, 1, 0], [1, 1, 1, 1, 1]]
    return {
        "recall": ranks.recall_by_rank(positives),
        "reached": [ranks.probability_reached(positives, recall) for recall in (0.4, 0.8, 1.0)],
        "stop": [
            ranks.stopping_rank(positives, recall, probability)
            for recall in (0.4, 0.8, 1.0) for probability in (0.25, 0.5, 0.75, 1.0)
        ],
    }  # fmt: skip


def answers_of_the_surest():
    """Return risk by coverage, and sets of classes."""
    rows = CLASS_P.mean(axis=0)
    tied = [[0.5, 0.5, 0.0], [0.2, 0.5, 0.3], [0.3, 0.5, 0.2], [1.0, 0.0, 0.0]]
    sets = [decisions.expected_sets(each, coverage) for each in (rows, tied)
            for coverage in (0.5, 0.625, 0.8, 0.9, 0.999)]  # fmt: skip
    conformal = [
        decisions.conformal_sets(rows, LABEL, new, coverage)
        for new in (rows[:6], tied) for coverage in (0.3, 0.5, 0.85, 0.9, 0.99)
    ]  # fmt: skip
    return {
        "risk": [
            decisions.risk_coverage(CLASS_P, LABEL, points=6, rng=2),
            decisions.risk_coverage(P, level=0.5),
            decisions.risk_coverage(np.array(tied)[None], [0, 1, 2, 0], points=4),
        ],
        "sets": sets,
        "conformal": conformal,
        "covered": [
            decisions.set_coverage(sets[2], LABEL),
            decisions.set_coverage(sets[0], LABEL, level=0.5),
            decisions.set_coverage([[True, True]], [1]),
        ],
    }


def refusals():
    """Return the messages with which draws, costs and labels are refused, at their limits."""
    sums = [[0.4, 0.6]] * 9
    wrong_draws = [
        [0.5], [[1.1]], [[-0.1]], [[np.nan]], np.empty((0, 2)), sums, sums[:8],
        [[[0.5, 0.5 + 9e-7]]], [[[0.5, 0.5 + 2e-6]]], [[[1.0]]],
    ]  # fmt: skip
    wrong_costs = [
        [[0, 1]], [[0, 1, 2], [1, 0, 2]], [[0, np.inf], [1, 0]], [[-1, 1], [1, 0]],
        [[0, 1], [1, 2]], [[0, 0], [0, 0]], np.zeros((2, 2, 2)), [0, 1], [[2, 1], [1, 0]],
    ]  # fmt: skip
    wrong_rows = [[0.5, 0.5], np.empty((0, 2)), [[1.1, 0.0]], [[-0.1, 0.5]], [[np.nan, 0.5]]]
    wrong_labels = [[0], [0, 3], [0, -1], [0.0, 1.0], [[0, 1]], ["a", "b"], [0, 2]]
    two = [[[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]]
    return {
        "draws": [answer_of(draws.as_draws, each) for each in wrong_draws],
        "binary": answer_of(decisions.count_positives, CLASS_P),
        "costs": [answer_of(as_costs, each, 3, 2) for each in wrong_costs],
        "abstention": [
            answer_of(decisions.with_abstention, COSTS["two"], each)
            for each in (-0.1, np.inf, [[0.1]], 0.0)
        ] + [answer_of(decisions.decide, P, COSTS["two"], abstain_cost=[0.1, 0.2]),
             answer_of(decisions.with_abstention, COSTS["each its own"], [0.1]),
             answer_of(decisions.with_abstention, [0.0, 1.0], 0.1)],
        "rows": [answer_of(decisions.expected_sets, each) for each in wrong_rows],
        "labels": [answer_of(decisions.risk_coverage, two, each) for each in wrong_labels],
        "sets": [answer_of(decisions.set_coverage, each, [0])
                 for each in ([[1, 0]], [True], [[True, None]], np.empty((0, 2), bool))],
        "levels": [answer_of(decisions.decide, P, COSTS["two"], level=1.0),
                   answer_of(decisions.risk_coverage, two, level=0.0),
                   answer_of(decisions.risk_coverage, two, points=0),
                   answer_of(decisions.count_positives, P, method="none"),
                   answer_of(decisions.expected_sets, two[0], 1.0),
                   answer_of(decisions.set_coverage, [[True]], [0], level=0.0)],
    }  # fmt: skip


# Tables of fitted calibrators.


def _documents(n, seed):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.3
    return rng.normal(2.0 * positive).round(2), positive


@cache
def fitted():
    """Return a calibrator of one problem."""
    return ScoreCalibrator("gaussian", draws=40, chains=2, random_state=0).fit(*_documents(90, 1))


@cache
def fitted_topics():
    """Return a calibrator of three topics."""
    scores, positive = _documents(120, 2)
    topics = np.array(["a", "b", "c"])[np.arange(120) % 3]
    calibrator = TopicCalibrator(draws=40, chains=2, random_state=0)
    return calibrator.fit(scores + 0.4 * (topics == "b"), positive, topics)


def _table(said):
    """Return a table with its index."""
    return said if isinstance(said, str) else {"index": said.index, "columns": said}


def tables_of_rates():
    """Return precision and recall of documents by topic, at probabilities and at scores."""
    scores, _ = _documents(70, 3)
    topics = np.array(["c", "a"])[(np.arange(70) % 5 < 2).astype(int)]
    of = partial(decisions.rates_by_topic, fitted(), scores, random_state=4)
    of_topics = partial(decisions.rates_by_topic, fitted_topics(), scores, topics, random_state=4)
    options = [
        {"probability": 0.5}, {"threshold": 1.0}, {"threshold": float(scores[4])},
        {"threshold": 99.0}, {"threshold": -99.0}, {"probability": 0.3, "prior": 0.6},
        {"threshold": 1.0, "draws": 20, "level": 0.5}, {}, {"threshold": 1.0, "probability": 0.5},
        {"probability": 1.0}, {"threshold": np.inf}, {"threshold": 1.0, "draws": 0},
    ]  # fmt: skip
    return [_table(answer_of(of, **each)) for each in options] + [
        _table(answer_of(of_topics, **each)) for each in options[:2]
    ]


def tables_of_thresholds():
    """Return thresholds for recall by topic, of few documents and of very many."""
    scores, _ = _documents(70, 5)
    many = np.random.default_rng(6).normal(0.6, 1.4, 11_000)
    topics = np.array(["c", "a", "b"])[np.arange(70) % 3]
    mle = ScoreCalibrator("gaussian", inference="mle").fit(*_documents(90, 1))
    of = partial(decisions.thresholds_by_topic, random_state=4)
    return [
        _table(of(fitted(), scores, recall=0.8)),
        _table(of(fitted(), scores, recall=0.8, assurance=0.9, level=0.5, prior=0.1)),
        _table(of(fitted(), many[:1500], recall=0.8, draws=30)),
        _table(of(fitted(), many, recall=0.6, draws=30)),
        _table(of(fitted(), many.round(1), recall=0.6, draws=30)),
        _table(of(fitted_topics(), scores, topics, recall=0.7)),
        answer_of(of, fitted_topics(), scores, recall=0.7),
        answer_of(of, fitted_topics(), scores, np.where(topics == "a", "z", topics), recall=0.7),
        answer_of(of, fitted_topics(), scores, topics[:-1], recall=0.7),
        answer_of(of, fitted(), scores, topics, recall=0.7),
        answer_of(of, fitted(), scores, recall=1.0),
        answer_of(of, mle, scores, recall=0.7),
        answer_of(of, object(), scores, recall=0.7),
    ]


def thresholds_that_are_tried():
    """Return the thresholds that are tried on very many documents, and what documents are."""
    ends = np.arange(1, 5001)
    return {
        "tried": [by_topic._tried(each) for each in (ends[:1000], ends, ends[::7])],
        "tried at the end": [by_topic._tried(each)[-3:] for each in (ends[:1001], ends[999::3])],
        "scores": [
            by_topic.are_scores(each)
            for each in ([1.0, 2], np.ones((2, 2)), ["a"], [], np.ones(2), [[1.0]])
        ],
    }


CASES = {
    "costs": costs_of_decisions,
    "worth of labels": what_labels_are_worth,
    "counts": counts_of_positives,
    "thresholds": thresholds_on_scores,
    "ranks": ranks_to_read,
    "answers of the surest": answers_of_the_surest,
    "refusals": refusals,
    "tables of rates": tables_of_rates,
    "tables of thresholds": tables_of_thresholds,
    "thresholds tried": thresholds_that_are_tried,
}
