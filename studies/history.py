"""A history of calibrated topics as the prior of one: Reuters scores, one topic left out at a time.

python -m studies.history [--quick]
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from bayescal import Population, ScoreCalibrator, TopicCalibrator
from bayescal.metrics import losses
from bayescal.support.validation import Floats
from bayescal.text.reuters_scores import CLASSIFIERS, TOPICS
from studies.command import Options, main, spread_over
from studies.papers.sigir2003.experiment import few_positives, splits
from studies.peers import Labels
from studies.reporting import Bar, by_column, fill, with_error, write_bars, write_page, write_table

SIZES = (3, 5, 10, 20)
# Positives of each topic in the history; negatives in proportion.
IN_HISTORY = 50
VAGUE, HISTORY, OTHER = "vague", "nine other topics", "nine topics of the other classifier"
METHODS = (VAGUE, HISTORY, OTHER)
DRAWS = 250


def run(options: Options) -> None:
    """Compare the priors; write page and table."""
    repeats = options.size(3, 2)
    sizes = SIZES if not options.quick else SIZES[:1]
    topics = TOPICS if not options.quick else TOPICS[-2:]
    cases = [(c, topic, sizes, repeats) for c in CLASSIFIERS for topic in topics]
    table = pd.concat(spread_over(options.jobs, of_topic, cases), ignore_index=True)
    table = table.groupby(["classifier", "n", "topic"], sort=False)[list(METHODS)].mean()
    write_table(table.reset_index(), options.out, "history")
    write_bars(bars(table), options.out, "history")
    write_page("history", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: differences from vague priors."""
    table = pd.read_csv(folder / "history.csv", index_col=["classifier", "n", "topic"])
    return fill("history", folder, table=_differences(table), documents=IN_HISTORY)


def of_topic(classifier: str, topic: str, sizes: tuple[int, ...], repeats: int) -> pd.DataFrame:
    """Return log-losses (bits a document, times 1000) of samples of a topic, by every prior."""
    (score, label), (new, truth) = splits(classifier, topic)
    (other,) = set(CLASSIFIERS) - {classifier}
    priors = {VAGUE: "vague", HISTORY: history(classifier, topic), OTHER: history(other, topic)}
    rows = []
    for n in sizes:
        for repeat in range(repeats):
            rng = np.random.default_rng((CLASSIFIERS.index(classifier), n, repeat))
            mask = few_positives(label, n, rng)
            row = {"classifier": classifier, "topic": topic, "n": n, "repeat": repeat}
            results = {
                name: _loss(prior, score[mask], label[mask], new, truth)
                for name, prior in priors.items()
            }
            rows.append(row | results)
    return pd.DataFrame(rows)


@cache
def history(classifier: str, topic: str) -> Population:
    """Return the population of all topics but one, with many labels each."""
    rng = np.random.default_rng((CLASSIFIERS.index(classifier), TOPICS.index(topic)))
    scores, labels, topics = [], [], []
    for name in TOPICS:
        if name != topic:
            (score, label), _ = splits(classifier, name)
            mask = few_positives(label, IN_HISTORY, rng)
            scores.append(score[mask])
            labels.append(label[mask])
            topics.append(np.repeat(name, scores[-1].size))
    fitted = TopicCalibrator(draws=DRAWS, random_state=0)
    return Population(fitted.fit(*map(np.concatenate, (scores, labels, topics))))


def bars(table: pd.DataFrame) -> list[Bar]:
    """Return bars: a history of the same classifier is no worse than vague priors."""
    out = []
    for (classifier, n), part in table.groupby(["classifier", "n"], sort=False):
        mean, error = _mean(part[HISTORY] - part[VAGUE])
        out.append(
            Bar(
                claim=f"{classifier}, n+ = {n}: a history against none",
                measured=f"{with_error(mean, error, 1)} bits x 1000",
                limit="≤ 0, two errors allowed",
                holds=mean <= 2.0 * error,
            )
        )
    return out


def _loss(
    prior: Population | str, score: Floats, label: Labels, new: Floats, truth: Labels
) -> float:
    # A calibrator with a population takes the number of draws from it.
    draws = {"draws": DRAWS} if isinstance(prior, str) else {}
    calibrator = ScoreCalibrator(prior_knowledge=prior, random_state=0, **draws)
    calibrator.fit(score, label)
    total = losses(calibrator.decision_function(new), truth == 1)
    return 1000.0 * total.log_loss / total.n


def _mean(values: pd.Series[float]) -> tuple[float, float]:
    return float(values.mean()), float(values.sem())


def _differences(table: pd.DataFrame) -> str:
    rows = [
        {
            "scores": classifier,
            "prior": name,
            "n": n,
            "difference": with_error(*_mean(part[name] - part[VAGUE]), 1),
        }
        for (classifier, n), part in table.groupby(["classifier", "n"], sort=False)
        for name in METHODS[1:]
    ]
    return by_column(pd.DataFrame(rows), "difference", ["scores", "prior"], "n")


if __name__ == "__main__":
    main("history")
