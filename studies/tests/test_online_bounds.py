"""The rules' bounds hold against adversaries, and wrong rules break them."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import nnls

from bayescal.combining.online.rules import RULES, Advice
from studies.papers.online.bounds import (
    best_mixture,
    exponentiated_gradient_loss,
    weighted_majority_loss,
)
from tests import experts_reference as reference

pytestmark = pytest.mark.one_era

BETAS = [0.2, 0.5, 0.9]


def weighted_majority_mistakes(expert_losses, beta=0.5, *, decisions=False):
    """Littlestone and Warmuth, 1994: a mistake leaves at most this share of the weights."""
    left = (1.0 + beta) / 2.0 if decisions else (3.0 + beta) / 4.0
    credit = np.log(len(expert_losses)) - np.min(expert_losses) * np.log(beta)
    return credit / -np.log(left)


def winnow_mistakes(n_experts, infallible, beta=0.5):
    """Rescaled, right experts gain 2/(1 + beta^2) of a sum of weights that stays n_experts."""
    return infallible * np.log(n_experts) / np.log(2.0 / (1.0 + beta**2))


def specialists_mistakes(n_experts, infallible):
    """Blum, 1997: promotion by 3/2 and demotion by 1/2, without rescaling."""
    return 2.0 * infallible * np.log(3.0 * n_experts) / np.log(1.5)


def blum_mansour_loss(expert_losses, beta=0.5):
    """Blum and Mansour, 2005: the bound under each indicator, of (experts, indicators)."""
    losses = np.asarray(expert_losses)
    return (losses.min(axis=0) - np.log(losses.size) / np.log(beta)) / beta


@dataclass
class Game:
    """Probabilities and labels of n rounds, and the share of each expert."""

    said: np.ndarray  # P(second class) of each expert
    labels: np.ndarray
    shares: np.ndarray
    updated: np.ndarray
    indicators: np.ndarray
    awake: np.ndarray

    @property
    def of_labels(self):
        return np.where(self.labels[:, None] == 1, self.said, 1.0 - self.said)

    @property
    def expert_losses(self):
        return (1.0 - self.of_labels) ** 2

    @property
    def mixture_losses(self):
        return (1.0 - (self.shares * self.of_labels).sum(axis=1)) ** 2

    @property
    def chosen_losses(self):
        return (self.shares * self.expert_losses).sum(axis=1)

    @property
    def mistakes(self):
        mixture = (self.shares * self.said).sum(axis=1)
        # Equal probabilities go to the first class.
        return int(((mixture > 0.5) != (self.labels == 1)).sum())


def against_an_adversary(rule, said, beta, *, indicators=None, awake=None, labels=None):
    """Play; where no labels are given each is the one that the combiner likes less."""
    n, experts = said.shape
    on = np.ones((n, 1)) if indicators is None else indicators
    up = np.ones((n, experts), dtype=bool) if awake is None else awake
    log_weights = np.zeros((experts, on.shape[1]))
    told, shares, updated = [], [], []
    for t in range(n):
        both = np.where(up[t, :, None], np.stack([1.0 - said[t], said[t]], axis=1), 0.0)
        advice = Advice(both[None], up[t : t + 1], on[t : t + 1])
        mixture = advice.mixture(rule.shares(log_weights, advice))[0]
        told.append(int(mixture[1] <= 0.5) if labels is None else labels[t])
        run = rule.run(log_weights, advice, np.array(told[-1:]), beta)
        log_weights = run.log_weights
        shares.append(run.shares[0])
        updated.append(run.updated[0])
    return Game(said, np.array(told), np.array(shares), np.array(updated), on, up)


def backwards(name):
    """Return a rule whose updates go the wrong way."""

    class Backwards(type(RULES[name])):
        def run(self, log_weights, advice, label, beta):
            return super().run(log_weights, advice, label, 1.0 / beta)

    return Backwards()


def decisions(seed, n=300, experts=8):
    return np.random.default_rng(seed).integers(2, size=(n, experts)).astype(float)


def opinions(seed, n=300, experts=8):
    return np.random.default_rng(seed).beta(0.5, 0.5, size=(n, experts))


def switches(seed, n=300, indicators=4):
    rng = np.random.default_rng(seed)
    on = rng.random((n, indicators)) * (rng.random((n, indicators)) < 0.6)
    on[:, 0] = 1.0
    return on


def best_mixture_loss(of_labels):
    """Return the least of sum (1 - x u)^2 over shares u, by non-negative least squares."""
    heavy = 1e4 * np.sqrt(len(of_labels))  # keeps the sum at 1
    rows = np.vstack([of_labels, np.full(of_labels.shape[1], heavy)])
    u, _ = nnls(rows, np.append(np.ones(len(of_labels)), heavy))
    return float(((1.0 - of_labels @ (u / u.sum())) ** 2).sum())


class TestWeightedMajority:
    @pytest.mark.parametrize("beta", BETAS)
    @pytest.mark.parametrize("seed", range(3))
    def test_mistakes_of_experts_that_decide(self, beta, seed):
        game = against_an_adversary(RULES["wma"], decisions(seed), beta)
        bound = weighted_majority_mistakes(game.expert_losses.sum(axis=0), beta, decisions=True)
        assert game.mistakes == 300  # the adversary's doing
        assert game.mistakes <= bound

    @pytest.mark.parametrize("beta", BETAS)
    @pytest.mark.parametrize("seed", range(3))
    def test_mistakes_and_losses_of_experts_that_have_probabilities(self, beta, seed):
        game = against_an_adversary(RULES["wma"], opinions(seed), beta)
        totals = game.expert_losses.sum(axis=0)
        assert game.mistakes <= weighted_majority_mistakes(totals, beta)
        assert game.mixture_losses.sum() <= game.chosen_losses.sum()
        assert game.chosen_losses.sum() <= weighted_majority_loss(totals, beta)

    def test_one_expert_that_knows(self):
        labels = np.random.default_rng(0).integers(2, size=300)
        said = decisions(0, experts=64)
        said[:, 17] = labels
        game = against_an_adversary(RULES["wma"], said, 0.5, labels=labels)
        assert game.mistakes <= weighted_majority_mistakes(
            game.expert_losses.sum(axis=0), decisions=True
        )

    def test_the_published_constant(self):
        found = weighted_majority_mistakes([5.0, 9.0, 9.0, 9.0], 0.5, decisions=True)
        assert found == pytest.approx(2.41 * (5.0 + 2.0), rel=1e-3)

    def test_promotion_of_the_wrong_breaks_it(self):
        labels = np.random.default_rng(0).integers(2, size=300)
        said = np.column_stack([labels, 1 - labels, 1 - labels]).astype(float)
        game = against_an_adversary(backwards("wma"), said, 0.5, labels=labels)
        totals = game.expert_losses.sum(axis=0)
        assert game.mistakes > weighted_majority_mistakes(totals, decisions=True)
        assert game.chosen_losses.sum() > weighted_majority_loss(totals)


def specialists(seed, n=400, experts=12, infallible=3):
    """Return labels, experts that sleep in a third of rounds, and some that are never wrong."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n)
    said = 1.0 - np.tile(labels[:, None], (1, experts)) * 1.0
    said[rng.random(said.shape) < 0.4] = 0.0
    awake = rng.random(said.shape) < 0.67
    said[:, :infallible] = labels[:, None]
    awake[:, :infallible] = rng.integers(infallible, size=n)[:, None] == np.arange(infallible)
    return labels, said, awake


