r"""What may change: log-odds after a change as a function of those before it, with its prior.

With f(s) the log-odds of a document before the change, beta the log-odds of the base rate, and

    f'(s) = beta + a (f(s) - beta) + b,

b moves the base rate, as prior shift does, and the slope a multiplies what the score says beyond
the base rate. The priors are those of b ~ Normal(0, 1) and log a ~ Normal(0, 1/2), standard
deviations in natural logarithms: odds that differ by a factor of e or so, and evidence by one of
1.6. They are taken on a grid, so that integrals over them are sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayescal.validation import Floats

SHIFT_SD, LOG_SLOPE_SD = 1.0, 0.5
REACH = 3.0  # standard deviations that a grid covers on either side


@dataclass(frozen=True)
class Change:
    """
    A kind of change: a grid of slopes and shifts, and a prior on it.

    A kind of one's own is another entry of `CHANGES`.

    Attributes
    ----------
    slope : array of shape (slopes,)
        a, positive.
    shift : array of shape (shifts,)
        b, in natural log-odds.
    prior : array of shape (slopes, shifts)
        Their probabilities, which sum to 1.
    """

    slope: Floats
    shift: Floats
    prior: Floats

    def log_odds(self, before: Floats, base: float) -> Floats:
        """
        Return log-odds after each change of the grid, without its shift b.

        Parameters
        ----------
        before : array
            Log-odds before it.
        base : float
            beta, the log-odds of the base rate.

        Returns
        -------
        array of shape (slopes, *before.shape)

        Examples
        --------
        >>> steeper = Change(np.array([1.0, 2.0]), np.zeros(1), np.full((2, 1), 0.5))
        >>> steeper.log_odds(np.array([-1.0, 1.0]), base=-1.0)
        array([[-1.,  1.],
               [-1.,  3.]])
        """
        after: Floats = base + np.multiply.outer(self.slope, before - base)
        return after


def _grid(sd: float, points: int) -> tuple[Floats, Floats]:
    """Return evenly spaced nodes of Normal(0, sd), and their probabilities."""
    node = np.linspace(-REACH, REACH, points)
    density = np.exp(-0.5 * node**2)
    return sd * node, density / density.sum()


def base_rate_change(points: int = 25) -> Change:
    """
    Return a change of the base rate alone: log-odds move by b.

    Examples
    --------
    >>> change = base_rate_change()
    >>> round(float(change.prior[0] @ change.shift**2), 2)
    0.98
    """
    shift, prior = _grid(SHIFT_SD, points)
    return Change(np.ones(1), shift, prior[None])


def slope_change(slopes: int = 9, points: int = 11) -> Change:
    """
    Return a change of the slope, and of the base rate with it.

    Examples
    --------
    >>> slope_change().slope.round(2).tolist()
    [0.22, 0.32, 0.47, 0.69, 1.0, 1.45, 2.12, 3.08, 4.48]
    """
    log_slope, of_slope = _grid(LOG_SLOPE_SD, slopes)
    shift, of_shift = _grid(SHIFT_SD, points)
    return Change(np.exp(log_slope), shift, np.outer(of_slope, of_shift))


CHANGES = {"base rate": base_rate_change(), "slope": slope_change()}
