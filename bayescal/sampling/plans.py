"""Plans: which documents to label, drawn at random within strata of the score.

Documents of like scores form a stratum, and within each a simple random sample is drawn. The
probability to be drawn is then a function of the score, which models of labels given scores need
not know, and counts in strata have exact limits.
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.sampling.hidden import RankedCollection, fit_posterior
from bayescal.support import validation
from bayescal.support.validation import Floats

PURPOSES = ("recall", "precision", "prevalence", "calibration", "control")
# Ends of strata before any label, as shares of the ranking; a threshold is one more end.
SHARES = (0.003, 0.03)
# Strata of fewer documents, or as close to a threshold as that factor, join their neighbours.
SMALLEST, NEAREST = 20, 2.0
# The share of labels that go to strata in proportion to their documents; all others get alike.
PROPORTIONAL = 0.3
# The share of a later round that is allocated as if nothing were known.
UNINFORMED = 0.1
LEAST = 5  # labels in each stratum
OF_DOCUMENT = ("document", "score", "inclusion")
OF_PLAN = ("round", "seed", "hash", "stratum", "lowest", "size", "threshold")
COLUMNS = OF_DOCUMENT + OF_PLAN
ROUNDED = 1e-6  # how far a spreadsheet may round the numbers of a plan, relative and absolute


@dataclass(frozen=True)
class Stratum:
    """Documents of like scores, some of them drawn at random."""

    lowest: float  # the lowest score that belongs to it; those of the next higher stratum do not
    documents: int  # documents without a label, or groups of these, before the round
    sampled: int  # how many of them are drawn


@dataclass(frozen=True)
class SamplePlan:
    """
    One round of documents to label.

    Attributes
    ----------
    documents : array of shape (n,) of int
        Positions of the documents to label, the highest score first.
    scores : array of shape (documents,)
        The scores of the whole collection.
    strata : tuple of Stratum
        The strata, that of the highest scores first.
    seed : int
        What seeded the draw.
    round : int
        1 for the first plan, one more for each that follows.
    threshold : float or None
        The score whose recall or precision the plan is for.
    expected_width : float
        Approximate width of the design-based 90 % interval if the probabilities of earlier labels
        are right; nan without earlier labels.
    notes : tuple of str
        Remarks about the plan.
    """

    documents: NDArray[np.intp]
    scores: Floats
    strata: tuple[Stratum, ...]
    seed: int
    round: int = 1
    threshold: float | None = None
    expected_width: float = math.nan
    notes: tuple[str, ...] = ()
    # (documents,): the score that places each document, of a group the highest
    placed: Floats | None = None

    @property
    def inclusion(self) -> Floats:
        """Return the probability of each document of the collection to be drawn, if unlabelled."""
        share = np.array([each.sampled / max(each.documents, 1) for each in self.strata])
        return np.asarray(share[self.stratum])

    @property
    def stratum(self) -> NDArray[np.intp]:
        """Return the stratum of each document of the collection, 0 for the highest scores."""
        placed = self.scores if self.placed is None else self.placed
        return stratum_of(placed, [each.lowest for each in self.strata])

    @property
    def hash(self) -> str:
        """Return a hash of all scores, which ties the plan to them."""
        return hash_of(self.scores)

    def to_csv(self, path: str | Path) -> Path:
        """
        Write the documents to label: one row each, with an empty column label to fill in.

        The columns from round on let `read_plan` restore the plan.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        target = Path(path)
        stratum, inclusion = self.stratum, self.inclusion
        with target.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow((*OF_DOCUMENT, "label", *OF_PLAN))
            for document in self.documents.tolist():
                own = self.strata[stratum[document]]
                row = document, repr(float(self.scores[document])), repr(float(inclusion[document]))
                run = self.round, self.seed, self.hash
                place = int(stratum[document]), repr(own.lowest), own.documents
                wanted = "" if self.threshold is None else repr(self.threshold)
                writer.writerow((*row, "", *run, *place, wanted))
        return target


def stratum_of(scores: Floats, lowest: Sequence[float]) -> NDArray[np.intp]:
    """Return the stratum of each score, 0 for the highest; the last one takes all lower scores."""
    ascending = np.array(lowest)[::-1]
    place = np.searchsorted(ascending, scores, side="right")
    return np.asarray(np.minimum(len(lowest) - place, len(lowest) - 1))


def hash_of(scores: Floats) -> str:
    """Return the first 16 digits of the SHA-256 of scores as 64-bit floats."""
    return hashlib.sha256(np.ascontiguousarray(scores, dtype="<f8").tobytes()).hexdigest()[:16]


