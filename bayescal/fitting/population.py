"""Population: a prior for the next problem, learned from a history of others."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Self

import numpy as np
import xarray as xr

from bayescal.families import FAMILIES, Family
from bayescal.fitting.engines.exact.engine import DensitySides
from bayescal.fitting.parts import part
from bayescal.fitting.parts.densities import shapes
from bayescal.fitting.parts.log_odds import PooledDensities
from bayescal.fitting.parts.part import Groups, Reading
from bayescal.fitting.posterior import Posterior, unpack
from bayescal.fitting.results import storage
from bayescal.fitting.results import tree as provenance
from bayescal.fitting.results.topics import at_topic, read_population, without_topics
from bayescal.fitting.results.tree import LIKELIHOOD, Results, read_below, read_scores_are
from bayescal.fitting.settings import LEARNED, VAGUE, ScoreParameters

HISTORY = "TopicCalibrator"  # the estimator of populations, by its name in files
# Parameters of a ScoreCalibrator that a population decides.
DECIDED = ("parts", "units", "lapse")
MAY_BE = (
    f"prior_knowledge must be {VAGUE!r}, {LEARNED!r}, a {HISTORY} fitted with pooling='partial',"
    " its population_, a bayescal.Population of it, or the path of a saved one, or of a .json file"
    " of learned populations"
)


class Population:
    """A prior for the next problem, learned from many calibrated ones.

    It is an immutable value, not an estimator, and its own copy: unlike a fitted estimator it
    survives scikit-learn's clones and the grids of a GridSearchCV.

    Parameters
    ----------
    history : TopicCalibrator, str or Path
        Fitted with pooling="partial", or the path of its saved file. Its topics are not kept.

    Attributes
    ----------
    families : tuple of str
        The families of its densities.
    scores_are : str
        Meaning of the history's scores; see `TopicCalibrator`.
    units : dict of str to float
        Centre and spread of all scores of the history, the units of the population.
    draws : tuple of int
        Numbers of chains, and of draws in each.

    Raises
    ------
    ValueError
        If it has no population.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal import Population, TopicCalibrator
    >>> rng = np.random.default_rng(0)
    >>> topics = np.repeat(["corn", "crude", "earn", "grain", "ship"], 24)
    >>> labels = np.tile(np.repeat([0, 1], [20, 4]), 5)
    >>> scores = rng.normal(3.0 * labels, 1.0)
    >>> history = TopicCalibrator(draws=100, random_state=0).fit(scores, labels, topics)
    >>> Population(history).families
    ('asymmetric_laplace', 'gaussian')
    """

    def __init__(self, history: Any) -> None:
        if isinstance(history, str | Path):
            self._results = _read_file(history)
        else:
            self._results = _read_fitted(history)

    @classmethod
    def of_results(cls, results: Results) -> Self:
        """Return the population stored in results without topics."""
        population = cls.__new__(cls)
        population._results = results
        return population

    @property
    def results(self) -> Results:
        """Return the results of its fit, without topics."""
        return self._results

    @property
    def tree(self) -> xr.DataTree:
        """Return the results as a tree."""
        return self._results.tree

    @property
    def of_families(self) -> tuple[Family, ...]:
        """Return the families of its densities, in their order."""
        every, kind = part.all_paths(self._results.groups), PooledDensities.name
        return tuple(FAMILIES[each.name] for each in every if each.kind == kind)

    @property
    def families(self) -> tuple[str, ...]:
        """Return the names of the families."""
        return tuple(each.name for each in self.of_families)

    @property
    def scores_are(self) -> str:
        """Return the kind of the history's scores."""
        return read_scores_are(self._results.groups)

    @property
    def units(self) -> dict[str, float]:
        """Return the centre and the spread of all scores of the history."""
        reading = Reading.of(at_topic(self._results.groups, None))
        return {"centre": reading.centre, "spread": reading.spread}

    @property
    def draws(self) -> tuple[int, int]:
        """Return the number of chains, and of draws in each."""
        sizes = self._results.groups[part.of_unseen(part.POSTERIOR)].sizes
        return sizes["chain"], sizes["draw"]

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters of its TopicCalibrator."""
        return provenance.read(self._results.attrs)[0]

    def __copy__(self) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return self

    def __repr__(self) -> str:
        centre, spread = self.units.values()
        return f"Population({', '.join(self.families)}; centre {centre:.4g}, spread {spread:.4g})"


def read_population_of(parameters: ScoreParameters) -> Population:
    """Return the population of `prior_knowledge`, checked against the other parameters."""
    knowledge = parameters.prior_knowledge
    population = knowledge if isinstance(knowledge, Population) else Population(knowledge)
    _check_left_to(population, parameters)
    return population


def kept_population(groups: Groups) -> Population | None:
    """Return the population that results were fitted around; None for the package's own priors."""
    kept = read_below(KEPT, groups)
    return None if kept is None else Population.of_results(kept)


