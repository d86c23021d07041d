"""Populations of log-odds in a JSON file that people can read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bayescal.engines.monotone.basis import Pieces
from bayescal.engines.monotone.density import Prior
from bayescal.engines.monotone.population import LogOddsPopulation
from bayescal.whole_file import whole_file

SHIPPED = Path(__file__).with_name("populations.json")
FORMAT = "bayescal populations of log-odds"
VERSION = 1
DIGITS = 6  # more would say more than is known


def write_populations(
    populations: Sequence[LogOddsPopulation],
    path: str | Path,
    provenance: Mapping[str, Any] | None = None,
) -> Path:
    """
    Write populations to a JSON file.

    Parameters
    ----------
    populations : sequence of LogOddsPopulation
        Numbers are rounded to six digits.
    path : str or Path
        The file.
    provenance : mapping, optional
        Where they come from, as JSON has it.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    OSError
        If the file cannot be written; nothing stays then.
    """
    content = {
        "format": FORMAT,
        "version": VERSION,
        "provenance": dict(provenance or {}),
        "populations": [_plain(each) for each in populations],
    }
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return Path(path)


def read_populations(path: str | Path) -> tuple[LogOddsPopulation, ...]:
    """
    Return the populations of a file that `write_populations` wrote.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it holds something else, or is of another version.

    Examples
    --------
    >>> from bayescal.learned_prior import shipped_populations
    >>> [each.name for each in shipped_populations()]
    ['margins', 'log-odds', 'naive Bayes', 'shares']
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"populations were expected in {source}: there is no such file.")
    try:
        content = json.loads(source.read_text(encoding="utf-8"))
        found, version = content["format"], content["version"]
    except (ValueError, KeyError, TypeError) as err:
        raise ValueError(
            f"{source} does not hold {FORMAT}, which write_populations writes."
        ) from err
    if (found, version) != (FORMAT, VERSION):
        raise ValueError(
            f"{source} holds {found}, version {version}; expected {FORMAT}, version {VERSION}:"
            " learn them again with this version of bayescal."
        )
    return tuple(_population(each) for each in content["populations"])


@cache
def shipped_populations() -> tuple[LogOddsPopulation, ...]:
    """Return the populations that come with the package; docs/prior.md tells of them."""
    return read_populations(SHIPPED)


def _plain(population: LogOddsPopulation) -> dict[str, Any]:
    return {
        "name": population.name,
        "scores_are": list(population.scores_are),
        "centre": _rounded(population.centre),
        "spread": _rounded(population.spread),
        "asinh_scale": _rounded(population.asinh_scale),
        "knots": [_rounded(knot) for knot in population.pieces.knots.tolist()],
        "reference": _rounded(population.pieces.reference),
        "prior": {name: _rounded(value) for name, value in asdict(population.prior).items()},
    }


def _population(plain: Mapping[str, Any]) -> LogOddsPopulation:
    return LogOddsPopulation(
        name=plain["name"],
        scores_are=tuple(plain["scores_are"]),
        centre=plain["centre"],
        spread=plain["spread"],
        asinh_scale=plain["asinh_scale"],
        pieces=Pieces(np.array(plain["knots"]), plain["reference"]),
        prior=Prior(**plain["prior"]),
    )


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
