"""Methods of calibrating several classes side by side, on rows held out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Group

from bayescal.cli import tables
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    from bayescal.calibrators.comparison import PairedDifference

MAP, ONE_VS_REST, TEMPERATURE, RAW = (
    "one map",
    "one against the rest",
    "temperature",
    "scores as given",
)


def others(
    log_p: Floats,
    labels: NDArray[Any],
    new: Floats,
    classes: NDArray[Any],
    weights: Mapping[str, Any],
    seed: int,
) -> dict[str, Floats]:
    """Return the probabilities of new rows by methods fitted to log-probabilities and labels."""
    from sklearn.frozen import FrozenEstimator

    from bayescal.calibrators.calibrated_classifier import CalibratedClassifier
    from bayescal.calibrators.classifier.score_maps import LogProbabilities

    order = np.argsort(classes)  # as scikit-learn has classes
    known = FrozenEstimator(LogProbabilities(classes[order]))
    found = {}
    for name, calibrator in ((ONE_VS_REST, "one_vs_rest"), (TEMPERATURE, "temperature")):
        classifier = CalibratedClassifier(known, calibrator, random_state=seed)
        classifier.fit(log_p[:, order], labels, **weights)
        found[name] = classifier.predict_proba(new[:, order])[:, np.argsort(order)]
    return found | {RAW: np.exp(new)}


def comparison_table(
    by_method: Mapping[str, Floats],
    labels: NDArray[Any],
    classes: NDArray[Any],
    weights: Mapping[str, Any],
    level: float,
    seed: int,
) -> Group:
    """Return the losses of methods on held-out rows, and how much more than the first they lose."""
    from bayescal.calibrators.comparison import paired_bootstrap
    from bayescal.metrics import Losses, pointwise_losses
    from bayescal.support.validation import either_weights

    weight = either_weights(weights.get("sample_weight"), weights.get("inclusion"), labels.size)
    weight = np.ones(labels.size) if weight is None else weight
    more = f"more per row than {MAP}, {tables.percent(level)} interval"
    table = tables.new_table()
    tables.add_columns(table, ["method"], text=True)
    tables.add_columns(table, [*tables.LOSS_COLUMNS, more])
    first: Floats | None = None
    for name, p in by_method.items():
        each = {
            kind: pointwise_losses(labels, p, kind, classes=classes)
            for kind in ("log", "brier", "error")
        }
        log, squared, errors = (float(weight @ loss) for loss in each.values())
        total = Losses(float(weight.sum()), log, squared, errors)
        difference = ""
        if first is None:
            first = each["log"]
        elif np.isfinite(each["log"]).all() and np.isfinite(first).all() and labels.size > 1:
            difference = _shown(
                paired_bootstrap(each["log"], first, level=level, rng=seed, **weights)
            )
        table.add_row(name, *tables.loss_cells(total), difference)
    return tables.titled(tables.LOSSES, table, *NOTES)


NOTES = (
    f"{MAP}: MulticlassCalibrator. {ONE_VS_REST}: a ScoreCalibrator of each class, normalised.",
    f"{TEMPERATURE}: one factor for all log-probabilities. {RAW}: no calibration.",
)


def _shown(difference: PairedDifference) -> str:
    return f"{difference.difference:+.4f} [{difference.lower:+.4f}, {difference.upper:+.4f}]"
