"""One fitted problem, the input of plots, reports and tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.fitting.covariates import Frame
from bayescal.fitting.curves.curves import Curve, Prior
from bayescal.fitting.posterior import ClassDraws, Posterior
from bayescal.fitting.results.calibration import Calibration
from bayescal.fitting.results.diagnostics import Diagnostics
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.design_effect import DesignEffect
from bayescal.support.intervals import tails
from bayescal.support.score_checks import read_scores
from bayescal.support.validation import Floats, first_of

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.fitting.parts.part import Block


POINTS = 400
MARGIN = 0.02
CURVE_NAMES = {"exact": "posterior", "nuts": "posterior", "map": "posterior mode", "mle": ""}
OF_CHAINS = ("rhat", "ess_bulk", "divergences", "draws")
OF_PROPOSALS = ("efficiency", "pareto_k")


@dataclass(frozen=True)
class FittedProblem(ABC):
    """One fitted problem."""

    name: str  # the topic; empty for a problem without topics
    labels: NDArray[Any]  # (2,): the negative and the positive class
    calibration: Calibration  # of scores on the internal scale
    point: str  # its point estimate, see `ScoreCalibrator`
    # Fitted or held-out documents, on the scale of the calibration; empty for a fit that keeps none
    documents: BinaryScores
    counts: tuple[float, float]  # negatives and positives fitted
    score_name: str  # name of the user's scores
    scores_are: str  # meaning of the user's scores
    inference: str  # {"exact", "nuts", "map", "mle"}
    fitted: Any  # the `Fit` that holds it
    held_out: bool = field(default=False, kw_only=True)  # whether the documents are held out

    @property
    @abstractmethod
    def model(self) -> str:
        """Return a short name of the model."""

    @property
    @abstractmethod
    def problems(self) -> tuple[str, ...]:
        """Return the problems of the scores and of the draws, each with advice."""

    @property
    @abstractmethod
    def diagnostics(self) -> dict[str, Any]:
        """Return the numbers behind the problems."""

    @property
    @abstractmethod
    def parts(self) -> pd.DataFrame | None:
        """Return the weights of a combination's parts."""

    @abstractmethod
    def parameters(self, level: float) -> pd.DataFrame:
        """Return maximum likelihood beside the posterior; rows (class, parameter)."""

    def describe(self, *, several: bool) -> list[Block]:
        """Return the model in words and formulas."""
        return []

    @property
    def design_effect(self) -> DesignEffect | None:
        """Return the design effect of clusters; None without any."""
        effect: DesignEffect | None = self.fitted.design_effect
        return effect

    @property
    def tree(self) -> xr.DataTree:
        """Return the results of the fit, with all topics."""
        tree: xr.DataTree = self.fitted.tree
        return tree

    @property
    def prior_moved(self) -> float | None:
        """Return P(+) of the point estimate if a new prior only shifts its log-odds, else None."""
        return None

    def check_one_curve(self, what: str) -> None:
        """Raise ValueError if P(+) depends on more than the score."""
        if self.calibration.covariates is not None:
            raise ValueError(
                f"{what} has one curve, and this model takes covariates"
                f" {', '.join(self.calibration.covariates.columns)}: use"
                " predict_proba(scores, covariates=frame)."
            )

    def of_documents(self, scores: ArrayLike, covariates: Frame) -> FittedProblem:
        """Return the problem with the curve of documents with covariates, in their order."""
        own = self.calibration.of_documents(scores, covariates)
        return replace(self, calibration=own)

    @property
    def has_posterior(self) -> bool:
        """Return whether there are draws for a band."""
        return self.inference in ("exact", "nuts")

    @property
    def has_mle(self) -> bool:
        """Return whether maximum likelihood has a fit of both classes."""
        fits = self.calibration.fits
        both = (*fits.negative.parameters.values(), *fits.positive.parameters.values())
        return bool(np.isfinite(both).all())

    @property
    def draws(self) -> Posterior | None:
        """Return posterior draws of the log-odds; None without a posterior."""
        return self.calibration.draws if self.has_posterior else None

    @property
    def densities(self) -> ClassDraws | None:
        """Return draws of class densities, or the densities at the mode, if the model has them."""
        draws = self.calibration.draws
        return None if draws is None else draws.densities

    @property
    def scale(self) -> tuple[float, float]:
        """Return the robust centre and spread of the scores fitted."""
        return self.calibration.centre, self.calibration.spread

    @property
    def attrs(self) -> dict[str, Any]:
        """Return the attributes of a Dataset of the problem."""
        negative, positive = map(str, self.labels)
        own = {
            "score_name": self.score_name,
            "scores_are": self.scores_are,
            "curve": CURVE_NAMES[self.inference],
            "negative_class": negative,
            "positive_class": positive,
        }
        return own | ({"topic": self.name} if self.name else {})

    def read(self, scores: ArrayLike, name: str = "scores") -> Floats:
        """Return users' scores on the calibration's scale: probabilities as log-odds."""
        calibration = self.calibration
        guessed, ends = calibration.guessed, calibration.ends
        return read_scores(scores, self.scores_are, guessed=guessed, name=name, ends=ends)

    def log_odds(self, scores: Floats, prior: Prior | None = None) -> Floats:
        """Return the point estimate's natural log-odds at scores on the calibration's scale."""
        return self.calibration.with_prior(prior).log_odds(scores, self.point)

    def grid(self, scores: ArrayLike | None = None, points: int = POINTS) -> Floats:
        """Return scores to evaluate curves at: as given, or over the scores' range with margins."""
        if scores is not None:
            return np.sort(self.read(scores, "grid"))
        fitted, score = self.calibration.score_range, self.documents.score
        low = min(fitted[0], score.min(initial=np.inf))
        high = max(fitted[1], score.max(initial=-np.inf))
        # A positive margin even if all scores are equal.
        margin = MARGIN * (high - low) or self.calibration.spread
        return np.linspace(low - margin, high + margin, points)

    def shown(self, score: Floats) -> Floats:
        """Return scores in the user's units."""
        if self.scores_are != "probabilities":
            return score
        return np.asarray(special.expit(score))


