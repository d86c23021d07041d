"""The reproduction's tables: on the screen, and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from bayescal.cli.layout import add_columns, new_table, titled

if TYPE_CHECKING:
    import pandas as pd

TITLES = {"naive_bayes": "Naive Bayes", "linear_svm": "Linear SVM"}
LEGEND = (
    "Marked: the best of the paper's methods. * better than all others in a two-sided micro sign"
    " test at p = .01; † than all but raw; ‡ than all but A.Gauss and raw.",
)
# By the letters that mark combinations.
GROUP_NAMES = {
    "B": "base classifiers",
    "D": "Best By Class and Majority",
    "S": "stacking",
    "R": "STRIVE",
    "O": "online combiners of classifiers alone",
    "I": "online combiners with indicators",
}


def reuters_table(classifier: str, shown: pd.DataFrame, decisions: int) -> Group:
    """Return a classifier's totals beside the paper's."""
    title = f"{TITLES[classifier]}: totals over {decisions} decisions, log-loss in bits"
    return _group(title, shown, *LEGEND)


def small_data_table(classifier: str, shown: pd.DataFrame, repeats: int) -> Group:
    """Return the total log-loss of every method by the number of positives."""
    title = f"{TITLES[classifier]}: log-loss in bits, mean of {repeats} repeats ± standard error"
    return _group(title, shown)


def strive_screen(table: pd.DataFrame, topics: int, groups: Iterable[str]) -> Group:
    """Return the table of combinations without the published figures, which are in the file."""
    shown = table[[name for name in table.columns if not str(name).endswith(", paper")]]
    letters = ", ".join(f"{letter} {GROUP_NAMES[letter]}" for letter in groups)
    note = (
        f"Significantly better (p = .05) than all others of {letters}. Log-loss in bits and squared"
        " error are totals."
    )
    return _group(f"Combinations: means over {topics} topics", shown, note)


def rounds_screen(table: pd.DataFrame, topics: int) -> Group:
    """Return what online combiners lose on training documents before their labels are told."""
    shown = table.set_index("method").map(lambda value: f"{value:.0f}".replace("nan", "-"))
    title = f"Online: totals over the training documents of {topics} topics, one pass"
    return _group(title, shown.reset_index(), "The best of each topic in hindsight, then rules.")


def label_screen(table: pd.DataFrame, tasks: int, protocol: str) -> Group:
    """Return the table of learning across tasks without the published figures."""
    shown = table[[name for name in table.columns if not str(name).endswith(", paper")]]
    note = (
        f"Better than {shown['method'].iloc[0]} in a one-sided sign test over tasks: ** at p = .01,"
        " * at .05. norm Error is over that of always predicting the likelier class; log-loss in"
        " bits, inf where a method was certain and wrong."
    )
    return _group(f"Means over {tasks} tasks, {protocol}", shown, note)


def svm_map_table(collection: str, shown: pd.DataFrame, trials: int) -> Group:
    """Return the mean average precision of every ranker, and SVM-MAP's wins and losses."""
    title = f"{collection}: mean average precision, {trials} trials"
    note = "W/L: queries on which SVM-MAP is better and worse; ** two-sided Wilcoxon test, p < .05."
    return _group(title, shown, note)


def action_items_table(part: str, shown: pd.DataFrame) -> Group:
    """Return the measures of every method on one part of the experiment."""
    note = (
        "± is half of a 95 % interval. Significantly better (two-tailed t, p = .05) than all others"
        " of B base classifiers, D Best By Class and Majority, S stacking, R STRIVE. Log-loss in"
        " bits a sentence."
    )
    return _group(f"Action items, {part}", shown, note)


def action_items_comparisons(part: str, shown: pd.DataFrame) -> Group:
    """Return what gained over what, beside the published gains."""
    note = "Larger ROC areas, and smaller errors, are gains. Published gains are of whole e-mails."
    return _group(f"Gains, {part}", shown, note)


def markdown_page(shown: Mapping[str, pd.DataFrame]) -> str:
    """Return the tables of both classifiers as a Markdown document."""
    from bayescal.reproduce.markdown import markdown_table

    parts = [f"## {TITLES[name]}\n\n{markdown_table(table)}\n" for name, table in shown.items()]
    return "\n".join(parts)


def _group(title: str, shown: pd.DataFrame, *notes: str) -> Group:
    table = new_table()
    first, *others = map(str, shown.columns)
    add_columns(table, [first], justify="left")
    add_columns(table, others)
    for row in shown.itertuples(index=False):
        table.add_row(*(Text(str(cell)) for cell in row))
    return titled(title, table, *notes)
