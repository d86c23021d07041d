"""Calibrated pairs of a classifier and its score maps, and their mean probabilities and draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from bayescal.calibrators.classifier import score_maps, targets
from bayescal.calibrators.classifier.folds import Scored
from bayescal.calibrators.classifier.raw_scores import Reach, ScoreColumns
from bayescal.calibrators.classifier.score_maps import Priors
from bayescal.calibrators.classifier.targets import BINARY, MULTICLASS, MULTILABEL, Target
from bayescal.calibrators.classifier.wrappers import ScikitLearnCalibrator
from bayescal.calibrators.multiclass_calibrator import MulticlassCalibrator
from bayescal.calibrators.score_calibrator import ScoreCalibrator
from bayescal.calibrators.topic_calibrator import TopicCalibrator
from bayescal.fitting.curves import curves
from bayescal.fitting.parts.configured import AUTO
from bayescal.support.labels import shares_in_order
from bayescal.support.numerics import class_prior
from bayescal.support.score_checks import without_scores_warnings
from bayescal.support.validation import Floats, as_reals, first_of, unmasked, warn_user


def priors_of(kind: str, names: NDArray[Any], prior: Any) -> Priors:
    """Return a class prior for each column of scores, or None for each."""
    if prior is None:
        return [None] * (1 if kind == BINARY else names.size)
    prior = unmasked(prior, "prior")
    # A Series for two classes may hold draws of one.
    named = isinstance(prior, Mapping) or (
        hasattr(prior, "to_dict") and (kind != BINARY or len(prior) == names.size)
    )
    if named:
        prior = shares_in_order(dict(prior.items()), names.tolist())
    elif kind == BINARY:
        if np.shape(prior) != (2,) or not curves.sum_to_one(prior):
            return [prior]
        prior = prior[::-1] if targets.is_turned(names) else prior
    if not hasattr(prior, "__len__") or len(prior) != names.size:
        raise ValueError(
            f"prior must hold one value for each of the {names.size} classes or labels, got"
            f" {prior!r}."
        )
    if kind == MULTILABEL:
        return list(prior)
    shares = as_reals(prior, "prior")
    if not curves.sum_to_one(shares):
        raise ValueError(f"prior must sum to 1 over the classes, got {shares.sum():g}.")
    if not (shares >= 0.0).all():
        raise ValueError(f"prior must not be negative, got {shares.min():g}.")
    return [float(shares[1])] if kind == BINARY else shares.tolist()


def log_proba_of(kind: str, log_negative: Floats, log_positive: Floats) -> Floats:
    """Return log probabilities: of both classes, of all classes, or of each label."""
    # One-vs-rest probabilities are divided by their sum (Zadrozny and Elkan, KDD 2002, section 4).
    if kind == BINARY:
        return np.concatenate([log_negative, log_positive], axis=1)
    if kind != MULTICLASS:
        return log_positive
    total = logsumexp(log_positive, axis=1, keepdims=True)
    lost = np.isneginf(total)
    flat = -np.log(log_positive.shape[1])
    return np.asarray(np.where(lost, flat, log_positive - np.where(lost, 0.0, total)))


def log_odds_of_classes(log_p: Floats) -> Floats:
    """Return the natural log-odds of every class against the rest, exact where p is nearly 1."""
    rest = [logsumexp(np.delete(log_p, k, axis=1), axis=1) for k in range(log_p.shape[1])]
    return np.asarray(log_p - np.stack(rest, axis=1))


def on_simplex(kind: str, draws: Floats) -> Floats:
    """Return draws of probabilities, of several classes each draw divided by its sum."""
    if kind != MULTICLASS:
        return draws
    # Summed class by class: sums along a short last axis are slow.
    total = reduce(np.add, np.moveaxis(draws, 2, 0))[:, :, None]
    if (total > 0.0).all():
        return np.asarray(draws / total)
    flat = np.full_like(draws, 1.0 / draws.shape[2])
    return np.asarray(np.divide(draws, total, out=flat, where=total > 0.0))


def mean_log_proba(members: list[Floats]) -> Floats:
    """Return the log of the members' mean probabilities, given log probabilities."""
    if len(members) == 1:
        return members[0]
    return np.asarray(logsumexp(np.stack(members), axis=0) - np.log(len(members)))


def mean_draws(
    pairs: Sequence[CalibratedPair],
    scores: list[Floats],
    draws: int | None,
    rng: Any,
    priors: Priors,
) -> Floats:
    """Return posterior draws averaged over pairs, whose posteriors are independent."""
    total = pairs[0].sample(scores[0], draws, rng, priors)
    for pair, one in zip(pairs[1:], scores[1:], strict=True):
        total += pair.sample(one, draws, rng, priors)
    return total / len(pairs)


