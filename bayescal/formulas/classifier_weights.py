"""The weights of several classifiers in formulas, with their priors."""

from __future__ import annotations

from markupsafe import Markup

from bayescal.engines.classifier_weights.prior import WeightsPrior
from bayescal.formulas.block import Block
from bayescal.formulas.mathml import distributed, formula, letter, row, sub
from bayescal.formulas.numbers import short


def blocks(prior: WeightsPrior, *, indicators: int, moderators: int) -> list[Block]:
    """
    Return the combination of classifiers, and what is believed of it before labels are seen.

    Parameters
    ----------
    prior : WeightsPrior
        Its scales.
    indicators, moderators : int
        How many facts about documents shift the log-odds, and the weights; may be 0.
    """
    evidence = row("(", sub("lambda", "i"), "-", sub("lambda", "0"), ")")
    weight = sub("w", "i")
    if moderators:
        shifted = row(sub("sum", "j"), sub("u", "i j"), sub("z", "j"))
        weight = row("(", weight, "+", shifted, ")")
    line = row(
        "logit P ( + | x ) =", sub("lambda", "0"), "+ b +", sub("sum", "i"), weight, evidence
    )
    if indicators:
        line = row(line, "+", sub("sum", "j"), sub("v", "j"), sub("r", "j"))
    return [
        Block("Combination", _in_words(indicators, moderators), (formula(line),)),
        Block(
            "Priors",
            _of_population(indicators),
            tuple(map(formula, _priors(prior, indicators, moderators))),
        ),
    ]


def _in_words(indicators: int, moderators: int) -> str:
    text = (
        f"Each classifier's score is calibrated by itself: {letter('lambda')} with i are its"
        f" log-odds, with 0 those of the base rate, w its weight and b a bias."
    )
    if indicators:
        text += f" The {indicators} indicators r are standardised; v is what each adds."
    if moderators:
        text += (
            f" Weights differ between documents by {moderators} moderators z, principal components"
            " of the indicators, with the coefficients u."
        )
    return text + " A band holds what is unknown of the calibration curves and of the coefficients."


def _of_population(indicators: int) -> str:
    text = (
        f"{letter('mu')} are the weights of a population of problems, {letter('tau')} how far a"
        " problem's own are from them; m is larger for classifiers that are probably the best, and"
        " sums to 1 over all."
    )
    return text + (f" {letter('kappa')} is how much indicators matter." if indicators else "")


def _priors(prior: WeightsPrior, indicators: int, moderators: int) -> list[Markup]:
    lines = [
        distributed("b", "Normal", "0", short(prior.bias_scale)),
        distributed(sub("mu", "i"), "Normal", sub("m", "i"), short(prior.population_scale)),
        distributed(sub("w", "i"), "Normal", sub("mu", "i"), "tau"),
        _scale("tau", prior.scale, prior.log_scale_sd),
    ]
    if indicators:
        lines.append(distributed(sub("v", "j"), "Normal", "0", "kappa"))
        lines.append(_scale("kappa", prior.shift_scale, prior.log_shift_sd))
    if moderators:
        lines.append(distributed(sub("u", "i j"), "Normal", "0", "rho"))
        lines.append(_scale("rho", prior.weight_shift_scale, prior.log_weight_shift_sd))
    return lines


def _scale(name: str, median: float, sd: float) -> Markup:
    return distributed(name, "LogNormal", f"log {short(median)}", short(sd))
