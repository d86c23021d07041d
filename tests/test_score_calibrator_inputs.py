"""Wrong input is refused by name; hard input gets finite, ordered answers."""

import numpy as np
import pytest

from bayescal import Densities, Program, ScoreCalibrator
from bayescal.families import FAMILIES

X = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
Y = np.array([0, 0, 1, 0, 1])


@pytest.mark.parametrize(
    "method", ["decision_function", "predict_proba", "predict", "predict_interval", "sample_proba"]
)
def test_both_columns_of_predict_proba_are_refused_with_advice(method):
    both = np.column_stack([1.0 - X / 4.0, X / 4.0])
    advice = r"got \(5, 2\). Of the two columns of predict_proba pass \[:, 1\]"
    fitted = ScoreCalibrator(draws=10, chains=1, random_state=0).fit(X, Y)
    for call in (fitted.fit, lambda scores, _: getattr(fitted, method)(scores)):
        with pytest.raises(ValueError, match=advice):
            call(both, Y)
    with pytest.raises(ValueError, match=r"got \(5, 3\).$"):
        fitted.predict_proba(np.zeros((5, 3)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, np.nan, 1.0], [0, 1, 0]), "scores must be finite, got nan at position 1"),
        ((np.zeros((3, 2)), [0, 1, 0]), r"scores must have shape .* got \(3, 2\)"),
        ((X, Y[:4]), "scores and y must have the same length, got 5 and 4"),
        ((X, [0, 0, 0, 0, 0]), "only one class is present"),
        ((X, [0, 1, 2, 0, 1]), "y must hold two classes, got 3 classes"),
        ((X, [0.0, 1.0, np.nan, 0.0, 1.0]), "y must not hold nan"),
        ((X, ["a", None, "b", "a", "b"]), "y must hold labels of one type"),
        ((X, np.array(["2020", "2021"], "M8[s]")[[0, 1, 0, 1, 0]]), "booleans, got date"),
        ((X, [b"a", b"b", b"a", b"b", b"a"]), "got bytes: give them as text"),
        ((X, np.zeros((5, 2))), r"y must have shape \(n,\)"),
        ((X, None), "y must hold the labels"),
        ((X, Y, [1, 1, np.nan, 1, 1]), "sample_weight must be finite, got nan"),
        ((X, Y, [0, 0, 0, 0, 0]), "sample_weight must not be all zero"),
        ((X, Y, [1, 1, 0, 1, 0]), "class np.int64.1. has none|class 1 has none"),
    ],
)
def test_wrong_data(arguments, message):
    calibrator = ScoreCalibrator(inference="mle")
    with pytest.raises(ValueError, match=message):
        calibrator.fit(*arguments)
    assert not hasattr(calibrator, "classes_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"parts": "weibull"}, "parts must be one of 'auto', .*'gaussian'.*got 'weibull'"),
        ({"parts": Densities("weibull")}, "Densities: family must be one of 'auto'"),
        ({"parts": Densities(candidates="all")}, "candidates must be one of 'exact', 'bennett'"),
        ({"parts": Densities(scale_floor=-1.0)}, "scale_floor must be 'auto', None .off. or a"),
        ({"parts": Densities(scale_floor="on")}, "scale_floor must be"),
        ({"chains": 2.5}, "chains must be a positive whole number, got 2.5"),
        ({"parts": Program("laplace", {"slope": 1}), "inference": "map"}, "parameters of program"),
        ({"parts": Program("laplas"), "inference": "nuts"}, "no program 'laplas'.* 'laplace'"),
        (
            {"parts": Densities("laplace", prior_knowledge={"theta_scale": 1.0})},
            "prior_knowledge sets priors, and inference='mle' has none",
        ),
        ({"parts": Program("laplace")}, "inference='mle' would ignore Program"),
        (
            {"parts": Densities("laplace", averaging="evidence"), "inference": "map"},
            "averaging='evidence' needs inference='exact'",
        ),
        (
            {"parts": Densities(prior_knowledge={"slope": 1}), "inference": "exact"},
            "prior_knowledge of Densities may hold .* got 'slope'",
        ),
        ({"units": {"centre": 0.0, "spread": 0}}, "spread must be positive"),
        ({"units": {"centre": np.nan, "spread": 1.0}}, "centre must be finite, got nan"),
        ({"units": {"spread": 1.0}}, "units must be a dict of centre and spread"),
        (
            {
                "inference": "exact",
                "parts": Densities("laplace", prior_knowledge={"share_alpha": 1}),
            },
            "hyperparameters of family 'laplace' are centre.*got 'share_alpha'",
        ),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        ScoreCalibrator(**{"inference": "mle"} | parameters).fit(X, Y)


def test_before_fit():
    for method in ("predict", "predict_proba", "decision_function", "predict_interval"):
        with pytest.raises(ValueError, match="not fitted"):
            getattr(ScoreCalibrator(), method)(X)


HARD = {
    "all scores equal": (np.full(6, 3.0), [0, 1, 0, 1, 0, 0]),
    "all scores zero": (np.zeros(6), [0, 1, 0, 1, 0, 0]),
    "one positive": (np.arange(6.0), [0, 0, 0, 0, 0, 1]),
    "one of each": ([0.0, 1.0], [0, 1]),
    "two distinct values": ([0.0, 1.0] * 10, [0, 1] * 5 + [0, 0] * 5),
    "around 1e15": (1e15 + np.arange(8.0), [0, 0, 0, 0, 1, 0, 1, 1]),
    "of size 1e15": (1e15 * np.arange(8.0), [0, 0, 0, 0, 1, 0, 1, 1]),
    "of size 1e-15": (1e-15 * np.arange(8.0), [0, 0, 0, 0, 1, 0, 1, 1]),
    "of size 1e-150": (1e-150 * np.arange(8.0), [0, 0, 0, 0, 1, 0, 1, 1]),
    "of size 1e149": (1e149 * np.arange(8.0), [0, 0, 0, 0, 1, 0, 1, 1]),
    "mostly ties": (np.r_[np.zeros(50), 1.0, 2.0], [0] * 49 + [1] * 3),
    "separated": (np.r_[np.arange(10.0), 100 + np.arange(5.0)], [0] * 10 + [1] * 5),
    "reversed": (np.r_[np.arange(10.0), -100 + np.arange(5.0)], [0] * 10 + [1] * 5),
}


@pytest.mark.filterwarnings("ignore::bayescal.support.score_checks.ScoresWarning")
@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("case", HARD)
def test_hard_data(case, family):
    scores, labels = (np.asarray(values) for values in HARD[case])
    new = np.r_[scores, -1e150, 1e150, scores.mean()]
    exact = ScoreCalibrator(family, draws=250, random_state=0)
    floors = [ScoreCalibrator(Densities(family, scale_floor=f), "mle") for f in ("auto", None)]
    for calibrator in (exact, *floors):
        probability = calibrator.fit(scores, labels).predict_proba(new)
        assert np.isfinite(calibrator.decision_function(new)).all()
        assert ((probability >= 0) & (probability <= 1)).all()
        if case in {"separated", "of size 1e15", "of size 1e-15"} and calibrator is not floors[1]:
            low, high = calibrator.predict_proba([scores.min(), scores.max()])[:, 1]
            assert low < 0.5 < high
    lower, upper = exact.predict_interval(new).T
    assert ((lower >= 0) & (lower <= upper) & (upper <= 1)).all()
    assert exact.diagnostics_.efficiency > 0.95
