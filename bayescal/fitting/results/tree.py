"""A fit, and its tree of results: an xarray.DataTree in ArviZ's schema, with maximum likelihood.

Groups: posterior and sample_stats (chain, draw, klass), observed_data and constant_data
(document), maximum_likelihood and, for inference "map", mode (klass). Each part of the model has a
group parts/<name>, whose attributes name its kind and the groups of its draws: the group posterior
for the first part, in raw score units, and parts/<name>/draws for others. Draws in an engine's own
coordinates are in parts/<name>/engine_draws, diagnostics in parts/<name>/evidence.
"""

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.families import FAMILIES, FamilyFit, ScaleFloor
from bayescal.fitting.covariates import GROUP as COVARIATES
from bayescal.fitting.covariates import Covariates
from bayescal.fitting.engines.point_estimates import ClassFits
from bayescal.fitting.parts.combination import raw_groups
from bayescal.fitting.parts.configured import decode, encode, first_unknown
from bayescal.fitting.parts.part import CONSTANTS, POSTERIOR, Groups, all_paths, flat
from bayescal.fitting.results import storage
from bayescal.fitting.scores import KLASS, BinaryScores
from bayescal.inference.design_effect import DesignEffect

LIKELIHOOD = "maximum_likelihood"

# Results of a fit: the groups of its tree by their paths, and the tree on request.


class PosteriorTree(xr.DataTree):  # type: ignore[no-untyped-call]
    """A DataTree with an error message for ArviZ before 1.0, which does not support trees."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        """Raise TypeError: ArviZ before 1.0 converts unknown objects to arrays."""
        raise TypeError(
            "cannot directly convert a DataTree into a numpy array, as ArviZ before 1.0 does: use"
            " arviz_stats.summary(posterior_), or arviz.summary(posterior_['posterior']"
            ".to_dataset())."
        )


@dataclass(frozen=True)
class Results:
    """The results of a fit, read by their groups: converting to and from trees is slow."""

    groups: Groups  # the groups of its tree by their paths
    attrs: Mapping[str, Any] = field(default_factory=dict)  # provenance: versions, seed, arguments

    @classmethod
    def of_tree(cls, tree: xr.DataTree) -> Self:
        """Return the results of a tree."""
        return cls(flat(tree), {str(name): each for name, each in tree.attrs.items()})

    @cached_property
    def tree(self) -> xr.DataTree:
        """The tree, made on access."""
        tree = PosteriorTree.from_dict(self.shown)
        tree.attrs.update(self.attrs)
        return tree

    def __getstate__(self) -> dict[str, Any]:
        # Plain arrays: skops does not read datasets, whose class has __slots__.
        groups = {path: each.to_dict(data="array") for path, each in self.groups.items()}
        return {"groups": groups, "attrs": dict(self.attrs)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        groups = {path: xr.Dataset.from_dict(each) for path, each in state["groups"].items()}
        vars(self).update(groups=groups, attrs=state["attrs"])

    @property
    def shown(self) -> dict[str, xr.Dataset]:
        """Return the groups of the tree, with draws in raw score units."""
        return raw_groups(self.groups) | dict(self.groups)

    @property
    def has_posterior(self) -> bool:
        """Return whether there are posterior draws."""
        return any(POSTERIOR in (paths.raw, *paths.draws) for paths in all_paths(self.groups))


def kept_below(path: str, results: Results) -> dict[str, xr.Dataset]:
    """Return the groups that keep other results below a path."""
    below = {f"{path}/{own}": group for own, group in results.groups.items()}
    return {path: xr.Dataset(attrs=dict(results.attrs)), **below}


def read_below(path: str, groups: Groups) -> Results | None:
    """Return the results that `kept_below` keeps, if any."""
    if path not in groups:
        return None
    start = f"{path}/"
    below = {own.removeprefix(start): g for own, g in groups.items() if own.startswith(start)}
    return Results(below, groups[path].attrs)


def problem_groups(
    data: BinaryScores, fits: ClassFits, posterior: Mapping[str, xr.Dataset]
) -> dict[str, xr.Dataset]:
    """Return the groups of a fit of one problem: posterior, documents, maximum likelihood."""
    (centre, spread), (low, high) = data.centre_and_spread, data.score_range
    datasets = {
        **posterior,
        "observed_data": xr.Dataset(
            {
                "score": ("document", data.score, {"long_name": data.name}),
                "label": ("document", data.positive.astype(np.int64)),
            },
            {} if data.document is None else {"document": data.document},
        ),
        CONSTANTS: xr.Dataset(
            {
                "weight": ("document", data.weights),
                "centre": centre,
                "spread": spread,
                "lowest": low,
                "highest": high,
            }
            | ({} if data.base_rate is None else {"base_rate": ("beta", list(data.base_rate))})
            | ({} if data.cluster is None else {"cluster": ("document", data.cluster)}),
            attrs={
                "scores_are": data.scores_are,
                "probability_ends": list(data.ends),
                "by_score": int(data.by_score),
                "factor": data.factor,
            },
        ),
        LIKELIHOOD: _fits_to_dataset(fits),
    }
    if data.covariates is not None:
        datasets[COVARIATES] = data.covariates.dataset()
    return datasets


def read_fits(groups: Groups) -> ClassFits:
    """Return the maximum-likelihood fits of one problem."""
    dataset = groups[LIKELIHOOD]
    names = dataset.attrs["parameters"].split()
    negative, positive = (_fit_of(dataset, position, names) for position in range(len(KLASS)))
    family = FAMILIES[dataset.attrs["family"]]
    return ClassFits(family, negative, positive, float(dataset.variables["prior"]))


def read_documents(groups: Groups) -> BinaryScores:
    """Return the documents that `problem_groups` stored, with their weights and units."""
    observed, constants = groups["observed_data"], groups[CONSTANTS]
    clusters = constants.get("cluster")
    return BinaryScores(
        observed["score"].values,
        observed["label"].values == 1,
        constants["weight"].values,
        str(constants.attrs["scores_are"]),
        observed["score"].attrs.get("long_name", "score"),
        (float(constants["centre"]), float(constants["spread"])),
        read_ends(groups),
        read_base_rate(groups),
        bool(constants.attrs["by_score"]),
        Covariates.of(groups),
        float(constants.attrs.get("factor", 1.0)),
        None if clusters is None else clusters.values.astype(np.str_),
        observed["document"].values if "document" in observed.coords else None,
    )


def read_scores_are(groups: Groups) -> str:
    """Return the meaning of users' scores; results hold the log-odds of probabilities."""
    return str(groups[CONSTANTS].attrs["scores_are"])