class Problems(Mapping[Any, FittedProblem]):
    """The problems of a fitted calibrator by name, each read on access."""

    def __init__(
        self,
        names: Sequence[Any],
        read: Callable[[int], FittedProblem],
        *,
        by_topic: bool,
        read_new: Callable[[], FittedProblem] | None = None,
    ) -> None:
        self._names, self._read, self.by_topic = list(names), read, by_topic
        self._read_new = read_new

    def answers(self, name: Any) -> bool:
        """Return whether there is a curve for a topic, fitted or not."""
        return name in self._positions or self._read_new is not None

    def answering(self, name: Any) -> FittedProblem:
        """Return a topic's problem, or the problem of topics that were not fitted."""
        if name in self._positions or self._read_new is None:
            return self[name]
        return self._read_new()

    def __getitem__(self, name: Any) -> FittedProblem:
        return self._read(self._positions[name])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @cached_property
    def _positions(self) -> dict[Any, int]:
        return {name: k for k, name in enumerate(self._names)}


class Calibrator(Protocol):
    """The interface that plots and reports require: a fitted object with problems."""

    def fitted_problems(self) -> Problems:
        """Return the problems fitted; raise NotFittedError if there are none yet."""
        ...


def problems_of(calibrator: Any) -> Problems:
    """Return the problems of a fitted calibrator."""
    if hasattr(calibrator, "fitted_problems"):
        problems: Problems = calibrator.fitted_problems()
        return problems
    if getattr(calibrator, "several_classes", False):
        raise TypeError(
            f"calibrator must have curves of one score, got a {type(calibrator).__name__}, whose"
            " probabilities depend on the scores of all classes: use its report, or"
            " ClassReliabilityDisplay and the other displays of classes."
        )
    last = " Pass its last step, pipeline[-1]." if hasattr(calibrator, "named_steps") else ""
    raise TypeError(
        "calibrator must be a fitted calibrator or classifier of bayescal, got an object of type"
        f" {type(calibrator).__name__}.{last}"
    )


