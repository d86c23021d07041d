"""Displays of several classes."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from bayescal.decisions import conformal_sets
from bayescal.metrics import class_verdict, reliability_curve
from bayescal.plots import (
    ClassReliabilityDisplay,
    ConfusionDisplay,
    PredictionSetDisplay,
    RiskCoverageDisplay,
)

NAMES = np.array(["ant", "bee", "wasp"])


class Known:
    """A calibrator whose draws are given."""

    classes_ = NAMES

    def predict_proba(self, documents, prior=None):
        p = np.asarray(documents) * (1.0 if prior is None else np.asarray(prior))
        return p / p.sum(axis=1, keepdims=True)

    def sample_proba(self, documents, prior=None):
        return np.stack([self.predict_proba(documents, prior)] * 3)


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), size=150)
    return p, NAMES[(p.cumsum(axis=1) < rng.random((150, 1))).sum(axis=1)]


def test_reliability_is_that_of_each_class(documents):
    p, y = documents
    display = ClassReliabilityDisplay.from_estimator(Known(), p, y, n_bins=5)
    assert display.data["curve"].values.tolist() == ["likeliest class", *NAMES]
    how = {"method": "quantile", "rng": 0}
    for k, name in enumerate(NAMES):
        expected = reliability_curve(y == name, p[:, k], n_bins=5, resamples=300, **how)
        mine = display.data.sel(curve=name)
        np.testing.assert_allclose(mine["observed"], expected.prob_true)
        np.testing.assert_allclose(mine["lower"], expected.lower)
    right = p.max(axis=1), NAMES[p.argmax(axis=1)] == y
    top = display.data.sel(curve="likeliest class")
    np.testing.assert_allclose((top["observed"] * top["weight"]).sum(), right[1].sum())
    np.testing.assert_allclose((top["predicted"] * top["weight"]).sum(), right[0].sum())
    titles = [ax.get_title() for ax in display.axes_]
    assert titles == ["likeliest class", *NAMES]
    one = ClassReliabilityDisplay(display.data).plot(ax=Figure().subplots())
    assert len(one.axes_) == 1


def test_confusions_are_those_of_the_verdict(documents):
    p, y = documents
    ax = Figure().subplots()
    display = ConfusionDisplay.from_estimator(Known(), p, y, ax=ax)
    found = class_verdict(y, p, NAMES, draws=np.stack([p] * 3))
    np.testing.assert_array_equal(display.data["observed"], found.confusion)
    np.testing.assert_array_equal(display.data["upper"], found.confusion_upper)
    texts = [text.get_text() for text in ax.texts]
    assert texts[0] == f"{found.confusion[0, 0]:.0f}"
    assert len(texts) == 18
    wrong = ConfusionDisplay.from_predictions(y, p[:, ::-1], classes=NAMES, ax=Figure().subplots())
    data = wrong.data
    above, below = data["observed"] > data["upper"], data["observed"] < data["lower"]
    assert above.any()
    assert below.any()
    assert len(wrong.ax_.patches) == int(above.sum() + below.sum())  # frames


def test_risk_needs_no_labels(documents):
    p, y = documents
    ax = Figure().subplots()
    display = RiskCoverageDisplay.from_estimator(Known(), p, ax=ax)
    assert display.observed_ is None
    assert "observed" not in display.data
    both = RiskCoverageDisplay.from_estimator(Known(), p, y, name="labelled", ax=ax)
    wrong = (NAMES[p.argmax(axis=1)] != y).mean()
    np.testing.assert_allclose(both.data["observed"][-1], wrong)
    np.testing.assert_allclose(both.data["risk"][-1], 1.0 - p.max(axis=1).mean())
    tilted = RiskCoverageDisplay.from_estimator(Known(), p, prior=[0.98, 0.01, 0.01], ax=ax)
    assert tilted.data["risk"][-1] < 0.5 * both.data["risk"][-1]


def test_sets_stand_beside_conformal_ones(documents):
    p, y = documents
    data = PredictionSetDisplay.from_estimator(Known(), p, y, coverages=[0.9, 0.6]).data
    assert data["coverage"].values.tolist() == [0.6, 0.9]
    assert (data["lower"] <= data["covered"]).all()
    assert (data["covered"] <= data["upper"]).all()
    half = np.random.default_rng(0).permutation(150) % 2 == 0
    label = np.searchsorted(NAMES, y)
    held = np.zeros(150, dtype=bool)
    for part in (half, ~half):
        sets = conformal_sets(p[~part], label[~part], p[part], 0.9)
        held[part] = sets[np.arange(part.sum()), label[part]]
    np.testing.assert_allclose(data["covered"].sel(kind="conformal", coverage=0.9), held.mean())
    # 99.9 % of binomial shares of 150 lie within .1 of .9, and of .13 of .6.
    np.testing.assert_allclose(data["covered"].sel(kind="conformal"), [0.6, 0.9], atol=0.15)
    assert (data["size"].sel(coverage=0.9) > data["size"].sel(coverage=0.6)).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda p, y: ClassReliabilityDisplay.from_estimator(3, p, y), TypeError, "predict_proba"),
        (lambda p, y: RiskCoverageDisplay.from_estimator(Known(), p, ["x"]), ValueError, "got 'x'"),
        (lambda p, y: ConfusionDisplay.from_estimator(Known(), p, ["x"] * 150), ValueError, "'x'"),
        (
            lambda p, y: PredictionSetDisplay.from_estimator(Known(), p, y, coverages=[1.5]),
            ValueError,
            "coverages",
        ),
        (
            lambda p, y: ClassReliabilityDisplay.from_predictions(y, p, classes=["a"]),
            ValueError,
            "name the 3 columns",
        ),
    ],
)
def test_bad_inputs(documents, call, error, message):
    with pytest.raises(error, match=message):
        call(*documents)
