"""One class's exact posterior in one call."""

from types import SimpleNamespace

from bayescal.fitting.engines.exact.class_posterior import ClassPosterior
from bayescal.fitting.engines.exact.engine import efficiency
from bayescal.fitting.engines.exact.joint_density import DeviationSums


def draw_class(x, weight, power, prior, draws, rng):
    """Return draws of a class's parameters, with its evidence and how well the proposals did."""
    posterior = ClassPosterior(DeviationSums(x, weight, power), prior)
    found = posterior.draw(draws, rng)
    return SimpleNamespace(
        theta=found.theta,
        left_share=found.left_share,
        width=found.width,
        log_evidence=posterior.log_evidence,
        resolved=posterior.resolved,
        efficiency=efficiency(found.ratios),
        acceptance=found.ratios.mean(),
    )
