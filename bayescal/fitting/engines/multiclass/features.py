r"""Warped log-probabilities of scores, and the features of calibration maps.

Arrays of documents are class by document, (K, n), for fast sums over classes.

With u = log softmax(scores), g = -u and the typical gap r,

    e0 = -G expm1(lambda log(1 + g/r)) / expm1(lambda log 2)
    q  = -log(1 - softmax(e0)),   e = e0 + c q,   l = log softmax(e).

At the typical gap e0 is -G for every lambda, so that scores need no unit. An excluded option has
u = -inf, probability 0, and the features of an impossible option.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.support.numerics import median
from bayescal.support.validation import Floats

NARROWEST, WIDEST = 0.05, 1e6  # limits of the typical gap
LEAST_REST = 1e-6  # q is at most -log of it
DEEPEST = 30.0  # options less probable than exp(-30) have equal features
FARTHEST = 1e30  # largest g with finite warps
NO_WARP = 1e-6  # smallest lambda
EXCLUDED = -1e30
NARROW_SPREAD = 0.3  # smallest spread by whose root features are divided
EVERYWHERE = 1e-3  # weight of all documents in centres of features, also of classes without any
MOST_CLASSES = 20  # with more, confusions are with the first principal components of l
COMPONENTS = 10


def typical_gap(log_p: Floats, weight: Floats | None = None) -> float:
    """Return the median over documents of the gap between the two largest log-probabilities."""
    top = np.partition(log_p, log_p.shape[1] - 2, axis=1)[:, -2:]
    gap = top[:, 1] - top[:, 0]
    return float(np.clip(median(np.minimum(gap, WIDEST), weight), NARROWEST, WIDEST))


@dataclass(frozen=True)
class ScoredOptions:
    """Documents by the depth of their options, log(1 + g/r), with excluded options."""

    depth: Floats  # (K, n); 0 for excluded options
    excluded: NDArray[np.bool_] | None  # (K, n)
    options: Floats  # (n,): number of options of each document

    @classmethod
    def of(cls, log_p: Floats, unit: float) -> Self:
        """Return documents by log-probabilities of shape (n, K), -inf for excluded options."""
        u = np.ascontiguousarray(log_p.T)
        excluded = np.isneginf(u)
        depth = np.log1p(np.where(excluded, 0.0, np.clip(-u, 0.0, FARTHEST)) / unit)
        options = np.count_nonzero(~excluded, axis=0).astype(np.float64)
        return cls(depth, excluded if excluded.any() else None, options)

    def take(self, documents: NDArray[np.intp] | slice) -> Self:
        """Return some of the documents."""
        excluded = None if self.excluded is None else self.excluded[:, documents]
        return type(self)(self.depth[:, documents], excluded, self.options[documents])


@dataclass(frozen=True)
class Warped:
    """Warped log-probabilities of C maps, with terms of their derivatives; arrays are (C, K, n)."""

    plain: Floats  # e0
    certainty: Floats  # q
    warped: Floats  # e
    probability: Floats  # softmax(e0)
    rest: Floats  # 1 - softmax(e0), at least LEAST_REST
    # Derivatives of e0 by lambda are (e0 + factor) depth - bend e0.
    factor: Floats  # (C, 1, 1)
    bend: Floats  # (C, 1, 1)

    def odds(self) -> Floats:
        """Return the derivatives of q by log softmax(e0)."""
        odds = self.probability / self.rest
        odds *= self.rest > LEAST_REST
        return odds


def warp(scored: ScoredOptions, globals_: Floats) -> Warped:
    """Return warped log-probabilities by (log G, lambda, c) of shape (C, 3)."""
    log_gain, lam, asymmetry = globals_.T[:, :, None, None].astype(scored.depth.dtype)
    lam = np.where(np.abs(lam) < NO_WARP, NO_WARP, lam)
    at_gap = np.expm1(lam * np.log(2.0))
    factor = -np.exp(log_gain) / at_gap
    plain = lam * scored.depth
    np.expm1(plain, out=plain)
    plain *= factor
    np.maximum(plain, EXCLUDED, out=plain)
    if scored.excluded is not None:
        plain[:, scored.excluded] = EXCLUDED
    probability = softmax(plain.copy())
    rest = 1.0 - probability
    np.maximum(rest, LEAST_REST, out=rest)
    certainty = np.log(rest)
    np.negative(certainty, out=certainty)
    warped = asymmetry * certainty
    warped += plain
    bend = np.log(2.0) * (at_gap + 1.0) / at_gap
    return Warped(plain, certainty, warped, probability, rest, factor, bend)


def softmax(eta: Floats) -> Floats:
    """Return probabilities in place of eta, (C, K, n)."""
    eta -= eta.max(axis=1, keepdims=True)
    p = np.exp(eta, out=eta)
    p /= p.sum(axis=1, keepdims=True)
    return p


@dataclass(frozen=True)
class Features:
    """Documents with the features of coefficients."""

    scored: ScoredOptions
    log_p: Floats  # l, (K, n)
    certainty: Floats  # q, (K, n)
    shared: Floats  # of confusions: l of all classes, or principal components of it, (R, n)

    def in_single_precision(self) -> Self:
        """Return the features in single precision, with half the memory and time."""
        scored = replace(self.scored, depth=_single(self.scored.depth))
        return type(self)(
            scored, _single(self.log_p), _single(self.certainty), _single(self.shared)
        )


def _single(values: Floats) -> Floats:
    """Return values in single precision."""
    out: Any = values.astype(np.float32)
    return out  # type: ignore[no-any-return]


@dataclass(frozen=True)
class FeatureDesign:
    """The computation of features from scores, fixed by the fit."""

    # Rows of coefficients are bias, slope, certainty and shared features. Features are centred
    # class by class, so that other coefficients keep the classes' shares.

    axes: ClassVar = {
        "anchor": ("global",),
        **dict.fromkeys(("used", "centre", "size"), ("row", "klass")),
        "component_centre": ("klass",),
        "components": ("component", "klass"),
    }

    unit: float  # r
    anchor: Floats  # (3,): (log G, lambda, c) of the features
    used: NDArray[np.bool_]  # (rows, K): mask of used coefficients
    centre: Floats  # (rows, K)
    size: Floats  # (rows, K)
    component_centre: Floats | None  # (K,)
    components: Floats | None  # (R, K)

    def features(self, scored: ScoredOptions) -> Features:
        """Return the features of documents."""
        log_p, certainty = _anchored(scored, self.anchor)
        shared = log_p
        if self.components is not None and self.component_centre is not None:
            shared = self.components @ (log_p - self.component_centre[:, None])
        return Features(scored, log_p, certainty, shared)

    def coefficients(self, theta: Floats) -> Floats:
        """Convert coefficients of centred features into coefficients of the original features."""
        raw = theta / self.size
        raw[..., 0, :] -= (raw * self.centre).sum(axis=-2)
        return raw

    def gradient(self, raw: Floats) -> Floats:
        """Return the gradient by coefficients of centred features from the raw features' one."""
        return np.asarray((raw - raw[..., :1, :] * self.centre) / self.size)


