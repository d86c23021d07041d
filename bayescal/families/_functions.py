"""From what is a family's own, its name, powers and parameters, to its record of functions.

The functions are the formulas of `_density.py` and the fit of `_maximum_likelihood.py` under the
names of the family's parameters, which their signatures and docstrings show.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.families import _density
from bayescal.families._family import HALF_WIDTH, Family, Fit, Parametrisation
from bayescal.families._maximum_likelihood import maximise_likelihood
from bayescal.families._scale_floor import ScaleFloorOption
from bayescal.validation import Floats, check_positive

FORMULAS = ("logpdf", "cdf", "logcdf", "logsf", "ppf", "rvs", "mean", "variance")
ARGUMENTS = {
    "x": "array-like\n    Scores, in raw score units; broadcast against the parameters.",
    "q": "array-like\n    Probabilities; broadcast against the parameters.",
    "size": "int, tuple of int or None\n    Shape of the draws, to which the parameters broadcast.",
    "rng": "numpy.random.Generator, int or None\n    Source of randomness, or its seed.",
}
NOTES = """
Notes
-----
For the formula and its source, what the fit does, and examples see the module, """
FIT = """
Maximise the likelihood, exactly.

Parameters
----------
x : array-like of shape (n,)
    Raw scores.
sample_weight : array-like of shape (n,) or None
    Weights, as counts: a weight of 2 equals repeating the score, and N is their sum.
candidates : {"exact", "bennett"}
    "bennett" tries the scores and nine points in each interval between them, as the paper's
    tables did; it is never better. Where both sides are the same there is one closed form.
scale_floor : "auto", float or None
    Floor of each side's scale (sigma, or 1 / inverse scale), in score units. "auto": 1.5 spreads
    of `x` over sqrt(N), so that it stops acting as N grows. None: only 1e-12 of the spread, which
    stands for Bennett's very large inverse scale and keeps the density of equal scores finite.

Returns
-------
Fit
    Parameters, log-likelihood, and whether the floor acted.

Raises
------
ValueError
    If an argument is not as described.
"""


def two_sided_family(name: str, powers: tuple[int, int], parameters: dict[str, str]) -> Family:
    """
    Return a family's record.

    Parameters
    ----------
    name : str
        The name of the family, of its module and of its program in models/.
    powers : tuple of int
        Of the left and right side: 1 for an exponential, 2 for a Gaussian one. Where they differ
        the record is of the negative class, and the positive class's is its mirror image.
    parameters : dict of str to str
        Names and meanings: the mode's, then a scale's or two. An exponential side's is an inverse
        scale and comes before a sigma; otherwise the left side's comes first. One scale alone is
        that of both sides.

    Raises
    ------
    ValueError
        If a side is neither exponential nor Gaussian.
    """
    if not set(powers) <= set(HALF_WIDTH):
        raise ValueError(
            f"powers must be 1 for an exponential side and 2 for a Gaussian one, got {powers}:"
            " densities and fits of other sides are not there."
        )
    symmetric = len(parameters) == 2
    mirrored = None
    if powers[0] != powers[1]:
        form = Parametrisation(name, tuple(parameters), powers[::-1], symmetric)
        mirrored = _record(form, parameters, "FAMILY.mirrored.", None)
    form = Parametrisation(name, tuple(parameters), powers, symmetric)
    return _record(form, parameters, "", mirrored)


def _record(
    form: Parametrisation, meanings: dict[str, str], place: str, mirrored: Family | None
) -> Family:
    functions: dict[str, Callable[..., Any]] = {
        each: _in_parameters(getattr(_density, each), form, meanings) for each in FORMULAS
    }
    functions["fit"] = _fit_of(form)
    for key, function in functions.items():
        # Where pickle finds the function: workers get families by name.
        function.__module__ = f"bayescal.families.{form.name}"
        function.__name__, function.__qualname__ = key, place + key
        function.__doc__ = f"{function.__doc__}{NOTES}`bayescal.families.{form.name}`.\n"
    return Family(
        form.name,
        form.parameters,
        form.powers,
        form.symmetric,
        **functions,
        mirrored=mirrored,
    )


def _in_parameters(
    formula: Callable[..., Floats], form: Parametrisation, meanings: dict[str, str]
) -> Callable[..., Floats]:
    """Return a formula of mode and scales as a function of the family's own parameters."""
    told = inspect.signature(formula).parameters
    first = [told[each].replace(annotation="ArrayLike") for each in ("x", "q") if each in told]
    options = [each for each in told.values() if each.kind is each.KEYWORD_ONLY]
    own = [
        inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="ArrayLike")
        for each in form.parameters
    ]
    signature = inspect.Signature([*first, *own, *options], return_annotation="Floats")
    count = len(first) + len(own)

    def function(*args: ArrayLike, **kwargs: Any) -> Floats:
        if kwargs or len(args) != count:
            bound = signature.bind(*args, **kwargs)
            args, kwargs = bound.args, bound.kwargs
        arrays = [np.asarray(each, dtype=np.float64) for each in args]
        scores, parameters = arrays[: len(first)], arrays[len(first) :]
        check_positive(**dict(zip(form.parameters[1:], parameters[1:], strict=True)))
        return formula(*scores, *form.sides(*parameters), form.powers, **kwargs)

    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__doc__ = _docstring(formula, signature, form, meanings)
    return function


def _docstring(
    formula: Callable[..., Floats],
    signature: inspect.Signature,
    form: Parametrisation,
    meanings: dict[str, str],
) -> str:
    about = ARGUMENTS | {each: f"array-like\n    {told}" for each, told in meanings.items()}
    arguments = "\n".join(f"{each} : {about[each]}" for each in signature.parameters)
    scales = " or ".join(form.parameters[1:])
    return f"""
{formula.__doc__}

Parameters
----------
{arguments}

Raises
------
ValueError
    If {scales} is not positive and finite.
"""


def _fit_of(form: Parametrisation) -> Callable[..., Fit]:
    def fit(
        x: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        candidates: str = "exact",
        scale_floor: ScaleFloorOption = "auto",
    ) -> Fit:
        return maximise_likelihood(form, x, sample_weight, candidates, scale_floor)

    fit.__doc__ = FIT
    return fit
