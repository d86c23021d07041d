"""Priors learnt from problems that were calibrated before, as data.

`populations.json` holds what the scores of a few kinds of classifiers were found to mean on real
data sets; `python -m tools.make_populations` writes it. `learn_population` makes such a population
of problems of one's own.
"""

from bayescal.engines.monotone.population import LogOddsPopulation
from bayescal.learned_prior.files import read_populations, shipped_populations, write_populations
from bayescal.learned_prior.learning import learn_population

__all__ = [
    "LogOddsPopulation",
    "learn_population",
    "read_populations",
    "shipped_populations",
    "write_populations",
]
