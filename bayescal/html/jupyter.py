"""How fitted estimators show themselves in Jupyter, where scikit-learn shows unfitted ones."""

from __future__ import annotations

from typing import Any


class FittedHTML:
    """
    Shows `_fitted_html()` where there is one, else what scikit-learn's estimators show.

    To stand before sklearn.base.BaseEstimator, whose hooks it overrides: `_repr_html_` is a
    property there that follows `sklearn.set_config(display=...)` and returns
    `_repr_html_inner`; Jupyter itself asks for `_repr_mimebundle_`.
    """

    def _fitted_html(self) -> str | None:
        """Return the results as HTML; None before the fit."""
        raise NotImplementedError

    def _repr_html_inner(self) -> str:
        own = self._fitted_html()
        if own is not None:
            return own
        inner: str = super()._repr_html_inner()  # type: ignore[misc]
        return inner

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle
