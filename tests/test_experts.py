"""Online combiners: against literal loops, in batches and passes, over a million rounds."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from bayescal.combining.online.online_combiner import OnlineCombiner
from bayescal.combining.online.rules import RULES
from tests import experts_reference as reference
from tests.sizes import size

WITH_INDICATORS = [name for name, rule in RULES.items() if rule.takes_indicators]


def game(seed=0, n=80, experts=4, classes=2, indicators=3):
    """Return probabilities, labels, and indicators that are sometimes off."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    P = rng.dirichlet(np.ones(classes), size=(n, experts))
    skill = rng.random((n, experts, 1)) * np.linspace(0.0, 0.9, experts)[:, None]
    P = (1.0 - skill) * P + skill * np.eye(classes)[y][:, None, :]
    on = rng.random((n, indicators)) * (rng.random((n, indicators)) < 0.7)
    on[:, 0] = np.maximum(on[:, 0], 0.05)
    return P, y, on


def of_reference(rule, P, y, beta, **given):
    weights, mixtures = reference.play(
        getattr(reference, rule), P.tolist(), y.tolist(), beta, **given
    )
    weights = np.array(weights)
    return weights / weights.sum(axis=0), np.array(mixtures)


class TestGaps:
    @pytest.mark.parametrize("rule", RULES)
    @pytest.mark.parametrize("classes", [2, 3])
    def test_experts_give_the_shares_of_classes_at_their_earlier_gaps(self, rule, classes):
        P, y, _ = game(classes=classes)
        gap = np.random.default_rng(1).random(P.shape[:2]) < 0.4
        filled = P.copy()
        for expert in range(P.shape[1]):
            counts = np.full(classes, 0.5)
            for document in np.flatnonzero(gap[:, expert]):
                filled[document, expert] = counts / counts.sum()
                counts[y[document]] += 1.0
        missing = np.where(gap[:, :, None], np.nan, P)
        expected = OnlineCombiner(rule).fit(filled, y)
        found = OnlineCombiner(rule, allow_missing=True)
        for rows in np.array_split(np.arange(y.size), 7):
            found.partial_fit(missing[rows], y[rows], classes=np.arange(classes))
        np.testing.assert_allclose(found.weights_, expected.weights_, rtol=1e-9)
        assert found.loss_ == pytest.approx(expected.loss_)
        # Those of a later document are the shares at all gaps.
        new = np.where(np.arange(P.shape[1])[:, None] == 2, np.nan, P[0])[None]
        full = P[:1].copy()
        full[0, 2] = (np.bincount(y[gap[:, 2]], minlength=classes) + 0.5) / (
            gap[:, 2].sum() + 0.5 * classes
        )
        np.testing.assert_allclose(found.predict_proba(new), expected.predict_proba(full))


