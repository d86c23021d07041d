"""What experiments share: where to write, how many processes; of Reuters-21578 the corpus."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from bayescal.cli import options
from bayescal.cli.command import Call
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.settings import check_at_least
from bayescal.cli.writing import check_folder

if TYPE_CHECKING:
    import pandas as pd

CORPUS, EXPERIMENT = "Corpus", "Experiment"

Out = Annotated[Path, options.option("--out", options.OUTPUT, "Where to write.", metavar="FOLDER")]
Data = Annotated[
    Path | None,
    options.option(
        "--data",
        CORPUS,
        "A copy of Reuters-21578: a folder of .sgm files or a tar archive. By default the"
        " environment variable BAYESCAL_REUTERS21578 names it, or it is fetched.",
        metavar="PATH",
    ),
]
Topics = Annotated[
    int, options.option("--topics", CORPUS, "How many of the largest topics to take, up to 90.")
]
Jobs = Annotated[int, options.option("--jobs", EXPERIMENT, "Number of processes.")]


@dataclass(frozen=True, kw_only=True)
class Experiment(Call):
    """The options of all experiments."""

    out: Out = Path("reproduction")
    jobs: Jobs = 2
    seed: options.Seed = 0

    def check(self, **counts: int) -> None:
        """Check the options before any work; counts by the names of theirs."""
        check_at_least(0, **{"--seed": self.seed})
        check_at_least(1, **{"--jobs": self.jobs}, **counts)
        check_folder(self.out)


def check_plots() -> None:
    """Raise a UsageError unless what draws the figures is installed."""
    if find_spec("matplotlib") is None:
        raise UsageError("the figures need matplotlib: pip install 'bayescal[plots]'.")


def read_corpus(data: Path | None) -> pd.DataFrame:
    """Return Reuters-21578 from a copy, or fetched."""
    from bayescal.datasets import fetch_reuters21578

    with blamed_on_use(kinds=(ValueError, OSError, ImportError)):
        return fetch_reuters21578(path=data)