class TestWinnow:
    @pytest.mark.parametrize("beta", BETAS)
    @pytest.mark.parametrize("seed", range(3))
    def test_mistakes_where_some_are_infallible(self, beta, seed):
        labels, said, awake = specialists(seed)
        game = against_an_adversary(RULES["winnow"], said, beta, awake=awake, labels=labels)
        assert 0 < game.mistakes <= winnow_mistakes(12, 3, beta)
        assert game.mistakes == game.updated.sum()

    def test_an_adversary_cannot_do_more_with_one_infallible_expert(self):
        # The weighted vote is wrong for as long as the others can outvote the one that is right.
        labels = np.ones(200, dtype=int)
        said = np.zeros((200, 1000))
        said[:, 0] = 1.0
        game = against_an_adversary(RULES["winnow"], said, 0.5, labels=labels)
        assert game.mistakes <= winnow_mistakes(1000, 1)
        assert game.mistakes > 0.3 * winnow_mistakes(1000, 1)

    @pytest.mark.parametrize("seed", range(3))
    def test_the_published_bound_of_the_published_update(self, seed):
        labels, said, awake = specialists(seed)
        both = np.stack([1.0 - said, said], axis=2).tolist()
        counted = []

        def published(weights, t, _):
            if t.mixture.index(max(t.mixture)) == t.label:
                return
            counted.append(t)
            for e, own in enumerate(t.said):
                if t.awake[e]:
                    weights[e][0] *= 1.5 if own.index(max(own)) == t.label else 0.5

        reference.play(published, both, labels.tolist(), 0.5, awake=awake)
        assert 0 < len(counted) <= specialists_mistakes(12, 3)

    def test_ours_is_the_smaller_bound_for_the_default_beta(self):
        for n in (2, 10, 1000):
            assert winnow_mistakes(n, 1) < specialists_mistakes(n, 1)

    def test_all_experts_may_be_infallible(self):
        assert winnow_mistakes(3, 3) == pytest.approx(3 * winnow_mistakes(3, 1))

    def test_promotion_of_the_wrong_breaks_it(self):
        labels, said, awake = specialists(0)
        game = against_an_adversary(backwards("winnow"), said, 0.5, awake=awake, labels=labels)
        assert game.mistakes > winnow_mistakes(12, 3)
        assert game.mistakes > specialists_mistakes(12, 3)


