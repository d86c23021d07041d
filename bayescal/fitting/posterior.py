"""Posterior draws of one curve of log-odds: frozen dataclasses of arrays, which datasets store.

An engine returns a `Posterior`; estimators evaluate it, and `pack` and `unpack` turn its arrays
into the variables of a dataset and back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, get_type_hints

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.fitting.scores import KLASS, BinaryScores
from bayescal.support.numerics import log_odds, log_sum_exp, probability
from bayescal.support.validation import Floats

DRAWS = ("chain", "draw")  # dimensions of every group of draws
TOPIC = "topic"
SAMPLE = "sample"  # in `axes`, the axis of draws, which datasets store as chain and draw
NOT_FINITE = "hold values that are not finite"


class Posterior:
    """Posterior draws of log-odds given the score: a frozen dataclass of arrays."""

    axes: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    # Fields that `take` selects from: arrays with draws along the first axis, and other posteriors
    drawn: ClassVar[tuple[str, ...]] = ("prior", "shift")
    shifted: ClassVar[str] = "shift"  # the field of log-odds to which a new prior adds

    if TYPE_CHECKING:

        @property
        def prior(self) -> Floats:
            """Return the draws of P(+) of the population fitted, shape (draws,)."""
            ...

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return int(self.prior.size)

    @property
    def densities(self) -> ClassDraws | None:
        """Return the draws of class densities; None without densities."""
        return None

    def take(self, index: NDArray[np.intp] | tuple[int, slice]) -> Self:
        """Return the draws at some positions; some draws of one topic of many for a pair."""
        taken = {name: _take(getattr(self, name), index) for name in self.drawn}
        return replace(self, **taken)  # type: ignore[type-var]

    def with_prior(self, prior: Floats) -> Self:
        """Return the same draws for a class prior of shape (draws,)."""
        moved = getattr(self, self.shifted) + special.logit(prior) - special.logit(self.prior)
        return replace(self, **{self.shifted: moved, "prior": prior})  # type: ignore[type-var]

    def log_odds(self, scores: Floats) -> Floats:
        """Return log-odds of shape (draws, scores)."""
        raise NotImplementedError

    def predictive(self, scores: Floats) -> Floats:
        """Return the log-odds of P(+ | s, data), by default of the mean over draws; (scores,)."""
        return log_odds_of_mean(self.log_odds(scores))

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return log-odds of the documents fitted, from the part's input; (draws, documents)."""
        return self.log_odds(data.score)

    def seen(self, data: BinaryScores, log_score: Floats) -> Floats | None:
        """Return the documents' terms in draws' log likelihoods, p(label | score); None without."""
        return log_score


