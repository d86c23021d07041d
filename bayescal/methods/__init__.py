"""Calibration methods under one signature: the paper's, others', and ours.

`METHODS` maps names to records, so that comparisons loop over methods as data.

Examples
--------
>>> from bayescal.methods import METHODS
>>> [method.name for method in METHODS.values() if method.group == "paper"]
['Gauss', 'A.Gauss', 'Laplace', 'A.Laplace', 'LogReg', 'LR+Noise', 'raw']
"""

from functools import partial
from typing import Any

from bayescal.methods import densities, peers, posteriors, sigmoids
from bayescal.methods.method import GROUPS, Labels, Method, OneTopic, Problem
from bayescal.methods.sigmoids import SeparableWarning

_DENSITIES = {
    "Gauss": "gaussian",
    "A.Gauss": "asymmetric_gaussian",
    "Laplace": "laplace",
    "A.Laplace": "asymmetric_laplace",
}
_OURS: dict[str, dict[str, Any]] = {
    "A.Laplace posterior": {"family": "asymmetric_laplace"},
    "averaged posterior": {"family": "average"},
    "hybrid posterior": {"family": "hybrid"},
    "three pieces": {"parts": "monotone", "hyperparameters": {"n_segments": 3}},
    # What the default has learnt it has learnt from the paper's corpus too.
    "default": {"prior_knowledge": "vague"},
}

_LIST = [
    *(
        Method(name, "paper", partial(densities.maximum_likelihood, family=family))
        for name, family in _DENSITIES.items()
    ),
    Method("LogReg", "paper", sigmoids.logistic_regression),
    Method("LR+Noise", "paper", sigmoids.platt),
    Method("raw", "paper", densities.raw),
    Method("temperature", "peer", sigmoids.temperature),
    Method("isotonic", "peer", peers.isotonic),
    Method("beta", "peer", peers.beta, needs="betacal"),
    Method("Venn-Abers", "peer", peers.venn_abers, needs="venn_abers"),
    *(
        Method(name, "ours", partial(posteriors.posterior, **settings))
        for name, settings in _OURS.items()
    ),
    Method(
        "pooled posterior",
        "ours",
        many_topics=partial(posteriors.pooled, family="asymmetric_laplace"),
    ),
    Method("pooled default", "ours", many_topics=posteriors.pooled),
]

METHODS: dict[str, Method] = {method.name: method for method in _LIST}
"""By the names that tables use: the paper's, LR+Noise being Platt's; peers; ours."""


def installed_methods(*groups: str) -> dict[str, Method]:
    """
    Return the methods whose packages are installed; of some groups, or all.

    Examples
    --------
    >>> list(installed_methods("peer"))[:2]
    ['temperature', 'isotonic']
    """
    wanted = groups or GROUPS
    return {n: m for n, m in METHODS.items() if m.group in wanted and m.installed}


__all__ = [
    "GROUPS",
    "METHODS",
    "Labels",
    "Method",
    "OneTopic",
    "Problem",
    "SeparableWarning",
    "installed_methods",
]
