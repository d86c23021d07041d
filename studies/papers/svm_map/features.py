"""Features 1[f(d) >= k] of retrieval functions f, scores made even, and files with queries."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_svmlight_file
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from bayescal.ranking.queries import group_by_query, opened
from bayescal.support import validation
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

SPACINGS = ("quantiles", "even")


@dataclass(eq=False, repr=False)
class BinnedFunctions(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn scores of retrieval functions into the features 1[f(d) >= k] for several thresholds k.

    A linear ranker of these features is a sum of step functions of the scores; it depends neither
    on their scale nor on an assumed shape. A missing score (nan) reaches no threshold.

    Parameters
    ----------
    thresholds : {"quantiles", "even"} or array-like of shape (thresholds,)
        Quantiles of the fitted scores of each function, evenly spaced values between their
        extremes, or thresholds for all functions.
    n_thresholds : int
        Number for each function, without explicit thresholds. Equal quantiles count once.

    Attributes
    ----------
    thresholds_ : list of array
        Thresholds of each function, rising.

    References
    ----------
    Yue, Finley, Radlinski and Joachims, SIGIR 2007, section 4.2, with >= as in its example (its
    definition has >).

    Examples
    --------
    >>> binned = BinnedFunctions([0.5, 0.8]).fit([[0.4], [0.9]])
    >>> binned.transform([[0.4], [0.5], [0.9], [np.nan]]).tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    """

    thresholds: str | ArrayLike = "quantiles"
    _: KW_ONLY
    n_thresholds: int = 50

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: N803
        """Choose the thresholds from scores by retrieval functions; nan if missing.

        X has shape (documents, functions). `y` is ignored; it is there for pipelines.
        """
        validation.check_count("n_thresholds", self.n_thresholds)
        scores = validation.validated(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        if isinstance(self.thresholds, str):
            validation.check_choice("thresholds", self.thresholds, SPACINGS)
            self.thresholds_ = [self._chosen(column) for column in scores.T]
        else:
            explicit = np.unique(validation.as_reals(self.thresholds, "thresholds"))
            if explicit.size == 0 or not np.isfinite(explicit).all():
                raise ValueError(
                    f"thresholds must be finite numbers, at least one, got {self.thresholds!r}."
                )
            self.thresholds_ = [explicit] * scores.shape[1]
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:  # noqa: N803
        """Return the binary features of scores, grouped by function; (documents, features)."""
        check_is_fitted(self, "thresholds_")
        scores = validation.validated(
            self, X, dtype=np.float64, reset=False, ensure_all_finite="allow-nan"
        )
        # Comparisons with nan are false: a missing score reaches no threshold.
        parts = [
            scores[:, [column]] >= thresholds for column, thresholds in enumerate(self.thresholds_)
        ]
        return np.concatenate(parts, axis=1, dtype=np.float32)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return names such as `x0>=0.5`."""
        check_is_fitted(self, "thresholds_")
        names = _check_feature_names_in(self, input_features)
        pairs = zip(names, self.thresholds_, strict=True)
        return np.array([f"{name}>={k:g}" for name, each in pairs for k in each], dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that scores may be missing."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []  # 0 and 1 are exact in single precision
        return tags

    def _chosen(self, scores: Floats) -> Floats:
        present = scores[~np.isnan(scores)]
        if present.size == 0:
            return np.zeros(1)  # a threshold that no missing score reaches
        between = np.linspace(0.0, 1.0, self.n_thresholds + 2)[1:-1]
        if self.thresholds == "even":
            return np.unique(present.min() + between * np.ptp(present))
        return np.unique(np.quantile(present, between))


# Scores made comparable between queries without labels. Percentiles and ranges are SVMacc3 and
# SVMacc4 of the paper.
def percentiles_within_queries(X: ArrayLike, qid: Any) -> Floats:  # noqa: N803
    """Return each score's share of smaller scores in its query; ties and itself count half.

    Parameters
    ----------
    X : array-like of shape (documents, functions)
        Scores by retrieval functions; nan if missing, and then in the result.
    qid : sequence of shape (documents,) of hashable values
        The query of each document.

    Examples
    --------
    >>> percentiles_within_queries([[5.0], [7.0], [0.1], [0.2]], [1, 1, 2, 2]).ravel().tolist()
    [0.25, 0.75, 0.25, 0.75]
    """
    _, queries = _by_query(X, qid)
    return np.asarray((queries.rank() - 0.5) / queries.transform("count"))


def min_max_within_queries(X: ArrayLike, qid: Any) -> Floats:  # noqa: N803
    """Return scores rescaled to [0, 1] for each query and function.

    Equal scores become 0. Arguments and errors as in `percentiles_within_queries`.

    Examples
    --------
    >>> min_max_within_queries([[5.0], [6.0], [7.0], [0.1]], [1, 1, 1, 2]).ravel().tolist()
    [0.0, 0.5, 1.0, 0.0]
    """
    scores, queries = _by_query(X, qid)
    low = queries.transform("min")
    width = queries.transform("max") - low
    return np.asarray((scores - low) / width.where(width != 0.0, 1.0))


def _by_query(X: ArrayLike, qid: Any) -> tuple[pd.DataFrame, Any]:  # noqa: N803
    """Return scores, nan if missing, and the same grouped by query."""
    import pandas as pd

    scores = validation.as_reals(X, "X")
    if scores.ndim != 2:
        raise ValueError(
            f"X must have shape (documents, functions), one score each, got {scores.shape}."
        )
    if np.isinf(scores).any():
        raise ValueError("X must hold finite numbers, or nan where a function has no score.")
    table = pd.DataFrame(scores)
    return table, table.groupby(group_by_query(qid, len(scores), "X").code)


def read_queries(
    path: Path, *, n_features: int | None = None, group_sizes: Path | None = None
) -> tuple[Any, Floats, NDArray[np.intp]]:
    """Return features, grades and queries of svmlight lines, perhaps with group sizes beside."""
    with opened(path) as file:
        X, y, qid = load_svmlight_file(  # noqa: N806
            file, n_features=n_features, zero_based=False, query_id=True
        )
    if group_sizes is not None:
        sizes = np.loadtxt(group_sizes, dtype=np.intp, ndmin=1)
        qid = np.repeat(np.arange(sizes.size), sizes)
    validation.check_same_length("queries", qid.size, f"documents of {path}", y.size)
    return X, y, np.asarray(qid, dtype=np.intp)
