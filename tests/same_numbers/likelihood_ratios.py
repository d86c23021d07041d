"""Likelihood ratios: measures, bounds, validations, curves, bands and words."""

from functools import cache, partial

import numpy as np

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal import likelihood_ratio as lr
from bayescal.likelihood_ratio import curves, measures, ratios, sources
from tests.same_numbers.plain import answer_of

RNG = np.random.default_rng(31)
N_SOURCES = 11
# Pairs of fragments of few sources: of one source where both are the same.
FIRST = np.r_[RNG.integers(0, N_SOURCES, 26), RNG.integers(0, N_SOURCES, 60)]
SECOND = np.r_[FIRST[:26], (FIRST[26:] + RNG.integers(1, N_SOURCES, 60)) % N_SOURCES]
SAME = FIRST == SECOND
LOG10_LR = (RNG.normal(np.where(SAME, 0.9, -1.1), 1.0) * 1.1).round(1)
WEIGHT = np.where(SAME, 1.0, 0.4) + (np.arange(SAME.size) % 3)
INFINITE = LOG10_LR.copy()
INFINITE[[0, 1, 30]] = [np.inf, 2.5, -np.inf]
NAMES = np.array([f"pane {k}" for k in range(N_SOURCES)])
SOURCES = NAMES[FIRST], NAMES[SECOND]
FEW = {"y_true": [1, 0, 1, 0, 0], "log10_lr": [1.5, -0.3, -2.0, 0.0, 2.2]}
APART = {"y_true": [1, 1, 0, 0], "log10_lr": [1.5, 0.3, -2.0, -0.1]}
WRONG = {"y_true": [1, 0, 1, 0], "log10_lr": [-np.inf, -1.0, 1.0, 0.5]}
ONE = {"y_true": [1, 0, 0], "log10_lr": [0.4, 0.4, 0.4]}
MANY = np.random.default_rng(5).normal(np.repeat([0.8, -0.7], [90, 140]), 0.9)


def measures_of_ratios():
    """Return every measure, with weights and at infinite and equal LRs."""
    every = {
        "cllr": lr.cllr, "min": lr.min_cllr, "devpav": lr.devpav,
        "entropy": lr.empirical_cross_entropy,
        "entropy, priors": partial(
            lr.empirical_cross_entropy, log10_prior_odds=[[-300.0, -2.0], [0.0, 1.3]]
        ),
    }  # fmt: skip
    zero = np.where(np.isfinite(INFINITE), WEIGHT, 0.0)
    return {
        name: [
            answer_of(each, SAME, LOG10_LR),
            answer_of(each, SAME, LOG10_LR, sample_weight=WEIGHT),
            answer_of(each, SAME, INFINITE),
            answer_of(each, SAME, INFINITE, sample_weight=zero),
            *(answer_of(each, **some) for some in (FEW, APART, WRONG, ONE)),
        ]
        for name, each in every.items()
    }


def warnings_and_refusals():
    """Return warnings of units, and refusals, at their limits."""
    calls = [
        (SAME, np.abs(LOG10_LR)), (SAME, 0.0 * LOG10_LR), (SAME, 2.302585 * LOG10_LR),
        (SAME, 1.3 * LOG10_LR), (SAME, 1.7 * LOG10_LR), (SAME, LOG10_LR[:-1]),
        ([1, 0], [[1.0], [0.0]]), ([1, 0], [1.0, np.nan]), ([1, 0], [1e100, 0.0]),
        ([1, 0], [-1.1e100, 0.0]), ([1, 1], [1.0, 0.0]), ([0, 0], [1.0, 0.0]),
    ]  # fmt: skip
    weighted = partial(lr.cllr, SAME, LOG10_LR)
    return {
        "cllr": [answer_of(lr.cllr, *each) for each in calls],
        "weights": [answer_of(weighted, sample_weight=each) for each in
                    (SAME * 1.0, ~SAME * 1.0, -WEIGHT, 0.0 * WEIGHT)],
        "odds": [answer_of(measures.read_odds, each) for each in
                 (300.0, -300.0, [1.0, 300.1], np.nan)],
        "losses": measures.read_comparisons(SAME, LOG10_LR).losses_at(0.7),
        "recalibrated": measures.read_comparisons(SAME, LOG10_LR, WEIGHT).recalibrated(),
        "bounds": [answer_of(lr.source_bounds, *each) for each in
                   ((100, 10), (1, 0.5), (0.5, 1), (0, 3), (3, -1))],
        "not sources": [
            answer_of(sources.read_sources, each, np.array([True, False]))
            for each in (
                ["a", "b"], "ab", (["a", "a"], ["a", "a"]), (["a", "b"], ["b", "c"]),
                (["a", "b"], ["a", 1]), (["a"], ["a"]), ([["a", "b"]], ["a", "b"]),
                (["a", "b"], [1, 2]), (["a", None], ["a", "b"]), (["a", "b"],),
            )
        ],
    }  # fmt: skip


