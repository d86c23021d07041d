"""What displays of predictions draw: reliability, confusion, sets, risk."""

from functools import cache, partial

import numpy as np
from matplotlib import pyplot

from bayescal import CalibratedClassifier, plots
from tests.artists import drawn
from tests.small_fits import (
    CLASSES,
    NEW,
    NEW_KLASS,
    NEW_LABELS,
    NEW_LOGITS,
    TOPIC_LABELS,
    TOPIC_SCORES,
    classes,
    one,
    topics,
)

RNG = np.random.default_rng(11)
P = np.round(1.0 / (1.0 + np.exp(-1.3 * NEW)), 2)
RARE = np.round(0.4 * P, 3)
COUNTS = RNG.integers(0, 4, P.size)
INCLUSION = np.where(NEW > 0.0, 0.8, 0.25)
P_CLASSES = np.exp(0.8 * NEW_LOGITS)
P_CLASSES /= P_CLASSES.sum(axis=1, keepdims=True)
POSITIONS = np.searchsorted(CLASSES, NEW_KLASS)
POWERS = np.stack([P_CLASSES**k / (P_CLASSES**k).sum(axis=1, keepdims=True) for k in (1, 2, 3)])


@cache
def classifier():
    """Return a calibrated classifier of three classes, given its scores."""
    from sklearn.naive_bayes import GaussianNB

    made = CalibratedClassifier(GaussianNB(), "temperature", cv=2, random_state=0)
    return made.fit(NEW_LOGITS, NEW_KLASS)


def of(display, make, *arguments, **options):
    """Return what a display draws."""
    arguments = [each() if callable(each) else each for each in arguments]
    return drawn(getattr(getattr(plots, f"{display}Display"), make)(*arguments, **options))


def one_panel(display, *arguments, **options):
    """Return what a display draws into axes that it is given."""
    ax = pyplot.subplots(figsize=(3.0, 2.5))[1]
    return of(display, "from_predictions", *arguments, ax=ax, **options)


def twice(display, make, first, second):
    """Return what two displays draw in one picture."""
    method = getattr(getattr(plots, f"{display}Display"), make)
    below = method(*first[0], **first[1])
    return drawn(method(*second[0], ax=below.ax_, **second[1]))


LARGE = np.random.default_rng(12).dirichlet(np.linspace(0.3, 1.0, 13), 60)
OF_LARGE = (LARGE.cumsum(axis=1) > np.random.default_rng(13).random((60, 1))).argmax(axis=1)
TOPIC_ROWS = (TOPIC_SCORES[:39], TOPIC_LABELS[:39])
HELD_OUT = (NEW, NEW_LABELS)
HERE = "from_predictions"
CASES = {
    "reliability": partial(of, "Reliability", "from_estimator", one, *HELD_OUT),
    "reliability, turned": partial(of, "Reliability", "from_estimator", one, *HELD_OUT, pos_label=0,
                                   method="quantile", n_bins=4, level=0.5, prior=0.3),
    "reliability, weighted": partial(of, "Reliability", "from_estimator", one, *HELD_OUT,
                                     sample_weight=COUNTS, band="confidence", name="mine"),
    "reliability, sampled": partial(of, "Reliability", "from_estimator", one, *HELD_OUT,
                                    inclusion=INCLUSION, band=None, counts=False, legend=False),
    "reliability, topic": partial(of, "Reliability", "from_estimator", topics, *TOPIC_ROWS,
                                  topic="acq"),
    "reliability, class": partial(of, "Reliability", "from_estimator", classifier, NEW_LOGITS,
                                  NEW_KLASS, pos_label="bee", method="uniform"),
    "reliability, several": partial(of, "Reliability", "from_estimator", classes, NEW_LOGITS,
                                    NEW_KLASS, topic="wasp", prior=[0.5, 0.3, 0.2]),
    "reliability, rare": partial(of, "Reliability", HERE, NEW_LABELS, RARE, positive_class="rare"),
    "reliability, label": partial(of, "Reliability", HERE, NEW_LABELS + 3, P, pos_label=3,
                                  sample_weight=COUNTS, n_bins=5, method="uniform"),
    "reliability, constant": partial(of, "Reliability", HERE, [0, 1, 0, 0], [0.25] * 4),
    "reliability, many": partial(of, "Reliability", HERE, NEW_LABELS, P + np.arange(83) / 1e4,
                                 name="many", random_state=5),
    "reliability, two": partial(twice, "Reliability", HERE, ((NEW_LABELS, P), {"name": "a"}),
                                ((NEW_LABELS, RARE), {"name": "b", "inclusion": INCLUSION})),
    "reliability, two without counts": partial(
        twice, "Reliability", HERE, ((NEW_LABELS, P), {"counts": False}), ((NEW_LABELS, RARE), {})),
    "classes": partial(of, "ClassReliability", "from_estimator", classes, NEW_LOGITS, NEW_KLASS),
    "classes, prior": partial(of, "ClassReliability", "from_estimator", classes, NEW_LOGITS,
                              NEW_KLASS, prior=[0.6, 0.3, 0.1], n_bins=4, level=0.5),
    "classes, one panel": partial(one_panel, "ClassReliability", NEW_KLASS, P_CLASSES,
                                  classes=CLASSES, n_bins=3, random_state=2),
    "classes, five": partial(of, "ClassReliability", HERE, OF_LARGE % 5,
                             LARGE[:, :5] / LARGE[:, :5].sum(axis=1, keepdims=True), n_bins=2),
    "confusion": partial(of, "Confusion", "from_estimator", classes, NEW_LOGITS, NEW_KLASS),
    "confusion, prior": partial(of, "Confusion", "from_estimator", classes, NEW_LOGITS, NEW_KLASS,
                                prior=[0.05, 0.05, 0.9], level=0.5),
    "confusion, many": partial(of, "Confusion", HERE, OF_LARGE, LARGE, classes=range(13)),
    "sets": partial(of, "PredictionSet", "from_estimator", classes, NEW_LOGITS, NEW_KLASS),
    "sets, given": partial(of, "PredictionSet", HERE, NEW_KLASS, P_CLASSES, classes=CLASSES,
                           coverages=[0.9, 0.4], level=0.5, random_state=3),
    "risk": partial(of, "RiskCoverage", "from_estimator", classes, NEW_LOGITS, NEW_KLASS),
    "risk, prior": partial(of, "RiskCoverage", "from_estimator", classes, NEW_LOGITS, level=0.5,
                           prior=[0.1, 0.2, 0.7], name="mine"),
    "risk, two": partial(twice, "RiskCoverage", HERE,
                         ((P_CLASSES[None], POSITIONS), {}),
                         ((POWERS, POSITIONS[::-1]), {"name": "second"})),
}  # fmt: skip
