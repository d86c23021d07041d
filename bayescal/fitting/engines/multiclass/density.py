"""Calibration maps: their learned prior, and their log posterior density with its gradient."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.fitting.engines.multiclass.features import (
    FeatureDesign,
    Features,
    ScoredOptions,
    Warped,
    softmax,
    warp,
)
from bayescal.support.validation import Floats, Integers, as_priors, as_reals, check_positive

BIAS, SLOPE, CERTAINTY, CONFUSION = BLOCKS = ("bias", "slope", "certainty", "confusion")
FREEDOM = 2.0  # degrees of freedom of the scaled inverse chi-squared priors of the scales
LARGEST_GAP = 10.0  # the gain does not depend on wider typical gaps
FEW_CLASSES = 10  # with more classes the prior scale of confusions is smaller

_SCALES = MappingProxyType({BIAS: 0.25, SLOPE: 0.12, CERTAINTY: 0.12, CONFUSION: 0.05})


@dataclass(frozen=True)
class MapHyperparameters:
    """The prior of a calibration map of several classes; see `MulticlassCalibrator`."""

    # Intercept and slope of the mean of log G on log min(r, 10), with r the typical gap between the
    # two largest log-probabilities, and the standard deviation of log G
    gain: tuple[float, float, float] = (0.295, 0.751, 0.832)
    warp: tuple[float, float] = (1.445, 1.447)  # mean and standard deviation of lambda
    asymmetry: tuple[float, float] = (-0.133, 0.448)  # mean and standard deviation of c
    lapse: tuple[float, float] = (0.5, 50.0)  # parameters of the Beta distribution
    # s0 of each block: coefficients are Normal(0, s^2), s^2 ~ scaled inverse chi-squared(2, s0^2)
    scales: Mapping[str, float] = field(default_factory=lambda: _SCALES)

    def of_globals(self, unit: float) -> tuple[Floats, Floats]:
        """Return means and standard deviations of log G, lambda and c for a typical gap."""
        intercept, slope, spread = self.gain
        mean = intercept + slope * np.log(min(unit, LARGEST_GAP))
        return (
            np.array([mean, self.warp[0], self.asymmetry[0]]),
            np.array([spread, self.warp[1], self.asymmetry[1]]),
        )

    def scale(self, block: str, classes: int) -> float:
        """Return s0 of a block of coefficients."""
        smaller = min(1.0, np.sqrt(FEW_CLASSES / classes)) if block == CONFUSION else 1.0
        return float(self.scales[block] * smaller)


LEARNED = MapHyperparameters()
"""Learned from the problems that `docs/validation/multiclass.md` lists."""


def read_hyperparameters(stated: Any) -> MapHyperparameters:
    """Return the learned prior with the users' hyperparameters."""
    values, known = as_priors(stated, "{'warp': (1.0, 0.5)}"), vars(LEARNED)
    if unknown := sorted(set(values) - set(known)):
        raise ValueError(
            f"prior_knowledge of several classes may hold {', '.join(known)}; got"
            f" {', '.join(map(repr, unknown))}."
        )
    scales = values.pop("scales", {})
    if not isinstance(scales, Mapping) or set(scales) - set(BLOCKS):
        raise ValueError(
            f"prior_knowledge: scales must be a dict of {', '.join(BLOCKS)}, got {scales!r}."
        )
    for name, scale in scales.items():
        if np.ndim(scale):
            raise ValueError(
                f"prior_knowledge: the scale of {name} must be one number, got {scale!r}."
            )
        check_positive(**{f"prior_knowledge: the scale of {name}": scale})
    numbers: dict[str, Any] = {
        name: _numbers(name, value, len(known[name])) for name, value in values.items()
    }
    return replace(LEARNED, scales={**LEARNED.scales, **scales}, **numbers)


def _numbers(name: str, value: Any, size: int) -> tuple[float, ...]:
    """Return finite numbers; standard deviations and parameters of a Beta must be positive."""
    numbers = as_reals(value, f"prior_knowledge: {name}")
    if numbers.shape != (size,) or not np.isfinite(numbers).all():
        raise ValueError(f"prior_knowledge: {name} must hold {size} finite numbers, got {value!r}.")
    positive = numbers if name == "lapse" else numbers[-1:]
    for each in positive.tolist():
        check_positive(**{f"prior_knowledge: a scale or count of {name}": each})
    return tuple(numbers.tolist())


GLOBALS = 3  # log G, lambda, c
LEAST_ROOT = 1e-10  # smallest root of the odds of a lapse
FLATTEST = -0.7  # log(1 + c) is continued as a straight line below this c


