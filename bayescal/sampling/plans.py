"""Plans of samples, the files that hold them, and the draw that labels come from."""

import csv
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.sampling.design import SamplingUnits, StratifiedDraw
from bayescal.support import validation, weighting
from bayescal.support.files import FIRST_ROW, ROW, file_row
from bayescal.support.validation import Floats

OF_DOCUMENT = (ROW, "score", "inclusion")
# Other label files have at most one column with such a name.
OF_PLAN_ALONE = ("round", "seed", "hash", "stratum", "lowest", "size", "checksum")
OF_PLAN = (*OF_PLAN_ALONE, "threshold")
OF_RUN = ("round", "seed", "hash", "checksum", "threshold")  # one value a file
COLUMNS = OF_DOCUMENT + OF_PLAN
LEAST = 5  # labels in each stratum
ROUNDED = 1e-6  # relative and absolute rounding allowed in plan files


@dataclass(frozen=True)
class Stratum:
    """Documents with similar scores, some of them drawn at random."""

    lowest: float  # lowest score
    documents: int  # unlabelled documents, or groups, before the round
    sampled: int  # number drawn


@dataclass(frozen=True)
class SamplePlan:
    """One round of documents to label.

    Attributes
    ----------
    documents : array of shape (n,) of int
        Positions of the documents to label, the highest score first.
    scores : array of shape (documents,)
        The scores of the whole collection.
    strata : tuple of Stratum
        The strata, highest scores first.
    seed : int
        Seed of the draw.
    round : int
        1 for the first plan, 2 for the next, ...
    threshold : float or None
        Threshold whose recall or precision the plan is for.
    expected_width : float
        Mean width of design-based 90 % intervals for documents' labels drawn with the posterior
        mean probabilities; nan without earlier labels, or for recall without a threshold.
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
    placed: Floats | None = None  # (documents,): score that defines the stratum, a group's highest

    @property
    def inclusion(self) -> Floats:
        """Return the probability of each unlabelled document to be drawn."""
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

    @property
    def checksum(self) -> str:
        """Return a hash of all that a file of the plan records."""
        strata = [(float(s.lowest), int(s.documents), int(s.sampled)) for s in self.strata]
        # Spreadsheets keep fifteen digits of a threshold.
        threshold = None if self.threshold is None else f"{self.threshold:.10g}"
        drawn = np.unique(self.documents).tolist()
        record = repr((self.hash, int(self.round), int(self.seed), strata, threshold, drawn))
        # A letter in front, since spreadsheets take some hashes for numbers.
        return f"c{hashlib.sha256(record.encode()).hexdigest()[:16]}"

    @property
    def to_label(self) -> NDArray[np.intp]:
        """Return the documents in a random order by the seed, which tells reviewers no score."""
        rng = np.random.default_rng([self.seed, self.round, len(OF_PLAN)])
        return rng.permutation(self.documents)

    def to_csv(self, path: str | Path) -> Path:
        """Write the plan for `read_plan`: one row for each document, the highest score first.

        The column row is the document's row in a file of the scores as a spreadsheet counts, where
        the document at position 0 is in row 2, below the header. The file is not for reviewers,
        who should see neither scores nor strata: give them the documents `to_label`.
        """
        target = Path(path)
        columns = self.columns(self.documents + FIRST_ROW)
        with target.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        return target

    def columns(self, rows: NDArray[np.intp]) -> dict[str, list[Any]]:
        """Return the columns of the plan's file, for documents in these rows of a file."""
        n, stratum = rows.size, self.stratum[self.documents]
        strata = [self.strata[each] for each in stratum.tolist()]
        threshold = "" if self.threshold is None else repr(self.threshold)
        return {
            ROW: rows.tolist(),
            "score": [repr(each) for each in self.scores[self.documents].tolist()],
            "inclusion": [repr(each) for each in self.inclusion[self.documents].tolist()],
            "round": [self.round] * n,
            "seed": [self.seed] * n,
            "hash": [self.hash] * n,
            "stratum": stratum.tolist(),
            "lowest": [repr(each.lowest) for each in strata],
            "size": [each.documents for each in strata],
            "checksum": [self.checksum] * n,
            "threshold": [threshold] * n,
        }


