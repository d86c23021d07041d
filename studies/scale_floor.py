"""Choose the default floor under maximum-likelihood scales, by held-out log-loss.

Calibration split only: fit on a random subset with n+ positives per topic (negatives in
proportion), score the rest of the split. The test split is not read.

    python -m studies.scale_floor [--quick]
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from bayescal.families import FAMILIES, Family, automatic_floor
from bayescal.fitting.engines.point_estimates import ClassFits
from bayescal.fitting.scores import BinaryScores
from bayescal.metrics import losses
from bayescal.support.numerics import class_prior
from bayescal.support.validation import Floats
from bayescal.text.reuters_scores import CLASSIFIERS, TOPICS, load_reuters_scores
from studies.command import Options, main, spread_over
from studies.papers.sigir2003.experiment import few_positives
from studies.reporting import by_column, fill, write_page, write_table

FACTORS = (1e-12, 0.1, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
POSITIVES = (3, 10, 30, 100)
REPEATS = 10


def run(options: Options) -> None:
    """Compare floors; write page and table."""
    sizes = POSITIVES[:1] if options.quick else POSITIVES
    cases = [(c, f, n) for c in CLASSIFIERS for f in sorted(FAMILIES) for n in sizes]
    tasks = [(*case, options.size(REPEATS, 2)) for case in cases]
    rows = []
    for case, bits in zip(cases, spread_over(options.jobs, held_out_bits, tasks), strict=True):
        mean, error = bits.mean(axis=0), bits.std(axis=0, ddof=1) / len(bits) ** 0.5
        rows += [(*case, *each) for each in zip(FACTORS, mean, error, strict=True)]
    columns = ["classifier", "family", "n", "factor", "mean", "error"]
    table = pd.DataFrame(rows, columns=columns)
    write_table(table, options.out, "scale_floor")
    write_page("scale_floor", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: held-out bits of the asymmetric Laplace by factor."""
    table = pd.read_csv(folder / "scale_floor.csv")
    shown = table[table["family"] == "asymmetric_laplace"]
    texts = [f"{m:.4g} ± {e:.2g}" for m, e in zip(shown["mean"], shown["error"], strict=True)]
    shown = shown.assign(text=texts, factor=shown["factor"].map("{:g}".format))
    return fill(
        "scale_floor", folder, table=by_column(shown, "text", ["classifier", "n"], "factor")
    )


def held_out_bits(classifier: str, family: str, n_positive: int, repeats: int) -> np.ndarray:
    """Return held-out bits x 1000 a decision, mean over topics; shape (repeats, factors)."""
    rng = np.random.default_rng(n_positive)
    tables = [load_reuters_scores(classifier, topic, "calibration") for topic in TOPICS]
    columns = [(rows["score"].to_numpy(), rows["label"].to_numpy()) for rows in tables]
    return 1000 * np.array(
        [
            np.mean([_of_topic(FAMILIES[family], *each, n_positive, rng) for each in columns], 0)
            for _ in range(repeats)
        ]
    )


def _of_topic(
    family: Family, score: np.ndarray, label: np.ndarray, n_positive: int, rng: np.random.Generator
) -> list[float]:
    mask = few_positives(label, n_positive, rng)
    data = BinaryScores(score[mask], label[mask] == 1)
    out = []
    for factor in FACTORS:
        clipped = np.clip(_log_odds(family, data, factor, score[~mask]), -1e12, 1e12)
        out.append(losses(clipped, label[~mask] == 1).log_loss / int((~mask).sum()))
    return out


def _log_odds(family: Family, data: BinaryScores, factor: float, new: Floats) -> Floats:
    """Return log-odds of fits with floor factor * pooled spread / sqrt(class size)."""
    spread = data.centre_and_spread[1]
    negative, positive = (
        family.fit(*data.of_class(k), scale_floor=automatic_floor(spread, data.total(k), factor))
        for k in (False, True)
    )
    prior = class_prior(data.total(True), data.total())
    return ClassFits(family, negative, positive, prior).log_odds(new)


if __name__ == "__main__":
    main("scale_floor")
