"""Contents of the calibration report, and `write_report`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal.fitting.problems.problem import (
    Calibrator,
    FittedProblem,
    Problems,
    problems_of,
    problems_of_each,
)
from bayescal.fitting.scores import BinaryScores
from bayescal.report import answer as answers
from bayescal.report.held_out import HeldOut, join, predict, read_labelled, read_labelled_topics
from bayescal.report.rendering import describe_model, describe_run, page_words, unpacked, write_page
from bayescal.report.topic import PRIORS, ReadingGoal, Size, describe_topic
from bayescal.support.files import check_target
from bayescal.support.validation import check_flag, check_fraction

if TYPE_CHECKING:
    from bayescal.report.evidence import Evidence

# Provenance: versions, arguments, seed, and a hash of the data.

HASH_NOTE = (
    "SHA-256 over the topics in the order of the calibrator: the name in UTF-8, the scores as"
    " little-endian float64, the labels as bytes 0 and 1."
)


def _hash(topics: Iterable[tuple[str, BinaryScores]]) -> str:
    """Return the hash of the documents of topics by name; empty if none are known."""
    known = [(name, each) for name, each in topics if each.score.size]
    total = hashlib.sha256()
    for name, documents in known:
        total.update(name.encode())
        total.update(documents.score.astype("<f8").tobytes())
        total.update(documents.positive.astype(np.uint8).tobytes())
    return total.hexdigest() if known else ""


NAMES = {"point": "posterior", "mle": "maximum likelihood"}


def _facts(
    problems: Sequence[FittedProblem],
    predicted: Mapping[Any, HeldOut],
    tested: dict[str, Any] | None,
) -> dict[str, str]:
    """Describe the data of all topics in words."""
    counts = np.array([problem.counts for problem in problems])
    negatives, positives = counts.sum(axis=0)
    classes = [str(label) for label in problems[0].labels.tolist()]
    out = {
        "Topics": f"{len(problems):,}",
        "Scores fitted": f"{negatives + positives:,.6g}",
        f"Positives (class {classes[1]})": f"{positives:,.6g}",
        f"Negatives (class {classes[0]})": f"{negatives:,.6g}",
        "Fewest positives of a topic": f"{counts[:, 1].min():,.6g}",
    }
    if len(problems) == 1:
        del out["Topics"], out["Fewest positives of a topic"]
    scores = [each.documents.score for each in problems if each.documents.score.size]
    if scores:
        low, high = min(each.min() for each in scores), max(each.max() for each in scores)
        out["Scores from, to"] = f"{low:.4g}, {high:.4g}".replace("-", "\N{MINUS SIGN}")
    held_out = sum(each.positive.size for each in predicted.values())
    out["Scores held out"] = f"{held_out:,}" if held_out else "none given"
    for name, losses in (tested or {}).items():
        out[f"Log-loss per held-out document, {NAMES[name]}"] = f"{losses['log_loss']:.4g} bits"
    return out


Source = Calibrator | Mapping[str, Calibrator]

AXES = {
    "scores": "score",
    "log_odds": "score (log-odds)",
    "probabilities": "log-odds of the score (a probability)",
}


def gather(
    source: Source,
    *,
    test: Any,
    fitted: Any,
    level: float,
    collection: Any = None,
    threshold: float | None = None,
    recall: float = 0.9,
    likelihood_ratio: bool = False,
) -> dict[str, Any]:
    """Return the values of the page's template, with its data; see `write_report`."""
    problems = _problems_of(source)
    if not problems:
        raise ValueError(
            "a report needs a topic, and this calibrator has none: add one with add_topics."
        )
    first = next(iter(problems.values()))
    first.check_one_curve("a report")
    held_out = _held_out(problems, first, test)
    if likelihood_ratio and not held_out:
        raise ValueError("likelihood_ratio=True needs test: LRs of held-out comparisons.")
    fitted = _fitted(problems, first, fitted)
    at = None if threshold is None else float(first.read([threshold], "threshold")[0])
    asked, size = ReadingGoal(at, recall, level), Size.of(len(problems))
    shown = {
        name: replace(each, documents=fitted[name]) if name in fitted else each
        for name, each in problems.items()
    }
    predicted = {name: predict(shown[name], held_out[name]) for name in shown if name in held_out}
    topics = [
        describe_topic(each, predicted.get(name), asked, size) for name, each in shown.items()
    ]
    rows = [
        answers.row_of(k, each, topic, with_test=bool(held_out))
        for k, (each, topic) in enumerate(zip(shown.values(), topics, strict=True))
    ]
    tested = join(list(predicted.values())).reliability(level) if predicted else None
    hashes = {
        "Scores fitted": _hash((each.name, each.documents) for each in shown.values()),
        "Scores held out": _hash((shown[name].name, held_out[name]) for name in predicted),
    }
    reading: list[answers.CollectionRow] = []
    if collection is not None:
        reading = answers.read_collection(problems, collection, threshold, recall, level)
    evidence = _evidence(problems, held_out, level) if likelihood_ratio else None
    data = {
        "level": level,
        "classes": [str(label) for label in first.labels.tolist()],
        "axis": AXES[first.scores_are],
        "words": page_words(),
        "recall": recall,
        "priors": PRIORS.tolist(),
        "topics": topics,
        "test": tested if len(topics) > 1 else None,
        "evidence": [] if evidence is None else evidence.figures,
        "collection": {row.name: {"at": row.at, "wanted": row.wanted} for row in reading},
    }
    point = None if tested is None else tested["point"]
    right = [topic["test"]["point"]["calibrated"] for topic in topics if topic["test"]]
    return {
        "data": data,
        # Topics in the order of the table
        "rows": answers.ranked(rows),
        "choice_columns": answers.choice_columns(asked),
        "fact_columns": answers.fact_columns(with_test=bool(held_out)),
        "facts": _facts(list(shown.values()), predicted, tested),
        "problems": sum(bool(topic["problems"]) for topic in topics),
        "answer": answers.answer_of(point, (right.count(False), len(right))),
        "asked": asked,
        "run": describe_run(first.tree),
        "hashes": {name: value for name, value in hashes.items() if value},
        "collection": reading,
        "collection_columns": answers.COLLECTION,
        "evidence": evidence,
        "draws": unpacked(topics[0]["draws"]).shape[0],
        "first": topics[0],
        "classes": data["classes"],
        "overall": data["test"],
        "model": describe_model(
            first.describe(several=isinstance(source, Mapping) and len(problems) > 1)
        ),
    }


