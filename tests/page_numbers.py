"""The numbers that a report's page computes in JavaScript, computed here with NumPy."""

import base64
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
from scipy import special
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator


def unpacked(packed):
    """Return the matrix that a page holds as one byte a number."""
    codes = np.frombuffer(base64.b64decode(packed["bytes"]), np.uint8)
    low, high = np.array(packed["low"]), np.array(packed["high"])
    return low + (high - low) * codes.reshape(-1, packed["columns"]) / 255.0


class PageTopic:
    """A topic of a page and the outcomes of decisions on it, by draw."""

    def __init__(self, data, topic):
        self.topic, self.level, self.priors = topic, data["level"], np.array(data["priors"])
        self.x, self.smooth = np.array(topic["x"]), np.array(topic["smooth"])
        self.draws = unpacked(topic["draws"])
        self.own_prior = unpacked(topic["prior"])[:, 0]
        self.p = special.expit(self.draws)
        # Half stretches between nodes, and the node that each belongs to.
        self.edges = np.sort(np.concatenate([self.x, (self.x[1:] + self.x[:-1]) / 2]))
        self.owner = np.repeat(np.arange(self.x.size), 2)[1:-1]
        self.halves = np.bincount(self.owner)[self.owner]

    def summary(self, values):
        """Return the mean and the ends of the interval over draws, which come first."""
        tail = (1.0 - self.level) / 2.0
        ends = [_quantile(values, level) for level in (tail, 1.0 - tail)]
        with np.errstate(invalid="ignore"):  # of infinite numbers of both signs
            return np.array([np.mean(values, axis=0), *ends])

    def outcomes(self, called, false_positive=1.0, false_negative=1.0, prior=None):
        """Return rates and costs of each draw, with shares called positive of each node."""
        positive, negative = self.p * self.smooth, (1.0 - self.p) * self.smooth
        miss = positive @ (1.0 - called) / positive.sum(axis=1, keepdims=True)
        fpr = negative @ called / negative.sum(axis=1, keepdims=True)
        share = positive.sum(axis=1, keepdims=True) / self.smooth.sum()
        rate = share if prior is None else prior
        taken = rate * (1.0 - miss) + (1.0 - rate) * fpr
        cost = (1.0 - rate) * false_positive * fpr + rate * false_negative * miss
        nothing = np.full_like(taken, np.nan)
        precision = np.divide(rate * (1.0 - miss), taken, out=nothing, where=taken > 0.0)
        return {"cost": cost, "fpr": fpr, "miss": miss, "recall": 1.0 - miss, "taken": taken,
                "precision": precision}  # fmt: skip

    def called(self, curve, threshold, fine=2000):
        """Return the share of each node's half stretches on which a curve exceeds a threshold."""
        n = self.x.size
        offsets = (np.arange(2 * fine) + 0.5) / (2 * fine) - 0.5
        at = np.arange(n)[:, None] + offsets
        inside = (at > 0) & (at < n - 1)
        above = np.interp(at, np.arange(n), curve) > threshold
        return (above & inside).sum(axis=1) / inside.sum(axis=1)

    def by_threshold(self, **costs):
        """Return thresholds between nodes and summaries (3, thresholds) of each outcome."""
        n = self.x.size
        called = (np.arange(n)[:, None] > np.arange(n - 1)).astype(float)
        found = self.outcomes(called, **costs)
        summaries = {name: self.summary(each) for name, each in found.items()}
        return (self.x[1:] + self.x[:-1]) / 2, summaries

    def point(self, prior):
        """Return the log-odds of the point estimate, with another prior or None for the fitted."""
        if prior is None:
            return np.array(self.topic["point"])
        z = special.logit(prior)
        shifted = unpacked(self.topic["shifted"]).T
        return z + np.array([np.interp(z, self.priors, column) for column in shifted])

    def main_threshold(self, curve, threshold):
        """Return the lower end of the region above a threshold that holds most documents."""
        above = np.asarray(curve) > threshold
        starts = np.flatnonzero(above & ~np.concatenate([[False], above[:-1]]))
        ends = np.flatnonzero(above & ~np.concatenate([above[1:], [False]]))
        if not starts.size:
            return np.inf
        held = [self.smooth[a : b + 1].sum() for a, b in zip(starts, ends, strict=True)]
        first = starts[int(np.argmax(held))]
        if first == 0:
            return -np.inf
        pair = slice(first - 1, first + 1)
        return np.interp(threshold, curve[pair], self.x[pair])

    def decision(self, false_positive, false_negative, prior):
        """Return the expected table of decisions: values and ends of intervals."""
        limit = np.log(false_positive / false_negative)
        curve = self.point(prior)
        found = self.outcomes(self.called(curve, limit)[:, None], false_positive, false_negative,
                              prior)  # fmt: skip
        shift = 0.0 if prior is None else special.logit(prior) - self.own_prior
        by_draw = [self.main_threshold(d, limit) for d in self.draws + np.reshape(shift, (-1, 1))]
        out = {name: self.summary(found[name][:, 0]) for name in ("cost", "fpr", "miss")}
        out["threshold"] = np.array([self.main_threshold(curve, limit), *self.summary(by_draw)[1:]])
        return out

    def selection(self, threshold, prior):
        """Return precision, recall and the share taken of the documents above a score."""
        found = self.outcomes(self.called(self.x, threshold)[:, None], prior=prior)
        return {name: self.summary(found[name][:, 0]) for name in ("precision", "recall", "taken")}

    def threshold_for(self, recall):
        """Return the score above which a share of the positives lies, with its interval."""
        weight = (self.p * self.smooth)[:, self.owner] / self.halves
        below = np.cumsum(weight / weight.sum(axis=1, keepdims=True), axis=1)
        below = np.hstack([np.zeros((len(below), 1)), below])
        by_draw = [np.interp(1.0 - recall, each, self.edges) for each in below]
        middle = np.interp(1.0 - recall, below.mean(axis=0), self.edges)
        return np.array([middle, *self.summary(by_draw)[1:]])

    def fitted_prior(self):
        return float((self.p @ np.array(self.topic["share"])).mean())


def as_text(value, digits=3):
    """Return a number of moderate size as a page shows it, with ties rounded away from 0."""
    if np.isinf(value):
        text = "\N{INFINITY}" if value > 0 else "-\N{INFINITY}"
    elif float(value).is_integer() or abs(value) >= 10.0**digits:
        text = f"{value:.0f}"
    else:
        rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(Decimal(value))
        text = f"{float(rounded):#.{digits}g}".removesuffix(".")
    return text.replace("-", "\N{MINUS SIGN}")


def _quantile(values, level):
    """Return a quantile over the first axis; between an infinite number and another, infinity."""
    low, high = (np.quantile(values, level, axis=0, method=m) for m in ("lower", "higher"))
    share = level * (len(values) - 1) % 1.0
    with np.errstate(invalid="ignore"):
        between = low + share * (high - low)
    return np.where(np.isneginf(low) | (low == high), low, between)


def smooth_curve(x, y, pieces=6):
    """Return points of the monotone cubic curve through (x, y), whose end pieces start straight."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.size < 3:
        return x, y
    slopes = PchipInterpolator(x, y).derivative()(x)
    slopes[[0, -1]] = (np.diff(y) / np.diff(x))[[0, -1]]
    share = np.arange(1, pieces + 1) / pieces
    at = np.concatenate([x[:1], (x[:-1, None] + np.diff(x)[:, None] * share).ravel()])
    return at, CubicHermiteSpline(x, y, slopes)(at)