def stratum_of(scores: Floats, lowest: Sequence[float]) -> NDArray[np.intp]:
    """Return the stratum of each score, 0 for the highest; the last one takes all lower scores."""
    ascending = np.array(lowest)[::-1]
    place = np.searchsorted(ascending, scores, side="right")
    return np.asarray(np.minimum(len(lowest) - place, len(lowest) - 1))


def hash_of(scores: Floats) -> str:
    """Return the first 16 digits of the SHA-256 of scores as 64-bit floats."""
    return hashlib.sha256(np.ascontiguousarray(scores, dtype="<f8").tobytes()).hexdigest()[:16]


def read_plan(path: str | Path, scores: ArrayLike, groups: ArrayLike | None = None) -> SamplePlan:
    """Return the plan that `SamplePlan.to_csv` wrote; further columns are allowed.

    Parameters
    ----------
    path : str or Path
        The plan file.
    scores, groups : array-like of shape (documents,)
        The scores of the whole collection, and the groups if the plan was drawn by groups.
    """
    with Path(path).open(newline="", encoding="utf-8-sig") as file:
        header, *lines = list(csv.reader(file)) or [[]]
    # Blank lines count where an error names a row.
    rows = {k: dict(zip(header, line, strict=False)) for k, line in enumerate(lines) if any(line)}
    return plan_of_rows(str(path), rows, scores, groups)


def plan_of_rows(
    path: str,
    rows: Mapping[int, Mapping[str, str]],
    scores: ArrayLike,
    groups: ArrayLike | None,
    documents: NDArray[np.intp] | None = None,
) -> SamplePlan:
    """Return the plan of a file's rows, as texts, by their positions in the file."""
    values = validation.as_scores(scores)
    first = next(iter(rows.values()), {})
    needed = COLUMNS if documents is None else COLUMNS[1:]
    lacking = [name for name in needed if name not in first]
    if lacking:
        raise ValueError(
            f"{path} must be a plan with the columns {', '.join(COLUMNS)}; it lacks"
            f" {', '.join(lacking)}: write it with bayescal sample or SamplePlan.to_csv."
        )
    for name in OF_RUN:
        if len(texts := {row.get(name, "").strip() for row in rows.values()}) > 1:
            raise ValueError(
                f"{path} must hold the same {name} in all rows, got {' and '.join(sorted(texts))}:"
                " give each round its own file."
            )
    check_hash(path, first["hash"], values)
    if documents is None:
        documents = _numbers(path, rows, ROW).astype(np.intp) - FIRST_ROW
    if documents.min() < 0 or documents.max() >= values.size:
        raise ValueError(
            f"{path} must hold rows from {FIRST_ROW} to {FIRST_ROW + values.size - 1}, got"
            f" {FIRST_ROW + documents.min()} to {FIRST_ROW + documents.max()}."
        )
    units = SamplingUnits.of(values, np.full(values.size, np.nan), groups)
    placed, unit = units.scores[units.of_document], units.of_document[documents]
    stratum, inclusion = (_numbers(path, rows, name) for name in ("stratum", "inclusion"))
    lowest, size = (_numbers(path, rows, name) for name in ("lowest", "size"))
    strata = []
    for each in np.unique(stratum):
        own = np.flatnonzero(stratum == each)
        # Undo rounding by a spreadsheet: the lowest score is a document's.
        low = placed[np.abs(placed - lowest[own[0]]).argmin()]
        strata.append(Stratum(float(low), int(size[own[0]]), np.unique(unit[own]).size))
    top = dict(islice(rows.items(), 1))
    threshold = float(_numbers(path, top, "threshold")[0]) if first["threshold"] else None
    rounds, _ = (int(_numbers(path, top, name)[0]) for name in ("round", "seed"))
    seed = int(Decimal(first["seed"].replace(",", ".")))  # a float rounds large seeds
    plan = SamplePlan(documents, values, tuple(strata), seed, rounds, threshold, placed=placed)
    own = np.unique(stratum, return_inverse=True)[1]
    for name, actual, expected in (
        ("stratum", own, plan.stratum[documents]),
        ("score", _numbers(path, rows, "score"), values[documents]),
        ("inclusion", inclusion, plan.inclusion[documents]),
        ("lowest", lowest, np.array([each.lowest for each in strata])[own]),
        ("size", size, np.array([each.documents for each in strata])[own]),
    ):
        wrong = np.flatnonzero(~np.isclose(actual, expected, rtol=ROUNDED, atol=ROUNDED))
        if wrong.size:
            raise ValueError(
                f"{path} must hold all rows of the plan, unchanged but for labels: {name} of the"
                f" document at position {documents[wrong[0]]} is {actual[wrong[0]]:.10g}, expected"
                f" {expected[wrong[0]]:.10g}; with groups, pass those that it was drawn by."
            )
    if plan.checksum != first["checksum"].strip():
        raise ValueError(
            f"{path} must hold all rows of the plan, unchanged but for labels: their checksum is"
            f" {plan.checksum}, the file states {first['checksum']}. Rows are missing, or a"
            " document, stratum, size, seed, round or threshold was changed."
        )
    return plan


