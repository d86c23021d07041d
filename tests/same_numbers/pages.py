"""Contents of pages and exported files: shown numbers, bins, answers, curves, facts."""

from functools import partial

import numpy as np

from bayescal.fitting.problems.problem import Documents
from bayescal.report import answer, document, held_out, rendering, topic
from bayescal.report.export import writing
from tests.shell_answers import digest, digest_of_text
from tests.small_fits import (
    LABELS,
    NEW,
    NEW_LABELS,
    SCORES,
    TOPIC_LABELS,
    TOPIC_SCORES,
    TOPICS,
    WEIGHTS,
    one,
    topics,
)

SHOWN = [None, 0.0, 1.0, -2.0, 0.5, 99.94, 100.0, 123456.7, -0.01234, 1e-7, 12.0, 9.94, 9.95, 9.96,
         0.095, 0.0949, 0.0095, 0.00949, 0.905, 0.9051, 0.9905, 0.99051, 0.99999, -0.3]  # fmt: skip
FITTED = Documents.of(SCORES, LABELS == 1, WEIGHTS.astype(float))
KNOWN = {"score": TOPIC_SCORES, "label": TOPIC_LABELS, "topic": TOPICS}
TRUTH = NEW_LABELS == 1
LOG_ODDS = 1.3 * NEW - 0.4


def shown():
    """Return numbers as pages show them."""
    functions = (rendering.short, rendering.percent, rendering.count)
    cells = [answer.Cell(0.3), answer.Cell(None), answer.Cell(0.31, 0.2, 0.42, "percent"),
             answer.Cell(1234.5, 1000.0, 2000.0, "count")]  # fmt: skip
    return [
        *([function(value) for value in SHOWN] for function in functions),
        [str(rendering.cell(each)) for each in cells],
        str(rendering.heading("a < b")),
    ]


def packed():
    """Return matrices as pages hold them."""
    matrix = np.array([[0.0, 1.0, 5.0], [0.25, 1.0, -3.0], [0.123456789, 1.0, 2.5]])
    held = [rendering.packed(matrix), rendering.packed(matrix, by_column=False)]
    few = [rendering.numbers([1 / 3, np.inf, np.nan, 2.0], digits) for digits in (2, 4, 6)]
    return [held, [rendering.unpacked(each) for each in held], few]


def bins():
    """Return documents in bins: histograms, empirical log-odds, reliability, cells."""
    many = np.linspace(-4.0, 4.0, 2003) ** 3 / 16.0
    truth = np.arange(2003) % 3 == 0
    chance = 1.0 / (1.0 + np.exp(-many))
    plenty = held_out.cells_of(
        many, many, truth, lambda rows: np.stack([chance, chance**2])[:, rows]
    )
    few = held_out.cells_of(many[:2000], many[:2000], truth[:2000], None)
    ends = np.array([-40.0, 40.0, 0.0]), np.array([True, False, True])
    return {
        "histogram": held_out.histogram(FITTED, -3.0, 2.5),
        "log-odds": [held_out.empirical_log_odds(FITTED, level) for level in (0.5, 0.9)],
        "rarer": held_out.empirical_log_odds(Documents.of(NEW, ~TRUTH), 0.8),
        "reliability": [held_out.reliability(LOG_ODDS, TRUTH, level) for level in (0.6, 0.9)],
        "ends": held_out.reliability(*ends, 0.9),
        "cells": [plenty, few],
        "verdicts": [plenty.verdict(), few.verdict()],
    }  # fmt: skip


def pieces(kind):
    """Return where a page evaluates curves, and the documents there."""
    fitted = topics() if kind == "topics" else one(kind)
    problem = next(iter(fitted.fitted_problems().values()))
    x = topic.nodes_of(problem, 57)
    share = topic.shares(problem, x) if problem.documents.known or problem.densities else x * 0.0
    curve = problem.log_odds(x)
    said = {
        "nodes": [x, topic.nodes_of(problem, 20)],
        "shares": [share, topic.smooth_shares(problem, x)],
        "half": [
            topic.half_way(x, curve),
            topic.half_way(x, -curve),
            topic.half_way(x, curve - 99),
        ],
        "typical": topic.typical_scores(x, share, 30),
        "parts": topic.by_part(problem, x),
    }
    if problem.draws is not None:
        said["prior"] = topic.prior_log_odds(problem.draws, 0.3)
        said["thinned"] = topic.thinned(problem.draws, 7).log_odds(x[:3])
    return said


