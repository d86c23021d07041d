"""The studies of `make validate`, and all pages of docs/validation.

python -m studies [--quick]     measure, and write the pages
python -m studies --pages       write all pages again from their tables, measuring nothing
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from studies import (
    audit,
    clusters,
    combining,
    coverage,
    drift,
    ensembles,
    expected_precision,
    fresh_classifiers,
    fusion,
    grades,
    history,
    indicator_shifts,
    likelihood_ratios,
    populations,
    rates,
    relevance,
    reuters,
    reviews,
    robustness,
    sbc,
    scale_floor,
    synthetic,
    topics,
    topics_coverage,
    topics_diagnostics,
    unseen_report,
    word_weights,
)
from studies.command import Options, main
from studies.multiclass import study as multiclass
from studies.problems import page as problems
from studies.reporting import fill, write_index, write_page
from tools.mutations import table as mutations

STUDIES = (
    sbc,
    coverage,
    synthetic,
    robustness,
    reuters,
    reviews,
    clusters,
    topics,
    history,
    topics_coverage,
    topics_diagnostics,
    scale_floor,
    drift,
    rates,
)


def mutations_page(folder: Path) -> str:
    """Return the page about faults put into the package."""
    rows = mutations.read(folder / "mutations.csv")
    return fill("mutations", folder, table=mutations.table(rows))


PAGES: dict[str, Callable[[Path], str]] = {
    "sbc": sbc.page,
    "coverage": coverage.page,
    "synthetic": synthetic.page,
    "robustness": robustness.page,
    "reuters": partial(reuters.page, name="reuters"),
    "reuters_choose": partial(reuters.page, name="reuters_choose"),
    "topics": topics.page,
    "topics_coverage": topics_coverage.page,
    "topics_diagnostics": topics_diagnostics.page,
    "history": history.page,
    "problems": problems.page,
    "unseen": partial(unseen_report.page, name="unseen"),
    "unseen_topics": partial(unseen_report.topics_page, name="unseen_topics"),
    "fresh": partial(unseen_report.page, name="fresh"),
    "fresh_topics": partial(unseen_report.topics_page, name="fresh_topics"),
    "fresh_classifiers": fresh_classifiers.page,
    "populations": populations.page,
    "ensembles": ensembles.page,
    "scale_floor": scale_floor.page,
    "combining": combining.page,
    "indicator_shifts": indicator_shifts.page,
    "relevance": relevance.page,
    "expected_precision": expected_precision.page,
    "fusion": fusion.page,
    "drift": drift.page,
    "reviews": reviews.page,
    "rates": rates.page,
    "likelihood_ratios": likelihood_ratios.page,
    "multiclass": multiclass.page,
    "grades": grades.page,
    "audit": audit.page,
    "clusters": clusters.page,
    "word_weights": word_weights.page,
    "mutations": mutations_page,
}
"""Functions that return a page, given the folder of its tables, in the order of the index."""


def run(options: Options) -> None:
    """Run the studies of `make validate`, then write README.md."""
    if options.pages:
        for name, page in PAGES.items():
            write_page(name, options.out, page(options.out))
    else:
        for study in STUDIES:
            study.run(options)
        reuters.run(replace(options, choose=True))
    write_index(options.out, PAGES)


if __name__ == "__main__":
    main("__main__")
