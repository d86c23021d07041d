"""The interface of a part, for models, results, tables and reports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.families import Family, ScaleFloorOption
from bayescal.fitting.engines.monotone.engine import LaplaceFits, LogOddsPopulation
from bayescal.fitting.engines.point_estimates import ClassFits
from bayescal.fitting.posterior import (
    DRAWS,
    NOT_FINITE,
    Posterior,
    check_finite,
    draw_coords,
    pack,
    unpack,
)
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.design_effect import DesignEffect
from bayescal.support.validation import Floats


class Block(NamedTuple):
    """Text and formulas of a model: a macro of `report/page/model.html`, and its arguments."""

    template: str
    values: dict[str, Any]


def cluster_blocks(effect: DesignEffect | None) -> list[Block]:
    """Return the description of clusters, if documents have any."""
    return [] if effect is None else [Block("clusters", {"effect": str(effect)})]


# The task of a part: a problem and the options of its estimator.


@dataclass(frozen=True)
class Options:
    """An estimator's parameters, resolved."""

    # Keys of `bayescal.fitting.parts.combination.PARTS`, "combined", or names of programs
    parts: tuple[str, ...]
    inference: str  # {"exact", "nuts", "map", "mle"}
    reference: Family  # the family of maximum likelihood, with the name of its program
    candidates: str  # modes that maximum likelihood tries
    scale_floor: ScaleFloorOption  # floor of its scales
    rng: np.random.Generator  # source of randomness
    families: tuple[Family, ...]  # families of class densities
    # For each part, asinh scales of its warps in spreads; None for the part's default
    warps: Mapping[str, tuple[float, ...] | None]
    averaging: str  # {"stacking", "evidence"}: weights of several families and warps of densities
    hyperparameters: Mapping[str, Mapping[str, float]]  # non-default ones, for each part
    combined: bool  # whether several parts are weighed
    draws: int  # draws of each chain
    chains: int
    lapse: float | None = 0.0  # fixed lapse rate of a combination; None learns it
    populations: tuple[LogOddsPopulation, ...] = ()  # priors of log-odds from other problems
    # Posterior probability that scores resemble a population; None if the user named the parts
    like_populations: float | None = None
    programs: tuple[Part, ...] = ()  # the model programs among the parts

    def program(self, name: str) -> Part | None:
        """Return the part of a program by its name; None for a part of the package."""
        return next((each for each in self.programs if each.name == name), None)

    def populations_for(self, data: BinaryScores) -> list[LogOddsPopulation]:
        """Return the populations of log-odds for this kind of scores."""
        return [each for each in self.populations if data.scores_are in each.scores_are]


