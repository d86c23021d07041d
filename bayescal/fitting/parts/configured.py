"""Parts of a model, and inferences by PyMC, with the options that users choose."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from bayescal.families import FAMILIES, ScaleFloorOption
from bayescal.families.draws import IDENTITY
from bayescal.fitting.engines.program import record_of
from bayescal.fitting.engines.program_functions import DENSITY, ProgramRecord
from bayescal.support.validation import as_priors, check_choice, check_flag, check_positive

AUTO, AVERAGE = "auto", "average"
PROGRAM = "program"
AVERAGINGS = (AUTO, "stacking", "evidence")
# No warp, and warps down to the scores' own spread, in steps that the evidence distinguishes.
ASINH_SCALES = (IDENTITY, 10.0, 3.0, 1.0)


def family_names() -> tuple[str, ...]:
    """Return the legal values of `family`."""
    return (AUTO, *FAMILIES, AVERAGE)


@dataclass(repr=False)
class Configured:
    """Named options with the get_params, set_params and clone conventions of scikit-learn."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all options by name; `deep` changes nothing."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Change options, and return the object."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(
                    f"options of {type(self).__name__} are {', '.join(self.get_params())}; got"
                    f" {name!r}."
                )
            setattr(self, name, value)
        return self

    def check_flags(self) -> None:
        """Raise ValueError unless all boolean options are True or False."""
        flags = [each.name for each in fields(self) if isinstance(each.default, bool)]
        check_flag(**{name: getattr(self, name) for name in flags})

    def changed(self) -> dict[str, Any]:
        """Return the options that are not the default."""
        defaults = {each.name: each.default for each in fields(self)}
        return {k: value for k, value in self.get_params().items() if value != defaults[k]}

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.changed().items())
        return f"{type(self).__name__}({shown})"


@dataclass(repr=False)
class ConfiguredPart(Configured):
    """A part of a model with its options."""

    name: ClassVar[str]  # a key of `bayescal.fitting.parts.combination.PARTS`

    def check(self, inference: str) -> None:
        """Raise ValueError if an option is invalid, or invalid with an inference."""
        with _named(self):
            self.check_flags()
            self.asinh_scales()
            self.given_hyperparameters()

    def asinh_scales(self) -> tuple[float, ...] | None:
        """Return the warps to choose from or to average over; None for the part's default."""
        return _asinh_scales(self.get_params().get("warp", AUTO))

    def given_hyperparameters(self) -> dict[str, Any]:
        """Return the hyperparameters of its priors that are not the default."""
        stated = self.get_params().get("prior_knowledge")
        return as_priors(stated, "{'theta_scale': 2.0}")


@dataclass(repr=False)
class Densities(ConfiguredPart):
    """Bayes' rule with densities of the scores of both classes.

    Parameters
    ----------
    family : str
        The shape of the class densities: one of `bayescal.families.FAMILIES`; "average", a mixture
        of all four, with weights for each class; or "auto", a mixture of Gaussian and
        asymmetric Laplace densities for inference "exact", else "asymmetric_laplace". For another
        shape use `Density`.
    warp : "auto", "none", "average" or float
        Transform of the scores s to x = m + c asinh((s - m)/c), which shortens heavy tails (m is
        their centre): none, an average over c = inf, 10, 3 and 1 times their spread, or c in units
        of the spread. "auto" averages with several families or parts. For inference "exact".
    averaging : {"auto", "stacking", "evidence"}
        Weights of families and warps: "stacking" by the leave-one-out predictive density of their
        mixture, "evidence" by their posterior probabilities. "auto" is stacking for densities
        alone, which predicted real scores better, else evidence.
    candidates : {"exact", "bennett"}
        Modes that maximum likelihood tries; see `bayescal.families.Family.fit`.
    scale_floor : "auto", float or None
        The floor under the widths of maximum likelihood, in score units; None means no floor, and
        "auto" 1.5 / sqrt(n) times the spread of the scores.
    prior_knowledge : dict, optional
        Non-default hyperparameters: theta_scale, share_alpha, share_beta, width_shape, width_scale,
        prior_alpha, prior_beta; see models/.
    """

    name: ClassVar[str] = "densities"

    family: str = AUTO
    warp: str | float = AUTO
    averaging: str = AUTO
    candidates: str = "exact"
    scale_floor: ScaleFloorOption = "auto"
    prior_knowledge: Mapping[str, float] | None = None

    def check(self, inference: str) -> None:
        """Raise ValueError if an option is invalid, or invalid with an inference."""
        super().check(inference)
        with _named(self):
            check_choice("family", self.family, family_names())
            check_choice("averaging", self.averaging, AVERAGINGS)
            asked = {
                f"family={self.family!r}": self.family == AVERAGE,
                f"warp={self.warp!r}": self.asinh_scales() not in (None, (IDENTITY,)),
                f"averaging={self.averaging!r}": self.averaging != AUTO,
            }
            for option, is_asked in asked.items():
                if is_asked and inference != "exact":
                    raise ValueError(f"{option} needs inference='exact', got {inference!r}.")
            if self.prior_knowledge and inference == "mle":
                raise ValueError(
                    "prior_knowledge sets priors, and inference='mle' has none: leave it out, or"
                    " choose 'map', 'nuts' or 'exact'."
                )


