"""The exact engine: the posterior of both classes and the class prior, without MCMC.

The priors are those of the program named like the family. The classes and the class prior are
independent given the labels, so each is drawn on its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import xarray as xr

from bayescal.engines.data import KLASS, BinaryScores
from bayescal.engines.exact.joint import Prior
from bayescal.engines.exact.posterior import ClassPosterior, draw_class
from bayescal.families import Family
from bayescal.validation import Floats, check_positive

SYMMETRIC = ("gaussian", "laplace")
POWERS = {"laplace": 1, "asymmetric_laplace": 1, "gaussian": 2, "asymmetric_gaussian": 2}


@dataclass(frozen=True)
class Hyperparameters:
    """The programs' keyword arguments, with their defaults; see models/."""

    centre: float
    spread: float
    theta_scale: float = 2.0
    share_alpha: float = 2.0
    share_beta: float = 2.0
    width_shape: float = 2.0
    width_scale: float = 1.0
    prior_alpha: float = 1.0
    prior_beta: float = 1.0


def draw_posterior(
    family: Family,
    data: BinaryScores,
    rng: np.random.Generator,
    *,
    draws: int,
    chains: int,
    hyperparameters: Mapping[str, float] | None = None,
) -> dict[str, xr.Dataset]:
    """
    Draw independently from the posterior of a family.

    Parameters
    ----------
    family : Family
        One with a closed form for its scale: gaussian, laplace and the asymmetric ones.
    data : BinaryScores
        Weights are powers of the likelihood.
    rng : numpy.random.Generator
        Source of randomness.
    draws, chains : int
        The draws, all independent, come as `chains` rows of `draws`.
    hyperparameters : mapping, optional
        Keyword arguments of the program named like the family.

    Returns
    -------
    dict of xarray.Dataset
        "posterior" (chain, draw, klass) and "evidence" (klass): log_evidence, natural log of the
        density of the class's scores; efficiency and acceptance of the proposals; resolved.

    Raises
    ------
    ValueError
        If a hyperparameter is unknown or not legal.
    """
    settings = _resolve(family, data, hyperparameters)
    classes = [
        _draw_class(family, data, settings, positive, draws * chains, rng)
        for positive in (False, True)
    ]
    prior = rng.beta(
        settings.prior_alpha + data.total(True),
        settings.prior_beta + data.total(False),
        draws * chains,
    )
    return {
        "posterior": _posterior_dataset(family, classes, prior, settings, (chains, draws)),
        "evidence": _evidence_dataset(data, classes, settings),
    }


def _resolve(
    family: Family, data: BinaryScores, given: Mapping[str, float] | None
) -> Hyperparameters:
    known = [field.name for field in fields(Hyperparameters)]
    if family.name in SYMMETRIC:
        known = [name for name in known if not name.startswith("share")]
    unknown = sorted(set(given or {}) - set(known))
    if unknown:
        raise ValueError(
            f"hyperparameters of family {family.name!r} are {', '.join(known)};"
            f" got {', '.join(map(repr, unknown))}."
        )
    centre, spread = data.centre_and_spread
    settings = Hyperparameters(**({"centre": centre, "spread": spread} | dict(given or {})))
    check_positive(**{name: getattr(settings, name) for name in known if name != "centre"})
    if not math.isfinite(settings.centre):
        raise ValueError(f"centre must be finite, got {settings.centre}.")
    return settings


def _draw_class(
    family: Family,
    data: BinaryScores,
    settings: Hyperparameters,
    positive: bool,
    draws: int,
    rng: np.random.Generator,
) -> ClassPosterior:
    scores, weight = data.of_class(positive)
    prior = Prior(
        theta_scale=settings.theta_scale,
        share_alpha=settings.share_alpha,
        share_beta=settings.share_beta,
        width_shape=settings.width_shape,
        width_scale=settings.width_scale,
        symmetric=family.name in SYMMETRIC,
    )
    standardised = (scores - settings.centre) / settings.spread
    return draw_class(standardised, weight, POWERS[family.name], prior, draws, rng)


def _posterior_dataset(
    family: Family,
    classes: list[ClassPosterior],
    prior: Floats,
    settings: Hyperparameters,
    shape: tuple[int, int],
) -> xr.Dataset:
    theta = settings.centre + settings.spread * np.stack([c.theta for c in classes], axis=-1)
    share = np.stack([c.left_share for c in classes], axis=-1)
    width = settings.spread * np.stack([c.width for c in classes], axis=-1)
    left, right = share * width, (1.0 - share) * width
    power = POWERS[family.name]
    scales = (1.0 / left, 1.0 / right) if power == 1 else (left, right)
    variables = dict(zip(family.parameters, (theta, *scales), strict=False))
    if family.name not in SYMMETRIC:
        variables["left_share"] = share
    variables["width" if power == 1 else "squared_width"] = width**power
    dims = ("chain", "draw", "klass")
    arrays = {name: (dims, value.reshape(*shape, 2)) for name, value in variables.items()}
    coords = {"chain": np.arange(shape[0]), "draw": np.arange(shape[1]), "klass": list(KLASS)}
    dataset = xr.Dataset(arrays, coords)
    return dataset.assign(prior=(("chain", "draw"), prior.reshape(shape)))


def _evidence_dataset(
    data: BinaryScores, classes: list[ClassPosterior], settings: Hyperparameters
) -> xr.Dataset:
    # Densities of standardised scores are `spread` times those of raw ones.
    totals = np.array([data.total(positive) for positive in (False, True)])
    evidence = np.array([c.log_evidence for c in classes]) - totals * math.log(settings.spread)
    variables = {
        "log_evidence": ("klass", evidence),
        "efficiency": ("klass", [c.efficiency for c in classes]),
        "acceptance": ("klass", [c.acceptance for c in classes]),
        "resolved": ("klass", [int(c.resolved) for c in classes]),
    }
    return xr.Dataset(variables, {"klass": list(KLASS)})
