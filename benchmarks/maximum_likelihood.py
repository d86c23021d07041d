"""Maximum likelihood of both classes at 1e6 scores against isotonic regression; memory."""

import tracemalloc

from sklearn.isotonic import IsotonicRegression

from bayescal.families import FAMILIES
from bayescal.fitting.engines.point_estimates import fit_classes
from bayescal.fitting.scores import BinaryScores
from benchmarks.data import million
from benchmarks.timing import report

BARS = {"gaussian": 0.5, "laplace": 0.5, "asymmetric_laplace": 0.5, "asymmetric_gaussian": 3.0}


def main():
    """Print times, ratios and peak memory."""
    scores, positive = million()
    target = positive.astype(float)

    def isotonic():
        IsotonicRegression(out_of_bounds="clip").fit(scores, target)

    for name, family in FAMILIES.items():

        def both(family=family):
            fit_classes(family, BinaryScores(scores, positive))

        report(f"fit both classes, {name}", both, isotonic, "IsotonicRegression.fit", BARS[name])
        tracemalloc.start()
        both()
        peak = tracemalloc.get_traced_memory()[1] / scores.nbytes
        tracemalloc.stop()
        print(f"{'':44} peak memory {peak:.1f} float64 arrays of n, bar 10")


if __name__ == "__main__":
    main()
