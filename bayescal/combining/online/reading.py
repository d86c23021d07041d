"""Checks of the arguments: probabilities of experts, awake experts, indicators and labels."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.combining.online.rules import RULES, Advice
from bayescal.support import validation
from bayescal.support.labels import of_each_class
from bayescal.support.numerics import PSEUDO_COUNT
from bayescal.support.validation import Floats, Integers

ROUNDING = 1e-6
Bools = NDArray[np.bool_]


class OnlineInputs(NamedTuple):
    """Checked arguments for n documents."""

    advice: Advice  # constant experts come last; without indicators there is one that is always on
    experts: int  # number passed
    indicators: int  # number passed
    no_gaps: Floats | None  # zeros, (experts, classes), if gaps are filled

    @property
    def equal_weights(self) -> Floats:
        """Return the logarithms of equal weights."""
        return np.zeros((self.advice.awake.shape[1], self.advice.indicators.shape[1]))


def fill_gaps(
    advice: Advice, counts: Floats | None, label: Integers | None = None
) -> tuple[Advice, Floats | None]:
    """Return advice whose gaps have the classes' shares at earlier gaps, and the counts there."""
    if counts is None:
        return advice, None
    new = np.zeros(advice.probabilities.shape)
    if label is not None:
        new[np.arange(label.size), :, label] = ~advice.awake
    after = counts + new.cumsum(axis=0)
    smoothed = after - new + PSEUDO_COUNT
    shares = smoothed / smoothed.sum(axis=2, keepdims=True)
    filled = np.where(advice.awake[:, :, None], advice.probabilities, shares)
    return replace(advice, probabilities=filled, awake=np.full_like(advice.awake, True)), after[-1]


def read_inputs(
    P: ArrayLike,
    classes: int,
    awake: ArrayLike | None,
    indicators: ArrayLike | None,
    *,
    rule: str,
    constant_experts: bool,
    allow_missing: bool = False,
) -> OnlineInputs:
    """Return the checked arguments for a rule."""
    validation.check_flag(constant_experts=constant_experts, allow_missing=allow_missing)
    probabilities = read_probabilities(P, classes)
    n, experts, _ = probabilities.shape
    kind = RULES[rule]
    up = read_awake(awake, probabilities, rule=rule, lets_sleep=allow_missing or kind.lets_sleep)
    used = read_indicators(indicators, n, rule=rule, takes=kind.takes_indicators)
    advice = make_advice(probabilities, up, used, constant_experts=constant_experts)
    no_gaps = np.zeros(advice.probabilities.shape[1:]) if allow_missing else None
    return OnlineInputs(advice, experts, 0 if indicators is None else used.shape[1], no_gaps)


def read_probabilities(P: ArrayLike, classes: int) -> Floats:
    """Return probabilities, shape (n, experts, classes), nan where an expert sleeps."""
    values = validation.as_reals(P, "P")
    _check_unit("P", values, "make them of scores by a calibrator, such as ScoreCalibrator")
    if values.ndim == 2 and classes == 2:
        values = np.stack([1.0 - values, values], axis=2)
    if values.ndim != 3 or values.shape[2] != classes:
        alone = "(n, experts) or " if classes == 2 else ""
        raise ValueError(
            f"P must have shape {alone}(n, experts, {classes}), probabilities of {classes}"
            f" classes, got {np.shape(P)}."
        )
    if 0 in values.shape:
        raise ValueError(f"P must hold at least one document and expert, got shape {np.shape(P)}.")
    sums = values.sum(axis=2)
    speaks = ~np.isnan(values).all(axis=2)
    bad = np.argwhere(speaks & ~(np.abs(sums - 1.0) <= ROUNDING))
    if bad.size:
        document, expert = bad[0].tolist()
        raise ValueError(
            f"probabilities of all classes in P must sum to 1, or all be nan, got a sum of"
            f" {sums[document, expert]:g} for document {document}, expert {expert}."
        )
    return values


def read_awake(
    awake: ArrayLike | None, probabilities: Floats, *, rule: str, lets_sleep: bool
) -> Bools:
    """Return the mask of awake experts, (n, experts)."""
    speaks = ~np.isnan(probabilities[:, :, 0])
    if awake is not None:
        asked = validation.as_array(awake, "awake")
        if asked.dtype != np.bool_ or asked.shape != speaks.shape:
            raise ValueError(
                f"awake must be bool, of shape (n, experts) = {speaks.shape}, got {asked.dtype} of"
                f" shape {asked.shape}."
            )
        mute = np.argwhere(asked & ~speaks)
        if mute.size:
            document, expert = mute[0].tolist()
            raise ValueError(
                f"an expert that is awake must give probabilities, got nan for document {document},"
                f" expert {expert}."
            )
        speaks = asked
    if not lets_sleep and not speaks.all():
        document, expert = np.argwhere(~speaks)[0].tolist()
        raise ValueError(
            f"rule {rule!r} needs all experts awake, but for document {document} expert {expert}"
            " sleeps: take 'winnow', set allow_missing=True, or leave such documents out."
        )
    return speaks


