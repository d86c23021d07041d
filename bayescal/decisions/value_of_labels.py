"""Which documents to label next: what one more label is worth."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.decisions.costs import as_costs
from bayescal.decisions.draws import as_draws, number_of_classes, of_all_classes
from bayescal.validation import Floats

BLOCK_ELEMENTS = 1 << 22


def value_of_label(
    draws: ArrayLike, costs: ArrayLike, *, candidates: ArrayLike | None = None
) -> Floats:
    """
    Return what the label of each document is expected to save in all decisions; shape (documents,).

    With L(j, d, c) the costs and E the mean over draws, documents decided at the least expected
    cost cost sum_j min_d E[sum_c L(j, d, c) P(c|j)]. The label y of document i weighs the draws by
    P_k(y|i) and shifts the probabilities of all documents; the expected value of sample information
    is

        V(i) = sum_j min_d E[sum_c L(j, d, c) P(c|j)]
               - sum_y sum_j min_d E[P(y|i) sum_c L(j, d, c) P(c|j)],

    where for j = i, whose class is then known to be y, the last term is min_d L(i, d, y) E[P(y|i)].
    It is never negative, and exact for the draws: nothing is refitted or simulated.

    Parameters
    ----------
    draws : array-like of shape (draws, documents) or (draws, documents, classes)
        Draws for the documents to decide on; see `bayescal.decisions`. A few hundred suffice.
    costs : array-like of shape (decisions, classes) or (documents, decisions, classes)
        costs[d, c] is the cost of decision d where the class is c; `with_abstention` adds one.
    candidates : array-like of shape (draws, others) or (draws, others, classes), optional
        The same draws at other documents that could be labelled, whose own decision does not
        matter. By default the documents themselves.

    Returns
    -------
    array of shape (documents,) or (others,)
        The saving, in units of the costs, before what labelling costs. It pays to label while the
        largest value is above the cost of a label.

    Raises
    ------
    ValueError
        If an argument is not as described; see `as_costs`.

    Notes
    -----
    Values of several labels do not add up: documents of like scores tell the same. Label a few,
    fit again. Time grows with draws x documents x candidates.

    References
    ----------
    H. Raiffa and R. Schlaifer, *Applied statistical decision theory*, 1961, section 4.5 (expected
    value of sample information). A. Kapoor, E. Horvitz and S. Basu, *Selective supervision*, IJCAI
    2007 (for choosing what to label).

    Examples
    --------
    >>> value_of_label([[0.2, 0.9], [0.6, 0.9]], [[0, 1], [1, 0]]).round(2).tolist()
    [0.4, 0.1]
    """
    targets = of_all_classes(as_draws(draws))
    size, documents, classes = targets.shape
    prices = as_costs(costs, documents, classes)
    asked = targets if candidates is None else _as_candidates(candidates, size, classes)
    now = np.einsum("nc,ndc->nd", targets.mean(axis=0), prices).min(axis=1).sum()
    after = np.zeros(asked.shape[1])
    flat = targets.reshape(size, documents * classes)
    width = max(1, BLOCK_ELEMENTS // (documents * prices.shape[1]))
    for start in range(0, after.size, width):
        part = slice(start, min(start + width, after.size))
        for label in range(classes):
            # E[P(label|i) P(c|j)] of candidates i, documents j and classes c.
            joint = (asked[:, part, label].T @ flat / size).reshape(-1, documents, classes)
            least = np.einsum("inc,ndc->ind", joint, prices).min(axis=2)
            if candidates is None:
                own = np.arange(part.start, part.stop)
                known = prices[own if prices.shape[0] > 1 else 0, :, label].min(axis=-1)
                least[own - part.start, own] = known * asked[:, part, label].mean(axis=0)
            after[part] += least.sum(axis=1)
    # Below rounding of the sums there is nothing to gain.
    return np.asarray(np.maximum(now - after, 0.0))


def _as_candidates(candidates: ArrayLike, size: int, classes: int) -> Floats:
    asked = as_draws(candidates, "candidates")
    if asked.shape[0] != size or number_of_classes(asked) != classes:
        raise ValueError(
            f"candidates must hold the same {size} draws of {classes} classes as draws, got shape"
            f" {asked.shape}."
        )
    return of_all_classes(asked)


def information_gain(draws: ArrayLike) -> Floats:
    """
    Return how much the label of each document would tell of the calibration, in bits.

    The mutual information of label and draw: entropy of the mean probability less mean entropy. It
    needs no costs, and is 0 where the draws agree, however uncertain the label.

    Parameters
    ----------
    draws : array-like of shape (draws, documents) or (draws, documents, classes)
        See `bayescal.decisions`.

    Raises
    ------
    ValueError
        If `draws` is not as described.

    References
    ----------
    N. Houlsby et al., *Bayesian active learning for classification and preference learning*,
    arXiv:1112.5745, 2011.

    Examples
    --------
    >>> information_gain([[0.0, 0.5], [1.0, 0.5]]).tolist()
    [1.0, 0.0]
    """
    p = of_all_classes(as_draws(draws))
    whole = special.entr(p.mean(axis=0)).sum(axis=-1)
    each = special.entr(p).sum(axis=-1).mean(axis=0)
    return np.asarray(np.maximum(whole - each, 0.0) / np.log(2.0))