def under_indicators(game, losses, indicators):
    return indicators.T @ losses


class TestBlumMansour:
    @pytest.mark.parametrize("rule", ["bmx", "bmxmod", "winbmx", "winbmxmod"])
    @pytest.mark.parametrize("beta", BETAS)
    @pytest.mark.parametrize("make", [decisions, opinions])
    def test_losses_under_every_indicator(self, rule, beta, make):
        game = against_an_adversary(RULES[rule], make(0), beta, indicators=switches(0))
        used = game.updated
        on = game.indicators
        modified = rule.endswith("mod")
        if modified:
            on = on / on.sum(axis=1, keepdims=True)
        own = game.mixture_losses if modified else game.chosen_losses
        bound = blum_mansour_loss((on[used].T @ game.expert_losses[used]).T, beta)
        assert np.all(on[used].T @ own[used] <= bound)
        assert np.all(on[used].T @ game.mixture_losses[used] <= bound)

    @staticmethod
    def favourites():
        """
        Return a game in which an indicator of a good expert meets one of a bad expert.

        The first 1,000 rounds have the second indicator on, under which the second expert is
        nearly right, and both are on in 80 more, in which it is wrong and the first one right.
        """
        first, second = 1000, 80
        said = np.r_[np.tile([0.0, 0.9], (first, 1)), np.tile([1.0, 0.0], (second, 1))]
        on = np.r_[np.tile([0.0, 1.0], (first, 1)), np.tile([1.0, 1.0], (second, 1))]
        return said, on, np.ones(first + second, dtype=int)

    def test_the_right_rule_recovers_where_an_unsquared_mixture_does_not(self):
        class Unsquared(type(RULES["bmxmod"])):
            """Compares squared errors of experts with the mixture's error itself."""

            def run(self, log_weights, advice, label, beta):
                run = super().run(log_weights, advice, label, beta)
                (on,), (share,) = advice.indicators / advice.indicators.sum(), run.shares
                wrong = 1.0 - share @ advice.of_labels(label)[0]
                step = np.log(beta) * np.outer((1.0 - advice.of_labels(label)[0]) ** 2, on)
                step -= np.log(beta) * beta * wrong * on
                return type(run)(log_weights + step, run.shares, run.updated)

        said, on, labels = self.favourites()
        right, wrong = (
            against_an_adversary(rule, said, 0.5, indicators=on, labels=labels)
            for rule in (RULES["bmxmod"], Unsquared(modified=True))
        )
        halves = on / on.sum(axis=1, keepdims=True)
        bound = blum_mansour_loss((halves.T @ right.expert_losses).T)
        assert np.all(halves.T @ right.mixture_losses <= bound)
        assert (halves.T @ wrong.mixture_losses)[0] > bound[0]

    def test_promotion_of_the_wrong_breaks_it(self):
        class Wrong(type(RULES["bmx"])):
            def run(self, log_weights, advice, label, beta):
                run = super().run(log_weights, advice, label, beta)
                return type(run)(2.0 * log_weights - run.log_weights, run.shares, run.updated)

        labels = np.random.default_rng(0).integers(2, size=300)
        said = np.column_stack([labels, 1 - labels, 1 - labels]).astype(float)
        game = against_an_adversary(Wrong(), said, 0.5, labels=labels)
        assert game.chosen_losses.sum() > blum_mansour_loss(game.expert_losses.sum(axis=0)[:, None])

    def test_one_indicator_that_is_always_on(self):
        found = blum_mansour_loss([[4.0], [8.0]], 0.5)
        assert found == pytest.approx([2.0 * (4.0 + 1.0)])