def design(
    scored: ScoredOptions, unit: float, anchor: Floats, bias: Floats, weight: Floats | None
) -> FeatureDesign:
    """Return features anchored at a first map, (log G, lambda, c) and biases."""
    log_p, certainty = _anchored(scored, anchor)
    classes, n = log_p.shape
    components = centre_of = None
    shared, used = log_p, np.ones((3 + classes, classes), dtype=np.bool_)
    if classes > MOST_CLASSES:
        counted = np.ones(n) if weight is None else weight
        centre_of = log_p @ counted / counted.sum()
        spread = log_p - centre_of[:, None]
        _, vectors = np.linalg.eigh((spread * counted) @ spread.T / counted.sum())
        kept = min(COMPONENTS, classes - 1)
        components = np.ascontiguousarray(vectors[:, ::-1][:, :kept].T)
        components *= np.sign(components[np.arange(kept), np.abs(components).argmax(axis=1)])[
            :, None
        ]
        shared, used = components @ spread, np.ones((3 + kept, classes), dtype=np.bool_)
    else:
        used[3:][np.diag_indices(classes)] = False
    first = warp(scored, anchor[None]).warped[0] + bias[:, None]
    p = special.softmax(first, axis=0)
    doubt = p * (1.0 - p) + EVERYWHERE / classes
    if weight is not None:
        doubt *= weight
    doubt /= doubt.sum(axis=1, keepdims=True)
    means = [(doubt * each).sum(axis=1) for each in (log_p, certainty)]
    squares = [(doubt * each**2).sum(axis=1) for each in (log_p, certainty)]
    centre = np.vstack([np.zeros(classes), *means, shared @ doubt.T])
    square = np.vstack([np.ones(classes), *squares, shared**2 @ doubt.T])
    size = np.sqrt(np.maximum(np.sqrt(np.maximum(square - centre**2, 0.0)), NARROW_SPREAD))
    size[0] = 1.0
    return FeatureDesign(unit, anchor, used, centre, size, centre_of, components)


def _anchored(scored: ScoredOptions, anchor: Floats) -> tuple[Floats, Floats]:
    """Return l and q of one map, (K, n) both."""
    warped = warp(scored, anchor[None])
    log_p = special.log_softmax(warped.warped[0], axis=0)
    return np.maximum(log_p, -DEEPEST), warped.certainty[0]
