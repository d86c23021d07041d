"""Fitted maps from a matrix of raw scores to probabilities: column by column, pooled, or joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import log_expit

from bayescal.classification.calibrators import log_probabilities, no_posterior, posterior_draws
from bayescal.curves.class_prior import Prior
from bayescal.fitted.problem import FittedProblem
from bayescal.validation import Floats

Priors = Sequence[Prior | None]


class ScoreMap(Protocol):
    """Calibrators of all columns of scores."""

    @property
    def calibrators(self) -> list[Any]:
        """Return the fitted calibrators."""
        ...

    def log_proba(self, scores: Floats, priors: Priors) -> tuple[Floats, Floats]:
        """Return log P(-) and log P(+) of every column, each (n, columns)."""
        ...

    def sample(self, scores: Floats, draws: int | None, rng: Any, priors: Priors) -> Floats:
        """Return posterior draws of P(+), shape (draws, n, columns)."""
        ...

    def interval(self, scores: Floats, level: float, kind: str, priors: Priors) -> Floats:
        """Return posterior intervals of P(+), shape (n, columns, 2)."""
        ...

    def posterior(self) -> xr.DataTree:
        """Return the tree of results."""
        ...

    def problems(self) -> dict[str, FittedProblem]:
        """Return what was fitted to each column, by the columns' names."""
        ...


@dataclass(frozen=True)
class ColumnMaps:
    """
    A calibrator for each column.

    Attributes
    ----------
    calibrators : list
        Fitted, one a column.
    names : array of shape (columns,)
        What the columns are for.
    """

    calibrators: list[Any]
    names: NDArray[Any]

    def log_proba(self, scores: Floats, priors: Priors) -> tuple[Floats, Floats]:
        """Return log P(-) and log P(+) of every column, each (n, columns)."""
        parts = [log_probabilities(*each) for each in self._columns(scores, priors)]
        negative, positive = (np.stack(side, axis=1) for side in zip(*parts, strict=True))
        return negative, positive

    def sample(self, scores: Floats, draws: int | None, rng: Any, priors: Priors) -> Floats:
        """Return posterior draws of P(+), shape (draws, n, columns); columns are independent."""
        parts = [
            posterior_draws(calibrator, column, draws, rng, prior).T
            for calibrator, column, prior in self._columns(scores, priors)
        ]
        # Draws lie side by side, as they are made and as intervals sort them.
        return np.stack(parts).transpose(2, 1, 0)

    def interval(self, scores: Floats, level: float, kind: str, priors: Priors) -> Floats:
        """Return posterior intervals of P(+), shape (n, columns, 2)."""
        parts = []
        for calibrator, column, prior in self._columns(scores, priors):
            if not hasattr(calibrator, "predict_interval"):
                raise ValueError(no_posterior(calibrator))
            parts.append(calibrator.predict_interval(column, level, kind, prior))
        return np.stack(parts, axis=1)

    def posterior(self) -> xr.DataTree:
        """Return the tree of the one calibrator, or a tree with a branch for each column."""
        for calibrator in self.calibrators:
            if not hasattr(calibrator, "posterior_"):
                raise AttributeError(no_posterior(calibrator))
        trees = [calibrator.posterior_ for calibrator in self.calibrators]
        if len(trees) == 1:
            tree: xr.DataTree = trees[0]
            return tree
        # A slash would open a path.
        names = [str(name).replace("/", "|") for name in self.names.tolist()]
        return xr.DataTree(children=dict(zip(names, trees, strict=True)))

    def problems(self) -> dict[str, FittedProblem]:
        """Return what was fitted to each column, by the columns' names."""
        out = {}
        for name, calibrator in zip(map(str, self.names.tolist()), self.calibrators, strict=True):
            if not hasattr(calibrator, "fitted_problems"):
                raise AttributeError(no_posterior(calibrator))
            (problem,) = calibrator.fitted_problems().values()
            out[name] = replace(problem, name=name)
        return out

    def _columns(self, scores: Floats, priors: Priors) -> list[tuple[Any, Floats, Prior | None]]:
        return list(zip(self.calibrators, scores.T, priors, strict=True))


@dataclass(frozen=True)
class PooledMap:
    """
    A TopicCalibrator: the columns are its topics.

    Attributes
    ----------
    topics : TopicCalibrator
        Fitted.
    names : array of str, shape (columns,)
        Its topics in the order of the columns.
    """

    topics: Any
    names: NDArray[Any]

    @property
    def calibrators(self) -> list[Any]:
        """Return the one calibrator."""
        return [self.topics]

    def log_proba(self, scores: Floats, priors: Priors) -> tuple[Floats, Floats]:
        """Return log P(-) and log P(+) of every column, each (n, columns)."""
        log_odds = self.topics.decision_function(scores, self.names, self._of(priors))
        return log_expit(-log_odds), log_expit(log_odds)

    def sample(self, scores: Floats, draws: int | None, rng: Any, priors: Priors) -> Floats:
        """Return posterior draws of P(+), shape (draws, n, columns)."""
        found = self.topics.sample_proba(scores, self.names, draws, rng, self._of(priors))
        return np.asarray(found)

    def interval(self, scores: Floats, level: float, kind: str, priors: Priors) -> Floats:
        """Return posterior intervals of P(+), shape (n, columns, 2)."""
        found = self.topics.predict_interval(scores, self.names, level, kind, self._of(priors))
        return np.asarray(found)

    def _of(self, priors: Priors) -> dict[Any, Any] | None:
        """Return the priors by topic; of None each topic's own."""
        given = zip(self.names.tolist(), priors, strict=True)
        return {name: prior for name, prior in given if prior is not None} or None

    def posterior(self) -> xr.DataTree:
        """Return the calibrator's tree."""
        tree: xr.DataTree = self.topics.posterior_
        return tree

    def problems(self) -> dict[str, FittedProblem]:
        """Return the topics."""
        found = self.topics.fitted_problems()
        return {name: found[name] for name in self.names.tolist()}


@dataclass(frozen=True)
class JointMap:
    """
    A calibrator of all classes' scores together, such as temperature scaling.

    Attributes
    ----------
    joint : classifier
        Fitted on the matrix of scores.
    """

    joint: Any

    @property
    def calibrators(self) -> list[Any]:
        """Return the one calibrator."""
        return [self.joint]

    def log_proba(self, scores: Floats, priors: Priors) -> tuple[Floats, Floats]:
        """Return log P(-) and log P(+) of every class, each (n, classes)."""
        _refuse(priors, self.joint)
        positive = self.joint.predict_proba(scores)
        with np.errstate(divide="ignore"):
            return np.log1p(-positive), np.log(positive)

    def sample(self, scores: Floats, draws: int | None, rng: Any, priors: Priors) -> Floats:
        """Raise ValueError: there is no posterior."""
        raise ValueError(no_posterior(self.joint))

    def interval(self, scores: Floats, level: float, kind: str, priors: Priors) -> Floats:
        """Raise ValueError: there is no posterior."""
        raise ValueError(no_posterior(self.joint))

    def posterior(self) -> xr.DataTree:
        """Raise AttributeError: there is no posterior."""
        raise AttributeError(no_posterior(self.joint))

    def problems(self) -> dict[str, FittedProblem]:
        """Raise AttributeError: there is no posterior."""
        raise AttributeError(no_posterior(self.joint))


def _refuse(priors: Priors, calibrator: Any) -> None:
    if any(prior is not None for prior in priors):
        raise ValueError(
            f"prior needs a calibrator that knows class priors, {type(calibrator).__name__} does"
            " not: use ScoreCalibrator()."
        )
