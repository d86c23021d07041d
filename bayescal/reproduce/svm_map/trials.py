"""A trial: every contender trained for every C, which validation chooses, then tested."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal.parallel import in_parallel, workers
from bayescal.ranking import BinnedFunctions, SVMMAPRanker, average_precision
from bayescal.ranking.baselines import BASELINES, Baseline
from bayescal.reproduce.svm_map.collections import Collection
from bayescal.reproduce.svm_map.roles import Roles
from bayescal.validation import Integers

if TYPE_CHECKING:
    import pandas as pd

# The paper speaks of a wide range. C weighs a mean loss here: classifiers, whose libraries take the
# sum over documents, get C divided by their number.
COSTS = tuple(10.0**power for power in range(-3, 4))
SVM_MAP = Baseline("SVM-MAP", partial(SVMMAPRanker, loss="map"))


@dataclass(frozen=True)
class Outcome:
    """
    What a trial has measured.

    Attributes
    ----------
    precisions : dict of pandas.Series
        Average precision of each test query, by contender.
    costs : dict of float
        The C chosen, by contender.
    gap : float
        The largest relative duality gap of the ranking SVMs.
    tightest : float
        The least mean slack minus mean loss of SVM-MAP's fits on their own queries, which
        Proposition 1 says is not negative.
    """

    precisions: dict[str, pd.Series]
    costs: dict[str, float]
    gap: float
    tightest: float


def contenders(collection: Collection) -> list[Baseline]:
    """Return SVM-MAP and the baselines that are installed and have a meaning here."""
    meant = [b for b in BASELINES.values() if collection.functions or b.within_query is None]
    return [SVM_MAP, *(baseline for baseline in meant if baseline.installed)]


def run_trials(collection: Collection, dealt: Sequence[Roles], jobs: int = 1) -> list[Outcome]:
    """
    Return the outcomes of all trials.

    Raises
    ------
    ValueError
        If a slack does not bound the loss of the queries it was fitted to.
    """
    with workers(jobs):
        outcomes = list(in_parallel(run_trial, [(collection, roles) for roles in dealt]))
    tightest = min(outcome.tightest for outcome in outcomes)
    if tightest < -1e-9:
        raise ValueError(f"slack must bound the loss (Proposition 1), got {tightest:g} below it.")
    return outcomes


def run_trial(task: tuple[Collection, Roles]) -> Outcome:
    """Return the outcome of one trial."""
    collection, roles = task
    precisions, costs, gaps, margins = {}, {}, [0.0], [np.inf]
    for contender in contenders(collection):
        train, validate, test = _parts(collection, roles, contender)
        rankers = _rankers(contender, train)
        scores = [ranker.score(*validate[:2], qid=validate[2]) for ranker in rankers]
        best = int(np.argmax(scores))  # of equally good ones the smallest C
        costs[contender.name] = COSTS[best] if contender.has_cost else np.nan
        precisions[contender.name] = average_precision(
            test[1], rankers[best].decision_function(test[0]), test[2]
        )
        for ranker in rankers:
            if isinstance(ranker, SVMMAPRanker):
                gaps.append(ranker.dual_gap_)
                if ranker.loss == "map":
                    loss = 1.0 - ranker.score(*train[:2], qid=train[2])
                    margins.append(ranker.slack_ - loss)
    return Outcome(precisions, costs, max(gaps), min(margins))


def _parts(
    collection: Collection, roles: Roles, contender: Baseline
) -> list[tuple[Any, Integers, Integers]]:
    """Return what a contender sees of training, validation and test queries, and their labels."""
    from sklearn.preprocessing import StandardScaler

    features = contender.features(collection.features, collection.qid)
    masks = [np.isin(collection.qid, which) for which in (roles.train, roles.validate, roles.test)]
    parts = [features[mask] for mask in masks]
    if contender.within_query is None:
        binned = collection.functions and contender.sees_bins
        maker = (BinnedFunctions() if binned else StandardScaler()).fit(parts[0])
        parts = [maker.transform(part) for part in parts]
    return [
        (part, collection.relevant[mask], collection.qid[mask])
        for part, mask in zip(parts, masks, strict=True)
    ]


def _rankers(contender: Baseline, train: tuple[Any, Integers, Integers]) -> list[Any]:
    """Return the contender fitted for every C, or once where it has none."""
    from sklearn.exceptions import ConvergenceWarning

    features, relevant, qid = train
    first = contender.make(COSTS[0])
    with warnings.catch_warnings():
        # How far from the optimum a fit has stopped stands in the outcome.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if isinstance(first, SVMMAPRanker):
            return list(first.fit_path(COSTS, features, relevant, qid=qid))
        share = len(relevant) if contender.cost_of_documents else 1
        costs = [cost / share for cost in COSTS] if contender.has_cost else COSTS[:1]
        return [contender.make(cost).fit(features, relevant, qid=qid) for cost in costs]
