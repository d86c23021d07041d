"""What calibrators say of held-out documents, and how that fared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.fitted.documents import Documents
from bayescal.fitted.problem import FittedProblem
from bayescal.metrics import calibration_verdict
from bayescal.metrics.verdict import TELLS_NOTHING
from bayescal.report.bins import reliability
from bayescal.report.packing import numbers
from bayescal.validation import Floats


@dataclass(frozen=True)
class HeldOut:
    """
    Predictions for held-out documents.

    Attributes
    ----------
    score : array of shape (n,)
        On the scale that the calibration works on.
    point : array of shape (n,)
        Natural log-odds by the posterior, or by what there is.
    mle : array of shape (n,) or None
        By maximum likelihood.
    positive : array of shape (n,) of bool
        What the documents are.
    """

    score: Floats
    point: Floats
    mle: Floats | None
    positive: NDArray[np.bool_]

    def reliability(self, level: float) -> dict[str, Any]:
        """Return how each fared, see `bins.reliability`, and a verdict on the point estimate."""
        out = {"point": {**reliability(self.point, self.positive, level), **self._verdict()}}
        if self.mle is not None:
            out["mle"] = reliability(self.mle, self.positive, level)
        return out

    def _verdict(self) -> dict[str, Any]:
        found = calibration_verdict(self.positive, special.expit(self.point))
        return {
            "verdict": f"{found.test} {found.finding}",
            "advice": found.advice,
            "calibrated": found.calibrated,
            "told": not found.calibrated or found.detectable <= TELLS_NOTHING,
            "pvalue": numbers(found.pvalue),
        }


def predict(problem: FittedProblem, test: Documents) -> HeldOut:
    """Return what a problem says of held-out documents."""
    score = test.score
    point = problem.log_odds(score)
    mle = problem.calibration.fits.log_odds(score) if problem.has_mle else None
    if mle is not None and not np.isfinite(mle).all():
        mle = None
    return HeldOut(score, point, mle, test.positive)


def join(parts: Sequence[HeldOut]) -> HeldOut:
    """Return the documents of several topics together."""
    mles = [part.mle for part in parts if part.mle is not None]
    return HeldOut(
        np.concatenate([part.score for part in parts]),
        np.concatenate([part.point for part in parts]),
        np.concatenate(mles) if len(mles) == len(parts) else None,
        np.concatenate([part.positive for part in parts]),
    )
