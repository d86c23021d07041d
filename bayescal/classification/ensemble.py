"""What one or several calibrated pairs say together: mean probabilities, draws, intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.classification.calibration import CalibratedPair
from bayescal.classification.calibrators import no_posterior
from bayescal.classification.held_out import with_labels
from bayescal.classification.priors import priors_of
from bayescal.classification.probabilities import (
    interval_of_draws,
    log_odds_of_classes,
    mean_log_proba,
)
from bayescal.classification.score_maps import Priors
from bayescal.classification.targets import BINARY, MULTICLASS
from bayescal.curves.curves import blocks
from bayescal.fitted.problem import FittedProblem, Problems
from bayescal.validation import Floats

Pairs = list[CalibratedPair]
# No table of scores holds intervals of several classes, whose draws are divided by their sum: they
# are worked out by so many draws, in a quarter of the time. Both ends of a 90 % interval then err
# by a thirtieth of its width; by all 4,000 draws half as much.
INTERVAL_DRAWS = 1000


def log_proba(pairs: Pairs, documents: Any, prior: Any) -> Floats:
    """Return the log of the pairs' mean probability, shape (n, classes)."""
    priors = _priors(pairs, prior)
    return mean_log_proba([pair.log_proba(documents, priors) for pair in pairs])


def sample(pairs: Pairs, documents: Any, draws: int | None, rng: Any, prior: Any) -> Floats:
    """Return posterior draws of the pairs' mean probability, shape (draws, n, columns)."""
    scores, priors = [pair.scores(documents) for pair in pairs], _priors(pairs, prior)
    return _mean_draws(pairs, scores, draws, rng, priors)


def interval(pairs: Pairs, documents: Any, level: float, kind: str, prior: Any) -> Floats:
    """
    Return posterior intervals of the pairs' mean probability, shape (n, columns, 2).

    Raises
    ------
    ValueError
        If there is no one curve that a simultaneous band could hold.
    """
    scores, priors = [pair.scores(documents) for pair in pairs], _priors(pairs, prior)
    if len(pairs) == 1 and pairs[0].kind != MULTICLASS:
        return pairs[0].score_map.interval(scores[0], level, kind, priors)
    if kind == "simultaneous":
        raise ValueError(
            "kind='simultaneous' is a band for one curve: several classes and ensembles have none,"
            " use 'pointwise' or 'hdi'."
        )
    columns = scores[0].shape[1]
    # The first document says how many draws there are.
    size = _mean_draws(pairs, [one[:1] for one in scores], None, None, priors).shape[0]
    some = INTERVAL_DRAWS if size > INTERVAL_DRAWS else None

    def ends(block: slice) -> Floats:
        # The same draws of every document, alone or among others.
        rng = np.random.default_rng(0)
        of_block = [one[block] for one in scores]
        found = _mean_draws(pairs, of_block, some, rng, priors)
        # Seven digits are sorted twice as fast as sixteen; shortest intervals would tie.
        found = found if kind == "hdi" else found.astype(np.float32)
        return interval_of_draws(found, level, kind)

    elements = (some or size) * columns
    return np.concatenate([ends(block) for block in blocks(elements, scores[0].shape[0])])


def log_odds(pairs: Pairs, documents: Any, prior: Any) -> Floats:
    """Return natural log-odds of the pairs' mean probability, shape (n, columns)."""
    if pairs[0].kind == MULTICLASS:
        return log_odds_of_classes(log_proba(pairs, documents, prior))
    priors = _priors(pairs, prior)
    both = [pair.score_map.log_proba(pair.scores(documents), priors) for pair in pairs]
    negative, positive = (mean_log_proba(list(side)) for side in zip(*both, strict=True))
    return np.asarray(positive - negative)


def posterior(pairs: Pairs) -> xr.DataTree:
    """Return the tree of the one pair's calibrators, or a tree with a branch for each pair."""
    trees = [pair.score_map.posterior() for pair in pairs]
    if len(trees) == 1:
        return trees[0]
    return xr.DataTree(children={f"fold_{k + 1}": tree for k, tree in enumerate(trees)})


def diagnostics(pairs: Pairs) -> Any:
    """
    Return the diagnostics of the one calibrator, or those of several by class, label and fold.

    Raises
    ------
    AttributeError
        If a calibrator has none, for it is another package's.
    """
    found = {}
    for pair, fold in zip(pairs, _folds(pairs), strict=True):
        alone = len(pair.calibrators) == 1
        names = [""] if alone else map(str, pair.classes.tolist())
        for name, calibrator in zip(names, pair.calibrators, strict=True):
            if not hasattr(calibrator, "diagnostics_"):
                raise AttributeError(no_posterior(calibrator))
            found[_joined(name, fold)] = calibrator.diagnostics_
    return found.get("", found)


def problems(pairs: Pairs, classes: NDArray[Any]) -> Problems:
    """
    Return what the calibrators were fitted to, as plots and reports read it.

    Of two classes there is one problem, under the empty name; else one a class or label, those of
    several folds with the fold in their name.

    Raises
    ------
    AttributeError
        If a calibrator has no posterior, or is another package's.
    """
    found: dict[str, FittedProblem] = {}
    for pair, fold in zip(pairs, _folds(pairs), strict=True):
        for column, problem in pair.score_map.problems().items():
            own = "" if pair.kind == BINARY else column
            name = _joined(own, fold)
            labels = classes if pair.kind == BINARY else problem.labels
            found[name] = replace(problem, name=name, labels=labels)
    names = list(found)
    return Problems(names, lambda position: found[names[position]], by_topic=names != [""])


def labelled(pairs: Pairs, documents: Any, y: Any) -> Any:
    """
    Return scores of held-out documents with their labels, as a report takes them.

    Raises
    ------
    ValueError
        If there are several classifiers, or y is not of the classes fitted.
    """
    if len(pairs) > 1:
        raise ValueError(
            "held-out documents have no one score by an ensemble: fit with ensemble=False."
        )
    (pair,) = pairs
    return with_labels(pair.scores(documents), y, pair.kind, pair.classes)


def _folds(pairs: Pairs) -> list[str]:
    return [f"fold {k + 1}" for k in range(len(pairs))] if len(pairs) > 1 else [""]


def _joined(*names: str) -> str:
    return ", ".join(name for name in names if name)


def _mean_draws(
    pairs: Pairs, scores: list[Floats], draws: int | None, rng: Any, priors: Priors
) -> Floats:
    """Return the mean over pairs of their k-th draws: posteriors of different folds' scores."""
    total = pairs[0].sample(scores[0], draws, rng, priors)
    for pair, one in zip(pairs[1:], scores[1:], strict=True):
        total += pair.sample(one, draws, rng, priors)
    return total / len(pairs)


def _priors(pairs: Pairs, prior: Any) -> Priors:
    return priors_of(pairs[0].kind, pairs[0].classes, prior)
