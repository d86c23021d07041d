"""Action items in e-mail (dissertation, chapter 10): measures, intervals, gains, Table 10.7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayescal.metrics import losses
from bayescal.support.validation import Floats
from studies.papers.action_items.trials import (
    CLASSIFIERS,
    Outcomes,
    Trial,
    cross_validation,
    read_files,
    run_trials,
    together,
)
from studies.papers.command import blame_arguments, markdown_table, show
from studies.papers.strive.experiment import GROUPS as GROUPS_OF_TOPICS
from studies.papers.strive.experiment import better_by_t_test, by_topic

if TYPE_CHECKING:
    import pandas as pd


PUBLISHED_MEASURES = ("F1", "error", "C(1,10)", "C(10,1)", "ROC", "ROC[0,.1]")

_NONE = (None, None)
DOCUMENT_WORDS: dict[str, tuple[float, ...]] = {
    "decision tree": (0.7398, 0.2244, 0.5593, 0.3856, 0.8423, 0.4974),
    "unigram": (0.6905, 0.3091, 0.5513, 0.4300, 0.7537, 0.1729),
    "naive Bayes": (0.6729, 0.2688, 0.5432, 0.4692, 0.7745, 0.2773),
    "SVM": (0.6918, 0.2472, 0.5392, 0.3507, 0.8367, 0.4959),
    "kNN": (0.6695, 0.3467, 0.5660, 0.4166, 0.7669, 0.2822),
}
"""By the whole e-mail's words."""

DOCUMENT_NGRAMS: dict[str, tuple[float, ...]] = {
    "decision tree": (0.7412, 0.2110, 0.6228, 0.4005, 0.8473, 0.5458),
    "unigram": (0.7361, 0.2729, 0.5581, 0.4719, 0.8114, 0.2787),
    "naive Bayes": (0.7534, 0.1896, 0.5405, 0.4424, 0.8537, 0.5069),
    "SVM": (0.7392, 0.2124, 0.5780, 0.3361, 0.8640, 0.5503),
    "kNN": (0.7021, 0.2539, 0.5251, 0.4452, 0.8244, 0.4607),
}
"""By the whole e-mail's n-grams."""

SENTENCE_WORDS: dict[str, tuple[float, ...]] = {
    "decision tree": (0.7793, 0.1894, 0.5227, 0.3308, 0.8885, 0.6164),
    "unigram": (0.7731, 0.2136, 0.5815, 0.4746, 0.8645, 0.4637),
    "naive Bayes": (0.7888, 0.1893, 0.5653, 0.4353, 0.8699, 0.4869),
    "SVM": (0.6985, 0.1988, 0.5496, 0.4031, 0.8548, 0.5822),
    "kNN": (0.6328, 0.3803, 0.5629, 0.4098, 0.6823, 0.2065),
}
"""By the scores of an e-mail's sentences, of their words."""

SENTENCE_NGRAMS: dict[str, tuple[float, ...]] = {
    "decision tree": (0.7521, 0.1841, 0.5335, 0.3577, 0.8723, 0.5974),
    "unigram": (0.8012, 0.1868, 0.6126, 0.4503, 0.8723, 0.5362),
    "naive Bayes": (0.8010, 0.1747, 0.5857, 0.4018, 0.8777, 0.5413),
    "SVM": (0.7842, 0.1693, 0.5768, 0.4073, 0.8620, 0.5963),
    "kNN": (0.6811, 0.2647, 0.5615, 0.3872, 0.8078, 0.4424),
}
"""By the scores of an e-mail's sentences, of their n-grams."""

COMBINED: dict[str, tuple[float | None, ...]] = {
    "Majority": (0.8038, 0.1761, 0.5511, 0.3844, *_NONE),
    "Best By Class": (0.8006, 0.1734, 0.6235, 0.3535, *_NONE),
    "Stack-D (norm)": (0.7885, 0.1828, 0.6046, 0.3644, 0.8752, 0.5444),
    "Stack-S (norm)": (0.7765, 0.1814, 0.4797, 0.2970, 0.8996, 0.6400),
    "STRIVE-D (norm)": (0.7718, 0.1949, 0.5512, 0.3724, 0.8724, 0.5333),
    "STRIVE-S (norm)": (0.7813, 0.1868, 0.5056, 0.3134, 0.9145, 0.6436),
    "BestSelect": (0.9894, 0.0134, 0.2486, 0.1411, *_NONE),
}
"""All twenty classifiers combined."""

