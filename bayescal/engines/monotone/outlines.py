"""Laplace approximations of one problem's log-odds, each made once and kept."""

from __future__ import annotations

from bayescal.engines.data import BinaryScores
from bayescal.engines.monotone.basis import Pieces
from bayescal.engines.monotone.density import Prior
from bayescal.engines.monotone.posterior import Outline, outline
from bayescal.warps import standardise


class Outlines:
    """
    The outlines of one problem, each worked out once, whoever asks for it.

    The comparison with other problems asks for some of those that are drawn from afterwards.

    Parameters
    ----------
    data : BinaryScores
        The documents.
    """

    def __init__(self, data: BinaryScores) -> None:
        self.data = data
        self._known: dict[tuple[object, ...], Outline] = {}

    def of(
        self,
        centre: float,
        spread: float,
        asinh_scale: float,
        prior: Prior,
        *,
        n_segments: int = 1,
        pieces: Pieces | None = None,
    ) -> Outline:
        """
        Return the outline of scores that are warped and standardised.

        Parameters
        ----------
        centre, spread, asinh_scale : float
            Of the standardisation, and of the warp, in score units.
        prior : Prior
            Of intercept and slopes.
        n_segments : int
            Pieces of the log-odds, at most.
        pieces : Pieces, optional
            Knots and reference instead of those at quantiles of the two classes.
        """
        # A kept outline keeps its pieces alive, so that no others get their identity.
        key = (centre, spread, asinh_scale, prior, n_segments, pieces and id(pieces))
        if key not in self._known:
            x = standardise(self.data.score, centre, spread, asinh_scale)
            self._known[key] = outline(
                x, self.data.positive, self.data.weight, prior, n_segments=n_segments, pieces=pieces
            )
        return self._known[key]
