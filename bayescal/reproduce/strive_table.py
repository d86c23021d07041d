"""The table of combinations: seven measures, losses of probabilities, and marks of significance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayescal.bayes import probability
from bayescal.combining.measures import loss_of
from bayescal.metrics import losses, smooth_calibration_error
from bayescal.reproduce.published_strive import MEASURES, PUBLISHED
from bayescal.reproduce.strive import BASE, Bools, Decided
from bayescal.sign_test import sign_test
from bayescal.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

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
    """
    Return the mean true-positive rate at false-positive rates from 0 to `width`.

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
    """
    Return the table: a row a method, its measures with marks, and the published ones beside.

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
    """
    Return, by method and measure, the letters of groups all of whose members it is better than.

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
        # What has no score has no area to compare.
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
    """
    Return whether differences have a mean above 0 by a two-sided paired t-test; p = .05.

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
