"""The experiment of the dissertation's chapter 7: measures, significance, published Table 7.12."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bayescal.metrics import losses, smooth_calibration_error
from bayescal.support.numerics import probability
from bayescal.support.validation import Floats
from studies.papers.command import (
    blame_arguments,
    markdown_table,
    read_corpus,
    show,
    sign_test,
    without_published,
)
from studies.papers.sigir2003.scores import largest_topics
from studies.papers.strive.methods import (
    BASE,
    COMBINATIONS,
    Bools,
    Combination,
    Decided,
    TopicInputs,
    decide_all,
    topic_inputs,
)
from studies.papers.strive.voting import loss_of

if TYPE_CHECKING:
    import pandas as pd


MEASURES = ("MacroF1", "MicroF1", "error", "C(1,10)", "C(10,1)", "ROC", "ROC[0,.1]")
"""The table's columns; means over ten topics, of MicroF1 over all decisions."""

_NONE = (None, None)
PUBLISHED: dict[str, tuple[float | None, ...]] = {
    "decision tree": (0.7846, 0.8541, 0.0242, 0.0799, 0.0537, 0.9804, 0.8844),
    "unigram": (0.7645, 0.8674, 0.0234, 0.0713, 0.0476, 0.9877, 0.9086),
    "naive Bayes": (0.6574, 0.7908, 0.0320, 0.1423, 0.0527, 0.9703, 0.7841),
    "SVM": (0.8545, 0.9122, 0.0145, 0.0499, 0.0389, 0.9893, 0.9429),
    "kNN": (0.8097, 0.8963, 0.0170, 0.0737, 0.0336, 0.9803, 0.9043),
    "Best By Class": (0.8608, 0.9149, 0.0144, 0.0496, 0.0342, *_NONE),
    "Majority": (0.8498, 0.9102, 0.0155, 0.0438, 0.0437, *_NONE),
    "Stack-D": (0.8680, 0.9197, 0.0136, 0.0410, 0.0366, 0.9912, 0.9453),
    "Stack-S": (0.8611, 0.9174, 0.0141, 0.0398, 0.0362, 0.9952, 0.9576),
    "Stack-D (norm)": (0.8680, 0.9197, 0.0136, 0.0410, 0.0366, 0.9912, 0.9453),
    "Stack-S (norm)": (0.8908, 0.9307, 0.0125, 0.0372, 0.0331, 0.9956, 0.9628),
    "STRIVE-D": (0.8551, 0.9162, 0.0141, 0.0461, 0.0364, 0.9913, 0.9509),
    "STRIVE-S": (0.8289, 0.9061, 0.0161, 0.0515, 0.0420, 0.9908, 0.9332),
    "STRIVE-D (norm)": (0.8555, 0.9172, 0.0144, 0.0488, 0.0364, 0.9913, 0.9507),
    "STRIVE-S (norm)": (0.8835, 0.9287, 0.0121, 0.0352, 0.0343, 0.9948, 0.9616),
    "STRIVE-S Local (norm)": (0.8751, 0.9261, 0.0125, 0.0382, 0.0344, 0.9890, 0.9534),
    "STRIVE-S LSelect (norm)": (0.8825, 0.9280, 0.0128, 0.0389, 0.0341, 0.9921, 0.9553),
    "BestSelect": (0.9611, 0.9789, 0.0036, 0.0073, 0.0173, *_NONE),
}


LEVEL = 0.05
# What the dissertation's letters stand for; a letter marks a method that is significantly better
# than all others of a group.
GROUPS = {
    "B": tuple(BASE),
    "D": ("Best By Class", "Majority"),
    "S": ("Stack-D (norm)", "Stack-S (norm)"),
    "R": ("STRIVE-D (norm)", "STRIVE-S (norm)"),
}
# Of the table's columns those of decisions, by the measure that thresholds are best by.
DECISIONS = {"MacroF1": "f1", "error": "error", "C(1,10)": "cost_1_10", "C(10,1)": "cost_10_1"}
WIDTH = 0.1
Found = Mapping[str, Sequence[Decided]]
Groups = Mapping[str, Sequence[str]]
Published = Mapping[str, tuple[float | None, ...]]


