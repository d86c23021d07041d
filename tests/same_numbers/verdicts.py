"""Verdicts on probabilities, of two classes and of several: numbers and words."""

import numpy as np
from scipy.special import expit

from bayescal.metrics import calibration_verdict, class_verdict
from bayescal.metrics.verdict import count_words, counted, p_words
from tests.same_numbers.plain import answer_of

WORDS = ("outcome", "calibrated", "informative", "text", "accuracy", "accuracy_expected")
RNG = np.random.default_rng(12)
N = 160
LOGIT = RNG.normal(-0.6, 1.4, N).round(1)
P = expit(LOGIT)
UNIFORM = RNG.random(N)
COUNTS = RNG.integers(0, 3, N)
SHIFTS = np.random.default_rng(2).normal(0.0, 0.8, (30, 1))


# Labels that probabilities P do not know of: truth by name of the error.
TRUTH = {
    "right": UNIFORM < P,
    "more": expit(LOGIT + 1.1) > UNIFORM,
    "fewer": expit(LOGIT - 1.3) > UNIFORM,
    "steeper": expit(2.9 * LOGIT + 0.3) > UNIFORM,
    "flatter": expit(0.2 * LOGIT - 0.5) > UNIFORM,
    "bent": expit(np.abs(LOGIT) * 1.6 - 1.2) > UNIFORM,
    "none": np.zeros(N, dtype=bool),
    "all": np.ones(N, dtype=bool),
}
DRAWS = {"narrow": expit(LOGIT + 0.1 * SHIFTS), "wide": expit(LOGIT + SHIFTS)}
PARTS = {"sample_weight": 0.3 + COUNTS}
SAMPLED = {"inclusion": np.where(TRUTH["right"], 0.8, 0.25) * np.where(np.arange(N) % 3, 1.0, 0.5)}


def in_words(verdict):
    """Return a verdict with what it says."""
    if isinstance(verdict, str):
        return verdict
    words = [name for name in WORDS if hasattr(verdict, name)]
    return {"numbers": verdict} | {name: getattr(verdict, name) for name in words}


def of_errors():
    """Return verdicts on every kind of error, with posterior draws and without."""
    return {
        f"{name}, {bands}": in_words(calibration_verdict(truth, P, draws=DRAWS.get(bands)))
        for name, truth in TRUTH.items()
        for bands in ("", "narrow", "wide")
        if bands != "narrow" or name == "fewer"
    }


def of_weights():
    """Return verdicts on documents that count for several, in part, or were sampled."""
    weights = {"counts": {"sample_weight": COUNTS}, "parts": PARTS, "sampled": SAMPLED}
    return {
        f"{name}, {error}, {bands}": in_words(
            calibration_verdict(TRUTH[error], P, draws=DRAWS.get(bands), level=0.8, **each)
        )
        for name, each in weights.items()
        for error, bands in (("right", "wide"), ("flatter", ""))
    }


def of_few_documents():
    """Return verdicts on few documents, equal probabilities, and the ends 0 and 1."""
    every = {
        "few": ([1, 0, 0], [0.2, 0.3, 0.05]),
        "one": ([1], [0.3]),
        "equal": ([1, 0, 0, 1, 1, 1, 0, 1], [0.3] * 8),
        "equal, off": (np.repeat([1, 0], [40, 5]), [0.3] * 45),
        "ends": ([0, 1, 0, 1], [0.0, 1.0, 0.25, 0.4]),
        "ends alone": ([0, 1], [0.0, 1.0]),
        "impossible": ([1, 1, 0, 0, 1], [0.0, 0.5, 0.25, 1.0, 0.7]),
    }
    said = {name: in_words(calibration_verdict(*each)) for name, each in every.items()}
    truth, p = every["impossible"]
    draws = np.array([p, [0.2, 0.4, 0.3, 0.9, 0.6], [0.1, 0.6, 0.2, 1.0, 0.7]])
    said["impossible, by the mean"] = in_words(calibration_verdict(truth, p, draws=draws))
    draws[:, 3] = 1.0
    said["impossible, by all"] = in_words(calibration_verdict(truth, p, draws=draws))
    said["one draw"] = in_words(calibration_verdict(TRUTH["more"], P, draws=DRAWS["wide"][:1]))
    said["refused"] = [
        answer_of(calibration_verdict, [0, 1], [0.2, 0.3], level=level) for level in (0.0, 1.0)
    ] + [answer_of(calibration_verdict, [0, 1], [0.2, 0.3], draws=[[0.2]])]
    return said


def of_very_many():
    """Return verdicts where scores are drawn from their limit, or groups hold many documents."""
    rng = np.random.default_rng(4)
    p = rng.beta(0.6, 3.0, 9000)
    truth = rng.random(p.size) < p * 0.93
    return [
        in_words(calibration_verdict(truth, p)),
        in_words(calibration_verdict(truth[::9], p[::9])),
    ]


