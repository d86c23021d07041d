"""ShownClassifier: file and notebook picture of a CalibratedClassifier, and its constructor."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from bayescal.fitting.results.notebook import FittedHTML, picture_html

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

Model = TypeVar("Model")
DRAWN = 6  # curves of classes, labels or folds in a notebook


class ShownClassifier(FittedHTML):
    """Mixin of `CalibratedClassifier`; it precedes BaseEstimator among the bases."""

    if TYPE_CHECKING:
        _pairs: Callable[[], list[Any]]
        fitted_problems: Callable[[], Any]
        several_classes: bool
        scores_: Any

    def export(
        self,
        path: str | Path,
        topic: Any = None,
        *,
        format: str = "python",
        level: float | None = 0.9,
        prior: Any = None,
        column: str = "score",
    ) -> Path:
        """
        Write the map from the classifier's scores to probabilities; the file needs no bayescal.

        Parameters
        ----------
        path, format, level, prior, column
            See `bayescal.report.export`.
        topic : label, optional
            The label to write, with several labels a document.

        Raises
        ------
        ValueError
            For an ensemble, or several classes each calibrated against the rest, whose
            probabilities no single map gives; and see `bayescal.report.export`.
        """
        from bayescal.report.export.writing import export

        pairs = self._pairs()
        of_all = pairs[0].score_map.of_all_classes
        if len(pairs) > 1 or (self.several_classes and not of_all):
            raise ValueError(
                "an exported file has one map, but an ensemble, and classes each calibrated against"
                " the rest, have several: fit with ensemble=False and calibrator='auto'."
            )
        written = pairs[0].calibrators[0] if of_all else self
        options = {"format": format, "level": level, "prior": prior, "column": column}
        return export(written, path, topic=topic, **options)

    def _fitted_html(self) -> str | None:
        if not hasattr(self, "calibrated_classifiers_"):
            return None
        pair = self._pairs()[0]
        if pair.score_map.of_all_classes:
            shown: str | None = pair.calibrators[0]._fitted_html()
            return shown
        head = f"CalibratedClassifier fitted to {len(self.scores_):,} documents"
        return picture_html(head, [], "Probability given the classifier's score", self._draw)

    def _draw(self, ax: Axes) -> None:
        from bayescal.plots import ProbabilityDisplay

        for name in list(self.fitted_problems())[:DRAWN]:
            own = {"topic": name, "name": name} if name else {}
            ProbabilityDisplay.from_estimator(self, ax=ax, **own)


def explains_method(cls: type[Model]) -> type[Model]:
    """Return the class, whose constructor names the counterpart of scikit-learn's `method`."""
    init: Any = cls.__init__

    @wraps(init)
    def checked(self: Model, *given: Any, **options: Any) -> None:
        if "method" in options:
            raise TypeError(
                "CalibratedClassifier takes calibrator= in place of scikit-learn's method=: pass"
                f" calibrator={options['method']!r}."
            )
        init(self, *given, **options)

    cls.__init__ = checked  # type: ignore[assignment]
    return cls
