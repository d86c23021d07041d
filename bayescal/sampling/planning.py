"""Plans of samples to label: random draws within strata of the score.

Documents with similar scores form a stratum, with a simple random sample from each. The probability
to be drawn is then a function of the score, which models of labels given scores need not know, and
counts in strata have exact limits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.sampling import design
from bayescal.sampling.design import SamplingUnits, StratifiedDraw
from bayescal.sampling.hidden import RankedCollection, fit_posterior
from bayescal.sampling.plans import LEAST, SamplePlan, Stratum, as_plans, stratum_of
from bayescal.support import validation
from bayescal.support.validation import Floats

PURPOSES = ("recall", "precision", "prevalence", "calibration", "control")
SHARES = (0.003, 0.03)  # ends of strata without labels, as shares of the ranking
# Strata of fewer documents, or with an end within this factor of the threshold's rank, are merged.
SMALLEST, NEAREST = 20, 2.0
PROPORTIONAL = 0.3  # share of labels in proportion to documents; the rest is equal for all strata
UNINFORMED = 0.1  # share of a later round that is allocated without regard to labels
WIDTHS, EXPECTED_LEVEL = 12, 0.9  # draws of labels behind the expected width, and its level


def plan_sample(
    scores: ArrayLike,
    n: int,
    *,
    purpose: str = "recall",
    threshold: float | None = None,
    labels: ArrayLike | None = None,
    inclusion: SamplePlan | Iterable[SamplePlan] = (),
    groups: ArrayLike | None = None,
    hidden: Any = "vague",
    random_state: Any = None,
) -> SamplePlan:
    """Draw documents to label.

    The strata are the highest 0.3 %, the next 2.7 % and the rest of the ranking, divided at the
    threshold too; small ones join a neighbour. Without labels, stratum h of H with N_h documents
    gets the share 0.3 N_h / sum N + 0.7 / H of the n documents. With labels, N_h counts unlabelled
    documents, whose posterior mean probabilities are p: a tenth of n is shared as without labels,
    nine tenths in proportion to sqrt(N_h sum c^2 p (1 - p)) (J. Neyman's allocation). For recall c
    is 1 - R above the threshold and R below, where R is the expected recall; for precision 1 above
    and 0 below; for calibration 1. Each stratum gets at least five, if it has them.

    For prevalence the plan is a simple random sample or, if earlier labels lead to expect a
    narrower design-based interval from it, that for calibration.

    Parameters
    ----------
    scores, threshold, hidden
        As in `estimate_recall`; only precision needs a threshold.
    n : int
        How many documents, or groups, to draw.
    purpose : {"recall", "precision", "prevalence", "calibration", "control"}
        Use of the labels. "control" is a simple random sample, for `elusion` and `stop_review`.
    labels : array-like of shape (documents,), optional
        1, 0, or nan where missing. Labelled documents are not drawn again.
    inclusion : SamplePlan or several, optional
        The plans of the labels.
    groups : array-like of shape (documents,), optional
        The family of near duplicates, or the thread of messages, of each document: whole groups are
        drawn, by their highest score, and all their documents are in the plan. As many documents
        drawn one by one usually give narrower intervals, also where they depend on each other: draw
        groups if reading one takes hardly longer than reading a document. With earlier labels the
        plan states both widths. They rest on the correlation of the labels within groups, taken as
        1 if fewer than three groups hold positives.
    random_state : int, Generator, RandomState or None
        Seeds the draw. The plan keeps a seed that draws the same documents again.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.random.default_rng(0).normal(size=2_000)
    >>> plan = plan_sample(scores, 150, threshold=1.5, random_state=7)
    >>> plan.documents.size, round(float(plan.inclusion.sum()))
    (150, 150)
    """
    validation.check_count("n", n)
    validation.check_choice("purpose", purpose, PURPOSES)
    values = validation.as_scores(scores)
    cut = design.as_threshold(threshold, needed=purpose == "precision")
    known = design.as_partial_labels(labels, values.size)
    plans = as_plans(inclusion, values, "inclusion")
    units = SamplingUnits.of(values, known, groups)
    design.warn_of_direction(units.scores, units.labels)
    unlabelled = np.flatnonzero(np.isnan(units.labels))
    if not unlabelled.size:
        raise ValueError("labels must leave documents to sample: all have a label.")
    notes = _notes_of_missing(plans, known)
    if n > unlabelled.size:
        notes.append(f"n is larger than what is left: all {unlabelled.size:,} are to be labelled.")
        n = unlabelled.size
    lowest = strata_of(units.scores, cut, n)
    labelled = bool((~np.isnan(units.labels)).any())
    if purpose == "control" or (purpose == "prevalence" and not labelled):
        lowest = lowest[-1:]
    if len(lowest) == 1 and units.scores.min() == units.scores.max():
        notes.append("All scores are equal: the plan is a simple random sample.")
    posterior = None
    if labelled and len(lowest) > 1:
        posterior = ExpectedLabels.of(units, SamplingUnits.of(values, known, None), hidden)
    seed = int(validation.generator(random_state).integers(2**31))
    if isinstance(random_state, int | np.integer):
        seed = int(random_state)
    rounds = 1 + max((plan.round for plan in plans), default=0)
    # A simple random sample may be the better one of a share.
    choices = [lowest] if purpose != "prevalence" or posterior is None else [lowest[-1:], lowest]
    width, strata, sampled = min(
        (_draw(units, each, n, cut, purpose, posterior, [seed, rounds - 1]) for each in choices),
        key=lambda drawn: drawn[0],
    )
    documents = np.flatnonzero(sampled[units.of_document])
    documents = documents[np.argsort(-values[documents], kind="stable")]
    placed = units.scores[units.of_document]
    plan = SamplePlan(documents, values, strata, seed, rounds, cut, width, tuple(notes), placed)
    if documents.size == n:
        return plan
    mean = plan.inclusion[np.isnan(units.labels)[units.of_document]].sum()
    note = f"{n:,} groups hold {documents.size:,} documents, in such draws {mean:,.0f} on average."
    note += " As many documents drawn one by one"
    if math.isnan(width):
        note += " usually give a narrower interval of recall."
    else:
        options = {"labels": known, "inclusion": plans, "hidden": hidden, "random_state": seed}
        other = plan_sample(values, documents.size, purpose=purpose, threshold=cut, **options)
        note += (
            f" have an interval of expected width {other.expected_width:.2f}, these of {width:.2f}."
        )
    return replace(plan, notes=(*notes, note))


@dataclass(frozen=True)
class ExpectedLabels:
    """The posterior of labels to come."""

    documents: SamplingUnits  # with the labels so far
    p: Floats  # (units,): P(+) of the units to draw
    of_documents: Floats  # (documents,): P(+) of documents

    @classmethod
    def of(cls, units: SamplingUnits, documents: SamplingUnits, hidden: Any) -> ExpectedLabels:
        """Return P(+) of units and of their documents, given the labels so far."""
        p = of_documents = _probabilities(units, hidden)
        if units.scores.size < documents.scores.size:
            of_documents = _probabilities(documents, hidden)
        return cls(documents, p, of_documents)

    def width(
        self, drawn: StratifiedDraw, threshold: float | None, purpose: str, rng: np.random.Generator
    ) -> float:
        """Return the mean width of design-based intervals for labels of all documents."""
        if purpose == "recall" and threshold is None:
            return math.nan
        of = purpose if purpose in ("recall", "precision") else "prevalence"
        known, above = self.documents.labels, self.documents.above(threshold)
        widths = []
        # Widths are concave in the probabilities: their mean over posterior draws is too small.
        for _ in range(WIDTHS):
            labels = np.where(np.isnan(known), rng.random(known.size) < self.of_documents, known)
            own = drawn.by_document(replace(self.documents, labels=labels))
            # Draws of single labels do not depend on each other within groups.
            so_far = replace(
                own, units=self.documents, sampled=~np.isnan(known), before=np.zeros_like(above)
            )
            own = replace(own, correlation=so_far.correlation_within(above))
            widths.append(own.limits(of, above, EXPECTED_LEVEL).width)
        return float(np.mean(widths))


def _probabilities(units: SamplingUnits, hidden: Any) -> Floats:
    """Return the posterior mean P(+) of each unit."""
    ranked = RankedCollection.of(units.scores)
    p = fit_posterior(ranked, units.labels, hidden, seed=0).probabilities()
    return np.asarray(p.mean(axis=0)[ranked.code])


def _draw(
    units: SamplingUnits,
    lowest: list[float],
    n: int,
    threshold: float | None,
    purpose: str,
    posterior: ExpectedLabels | None,
    seed: list[int],
) -> tuple[float, tuple[Stratum, ...], NDArray[np.bool_]]:
    """Return the expected width, the strata and the sampled units."""
    stratum, unlabelled = stratum_of(units.scores, lowest), np.flatnonzero(np.isnan(units.labels))
    sizes = np.bincount(stratum[unlabelled], minlength=len(lowest))
    size = PROPORTIONAL * sizes / sizes.sum() + (1.0 - PROPORTIONAL) * (sizes > 0) / len(lowest)
    if posterior is not None:
        wanted = _wanted(units, stratum, sizes, threshold, purpose, posterior.p)
        size = UNINFORMED * size / size.sum() + (1.0 - UNINFORMED) * wanted
    drawn, rng = allocate(size, sizes, n), np.random.default_rng(seed)
    picked = [
        rng.choice(unlabelled[stratum[unlabelled] == h], count, replace=False)
        for h, count in enumerate(drawn)
        if count
    ]
    sampled = np.isin(np.arange(units.scores.size), np.concatenate(picked))
    width = math.nan
    if posterior is not None:
        own = StratifiedDraw(units, stratum, sampled, ~np.isnan(units.labels))
        width = posterior.width(own, threshold, purpose, rng)
    strata = tuple(
        Stratum(low, int(size), int(count))
        for low, size, count in zip(lowest, sizes, drawn, strict=True)
        if count
    )
    return width, strata, sampled


def _notes_of_missing(plans: tuple[SamplePlan, ...], labels: Floats) -> list[str]:
    """Return notes on planned documents without a label; ValueError for a plan without labels."""
    notes = []
    for plan in plans:
        missing, size = int(np.isnan(labels[plan.documents]).sum()), plan.documents.size
        if missing == size:
            raise ValueError(
                f"labels must hold labels of the plan of round {plan.round}, none of its {size:,}"
                " documents has one: label them before you draw the next round."
            )
        if missing:
            notes.append(
                f"{missing:,} of {size:,} documents of round {plan.round} have no label: they may"
                " be drawn again."
            )
    return notes


def _wanted(
    units: SamplingUnits,
    stratum: NDArray[np.intp],
    sizes: NDArray[Any],
    threshold: float | None,
    purpose: str,
    p: Floats,
) -> Floats:
    """Return each stratum's share of the labels."""
    above = units.above(threshold)
    total, taken = p.sum(), p[above].sum()
    importance = np.ones(p.size)
    if purpose == "recall":
        recall = np.clip(taken / total, 0.05, 0.95)
        importance = np.where(above, 1.0 - recall, recall)
    elif purpose == "precision":
        importance = np.where(above, 1.0, 0.0)
    unlabelled = np.isnan(units.labels)
    own = stratum[unlabelled]
    variance = np.bincount(own, (p * (1.0 - p) * importance**2)[unlabelled], sizes.size)
    spread = np.sqrt(sizes * variance)
    return np.asarray(spread / spread.sum())


def allocate(size: Floats, documents: NDArray[Any], n: int) -> NDArray[np.intp]:
    """Return numbers of labels in proportion to sizes, 5 or more for each stratum with as many."""
    least = np.minimum(documents, min(LEAST, n // documents.size))
    exact = least.astype(float)
    free = (documents > least) & (size > 0.0)
    left = float(n - least.sum())
    # The excess of a full stratum goes to the others.
    while left > 1e-9:
        if not free.any():
            free = exact < documents
            size = np.ones(size.size)
        step = left * np.where(free, size, 0.0) / size[free].sum()
        taken = np.minimum(step, documents - exact)
        exact += taken
        left -= float(taken.sum())
        free &= exact < documents - 1e-9
    whole = np.floor(exact + 1e-9).astype(np.intp)
    order = np.argsort(whole - exact, kind="stable")
    whole[order[: n - int(whole.sum())]] += 1
    return np.asarray(whole)


def strata_of(scores: Floats, threshold: float | None, labels: int) -> list[float]:
    """Return the lowest score of each stratum, highest scores first; ties stay together."""
    falling = np.sort(scores)[::-1]
    n = falling.size
    at = 0 if threshold is None else int(np.count_nonzero(scores >= threshold))
    cuts = {round(share * n) for share in SHARES}
    cuts = {cut for cut in cuts if not at / NEAREST < cut < at * NEAREST}
    if labels < LEAST * (len(cuts) + 2):
        cuts = set()
    if labels >= 2:
        cuts.add(at)
    ends, last = [], 0
    for cut in sorted(cuts):
        if 0 < cut < n and (cut == at or min(cut - last, n - cut) >= SMALLEST):
            ends.append(cut)
            last = cut
    lowest = [float(falling[end - 1]) for end in ends] + [float(falling[-1])]
    return list(dict.fromkeys(lowest))
