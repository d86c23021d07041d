"""Audit of probabilities that somebody else made, against outcomes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.fitting.fitted_recalibration import read_sites
from bayescal.metrics import changes, inputs
from bayescal.metrics.changes import AS_IS, FULL, SHIFT, SLOPE, LogOddsCells, fit_changes
from bayescal.metrics.evidence import with_clusters
from bayescal.metrics.verdict import CalibrationVerdict, verdict_of
from bayescal.monitoring import audit_numbers
from bayescal.monitoring.sample_size import MOST, labels_needed
from bayescal.support import score_checks, validation
from bayescal.support.condensing import documents_of, from_counts
from bayescal.support.intervals import Interval, interval_table, p_words, percent, readable
from bayescal.support.validation import generator, warn_user

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 1000
PLANNED = 1 << 20  # documents at most, of those like which labels are planned
FEW = 10  # fewer documents show almost nothing
RATIO_WIDTH, SLOPE_WIDTH = 0.2, 0.2  # wanted widths of intervals
NEGLIGIBLE = 5e-4  # smaller numbers are shown as 0
DIFFERENT = 0.1  # standard deviation of shifts or slopes between sites that differ
SETTLED = 0.5  # probability of a settled explanation
EXCLUDED = 0.05  # an explanation of a smaller probability is excluded
NAMES = {AS_IS: "right as is", SHIFT: "shifted", SLOPE: "shift and slope", FULL: "bent"}


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    Attributes
    ----------
    documents : float
        Number of documents, or sum of their weights.
    level : float
        Posterior probability of all intervals and bands.
    numbers : dict of str to Interval
        All numbers by name.
    model_probability : dict of str to float
        Probabilities of the four explanations "as is", "shift", "slope" and "full"; 0 for "as is"
        if a document's class had probability 0.
    curve : xarray.Dataset
        The calibration curve: mean (probability), and lower and upper (kind, probability), with
        kind "pointwise" and "simultaneous".
    net_benefit : xarray.Dataset
        Net benefit in true positives per document, relative to treating nobody: mean, lower and
        upper (strategy, threshold) by the curve, and counted, of the strategies "as is",
        "recalibrated" and "all"; counted is nan for "recalibrated", which these outcomes fitted.
    sites : xarray.Dataset or None
        Shift and slope of each site, mean, lower and upper (number, site); of a new site, new_mean,
        new_lower, new_upper (number); their standard deviation between sites, between,
        between_lower, between_upper (number). documents, observed and expected (site).
    verdict : CalibrationVerdict
        The test that the probabilities are right.
    threshold : float or None
        The threshold, possibly from costs.
    notes : tuple of str
        Unusual features of the documents, each with advice.
    outcomes : Forecasts
        The checked documents.
    positive : str
        The label of positives.
    noun : str
        What sentences call a document.
    """

    documents: float
    level: float
    numbers: Mapping[str, Interval]
    model_probability: Mapping[str, float]
    curve: xr.Dataset
    net_benefit: xr.Dataset
    sites: xr.Dataset | None
    verdict: CalibrationVerdict
    threshold: float | None
    notes: tuple[str, ...]
    outcomes: inputs.Forecasts = field(repr=False)
    positive: str = "1"
    noun: str = "document"

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each number, with the columns value, lower and upper."""
        shares = self.model_probability.items()
        explained = {f"probability of {name}": Interval(each) for name, each in shares}
        return interval_table({**self.numbers, **explained})

    @property
    def explanation(self) -> str:
        """Return the most probable of the four explanations."""
        return max(self.model_probability, key=lambda name: self.model_probability[name])

    @property
    def sites_differ(self) -> bool:
        """Return whether shifts or slopes of sites differ by more than chance and DIFFERENT."""
        return self.sites is not None and bool((self.sites["between_lower"] > DIFFERENT).any())

    @property
    def advice(self) -> str:
        """Return one sentence on what to do."""
        best, numbers = self.explanation, self.numbers
        share = self.model_probability[best]
        if self.documents < FEW:
            return f"Label more {self.noun}s: fewer than ten labels show almost nothing."
        if self.sites_differ:
            return (
                "Recalibrate site by site: sites differ; Recalibrator(pooling='partial') lets them"
                " borrow from each other."
            )
        if best == AS_IS:
            more = f", and label more {self.noun}s" if share < SETTLED else ""
            reserve = f", with reserve: {self.reserve}" if self.reserve else ""
            return f"Leave the probabilities as they are{more}{reserve}."
        if best == SHIFT:
            shift = numbers["calibration in the large"].value
            verb, amount = ("Add", shift) if shift > 0.0 else ("Subtract", -shift)
            where = "to" if shift > 0.0 else "from"
            act = f"{verb} {amount:.2f} {where} all log-odds (odds times {math.exp(shift):,.4g})"
        elif best == SLOPE:
            intercept, slope = numbers["intercept"].value, numbers["slope"].value
            act = f"Replace log-odds l by {intercept:.2f} + {slope:.2f} l"
        else:
            act = "Recalibrate along the whole curve, which bends"
        unsure = f", and label more {self.noun}s to be sure of the change"
        settled = "" if share >= SETTLED else unsure
        return f"{act}: Recalibrator does so, as far as the labels support it{settled}."

    @property
    def reserve(self) -> str:
        """Return the explanations that the outcomes do not exclude beside the most probable one."""
        kept = [
            f"{NAMES[name]} ({share:.2f})"
            for name, share in self.model_probability.items()
            if name != self.explanation and share >= EXCLUDED
        ]
        parts = [f"the outcomes do not exclude {', '.join(kept)}"] if kept else []
        slope = self.numbers["slope"]
        if self.explanation == AS_IS and _excludes_1(slope):
            parts += [f"the interval of the slope, {_shown(slope)}, excludes 1"]
        return ", and ".join(parts)

    @property
    def text(self) -> str:
        """Return the audit in words: the advice first, then the numbers behind it."""
        lines = [self.advice, *self._explained(), *self.notes]
        return "\n".join(lines)

    def _explained(self) -> list[str]:
        numbers, level = self.numbers, percent(self.level)
        shares = ", ".join(
            f"{NAMES[name]} {each:.2f} ({changes.PRIOR[name]:.2f})"
            for name, each in self.model_probability.items()
        )
        reserve = f" {self.reserve[0].upper()}{self.reserve[1:]}." if self.reserve else ""
        verdict, ratio = self.verdict, numbers["observed / expected"]
        expected = "none was expected, so that there is no ratio"
        if math.isfinite(ratio.value):
            expected = f"{readable(verdict.expected, 4)} were expected: ratio {_shown(ratio)}"
        effect = self.outcomes.effect
        lines = [
            *([] if effect is None else [f"{effect}.".replace("documents", f"{self.noun}s")]),
            f"Probability of each explanation (before the outcomes): {shares}; test that they are"
            f" right: p {p_words(verdict.pvalue)}.{reserve}",
            f"{readable(verdict.observed)} of {readable(self.documents)} {self.noun}s are positive"
            f" (label {self.positive}) where {expected} ({level} intervals).",
        ]
        includes = "excludes" if _excludes_1(numbers["slope"]) else "includes"
        ending = {"slope": f"; the interval {includes} 1"}
        for name in ("slope", "mean error (ICI)", "AUC"):
            if math.isfinite(numbers[name].value):
                lines.append(
                    f"{name[0].upper()}{name[1:]}: {_shown(numbers[name])}{ending.get(name, '')}."
                )
        if self.threshold is not None:
            saving = numbers["saving by recalibrating"]
            unit = "of your costs" if "cost of a false negative" in numbers else "true positives"
            lines.append(
                f"Net benefit at threshold {self.threshold:g}, in true positives per {self.noun}:"
                f" counted {_shown(numbers['net benefit'])}, over treating all"
                f" {_shown(numbers['net benefit over treating all'])}; smoothed by the curve"
                f" {_shown(numbers['smoothed net benefit'])}."
            )
            lines.append(
                f"Recalibrating would save {_shown(saving / 0.001)} {unit} per 1,000"
                f" {self.noun}s at threshold {self.threshold:g}."
            )
        if self.sites is not None:
            between = self.sites.sel(number="shift")
            lines.append(
                f"Between sites, shifts have standard deviation {float(between['between']):.2f}"
                f" ({float(between['between_lower']):.2f} to"
                f" {float(between['between_upper']):.2f}); a new site's shift lies between"
                f" {float(between['new_lower']):.2f} and {float(between['new_upper']):.2f}."
            )
        return lines

    @property
    def more_labels(self) -> str:
        """Return the number of labels that would narrow the intervals, in words."""
        factor = self.outcomes.factor
        p = documents_of(self.outcomes.p, self.outcomes.documents, PLANNED)
        have = f"This audit has {readable(self.documents)} outcomes."
        widths = {"ratio_width": RATIO_WIDTH}
        if np.ptp(p) > 0.0:
            widths["slope_width"] = SLOPE_WIDTH
        independent = labels_needed(p, level=self.level, **widths)
        needed = {key: math.ceil(factor * n) for key, n in independent.items()}
        names = {"ratio": "observed / expected", "slope": "the slope"}
        parts = [
            f"{'about' if n < MOST else 'at least'} {n:,} would narrow the interval of"
            f" {names[key]} to a width of {widths[f'{key}_width']:g}"
            for key, n in needed.items()
        ]
        return f"{have} For {self.noun}s like these, {' and '.join(parts)}."

    def report(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        run: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Path:
        """Write a report, one HTML file that opens without network: the advice comes first.

        Parameters
        ----------
        path : str or Path
            The file; nothing is left if it cannot be written.
        title : str, optional
            Title of the page.
        run : mapping of mappings of str, optional
            Further provenance to print, by heading.
        """
        from bayescal.fitting.results.tree import versions
        from bayescal.monitoring import audit_page
        from bayescal.report.answer import Answer
        from bayescal.report.rendering import Cell, Row, numbers, short, write_page

        p, truth, counts = self.outcomes.p, self.outcomes.truth, self.outcomes.counts
        documents = self.outcomes.documents
        digest = hashlib.sha256(p.astype("<f8").tobytes() + truth.astype(np.uint8).tobytes())
        hashed = "SHA-256 of p and y"
        if (documents != 1.0).any():
            digest.update(documents.astype("<f8").tobytes())
            hashed = "SHA-256 of p, y and counts"
        advice, *lines = self.text.splitlines()
        facts = {
            f"{self.noun.capitalize()}s": f"{counts.sum():,.6g}",
            f"Positives (label {self.positive})": f"{counts @ truth:,.6g}",
            "Positives expected": f"{counts @ p:,.4g}",
        }
        if self.threshold is not None:
            facts["Threshold"] = short(self.threshold)
        data = {
            "level": self.level,
            "noun": self.noun,
            "threshold": self.threshold,
            "curve": audit_page.curve_data(self.curve),
            "benefit": audit_page.benefit_data(self.net_benefit),
            "explanations": {
                "name": list(self.model_probability),
                "probability": numbers(list(self.model_probability.values())),
            },
            "positives": audit_page.ticks(p[truth], documents[truth]),
            "negatives": audit_page.ticks(p[~truth], documents[~truth]),
        }
        sites = None
        if self.sites is not None:
            facts["Sites"] = f"{self.sites.sizes['site']:,}"
            sites = audit_page.site_rows(self.sites)
            data["sites"] = {
                name: audit_page.site_changes(self.sites, name) for name in ("shift", "slope")
            }
        state = "unknown" if self.reserve else "good"
        finite = {name: x for name, x in self.numbers.items() if math.isfinite(x.value)}
        return write_page(
            Path(path),
            "audit",
            data,
            title=title,
            level=self.level,
            run={"Versions": versions(), "Data": {hashed: digest.hexdigest()}, **(run or {})},
            answer=Answer(state if self.explanation == AS_IS else "warning", advice, ""),
            answer_lines=lines,
            more_labels=self.more_labels,
            noun=self.noun,
            facts=facts,
            numbers=[Row(name, [Cell.of(each)]) for name, each in finite.items()],
            sites=sites,
            site_columns=(f"{self.noun.capitalize()}s", *audit_page.SITE_COLUMNS),
        )


def _excludes_1(number: Interval) -> bool:
    return number.lower > 1.0 or number.upper < 1.0


def _shown(number: Interval) -> str:
    """Return a number and its interval for readers, with 0 for negligible ones."""
    numbers = {end: getattr(number, end) for end in ("value", "lower", "upper")}
    negligible: dict[str, Any] = {
        end: 0.0 for end, each in numbers.items() if abs(each) < NEGLIGIBLE
    }
    return str(replace(number, **negligible))


@from_counts("p", "y")
def audit(
    y: ArrayLike,
    p: ArrayLike,
    sites: ArrayLike | None = None,
    *,
    threshold: float | None = None,
    costs: ArrayLike | None = None,
    level: float = 0.9,
    draws: int = DRAWS,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    noun: str = "document",
    random_state: Any = None,
) -> Audit:
    """Audit probabilities against outcomes: whether and how they are off, and what to do.

    With l = logit(p), natural, the true log-odds are l + a + (b - 1)(l - m) + g(l), see
    `Recalibrator`. The curve, smoothed net benefit and saving come from the model with all
    parameters free ("full"), whose bands are widest; "net benefit" is counted. Advice,
    recalibrated probabilities and the size of the error come from the average of the four models,
    which may have no error.

    Parameters
    ----------
    y : array-like of shape (n,)
        Outcomes: booleans, or 0 and 1, or -1 and 1; one class may be missing.
    p : array-like of shape (n,)
        Probabilities of the positive class. Log-odds are clipped to -20 and 20.
    sites : array-like of shape (n,), optional
        The site of each document, such as its hospital or month.
    threshold : float, optional
        Documents with this probability or more are treated as positive.
    costs : array-like of shape (2, 2), optional
        In place of a threshold, and units of the saving: costs[d, c] is the cost of decision d if
        the class is c; with ``[[0, 9], [1, 0]]`` a missed positive costs nine false alarms.
    level : float
        Posterior probability of intervals and bands.
    draws : int
        Number of posterior draws.
    sample_weight, inclusion : array-like of shape (n,), optional
        As in `bayescal.metrics.log_loss`. Inclusion may depend on the probability and the class.
    clusters : array-like of shape (n,), optional
        The cluster of each document, such as its patient, as in
        `bayescal.metrics.calibration_verdict`.
    noun : str
        What sentences and the report call a document: a word whose plural ends in s, as "patient".
    random_state : int, Generator, RandomState or None
        Seeds the draws.

    Warns
    -----
    UserWarning
        If positives have lower probabilities than negatives, or a document's class had
        probability 0.

    References
    ----------
    B. Van Calster et al., *A calibration hierarchy for risk models was defined*, Journal of
    Clinical Epidemiology 2016. P. C. Austin and E. W. Steyerberg, *The integrated calibration index
    (ICI)*, Statistics in Medicine 2019. A. J. Vickers and E. B. Elkin, *Decision curve analysis*,
    Medical Decision Making 2006. L. Wynants et al., *Random-effects meta-analysis of the clinical
    utility of tests and prediction models*, Statistics in Medicine 2018.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.02, 0.6, 1000)
    >>> y = rng.random(1000) < p / (p + 2.0 * (1.0 - p))  # odds are half as large as stated
    >>> result = audit(y, p, threshold=0.1, random_state=0)
    >>> result.advice[:45]
    'Subtract 0.47 from all log-odds (odds times 0'
    >>> result.to_frame().loc["observed / expected"].round(2).tolist()
    [0.74, 0.67, 0.81]
    """
    read = inputs.read_outcomes(y, p, sample_weight, inclusion, as_evidence=True, names=("y", "p"))
    outcomes = with_clusters(read, clusters)
    result = audit_outcomes(
        outcomes,
        sites,
        threshold=threshold,
        costs=costs,
        level=level,
        draws=draws,
        random_state=random_state,
    )
    return replace(result, noun=noun)


def audit_outcomes(
    outcomes: inputs.Forecasts,
    sites: ArrayLike | None,
    *,
    threshold: float | None,
    costs: ArrayLike | None,
    level: float,
    draws: int = DRAWS,
    random_state: Any = None,
) -> Audit:
    """Audit checked outcomes; see `audit`."""
    validation.check_fraction(level=level)
    validation.check_count("draws", draws)
    cost = audit_numbers.read_decision(threshold, costs)
    kept = outcomes.counts > 0.0
    named = None if sites is None else read_sites(sites, kept.size)
    outcomes = outcomes.counted()
    rng = generator(random_state)
    log_odds = changes.clipped_log_odds(outcomes.p)
    posterior = fit_changes(LogOddsCells.of(log_odds, outcomes.truth, outcomes.effective))
    documents = LogOddsCells.of(log_odds, outcomes.truth, audit_numbers.effective_counts(outcomes))
    drawn = audit_numbers.AuditCurves.of(posterior, documents, draws, rng)
    benefit = audit_numbers.net_benefit(drawn, outcomes, cost.threshold if cost else None, level)
    numbers = audit_numbers.changes_of(outcomes, posterior, level, draws, rng)
    numbers |= audit_numbers.error_sizes(drawn, level)
    numbers |= audit_numbers.losses_with_parts(outcomes, level)
    numbers["AUC"] = auc = audit_numbers.auc_of(outcomes, level)
    if cost is not None:
        numbers |= audit_numbers.counted_benefits(outcomes, cost, level, draws, rng)
        numbers |= audit_numbers.benefits_at(drawn, cost, level)
    by_site = None
    if named is not None:
        names, code = named[0], named[1][kept]
        by_site = audit_numbers.sites_of(outcomes, names, code, posterior.frame, level, draws, rng)
    verdict, explained = verdict_of(outcomes), posterior.probability
    if verdict.impossible:
        # Curves clip the document's log-odds, but it refutes the probabilities.
        others = {name: each for name, each in explained.items() if name != AS_IS}
        total = sum(others.values())
        explained = {AS_IS: 0.0} | {name: each / total for name, each in others.items()}
    return Audit(
        documents=float(outcomes.counts.sum()),
        level=level,
        numbers=numbers,
        model_probability=explained,
        curve=audit_numbers.curve_of(posterior, log_odds, level, draws, rng),
        net_benefit=benefit,
        sites=by_site,
        verdict=verdict,
        threshold=None if cost is None else cost.threshold,
        notes=_notes(outcomes, auc),
        outcomes=outcomes,
    )


def _notes(outcomes: inputs.Forecasts, auc: Interval) -> tuple[str, ...]:
    """Return notes on unusual documents; warn of faults that the user can correct."""
    notes = []
    if outcomes.impossible.size:
        loss = changes.FARTHEST / math.log(2.0)
        notes.append(
            f"{inputs.name_impossible(outcomes)} Each counts with log-odds of"
            f" {changes.FARTHEST:g}, which costs {loss:.0f} bits: correct the labels, or keep"
            " probabilities away from 0 and 1."
        )
    separation = score_checks.direction(outcomes.p, outcomes.truth, outcomes.weight)
    if separation is not None and separation.probability_below > score_checks.SURE:
        notes.append(
            f"Positives have lower probabilities than negatives (AUC {auc.value:.2f}): if p is the"
            " probability of the other class, name it (in a shell with --positive), or pass 1 - p."
        )
    for note in notes:
        warn_user(note)
    if outcomes.truth.all() or not outcomes.truth.any():
        notes.append("All outcomes are of one class: the labels show an upper or lower bound.")
    if np.ptp(outcomes.p) == 0.0:
        notes.append("All probabilities are equal: a slope is not defined.")
    return tuple(notes)
