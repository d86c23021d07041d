"""Audits of probabilities: numbers, curves, words, and how many labels they need."""

from functools import partial

import numpy as np
from scipy.special import expit

from bayescal import monitoring
from bayescal.metrics import changes
from bayescal.monitoring import drawn_curves
from tests.same_numbers.plain import answer_of

N = 150
LOGIT = np.random.default_rng(51).normal(-0.7, 1.3, N).round(2)
P = expit(LOGIT)
UNIFORM = np.random.default_rng(52).random(N)
COUNTS = np.random.default_rng(53).integers(0, 3, N)
SITES = np.array(["north", "south", "east"])[np.arange(N) % 7 % 3]


TRUTH = {
    "right": UNIFORM < P,
    "more": expit(LOGIT + 0.9) > UNIFORM,
    "fewer": expit(LOGIT - 0.8) > UNIFORM,
    "steeper": expit(2.4 * LOGIT + 0.7) > UNIFORM,
    "bent": expit(1.6 * np.abs(LOGIT) - 1.6) > UNIFORM,
    "by site": expit(LOGIT + np.where(SITES == "north", 2.5, -1.4)) > UNIFORM,
    "none": np.zeros(N, dtype=bool),
    "reversed": expit(-2.0 * LOGIT) > UNIFORM,
}
SAMPLED = np.where(TRUTH["more"], 0.9, 0.3)
EVERY = {
    "right": ("right", P, {}),
    "more": ("more", P, {"threshold": 0.4}),
    "fewer": ("fewer", P, {"costs": [[0.0, 9.0], [1.0, 0.5]], "level": 0.5}),
    "steeper": ("steeper", P, {"threshold": 0.123, "level": 0.95}),
    "bent": ("bent", P, {}),
    "by site": ("by site", P, {"sites": SITES, "threshold": 0.5}),
    "sites alike": ("right", P, {"sites": SITES, "sample_weight": COUNTS}),
    "none": ("none", P, {"threshold": 0.6}),
    "reversed": ("reversed", P, {}),
    "sampled": ("more", P, {"inclusion": SAMPLED, "threshold": 0.5, "sites": SITES}),
    "equal": ("right", np.full(N, 0.3), {"threshold": 0.3}),
    "ends": ("more", P.round(0), {}),
    "certain": ("none", np.zeros(N), {}),
}
FEW = {
    "nine": ([1, 0, 0, 1, 0, 0, 0, 1, 0], [0.2, 0.3, 0.1, 0.6, 0.5, 0.1, 0.2, 0.8, 0.4]),
    "ten": ([1, 0, 0, 1, 0, 0, 0, 1, 0, 0], [0.2, 0.3, 0.1, 0.6, 0.5, 0.1, 0.2, 0.8, 0.4, 0.3]),
    "all": ([1, 1, 1], [0.2, 0.9, 1.0]),
}


def _audit(said):
    """Return an audit: its numbers, curves, words and notes."""
    if isinstance(said, dict):
        return {"warned": said["warned"]} | _audit(said["said"])
    if isinstance(said, str):
        return said
    numbers = {name: list(vars(each).values()) for name, each in said.numbers.items()}
    return {
        "numbers": numbers,
        "models": said.model_probability,
        "curve": said.curve,
        "benefit": said.net_benefit,
        "attributes": [dict(said.curve.attrs), dict(said.net_benefit.attrs)],
        "sites": said.sites,
        "rest": (said.explanation, said.sites_differ, said.threshold, said.documents, said.level),
        "pvalue": said.verdict.pvalue,
        "text": said.text.splitlines(),
        "more": said.more_labels,
        "frame": [len(said.to_frame()), list(said.to_frame().columns)],
    }


def audits(name):
    """Return an audit of probabilities that are wrong in some way, or in none."""
    truth, p, options = EVERY[name]
    return _audit(answer_of(monitoring.audit, TRUTH[truth], p, draws=40, random_state=3, **options))


def audits_of_few():
    """Return audits of few documents, and refusals at their limits."""
    calls = [
        {"p": 100.0 * P}, {"p": 101.0 * P / P.max()}, {"p": P - 0.5}, {"y": [0, 1]},
        {"threshold": 0.5, "costs": [[0, 1], [1, 0]]}, {"threshold": 0.0}, {"level": 1.0},
        {"costs": [[0, 1], [1, 0], [0.5, 0.5]]}, {"costs": [[0, 0], [1, 0]]},
        {"costs": [[0, 1], [0, 0]]}, {"draws": 0}, {"sites": SITES[:-1]},
        {"sample_weight": COUNTS, "inclusion": SAMPLED},
    ]  # fmt: skip
    of = partial(monitoring.audit, TRUTH["right"], P)
    every = {"y": TRUTH["right"], "p": P}
    few = {
        name: _audit(answer_of(monitoring.audit, *each, draws=30, random_state=3))
        for name, each in FEW.items()
    }
    return few | {
        "refused": [answer_of(monitoring.audit, **(every | each)) for each in calls],
        "default": of(random_state=0).numbers["AUC"],
    }


def labels_that_are_needed():
    """Return numbers of labels for widths of intervals."""
    few = P[::8]
    calls = [
        {"slope_width": 0.2, "ratio_width": 0.3}, {"slope_width": 1.0, "level": 0.5},
        {"ratio_width": 0.3, "prevalence": 0.02}, {"ratio_width": 1e-9},
        {"error_width": 0.02, "random_state": 1},
        {"saving_width": 0.01, "threshold": 0.4, "random_state": 1}, {},
        {"slope_width": 0.0}, {"saving_width": 0.01}, {"threshold": 0.4, "ratio_width": 1.0},
        {"ratio_width": 1.0, "prevalence": 1.0}, {"ratio_width": 1.0, "level": 1.0},
    ]  # fmt: skip
    return [answer_of(monitoring.labels_needed, few, **each) for each in calls] + [
        answer_of(monitoring.labels_needed, [0.3, 0.3], slope_width=1.0),
        answer_of(monitoring.labels_needed, [0.0, 0.0], ratio_width=1.0),
        answer_of(monitoring.labels_needed, [0.01], saving_width=0.1, threshold=0.9),
    ]


def pieces_of_audits():
    """Return draws of curves, benefits and sizes of errors."""
    rng = np.random.default_rng(4)
    cells = changes.LogOddsCells.of(LOGIT[:30], TRUTH["more"][:30], COUNTS[:30] + 1.0)
    drawn = drawn_curves.AuditCurves.of(changes.fit_changes(cells), cells, 12, rng)
    cost = drawn_curves.Decision(0.25, 3.0)
    return {
        "drawn": drawn,
        "odds": cost.odds,
        "numbers": [drawn_curves.AuditNumber.of_draws(drawn.true[:, 0], 0.8, median=each)
                    for each in (False, True)],
        "benefits": [drawn_curves.benefits_at(drawn, each, 0.7)
                     for each in (cost, drawn_curves.Decision(float(drawn.given[3])))],
        "net benefit": drawn_curves.net_benefit(drawn, 0.123, 0.7),
        "thresholds": drawn_curves.THRESHOLDS,
        "errors": drawn_curves.error_sizes(drawn, 0.7),
    }  # fmt: skip


CASES = {
    **{f"audit, {name}": partial(audits, name) for name in EVERY},
    "audits of few": audits_of_few,
    "labels needed": labels_that_are_needed,
    "pieces of audits": pieces_of_audits,
}
