"""Topics pooled, on data sets that no default was tuned on: held-out loss and coverage.

python -m studies.unseen_topics [--quick] [--problems FOLDER]

The folder is what python -m studies.problems makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd

from bayescal import TopicCalibrator
from bayescal.support.score_checks import without_scores_warnings
from bayescal.support.validation import Floats
from studies.command import Options, main, spread_over
from studies.peers import DEFAULT, POOLED, Settings, ours_for
from studies.problems.library import EmptyLibraryError, Problem, problems
from studies.unseen import (
    QUICK_SIZES,
    SEED,
    SIZES,
    Fitted,
    Row,
    curve_of_all,
    fit,
    rows_of,
    with_curve_of_others,
)
from studies.unseen_report import write_topics_report
from studies.unseen_samples import Sample, draw_sample, generator

# Margins, log-odds and probabilities: multinomial naive Bayes is of texts, Gaussian of tables.
CLASSIFIERS = ("linear_svm", "naive_bayes", "gaussian_naive_bayes", "random_forest")
# Most and least topics of a collection, and least topics with enough documents for a sample.
TOPICS, LEAST_TOPICS = 10, 3
# The short version takes every other collection.
EVERY = 2
Collection = list[Problem]


@dataclass(frozen=True)
class OneTopic:
    """One topic of a fitted calibrator, with the interface of `studies.unseen.Fitted`."""

    calibrator: TopicCalibrator
    topic: str

    def decision_function(self, scores: Floats) -> Floats:
        """Return log-odds."""
        return self.calibrator.decision_function(scores, np.repeat([self.topic], scores.size))

    def predict_interval(self, scores: Floats, level: float) -> Floats:
        """Return both ends of bands of probabilities."""
        topics = np.repeat([self.topic], scores.size)
        return self.calibrator.predict_interval(scores, topics, level)


def run(options: Options) -> None:
    """Measure all methods on a sample of the library; write page, tables and figure."""
    write_topics_report("unseen_topics", measured(options), options.out)


def measured(options: Options) -> pd.DataFrame:
    """Return the rows of all collections of a library."""
    step, topics = options.size(1, EVERY), options.size(TOPICS, LEAST_TOPICS)
    sample = list(collections(options.problems, topics, SEED))[::step]
    if not sample:
        raise EmptyLibraryError(options.problems)
    sizes = QUICK_SIZES if options.quick else SIZES
    tasks = [(collection, sizes) for collection in sample]
    results = [row for rows in spread_over(options.jobs, measure, tasks) for row in rows]
    return pd.DataFrame(results)


def collections(folder: Path, topics: int, seed: int) -> Iterator[Collection]:
    """Yield classes of each data set, drawn at random, as one of `CLASSIFIERS` scored them all."""
    for names, group in groupby(problems(folder), lambda each: (each.data_set, each.classifier)):
        classes = list(group)
        if names[1] in CLASSIFIERS and len(classes) >= LEAST_TOPICS:
            drawn = generator(seed, *names).permutation(len(classes))[:topics]
            yield [classes[k] for k in drawn]


def measure(collection: Collection, sizes: Sequence[int]) -> list[Row]:
    """Return the rows of `studies.unseen.measure` for all topics, and theirs where they are pooled.

    Each has the topic's share of positives besides.

    Parameters
    ----------
    collection : list of Problem
        Topics that one classifier scored.
    sizes : sequence of int
        Expected documents of the rarer class of each topic in its own sample; a topic has no row
        where that would take too many of its documents, and sizes that leave fewer than
        `LEAST_TOPICS` topics have none at all.
    """
    settings = ours_for(collection[0].score_kind, {DEFAULT: {}})[DEFAULT]
    # The learned prior was learned from these data sets.
    alone = settings | {"prior_knowledge": "vague"}
    curves = {each.class_name: curve_of_all(each, alone) for each in collection}
    rows = []
    for n_positive in sizes:
        drawn = {each.class_name: draw_sample(each, n_positive) for each in collection}
        samples = {name: sample for name, sample in drawn.items() if sample is not None}
        if len(samples) < LEAST_TOPICS:
            continue
        pooled = fit_topics(settings, samples)
        for each in collection:
            if (sample := samples.get(each.class_name)) is None:
                continue
            ours: dict[str, Fitted] = {DEFAULT: fit(alone, sample.scores, sample.labels)}
            ours[POOLED] = OneTopic(pooled, each.class_name)
            share = {"share": float(each.positive.mean())}
            truth = with_curve_of_others(curves[each.class_name], sample, alone)
            of_topic = rows_of(each, n_positive, sample, ours, truth)
            rows += [row | share for row in of_topic]
    return rows


def fit_topics(settings: Settings, samples: Mapping[str, Sample]) -> TopicCalibrator:
    """Return the topics of all samples, fitted together."""
    each = samples.values()
    scores = np.concatenate([sample.scores for sample in each])
    labels = np.concatenate([sample.labels for sample in each])
    topics = np.repeat(list(samples), [sample.labels.size for sample in each])
    with without_scores_warnings():
        return TopicCalibrator(random_state=0, **settings).fit(scores, labels, topics)


if __name__ == "__main__":
    main("unseen_topics")
