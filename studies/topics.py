"""Few positives per topic: topics pooled, unpooled and by peers, on Reuters scores.

python -m studies.topics [--quick]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescal import TopicCalibrator
from bayescal.metrics import losses
from bayescal.support.validation import Floats
from bayescal.text.reuters_scores import CLASSIFIERS, TOPICS
from studies.command import Options, main, spread_over
from studies.papers.sigir2003.experiment import few_positives
from studies.papers.sigir2003.figures import lines
from studies.peers import PEERS, Labels, calibrator
from studies.reporting import (
    Bar,
    by_column,
    fill,
    with_error,
    with_errors,
    write_bars,
    write_figure,
    write_page,
    write_table,
)
from studies.reuters import SIZES, size_name, splits, tick

POOLED = {
    "pooled": ("partial", "auto"),
    "A.Laplace, pooled": ("partial", "asymmetric_laplace"),
    "A.Laplace, unpooled": ("none", "asymmetric_laplace"),
    "A.Laplace, complete": ("complete", "asymmetric_laplace"),
}
UNPOOLED = {
    "Platt": PEERS["Platt"],
    "default, unpooled": calibrator(prior_knowledge="vague", draws=250),
}
NOT_WORSE = (("pooled", "default, unpooled"), ("A.Laplace, pooled", "A.Laplace, unpooled"))
# Pooled with n+ positives per topic should be no worse than Platt with ten times as many.
TEN_TIMES = {3: 30, 5: 50, 10: 100}
# In the prototype, one repeat each.
PROTOTYPE = {("linear_svm", 3): 2162, ("linear_svm", 10): 1933} | {
    ("naive_bayes", 3): 3898,
    ("naive_bayes", 10): 3870,
}
Case = tuple[str, int, int]


def run(options: Options) -> None:
    """Compare all methods; write page, table and figure."""
    repeats = options.size(10, 2)
    sizes = SIZES[:: 3 if options.quick else 1]
    cases = [(c, n, r) for c in CLASSIFIERS for n in sizes for r in range(repeats)]
    index = pd.MultiIndex.from_tuples(cases, names=["classifier", "n", "repeat"])
    bits = pd.DataFrame(spread_over(options.jobs, totals, cases), index)
    grouped = bits.groupby(["classifier", "n"], sort=False)
    table = pd.DataFrame({"mean": grouped.mean().stack(), "error": grouped.sem().stack()})
    table = table.rename_axis(["classifier", "n", "method"]).reset_index()
    write_table(table, options.out, "topics")
    labels = ("positives per topic", "log-loss (bits)")
    figure = lines(table, "n", "method", "classifier", labels, columns=2, tick=tick, log=True)
    write_figure(figure, options.out, "topics")
    write_bars(bars(bits), options.out, "topics")
    write_page("topics", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: total log-loss of all methods."""
    table = pd.read_csv(folder / "topics.csv")
    texts = with_errors(table["mean"], table["error"], 0)
    texts = table.assign(text=texts, size=table["n"].map(size_name))
    return fill("topics", folder, table=by_column(texts, "text", ["classifier", "method"], "size"))


def totals(classifier: str, n_positive: int, repeat: int) -> dict[str, float]:
    """Return each method's log-loss in bits, summed over topics and test documents."""
    rng = np.random.default_rng((CLASSIFIERS.index(classifier), n_positive, repeat))
    out = dict.fromkeys([*POOLED, *UNPOOLED], 0.0)
    fitted: list[tuple[Floats, Labels]] = []
    for topic in TOPICS:
        (score, label), (new, truth) = splits(classifier, topic)
        mask = few_positives(label, n_positive, rng)
        fitted.append((score[mask], label[mask]))
        for name, method in UNPOOLED.items():
            out[name] += losses(method(*fitted[-1], new), truth == 1).log_loss
    scores, labels = (np.concatenate(parts) for parts in zip(*fitted, strict=True))
    topics = np.repeat(TOPICS, [label.size for _, label in fitted])
    for name, (pooling, family) in POOLED.items():
        calibrated = TopicCalibrator(pooling, family, draws=250, random_state=0)
        calibrated.fit(scores, labels, topics)
        for topic in TOPICS:
            _, (new, truth) = splits(classifier, topic)
            log_odds = calibrated.decision_function(new, np.repeat([topic], new.size))
            out[name] += losses(log_odds, truth == 1).log_loss
    return out


def bars(bits: pd.DataFrame) -> list[Bar]:
    """Return bars: against Platt with ten times the positives, unpooled, and the prototype."""
    out = []
    cells = dict(iter(bits.groupby(["classifier", "n"], sort=False)))
    for (classifier, n), part in cells.items():
        where = f"{classifier}, {size_name(n)}"
        pooled = part["pooled"]
        if (many := (classifier, TEN_TIMES.get(n))) in cells:
            platt = cells[many]["Platt"]
            claim = f"{where}: pooled against Platt with {TEN_TIMES[n]}"
            out.append(_no_worse(claim, _difference(pooled, platt), float(platt.mean())))
        for ours, unpooled in NOT_WORSE:
            excess, limit = (part[ours] - part[unpooled]).to_numpy(), float(part[unpooled].mean())
            out.append(_no_worse(f"{where}: {ours} against {unpooled}", _mean(excess), limit))
        if (classifier, n) in PROTOTYPE:
            goal = PROTOTYPE[classifier, n]
            excess = (pooled - goal).to_numpy()
            out.append(_no_worse(f"{where}: pooled against the prototype", _mean(excess), goal))
    return out


def _no_worse(claim: str, difference: tuple[float, float], limit: float) -> Bar:
    mean, error = difference
    return Bar(
        claim=claim,
        measured=f"{with_error(mean, error, 0)} bits more than {limit:.0f}",
        limit="≤ 0, two errors allowed",
        holds=mean <= 2.0 * error,
    )


def _mean(excess: Floats) -> tuple[float, float]:
    return float(excess.mean()), float(excess.std(ddof=1) / excess.size**0.5)


def _difference(one: Any, other: Any) -> tuple[float, float]:
    """Return the difference of two means of different subsets, and its standard error."""
    return float(one.mean() - other.mean()), float(np.hypot(one.sem(), other.sem()))


if __name__ == "__main__":
    main("topics")
