"""Class densities in numpy: functions of scores, maximum likelihood, warps, draws."""

from functools import partial

import numpy as np

from bayescal import families
from bayescal.families import FAMILIES, Family, automatic_floor, side_units, warps
from bayescal.families import draws as of_draws
from bayescal.families._profile import BLOCK
from tests.same_numbers.plain import outcome

RECORDS = FAMILIES | {"mirrored": FAMILIES["hybrid"].of_class(True)}
TWO_SIDED = ("asymmetric_laplace", "asymmetric_gaussian", "hybrid")
SIDES = {"steep": (0.3, 0.7, 2.5), "flat": (-2.0, 40.0, 0.3)}
# Apart: beside large numbers small ones are compared less closely.
SCORES = {
    "near": [-3.0, -0.4, 0.0, 0.3, 0.31, 1.0, 3.3],
    "far": [-800.0, -39.0, 41.0, 900.0],
    "beyond": [-1e200, 1e200],
}
FUNCTIONS = ("logpdf", "cdf", "logcdf", "logsf")
SHARES = [-0.1, 0.0, 1e-20, 0.1, 0.3, 0.4375, 0.7, 0.999, 1.0, 1.2]
SKEWED = np.r_[np.random.default_rng(3).gamma(1.5, 2.0, 19), -1.0, 2.0, 2.0, 2.0, 11.5]
TWO_CLUMPS = np.r_[np.linspace(-7.0, -5.5, 7), 0.2, 4.0 + np.linspace(0.0, 1.0, 9) ** 2]
WEIGHTS = np.r_[np.random.default_rng(4).integers(0, 4, 19), 1, 0, 2, 1, 3].astype(float)
DATA = {
    "skewed": (SKEWED, None),
    "weighted": (SKEWED, WEIGHTS),
    "two clumps": (TWO_CLUMPS, None),
    "reflected clumps": (-TWO_CLUMPS, TWO_CLUMPS**2),
    "far away": (1e8 + SKEWED, None),
    "tiny": (1e-200 * SKEWED, None),
    "huge": (1e148 * TWO_CLUMPS, None),
    "one": ([3.5], None),
    "two": ([1.0, 4.0], [1.0, 2.5]),
    "equal": ([2.0, 2.0, 2.0], None),
    "zeros": ([0.0, 0.0], None),
    "symmetric": ([-3.0, -1.0, 1.0, 3.0], None),
    "an end": ([0.0, 0.0, 0.0, 1.0, 5.0], None),
}
FLOORS = ["auto", None, 0.3, 1.0, 30.0, 1e160]
REFUSED = [0.0, -1.0, np.inf, np.nan, True, "off"]


def functions_of(name, sides):
    """Return every function of a family's density at one pair of sides."""
    family = RECORDS[name]
    own = family.from_sides(*SIDES[sides])
    return {
        "order": family.by_side,
        "parameters": own,
        "sides": family.sides(*own),
        **{f: _everywhere(getattr(family, f), own) for f in FUNCTIONS},
        "ppf": family.ppf(SHARES, *own),
        "moments": (family.mean(*own), family.variance(*own)),
        "rvs": family.rvs(*own, size=(2, 4), rng=5),
        "one draw": family.rvs(*own, rng=6),
        "by name": family.logpdf(0.7, **dict(zip(family.parameters, own, strict=True))),
        "many": family.variance([[0.0], [1.0]], *([0.5, 1.0, 2.0],) * (len(own) - 1)),
    }


def _everywhere(function, own):
    return {where: function(scores, *own) for where, scores in SCORES.items()}


def module_functions(name):
    """Return the results of the functions in a family's own module."""
    module = getattr(families, name)
    own = FAMILIES[name].from_sides(*SIDES["steep"])
    return {
        **{f: getattr(module, f)(SCORES["near"], *own) for f in FUNCTIONS},
        "ppf": module.ppf(SHARES, *own),
        "moments": (module.mean(*own), module.variance(*own)),
        "rvs": module.rvs(*own, size=3, rng=2),
        "fit": module.fit(SKEWED),
        "other fit": module.fit(SKEWED, WEIGHTS, candidates="bennett", scale_floor=0.4),
    }


def fits_of(name):
    """Return a family's fits of all data, with each kind of floor and of candidate modes."""
    family = RECORDS[name]
    fits = {data: family.fit(*DATA[data]) for data in DATA}
    for floor in FLOORS:
        fits[f"weighted, floor {floor}"] = family.fit(SKEWED, WEIGHTS, scale_floor=floor)
    for data in ("weighted", "two clumps"):
        fits[f"{data}, bennett"] = family.fit(*DATA[data], candidates="bennett")
        fits[f"{data}, bennett, free"] = family.fit(
            *DATA[data], candidates="bennett", scale_floor=None
        )
        fits[f"{data}, free"] = family.fit(*DATA[data], scale_floor=None)
    return {each: _numbers_of(fit) for each, fit in fits.items()}


def _numbers_of(fit):
    floor = fit.scale_floor
    numbers = [*fit.parameters.values(), fit.log_likelihood, fit.weight, floor.floor]
    return [*([each] for each in numbers), [floor.name, *floor.acted]]  # each on its own scale


def many_fits():
    """Return fits of small random samples: the searches between scores take other ways in each."""
    rng = np.random.default_rng(8)
    samples = [rng.standard_t(2, size=rng.integers(2, 12)).round(2) for _ in range(12)]
    return {
        name: [
            _numbers_of(FAMILIES[name].fit(sample, scale_floor=None if sample.size % 2 else "auto"))
            for sample in samples
        ]
        for name in TWO_SIDED
    }


