"""Nested folds: what members fitted without a document say of it, for a combiner to learn from.

In each fold the base classifiers, and everything that indicators need, are fitted to the training
part alone and speak of the held-out part (dissertation, section 7.1). A combiner that saw scores
of documents that the classifiers were trained on would trust those that remember them best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from bayescal.classification.folds import Documents, Split
from bayescal.combining.binary_problems import fold_of
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

    @property
    def any_documents(self) -> Documents:
        """Return the documents, whichever classifier they are for."""
        return next(iter(self.documents.values()))


def fit_nested(
    classifiers: Mapping[str, Any],
    indicators: Any,
    problems: Sequence[Problem],
    weight: Floats | None,
    n_jobs: int | None,
) -> tuple[list[Members], list[Labelled], list[Any]]:
    """
    Return, for each problem, members fitted to all documents, and the rows to combine them by.

    Parameters
    ----------
    classifiers : mapping of str to classifier
        To be fitted.
    indicators : transformer or None
        To be fitted.
    problems : sequence of Problem
        Binary problems.
    weight : array of shape (n,) or None
        Of all documents.
    n_jobs : int or None
        Processes.

    Returns
    -------
    members : list of Members
    labelled : list of Labelled
        Of the documents that a fold holds out.
    rows : list of array of int
        Which documents these are.
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
    members, labelled, rows = [], [], []
    for problem in problems:
        fitted: Members = next(found)
        parts: list[Inputs] = [next(found) for _ in problem.splits]
        scores, values = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("scores", "indicators")
        )
        held = np.concatenate([held for _, held in problem.splits])
        order = np.argsort(held)
        own, fold = fold_of(problem.splits)
        ends = Ends.of(scores)
        inputs = Inputs(ends.finite(scores[order]), values[order])
        positive = problem.any_documents.target.positive[own, 0]
        members.append(replace(fitted, ends=ends))
        labelled.append(Labelled(inputs, positive, None if weight is None else weight[own], fold))
        rows.append(own)
    return members, labelled, rows


def _fit_and_hold_out(
    classifiers: Mapping[str, Any],
    indicators: Any,
    documents: Mapping[str, Documents],
    part: Split,
) -> Inputs:
    members = fit_members(classifiers, indicators, documents, part)
    return members.inputs(next(iter(documents.values())).features, part)
