"""The parameters of a `ScoreCalibrator`, their defaults, and their resolution to `Options`."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bayescal.families import FAMILIES, Family
from bayescal.fitting.engines.monotone.engine import LogOddsPopulation
from bayescal.fitting.engines.program import ProgramInference
from bayescal.fitting.engines.program_functions import SHIPPED, ProgramRecord
from bayescal.fitting.parts.combination import COMBINED, PARTS
from bayescal.fitting.parts.configured import (
    AUTO,
    AVERAGE,
    CONFIGURED_PARTS,
    NUTS,
    ConfiguredPart,
    Densities,
    OwnPart,
)
from bayescal.fitting.parts.log_odds import IDENTITY_PART
from bayescal.fitting.parts.log_odds import LEARNED as LEARNED_PART
from bayescal.fitting.parts.part import Options
from bayescal.fitting.parts.program import ProgramPart
from bayescal.fitting.results.calibration import POINTS
from bayescal.support.validation import check_choice, check_count, check_positive, generator

INFERENCES = (AUTO, "exact", "nuts", "map", "mle")
SCORES_ARE = (AUTO, "scores", "log_odds", "probabilities")
# The families of "average".
FAMILY_NAMES = ("gaussian", "laplace", "asymmetric_laplace", "asymmetric_gaussian")
# The densities of the combination: with stacking and warps the other two add nothing.
DENSITIES = ("gaussian", "asymmetric_laplace")
# The family of maximum likelihood for several families, and the programs' default.
REFERENCE = "asymmetric_laplace"
# Values of `prior_knowledge`: only units, shipped populations, or the suffix of a populations file.
VAGUE, LEARNED, POPULATIONS = "vague", "learned", ".json"
# One part, by its name or with options, or several.
Parts = str | ConfiguredPart | Sequence[str | ConfiguredPart]
Inference = str | NUTS
SAMPLED = ("nuts", "map")


@dataclass(eq=False, repr=False)
class CurveParameters:
    """The parameters of curves from scores to probabilities; see `ScoreCalibrator`."""

    parts: Parts = AUTO
    inference: Inference = AUTO
    _: KW_ONLY
    scores_are: str = AUTO
    prior_knowledge: Any = LEARNED
    units: Mapping[str, float] | None = None
    point: str = "predictive"
    lapse: str | float = AUTO
    draws: int = 1000
    chains: int = 4
    random_state: Any = None


@dataclass(eq=False, repr=False)
class ScoreParameters(CurveParameters):
    """The parameters of a `ScoreCalibrator`; see its docstring."""

    _: KW_ONLY
    positive: Any = None


def read_options(parameters: ScoreParameters) -> Options:
    """Return the checked and resolved parameters."""
    check_choice("scores_are", parameters.scores_are, SCORES_ARE)
    check_choice("point", parameters.point, POINTS)
    for name in ("draws", "chains"):
        check_count(name, getattr(parameters, name))
    sampler = read_inference(parameters.inference)
    inference = inference_name(parameters)
    own, listed = _programs(parameters.parts)
    asked = {} if own and not listed else read_parts(listed or parameters.parts, inference)
    parts = (COMBINED,) if COMBINED in asked else tuple(asked)
    # Options of all parts, also of parts fitted only for others.
    of_parts = {name: asked.get(name) or made() for name, made in CONFIGURED_PARTS.items()}
    if inference != "exact" and parts not in ((), (Densities.name,)):
        raise ValueError(f"parts={parameters.parts!r} needs inference='exact', got {inference!r}.")
    for part in of_parts.values():
        part.check(inference)
        known = PARTS[part.name].hyperparameters
        if unknown := sorted(set(part.given_hyperparameters()) - known):
            raise ValueError(
                f"prior_knowledge of {type(part).__name__} may hold {', '.join(sorted(known))}; got"
                f" {', '.join(map(repr, unknown))}."
            )
    densities = of_parts[Densities.name]
    assert isinstance(densities, Densities)  # noqa: S101
    families = _families(densities.family, inference)
    averaging = densities.averaging
    if averaging == AUTO:
        averaging = "stacking" if parts == (Densities.name,) else "evidence"
    several = len(parts) + len(own) > 1
    combined, lapse = several or parts == (COMBINED,), read_lapse(parameters.lapse)
    reference = families[0] if len(families) == 1 else FAMILIES[REFERENCE]
    records = [(each.record(), each.given_hyperparameters()) for each in own]
    if inference in SAMPLED and not own:
        given = densities.given_hyperparameters()
        records, parts = [(_program_of(reference), given)], ()
    elif records and records[0][0].kind == SHIPPED and not parts:
        reference = FAMILIES.get(records[0][0].name, reference)
    programs = tuple(
        ProgramPart(
            ProgramInference(
                record=record,
                hyperparameters=hyperparameters,
                draws=int(parameters.draws),
                chains=int(parameters.chains),
                sampler_options=sampler.sampler_options,
                progressbar=sampler.progressbar,
            ),
            "map" if inference == "map" else "nuts",
        )
        for record, hyperparameters in records
    )
    names = (*parts, *(each.name for each in programs))
    taking = [record.name for record, _ in records if record.program().takes_covariates]
    if combined and taking:
        raise ValueError(
            f"parts that are combined have curves of the score alone, and {taking[0]!r} takes"
            " covariates: fit it alone, as in ScoreCalibrator(Program(...)), and compare its"
            " predictions with theirs."
        )
    if len(set(names)) < len(names):
        raise ValueError(f"parts must have different names, got {', '.join(names)}.")
    options = Options(
        parts=names,
        inference=inference,
        reference=reference,
        candidates=densities.candidates,
        scale_floor=densities.scale_floor,
        rng=generator(parameters.random_state),
        families=families,
        warps={name: part.asinh_scales() for name, part in of_parts.items()},
        averaging=averaging,
        hyperparameters={name: part.given_hyperparameters() for name, part in of_parts.items()},
        combined=combined,
        draws=int(parameters.draws),
        chains=int(parameters.chains),
        # Only a combination has lapses to learn; `_check_together` refuses other fixed ones.
        lapse=lapse if combined or lapse else 0.0,
        populations=_populations(parameters.prior_knowledge, names),
        programs=programs,
    )
    _check_together(parameters, options)
    _check_identity(names, resolve_scores(parameters.scores_are))
    return options


def read_units(units: Any) -> tuple[float, float] | None:
    """Return the centre and the spread as units of priors; None for those of the scores."""
    if units is None:
        return None
    if not isinstance(units, Mapping) or set(units) != {"centre", "spread"}:
        raise ValueError(
            "units must be a dict of centre and spread, such as {'centre': 0.0, 'spread': 1.0}, or"
            f" None for those of the scores; got {units!r}."
        )
    check_positive(spread=units["spread"])
    centre = float(units["centre"])
    if not np.isfinite(centre):
        raise ValueError(f"centre must be finite, got {centre}.")
    return centre, float(units["spread"])


def names_priors_of_parts(prior_knowledge: Any) -> bool:
    """Return whether `prior_knowledge` names priors of parts, not a population of topics."""
    if not isinstance(prior_knowledge, str | Path):
        return False
    return prior_knowledge in (VAGUE, LEARNED) or Path(prior_knowledge).suffix == POPULATIONS


def named_populations(prior_knowledge: Any) -> tuple[LogOddsPopulation, ...]:
    """Return the populations of log-odds of `prior_knowledge`; none for the vague prior."""
    if prior_knowledge == VAGUE or not names_priors_of_parts(prior_knowledge):
        return ()
    from bayescal.fitting.learned_prior import read_populations, shipped_populations

    learned = prior_knowledge == LEARNED
    return shipped_populations() if learned else read_populations(prior_knowledge)


def _populations(prior_knowledge: Any, parts: tuple[str, ...]) -> tuple[LogOddsPopulation, ...]:
    """Return the populations of log-odds if a part uses them."""
    if {COMBINED, LEARNED_PART.name} & set(parts):
        return named_populations(prior_knowledge)
    # The default is ignored by other parts; explicit populations raise.
    if prior_knowledge != LEARNED and named_populations(prior_knowledge):
        raise ValueError(
            f"prior_knowledge={str(prior_knowledge)!r} is what the part {LEARNED_PART.name!r}"
            f" knows: ask for parts='combined', or for parts that hold it; got {', '.join(parts)}."
        )
    return ()


def resolve_scores(scores_are: str) -> str:
    """Resolve scores_are: "auto" means raw scores, which a fit then examines."""
    return "scores" if scores_are == AUTO else scores_are


def inference_name(parameters: ScoreParameters) -> str:
    """Return the name of an inference; "auto" is "nuts" for a program alone, else "exact"."""
    inference, (own, others) = parameters.inference, _programs(parameters.parts)
    if not isinstance(inference, NUTS):
        check_choice("inference", inference, INFERENCES)
    name = inference.name if isinstance(inference, NUTS) else inference
    if not own:
        return "exact" if name == AUTO else name
    if name == "mle" or (name == "map" and (others or len(own) > 1)):
        raise ValueError(
            f"inference={name!r} would ignore {own[0]!r}: maximum likelihood is of a family, and a"
            " posterior mode of one program alone; choose 'nuts'."
        )
    if others or len(own) > 1:
        return "exact"
    if name == "exact":
        raise ValueError(
            f"inference='exact' has no engine for {own[0]!r}: choose 'nuts' or 'map', or leave it"
            " at 'auto'."
        )
    return "nuts" if name == AUTO else name


def _programs(parts: Parts) -> tuple[list[OwnPart], list[str | ConfiguredPart]]:
    """Return the programs among parts, and the others."""
    listed = as_list(parts)
    own = [each for each in listed if isinstance(each, OwnPart)]
    return own, [each for each in listed if not isinstance(each, OwnPart)]


def read_inference(inference: Inference) -> NUTS:
    """Return the settings of PyMC's sampler."""
    if not isinstance(inference, NUTS):
        return NUTS()
    inference.check_flags()
    return inference


