"""Class densities: Bayes' rule makes log-odds of p(s | class) and of the class prior."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import xarray as xr

from bayescal.families import FAMILIES, Family, Fit
from bayescal.families.draws import density_draws, raw_shapes
from bayescal.families.warps import IDENTITY
from bayescal.fitting.curves.class_draws import ClassDraws, read_draws, read_mixture
from bayescal.fitting.engines.exact.engine import (
    EFFICIENCY_LIMIT,
    DensityFit,
    draw_prior,
    fit_densities,
)
from bayescal.fitting.engines.exact.mixture import Hyperparameters, resolve
from bayescal.fitting.engines.maximum_likelihood import ClassFits
from bayescal.fitting.parts.configured import ASINH_SCALES
from bayescal.fitting.parts.part import (
    POSTERIOR,
    UNITS,
    Block,
    Finding,
    Groups,
    Options,
    Part,
    PartFit,
    PartPaths,
    Reading,
    Row,
    Task,
    own_paths,
    paths_of,
)
from bayescal.fitting.posterior import DRAWS, Posterior
from bayescal.fitting.scores import KLASS, BinaryScores

LONG_NAMES = {
    "mode": "mode of the density, in raw score units",
    "left_width": "distance to the left of the mode with 1/e of its side's mass beyond",
    "right_width": "distance to the right of the mode with 1/e of its side's mass beyond",
}
SHAPES = tuple(LONG_NAMES)


class DensitiesPart(Part):
    """Densities of both classes, of one family or of several, on raw or on warped scores."""

    name = "densities"
    # With few documents of classes that overlap, two densities apart promise more than they hold.
    pseudo_documents = 0.5
    importance_weighted = False  # accepted or rejected
    models_scores = True
    hyperparameters = frozenset(field.name for field in fields(Hyperparameters)) - UNITS

    def joins(self, data: BinaryScores, options: Options) -> bool:
        """Return True."""
        return True

    def fit(self, task: Task) -> DensityFit:
        """Return their posterior."""
        options = task.options
        return fit_densities(
            options.families,
            task.data,
            task.rng,
            draws=options.draws * options.chains,
            hyperparameters=self.hyperparameters_of(options),
            asinh_scales=asinh_scales_of(options),
            averaging=options.averaging,
            monotone=options.monotone,
        )

    def paths(self, fit: PartFit, *, first: bool) -> PartPaths:
        """Return where a tree keeps them: of one family on raw scores, where people read."""
        if isinstance(fit, DensityFit) and fit.plain and first:
            return own_paths(self.name, self.name)
        return paths_of(self.name, self.name, first=first)

    def store(self, fit: Any, *, first: bool, shape: tuple[int, int]) -> dict[str, xr.Dataset]:
        """Return the groups of their draws and diagnostics."""
        paths = self.paths(fit, first=first)
        return paths.note() | {paths.draws[0]: fit.dataset(*shape), paths.evidence: fit.evidence()}

    def read(self, groups: Groups, paths: PartPaths, reading: Reading) -> ClassDraws:
        """Return their draws."""
        draws = groups[paths.draws[0]]
        if "family" in {*draws.variables, *draws.attrs}:
            return read_mixture(draws, reading.whose(paths.name))
        # Of one family on raw scores, that of maximum likelihood.
        family = FAMILIES[groups["maximum_likelihood"].attrs["family"]]
        return read_draws(family, draws, reading.whose(paths.name))

    def raw(self, curves: Posterior, draws: xr.Dataset, reading: Reading) -> xr.Dataset:
        """Return mode, left_width and right_width of every draw; see `density_shapes`."""
        assert curves.densities is not None  # noqa: S101
        return shapes(curves.densities, draws)

    def rows(
        self, fits: ClassFits, posterior: xr.Dataset, paths: PartPaths, labels: tuple[str, str]
    ) -> Iterator[Row]:
        """Yield mode and widths, or the parameters of one family on raw scores, by class."""
        return rows_of_classes(fits, posterior, labels, mixed=paths.draws != (POSTERIOR,))

    def findings(self, name: str, evidence: xr.Dataset) -> Iterator[Finding]:
        """Yield what is wrong with the grid and with the proposals."""
        if not evidence["resolved"].all():
            yield Finding(
                "the exact engine's grid did not resolve the posterior of {whose}",
                "check the scores for extreme outliers, or use inference='nuts'",
                name,
            )
        efficiency = float(evidence["efficiency"].min(skipna=False))
        if not efficiency >= EFFICIENCY_LIMIT:
            yield Finding(
                f"the exact engine's proposals of {{whose}} have efficiency {efficiency:.2f} (limit"
                f" {EFFICIENCY_LIMIT})",
                "use inference='nuts'",
                name,
            )

    def describe(self, options: Options, scale: tuple[float, float] | None) -> list[Block]:
        """Return Bayes' rule, the warps, the families and their priors."""
        hyperparameters = self.hyperparameters_of(options)
        return [density_block(options.families, asinh_scales_of(options), scale, hyperparameters)]

    def prior(self, task: Task, curves: Posterior, posterior: xr.Dataset) -> xr.Dataset:
        """Return one chain of draws from the prior, of the variables of the posterior."""
        options = task.options
        parameters = draw_prior(
            options.families,
            task.data,
            task.rng,
            draws=options.draws,
            hyperparameters=self.hyperparameters_of(options),
            asinh_scales=asinh_scales_of(options),
            monotone=options.monotone,
        )
        drawn = parameters.dataset(1, options.draws)
        return drawn if parameters.plain else shapes(read_mixture(drawn), drawn)


