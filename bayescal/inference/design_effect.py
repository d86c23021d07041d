"""The design effect of clusters: how many dependent documents count as one independent one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.support.intervals import percent
from bayescal.support.validation import Floats

# Probabilities closer to 0 or 1 have log-odds that would dominate the slope's direction.
NEAREST = 1e-9
# Share of pairs within clusters, relative to documents, below which there are no pairs.
LEAST_PAIRS = 1e-12
# Design effects that leave fewer positives than this, or fewer clusters with positives, are
# estimated from too little.
FEWEST = 3
# One cluster with more than this share of all pairs within clusters decides their correlation.
GIANT = 0.5


@dataclass(frozen=True)
class DesignEffect:
    """The dependence of labels within clusters, given their probabilities.

    Attributes
    ----------
    factor : float
        k, at least 1: k documents count as one, so that the likelihood is raised to 1/k.
    correlation : float
        Correlation of residuals within clusters that k is computed from: the estimate with one
        standard error added, between 0 and 1.
    estimate, error : float
        The correlation's estimate and its standard error.
    documents, clusters, positive_clusters : float, int, int
        Numbers of documents, of clusters, and of clusters with a positive.
    positives : float
        Number of positives; of several classes, of documents of the rarest.
    largest : float
        Share of the pairs within clusters that one cluster holds, weighted as for the correlation.
    """

    factor: float
    correlation: float
    estimate: float
    error: float
    documents: float
    clusters: int
    positives: float
    positive_clusters: int
    largest: float

    def __str__(self) -> str:
        """Return the effect in words."""
        if self.largest == 0.0:
            return f"no cluster of {self.clusters:,} holds two documents"
        return (
            f"{self.documents:,.0f} documents of {self.clusters:,} clusters count as"
            f" {self.documents / self.factor:,.0f}: residuals correlate by"
            f" {self.estimate:.2f} ± {self.error:.2f} within clusters (taken as equal for all pairs"
            " of a cluster; clusters as independent)" + f"; {self._giant}" * (self.largest > GIANT)
        )

    @property
    def _giant(self) -> str:
        return (
            f"one cluster holds {percent(self.largest, 0)} of the pairs, so that the correlation is"
            " little more than its own and its error is unknown"
        )

    @property
    def problem(self) -> str:
        """Return why the effect is estimated from too little; empty if it is not."""
        if self.factor > 1.0 and self.positive_clusters < FEWEST:
            return (
                f"all {self.positives:,.0f} positives are in {self.positive_clusters} clusters, so"
                " bands rest on the prior: label documents of more clusters"
            )
        if self.positives < FEWEST * self.factor:
            return (
                f"{self.positives:,.0f} positives count as {self.positives / self.factor:.1f},"
                " because documents of a cluster depend on each other, so bands rest on the prior:"
                " label documents of more clusters"
            )
        if self.largest > GIANT:
            return f"{self._giant}: fit it by itself, or keep some of its documents"
        return ""


def design_effect(
    positive: NDArray[np.bool_],
    p: Floats,
    cluster: NDArray[np.intp],
    weight: Floats | None = None,
    *,
    sampled: bool = False,
) -> DesignEffect:
    """Return the design effect of clusters on the intercept and slope of log-odds."""
    # With residuals e = y - p, v = p (1 - p), one correlation rho of all pairs within clusters is
    #     rho = sum_g [(sum e)^2 - sum e^2] / sum_g [(sum sqrt v)^2 - sum v],
    # and k the larger of J/H for x = 1 and x = logit p less its mean, where H = sum v x^2 and J =
    # (1 - rho) H + rho sum_g (sum sqrt(v) x)^2. With several classes `positive` and `p` are (n, K),
    # sums are over classes too, and the intercept with the largest J/H counts. This is the
    # magnitude adjustment of composite likelihoods (Ribatet, Cooley and Davison, Statistica Sinica
    # 22, 2012), for a share Rao and Scott's correction. Weights count documents of a cluster;
    # `sampled` ones, inverse inclusion probabilities, multiply residuals, so that sums of e^2 and v
    # x^2 get w^2.
    positive, p = positive.reshape(cluster.size, -1), p.reshape(cluster.size, -1)
    p = np.clip(p, NEAREST, 1.0 - NEAREST)
    count = np.ones(len(p)) if weight is None else weight
    square = count**2 if sampled else count  # of a document's own terms, beside those of pairs
    e, v, root = positive - p, p * (1.0 - p), np.sqrt(p * (1.0 - p))
    size = int(cluster.max()) + 1

    def total(values: Floats, times: Floats = count) -> Floats:
        columns = [np.bincount(cluster, times * each, size) for each in values.T]
        return np.stack(columns, axis=1).astype(np.float64)

    products = (total(e) ** 2 - total(e**2, square)).sum(axis=1)
    scales = (total(root) ** 2 - total(v, square)).sum(axis=1)
    rho = error = used = largest = 0.0
    if (pairs := scales.sum()) > LEAST_PAIRS * (square @ v).sum():
        rho, largest = float(products.sum() / pairs), float(scales.max() / pairs)
        error = float(np.sqrt(((products - rho * scales) ** 2).sum()) / pairs)
        # One standard error pays for the skewness of rho and for residuals of a fitted curve.
        used = float(np.clip(rho + error, 0.0, 1.0))
    log_odds = special.logit(p)
    centred = log_odds - np.average(log_odds, axis=0, weights=count[:, None] * v)
    factor = 1.0
    for x in (*np.eye(p.shape[1]), centred) if used else ():
        if (own := float((square @ (v * x**2)).sum())) > 0.0:
            factor = max(factor, 1.0 - used + used * float((total(root * x) ** 2).sum()) / own)
    counted = count > 0.0
    count = counted.astype(np.float64) if sampled else count
    members = count @ positive
    rarest = positive[:, np.where(members > 0.0, members, np.inf).argmin()]
    return DesignEffect(
        factor,
        used,
        rho,
        error,
        float(count.sum()),
        np.unique(cluster[counted]).size,
        float(count @ rarest),
        np.unique(cluster[counted & rarest]).size,
        largest,
    )


def effect_on_scores(scores: Floats, cluster: NDArray[np.intp]) -> float:
    """Return k for the distribution of scores without labels: of the share above their median."""
    above = scores > np.median(scores)
    return design_effect(above, np.full(above.size, above.mean()), cluster).factor
