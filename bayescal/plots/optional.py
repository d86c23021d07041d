"""The one place where the libraries of the extra `plots` are imported."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str) -> Any:
    """
    Return a module of the extra `plots`.

    Parameters
    ----------
    module : str
        Such as "matplotlib.pyplot" or "arviz_plots".

    Raises
    ------
    ImportError
        If it is not installed, with the command that installs it.

    Examples
    --------
    >>> require("matplotlib.figure").Figure.__name__
    'Figure'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as err:
        # What is missing inside an installed library is another matter.
        library = module.split(".")[0]
        if err.name is None or err.name.split(".")[0] != library:
            raise
        raise ImportError(
            f"plots need {library.replace('_', '-')}, which is not installed:"
            " pip install bayescal[plots]."
        ) from err
