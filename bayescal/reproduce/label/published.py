"""Learning across tasks as published: Table 8.1 of Bennett's dissertation, means of 43 tasks."""

from __future__ import annotations

MEASURES = ("Macro F1", "Error", "norm Error")
"""The table's columns; MSN Web Directory, the ten largest topics of Reuters, TREC-AP."""

PUBLISHED: dict[str, tuple[float, float, float]] = {
    "SVM": (0.7411, 0.0197, 0.4789),
    "STRIVE-D": (0.7457, 0.0191, 0.4716),
    "LABEL-D (repop)": (0.7431, 0.0188, 0.4758),
    "LABEL-D (general)": (0.7545, 0.0181, 0.4512),
}
