"""Where a report comes from: versions, and the parameters of the estimator."""

import json
from typing import Any

import xarray as xr

from bayescal.fitting.results.tree import versions

SEED = {"random_state": "random_state (seed)"}


def describe_run(tree: xr.DataTree) -> dict[str, dict[str, str]]:
    """Return the versions and the estimator's parameters behind a tree, and versions now."""
    fitted = json.loads(tree.attrs["bayescal_versions"])
    parameters = json.loads(tree.attrs["bayescal_parameters"])
    return {
        "Versions that fitted": fitted,
        "Versions that report": versions(),
        "Parameters of the estimator": {
            SEED.get(name, name): _text(value) for name, value in sorted(parameters.items())
        },
    }


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