class TestExponentiatedGradient:
    @pytest.mark.parametrize("beta", BETAS)
    @pytest.mark.parametrize("make", [decisions, opinions])
    @pytest.mark.parametrize("seed", range(3))
    def test_losses_against_the_best_mixture(self, beta, make, seed):
        game = against_an_adversary(RULES["eg"], make(seed), beta)
        best = best_mixture_loss(game.of_labels)
        assert best <= game.expert_losses.sum(axis=0).min() + 1e-6
        assert game.mixture_losses.sum() <= exponentiated_gradient_loss(best, 8, beta)

    @pytest.mark.parametrize("beta", BETAS)
    @pytest.mark.parametrize("seed", range(3))
    def test_with_indicators_against_any_mixture_for_each(self, beta, seed):
        on = switches(seed)
        game = against_an_adversary(RULES["eg"], opinions(seed), beta, indicators=on)
        shares = on / on.sum(axis=1, keepdims=True)
        rng = np.random.default_rng(seed)
        bests = np.eye(8)[
            [(own[:, None] * game.expert_losses).sum(axis=0).argmin() for own in shares.T]
        ]
        others = [rng.dirichlet(np.full(8, 0.2), size=4) for _ in range(20)]
        for u in (bests, *others):
            loss = ((1.0 - ((shares @ u) * game.of_labels).sum(axis=1)) ** 2).sum()
            bound = exponentiated_gradient_loss(loss, 8, beta, n_indicators=4)
            assert game.mixture_losses.sum() <= bound

    @pytest.mark.parametrize("seed", range(3))
    def test_the_best_mixture(self, seed):
        y = np.random.default_rng(seed).integers(2, size=300)
        said = opinions(seed)
        found = best_mixture(said, y, constant_experts=False)
        of_labels = np.where(y[:, None] == 1, said, 1.0 - said)
        assert found.loss == pytest.approx(best_mixture_loss(of_labels), rel=1e-6)
        assert found.shares.sum() == pytest.approx(1.0)
        assert found.shares.min() >= 0.0
        # On a line between any two experts nothing is better.
        for t in np.linspace(0.0, 1.0, 21):
            u = t * np.eye(8)[0] + (1.0 - t) * np.eye(8)[1]
            assert found.loss <= ((1.0 - of_labels @ u) ** 2).sum() + 1e-9

    def test_the_best_mixture_may_be_one_expert_that_is_always_right(self):
        y = np.array([0, 1, 1, 0])
        found = best_mixture(np.c_[y, 1 - y], y)
        assert found.shares.round(12).tolist() == [1.0, 0.0, 0.0]
        assert found.loss == pytest.approx(0.0)

    @staticmethod
    def in_turn():
        """Return two experts of which each is right for 100 rounds, and the labels."""
        labels = np.tile(np.repeat([0, 1], 100), 2)
        return np.tile([0.0, 1.0], (400, 1)), labels

    def test_a_bound_against_experts_is_none_against_mixtures(self):
        said, labels = self.in_turn()
        found = {
            rule: against_an_adversary(RULES[rule], said, 0.9, labels=labels).mixture_losses.sum()
            for rule in ("eg", "wma", "bmx")
        }
        best = best_mixture_loss(np.where(labels[:, None] == 1, said, 1.0 - said))
        assert best == pytest.approx(100.0)  # a half of each
        bound = exponentiated_gradient_loss(best, 2, 0.9)
        assert found["eg"] <= bound < found["wma"]
        assert bound < found["bmx"]

    def test_against_the_gradient_breaks_it(self):
        labels = np.random.default_rng(0).integers(2, size=300)
        said = np.column_stack([labels, 1 - labels]).astype(float)
        game = against_an_adversary(backwards("eg"), said, 0.5, labels=labels)
        assert game.mixture_losses.sum() > exponentiated_gradient_loss(0.0, 2, 0.5)

    def test_steps_that_are_too_large_have_no_bound(self):
        with pytest.raises(ValueError, match=r"beta must be above exp\(-2\)"):
            exponentiated_gradient_loss(1.0, 3, 0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: weighted_majority_loss([1.0], 1.0), "beta must lie between 0 and 1"),
        (lambda: weighted_majority_loss([]), "expert_losses must be finite and at least 0"),
        (lambda: weighted_majority_loss([-1.0]), "expert_losses must be finite and at least 0"),
        (lambda: exponentiated_gradient_loss(1.0, 0), "n_experts must be a positive whole number"),
        (lambda: exponentiated_gradient_loss(np.nan, 3), "mixture_loss must be finite"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
