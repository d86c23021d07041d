"""Displays of fitted calibrators in notebooks: notes and a matplotlib picture."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from html import escape
from io import BytesIO
from typing import Any

WITHOUT_PICTURE = "pip install bayescal[plots] shows the picture."
WIDTH, HEIGHT, DPI = 5.5, 3.4, 90  # inches, and dots per inch

# Draws into axes of matplotlib.
Draw = Callable[[Any], object]


class FittedHTML:
    """Mixin that shows `_fitted_html()` after a fit; it precedes BaseEstimator."""

    def _fitted_html(self) -> str | None:
        """Return the results of a fitted estimator as HTML; None for scikit-learn's display."""
        raise NotImplementedError

    def _repr_html_inner(self) -> str:
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

        with suppress(NotFittedError):
            check_is_fitted(self)
            if (own := self._fitted_html()) is not None:
                return own
        inner: str = super()._repr_html_inner()  # type: ignore[misc]
        return inner

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle


def picture_html(
    head: str, notes: Sequence[str], title: str, draw: Draw | None, height: float = HEIGHT
) -> str:
    """Return a head, notes and a picture, if any, as HTML."""
    lines = [f"<strong>{escape(head)}</strong>", *map(escape, notes)]
    text = "".join(f"<p style='margin:0.2em 0'>{line}</p>" for line in lines)
    return text if draw is None else text + _picture(draw, title, height)


def _picture(draw: Draw, title: str, height: float) -> str:
    """Return a picture as HTML; without matplotlib the command that installs it."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        return f"<p>{WITHOUT_PICTURE}</p>"
    figure, image = Figure(figsize=(WIDTH, height), layout="constrained"), BytesIO()
    with rc_context({"text.parse_math": False}):  # names may hold dollar signs
        ax = figure.subplots()
        draw(ax)
        ax.set_title(title)
        figure.savefig(image, format="png", dpi=DPI)
    code = b64encode(image.getvalue()).decode()
    return f"<img alt='{escape(title)}' src='data:image/png;base64,{code}'>"
