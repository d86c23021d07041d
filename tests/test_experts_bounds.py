"""The rules' bounds hold against adversaries, and wrong rules break them."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import nnls

from bayescal.combining.online import (
    best_mixture,
    exponentiated_gradient_loss,
    weighted_majority_loss,
)
from bayescal.combining.online.rules import RULES, Advice

BETAS = [0.2, 0.5, 0.9]


def weighted_majority_mistakes(expert_losses, beta=0.5, *, decisions=False):
    """Littlestone and Warmuth, 1994: a mistake leaves at most this share of the weights."""
    left = (1.0 + beta) / 2.0 if decisions else (3.0 + beta) / 4.0
    credit = np.log(len(expert_losses)) - np.min(expert_losses) * np.log(beta)
    return credit / -np.log(left)


@dataclass
class Game:
    """Probabilities and labels of n rounds, and the share of each expert."""

    said: np.ndarray  # P(second class) of each expert
    labels: np.ndarray
    shares: np.ndarray

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


def against_an_adversary(rule, said, beta, *, indicators=None, labels=None):
    """Play; where no labels are given each is the one that the combiner likes less."""
    n, experts = said.shape
    on = np.ones((n, 1)) if indicators is None else indicators
    awake = np.ones((1, experts), dtype=bool)
    log_weights = np.zeros((experts, on.shape[1]))
    told, shares = [], []
    for t in range(n):
        advice = Advice(np.stack([1.0 - said[t], said[t]], axis=1)[None], awake, on[t : t + 1])
        mixture = advice.mixture(rule.shares(log_weights, advice))[0]
        told.append(int(mixture[1] <= 0.5) if labels is None else labels[t])
        run = rule.run(log_weights, advice, np.array(told[-1:]), beta)
        log_weights = run.log_weights
        shares.append(run.shares[0])
    return Game(said, np.array(told), np.array(shares))


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
