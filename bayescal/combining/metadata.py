"""Which metadata of fit go to which of several classifiers, and to the splitter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from bayescal.classification.metadata import routing_enabled


def router_of(owner: Any, classifiers: Mapping[str, Any]) -> MetadataRouter:
    """Return the router: sample weights for the owner's combiner, the rest by request."""
    fits = MethodMapping().add(caller="fit", callee="fit")
    router = MetadataRouter(owner=owner).add_self_request(owner)
    for name, classifier in classifiers.items():
        router.add(**{name: classifier}, method_mapping=fits)
    return router.add(
        splitter=owner.cv, method_mapping=MethodMapping().add(caller="fit", callee="split")
    )


def route(
    owner: Any, classifiers: Mapping[str, Any], sample_weight: Any, params: dict[str, Any]
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """
    Return what each classifier's fit gets, and what the splitter's split gets.

    With metadata routing they get what they request. Without it weights go to all classifiers,
    `groups` to the splitter, and everything else to all classifiers.

    Raises
    ------
    ValueError
        If weights are given and a classifier takes none, with routing switched off.
    """
    if routing_enabled():
        routed = process_routing(owner, "fit", sample_weight=sample_weight, **params)
        return {name: dict(routed[name].fit) for name in classifiers}, dict(routed.splitter.split)
    rest = dict(params)
    split = {"groups": rest.pop("groups")} if "groups" in rest else {}
    return {
        name: rest | _weights_for(name, classifier, sample_weight)
        for name, classifier in classifiers.items()
    }, split


def _weights_for(name: str, classifier: Any, sample_weight: Any) -> dict[str, Any]:
    if sample_weight is None or isinstance(classifier, FrozenEstimator):
        return {}
    if not has_fit_parameter(classifier, "sample_weight"):
        raise ValueError(
            f"classifier {name!r} ({type(classifier).__name__}) takes no sample_weight, which would"
            " be ignored: switch metadata routing on to weigh the combiner alone"
            " (sklearn.set_config(enable_metadata_routing=True)), or give none."
        )
    return {"sample_weight": sample_weight}
