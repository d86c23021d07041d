"""Results of long NUTS runs, stored for each PyMC era: `make references` runs them again.

A reference holds, of every quantity of a posterior, what comparisons need: its mean, its mean
square around that, its quantiles, each with NUTS's own Monte Carlo error. So the fast engines and
their negatives are held to long runs in milliseconds. tests/test_live_nuts.py samples programs
anew, shortly, holds that to the same references, and names the tests that notice edited programs.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from arviz_stats.base import array_stats
from scipy import special

FOLDER = Path(__file__).parent / "reference"
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
# Engines are seeded and references are stored, so that a comparison that holds holds again; of
# 1,500 standard normal numbers one passes this limit once in a hundred sets of them.
LIMIT = 4.5
# Too few effective draws would see little.
LEAST_EFFECTIVE = 400.0


@dataclass(frozen=True)
class Reference:
    """
    What is known of the posterior of k quantities.

    Attributes
    ----------
    mean, mean_variance : array of shape (k,)
        Means, and the squares of their Monte Carlo errors.
    square, square_variance : array of shape (k,)
        The same of squared differences to `mean`.
    quantile, quantile_effective : array of shape (levels, k)
        Quantiles at LEVELS, and how many independent draws would know each as well.
    effective : float
        The smallest bulk effective sample size.
    divergent : float
        The share of divergent transitions.
    """

    mean: np.ndarray
    mean_variance: np.ndarray
    square: np.ndarray
    square_variance: np.ndarray
    quantile: np.ndarray
    quantile_effective: np.ndarray
    effective: float
    divergent: float

    @classmethod
    def of(cls, chains, divergent=0.0):
        """Summarise chains of shape (chain, draw, k)."""
        mean = chains.mean(axis=(0, 1))
        squares = (chains - mean) ** 2
        return cls(
            mean=mean,
            mean_variance=chains.var(axis=(0, 1)) / effective(chains, method="mean"),
            square=squares.mean(axis=(0, 1)),
            square_variance=squares.var(axis=(0, 1)) / effective(squares, method="mean"),
            quantile=np.quantile(chains, LEVELS, axis=(0, 1)),
            quantile_effective=np.array(
                [effective(chains, method="quantile", prob=level) for level in LEVELS]
            ),
            effective=float(effective(chains, method="bulk").min()),
            divergent=float(divergent),
        )

    def take(self, columns):
        """Return the stored moments of some of the quantities."""
        return replace(
            self,
            **{name: value[..., columns] for name, value in asdict(self).items() if np.ndim(value)},
        )


def effective(chains, **kind):
    """Return the effective sample size of each quantity; chains of shape (chain, draw, k)."""
    return array_stats.ess(np.moveaxis(chains, -1, 0), **kind)


def from_independent(draws, reference, size=None):
    """
    Return the distance of independent draws from a reference, in standard errors.

    Draws have shape (draw, k); `size` says as how many they count, if not as themselves.
    """
    size = len(draws) if size is None else size
    out = [
        _ratio(draws, reference.mean, reference.mean_variance, size),
        _ratio((draws - reference.mean) ** 2, reference.square, reference.square_variance, size),
    ]
    for level, quantile, n in zip(
        LEVELS, reference.quantile, reference.quantile_effective, strict=True
    ):
        # The share of draws below a quantile is binomial, whatever the density there.
        below = np.mean(draws < quantile, axis=0)
        out.append((below - level) / np.sqrt(level * (1.0 - level) * (1.0 / n + 1.0 / size)))
    return np.array(out)


def _ratio(draws, mean, variance, size):
    return (draws.mean(axis=0) - mean) / np.sqrt(draws.var(axis=0) / size + variance)


def from_runs(runs, reference):
    """
    Return the distance of an engine's runs from a reference, in standard errors.

    Runs have shape (run, draw, k); the draws of a run depend on each other, the runs do not. So few
    runs know their error badly: the ratio is Student's t of Welch's test, and what is returned is
    the normal deviate as likely as it.
    """
    out = [
        _welch(runs, reference.mean, reference.mean_variance),
        _welch((runs - reference.mean) ** 2, reference.square, reference.square_variance),
    ]
    for level, quantile, n in zip(
        LEVELS, reference.quantile, reference.quantile_effective, strict=True
    ):
        out.append(_welch(runs < quantile, level, level * (1.0 - level) / n))
    return np.array(out)


def _welch(runs, expected, variance):
    means = runs.mean(axis=1)
    between = means.var(axis=0, ddof=1) / len(means)
    difference, error = means.mean(axis=0) - expected, np.sqrt(variance + between)
    # Runs that agree, as when all draws are below a quantile, leave infinite freedom.
    with np.errstate(divide="ignore"):
        freedom = (len(means) - 1) * (error**2 / between) ** 2
    tail = special.stdtr(freedom, -np.abs(difference) / error)
    return -np.sign(difference) * special.ndtri(tail)


def from_chains(chains, reference):
    """Return the distance of a short NUTS run from a reference, in standard errors, likewise."""
    variance = chains.var(axis=(0, 1)) / effective(chains, method="mean")
    error = np.sqrt(variance + reference.mean_variance)
    out = [(chains.mean(axis=(0, 1)) - reference.mean) / error]
    for level, quantile, n in zip(
        LEVELS, reference.quantile, reference.quantile_effective, strict=True
    ):
        below = chains < quantile
        own = effective(below.astype(float), method="mean")
        error = np.sqrt(level * (1.0 - level) * (1.0 / n + 1.0 / own))
        out.append((below.mean(axis=(0, 1)) - level) / error)
    return np.array(out)


@cache
def stored(name):
    """Return a reference of the PyMC era that runs, which knows enough."""
    reference = _read(_file())[name]
    assert reference.effective > LEAST_EFFECTIVE, name
    return reference


def _file():
    import pymc

    return FOLDER / f"pymc_{pymc.__version__.split('.')[0]}.json"


def _read(path):
    data = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: Reference(**{key: _array(value) for key, value in record.items()})
        for name, record in data.items()
    }


def _array(value):
    return np.array(value) if isinstance(value, list) else value


def _numbers(value, digits):
    if np.ndim(value):
        return [_numbers(each, digits) for each in value]
    return float(f"{value:.{digits}g}")


def write(references):
    """Write references, by name, for the PyMC era that runs; those not given stay as they are."""
    path = _file()
    known = _read(path) if path.exists() else {}
    lines = [f"{json.dumps(n)}: {_record(r)}" for n, r in sorted({**known, **references}.items())]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _record(reference):
    # Quantiles are compared with draws: of probabilities near 1 every digit counts.
    digits = {"quantile": 17}
    fields = asdict(reference).items()
    return json.dumps({name: _numbers(value, digits.get(name, 7)) for name, value in fields})