PUBLISHED: dict[str, tuple[float | None, ...]] = {
    **{f"{algorithm}, words of e-mails": row for algorithm, row in DOCUMENT_WORDS.items()},
    **{f"{algorithm}, n-grams of e-mails": row for algorithm, row in DOCUMENT_NGRAMS.items()},
    **{f"{algorithm}, words": row for algorithm, row in SENTENCE_WORDS.items()},
    **{f"{algorithm}, n-grams": row for algorithm, row in SENTENCE_NGRAMS.items()},
    **COMBINED,
}
"""All of them; by sentences, and of combinations, by the names that methods have here."""


LEVEL = 0.95
# Groups of the dissertation; a letter marks a method significantly better than all others of one.
GROUPS = GROUPS_OF_TOPICS | {"B": CLASSIFIERS}
MEASURES = (*PUBLISHED_MEASURES, "log-loss")
ORACLE = "BestSelect"
# Of the others an interval is in the file, but not in the printed table.
WITH_INTERVALS = ("ROC", "ROC[0,.1]")

Measured = Mapping[str, Mapping[str, Floats]]


def measure(outcomes: Outcomes) -> dict[str, dict[str, Floats]]:
    """Return every method's measures in each trial, by name; larger always better, shape (trials,).

    Minus the mean log-loss in bits is for methods that give probabilities, the ROC area for methods
    that rank.
    """
    out = {}
    for name, found in outcomes.found.items():
        values = by_topic(found, outcomes.truths)
        values["F1"] = values.pop("MacroF1")
        pairs = [(d.log_odds, truth) for d, truth in zip(found, outcomes.truths, strict=True)]
        bits = [
            -losses(odds, truth).log_loss / truth.size for odds, truth in pairs if odds is not None
        ]
        if bits:
            values["log-loss"] = np.array(bits)
        out[name] = {which: values[which] for which in MEASURES if which in values}
    return out


def half_width(values: Floats) -> float:
    """Return t s / sqrt(K), half of the 95 % interval of the mean of K folds, with K - 1 degrees.

    Folds share sentences to learn from, of which this knows nothing: it is somewhat too short.

    Examples
    --------
    >>> round(half_width(np.array([0.8, 0.9, 1.0])), 4)
    0.2484
    """
    from scipy.stats import t

    spread = values.std(ddof=1) / np.sqrt(values.size)
    return float(t.ppf(0.5 + LEVEL / 2.0, values.size - 1) * spread)


def marks(values: Measured, name: str, which: str) -> str:
    """Return the letters of the groups all of whose other members a method is better than.

    By a two-tailed paired t-test over folds, p = .05, as in section 10.8 of the dissertation. No
    method is better by a measure than one that lacks it. The oracle has no marks.
    """
    if name == ORACLE:
        return ""

    def better(other: str) -> bool:
        if which not in values[name] or which not in values[other]:
            return False
        return better_by_t_test(values[name][which] - values[other][which])

    return "".join(
        letter
        for letter, members in GROUPS.items()
        if all(better(other) for other in members if other != name)
    )


def table_of(outcomes: Outcomes) -> pd.DataFrame:
    """Return a row for each method and measure.

    Returns
    -------
    pandas.DataFrame
        Columns method, measure, mean (over trials), half_width (of its 95 % interval: of several
        trials by their spread, of one by DeLong's error of the ROC area and else missing) and
        marks (of several trials).
    """
    import pandas as pd

    values = measure(outcomes)
    several = len(outcomes.truths) > 1
    rows = []
    for name, measured in values.items():
        for which, each in measured.items():
            half = half_width(each) if several else _half_width_of_one(outcomes, name, which)
            letters = marks(values, name, which) if several else ""
            rows.append((name, which, abs(float(each.mean())), half, letters))
    return pd.DataFrame(rows, columns=["method", "measure", "mean", "half_width", "marks"])


