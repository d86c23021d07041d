"""Artists of fitted curves' displays: probabilities, log-odds, likelihood ratios, decisions."""

from functools import partial

import numpy as np

from bayescal import ScoreCalibrator, plots
from tests.artists import drawn
from tests.small_fits import LABELS, NEW, NEW_LABELS, SCORES, SMALL, one, topics

GRID = np.linspace(-2.5, 3.0, 23)
HELD_OUT = (NEW, NEW_LABELS)


def of_estimator(display, kind="gaussian", *where, **options):
    """Return the artists of a calibrator's display."""
    make = getattr(plots, f"{display}Display").from_estimator
    return drawn(make(topics() if kind == "topics" else one(kind), *where, **options))


def of_several(name, *steps):
    """Return the artists of several displays in one picture, the last on top."""
    make, ax, shown = getattr(plots, f"{name}Display").from_estimator, None, None
    for kind, options in steps:
        shown = make(one(kind), ax=ax, **options)
        ax = shown.ax_
    return drawn(shown)


def of_estimates(*kinds, **options):
    """Return the artists of several calibrators side by side."""
    named = {f"the {kind}": one(kind) for kind in kinds}
    return drawn(plots.EstimatesDisplay.from_estimators(named, **options))


def of_learning(calibrators, **options):
    """Return a learning curve."""
    test = {"test": (NEW, np.array(["no", "yes"])[NEW_LABELS])} if "sizes" in options else {}
    labels = np.array(["no", "yes"])[LABELS] if test else LABELS
    make = plots.LearningCurveDisplay.from_estimator
    return drawn(make(calibrators, SCORES, labels, random_state=1, **test, **options))


def turned_learning():
    """Return a learning curve for the first class."""
    quick = ScoreCalibrator("gaussian", "mle", positive=0)
    make = plots.LearningCurveDisplay.from_estimator
    return drawn(make(quick, -SCORES, LABELS, sizes=[4, 9], repeats=2, random_state=1))


NAMED = {
    "posterior": ScoreCalibrator("gaussian", **SMALL),
    "maximum likelihood": ScoreCalibrator("gaussian", "mle"),
    "another": ScoreCalibrator("logistic", **SMALL),
}
SEVERAL = (
    ("gaussian", {"name": "first"}),
    ("monotone", {"name": "second"}),
    ("mle", {"name": "third"}),
)
ESTIMATED = {
    "probability": ("Probability",),
    "probability, weighted": ("Probability", "weighted", {"level": 0.8, "name": "mine"}),
    "probability, mle": ("Probability", "mle", {"ticks": False, "legend": False}),
    "probability, several": ("Probability", "several", {"mle": False, "band": "simultaneous"}),
    "probability, turned": ("Probability", "first positive", {"pos_label": "yes"}),
    "probability, topic": ("Probability", "topics", {"topic": "earn", "grid": GRID}),
    "probability, label": ("Probability", "topics", {"pos_label": "corn"}),
    "probability, held out": ("Probability", "probabilities",
                              ([0.01, 0.3, 0.3, 0.9], [0, 0, 1, 1]), {"grid": [0.02, 0.5, 0.9]}),
    "probability, prior": ("Probability", "gaussian", {"prior": 0.1, "grid": GRID}),
    "log-odds": ("LogOdds",),
    "log-odds, weighted": ("LogOdds", "weighted", {"level": 0.7, "bins": 4}),
    "log-odds, mle": ("LogOdds", "mle", {"legend": False}),
    "log-odds, turned": ("LogOdds", "gaussian", {"pos_label": 0, "mle": False, "bins": 9}),
    "log-odds, same": ("LogOdds", "gaussian", {"pos_label": 1, "grid": [0.5]}),
    "log-odds, topic": ("LogOdds", "topics", {"topic": "corn", "band": "simultaneous"}),
    "log-odds, held out": ("LogOdds", "several", HELD_OUT),
    "decision": ("Decision",),
    "decision, mle": ("Decision", "mle", {"cost_ratio": (0.5, 20.0), "grid": GRID}),
    "decision, topic": ("Decision", "topics", {"topic": "acq", "level": 0.6, "legend": False}),
    "decision, prior": ("Decision", "weighted", {"prior": 0.4, "grid": GRID}),
    "likelihood ratio": ("LikelihoodRatio", "several"),
    "likelihood ratio, level": ("LikelihoodRatio", "several", {"level": 0.5, "ticks": False}),
    "likelihood ratio, bare": ("LikelihoodRatio", "several",
                               {"bounds": False, "legend": False, "grid": GRID}),
}  # fmt: skip


def cases_of_estimators(cases):
    """Return cases by name: the display, the kind of calibrator, what it is given, options."""
    return {name: _case(*each) for name, each in cases.items()}


def _case(name, kind="gaussian", *others):
    where = next((each for each in others if isinstance(each, tuple)), ())
    options = next((each for each in others if isinstance(each, dict)), {})
    return partial(of_estimator, name, kind, *where, **options)


CASES = {
    **cases_of_estimators(ESTIMATED),
    "probability, three": partial(of_several, "Probability", *SEVERAL),
    "log-odds, three": partial(of_several, "LogOdds", *SEVERAL),
    "likelihood ratio, two": partial(
        of_several, "LikelihoodRatio", ("several", {}), ("several", {"level": 0.6})
    ),
    "estimates": partial(of_estimates, "gaussian", "monotone", "mle"),
    "estimates, grid": partial(of_estimates, "weighted", "gaussian", grid=GRID, level=0.5),
    "estimates, no legend": partial(of_estimates, "mle", legend=False),
    "learning": partial(of_learning, NAMED["maximum likelihood"], repeats=2),
    "learning, several": partial(of_learning, NAMED, sizes=[2, 5], repeats=3),
    "learning, once": partial(of_learning, NAMED, sizes=[7], repeats=1, legend=False),
    "learning, turned": turned_learning,
}