def _numbers(path: str, rows: Mapping[int, Mapping[str, str]], name: str) -> Floats:
    """Return a column of a plan file as numbers."""
    values = []
    for position, row in rows.items():
        cell = row.get(name, "")
        try:
            values.append(float(cell.replace(",", ".")))  # as spreadsheets write decimals
        except ValueError:
            values.append(np.nan)
        if not np.isfinite(values[-1]):
            raise ValueError(
                f"{path} must hold numbers in column {name}, got {cell!r} in {file_row(position)}:"
                " keep the rows of the plan as they were written."
            )
    return np.array(values)


def check_hash(name: str, own: str, scores: Floats) -> None:
    """Raise ValueError unless a plan is of these scores."""
    if own != hash_of(scores):
        raise ValueError(
            f"scores must be those of the plan {name}, whose hash is {own}, got scores with the"
            f" hash {hash_of(scores)}: its inclusion probabilities are of other scores, or of these"
            " in another order; in a shell, documents with identifiers are ordered by them."
        )


def as_plans(
    plans: SamplePlan | Iterable[Any], scores: Floats, name: str = "plans"
) -> tuple[SamplePlan, ...]:
    """Return plans in the order of their rounds; raise ValueError if scores differ."""
    several = (plans,) if isinstance(plans, SamplePlan) else tuple(plans)
    for plan in several:
        if not isinstance(plan, SamplePlan):
            raise ValueError(
                f"{name} must be SamplePlan, as plan_sample and read_plan return, got"
                f" {type(plan).__name__}."
            )
        check_hash(f"of round {plan.round}", plan.hash, scores)
    return tuple(sorted(several, key=lambda plan: plan.round))


def inclusion_of(plans: SamplePlan | Iterable[SamplePlan], scores: ArrayLike) -> Floats:
    """Return the probability of each document to be labelled in one of several rounds.

    It is 1 - (1 - p_1)(1 - p_2)..., for the parameter `inclusion` of `fit` and of metrics.

    Parameters
    ----------
    plans : SamplePlan or several
        The plans of all rounds.
    scores : array-like of shape (documents,)
        The scores of the whole collection.
    """
    values = validation.as_scores(scores)
    several = as_plans(plans, values)
    if not several:
        raise ValueError("plans must hold at least one plan, got none.")
    missed = np.prod([1.0 - plan.inclusion for plan in several], axis=0)
    return np.asarray(1.0 - missed)


RANDOM = "random"  # the design of a simple random sample
Design = SamplePlan | Iterable[SamplePlan] | ArrayLike | str


