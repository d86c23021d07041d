"""Five classifiers of Reuters topics, and the methods that combine them (dissertation, chapter 7).

Base classifiers and reliability indicators are fitted once, in folds and to all training documents;
every combiner receives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayescal.calibrators.classifier.targets import read_target
from bayescal.calibrators.score_calibrator import ScoreCalibrator
from bayescal.combining.combiners.measures import MEASURES, best_threshold
from bayescal.combining.indicators import ReliabilityIndicators
from bayescal.combining.nested import BinaryProblem, Inputs, Labelled, fit_nested
from bayescal.support.validation import Floats
from bayescal.text import make_classifier
from bayescal.text.text_calibrator import FOLDS, splitter
from studies.command import spread_over
from studies.papers.sigir2003.scores import count_words
from studies.papers.strive.classifiers import BOOSTED_TREES, TREE, LinearSVM, LocalKernelSVM
from studies.papers.strive.voting import Best, MajorityVote, Voting

if TYPE_CHECKING:
    import pandas as pd


Bools = NDArray[np.bool_]

# By the names of the tables; the "unigram" classifier is multinomial naive Bayes.
BASE = {
    "decision tree": "decision_tree",
    "unigram": "naive_bayes",
    "naive Bayes": "bernoulli_naive_bayes",
    "SVM": "linear_svm",
    "kNN": "nearest_neighbours",
}


class Combination(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    combiner : str, classifier or Voting
        As in `CombinedClassifier`, or a vote.
    indicators : bool
        Whether it sees them.
    normalise : bool
        Whether it sees standardised inputs.
    """

    combiner: Any
    indicators: bool = False
    normalise: bool = True


COMBINATIONS = {
    "Best By Class": Combination(Voting(Best)),
    "Majority": Combination(Voting(MajorityVote)),
    "Stack-D": Combination(TREE, normalise=False),
    "Stack-S": Combination(LinearSVM(), normalise=False),
    "Stack-D (norm)": Combination(TREE),
    "Stack-S (norm)": Combination(LinearSVM()),
    "STRIVE-D": Combination(TREE, indicators=True, normalise=False),
    "STRIVE-S": Combination(LinearSVM(), indicators=True, normalise=False),
    "STRIVE-D (norm)": Combination(TREE, indicators=True),
    "STRIVE-S (norm)": Combination(LinearSVM(), indicators=True),
    "STRIVE-S Local (norm)": Combination(LocalKernelSVM(), indicators=True),
    "STRIVE-S LSelect (norm)": Combination(LocalKernelSVM(select=True), indicators=True),
    "logistic": Combination("logistic"),
    "logistic, indicators": Combination("logistic", indicators=True),
    "boosting": Combination(BOOSTED_TREES),
    "boosting, indicators": Combination(BOOSTED_TREES, indicators=True),
    "bayes": Combination("bayes"),
    "bayes, indicators": Combination("bayes", indicators=True),
}


@dataclass(frozen=True)
class TopicInputs:
    """What combiners get of one topic.

    Attributes
    ----------
    topic : str
        Which.
    labelled : Labelled
        The training documents, by classifiers that were not trained on them.
    new : Inputs
        The test documents, by classifiers trained on all training documents.
    truth : array of shape (m,) of bool
        Which test documents are of the topic.
    """

    topic: str
    labelled: Labelled
    new: Inputs
    truth: Bools


@dataclass(frozen=True)
class Decided:
    """A method's predictions for one topic's test documents.

    Attributes
    ----------
    taken : dict of str to array of shape (m,) of bool
        By measure, with the thresholds that are best by it on training documents.
    score : array of shape (m,) or None
        What documents are ranked by; None where the method has no score.
    log_odds : array of shape (m,) or None
        Where it has probabilities.
    """

    taken: dict[str, Bools]
    score: Floats | None = None
    log_odds: Floats | None = None


def topic_inputs(
    corpus: pd.DataFrame, topics: Sequence[str], *, random_state: int = 0, jobs: int = 1
) -> list[TopicInputs]:
    """Fit base classifiers and indicators of every topic.

    Parameters
    ----------
    corpus : pandas.DataFrame
        Columns split (train, test), topics, text.
    topics : sequence of str
        Each a binary problem of its own.
    random_state : int
        Of the folds.
    jobs : int
        Processes.
    """
    train, test = (corpus[corpus["split"] == split] for split in ("train", "test"))
    counts = count_words(train["text"], test["text"])
    of_topics = np.stack([_has(train, topic) for topic in topics], axis=1)
    arguments = (
        (topic, counts, (_has(train, topic), _has(test, topic)), of_topics, random_state)
        for topic in topics
    )
    return spread_over(jobs, _inputs_of, arguments)


