"""Class densities in PyMC: log densities at points, draws, transforms, tables of grouped scores."""

from functools import partial

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt

from bayescal import distributions
from bayescal.distributions import _symbolic, asymmetric_gaussian, asymmetric_laplace, hybrid
from bayescal.distributions.transforms import (
    Anchored,
    Relative,
    Standardised,
    of_beta,
    of_inverse_gamma,
)
from tests.same_numbers.plain import outcome

# Python's operations, without rewriting: the formulas as they stand, and nothing to compile.
PLAIN = pytensor.compile.mode.Mode(linker="py", optimizer=None)
VALUES = np.array([-700.0, -30.0, -3.0, -0.4, 0.3, 0.31, 0.5, 0.8, 3.3, 41.0, 900.0])
SHARES = np.array([-0.1, 0.0, 1e-20, 0.1, 0.3, 0.4375, 0.5, 0.7, 0.999, 1.0, 1.2])
MODULES = {
    "asymmetric_laplace": (asymmetric_laplace, ()),
    "asymmetric_gaussian": (asymmetric_gaussian, ()),
    "hybrid": (hybrid, (1.0,)),
    "mirrored": (hybrid, (-1.0,)),
}
PARAMETERS = {"steep": (0.3, 1.4, 0.4), "flat": (-2.0, 0.03, 3.5), "thin": (0.5, 1e-9, 2.0)}
DISTRIBUTIONS = {
    "asymmetric_laplace": (distributions.AsymmetricLaplace, (0.3, 1.4, 0.4)),
    "asymmetric_gaussian": (distributions.AsymmetricGaussian, (0.3, 1.4, 0.4)),
    "hybrid": (distributions.Hybrid, (0.3, 1.4, 0.4, 1)),
    "mirrored": (distributions.Hybrid, (0.3, 1.4, 0.4, -1)),
    "logit_beta": (distributions.LogitBeta, (0.2, 1.7)),
    "normal_mode": (distributions.NormalMode, (0.3, 1.4, 0.1, 3.0, 0.7)),
}
SHAPES = ((0.05, 2.0), (3.0, 0.02), (1.5, 1.5))
# Parameters of which one is not positive, or no sign.
WRONG = {
    "asymmetric_laplace": [(0.3, 0.0, 0.4), (0.3, 1.4, 0.0)],
    "asymmetric_gaussian": [(0.3, 0.0, 0.4), (0.3, 1.4, 0.0)],
    "hybrid": [(0.3, 0.0, 0.4, 1), (0.3, 1.4, 0.0, 1), (0.3, 1.4, 0.4, 0.5)],
    "logit_beta": [(0.0, 1.7), (0.2, 0.0)],
}


def compiled(inputs, **graphs):
    """Return a function that returns the values of graphs by name."""
    compute = pytensor.function(inputs, list(graphs.values()), mode=PLAIN)
    return lambda *values: dict(zip(graphs, compute(*values), strict=True))


def evaluated(**graphs):
    """Return the values of graphs without inputs, by name."""
    return compiled([], **graphs)()


def formulas(name):
    """Return log density, log tails and quantiles by the formulas of a module, and gradients."""
    module, facing = MODULES[name]
    own = [pt.dscalar() for _ in range(3)]
    ppf = next(c.ppf for n, c in vars(module).items() if n.endswith("RV"))
    value, every = pt.constant(VALUES), (*own, *map(pt.constant, facing))
    density = module.log_density(value, *every)
    compute = compiled(
        own,
        density=density,
        below=module.log_below(value, *every),
        above=module.log_above(value, *every),
        quantiles=ppf(pt.constant(SHARES), *every),
        slope=pt.grad(density.sum(), value),
        **{f"by {k}": pt.grad(density.sum(), own[k]) for k in range(3)},
    )
    return {where: _apart(compute(*PARAMETERS[where])) for where in PARAMETERS}


def _apart(said):
    # One at a time: beside large numbers small ones are compared less closely.
    return {each: np.reshape(numbers, (-1, 1)).tolist() for each, numbers in said.items()}


def of_distribution(name):
    """Return densities, tails, quantiles, draws and the start of chains of a distribution."""
    kind, parameters = DISTRIBUTIONS[name]
    own = [pt.constant(float(each)) for each in parameters]
    value, rng = pt.constant(VALUES[2:9]), pytensor.shared(np.random.default_rng(7))
    graphs = {"logp": kind.logp(value, *own)}
    if hasattr(kind, "logccdf"):
        graphs |= {
            "logcdf": kind.logcdf(value, *own),
            "logccdf": kind.logccdf(value, *own),
            "icdf": kind.icdf(pt.constant(SHARES), *own),
        }
    graphs["start"] = kind.support_point(None, (2,), *own)
    graphs["draws"] = kind.rv_type.graph(rng, (2, 3), *own)[1]
    op = kind.dist(*parameters).owner.op
    return evaluated(**graphs) | {"printed": op._print_name, "signature": op.extended_signature}


