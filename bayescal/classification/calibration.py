"""Fit calibrators to scored documents: a job for each column of each part, run in parallel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from bayescal.classification.calibrators import seeded_copies
from bayescal.classification.folds import Scored
from bayescal.classification.probabilities import log_proba_of, on_simplex
from bayescal.classification.raw_scores import Reach, raw_scores
from bayescal.classification.scikit_learn_methods import ScikitLearnCalibrator
from bayescal.classification.score_maps import ColumnMaps, JointMap, PooledMap, Priors, ScoreMap
from bayescal.classification.targets import BINARY, MULTICLASS, Target, check_both_sides
from bayescal.score_calibrator import ScoreCalibrator
from bayescal.score_checks import without_scores_warnings
from bayescal.settings import AUTO
from bayescal.topic_calibrator import TopicCalibrator
from bayescal.validation import Floats


@dataclass(frozen=True)
class CalibratedPair:
    """
    A fitted classifier and the calibrators of its scores.

    Attributes
    ----------
    estimator : classifier
        Fitted.
    score_map : ScoreMap
        Its calibrators.
    reach : Reach
        Of the scores calibrated on.
    kind : {"binary", "multiclass", "multilabel"}
        Of the target.
    classes : array of shape (2,), (classes,) or (labels,)
        Names of the classes or labels; of two classes the negative and the positive one.
    turned : bool
        Whether the classifier scores for the negative one.
    """

    estimator: Any
    score_map: ScoreMap
    reach: Reach
    kind: str
    classes: NDArray[Any]
    turned: bool

    @property
    def calibrators(self) -> list[Any]:
        """Return the fitted calibrators: one for two classes, else one a class or label."""
        return self.score_map.calibrators

    def scores(self, documents: Any) -> Floats:
        """Return the classifier's raw scores, shape (n, columns)."""
        columns = self.reach.low.size
        found = raw_scores(self.estimator, documents, self.kind, columns, turned=self.turned)
        return self.reach.clip(found)

    def log_proba(self, documents: Any, priors: Priors) -> Floats:
        """Return log probabilities, shape (n, classes)."""
        return log_proba_of(self.kind, *self.score_map.log_proba(self.scores(documents), priors))

    def predict_proba(self, documents: Any) -> Floats:
        """Return calibrated probabilities, shape (n, classes)."""
        priors: Priors = [None] * self.reach.low.size
        return np.asarray(np.exp(self.log_proba(documents, priors)))

    def sample(self, scores: Floats, draws: int | None, rng: Any, priors: Priors) -> Floats:
        """Return posterior draws of probabilities at scores, shape (draws, n, columns)."""
        return on_simplex(self.kind, self.score_map.sample(scores, draws, rng, priors))


def calibrate(
    parts: list[Scored],
    calibrator: Any,
    target: Target,
    weight: Floats | None,
    *,
    random_state: Any,
    n_jobs: int | None,
) -> list[CalibratedPair]:
    """
    Return every part's classifier with calibrators fitted on its scores.

    Parameters
    ----------
    parts : list of Scored
        Classifiers with scores of documents that they were not trained on.
    calibrator : estimator
        What `read_calibrator` returned; clones are fitted.
    target : Target
        Labels of all documents.
    weight : array of shape (n,) or None
        Weights of all documents.
    random_state : int, Generator, RandomState or None
        The source of the calibrators' seeds.
    n_jobs : int or None
        Processes, as joblib counts them.

    Raises
    ------
    ValueError
        If a part lacks documents of a class; topics that are pooled may lack them.
    """
    calibrator = _told_what_is_known(calibrator, target)
    problems = [_problem(calibrator, part, target) for part in parts]
    copies = iter(seeded_copies(calibrator, sum(len(p.jobs) for p in problems), random_state))
    jobs = [
        delayed(_fit)(next(copies), *job, None if weight is None else weight[part.rows])
        for part, problem in zip(parts, problems, strict=True)
        for job in problem.jobs
    ]
    fitted = iter(Parallel(n_jobs=n_jobs)(jobs))
    return [
        CalibratedPair(
            part.estimator,
            problem.make([next(fitted) for _ in problem.jobs]),
            problem.reach,
            target.kind,
            target.names,
            target.turned,
        )
        for part, problem in zip(parts, problems, strict=True)
    ]


Job = tuple[Floats, ArrayLike, dict[str, Any]]


@dataclass(frozen=True)
class Problem:
    """The fits that one part needs: arguments of each, and what makes a map of the results."""

    reach: Reach
    jobs: list[Job]
    make: Callable[[list[Any]], ScoreMap]


def _problem(calibrator: Any, part: Scored, target: Target) -> Problem:
    reach = Reach.of(part.scores)
    scores, positive = reach.clip(part.scores), target.positive[part.rows]
    if isinstance(calibrator, TopicCalibrator):
        names = np.array([str(name) for name in target.columns.tolist()])
        pooled: Job = (scores, positive.astype(np.int64), {"topics": names})
        return Problem(reach, [pooled], lambda fitted: PooledMap(fitted[0], names))
    check_both_sides(target, part.rows, "the set to calibrate on, the test part of a fold,")
    if _is_joint(calibrator) and target.kind == MULTICLASS:
        return Problem(
            reach, [(scores, positive.argmax(axis=1), {})], lambda fitted: JointMap(fitted[0])
        )
    if _knows_classes(calibrator, target):
        columns: list[Job] = [(scores, target.y[part.rows], {})]
    else:
        codes = positive.astype(np.int64)
        columns = [(scores[:, [k]], codes[:, k], {}) for k in range(scores.shape[1])]
    return Problem(reach, columns, lambda fitted: ColumnMaps(fitted, target.columns))


def _knows_classes(calibrator: Any, target: Target) -> bool:
    """Return whether a calibrator is fitted to the classes themselves: ours, of two classes."""
    return isinstance(calibrator, ScoreCalibrator) and target.kind == BINARY


def _told_what_is_known(calibrator: Any, target: Target) -> Any:
    """Return a calibrator that knows what scores are, and of two classes which is positive."""
    if not isinstance(calibrator, ScoreCalibrator | TopicCalibrator):
        return calibrator
    told = clone(calibrator)
    if calibrator.scores_are == AUTO:
        # Margins of a few documents may all lie between 0 and 1, and are no probabilities.
        told.set_params(scores_are="scores")
    if _knows_classes(calibrator, target):
        told.set_params(positive=target.names.tolist()[1])
    return told


def _is_joint(calibrator: Any) -> bool:
    return isinstance(calibrator, ScikitLearnCalibrator) and calibrator.method == "temperature"


def _fit(
    calibrator: Any, scores: Floats, y: ArrayLike, extra: dict[str, Any], weight: Floats | None
) -> Any:
    if weight is not None:
        extra = {**extra, "sample_weight": weight}
    # Whoever has documents and a classifier can turn no scores around.
    with without_scores_warnings():
        # Others' calibrators may return nothing.
        calibrator.fit(scores, y, **extra)
    return calibrator
