"""The tables of the paper: MAP of each model, and on how many queries SVM-MAP wins and loses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bayescal.ranking import BestFunctionRanker, average_precision, compare_rankings
from bayescal.reproduce.svm_map.collections import Collection
from bayescal.reproduce.svm_map.trials import SVM_MAP, Outcome

if TYPE_CHECKING:
    import pandas as pd

SIGNIFICANT = 0.05
BEST = ("best func.", "2nd best", "3rd best")


def query_means(collection: Collection, outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """
    Return the average precision of each query by each model, a row a query, a column a model.

    The mean over the trials in which the query is a test query. The best functions, which are
    chosen by the same queries they are measured on, are those of hindsight.
    """
    import pandas as pd

    found = {
        name: pd.concat([outcome.precisions[name] for outcome in outcomes]).groupby(level=0).mean()
        for name in outcomes[0].precisions
    }
    if collection.functions:
        for place, name in enumerate(BEST[: collection.features.shape[1]], start=1):
            data = (collection.features, collection.relevant, collection.qid)
            best = BestFunctionRanker(place).fit(*data)
            scores = best.decision_function(collection.features)
            found[name] = average_precision(collection.relevant, scores, collection.qid)
    return pd.DataFrame(found)


def table_of(means: pd.DataFrame) -> pd.DataFrame:
    """
    Return a row for each model: its MAP, and SVM-MAP's wins and losses against it.

    Returns
    -------
    pandas.DataFrame
        Columns model, map, wins, losses and p_value, of the two-sided Wilcoxon signed-rank test;
        of SVM-MAP itself the last three are missing.
    """
    import pandas as pd

    rows = []
    for name in means:
        row: dict[str, object] = {"model": name, "map": means[name].mean()}
        if name != SVM_MAP.name:
            found = compare_rankings(means[SVM_MAP.name], means[name])
            row |= {"wins": found.wins, "losses": found.losses, "p_value": found.p_value}
        rows.append(row)
    return pd.DataFrame(rows, columns=["model", "map", "wins", "losses", "p_value"])


def as_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table as the paper prints it: `39/11 **` where p is below 0.05."""
    import pandas as pd

    rows = []
    for row in table.to_dict("records"):
        against = "-"
        if row["model"] != SVM_MAP.name:
            mark = " **" if row["p_value"] < SIGNIFICANT else ""
            against = f"{row['wins']:.0f}/{row['losses']:.0f}{mark}"
        rows.append({"Model": row["model"], "MAP": f"{row['map']:.3f}", "W/L": against})
    return pd.DataFrame(rows)
