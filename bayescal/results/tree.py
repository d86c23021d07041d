"""The tree of a fit: an xarray.DataTree in ArviZ's schema, with the maximum-likelihood fit beside.

Groups: posterior and sample_stats (chain, draw, klass), observed_data and constant_data
(document), maximum_likelihood and, for inference "map", mode (klass). Each part of the model has a
group parts/<name>, whose attributes name its kind and the groups that hold its draws: those of the
first part are in the group posterior, in raw score units; those of others in parts/<name>/draws.
Where an engine draws in coordinates of its own these are in parts/<name>/engine_draws, what they
need in engine_constants beside them, and how well they were made in evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import xarray as xr

from bayescal.engines.data import KLASS, BinaryScores
from bayescal.engines.maximum_likelihood import ClassFits
from bayescal.families import FAMILIES, Fit, ScaleFloor
from bayescal.parts.part import Reading
from bayescal.parts.places import POSTERIOR, Groups, places
from bayescal.parts.stack import raw_groups
from bayescal.results.groups import Results
from bayescal.results.pickling import Packed, pack, unpack


@dataclass(frozen=True)
class ProblemResults(Results):
    """What a fit of one problem found; groups of draws in raw score units may be absent."""

    @property
    def shown(self) -> dict[str, xr.Dataset]:
        """Return the groups that the tree shows, with draws in raw score units."""
        return raw_groups(self.groups, reading_of(self.groups)) | dict(self.groups)

    @classmethod
    def of_packed(cls, packed: dict[str, Packed], attrs: Mapping[str, Any]) -> Self:
        """Return the results that were pickled."""
        return cls(unpack(packed), attrs)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of_packed, (pack(self.groups), self.attrs)

    @property
    def has_posterior(self) -> bool:
        """Return whether there are posterior draws."""
        return any(POSTERIOR in (place.raw, *place.draws) for place in places(self.groups))


def build_results(
    data: BinaryScores,
    fits: ClassFits,
    *,
    groups: Mapping[str, xr.Dataset] | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> ProblemResults:
    """
    Return the results of a fit.

    Parameters
    ----------
    data : BinaryScores
        Goes into observed_data (score, label 0 or 1) and constant_data (weight, centre, spread).
    fits : ClassFits
        Goes into maximum_likelihood.
    groups : mapping of str to Dataset
        What the engine made: those of the parts, and sample_stats; or mode.
    attrs : mapping
        Provenance: versions, seed, arguments.
    """
    centre, spread = data.centre_and_spread
    weight = np.ones(data.score.size) if data.weight is None else data.weight
    datasets = {
        **(groups or {}),
        "observed_data": xr.Dataset(
            {
                "score": ("document", data.score, {"long_name": data.name}),
                "label": ("document", data.positive.astype(np.int64)),
            }
        ),
        "constant_data": xr.Dataset(
            {"weight": ("document", weight), "centre": centre, "spread": spread},
            attrs={"scores_are": data.scores_are},
        ),
        "maximum_likelihood": _fits_to_dataset(fits),
    }
    return ProblemResults(datasets, attrs or {})


def reading_of(groups: Groups) -> Reading:
    """Return what parts may need to read their draws."""
    constants = groups["constant_data"]
    score_range = read_documents(groups).score_range
    return Reading(float(constants["centre"]), float(constants["spread"]), score_range, {})


def read_fits(groups: Groups) -> ClassFits:
    """Return the maximum-likelihood fits that `build_results` stored."""
    dataset = groups["maximum_likelihood"]
    names = dataset.attrs["parameters"].split()
    negative, positive = (_fit_of(dataset, position, names) for position in range(len(KLASS)))
    family = FAMILIES[dataset.attrs["family"]]
    return ClassFits(family, negative, positive, float(dataset["prior"]))


def read_documents(groups: Groups) -> BinaryScores:
    """Return the documents that `build_results` stored, with their weights and units."""
    observed, constants = groups["observed_data"], groups["constant_data"]
    return BinaryScores(
        observed["score"].values,
        observed["label"].values == 1,
        constants["weight"].values,
        str(constants.attrs["scores_are"]),
        observed["score"].attrs.get("long_name", "score"),
        (float(constants["centre"]), float(constants["spread"])),
    )


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


def _fit_of(dataset: xr.Dataset, position: int, names: list[str]) -> Fit:
    # Variables, not arrays with coordinates: every fit pays for this.
    found = {name: each.values[position] for name, each in dataset.variables.items() if each.ndim}
    return Fit(
        parameters={name: float(found[name]) for name in names},
        log_likelihood=float(found["log_likelihood"]),
        weight=float(found["total_weight"]),
        scale_floor=ScaleFloor(
            str(found["scale_floor_rule"]),
            float(found["scale_floor"]),
            tuple(str(found["scale_floor_acted"]).split()),
        ),
    )
