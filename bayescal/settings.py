"""What an estimator's parameters say about inference, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from bayescal.engines.combined import DIRECT_BENDS, RECALIBRATION
from bayescal.engines.inference import DirectFit, Settings
from bayescal.engines.monotone.density import Prior as DirectPrior
from bayescal.engines.parts import RECALIBRATED
from bayescal.families import FAMILIES, Family
from bayescal.randomness import generator
from bayescal.results.calibration import POINTS
from bayescal.validation import check_choice, check_count, check_positive
from bayescal.warps import IDENTITY

AUTO, AVERAGE, COMBINED = "auto", "average", "combined"
# Direct fits of the log-odds.
DIRECT = ("monotone", "logistic")
# Families made of the combination's densities and more.
ON_DENSITIES = (COMBINED, RECALIBRATED)
# Families that average over warps unless told otherwise; the others are what their name says.
WARPED = (*ON_DENSITIES, AVERAGE, "monotone")
FAMILY_NAMES = (AUTO, COMBINED, *FAMILIES, AVERAGE, *DIRECT, RECALIBRATED)
INFERENCES = (AUTO, "exact", "nuts", "map", "mle")
SCORES_ARE = (AUTO, "scores", "log_odds", "probabilities")
AVERAGINGS = (AUTO, "stacking", "evidence")
# The families of "average"; all but the hybrid, whose log-odds fall far out on either side.
AVERAGED = ("gaussian", "laplace", "asymmetric_laplace", "asymmetric_gaussian")
# The densities of the combination: with stacking and warps the other two add nothing.
DENSITIES = ("gaussian", "asymmetric_laplace")
# What maximum likelihood fits beside an average of families, and the programs' default.
REFERENCE = "asymmetric_laplace"
# From no warp to one that bends at the scores' own spread, in steps that evidence can tell apart.
BENDS = (IDENTITY, 10.0, 3.0, 1.0)


def read_settings(estimator: Any) -> Settings:
    """
    Return the settings that an estimator's parameters mean.

    Parameters
    ----------
    estimator : ScoreCalibrator
        Or any object with its parameters as attributes.

    Raises
    ------
    ValueError
        If a parameter is unknown, out of range, or does not go with another.
    """
    check_choice("family", estimator.family, FAMILY_NAMES)
    check_choice("inference", estimator.inference, INFERENCES)
    check_choice("scores_are", estimator.scores_are, SCORES_ARE)
    check_choice("averaging", estimator.averaging, AVERAGINGS)
    if estimator.point is not None:
        check_choice("point", estimator.point, tuple(POINTS))
    for name in ("draws", "chains"):
        check_count(name, getattr(estimator, name))
    inference = resolve_inference(estimator.inference, estimator.program)
    family = resolve_family(estimator.family, inference)
    bends = _read_warp(estimator.warp, average=family in WARPED)
    _check_exact_only(estimator, inference, family, bends)
    segments, given = _read_segments(estimator.hyperparameters, family)
    of_densities, of_direct = _split(given, family)
    return Settings(
        families=_families(family),
        reference=FAMILIES.get(family, FAMILIES[REFERENCE]),
        inference=inference,
        program=estimator.program,
        hyperparameters=of_densities,
        candidates=estimator.candidates,
        guard=estimator.guard,
        bends=bends,
        averaging=_averaging(estimator.averaging, family),
        monotone=bool(estimator.monotone),
        draws=int(estimator.draws),
        chains=int(estimator.chains),
        direct=_direct(family, bends, segments, of_direct, monotone=bool(estimator.monotone)),
        alone=RECALIBRATED if family == RECALIBRATED else None,
        sampler_options=estimator.sampler_options,
        rng=generator(estimator.random_state),
        progressbar=estimator.progressbar,
    )


def resolve_scores(scores_are: str) -> str:
    """Return what scores are, where "auto" is said: raw scores, which a fit then looks at."""
    return "scores" if scores_are == AUTO else scores_are


def resolve_inference(inference: str, program: str | Path | None) -> str:
    """Return the inference that "auto" stands for: a program is for NUTS, families have draws."""
    if inference != AUTO:
        return inference
    return "exact" if program is None else "nuts"


def resolve_family(family: str, inference: str) -> str:
    """Return the family that "auto" stands for: the combination where there is an engine for it."""
    if family != AUTO:
        return family
    return COMBINED if inference == "exact" else REFERENCE


def _averaging(asked: str, family: str) -> str:
    """Return how families are weighed: a combination's own weights guard it from wrong ones."""
    if asked != AUTO:
        return asked
    return "evidence" if family in ON_DENSITIES else "stacking"