def read_base_rate(groups: Groups) -> tuple[float, float] | None:
    """Return the beta of P(+) in the collection, for documents with inclusion probabilities."""
    base_rate = groups[CONSTANTS].get("base_rate")
    return None if base_rate is None else (float(base_rate[0]), float(base_rate[1]))


CLUSTERS = "clusters"  # the group of a design effect


def read_effect(groups: Groups) -> DesignEffect | None:
    """Return the design effect of clusters; None of independent documents."""
    if CLUSTERS not in groups:
        return None
    return DesignEffect(**{str(name): each.item() for name, each in groups[CLUSTERS].items()})


def read_ends(groups: Groups) -> tuple[float, float]:
    """Return the probabilities that replace 0 and 1."""
    low, high = groups[CONSTANTS].attrs["probability_ends"]
    return float(low), float(high)


def _fits_to_dataset(fits: ClassFits) -> xr.Dataset:
    both = (fits.negative, fits.positive)
    names = list(fits.negative.parameters)
    variables: dict[str, Any] = {
        name: ("klass", [fit.parameters[name] for fit in both]) for name in names
    }
    variables |= {
        "log_likelihood": ("klass", [fit.log_likelihood for fit in both]),
        "total_weight": ("klass", [fit.weight for fit in both]),
        "scale_floor": ("klass", [fit.scale_floor.floor for fit in both]),
        "scale_floor_rule": ("klass", [fit.scale_floor.name for fit in both]),
        "scale_floor_acted": ("klass", [" ".join(fit.scale_floor.acted) for fit in both]),
        "prior": fits.prior,
    }
    attrs = {"family": fits.family.name, "parameters": " ".join(names)}
    return xr.Dataset(variables, {"klass": list(KLASS)}, attrs)


def _fit_of(dataset: xr.Dataset, position: int, names: list[str]) -> FamilyFit:
    # Variables are faster than arrays with coordinates, in every fit.
    values = {name: each.values[position] for name, each in dataset.variables.items() if each.ndim}
    return FamilyFit(
        parameters={name: float(values[name]) for name in names},
        # Results of topics store neither the log-likelihood nor the floor.
        log_likelihood=float(values.get("log_likelihood", np.nan)),
        weight=float(values["total_weight"]),
        scale_floor=ScaleFloor(
            str(values.get("scale_floor_rule", "")),
            float(values.get("scale_floor", 0.0)),
            tuple(str(values.get("scale_floor_acted", "")).split()),
        ),
    )


