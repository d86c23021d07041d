"""A family under a name of its own: Laplace sides, of one width."""

from dataclasses import replace

from bayescal.families import laplace

FAMILY = replace(laplace.FAMILY, name="tent")
