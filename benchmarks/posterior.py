"""The exact engine against PyMC's NUTS: effective draws a second; large data; many scores."""

import time

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from bayescal import ScoreCalibrator
from bayescal.families import FAMILIES
from bayescal.families._profile import deviation_sums, sort_scores
from bayescal.fitting.engines.exact.engine import fit_densities
from bayescal.fitting.parts.densities import in_raw_units
from bayescal.fitting.scores import BinaryScores
from benchmarks.data import million
from benchmarks.timing import ratios, report


def small():
    """Return 20 positive and 100 negative scores."""
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.standard_t(4, 100) - 1, 1 + rng.gumbel(size=20)])
    return BinaryScores(scores, np.arange(120) >= 100)


def exact(data, name="asymmetric_laplace", draws=1000):
    """Return a function that draws 4 x `draws` of both classes."""

    def draw():
        found = fit_densities((FAMILIES[name],), data, np.random.default_rng(1), draws=4 * draws)
        return in_raw_units(found.posterior, (4, draws))

    return draw


def against_nuts(data):
    """Print effective draws a second of both engines, NUTS compiled beforehand."""
    for name in ("asymmetric_laplace", "asymmetric_gaussian"):
        seconds, _, _ = ratios(exact(data, name), lambda: None)
        per_second = 4000 / seconds
        for _ in range(2):  # the first run compiles
            start = time.perf_counter()
            nuts = ScoreCalibrator(name, "nuts", random_state=1).fit(data.score, data.positive)
            elapsed = time.perf_counter() - start
        slow = nuts.diagnostics_.ess_bulk / elapsed
        print(
            f"{name:24} exact {seconds * 1e3:6.1f} ms for 4,000 draws (bar 20),"
            f" {per_second:9.0f} effective draws/s; NUTS {slow:6.1f}:"
            f" ratio {per_second / slow:7.0f}"
            f"   bar 500"
        )


def main():
    """Print times and ratios."""
    against_nuts(small())
    scores, positive = million()
    report(
        "exact posterior, 1e6 scores",
        exact(BinaryScores(scores, positive)),
        lambda: [
            deviation_sums(sort_scores(scores[k], None), (1, 1)) for k in (positive, ~positive)
        ],
        "sorting and prefix sums",
        5.0,
        runs=3,
    )
    base = FrozenEstimator(LogisticRegression().fit(scores[:1000, None], positive[:1000]))
    fitted = CalibratedClassifierCV(base, method="sigmoid")
    sigmoid = fitted.fit(scores[:1000, None], positive[:1000]).calibrated_classifiers_[0]
    for family in (*FAMILIES, "average", "auto"):
        fit = ScoreCalibrator(family, random_state=0).fit(scores[:1000], positive[:1000])
        # The first batch makes the tables that others read.
        start = time.perf_counter()
        fit.predict_proba(scores)
        fit.predict_interval(scores)
        print(f"{'first batch, ' + family:44} {1e3 * (time.perf_counter() - start):9.2f} ms")
        report(
            f"proba and 90 % band, {family}",
            lambda fit=fit: (fit.predict_proba(scores), fit.predict_interval(scores)),
            lambda: sigmoid.calibrators[0].predict(scores),
            "sklearn sigmoid predict",
            30.0,
        )
    some, calibration = (
        scores[:100_000],
        ScoreCalibrator(random_state=0)
        .fit(scores[:1000], positive[:1000])
        ._fit.calibration.take(np.arange(100)),
    )
    report(
        "sample_proba, 100 draws, 1e5 scores",
        lambda: calibration.sample(some),
        lambda: [calibration.sample(some[k : k + 2000]) for k in range(0, some.size, 2000)],
        "without a table",
        0.2,
        runs=3,
    )


if __name__ == "__main__":
    main()