def answers():
    """Return answers to whether probabilities are right, and headings of tables."""
    tested = {"verdict": "Verdict.", "advice": "Advice."}
    outcomes = [("off", True), ("uncertain", True), ("right", False), ("right", True)]
    return [
        answer.answer_of(None, (0, 1)),
        *(answer.answer_of(tested | {"outcome": outcome, "informative": informative}, off)
          for outcome, informative in outcomes for off in ((0, 1), (1, 1), (1, 2), (2, 9), (0, 9))),
        *(answer.choice_columns(topic.Asked(at, 0.85, 0.9)) for at in (None, 0.3)),
        *(answer.fact_columns(with_test=each) for each in (True, False)),
        *(topic.Size.of(n) for n in (1, 4, 5, 100, 101)),
    ]  # fmt: skip


def contents(source, **options):
    """Return all that a report says."""
    made = document.gather(source(), **{"test": None, "fitted": None, "level": 0.8} | options)
    run = {name: value for name, value in made.run.items() if "Versions" not in name}
    return {
        "data": digest(made.data),
        "rows": made.rows,
        "columns": [made.choice_columns, made.fact_columns],
        "facts": [made.facts, run, made.hashes, made.draws, made.problems],
        "answer": [made.answer, made.asked],
        "collection": made.collection,
        "evidence": None if made.evidence is None else digest(vars(made.evidence) | {
            "rows": [str(row) for row in made.evidence.rows + made.evidence.bounds], "bounds": ""}),
        "blocks": digest_of_text(str(made.blocks)),
    }  # fmt: skip


def exported(source, level=0.9, prior=None, name=None):
    """Return the curves of an exported file, what it says of them, and its texts."""
    problems = source().fitted_problems()
    problem = problems[name] if name else next(iter(problems.values()))
    content = writing.make_content(problem, level, prior, "order")
    facts = {key: value for key, value in content.facts.items() if key != "versions"}
    without = writing.Content(content.table, facts, content.column)
    texts = {
        each: digest_of_text(writing.FORMATS[each].render(without).decode())
        for each in ("python", "json", "sql")
    }
    return {"curves": content.table, "facts": digest(facts), "texts": texts}


TEST = (NEW, NEW_LABELS)
PAIRS = {"test": (np.where(NEW > 0.0, NEW, 2.0 * NEW), NEW_LABELS), "likelihood_ratio": True}
BY_TOPIC = {
    "test": (TOPIC_SCORES[:60] * 1.2, TOPIC_LABELS[:60], TOPICS[:60]),
    "fitted": (TOPIC_SCORES, TOPIC_LABELS, TOPICS),
    "collection": (TOPIC_SCORES[20:90], TOPICS[20:90]),
}
CASES = {
    "shown": shown,
    "packed": packed,
    "bins": bins,
    "answers": answers,
    **{f"pieces, {kind}": partial(pieces, kind)
       for kind in ("gaussian", "weighted", "several", "monotone", "mle", "topics")},
    "contents": partial(contents, one),
    "contents, weighted": partial(contents, lambda: one("weighted"), test=TEST, threshold=0.4,
                                  collection=NEW[:50], recall=0.6),
    "contents, mle": partial(contents, lambda: one("mle"), test=TEST, threshold=9.0),
    "contents, probabilities": partial(contents, lambda: one("probabilities"), threshold=0.7),
    "contents, several": partial(contents, lambda: one("several"), **PAIRS),
    "contents, named": partial(contents, lambda: {"a": one(), "b": one("monotone")}),
    "contents, topics": partial(contents, topics, **BY_TOPIC),
    "contents, topics without": partial(contents, topics, level=0.5),
    "exported": partial(exported, one),
    "exported, weighted": partial(exported, lambda: one("weighted"), 0.5, 0.3),
    "exported, mle": partial(exported, lambda: one("mle"), None),
    "exported, monotone": partial(exported, lambda: one("monotone"), 0.8),
    "exported, probabilities": partial(exported, lambda: one("probabilities"), None),
    "exported, topic": partial(exported, topics, name="ship"),
}  # fmt: skip
