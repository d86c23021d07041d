"""Which metadata of fit go where: to classifiers, to the splitter, to what the owner fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter


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
    """
    Return what each classifier's fit gets, by name, and what the splitter's split gets.

    With metadata routing they get what they request. Without it weights go to all classifiers,
    `groups` to the splitter, and everything else to all classifiers.

    Parameters
    ----------
    owner : estimator
        Whose fit got the metadata.
    estimators : mapping
        The classifiers, by the names that the owner's router has for them.
    sample_weight, params
        What it got.
    called : str
        What errors call a classifier, a format of {name} and {kind}.
    others : str
        What weights may be meant for where a classifier takes none.

    Raises
    ------
    ValueError
        If weights are given and a classifier takes none, with routing switched off.
    """
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
        if not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"{called.format(name=name, kind=type(estimator).__name__)} takes no sample_weight,"
                f" which would be ignored: switch metadata routing on to weigh {others} alone"
                " (sklearn.set_config(enable_metadata_routing=True), set_fit_request), or give"
                " none."
            )
        fits[name]["sample_weight"] = sample_weight
    return fits, split