def bounds_of_ratios():
    """Return bounds by every method, exact and on grids."""
    every = [
        (SAME, LOG10_LR), (SAME, 3.0 * LOG10_LR), (SAME, INFINITE), tuple(FEW.values()),
        tuple(APART.values()), tuple(ONE.values()), (np.repeat([1, 0], [90, 140]), MANY),
        (np.repeat([1, 0], [90, 140]), -MANY), (np.repeat([0, 1], [90, 140]), -2.5 * MANY),
    ]  # fmt: skip
    return {
        "elub": [lr.elub(*each) for each in every],
        "elub, coarse": [lr.elub(*each, step=0.25) for each in every],
        "elub, exact": [lr.elub(*each, step=None) for each in every],
        "invariance": [lr.invariance_bounds(*each) for each in every],
        "invariance, grid": [
            lr.invariance_bounds(*each, grid=np.linspace(-3.0, 3.0, 25)) for each in every
        ],
        "refused": [
            answer_of(lr.elub, *every[0], step=0.0),
            answer_of(lr.invariance_bounds, *every[0], grid=[0.0]),
            answer_of(lr.invariance_bounds, *every[0], grid=[0.0, 0.0]),
            answer_of(lr.invariance_bounds, *every[0], grid=[[0.0, 1.0]]),
        ],
    }


def validations():
    """Return validations: of independent comparisons, of sources, of few and of very many."""
    repeated = [np.r_[a, b[-3:], a[-2:]] for a, b in (SOURCES, SOURCES[::-1])]
    twice = np.r_[SAME, SAME[-3:], SAME[-2:]]
    said = {
        "alone": answer_of(lr.validate, SAME, LOG10_LR),
        "sources": answer_of(lr.validate, SAME, LOG10_LR, sources=SOURCES, level=0.6),
        "strong": answer_of(lr.validate, SAME, 2.5 * LOG10_LR, sources=SOURCES),
        "infinite": answer_of(lr.validate, SAME, INFINITE, sources=SOURCES),
        "many": answer_of(lr.validate, np.repeat([1, 0], [90, 140]), MANY, rng=3),
        "few": answer_of(lr.validate, **FEW),
        "apart": answer_of(lr.validate, **APART),
        "three": answer_of(lr.validate, [1, 1, 1, 0, 0, 0], [0.2, -0.2, 2.0, -2.0, -2.1, 2.0]),
        "twice": answer_of(lr.validate, twice, np.r_[LOG10_LR, LOG10_LR[[-3, -2, -1, -2, -1]]],
                           sources=tuple(repeated)),
    }  # fmt: skip
    return {name: _validation(each) for name, each in said.items()} | {
        "refused": answer_of(lr.validate, SAME, LOG10_LR, level=1.0)
    }


def _validation(said):
    """Return a validation as its table and text, and the warnings."""
    if isinstance(said, dict):
        return {"warned": said["warned"]} | _validation(said["said"])
    return {
        "table": said.table.to_numpy(),
        "text": said.text.splitlines()[::3],
        "without": said.cllr.draws[:3],
        "misleading": [len(each.draws) for each in said.misleading.values()],
        "rest": (said.comparisons, said.sources, said.level, said.cllr.method),
    }