def decide_all(
    inputs: Sequence[TopicInputs],
    combinations: Mapping[str, Combination] = COMBINATIONS,
    *,
    base: Iterable[str] = BASE,
    random_state: int = 0,
    jobs: int = 1,
) -> dict[str, list[Decided]]:
    """Return the decisions of every method by name: base classifiers, combinations, oracle.

    Parameters
    ----------
    inputs : sequence of TopicInputs
        Topics are combined together by methods that learn from all of them.
    base : iterable of str
        Names of the base classifiers, in the order of their scores.
    combinations : mapping of str to Combination
        Those to try.
    random_state : int
        Seeds combiners.
    jobs : int
        Processes.
    """
    from bayescal.combining.combiners import read_combiner

    found = {name: [_of_base(each, k) for each in inputs] for k, name in enumerate(base)}
    oracle = [
        _oracle(each, of_base) for each, *of_base in zip(inputs, *found.values(), strict=True)
    ]
    for name, asked in combinations.items():
        combiner = asked.combiner
        if not isinstance(combiner, Voting):
            combiner = read_combiner(combiner, normalise=asked.normalise, weighted=False)
        labelled = [seen(each.labelled, asked.indicators) for each in inputs]
        fitted = combiner.fit(labelled, np.random.default_rng(random_state), jobs)
        ranks = not isinstance(combiner, Voting)
        found[name] = []
        for each, own in zip(inputs, fitted, strict=True):
            new = each.new if asked.indicators else without_indicators(each.new)
            score = own.score(new) if ranks else None
            taken = {measure: own.decide(new, measure) for measure in MEASURES}
            log_odds = score if combiner.gives_log_odds else None
            found[name].append(Decided(taken, score, log_odds))
    return found | {"BestSelect": oracle}


def _inputs_of(
    topic: str,
    counts: tuple[Any, Any],
    labels: tuple[Bools, Bools],
    of_topics: Bools,
    random_state: int,
) -> TopicInputs:
    positive, truth = labels
    labelled, new = nested_inputs(
        topic,
        {name: make_classifier(kind) for name, kind in BASE.items()},
        counts,
        positive,
        best="SVM",  # of nearly all topics
        random_state=random_state,
        # Nearest neighbours see the same words for all topics (section 7.2.1).
        fit_params={"kNN": {"words__topics": of_topics}},
    )
    return TopicInputs(topic, labelled, new, truth)


def _of_base(each: TopicInputs, k: int) -> Decided:
    """Return a base classifier's own decisions, and log-odds by a calibrator.

    Its prior is vague, since the default's was learned from Reuters-21578 as well.
    """
    scores, new = each.labelled.inputs.scores[:, k], each.new.scores[:, k]
    positive = each.labelled.positive
    taken = {measure: new >= best_threshold(measure, scores, positive) for measure in MEASURES}
    calibrator = ScoreCalibrator(scores_are="scores", prior_knowledge="vague", random_state=0)
    calibrator.fit(scores, positive)
    return Decided(taken, new, calibrator.decision_function(new))


def _oracle(each: TopicInputs, of_base: Sequence[Decided]) -> Decided:
    """Return decisions that are right wherever any base classifier's is (BestSelect)."""
    taken = {}
    for measure in MEASURES:
        right = np.any([base.taken[measure] == each.truth for base in of_base], axis=0)
        taken[measure] = np.where(right, each.truth, ~each.truth)
    return Decided(taken)


def without_indicators(inputs: Inputs) -> Inputs:
    """Return the inputs of a combiner without indicators."""
    return Inputs(inputs.scores, np.empty((len(inputs.scores), 0)))


def seen(labelled: Labelled, indicators: bool) -> Labelled:
    """Return documents to learn from with their indicators, or without."""
    return labelled if indicators else replace(labelled, inputs=without_indicators(labelled.inputs))


def _has(part: pd.DataFrame, topic: str) -> Bools:
    return np.array([topic in topics for topics in part["topics"]], dtype=np.bool_)


def nested_inputs(
    topic: str,
    classifiers: Mapping[str, Any],
    features: tuple[Any, Any],
    positive: NDArray[np.bool_],
    *,
    best: str,
    text: bool = True,
    random_state: int = 0,
    fit_params: Mapping[str, dict[str, Any]] | None = None,
) -> tuple[Labelled, Inputs]:
    """Return scores and indicators of base classifiers for training and new documents.

    Training documents are scored by classifiers that were not trained on them, new ones by
    classifiers trained on all training documents.

    Parameters
    ----------
    topic : str
        What messages call the positive class.
    classifiers : mapping of str to classifier
        The base classifiers; clones are fitted.
    features : pair of arrays or sparse matrices of shape (n, columns) and (m, columns)
        Of training documents and of new ones.
    positive : array of shape (n,) of bool
        Which training documents are of the topic.
    best : str
        The classifier whose votes the others' are compared with. By default the indicators would
        take the best on training documents, which is one that knows these by heart.
    text : bool
        Whether the features are word counts, for which there are indicators too.
    random_state : int
        Of the folds, which are five, or as many as the topic has positives.
    fit_params : mapping of str to dict, optional
        Further arguments of fit, by classifier; those of length n are split like the documents.
    """
    train, new = features
    own = {name: (fit_params or {}).get(name, {}) for name in classifiers}
    target = read_target(positive.astype(np.int64), positive.size)
    if positive.sum() < 2:
        raise ValueError(
            f"topic {topic!r} needs at least two positives, got {positive.sum()}: one to train on"
            " and one to judge the classifiers by."
        )
    folds = splitter(min(FOLDS, int(positive.sum())), random_state)
    problem = BinaryProblem.of(target, train, own, folds, {})
    indicators = ReliabilityIndicators(list(classifiers.items()), text=text, best=best)
    (nested,) = fit_nested(classifiers, indicators, [problem], None, 1)
    return nested.labelled, nested.members.inputs(new)
