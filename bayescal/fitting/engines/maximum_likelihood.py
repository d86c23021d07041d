"""Maximum likelihood of both classes and the smoothed class prior: Bennett's method."""

import math
from dataclasses import dataclass

from bayescal.families import (
    FAMILIES,
    Family,
    FamilyFit,
    ScaleFloor,
    ScaleFloorOption,
    automatic_floor,
)
from bayescal.fitting.scores import BinaryScores
from bayescal.support.numerics import class_prior, log_odds
from bayescal.support.validation import Floats


@dataclass(frozen=True)
class ClassFits:
    """
    Maximum-likelihood fits of both classes.

    Attributes
    ----------
    family : Family
        The densities.
    negative, positive : FamilyFit
        The fit of each class's scores.
    prior : float
        Smoothed share of positives, (n_+ + 1)/(n + 2).
    """

    family: Family
    negative: FamilyFit
    positive: FamilyFit
    prior: float

    def log_odds(self, scores: Floats) -> Floats:
        """Return logit(prior) + log p(s|+) - log p(s|-) at raw scores."""
        negative, positive = self.log_densities(scores)
        return log_odds(self.prior, positive, negative)

    def log_densities(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return log p(s|-) and log p(s|+) at raw scores."""
        return (
            self.family.of_class(False).logpdf(scores, *self.negative.parameters.values()),
            self.family.of_class(True).logpdf(scores, *self.positive.parameters.values()),
        )


def fit_classes(
    family: Family,
    data: BinaryScores,
    *,
    candidates: str = "exact",
    scale_floor: ScaleFloorOption = "auto",
) -> ClassFits:
    """Fit both classes by maximum likelihood."""

    def fit(positive: bool) -> FamilyFit:
        floor = scale_floor
        if scale_floor == "auto":
            floor = automatic_floor(data.own_units[1], data.total(positive))
        densities = family.of_class(positive)
        return densities.fit(*data.of_class(positive), candidates=candidates, scale_floor=floor)

    positives, negatives = data.rate_counts
    prior = class_prior(positives, positives + negatives)
    return ClassFits(family, fit(False), fit(True), prior)


def without_densities(data: BinaryScores) -> ClassFits:
    """Return fits whose parameters are nan: of scores that no density was fitted to."""
    family = FAMILIES["laplace"]
    unknown = dict.fromkeys(family.parameters, math.nan)
    negative, positive = (
        FamilyFit(unknown, math.nan, data.total(klass), ScaleFloor("off", 0.0, ()))
        for klass in (False, True)
    )
    return ClassFits(family, negative, positive, class_prior(data.total(True), data.total()))