@dataclass(frozen=True)
class Maps:
    """C calibration maps: (log G, lambda, c), the logit of the lapse rate, and coefficients."""

    globals_: Floats  # (C, 3)
    lapse_logit: Floats  # (C,)
    theta: Floats  # coefficients of centred features, (C, rows, K); 0 where unused


def linear_map(warped: Warped, features: Features, raw: Floats) -> Floats:
    """Return eta, (C, K, n), from coefficients of the raw features, (C, rows, K)."""
    raw = raw.astype(warped.warped.dtype, copy=False)
    eta: Floats = warped.warped + raw[:, 0, :, None]
    if raw.shape[1] > 1:
        eta += raw[:, 1, :, None] * features.log_p
        eta += raw[:, 2, :, None] * features.certainty
        eta += np.swapaxes(raw[:, 3:], 1, 2) @ features.shared
    return eta


def probabilities(features: Features, maps: Maps, raw: Floats) -> Floats:
    """Return P(k | scores) of C maps, (C, K, n)."""
    p = softmax(linear_map(warp(features.scored, maps.globals_), features, raw))
    lapse = special.expit(maps.lapse_logit)[:, None, None]
    p *= 1.0 - lapse
    share = lapse / features.scored.options
    if features.scored.excluded is not None:
        share = np.where(features.scored.excluded, 0.0, share)
    p += share
    return p


@dataclass(frozen=True)
class Likelihood:
    """The likelihood of labelled documents; `design` is None for maps with biases only."""

    features: Features
    label: Integers  # (n,)
    weight: Floats | None  # (n,)
    design: FeatureDesign | None

    @property
    def scored(self) -> ScoredOptions:
        """Return the documents."""
        return self.features.scored

    @property
    def total(self) -> float:
        """Return the number of documents, or their weight."""
        return float(self.label.size if self.weight is None else self.weight.sum())

    def in_single_precision(self) -> Self:
        """Return the likelihood with features in single precision."""
        return replace(self, features=self.features.in_single_precision())

    def raw(self, theta: Floats) -> Floats:
        """Return coefficients of the raw features."""
        return theta if self.design is None else self.design.coefficients(theta)

    def value(self, maps: Maps) -> Floats:
        """Return the log likelihood of each map, (C,)."""
        return self._total(self.of_label(self.without_lapses(maps), maps)[1])

    def without_lapses(self, maps: Maps) -> Floats:
        """Return P(k | scores, no lapse) of C maps, (C, K, n)."""
        warped = warp(self.scored, maps.globals_)
        return softmax(linear_map(warped, self.features, self.raw(maps.theta)))

    def of_label(self, p: Floats, maps: Maps) -> tuple[Floats, Floats]:
        """Return P(label, no lapse) and P(label), (C, n) both."""
        lapse = special.expit(maps.lapse_logit)[:, None]
        own = (1.0 - lapse) * p[:, self.label, np.arange(self.label.size)]
        chance = np.maximum(own + lapse / self.scored.options, np.finfo(float).tiny)
        return np.asarray(own), np.asarray(chance)

    def _total(self, chance: Floats) -> Floats:
        log = np.log(chance)
        return np.asarray(log.sum(axis=1) if self.weight is None else log @ self.weight)

    def with_gradient(self, maps: Maps) -> tuple[Floats, Maps]:
        """Return the log likelihood of each map, and its derivatives by the numbers of the map."""
        warped = warp(self.scored, maps.globals_)
        p = softmax(linear_map(warped, self.features, self.raw(maps.theta)))
        own, chance = self.of_label(p, maps)
        sure = own / chance
        counted = sure if self.weight is None else sure * self.weight
        residual = np.multiply(p, -counted[:, None, :], out=p)
        residual[:, self.label, np.arange(self.label.size)] += counted
        lapse = special.expit(maps.lapse_logit)
        excess = (
            (1.0 - sure) - lapse[:, None]
            if self.weight is None
            else (((1.0 - sure) - lapse[:, None]) * self.weight)
        )
        gradient = Maps(
            self._by_globals(warped, residual, maps.globals_[:, 2, None, None]),
            excess.sum(axis=1),
            self._by_theta(residual),
        )
        return self._total(chance), gradient

    def _by_theta(self, residual: Floats) -> Floats:
        bias: Floats = residual.sum(axis=2)[:, None, :]
        if self.design is None:
            return bias
        features = self.features
        slope = np.einsum("ckn,kn->ck", residual, features.log_p)[:, None, :]
        certainty = np.einsum("ckn,kn->ck", residual, features.certainty)[:, None, :]
        shared = features.shared @ np.swapaxes(residual, 1, 2)
        raw = np.concatenate([bias, slope, certainty, shared], axis=1)
        return self.design.gradient(raw) * self.design.used

    def _by_globals(self, warped: Warped, residual: Floats, asymmetry: Floats) -> Floats:
        by_asymmetry = np.einsum("ckn,ckn->c", residual, warped.certainty)
        by_plain = warped.odds()
        by_plain *= residual
        by_plain -= warped.probability * by_plain.sum(axis=1, keepdims=True)
        by_plain *= asymmetry
        by_plain += residual
        if self.scored.excluded is not None:
            by_plain[:, self.scored.excluded] = 0.0
        depth, maps = self.scored.depth.ravel(), len(residual)
        by_warp = warped.factor[:, 0, 0] * (by_plain.reshape(maps, -1) @ depth)
        by_plain *= warped.plain
        by_gain = by_plain.sum(axis=(1, 2))
        by_warp += by_plain.reshape(maps, -1) @ depth - warped.bend[:, 0, 0] * by_gain
        return np.stack([by_gain, by_warp, by_asymmetry], axis=1)

    def lapsed(self, maps: Maps) -> float:
        """Return the expected number of lapses under one map."""
        own, chance = self.of_label(self.without_lapses(maps), maps)
        lapsed = 1.0 - own[0] / chance[0]
        return float(lapsed.sum() if self.weight is None else lapsed @ self.weight)

    def lapse_information(self, maps: Maps) -> float:
        """Return the Fisher information of one map on w, the root of the lapse odds."""
        # (d lambda / dw)^2 times the sum of (1/K - p_k)^2 / P_k over documents and classes.
        p = self.without_lapses(maps)[0]
        lapse, share = special.expit(maps.lapse_logit[0]), 1.0 / self.scored.options
        ratio = (share - p) ** 2 / ((1.0 - lapse) * p + lapse * share)
        if self.scored.excluded is not None:
            ratio[self.scored.excluded] = 0.0
        of_document = ratio.sum(axis=0)
        total = of_document.sum() if self.weight is None else of_document @ self.weight
        return float(4.0 * lapse * (1.0 - lapse) ** 3 * total)


