"""The monotone engine: time, quality of its weights, held-out log-loss against Platt and isotonic.

Simulated shapes: excess of held-out log-loss over the truth's, in thousandths of the entropy of
the labels. Reuters: bits x 1000 a decision on the rest of the calibration split; the test split is
not read.

    python -m benchmarks.monotone
"""

import sys
import time

import numpy as np
import scipy.stats as st
from scipy import special
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from bayescal.fitting.engines.monotone.density import Prior
from bayescal.fitting.engines.monotone.posterior import draw_monotone
from bayescal.metrics import losses
from bayescal.support.numerics import centre_and_spread
from bayescal.text.reuters_scores import CLASSIFIERS, TOPICS, load_reuters_scores

# Densities of positive and negative scores.
SHAPES = {
    "Gaussian": (st.norm(2, 1), st.norm(0, 1)),
    "weak": (st.norm(0.5, 1), st.norm(0, 1)),
    "unequal": (st.norm(3, 2), st.norm(0, 1)),
    "near separable": (st.norm(6, 1), st.norm(0, 1)),
    "asymmetric Laplace": (st.laplace_asymmetric(0.7, 2, 1), st.laplace_asymmetric(1.6, -1, 0.8)),
    "naive-Bayes-like": (st.gumbel_r(2.5, 1), st.t(4, 0, 1)),
    "heavy tails": (st.t(2, 3, 1), st.t(2, 0, 1)),
    "skewed": (st.skewnorm(-4, 3, 2), st.skewnorm(5, -1, 1.5)),
}
SIZES = (3, 10, 30, 100, 1000)
SHARES = (0.01, 0.1, 0.4)
REPEATS = 4
CLIP = 1e-4  # of isotonic's probabilities, which are 0 and 1 otherwise


def monotone(score, positive, new, n_segments=9):
    """Return the log-odds of the mean probability over draws."""
    centre, spread = centre_and_spread(score)
    rng = np.random.default_rng(0)
    x, at = (score - centre) / spread, (new - centre) / spread
    found = draw_monotone(x, positive, None, Prior(), 1000, rng, n_segments=n_segments)
    grid, back = np.unique(at, return_inverse=True)
    log_odds = found.log_odds(grid)
    up = special.logsumexp(special.log_expit(log_odds), axis=0)
    return (up - special.logsumexp(special.log_expit(-log_odds), axis=0))[back]


def platt(score, positive, new):
    """Return Platt's log-odds: logistic regression with smoothed targets."""
    targets = np.r_[np.ones(score.size), np.zeros(score.size)]
    up = np.where(positive, 1 - 1 / (positive.sum() + 2), 1 / ((~positive).sum() + 2))
    centre, spread = score.mean(), score.std() or 1.0
    fitted = LogisticRegression(C=np.inf, tol=1e-8).fit(
        np.tile((score - centre) / spread, 2)[:, None], targets, np.r_[up, 1 - up]
    )
    return fitted.decision_function(((new - centre) / spread)[:, None])


def isotonic(score, positive, new):
    """Return isotonic regression's log-odds, probabilities clipped."""
    fitted = IsotonicRegression(out_of_bounds="clip").fit(score, positive)
    return special.logit(np.clip(fitted.predict(new), CLIP, 1 - CLIP))


def logistic(score, positive, new):
    """Return the log-odds of Bayesian logistic regression: one slope."""
    return monotone(score, positive, new, n_segments=1)


METHODS = {"monotone": monotone, "logistic": logistic, "Platt": platt, "isotonic": isotonic}


def excess(shape, n_positive, share, rng):
    """Return each method's held-out excess over the truth, in 1/1000 of the labels' entropy."""
    plus, minus = SHAPES[shape]
    n_negative = max(round(n_positive * (1 - share) / share), 2)
    score = np.r_[minus.rvs(n_negative, random_state=rng), plus.rvs(n_positive, random_state=rng)]
    new = np.r_[minus.rvs(500, random_state=rng), plus.rvs(500, random_state=rng)]
    weight = np.repeat([1 - share, share], 500) / 500
    truth = special.logit(share) + plus.logpdf(new) - minus.logpdf(new)
    up, entropy = special.expit(truth), special.entr([share, 1 - share]).sum()

    def loss(log_odds):
        return weight @ (up * np.logaddexp(0, -log_odds) + (1 - up) * np.logaddexp(0, log_odds))

    positive = np.arange(score.size) >= n_negative
    found = [loss(method(score, positive, new)) for method in METHODS.values()]
    return 1000 * (np.array(found) - loss(truth)) / entropy


def held_out(table, n_positive, rng):
    """Return each method's bits x 1000 a decision on the rest of a topic's scores."""
    score, positive = table["score"].to_numpy(), table["label"].to_numpy() == 1
    n_negative = round(n_positive * (~positive).sum() / positive.sum())
    mask = np.zeros(score.size, dtype=bool)
    for label, size in ((True, n_positive), (False, n_negative)):
        where = np.flatnonzero(positive == label)
        mask[rng.choice(where, min(size, where.size // 2), replace=False)] = True
    fits = (method(score[mask], positive[mask], score[~mask]) for method in METHODS.values())
    return [1000 * losses(f, positive[~mask]).log_loss / (~mask).sum() for f in fits]


def print_row(name, values):
    """Print means over the first axis and their standard errors."""
    mean, error = values.mean(0), values.std(0, ddof=1) / len(values) ** 0.5
    print(f"{name:32}", *(f"{m:9.2f} +-{e:<6.2f}" for m, e in zip(mean, error, strict=True)))


def print_quality():
    """Print the time, Pareto k and efficiency over shapes and sizes, 4,000 draws."""
    for size in (30, 1000, 1_000_000):
        rows = []
        for plus, minus in SHAPES.values():
            rng = np.random.default_rng(1)
            positive = rng.random(size) < 0.2
            score = np.where(positive, *(d.rvs(size, random_state=rng) for d in (plus, minus)))
            centre, spread = centre_and_spread(score)
            seconds = []
            for _ in range(3):
                start = time.perf_counter()
                found = draw_monotone((score - centre) / spread, positive, None, Prior(), 4000, rng)
                seconds.append(time.perf_counter() - start)
            rows.append(
                [1e3 * min(seconds), found.pareto_k, found.efficiency, found.likelihood_error]
            )
        low, middle, high = np.quantile(rows, [0, 0.5, 1], axis=0)
        print(f"{size:>8} scores: {middle[0]:6.0f} ms (at most {high[0]:.0f}),", end=" ")
        print(f"k at most {high[1]:.2f}, efficiency {low[2]:.2f}-{high[2]:.2f},", end=" ")
        print(f"error of the log likelihood at most {high[3]:.3f}", flush=True)


def main():
    """Print all tables."""
    print_quality()
    print(f"{'':32}", *(f"{name:>18}" for name in METHODS))
    for n_positive in SIZES:
        rng = np.random.default_rng(n_positive)
        for shape in SHAPES:
            rows = [excess(shape, n_positive, s, rng) for s in SHARES for _ in range(REPEATS)]
            print_row(f"{shape}, n+ = {n_positive}", np.array(rows))
    for classifier in CLASSIFIERS:
        tables = [load_reuters_scores(classifier, topic, "calibration") for topic in TOPICS]
        for n_positive in SIZES[:4]:
            rng = np.random.default_rng(n_positive)
            rows = [
                np.mean([held_out(t, n_positive, rng) for t in tables], 0) for _ in range(REPEATS)
            ]
            print_row(f"{classifier}, n+ = {n_positive}", np.array(rows))


if __name__ == "__main__":
    sys.exit(main())
