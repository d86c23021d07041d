"""Losses and times beside other packages, in one run; writes docs/benchmarks.md.

    python -m benchmarks.peers [--quick] [--out FOLDER]

Packages that are not installed are left out and named: pip install betacal venn-abers MAPIE netcal
probmetrics lir ppi-python.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import platform
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from bayescal import MulticlassCalibrator, ScoreCalibrator, __version__
from bayescal.calibrators.classifier.wrappers import ScikitLearnCalibrator
from bayescal.likelihood_ratio import cllr, likelihood_ratios
from bayescal.sampling import estimate_rate
from bayescal.text.reuters_scores import CLASSIFIERS, TOPICS, load_reuters_scores

CLIP = 1e-4  # all probabilities, since some methods return 0 and 1
SIZES = (10, 50)  # positives that are labelled, with negatives in proportion
LABELLED = 400  # documents of ten classes
LEVEL = 0.9


# One score and two classes: (scores, labels, new scores) -> P(+).


def ours(scores, labels, new):
    """Fit the default without its learned prior, which has seen Reuters."""
    fitted = ScoreCalibrator(prior_knowledge="vague", random_state=0).fit(scores, labels)
    return fitted.predict_proba(new)[:, 1]


def sigmoid(scores, labels, new):
    """Fit by Platt's method."""
    return ScikitLearnCalibrator("sigmoid").fit(scores[:, None], labels).predict_proba(new[:, None])


def isotonic(scores, labels, new):
    """Fit an isotonic regression."""
    fitted = ScikitLearnCalibrator("isotonic").fit(scores[:, None], labels)
    return fitted.predict_proba(new[:, None])


def beta(scores, labels, new):
    """Fit beta calibration to the logistic function of the scores."""
    from betacal import BetaCalibration

    fitted = BetaCalibration(parameters="abm").fit(special.expit(scores), labels)
    return fitted.predict(special.expit(new))


def venn_abers(scores, labels, new):
    """Return the inductive Venn-Abers predictor's single value."""
    from venn_abers import VennAbers

    fitted = VennAbers()
    fitted.fit(np.column_stack([-scores, scores]), labels)
    return fitted.predict_proba(np.column_stack([-new, new]))[0][:, 1]


def netcal(name, module):
    """Return a method of netcal, of the logistic function of the scores."""

    def method(scores, labels, new):
        from importlib import import_module

        made = getattr(import_module(f"netcal.{module}"), name)()
        made.fit(special.expit(scores), labels)
        return made.transform(special.expit(new))

    return method


def probmetrics(name):
    """Return a calibrator of probmetrics, of the logistic function of the scores."""

    def method(scores, labels, new):
        from probmetrics.calibrators import get_calibrator

        p, of_new = special.expit(scores), special.expit(new)
        fitted = get_calibrator(name).fit(np.column_stack([1 - p, p]), labels)
        return fitted.predict_proba(np.column_stack([1 - of_new, of_new]))

    return method


BINARY = {
    ("bayescal", "ScoreCalibrator"): ours,
    ("scikit-learn", "sigmoid"): sigmoid,
    ("scikit-learn", "isotonic"): isotonic,
    ("betacal", "three parameters"): beta,
    ("venn-abers", "inductive"): venn_abers,
    ("netcal", "LogisticCalibration"): netcal("LogisticCalibration", "scaling"),
    ("netcal", "BBQ"): netcal("BBQ", "binning"),
    ("probmetrics", "affine-scaling"): probmetrics("affine-scaling"),
    ("probmetrics", "quadratic-scaling"): probmetrics("quadratic-scaling"),
}


# Ten classes: (fitted classifier, documents, labels, new documents) -> probabilities.


def scores_of(classifier, documents):
    """Return margins, or log-probabilities of a classifier that has none."""
    score = getattr(classifier, "decision_function", None) or classifier.predict_log_proba
    return score(documents)