def lapse_prior(root: Floats, prior: MapHyperparameters) -> tuple[Floats, Floats]:
    """Return the log density of a lapse rate by w, the root of its odds, and the derivative."""
    # Beta(1/2, b) has the density (1 + w^2)^-(b + 1/2) of w, which is nearly normal.
    a, b = prior.lapse
    inner = np.maximum(np.abs(root), LEAST_ROOT)
    value = (2.0 * a - 1.0) * np.log(inner) - (a + b) * np.log1p(root**2)
    return value, (2.0 * a - 1.0) / np.copysign(inner, root) - 2.0 * (a + b) * root / (1 + root**2)


def steepness(asymmetry: Floats) -> Floats:
    """Return log(1 + c), the log steepness near certainty, as a straight line below FLATTEST."""
    inside = np.maximum(asymmetry, FLATTEST)
    return np.asarray(np.log1p(inside) + (asymmetry - inside) / (1.0 + inside))


def asymmetry_of(steep: Floats) -> tuple[Floats, Floats, Floats]:
    """Return c from `steepness`, its derivative, and the derivative of the latter's log."""
    edge = np.log1p(FLATTEST)
    inside = steep > edge
    slope = np.exp(np.maximum(steep, edge))
    return slope - 1.0 + np.minimum(steep - edge, 0.0) * slope, slope, inside.astype(np.float64)


def lapse_logit(root: Floats) -> Floats:
    """Return the logit of a lapse rate from the root of its odds."""
    return 2.0 * np.log(np.maximum(np.abs(root), LEAST_ROOT))