# Several classes.

CLASS_P = np.random.default_rng(9).dirichlet([1.2, 0.7, 0.4], 120)
CLASS_UNIFORM = np.random.default_rng(10).random((120, 1))
CLASSES = ["b", "c", "a"]


def _labels(p):
    return np.array(CLASSES)[(np.cumsum(p, axis=1)[:, :-1] < CLASS_UNIFORM).sum(axis=1)]


def _tilted(power, factor=(1.0, 1.0, 1.0)):
    p = CLASS_P**power * np.array(factor)
    return p / p.sum(axis=1, keepdims=True)


CLASS_TRUTH = {
    "right": _labels(CLASS_P),
    "shares": _labels(_tilted(1.0, (1.0, 0.4, 3.5))),
    "over-confident": _labels(_tilted(0.3)),
    "under-confident": _labels(_tilted(3.0)),
}
CLASS_DRAWS = np.stack([
    _tilted(np.exp(0.5 * z), (1.0, np.exp(z - 0.2), 1.0)) for z in SHIFTS[:12, 0]
])  # fmt: skip


def of_classes():
    """Return verdicts on the probabilities of three classes, by what is wrong with them."""
    return {
        f"{name}, {len(draws)}": in_words(
            class_verdict(truth, CLASS_P, CLASSES, **({"draws": draws} if len(draws) else {}))
        )
        for name, truth in CLASS_TRUTH.items()
        for draws in ([], CLASS_DRAWS)
    }


def of_weighted_classes():
    """Return verdicts on classes of documents that count for several, or were sampled."""
    truth = CLASS_TRUTH["right"]
    sampled = np.where(truth == "a", 0.9, 0.3) * np.where(np.arange(120) % 4, 1.0, 0.5)
    weights = {
        "counts": {"sample_weight": COUNTS[:120]},
        "sampled": {"inclusion": sampled},
        "sampled alike": {"inclusion": np.full(120, 0.5)},
    }
    return {
        f"{name}, {len(draws)}": in_words(
            class_verdict(
                truth,
                CLASS_P,
                CLASSES,
                level=0.8,
                **each,
                **({"draws": draws} if len(draws) else {}),
            )
        )
        for name, each in weights.items()
        for draws in ([], CLASS_DRAWS)
    }


def of_few_classes():
    """Return verdicts on few documents of classes, with ties, zeros and equal probabilities."""
    every = {
        "two": ([0, 1, 1], [[0.3, 0.7], [0.6, 0.4], [0.2, 0.8]]),
        "ties": ([2, 0, 1], [[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.4, 0.4, 0.2]]),
        "equal": ([0, 1, 2, 2], [[0.25, 0.25, 0.5]] * 4),
        "equal, off": (np.repeat([0, 1, 2], [30, 1, 1]), [[0.25, 0.25, 0.5]] * 32),
        "even": ([0, 1, 2, 2], [[0.25] * 4] * 4),
        "certain": ([0, 1], [[1.0, 0.0], [0.0, 1.0]]),
    }
    said = {name: in_words(class_verdict(*each)) for name, each in every.items()}
    truth, p = every["ties"]
    draws = np.stack([p, [[0.4, 0.4, 0.2], [0.3, 0.4, 0.3], [0.5, 0.4, 0.1]]])
    said["ties, draws"] = in_words(class_verdict(truth, p, draws=draws))
    said["refused"] = [
        answer_of(class_verdict, truth, p, **each)
        for each in (
            {"level": 1.0}, {"draws": draws[0]}, {"draws": draws[:0]}, {"draws": 2.5 * draws},
            {"draws": draws - 0.1}, {"draws": draws[:, :2]}, {"sample_weight": [0.5, 1, 1]},
            {"sample_weight": [10_000_000, 1, 0]}, {"classes": ["a", "b"]},
        )
    ]  # fmt: skip
    return said


def words_of_numbers():
    """Return numbers and p-values in words, on either side of where words change."""
    numbers = [0.0, 0.5, 1.0, 1.5, 2.0, 99.94, 99.95, 99.96, 1234.4, 1234567.0]
    chances = [0.0, 1e-9, 0.001, 0.00101, 0.0234, 0.5, 1.0]
    return {
        "numbers": [count_words(each) for each in numbers],
        "counted": [counted(each, "document") for each in numbers],
        "p": [p_words(each) for each in chances],
    }


CASES = {
    "errors": of_errors,
    "weights": of_weights,
    "few documents": of_few_documents,
    "very many": of_very_many,
    "classes": of_classes,
    "weighted classes": of_weighted_classes,
    "few classes": of_few_classes,
    "words of numbers": words_of_numbers,
}
