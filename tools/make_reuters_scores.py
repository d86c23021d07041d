"""Make bayescal/text/reuters_scores.npz.

    python tools/make_reuters_scores.py SCORES.csv

The CSV has the columns classifier, topic, split, document, score, label. Scores are rounded to
multiples of a step far below their spread and stored as differences from the classifier's
lowest, in 16 bits.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

TARGET = Path(__file__).parent.parent / "bayescal" / "datasets" / "reuters_scores.npz"
STEPS = {"naive_bayes": 0.02, "linear_svm": 0.0002}


def main(source: str) -> None:
    """Read the CSV, write the archive, say how large it is."""
    table = pd.read_csv(source)
    documents = table[["document", "split"]].drop_duplicates().sort_values(["split", "document"])
    topics = table["topic"].drop_duplicates().tolist()
    codes, labels = [], None
    for classifier, step in STEPS.items():
        rows = table[table["classifier"] == classifier]
        scores = rows.pivot(index="topic", columns="document", values="score")
        scores = scores.loc[topics, documents["document"]].to_numpy()
        steps = np.rint(scores / step).astype(np.int64)
        lowest = steps.min()
        if steps.max() - lowest >= 1 << 16:
            sys.exit(f"{classifier}: the range of scores needs more than 16 bits; raise its step")
        codes.append((lowest, (steps - lowest).astype(np.uint16)))
        pivot = rows.pivot(index="topic", columns="document", values="label")
        labels = pivot.loc[topics, documents["document"]].to_numpy().astype(bool)
    np.savez_compressed(
        TARGET,
        classifier=np.array(list(STEPS)),
        step=np.array(list(STEPS.values())),
        lowest=np.array([lowest for lowest, _ in codes]),
        # High and low bytes apart: the high ones hardly vary, and compress.
        high=np.stack([code >> 8 for _, code in codes]).astype(np.uint8),
        low=np.stack([code & 255 for _, code in codes]).astype(np.uint8),
        topic=np.array(topics),
        document=documents["document"].to_numpy(dtype=np.uint16),
        split=documents["split"].to_numpy(dtype=str),
        label=np.packbits(labels, axis=1),
    )
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(sys.argv[1])
