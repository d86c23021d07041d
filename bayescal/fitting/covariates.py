"""Covariates: columns of documents beside their score, for model programs."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.support.validation import check_names, column_names, missing

GROUP = "covariates"  # of a tree of results
LEVELS = "levels"
Frame = Any  # a DataFrame, or a mapping of columns by name


@dataclass(frozen=True)
class Covariates:
    """Columns of numbers, and columns of text as positions among their levels."""

    columns: Mapping[str, NDArray[Any]]  # (n,) each: float64, or int64 codes of text
    levels: Mapping[str, tuple[str, ...]]  # of each column of text, in sorted order

    @classmethod
    def read(cls, frame: Frame, size: int) -> Covariates:
        """Return the columns of documents to fit."""
        columns = _columns(frame, size)
        levels = {
            name: tuple(np.unique(each).tolist())
            for name, each in columns.items()
            if each.dtype.kind == "U"
        }
        return cls({name: _coded(name, each, levels) for name, each in columns.items()}, levels)

    def like(self, frame: Frame, size: int, open_to: Collection[str] = ()) -> Covariates:
        """Return the columns of other documents, coded like these; `open_to` take new levels."""
        if frame is None:
            raise ValueError(
                f"the model takes covariates {', '.join(self.columns)}: pass"
                " covariates=, a DataFrame of these columns with a row for each score."
            )
        columns = _columns(frame, size)
        if missing := [name for name in self.columns if name not in columns]:
            raise ValueError(
                f"covariates must have the columns {', '.join(self.columns)}; there is no"
                f" {', '.join(missing)}."
            )
        levels = dict(self.levels)
        for name in open_to:
            known = levels[name]
            levels[name] += tuple(sorted({*columns[name].astype(str).tolist()}.difference(known)))
        coded = {name: _coded(name, columns[name], levels) for name in self.columns}
        return Covariates(coded, levels)

    def followed_by(self, other: Covariates) -> Covariates:
        """Return these columns and those of further documents, with the levels of both."""
        own, new = self._words(), other._words()
        columns = {name: np.concatenate([own[name], new[name]]) for name in own}
        return Covariates.read(columns, next(iter(columns.values())).size)

    def _words(self) -> dict[str, NDArray[Any]]:
        """Return the columns with levels in words."""
        return {
            name: np.array(self.levels[name])[each] if name in self.levels else each
            for name, each in self.columns.items()
        }

    def take(self, index: NDArray[Any] | slice) -> Covariates:
        """Return the columns of some documents."""
        return Covariates({name: each[index] for name, each in self.columns.items()}, self.levels)

    def dataset(self) -> xr.Dataset:
        """Return the columns as a group of results."""
        variables = {name: ("document", each) for name, each in self.columns.items()}
        return xr.Dataset(variables, attrs={LEVELS: json.dumps(dict(self.levels))})

    @classmethod
    def of(cls, groups: Mapping[str, xr.Dataset]) -> Covariates | None:
        """Return the columns in a tree of results, if any."""
        group = groups.get(GROUP)
        if group is None:
            return None
        levels = {name: tuple(each) for name, each in json.loads(group.attrs[LEVELS]).items()}
        return cls({str(name): each.values for name, each in group.data_vars.items()}, levels)

    def typical(self) -> Covariates:
        """Return one document: the medians of numbers and the commonest levels of text."""
        columns = {
            name: np.array([np.bincount(each).argmax() if name in self.levels else np.median(each)])
            for name, each in self.columns.items()
        }
        return Covariates(columns, self.levels)

    @property
    def words(self) -> str:
        """Return the first document's columns in words."""
        shown = {
            name: self.levels[name][each[0]] if name in self.levels else f"{each[0]:.3g}"
            for name, each in self.columns.items()
        }
        return ", ".join(f"{name} {value}" for name, value in shown.items())

    def rows(self, size: int) -> Covariates:
        """Return a row for each of `size` documents, repeating a single one."""
        if next(iter(self.columns.values())).size == size:
            return self
        return self.take(np.zeros(size, dtype=np.intp))


def _columns(frame: Frame, size: int) -> dict[str, NDArray[Any]]:
    if not (hasattr(frame, "keys") or hasattr(frame, "columns")):
        raise ValueError(
            "covariates must be a DataFrame or a dict of columns by name, got an object of type"
            f" {type(frame).__name__}."
        )
    out = {}
    names = column_names(frame) if hasattr(frame, "columns") else list(frame)
    check_names(names, "the names of covariates")
    for name in names:
        values = np.asarray(frame[name])
        if values.shape != (size,):
            raise ValueError(
                f"covariates must have a row for each score: {name!r} has shape {values.shape} and"
                f" there are {size} scores."
            )
        if values.dtype.kind == "O":
            if missing(values).any():
                raise ValueError(
                    f"covariates must hold no missing value, {name!r} lacks one: leave the document"
                    " out, or give the gap a name."
                )
            values = np.array(values.tolist())  # numbers of type object are no text
        if values.dtype.kind in "biuf":
            values = values.astype(np.float64)
            if not np.isfinite(values).all():
                raise ValueError(f"covariates must be finite: {name!r} holds nan or infinity.")
            out[str(name)] = values
        else:
            check_names(frame[name], f"covariate {name!r}")
            out[str(name)] = values.astype(str)
    return out


def _coded(name: str, values: NDArray[Any], levels: Mapping[str, tuple[str, ...]]) -> NDArray[Any]:
    if name not in levels:
        if values.dtype.kind == "U":
            raise ValueError(f"covariates: {name!r} must hold numbers, as when fitted; got text.")
        return values
    known = np.array(levels[name])
    text = values.astype(str)
    order = np.argsort(known)  # new levels follow the fitted ones
    code = order[np.minimum(np.searchsorted(known, text, sorter=order), known.size - 1)]
    if (unknown := np.unique(text[known[code] != text])).size:
        raise ValueError(
            f"covariates: {name!r} holds {', '.join(map(repr, unknown[:3].tolist()))}, which was"
            f" not fitted; known are {', '.join(map(repr, levels[name][:10]))}. A program that"
            " defines new_group, with draws, answers for others."
        )
    return code.astype(np.int64)
