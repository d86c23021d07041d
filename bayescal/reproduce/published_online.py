"""Online combiners on Reuters-21578 as published: Table 9.2 of Bennett's dissertation."""

from __future__ import annotations

from bayescal.reproduce.published_strive import PUBLISHED as PUBLISHED_STRIVE

# Rows that both tables have, and are the same in both.
SHARED = (
    "decision tree",
    "unigram",
    "naive Bayes",
    "SVM",
    "kNN",
    "Best By Class",
    "Majority",
    "Stack-S (norm)",
    "STRIVE-S (norm)",
    "BestSelect",
)

ONLINE: dict[str, tuple[float | None, ...]] = {
    "WMA": (0.8432, 0.9064, 0.0155, 0.0595, 0.0376, 0.9890, 0.9370),
    "WMA (R = 10)": (0.8443, 0.9056, 0.0154, 0.0618, 0.0365, 0.9846, 0.9235),
    "Winnow": (0.8398, 0.9074, 0.0158, 0.0698, 0.0405, 0.9946, 0.9549),
    "Winnow (R = 10)": (0.8727, 0.9208, 0.0141, 0.0439, 0.0339, 0.9937, 0.9537),
    "BMX": (0.8640, 0.9132, 0.0144, 0.0553, 0.0365, 0.9941, 0.9487),
    "BMX (R = 10)": (0.8581, 0.9109, 0.0146, 0.0576, 0.0403, 0.9928, 0.9408),
    "BMXmod": (0.8616, 0.9166, 0.0141, 0.0402, 0.0334, 0.9952, 0.9562),
    "BMXmod (R = 10)": (0.8643, 0.9166, 0.0140, 0.0403, 0.0324, 0.9951, 0.9565),
    "WinBMX": (0.8843, 0.9232, 0.0134, 0.0426, 0.0363, 0.9933, 0.9545),
    "WinBMX (R = 10)": (0.8606, 0.9122, 0.0147, 0.0467, 0.0379, 0.9896, 0.9453),
    "WinBMXmod": (0.8691, 0.9225, 0.0132, 0.0386, 0.0318, 0.9955, 0.9598),
    "WinBMXmod (R = 10)": (0.8747, 0.9232, 0.0125, 0.0388, 0.0332, 0.9955, 0.9612),
}
PUBLISHED = {name: PUBLISHED_STRIVE[name] for name in SHARED} | ONLINE
"""By the columns `published_strive.MEASURES`."""