def problem_of(calibrator: Any, topic: Any = None, *, new: bool = False) -> FittedProblem:
    """Return the only problem of a fitted calibrator, or a topic's, perhaps one not fitted."""
    problems = problems_of(calibrator)
    names = list(problems)
    if not problems.by_topic:
        if topic is not None:
            raise ValueError(
                f"topic must be left out, got {topic!r}: the calibrator has no topics."
            )
        return problems[names[0]]
    if topic not in names and str(topic) in names:
        topic = str(topic)  # problems of classes are named by text, whatever the labels are
    if topic is None or not (topic in names or (new and problems.answers(topic))):
        raise ValueError(f"topic must be one of those fitted, {first_of(names)}; got {topic!r}.")
    return problems.answering(topic)


def check_named(calibrators: Any) -> None:
    """Raise TypeError unless calibrators are a mapping by name."""
    if not isinstance(calibrators, Mapping):
        raise TypeError(
            "calibrators must be a dict of fitted calibrators by name, got an object of type"
            f" {type(calibrators).__name__}."
        )


def summary_of(problems: Problems, level: float) -> pd.DataFrame:
    """Return the parameters of all problems, by name first unless there is one unnamed problem."""
    import pandas as pd

    tables = {name: one.parameters(level) for name, one in problems.items()}
    if list(tables) == [""]:
        return tables[""]
    table: pd.DataFrame = pd.concat(tables, names=["problem"])
    return table


def numbers_of(diagnostics: Diagnostics | None) -> dict[str, Any]:
    """Return the numbers of diagnostics that apply to the kind of draws."""
    if diagnostics is None:
        return {}
    if diagnostics.efficiency is None:
        return {name: getattr(diagnostics, name) for name in OF_CHAINS}
    # For independent draws an effective sample size is a noisy estimate of their number.
    return {
        "independent_draws": diagnostics.draws,
        **{name: getattr(diagnostics, name) for name in OF_PROPOSALS},
    }


def problems_of_each(calibrators: Mapping[Any, Calibrator]) -> Problems:
    """Return the problems of calibrators by topic; a calibrator is read on access."""
    names = list(calibrators)

    @lru_cache(maxsize=1)  # iterations access the first one twice
    def read(position: int) -> FittedProblem:
        (problem,) = problems_of(calibrators[names[position]]).values()
        return replace(problem, name=str(names[position]))

    return Problems(names, read, by_topic=True)


# Log-odds of documents in bins of the score, beside the curve of a calibration.

LEAST = 1e-300  # smallest sum of probabilities, whose logarithm is finite


def binned_log_odds(
    place: NDArray[np.intp], documents: BinaryScores, curve: Curve, level: float
) -> dict[str, Floats]:
    """Return each bin's mean score, numbers of both classes, log-odds, and Jeffreys' interval."""
    # The log-odds of a share are closer to 0 than the curve at the mean score: they are Beta(k +
    # 1/2, m + 1/2), plus the curve there, less the log-odds of its mean probability.
    score, weight, bins = documents.score, documents.weights, int(place.max(initial=-1)) + 1
    if not score.size:
        curve = np.asarray  # there are no bins, and calibrators refuse to predict nothing
    log_odds = curve(score)

    def total(values: NDArray[Any]) -> Floats:
        return np.asarray(np.bincount(place, weight * values, bins), dtype=np.float64)

    k, m = total(documents.positive), total(~documents.positive)
    mean = total(score) / (k + m)
    expected, complement = total(special.expit(log_odds)), total(special.expit(-log_odds))
    shift = curve(mean) - np.log(np.maximum(expected, LEAST) / np.maximum(complement, LEAST))
    low, high = tails(level)
    lower, middle, upper = (
        shift + special.logit(special.betaincinv(k + 0.5, m + 0.5, share))
        for share in (low, 0.5, high)
    )
    return {
        "score": mean,
        "positives": k,
        "negatives": m,
        "log_odds": middle,
        "lower": np.where(k == 0.0, -np.inf, lower),
        "upper": np.where(m == 0.0, np.inf, upper),
    }