@dataclass(repr=False)
class Monotone(ConfiguredPart):
    """Log-odds that rise in straight pieces, fitted to the labels directly.

    Parameters
    ----------
    n_segments : int, optional
        Number of straight pieces; by default 9 to 17, growing with the rarer class. Bennett
        proposed three as future work.
    warp : "auto", "none", "average" or float
        See `Densities`. The likeliest warp is chosen: "auto" chooses from none, one spread and, if
        a quarter of the scores lie within a thousandth of a spread, their width.
    prior_knowledge : dict, optional
        Non-default hyperparameters, see `bayescal.fitting.engines.monotone.density.Prior`.
    """

    name: ClassVar[str] = "monotone"

    n_segments: int | None = None
    warp: str | float = AUTO
    prior_knowledge: Mapping[str, float] | None = None

    def given_hyperparameters(self) -> dict[str, Any]:
        """Return the hyperparameters that are not the default, and the number of pieces."""
        pieces = {} if self.n_segments is None else {"n_segments": self.n_segments}
        return super().given_hyperparameters() | pieces


@dataclass(repr=False)
class Logistic(ConfiguredPart):
    """Log-odds along one straight line, fitted to the labels directly.

    Parameters
    ----------
    warp : "auto", "none", "average" or float
        See `Densities`; the likeliest warp is chosen, and "auto" is "none".
    prior_knowledge : dict, optional
        See `Monotone`.
    """

    name: ClassVar[str] = "logistic"

    warp: str | float = AUTO
    prior_knowledge: Mapping[str, float] | None = None


@dataclass(repr=False)
class Recalibrated(ConfiguredPart):
    """Log-odds monotone in the densities' log-odds; without options."""

    name: ClassVar[str] = "recalibrated"


@dataclass(repr=False)
class Identity(ConfiguredPart):
    """Scores that are log-odds already, used without a map; without options."""

    name: ClassVar[str] = "identity"


@dataclass(repr=False)
class Learned(ConfiguredPart):
    """Monotone log-odds with a prior from other problems, see `prior_knowledge`."""

    name: ClassVar[str] = "learned"


@dataclass(repr=False)
class Program(ConfiguredPart):
    """A PyMC model program: one of models/, or your own.

    NUTS fits it, alone or beside other parts, with stacking weights; inference "map" finds the
    posterior mode of a program alone. A program is code: naming a file runs it.

    Parameters
    ----------
    program : str or Path
        A name from `bayescal.distributions.programs.available()`, or the path of a .py file.
    prior_knowledge : dict, optional
        Keyword arguments of the program's `model`, such as theta_scale; see models/README.md.

    Examples
    --------
    >>> Program("logistic", prior_knowledge={"slope_scale": 0.5})
    Program(program='logistic', prior_knowledge={'slope_scale': 0.5})
    """

    name: ClassVar[str] = PROGRAM

    program: str | Path
    prior_knowledge: Mapping[str, Any] | None = None

    def changed(self) -> dict[str, Any]:
        """Return the options that are not the default, the program first."""
        own = {} if self.prior_knowledge is None else {"prior_knowledge": self.prior_knowledge}
        return {"program": self.program} | own

    def record(self) -> ProgramRecord:
        """Return the identity of the program; this runs its file."""
        return record_of(self.program)