def measures_as_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a row a method: 0.8841 ± 0.0102 BD; intervals of ROC areas alone."""
    import pandas as pd

    rows: dict[str, dict[str, str]] = {}
    for row in table.to_dict("records"):
        cell = f"{row['mean']:.4f}"
        if row["measure"] in WITH_INTERVALS and np.isfinite(row["half_width"]):
            cell += f" ± {row['half_width']:.4f}"
        own = rows.setdefault(row["method"], {})
        own[row["measure"]] = f"{cell} {row['marks']}".strip()
    return pd.DataFrame(
        [{"method": name} | {m: own.get(m, "-") for m in MEASURES} for name, own in rows.items()]
    )


def _half_width_of_one(outcomes: Outcomes, name: str, which: str) -> float:
    (decided,), (truth,) = outcomes.found[name], outcomes.truths
    if which != "ROC" or decided.score is None:
        return float("nan")
    from scipy.stats import norm

    return float(norm.ppf(0.5 + LEVEL / 2.0)) * roc_area_error(truth, decided.score)


def roc_area_error(truth: NDArray[np.bool_], score: Floats) -> float:
    """Return the standard error of the area under the ROC curve by DeLong's estimate.

    The area is the mean, over positives, of the share v of negatives that each is above, and the
    mean, over negatives, of the share w of positives above each; its variance is
    var(v) / positives + var(w) / negatives. Ties count one half.

    Parameters
    ----------
    truth : array of shape (n,) of bool
        Labels, at least two of each class.
    score : array of shape (n,)
        Larger for likelier positives.

    References
    ----------
    E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, *Comparing the areas under two or more
    correlated receiver operating characteristic curves*, Biometrics 1988.

    Examples
    --------
    >>> truth = np.array([True, True, False, False])
    >>> round(roc_area_error(truth, np.array([3.0, 1.0, 2.0, 0.0])), 4)
    0.3536
    """
    from scipy.stats import rankdata

    below_positives = (rankdata(score)[truth] - rankdata(score[truth])) / (~truth).sum()
    above_negatives = (rankdata(-score)[~truth] - rankdata(-score[~truth])) / truth.sum()
    shares = (below_positives, above_negatives)
    return float(np.sqrt(sum(share.var(ddof=1) / share.size for share in shares)))


WORDS, NGRAMS = CLASSIFIERS[: len(CLASSIFIERS) // 2], CLASSIFIERS[len(CLASSIFIERS) // 2 :]
# By which methods are compared: the chapter's primary measure, and errors.
COMPARED = ("ROC", "error")
BEST_CLASSIFIER = "the best classifier"


class Comparison(NamedTuple):
    """Two methods, or two groups of methods, whose means are compared.

    Attributes
    ----------
    kind : str
        What is compared, in words.
    first, second : tuple of str
        Methods. The mean of the first group less that of the second is the gain.
    """

    kind: str
    first: tuple[str, ...]
    second: tuple[str, ...]


COMPARISONS = (
    Comparison("n-grams over words, of sentences", NGRAMS, WORDS),
    Comparison(
        "n-grams over words, of whole e-mails",
        tuple(f"{name} of e-mails" for name in NGRAMS),
        tuple(f"{name} of e-mails" for name in WORDS),
    ),
    Comparison("Majority over the best classifier", ("Majority",), (BEST_CLASSIFIER,)),
    Comparison("Stack-S (norm) over the best classifier", ("Stack-S (norm)",), (BEST_CLASSIFIER,)),
    Comparison("Stack-S (norm) over Stack-D (norm)", ("Stack-S (norm)",), ("Stack-D (norm)",)),
    Comparison("STRIVE-S (norm) over Stack-S (norm)", ("STRIVE-S (norm)",), ("Stack-S (norm)",)),
    Comparison("STRIVE-D (norm) over Stack-D (norm)", ("STRIVE-D (norm)",), ("Stack-D (norm)",)),
    Comparison("bayes over Stack-S (norm)", ("bayes",), ("Stack-S (norm)",)),
    Comparison("bayes, indicators over bayes", ("bayes, indicators",), ("bayes",)),
    Comparison(
        "bayes, indicators over STRIVE-S (norm)", ("bayes, indicators",), ("STRIVE-S (norm)",)
    ),
)


def gains(values: Measured) -> pd.DataFrame:
    """Return the gains in ROC area and the reductions in error, a row per comparison.

    The best classifier is that of the best mean by the measure, chosen by hindsight.

    Parameters
    ----------
    values : mapping of str to mapping of str to array of shape (trials,)
        See `measure`; larger is better.

    Returns
    -------
    pandas.DataFrame
        Columns kind; ROC, ROC_half_width, ROC_published and the same of error; nan where a method
        has no ROC area, was not published, or there is one trial.
    """
    import pandas as pd

    published = {
        name: {
            which: np.array([-value if which == "error" else value])
            for which, value in zip(PUBLISHED_MEASURES, row, strict=True)
            if value is not None
        }
        for name, row in PUBLISHED.items()
    }
    rows = []
    for comparison in COMPARISONS:
        row: dict[str, object] = {"kind": comparison.kind}
        for which in COMPARED:
            here, there = (_gain(each, comparison, which) for each in (values, published))
            row[which] = here.mean()
            row[f"{which}_half_width"] = half_width(here) if here.size > 1 else np.nan
            row[f"{which}_published"] = there.item()
        rows.append(row)
    return pd.DataFrame(rows)


def gains_as_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a cell for each gain here, with its interval, and each published."""
    import pandas as pd

    rows = []
    for row in table.to_dict("records"):
        printed = {"kind": row["kind"]}
        for which in COMPARED:
            half = row[f"{which}_half_width"]
            interval = f" ± {half:.4f}" if np.isfinite(half) else ""
            printed[which] = _signed(row[which]) + interval
            printed[f"{which}, published"] = _signed(row[f"{which}_published"])
        rows.append(printed)
    return pd.DataFrame(rows)


