"""Draws of a model program's parameters as curves of the raw score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayescal.fitting.covariates import Covariates
from bayescal.fitting.curves.part_draws import ClassDraws
from bayescal.fitting.engines.program import log_likelihood, simulate_scores
from bayescal.fitting.engines.program_functions import ProgramFunctions
from bayescal.fitting.posterior import Posterior
from bayescal.fitting.scores import BinaryScores
from bayescal.support.numerics import log_odds, log_sum_exp
from bayescal.support.validation import Floats

# Simulated scores behind the empirical distribution function.
REPLICATES = 2000


@dataclass(frozen=True)
class ProgramDraws:
    """Posterior draws of a program's variables, with the documents' covariates."""

    functions: ProgramFunctions
    values: Mapping[str, NDArray[Any]]  # by variable, draws along the first axis
    covariates: Covariates | None = None  # of the documents, or of one typical document

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return int(next(iter(self.values.values())).shape[0])

    def take(self, index: NDArray[np.intp]) -> ProgramDraws:
        """Return the draws at some positions."""
        return replace(self, values={name: each[index] for name, each in self.values.items()})

    def columns(self, scores: Floats) -> Mapping[str, NDArray[Any]] | None:
        """Return the columns of documents with these scores; by default of typical ones."""
        return None if self.covariates is None else self.covariates.rows(scores.size).columns

    def log_likelihood(self, data: BinaryScores) -> Floats:
        """Return the log likelihood of each document by the program's model; (draws, n)."""
        return log_likelihood(self.functions.record, data, self.values)


@dataclass(frozen=True)
class ProgramLogOdds(Posterior):
    """Draws of log-odds by a program of labels given scores."""

    drawn: ClassVar = ("draws", "prior", "shift")

    draws: ProgramDraws
    prior: Floats  # (draws,): P(+) of the documents fitted
    shift: Floats  # (draws,): change of log-odds by a new prior

    def of(self, covariates: Covariates) -> ProgramLogOdds:
        """Return the same draws for documents with other columns."""
        return replace(self, draws=replace(self.draws, covariates=covariates))

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds at raw scores, shape (draws, scores)."""
        drawn = self.draws
        curves = drawn.functions.log_odds(scores, drawn.values, drawn.columns(scores))
        curves += self.shift[:, None]
        return curves

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return log-odds of the documents fitted; (draws, documents)."""
        return (self if data.covariates is None else self.of(data.covariates)).log_odds(data.score)

    def seen(self, data: BinaryScores, log_score: Floats) -> Floats:
        """Return the log likelihood of each document by the program's model."""
        return self.draws.log_likelihood(data)


@dataclass(frozen=True)
class ProgramDensity:
    """Draws of one class's density by a program, with the interface of `DensityDraws`."""

    draws: ProgramDraws
    klass: int

    def take(self, index: NDArray[np.intp]) -> ProgramDensity:
        """Return the draws at some positions."""
        return ProgramDensity(self.draws.take(index), self.klass)

    def logpdf(self, scores: Floats) -> Floats:
        """Return log p(score | class), shape (draws, scores)."""
        drawn = self.draws
        return drawn.functions.log_density(self.klass, scores, drawn.values, drawn.columns(scores))

    def log_density_warped(self, scores: Floats) -> Floats:
        """Return `logpdf`: a program has no warp."""
        return self.logpdf(scores)

    def sample(self, size: int, rng: np.random.Generator) -> Floats:
        """Return scores of the class by every draw, shape (draws, size)."""
        drawn, centre = self.draws, self.draws.functions.record.units[0]
        covariates = None if drawn.covariates is None else drawn.covariates.rows(size)
        data = BinaryScores(
            np.full(size, centre),
            np.full(size, bool(self.klass)),
            units=drawn.functions.record.units,
            covariates=covariates,
        )
        return simulate_scores(drawn.functions.record, self.klass, size, drawn.values, data, rng)

    def cdf(self, scores: Floats) -> Floats:
        """Return the share of many replicates up to each score, shape (draws, scores)."""
        replicates = np.sort(self.sample(REPLICATES, np.random.default_rng(0)), axis=1)
        counts = [np.searchsorted(each, scores, side="right") for each in replicates]
        return np.stack(counts) / REPLICATES


@dataclass(frozen=True)
class ProgramClassDraws(ClassDraws):
    """Draws of both classes' densities by a program; scores impossible for both give the prior."""

    draws: ProgramDraws = field(kw_only=True)

    @classmethod
    def of_draws(cls, draws: ProgramDraws, prior: Floats) -> ProgramClassDraws:
        """Return the draws of both classes."""
        both: list[Any] = [ProgramDensity(draws, klass) for klass in range(2)]
        return cls(both[0], both[1], prior, draws=draws)

    def take(self, index: NDArray[np.intp]) -> ProgramClassDraws:
        """Return the draws at some positions."""
        return self.of_draws(self.draws.take(index), self.prior[index])

    def of(self, covariates: Covariates) -> ProgramClassDraws:
        """Return the same draws for documents with other columns."""
        return self.of_draws(replace(self.draws, covariates=covariates), self.prior)

    def log_odds(self, scores: Floats) -> Floats:
        """Return the calibrated log-odds, shape (draws, scores)."""
        negative, positive = self.log_densities(scores)
        return log_odds(self.prior[:, None], *_comparable(positive, negative))

    def predictive(self, scores: Floats) -> Floats:
        """Return the log-odds of P(+ | s, data) by posterior predictive densities; (scores,)."""
        negative, positive = (log_sum_exp(each, axis=0) for each in self.log_densities(scores))
        return log_odds(float(self.prior.mean()), *_comparable(positive, negative))

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return log-odds of the documents fitted; (draws, documents)."""
        return (self if data.covariates is None else self.of(data.covariates)).log_odds(data.score)

    def seen(self, data: BinaryScores, log_score: Floats) -> Floats:
        """Return the log likelihood of each document by the program's model."""
        return self.draws.log_likelihood(data)


def _comparable(positive: Floats, negative: Floats) -> tuple[Floats, Floats]:
    """Return log densities, with 0 for both where both densities are 0."""
    impossible = np.isneginf(negative) & np.isneginf(positive)
    return np.where(impossible, 0.0, positive), np.where(impossible, 0.0, negative)


@dataclass(frozen=True)
class DocumentCurves(Posterior):
    """Curves of documents with covariates, as functions of a document's position."""

    drawn: ClassVar = ("curves",)

    curves: Posterior
    score: Floats  # (n,): of the documents
    covariates: Covariates

    @property
    def prior(self) -> Floats:
        """Return the draws of P(+)."""
        return self.curves.prior

    @property
    def densities(self) -> Any:
        """Return the draws of class densities of typical documents."""
        return self.curves.densities

    def with_prior(self, prior: Floats) -> DocumentCurves:
        """Return the same draws for a class prior of shape (draws,)."""
        return replace(self, curves=self.curves.with_prior(prior))

    def log_odds(self, scores: Floats) -> Floats:
        """Return log-odds of documents at some positions, shape (draws, documents)."""
        own, rows = self._at(scores)
        return own.log_odds(self.score[rows])

    def predictive(self, scores: Floats) -> Floats:
        """Return the log-odds of P(+ | s, data), shape (documents,)."""
        own, rows = self._at(scores)
        return own.predictive(self.score[rows])

    def _at(self, scores: Floats) -> tuple[Posterior, NDArray[np.intp]]:
        rows = scores.astype(np.intp)
        curves: Any = self.curves
        return curves.of(self.covariates.take(rows)), rows
