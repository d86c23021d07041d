"""The exact posterior of one class: its evidence, and independent draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.engines.exact.cells import Cells, cover
from bayescal.engines.exact.conjugate import ConjugateDensity
from bayescal.engines.exact.deviations import DeviationSums
from bayescal.engines.exact.draws import LogLinear
from bayescal.engines.exact.hybrid import HybridDensity
from bayescal.engines.exact.joint import TAU, JointDensity, Prior
from bayescal.families import side_units
from bayescal.log_sum import log_sum_exp
from bayescal.validation import Floats

MOST_SCORES_AS_NODES = 64
PRIOR_REACH = 12.0  # standard deviations of the prior that the first cells cover
ROUNDS = 50
LEAST_ACCEPTED, MOST_COPIES = 0.1, 10  # of all proposals; of one
# A shorter side is a jump to any score; one that rounds to nothing would have no density.
SMALLEST_SHARE = 1e-12


@dataclass(frozen=True)
class ExactDraws:
    """
    Independent draws of one class's parameters, in the units of the scores given.

    Attributes
    ----------
    theta, left_share, width : array of shape (draws,)
        Mode, share of the left side, and width; see `families.side_units`.
    ratios : array
        Importance weights of all proposals, as shares of the largest.
    powers : tuple of int
        Of the two sides.
    """

    theta: Floats
    left_share: Floats
    width: Floats
    ratios: Floats
    powers: tuple[int, int]

    @property
    def sides(self) -> tuple[Floats, Floats]:
        """Return the left and the right side."""
        left_unit, right_unit = side_units(self.powers)
        left = self.left_share * self.width / left_unit
        return left, (1.0 - self.left_share) * self.width / right_unit


class ClassPosterior:
    """
    The posterior of one class: its evidence, and draws.

    Parameters
    ----------
    sums : DeviationSums
        Of the standardised scores of the class; without any the prior answers. Their powers are
        those of the family, weights are powers of the likelihood.
    prior : Prior
        In standardised units.

    Attributes
    ----------
    log_evidence : float
        Natural log of p(x | family): the density of the class's scores, all parameters
        integrated out.
    resolved : bool
        Whether the cells became as fine as asked for.
    """

    def __init__(self, sums: DeviationSums, prior: Prior) -> None:
        equal = sums.powers[0] == sums.powers[1]
        joint = ConjugateDensity(sums, prior) if equal else HybridDensity(sums, prior)
        cells = cover(joint.log_marginal, _first_nodes(joint), joint.sums.scores)
        self.log_evidence = float(log_sum_exp(cells.log_mass, axis=0))
        self.resolved = cells.good
        self._joint, self._cells = joint, cells

    @cached_property
    def _proposals(self) -> _Proposals:
        return _Proposals(self._joint, self._cells)

    def draw(self, draws: int, rng: np.random.Generator) -> ExactDraws:
        """Return independent draws from the posterior."""
        theta, v, ratios = _accepted(self._proposals, draws, rng)
        return ExactDraws(
            theta=theta,
            left_share=np.clip(special.expit(v), SMALLEST_SHARE, 1.0 - SMALLEST_SHARE),
            width=self._joint.draw_width(theta, v, rng),
            ratios=ratios,
            powers=self._joint.sums.powers,
        )


def _accepted(
    proposals: _Proposals, draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """
    Return theta and v of the posterior, and all importance weights as shares of the largest.

    Proposals are accepted or not. Where next to none are, in ROUNDS, they are drawn in proportion
    to their weights: with scores of magnitudes that no rounding withstands few proposals are near
    the posterior, and their efficiency, near 0, says that these draws are not to be trusted.
    """
    rounds: list[Floats] = []
    missing = draws
    for _ in range(ROUNDS):
        size = missing + missing // 2 + 64
        proposed = proposals.draw(rng, size)
        rounds.append(np.stack([*proposed, rng.random(size)]))
        theta, v, log_weight, uniform = np.concatenate(rounds, axis=1)
        # One bound for all rounds: a larger weight found late counts for the early ones too.
        ratios = np.exp(log_weight - log_weight.max())
        kept = np.repeat(np.arange(theta.size), _copies(ratios, uniform))[:draws]
        missing = draws - kept.size
        if missing <= 0:
            return theta[kept], v[kept], ratios
    drawn = rng.choice(theta.size, draws, p=ratios / ratios.sum())
    return theta[drawn], v[drawn], ratios


def _copies(ratios: Floats, uniform: Floats) -> NDArray[np.intp]:
    """
    Return how often each proposal is taken: ratio/bound times on average.

    The bound is the largest ratio, and no proposal is taken twice, unless that took fewer than
    LEAST_ACCEPTED: one proposal in a corner, with a hundred times the others' weight, would leave
    next to none of them. It is then taken up to MOST_COPIES times; weights that ask for more are
    no proposals of this density, and the bound stays.
    """
    taken = float(ratios.mean())
    uneven = LEAST_ACCEPTED / MOST_COPIES <= taken < LEAST_ACCEPTED
    bound = taken / LEAST_ACCEPTED if uneven else 1.0
    return np.floor(ratios / bound - uniform).astype(np.intp) + 1


def _first_nodes(joint: JointDensity) -> Floats:
    reach = PRIOR_REACH * joint.prior.theta_scale
    nodes = np.linspace(-reach, reach, 97)
    return np.concatenate([nodes, joint.sums.quantiles(MOST_SCORES_AS_NODES)])


class _Proposals:
    """
    Proposals of (theta, v) near the posterior.

    theta from the log-linear cover; then v = logit(share) = mode + step sinh(tau), where mode and
    step are interpolated between theta's neighbouring nodes and tau comes from the nearer one's
    conditional density.
    """

    def __init__(self, joint: JointDensity, cells: Cells) -> None:
        self._joint = joint
        self._node, log_node = cells.nodes()
        self._of_theta = LogLinear(self._node, log_node[None, :])
        if not joint.prior.symmetric:
            self._mode, self._step, log_density = joint.on_share_grid(self._node)
            self._of_tau = LogLinear(TAU, log_density)

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Floats, Floats, Floats]:
        """Return theta, v and the log of the importance weights."""
        joint = self._joint
        theta, log_proposal = self._of_theta.draw(rng, np.zeros(size, dtype=np.intp))
        left, right = joint.sums(theta)
        if joint.prior.symmetric:
            v = np.zeros_like(theta)
            return theta, v, joint.log_density(theta, v, left, right) - log_proposal
        after = np.clip(np.searchsorted(self._node, theta), 1, self._node.size - 1)
        gap = self._node[after] - self._node[after - 1]
        share = (theta - self._node[after - 1]) / gap
        mode = (1.0 - share) * self._mode[after - 1] + share * self._mode[after]
        step = (1.0 - share) * self._step[after - 1] + share * self._step[after]
        tau, log_tau = self._of_tau.draw(rng, np.where(share > 0.5, after, after - 1))
        v = mode + step * np.sinh(tau)
        log_target = joint.log_density(theta, v, left, right) + np.log(step * np.cosh(tau))
        return theta, v, log_target - log_proposal - log_tau