def read_plan(path: str | Path, scores: ArrayLike, groups: ArrayLike | None = None) -> SamplePlan:
    """
    Return the plan that `SamplePlan.to_csv` wrote, whatever columns were added since.

    Parameters
    ----------
    path : str or Path
        The plan file.
    scores, groups : array-like of shape (documents,)
        The scores of the whole collection, and the groups if the plan was drawn by groups.

    Raises
    ------
    ValueError
        If the file is no plan, or a plan of other scores.
    FileNotFoundError
        If there is no such file.
    """
    values = validation.as_scores(scores)
    with Path(path).open(newline="") as file:
        rows = list(csv.DictReader(file))
    lacking = [name for name in COLUMNS if not rows or name not in rows[0]]
    if lacking:
        raise ValueError(
            f"{path} must be a plan with the columns {', '.join(COLUMNS)}; it lacks"
            f" {', '.join(lacking)}: write it with bayescal sample or SamplePlan.to_csv."
        )
    check_hash(str(path), rows[0]["hash"], values)
    documents = _numbers(path, rows, "document").astype(np.intp)
    if documents.min() < 0 or documents.max() >= values.size:
        raise ValueError(
            f"{path} must hold documents from 0 to {values.size - 1}, got"
            f" {documents.min()} to {documents.max()}."
        )
    units = SamplingUnits.of(values, np.full(values.size, np.nan), groups)
    placed, unit = units.scores[units.of_document], units.of_document[documents]
    stratum, inclusion = (_numbers(path, rows, name) for name in ("stratum", "inclusion"))
    lowest, size = (_numbers(path, rows, name) for name in ("lowest", "size"))
    strata = []
    for each in np.unique(stratum):
        own = np.flatnonzero(stratum == each)
        # A spreadsheet rounds numbers: the lowest score of a stratum is one of the collection's.
        low = placed[np.abs(placed - lowest[own[0]]).argmin()]
        strata.append(Stratum(float(low), int(size[own[0]]), np.unique(unit[own]).size))
    threshold = float(_numbers(path, rows[:1], "threshold")[0]) if rows[0]["threshold"] else None
    seed, rounds = (int(_numbers(path, rows[:1], name)[0]) for name in ("seed", "round"))
    plan = SamplePlan(documents, values, tuple(strata), seed, rounds, threshold, placed=placed)
    own = np.unique(stratum, return_inverse=True)[1]
    for name, found, expected in (
        ("stratum", own, plan.stratum[documents]),
        ("score", _numbers(path, rows, "score"), values[documents]),
        ("inclusion", inclusion, plan.inclusion[documents]),
        ("lowest", lowest, np.array([each.lowest for each in strata])[own]),
        ("size", size, np.array([each.documents for each in strata])[own]),
    ):
        wrong = np.flatnonzero(~np.isclose(found, expected, rtol=ROUNDED, atol=ROUNDED))
        if wrong.size:
            raise ValueError(
                f"{path} must hold all rows of the plan, unchanged but for labels: {name} of"
                f" document {documents[wrong[0]]} is {found[wrong[0]]:.10g}, expected"
                f" {expected[wrong[0]]:.10g}; with groups, pass those that it was drawn by."
            )
    return plan


def _numbers(path: str | Path, rows: list[dict[str, str]], name: str) -> Floats:
    """Return a column of a plan file as numbers."""
    values = np.empty(len(rows))
    for k, row in enumerate(rows):
        try:
            values[k] = float(row[name])
        except (TypeError, ValueError):
            values[k] = np.nan
        if not np.isfinite(values[k]):
            raise ValueError(
                f"{path} must hold numbers in column {name}, got {row[name]!r} in data row {k + 1}:"
                " keep the rows of the plan as they were written."
            )
    return values