class Density(ConfiguredPart):
    """Class densities of any PyMC distribution, without writing a program.

    Scores of each class are (s - m)/S ~ distribution(parameters), with the robust centre m and
    spread S of all scores, or the `units` of the calibrator, such as {"centre": 0, "spread": 1}.
    P(+) ~ Beta(1, 1). It is fitted and weighed as a `Program`. Draws are of standardised scores;
    `summary` and `compare_estimates` give location and scale in score units.

    Parameters
    ----------
    distribution : class or str
        A univariate continuous distribution of PyMC or of `bayescal.distributions`, or its name.
        For mixtures, truncations and others write a program.
    priors : dict, optional
        The prior of each free parameter in both classes, as a `Density` of fixed parameters. By
        default "mu" is Normal(0, 2), and "sigma" and "b" are InverseGamma(2, 0.5).
    **parameters : float or pair of floats
        Fixed parameters, in both classes or in the negative and in the positive one.

    Raises
    ------
    ValueError
        If the distribution is discrete, multivariate or made of others, or has no such parameters.

    Examples
    --------
    >>> Density("StudentT", nu=4, priors={"sigma": Density("HalfNormal", sigma=1.0)})
    Density('StudentT', nu=4, priors={'sigma': Density('HalfNormal', sigma=1.0)})
    """

    name: ClassVar[str] = PROGRAM

    def __init__(
        self, distribution: Any, priors: Mapping[str, Density] | None = None, **parameters: Any
    ) -> None:
        from bayescal.distributions.density import check_names

        check_names(_name_of(distribution), {**parameters, **(priors or {})})
        self.distribution = distribution
        self.priors = priors
        self.parameters = parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the distribution, the priors and the fixed parameters."""
        return {"distribution": self.distribution, "priors": self.priors, **self.parameters}

    def set_params(self, **params: Any) -> Self:
        """Change the parameters, and return the object."""
        given = self.get_params() | params
        self.distribution, self.priors = given.pop("distribution"), given.pop("priors")
        self.parameters = given
        return self

    def changed(self) -> dict[str, Any]:
        """Return the parameters as plain data, the distribution by its name."""
        priors = None if self.priors is None else dict(self.priors)
        given = {"distribution": _name_of(self.distribution), **self.parameters}
        return given if priors is None else given | {"priors": priors}

    def __repr__(self) -> str:
        name, *others = self.changed().items()
        shown = [repr(name[1]), *(f"{key}={value!r}" for key, value in others)]
        return f"Density({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Density) and encode(self) == encode(other)

    def __hash__(self) -> int:
        return hash(_name_of(self.distribution))

    def check_flags(self) -> None:
        """Do nothing: there are no boolean options."""

    def record(self) -> ProgramRecord:
        """Return the identity of its program."""
        from bayescal.distributions.density import check_density

        plain = self._plain()
        check_density(plain)
        return ProgramRecord(DENSITY, plain["distribution"], source=json.dumps(plain))

    def _plain(self) -> dict[str, Any]:
        for name, prior in (self.priors or {}).items():
            if not isinstance(prior, Density):
                raise ValueError(
                    f"Density: the prior of {name!r} must be a Density of fixed parameters, such as"
                    f" Density('HalfNormal', sigma=1), got {prior!r}."
                )
        fixed = {name: np.asarray(value).tolist() for name, value in self.parameters.items()}
        priors = {name: prior._plain() for name, prior in (self.priors or {}).items()}
        return {"distribution": _name_of(self.distribution), "fixed": fixed, "priors": priors}


def _name_of(distribution: Any) -> str:
    """Return the name of a distribution, prefixed with "bayescal." if this package defines it."""
    if isinstance(distribution, str):
        return distribution
    name = getattr(distribution, "__name__", None)
    if not isinstance(distribution, type) or name is None:
        raise ValueError(
            "Density: distribution must be a distribution such as pm.StudentT, or its name; got"
            f" {distribution!r}."
        )
    own = distribution.__module__.startswith("bayescal.")
    return f"bayescal.{name}" if own else str(name)


@dataclass(repr=False)
class NUTS(Configured):
    """Inference by PyMC's No-U-Turn sampler, of a `Program`, a `Density` or a family's densities.

    Parameters
    ----------
    sampler_options : dict, optional
        Further arguments of pm.sample: tune, target_accept, cores, nuts_sampler, ...
    progressbar : bool
        Whether the sampler shows its progress.
    """

    name: ClassVar[str] = "nuts"

    sampler_options: Mapping[str, Any] | None = None
    progressbar: bool = False


OwnPart = Program | Density

CONFIGURED_PARTS: dict[str, type[ConfiguredPart]] = {
    each.name: each for each in (Densities, Monotone, Logistic, Recalibrated, Identity, Learned)
}
# By the name of the class, for files.
CONFIGURED: dict[str, type[Configured]] = {
    each.__name__: each for each in (*CONFIGURED_PARTS.values(), Program, Density, NUTS)
}


# Parameters of estimators as data for JSON. Objects become dicts of one item, by their class.

UNKNOWN = "bayescal.unknown"  # key of an object that JSON cannot hold
# Conversions of objects to simpler ones, applied until only JSON's own types remain.
SIMPLER: dict[type[Any], Callable[[Any], Any]] = {
    Configured: lambda each: {type(each).__name__: each.changed()},
    tuple: list,
    Path: str,
    np.ndarray: np.ndarray.tolist,
    np.generic: np.generic.item,
    np.random.SeedSequence: lambda each: {"SeedSequence": each.state},
    np.random.Generator: lambda each: {"Generator": each.bit_generator.state},
    np.random.RandomState: lambda each: {"RandomState": each.get_state(legacy=False)},
}


def encode(value: Any) -> Any:
    """Return a parameter as data for JSON; other objects become their repr under `UNKNOWN`."""
    if isinstance(value, Mapping):
        return {str(key): encode(each) for key, each in value.items()}
    if isinstance(value, list):
        return [encode(each) for each in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    simpler = next((made for kind, made in SIMPLER.items() if isinstance(value, kind)), None)
    return {UNKNOWN: repr(value)} if simpler is None else encode(simpler(value))


def decode(value: Any) -> Any:
    """Return the parameter encoded by `encode`."""
    if isinstance(value, list):
        return [decode(each) for each in value]
    if not isinstance(value, dict):
        return value
    plain = {key: decode(each) for key, each in value.items()}
    name, content = next(iter(plain.items()), ("", None))
    made = DECODERS.get(name)
    return made(content) if made and len(plain) == 1 and isinstance(content, dict) else plain


def _configured(kind: type[Configured], options: dict[str, Any]) -> Configured:
    return kind(**options)


def _generator(state: dict[str, Any]) -> np.random.Generator:
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)


def _random_state(state: dict[str, Any]) -> np.random.RandomState:
    source = np.random.RandomState()
    source.set_state(state)
    return source


DECODERS: dict[str, Callable[[Any], Any]] = {
    **{name: partial(_configured, kind) for name, kind in CONFIGURED.items()},
    "SeedSequence": lambda state: np.random.SeedSequence(**state),
    "Generator": _generator,
    "RandomState": _random_state,
}


def first_unknown(value: Any) -> str | None:
    """Return the text of the first object that `encode` could not hold; None if it held all."""
    if isinstance(value, dict) and UNKNOWN in value:
        return str(value[UNKNOWN])
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((text for each in inner if (text := first_unknown(each))), None)


@contextmanager
def _named(part: ConfiguredPart) -> Iterator[None]:
    """Let errors about options name the part."""
    try:
        yield
    except ValueError as err:
        raise ValueError(f"{type(part).__name__}: {err}") from None


def _asinh_scales(warp: Any) -> tuple[float, ...] | None:
    """Return the warps of an option; None for "auto"."""
    if isinstance(warp, str):
        check_choice("warp", warp, (AUTO, "none", AVERAGE))
        return {AUTO: None, "none": (IDENTITY,), AVERAGE: ASINH_SCALES}[warp]
    if isinstance(warp, bool) or not isinstance(warp, int | float | np.number):
        raise ValueError(
            f"warp must be 'auto', 'none', 'average' or a positive number, got {warp!r}."
        )
    check_positive(warp=warp)
    return (float(warp),)