@dataclass(frozen=True)
class CalibratedPair:
    """A fitted classifier and the calibrators of its scores."""

    estimator: Any  # Fitted
    columns: ScoreColumns  # The calibrated columns of its scores
    reach: Reach  # Bounds of the scores
    score_map: score_maps.ScoreMap  # The calibrators
    kind: str  # Kind of the target: {"binary", "multiclass", "multilabel"}
    classes: NDArray[Any]  # Names of classes or labels; of two classes negative and positive
    shares: Floats  # (columns,): share of each class or label among the documents calibrated on

    @property
    def calibrators(self) -> list[Any]:
        """Return the fitted calibrators: one, or one for each class or label."""
        return self.score_map.calibrators

    def scores(self, documents: Any) -> Floats:
        """Return the classifier's raw scores, shape (n, columns)."""
        return self.reach.clip(self.columns.scores(self.estimator, documents))

    def log_both(self, documents: Any, priors: Priors) -> tuple[Floats, Floats]:
        """Return log P(-) and log P(+) of every column; with several classes P(+) has the prior."""
        own, weight = self._split(priors)
        negative, positive = self.score_map.log_proba(self.scores(documents), own)
        with np.errstate(divide="ignore"):
            return negative, positive + np.log(weight)

    def log_proba(self, documents: Any, priors: Priors) -> Floats:
        """Return log probabilities in the order of scikit-learn's classes_, shape (n, classes)."""
        log_p = log_proba_of(self.kind, *self.log_both(documents, priors))
        return log_p[:, ::-1] if self.columns.turned else log_p

    def predict_proba(self, documents: Any) -> Floats:
        """Return calibrated probabilities in the order of classes_, shape (n, classes)."""
        return np.asarray(np.exp(self.log_proba(documents, [None] * self.shares.size)))

    def sample(self, scores: Floats, draws: int | None, rng: Any, priors: Priors) -> Floats:
        """Return posterior draws of probabilities at scores, shape (draws, n, columns)."""
        own, weight = self._split(priors)
        drawn = self.score_map.sample(scores, draws, rng, own)
        return on_simplex(self.kind, drawn if own is priors else drawn * weight)

    def _split(self, priors: Priors) -> tuple[Priors, Floats]:
        """Return the columns' own priors, and factors of their probabilities."""
        # P(c | s) under the prior q is proportional to P(c | s) q_c / r_c, with r the shares fitted
        # (Saerens et al., 2002); the prior also changes the mixture of other classes in
        # one-vs-rest.
        if self.kind != MULTICLASS or priors[0] is None or self.score_map.knows_shares:
            return priors, np.ones(self.shares.size)
        return [None] * self.shares.size, np.array(priors) / self.shares


def calibrate(
    parts: list[Scored],
    calibrator: Any,
    target: Target,
    weight: Floats | None,
    *,
    weights: str | None,
    clusters: NDArray[Any] | None,
    columns: ScoreColumns,
    random_state: Any,
    n_jobs: int | None,
) -> list[CalibratedPair]:
    """Return every part's classifier with calibrators fitted on its scores."""
    calibrator = _with_known_settings(calibrator, target)
    if target.constant.any():
        _warn_of_constant(target)
    problems = [
        _jobs_of(calibrator, part, target, weight, weights, clusters, columns) for part in parts
    ]
    size = sum(len(jobs) for jobs, _ in problems)
    copies = iter(score_maps.seeded_copies(calibrator, size, random_state))
    tasks = [delayed(_fit)(next(copies), *job) for jobs, _ in problems for job in jobs]
    fitted = iter(Parallel(n_jobs=n_jobs)(tasks))
    return [paired([next(fitted) for _ in jobs]) for jobs, paired in problems]


Job = tuple[Floats, ArrayLike, dict[str, Any]]


def _warn_of_constant(target: Target) -> None:
    """Warn of classes without documents, and of labels that all documents have or none has."""
    names = first_of(target.columns[target.constant].tolist())
    sides = np.minimum(target.positive.sum(axis=0), (~target.positive).sum(axis=0))
    single = bool((sides[target.constant] == 1).any())
    what = "classes of a single document" if single else "classes without documents"
    if target.positive.all(axis=0).any():
        what = "classes that no document has, or all have"
    if target.kind == MULTILABEL:
        what = "labels that never vary" + " or have a single document on one side" * single
    folds = ""
    if target.apart is not None:
        what += " or whose rarer documents lie in too few folds"
        folds = ", or take fewer folds or a splitter that stratifies"
    if target.kind == BINARY:
        what, names = "one class only", repr(target.names.tolist()[int(target.positive[0, 0])])
    warn_user(
        f"y holds {what} ({names}): their probability is the base rate (k + 1)/(n + 2), whatever"
        f" the score. Add documents to calibrate them{folds}."
    )


