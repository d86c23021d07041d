"""OnlineCombiner: update experts' weights label by label, with bounds on the loss."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayescal.combining.online import reading
from bayescal.combining.online.rules import RULES, Advice, Rule, Run, squared_error
from bayescal.support import validation
from bayescal.support.validation import Floats, Integers

# One round can change weights by its square, which must not underflow.
LEAST_BETA = 1e-100


@dataclass(eq=False, repr=False)
class OnlineCombiner(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Combine experts online: predict, observe the label, update the weights.

    An expert is anything that gives probabilities of documents. The combiner's probabilities are a
    mixture of theirs, sum_e p_e pi_e, with p_e from weights that a rule changes after each label.
    For any documents in any order, its losses are bounded relative to the best expert or mixture:
    docs/online_combining.md has the bounds. Save a combiner by pickle or joblib.

    Parameters
    ----------
    rule : str
        "eg", the default: exponentiated gradient on the mixture's squared error.
        "wma": weighted majority, each weight falls by the expert's squared error.
        "winnow": weights change only when the combiner's class is wrong; experts may sleep.
        "bmx": Blum and Mansour's, a weight for each expert and indicator. "bmxmod": indicators
        divided by their sum, and experts compared with the mixture's own error. "winbmx",
        "winbmxmod": these, changed only where the log-odds of the right class are below 1.
    beta : float
        Between 0 and 1; the smaller, the more a round changes.
    eta : float
        Between 0 and 1. After each pass of `fit` but the last beta <- beta + eta (1 - beta).
    passes : int
        How often `fit` goes through the documents.
    constant_experts : bool
        Whether to add, for each class but the first, an expert that is always sure of it; their
        weights shift the combiner's threshold.
    allow_missing : bool
        Whether experts may give nan for documents that they did not score. They then count as
        giving the shares of classes among their earlier gaps.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        In sorted order.
    weights_ : array of shape (experts,) or (experts, indicators)
        For each indicator they sum to 1; constant experts last.
    beta_ : float
        Current beta.
    n_rounds_ : int
        Number of documents, each counted once.
    loss_ : float
        Sum of the mixture's squared errors (1 - P(label))^2, before each label was known.
    mistakes_ : int
        How often the mixture's likeliest class was wrong then.
    expert_losses_ : array of shape (experts,)
        Sums of the experts' squared errors, over documents for which they were awake.
    n_updates_ : int
        Number of rounds that changed weights, in all passes.
    n_features_in_, feature_names_in_ : int, array of shape (experts,)
        Number of experts, and the names of P's columns if it is a DataFrame.
    n_indicators_ : int
        Number of indicators; 0 without.

    References
    ----------
    P. N. Bennett, Building Reliable Metaclassifiers for Text Learning, 2006, chapter 9.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(1000) < 0.3
    >>> experts = np.column_stack([np.where(y, 0.8, 0.1), rng.random(1000)])
    >>> combiner = OnlineCombiner("wma")
    >>> for rows in np.split(np.arange(1000), 10):
    ...     combiner = combiner.partial_fit(experts[rows], y[rows], classes=[False, True])
    >>> combiner.weights_.round(3)
    array([1., 0., 0.])
    """

    rule: str = "eg"
    _: KW_ONLY
    beta: float = 0.5
    eta: float = 0.25
    passes: int = 1
    constant_experts: bool = True
    allow_missing: bool = False

    def fit(
        self,
        P: ArrayLike,
        y: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        awake: ArrayLike | None = None,
        indicators: ArrayLike | None = None,
    ) -> Self:
        """Start anew, and learn from documents in their order, `passes` times.

        Parameters
        ----------
        P, y, awake, indicators
            As in `partial_fit`.
        classes : array-like, optional
            All classes; by default the labels in y.

        Raises
        ------
        ValueError
            If an argument is not as described; the earlier fit is then kept.
        """
        rule = self._checked_rule()
        known = reading.read_classes(y, "y") if classes is None else reading.read_classes(classes)
        inputs = self._read(known, P, awake, indicators)
        label = reading.read_labels(y, known, len(inputs.advice.awake))
        advice, in_gaps = reading.fill_gaps(inputs.advice, inputs.no_gaps, label)
        beta, log_weights = float(self.beta), inputs.equal_weights
        runs: list[Run] = []
        for _ in range(self.passes):
            if runs:
                beta += self.eta * (1.0 - beta)
            runs.append(rule.run(log_weights, advice, label, beta))
            log_weights = runs[-1].log_weights
        self._forget(known, inputs, P)
        # Later passes have seen the labels: only the first one predicts.
        self._count(advice, label, runs[0])
        self.n_updates_ = sum(int(run.updated.sum()) for run in runs)
        self._log_weights, self._in_gaps, self.beta_ = log_weights, in_gaps, beta
        return self

    def partial_fit(
        self,
        P: ArrayLike,
        y: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        awake: ArrayLike | None = None,
        indicators: ArrayLike | None = None,
    ) -> Self:
        """Learn from documents, one after the other in their order.

        Parameters
        ----------
        P : array-like of shape (n, experts) or (n, experts, classes)
            Experts' probabilities of all classes in sorted order; for two classes those of the
            second suffice. With rule "winnow" nan means that an expert sleeps.
        y : array-like of shape (n,)
            Labels.
        classes : array-like, optional
            All classes; needed at the first call.
        awake : array-like of shape (n, experts) of bool, optional
            Which experts speak; by default all whose probabilities are not nan.
        indicators : array-like of shape (n, indicators), optional
            Degree in [0, 1] to which each is on, at least one of a document above 0; by default a
            single one that is always on.

        Raises
        ------
        ValueError
            If an argument is not as described, or experts or indicators differ from earlier calls.
            Nothing is learnt then.
        """
        rule = self._checked_rule()
        fresh = not hasattr(self, "classes_")
        if not fresh:
            self._read_names(P, reset=False)
        known = reading.known_classes(getattr(self, "classes_", None), classes)
        inputs = self._read(known, P, awake, indicators)
        label = reading.read_labels(y, known, len(inputs.advice.awake))
        if not fresh:
            self._check_as_before(inputs)
        counts = inputs.no_gaps if fresh else self._in_gaps
        advice, in_gaps = reading.fill_gaps(inputs.advice, counts, label)
        if fresh:
            run = rule.run(inputs.equal_weights, advice, label, float(self.beta))
            self._forget(known, inputs, P)
        else:
            run = rule.run(self._log_weights, advice, label, self.beta_)
        self._count(advice, label, run)
        self.n_updates_ += int(run.updated.sum())
        self._log_weights, self._in_gaps = run.log_weights, in_gaps
        return self

    def predict_proba(
        self, P: ArrayLike, *, awake: ArrayLike | None = None, indicators: ArrayLike | None = None
    ) -> Floats:
        """Return the mixture's probabilities of all classes, shape (n, classes).

        Parameters
        ----------
        P, awake, indicators
            As in `partial_fit`.
        """
        check_is_fitted(self, "classes_")
        self._read_names(P, reset=False)
        inputs = self._read(self.classes_, P, awake, indicators)
        self._check_as_before(inputs)
        advice, _ = reading.fill_gaps(inputs.advice, self._in_gaps)
        shares = RULES[self.rule].shares(self._log_weights, advice)
        # Shares sum to 1 but for rounding.
        return np.clip(advice.mixture(shares), 0.0, 1.0)

    def predict(
        self, P: ArrayLike, *, awake: ArrayLike | None = None, indicators: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Return the likeliest class of each document, the first of equal ones."""
        likeliest = self.predict_proba(P, awake=awake, indicators=indicators).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    @property
    def weights_(self) -> Floats:
        """Return the experts' weights, under each indicator if there are any."""
        check_is_fitted(self, "classes_")
        weights = np.asarray(softmax(self._log_weights, axis=0))
        return weights if self.n_indicators_ else weights[:, 0]

    def _checked_rule(self) -> Rule:
        validation.check_choice("rule", self.rule, tuple(RULES))
        validation.check_fraction(beta=self.beta, eta=self.eta)
        if self.beta < LEAST_BETA:
            raise ValueError(f"beta must be at least {LEAST_BETA:g}, got {self.beta}.")
        validation.check_count("passes", self.passes)
        return RULES[self.rule]

    def _read(
        self,
        classes: NDArray[Any],
        P: ArrayLike,
        awake: ArrayLike | None,
        indicators: ArrayLike | None,
    ) -> reading.OnlineInputs:
        return reading.read_inputs(
            P,
            classes.size,
            awake,
            indicators,
            rule=self.rule,
            constant_experts=self.constant_experts,
            allow_missing=self.allow_missing,
        )

    def _read_names(self, P: ArrayLike, *, reset: bool) -> None:
        """Store the names of experts, or check that they are the same as before."""
        P = validation.unmasked(P, "P")
        validation.validated(self, P, reset=reset, skip_check_array=True, ensure_2d=False)

    def _check_as_before(self, inputs: reading.OnlineInputs) -> None:
        for name, before, now in (
            ("experts", self.n_features_in_, inputs.experts),
            ("indicators", self.n_indicators_, inputs.indicators),
            ("experts with constant ones", len(self._log_weights), inputs.advice.awake.shape[1]),
        ):
            if before != now:
                raise ValueError(
                    f"there must be as many {name} as before, {before}, got {now}: fit anew for"
                    " others."
                )

    def _forget(self, classes: NDArray[Any], inputs: reading.OnlineInputs, P: ArrayLike) -> None:
        """Reset everything to the state before the first round."""
        self._read_names(P, reset=True)
        self.classes_, self.beta_ = classes, float(self.beta)
        self.n_features_in_, self.n_indicators_ = inputs.experts, inputs.indicators
        self.n_rounds_ = self.n_updates_ = self.mistakes_ = 0
        self.loss_, self.expert_losses_ = 0.0, np.zeros(inputs.advice.awake.shape[1])

    def _count(self, advice: Advice, label: Integers, run: Run) -> None:
        """Update the losses and mistakes by documents with new labels."""
        mixture, rows = advice.mixture(run.shares), np.arange(label.size)
        experts = np.where(advice.awake, squared_error(advice.of_labels(label)), 0.0)
        self.n_rounds_ += label.size
        self.loss_ += float(squared_error(mixture[rows, label]).sum())
        self.mistakes_ += int((mixture.argmax(axis=1) != label).sum())
        self.expert_losses_ = self.expert_losses_ + experts.sum(axis=0)
