"""Many topics by NUTS: divergences, R-hat and effective sample sizes on Reuters scores.

python -m studies.topics_diagnostics [--quick]
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from bayescal import TopicCalibrator
from bayescal.fitting.engines.program import OPTIONS
from bayescal.fitting.parts.log_odds import hyperparameters_path
from bayescal.fitting.results.diagnostics import ConvergenceWarning
from bayescal.inference.chains import ESS_LIMIT, RHAT_LIMIT, check_chains
from bayescal.support.validation import Floats
from bayescal.text.reuters_scores import CLASSIFIERS, TOPICS
from studies.command import Options, main, spread_over
from studies.papers.sigir2003.experiment import few_positives
from studies.peers import Labels
from studies.reporting import Bar, fill, markdown, write_bars, write_page, write_table
from studies.reuters import splits

EVERYTHING = 10_000
SIZES = (3, 10, EVERYTHING)
CHAINS, DRAWS = 4, 2000
Topics = tuple[Floats, Labels, np.ndarray]


def run(options: Options) -> None:
    """Sample every case; write page and table."""
    draws = options.size(DRAWS, 100)
    tasks = [(classifier, n, draws) for classifier in CLASSIFIERS for n in SIZES]
    table = pd.DataFrame(spread_over(options.jobs, measure, tasks))
    write_table(table, options.out, "topics_diagnostics")
    write_bars(bars(table), options.out, "topics_diagnostics")
    write_page("topics_diagnostics", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: diagnostics of all cases."""
    return fill(
        "topics_diagnostics",
        folder,
        table=_shown(pd.read_csv(folder / "topics_diagnostics.csv")),
        chains=CHAINS,
        draws=f"{DRAWS:,}",
        tune=f"{OPTIONS['tune']:,}",
        target_accept=OPTIONS["target_accept"],
    )


def documents(classifier: str, n_positive: int) -> Topics:
    """Return scores, labels and topics of the calibration split, so many positives per topic."""
    rng = np.random.default_rng((CLASSIFIERS.index(classifier), n_positive))
    parts = []
    for topic in TOPICS:
        (score, label), _ = splits(classifier, topic)
        mask = np.full(label.size, True)
        if n_positive < EVERYTHING:
            mask = few_positives(label, n_positive, rng)
        parts.append((score[mask], label[mask], np.repeat([topic], mask.sum())))
    score, label, topics = (np.concatenate(each) for each in zip(*parts, strict=True))
    return score, label, topics


def measure(classifier: str, n_positive: int, draws: int) -> dict[str, float | str]:
    """Return diagnostics of the population's hyperparameters, and the worst R-hat of topics."""
    calibrator = TopicCalibrator(inference="nuts", draws=draws, chains=CHAINS, random_state=0)
    score, label, topics = documents(classifier, n_positive)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the page says the same
        calibrator.fit(score, label, topics)
    seconds = time.perf_counter() - start
    tree = calibrator.posterior_
    path = hyperparameters_path(calibrator.families_[0])
    results = check_chains(tree, tree[path].to_dataset())
    everything = calibrator.diagnostics_
    return {
        "classifier": classifier,
        "n": n_positive,
        "documents": score.size,
        "divergences": results.divergences,
        "rhat": results.rhat or np.nan,
        "ess_bulk": results.ess_bulk,
        "ess_tail": results.ess_tail,
        "rhat_topics": everything.rhat or np.nan,
        "seconds": seconds,
    }


def bars(table: pd.DataFrame) -> list[Bar]:
    """Return no divergences, R-hat and effective sample sizes of hyperparameters, case by case."""
    out = []
    for row in table.to_dict("records"):
        where = f"{row['classifier']}, {_name(row['n'])}"
        ess = min(row["ess_bulk"], row["ess_tail"])
        out += [
            _bar(f"{where}: divergences", f"{row['divergences']}", "0", row["divergences"] == 0),
            _bar(
                f"{where}: largest R-hat",
                f"{row['rhat']:.4f}",
                f"< {RHAT_LIMIT}",
                row["rhat"] < RHAT_LIMIT,
            ),
            _bar(
                f"{where}: smallest effective sample size",
                f"{ess:.0f}",
                f"> {ESS_LIMIT:.0f}",
                ess > ESS_LIMIT,
            ),
        ]
    return out


def _bar(claim: str, measured: str, limit: str, holds: bool) -> Bar:
    return Bar(claim=claim, measured=measured, limit=limit, holds=bool(holds))


def _name(n: int) -> str:
    return f"n+ = {n}" if n < EVERYTHING else "all"


def _shown(table: pd.DataFrame) -> str:
    shown = pd.DataFrame(
        {
            "scores": table["classifier"],
            "positives per topic": ["all" if n == EVERYTHING else str(n) for n in table["n"]],
            "documents": table["documents"].map("{:,}".format),
            "divergences": table["divergences"],
            "R-hat": table["rhat"].map("{:.4f}".format),
            "ESS, bulk": table["ess_bulk"].map("{:.0f}".format),
            "ESS, tail": table["ess_tail"].map("{:.0f}".format),
            "R-hat, topics too": table["rhat_topics"].map("{:.4f}".format),
            "seconds": table["seconds"].map("{:.0f}".format),
        }
    )
    return markdown(shown)


if __name__ == "__main__":
    main("topics_diagnostics")
