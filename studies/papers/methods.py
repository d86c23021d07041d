"""Calibration methods with one signature: labelled scores in, log-odds of new scores out.

`METHODS` maps the names of the tables to the methods: those of the paper, those of other packages,
and those of bayescal. Comparisons loop over them.

Examples
--------
>>> [method.name for method in METHODS.values() if method.group == "paper"]
['Gauss', 'A.Gauss', 'Laplace', 'A.Laplace', 'LogReg', 'LR+Noise', 'raw']
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.families import FAMILIES, ScaleFloorOption
from bayescal.fitting.engines.point_estimates import fit_classes
from bayescal.fitting.parts.configured import Monotone
from bayescal.fitting.scores import BinaryScores
from bayescal.support.score_checks import without_scores_warnings
from bayescal.support.validation import Floats

Labels = NDArray[Any]
OneTopic = Callable[[Floats, Labels, Floats], Floats]

GROUPS = ("paper", "peer", "ours")


class Problem(NamedTuple):
    """One topic: what to calibrate with, and what to calibrate.

    Attributes
    ----------
    scores : array of shape (n,)
        Raw scores of labelled documents.
    labels : array of shape (n,)
        1 for positives, 0 for negatives; both occur.
    new : array of shape (m,)
        Raw scores that want log-odds.
    """

    scores: Floats
    labels: Labels
    new: Floats


@dataclass(frozen=True)
class Method:
    """A named way from scores to log-odds.

    Attributes
    ----------
    name : str
        As tables have it.
    group : str
        "paper" (Bennett's table), "peer" (what others use) or "ours".
    one_topic : callable or None
        (scores, labels, new) -> natural log-odds of the new scores.
    many_topics : callable or None
        A sequence of Problem -> a list of log-odds, where topics inform each other.
    needs : str
        The package that must be installed, if any.

    Examples
    --------
    >>> import numpy as np
    >>> from studies.papers.methods import METHODS
    >>> scores, labels = np.array([-3.0, -1.0, 0.5, -0.5, 1.0, 2.0]), np.array([0, 0, 0, 1, 1, 1])
    >>> METHODS["LogReg"](scores, labels, np.array([-2.0, 2.0])).round(1)
    array([-2.5,  2.6])
    """

    name: str
    group: str
    one_topic: OneTopic | None = None
    many_topics: Callable[[Sequence[Problem]], list[Floats]] | None = None
    needs: str = ""

    @property
    def installed(self) -> bool:
        """Return whether the package that it needs is there."""
        return not self.needs or find_spec(self.needs) is not None

    def __call__(self, scores: Floats, labels: Labels, new: Floats) -> Floats:
        """Return natural log-odds of new scores; of one topic by itself."""
        return self.over_topics([Problem(scores, labels, new)])[0]

    def over_topics(self, problems: Sequence[Problem]) -> list[Floats]:
        """Return the log-odds of several topics' new scores, in their order."""
        if not self.installed:
            raise ImportError(
                f"{self.name} needs the package {self.needs}: pip install {self.needs}."
            )
        if self.many_topics is not None:
            return self.many_topics(problems)
        assert self.one_topic is not None  # noqa: S101
        return [self.one_topic(*problem) for problem in problems]


def maximum_likelihood(
    scores: Floats,
    labels: Labels,
    new: Floats,
    *,
    family: str,
    candidates: str = "exact",
    scale_floor: ScaleFloorOption = "auto",
) -> Floats:
    """Return log-odds by densities of a family fitted to each class, prior (n_+ + 1)/(n + 2).

    Parameters
    ----------
    scores, labels, new
        See `Problem`.
    family : str
        A name in `bayescal.families.FAMILIES`.
    candidates, scale_floor
        Of the fit: see `bayescal.families.Family.fit`. The paper's are "bennett" and
        None. For the paper's ten topics, which are large, neither changes its table.
    """
    data = BinaryScores(scores, np.asarray(labels) == 1)
    fits = fit_classes(FAMILIES[family], data, candidates=candidates, scale_floor=scale_floor)
    return fits.log_odds(new)


def raw(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return the new scores as they are: right only if they are calibrated log-odds."""
    return new


# What stands for a probability of 0, of any method that says it.
SMALLEST = 1e-15


class SeparableWarning(UserWarning):
    """Scores separate the classes: logistic regression has no finite maximum."""


def logistic_regression(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds a + b s by maximum likelihood (the paper's LogReg).

    Where a score separates the classes the likelihood rises with b without end. The limit is a
    step at the middle of the gap; its probabilities of 0 and 1 are kept 1e-15 away from them.

    Warns
    -----
    SeparableWarning
        If the scores separate the classes.

    Examples
    --------
    >>> scores, labels = np.array([-1.0, 0.0, 1.0, 2.0]), np.array([0, 1, 0, 1])
    >>> logistic_regression(scores, labels, np.array([0.5])).round(6) + 0.0
    array([0.])
    """
    from sklearn.linear_model import LogisticRegression

    positive = np.asarray(labels) == 1
    sign = 1.0 if scores[positive].mean() >= scores[~positive].mean() else -1.0
    highest, lowest = (sign * scores[~positive]).max(), (sign * scores[positive]).min()
    if highest <= lowest:
        warnings.warn(
            "scores separate the classes, so that the likelihood of logistic regression has no"
            " finite maximum: a step stands for it.",
            SeparableWarning,
            stacklevel=2,
        )
        return np.asarray(
            np.sign(sign * new - (highest + lowest) / 2.0) * special.logit(1.0 - SMALLEST)
        )
    centre, spread = scores.mean(), scores.std()
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    model.fit(((scores - centre) / spread)[:, None], positive)
    return np.asarray(model.decision_function(((new - centre) / spread)[:, None]))


def platt(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds a + b s by Platt's method (the paper's LR+Noise): scikit-learn's sigmoid.

    Maximum likelihood with targets (n_+ + 1)/(n_+ + 2) of positives and 1/(n_- + 2) of negatives.

    Examples
    --------
    >>> platt(np.array([5.0, -4.0, 1.0]), np.array([1, 0, 0]), np.array([0.0])).round(3)
    array([-0.652])
    """
    sigmoid = _scikit_learn("sigmoid", scores, labels)
    return np.asarray(-(sigmoid.a_ * new + sigmoid.b_))


def temperature(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds by one factor on the scores: scikit-learn's temperature."""
    return np.asarray(_scikit_learn("temperature", scores, labels).beta_ * new)


def _scikit_learn(method: str, scores: Floats, labels: Labels) -> Any:
    from bayescal.calibrators.classifier.wrappers import ScikitLearnCalibrator

    return ScikitLearnCalibrator(method).fit(scores[:, None], labels)


# Isotonic's probabilities are exactly 0 and 1 at the ends: one document would cost everything.
ISOTONIC_CLIP = 1e-4


def isotonic(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds by isotonic regression, probabilities kept within 1e-4 of 0 and 1."""
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(out_of_bounds="clip").fit(scores, labels)
    return _logit(fitted.predict(new), ISOTONIC_CLIP)


def beta(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds by beta calibration of 1/(1 + exp(-score)), betacal's three parameters."""
    from betacal import BetaCalibration

    with warnings.catch_warnings():  # betacal silences all warnings of the process
        fitted = BetaCalibration(parameters="abm").fit(special.expit(scores), labels)
        return _logit(fitted.predict(special.expit(new)))


def venn_abers(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds of p1/(1 - p0 + p1), the inductive Venn-Abers predictor's single value."""
    low, high = venn_abers_bounds(scores, labels, new).T
    return _logit(high / (1.0 - low + high))


def venn_abers_bounds(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return [p0, p1] of the inductive Venn-Abers predictor; shape (n, 2)."""
    # The package divides 0 by 0, and silences that for the whole process when it is imported.
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        from venn_abers import VennAbers

        warnings.simplefilter("ignore", RuntimeWarning)
        fitted = VennAbers()
        fitted.fit(np.column_stack([-scores, scores]), np.asarray(labels, dtype=np.int64))
        return np.asarray(fitted.predict_proba(np.column_stack([-new, new]))[1])


def _logit(probability: Floats, clip: float = SMALLEST) -> Floats:
    return np.asarray(special.logit(np.clip(probability, clip, 1.0 - clip)))


def posterior(scores: Floats, labels: Labels, new: Floats, **settings: Any) -> Floats:
    """Return log-odds by a `ScoreCalibrator` with the settings."""
    from bayescal.calibrators.score_calibrator import ScoreCalibrator

    with without_scores_warnings():
        fitted = ScoreCalibrator(**{"random_state": 0} | settings).fit(scores, labels)
    return np.asarray(fitted.decision_function(new))


def pooled(problems: Sequence[Problem], **settings: Any) -> list[Floats]:
    """Return log-odds by a `TopicCalibrator` of all topics."""
    from bayescal.calibrators.topic_calibrator import TopicCalibrator

    sizes = [problem.scores.size for problem in problems]
    names = [str(k) for k in range(len(problems))]
    with without_scores_warnings():
        fitted = TopicCalibrator(**{"random_state": 0} | settings).fit(
            np.concatenate([problem.scores for problem in problems]),
            np.concatenate([problem.labels for problem in problems]),
            np.repeat(names, sizes),
        )
    return [
        np.asarray(fitted.decision_function(problem.new, np.full(problem.new.size, name)))
        for name, problem in zip(names, problems, strict=True)
    ]


_DENSITIES = {
    "Gauss": "gaussian",
    "A.Gauss": "asymmetric_gaussian",
    "Laplace": "laplace",
    "A.Laplace": "asymmetric_laplace",
}
_OURS: dict[str, dict[str, Any]] = {
    "A.Laplace posterior": {"parts": "asymmetric_laplace"},
    "averaged posterior": {"parts": "average"},
    "three pieces": {"parts": Monotone(n_segments=3)},
    # The default's prior was learned from the paper's corpus too.
    "default": {"prior_knowledge": "vague"},
}

_LIST = [
    *(
        Method(name, "paper", partial(maximum_likelihood, family=family))
        for name, family in _DENSITIES.items()
    ),
    Method("LogReg", "paper", logistic_regression),
    Method("LR+Noise", "paper", platt),
    Method("raw", "paper", raw),
    Method("temperature", "peer", temperature),
    Method("isotonic", "peer", isotonic),
    Method("beta", "peer", beta, needs="betacal"),
    Method("Venn-Abers", "peer", venn_abers, needs="venn_abers"),
    *(Method(name, "ours", partial(posterior, **settings)) for name, settings in _OURS.items()),
    Method("pooled posterior", "ours", many_topics=partial(pooled, parts="asymmetric_laplace")),
    Method("pooled default", "ours", many_topics=pooled),
]

METHODS: dict[str, Method] = {method.name: method for method in _LIST}
"""By the names that tables use: the paper's, LR+Noise being Platt's; peers; ours."""


def installed_methods(*groups: str) -> dict[str, Method]:
    """Return the methods whose packages are installed; of some groups, or all.

    Examples
    --------
    >>> list(installed_methods("peer"))[:2]
    ['temperature', 'isotonic']
    """
    wanted = groups or GROUPS
    return {n: m for n, m in METHODS.items() if m.group in wanted and m.installed}
