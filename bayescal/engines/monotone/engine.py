"""The monotone engine on raw scores: warps compared by evidence, draws as a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.engines.coordinates import coordinates
from bayescal.engines.data import BinaryScores
from bayescal.engines.monotone.basis import Pieces
from bayescal.engines.monotone.density import Prior
from bayescal.engines.monotone.leave_one_out import leave_one_out
from bayescal.engines.monotone.outlines import Outlines
from bayescal.engines.monotone.posterior import MonotonePosterior, Outline, draw_within
from bayescal.validation import Floats
from bayescal.warps import standardise, warped_spread

# Straight pieces: nine up to 100 documents of the rarer class, then by the cube root that balances
# the bias of pieces and the noise of slopes, up to 17.
FEWEST, MOST, PER_ROOT = 9, 17, 1.9
DESCRIPTION = (
    "The engine's own coordinates: log-odds at the reference and slopes between knots, all of"
    " scores that are warped and standardised by the constants beside them."
)


@dataclass(frozen=True)
class LogOddsFit:
    """
    The posterior of monotone log-odds on the warp that the labels favour.

    Attributes
    ----------
    posterior : MonotonePosterior
        In standardised warped scores.
    prior : Prior
        Its prior.
    data : BinaryScores
        What it was fitted to.
    asinh_scale, centre, spread : float
        The warp, in score units, and the standardisation.
    log_evidence : array of shape (warps,)
        log p(labels | scores, warp).
    asinh_scales : array of shape (warps,)
        The warps compared, in score units.
    base : array of shape (draws,)
        Draws of the class prior.
    """

    posterior: MonotonePosterior
    prior: Prior
    data: BinaryScores
    asinh_scale: float
    centre: float
    spread: float
    log_evidence: Floats
    asinh_scales: Floats
    base: Floats

    def leave_one_out(self, index: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Return the log-odds of + of some documents, each given all others."""
        x = standardise(self.data.score, self.centre, self.spread, self.asinh_scale)
        found = leave_one_out(
            self.posterior,
            x,
            self.data.positive,
            self.data.weight,
            self.prior,
            rng,
            self.posterior.importance,
            index,
        )
        return found.log_odds(self.data.positive[index])

    def dataset(self, chains: int, draws: int) -> xr.Dataset:
        """Return the draws (chain, draw, segment)."""
        found, shape = self.posterior, (chains, draws)
        variables = {
            "intercept": (("chain", "draw"), found.intercept.reshape(shape)),
            "slope": (("chain", "draw", "segment"), found.slopes.reshape(*shape, -1)),
            "prior": (("chain", "draw"), self.base.reshape(shape)),
        }
        coords = coordinates(chain=chains, draw=draws, segment=found.slopes.shape[1])
        return xr.Dataset(variables, coords, {"description": DESCRIPTION})

    def constants(self) -> xr.Dataset:
        """Return what the draws are of: pieces of scores that are warped and standardised."""
        return constants_of(
            self.posterior.pieces,
            asinh_scale=self.asinh_scale,
            centre=self.centre,
            spread=self.spread,
        )

    def evidence(self) -> xr.Dataset:
        """Return the evidence of every warp, and how well the draws were made."""
        found = self.posterior
        variables = {
            "log_evidence": ("asinh_scale", self.log_evidence),
            "warp_weight": ("asinh_scale", (self.asinh_scales == self.asinh_scale).astype(float)),
            "pareto_k": found.pareto_k,
            "efficiency": found.efficiency,
            "likelihood_error": found.likelihood_error,
            "resolved": int(not found.problem),
            "monotone": 1.0,
        }
        return xr.Dataset(variables, {"asinh_scale": self.asinh_scales})


def constants_of(pieces: Pieces, *, centre: float, spread: float, asinh_scale: float) -> xr.Dataset:
    """Return the constants of log-odds in straight pieces of warped and standardised scores."""
    return xr.Dataset(
        {
            "knot": ("knot", pieces.knots),
            "reference": pieces.reference,
            "centre": centre,
            "spread": spread,
            "asinh_scale": asinh_scale,
        }
    )


def number_of_segments(data: BinaryScores) -> int:
    """Return how many straight pieces monotone log-odds have, at most, unless told."""
    rarer = min(data.total(True), data.total(False))
    return int(np.clip(round(PER_ROOT * rarer ** (1 / 3)), FEWEST, MOST))


