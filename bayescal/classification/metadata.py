"""Which metadata of fit go where: to the classifier, to the splitter, to the calibrators."""

from __future__ import annotations

from typing import Any

from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter


def routing_enabled() -> bool:
    """Return whether scikit-learn routes metadata by request."""
    return bool(get_config()["enable_metadata_routing"])


def router_of(owner: Any, estimator: Any) -> MetadataRouter:
    """Return the router: sample weights for the owner's calibrators, the rest by request."""
    return (
        MetadataRouter(owner=owner)
        .add_self_request(owner)
        .add(estimator=estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        .add(splitter=owner.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
    )


def route(
    owner: Any, estimator: Any, sample_weight: Any, params: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """
    Return what the classifier's fit and the splitter's split get.

    With metadata routing they get what they request. Without it weights go to the classifier too,
    `groups` to the splitter, and everything else to the classifier.

    Raises
    ------
    ValueError
        If weights are given and the classifier takes none, with routing switched off.
    """
    if routing_enabled():
        routed = process_routing(owner, "fit", sample_weight=sample_weight, **params)
        return dict(routed.estimator.fit), dict(routed.splitter.split)
    rest = dict(params)
    split = {"groups": rest.pop("groups")} if "groups" in rest else {}
    if sample_weight is None or isinstance(estimator, FrozenEstimator):
        return rest, split
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"estimator {type(estimator).__name__} takes no sample_weight, which would be ignored:"
            " switch metadata routing on to weigh a step of it or the calibrators alone"
            " (sklearn.set_config(enable_metadata_routing=True), set_fit_request), or give none."
        )
    return {**rest, "sample_weight": sample_weight}, split
