"""Nested folds: what members fitted without a document say of it, for a combiner to learn from.

In each fold the base classifiers, and everything that indicators need, are fitted to the training
part alone and speak of the held-out part (dissertation, section 7.1). A combiner that saw scores
of documents that the classifiers were trained on would trust those that remember them best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from bayescal.classification.folds import Documents, Split
from bayescal.classification.targets import Target
from bayescal.combining.binary_problems import fold_of, splits_of
from bayescal.combining.ends import Ends
from bayescal.combining.inputs import Inputs, Labelled
from bayescal.combining.members import Members, fit_members
from bayescal.validation import Floats


@dataclass(frozen=True)
class Problem:
    """
    One binary problem with what its classifiers are fitted to.

    Attributes
    ----------
    documents : dict of str to Documents
        What each classifier is fitted to; they differ in the arguments of fit alone.
    splits : list of (training, held-out) positions
        The folds.
    """

    documents: dict[str, Documents]
    splits: list[Split]

    @classmethod
    def of(
        cls,
        target: Target,
        name: Any,
        features: Any,
        fit_params: Mapping[str, dict[str, Any]],
        cv: Any,
        split_params: dict[str, Any],
    ) -> Self:
        """
        Return a binary problem split into folds.

        Parameters
        ----------
        target : Target
            Of two classes.
        features : array-like of n documents
            As the classifiers take them.
        fit_params : mapping of str to dict
            Further arguments of fit, of every classifier.
        name, cv, split_params
            See `bayescal.combining.binary_problems.splits_of`.
        """
        documents = {each: Documents(features, target, own) for each, own in fit_params.items()}
        return cls(documents, splits_of(target, name, cv, features, split_params))

    @property
    def any_documents(self) -> Documents:
        """Return the documents, whichever classifier they are for."""
        return next(iter(self.documents.values()))


@dataclass(frozen=True)
class Nested:
    """
    What nested folds of one binary problem give.

    Attributes
    ----------
    members : Members
        Classifiers and indicators fitted to all documents, for new ones.
    labelled : Labelled
        What a combiner learns from: the documents that a fold holds out.
    rows : array of int
        Which documents these are.
    """

    members: Members
    labelled: Labelled
    rows: NDArray[np.intp]


def fit_nested(
    classifiers: Mapping[str, Any],
    indicators: Any,
    problems: Sequence[Problem],
    weight: Floats | None,
    n_jobs: int | None,
) -> list[Nested]:
    """
    Fit classifiers and indicators of each problem, in folds and to all documents.

    Parameters
    ----------
    classifiers : mapping of str to classifier
        Clones are fitted.
    indicators : transformer or None
        Clones are fitted.
    problems : sequence of Problem
        Binary problems.
    weight : array of shape (n,) or None
        Of all documents.
    n_jobs : int or None
        Processes.
    """
    jobs = []
    for problem in problems:
        # The fit to all documents takes longest: it goes first.
        jobs.append(delayed(fit_members)(classifiers, indicators, problem.documents))
        jobs += [
            delayed(_fit_and_hold_out)(classifiers, indicators, problem.documents, part)
            for part in problem.splits
        ]
    found = iter(Parallel(n_jobs=n_jobs)(jobs))
    return [
        _gather(problem, next(found), [next(found) for _ in problem.splits], weight)
        for problem in problems
    ]


def _gather(
    problem: Problem, fitted: Members, parts: Sequence[Inputs], weight: Floats | None
) -> Nested:
    """Return what was said of all held-out documents, in their order."""
    rows, fold = fold_of(problem.splits)
    order = np.argsort(np.concatenate([held for _, held in problem.splits]))
    scores = np.concatenate([part.scores for part in parts])[order]
    indicators = np.concatenate([part.indicators for part in parts])[order]
    ends = Ends.of(scores)
    positive = problem.any_documents.target.positive[rows, 0]
    own = None if weight is None else weight[rows]
    labelled = Labelled(Inputs(ends.finite(scores), indicators), positive, own, fold)
    return Nested(replace(fitted, ends=ends), labelled, rows)


def _fit_and_hold_out(
    classifiers: Mapping[str, Any],
    indicators: Any,
    documents: Mapping[str, Documents],
    part: Split,
) -> Inputs:
    members = fit_members(classifiers, indicators, documents, part)
    return members.inputs(next(iter(documents.values())).features, part)