def density_block(
    families: tuple[Family, ...],
    warps: tuple[float, ...],
    scale: tuple[float, float] | None,
    hyperparameters: Mapping[str, float],
) -> Block:
    """Return the text of class densities and their priors; without `scale` for several problems."""
    prior = resolve(families, scale or (0.0, 1.0), hyperparameters)
    return Block(
        "densities", {"families": families, "warps": warps, "prior": prior, "scale": scale}
    )


def asinh_scales_of(options: Options) -> tuple[float, ...]:
    """Return the warps: those asked for, or all if families or parts are weighted anyway."""
    asked = options.warps.get(DENSITIES.name)
    if asked is not None:
        return asked
    return ASINH_SCALES if options.combined or len(options.families) > 1 else (IDENTITY,)


def shapes(densities: ClassDraws, draws: xr.Dataset) -> xr.Dataset:
    """Return mode and widths of every draw in raw score units (chain, draw, klass)."""
    both = np.stack([raw_shapes(each) for each in (densities.negative, densities.positive)])
    shape = tuple(draws.sizes[dim] for dim in DRAWS)
    variables = {
        name: (
            (*DRAWS, "klass"),
            np.moveaxis(both[:, k].reshape(len(KLASS), *shape), 0, -1),
            {"long_name": LONG_NAMES[name]},
        )
        for k, name in enumerate(SHAPES)
    }
    coords = {name: draws[name].variable for name in (*DRAWS, "klass")}
    return xr.Dataset(variables | {"prior": draws["prior"].variable}, coords)


def rows_of_classes(
    fits: ClassFits, inferred: xr.Dataset | None, labels: tuple[str, str], *, mixed: bool
) -> Iterator[Row]:
    """Yield the rows of a summary, class by class."""
    both = ((False, fits.negative), (True, fits.positive))
    for klass, label, (positive, fit) in zip(KLASS, labels, both, strict=True):
        family = fits.family.of_class(positive)
        for name, mle in (_shape_of_fit(family, fit) if mixed else _parameters_of(fit)).items():
            draws = None if inferred is None else inferred[name].sel(klass=klass)
            yield (label, name), mle, draws


def _parameters_of(fit: Fit) -> dict[str, dict[str, Any]]:
    return {name: _mle(fit, name, value) for name, value in fit.parameters.items()}


def _shape_of_fit(family: Family, fit: Fit) -> dict[str, dict[str, Any]]:
    """Return mode and widths of a fit, which draws of other families and warps have too."""
    sides = np.stack(family.sides(*map(np.atleast_1d, fit.parameters.values())))
    one = density_draws((family,), np.zeros(1, np.intp), sides, np.array([IDENTITY]), 0.0)
    own = (family.parameters[k] for k in family.by_side)
    shapes = zip(own, SHAPES, raw_shapes(one)[:, 0].tolist(), strict=True)
    return {name: _mle(fit, parameter, value) for parameter, name, value in shapes}


def _mle(fit: Fit, parameter: str, value: float) -> dict[str, Any]:
    return {
        "mle": value,
        "guard": fit.scale_floor.name if parameter in fit.scale_floor.acted else "",
    }


DENSITIES = DensitiesPart()
