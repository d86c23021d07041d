"""What a fit found: the groups of its tree by their paths, and the tree for whoever asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import xarray as xr

from bayescal.parts.places import Groups, flat


@dataclass(frozen=True)
class Results:
    """
    What a fit found.

    All that reads a fit reads its groups: to make a tree of them, and to take one apart, takes
    longer than to read most of them.

    Attributes
    ----------
    groups : mapping of str to Dataset
        The groups of its tree by their paths.
    attrs : mapping
        Provenance: versions, seed, arguments.
    """

    groups: Groups
    attrs: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_tree(cls, tree: xr.DataTree) -> Self:
        """Return the results that a tree holds."""
        return cls(flat(tree), {str(name): each for name, each in tree.attrs.items()})

    @cached_property
    def tree(self) -> xr.DataTree:
        """The tree; made when it is asked for."""
        tree = xr.DataTree.from_dict(self.shown)
        tree.attrs.update(self.attrs)
        return tree

    @property
    def shown(self) -> dict[str, xr.Dataset]:
        """Return the groups that the tree shows."""
        return dict(self.groups)

    def __reduce__(self) -> tuple[Any, ...]:
        # The tree is left out: it holds the same arrays once more.
        return type(self), (dict(self.groups), self.attrs)
