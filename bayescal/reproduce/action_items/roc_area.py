"""The area under the ROC curve of one set of sentences, with how far chance may have moved it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats


def roc_area_error(truth: NDArray[np.bool_], score: Floats) -> float:
    """
    Return the standard error of the area under the ROC curve by DeLong's estimate.

    The area is the mean, over positives, of the share v of negatives that each is above, and the
    mean, over negatives, of the share w of positives above each; its variance is
    var(v) / positives + var(w) / negatives. Ties count one half.

    Parameters
    ----------
    truth : array of shape (n,) of bool
        Labels, at least two of each class.
    score : array of shape (n,)
        Larger for likelier positives.

    References
    ----------
    E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, *Comparing the areas under two or more
    correlated receiver operating characteristic curves*, Biometrics 1988.

    Examples
    --------
    >>> truth = np.array([True, True, False, False])
    >>> round(roc_area_error(truth, np.array([3.0, 1.0, 2.0, 0.0])), 4)
    0.3536
    """
    from scipy.stats import rankdata

    below_positives = (rankdata(score)[truth] - rankdata(score[truth])) / (~truth).sum()
    above_negatives = (rankdata(-score)[~truth] - rankdata(-score[~truth])) / truth.sum()
    shares = (below_positives, above_negatives)
    return float(np.sqrt(sum(share.var(ddof=1) / share.size for share in shares)))
