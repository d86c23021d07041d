"""The experiment of Yue, Finley, Radlinski and Joachims (SIGIR 2007) on public data.

The paper uses TREC 9 and 10 with their submitted runs, which are licensed. A constructed collection
and two public ones replace them. Every query trains, validates and tests in equal shares.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import wilcoxon

from bayescal.ranking import SVMMAPRanker, average_precision
from bayescal.support.validation import Floats, Integers
from studies.command import spread_over
from studies.papers.command import blame_arguments, markdown_table, show
from studies.papers.svm_map.baselines import BASELINES, Baseline, BestFunctionRanker
from studies.papers.svm_map.features import BinnedFunctions, read_queries

if TYPE_CHECKING:
    import pandas as pd


# Of the constructed collection.
QUERIES, DOCUMENTS, RELEVANT = 50, 200, 10
SEPARATION = 2.5
SPAM_SHARE, SPAM_SHIFT = 0.05, 5.0
QUERY_OFFSET = 3.0


@dataclass(frozen=True)
class Collection:
    """Documents of queries, each with relevant and other documents.

    Attributes
    ----------
    name : str
        As in tables.
    features : array of shape (documents, features)
        Features.
    relevant : array of shape (documents,) of int
        0 or 1.
    qid : array of shape (documents,) of int
        The query of each document.
    functions : bool
        Whether features are taken for scores by retrieval functions: each ranks by itself, and
        they are binned for the SVMs.
    """

    name: str
    features: Floats
    relevant: Integers
    qid: Integers
    functions: bool

    @property
    def queries(self) -> Integers:
        """The queries."""
        return np.unique(self.qid)


def spam(seed: int = 0) -> Collection:
    """Return 50 queries of 200 documents, 10 of them relevant, where MAP and ROC area differ.

    Two features are equally informative, but one in twenty of the documents that are not relevant
    is far too high on the first: errors at the top, which cost much average precision and little
    ROC area. An offset of each query leaves no threshold that does for all of them.
    """
    rng = np.random.default_rng((seed, 24))
    relevant = np.tile(np.arange(DOCUMENTS) < RELEVANT, QUERIES)
    qid = np.repeat(np.arange(QUERIES), DOCUMENTS)
    features = rng.normal(size=(relevant.size, 2)) + SEPARATION * relevant[:, None]
    lifted = ~relevant & (rng.random(relevant.size) < SPAM_SHARE)
    features[lifted, 0] += SPAM_SHIFT
    features += QUERY_OFFSET * rng.normal(size=QUERIES)[qid][:, None]
    return Collection("constructed", features, relevant.astype(np.intp), qid, functions=False)


def clueweb09(folder: Path) -> Collection:
    """Return queries of the TREC Web Tracks 2009 to 2012, 42 features; grade 1 is relevant."""
    parts = [read_queries(path, n_features=42) for path in _files(folder, "clueweb09/part*.txt*")]
    return _joined("ClueWeb09", parts, least=1, functions=True)


def lightgbm(folder: Path) -> Collection:
    """Return LightGBM's example, 300 sparse features of short lists; grades from 2 are relevant."""
    parts = []
    for path in _files(folder, "lightgbm/rank.*"):
        if path.suffix != ".query":
            sizes = path.with_name(f"{path.name.removesuffix('.xz')}.query")
            parts.append(read_queries(path, n_features=300, group_sizes=sizes))
    # Seven in ten documents have grade 1 or more: only grade 2 tells the good from the rest.
    return _joined("LightGBM", parts, least=2, functions=False)


def read_collections(folder: Path | None, seed: int = 0) -> list[Collection]:
    """Return the constructed collection, and of a folder those that it holds."""
    found = [spam(seed)]
    if folder is None:
        return found
    readers: dict[str, Callable[[Path], Collection]] = {
        "clueweb09": clueweb09,
        "lightgbm": lightgbm,
    }
    found += [read(folder) for name, read in readers.items() if (folder / name).is_dir()]
    if len(found) == 1:
        raise ValueError(f"{folder} must hold a folder {' or '.join(readers)}, got neither.")
    return found


def _files(folder: Path, pattern: str) -> list[Path]:
    files = sorted(folder.glob(pattern))
    if not files:
        raise ValueError(f"{folder} must hold files {pattern}, got none.")
    return files