class ClassDraws(Posterior):
    """Draws of both classes' densities and of the class prior."""

    def of_class(self, klass: int) -> Any:
        """Return the draws of one class's density, 0 negative or 1 positive: a `DensityDraws`."""
        raise NotImplementedError

    @cached_property
    def both(self) -> tuple[Any, Any]:
        """The densities of negatives and positives."""
        return self.of_class(0), self.of_class(1)

    def refitted(self, klass: int) -> tuple[Floats, Floats]:
        """Return scores of a class whose leave-one-out log density is exact, and that density."""
        return np.empty(0), np.empty(0)

    @property
    def densities(self) -> ClassDraws:
        """Return the draws themselves."""
        return self

    def seen(self, data: BinaryScores, log_score: Floats) -> Floats:
        """Return log p(s_i, y_i | k) of each document, the likelihood of densities."""
        negative, positive = self.log_densities(data.score)
        prior = special.logit(self.prior)[:, None]
        negative += special.log_expit(-prior)
        positive += special.log_expit(prior)
        return np.where(data.positive, positive, negative)

    def with_prior(self, prior: Floats) -> Self:
        """Return the same densities with another class prior, of shape (draws,)."""
        return replace(self, prior=prior)  # type: ignore[type-var]

    def log_densities(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return log p(s|-) and log p(s|+), shape (draws, scores)."""
        negative, positive = self.both
        return negative.logpdf(scores), positive.logpdf(scores)

    def log_odds(self, scores: Floats) -> Floats:
        """Return the calibrated log-odds, shape (draws, scores)."""
        # Both densities of a draw have the same warp, whose Jacobian cancels.
        negative, positive = (density.log_density_warped(scores) for density in self.both)
        curves: Floats = positive
        curves += special.logit(self.prior)[:, None]
        curves -= negative
        return curves

    def predictive(self, scores: Floats) -> Floats:
        """Return log-odds by posterior predictive densities and the mean prior; shape (scores,)."""
        negative, positive = (log_sum_exp(each, axis=0) for each in self.log_densities(scores))
        return log_odds(float(self.prior.mean()), positive, negative)


def _take(value: Any, index: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_take(each, index) for each in value)
    if isinstance(value, Mapping):
        return {name: each[index] for name, each in value.items()}
    if value is None:
        return None
    return value[index] if isinstance(value, np.ndarray) else value.take(index)


def check_finite(whose: str, *values: Floats) -> None:
    """Raise ValueError if draws are not finite."""
    if not all(np.isfinite(each).all() for each in values):
        raise ValueError(f"the draws of {whose} {NOT_FINITE}: fit again.")


def log_odds_of_mean(curves: Floats) -> Floats:
    """Return log mean P_k(+) - log mean P_k(-) over draws, finite near 1; shape (scores,)."""
    positive = probability(curves).mean(axis=0)
    negative = 1.0 - positive
    # The difference cancels near one: average the complement directly.
    near_one = np.flatnonzero(negative < 0.1)
    negative[near_one] = probability(-curves[:, near_one]).mean(axis=0)
    # Probabilities underflow beyond log-odds of 700: use logarithms there.
    far = np.flatnonzero(np.minimum(positive, negative) < 1e-290)
    with np.errstate(divide="ignore"):
        out: Floats = np.log(positive) - np.log(negative)
    if far.size:
        log_p = special.log_expit(curves[:, far]), special.log_expit(-curves[:, far])
        out[far] = log_sum_exp(log_p[0], axis=0) - log_sum_exp(log_p[1], axis=0)
    return out


# From dataclasses of arrays to datasets and back.

Record = TypeVar("Record")


def pack(record: Any, shape: tuple[int, int], topics: NDArray[Any] | None = None) -> xr.Dataset:
    """Return the fields of a dataclass as variables; axes of draws become chain and draw."""
    # An array with one more axis than in `axes` has topics first. Constants are coordinates, so
    # that ArviZ summarises draws alone; texts become attributes, and None is left out.
    variables = dict(variables_of(record, shape))
    coords: dict[str, Any] = draw_coords(shape)
    coords |= {"klass": list(KLASS)} | ({} if topics is None else {TOPIC: topics})
    used = {name for dims, _ in variables.values() for name in dims}
    texts = ((each.name, getattr(record, each.name)) for each in fields(record))
    attrs = {name: " ".join(text) for name, text in texts if _is_text(text)}
    if text := getattr(record, "description", ""):
        attrs["description"] = text
    constants = [name for name, (dims, _) in variables.items() if not {*DRAWS} & {*dims}]
    coords = {name: values for name, values in coords.items() if name in used}
    return xr.Dataset(variables, coords, attrs).set_coords(constants)


def draw_coords(shape: tuple[int, int]) -> dict[str, NDArray[np.intp]]:
    """Return the coordinates of draws of `shape` (chains, draws)."""
    return dict(zip(DRAWS, map(np.arange, shape), strict=True))


def _is_text(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, str) for each in value)


def variables_of(
    record: Any, shape: tuple[int, int] = (1, -1), axes: Mapping[str, tuple[str, ...]] | None = None
) -> Iterator[tuple[str, tuple[tuple[str, ...], NDArray[Any]]]]:
    """Yield the fields of a dataclass as variables: their names, dimensions and values."""
    axes = getattr(type(record), "axes", {}) if axes is None else axes
    for each in fields(record):
        value = getattr(record, each.name)
        if is_dataclass(value):
            yield from variables_of(value, shape, axes)
        elif value is not None and not _is_text(value):
            dims, values = axes.get(each.name, ()), np.asarray(value)
            if values.ndim > len(dims):
                dims = (TOPIC, *dims)
            if SAMPLE in dims:
                at = dims.index(SAMPLE)
                values = values.reshape(*values.shape[:at], *shape, *values.shape[at + 1 :])
                dims = (*dims[:at], *DRAWS, *dims[at + 1 :])
            yield each.name, (dims, values)


def unpack(kind: type[Record], dataset: xr.Dataset) -> Record:
    """Return a dataclass whose arrays `pack` stored, of one topic."""
    return kind(**_values(kind, getattr(kind, "axes", {}), dataset))


def _values(kind: Any, axes: Mapping[str, tuple[str, ...]], dataset: xr.Dataset) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, hint in _hints(kind).items():
        if is_dataclass(hint) and isinstance(hint, type):
            out[name] = hint(**_values(hint, axes, dataset))
        elif hint == tuple[str, ...]:
            out[name] = tuple(dataset.attrs[name].split())
        elif name not in dataset.variables:
            out[name] = None  # an optional field; others raise where they are used
        # Variables are faster than arrays with coordinates, for thousands of topics.
        elif not (dims := axes.get(name, ())):
            out[name] = float(dataset.variables[name])
        else:
            folded = [d for dim in dims for d in (DRAWS if dim == SAMPLE else (dim,))]
            values = dataset.variables[name].transpose(*folded).values
            if SAMPLE in dims:
                at = dims.index(SAMPLE)
                values = values.reshape(*values.shape[:at], -1, *values.shape[at + 2 :])
            out[name] = values
    return out


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass by name."""
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}
