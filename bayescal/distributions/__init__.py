"""PyMC distributions of scores, with one mode and a scale on either side, and model programs.

PyMC is imported with the first distribution that is used; `programs` does not import it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayescal.distributions.knots import number_of_pieces as number_of_pieces
    from bayescal.distributions.knots import place_knots as place_knots
    from bayescal.distributions.topics import GroupedScores as GroupedScores
    from bayescal.distributions.transforms import Anchored as Anchored
    from bayescal.distributions.transforms import LogitBeta as LogitBeta
    from bayescal.distributions.transforms import NormalMode as NormalMode
    from bayescal.distributions.transforms import Relative as Relative
    from bayescal.distributions.transforms import Standardised as Standardised
    from bayescal.distributions.transforms import of_beta as of_beta
    from bayescal.distributions.transforms import of_inverse_gamma as of_inverse_gamma
    from bayescal.distributions.two_sided import AsymmetricGaussian as AsymmetricGaussian
    from bayescal.distributions.two_sided import AsymmetricLaplace as AsymmetricLaplace

_MODULES = {
    "AsymmetricGaussian": "two_sided",
    "AsymmetricLaplace": "two_sided",
    "LogitBeta": "transforms",
    "Anchored": "transforms",
    "GroupedScores": "topics",
    "NormalMode": "transforms",
    "Relative": "transforms",
    "Standardised": "transforms",
    "of_beta": "transforms",
    "number_of_pieces": "knots",
    "of_inverse_gamma": "transforms",
    "place_knots": "knots",
}

__all__ = [*_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'bayescal.distributions' has no attribute {name!r}")
    return getattr(import_module(f"bayescal.distributions.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