def read_lapse(lapse: Any) -> float | None:
    """Return the fixed lapse rate; None to learn it from labels."""
    if isinstance(lapse, str) and lapse == AUTO:
        return None
    number = isinstance(lapse, int | float | np.number) and not isinstance(lapse, bool)
    if not (number and 0 <= lapse < 1):
        raise ValueError(f"lapse must be 'auto' or a number from 0 to below 1, got {lapse!r}.")
    return float(lapse)


def as_list(parts: Parts) -> list[str | ConfiguredPart]:
    """Return parts as a list."""
    single = isinstance(parts, str | ConfiguredPart) or not isinstance(parts, Sequence)
    return [parts] if single else list(parts)  # type: ignore[arg-type, list-item]


def read_parts(parts: Parts, inference: str) -> dict[str, ConfiguredPart | None]:
    """Return the parts of a model with their options, "combined" before its parts."""
    listed = as_list(parts)
    configured: dict[str, ConfiguredPart | None] = {}
    for each in listed:
        if not isinstance(each, ConfiguredPart):
            check_choice("parts", each, (AUTO, COMBINED, *PARTS, *FAMILIES, AVERAGE))
        name, part = _read_part(each)
        if name in configured:
            break
        configured[name] = part
    several = len(configured) > 1
    others = [each for name, each in configured.items() if name not in (AUTO, COMBINED)]
    beside = COMBINED in configured and not all(each and each.changed() for each in others)
    if not listed or len(configured) < len(listed) or (several and (AUTO in configured or beside)):
        raise ValueError(
            f"parts must be 'auto', 'combined', a part or several of {', '.join(PARTS)}, or"
            " 'combined' beside parts with options, such as Densities('gaussian'), each once; got"
            f" {parts!r}."
        )
    if AUTO in configured:
        return {COMBINED: None} if inference == "exact" else {Densities.name: Densities()}
    return {COMBINED: None, **configured} if COMBINED in configured else configured


def _read_part(each: str | ConfiguredPart) -> tuple[str, ConfiguredPart | None]:
    """Return a part's name and its options."""
    if isinstance(each, ConfiguredPart):
        return each.name, each
    if each in FAMILIES or each == AVERAGE:
        return Densities.name, Densities(each)
    made = CONFIGURED_PARTS.get(each)
    return each, None if made is None else made()


def _families(family: str, inference: str) -> tuple[Family, ...]:
    if family in FAMILIES:
        return (FAMILIES[family],)
    if family == AUTO and inference != "exact":
        return (FAMILIES[REFERENCE],)
    return tuple(FAMILIES[each] for each in (FAMILY_NAMES if family == AVERAGE else DENSITIES))


def _program_of(family: Family) -> ProgramRecord:
    """Return the program that samples a family, of the same name and parameters."""
    record = ProgramRecord(SHIPPED, family.name)
    program = record.program()
    if program.log_density is None or program.answer_parameters() != list(family.parameters):
        raise ValueError(
            f"models/{family.name}.py must define log_density(score, klass,"
            f" {', '.join(family.parameters)}) to sample the family {family.name!r}."
        )
    return record


def _check_identity(parts: tuple[str, ...], scores_are: str) -> None:
    """Raise ValueError for the identity on raw scores, or as the only part."""
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


def _check_together(parameters: ScoreParameters, options: Options) -> None:
    """Raise ValueError for options that the other parts rule out."""
    if options.lapse and not options.combined:
        raise ValueError(
            f"lapse={parameters.lapse!r} needs several parts, as of parts='combined': one part"
            f" alone has no lapses; got parts={parameters.parts!r} and"
            f" inference={parameters.inference!r}."
        )
