"""Families of score densities: numpy functions and exact maximum likelihood.

Every family offers the same functions with its parameters in the same order; `FAMILIES` maps
names to records of them, so that the rest of the package loops over families as data.

Examples
--------
>>> from bayescal.families import FAMILIES
>>> sorted(FAMILIES)
['asymmetric_gaussian', 'asymmetric_laplace', 'gaussian', 'hybrid', 'laplace']
>>> FAMILIES["laplace"].fit([1.0, 2.0, 4.0]).parameters["theta"]
2.0
"""

from bayescal.families import asymmetric_gaussian, asymmetric_laplace, gaussian, hybrid, laplace
from bayescal.families._family import (
    Family,
    Fit,
    ScaleFloor,
    ScaleFloorOption,
    automatic_floor,
    side_units,
)

FAMILIES: dict[str, Family] = {
    module.FAMILY.name: module.FAMILY
    for module in (gaussian, laplace, asymmetric_laplace, asymmetric_gaussian, hybrid)
}

__all__ = [
    "FAMILIES",
    "Family",
    "Fit",
    "ScaleFloor",
    "ScaleFloorOption",
    "asymmetric_gaussian",
    "asymmetric_laplace",
    "automatic_floor",
    "gaussian",
    "hybrid",
    "laplace",
    "side_units",
]