def _evidence(problems: Problems, held_out: dict[Any, BinaryScores], level: float) -> Evidence:
    """Return the weight of evidence of all held-out scores."""
    from bayescal.likelihood_ratio.ratios import join_ratios, ratios_of
    from bayescal.report.evidence import evidence_of

    ratios = [
        ratios_of(problems[name], problems[name].shown(documents.score), level=level)
        for name, documents in held_out.items()
    ]
    positive = np.concatenate([each.positive for each in held_out.values()])
    return evidence_of(positive, join_ratios(ratios), level=level)


def _problems_of(source: Source) -> Problems:
    if not isinstance(source, Mapping):
        return problems_of(source)
    if not source:
        raise ValueError("calibrators must hold at least one fitted calibrator, got none.")
    return problems_of_each(source)


def _held_out(problems: Problems, first: FittedProblem, test: Any) -> dict[Any, BinaryScores]:
    if test is None:
        return {}
    if problems.by_topic:
        return read_labelled_topics(test, first, problems)
    return {first.name: read_labelled(test, first)}


def _fitted(problems: Problems, first: FittedProblem, documents: Any) -> dict[Any, BinaryScores]:
    """Return the documents fitted, for calibrators that do not store them."""
    if documents is None:
        return {}
    if first.documents.score.size:
        raise ValueError("fitted is for a TopicCalibrator: a ScoreCalibrator keeps its scores.")
    return read_labelled_topics(documents, first, problems, "fitted")


def write_report(
    calibrators: Source,
    path: str | Path,
    *,
    test: Any = None,
    fitted: Any = None,
    collection: Any = None,
    level: float = 0.9,
    threshold: float | None = None,
    recall: float = 0.9,
    likelihood_ratio: bool = False,
    title: str | None = None,
) -> Path:
    """Write a report: one HTML file that needs no network, whole or not at all.

    Parameters
    ----------
    calibrators : ScoreCalibrator, TopicCalibrator or mapping of str to ScoreCalibrator
        Fitted; from a mapping the page shows one at a time. A calibrator or classifier of several
        classes has its own page, with the arguments `test` (a pair of documents for its
        `predict_proba` and their classes), `level` and `title`.
    path : str or Path
        The file to write or replace, in an existing folder.
    test : DataFrame or tuple, optional
        Held-out scores and labels, and with topics the topic of each: columns score, label and
        topic, or arrays in this order. Topics may lack held-out documents.
    fitted : DataFrame or tuple, optional
        For a `TopicCalibrator`, which does not store them, the scores fitted, in the same form.
        Histograms and empirical log-odds need them; expected costs use the model's own density of
        scores without them.
    collection : array-like, DataFrame, tuple or ScoreCounts, optional
        Scores of unlabelled documents to read from, with topics as columns score and topic or as
        two arrays; or counts of scores by `bayescal.condense`. The report states the documents to
        read, and the positives found and missed, as `bayescal.decisions.rates_by_topic` and
        `thresholds_by_topic` with ``random_state=0``.
    level : float
        Posterior probability of the bands at each score.
    threshold : float, optional
        Least score for which the report states precision and recall; by default the score at which
        each topic's probability is one half.
    recall : float
        Share of positives for which the report states a threshold.
    likelihood_ratio : bool
        Add a section on the weight of evidence, the quality of likelihood ratios of the held-out
        scores of all topics. For comparisons that share sources see `write_validation`.
    title : str, optional
        Title of the page.

    Returns
    -------
    Path
        Path of the file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from bayescal import ScoreCalibrator
    >>> scores, labels = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> calibrator = ScoreCalibrator(random_state=0).fit(scores, labels)
    >>> with TemporaryDirectory() as folder:
    ...     write_report(calibrator, f"{folder}/report.html").stat().st_size < 500_000
    True
    """
    check_fraction(level=level, recall=recall)
    check_flag(likelihood_ratio=likelihood_ratio)
    if getattr(calibrators, "several_classes", False):
        if likelihood_ratio or not (fitted is collection is threshold is None):
            raise ValueError(
                "fitted, collection, threshold and likelihood_ratio must be left out for several"
                " classes: they are for one score."
            )
        from bayescal.report.classes import write_class_report

        return write_class_report(calibrators, path, test=test, level=level, title=title)
    target = check_target(path)
    contents = gather(
        calibrators,
        test=test,
        fitted=fitted,
        collection=collection,
        level=level,
        threshold=threshold,
        recall=recall,
        likelihood_ratio=likelihood_ratio,
    )
    return write_page(
        target,
        "report",
        contents.pop("data"),
        title=title,
        level=level,
        hash_note=HASH_NOTE,
        **contents,
    )
