"""When to stop a review that reads a ranking from the top: rules, and what each guarantees."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bayescal.decisions.thresholds import probability_reached
from bayescal.sampling.design import as_partial_labels, warn_of_direction
from bayescal.sampling.exact import elusion, elusion_size
from bayescal.sampling.hidden import RankedCollection, count_positives, fit_posterior
from bayescal.sampling.plans import SamplePlan, as_plans
from bayescal.support import validation
from bayescal.support.validation import Floats


@dataclass(frozen=True)
class StopDecision:
    """A decision whether to stop reading.

    Attributes
    ----------
    stop : bool
        Whether to stop.
    rank : int or None
        Documents to read from the top, by current labels; None if the rule cannot say.
    read : int
        Documents read from the top without a gap.
    sample : int
        Further documents to draw at random before the rule can decide.
    evidence : float
        Compared with the assurance: the posterior probability that the recall was reached after
        `read` documents, or 1 - p for a test of the hypothesis that it was not.
    advice : str
        The next step, in words.
    guarantee : str
        The guarantee of the rule, with its conditions.
    rule : str
        The rule.
    """

    stop: bool
    rank: int | None
    read: int
    sample: int
    evidence: float
    advice: str
    guarantee: str
    rule: str


@dataclass(frozen=True)
class Review:
    """The ranking of a review, highest scores first, with labels and aims."""

    scores: Floats  # (documents,): in the order of the collection
    order: NDArray[np.intp]  # (documents,): positions by rank
    labels: Floats  # (documents,): by rank; nan where missing
    control: NDArray[np.bool_]  # (documents,): the control sample, by rank
    recall: float
    assurance: float  # of each look
    hidden: Any
    rng: np.random.Generator

    @property
    def read(self) -> int:
        """Return the number of documents from the top that have a label."""
        unread = np.flatnonzero(np.isnan(self.labels))
        return int(unread[0]) if unread.size else self.labels.size

    @property
    def found(self) -> int:
        """Return the number of positives among these."""
        return int(np.nansum(self.labels[: self.read]))


# The rank to read to, the evidence, and the number of further documents to sample.
Finding = tuple[int | None, float, int]


def _by_control(review: Review) -> Finding:
    """Stop at the j-th of r control positives (Lewis, Yang and Frieder 2021)."""
    ranks = np.flatnonzero(review.control & (review.labels == 1.0)) + 1
    asked = review.recall, review.assurance
    needed = first_sure(ranks.size, *asked)
    if needed is None:
        wanted = next(r for r in range(1, 10_000) if first_sure(r, *asked))
        # So many further documents at the share of positives so far.
        drawn = int(np.count_nonzero(review.control))
        more = math.ceil((wanted - ranks.size) / ((ranks.size + 0.5) / (drawn + 1.0)))
        return None, 0.0, min(more, review.labels.size - drawn)
    rank = int(ranks[needed - 1])
    before = int(np.count_nonzero(ranks <= review.read))
    sure = float(stats.binom.cdf(before - 1, ranks.size, review.recall))
    return rank, sure, 0


def first_sure(positives: int, recall: float, assurance: float) -> int | None:
    """Return the smallest j with P(Binomial(r, recall) >= j) <= 1 - assurance, or None."""
    # If the recall at the j-th of r random positives is below the target, at least j of the r lie
    # in a share of the positives below it.
    risk = stats.binom.sf(np.arange(positives), positives, recall)
    sure = np.flatnonzero(risk <= 1.0 - assurance + 1e-12)
    return int(sure[0]) + 1 if sure.size else None


def _by_hypergeometric(review: Review) -> Finding:
    """Test each last stretch of the documents read (Callaghan and Müller-Hansen 2020)."""
    if review.read == 0:
        return None, 0.0, 0
    p = 1.0 - rank_order_pvalue(review.labels[: review.read], review.labels.size, review.recall)
    return (review.read if p >= review.assurance else None), p, 0


def rank_order_pvalue(labels: Floats, documents: int, recall: float) -> float:
    """Return the smallest p-value of all last stretches of the documents read."""
    # With r positives found, u of them in the stretch, a recall below the target leaves K = floor(r
    # / recall + 1 - (r - u)) or more to it and the unread: P(u or fewer) is hypergeometric.
    found = int(labels.sum())
    inside = np.cumsum(labels[::-1])
    size = np.flatnonzero(np.diff(inside, append=np.inf)) + 1
    inside = inside[size - 1]
    rest = documents - (labels.size - size)
    left = np.floor(found / recall + 1.0 - (found - inside) + 1e-9)
    possible = left <= rest
    if not possible.any():
        return 0.0
    counts = inside[possible], rest[possible], left[possible], size[possible]
    return float(np.min(stats.hypergeom.cdf(*counts)))


def _by_elusion(review: Review) -> Finding:
    """Bound the positives missed by labels below the documents read, at all looks at once."""
    rest = review.labels[review.read :]
    if not rest.size:
        return review.read, 1.0, 0
    labelled = rest[~np.isnan(rest)]
    sampled, positives = labelled.size, int(labelled.sum())
    found = review.found

    def lower(assurance: float) -> float:
        args = rest.size, sampled, positives, found
        return elusion(*args, level=assurance, sequential=True).recall.lower

    if sampled and lower(review.assurance) >= review.recall - 1e-9:
        return review.read, review.assurance, 0
    try:
        size = elusion_size(rest.size, found, review.recall, review.assurance).sampled
    except ValueError:
        return review.read, 1.0, 0
    return None, 0.0, max(size - sampled, 0)


def _by_posterior(review: Review) -> Finding:
    """Stop where the recall is reached by both posteriors, without and with hidden positives."""
    collection, labels = RankedCollection.of(review.scores), np.empty(review.labels.size)
    labels[review.order] = review.labels
    every = np.ones(labels.size, dtype=bool)
    posteriors = [
        fit_posterior(collection, labels, each, review.rng) for each in (0, review.hidden)
    ]
    counts = (count_positives(each, collection, labels, every, review.rng) for each in posteriors)
    reached = np.min([probability_reached(each, review.recall) for each in counts], axis=0)
    return _where_reached(review, collection, reached, review.assurance)


def _where_reached(
    review: Review, collection: RankedCollection, reached: Floats, assurance: float
) -> Finding:
    ends = np.r_[0, np.cumsum(collection.size)]
    enough = reached >= assurance - 1e-9
    rank = int(ends[int(enough.argmax())]) if enough.any() else review.labels.size
    now = int(np.searchsorted(ends, review.read, side="right")) - 1
    return rank, float(reached[now]), 0


@dataclass(frozen=True)
class StoppingRule:
    """A stopping rule."""

    find: Callable[[Review], Finding]
    guarantee: str


RULES = {
    "posterior": StoppingRule(
        _by_posterior,
        "None without a model: the recall is reached with the stated posterior probability whether"
        " positives are hidden or not, if P(positive | score) is a curve along the score, and all"
        " labels were chosen by score, by chance, or by earlier labels.",
    ),
    "control": StoppingRule(
        _by_control,
        "The recall is reached with the stated probability over control samples, for every ranking"
        " and with no model, if the control sample is a simple random sample of the collection that"
        " was drawn before reading and the rule is applied once.",
    ),
    "elusion": StoppingRule(
        _by_elusion,
        "If the recall was not reached, the rule stops with probability 1 - assurance at most, with"
        " no model, however often you look while the sample grows, if the labels beyond what was"
        " read are a simple random sample of the unread documents. Reading on starts a new sample.",
    ),
    "hypergeometric": StoppingRule(
        _by_hypergeometric,
        "None in rank order: exact only if the last stretch was read in random order. Where scores"
        " fall behind the stretch, unread positives are rarer than in it, and the test is"
        " conservative; where positives are hidden it can err.",
    ),
}


def stop_review(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    recall: float = 0.8,
    assurance: float = 0.9,
    rule: str = "posterior",
    control: SamplePlan | ArrayLike | None = None,
    looks: int = 1,
    hidden: Any = "vague",
    random_state: Any = 0,
) -> StopDecision:
    """Return whether a review that reads the highest scores first may stop.

    Parameters
    ----------
    scores : array-like of shape (documents,)
        Raw scores of the whole collection, larger for likelier positives.
    labels : array-like of shape (documents,)
        1 or 0 for documents that were read, nan for all others.
    recall : float
        The share of positives to find.
    assurance : float
        The probability of reaching it, in the sense of the rule's `guarantee`.
    rule : {"posterior", "control", "elusion", "hypergeometric"}
        "posterior" uses both posteriors of `estimate_recall`. "control" stops at the j-th of r
        control positives, with the smallest j for which P(Binomial(r, recall) >= j) <= 1 -
        assurance. "elusion" bounds the missed positives by a random sample of the unread
        documents. "hypergeometric" tests the last stretch that was read.
    control : SamplePlan or array-like of int, optional
        The labelled control sample of "control": `plan_sample(purpose="control")` without groups,
        or positions of documents.
    looks : int
        Largest number of decisions. Each has a share (1 - assurance)/looks of the risk
        (Bonferroni). "elusion" needs only 1 while its sample grows.
    hidden, random_state
        As in `estimate_recall`.

    References
    ----------
    M. Callaghan and F. Müller-Hansen, *Statistical stopping criteria for automated screening in
    systematic reviews*, Systematic Reviews 2020. D. D. Lewis, E. Yang and O. Frieder, *Certifying
    one-phase technology-assisted reviews*, CIKM 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal.sampling import plan_sample
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(2_000) < 0.1
    >>> scores = rng.normal(size=2_000) + 2.5 * positive
    >>> labels = np.full(2_000, np.nan)
    >>> plan = plan_sample(scores, 400, purpose="control", random_state=1)
    >>> labels[plan.documents] = positive[plan.documents]
    >>> decision = stop_review(scores, labels, rule="control", control=plan)
    >>> decision.stop, decision.advice
    (False, 'Read on to rank 514: 423 documents more.')
    """
    values = validation.as_scores(scores)
    known = as_partial_labels(labels, values.size)
    validation.check_fraction(recall=recall, assurance=assurance)
    validation.check_choice("rule", rule, tuple(RULES))
    validation.check_count("looks", looks)
    warn_of_direction(values, known)
    chosen = RULES[rule]
    drawn = _as_control(control, values, known)
    if rule == "control" and not drawn.any():
        raise ValueError(
            "control must be the control sample of the rule 'control', got None: draw it with"
            " plan_sample(scores, n, purpose='control') (in a shell: bayescal sample --for"
            " control), and label it."
        )
    order = np.argsort(-values, kind="stable")
    review = Review(
        values,
        order,
        known[order],
        drawn[order],
        recall,
        1.0 - (1.0 - assurance) / looks,
        hidden,
        validation.generator(random_state),
    )
    rank, evidence, sample = chosen.find(review)
    stop = rank is not None and rank <= review.read
    advice = _advice(review, rank, sample, stop=stop)
    return StopDecision(stop, rank, review.read, sample, evidence, advice, chosen.guarantee, rule)


def _as_control(
    control: SamplePlan | ArrayLike | None, scores: Floats, labels: Floats
) -> NDArray[np.bool_]:
    """Return the mask of the control sample, all of it labelled."""
    drawn = np.zeros(scores.size, dtype=bool)
    if control is None:
        return drawn
    if isinstance(control, SamplePlan):
        (plan,) = as_plans(control, scores)
        if len(plan.strata) > 1:
            raise ValueError(
                "control must be a simple random sample, got a plan with"
                f" {len(plan.strata)} strata: draw it with purpose='control' (in a shell: --for"
                " control)."
            )
        positions, groups = plan.documents, sum(each.sampled for each in plan.strata)
        if positions.size > groups:
            raise ValueError(
                f"control must be a sample of documents, got a plan of {groups:,} groups, whose"
                f" {positions.size:,} documents are not independent: draw it without groups."
            )
    else:
        positions = validation.as_array(control, "control")
        whole = positions.ndim == 1 and positions.size > 0 and positions.dtype.kind in "iu"
        if not whole or positions.min() < 0 or positions.max() >= scores.size:
            raise ValueError(
                f"control must hold positions of documents, from 0 to {scores.size - 1}, got"
                f" {control!r}."
            )
    drawn[positions] = True
    missing = int(np.count_nonzero(np.isnan(labels[drawn])))
    if missing:
        raise ValueError(
            f"labels must hold a label of each control document, {missing:,} of"
            f" {int(drawn.sum()):,} have none."
        )
    return drawn


def _advice(review: Review, rank: int | None, sample: int, *, stop: bool) -> str:
    if stop:
        return f"Stop: {review.read:,} documents were read, and {rank:,} are enough."
    if rank is not None:
        unread = int(np.isnan(review.labels[:rank]).sum())
        return f"Read on to rank {rank:,}: {unread:,} documents more."
    if sample:
        return f"Sample {sample:,} more documents at random."
    return "Read on, and ask again."
