"""Few positives per topic: total log-loss on ten Reuters topics, all methods.

python -m studies.reuters [--quick]    on the test split: the report
python -m studies.reuters --choose     within the calibration split: to choose defaults
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayescal import Densities
from bayescal.metrics import losses
from bayescal.text.reuters_scores import CLASSIFIERS, TOPICS
from studies.command import Options, main, spread_over
from studies.papers.sigir2003.experiment import few_positives, splits
from studies.papers.sigir2003.figures import lines
from studies.peers import PEERS, Method, Settings, accepted, calibrator
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


def random_half(label: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return a mask of half of either class.

    Examples
    --------
    >>> int(random_half(np.repeat([1, 0], [10, 40]), np.random.default_rng(0)).sum())
    25
    """
    mask = np.zeros(label.size, dtype=bool)
    for value in (0, 1):
        where = np.flatnonzero(label == value)
        mask[rng.choice(where, where.size // 2, replace=False)] = True
    return mask


# Half of each topic's documents; the whole calibration split would leave nothing to repeat.
ALL = 10**6
SIZES = (3, 5, 10, 20, 30, 50, 100, ALL)
PUBLISHED_SIZES = (3, 5, 10, 20, 50, 100)
FEWER_DRAWS = {"draws": 250}
OURS: dict[str, Settings] = {
    "A.Laplace MLE": {"inference": "mle"},
    "A.Laplace": {"parts": "asymmetric_laplace"} | FEWER_DRAWS,
    "A.Laplace, mean": {"parts": "asymmetric_laplace", "point": "mean"} | FEWER_DRAWS,
    "A.Laplace, median": {"parts": "asymmetric_laplace", "point": "median"} | FEWER_DRAWS,
    "A.Gaussian": {"parts": "asymmetric_gaussian"} | FEWER_DRAWS,
    "Laplace": {"parts": "laplace"} | FEWER_DRAWS,
    "average, stacked": {"parts": "average"} | FEWER_DRAWS,
    "average, evidence": {"parts": Densities("average", averaging="evidence")} | FEWER_DRAWS,
    "monotone": {"parts": "monotone"} | FEWER_DRAWS,
    "logistic": {"parts": "logistic"} | FEWER_DRAWS,
    "recalibrated": {"parts": "recalibrated"} | FEWER_DRAWS,
    "default": {"prior_knowledge": "vague"} | FEWER_DRAWS,
}
PARTS = ("A.Laplace", "monotone", "logistic", "recalibrated")
"""Parts of the default by themselves."""
RIVALS = ("Platt", "isotonic", "beta", "Venn-Abers")
"""Common alternatives; the default should be better in nearly all cells."""
SHOWN = (*RIVALS, "A.Laplace", "monotone", "default")
"""Methods in the figure and in the table of the page."""
PUBLISHED = {
    "linear_svm": {
        "Platt": (3472, 2799, 2404, 2120, 1968, 1915),
        "isotonic": (4336, 3842, 3705, 3053, 2400, 2191),
        "beta": (6905, 5249, 3787, 2708, 1948, 1879),
        "Venn-Abers": (5371, 4192, 3208, 2615, 2157, 1992),
        "A.Laplace": (2247, 2189, 2064, 2001, 1993, 1982),
    },
    "naive_bayes": {
        "Platt": (6083, 5339, 4874, 4406, 4134, 3976),
        "isotonic": (7244, 7420, 5405, 4488, 3766, 3415),
        "beta": (9397, 10060, 5120, 4256, 3645, 3545),
        "Venn-Abers": (6386, 5281, 4432, 3855, 3449, 3252),
        "A.Laplace": (4790, 4313, 4059, 3939, 3819, 3701),
    },
}
"""Published totals at PUBLISHED_SIZES: peers, and a prototype of the asymmetric Laplace."""


def run(options: Options) -> None:
    """Compare all methods; write page, table and figure."""
    methods = PEERS | {name: calibrator(**each) for name, each in accepted(OURS).items()}
    if options.quick:
        methods = {name: methods[name] for name in ("Platt", "beta", "Venn-Abers", "default")}
    name = "reuters_choose" if options.choose else "reuters"
    repeats = options.size(4 if options.choose else 10, 2)
    sizes = SIZES[:: 3 if options.quick else 1]
    cases = [(c, n, r) for c in CLASSIFIERS for n in sizes for r in range(repeats)]
    tasks = [(*case, methods, options.choose) for case in cases]
    parts = spread_over(options.jobs, totals, tasks)
    index = pd.MultiIndex.from_tuples(cases, names=["classifier", "n", "repeat"])
    bits = pd.DataFrame(parts, index)
    grouped = bits.groupby(["classifier", "n"], sort=False)
    table = pd.DataFrame({"mean": grouped.mean().stack(), "error": grouped.sem().stack()})
    table = table.rename_axis(["classifier", "n", "method"]).reset_index()
    table["published"] = [published(*each) for each in table[["classifier", "n", "method"]].values]
    write_table(table, options.out, name)
    labels = ("positives per topic", "log-loss (bits)")
    shown = table[table["method"].isin(SHOWN)]
    write_figure(
        lines(shown, "n", "method", "classifier", labels, columns=2, tick=tick, log=True),
        options.out,
        name,
    )
    if not options.choose:
        write_bars(_bars(bits), options.out, name)
    write_page(name, options.out, page(options.out, name))


def page(folder: Path, name: str) -> str:
    """Return the page: total log-loss of the figure's methods."""
    table = pd.read_csv(folder / f"{name}.csv")
    shown = table[table["method"].isin(SHOWN)]
    texts = with_errors(shown["mean"], shown["error"], 0)
    sizes = shown["n"].map(size_name)
    shown = shown.assign(text=texts, size=sizes)
    return fill(name, folder, table=by_column(shown, "text", ["classifier", "method"], "size"))


def published(classifier: str, n: int, method: str) -> float:
    """Return the published total, nan if there is none."""
    totals = dict(zip(PUBLISHED_SIZES, PUBLISHED[classifier].get(method, ()), strict=False))
    return float(totals.get(n, np.nan))


def totals(
    classifier: str, n_positive: int, repeat: int, methods: dict[str, Method], choose: bool
) -> dict[str, float]:
    """Return each method's log-loss in bits, summed over topics and test documents."""
    rng = np.random.default_rng((CLASSIFIERS.index(classifier), n_positive, repeat))
    out = dict.fromkeys(methods, 0.0)
    for topic in TOPICS:
        (score, label), (new, truth) = splits(classifier, topic)
        if choose:
            # One half to calibrate with, the other to test on: the test split is not read.
            half = random_half(label, rng)
            (new, truth), (score, label) = (score[~half], label[~half]), (score[half], label[half])
        mask = few_positives(label, n_positive, rng)
        for name, method in methods.items():
            log_odds = method(score[mask], label[mask], new)
            out[name] += losses(log_odds, truth == 1).log_loss
    return out


def size_name(n: int) -> str:
    """Return the label of a number of positives in tables."""
    return f"n+ = {n}" if n < ALL else "half of all"


def tick(n: int) -> str:
    """Return the label of a number of positives on axes."""
    return str(n) if n < ALL else "half"


def _bars(bits: pd.DataFrame) -> list[Bar]:
    """Return bars: the default against Platt, the best peer, the best part and the prototype."""
    out = []
    sizes = bits.index.unique("n")
    for classifier, n in [(classifier, n) for classifier in CLASSIFIERS for n in sizes]:
        repeats = bits.xs((classifier, n), level=("classifier", "n"))
        totals_of = {str(name): each.to_numpy() for name, each in repeats.items()}
        mean_of = {name: each.mean() for name, each in totals_of.items() if name in PEERS}
        peer = min(mean_of, key=mean_of.__getitem__)
        parts = [name for name in totals_of if name in PEERS or name in PARTS]
        best = min(parts, key=lambda name: float(totals_of[name].mean()))
        limits = {name: totals_of[name] for name in dict.fromkeys(("Platt", peer, best))}
        if n in PUBLISHED_SIZES:
            prototype = PUBLISHED[classifier]["A.Laplace"][PUBLISHED_SIZES.index(n)]
            limits["the prototype"] = np.full(len(repeats), float(prototype))
        for name, limit in limits.items():
            excess = totals_of["default"] - limit
            mean, error = excess.mean(), excess.std(ddof=1) / excess.size**0.5
            allowed = max(2.0 * error, 0.02 * float(limit.mean()))
            out.append(
                Bar(
                    claim=f"{classifier}, {size_name(n)}: default against {name}",
                    measured=f"{with_error(mean, error, 0)} bits more",
                    limit="≤ 0, two errors or 2 % allowed",
                    holds=bool(mean <= allowed),
                )
            )
    return out + [_cells(bits, peer) for peer in RIVALS]


def _cells(bits: pd.DataFrame, peer: str) -> Bar:
    """Return a bar: the default's mean is lower than a peer's in seven of eight cells."""
    means = bits.groupby(["classifier", "n"]).mean()
    better = int((means["default"] < means[peer]).sum())
    least = -(-7 * len(means) // 8)
    return Bar(
        claim=f"default better than {peer}, cells",
        measured=f"{better} of {len(means)}",
        limit=f"≥ {least}",
        holds=better >= least,
    )


if __name__ == "__main__":
    main("reuters")