def curves_of_validations():
    """Return the curves of validations."""
    compared = measures.read_comparisons(SAME, LOG10_LR)
    infinite = measures.read_comparisons(SAME, INFINITE)
    empty = measures.read_comparisons([1, 0], [np.inf, -np.inf])
    every = {
        "tippett": curves.tippett(compared, level=0.7),
        "tippett 2": curves.tippett(infinite, SOURCES, kind=2),
        "pav": curves.pav(infinite),
        "entropies": curves.cross_entropies(compared),
        "consistency": curves.consistency(compared, SOURCES),
        "consistency, alone": curves.consistency(infinite, bins=6, level=0.7, rng=2),
    }
    return {name: _curves(each) for name, each in every.items()} | {
        "grid": [curves._grid(each.log10_lr)[[0, 1, -1]] for each in (compared, infinite, empty)],
        "refused": [
            answer_of(curves.tippett, compared, kind=3),
            answer_of(curves.tippett, compared, level=0.0),
            answer_of(curves.consistency, compared, bins=0),
        ],
    }


def _curves(dataset):
    """Return a data set with its coordinates and notes."""
    coordinates = {str(name): dataset[name] for name in dataset.coords}
    return {"variables": dataset, "coordinates": coordinates, "attributes": dict(dataset.attrs)}


def sources_of_comparisons():
    """Return weights, folds and jackknives of comparisons that share sources."""
    pairs = sources.read_sources(SOURCES, SAME)
    folds = sources.source_folds(pairs, 4, np.random.default_rng(2))
    alone = sources.random_folds(SAME, 3, np.random.default_rng(2))
    rng = np.random.default_rng(4)
    many = sources.left_out_groups(None, 230, rng)
    some = sources.left_out_groups(pairs, SAME.size, rng)
    compared = measures.read_comparisons(SAME, LOG10_LR)
    shares = sources.ClassShares.of(compared, True, pairs, some)
    wrong = np.stack([at > LOG10_LR for at in (-9.0, 0.0, 0.5, 9.0)])
    return {
        "weights": lr.source_weights(SAME, *SOURCES),
        "weights, one class": lr.source_weights([1, 1, 1], ["p", "p", "q"], ["p", "p", "q"]),
        "folds": [(fit.size, test) for fit, test in folds],
        "random folds": [(fit.size, test) for fit, test in alone],
        "many": [many.size, np.bincount(many.first)],
        "jackknife": sources.jackknife(some, lambda weight: weight @ LOG10_LR),
        "error": sources.jackknife(some, lambda weight: weight @ LOG10_LR).error(),
        "shares": [shares.sources, shares.posterior(wrong), shares.intervals(wrong, 0.8)],
        "share": shares.interval(wrong[1], 0.8),
        "refused": [answer_of(lambda k: list(sources.source_folds(pairs, k, rng)), k)
                    for k in (2, 12, 0)]
        + [answer_of(lambda k: list(sources.random_folds(SAME, k, rng)), k) for k in (1, 27)],
    }  # fmt: skip


# Likelihood ratios of fitted calibrators.

SCORES = (RNG.normal(np.where(SAME, 1.4, -1.0), 1.0)).round(2)
NEW = [-9.0, -2.0, 0.1, 0.35, 1.5, 4.0, 60.0]
LABELS = np.where(SAME, "same", "different")


@cache
def fitted(*parts):
    """Return a fitted calibrator."""
    options = {"parts": parts[0]} if parts else {}
    return ScoreCalibrator(draws=40, chains=2, random_state=0, **options).fit(SCORES, LABELS)


def _ratios(said):
    """Return LRs and their words."""
    if isinstance(said, str):
        return said
    return {"ratios": said, "support": said.support, "text": said.text.splitlines()}


def ratios_of_scores():
    """Return LRs of new scores with every option."""
    options = [
        {}, {"level": 0.5}, {"bounds": "elub", "support": None},
        {"bounds": "invariance", "support": {1.0: "some", 5: "much"}}, {"bounds": "sources"},
        {"bounds": (-0.5, 0.25)}, {"bounds": (0.0, 0.0)}, {"bounds": (0.5, 1.0)},
        {"bounds": "all"}, {"bounds": (-1.0,)}, {"level": 1.0}, {"force": 1}, {"topic": "a"},
        {"support": "all"}, {"support": {}}, {"support": {0.5: "little"}},
    ]  # fmt: skip
    of = partial(lr.likelihood_ratios, fitted(), NEW)
    found = [_ratios(answer_of(of, **each)) for each in options]
    shown = lr.likelihood_ratios(fitted(), NEW)
    single = partial(lr.likelihood_ratios, fitted("gaussian"), NEW[:4])
    mle = ScoreCalibrator("gaussian", inference="mle").fit(SCORES, LABELS)
    return {
        "options": found,
        "odds": shown.posterior_odds(0.01),
        "refused odds": [answer_of(shown.posterior_odds, each) for each in (0.0, np.inf, "1")],
        "single": [answer_of(single), _ratios(single(force=True))],
        "mle": _ratios(lr.likelihood_ratios(mle, NEW[:4], force=True)),
    }


