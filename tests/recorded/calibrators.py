"""Estimators on small data: draws, tables, predictions, by options, samples and labels."""

import contextlib
import inspect
import tempfile

import numpy as np
import pandas as pd
import pytest
from sklearn import frozen, isotonic, linear_model, multiclass, multioutput, naive_bayes, tree

import bayescal as bc
from bayescal import calibrators, monitoring
from bayescal.fitting.problems.problem import binned_log_odds

RNG, THIRD = np.random.default_rng(5), np.arange(60) % 3
Y, TOPICS = np.repeat(["ham", "spam"], [38, 22]), np.repeat([*"acqu"], [24, 16, 12, 8])
K = np.where(TOPICS == "q", "ham", RNG.permutation(Y))
S, T = (np.round(RNG.normal(np.where(y == "spam", 1.3, -0.6), 1.2), 1) for y in (Y, K))
NEW, P = np.array([-3.0, -0.6, 0.15, 0.9, 4.0]), np.round(1.0 / (1.0 + np.exp(-1.2 * S)), 3)
LOGITS = np.round(1.6 * np.c_[S, 0.3 - S, RNG.normal(size=60)], 1)
CLASSES = np.array(["ant", "bee", "wasp"])[(LOGITS + RNG.gumbel(size=(60, 3))).argmax(axis=1)]
GRADES, X = np.digitize(S + RNG.normal(size=60), [-0.5, 0.7, 1.5]), np.c_[S, RNG.normal(size=60)]
SEVERAL = np.column_stack([Y == "spam", X[:, 1] > 0.2, X[:, 1] % 1 < 0.3]).astype(int)
SHARES = np.c_[P / 2.0, P**2 / 2.0, 1.0 - P / 2.0 - P**2 / 2.0]
WEIGHT, INCLUSION = {"sample_weight": RNG.integers(0, 4, 60)}, RNG.choice([0.2, 0.5, 1.0], 60)
SAMPLES = WEIGHT, {"inclusion": INCLUSION}, {"clusters": np.arange(60) // 3}
DRAWN = {"draws": 40, "chains": 2, "random_state": 3}
SMALL, ASKED = DRAWN | {"positive": "spam"}, {"new": (NEW, np.array([*"acnqu"]))}
HISTORY = {"scores": T, "labels": K, "topics": TOPICS}
PRIORS = "predict", "predict_proba", "predict_log_proba", "decision_function", "predict_top"
QUESTIONS = "new", "kinds", "prior", "at"
OTHERS = "exceedance", "expected_gain", "gain_interval", "predict_set"


def _answers(fitted, new=(NEW,), kinds=("pointwise", "hdi", "simultaneous"), at=None, **asked):
    """Return attributes and answers of a fitted estimator; `kinds=None` leaves draws out."""
    asked |= at or {}
    left = ("posterior_",) if kinds is not None else ("posterior_", "results_")
    names = [name for name in dir(fitted) if name.endswith("_") and name[0] != "_"]
    found = [getattr(fitted, name, None) for name in names if name not in left]
    found += [getattr(fitted, name)(*new, **asked) for name in PRIORS if hasattr(fitted, name)]
    if kinds is None:
        return found
    found += [getattr(fitted, name)(new[0]) for name in OTHERS if hasattr(fitted, name)]
    found += [fitted.predict_interval(*new, level=0.8, kind=kind, **asked) for kind in kinds]
    found += [fitted.sample_proba(*new, draws=5, random_state=1, **asked)] if kinds else []
    with contextlib.suppress(AttributeError):  # several classes have none
        found += [_said(each) for each in fitted.fitted_problems().values()]
    return [*found, fitted.summary(0.8)]


def _said(one):
    place, grid = np.arange(one.documents.score.size) % 4, one.grid(np.full(2, 0.4), 5)
    found = binned_log_odds(place, one.documents, one.log_odds, 0.8), one.log_odds(one.grid(), 0.3)
    found += one.describe(several=False), one.parts, one.diagnostics, one.attrs, one.shown(grid)
    return *found, one.problems, one.has_mle, one.scale, one.prior_moved, one.parameters(0.8)


def _fits(kind, *cases, **common):
    """Return a case of fits: of each the options, the arguments of `fit`, and what is asked."""

    def result(**given):
        asked = {name: given.pop(name) for name in QUESTIONS if name in given}
        known = inspect.signature(kind.fit).parameters
        data = {name: given.pop(name) for name in known if name in given}
        return _answers(kind(**given).fit(**data), **asked)

    return lambda: {str(k): result(**common | own) for k, own in enumerate(cases)}


SCORED, UNIT = {"scores": S, "y": Y, "prior": 0.3} | SMALL, (NEW.clip(0, 1),)
MANY, MLE = np.sinh(np.linspace(-3.0, 3.0, 300)), {"inference": "mle", "kinds": ()}
parts = _fits(
    bc.ScoreCalibrator, {"parts": bc.Densities("average", averaging="stacking", warp=2.0)},
    {"parts": bc.Densities(averaging="evidence", prior_knowledge={"theta_scale": 1.5})},
    {"parts": bc.Logistic(warp="average", prior_knowledge={"slope_scale": 0.7})},
    {"parts": bc.Monotone(n_segments=3, warp="none")}, {"parts": ["densities", "recalibrated"]},
    *[{"parts": each} for each in ("gaussian", "laplace", "asymmetric_gaussian", "learned")],
    {"parts": "gaussian", **WEIGHT, **MLE}, MLE,
    {"parts": bc.Densities("laplace", scale_floor=0.3), "inclusion": INCLUSION, **MLE},
    {"parts": bc.Densities("asymmetric_gaussian", candidates="bennett"), **SAMPLES[2], **MLE},
    **SCORED,
)  # fmt: skip
options = _fits(
    bc.ScoreCalibrator, *SAMPLES, {"scores_are": "probabilities", "scores": P, "new": UNIT},
    {"scores_are": "log_odds", "parts": ["identity", "logistic"]},
    {"lapse": 0.05, "prior_knowledge": "vague", "point": "mean", **WEIGHT},
    {"lapse": 0.0, "scores": -S, "positive": "ham", "point": "median"},
    {"units": {"centre": 0.5, "spread": 2.0}, "parts": "densities", "inclusion": INCLUSION},
    {"scores": np.where(THIRD == 0, 6.0, S)},
    {"scores": MANY, "y": np.sin(MANY * 1e3) < MANY, "parts": "monotone", "positive": None},
    {"parts": "gaussian", "new": (np.linspace(-90.0, 90.0, 40_000),)}, **SCORED,
)  # fmt: skip
modes = _fits(
    bc.ScoreCalibrator, {"parts": "gaussian"}, inference="map", kinds=(), scores=S, y=Y,
    random_state=1, **WEIGHT,
)  # fmt: skip
TIED = {"scores": np.where(THIRD == 0, 6.0, S), "labels": Y}
topics = _fits(
    bc.TopicCalibrator, {"lapse": 0.03, "prior_knowledge": {"n_segments": 4}, **WEIGHT},
    {"pooling": "none"},
    {"parts": "densities", "prior_knowledge": {"log_scale": (0.0, 0.5)}}, {"pooling": "complete"},
    {"parts": "gaussian", "point": "median"}, TIED, TIED | {"pooling": "none"}, prior=0.3,
    **HISTORY, **ASKED, **SMALL,
)  # fmt: skip
topic_samples = _fits(bc.TopicCalibrator, *SAMPLES[1:], **HISTORY, **ASKED, **SMALL)
RAGGED = [row[: 2 + k % 2].tolist() for k, row in enumerate(LOGITS)]
LOGIT = {"new": (LOGITS[:2],), "kinds": None}
classes = _fits(
    bc.MulticlassCalibrator, *SAMPLES, {"scores": SHARES, "new": (SHARES[:2],)},
    {"exchangeable": True, "position_bias": True},
    {"exchangeable": True, "scores": RAGGED, "y": THIRD % 2, "new": (RAGGED[:2],)},
    {"prior_knowledge": {"scales": {"bias": 0.1}}, "prior": [0.2, 0.3, 0.5]},
    scores=LOGITS, y=CLASSES, inference="variational", **LOGIT, **DRAWN,
)  # fmt: skip
grades = _fits(
    bc.OrdinalCalibrator, {"y": GRADES, **WEIGHT},
    {"y": np.array([*"acbd"])[GRADES], "grades": [*"acbd"], "parts": "gaussian"}, scores=S, **DRAWN,
)  # fmt: skip
SITES = {"pooling": "partial", "sites": np.array([*"abc"])[THIRD], "at": {"sites": [*"abcda"]}}
recalibrated = _fits(
    monitoring.Recalibrator, {}, *[{"refit": "never", **each} for each in SAMPLES], SITES,
    SITES | WEIGHT, p=P, y=Y, new=UNIT, prior=0.3, draws=80, random_state=3, positive="spam",
)  # fmt: skip
LOGISTIC, BAYES = linear_model.LogisticRegression(), naive_bayes.GaussianNB()
TREE = tree.DecisionTreeClassifier(max_depth=2, random_state=0)
POOLED, GIVEN = bc.TopicCalibrator(parts="gaussian", draws=40), {"estimator": "probabilities"}
FOREIGN = ["sigmoid", "isotonic", isotonic.IsotonicRegression(out_of_bounds="clip")]
FRAME, THREE = pd.DataFrame({"spam": P, "ham": 1.0 - P}), [0.2, 0.3, 0.5]
CLASSIFIED = {"X": X, "new": (X[:4],), "kinds": ["hdi"], "random_state": 3}
CLASSIFIED |= {"calibrator": bc.ScoreCalibrator("gaussian", draws=40), "estimator": LOGISTIC}
classifiers = _fits(
    bc.CalibratedClassifier, {"positive": "ham", "kinds": ["simultaneous"], "prior": 0.3},
    {"estimator": TREE, **WEIGHT}, {"estimator": None, **SAMPLES[2]}, {"ensemble": True, "cv": 3},
    {"estimator": frozen.FrozenEstimator(BAYES.fit(X, Y)), "inclusion": INCLUSION},
    {"X": P, "new": (P[:4],), "prior": [0.3, 0.7], **GIVEN},
    {"X": FRAME, "new": (FRAME[:4],), "prior": {"spam": 0.3, "ham": 0.7}, **GIVEN},
    *[{"calibrator": each, "kinds": None} for each in FOREIGN], y=Y, **CLASSIFIED,
)  # fmt: skip
CLASSIFIED |= {"prior": THREE}
JOINT = bc.MulticlassCalibrator(inference="variational", draws=40)
several = _fits(
    bc.CalibratedClassifier, {"estimator": BAYES},
    {"calibrator": JOINT, "X": SHARES, "new": (SHARES[:2],), "kinds": None, **GIVEN},
    {"ensemble": True, "cv": 2}, {"calibrator": "temperature", "kinds": None, "prior": None},
    y=CLASSES, **CLASSIFIED,
)  # fmt: skip
labels = _fits(
    bc.CalibratedClassifier, {"estimator": multioutput.MultiOutputClassifier(BAYES)},
    {"estimator": multiclass.OneVsRestClassifier(LOGISTIC), "calibrator": POOLED},
    {"X": SHARES, "new": (SHARES[:4],), **GIVEN}, y=SEVERAL, **CLASSIFIED,
)  # fmt: skip


def _loaded(fitted, load=bc.load):
    with tempfile.TemporaryDirectory() as folder:
        return load(fitted.save(f"{folder}/file"))


def constant_labels():
    fitted = bc.CalibratedClassifier(TREE, CLASSIFIED["calibrator"], random_state=3)
    with pytest.warns(UserWarning, match="never vary"):
        fitted = _loaded(fitted.fit(X, SEVERAL * [1, 1, 0]), bc.CalibratedClassifier.load)
    asked = {"new": (X[:4],), "kinds": ["pointwise"], "prior": THREE}
    return {"all": [_answers(fitted, **asked), fitted.labelled_scores(X, SEVERAL)]}


def results():
    one, classes = bc.ScoreCalibrator(**SMALL), bc.MulticlassCalibrator(**DRAWN)
    fits = one.fit(S[20:], Y[20:]), classes.set_params(inference="variational").fit(LOGITS, CLASSES)
    with pytest.warns(UserWarning, match="Pareto"):
        left_out = [vars(calibrators.leave_one_out(each, draws=30)) for each in fits]
    one.update(S[:20], Y[:20], np.arange(20) % 3, forgetting=0.9)
    classes.update(LOGITS[40:], CLASSES[40:], forgetting=0.8)
    mle, losses = bc.ScoreCalibrator("gaussian", "mle").fit(S, Y), (np.abs(P - 0.3), np.cos(S))
    groups = WEIGHT, {"inclusion": INCLUSION}, {"groups": np.arange(60) // 3}, {}
    wide = np.cos(np.outer(np.arange(160.0), np.arange(1.0, 53.0))) + 4.0 * np.eye(160, 52)
    many = bc.MulticlassCalibrator(**DRAWN).fit(wide, np.arange(160) % 52).predict_proba(wide[:2])
    given, costs = LOGITS[:2], [[0, 1, 2], [3, 0, 1], [0.5, 0.5, 0.5]]
    tables = [calibrators.probability_table(*each) for each in ((one, NEW), (classes, given))]
    return {
        "left out": left_out,
        "updated": [_answers(_loaded(one)), _answers(_loaded(classes), **LOGIT)],
        "classes": [classes.decide(given, costs, level=0.8), classes.findings(0.8)],
        "sets": [many.round(2), classes.predict_set(given, 0.7, "document")], "tables": tables,
        "densities": [each.class_densities(NEW, 0.8) for each in (one, mle)],
        "paired": [calibrators.paired_bootstrap(*losses, rng=0, **each) for each in groups],
        "estimates": calibrators.compare_estimates({"a": one, "b": mle}, level=0.8),
    }  # fmt: skip


def histories():
    first, last = ({k: v[rows] for k, v in HISTORY.items()} for rows in (slice(52), slice(52, 60)))
    history = bc.TopicCalibrator(**SMALL | {"random_state": 4}).fit(**first)
    around = bc.ScoreCalibrator(prior_knowledge=bc.Population(history), random_state=4).fit(
        S[::3], Y[::3]
    )
    added = _answers(history.add_topics(**last), **ASKED)
    return {"around": around.combination_, "added": added}
