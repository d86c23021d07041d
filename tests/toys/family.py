"""A family under a name and parameters of its own: exponential sides of one width."""

from bayescal.families import Family

FAMILY = Family("tent", ("peak", "steepness"), power=1)
