"""What all rankers share: scores as predictions, mean average precision as their quality."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from numpy.typing import ArrayLike

from bayescal.ranking.measures import mean_average_precision
from bayescal.validation import Floats


class RankerMixin:
    """
    Predictions and quality of rankers.

    A ranker has `ties` and, once fitted, `relevance_threshold_`. `fit` and `score` take `qid`; in
    pipelines and searches that is routed by scikit-learn where
    `set_fit_request(qid=True).set_score_request(qid=True)` asks for it.
    """

    ties: str
    relevance_threshold_: float

    @abstractmethod
    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return raw scores, larger for documents that stand higher; shape (documents,)."""

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Return the raw scores, as `decision_function` does; shape (documents,)."""
        return self.decision_function(X)

    def score(
        self,
        X: Any,  # noqa: N803
        y: ArrayLike,
        sample_weight: None = None,
        qid: Any = None,
    ) -> float:
        """
        Return the mean average precision.

        Parameters
        ----------
        X, y, qid
            As in `fit`.
        sample_weight : None
            Average precision has no weights of documents. Pipelines pass the argument.

        Raises
        ------
        ValueError
            If an argument is not as described, or no query has both classes.
        """
        if sample_weight is not None:
            raise ValueError(
                "sample_weight must be None: average precision has no weights of documents."
            )
        return mean_average_precision(
            y,
            self.decision_function(X),
            qid,
            ties=self.ties,
            relevance_threshold=self.relevance_threshold_,
        )

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse features are taken, and that grades are needed."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
