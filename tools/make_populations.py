"""Make bayescal/fitting/populations.json.

    python -m tools.make_populations PROBLEMS

The folder is what `python -m studies.problems` makes.
"""

import sys
from pathlib import Path

import pandas as pd

from bayescal.fitting.learned_prior import SHIPPED, write_populations
from studies.learning import CLASSES, KINDS, MOST, POSITIVES, populations_of
from studies.problems.library import MANIFEST


def main(source: str) -> None:
    """Learn from all data sets of the library, write the file."""
    manifest = pd.read_csv(Path(source) / MANIFEST)
    provenance = {
        "made by": "python -m tools.make_populations",
        "data sets": sorted(manifest["data_set"].unique().tolist()),
        "versions": sorted(manifest["versions"].unique().tolist()),
        "classifiers": {name: list(classifiers) for name, (classifiers, _) in KINDS.items()},
        "classes of a data set and classifier, at most": CLASSES,
        "documents of the rarer class expected in a sample": POSITIVES,
        "documents of a sample, at most": MOST,
    }
    write_populations(populations_of(Path(source)), SHIPPED, provenance)
    print(f"wrote {SHIPPED}")


if __name__ == "__main__":
    main(*sys.argv[1:])
