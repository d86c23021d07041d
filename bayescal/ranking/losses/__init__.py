"""What a ranking of one query loses against the perfect one, and where it is violated most.

A ranking is an interleaving of two lists, the relevant and the non-relevant documents, each in the
order of its scores. A loss is an entry of `LOSSES`: solvers and estimator take it from there.
"""

from bayescal.ranking.losses.average_precision import AVERAGE_PRECISION
from bayescal.ranking.losses.loss import RankingLoss
from bayescal.ranking.losses.roc_area import ROC_AREA

LOSSES: dict[str, RankingLoss] = {"map": AVERAGE_PRECISION, "roc": ROC_AREA}

__all__ = ["LOSSES", "RankingLoss"]
