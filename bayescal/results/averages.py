"""What the evidence says of families and warps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.validation import Floats

if TYPE_CHECKING:
    import pandas as pd


def log_evidence(evidence: xr.Dataset, classes: NDArray[Any]) -> dict[str, float]:
    """Return each class's log evidence under the equal mixture of families and warps."""
    _check_families(evidence)
    values = evidence["log_evidence"].transpose("asinh_scale", "family", "klass").values
    members = values.shape[0] * values.shape[1]
    total = special.logsumexp(values, axis=(0, 1)) - np.log(members)
    return dict(zip(map(str, classes), total.tolist(), strict=True))


def family_probability(evidence: xr.Dataset, classes: NDArray[Any]) -> pd.DataFrame:
    """Return P(family | data) of each class, families and warps alike a priori."""
    _check_families(evidence)
    values = evidence["log_evidence"].transpose("klass", "family", "asinh_scale")
    total = special.logsumexp(values.values, axis=2)
    return _by_family(evidence, classes, special.softmax(total, axis=1))


def family_weight(evidence: xr.Dataset, classes: NDArray[Any]) -> pd.DataFrame:
    """Return the weight of each family in each class, over all warps."""
    _check_families(evidence)
    joint = evidence["family_weight"] * evidence["warp_weight"]
    return _by_family(
        evidence, classes, joint.sum("asinh_scale").transpose("klass", "family").values
    )


def _check_families(evidence: xr.Dataset) -> None:
    if "family" not in evidence.dims:
        raise AttributeError("log-odds fits have no class densities to compare families of.")


def _by_family(evidence: xr.Dataset, classes: NDArray[Any], values: Floats) -> pd.DataFrame:
    import pandas as pd

    index = pd.Index(list(map(str, classes)), name="class")
    return pd.DataFrame(values, index, pd.Index(evidence["family"].values, name="family"))


def warp_weight(evidence: xr.Dataset) -> pd.Series[float]:
    """Return the weight of each warp, by its asinh scale in score units; inf is no warp."""
    import pandas as pd

    index = pd.Index(evidence["asinh_scale"].values, name="asinh_scale")
    return pd.Series(evidence["warp_weight"].values, index, name="weight")
