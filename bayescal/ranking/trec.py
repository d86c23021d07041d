"""TREC files of runs and of relevance judgements (qrels), and the measures of ir_measures."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal.ranking.problem import QueriesLeftOutWarning
from bayescal.ranking.queries import opened
from bayescal.support.files import whole_file
from bayescal.support.validation import as_scores, first_of, warn_user

if TYPE_CHECKING:
    import pandas as pd

IDS = ["query_id", "doc_id"]
SCORE, RELEVANCE = "score", "relevance"


def read_run(path: str | Path) -> pd.DataFrame:
    """Read a run, the documents retrieved for each query, from a TREC file.

    A line is `query Q0 document rank score tag`; the rank and the tag are not used. Files that end
    in .gz, .bz2 or .xz are decompressed.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    pandas.DataFrame
        Columns query_id and doc_id, of text, and score; a row for each line.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "bm25.run")
    ...     _ = path.write_text("q1 Q0 d7 1 2.5 bm25")
    ...     run = read_run(path)
    >>> run.to_dict("records")
    [{'query_id': 'q1', 'doc_id': 'd7', 'score': 2.5}]
    """
    parse = _ir_measures().read_trec_run
    return _checked(_read(path, parse, "q1 Q0 d7 1 2.5 bm25"), SCORE, f"{path}: run")


def read_qrels(path: str | Path) -> pd.DataFrame:
    """Read relevance judgements from a TREC file of lines `query 0 document grade`.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    pandas.DataFrame
        Columns query_id and doc_id, of text, and relevance, of whole numbers.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "qrels.txt")
    ...     _ = path.write_text("q1 0 d7 2")
    ...     qrels = read_qrels(path)
    >>> qrels.to_dict("records")
    [{'query_id': 'q1', 'doc_id': 'd7', 'relevance': 2}]
    """
    parse = _ir_measures().read_trec_qrels
    qrels = _checked(_read(path, parse, "q1 0 d7 2"), RELEVANCE, f"{path}: qrels")
    return qrels.drop(columns="iteration")


def write_run(run: pd.DataFrame, path: str | Path, *, tag: str = "bayescal") -> None:
    """Write a run to a TREC file, each query's documents by falling score.

    Parameters
    ----------
    run : pandas.DataFrame
        Columns query_id, doc_id and score.
    path : str or Path
        The file to write or replace; compressed if it ends in .gz, .bz2 or .xz.
    tag : str
        The name of the ranker.
    """
    run = _checked(run, SCORE, "run")
    by_query = run.groupby("query_id", sort=False)
    run = run.assign(q0="Q0", tag=tag, query=by_query.ngroup())
    run = run.sort_values(["query", SCORE], ascending=[True, False], kind="stable")
    run["rank"] = run.groupby("query").cumcount() + 1
    _write(run[["query_id", "q0", "doc_id", "rank", SCORE, "tag"]], path)


def write_qrels(qrels: pd.DataFrame, path: str | Path) -> None:
    """Write relevance judgements to a TREC file.

    Parameters
    ----------
    qrels : pandas.DataFrame
        Columns query_id, doc_id and relevance.
    path : str or Path
        As in `write_run`.
    """
    qrels = _checked(qrels, RELEVANCE, "qrels").assign(iteration=0)
    _write(qrels[["query_id", "iteration", "doc_id", RELEVANCE]], path)


def judge_run(run: pd.DataFrame, qrels: pd.DataFrame) -> pd.DataFrame:
    """Return rows of judged queries with their relevance, for `RelevanceCalibrator` and rankers.

    Documents without a judgement have relevance 0, as in TREC's measures. If many of them are
    relevant, the probabilities of a calibrator fitted to them are too low.

    Parameters
    ----------
    run : pandas.DataFrame
        Columns query_id and doc_id, and any others.
    qrels : pandas.DataFrame
        Columns query_id, doc_id and relevance.

    Returns
    -------
    pandas.DataFrame
        Rows of `run` whose query is in `qrels`, with their index, and the column relevance.

    Examples
    --------
    >>> import pandas as pd
    >>> run = pd.DataFrame({"query_id": list("aab"), "doc_id": list("xyz"), "score": [2, 1, 3]})
    >>> qrels = pd.DataFrame({"query_id": ["a"], "doc_id": ["y"], "relevance": [1]})
    >>> judge_run(run, qrels)["relevance"].to_list()
    [0, 1]
    """
    import pandas as pd

    run, qrels = _checked(run, None, "run"), _checked(qrels, RELEVANCE, "qrels")
    run = run[run["query_id"].isin(_common_queries(run, qrels))]
    grades = qrels.set_index(IDS)[RELEVANCE]
    found = grades.reindex(pd.MultiIndex.from_frame(run[IDS]), fill_value=0)
    return run.assign(**{RELEVANCE: found.to_numpy()})


def evaluate(
    run: pd.DataFrame, qrels: pd.DataFrame, measures: Iterable[Any] = ("AP", "nDCG@10", "RR")
) -> pd.DataFrame:
    """Return measures of a run for each judged query, computed by ir_measures with pytrec_eval.

    They equal those of trec_eval. A query counts 0 without a relevant document among the retrieved,
    or without any. Documents are ranked by falling score, in single precision, and those of equal
    scores by falling doc_id; `average_precision` has other rules.

    Parameters
    ----------
    run : pandas.DataFrame
        Columns query_id, doc_id and score, such as `read_run` returns.
    qrels : pandas.DataFrame
        Columns query_id, doc_id and relevance, whole numbers, such as `read_qrels` returns. Grades
        from 1 on are relevant; Bpref takes grades below 0 as not judged.
    measures : iterable of str or ir_measures.Measure
        Such as "AP", "AP(rel=2)", "RR" (reciprocal rank), "Rprec", "R@100" (recall), "P@10",
        "Bpref", "nDCG@10", whose gain is the grade, and "nDCG(dcg='exp-log2')@10", with
        2^grade - 1.

    Returns
    -------
    pandas.DataFrame
        A row for each query of `qrels`, in order of first appearance. Columns: relevant and
        retrieved, numbers of documents with grades from 1 on and of documents in the run, then the
        measures. `.agg(["mean", "count"])` returns means and their number of queries.

    Warns
    -----
    QueriesLeftOutWarning
        If queries of the run have no judgements.

    Examples
    --------
    >>> import pandas as pd
    >>> run = pd.DataFrame({"query_id": list("aab"), "doc_id": list("xyz"), "score": [2, 1, 3]})
    >>> qrels = pd.DataFrame({"query_id": list("aab"), "doc_id": list("ywx"), "relevance": 1})
    >>> evaluate(run, qrels, ["AP", "RR"]).loc["a"].to_dict()
    {'relevant': 2.0, 'retrieved': 2.0, 'AP': 0.25, 'RR': 0.5}
    >>> evaluate(run, qrels, ["AP", "RR"])["AP"].agg(["mean", "count"]).to_list()
    [0.125, 2.0]
    """
    library = _ir_measures()
    run, qrels = _checked(run, SCORE, "run"), _checked(qrels, RELEVANCE, "qrels")
    judged = _common_queries(run, qrels)
    unknown = run.loc[~run["query_id"].isin(judged), "query_id"].unique()
    if len(unknown):
        warn_user(
            f"{len(unknown)} of {run['query_id'].nunique()} queries of the run are left out:"
            f" qrels has no judgements of {first_of(unknown.tolist())}.",
            QueriesLeftOutWarning,
        )
    by_query = (qrels[RELEVANCE] > 0).groupby(qrels["query_id"], sort=False)
    table = by_query.sum().to_frame("relevant")
    table["retrieved"] = run.groupby("query_id").size().reindex(table.index, fill_value=0)
    ranked, grades = _nested(run, SCORE), _nested(qrels, RELEVANCE)
    gains = {int(grade): 2 ** int(grade) - 1 for grade in qrels[RELEVANCE].unique() if grade > 0}
    for measure in map(_measure, measures):
        name, computed = str(measure), measure
        if measure.NAME == "nDCG" and measure["dcg"] == "exp-log2":
            computed = measure(dcg="log2", gains=gains)
        # One measure a call: of two nDCG of different gains, ir_measures 0.4 confuses the values.
        found = library.iter_calc([computed], grades, ranked)
        table[name] = table.index.map({each.query_id: each.value for each in found})
    return table


def _ir_measures() -> Any:
    try:
        import ir_measures
    except ImportError as err:
        raise ImportError(
            "measures and TREC files need ir-measures, which is not installed: pip install"
            " bayescal[ranking]."
        ) from err
    return ir_measures


# ir_measures' own parse_measure needs ast.Num, which Python 3.14 does not have.
MEASURE = re.compile(r"(\w+)(?:\((\w+)=(.+)\))?(?:@([\d.]+))?")


def _measure(given: Any) -> Any:
    """Return a measure of ir_measures, perhaps given by its name, such as "AP(rel=2)@100"."""
    known = _ir_measures().measures.registry
    try:
        measure = given
        if isinstance(given, str):
            name, option, value, cutoff = MEASURE.fullmatch(given).groups()  # type: ignore[union-attr]
            measure = known[name](**{option: literal_eval(value)} if option else {})
            if cutoff:
                measure @= measure.SUPPORTED_PARAMS[measure.AT_PARAM].dtype(cutoff)
        measure.validate_params()
    except (AttributeError, KeyError, ValueError, SyntaxError, AssertionError) as err:
        raise ValueError(
            "measures must be measures of ir_measures, such as 'AP', 'AP(rel=2)', 'RR', 'R@100' or"
            f" 'nDCG@10', got {given!r}."
        ) from err
    return measure


def _read(path: str | Path, parse: Any, example: str) -> pd.DataFrame:
    """Return the rows of a file that ir_measures parses."""
    import pandas as pd

    rows: list[Any] = []
    with opened(Path(path)) as file:
        for number, line in enumerate(file, start=1):
            try:
                rows.extend(parse(f"{line.decode().rstrip()}\n"))
            except ValueError as err:
                raise ValueError(
                    f"{path} must hold lines like {example!r}, got"
                    f" {line.decode(errors='replace').rstrip()!r} in line {number}: {err}."
                ) from err
    return pd.DataFrame(rows)


def _write(frame: pd.DataFrame, path: str | Path) -> None:
    """Write the cells of a table, without spaces, as lines of a TREC file."""
    lines = [list(map(str, row)) for row in frame.itertuples(index=False)]
    for name in {name for line in lines for name in line}:
        if not re.fullmatch(r"\S+", name):
            raise ValueError(
                f"names of queries, documents and runs must be text without spaces, got {name!r}."
            )
    with whole_file(path) as target, opened(target, "wb") as file:
        file.writelines(f"{' '.join(line)}\n".encode() for line in lines)


def _checked(frame: pd.DataFrame, value: str | None, name: str) -> pd.DataFrame:
    """Return a run or qrels with names as text, once for each query, and valid numbers."""
    columns = [*IDS, value] if value else IDS
    if not set(columns) <= set(getattr(frame, "columns", ())) or frame.empty:
        raise ValueError(
            f"{name} must be a table with columns {', '.join(columns)}, and hold a document."
        )
    if frame[IDS].isna().any(axis=None):
        raise ValueError(f"{name} must name the query and the document in each row.")
    checked = frame.assign(**{column: frame[column].astype(str) for column in IDS})
    repeated = checked.loc[checked.duplicated(IDS), IDS].to_numpy()
    if len(repeated):
        query, document = repeated[0]
        raise ValueError(
            f"{name} must hold each document of a query once, got {document!r} twice for the query"
            f" {query!r}."
        )
    if value is None:
        return checked
    numbers = as_scores(frame[value], f"{name}: {value}")
    if value == RELEVANCE:
        if not np.array_equal(numbers, np.rint(numbers)):
            raise ValueError(f"{name} must hold whole numbers as relevance.")
        numbers = numbers.astype(np.int64)
    return checked.assign(**{value: numbers})


def _common_queries(run: pd.DataFrame, qrels: pd.DataFrame) -> set[str]:
    """Return the names of queries of a run that are judged, at least one."""
    common = set(run["query_id"]) & set(qrels["query_id"])
    if not common:
        raise ValueError(
            "run and qrels must have a query in common, got"
            f" {first_of(run['query_id'].unique())} in the run and"
            f" {first_of(qrels['query_id'].unique())} in qrels."
        )
    return common


def _nested(frame: pd.DataFrame, value: str) -> dict[str, dict[str, float]]:
    """Return the numbers of a table by query and document, as ir_measures takes them."""
    return {
        str(query): dict(zip(rows["doc_id"], rows[value].tolist(), strict=True))
        for query, rows in frame.groupby("query_id")
    }