def as_design(
    design: Any, scores: Floats, labels: Floats
) -> tuple[tuple[SamplePlan, ...], Floats | None]:
    """Return plans, or the probability of each document to be drawn."""
    if isinstance(design, SamplePlan):
        return as_plans(design, scores), None
    if isinstance(design, str):
        validation.check_choice("design", design, (RANDOM,))
        inclusion = np.full(scores.size, np.mean(~np.isnan(labels)))
        return (), weighting.as_inclusion(inclusion, scores.size, "the share of labelled documents")
    if not isinstance(design, Iterable):
        design = validation.as_array(design, "design")
    several = design if isinstance(design, np.ndarray) else tuple(design)
    if len(several) == 0 or any(isinstance(each, SamplePlan) for each in several):
        return as_plans(several, scores), None
    if np.shape(several) != scores.shape:
        raise ValueError(
            "design must be what plan_sample or read_plan returned, or an inclusion probability of"
            f" each of {scores.size:,} documents, got {type(design).__name__} of shape"
            f" {np.shape(several)}."
        )
    return (), weighting.as_inclusion(several, scores.size)


def draw_of_plans(units: SamplingUnits, plans: tuple[SamplePlan, ...]) -> StratifiedDraw | None:
    """Return the draw of the plan with the most labels; None if other labels do not fit it."""
    main = max(plans, key=lambda plan: (plan.documents.size, plan.round))
    stratum = np.zeros(units.scores.size, dtype=np.intp)
    stratum[units.of_document] = main.stratum
    before = _labelled_before(main, units, plans, stratum)
    if before is None:
        return None
    return StratifiedDraw(units, stratum, units.mask(main.documents), before)


def _labelled_before(
    main: SamplePlan, units: SamplingUnits, plans: tuple[SamplePlan, ...], stratum: NDArray[np.intp]
) -> NDArray[np.bool_] | None:
    """Return the mask of units labelled before the plan, from the sizes of its strata."""
    sizes = [each.documents for each in main.strata]
    earlier, of_plans = (np.zeros(units.scores.size, dtype=bool) for _ in range(2))
    for plan in plans:
        of_plans |= units.mask(plan.documents)
        if plan.round < main.round:
            earlier |= units.mask(plan.documents)
    earlier &= ~units.mask(main.documents)  # drawn again: without a label until then
    # Labels in no plan are all earlier than the plan, or all later.
    others = ~np.isnan(units.labels) & ~of_plans
    for before in (earlier | others, earlier):
        if np.bincount(stratum[~before], minlength=len(sizes)).tolist() == sizes:
            return np.asarray(before)
    return None


def draw_of_probabilities(units: SamplingUnits, inclusion: Floats) -> StratifiedDraw:
    """Return the draw whose strata are the units with equal inclusion probabilities."""
    # Given its size, a stratum's sample is simple random if draws do not depend on labels.
    lowest, highest = np.full(units.scores.size, np.inf), np.full(units.scores.size, -np.inf)
    np.minimum.at(lowest, units.of_document, inclusion)
    np.maximum.at(highest, units.of_document, inclusion)
    if (lowest < highest).any():
        raise ValueError("design must hold one inclusion probability for all documents of a group.")
    sampled = ~np.isnan(units.labels)
    unlabelled = int(np.count_nonzero((highest == 1.0) & ~sampled))
    if unlabelled:
        raise ValueError(
            f"labels must hold a label of each document whose inclusion probability is 1,"
            f" {unlabelled:,} have none."
        )
    different, stratum = np.unique(highest, return_inverse=True)
    if different.size > 1 and different.size * LEAST > np.count_nonzero(sampled):
        raise ValueError(
            f"design must hold few different inclusion probabilities, got {different.size:,} for"
            f" {int(sampled.sum()):,} labels: documents of one probability form a stratum. Pass the"
            " plans of plan_sample, or no design for the curves alone."
        )
    return StratifiedDraw(units, stratum, sampled, np.zeros_like(sampled))