class Softmax(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose probabilities are the softmax of its margins."""

    def __init__(self, classifier):
        self.classifier = classifier
        self.classes_ = classifier.classes_

    def predict_proba(self, documents):
        """Return probabilities, shape (n, classes)."""
        return special.softmax(scores_of(self.classifier, documents), axis=1)

    def predict(self, documents):
        """Return the likeliest classes."""
        return self.classifier.predict(documents)


def map_of_classes(classifier, documents, labels, new):
    """Fit a map of all classes' scores."""
    fitted = MulticlassCalibrator("scores", random_state=0)
    return fitted.fit(scores_of(classifier, documents), labels).predict_proba(
        scores_of(classifier, new)
    )


def prefit(method):
    """Return scikit-learn's calibration of a fitted classifier."""

    def calibrate(classifier, documents, labels, new):
        wrapped = CalibratedClassifierCV(FrozenEstimator(classifier), method=method)
        return wrapped.fit(documents, labels).predict_proba(new)

    return calibrate


def mapie(classifier, documents, labels, new):
    """Fit Venn-Abers predictors of the classes."""
    from mapie.calibration import VennAbersCalibrator

    fitted = VennAbersCalibrator(estimator=Softmax(classifier), cv="prefit")
    return fitted.fit(documents, labels).predict_proba(new)


def probmetrics_of_classes(name):
    """Return a calibrator of probmetrics, of the softmax of the margins."""

    def calibrate(classifier, documents, labels, new):
        from probmetrics.calibrators import get_calibrator

        softmax = Softmax(classifier)
        fitted = get_calibrator(name).fit(softmax.predict_proba(documents), labels)
        return fitted.predict_proba(softmax.predict_proba(new))

    return calibrate


def netcal_of_classes(classifier, documents, labels, new):
    """Scale the temperature of the softmax of the margins."""
    from netcal.scaling import TemperatureScaling

    softmax, made = Softmax(classifier), TemperatureScaling()
    made.fit(softmax.predict_proba(documents), labels)
    return made.transform(softmax.predict_proba(new))


CLASSES = {
    ("bayescal", "MulticlassCalibrator"): map_of_classes,
    ("scikit-learn", "sigmoid"): prefit("sigmoid"),
    ("scikit-learn", "isotonic"): prefit("isotonic"),
    ("scikit-learn", "temperature"): prefit("temperature"),
    ("MAPIE", "VennAbersCalibrator"): mapie,
    ("netcal", "TemperatureScaling"): netcal_of_classes,
    ("probmetrics", "temp-scaling"): probmetrics_of_classes("temp-scaling"),
    ("probmetrics", "svs"): probmetrics_of_classes("svs"),
    ("probmetrics", "sms"): probmetrics_of_classes("sms"),
}


# Likelihood ratios: (scores, labels, new scores) -> log10 LR.


def ratios(scores, labels, new):
    """Fit a ScoreCalibrator, and return its ratios."""
    fitted = ScoreCalibrator(random_state=0).fit(scores, labels)
    return likelihood_ratios(fitted, new).log10


def lir(name, **options):
    """Return a calibrator of lir."""

    def method(scores, labels, new):
        from lir.algorithms import kde, logistic_regression

        kinds = {"LogitCalibrator": logistic_regression, "KDECalibrator": kde}
        made = getattr(kinds[name], name)(**options).fit(scores[:, None], labels)
        return np.ravel(made.transform(new[:, None]))

    return method


RATIOS = {
    ("bayescal", "likelihood_ratios"): ratios,
    ("lir", "LogitCalibrator"): lir("LogitCalibrator"),
    ("lir", "KDECalibrator"): lir("KDECalibrator", bandwidth="silverman"),
}


# Rates: (judge's probabilities of all, positions and labels of some) -> lower, upper.


def rate(p, rows, labels):
    """Return the interval of `estimate_rate`."""
    given = np.full(p.size, np.nan)
    given[rows] = labels
    found = estimate_rate(p, given, design="random", level=LEVEL)
    return found.lower, found.upper


def prediction_powered(p, rows, labels):
    """Return the interval of PPI++."""
    from ppi_py import ppi_mean_ci

    rest = np.delete(p, rows)
    return np.ravel(ppi_mean_ci(labels.astype(float), p[rows], rest, alpha=1 - LEVEL))


RATES = {("bayescal", "estimate_rate"): rate, ("ppi-python", "ppi_mean_ci"): prediction_powered}


def timed(method, *given):
    """Return an answer and its seconds of processor time; None if the package is missing."""
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with warnings.catch_warnings(), np.errstate(all="ignore"), quiet[0], quiet[1]:
        warnings.simplefilter("ignore")
        start = time.process_time()
        try:
            answer = method(*given)
        except ModuleNotFoundError:
            return None, np.nan
        return answer, time.process_time() - start


def log_loss(probabilities, labels):
    """Return the mean log-loss in bits of class probabilities (n, K), or of P(+) (n,)."""
    p = np.asarray(probabilities, float)
    p = p.reshape(len(labels), -1)
    p = np.column_stack([1.0 - p[:, -1], p[:, -1]]) if p.shape[1] < 3 else p
    p = np.clip(p, CLIP, 1.0)
    return float(
        -np.log2((p / p.sum(axis=1, keepdims=True))[np.arange(len(labels)), labels]).mean()
    )


def two_classes(repeats, topics):
    """Yield losses of new documents of Reuters, by method, problem, repeat and positives."""
    for classifier in CLASSIFIERS:
        for topic in topics:
            known, new = (
                load_reuters_scores(classifier, topic, s) for s in ("calibration", "test")
            )
            for size in SIZES:
                share = size / known["label"].sum()
                for repeat in range(repeats):
                    few = known.groupby("label").sample(frac=share, random_state=repeat)
                    given = (
                        few["score"].to_numpy(),
                        few["label"].to_numpy(),
                        new["score"].to_numpy(),
                    )
                    for (package, name), method in BINARY.items():
                        p, seconds = timed(method, *given)
                        if p is not None:
                            loss = log_loss(p, new["label"].to_numpy())
                            yield package, name, (classifier, topic), size, loss, seconds


def ten_classes(repeats):
    """Yield losses of new digits, by method, classifier and repeat."""
    digits = load_digits()
    for classifier in (LinearSVC(random_state=0), GaussianNB()):
        for repeat in range(repeats):

            def split(documents, labels, size, repeat=repeat):
                return train_test_split(
                    documents, labels, train_size=size, stratify=labels, random_state=repeat
                )

            first, rest, of_first, of_rest = split(digits.data, digits.target, 500)
            few, new, of_few, truth = split(rest, of_rest, LABELLED)
            fitted, name_of = classifier.fit(first, of_first), type(classifier).__name__
            for (package, name), method in CLASSES.items():
                p, seconds = timed(method, fitted, few, of_few, new)
                if p is not None:
                    yield package, name, name_of, LABELLED, log_loss(p, truth), seconds


def comparisons(repeats):
    """Yield Cllr of new comparisons of skewed scores, by method and repeat."""
    for repeat in range(repeats):
        rng = np.random.default_rng(repeat)

        def draw(same, different, rng=rng):
            labels = np.repeat([1, 0], [same, different])
            return np.where(
                labels == 1, rng.gumbel(2.0, 1.0, labels.size), rng.gumbel(-1.0, 1.0, labels.size)
            ), labels

        (scores, labels), (new, truth) = draw(40, 400), draw(2_000, 20_000)
        for (package, name), method in RATIOS.items():
            log10, seconds = timed(method, scores, labels, new)
            if log10 is not None:
                found = cllr(truth, np.clip(log10, -6, 6))
                yield package, name, repeat, 40, found, seconds


def rates(repeats):
    """Yield whether intervals of a rate of 30 % hold it, and their width, by method and repeat."""
    for repeat in range(repeats):
        rng = np.random.default_rng(repeat)
        y = rng.random(10_000) < 0.3
        p = special.expit(special.logit(0.3) + 2.0 * rng.normal(2.0 * y, 1.0) - 2.0)
        rows = rng.permutation(y.size)[:100]
        for (package, name), method in RATES.items():
            found, seconds = timed(method, p, rows, y[rows])
            if found is not None:
                yield (
                    package,
                    name,
                    repeat,
                    float(found[0] <= y.mean() <= found[1]),
                    found[1] - found[0],
                    seconds,
                )


def against(rows):
    """Return 100 log(loss / ours) of peers, its mean and standard error over problems."""
    losses = rows.groupby(["package", "method", "n", "problem"], sort=False)["loss"].mean()
    mine = losses.xs("bayescal").droplevel("method")
    losses = losses.drop("bayescal", level="package")
    ratio = 100.0 * np.log(
        losses / mine.reindex(losses.index.droplevel(["package", "method"])).to_numpy()
    )
    groups = ratio.groupby(["package", "method", "n"], sort=False)
    return groups.mean(), groups.sem()


def table(rows, head):
    """Return losses against ours and median seconds, in Markdown."""
    mean, error = against(rows)
    sizes = list(dict.fromkeys(rows["n"]))
    seconds = rows.groupby(["package", "method", "n"], sort=False)["seconds"].median()
    lines = [
        f"| package | method | {' | '.join(head)} | seconds |",
        "|---" * (3 + len(sizes)) + "|",
    ]
    for package, method in dict.fromkeys(zip(rows["package"], rows["method"], strict=True)):
        cells = [
            "-"
            if package == "bayescal"
            else f"{mean[package, method, n]:+.1f} ± {error[package, method, n]:.1f}"
            for n in sizes
        ]
        took = seconds[package, method, sizes[-1]]
        lines.append(f"| {package} | {method} | {' | '.join(cells)} | {took:.2g} |")
    return "\n".join(lines)


def better_and_level(*tables):
    """Return which methods have a lower loss than ours by two standard errors, and which level."""
    better, level = [], []
    for rows, where in tables:
        mean, error = against(rows)
        for (package, method, n), value in mean.items():
            limit = 2.0 * error[package, method, n]
            if value < limit:
                (better if value < -limit else level).append(f"{package}, {method} ({where}, {n})")
    return "; ".join(better) or "none", "; ".join(level) or "none"


def versions():
    """Return the versions of packages that are installed, and those that are not."""
    names = dict.fromkeys(
        name for methods in (BINARY, CLASSES, RATIOS, RATES) for name, _ in methods
    )
    found, missing = [f"bayescal {__version__}"], []
    for name in list(names)[1:]:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    return ", ".join(found), ", ".join(missing) or "none"


def of_rates(rows):
    """Return coverage, width and seconds of intervals, in Markdown."""
    lines = ["| package | method | holds | width | seconds |", "|---|---|---|---|---|"]
    for (package, method), each in rows.groupby(["package", "method"], sort=False):
        error = each["holds"].sem()
        lines.append(
            f"| {package} | {method} | {each['holds'].mean():.2f} ± {error:.2f} |"
            f" {each['width'].mean():.3f} | {each['seconds'].median():.2g} |"
        )
    return "\n".join(lines)


def main():
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two topics and one sample: a trial")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder of benchmarks.md")
    asked = parser.parse_args()
    repeats, topics = (2, TOPICS[:2]) if asked.quick else (5, TOPICS)
    binary, classes, compared = (
        pd.DataFrame(rows, columns=["package", "method", "problem", "n", "loss", "seconds"])
        for rows in (two_classes(repeats, topics), ten_classes(repeats), comparisons(4 * repeats))
    )
    held = pd.DataFrame(
        rates(20 * repeats), columns=["package", "method", "repeat", "holds", "width", "seconds"]
    )
    better, level = better_and_level(
        (binary, "two classes"), (classes, "ten classes"), (compared, "ratios")
    )
    given, missing = versions()
    template = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
    page = template.format(
        better=better,
        level=level,
        problems=binary["problem"].nunique(),
        clip=CLIP,
        labelled=LABELLED,
        binary=table(binary, [f"{n} positives" for n in SIZES]),
        classes=table(classes, [f"{LABELLED} labels"]),
        ratios=table(compared, ["Cllr"]),
        rates=of_rates(held),
        repeats=repeats,
        machine=f"{platform.machine()}, Python {platform.python_version()}, one core",
        versions=given,
        missing=missing,
    )
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "benchmarks.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