def fewer_and_fewer(segments: int) -> list[int]:
    """Return numbers of pieces to try, from the largest to FEWEST."""
    return [*range(segments, FEWEST, -4), FEWEST]


def draw_likeliest(
    outlines: Sequence[Outline], draws: int, rng: np.random.Generator
) -> tuple[int, MonotonePosterior, Floats]:
    """
    Return the position of the likeliest posterior, draws from it, and all log evidences.

    Which is likeliest is told by Laplace's approximation, within hundredths of a nat, tenths at
    worst: of two that are nearer than that either will do. Evidence of the others is that too.
    """
    evidence = np.array([each.log_evidence for each in outlines])
    best = int(evidence.argmax())
    posterior = draw_within(outlines[best], draws, rng)
    evidence[best] = posterior.log_evidence
    return best, posterior, evidence


def vague_log_evidence(
    outlines: Outlines, asinh_scales: Sequence[float], n_segments: int | None = None
) -> float:
    """Return the largest log evidence of `fit_monotone`'s warps, by Laplace's approximation."""
    centre, spread = outlines.data.centre_and_spread
    segments = number_of_segments(outlines.data) if n_segments is None else n_segments
    warps = spreads_of_warps(centre, spread, asinh_scales)
    found = [outlines.of(centre, *warp, Prior(), n_segments=segments) for warp in warps]
    return max(each.log_evidence for each in found)


def spreads_of_warps(
    centre: float, spread: float, asinh_scales: Sequence[float]
) -> list[tuple[float, float]]:
    """Return the spread of warped scores and the asinh scale in score units, of each warp."""
    scaled = [float(asinh_scale * spread) for asinh_scale in asinh_scales]
    return [(warped_spread(centre, spread, asinh_scale), asinh_scale) for asinh_scale in scaled]


def fit_monotone(
    outlines: Outlines,
    rng: np.random.Generator,
    *,
    draws: int,
    asinh_scales: tuple[float, ...],
    hyperparameters: Mapping[str, float] | None = None,
    n_segments: int | None = None,
) -> LogOddsFit:
    """
    Draw from the posterior of monotone log-odds on the likeliest of several warps.

    Parameters
    ----------
    outlines : Outlines
        Of the documents, whose weights are powers of the likelihood.
    rng : numpy.random.Generator
        Source of randomness.
    draws : int
        How many.
    asinh_scales : tuple of float
        Warps in units of the spread; inf for none.
    hyperparameters : mapping, optional
        Keyword arguments of the program monotone_log_odds.
    n_segments : int, optional
        Pieces of the log-odds, at most; 1 is logistic regression. By default
        `number_of_segments`.

    Raises
    ------
    ValueError
        If a hyperparameter is unknown or not legal.
    """
    given, data = dict(hyperparameters or {}), outlines.data
    centre, spread = data.centre_and_spread
    centre, spread = given.pop("centre", centre), given.pop("spread", spread)
    known = [field.name for field in fields(Prior)]
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(
            f"hyperparameters of log-odds fits are centre, spread, {', '.join(known)}, and of"
            f" parts='monotone' n_segments; got {', '.join(map(repr, unknown))}."
        )
    prior = Prior(**given)
    counts = fewer_and_fewer(number_of_segments(data)) if n_segments is None else [n_segments]
    warps = spreads_of_warps(centre, spread, asinh_scales)
    # As many pieces as importance sampling can serve.
    for segments in counts:
        of_warps = [outlines.of(centre, *warp, prior, n_segments=segments) for warp in warps]
        best, posterior, evidence = draw_likeliest(of_warps, draws, rng)
        if not posterior.problem:
            break
    return LogOddsFit(
        posterior=posterior,
        prior=prior,
        data=data,
        asinh_scale=warps[best][1],
        centre=centre,
        spread=warps[best][0],
        log_evidence=evidence,
        asinh_scales=np.array([asinh_scale for _, asinh_scale in warps]),
        base=draw_base(data, rng, draws),
    )


def draw_base(data: BinaryScores, rng: np.random.Generator, draws: int) -> Floats:
    """Return draws of P(+), uniform before the labels."""
    return rng.beta(1 + data.total(True), 1 + data.total(False), draws)