def partial_roc_area(truth: Bools, score: Floats, width: float = WIDTH) -> float:
    """Return the mean true-positive rate at false-positive rates from 0 to `width`.

    A ranking at random has width/2. scikit-learn's `max_fpr` rescales this so that it has 1/2.

    Examples
    --------
    >>> partial_roc_area(np.array([True, False, False]), np.array([3.0, 2.0, 1.0]))
    1.0
    """
    from sklearn.metrics import roc_auc_score

    rescaled = float(roc_auc_score(truth, score, max_fpr=width))
    least = width / 2.0
    return ((2.0 * rescaled - 1.0) * (width - width * least) + width * least) / width


def by_topic(found: Sequence[Decided], truths: Sequence[Bools]) -> dict[str, Floats]:
    """Return the measures that are means over topics, larger always better, shape (topics,)."""
    from sklearn.metrics import roc_auc_score

    out = {
        name: -np.array(
            [loss_of(by, each.taken[by], truth) for each, truth in zip(found, truths, strict=True)]
        )
        for name, by in DECISIONS.items()
    }
    if found[0].score is not None:
        pairs = [(truth, each.score) for each, truth in zip(found, truths, strict=True)]
        out["ROC"] = np.array([roc_auc_score(*pair) for pair in pairs])
        out["ROC[0,.1]"] = np.array([partial_roc_area(t, s) for t, s in pairs if s is not None])
    return out


def micro_f1(found: Sequence[Decided], truths: Sequence[Bools]) -> float:
    """Return F1 of all decisions together."""
    taken = np.concatenate([each.taken["f1"] for each in found])
    return -loss_of("f1", taken, np.concatenate(truths))


def strive_table(
    found: Found,
    truths: Sequence[Bools],
    *,
    with_paper: bool = True,
    published: Published = PUBLISHED,
    groups: Groups = GROUPS,
) -> pd.DataFrame:
    """Return the table: a row a method, its measures with marks, and the published ones beside.

    Parameters
    ----------
    found : mapping of str to sequence of Decided
        Of every method, one a topic.
    truths : sequence of array of bool
        Which test documents are of each topic.
    with_paper : bool
        Whether to show the dissertation's figures.
    published : mapping of str to tuple
        These, by method.
    groups : mapping of str to tuple of str
        Methods that each mark compares with.

    Returns
    -------
    pandas.DataFrame
        Columns method, the seven measures, each followed by the published one if asked for; then
        log-loss (bits, total), squared error (total) and smooth calibration error.
    """
    import pandas as pd

    marks = significance_marks(found, truths, groups)
    rows = []
    for name, each in found.items():
        values = {key: abs(float(value.mean())) for key, value in by_topic(each, truths).items()}
        values["MicroF1"] = micro_f1(each, truths)
        row: dict[str, object] = {"method": name}
        printed = published.get(name, (None,) * len(MEASURES))
        for measure, paper in zip(MEASURES, printed, strict=True):
            own = values.get(measure)
            row[measure] = "-" if own is None else f"{own:.4f}{marks[name, measure]}"
            if with_paper:
                row[f"{measure}, paper"] = "-" if paper is None else f"{paper:.4f}"
        rows.append(row | _of_probabilities(each, truths))
    return pd.DataFrame(rows)


def significance_marks(
    found: Found, truths: Sequence[Bools], groups: Groups = GROUPS
) -> dict[tuple[str, str], str]:
    """Return, by method and measure, the letters of groups all of whose members it is better than.

    MicroF1 by a two-sided micro sign test over decisions; the others by a one-sided macro sign
    test or a two-sided t-test over topics; p = .05, as in section 7.2 of the dissertation.
    """
    values = {name: by_topic(each, truths) for name, each in found.items()}
    micro = {name: micro_f1(each, truths) for name, each in found.items()}
    right = {
        name: np.concatenate(
            [own.taken["f1"] == truth for own, truth in zip(each, truths, strict=True)]
        )
        for name, each in found.items()
    }

    def better(name: str, other: str, measure: str) -> bool:
        if measure == "MicroF1":
            one, two = right[name], right[other]
            wins, losses_ = int((one & ~two).sum()), int((two & ~one).sum())
            return micro[name] > micro[other] and sign_test(wins, losses_) < LEVEL
        # Methods without a score have no area to compare.
        if measure not in values[name] or measure not in values[other]:
            return False
        return _better_over_topics(values[name][measure] - values[other][measure])

    out = {}
    for name in found:
        for measure in MEASURES:
            out[name, measure] = "".join(
                letter
                for letter, members in groups.items()
                if _all_of(better(name, other, measure) for other in members if other != name)
            )
    return out