def _joined(
    name: str, parts: list[tuple[Any, Floats, Integers]], *, least: int, functions: bool
) -> Collection:
    """Return the documents of several files whose queries have both classes."""
    features = np.concatenate([X.toarray() for X, _, _ in parts])
    relevant = np.concatenate([grades for _, grades, _ in parts]) >= least
    # A query is of one file: the same number in another file is another query.
    qid = np.concatenate([own + 1_000_000 * k for k, (_, _, own) in enumerate(parts)])
    _, query, size = np.unique(qid, return_inverse=True, return_counts=True)
    found = np.bincount(query, weights=relevant)
    both = ((found > 0) & (found < size))[query]
    return Collection(
        name, features[both], relevant[both].astype(np.intp), qid[both], functions=functions
    )


# A round of trials has every query train twice, validate once and test seven times.
ROUND = 10


@dataclass(frozen=True)
class Roles:
    """The queries of a trial by their roles, a fifth, a tenth and the rest.

    Attributes
    ----------
    train, validate, test : array of int
        Queries.
    """

    train: Integers
    validate: Integers
    test: Integers


def deal(queries: Integers, trials: int, seed: int = 0) -> list[Roles]:
    """Return the roles of all trials.

    Of 50 queries 10 train, 5 validate and 35 test; after 50 trials each has trained 10 times,
    validated 5 times and been tested 35 times, as in the paper.

    Parameters
    ----------
    queries : array of int
        At least 10.
    trials : int
        A multiple of 10.
    seed : int
        The same seed deals the same roles.

    Examples
    --------
    >>> first = deal(np.arange(50), 50)[0]
    >>> first.train.size, first.validate.size, first.test.size
    (10, 5, 35)
    """
    if queries.size < ROUND or trials < 1 or trials % ROUND:
        raise ValueError(
            f"queries must be at least {ROUND} and trials a multiple of {ROUND}, so that every"
            f" query has each role alike, got {queries.size} and {trials}."
        )
    rng = np.random.default_rng((seed, trials))
    dealt = []
    for _ in range(trials // ROUND):
        tenths = np.array_split(rng.permutation(queries), ROUND)
        for start in range(ROUND):
            turned = tenths[start:] + tenths[:start]
            train, validate, test = turned[:2], turned[2:3], turned[3:]
            dealt.append(Roles(*(np.sort(np.concatenate(p)) for p in (train, validate, test))))
    return dealt


# The paper speaks of a wide range. C weighs a mean loss here: classifiers, whose libraries take the
# sum over documents, get C divided by their number.
COSTS = tuple(10.0**power for power in range(-3, 4))
SVM_MAP = Baseline("SVM-MAP", partial(SVMMAPRanker, loss="map"))


@dataclass(frozen=True)
class Outcome:
    """The measures of a trial.

    Attributes
    ----------
    precisions : dict of pandas.Series
        Average precision of each test query, by contender.
    costs : dict of float
        The C chosen, by contender.
    gap : float
        The largest relative duality gap of the ranking SVMs.
    tightest : float
        The least mean slack minus mean loss of SVM-MAP's fits on their own queries, which
        Proposition 1 says is not negative.
    """

    precisions: dict[str, pd.Series]
    costs: dict[str, float]
    gap: float
    tightest: float


def contenders(collection: Collection) -> list[Baseline]:
    """Return SVM-MAP and the baselines that are installed and have a meaning here."""
    meant = [b for b in BASELINES.values() if collection.functions or b.within_query is None]
    return [SVM_MAP, *(baseline for baseline in meant if baseline.installed)]


def run_trials(collection: Collection, dealt: Sequence[Roles], jobs: int = 1) -> list[Outcome]:
    """Return the outcomes of all trials."""
    outcomes = spread_over(jobs, run_trial, [(collection, roles) for roles in dealt])
    tightest = min(outcome.tightest for outcome in outcomes)
    if tightest < -1e-9:
        raise ValueError(f"slack must bound the loss (Proposition 1), got {tightest:g} below it.")
    return outcomes


def run_trial(collection: Collection, roles: Roles) -> Outcome:
    """Return the outcome of one trial."""
    precisions, costs, gaps, margins = {}, {}, [0.0], [np.inf]
    for contender in contenders(collection):
        train, validate, test = _parts(collection, roles, contender)
        rankers = _rankers(contender, train)
        scores = [ranker.score(*validate[:2], qid=validate[2]) for ranker in rankers]
        best = int(np.argmax(scores))  # of equally good ones the smallest C
        costs[contender.name] = COSTS[best] if contender.has_cost else np.nan
        precisions[contender.name] = average_precision(
            test[1], rankers[best].decision_function(test[0]), test[2]
        )
        for ranker in rankers:
            if isinstance(ranker, SVMMAPRanker):
                gaps.append(ranker.dual_gap_)
                if ranker.loss == "map":
                    loss = 1.0 - ranker.score(*train[:2], qid=train[2])
                    margins.append(ranker.slack_ - loss)
    return Outcome(precisions, costs, max(gaps), min(margins))


def _parts(
    collection: Collection, roles: Roles, contender: Baseline
) -> list[tuple[Any, Integers, Integers]]:
    """Return a ranker's features of training, validation and test queries, and their labels."""
    from sklearn.preprocessing import StandardScaler

    features = contender.features(collection.features, collection.qid)
    masks = [np.isin(collection.qid, which) for which in (roles.train, roles.validate, roles.test)]
    parts = [features[mask] for mask in masks]
    if contender.within_query is None:
        binned = collection.functions and contender.sees_bins
        maker = (BinnedFunctions() if binned else StandardScaler()).fit(parts[0])
        parts = [maker.transform(part) for part in parts]
    return [
        (part, collection.relevant[mask], collection.qid[mask])
        for part, mask in zip(parts, masks, strict=True)
    ]


def _rankers(contender: Baseline, train: tuple[Any, Integers, Integers]) -> list[Any]:
    """Return the contender fitted for every C, or once where it has none."""
    from sklearn.exceptions import ConvergenceWarning

    features, relevant, qid = train
    first = contender.make(COSTS[0])
    with warnings.catch_warnings():
        # How far from the optimum a fit has stopped stands in the outcome.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if isinstance(first, SVMMAPRanker):
            return list(first.fit_path(COSTS, features, relevant, qid=qid))
        share = len(relevant) if contender.cost_of_documents else 1
        costs = [cost / share for cost in COSTS] if contender.has_cost else COSTS[:1]
        return [contender.make(cost).fit(features, relevant, qid=qid) for cost in costs]


SIGNIFICANT = 0.05
BEST = ("best func.", "2nd best", "3rd best")


def query_means(collection: Collection, outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """Return the average precision of each query by each model, a row a query, a column a model.

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
    """Return a row for each model: its MAP, and SVM-MAP's wins and losses against it.

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
            difference = means[SVM_MAP.name] - means[name]
            row |= {"wins": (difference > 0.0).sum(), "losses": (difference < 0.0).sum()}
            row["p_value"] = wilcoxon(difference).pvalue
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


def measure(collection: Collection, dealt: Sequence[Roles], jobs: int = 1) -> pd.DataFrame:
    """Return `table_of` the trials of a collection, with what is known of their fits.

    The largest relative duality gap of the ranking SVMs, and how far the slack of SVM-MAP has at
    least been above the loss.
    """
    outcomes = run_trials(collection, dealt, jobs)
    table = table_of(query_means(collection, outcomes))
    return table.assign(
        largest_gap=max(outcome.gap for outcome in outcomes),
        least_margin=min(outcome.tightest for outcome in outcomes),
    )


def write(tables: Sequence[pd.DataFrame], folder: Path) -> None:
    """Write the tables of all collections: svm_map.csv, and svm_map.md as the paper prints them."""
    import pandas as pd

    pd.concat(tables).to_csv(folder / "svm_map.csv", index=False, float_format="%.6g")
    parts = []
    for table in tables:
        title = table["collection"].iloc[0]
        parts.append(f"## {title}\n\n{markdown_table(as_printed(table))}\n")
    (folder / "svm_map.md").write_text("\n".join(parts), encoding="utf-8")


def run(*, out: Path, jobs: int, seed: int, data: Path | None, trials: int) -> None:
    """Write the mean average precision of every ranker, and SVM-MAP's wins and losses."""
    with blame_arguments():
        collections = read_collections(data, seed)
        dealt = [deal(each.queries, trials, seed) for each in collections]
    tables = []
    for collection, roles in zip(collections, dealt, strict=True):
        print(f"{collection.name}: {trials} trials of {collection.queries.size} queries ...")
        found = measure(collection, roles, jobs)
        show(
            f"{collection.name}: mean average precision, {trials} trials",
            as_printed(found),
            "W/L: queries on which SVM-MAP is better and worse; ** two-sided Wilcoxon test,"
            " p < .05.",
        )
        tables.append(found.assign(collection=collection.name))
    out.mkdir(parents=True, exist_ok=True)
    write(tables, out)
    print(f"The tables are in {out}.")
