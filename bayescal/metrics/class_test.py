"""Rao's test that the probabilities of several classes are right."""

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from bayescal.metrics.verdict import POWER, share_above
from bayescal.support.validation import Floats

SAMPLES, FEWEST_SAMPLES = 999, 199
MOST_ELEMENTS = 400_000_000  # of samples x documents x classes that are drawn
BLOCK_ELEMENTS = 1 << 21
LEAST_LOG = -700.0  # smallest log-probability


class RaoSums(NamedTuple):
    """Sums over documents for Rao's test; see `RaoScores`."""

    scores: Floats
    of_draws: Floats  # means of the scores by draw
    excess: Floats
    samples: Floats
    drawn_from: NDArray[np.intp]  # the draw of each sample; blocks have one draw, 0
    gain: Floats
    of_labels: Floats  # covariance


class RaoTest:
    """Rao's test that probabilities are right."""

    def __init__(self, sums: RaoSums) -> None:
        scores, of_draws, self.excess, self.samples, self.drawn_from, self.gain, _ = sums
        self.centre = of_draws.mean(axis=0)
        self.away = scores - self.centre
        self.apart = of_draws - self.centre
        self.covariance = sums.of_labels + (np.cov(of_draws.T) if len(of_draws) > 1 else 0.0)
        self.freedom = max(int(np.linalg.matrix_rank(self.covariance, hermitian=True)), 1)
        self.inverse = np.linalg.pinv(self.covariance, hermitian=True)

    def _statistic(self, away: Floats) -> Floats:
        return np.asarray(((away @ self.inverse) * away).sum(axis=-1))

    @cached_property
    def pvalue(self) -> float:
        """Return the share of samples whose statistic is as large."""
        own = float(self._statistic(self.away))
        return share_above(self._of_samples(), own)

    def _of_samples(self) -> Floats:
        """Return the statistics of the samples, each by the posterior draws without its own."""
        # Centre and covariance of few draws overfit these draws, but not the labels to be tested.
        away, draws = self.samples - self.centre, len(self.apart)
        if draws < 2:
            return self._statistic(away)
        own = self.apart[self.drawn_from]
        away += own / (draws - 1.0)
        # Leaving a draw out is an update of rank one (Sherman and Morrison).
        share, turned = draws / (draws - 1.0) ** 2, own @ self.inverse
        left = np.maximum(1.0 - share * (turned * own).sum(axis=1), 1e-9)
        more = share * (turned * away).sum(axis=1) ** 2 / left
        return np.asarray(self._statistic(away) + more)

    @cached_property
    def pvalue_of_slope(self) -> float:
        """Return the p-value of slope 1 whatever the shares of the classes, chi-squared."""
        # The score of the slope without its projection on the shares.
        shares = np.linalg.pinv(self.gain[:-1, :-1], hermitian=True)
        by = np.append(-self.gain[-1, :-1] @ shares, 1.0)
        variance = float(by @ self.covariance @ by)
        if variance <= 1e-9 * self.covariance[-1, -1]:
            return 1.0
        return float(special.chdtrc(1, float(by @ self.away) ** 2 / variance))

    def detectable(self, level: float) -> float:
        """Return the factor of all log-odds at which the test has power POWER."""
        limit = special.chdtri(self.freedom, 1.0 - level)
        wanted = float(special.chndtrinc(limit, self.freedom, 1.0 - POWER))
        gain = self.gain[:, -1]
        noncentrality = float(gain @ self.inverse @ gain)
        change = math.sqrt(wanted / noncentrality) if noncentrality > 0.0 else math.inf
        return math.exp(change) if change < 50.0 else math.inf


