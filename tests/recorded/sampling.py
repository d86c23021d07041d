"""Plans of samples, and estimates of recall and of rates from their labels."""

import numpy as np

from bayescal import sampling
from tests.recorded.metrics import P, Y

AT, LABELS, OTHERS = np.arange(60), *(np.where(np.arange(60) % k, Y, np.nan) for k in (3, 4))
GROUPS, WHOLE = AT**2 // 99, np.where(AT**2 // 99 % 3, Y, np.nan)  # WHOLE has labels of groups
PLAN = sampling.plan_sample(P, 22, threshold=0.5, random_state=3)
PLANNED = np.where(np.isin(AT, PLAN.documents), Y, np.nan)
PLANS = [PLAN, sampling.plan_sample(P, 25, labels=PLANNED, inclusion=PLAN, random_state=3)]


def plans():
    draw, own = sampling.plan_sample, {"threshold": 0.5, "labels": WHOLE, "random_state": 2}
    made = [*PLANS, *(draw(P, k, groups=GROUPS, **own) for k in (6, 60))]
    made += [draw(P, 9, purpose=each, **own) for each in ("precision", "prevalence", "control")]
    return {"plans": [[x, x.inclusion, x.to_label, x.columns(x.documents)] for x in made]}


def estimates():
    own, errors = {"simultaneous": True, "missing": "bounds"}, {"reviewer_error": (0.1, 0.05)}
    return {
        "recall": sampling.estimate_recall(P, PLANNED, 0.7, design=PLAN, level=0.8, **errors),
        "share": sampling.estimate_prevalence(P, WHOLE, design="random", groups=GROUPS, hidden=0),
        "precision": sampling.estimate_precision(P, PLANNED, 0.5, design=PLANS, **own),
    }


def rates():
    rate, given = sampling.estimate_rate, ((3, 20), (0, 9), (0, 0))
    found = [rate(P, LABELS, design="random"), rate(P, PLANNED, design=PLAN), rate(P, 0.9 * LABELS),
        rate(P, WHOLE, clusters=GROUPS, level=0.8), rate(P[:9], LABELS[:9], sample_weight=AT[:9]),
        sampling.compare_rates(P, WHOLE, -P, WHOLE, clusters_a=GROUPS, clusters_b=GROUPS),
        sampling.rank_rates({"a": (P, LABELS), "b": (P**2, OTHERS), "c": (-P[5:], OTHERS[5:])}),
        sampling.rates_by_slice(P, WHOLE, AT % 3, clusters=GROUPS, level=0.8),
        sampling.compare_reviewers(P, LABELS, np.where(AT % 7, OTHERS, 0.0), level=0.8),
        sampling.judge_agreement(P, WHOLE, 0.2, clusters=GROUPS, level=0.8)]  # fmt: skip
    limits = [sampling.count_limits(*each, 70, reviewer_error=(0.15, 0.05)) for each in given]
    limits += [sampling.elusion(60, n, k, 7, 0.8, sequential=n > 9) for k, n in given]
    limits += [sampling.learn_hidden([(P, LABELS)]), sampling.elusion_size(500, 9, 0.6, expected=1)]
    for k, rule in enumerate(2 * list(sampling.RULES)):
        labels = np.where((P + 0.05 * k > 0.7) | (AT % 3 == 0), Y, np.nan)
        limits += [sampling.stop_review(P, labels, rule=rule, recall=0.5 + k / 16, control=AT[::3])]
    limits += [sampling.labels_needed_for_rate(0.2, pilot=found[0])]
    return {"rates": [[each, each.text] for each in found], "limits": limits}