def check_hash(name: str, own: str, scores: Floats) -> None:
    """Raise ValueError unless a plan is of these scores."""
    if own != hash_of(scores):
        raise ValueError(
            f"scores must be those of the plan {name}, whose hash is {own}, got scores with the"
            f" hash {hash_of(scores)}: its inclusion probabilities are of other scores."
        )


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
    """
    Draw documents to label.

    Without labels the strata are fixed parts of the ranking, and each gets a third of its labels in
    proportion to its documents and the rest alike. With labels, stratum h of N_h documents with
    posterior mean probability p_h gets labels in proportion to c_h N_h sqrt(p_h (1 - p_h)) (J.
    Neyman's allocation), three tenths of them as without labels. For recall c is 1 - R above the
    threshold and R below, R being the expected recall; for precision 1 above and 0 below; for
    prevalence and calibration 1.

    Parameters
    ----------
    scores : array-like of shape (documents,)
        Raw scores of the whole collection, larger for likelier positives.
    n : int
        How many documents, or groups, to draw.
    purpose : {"recall", "precision", "prevalence", "calibration", "control"}
        What the labels are for; precision needs a threshold. "control" is a simple random sample,
        for `elusion` and `stop_review`.
    threshold : float, optional
        Documents of this score and above are taken.
    labels : array-like of shape (documents,), optional
        1 or 0, nan where there is no label. Documents with a label are not drawn again.
    inclusion : SamplePlan or several, optional
        The plans of the labels.
    groups : array-like of shape (documents,), optional
        The family of near duplicates, or the thread of messages, of each document: whole groups are
        drawn, by their highest score, and all their documents are in the plan.
    hidden
        See `estimate_recall`.
    random_state : int, Generator, RandomState or None
        Seeds the draw; the plan keeps the seed.

    Raises
    ------
    ValueError
        If an argument is not as described, or nothing is left to label.

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
    cut = as_threshold(threshold, needed=purpose == "precision")
    known = as_partial_labels(labels, values.size)
    plans = as_plans(inclusion, values)
    units = SamplingUnits.of(values, known, groups)
    unlabelled = np.flatnonzero(np.isnan(units.labels))
    if not unlabelled.size:
        raise ValueError("labels must leave documents to sample: all have a label.")
    notes = []
    if n > unlabelled.size:
        notes.append(f"n is larger than what is left: all {unlabelled.size:,} are to be labelled.")
        n = unlabelled.size
    lowest = strata_of(units.scores, cut, n)
    if purpose == "control":
        lowest = lowest[-1:]
    if len(lowest) == 1 and units.scores.min() == units.scores.max():
        notes.append("All scores are equal: the plan is a simple random sample.")
    stratum = stratum_of(units.scores, lowest)
    sizes = np.bincount(stratum[unlabelled], minlength=len(lowest))
    size = PROPORTIONAL * sizes / sizes.sum() + (1.0 - PROPORTIONAL) * (sizes > 0) / len(lowest)
    width = math.nan
    if (~np.isnan(units.labels)).any() and len(lowest) > 1:
        wanted, spread = _wanted(units, stratum, sizes, cut, purpose, hidden)
        size = UNINFORMED * size / size.sum() + (1.0 - UNINFORMED) * wanted
        drawn = allocate(size, sizes, n)
        width = 2.0 * 1.645 * math.sqrt(float((spread**2 / np.maximum(drawn, 1)).sum()))
    else:
        drawn = allocate(size, sizes, n)
    seed = int(validation.generator(random_state).integers(2**31))
    rng = np.random.default_rng(seed)
    picked = [
        rng.choice(unlabelled[stratum[unlabelled] == h], count, replace=False)
        for h, count in enumerate(drawn)
        if count
    ]
    documents = np.flatnonzero(np.isin(units.of_document, np.concatenate(picked)))
    documents = documents[np.argsort(-values[documents], kind="stable")]
    strata = tuple(
        Stratum(low, int(size), int(count))
        for low, size, count in zip(lowest, sizes, drawn, strict=True)
        if count
    )
    rounds = 1 + max((plan.round for plan in plans), default=0)
    placed = units.scores[units.of_document]
    return SamplePlan(documents, values, strata, seed, rounds, cut, width, tuple(notes), placed)


def _wanted(
    units: SamplingUnits,
    stratum: NDArray[np.intp],
    sizes: NDArray[Any],
    threshold: float | None,
    purpose: str,
    hidden: Any,
) -> tuple[Floats, Floats]:
    """Return each stratum's share of the labels, and its standard deviation with one label."""
    collection = RankedCollection.of(units.scores)
    drawn = fit_posterior(collection, units.labels, hidden, seed=0).probabilities()
    p = drawn.mean(axis=0)[collection.code]
    above = units.scores >= (-np.inf if threshold is None else threshold)
    total, taken = p.sum(), p[above].sum()
    importance = np.ones(p.size)
    if purpose == "recall":
        recall = np.clip(taken / total, 0.05, 0.95)
        importance = np.where(above, 1.0 - recall, recall) / total
    elif purpose == "precision":
        importance = np.where(above, 1.0 / max(above.sum(), 1), 0.0)
    else:
        importance /= p.size
    unlabelled = np.isnan(units.labels)
    own = stratum[unlabelled]
    variance = np.bincount(own, (p * (1.0 - p) * importance**2)[unlabelled], sizes.size)
    spread = np.sqrt(sizes * variance)
    return spread / spread.sum(), spread