class RaoScores:
    """Sums for the test of documents in memory, against other shares and another slope."""

    # The scores are S = sum_i w_i(y_i) (f_i(y_i) - sum_k p_ik f_i(k)), shape (K + 1,), with weights
    # w_i(k), (n, K); `factor` multiplies their variance given p.

    def __init__(
        self,
        label: NDArray[np.intp],
        p: Floats,
        drawn: Floats,
        weight: Floats,
        factor: float = 1.0,
        block: int | None = None,
    ) -> None:
        self.p, self.weight, self.top = p, weight, p.argmax(axis=1)
        with np.errstate(divide="ignore"):
            self.log_p = np.maximum(np.log(p), LEAST_LOG)
        # Terms of the slope's score: log p minus its mean.
        self.deep = self.log_p - (p * self.log_p).sum(axis=1, keepdims=True)
        of_draws = np.stack([self._mean_score(each) for each in drawn])
        excess, samples, drawn_from = self._sampled(drawn, block)
        if factor > 1.0:
            # Labels of dependent documents scatter more around their mean by each draw.
            confusions = np.stack([self._mean_excess(each) for each in drawn])[drawn_from]
            means, wider = of_draws[drawn_from], math.sqrt(factor)
            samples = means + wider * (samples - means)
            excess = confusions + wider * (excess - confusions)
        inverse = self._inverse_rate(p)
        # Derivatives of the scores' means by shares and slope.
        gain = self._moments(inverse * p)
        of_labels = factor * self._moments(inverse * p * weight)
        scores = self._excess(label[None])[1][0]
        self.sums = RaoSums(scores, of_draws, excess, samples, drawn_from, gain, of_labels)

    def _inverse_rate(self, p: Floats) -> Floats:
        """Return c with P(k | labelled) = c p_k / w_k, (n, 1)."""
        return np.asarray(1.0 / (p / self.weight).sum(axis=1, keepdims=True))

    def _mean_score(self, p: Floats) -> Floats:
        """Return the mean of the scores if labels are drawn from p, (K + 1,)."""
        inverse = self._inverse_rate(p)
        return np.append((inverse * (p - self.p)).sum(axis=0), (inverse * p * self.deep).sum())

    def _mean_excess(self, p: Floats) -> Floats:
        """Return the mean of `_excess` if labels are drawn from p, (K, K)."""
        away = self._inverse_rate(p) * (p - self.p)
        return np.asarray(np.eye(p.shape[1])[self.top].T @ away)

    def _moments(self, h: Floats) -> Floats:
        """Return sum_ik h_ik v v' with v = f_i(k) - sum_k p_ik f_i(k), (K + 1, K + 1)."""
        p, of_slope, total = self.p, h * self.deep, h.sum(axis=1, keepdims=True)
        shared = h.T @ p
        out = np.empty((p.shape[1] + 1, p.shape[1] + 1))
        out[:-1, :-1] = np.diag(h.sum(axis=0)) - shared - shared.T + p.T @ (total * p)
        by_class = of_slope.sum(axis=0) - of_slope.sum(axis=1) @ p
        out[:-1, -1] = out[-1, :-1] = by_class
        out[-1, -1] = (of_slope * self.deep).sum()
        return out

    def _sampled(self, drawn: Floats, block: int | None) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """Return `_excess` of samples of labels, (S, K, K), their scores, (S, K + 1), and draws."""
        rng = np.random.default_rng(block or 0)
        n, size = self.p.shape
        most = SAMPLES if block is None else FEWEST_SAMPLES
        samples = int(np.clip(MOST_ELEMENTS // (n * size), FEWEST_SAMPLES, most))
        chosen = np.sort(rng.integers(len(drawn), size=samples))
        parts = []
        step = max(BLOCK_ELEMENTS // (n * size), 1)
        # Each document draws by its rank, and each class by its size: orders of rows and classes
        # are the user's, and change no number.
        classes = np.argsort(self.p.sum(axis=0), kind="stable")
        keys = *self.weight[:, classes].T, *self.p[:, classes].T
        rank = np.argsort(np.lexsort(keys))
        for first in range(0, samples, step):
            some = chosen[first : first + step]
            which, of = np.unique(some, return_inverse=True)
            included = (drawn[which] / self.weight)[:, :, classes]
            ends = np.cumsum(included / included.sum(axis=2, keepdims=True), axis=2)[of, :, :-1]
            place = (ends <= rng.random((some.size, n))[:, rank, None]).sum(axis=2)
            parts.append(self._excess(classes[place]))
        excess, scores = (np.concatenate(each) for each in zip(*parts, strict=True))
        return excess, scores, chosen

    def _excess(self, label: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return confusions less those expected, and scores, of samples of labels, (S, n)."""
        samples, (n, size) = len(label), self.p.shape
        at = np.arange(n)
        weight = self.weight[at, label]
        row = size * np.arange(samples)[:, None] + self.top
        counts = np.bincount((size * row + label).ravel(), weight.ravel(), samples * size**2)
        place = row.ravel(), np.broadcast_to(at, label.shape).ravel()
        expected = sparse.csr_array((weight.ravel(), place), shape=(samples * size, n)) @ self.p
        excess: Floats = np.reshape(counts.reshape(-1, size) - expected, (samples, size, size))
        slope = (weight * self.deep[at, label]).sum(axis=1)
        return excess, np.column_stack([excess.sum(axis=1), slope])