class TestAgainstTheLiteralLoop:
    @pytest.mark.parametrize("rule", RULES)
    @pytest.mark.parametrize("classes", [2, 3])
    @pytest.mark.parametrize("beta", [0.5, 0.9])
    def test_weights_and_losses(self, rule, classes, beta):
        P, y, _ = game(classes=classes)
        found = OnlineCombiner(rule, beta=beta, constant_experts=False).fit(P, y)
        weights, mixtures = of_reference(rule, P, y, beta)
        np.testing.assert_allclose(found.weights_, weights[:, 0], rtol=1e-7)
        right = mixtures[np.arange(y.size), y]
        assert found.loss_ == pytest.approx(((1.0 - right) ** 2).sum(), rel=1e-7)
        assert found.mistakes_ == (mixtures.argmax(axis=1) != y).sum()
        if rule == "winnow":  # learns from mistakes alone
            assert found.n_updates_ == found.mistakes_

    @pytest.mark.parametrize("rule", WITH_INDICATORS)
    def test_with_indicators(self, rule):
        P, y, on = game(1)
        found = OnlineCombiner(rule, constant_experts=False).fit(P, y, indicators=on)
        weights, mixtures = of_reference(rule, P, y, 0.5, indicators=on)
        np.testing.assert_allclose(found.weights_, weights, rtol=1e-7)
        assert found.mistakes_ == (mixtures.argmax(axis=1) != y).sum()

    def test_winnow_with_sleeping_experts(self):
        P, y, _ = game(2)
        rng = np.random.default_rng(2)
        awake = rng.random(P.shape[:2]) < 0.5
        awake[:, 1] |= ~awake.any(axis=1)
        weights, _ = of_reference("winnow", P, y, 0.5, awake=awake)
        told = OnlineCombiner("winnow", constant_experts=False).fit(P, y, awake=awake)
        np.testing.assert_allclose(told.weights_, weights[:, 0])
        by_nan = np.where(awake[:, :, None], P, np.nan)
        silent = OnlineCombiner("winnow", constant_experts=False).fit(by_nan, y)
        np.testing.assert_array_equal(silent.weights_, told.weights_)

    def test_losses_of_experts_are_over_what_they_were_awake_for(self):
        P, y, _ = game(2, experts=2)
        P[::2, 0] = np.nan
        found = OnlineCombiner("winnow", constant_experts=False).fit(P, y)
        losses = (1.0 - P[np.arange(y.size), :, y]) ** 2
        np.testing.assert_allclose(found.expert_losses_, np.nansum(losses, axis=0))
        # Where one sleeps the combiner says what the other does.
        np.testing.assert_allclose(found.predict_proba(P)[::2], P[::2, 1])

    @pytest.mark.parametrize("rule", RULES)
    def test_predictions_are_what_the_next_round_says(self, rule):
        P, y, on = game(3)
        given = {"indicators": on} if RULES[rule].takes_indicators else {}
        first = {name: value[:-1] for name, value in given.items()}
        last = {name: value[-1:] for name, value in given.items()}
        found = OnlineCombiner(rule, constant_experts=False).fit(P[:-1], y[:-1], **first)
        _, mixtures = of_reference(rule, P, y, 0.5, **given)
        np.testing.assert_allclose(found.predict_proba(P[-1:], **last)[0], mixtures[-1], rtol=1e-7)


class TestBatchesAndPasses:
    @pytest.mark.parametrize("rule", RULES)
    def test_batches_are_rounds_in_their_order(self, rule):
        P, y, on = game(n=700)
        given = on if RULES[rule].takes_indicators else None
        whole = OnlineCombiner(rule).fit(P, y, indicators=given)
        parts = OnlineCombiner(rule)
        for rows in np.split(np.arange(y.size), [1, 10, 300]):
            own = None if given is None else given[rows]
            parts.partial_fit(P[rows], y[rows], classes=[0, 1], indicators=own)
        np.testing.assert_allclose(parts.weights_, whole.weights_, rtol=1e-9)
        assert parts.n_rounds_ == whole.n_rounds_ == 700
        assert parts.n_updates_ == whole.n_updates_
        assert parts.mistakes_ == whole.mistakes_
        assert parts.loss_ == pytest.approx(whole.loss_)
        np.testing.assert_allclose(parts.expert_losses_, whole.expert_losses_)

    @pytest.mark.parametrize("rule", RULES)
    def test_further_passes_have_a_beta_nearer_to_1(self, rule):
        P, y, _ = game()
        twice = OnlineCombiner(rule, passes=2, constant_experts=False).fit(P, y)
        assert twice.beta_ == 0.5 + 0.25 * 0.5
        once = OnlineCombiner(rule, constant_experts=False).fit(P, y)
        again = OnlineCombiner(rule, constant_experts=False).fit(P, y)
        again.beta_ = 0.625
        again.partial_fit(P, y)
        np.testing.assert_allclose(twice.weights_, again.weights_)
        # A second pass counts no loss: it has seen the labels.
        assert (twice.loss_, twice.n_rounds_) == (once.loss_, once.n_rounds_)
        assert twice.n_updates_ == again.n_updates_

    def test_fit_forgets_and_partial_fit_does_not(self):
        P, y, _ = game()
        found = OnlineCombiner("wma").fit(P, y)
        once = found.weights_
        np.testing.assert_array_equal(found.fit(P, y).weights_, once)
        assert found.partial_fit(P, y).n_rounds_ == 2 * y.size