class PartFit(Protocol):
    """The result of a part's engine; `Part.store` keeps its draws."""

    def evidence(self) -> xr.Dataset:
        """Return the diagnostics of the draws."""
        ...

    def leave_one_out(
        self, index: NDArray[np.intp], rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Return some documents' log-odds of + given all others, and Pareto k (-inf without)."""
        ...


@dataclass(frozen=True)
class Task:
    """The data that a part is fitted to."""

    laplace_fits: LaplaceFits  # the documents, with cached Laplace approximations
    options: Options
    rng: np.random.Generator  # source of randomness
    before: Mapping[str, PartFit]  # the parts fitted before it, by name

    @property
    def data(self) -> BinaryScores:
        """Return the documents."""
        return self.laplace_fits.data


# A tree of results keeps each part in groups below parts/<name>, whose attributes hold their paths.
# It is read as a flat mapping from the paths of its groups to their datasets.

Groups = Mapping[str, xr.Dataset]

FOLDER = "parts"
POSTERIOR = "posterior"  # draws of the first part in raw units, where ArviZ expects them
MODE = "mode"  # a posterior mode in place of draws
COMBINATION = "combination"  # the parts' weights
CONSTANTS = "constant_data"  # centre, spread, range and meaning of the scores
POPULATION = "population"  # above hyperparameters, and groups of a topic without documents
LAPSE = "lapse"  # draws of the lapse rate


@dataclass(frozen=True)
class PartPaths:
    """The groups of a part."""

    name: str  # name of the part in tables
    kind: str  # the part that reads it: a key of `combination.PARTS` or `log_odds.POOLED`
    draws: tuple[str, ...]  # the engine's draws, from which curves are read; may be empty
    # The draws in raw score units; empty if the engine's draws have these units, and for many
    # topics, to save memory
    raw: str = ""
    evidence: str = ""  # diagnostics of the draws; the group may be absent

    def note(self) -> dict[str, xr.Dataset]:
        """Return the group whose attributes are these paths."""
        attrs = {name: each for name, each in vars(self).items() if name != "name"}
        return {f"{FOLDER}/{self.name}": xr.Dataset(attrs=attrs | {"draws": ",".join(self.draws)})}


def paths_of(name: str, kind: str, *, first: bool) -> PartPaths:
    """Return the paths of a part whose engine draws in its own coordinates."""
    folder = f"{FOLDER}/{name}"
    raw = POSTERIOR if first else f"{folder}/draws"
    return PartPaths(name, kind, (f"{folder}/engine_draws",), raw, f"{folder}/evidence")


def all_paths(groups: Groups) -> list[PartPaths]:
    """Return the paths of all parts in a tree, in their order."""
    stored = {}
    for path, group in groups.items():
        folder, _, name = path.partition("/")
        if folder == FOLDER and name and "/" not in name:
            draws = tuple(each for each in group.attrs["draws"].split(",") if each)
            stored[name] = PartPaths(**(dict(group.attrs) | {"name": name, "draws": draws}))
    if COMBINATION not in groups:
        return list(stored.values())
    return [stored[name] for name in groups[COMBINATION]["part"].values.tolist()]


def has_parameters(groups: Groups) -> bool:
    """Return whether a model is one family on raw scores, or one program."""
    parts = all_paths(groups)
    if len(parts) != 1 or parts[0].kind != "densities":
        return [paths.draws for paths in parts] == [(POSTERIOR,)]
    return "family" not in groups[parts[0].draws[0]].variables


def model_name(groups: Groups) -> str:
    """Return the names of a model's parts, or the name of its only family on raw scores."""
    names = [paths.name for paths in all_paths(groups)]
    if names and not (names == ["densities"] and has_parameters(groups)):
        return ", ".join(names)
    return str(groups["maximum_likelihood"].attrs["family"])


def flat(tree: xr.DataTree) -> dict[str, xr.Dataset]:
    """Return the groups of a tree by their paths."""
    return {
        node.path.lstrip("/"): node.to_dataset(inherit=False)
        for node in tree.descendants
        if node.has_data or node.attrs
    }


# Findings about the draws of a part, and their wording.

# Discrete draws, which may be infinite: the chosen warps.
CHOSEN = ("asinh_scale",)
# Fewer draws may coincide by chance: topics' draws are resampled from some hundreds.
FEWEST_DRAWS = 10
MOST_NAMES = 5
AGAIN = "fit again with another random_state"


@dataclass(frozen=True)
class Finding:
    """A problem of a part's draws."""

    what: str  # the problem in words, "{whose}" standing for the part and its topics
    advice: str
    part: str  # the part's name
    topics: NDArray[np.bool_] | None = None  # mask of the affected topics; None for all

    def text(self, names: NDArray[Any] | None = None) -> str:
        """Return the finding with advice, and with the names of affected topics."""
        whose = f"the part {self.part!r}"
        if names is not None and self.topics is not None:
            whose = f"{whose} for {_listed(names[self.topics].tolist())}"
        return f"{self.what.format(whose=whose)}: {self.advice}"


def of_draws(part: str, draws: xr.Dataset, fixed: tuple[str, ...] = ()) -> Iterator[Finding]:
    """Yield findings about draws that are not finite, or all equal."""
    several = draws.sizes["chain"] * draws.sizes["draw"] >= FEWEST_DRAWS
    # Variables are faster than arrays with coordinates, in every fit.
    drawn = {
        str(name): each
        for name, each in draws.variables.items()
        if {*DRAWS} <= {*each.dims} and each.dtype.kind == "f" and name not in CHOSEN
    }
    for by_topic in (False, True):
        own = {name: each for name, each in drawn.items() if ("topic" in each.dims) == by_topic}
        ends = {name: _ends(each) for name, each in own.items()}
        endless = [
            (~np.isfinite(low) | ~np.isfinite(high)).any(axis=1) for low, high in ends.values()
        ]
        varied = [each for name, each in ends.items() if name not in fixed]
        constant = [(low == high).any(axis=1) for low, high in varied if several]
        for what, wrong in ((NOT_FINITE, endless), ("are all the same", constant)):
            if np.any(wrong):
                topics = np.any(wrong, axis=0) if by_topic else None
                yield Finding(f"the draws of {{whose}} {what}", AGAIN, part, topics)


def _ends(variable: xr.Variable) -> tuple[Floats, Floats]:
    """Return the smallest and the largest draw of each element, (topics or 1, elements)."""
    axes = tuple(variable.dims.index(name) for name in DRAWS)
    low, high = variable.values.min(axis=axes), variable.values.max(axis=axes)
    kept = [name for name in variable.dims if name not in DRAWS]
    if "topic" not in kept:
        return low.reshape(1, -1), high.reshape(1, -1)
    where = kept.index("topic")
    topics = low.shape[where]
    shape = topics, low.size // max(topics, 1)  # -1 is ambiguous without topics
    low, high = (np.moveaxis(each, where, 0).reshape(shape) for each in (low, high))
    return low, high


def any_of(wrong: xr.Variable) -> NDArray[np.bool_]:
    """Return whether any value is wrong, for each topic if there are topics."""
    axes = tuple(k for k, dim in enumerate(wrong.dims) if dim != "topic")
    return np.asarray(wrong.values.any(axis=axes))


def unresolved(part: str, evidence: xr.Dataset) -> Iterator[Finding]:
    """Report parts whose posterior grid was not resolved."""
    if "resolved" in evidence and not evidence["resolved"].all():
        yield Finding("the posterior of {whose} was not resolved", AGAIN, part)


def _listed(names: list[Any]) -> str:
    shown = ", ".join(map(repr, names[:MOST_NAMES]))
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"topic{'s' if len(names) > 1 else ''} {shown}{more}"


# Class and parameter, the maximum-likelihood columns, and the draws or the mode.
Row = tuple[tuple[str, str], dict[str, Any], xr.DataArray | None]
NODES = 9
# Arguments of programs for the units of the scores: `units` of the estimator, not of a part.
UNITS = frozenset({"centre", "spread"})


@dataclass(frozen=True)
class Reading:
    """Constants for reading a part's draws."""

    centre: float  # robust centre and spread of the scores fitted
    spread: float
    score_range: tuple[float, float]  # the smallest and the largest score fitted
    topic: str = ""  # the topic, for messages; empty for a problem without topics
    before: Mapping[str, Posterior] = field(default_factory=dict)  # parts read earlier, by name

    @classmethod
    def of(cls, groups: Groups, topic: str = "") -> Self:
        """Return the constants in the groups of one problem."""
        values = groups[CONSTANTS].variables
        centre, spread, low, high = (
            float(values[name]) for name in ("centre", "spread", "lowest", "highest")
        )
        return cls(centre, spread, (low, high), topic)

    def whose(self, part: str) -> str:
        """Return a part and the topic in words."""
        return f"the part {part!r}{self.topic}"


class Part(ABC):
    """A part of a model, one curve of log-odds with a posterior; `PARTS` lists all."""

    name: str  # its name in `parts=`, tables and the tree of results
    follows: tuple[str, ...] = ()  # parts that must be fitted before it
    # Largest prior weight in stacking, in documents; see `belief`
    pseudo_documents: float = 1.0
    hyperparameters: frozenset[str] = frozenset()  # names of its prior's parameters
    importance_weighted: bool = True  # whether importance weights (with Pareto k) select its draws
    # Whether it models scores given the class, to which weights of a design by score apply
    models_scores: bool = False
    constant_draws: tuple[str, ...] = ()  # variables whose draws may all be equal
    kind_of_draws: ClassVar[type[Any]]  # the dataclass of its draws, which `pack` stores

    def joins(self, data: BinaryScores, options: Options) -> bool:
        """Return whether it is part of the combination; False if it must be named explicitly."""
        return False

    def belief(self, options: Options) -> float:
        """Return the prior weight of the part in stacking, in documents."""
        return self.pseudo_documents

    def hyperparameters_of(self, options: Options) -> dict[str, float]:
        """Return its non-default hyperparameters."""
        return dict(options.hyperparameters.get(self.name, {}))

    @abstractmethod
    def fit(self, task: Task) -> PartFit:
        """Return its posterior."""

    def paths(self, fit: PartFit, *, first: bool) -> PartPaths:
        """Return its paths in a tree."""
        return paths_of(self.name, self.name, first=first)

    def store(self, fit: Any, *, first: bool, shape: tuple[int, int]) -> dict[str, xr.Dataset]:
        """Return the groups of its posterior, of `shape` (chains, draws)."""
        paths = self.paths(fit, first=first)
        draws = pack(fit.posterior, shape)
        return paths.note() | {paths.draws[0]: draws, paths.evidence: fit.evidence()}

    def read(self, groups: Groups, paths: PartPaths, reading: Reading) -> Posterior:
        """Return the draws in a tree; raise ValueError if they are not finite."""
        drawn: Posterior = self.unpacked(groups[paths.draws[0]], reading.whose(paths.name))
        return drawn

    def unpacked(self, draws: xr.Dataset, whose: str) -> Any:
        """Return the draws of a group."""
        read = unpack(self.kind_of_draws, draws)
        drawn = {name: getattr(read, name) for name in read.drawn if name not in CHOSEN}
        check_finite(whose, *(values for values in drawn.values() if values is not None))
        return read

    def raw(self, curves: Posterior, draws: xr.Dataset, reading: Reading) -> xr.Dataset:
        """Return the draws in raw score units: by default log-odds at some scores."""
        low, high = reading.score_range
        return at_scores(curves, shape_of(draws), np.linspace(low, high, NODES))

    def rows(
        self, fits: ClassFits, posterior: xr.Dataset, paths: PartPaths, labels: tuple[str, str]
    ) -> Iterator[Row]:
        """Yield the rows of `ScoreCalibrator.summary`: by default the log-odds of `raw`."""
        scores = posterior["score"].values
        for k, (score, mle) in enumerate(zip(scores, fits.log_odds(scores), strict=True)):
            name = ("log-odds", f"at {score:.6g}")
            yield name, {"mle": float(mle), "guard": ""}, posterior["log_odds"].isel(score=k)

    def findings(self, name: str, evidence: xr.Dataset) -> Iterator[Finding]:
        """Yield problems of the sampling."""
        return unresolved(name, evidence)

    def describe(self, options: Options, scale: tuple[float, float] | None) -> list[Block]:
        """Return its text for reports: by default the first line of its docstring."""
        text = (type(self).__doc__ or "").strip().partition("\n")[0]
        return [Block("plain", {"title": self.name, "text": text})]

    def prior(
        self, task: Task, curves: Posterior, posterior: xr.Dataset
    ) -> tuple[xr.Dataset, Posterior]:
        """Return one chain of prior draws of the variables of `raw`, and the draws as curves."""
        raise ValueError(f"the part {self.name!r} does not draw from its prior.")


# Long names and units of draws, by variable.
RAW_SCORE, RATE, SHARE = "raw score", "1 / raw score", "probability"
BEYOND = "of the mode with 1/e of its side's mass beyond"
DESCRIBED = {
    "prior": ("share of positives", SHARE),
    "log_odds": ("log-odds of a positive", "log-odds"),
    "mode": ("mode of the density", RAW_SCORE),
    "left_width": (f"distance to the left {BEYOND}", RAW_SCORE),
    "right_width": (f"distance to the right {BEYOND}", RAW_SCORE),
    "theta": ("mode of the density", RAW_SCORE),
    "mu": ("mean of the density", RAW_SCORE),
    "sigma": ("scale of the Gaussian", RAW_SCORE),
    "sigma_left": ("scale of the Gaussian on the left", RAW_SCORE),
    "sigma_right": ("scale of the Gaussian on the right", RAW_SCORE),
    "beta": ("rate of the exponential on the left", RATE),
    "gamma": ("rate of the exponential on the right", RATE),
    "rate": ("rate of the exponential", RATE),
    "left_share": ("share of the width on the left", SHARE),
    "width": ("one over the density at the mode", RAW_SCORE),
    "squared_width": ("squared width", f"{RAW_SCORE}^2"),
}


def described(draws: xr.Dataset, names: Iterable[str] = DESCRIBED) -> xr.Dataset:
    """Return draws whose variables of some names have the attributes long_name and units."""
    for name in set(names) & set(draws.data_vars):
        long_name, units = DESCRIBED[name]
        draws[name].attrs |= {"long_name": long_name, "units": units}
    return draws


def at_scores(
    curves: Posterior, shape: tuple[int, int], at: Floats, dim: str = "score"
) -> xr.Dataset:
    """Return the log-odds of every draw at some scores, or along another dimension."""
    log_odds = (*DRAWS, dim), curves.log_odds(at).reshape(*shape, at.size)
    prior = DRAWS, curves.prior.reshape(shape)
    coords = draw_coords(shape) | {dim: (dim, at)}
    return described(xr.Dataset({"log_odds": log_odds, "prior": prior}, coords))


def shape_of(draws: xr.Dataset) -> tuple[int, int]:
    """Return the number of chains, and of draws in each."""
    return draws.sizes["chain"], draws.sizes["draw"]


def of_unseen(path: str) -> str:
    """Return the path of the same group for a topic without documents."""
    return f"{POPULATION}/{path}"
