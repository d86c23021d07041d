"""Programs of `Density`: class densities of a named distribution."""

import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np
import pymc as pm

import bayescal.distributions
from bayescal.distributions.programs import ModelProgram
from bayescal.support.validation import as_reals

KLASS = ("negative", "positive")
# For standardised scores; a scale's prior must vanish at zero.
DEFAULT_PRIORS: Mapping[str, dict[str, Any]] = {
    "mu": {"distribution": "Normal", "fixed": {"mu": 0.0, "sigma": 2.0}},
    "sigma": {"distribution": "InverseGamma", "fixed": {"alpha": 2.0, "beta": 0.5}},
    "b": {"distribution": "InverseGamma", "fixed": {"alpha": 2.0, "beta": 0.5}},
}
# With standardised scores (s - m)/S a parameter is a m + S^b value in score units: its (a, b).
LOCATION, SCALE, SHAPE, PRECISION = (1, 1), (0, 1), (0, 0), (0, -2)
IN_SCORE_UNITS: Mapping[str, dict[str, tuple[int, int]]] = {
    "Normal": {"mu": LOCATION, "sigma": SCALE, "tau": PRECISION},
    "StudentT": {"nu": SHAPE, "mu": LOCATION, "sigma": SCALE, "lam": PRECISION},
    "SkewNormal": {"alpha": SHAPE, "mu": LOCATION, "sigma": SCALE, "tau": PRECISION},
    "ExGaussian": {"mu": LOCATION, "sigma": SCALE, "nu": SCALE},
    "Laplace": {"mu": LOCATION, "b": SCALE},
    "Logistic": {"mu": LOCATION, "s": SCALE},
    "Cauchy": {"alpha": LOCATION, "beta": SCALE},
    "Gumbel": {"mu": LOCATION, "beta": SCALE},
    "Moyal": {"mu": LOCATION, "sigma": SCALE},
}
OURS = "bayescal."  # prefix of the names of this package's distributions
HURDLES = "HurdleGamma", "HurdleLogNormal"  # mixtures of a point mass and a continuous density
# By PyMC's module, why its distributions are no densities of a score.
UNFIT = {
    "discrete": "is discrete, and scores are real numbers",
    "multivariate": "is multivariate, and a document has one score",
    "timeseries": "is of a series, and documents are independent",
    "mixture": "is discrete or a mixture, whose components are no numbers",
}
OTHER_ARGUMENTS = ("args", "kwargs", "rng", "size", "shape", "dims", "name")


def distribution_of(name: str) -> Any:
    """Return a univariate continuous distribution of PyMC or of this package by its name."""
    module, own = pm, name
    if name.startswith(OURS):
        module, own = bayescal.distributions, name.removeprefix(OURS)
    kind = getattr(module, own, None)
    if inspect.isclass(kind) and hasattr(kind, "dist"):
        place = kind.__module__.removeprefix("pymc.distributions.")
        if place != "continuous" and module is pm and name not in HURDLES:
            raise ValueError(
                f"Density: {name} {UNFIT.get(place, 'is made of other distributions or functions')}"
                ". Choose a univariate density such as pm.StudentT, or write a program: see"
                " models/README.md."
            )
        return kind
    names = [n for n in dir(pm) if inspect.isclass(getattr(pm, n)) and n[0].isupper()]
    near = get_close_matches(name, names, n=2)
    raise ValueError(
        f"Density: there is no distribution {name!r} in pymc"
        f"{', did you mean ' + ' or '.join(map(repr, near)) + '?' if near else '.'} For one of your"
        " own write a program: see models/README.md."
    )


def check_density(plain: Mapping[str, Any]) -> None:
    """Raise ValueError unless every parameter of a record is fixed, has a prior or a default."""
    name = plain["distribution"]
    known = _parameters(distribution_of(name))
    if not known:
        raise ValueError(f"Density: {name} has no parameters, so that nothing would be fitted.")
    check_names(name, {**plain["fixed"], **plain["priors"]})
    if both := [each for each in plain["fixed"] if each in plain["priors"]]:
        raise ValueError(f"Density: {both[0]} of {name} is fixed and has a prior: give one.")
    free = _free(plain)
    if missing := [each for each in free if each not in {**plain["priors"], **DEFAULT_PRIORS}]:
        each = missing[0]
        raise ValueError(
            f"Density: {name} needs {', '.join(missing)}, fixed or with a prior, such as {each}=1.0"
            f" or priors={{{each!r}: Density('Gamma', alpha=2, beta=1)}}."
        )
    if not free and not plain["fixed"]:
        raise ValueError(
            f"Density: {name} needs some of {', '.join(known)}, fixed or with a prior, such as"
            f" priors={{{next(iter(known))!r}: Density('Gamma', alpha=2, beta=1)}}."
        )
    if not free:
        raise ValueError(
            f"Density: all parameters of {name} are fixed, so that nothing would be fitted: leave"
            " one out, which then has a prior."
        )
    _check_fixed(plain["fixed"])
    for each, prior in plain["priors"].items():
        _check_prior(each, prior)