def refusals():
    """Return the errors of parameters that are not positive, or no sign."""
    said = {}
    for name, wrong in WRONG.items():
        kind = DISTRIBUTIONS[name][0]
        for parameters in wrong:
            own = [pt.constant(float(each)) for each in parameters]
            for function in ("logp", "logcdf", "logccdf", "icdf"):
                if hasattr(kind, function):
                    graph = getattr(kind, function)(pt.constant(0.5), *own)
                    error = outcome(evaluated, graph=graph).get("error", "none")
                    said[f"{name} {function} {parameters}"] = error.partition("\n")[0]
    faces_negatives = pm.logp(distributions.Hybrid.dist(0.3, 1.4, 0.4), 0.5)
    return said | {
        "unknown": outcome(getattr, distributions, "Cauchy"),
        "all": distributions.__all__,
        "by default": evaluated(logp=faces_negatives),
    }


def sides():
    """Return quantiles of sides and masses up to a point, close to the mode and far from it."""
    body = np.array([0.0, 1e-12, 0.2, 0.5, 0.51, 0.9, 1.0 - 1e-12])
    z = np.array([0.0, 1e-9, 0.3, 0.5, 0.7, 30.0])
    below, tail, rest = _symbolic.split(pt.constant(SHARES[2:9]), 0.3, 1.2)
    return evaluated(
        log_erfc=_symbolic.log_erfc(pt.constant(z)),
        gaussian=_symbolic.half_normal_quantile(pt.constant(1.0 - body), pt.constant(body)),
        exponential=_symbolic.exponential_quantile(pt.constant(1.0 - body), pt.constant(body)),
        up_to=_symbolic.log_mass_up_to(0.3, 1.2, pt.constant(body), pt.constant(1.0 - body)),
        thin=_symbolic.log_mass_up_to(1e-9, 1.2, pt.constant(body), pt.constant(1.0 - body)),
        below=below,
        tail=tail,
        body=rest,
    )


def _maps(transform, at, inputs, free=()):
    """Return a function that returns a transform's value, the way back and its log slope."""
    at = pt.constant(np.asarray(at, dtype=float))
    there = transform.backward(at, *inputs)
    return compiled(
        free,
        backward=there,
        back=transform.forward(there, *inputs),
        slope=transform.log_jac_det(at, *inputs),
    )


def anchored():
    """Return the maps of modes with few and many scores, at walls on the left and the right."""
    sides = pt.dscalar(), pt.dscalar()
    inputs = [pt.constant(np.array(each)) for each in ([0.5, 4.0, -1.0], [2.0, 0.1, 0.5])]
    best = pt.constant(np.array([0.7, 0.1, 0.2]))
    at = [[-40.0], [-2.5], [0.0], [0.4], [30.0]]
    compute = _maps(Anchored([0.0, 1.0, 50.0]), at, [*inputs, *sides, best], sides)
    return {f"{a} {b}": compute(a, b) for a, b in ((0.001, 1.0), (2.0, 0.3), (0.7, 0.7))}


def relative():
    """Return the maps of shares and of scales, with few and many data, and Newton's inverse."""
    at = [[-60.0], [-1.5], [0.0], [0.4], [45.0]]
    own = pt.dscalar(), pt.dscalar()
    said = {}
    for frame, each in ((of_beta, SHAPES), (of_inverse_gamma, [(2.5, 1.0), (90.0, 0.2)])):
        compute = _maps(Relative(frame, [0, 3, 200]), at, own, own)
        said[frame.__name__] = {f"{a} {b}": compute(a, b) for a, b in each}
        graphs = {k: pt.as_tensor(each) for k, each in frame(0.3, 2.0)._asdict().items()}
        said[f"frame, {frame.__name__}"] = evaluated(**graphs)
    kinds = (Anchored, Relative, Standardised)
    names = [each.name for each in kinds]
    return said | {"standardised": _maps(Standardised(10.0, 0.3), at, ())(), "names": names}


def grouped(power, weighted):
    """Return tables of grouped scores, their deviations, likelihoods and quantiles at modes."""
    rng = np.random.default_rng(11)
    group = np.repeat([0, 2, 1, 4], [5, 1, 3, 30])
    score = rng.normal(0.3, 2.0, group.size).round(1)
    score[:2] = 0.5  # tied
    weight = rng.integers(0, 3, group.size) if weighted else None
    tables = distributions.GroupedScores(score, group, 5, power=power, weight=weight)
    modes, share = pt.dvector(), pt.dvector()
    left, right = tables.deviations(modes)
    sides = pt.constant([0.3, 1.0, 2.0, 1.5, 0.8]), pt.constant([1.3, 0.2, 1.0, 2.5, 3.1])
    density = tables.log_density(modes, *sides)
    slope = pt.grad(density.sum(), modes)
    of_modes = compiled([modes], left=left, right=right, density=density, slope=slope)
    quantile = compiled([share], quantile=tables.quantile(share))
    return {
        "total": tables.total,
        **{f"at {at}": of_modes(np.full(5, at)) for at in (-9.0, 0.5, 0.7, 8.0)},
        **{f"share {each}": quantile(np.full(5, each)) for each in (0.0, 0.04, 0.3, 0.55, 1.0)},
    }


CASES = {
    **{name: partial(formulas, name) for name in MODULES},
    **{f"{name}, pymc": partial(of_distribution, name) for name in DISTRIBUTIONS},
    "errors": refusals,
    "sides": sides,
    "anchored": anchored,
    "relative": relative,
    **{
        f"grouped, power {p}{', weighted' * w}": partial(grouped, p, w)
        for p in (1, 2)
        for w in (False, True)
    },
    "power 3": lambda: outcome(distributions.GroupedScores, [1.0], [0], 1, power=3),
}