def _check_left_to(population: Population, parameters: ScoreParameters) -> None:
    """Raise ValueError if a parameter contradicts the population."""
    defaults = {each.name: each.default for each in fields(parameters)}
    chains, draws = population.draws
    allowed = {name: (defaults[name],) for name in DECIDED} | {
        "inference": (defaults["inference"], "exact"),
        "scores_are": (defaults["scores_are"], population.scores_are),
        "chains": (defaults["chains"], chains),
        "draws": (defaults["draws"], draws),
    }
    for name, values in allowed.items():
        asked = getattr(parameters, name)
        if not any(type(asked) is type(each) and asked == each for each in values):
            theirs = " or ".join(map(repr, dict.fromkeys(values)))
            raise ValueError(
                f"{name} must be {theirs} with prior_knowledge, got {asked!r}: a population decides"
                " what is fitted, and was fitted itself with parameters of its own."
            )


def _read_file(path: str | Path) -> Results:
    if not Path(path).is_file():
        raise FileNotFoundError(f"{MAY_BE}; there is no file {str(path)!r}.")
    results = Results.of_tree(storage.read_tree(path))
    return _population(results, f"{path} holds a {results.attrs[provenance.ESTIMATOR]}")


def _read_fitted(history: Any) -> Results:
    tree = getattr(history, "posterior_", None)
    if isinstance(tree, xr.DataTree):
        return _population(Results.of_tree(tree), f"got {history!r}")
    if hasattr(type(history), "population_"):
        raise ValueError(
            f"{MAY_BE}; got {history!r}, which is not fitted. If it was, scikit-learn has cloned it"
            " as one of a grid's parameters: give bayescal.Population of it there."
        )
    raise ValueError(f"{MAY_BE}; got {history!r}.")


def _population(results: Results, what: str) -> Results:
    """Return results of topics without these, if they have a population."""
    if results.attrs.get(provenance.ESTIMATOR) != HISTORY:
        raise ValueError(f"{MAY_BE}; {what}.")
    pooling = provenance.read(results.attrs)[0]["pooling"]
    if pooling != "partial":
        raise ValueError(f"{MAY_BE}; {what} of pooling={pooling!r}, which has no population.")
    if "base_rate" in results.groups[part.CONSTANTS]:
        raise ValueError(f"{MAY_BE}; {what} of documents fitted with inclusion.")
    # A single topic is never pooled, and its base rate has one prior.
    rates = read_population(results.groups, part.all_paths(results.groups)[0]).rates
    if rates is None or np.all(np.ptp(rates, axis=1) == 0.0):
        raise ValueError(f"{MAY_BE}; {what} of one topic, which makes no population.")
    return without_topics(results)


# A problem fitted around a population has the groups of one more topic. The population's own groups
# are kept below prior_knowledge, so that a file needs no other file for reading and updates.

KEPT = "prior_knowledge"


def groups_of_topic(groups: Groups) -> dict[str, xr.Dataset]:
    """Return the only topic of results as one problem, with draws in raw units to derive."""
    out = at_topic(groups, 0)
    # The problem has its own.
    del out[part.CONSTANTS], out[LIKELIHOOD]
    for k, paths in enumerate(part.all_paths(groups)):
        own = part.paths_of(paths.name, paths.kind, first=k == 0)
        out[own.draws[0]] = out.pop(paths.draws[0])
        out |= own.note()
    return out


def draw_of_population(population: Groups, draws: int) -> tuple[xr.Dataset, Posterior]:
    """Return one chain of evenly chosen draws of a topic without documents, and their curves."""
    unseen = unpack(DensitySides, population[part.of_unseen(part.POSTERIOR)])
    some = unseen.take(np.linspace(0, unseen.size - 1, draws).astype(np.intp))
    return shapes(some, (1, draws)), some