def _jobs_of(
    calibrator: Any,
    part: Scored,
    target: Target,
    weight: Floats | None,
    weights: str | None,
    clusters: NDArray[Any] | None,
    columns: ScoreColumns,
) -> tuple[list[Job], Callable[[list[Any]], CalibratedPair]]:
    """Return the fits of one part's calibrators, and a function that pairs up those fitted."""
    own = np.ones(part.rows.size) if weight is None else weight[part.rows]
    every, absent = target.positive[part.rows], target.constant
    counts = np.stack([own @ ~every, own @ every], axis=1)
    # Base rates do not depend on scores: they use all documents.
    of_all = np.ones(len(target.y)) if weight is None else weight
    rates = np.stack([of_all @ ~target.positive, of_all @ target.positive], axis=1)
    counts[absent] = rates[absent]
    shares = np.array([k / (n + k) if n * k else class_prior(k, n + k) for n, k in counts])
    reach = Reach.of(part.scores)
    scores, positive, names = reach.clip(part.scores), every[:, ~absent], target.columns[~absent]
    extra = {} if weights is None else {weights: 1.0 / own if weights == "inclusion" else own}
    if clusters is not None:
        extra["clusters"] = clusters[part.rows]
    pooled = isinstance(calibrator, TopicCalibrator)
    joint = isinstance(calibrator, MulticlassCalibrator)
    by_temperature = isinstance(calibrator, ScikitLearnCalibrator) and (
        calibrator.method == "temperature"
    )
    log_odds = not hasattr(part.estimator, "decision_function")
    if not (pooled or joint):
        where = "the set to calibrate on, the test part of a fold,"
        targets.check_both_sides(target, part.rows, where)
    codes = positive.astype(np.int64)
    kind: Callable[..., score_maps.ScoreMap] = score_maps.ColumnMaps
    jobs: list[Job] = [(scores[:, [k]], codes[:, k], extra) for k in range(names.size)]
    if pooled and names.size:
        names = np.array([str(name) for name in names.tolist()])
        kind, jobs = score_maps.PooledMap, [(scores, codes, {**extra, "topics": names})]
    elif joint:
        kind = partial(score_maps.ClassesMap, log_odds=log_odds)
        known = {**extra, "classes": names}
        jobs = [(score_maps.as_logits(scores, log_odds), target.y[part.rows], known)]
    elif by_temperature and target.kind == MULTICLASS and names.size > 2:
        kind = partial(score_maps.JointMap, log_odds=log_odds)
        jobs = [(score_maps.as_logits(scores, log_odds), positive.argmax(axis=1), extra)]
    elif _knows_classes(calibrator, target) and names.size:
        jobs = [(scores, target.y[part.rows], extra)]
    counts[~absent] = np.nan

    def paired(calibrators: list[Any]) -> CalibratedPair:
        fitted = kind(calibrators, names)
        if absent.any():
            fitted = score_maps.WithBaseRates(calibrators, names, fitted, counts)
        return CalibratedPair(
            part.estimator, columns, reach, fitted, target.kind, target.names, shares
        )

    return jobs, paired


def _knows_classes(calibrator: Any, target: Target) -> bool:
    """Return whether the calibrator is fitted on the two class names themselves."""
    return isinstance(calibrator, ScoreCalibrator) and target.kind == BINARY


def _with_known_settings(calibrator: Any, target: Target) -> Any:
    """Return a calibrator with the kind of scores and, for two classes, the positive one set."""
    if not isinstance(calibrator, ScoreCalibrator | TopicCalibrator | MulticlassCalibrator):
        return calibrator
    copy = clone(calibrator)
    if calibrator.scores_are == AUTO:
        # A few margins may all lie between 0 and 1 without being probabilities.
        copy.set_params(scores_are="scores")
    if _knows_classes(calibrator, target):
        copy.set_params(positive=target.names.tolist()[1])
    return copy


def _fit(calibrator: Any, scores: Floats, y: ArrayLike, extra: dict[str, Any]) -> Any:
    # The user cannot reverse the scores of a classifier.
    with without_scores_warnings():
        # Others' calibrators may return nothing.
        calibrator.fit(scores, y, **extra)
    return calibrator