def _gain(values: Measured, comparison: Comparison, which: str) -> Floats:
    first, second = (_mean(values, each, which) for each in comparison[1:])
    return first - second


def _mean(values: Measured, names: tuple[str, ...], which: str) -> Floats:
    """Return the mean of some methods in each trial; a single nan if one of them has none."""
    if names == (BEST_CLASSIFIER,):
        names = (max(CLASSIFIERS, key=lambda name: values[name][which].mean()),)
    if any(name not in values or which not in values[name] for name in names):
        return np.array([np.nan])
    return np.asarray(np.mean([values[name][which] for name in names], axis=0))


def _signed(value: float) -> str:
    return f"{value:+.4f}" if np.isfinite(value) else "-"


class Found(NamedTuple):
    """The results of one way to deal the sentences into folds.

    Attributes
    ----------
    measured : pandas.DataFrame
        See `table_of`.
    gains : pandas.DataFrame
        See `gains`.
    """

    measured: pd.DataFrame
    gains: pd.DataFrame

    @property
    def printed(self) -> pd.DataFrame:
        """Return the measures as they are printed."""
        return measures_as_printed(self.measured)

    @property
    def printed_gains(self) -> pd.DataFrame:
        """Return the gains as they are printed."""
        return gains_as_printed(self.gains)


def parts(folder: Path, folds: int, random_state: int = 0) -> dict[str, list[Trial]]:
    """Return the trials of each part of the experiment, by its name.

    The files are two batches with different shares of requests, so that both ways are worth seeing:
    to mix them, and to learn from one and be judged by the other.

    Parameters
    ----------
    folder : Path
        See `read_files`.
    folds : int
        Of the cross-validations.
    random_state : int
        Deals sentences to folds.
    """
    training, test = read_files(folder)
    return {
        "training file": cross_validation(training, folds, random_state),
        "both files": cross_validation(together(training, test), folds, random_state),
        "test file": [Trial(training, test)],
    }


def measure_part(trials: Sequence[Trial], random_state: int = 0, jobs: int = 1) -> Found:
    """Run the trials of a part, and measure what every method decides."""
    outcomes = run_trials(trials, random_state=random_state, jobs=jobs)
    return Found(table_of(outcomes), gains(measure(outcomes)))


def write(found: Mapping[str, Found], folder: Path) -> None:
    """Write all parts: action_items.csv, action_items_gains.csv, and action_items.md as printed."""
    import pandas as pd

    for which, name in (("measured", "action_items"), ("gains", "action_items_gains")):
        tables = [getattr(each, which).assign(sentences=part) for part, each in found.items()]
        path = folder / f"{name}.csv"
        pd.concat(tables).to_csv(path, index=False, float_format="%.6g")
    pages = [
        f"## {part}\n\n{markdown_table(each.printed)}\n\n{markdown_table(each.printed_gains)}\n"
        for part, each in found.items()
    ]
    (folder / "action_items.md").write_text("\n".join(pages), encoding="utf-8")


def run(*, out: Path, jobs: int, seed: int, data: Path, folds: int) -> None:
    """Write the measures and the gains of every part of the experiment."""
    with blame_arguments():
        dealt = parts(data, folds, seed)
    found = {}
    for name, trials in dealt.items():
        print(f"{name}: fitting and combining ten classifiers, {len(trials)} times ...")
        found[name] = measure_part(trials, seed, jobs)
        show(
            f"Action items, {name}",
            found[name].printed,
            "± is half of a 95 % interval. Significantly better (two-tailed t, p = .05) than all"
            " others of B base classifiers, D Best By Class and Majority, S stacking, R STRIVE.",
            "Log-loss in bits a sentence.",
        )
        show(
            f"Gains, {name}",
            found[name].printed_gains,
            "Larger ROC areas and smaller errors are gains. Published gains: whole e-mails.",
        )
    out.mkdir(parents=True, exist_ok=True)
    write(found, out)
    print(f"All measures with their intervals are in {out}.")