class TestWhatRulesDo:
    def test_constant_experts_are_one_for_each_class_but_the_first(self):
        P, y, _ = game(classes=3)
        found = OnlineCombiner("wma").fit(P, y)
        assert found.weights_.shape == (4 + 2,)
        losses = [(y != 1).sum(), (y != 2).sum()]
        np.testing.assert_allclose(found.expert_losses_[4:], losses)

    def test_two_classes_by_the_second_alone(self):
        P, y, _ = game()
        alone = OnlineCombiner("bmx").fit(P[:, :, 1], y)
        np.testing.assert_allclose(alone.weights_, OnlineCombiner("bmx").fit(P, y).weights_)

    def test_labels_of_any_kind(self):
        P, y, _ = game()
        found = OnlineCombiner("eg").fit(P, np.array(["in", "out"])[y])
        assert found.classes_.tolist() == ["in", "out"]
        assert set(found.predict(P)) <= {"in", "out"}
        np.testing.assert_array_equal(
            found.predict(P) == "out", found.predict_proba(P).argmax(axis=1) == 1
        )

    def test_only_close_calls_change_weights_in_the_win_variants(self):
        P, y, on = game(n=300)
        plain = OnlineCombiner("bmx").fit(P, y, indicators=on)
        close = OnlineCombiner("winbmx").fit(P, y, indicators=on)
        assert plain.n_updates_ == 300
        assert 0 < close.n_updates_ < 300

    @pytest.mark.parametrize("rule", RULES)
    def test_before_the_first_label(self, rule):
        P, _, _ = game()
        for ask in (
            lambda combiner: combiner.predict(P),
            lambda combiner: combiner.predict_proba(P),
            lambda combiner: combiner.weights_,
        ):
            with pytest.raises(NotFittedError, match="OnlineCombiner instance is not fitted"):
                ask(OnlineCombiner(rule))


class TestManyRounds:
    """Weights of a million rounds are far below the smallest number that is not 0."""

    @staticmethod
    def long(rule, n, beta):
        """Play against one expert that is always wrong and two that are nearly always right."""
        y = np.ones(n, dtype=int)
        P = np.tile([0.0, 0.8, 0.9], (n, 1))
        P[::1000, 1:] = 0.3  # so that Winnow and the close calls have something to learn
        return OnlineCombiner(rule, beta=beta, constant_experts=False).fit(P, y, classes=[0, 1])

    def check(self, found):
        weights = found.weights_
        assert np.isfinite(found._log_weights).all()
        assert np.isfinite(weights).all()
        assert weights.sum() == pytest.approx(1.0)
        assert np.isfinite(found.predict_proba([[0.5, 0.2, 0.1]])).all()
        assert np.isfinite(found.loss_)

    def test_a_million_of_weighted_majority(self):
        found = self.long("wma", 1_000_000, 0.5)
        self.check(found)
        assert found._log_weights.min() < -600_000.0
        assert found.weights_.tolist() == [0.0, 0.0, 1.0]

    @pytest.mark.parametrize("rule", [name for name in RULES if name != "wma"])
    def test_as_much_in_fewer_rounds(self, rule):
        self.check(self.long(rule, 20_000, 1e-30))

    @pytest.mark.slow
    @pytest.mark.parametrize("rule", [name for name in RULES if name != "wma"])
    def test_many_rounds(self, rule):
        self.check(self.long(rule, size(200_000, 1_000_000), 0.5))

    def test_what_sleeps_does_not_drown_what_wakes(self):
        found = OnlineCombiner("winnow", beta=1e-30, constant_experts=False)
        P, y = np.tile([0.0, 1.0, np.nan], (400, 1)), np.tile([0, 1], 200)
        found.fit(P, y)
        found._log_weights = np.array([[-5000.0], [-4000.0], [0.0]])
        np.testing.assert_array_equal(
            found.predict_proba([[0.2, np.nan, np.nan], [0.2, 0.6, np.nan]])[:, 1], [0.2, 0.6]
        )

    @pytest.mark.parametrize("rule", WITH_INDICATORS)
    def test_an_indicator_of_small_weights_counts_fully_when_it_is_on_alone(self, rule):
        P, y, on = game()
        found = OnlineCombiner(rule, constant_experts=False).fit(P, y, indicators=on)
        found._log_weights = np.array(
            [[-5000.0, 0.0, 0.0], [-5001.0, 0.0, 0.0]] + [[-9e3, 0, 0]] * 2
        )
        share = 1.0 / (1.0 + np.exp(-1.0))
        got = found.predict_proba([[1.0, 0.0, 0.0, 0.0]], indicators=[[1e-300, 0.0, 0.0]])
        assert got[0, 1] == pytest.approx(share)
