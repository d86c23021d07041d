"""Fit: parameters, results and classes, which a fitted estimator and a file hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import xarray as xr
from numpy.typing import NDArray

from bayescal.fitting.parts.part import Groups
from bayescal.fitting.results import storage
from bayescal.fitting.results import tree as provenance
from bayescal.fitting.results.tree import Results

Parameters = TypeVar("Parameters")


class Fit(Generic[Parameters]):
    """An immutable fitted model: an update returns another fit."""

    estimator: ClassVar[str]  # the name of the estimator's class, stored in files
    parameter_type: ClassVar[type[Any]]  # the dataclass of parameters that the estimator inherits

    def __init__(self, parameters: Parameters, results: Results, classes: NDArray[Any]) -> None:
        self.parameters, self.results, self.classes = parameters, results, classes

    @classmethod
    def of_groups(cls, parameters: Parameters, groups: Groups, classes: NDArray[Any]) -> Self:
        """Return the fit of new groups, with their provenance."""
        attrs = provenance.describe(cls.estimator, cls.saved_parameters(parameters), classes)
        return cls(parameters, Results(groups, attrs), classes)

    @classmethod
    def from_results(cls, results: Results) -> Self:
        """Return the fit that made results."""
        parameters, classes = provenance.read(results.attrs)
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
    def turned(self) -> bool:
        """Return whether the positive class is the first of the two in sorted order."""
        return bool(self.classes[0] > self.classes[1])

    def save(self, path: str | Path) -> Path:
        """Write the fit to a netCDF file; raise ValueError for a parameter no file can hold."""
        provenance.check_parameters_saved(self.results.attrs)
        return storage.write_tree(self.tree, path)

    def __getstate__(self) -> dict[str, Any]:
        # Everything else derives from these.
        return {name: getattr(self, name) for name in ("parameters", "results", "classes")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]
