"""Update rules, one a file: a further one is a file with a `Rule`, and its entry below."""

from bayescal.experts.rules.blum_mansour import BlumMansour
from bayescal.experts.rules.exponentiated_gradient import ExponentiatedGradient
from bayescal.experts.rules.rule import Rule
from bayescal.experts.rules.weighted_majority import WeightedMajority
from bayescal.experts.rules.winnow import Winnow

# What `rule` may be, by the names of the dissertation's chapter 9.
RULES: dict[str, Rule] = {
    "wma": WeightedMajority(),
    "winnow": Winnow(),
    "bmx": BlumMansour(),
    "bmxmod": BlumMansour(modified=True),
    "winbmx": BlumMansour(margin=1.0),
    "winbmxmod": BlumMansour(modified=True, margin=1.0),
    "eg": ExponentiatedGradient(),
}

__all__ = ["RULES", "Rule"]
