"""Class densities: log-odds by Bayes' rule from p(s | class) and the class prior."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import xarray as xr

from bayescal.families import FAMILIES, Family, FamilyFit
from bayescal.families.draws import IDENTITY, density_draws, raw_shapes
from bayescal.fitting.engines.exact import engine
from bayescal.fitting.engines.exact.engine import DensityFit, DensitySides
from bayescal.fitting.engines.exact.joint_density import Hyperparameters, resolve
from bayescal.fitting.engines.point_estimates import ClassFits
from bayescal.fitting.parts import part
from bayescal.fitting.parts.configured import ASINH_SCALES
from bayescal.fitting.parts.part import Block, Finding, Options, Part, PartPaths, Reading, Row, Task
from bayescal.fitting.posterior import DRAWS, Posterior, draw_coords
from bayescal.fitting.scores import KLASS, NOTHING, BinaryScores
from bayescal.support.validation import Floats

SHAPES = ("mode", "left_width", "right_width")


class DensitiesPart(Part):
    """Densities of both classes, of one family or of several, on raw or on warped scores."""

    name = "densities"
    # Densities are over-confident with few documents of overlapping classes.
    pseudo_documents = 0.5
    importance_weighted = False  # rejection sampling
    models_scores = True
    hyperparameters = frozenset(field.name for field in fields(Hyperparameters)) - part.UNITS
    kind_of_draws = DensitySides

    def joins(self, data: BinaryScores, options: Options) -> bool:
        """Return True."""
        return True

    def fit(self, task: Task) -> DensityFit:
        """Return their posterior."""
        options = task.options
        return self._fit(task, task.data, options.draws * options.chains)

    def _fit(self, task: Task, data: BinaryScores, draws: int) -> DensityFit:
        options = task.options
        return engine.fit_densities(
            options.families,
            data,
            task.rng,
            draws=draws,
            hyperparameters=self.hyperparameters_of(options),
            asinh_scales=asinh_scales_of(options),
            averaging=options.averaging,
            scale=task.data.centre_and_spread,
            # Other parts, or their weights, read what is left out.
            refit=options.parts != (self.name,),
        )

    def raw(self, curves: Posterior, draws: xr.Dataset, reading: Reading) -> xr.Dataset:
        """Return the family's parameters; mode and widths for several families or warps."""
        assert isinstance(curves, DensitySides)  # noqa: S101
        return in_raw_units(curves, part.shape_of(draws))

    def rows(
        self, fits: ClassFits, posterior: xr.Dataset, paths: PartPaths, labels: tuple[str, str]
    ) -> Iterator[Row]:
        """Yield mode and widths, or the parameters of one family on raw scores, by class."""
        return rows_of_classes(fits, posterior, labels, mixed=SHAPES[0] in posterior)

    def findings(self, name: str, evidence: xr.Dataset) -> Iterator[Finding]:
        """Yield problems of the grid and of the proposals."""
        if not evidence["resolved"].all():
            yield Finding(
                "the exact engine's grid did not resolve the posterior of {whose}",
                "check the scores for extreme outliers, or use inference='nuts'",
                name,
            )
        efficiency = float(evidence["efficiency"].min(skipna=False))
        if not efficiency >= engine.EFFICIENCY_LIMIT:
            yield Finding(
                f"the exact engine's proposals of {{whose}} have efficiency {efficiency:.2f} (limit"
                f" {engine.EFFICIENCY_LIMIT})",
                "use inference='nuts'",
                name,
            )

    def describe(self, options: Options, scale: tuple[float, float] | None) -> list[Block]:
        """Return Bayes' rule, the warps, the families and their priors."""
        hyperparameters = self.hyperparameters_of(options)
        return [density_block(options.families, asinh_scales_of(options), scale, hyperparameters)]

    def prior(
        self, task: Task, curves: Posterior, posterior: xr.Dataset
    ) -> tuple[xr.Dataset, DensitySides]:
        """Return one chain of draws from the prior, of the variables of the posterior."""
        draws = task.options.draws
        sides = self._fit(task, NOTHING, draws).posterior
        return in_raw_units(sides, (1, draws)), sides


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
    """Return the warps of the options; by default all with several families or parts, else none."""
    asked = options.warps.get(DENSITIES.name)
    if asked is not None:
        return asked
    return ASINH_SCALES if options.combined or len(options.families) > 1 else (IDENTITY,)


def in_raw_units(sides: DensitySides, shape: tuple[int, int]) -> xr.Dataset:
    """Return draws in raw score units: the parameters of one family, or mode and widths."""
    if not sides.plain:
        return shapes(sides, shape)
    variables = _parameters(FAMILIES[sides.families[0]], sides.theta, sides.left, sides.right)
    return _dataset(variables | {"prior": sides.prior}, shape)


def _parameters(family: Family, theta: Floats, left: Floats, right: Floats) -> dict[str, Floats]:
    """Return the variables of the program named like the family."""
    variables = dict(zip(family.parameters, family.from_sides(theta, left, right), strict=True))
    width = left + right
    if not family.symmetric:
        variables["left_share"] = left / width
    if family.power == 2:
        return variables | {"squared_width": width**2}
    return variables | {"width": width}


def shapes(sides: DensitySides, shape: tuple[int, int]) -> xr.Dataset:
    """Return mode and widths of every draw in raw score units (chain, draw, klass)."""
    both = np.stack([raw_shapes(sides.of_class(klass)) for klass in range(2)], axis=-1)
    return _dataset(dict(zip(SHAPES, both, strict=True)) | {"prior": sides.prior}, shape)


def _dataset(variables: dict[str, Floats], shape: tuple[int, int]) -> xr.Dataset:
    dims = (*DRAWS, "klass")
    arrays = {
        name: (dims[: value.ndim + 1], value.reshape(*shape, *value.shape[1:]))
        for name, value in variables.items()
    }
    return part.described(xr.Dataset(arrays, draw_coords(shape) | {"klass": list(KLASS)}))


def rows_of_classes(
    fits: ClassFits, inferred: xr.Dataset | None, labels: tuple[str, str], *, mixed: bool
) -> Iterator[Row]:
    """Yield the rows of a summary, class by class."""
    for klass, label, fit in zip(KLASS, labels, (fits.negative, fits.positive), strict=True):
        own = {name: mle_of(fit, name, value) for name, value in fit.parameters.items()}
        for name, mle in (_shape_of_fit(fits.family, fit) if mixed else own).items():
            draws = None if inferred is None else inferred[name].sel(klass=klass)
            yield (label, name), mle, draws


def _shape_of_fit(family: Family, fit: FamilyFit) -> dict[str, dict[str, Any]]:
    """Return mode and widths of a fit, to compare with draws of other families and warps."""
    sides = np.stack(family.sides(*map(np.atleast_1d, fit.parameters.values())))
    one = density_draws((family,), np.zeros(1, np.intp), sides, np.array([IDENTITY]), 0.0)
    own = (*family.parameters[:2], family.parameters[-1])
    shapes = zip(own, SHAPES, raw_shapes(one)[:, 0].tolist(), strict=True)
    return {name: mle_of(fit, parameter, value) for parameter, name, value in shapes}


def mle_of(fit: FamilyFit, parameter: str, value: float) -> dict[str, Any]:
    """Return a value of maximum likelihood, and the guard if it acts on the parameter."""
    return {
        "mle": value,
        "guard": fit.scale_floor.name if parameter in fit.scale_floor.acted else "",
    }


DENSITIES = DensitiesPart()
