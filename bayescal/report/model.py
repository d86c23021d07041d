"""The model of a calibrator in words and formulas, with the priors and their values in use."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from bayescal.engines.combined import RECALIBRATION
from bayescal.engines.exact.hyperparameters import Hyperparameters, resolve
from bayescal.engines.inference import DirectFit, Settings
from bayescal.engines.monotone.density import Prior as DirectPrior
from bayescal.engines.pooled.weights import BELIEF_IN_POPULATION
from bayescal.families import FAMILIES
from bayescal.fitted.problem import Calibrator
from bayescal.report.formulas import (
    DENSITIES,
    DIRECT,
    FAMILY_TITLES,
    bayes_rule,
    combination,
    density_priors,
    direct_priors,
    log_odds_population,
    population,
    prior_of_labels,
    warp,
)
from bayescal.report.mathml import formula
from bayescal.score_calibrator import ScoreCalibrator
from bayescal.settings import read_settings
from bayescal.topic_calibrator import TopicCalibrator

HOW = {
    "exact": "Independent draws from the posterior, without Markov chains.",
    "nuts": "Draws from the posterior by PyMC's No-U-Turn sampler.",
    "map": "The mode of the posterior; there are no draws and so no bands.",
    "mle": "Maximum likelihood; there is no prior, no posterior and so no band.",
}
EITHER = "Density of either class."
POOLED = {
    "partial": "Topics have densities of their own, whose parameters are draws from a population"
    " that all topics inform: topics with few documents borrow from the others.",
    "none": "Every topic is fitted by itself.",
    "complete": "All topics share their class densities.",
}


@dataclass(frozen=True)
class Block:
    """
    A part of the model.

    Attributes
    ----------
    title, text : str
        In words.
    formulas : tuple of Markup
        MathML.
    """

    title: str
    text: str
    formulas: tuple[Markup, ...]


def describe_model(calibrator: Calibrator, *, several: bool = False) -> list[Block]:
    """
    Return the parts of a calibrator's model.

    Parameters
    ----------
    calibrator : ScoreCalibrator, TopicCalibrator or another
        Fitted; of another kind nothing is said.
    several : bool
        Whether it stands for others of the same settings, each with its own centre and spread.
    """
    if isinstance(calibrator, TopicCalibrator):
        return _of_topics(calibrator)
    if not isinstance(calibrator, ScoreCalibrator):
        return []
    settings = read_settings(calibrator)
    constants = calibrator.results_["constant_data"]
    scale = (float(constants["centre"]), float(constants["spread"]))
    blocks = [Block("Inference", HOW[settings.inference], ())]
    if settings.families or settings.inference != "exact":
        blocks += _densities(settings, scale, several=several)
    blocks += [_direct(fit, None if several else scale) for fit in settings.direct]
    if settings.families and settings.direct and settings.alone is None:
        text = (
            "The parts are weighed by stacking: the weights maximise the log score of their"
            " mixture for labels left out. Bands hold draws from each part in proportion to"
            " its weight."
        )
        blocks.append(Block("Combination", text, tuple(map(formula, combination()))))
    return blocks


def _densities(settings: Settings, scale: tuple[float, float], *, several: bool) -> list[Block]:
    families = settings.families or (settings.reference,)
    rule = "Each class has a density of the score s; Bayes' rule makes log-odds of the two."
    blocks = [Block("Class densities", rule, (formula(bayes_rule()),))]
    if len(settings.bends) > 1 or settings.bends[0] != float("inf"):
        text = "Scores may be warped before they are fitted, which draws in heavy tails; c in use,"
        shown = ", ".join("∞" if c == float("inf") else f"{c:g} S" for c in settings.bends)
        blocks.append(Block("Warps", f"{text} {shown}.", (formula(warp()),)))
    blocks += [
        Block(FAMILY_TITLES[each.name], EITHER, (formula(DENSITIES[each.name]),))
        for each in families
    ]
    if settings.inference == "mle":
        return blocks
    if settings.program is not None:
        text = f"The priors are those of the model program {settings.program}."
        given = ", ".join(f"{k} = {v:g}" for k, v in (settings.hyperparameters or {}).items())
        return [*blocks, Block("Priors", f"{text} {given}".strip(), ())]
    values = resolve(families, scale, settings.hyperparameters)
    where = (
        "m and S are the robust centre and spread of all scores of a topic, labels ignored"
        if several
        else f"m = {_g(values.centre)} and S = {_g(values.spread)} are the robust centre and"
        " spread of all scores, labels ignored"
    )
    return [*blocks, _priors([each.name for each in families], values, where)]


def _priors(names: list[str], values: Hyperparameters, where: str) -> Block:
    formulas = [formula(line) for line in density_priors(names, values)]
    formulas.append(formula(prior_of_labels(values)))
    text = f"Of each class; {where}. They vanish at width 0, where the likelihood degenerates."
    return Block("Priors of the densities", text, tuple(formulas))


def _direct(fit: DirectFit, scale: tuple[float, float] | None) -> Block:
    """Return a direct fit; without a scale, which topics have each their own."""
    given = dict(fit.hyperparameters or {})
    own = [given.pop(name, None) for name in ("centre", "spread")]
    if scale is not None:
        own = [value if each is None else each for each, value in zip(own, scale, strict=True)]
    centre, spread = own
    title, text = DIRECT[fit.name]
    lines = direct_priors(DirectPrior(**given), straight=fit.segments == 1)
    along = "the log-odds that the densities give" if fit.recalibrates else "the score"
    unit = f", standardised by {_g(centre, 'm')} and {_g(spread, 'S')}"
    unit = "" if fit.recalibrates else unit
    return Block(title, f"{text} Here x is {along}{unit}.", tuple(map(formula, lines)))


def _of_topics(calibrator: TopicCalibrator) -> list[Block]:
    families = [FAMILIES[name] for name in calibrator.families_]
    rule = "Each class of each topic has a density of the score s; Bayes' rule makes log-odds of"
    densities = [formula(bayes_rule()), *(formula(DENSITIES[each.name]) for each in families)]
    blocks = [
        Block("Topics", POOLED[calibrator.pooling], ()),
        Block("Class densities", f"{rule} the two.", tuple(densities)),
    ]
    centre, spread = (float(calibrator.posterior_["topics"][k]) for k in ("centre", "spread"))
    if calibrator.pooling != "partial":
        where = "m and S are the robust centre and spread of the scores"
        return [*blocks, _priors([families[0].name], Hyperparameters(centre, spread), where)]
    text = (
        f"With scores standardised by m = {_g(centre)} and S = {_g(spread)}, of each class and"
        " topic t; the six hyperparameters of a class have Gaussian priors."
    )
    for family in families:
        lines = population(family.powers[0], symmetric=family.symmetric)
        title = f"Population, {FAMILY_TITLES[family.name]}" if len(families) > 1 else "Population"
        blocks.append(Block(title, text, tuple(map(formula, lines))))
    return [*blocks, *_rest_of_topics()] if len(families) > 1 else blocks


def _rest_of_topics() -> list[Block]:
    """Return the parts of topics' combination beside its densities."""
    shared = DirectFit("recalibrated", None, (), RECALIBRATION, recalibrates=True)
    text = (
        "The parts are weighed by stacking: the weights maximise the log score of their mixture for"
        " labels left out, of all topics; each topic's weights are around these, which count as"
        f" {BELIEF_IN_POPULATION:g} documents. The recalibrated log-odds are one curve for all"
        " topics; monotone log-odds are each topic's own, around a population."
    )
    pieces = (
        f"{DIRECT['monotone'][1]} Here x is the score, warped and standardised, and knots and"
        " x\N{SUBSCRIPT ZERO} are those of all topics."
    )
    return [
        _direct(shared, None),
        Block("Population, log-odds", pieces, tuple(map(formula, log_odds_population()))),
        Block("Combination", text, tuple(map(formula, combination()))),
    ]


def _g(value: float | None, name: str = "") -> str:
    """Return a number as text, or the name of one that topics have each their own of."""
    return name if value is None else f"{value:.4g}".replace("-", "\N{MINUS SIGN}")
