"""`bayescal ranking`: measures of TREC runs, and probabilities of the documents retrieved."""

import warnings
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from bayescal.cli import options, reviews, tables
from bayescal.cli.files import check_file
from bayescal.cli.terminal import Screen, UsageError, usage_errors
from bayescal.cli.writing import write_table
from bayescal.support.validation import Floats

ERRORS = (ValueError, OSError, ImportError)
TESTS = ("t", "randomisation")

app = typer.Typer(name="ranking", help="Evaluate and calibrate TREC runs.", no_args_is_help=True)

QRELS = "A TREC file of judgements, lines of query 0 document grade."
Qrels = Annotated[Path, options.argument("QRELS", QRELS)]
RUN = "A TREC file of documents retrieved, lines of query Q0 document rank score tag."
Run = Annotated[Path, options.argument("RUN", RUN)]
Other = Annotated[Path | None, options.argument("OTHER", "A run to compare with the first.")]
MEASURE = "A measure of ir_measures, such as AP, RR, Rprec, R@100, P@10, Bpref or nDCG@10."
Measures = Annotated[list[str] | None, options.option("--measure -m", None, MEASURE)]
THRESHOLD = "The least relevant grade."
Threshold = Annotated[float, options.option("--relevance-threshold", options.FIT, THRESHOLD)]
REPORT = "A report of the new queries to write: P(relevant) and recall by rank."
Report = Annotated[Path | None, options.option("--report", options.OUTPUT, REPORT, "FILE")]


@app.command("evaluate")
def evaluate_runs(
    qrels: Qrels,
    run: Run,
    other: Other = None,
    measure: Measures = None,
    out: options.TableFile = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Measure runs as trec_eval does, and test whether two of them differ.

    [bold]bayescal ranking evaluate qrels.txt bm25.run dense.run -m AP -m nDCG@10[/bold]

    prints means over all judged queries, with p-values of the paired t-test
    and of the randomisation test; --out writes the measures of each query.
    """
    check_file(out)
    import pandas as pd

    from bayescal.ranking import QueriesLeftOutWarning, evaluate, read_qrels, read_run

    screen, asked = Screen(quiet=quiet), measure or ["AP", "nDCG@10", "RR"]
    paths = [run] if other is None else [run, other]
    with screen.warnings(), usage_errors(errors=ERRORS):
        warnings.simplefilter("always", QueriesLeftOutWarning)
        judged = read_qrels(qrels)
        found = {str(path): evaluate(read_run(path), judged, asked) for path in paths}
        first, *second = found.values()
        heads = [path.name for path in paths] + [f"p, {test}" for test in TESTS for _ in second]
        shown = tables.new_table(*heads, words=["mean"])
        for name in first.columns[2:]:
            differences = [(first[name] - each[name]).to_numpy() for each in second]
            p_values = [p for each in differences for p in _p_values(each, seed)]
            means = [table[name].mean() for table in found.values()]
            shown.add_row(name, *map(tables.share, [*means, *p_values]))
    count = f"over {len(first)} queries with judgements"
    none = [name for name in first.index if not first["relevant"][name]]
    notes = [f"without a relevant document, these count 0: {', '.join(none)}"] if none else []
    screen.show(tables.titled(f"Means {count}", shown, *notes))
    if out is not None:
        write_table(pd.concat(found, names=["run"]).reset_index(), out, screen)


def _p_values(difference: Floats, seed: int) -> tuple[float, float]:
    """Return the p-values of the TESTS of a difference by query."""
    from scipy.stats import permutation_test, ttest_1samp

    if difference.size < 2:
        raise UsageError("OTHER needs at least two queries with judgements, got one: omit OTHER.")
    if not difference.any():
        return 1.0, 1.0
    # Of one sample, permutation_type="samples" turns signs.
    turned = permutation_test(
        (difference,),
        np.mean,
        permutation_type="samples",
        n_resamples=10_000,
        random_state=np.random.default_rng(seed),
    )
    return float(ttest_1samp(difference, 0.0).pvalue), float(turned.pvalue)


@app.command("fit")
def fit_run(
    qrels: Qrels,
    run: Run,
    relevance_threshold: Threshold = 1.0,
    recall: reviews.Recall = 0.8,
    assurance: reviews.Assurance = 0.9,
    out: options.TableFile = None,
    report: Report = None,
    level: options.Level = 0.9,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Calibrate a run by its judged queries, and say how far to read the others.

    [bold]bayescal ranking fit qrels.txt bm25.run --recall 0.8 --out probabilities.csv[/bold]

    fits P(relevant) to the documents of judged queries, those without a
    judgement as not relevant, and prints how many documents of each other
    query to read; --out writes their probabilities with bands.
    """
    check_file(out, read=run)
    check_file(report, (".html",), read=run, option="--report")
    from bayescal.ranking import RelevanceCalibrator, judge_run, read_qrels, read_run

    screen = Screen(quiet=quiet)
    with screen.warnings(lambda _: ""), usage_errors(errors=ERRORS):
        retrieved, judgements = read_run(run), read_qrels(qrels)
        # In one order, so that the order of lines changes no draw.
        retrieved = retrieved.sort_values(["query_id", "doc_id"])
        judged = judge_run(retrieved, judgements)
        new = retrieved.drop(judged.index)
        if new.empty:
            raise UsageError(
                f"{run} must hold queries without judgements in {qrels}, to predict, got none."
            )
        model = RelevanceCalibrator(relevance_threshold=relevance_threshold, random_state=seed)
        model.fit(judged["score"], judged["relevance"], judged["query_id"])
        scores, qid = new["score"], new["query_id"]
        stops = model.when_to_stop(scores, qid, recall=recall, probability=assurance)
        lower, upper = model.predict_interval(scores, qid, level).T
        probability = model.predict_proba(scores, qid)[:, 1]
        if report is not None:
            model.report(report, scores, qid, recall=recall, probability=assurance, level=level)
    shown = tables.new_table("documents", "to read", "relevant", "missed", words=["query"])
    for name, row in stops.head(tables.MOST_TOPICS).iterrows():
        counts = (row["documents"], row["stop"], row["relevant"], row["missed"])
        shown.add_row(str(name), *map(tables.number, counts))
    title = f"To read for a recall of {recall:g} with probability {assurance:g}"
    more = tables.more_topics(len(stops), "by their names")
    screen.show(tables.titled(title, shown, "relevant, missed: expected numbers", *more))
    if out is not None:
        table = new.assign(probability=probability, lower=lower, upper=upper).sort_index()
        write_table(table, out, screen)
