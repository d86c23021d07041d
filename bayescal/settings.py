"""What an estimator's parameters say about inference, checked; the defaults."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bayescal.engines.monotone.population import LogOddsPopulation
from bayescal.engines.program_inference import ProgramInference
from bayescal.families import FAMILIES, Family, ScaleFloorOption
from bayescal.learned_prior.names import LEARNED, named_populations
from bayescal.parts import PARTS
from bayescal.parts.densities import ASINH_SCALES
from bayescal.parts.densities import DENSITIES as DENSITIES_PART
from bayescal.parts.identity import IDENTITY as IDENTITY_PART
from bayescal.parts.learned import LEARNED as LEARNED_PART
from bayescal.parts.options import Options
from bayescal.parts.recalibrated import RECALIBRATED
from bayescal.parts.stack import COMBINED
from bayescal.randomness import generator
from bayescal.results.calibration import POINTS
from bayescal.validation import check_choice, check_count, check_positive
from bayescal.warps import IDENTITY

AUTO, AVERAGE = "auto", "average"
DEPRECATED = "deprecated"  # the value of a parameter that has another name now
INFERENCES = (AUTO, "exact", "nuts", "map", "mle")
SCORES_ARE = (AUTO, "scores", "log_odds", "probabilities")
AVERAGINGS = (AUTO, "stacking", "evidence")
# The families of "average"; all but the hybrid, whose log-odds fall far out on either side.
AVERAGED = ("gaussian", "laplace", "asymmetric_laplace", "asymmetric_gaussian")
# The densities of the combination: with stacking and warps the other two add nothing.
DENSITIES = ("gaussian", "asymmetric_laplace")
# What maximum likelihood fits beside several families, and the programs' default.
REFERENCE = "asymmetric_laplace"


def family_names() -> tuple[str, ...]:
    """Return what `family` may be."""
    return (AUTO, *FAMILIES, AVERAGE)


def part_names() -> tuple[str, ...]:
    """Return what `parts` may be, or hold."""
    return (AUTO, COMBINED, *PARTS)


@dataclass(frozen=True)
class Settings:
    """
    What an estimator's parameters say about inference; see `ScoreCalibrator`.

    Attributes
    ----------
    parts : tuple of str
        Of the model, keys of `bayescal.parts.PARTS` or "combined".
    options : Options
        What they are asked to fit.
    reference : Family
        The family that maximum likelihood fits and programs are named after.
    inference : {"exact", "nuts", "map", "mle"}
        How the posterior is found.
    program : str, Path or None
        Of "nuts" and "map", if one was asked for.
    by_program : ProgramInference
        How its posterior is found; by default that of the program named like `reference`.
    candidates : str
        Modes that maximum likelihood tries.
    scale_floor : "auto", float or None
        Floor of its scales.
    rng : numpy.random.Generator
        Source of randomness.
    """

    parts: tuple[str, ...]
    options: Options
    reference: Family
    inference: str
    program: str | Path | None
    by_program: ProgramInference
    candidates: str
    scale_floor: ScaleFloorOption
    rng: np.random.Generator


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
    asked_parts, family = modern_names(estimator.parts, estimator.family)
    check_choice("family", family, family_names())
    check_choice("inference", estimator.inference, INFERENCES)
    check_choice("scores_are", estimator.scores_are, SCORES_ARE)
    check_choice("averaging", estimator.averaging, AVERAGINGS)
    if estimator.point is not None:
        check_choice("point", estimator.point, tuple(POINTS))
    for name in ("draws", "chains"):
        check_count(name, getattr(estimator, name))
    inference = resolve_inference(estimator.inference, estimator.program)
    parts = resolve_parts(asked_parts, family, inference)
    families = _families(family, inference, monotone=bool(estimator.monotone))
    combined, lapse = len(parts) > 1 or parts == (COMBINED,), read_lapse(estimator.lapse)
    options = Options(
        families=families,
        warps=_read_warp(estimator.warp),
        averaging=_averaging(estimator.averaging, parts),
        monotone=bool(estimator.monotone),
        hyperparameters=_read_hyperparameters(estimator.hyperparameters),
        combined=combined,
        draws=int(estimator.draws),
        chains=int(estimator.chains),
        # Only a combination has lapses to learn; of one that is fixed `_check_exact_only` speaks.
        lapse=lapse if combined or lapse else 0.0,
        populations=_populations(estimator.prior_knowledge, parts),
    )
    _check_exact_only(estimator, inference, parts, options)
    _check_identity(parts, resolve_scores(estimator.scores_are))
    _check_hyperparameters(parts, options)
    reference = families[0] if len(families) == 1 else FAMILIES[REFERENCE]
    return Settings(
        parts=parts,
        options=options,
        reference=reference,
        inference=inference,
        program=estimator.program,
        by_program=ProgramInference(
            program=estimator.program or reference.name,
            family=reference,
            hyperparameters=options.hyperparameters,
            draws=options.draws,
            chains=options.chains,
            sampler_options=estimator.sampler_options,
            progressbar=estimator.progressbar,
        ),
        candidates=estimator.candidates,
        scale_floor=_modern_floor(estimator),
        rng=generator(estimator.random_state),
    )


def _populations(prior_knowledge: Any, parts: tuple[str, ...]) -> tuple[LogOddsPopulation, ...]:
    """
    Return the populations of log-odds that a parameter names, if a part asked for is around them.

    Raises
    ------
    ValueError
        If there is no such part and they are users' own, or a file holds something else.
    FileNotFoundError
        If it names a file, and there is none.
    """
    found = named_populations(prior_knowledge)
    if {COMBINED, LEARNED_PART.name} & set(parts):
        return found
    # The default is for those parts that it says something of.
    if found and prior_knowledge != LEARNED:
        raise ValueError(
            f"prior_knowledge={str(prior_knowledge)!r} is what the part {LEARNED_PART.name!r}"
            f" knows: ask for parts='combined', or for parts that hold it; got {', '.join(parts)}."
        )
    return ()


def resolve_scores(scores_are: str) -> str:
    """Return what scores are, where "auto" is said: raw scores, which a fit then looks at."""
    return "scores" if scores_are == AUTO else scores_are


def resolve_inference(inference: str, program: str | Path | None) -> str:
    """Return the inference that "auto" stands for: a program is for NUTS, families have draws."""
    if inference != AUTO:
        return inference
    return "exact" if program is None else "nuts"


def read_lapse(lapse: Any) -> float | None:
    """
    Return the lapse rate that a parameter fixes; None where labels are to tell it.

    Raises
    ------
    ValueError
        If it is neither "auto" nor a number from 0 to below 1.
    """
    if isinstance(lapse, str) and lapse == AUTO:
        return None
    if (
        isinstance(lapse, bool)
        or not isinstance(lapse, int | float | np.number)
        or not 0 <= lapse < 1
    ):
        raise ValueError(f"lapse must be 'auto' or a number from 0 to below 1, got {lapse!r}.")
    return float(lapse)


def modern_names(parts: str | Sequence[str], family: str) -> tuple[str | Sequence[str], str]:
    """
    Return parts and family, where `family` named a part as it did in version 0.1.

    Warns
    -----
    FutureWarning
        If it did.
    """
    if parts != AUTO or family not in (COMBINED, *PARTS):
        return parts, family
    warnings.warn(
        f"family={family!r} is parts={family!r} now; `family` names class densities alone.",
        FutureWarning,
        stacklevel=4,
    )
    return family, AUTO


def _modern_floor(estimator: Any) -> ScaleFloorOption:
    """Return the scale floor, which was called `guard` in version 0.1."""
    if isinstance(estimator.guard, str) and estimator.guard == DEPRECATED:
        floor: ScaleFloorOption = estimator.scale_floor
        return floor
    old: ScaleFloorOption = estimator.guard
    warnings.warn(
        f"guard={old!r} is scale_floor={old!r} now; the name guard will be gone.",
        FutureWarning,
        stacklevel=4,
    )
    return old


def resolve_parts(parts: str | Sequence[str], family: str, inference: str) -> tuple[str, ...]:
    """
    Return the parts that an estimator's parameters mean.

    "auto" is the combination where there is an engine for it and no family is asked for, else
    class densities.

    Raises
    ------
    ValueError
        If a part is unknown, or there is none.
    """
    names = (parts,) if isinstance(parts, str) or not isinstance(parts, Sequence) else tuple(parts)
    for name in names:
        check_choice("parts", name, part_names())
    several = len(names) > 1
    if not names or (several and {AUTO, COMBINED} & set(names)) or len(set(names)) < len(names):
        raise ValueError(
            f"parts must be 'auto', 'combined', a part or several of {', '.join(PARTS)}, each once;"
            f" got {parts!r}."
        )
    if names != (AUTO,):
        return names
    combined = inference == "exact" and family == AUTO
    return (COMBINED if combined else DENSITIES_PART.name,)


def _families(family: str, inference: str, *, monotone: bool) -> tuple[Family, ...]:
    if family in FAMILIES:
        return (FAMILIES[family],)
    if family == AUTO and inference != "exact":
        return (FAMILIES[REFERENCE],)
    several = [FAMILIES[each] for each in (AVERAGED if family == AVERAGE else DENSITIES)]
    # Draws of others would all be rejected.
    return tuple(each for each in several if not monotone or _why_never_monotone(each) is None)


def _why_never_monotone(family: Family) -> str | None:
    """Return why log-odds of a family's densities always fall somewhere; None if they need not."""
    if family.symmetric:
        return (
            "an asymmetric family: log-odds of two symmetric densities always fall somewhere unless"
            " their scales are equal"
        )
    if family.mirrored is not None:
        return (
            "another family: far out on its outer side a Gaussian lies below the other class's"
            " exponential, so that log-odds always fall there"
        )
    return None