@dataclass(frozen=True)
class MapPosterior:
    """The posterior density in a sampler's coordinates."""

    # A point is (log G (1 + c), lambda, log(1 + c), root of the lapse odds, log scale of each
    # block, coefficients over their block's scale). Labels determine G (1 + c) better than G.

    likelihood: Likelihood
    mean: Floats  # prior means of the globals, (3,)
    sd: Floats
    prior: MapHyperparameters
    block: Integers  # of each used coefficient, positions in `names`, (P,)
    names: tuple[str, ...]  # of the blocks that have coefficients
    used: Integers  # positions of the used coefficients in a flat (rows, K)
    shape: tuple[int, int]  # (rows, K)

    @classmethod
    def of(
        cls,
        likelihood: Likelihood,
        mean: Floats,
        sd: Floats,
        prior: MapHyperparameters,
        used: NDArray[np.bool_],
    ) -> Self:
        """Return the posterior of documents, with the used coefficients."""
        rows = np.minimum(np.arange(used.shape[0]), len(BLOCKS) - 1)
        positions = np.flatnonzero(used)
        of_row = np.repeat(rows, used.shape[1])[positions]
        present = np.unique(of_row)
        names = tuple(BLOCKS[k] for k in present)
        shape = used.shape[0], used.shape[1]
        block = np.searchsorted(present, of_row)
        return cls(likelihood, mean, sd, prior, block, names, positions, shape)

    @property
    def scales(self) -> Floats:
        """Return s0 of each block."""
        return np.array([self.prior.scale(name, self.shape[1]) for name in self.names])

    @property
    def first(self) -> int:
        """Return the position of the first standard coefficient in a point."""
        return GLOBALS + 1 + len(self.names)

    @property
    def size(self) -> int:
        """Return the number of coordinates."""
        return self.first + self.used.size

    @property
    def of_block(self) -> NDArray[np.bool_]:
        """Return the indicator matrix of coefficients by blocks, (P, blocks)."""
        return np.asarray(self.block[:, None] == np.arange(len(self.names)))

    def maps(self, points: Floats) -> Maps:
        """Return the maps at points, (C, D)."""
        globals_ = points[:, :GLOBALS].copy()
        globals_[:, 0] -= points[:, 2]
        globals_[:, 2] = asymmetry_of(points[:, 2])[0]
        return Maps(
            globals_,
            lapse_logit(points[:, GLOBALS]),
            self.spread_out(self.unit(points) * points[:, self.first :]),
        )

    def unit(self, points: Floats) -> Floats:
        """Return coefficients over standard coefficients, (C, P)."""
        return np.asarray(np.exp(points[:, GLOBALS + 1 : self.first])[:, self.block])

    def folded(self, points: Floats) -> Floats:
        """Return points with a positive root of the lapse odds, whose sign is arbitrary."""
        out = points.copy()
        out[..., GLOBALS] = np.abs(out[..., GLOBALS])
        return out

    def spread_out(self, theta: Floats) -> Floats:
        """Return coefficients in their rows from those that are used, (C, P)."""
        out = np.zeros((len(theta), self.shape[0] * self.shape[1]))
        out[:, self.used] = theta
        return out.reshape(len(theta), *self.shape)

    def redraw_scales(self, points: Floats, rng: np.random.Generator) -> Floats:
        """Return points with scales drawn given the coefficients, (C, D)."""
        # s^2 is (nu s0^2 + |theta|^2) / chi-squared(nu + P). Standard coefficients change with it,
        # so that theta stays (interweaving; Yu and Meng, Journal of Computational and Graphical
        # Statistics 2011).
        theta = self.unit(points) * points[:, self.first :]
        square = FREEDOM * self.scales**2 + theta**2 @ self.of_block
        out = points.copy()
        drawn = rng.chisquare(FREEDOM + self.of_block.sum(axis=0), square.shape)
        out[:, GLOBALS + 1 : self.first] = 0.5 * np.log(square / drawn)
        out[:, self.first :] = theta / self.unit(out)
        return out

    def __call__(self, points: Floats) -> tuple[Floats, Floats]:
        """Return log densities, (C,), and gradients, (C, D)."""
        maps = self.maps(points)
        value, by = self.likelihood.with_gradient(maps)
        log_scale, standard = points[:, GLOBALS + 1 : self.first], points[:, self.first :]
        by_standard = by.theta.reshape(len(points), -1)[:, self.used] * self.unit(points)
        by_scale = (by_standard * standard) @ self.of_block
        root = points[:, GLOBALS]
        lapse, by_lapse = lapse_prior(root, self.prior)
        by_root = by.lapse_logit * 2.0 / np.copysign(np.maximum(np.abs(root), LEAST_ROOT), root)
        off = (maps.globals_ - self.mean) / self.sd
        by_globals = by.globals_ - off / self.sd
        _, slope, by_slope = asymmetry_of(points[:, 2])
        by_globals[:, 2] = by_globals[:, 2] * slope + by_slope - by_globals[:, 0]
        value += np.log(slope)
        ratio = FREEDOM * (self.scales * np.exp(-log_scale)) ** 2
        value = value + lapse - 0.5 * (off**2).sum(axis=1) - 0.5 * (standard**2).sum(axis=1)
        value -= (FREEDOM * log_scale + 0.5 * ratio).sum(axis=1)
        gradient = np.concatenate(
            [
                by_globals,
                (by_root + by_lapse)[:, None],
                by_scale - FREEDOM + ratio,
                by_standard - standard,
            ],
            axis=1,
        )
        return value, gradient
