"""Indicators that shift log-odds and weights: what they are made into, and what that gains."""

import numpy as np
import pytest
from scipy import special
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import log_loss

from bayescal import CombinedClassifier
from bayescal.combining.combiners.bayes import MOST_MODERATORS, Shifts
from tests.combining_tools import columns

pytestmark = pytest.mark.one_era
RNG = np.random.default_rng


def correlated(n=300, k=12):
    rng = RNG(0)
    return 5.0 + rng.normal(size=(n, 3)) @ rng.normal(size=(3, k)) + 0.3 * rng.normal(size=(n, k))


class TestModerators:
    def test_they_are_the_leading_components_of_standardised_indicators(self):
        x = correlated()
        shifts = Shifts.of(x, None, of_weights=True)
        z = shifts.moderators(x)
        assert z.shape == (300, MOST_MODERATORS)
        standard = (x - x.mean(axis=0)) / x.std(axis=0)
        values = np.linalg.svd(standard, compute_uv=False) ** 2 / 300
        # Uncorrelated, of the components' variances as shares of all.
        np.testing.assert_allclose(z.T @ z / 300, np.diag(values[:8] / 12), atol=1e-10)
        assert (z**2).sum(axis=1).mean() == pytest.approx(values[:8].sum() / 12)
        assert (z**2).sum(axis=1).mean() > 0.95

    def test_units_of_indicators_do_not_matter(self):
        x = correlated()
        one = Shifts.of(x, None, of_weights=True).moderators(x)
        other = Shifts.of(3.0 * x - 7.0, None, of_weights=True).moderators(3.0 * x - 7.0)
        np.testing.assert_allclose(np.abs(one), np.abs(other), atol=1e-9)

    def test_weights_are_repetitions(self):
        x = correlated(40, 3)
        weight = RNG(1).integers(1, 4, 40)
        one = Shifts.of(x, weight.astype(float), of_weights=True)
        other = Shifts.of(np.repeat(x, weight, axis=0), None, of_weights=True)
        np.testing.assert_allclose(np.abs(one.moderators(x)), np.abs(other.moderators(x)))

    def test_nothing_is_beyond_the_documents_fitted(self):
        x = correlated()
        shifts = Shifts.of(x, None, of_weights=True)
        np.testing.assert_allclose(shifts.columns(x[:1] + 1e6), shifts.columns(x).max(axis=0)[None])
        assert np.isfinite(shifts.moderators(x[:1] + 1e300)).all()

    def test_indicators_that_are_the_same_everywhere_moderate_nothing(self):
        shifts = Shifts.of(np.ones((20, 2)), None, of_weights=True)
        assert shifts.moderators(np.ones((3, 2))).shape[1] == 0
        assert Shifts.of(np.empty((20, 0)), None, of_weights=True).axes.shape == (0, 0)
        # Without being asked for there are none.
        assert Shifts.of(correlated(), None).axes.shape == (12, 0)

    def test_columns_of_a_design(self):
        x, evidence = correlated(30, 2), RNG(2).normal(size=(30, 3))
        shifts = Shifts.of(x, None, of_weights=True)
        design = shifts.design(evidence, x)
        assert design.shape == (30, 1 + 3 + 2 + 3 * 2)
        np.testing.assert_array_equal(design[:, :4], np.c_[np.ones(30), evidence])
        z = shifts.moderators(x)
        np.testing.assert_allclose(design[:, 6:8], evidence[:, :1] * z)


class Third(TransformerMixin, BaseEstimator):
    """The third column of the documents says which of the first two is to be trusted."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def transform(self, X):
        return np.asarray(X)[:, [2]]


def taking_turns(n, rng):
    """Return documents: the first score tells where the third is positive, else the second one."""
    y = (rng.random(n) < 0.4).astype(int)
    turn = rng.choice([-1.0, 1.0], n)
    told, noise = rng.normal(3.0 * y - 1.5), rng.normal(0.0, 1.8, n)
    first = turn > 0
    return np.c_[np.where(first, told, noise), np.where(first, noise, told), turn], y


@pytest.fixture(scope="module")
def both():
    X, y = taking_turns(400, RNG(0))
    return {
        name: CombinedClassifier(
            columns(2), indicators=Third(), combiner=name, cv=3, random_state=0
        ).fit(X, y)
        for name in ("bayes", "local_bayes")
    }


class TestLocalWeights:
    @pytest.mark.slow
    def test_they_gain_where_classifiers_take_turns(self, both):
        new, truth = taking_turns(2000, RNG(1))
        losses = {name: log_loss(truth, each.predict_proba(new)) for name, each in both.items()}
        assert losses["local_bayes"] < 0.85 * losses["bayes"]
        shifts = both["local_bayes"].weights().loc["1"]
        assert (
            shifts.loc["view 0, moderator 0", "lower"] * shifts.loc["view 1, moderator 0", "upper"]
            < 0.0
        )

    @pytest.mark.slow
    def test_bands_hold_the_point(self, both):
        new, _ = taking_turns(200, RNG(2))
        lower, upper = both["local_bayes"].predict_interval(new, level=0.95).T
        p = both["local_bayes"].predict_proba(new)[:, 1]
        assert ((lower <= p) & (p <= upper)).mean() > 0.95

    @pytest.mark.slow
    def test_a_draw_weighs_its_own_curves(self, both):
        """By hand, document by document: base, bias, shifts, and weights of the document's own."""
        fitted = both["local_bayes"]
        (found,) = fitted._combined
        inputs = fitted._members[0].inputs(taking_turns(5, RNG(3))[0])
        draws, moves = found.weights.draws, found.moves
        curves = found.calibrated.draws(inputs.scores) - found.calibrated.base
        r, z = found.shifts.columns(inputs.indicators), found.shifts.moderators(inputs.indicators)
        sample = found.sample(inputs)
        for k, i in ((0, 0), (7, 3), (531, 4)):
            at = k % len(curves)
            b, *w = draws[k, :3] + moves[at, :3]
            w = np.array(w) + draws[k, 4:].reshape(2, 1) @ z[i]
            expected = found.calibrated.base + b + draws[k, 3] * r[i, 0] + w @ curves[at, i]
            assert sample[k, i] == pytest.approx(expected)

    @pytest.mark.slow
    def test_without_indicators_they_are_those_of_bayes(self):
        X, y = taking_turns(120, RNG(4))
        one, other = (
            CombinedClassifier(columns(2), combiner=name, cv=3, random_state=0).fit(X, y)
            for name in ("bayes", "local_bayes")
        )
        np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
        assert special.expit(one.scores_).max() < 1.0