def _families(name: str) -> tuple[Family, ...]:
    if name in FAMILIES:
        return (FAMILIES[name],)
    if name in DIRECT:
        return ()
    names = DENSITIES if name in ON_DENSITIES else AVERAGED
    return tuple(FAMILIES[each] for each in names)


def _read_segments(
    given: Mapping[str, float] | None, family: str
) -> tuple[int | None, Mapping[str, float] | None]:
    """Return how many pieces monotone log-odds are to have, and the other hyperparameters."""
    if family not in (COMBINED, "monotone") or not given or "n_segments" not in given:
        return None, given
    others = dict(given)
    segments = others.pop("n_segments")
    check_count("n_segments", segments)
    return int(segments), others


def _direct(
    family: str,
    bends: tuple[float, ...],
    segments: int | None,
    given: Mapping[str, float] | None,
    *,
    monotone: bool,
) -> tuple[DirectFit, ...]:
    """Return the direct fits; the logistic one is a line in the raw score where others warp."""
    warped = DIRECT_BENDS if bends == BENDS else bends
    straight = (IDENTITY,) if family == COMBINED else bends
    fits = [
        DirectFit("monotone", segments, warped, given),
        DirectFit("logistic", 1, straight, given),
    ]
    # Densities averaged over monotone draws may fall somewhere, and what follows them with them.
    if not monotone:
        fits.append(DirectFit(RECALIBRATED, None, (IDENTITY,), RECALIBRATION, recalibrates=True))
    return tuple(fit for fit in fits if family in (COMBINED, fit.name))


def _split(
    given: Mapping[str, float] | None, family: str
) -> tuple[Mapping[str, float] | None, Mapping[str, float] | None]:
    """Return the hyperparameters of densities and those of direct log-odds."""
    if given is None or family != COMBINED:
        return given, given
    own = {field.name for field in fields(DirectPrior)}
    return (
        {name: value for name, value in given.items() if name not in own},
        {name: value for name, value in given.items() if name in own | {"centre", "spread"}},
    )


def _read_warp(warp: Any, *, average: bool) -> tuple[float, ...]:
    if isinstance(warp, str):
        check_choice("warp", warp, ("auto", "none", "average"))
        if warp == "auto":
            warp = "average" if average else "none"
        return BENDS if warp == "average" else (IDENTITY,)
    if isinstance(warp, bool) or not isinstance(warp, int | float | np.number):
        raise ValueError(
            f"warp must be 'auto', 'none', 'average' or a positive number, got {warp!r}."
        )
    check_positive(warp=warp)
    return (float(warp),)


def _check_exact_only(
    estimator: Any, inference: str, family: str, bends: tuple[float, ...]
) -> None:
    several = family not in FAMILIES
    asked = {
        f"family={family!r}": several,
        f"warp={estimator.warp!r}": bends != (IDENTITY,),
        "monotone=True": bool(estimator.monotone),
    }
    for what, is_asked in asked.items():
        if is_asked and inference != "exact":
            raise ValueError(f"{what} needs inference='exact', got {inference!r}.")
    if estimator.monotone and family == RECALIBRATED:
        raise ValueError(
            "monotone=True needs another family: densities averaged over monotone curves may fall"
            f" somewhere, and log-odds that follow them; got family={family!r}."
        )
    if estimator.monotone and not several:
        _check_may_be_monotone(FAMILIES[family])


def _check_may_be_monotone(family: Family) -> None:
    if family.symmetric:
        raise ValueError(
            "monotone=True needs an asymmetric family: log-odds of two symmetric densities always"
            f" fall somewhere unless their scales are equal; got family={family.name!r}."
        )
    if family.mirrored is not None:
        raise ValueError(
            "monotone=True needs another family: far out on its outer side a Gaussian lies below"
            " the other class's exponential, so that log-odds always fall there; got"
            f" family={family.name!r}."
        )
