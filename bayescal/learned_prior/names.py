"""What `prior_knowledge` may name: no history of topics, but what parts of a model know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bayescal.engines.monotone.population import LogOddsPopulation
from bayescal.learned_prior.files import read_populations, shipped_populations

VAGUE = "vague"  # the package's own priors, which know the units of the scores and nothing else
LEARNED = "learned"  # the same, and what scores were found to mean on other data
POPULATIONS = ".json"  # ends the path of a file that holds the like


def names_priors_of_parts(prior_knowledge: Any) -> bool:
    """Return whether a parameter names what parts know beforehand."""
    if not isinstance(prior_knowledge, str | Path):
        return False
    return is_vague(prior_knowledge) or prior_knowledge == LEARNED or _is_file(prior_knowledge)


def is_vague(prior_knowledge: Any) -> bool:
    """Return whether a parameter names the package's own priors."""
    return isinstance(prior_knowledge, str) and prior_knowledge == VAGUE


def named_populations(prior_knowledge: Any) -> tuple[LogOddsPopulation, ...]:
    """
    Return the populations of log-odds that a parameter names; none of the package's own priors.

    Raises
    ------
    FileNotFoundError
        If it names a file, and there is none.
    ValueError
        If the file holds something else, or is of another version.
    """
    if is_vague(prior_knowledge) or not names_priors_of_parts(prior_knowledge):
        return ()
    if prior_knowledge == LEARNED:
        return shipped_populations()
    return read_populations(prior_knowledge)


def _is_file(prior_knowledge: str | Path) -> bool:
    return Path(prior_knowledge).suffix == POPULATIONS