def allocate(size: Floats, documents: NDArray[Any], n: int) -> NDArray[np.intp]:
    """Return n labels in proportion to sizes, 5 or more of each stratum that has documents."""
    least = np.minimum(documents, min(LEAST, n // documents.size))
    exact = least.astype(float)
    free = (documents > least) & (size > 0.0)
    left = float(n - least.sum())
    # All that a stratum cannot take goes to the others.
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
    """
    Return the lowest scores of strata, those of the highest scores first.

    Ties stay together. Each stratum gets five of the labels or more: of few labels there is one
    stratum above and one below the threshold.
    """
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


# Arguments that plans and estimates share.


@dataclass(frozen=True)
class SamplingUnits:
    """The units that are drawn and counted: documents, or groups of documents."""

    scores: Floats  # (units,): of a group the highest
    labels: Floats  # (units,): 1, 0 or nan; of a group 1 if one of its documents is positive
    of_document: NDArray[np.intp]  # (documents,): the unit of each document

    @classmethod
    def of(cls, scores: Floats, labels: Floats, groups: ArrayLike | None) -> SamplingUnits:
        """Return the units of a collection."""
        if groups is None:
            return cls(scores, labels, np.arange(scores.size))
        found, code = validation.read_groups(groups, "groups", "group", scores.size, "scores")
        highest = np.full(found.size, -np.inf)
        np.maximum.at(highest, code, scores)
        label = np.full(found.size, np.nan)
        np.fmax.at(label, code, labels)
        return cls(highest, label, code)

    def mask(self, documents: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return the mask of the units of some documents."""
        out = np.zeros(self.scores.size, dtype=bool)
        out[self.of_document[documents]] = True
        return out


def as_threshold(threshold: float | None, *, needed: bool) -> float | None:
    """Return a finite threshold, or None if none is needed."""
    if threshold is None:
        if needed:
            raise ValueError("threshold must be the score from which on documents are taken.")
        return None
    if not isinstance(threshold, int | float | np.number) or not np.isfinite(threshold):
        raise ValueError(f"threshold must be a finite number, got {threshold!r}.")
    return float(threshold)


def as_partial_labels(labels: ArrayLike | None, documents: int) -> Floats:
    """Return labels of a collection: 1, 0, or nan where there is none."""
    if labels is None:
        return np.full(documents, np.nan)
    given = np.asarray(validation.unmasked(labels, "labels"))
    blank = validation.missing(given)
    values = validation.as_reals(np.where(blank, np.nan, given) if blank.any() else given, "labels")
    if values.shape != (documents,):
        raise ValueError(
            f"labels must have shape ({documents},), one a document and nan where there is none,"
            f" got {values.shape}: two reviewers of a document have to agree on one label."
        )
    wrong = ~(np.isnan(values) | (values == 0.0) | (values == 1.0))
    if wrong.any():
        raise ValueError(
            f"labels must be 1, 0, or nan where there is none, got {values[wrong][0]:g}."
        )
    return values


def as_plans(plans: SamplePlan | Iterable[SamplePlan], scores: Floats) -> tuple[SamplePlan, ...]:
    """Return plans in the order of their rounds; ValueError for those of other scores."""
    several = (plans,) if isinstance(plans, SamplePlan) else tuple(plans)
    for plan in several:
        if not isinstance(plan, SamplePlan):
            raise ValueError(
                f"plans must be SamplePlan, as plan_sample and read_plan return, got"
                f" {type(plan).__name__}."
            )
        check_hash(f"of round {plan.round}", plan.hash, scores)
    return tuple(sorted(several, key=lambda plan: plan.round))


def inclusion_of(plans: SamplePlan | Iterable[SamplePlan], scores: ArrayLike) -> Floats:
    """
    Return the probability of each document to be labelled in one of several rounds.

    It is 1 - (1 - p_1)(1 - p_2)..., a function of the score, to be passed as `inclusion=` to `fit`
    and to metrics.

    Parameters
    ----------
    plans : SamplePlan or several
        The plans of all rounds.
    scores : array-like of shape (documents,)
        The scores of the whole collection.

    Raises
    ------
    ValueError
        If a plan is of other scores, or there is none.
    """
    values = validation.as_scores(scores)
    several = as_plans(plans, values)
    if not several:
        raise ValueError("plans must hold at least one plan, got none.")
    missed = np.prod([1.0 - plan.inclusion for plan in several], axis=0)
    return np.asarray(1.0 - missed)
