"""Probabilities of heart disease by a model of one hospital, at three others; embedded."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def load_heart_disease() -> pd.DataFrame:
    """Return P(heart disease) of 620 patients at three hospitals by a model of a fourth one.

    A logistic regression was fitted to the 303 patients of the Cleveland Clinic. Columns: p, its
    probability; y, 1 if heart disease was found; site, "hungarian", "switzerland" or "va".

    The patients are from the Heart Disease data of the UCI Machine Learning Repository (A. Janosi,
    W. Steinbrunn, M. Pfisterer and R. Detrano, doi:10.24432/C52P4X), licensed under CC BY 4.0; the
    probabilities were computed from them.

    References
    ----------
    R. Detrano et al., *International application of a new probability algorithm for the diagnosis
    of coronary artery disease*, American Journal of Cardiology 1989.

    Examples
    --------
    >>> patients = load_heart_disease()
    >>> patients.groupby("site")["y"].agg(["size", "mean"]).round(2).loc["va"].tolist()
    [201.0, 0.74]
    """
    import pandas as pd

    source = files("bayescal.monitoring").joinpath("heart_disease.csv.gz")
    with source.open("rb") as stream:
        return pd.read_csv(stream, compression="gzip")