# Provenance of a tree: versions, arguments and classes, which reconstruct the estimator.

ESTIMATOR = "bayescal_estimator"  # the attribute of the estimator's name
PARAMETERS = "bayescal_parameters"  # the attribute of the estimator's parameters
PACKAGES = ("bayescal", "pymc", "numpy", "scipy", "xarray")


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    names = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            names[package] = version(package)
        except PackageNotFoundError:  # a bare checkout on the path, not installed
            names[package] = "not installed"
    return names


def describe(
    estimator: str, parameters: Mapping[str, Any], classes: NDArray[Any]
) -> dict[str, str]:
    """Return the attributes of a tree, as JSON texts."""
    return {
        ESTIMATOR: estimator,
        "bayescal_versions": json.dumps(versions()),
        PARAMETERS: json.dumps({name: encode(value) for name, value in parameters.items()}),
        "bayescal_classes": json.dumps({"dtype": classes.dtype.str, "values": classes.tolist()}),
    }


def check_made_by(estimator: str, tree: xr.DataTree, path: str | Path) -> None:
    """Raise ValueError unless a file was written by an estimator of this name."""
    if (other := tree.attrs[ESTIMATOR]) != estimator:
        raise ValueError(f"{path} holds a {other}: bayescal.load reads it.")


def read(attrs: Mapping[Any, Any]) -> tuple[dict[str, Any], NDArray[Any]]:
    """Return the estimator's parameters and classes from a tree's attributes."""
    parameters = {name: decode(each) for name, each in json.loads(attrs[PARAMETERS]).items()}
    classes = json.loads(attrs["bayescal_classes"])
    return parameters, np.array(classes["values"], dtype=np.dtype(classes["dtype"]))


Parameters = TypeVar("Parameters")


class Fit(Generic[Parameters]):
    """An immutable fitted model: an update returns another fit."""

    estimator: ClassVar[str]  # the name of the estimator's class, stored in files
    parameter_type: ClassVar[type[Any]]  # the dataclass of parameters that the estimator inherits

    def __init__(self, parameters: Parameters, results: Results, classes: NDArray[Any]) -> None:
        self.parameters, self.results, self.classes = parameters, results, classes
        self._prepare()

    def _prepare(self) -> None:
        """Set attributes that derive from the results."""

    @classmethod
    def of_groups(cls, parameters: Parameters, groups: Groups, classes: NDArray[Any]) -> Self:
        """Return the fit of new groups, with their provenance."""
        attrs = describe(cls.estimator, cls.saved_parameters(parameters), classes)
        return cls(parameters, Results(groups, attrs), classes)

    @classmethod
    def from_results(cls, results: Results) -> Self:
        """Return the fit that made results."""
        parameters, classes = read(results.attrs)
        return cls(cls.parameter_type(**parameters), results, classes)

    @classmethod
    def saved_parameters(cls, parameters: Parameters) -> dict[str, Any]:
        """Return the parameters to store in the attributes of results, by name."""
        return dict(vars(parameters))

    @property
    def groups(self) -> Groups:
        """Return the groups of results by their paths."""
        return self.results.groups

    @property
    def tree(self) -> xr.DataTree:
        """Return the tree of results."""
        return self.results.tree

    @property
    def design_effect(self) -> DesignEffect | None:
        """Return the design effect of clusters; None without any."""
        return read_effect(self.groups)

    @property
    def turned(self) -> bool:
        """Return whether the positive class is the first of the two in sorted order."""
        return bool(self.classes[0] > self.classes[1])

    def save(self, path: str | Path) -> Path:
        """Write the fit to a netCDF file; raise ValueError for a parameter no file can hold."""
        for name, value in json.loads(self.results.attrs[PARAMETERS]).items():
            if unknown := first_unknown(value):
                raise ValueError(
                    f"the parameter {name} of the {self.estimator} cannot be saved: no file can"
                    f" hold {unknown}. Set {name} to numbers, text, lists or dicts of these, or"
                    " objects of bayescal such as Densities, and fit again; or pickle the"
                    " calibrator."
                )
        return storage.write_tree(self.tree, path)

    def __getstate__(self) -> dict[str, Any]:
        # Everything else derives from these.
        return {name: getattr(self, name) for name in ("parameters", "results", "classes")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]