def _averaging(asked: str, parts: tuple[str, ...]) -> str:
    """Return how families are weighed: what weighs or bends densities guards it from wrong ones."""
    if asked != AUTO:
        return asked
    return "stacking" if parts == (DENSITIES_PART.name,) else "evidence"


def _read_hyperparameters(given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError(f"hyperparameters must be a dict of numbers by name, got {given!r}.")
    return dict(given)


def _read_warp(warp: Any) -> tuple[float, ...] | None:
    """Return the warps asked for; None where each part is to choose."""
    if isinstance(warp, str):
        check_choice("warp", warp, ("auto", "none", "average"))
        return {"auto": None, "none": (IDENTITY,), "average": ASINH_SCALES}[warp]
    if isinstance(warp, bool) or not isinstance(warp, int | float | np.number):
        raise ValueError(
            f"warp must be 'auto', 'none', 'average' or a positive number, got {warp!r}."
        )
    check_positive(warp=warp)
    return (float(warp),)


def _check_identity(parts: tuple[str, ...], scores_are: str) -> None:
    """Refuse scores as log-odds where they are none, and where no other part brings draws."""
    if IDENTITY_PART.name not in parts:
        return
    if len(parts) == 1:
        raise ValueError(
            f"parts must hold another one beside {IDENTITY_PART.name!r}, which fits nothing and has"
            " no draws of its own."
        )
    if scores_are == "scores":
        raise ValueError(
            f"parts with {IDENTITY_PART.name!r} need scores_are='log_odds' or 'probabilities': raw"
            " scores are no log-odds."
        )


def _check_hyperparameters(parts: tuple[str, ...], options: Options) -> None:
    """Refuse what no part of a combination knows; of one part its engine does."""
    if not options.combined:
        return
    own = PARTS.values() if parts == (COMBINED,) else [PARTS[name] for name in parts]
    known = sorted(frozenset().union(*(part.hyperparameters for part in own)))
    if unknown := sorted(set(options.hyperparameters) - set(known)):
        raise ValueError(
            f"hyperparameters of parts {parts!r} are {', '.join(known)}; got"
            f" {', '.join(map(repr, unknown))}."
        )


def _check_exact_only(
    estimator: Any, inference: str, parts: tuple[str, ...], options: Options
) -> None:
    only_densities = parts == (DENSITIES_PART.name,)
    asked = {
        f"parts={estimator.parts!r}": not only_densities,
        f"family={estimator.family!r}": only_densities and len(options.families) > 1,
        f"warp={estimator.warp!r}": options.warps not in (None, (IDENTITY,)),
        "monotone=True": options.monotone,
    }
    for what, is_asked in asked.items():
        if is_asked and inference != "exact":
            raise ValueError(f"{what} needs inference='exact', got {inference!r}.")
    if options.lapse and not options.combined:
        raise ValueError(
            f"lapse={estimator.lapse!r} needs several parts, as of parts='combined': one part alone"
            f" says what it was fitted to say; got parts={estimator.parts!r}, or what"
            f" inference={estimator.inference!r} and family={estimator.family!r} imply."
        )
    if options.monotone and RECALIBRATED.name in parts:
        raise ValueError(
            "monotone=True needs other parts: densities averaged over monotone curves may fall"
            f" somewhere, and log-odds that follow them; got parts={estimator.parts!r}."
        )
    for family in options.families:
        if options.monotone and (why := _why_never_monotone(family)):
            raise ValueError(f"monotone=True needs {why}; got family={family.name!r}.")