def check_names(name: str, given: Mapping[str, Any]) -> None:
    """Raise ValueError unless a score can have a distribution, and that has these parameters."""
    known = _parameters(distribution_of(name))
    if unknown := [each for each in given if each not in known]:
        raise ValueError(
            f"Density: parameters of {name} are {', '.join(known)}; got {', '.join(unknown)}."
        )


def _check_fixed(fixed: Mapping[str, Any]) -> None:
    """Raise ValueError unless fixed parameters are finite numbers for one or for both classes."""
    for name, values in fixed.items():
        array = as_reals(values, f"Density: {name}")
        if array.shape not in ((), (2,)) or not np.isfinite(array).all():
            raise ValueError(
                "Density: fixed parameters must be finite numbers, or a pair of them, of the"
                f" negative and of the positive class; got {name}={values!r}."
            )


def _check_prior(parameter: str, prior: Mapping[str, Any]) -> None:
    """Raise ValueError unless fixed parameters define a prior."""
    name, fixed = prior["distribution"], prior["fixed"]
    if prior["priors"]:
        raise ValueError(
            f"Density: the prior of {parameter} must have fixed parameters, such as"
            f" Density('HalfNormal', sigma=1); got a prior of {', '.join(prior['priors'])} in it."
            " For a hierarchical prior write a program: see models/README.md."
        )
    _check_fixed(fixed)
    try:
        distribution_of(name).dist(**fixed)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Density: the prior of {parameter}, {name}, lacks parameters: {error}"
        ) from error


def density_program(name: str, plain: Mapping[str, Any]) -> ModelProgram:
    """Return the program of a record: distribution, fixed parameters and priors."""
    kind, free = distribution_of(name), _free(plain)
    fixed = {each: np.broadcast_to(value, 2) for each, value in plain["fixed"].items()}
    priors = {**DEFAULT_PRIORS, **plain["priors"]}

    def of_class(klass: Any, drawn: Mapping[str, Any]) -> dict[str, Any]:
        constant = {each: pm.math.stack(list(value))[klass] for each, value in fixed.items()}
        return {each: value[klass] for each, value in drawn.items()} | constant

    def model(score: Any, label: Any) -> pm.Model:
        with pm.Model(coords={"klass": list(KLASS)}) as program:
            prior = pm.Beta("prior", 1.0, 1.0)
            drawn = {
                each: distribution_of(own["distribution"])(each, **own["fixed"], dims="klass")
                for each, own in ((each, priors[each]) for each in free)
            }
            k = pm.Bernoulli("label", prior, observed=label)
            kind("score", **of_class(k, drawn), observed=score)
        return program

    def log_density(score: Any, klass: Any, **drawn: Any) -> Any:
        return pm.logp(kind.dist(**of_class(klass, drawn)), score)

    keyword = inspect.Parameter.KEYWORD_ONLY
    log_density.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(each, keyword) for each in ("score", "klass", *free)]
    )
    return ModelProgram(
        name=name,
        path=None,
        source="",
        model=model,
        log_density=log_density,
        log_odds=None,
        simulate=None,
        summary=_in_words(plain),
        standardised=True,
        score_units=IN_SCORE_UNITS.get(plain["distribution"], {}),
    )


def _free(plain: Mapping[str, Any]) -> list[str]:
    """Return the free parameters: neither fixed nor an alternative to a fixed one."""
    fixed, priors = plain["fixed"], plain["priors"]
    kind = distribution_of(plain["distribution"])
    known = _parameters(kind)
    free = {each for each, needed in known.items() if needed or each in priors}
    # In PyMC sigma is optional if tau or lam can replace it. If mu is optional too, as in Gamma, mu
    # and sigma are an alternative parametrisation.
    mu = inspect.signature(kind.dist).parameters.get("mu")
    if "sigma" in known and not {"tau", "lam"} & {*fixed, *priors}:
        free |= {"sigma"} if mu is None or mu.default is not None else set()
    return [each for each in known if each in free and each not in fixed]


def _parameters(kind: Any) -> dict[str, bool]:
    """Return the parameters of a distribution by name, and whether they are required."""
    signature = inspect.signature(kind.dist)
    return {
        # Numeric defaults, such as SkewNormal's skewness, are left to the user too.
        name: each.default is each.empty or isinstance(each.default, int | float)
        for name, each in signature.parameters.items()
        if name not in OTHER_ARGUMENTS and each.kind is not each.VAR_KEYWORD
    }


def _in_words(plain: Mapping[str, Any]) -> str:
    fixed = ", ".join(f"{name} = {value}" for name, value in plain["fixed"].items())
    priors = {**DEFAULT_PRIORS, **plain["priors"]}
    drawn = ", ".join(
        f"{name} ~ {priors[name]['distribution']}"
        f"({', '.join(f'{value}' for value in priors[name]['fixed'].values())})"
        for name in _free(plain)
    )
    return (
        f"In each class (s - m)/S ~ {plain['distribution']}, m and S the robust centre and spread"
        f" of the scores; {'; '.join(each for each in (fixed, drawn) if each)}; P(+) ~ Beta(1, 1)."
    )
