"""Reviews: limits of counts, plans of samples, estimates of recall, and when to stop."""

import csv
import tempfile
from functools import cache, partial
from pathlib import Path

import numpy as np

from bayescal import sampling
from bayescal.sampling import draws, exact, hidden, planning, stopping, units
from tests.same_numbers.plain import answer_of

N = 760
RNG = np.random.default_rng(21)
POSITIVE = RNG.random(N) < 0.12
SCORES = (RNG.normal(size=N) + 1.9 * POSITIVE).round(1)
GROUPS = np.where(np.arange(N) % 7 < 2, np.arange(N) // 7, 1000 + np.arange(N))


def labels_of(*documents):
    """Return labels of some documents, nan for all others."""
    labels = np.full(N, np.nan)
    for some in documents:
        labels[some] = POSITIVE[some]
    return labels


# Limits of counts.

COUNTS = [(0, 40, 900), (3, 40, 900), (40, 40, 900), (7, 60, 60), (0, 0, 50), (11, 30, 77)]


def limits_of_counts():
    """Return limits of counts: of labels without errors and with some, and at any time."""
    found = {
        f"{counts}": [
            sampling.count_limits(*counts),
            sampling.count_limits(*counts, 0.6),
            sampling.count_limits(*counts, sequential=True),
            sampling.count_limits(*counts, 0.8, reviewer_error=(0.2, 0.03)),
            sampling.count_limits(*counts, reviewer_error=(0.0, 0.1)),
        ]
        for counts in COUNTS
    }
    wrong = [(-1, 3, 9), (4, 3, 9), (3, 10, 9), (True, 3, 9), (1.5, 3, 9)]
    errors = [(-0.1, 0.0), (0.5, 0.5), (0.2,), (0.0, 0.99)]
    return found | {
        "refused": [answer_of(sampling.count_limits, *counts) for counts in wrong]
        + [answer_of(exact.as_reviewer_error, pair) for pair in errors]
        + [answer_of(sampling.count_limits, 1, 3, 9, level) for level in (0.0, 1.0)]
        + [answer_of(sampling.count_limits, 1, 3, 9, sequential=True, reviewer_error=(0.1, 0.0))]
    }


def limits_of_sums_and_shares():
    """Return limits of sums and of shares, also where nothing is positive."""
    parts = [
        exact.Limits(*each) for each in ((5.0, 2.0, 11.0), (0.0, 0.0, 3.0), (40.0, 31.0, 52.0))
    ]
    zero, known = exact.Limits(0.0, 0.0, 0.0), exact.Limits(4.0, 4.0, 4.0)
    pairs = [(a, b) for a in (*parts, zero, known) for b in (*parts, zero, known)]
    # Less than one positive in all, as errors of reviewers leave.
    pairs.append((exact.Limits(0.3, 0.1, 0.6), exact.Limits(0.2, 0.0, 0.3)))
    return {
        "sums": [sampling.sum_limits(parts[:k]) for k in (1, 2, 3)],
        "shares": [sampling.share_limits(*pair) for pair in pairs],
        "widths": [each.width for each in parts],
    }


def elusion_of_unread():
    """Return what samples of unread documents say, and how large they have to be."""
    sizes = [
        {"recall": 0.8}, {"recall": 0.7, "assurance": 0.8}, {"recall": 0.8, "expected": 5},
        {"recall": 0.8, "expected": 5, "power": 0.5}, {"recall": 0.5}, {"recall": 0.05},
        {"recall": 0.8, "expected": 13}, {"recall": 0.8, "expected": 12, "assurance": 0.5},
    ]  # fmt: skip
    return {
        "found": [
            answer_of(sampling.elusion, *each)
            for each in (
                (900, 60, 2, 31), (900, 60, 0, 31, 0.7), (900, 60, 0, 0), (900, 0, 0, 5),
                (60, 60, 0, 5), (60, 60, 0, 0), (0, 0, 0, 3), (9, 2, 0, -1), (9, 2, 0, True),
            )
        ] + [sampling.elusion(900, 60, 2, 31, sequential=True)],
        "size": [answer_of(sampling.elusion_size, 800, 50, **each) for each in sizes],
        "none found": answer_of(sampling.elusion_size, 800, 0, 0.9),
    }  # fmt: skip


# Plans.

PLANS = {
    "recall": {"threshold": 1.0},
    "recall, no threshold": {},
    "precision": {"purpose": "precision", "threshold": 1.0},
    "prevalence": {"purpose": "prevalence", "threshold": 0.3},
    "calibration": {"purpose": "calibration"},
    "control": {"purpose": "control"},
    "groups": {"groups": GROUPS, "threshold": 1.0},
}


@cache
def plan_of(name, n=70):
    """Return a first plan."""
    return sampling.plan_sample(SCORES, n, random_state=5, **PLANS[name])


@cache
def second_plan(name):
    """Return the plan of a second round."""
    first = plan_of(name)
    return sampling.plan_sample(
        SCORES, 40, labels=labels_of(first.documents), inclusion=first, random_state=5,
        **PLANS[name],
    )  # fmt: skip


def in_short(plan):
    """Return what a plan holds beside the scores."""
    return {
        "documents": plan.documents[:40],
        "strata": plan.strata,
        "inclusion": np.unique(plan.inclusion, return_counts=True),
        "stratum": np.bincount(plan.stratum),
        "rest": (plan.documents.size, plan.seed, plan.round, plan.threshold),
        "width": plan.expected_width,
        "notes": plan.notes,
        "hash": plan.hash,
    }


def plans(name):
    """Return plans of two rounds."""
    return {
        "first": in_short(plan_of(name)),
        "second": in_short(second_plan(name)),
        "of both": np.unique(sampling.inclusion_of([second_plan(name), plan_of(name)], SCORES)),
    }


def plans_of_few():
    """Return plans of few or equal scores, few labels, and more labels than documents."""
    some = plan_of("recall")
    few = np.arange(12.0)
    part = labels_of(some.documents[3:])
    calls = [
        (SCORES, 1, {"threshold": 1.0}), (SCORES, 2, {"threshold": 1.0}), (SCORES, 14, {}),
        (SCORES, 15, {}), (SCORES, 20, {"threshold": 2.5}), (SCORES, 30, {"threshold": 99.0}),
        (few, 5, {"threshold": 7.0}), (few, 12, {}), (few, 13, {}), (np.ones(30), 9, {}),
        (SCORES, 20, {"labels": part, "inclusion": some}),
        (few, 3, {"labels": [1, 0] * 6}), (SCORES, 20, {"labels": labels_of(), "inclusion": some}),
        (few, 3, {"purpose": "precision"}), (few, 3, {"inclusion": some}), (few, 0, {}),
        (few, 3, {"inclusion": [1]}), (few, 3, {"threshold": np.inf}), (few, 3, {"hidden": 0}),
    ]  # fmt: skip
    found = []
    for scores, n, options in calls:
        said = answer_of(sampling.plan_sample, scores, n, random_state=3, **options)
        found.append(said if isinstance(said, str) else in_short(said) | {"documents": None})
    return found


def strata_and_shares():
    """Return strata of rankings, and labels that strata get."""
    falling = np.round(np.linspace(3.0, -3.0, 4000), 2)
    size, documents = np.array([0.5, 0.3, 0.2, 0.0]), np.array([4, 900, 60, 30])
    return {
        "strata": [
            planning.strata_of(falling, at, n)
            for at in (None, 3.0, 2.95, 2.9, 2.0, 0.0, -3.0, -4.0) for n in (1, 2, 19, 20, 25, 90)
        ],
        "allocated": [planning.allocate(size, documents, n) for n in (1, 4, 19, 20, 21, 300, 990)],
    }  # fmt: skip


def files_of_plans():
    """Return what files of plans hold, and how wrong ones are refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.csv"
        for name in ("recall", "groups"):
            second_plan(name).to_csv(path)
        again = sampling.read_plan(path, SCORES, GROUPS)
        rows = list(csv.DictReader(path.open(newline="")))

        def read(scores=SCORES, groups=GROUPS, drop=(), **changed):
            own = [dict(row) for row in rows]
            own[1] |= changed
            own = [{k: v for k, v in row.items() if k not in drop} for row in own]
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(own[0]))
                writer.writeheader()
                writer.writerows(own)
            said = answer_of(sampling.read_plan, path, scores, groups)
            if isinstance(said, str):
                return said.replace(folder, "")
            return in_short(said) | {"documents": None}

        return {
            "rows": [list(row.values()) for row in rows[:4]],
            "read": in_short(again),
            "changed": [
                read(), read(scores=SCORES + 1.0), read(groups=None), read(drop=("seed", "size")),
                read(document="-1"), read(document=str(N)), read(document="one"), read(score="9"),
                read(inclusion="0,5"), read(inclusion=repr(float(rows[1]["inclusion"]) + 1e-7)),
                read(inclusion=repr(float(rows[1]["inclusion"]) + 1e-4)), read(size="3"),
                read(lowest="-2"), read(stratum="5"), read(lowest="nan"),
            ],
        }  # fmt: skip


# Estimates.


@cache
def labels_of_plan(name):
    """Return the labels of both rounds."""
    return labels_of(plan_of(name).documents, second_plan(name).documents)


def both_rounds(name):
    """Return the plans of both rounds."""
    return [plan_of(name), second_plan(name)]


def recall_of_plans():
    """Return recall, from labels of plans and otherwise."""
    known = labels_of_plan("recall")
    few = known.copy()
    few[plan_of("recall").documents[[2, 30, 31]]] = np.nan
    of = partial(sampling.estimate_recall, SCORES)
    return {
        "plan": of(known, 1.0, design=both_rounds("recall")),
        "plan, other threshold": of(known, 0.4, design=both_rounds("recall"), level=0.7),
        "control": of(labels_of(plan_of("control").documents), 0.9, design=plan_of("control")),
        "missing": answer_of(of, few, 1.0, design=both_rounds("recall")),
        "missing, bounds": of(few, 1.0, design=both_rounds("recall"), missing="bounds"),
        "no plan": of(known, 1.0, hidden=0),
    }


def recall_with_options():
    """Return recall with errors of reviewers, groups, at all thresholds, and without a curve."""
    known, design = labels_of_plan("recall"), both_rounds("recall")
    grouped = labels_of_plan("groups")
    of = partial(sampling.estimate_recall, SCORES)
    more = known.copy()
    more[:15] = POSITIVE[:15]
    return {
        "errors": of(known, 1.0, design=design, reviewer_error=(0.15, 0.02), hidden=(2.0, 9.0)),
        "groups": of(grouped, 1.0, design=both_rounds("groups"), groups=GROUPS),
        "simultaneous": of(known, 0.7, design=design, simultaneous=True),
        "not out of sample": of(known, 1.0, design=design[1], out_of_sample=False),
        "labels of no plan": of(more, 1.0, design=design, hidden="learned", random_state=4),
    }


def recall_of_probabilities():
    """Return recall where each document has its probability to be drawn."""
    inclusion = np.where(SCORES > 1.0, 0.75, 0.25)
    drawn = np.random.default_rng(8).random(N) < inclusion
    known = labels_of(drawn)
    of = partial(sampling.estimate_recall, SCORES, known, 1.3)
    certain = np.where(SCORES > 1.0, 1.0, 0.25)
    every = labels_of(drawn | (SCORES > 1.0))
    refused = [inclusion[:5], certain, np.linspace(0.2, 0.9, N), np.where(SCORES > 1, 0.0, 0.5)]
    return {
        "drawn": of(design=inclusion, hidden=0),
        "certain": sampling.estimate_recall(SCORES, every, 1.3, design=certain, hidden=0),
        "refused": [answer_of(of, design=each) for each in refused]
        + [answer_of(of, design=inclusion, groups=GROUPS, level=1.0),
           answer_of(of, design=np.linspace(0.2, 0.9, N).round(1), groups=GROUPS)],
    }  # fmt: skip


def precision_and_prevalence():
    """Return precision and the share of positives."""
    known, design = labels_of_plan("precision"), both_rounds("precision")
    of = sampling.estimate_precision
    return {
        "precision": of(SCORES, known, 1.0, design=design),
        "precision, simultaneous": of(SCORES, known, 1.2, design=design, simultaneous=True,
                                      reviewer_error=(0.1, 0.0), hidden=0),
        "precision, above all": answer_of(of, SCORES, known, 99.0, design=design),
        "prevalence": sampling.estimate_prevalence(SCORES, known, design=design, level=0.8),
        "prevalence, no plan": sampling.estimate_prevalence(SCORES, known, hidden=0),
    }  # fmt: skip


def odd_reviews():
    """Return estimates of rankings turned upside down, of ties, of no positives, and refusals."""
    known = labels_of_plan("recall")
    of = sampling.estimate_recall
    none = np.where(np.isnan(known), np.nan, 0.0)
    tied = np.where(np.arange(N) % 3 == 0, 0.123456, np.random.default_rng(1).normal(size=N))
    low = np.where(SCORES < -0.5, 1.0, known)
    wrong = [2.0, "a"]
    calls = [
        (-SCORES, known, 0.0, {"hidden": 0}), (SCORES, none, 1.0, {"hidden": 0}),
        (tied, known, 1.0, {"hidden": 0}), (SCORES, low, 0.5, {"hidden": 0}),
        (SCORES, known, None, {}), (SCORES, known, np.nan, {}), (SCORES, known[:-1], 1.0, {}),
        (SCORES, np.where(known == 1.0, wrong[0], known), 1.0, {}),
        (SCORES, known, 1.0, {"missing": "none"}), (SCORES, known, 1.0, {"hidden": "some"}),
        (SCORES, known, 1.0, {"hidden": (1.0, 0.0)}), (SCORES, known, 1.0, {"hidden": 1}),
        (SCORES, known, 1.0, {"simultaneous": 1}), (SCORES, known, 1.0, {"level": 0.0}),
    ]  # fmt: skip
    return [answer_of(of, scores, y, at, **options) for scores, y, at, options in calls]


def priors_of_hidden():
    """Return the prior of hidden positives that reviews teach, and pieces of its posterior."""
    collection = hidden.RankedCollection.of(SCORES)
    posterior = hidden.fit_posterior(collection, labels_of_plan("recall"), (1.0, 4.0), 3)
    drawn = posterior.drawn[::97]
    one = np.array([0.1, 0.2, 0.25, 0.4, 0.5, 0.7, 0.75])
    other = np.array([0.3, 0.35, 0.4, 0.6, 0.9, 0.95, 0.97])
    return {
        "learned": sampling.learn_hidden([(SCORES, POSITIVE), (SCORES, labels_of_plan("recall"))]),
        "none": answer_of(sampling.learn_hidden, []),
        "bins": [collection.size, collection.z, np.bincount(collection.code)],
        "many bins": hidden.RankedCollection.of(np.sin(np.arange(3000.0)).round(3)).size,
        "probabilities": posterior.model.probabilities(drawn)[:, ::5],
        "share": posterior.model.share_hidden(drawn),
        "likelihood": posterior.model.log_likelihood(drawn),
        "shared": [hidden.shared_limits(one, other, level) for level in (0.3, 0.6, 0.9)],
        "simultaneous": [
            hidden.simultaneous_level(np.stack([one, other, one**2], axis=1), level)
            for level in (0.3, 0.6, 0.9)
        ],
    }


# Stopping.


@cache
def control_sample():
    """Return a control sample that holds enough positives for the rule "target"."""
    return sampling.plan_sample(SCORES, 150, purpose="control", random_state=9).documents


def _decision(known, **options):
    """Return a decision without the words of its rule."""
    said = sampling.stop_review(SCORES, known, **options)
    return {name: value for name, value in vars(said).items() if name != "guarantee"}


def stopping_by(rule):
    """Return whether to stop, by a rule, at several places of the ranking."""
    control = control_sample()
    order = np.argsort(-SCORES, kind="stable")
    every = {"posterior": (40, 260), "quant": (40, 260)}.get(rule, (0, 25, 90, 200, 330, N))
    found = {}
    for read in every:
        known = labels_of(control, order[:read])
        options = {"rule": rule, "control": control, "recall": 0.75}
        found[read] = _decision(known, **options)
        if rule not in ("posterior", "quant"):
            options |= {"looks": 3, "assurance": 0.8, "recall": 0.6}
            found[f"{read}, looks"] = _decision(known, **options)
    return found


def stopping_in_parts():
    """Return parts of rules, the rules' words, and refusals."""
    known = labels_of(plan_of("control").documents)
    of = partial(sampling.stop_review, SCORES, known, rule="control")
    control = plan_of("control").documents
    order = np.argsort(-SCORES, kind="stable")
    labels = POSITIVE[order].astype(float)
    refused = [
        {}, {"control": plan_of("recall")}, {"control": [N]}, {"control": [-1]},
        {"control": [0.5]}, {"control": []}, {"control": np.arange(N)}, {"recall": 1.0},
        {"assurance": 0.0}, {"rule": "none"}, {"looks": 0},
    ]  # fmt: skip
    return {
        "first sure": [
            stopping.first_sure(r, recall, assurance)
            for r in (0, 1, 5, 10, 40) for recall in (0.5, 0.8) for assurance in (0.5, 0.9)
        ],
        "p-values": [
            stopping.rank_order_pvalue(labels[:read], N, recall)
            for read in (1, 30, 120, 300, N) for recall in (0.5, 0.8, 0.95)
        ],
        "no labels": [answer_of(sampling.stop_review, SCORES, labels_of(), rule=rule)
                      for rule in ("elusion", "hypergeometric")],
        "plan": of(control=plan_of("control")),
        "few controls": [
            sampling.stop_review(SCORES, known, rule=rule, control=control[:k]).sample
            for rule in ("control", "target")
            for k in (3, 4, 9, 31)
        ],
        "default": sampling.stop_review(SCORES, known, rule="elusion"),
        "refused": [answer_of(of, **each) for each in refused],
        "guarantees": {name: (rule.needs_control, rule.guarantee) for name, rule in
                       sampling.RULES.items()},
    }  # fmt: skip


def units_and_draws():
    """Return groups as units, and the strata of draws."""
    y = np.array([1.0, 0.0, np.nan, 0.0, np.nan, 1.0])
    scores = np.array([0.5, 2.0, 1.0, -1.0, 0.0, 3.0])
    grouped = units.SamplingUnits.of(scores, y, ["a", "b", "a", "b", "c", "c"])
    alone = units.SamplingUnits.of(scores, y, None)
    return {
        "units": [grouped, alone],
        "mask": grouped.mask(np.array([1, 4])),
        "draw": draws.draw_of_plans(alone_units(), tuple(both_rounds("recall"))),
        "probabilities": draws.draw_of_probabilities(grouped, np.full(6, 0.5)),
        "no draw": draws.draw_of_plans(alone_units(), (second_plan("recall"),)),
    }


def alone_units():
    """Return the collection's documents as units, with the labels of both rounds."""
    return units.SamplingUnits.of(SCORES, labels_of_plan("recall"), None)


CASES = {
    "limits of counts": limits_of_counts,
    "limits of sums and shares": limits_of_sums_and_shares,
    "elusion": elusion_of_unread,
    **{f"plans, {name}": partial(plans, name) for name in PLANS},
    "plans of few": plans_of_few,
    "strata and shares": strata_and_shares,
    "files of plans": files_of_plans,
    "recall of plans": recall_of_plans,
    "recall with options": recall_with_options,
    "recall of probabilities": recall_of_probabilities,
    "precision and prevalence": precision_and_prevalence,
    "odd reviews": odd_reviews,
    "priors of hidden": priors_of_hidden,
    **{f"stopping by {rule}": partial(stopping_by, rule) for rule in sampling.RULES},
    "stopping in parts": stopping_in_parts,
    "units and draws": units_and_draws,
}