def fits_of_many_scores():
    """Return fits of more scores than the search takes at once."""
    scores = np.random.default_rng(9).normal(size=BLOCK + 7) ** 3
    return [FAMILIES[name].fit(scores) for name in TWO_SIDED]


def refusals():
    """Return the errors of families."""
    family, hybrid = FAMILIES["gaussian"], FAMILIES["hybrid"]
    asked = {
        "powers": partial(Family, "cubic", ("theta", "scale"), (3, 3), True),
        "missing": partial(family.logpdf, 0.0, 1.0),
        "unknown": partial(family.logpdf, 0.0, 1.0, beta=2.0),
        "too many": partial(family.logpdf, 0.0, 1.0, 2.0, 3.0),
        "not positive": partial(hybrid.cdf, 0.0, 1.0, [1.0, 0.0], 2.0),
        "size": partial(hybrid.rvs, 0.0, [1.0, 2.0, 3.0], 2.0, size=2),
        "more dimensions": partial(hybrid.rvs, 0.0, [[1.0], [2.0]], 2.0, size=2),
        "candidates": partial(family.fit, SKEWED, candidates="all"),
        **{f"floor {f}": partial(family.fit, SKEWED, scale_floor=f) for f in REFUSED},
    }
    return {name: outcome(function) for name, function in asked.items()}


def warped():
    """Return warps, their inverses and Jacobians."""
    scores = np.array([-1e6, -3.0, 0.2, 0.5, 7.0, 1e6])
    said = {}
    for bend in (0.4, 3.0, warps.IDENTITY):
        there = warps.warp(scores, 0.5, bend)
        said[str(bend)] = {
            "warp": there,
            "unwarp": warps.unwarp(there, 0.5, bend),
            "standardised": warps.standardise(scores, 0.5, 1.7, bend),
            "spread": warps.warped_spread(0.5, 1.7, bend),
            "jacobian": warps.log_jacobian(scores, 0.5, bend),
        }
    return said | {
        "floor": [automatic_floor(2.0, 9.0), automatic_floor(0.7, 20.0, 2.5)],
        "units": [side_units(powers) for powers in ((1, 1), (2, 2), (1, 2), (2, 1))],
    }


def _draws(names, bends, n=18):
    """Return random draws of families' densities, with modes on both sides of the centre."""
    rng = np.random.default_rng(len(names) + 10 * len(bends))
    sides = np.stack([rng.normal(0.5, 3.0, n), *rng.lognormal(0.0, 1.2, (2, n))])
    sides[:, 0] = 0.5, 2.0, 1.0  # at the centre
    family = tuple(RECORDS[name] for name in names)
    symmetric = np.array([each.symmetric for each in family])
    which = rng.integers(0, len(names), n)
    sides[2] = np.where(symmetric[which], sides[1], sides[2])
    return of_draws.density_draws(family, which, sides, rng.choice(bends, n), 0.5)


def drawn(names, bends):
    """Return everything that draws of a density answer."""
    density = _draws(names, bends)
    scores = np.array([-90.0, -2.0, 0.5, 0.9, 4.0, 300.0])
    part = density.take(np.array([5, 0, 3]))
    return {
        "draws": density,
        "size": density.size,
        "logpdf": density.logpdf(scores),
        "warped": density.log_density_warped(scores),
        "cdf": density.cdf(scores),
        "sample": density.sample(7, np.random.default_rng(0)),
        "shapes": of_draws.raw_shapes(density),
        "taken": part,
        "taken, cdf": part.cdf(scores),
    }


def monotone():
    """Return for which of random draws of both classes log-odds never fall, by families."""
    rng = np.random.default_rng(12)
    n = 160
    theta = rng.normal(0.0, 1.0, (2, n)).round(1)
    theta[1, ::3] = theta[0, ::3]  # equal modes
    left, right = rng.choice([0.5, 1.0, 2.0, 3.0], (2, 2, n))
    powers = rng.choice([1, 2], (2, n))
    said = {}
    for name, of_class in {
        "exponential": ((1, 1), (1, 1)),
        "gaussian": ((2, 2), (2, 2)),
        "hybrid": ((2, 1), (1, 2)),
        "mixed": (powers, powers[::-1]),
    }.items():
        pair = [
            (np.broadcast_to(np.reshape(of_class[k], (2, -1)), (2, n)), theta[k], left[k], right[k])
            for k in (0, 1)
        ]
        same = [pair[0], (pair[1][0], pair[1][1], pair[0][2], pair[0][3])]
        said[name] = of_draws.is_monotone(*pair)
        said[f"{name}, same sides"] = of_draws.is_monotone(*same)
    return {name: "".join("01"[int(each)] for each in which) for name, which in said.items()}


CASES = {
    "records": lambda: RECORDS,
    **{f"{n}, {s}": partial(functions_of, n, s) for n in RECORDS for s in SIDES},
    **{f"{name}, module": partial(module_functions, name) for name in FAMILIES},
    **{f"{name}, fits": partial(fits_of, name) for name in RECORDS},
    "many fits": many_fits,
    "many scores": fits_of_many_scores,
    "errors": refusals,
    "warps": warped,
    "draws, gaussian": partial(drawn, ["gaussian"], [2.0, 0.7]),
    "draws, laplace": partial(drawn, ["laplace", "asymmetric_laplace"], [np.inf]),
    "draws, mirrored": partial(drawn, ["mirrored"], [1.5]),
    "draws, all": partial(drawn, list(RECORDS), [0.8, 4.0, np.inf]),
    "monotone": monotone,
}