def read_indicators(indicators: ArrayLike | None, n: int, *, rule: str, takes: bool) -> Floats:
    """Return indicators of n documents; without any, one that is always on."""
    if indicators is None:
        return np.ones((n, 1))
    if not takes:
        raise ValueError(
            f"rule {rule!r} takes no indicators: leave them out, or take 'winbmx' or 'eg'."
        )
    values = validation.as_reals(indicators, "indicators")
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(f"indicators must have shape (n, indicators), got {values.shape}.")
    validation.check_same_length("P", n, "indicators", len(values))
    if np.isnan(values).any():
        document, column = np.argwhere(np.isnan(values))[0].tolist()
        raise ValueError(
            f"indicators must not be nan, got one for document {document}, indicator {column}:"
            " impute it, by 0 for off."
        )
    _check_unit("indicators", values, "bring them there by scikit-learn's MinMaxScaler(clip=True)")
    off = np.flatnonzero(~values.any(axis=1))
    if off.size:
        raise ValueError(
            f"a document must have an indicator above 0, got none for document {off[0]}: add one"
            " that is 1 for all documents."
        )
    return values


def make_advice(
    probabilities: Floats, awake: Bools, indicators: Floats, *, constant_experts: bool
) -> Advice:
    """Return the advice of experts, followed by constant ones if requested."""
    values = np.where(awake[:, :, None], probabilities, 0.0)
    if constant_experts:
        n, _, classes = values.shape
        constant = np.broadcast_to(np.eye(classes)[1:], (n, classes - 1, classes))
        values = np.concatenate([values, constant], axis=1)
        awake = np.concatenate([awake, np.ones((n, classes - 1), dtype=np.bool_)], axis=1)
    silent = np.flatnonzero(~awake.any(axis=1))
    if silent.size:
        raise ValueError(
            f"at least one expert must be awake, but all sleep for document {silent[0]}: leave it"
            " out, or set constant_experts=True."
        )
    return Advice(values, awake, indicators)


def _check_unit(name: str, values: Floats, advice: str) -> None:
    outside = np.argwhere((values < 0.0) | (values > 1.0))
    if outside.size:
        first = outside[0].tolist()
        raise ValueError(
            f"{name} must lie between 0 and 1, got {values[tuple(first)]:g} for document"
            f" {first[0]}: {advice}."
        )


def read_classes(classes: ArrayLike, name: str = "classes") -> NDArray[Any]:
    """Return the classes in sorted order."""
    try:
        distinct = np.unique(validation.as_array(classes, name))
    except TypeError as err:
        raise ValueError(f"{name} must be labels of one type: {err}.") from err
    if distinct.dtype.kind == "f" and np.isnan(distinct).any():
        raise ValueError(f"{name} must not be nan: leave unlabelled documents out.")
    if distinct.size < 2:
        raise ValueError(
            f"there must be at least two classes, got {distinct.tolist()}: name those to come by"
            " classes=."
        )
    return distinct


def known_classes(before: NDArray[Any] | None, named: ArrayLike | None) -> NDArray[Any]:
    """Return the classes of the first call; later calls may only repeat them."""
    if named is None:
        if before is None:
            raise ValueError("classes must name all classes at the first call of partial_fit.")
        return before
    distinct = read_classes(named)
    if before is not None and not np.array_equal(distinct, before):
        raise ValueError(
            f"classes must stay {before.tolist()}, got {distinct.tolist()}: fit anew for others."
        )
    return distinct


def read_labels(y: ArrayLike, classes: NDArray[Any], n: int) -> Integers:
    """Return the position of each label among the classes."""
    labels = validation.as_array(y, "y")
    if labels.ndim != 1:
        raise ValueError(f"y must have shape (n,), one label a document, got {labels.shape}.")
    validation.check_same_length("P", n, "y", labels.size)
    advice = ": name all classes by classes= at the first call"
    return np.asarray(of_each_class(labels, classes, advice=advice).argmax(axis=0))
