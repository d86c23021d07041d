"""Held-out scores of documents: out of fold, or from a frozen classifier."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, has_fit_parameter

from bayescal.calibrators.classifier import targets
from bayescal.calibrators.classifier.raw_scores import ScoreColumns, last_step, named_refusal
from bayescal.calibrators.classifier.targets import Target
from bayescal.support.validation import Floats

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class Scored:
    """A fitted classifier, and raw scores of documents to calibrate it on."""

    estimator: Any  # Fitted, for predictions
    rows: NDArray[np.intp]  # (m,): positions of the documents in X
    scores: Floats  # (m, columns): their raw scores, by a classifier that was not trained on them


@dataclass(frozen=True)
class TrainingDocuments:
    """Documents and labels for fitting classifiers."""

    features: Any  # X, in any form that the classifier takes
    target: Target  # Their labels
    # Further arguments of the classifier's fit; those of length n are split like X
    fit_params: dict[str, Any]
    rows: NDArray[np.intp] | None = None  # Positions of the documents to use; None for all

    def fit(self, estimator: Any, rows: NDArray[np.intp] | None = None) -> Any:
        """Return a clone of a classifier fitted on some rows, by default `self.rows`."""
        copy, params = clone(estimator), self.fit_params
        rows = self.rows if rows is None else rows
        features, y = self.features, self.target.y
        if rows is not None:
            features, y = _safe_split(copy, features, y, rows)
            params = _check_method_params(self.features, params, rows)
        with named_refusal(estimator):
            return copy.fit(features, y, **params)

    def score(self, fitted: Any, part: Split | None = None) -> Floats:
        """Return raw scores of the test part, or of all documents, by a fitted classifier."""
        features = self.features
        if part is not None:
            # A precomputed kernel needs the columns of the training part.
            features, _ = _safe_split(fitted, features, None, part[1], part[0])
        return ScoreColumns.of(self.target).scores(fitted, features)


# The splitter that keeps groups whole, for each that would split them.
GROUPED = {StratifiedKFold: StratifiedGroupKFold, KFold: GroupKFold}


def splitter_of(cv: Any, y: NDArray[Any], *, grouped: bool = False) -> Any:
    """Return the splitter that `cv` names; if grouped, folds keep groups together."""
    if isinstance(cv, bool) or (isinstance(cv, Integral) and cv < 2):
        raise ValueError(f"cv must be 2 folds or more, a splitter or splits, got {cv}.")
    if isinstance(cv, str):
        raise ValueError(
            f"cv must be a number of folds, a splitter or splits, got {cv!r}: to calibrate a fitted"
            " classifier, pass estimator=sklearn.frozen.FrozenEstimator(classifier)."
        )
    splitter = check_cv(cv, y, classifier=True)
    if grouped and type(splitter) in GROUPED:
        kind, own = GROUPED[type(splitter)], vars(splitter)
        return kind(own["n_splits"], shuffle=own["shuffle"], random_state=own["random_state"])
    return splitter


def check_apart(splits: Iterable[Split], clusters: NDArray[Any]) -> None:
    """Raise ValueError if a split has documents of one cluster in both parts."""
    for k, (train, test) in enumerate(splits):
        if (both := np.intersect1d(clusters[train], clusters[test])).size:
            raise ValueError(
                f"the splitter must keep clusters together, but fold {k + 1} has documents of"
                f" cluster {both[0]!s} in both parts: give a number of folds, or a splitter such as"
                " GroupKFold."
            )


def score_held_out(
    estimator: Any,
    documents: TrainingDocuments,
    cv: Any,
    split_params: dict[str, Any],
    *,
    ensemble: bool,
    pooled: bool,
    clusters: NDArray[Any] | None = None,
    n_jobs: int | None,
) -> tuple[Target, ScoreColumns, list[Scored]]:
    """Return fitted classifiers, held-out scores of documents, and the target they allow."""
    features, target = documents.features, documents.target
    constant = target.constant
    if isinstance(estimator, FrozenEstimator):
        columns = ScoreColumns.of(target, ~constant)
        rows, scores = np.arange(len(target.y)), columns.scores(estimator, features)
        return target, columns, [Scored(estimator, rows, scores)]
    if clusters is not None:
        split_params = {**split_params, "groups": clusters}

    def splits_of(y: NDArray[Any]) -> list[Split]:
        splitter = splitter_of(cv, y, grouped=clusters is not None)
        with warnings.catch_warnings():
            if clusters is not None:
                # Splitters that know no groups say so; their splits are checked instead.
                warnings.filterwarnings("ignore", "The groups parameter is ignored")
            splits = list(splitter.split(features, y, **split_params))
        if clusters is not None:
            check_apart(splits, clusters)
        return splits

    y, used = target.y, np.arange(len(target.y))
    if target.kind == targets.MULTILABEL:
        splits = splits_of(y)
        target = _marked_apart(target, splits, tested=ensemble and not pooled)
        constant = target.constant
    else:
        targets.check_held_out(target)
    if target.kind == targets.MULTICLASS and constant.any():
        learned = target.of_classes(~constant)
        used = np.flatnonzero(learned.positive.any(axis=1))
        documents = replace(documents, target=learned, rows=used)
        # Splitters stratify on y: documents left out count to the commonest class.
        common = learned.names[learned.positive.sum(axis=0).argmax()]
        y = np.where(learned.positive.any(axis=1), y, common)
    elif constant.any():
        documents = replace(documents, target=_without_constant_labels(target, estimator))
    if target.kind != targets.MULTILABEL:
        splits = splits_of(y)
    parts = score_folds(estimator, documents, splits, ensemble=ensemble, n_jobs=n_jobs)
    return target, ScoreColumns.of(documents.target), parts


def _marked_apart(target: Target, splits: list[Split], *, tested: bool) -> Target:
    """Mark labels that lack one side in a part of a fold, unless all would be marked."""
    every, apart = np.arange(len(target.y)), np.zeros(target.names.size, dtype=bool)
    for train, test in splits:
        apart |= targets.one_sided(target, every[train])
        if tested:
            apart |= targets.one_sided(target, every[test])
    apart &= ~target.constant
    if not apart.any() or (apart | target.constant).all():
        return target
    return replace(target, apart=apart)


def _without_constant_labels(target: Target, estimator: Any) -> Target:
    """Return the target of the labels that vary; a single one is a binary target."""
    if target.constant.all():
        raise ValueError(
            "y must hold at least one label that two documents have and two have not, got"
            f" {target.names.size} labels without: add documents."
        )
    some = target.of_labels(~target.constant)
    if some.columns.size > 1 or isinstance(last_step(estimator)[0], MultiOutputClassifier):
        return some
    return Target(targets.BINARY, some.y[:, 0], np.array([0, 1]), some.positive)


def place_scores(parts: list[Scored], target: Target) -> Floats:
    """Return the scores of all documents, (n, columns); nan where no classifier was held out."""
    scores = np.full(target.positive.shape, np.nan)
    for part in parts:
        scores[np.ix_(part.rows, ~target.constant)] = part.scores
    return scores


def score_folds(
    estimator: Any,
    documents: TrainingDocuments,
    splits: Iterable[Split],
    *,
    ensemble: bool,
    n_jobs: int | None,
) -> list[Scored]:
    """Return a classifier of each fold, or one of all documents, with out-of-fold scores."""
    parts = checked_splits(
        splits,
        documents.target,
        used=documents.rows,
        repeats=ensemble,
        where=" with ensemble=False",
        other=", or ensemble=True",
    )
    jobs = [delayed(_train_and_score)(estimator, documents, part, keep=ensemble) for part in parts]
    if ensemble:
        return list(Parallel(n_jobs=n_jobs)(jobs))
    # The fit on all documents takes longest, so that it starts first.
    fitted, *held_out = Parallel(n_jobs=n_jobs)([delayed(documents.fit)(estimator), *jobs])
    rows = np.concatenate([part.rows for part in held_out])
    scores, order = np.concatenate([part.scores for part in held_out]), np.argsort(rows)
    return [Scored(fitted, rows[order], scores[order])]


def checked_splits(
    splits: Iterable[Split],
    target: Target,
    *,
    used: NDArray[np.intp] | None = None,
    repeats: bool = True,
    where: str = "",
    other: str = "",
) -> list[Split]:
    """Return splits as positions of training and test documents; optionally refuse repeats."""
    every, out = np.arange(len(target.y)), []
    kept = np.isin(every, every if used is None else used)
    for k, part in enumerate(splits):
        # Splits may be masks or positions.
        train, test = (every[each] for each in part)
        rows = train[kept[train]], test[kept[test]]
        targets.check_both_sides(target, rows[0], f"the training part of fold {k + 1}")
        out.append(rows)
    if not out:
        raise ValueError("cv must give at least one split, got none.")
    tested = np.concatenate([test for _, test in out])
    if not repeats and np.unique(tested).size != tested.size:
        raise ValueError(
            f"cv must test no document twice{where}, for its label would count twice: use a"
            f" splitter without repetition{other}."
        )
    return out


def _train_and_score(
    estimator: Any, documents: TrainingDocuments, part: Split, *, keep: bool
) -> Scored:
    fitted = documents.fit(estimator, part[0])
    return Scored(fitted if keep else None, part[1], documents.score(fitted, part))


# Routing of fit's metadata: to classifiers, the splitter, and the owner's own calibrators.


def routing_enabled() -> bool:
    """Return whether scikit-learn routes metadata by request."""
    return bool(get_config()["enable_metadata_routing"])


def router_of(owner: Any, estimators: Mapping[str, Any]) -> MetadataRouter:
    """Return the router: sample weights for what the owner fits itself, the rest by request."""
    fits = MethodMapping().add(caller="fit", callee="fit")
    router = MetadataRouter(owner=owner).add_self_request(owner)
    for name, estimator in estimators.items():
        router.add(**{name: estimator}, method_mapping=fits)
    return router.add(
        splitter=owner.cv, method_mapping=MethodMapping().add(caller="fit", callee="split")
    )


def route(
    owner: Any,
    estimators: Mapping[str, Any],
    sample_weight: Any,
    params: dict[str, Any],
    *,
    called: str,
    others: str,
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the arguments of each classifier's fit and of the splitter's split, by name."""
    if routing_enabled():
        routed = process_routing(owner, "fit", sample_weight=sample_weight, **params)
        return {name: dict(routed[name].fit) for name in estimators}, dict(routed.splitter.split)
    rest = dict(params)
    split = {"groups": rest.pop("groups")} if "groups" in rest else {}
    fits: dict[str, dict[str, Any]] = {}
    for name, estimator in estimators.items():
        fits[name] = dict(rest)
        if sample_weight is None or isinstance(estimator, FrozenEstimator):
            continue
        argument = _weight_argument(estimator)
        if argument is None:
            message = (
                f"{called.format(name=name, kind=type(estimator).__name__)} takes no sample_weight:"
                f" the weights reach {others} alone. Metadata routing makes this choice explicit"
                " (sklearn.set_config(enable_metadata_routing=True), set_fit_request)."
            )
            warnings.warn(message, stacklevel=3)
        else:
            fits[name][argument] = sample_weight
    return fits, split


def _weight_argument(estimator: Any) -> str | None:
    """Return the argument of fit that takes weights, of a pipeline for its last step; or None."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = _weight_argument(last)
        return inner and f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