def _all_of(answers: Iterable[bool]) -> bool:
    """Return whether there are answers, and all are yes: a method has no mark for itself alone."""
    found = list(answers)
    return bool(found) and all(found)


def _better_over_topics(difference: Floats) -> bool:
    wins, defeats = int((difference > 0.0).sum()), int((difference < 0.0).sum())
    if sign_test(wins, defeats, alternative="greater") < LEVEL:
        return True
    return better_by_t_test(difference)


def better_by_t_test(difference: Floats) -> bool:
    """Return whether differences have a mean above 0 by a two-sided paired t-test; p = .05.

    Examples
    --------
    >>> better_by_t_test(np.array([0.2, 0.15, 0.25])), better_by_t_test(np.array([0.2, -0.1, 0.3]))
    (True, False)
    """
    from scipy.stats import ttest_1samp

    # Differences that are all the same but for rounding have no t.
    if not difference.std() > 1e-9 * np.abs(difference).max():
        return False
    return bool(difference.mean() > 0.0 and ttest_1samp(difference, 0.0).pvalue < LEVEL)


def _of_probabilities(found: Sequence[Decided], truths: Sequence[Bools]) -> dict[str, str]:
    log_odds = [each.log_odds for each in found if each.log_odds is not None]
    if not log_odds:
        return {"log-loss": "-", "squared error": "-", "calibration error": "-"}
    together, truth = np.concatenate(log_odds), np.concatenate(truths)
    total = losses(together, truth)
    error = float(smooth_calibration_error(truth, probability(together)))
    return {
        "log-loss": f"{total.log_loss:.1f}",
        "squared error": f"{total.squared_error:.2f}",
        "calibration error": f"{error:.5f}",
    }


GROUP_NAMES = {
    "B": "base classifiers",
    "D": "Best By Class and Majority",
    "S": "stacking",
    "R": "STRIVE",
    "O": "online combiners of classifiers alone",
    "I": "online combiners with indicators",
}
PAPER_TOPICS = 10


def run(*, out: Path, jobs: int, seed: int, data: Path | None, topics: int) -> None:
    """Write the measures of every method, with marks, beside the published figures."""
    inputs = read_inputs(data, topics, jobs=jobs, seed=seed)
    table = combine(inputs, COMBINATIONS, jobs=jobs, seed=seed)
    out.mkdir(parents=True, exist_ok=True)
    table.to_csv(out / "strive.csv", index=False)
    (out / "strive.md").write_text(markdown_table(table) + "\n", encoding="utf-8")
    print(f"The table with published figures is in {out}.")


def read_inputs(data: Path | None, topics: int, *, jobs: int, seed: int) -> list[TopicInputs]:
    """Read the corpus, and fit base classifiers and indicators to its largest topics."""
    corpus = read_corpus(data)
    with blame_arguments():
        names = largest_topics(corpus, topics)
    print(f"Fitting five classifiers and their indicators: {len(names)} topics ...")
    return topic_inputs(corpus, names, random_state=seed, jobs=jobs)


def combine(
    inputs: Sequence[TopicInputs],
    combinations: Mapping[str, Combination],
    *,
    published: Published = PUBLISHED,
    groups: Groups = GROUPS,
    jobs: int,
    seed: int,
) -> pd.DataFrame:
    """Return the table of combinations, and print it without the published figures."""
    print(f"Combining them in {len(combinations)} ways ...")
    found = decide_all(inputs, combinations, random_state=seed, jobs=jobs)
    table = strive_table(
        found,
        [each.truth for each in inputs],
        with_paper=len(inputs) == PAPER_TOPICS,
        published=published,
        groups=groups,
    )
    letters = ", ".join(f"{letter} {GROUP_NAMES[letter]}" for letter in groups)
    show(
        f"Combinations: means over {len(inputs)} topics",
        without_published(table),
        f"Significantly better (p = .05) than all others of {letters}.",
        "Log-loss in bits and squared error are totals.",
    )
    return table