def ratios_of_topics():
    """Return LRs of one of several topics."""
    topics = np.array(["a", "b"])[np.arange(SAME.size) % 2]
    calibrator = TopicCalibrator(draws=40, chains=2, random_state=0).fit(SCORES, SAME, topics)
    of = partial(lr.likelihood_ratios, calibrator, NEW[1:5])
    return [_ratios(answer_of(of, topic=topic, force=True)) for topic in ("b", "c", None)] + [
        _ratios(answer_of(of, topic="a", bounds="elub"))
    ]


def ratios_of_folds():
    """Return out-of-fold LRs, with sources and without, and how far the work got."""
    quick = ScoreCalibrator(draws=40, chains=2, random_state=0)
    done = []
    of = partial(lr.cross_validated, quick, SCORES, LABELS)
    by_source = of(sources=SOURCES, folds=3, rng=1, progress=done.append, level=0.6)
    alone = of(folds=2, rng=1, support=None)
    few = partial(lr.cross_validated, quick, [1.0, 0.2, 0.3], [1, 0, 0], rng=0)
    return {
        "sources": [by_source, done],
        "alone": alone,
        "refused": [answer_of(few, folds=2),
                    answer_of(few, folds=3, sources=(["p", "p", "q"], ["p", "q", "r"]))],
    }  # fmt: skip


def words_of_ratios():
    """Return LRs in words, on either side of every limit."""
    numbers = [np.inf, -np.inf, 5.0, 4.99, -5.0, 1.0, 0.99, 0.996, 0.0, -0.3, -1.0, 2.0, 3.7]
    grades = [0.0, 0.3, np.log10(2.0), -np.log10(2.0), 1.0, 0.999, -2.0, 3.0, 4.0, 5.9, 6.0, -7.0]
    return {
        "shown": [ratios.shown(each) for each in numbers],
        "grades": [ratios.grade_of(each, ratios.ENFSI) for each in grades],
        "joined": ratios.join_ratios([
            lr.likelihood_ratios(fitted(), NEW[:2]),
            lr.likelihood_ratios(fitted(), NEW[3:], bounds=(-1.0, 1.0)),
        ]),
        "scale": [ratios.read_scale(each) for each in (None, "enfsi", {10: 1, 1: "a"})],
    }  # fmt: skip


def diagnostic_tests():
    """Return LRs of test results, before and after a prevalence."""
    of = partial(lr.diagnostic_ratios, fitted())
    found = of(0.5)
    return {
        "found": found,
        "words": found.text,
        "after": [found.post_test(each) for each in (0.02, 0.6)],
        "level": of(float(SCORES[3]), level=0.5, rng=3).log10_negative,
        "refused": [
            answer_of(of, float(SCORES.min())), answer_of(of, float(SCORES.max()) + 0.01),
            answer_of(of, np.nan), answer_of(of, 0.5, level=0.0), answer_of(found.post_test, 1.0),
            answer_of(lr.diagnostic_ratios, ScoreCalibrator("gaussian", inference="mle").fit(
                SCORES, LABELS), 0.5),
        ],
    }  # fmt: skip


def embedded_comparisons():
    """Return the embedded comparisons."""
    tables = [lr.load_comparisons(name) for name in ("glass", "cartridges")]
    return [
        {name: each[name] if each[name].dtype.kind in "if" else each[name].value_counts().to_dict()
         for name in each}
        for each in tables
    ] + [answer_of(lr.load_comparisons, "none")]  # fmt: skip


CASES = {
    "measures": measures_of_ratios,
    "warnings and refusals": warnings_and_refusals,
    "bounds": bounds_of_ratios,
    "validations": validations,
    "curves": curves_of_validations,
    "sources": sources_of_comparisons,
    "scores": ratios_of_scores,
    "topics": ratios_of_topics,
    "folds": ratios_of_folds,
    "words": words_of_ratios,
    "diagnostic tests": diagnostic_tests,
    "embedded comparisons": embedded_comparisons,
}
