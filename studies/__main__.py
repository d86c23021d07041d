"""All studies, and the index of what they wrote: python -m studies [--quick]."""

from __future__ import annotations

from dataclasses import replace

from studies import (
    coverage,
    drift,
    reuters,
    robustness,
    sbc,
    scale_floor,
    synthetic,
    topics,
    topics_coverage,
    topics_diagnostics,
)
from studies.command import Options, main
from studies.reporting import write_index

STUDIES = (
    sbc,
    coverage,
    synthetic,
    robustness,
    reuters,
    topics,
    topics_coverage,
    topics_diagnostics,
    scale_floor,
    drift,
)


def run(options: Options) -> None:
    """Run all studies, then write README.md."""
    for study in STUDIES:
        study.run(options)
    reuters.run(replace(options, choose=True))
    write_index(options.out)


if __name__ == "__main__":
    main("__main__")
