"""The fit of many topics, with its parameters; further topics around a fit."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import KW_ONLY, asdict, dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.families import FAMILIES, Family
from bayescal.fitting import settings
from bayescal.fitting.engines.combination import GROUP as LEVELS
from bayescal.fitting.engines.exact.engine import MOST_DRAWS
from bayescal.fitting.engines.exact.joint_density import Hyperparameters, resolve
from bayescal.fitting.engines.pooled import engine
from bayescal.fitting.engines.pooled.combination import (
    DENSITIES,
    add_levels,
    between,
    combine_topics,
    draw_levels,
    extend_combination,
    find_ends,
)
from bayescal.fitting.engines.pooled.engine import DensitiesOfTopics
from bayescal.fitting.engines.pooled.hyperparameters import (
    UNITS,
    TopicHyperparameters,
    read_hyperparameters,
)
from bayescal.fitting.engines.pooled.population import beta_like, draw_base_rates
from bayescal.fitting.parts.combination import COMBINED, findings
from bayescal.fitting.parts.configured import AUTO, NUTS, OwnPart
from bayescal.fitting.parts.densities import DENSITIES as DENSITIES_PART
from bayescal.fitting.parts.log_odds import MONOTONE_PATHS, densities_paths
from bayescal.fitting.parts.part import COMBINATION, CONSTANTS, POSTERIOR, Reading, all_paths
from bayescal.fitting.posterior import pack
from bayescal.fitting.problems.problem import Problems
from bayescal.fitting.problems.results_problem import TopicProblem
from bayescal.fitting.results import diagnostics, tree
from bayescal.fitting.results import topics as topic_groups
from bayescal.fitting.results.calibration import (
    POINTS,
    PREDICTIVE,
    Priors,
    TopicCurves,
    read_calibration,
)
from bayescal.fitting.results.tree import Fit, Results, read_scores_are
from bayescal.fitting.scores import BinaryScores, Cells, TopicScores, check_alike, read_topics
from bayescal.inference.design_effect import design_effect
from bayescal.support import validation
from bayescal.support.numerics import one_blas_thread, probability
from bayescal.support.score_checks import warn_of_scores
from bayescal.support.validation import Floats

INFERENCES = ("exact", "nuts")
NEW_TOPICS = ("population", "error")
RATE_DRAWS = 4000


@dataclass(eq=False, repr=False)
class TopicParameters:
    """The parameters of a `TopicCalibrator` that decide its results; see its docstring."""

    pooling: str = "partial"
    parts: str = AUTO
    _: KW_ONLY
    inference: str | NUTS = "exact"
    prior_knowledge: Mapping[str, Any] | None = None
    new_topics: str = "population"
    scores_are: str = AUTO
    positive: Any = None
    point: str = PREDICTIVE
    lapse: str | float = AUTO
    draws: int = 1000
    chains: int = 4
    random_state: Any = None


@dataclass(frozen=True)
class TopicOptions:
    """Settings of a fit of many topics."""

    families: tuple[Family, ...]  # families of densities; several make the combination
    pooling: str  # {"partial", "none", "complete"}: see `engines.pooled.engine.fit_topics`
    hyperparameters: TopicHyperparameters  # non-default hyperparameters
    chains: int  # number of chains
    draws: int  # draws of each
    scores_are: str  # meaning of the scores; probabilities are fitted as log-odds
    sampler: NUTS | None  # replaces the fast engine for partial pooling
    rng: np.random.Generator  # source of randomness
    lapse: float | None  # the lapse rate of a combination; None learns it


class FittedTopics(Fit[TopicParameters]):
    """The fit of many topics."""

    estimator = "TopicCalibrator"
    parameter_type = TopicParameters

    def _prepare(self) -> None:
        parameters, classes = self.parameters, self.classes
        self.curves = TopicCurves(self.results, parameters.point, turned=self.turned)
        stated = parameters.scores_are != AUTO
        self.score_problems_, reversed_topics = topic_groups.read_problems(
            self.groups, classes, stated=stated
        )
        effect = self.design_effect
        if effect is not None and effect.problem:
            self.score_problems_ = (effect.problem, *self.score_problems_)
        counts = self.groups[tree.LIKELIHOOD]["total_weight"].transpose("topic", "klass").values
        lacking = {
            name: f"no documents of class {', '.join(map(repr, classes[own == 0].tolist()))}"
            " that count: the population answers for what is missing"
            for name, own in zip(self.names.tolist(), counts, strict=True)
            if not own.all()
        }
        self.flagged = reversed_topics | lacking
        self._reversed = list(reversed_topics)

    @cached_property
    def diagnostics_(self) -> diagnostics.Diagnostics:
        """Quality of the draws of all topics; computed on request."""
        return diagnostics.diagnose(self.results.groups)

    @property
    def names(self) -> NDArray[Any]:
        """Return the names of the topics."""
        return topic_groups.names_of(self.results.groups)

    @property
    def families(self) -> tuple[Family, ...]:
        """Return the families of densities."""
        combined = COMBINATION in self.results.groups
        return families_of(self.parameters, "partial" if combined else "none")

    def warn(self, added: slice | None = None) -> None:
        """Warn of problems of the draws (of added topics only, if any) and of the scores."""
        diagnosed = self.diagnostics_
        if added is not None:
            # Diagnosing all topics would take longer than adding some.
            diagnosed = diagnostics.diagnose(topic_groups.at_topics(self.results.groups, added))
        diagnostics.warn_of_problems(diagnosed.problems)
        warnings = self.score_problems_
        if self._reversed:
            warnings = (
                f"positives lie below negatives in {len(self._reversed)} of {self.names.size}"
                " topics, unlike in the others: check the labels of"
                f" {validation.first_of(self._reversed)} (flagged_)",
            )
        warn_of_scores(*warnings)

    def extended(self, scores: Any, labels: Any, names: Any, sample_weight: Any) -> Self:
        """Return the fit with further topics around its population."""
        groups = self.results.groups
        data = read_topics(
            scores,
            labels,
            names,
            sample_weight,
            classes=self.classes,
            scores_are=tree.read_scores_are(groups),
            ends=tree.read_ends(groups),
        )
        check_alike(data.names, self.names)
        if known := sorted(set(data.names.tolist()) & set(self.names.tolist())):
            raise ValueError(f"topics {', '.join(map(repr, known))} are fitted already: fit again.")
        for name, given in (
            ("inclusion", "base_rate" in groups[CONSTANTS]),
            ("clusters", tree.CLUSTERS in groups),
        ):
            if given:
                raise ValueError(
                    f"add_topics must follow a fit without {name}: fit all topics together."
                )
        rng = validation.generator(self.parameters.random_state)
        with one_blas_thread():
            results = extend_results(self.results, data, self.families, rng)
        return type(self)(self.parameters, results, self.classes)

    def population(self) -> Self:
        """Return the fit without its topics."""
        if self.parameters.pooling != "partial":
            raise AttributeError(
                f"pooling={self.parameters.pooling!r} has no population; use 'partial'."
            )
        return type(self)(self.parameters, topic_groups.without_topics(self.results), self.classes)

    def checked(self, prior: Priors | None) -> Priors | None:
        """Return a class prior; raise ValueError if it names a topic that was not fitted."""
        if isinstance(prior, Mapping) and (unknown := set(prior) - set(self.names.tolist())):
            shown = ", ".join(sorted(map(repr, unknown))[:5])
            raise ValueError(f"prior must name topics that were fitted, got {shown}.")
        return prior

    @property
    def inference(self) -> str:
        """Return the name of the inference."""
        inference = self.parameters.inference
        return inference if isinstance(inference, str) else inference.name

    @cached_property
    def problems_of_draws(self) -> list[tuple[str, ...]]:
        """The problems of each topic's draws, including the shared parts' problems."""
        found = findings(self.groups)
        return [
            tuple(each.text() for each in found if each.topics is None or each.topics[k])
            for k in range(self.names.size)
        ]

    @cached_property
    def efficiency(self) -> Floats:
        """The effective share of each topic's draws of the first part, (topics, classes)."""
        efficiency = self.groups[all_paths(self.groups)[0].evidence]["efficiency"]
        return np.asarray(efficiency.transpose("topic", "klass").values)

    @cached_property
    def topic_parameters(self) -> Callable[[float], dict[Any, Any]]:
        """The rows of the summary by topic, as a function of the level."""

        @lru_cache(maxsize=1)
        def read(level: float) -> dict[Any, Any]:
            table = diagnostics.topic_table(self.groups, self.classes, level)
            return dict(iter(table.groupby(level="topic", sort=False)))

        return read

    def fitted_problems(self, *, strict: bool) -> Problems:
        """Return the problem of each topic by name; `strict` refuses new topics."""
        new = None if strict else partial(self._problem, None)
        return Problems(self.names.tolist(), self._problem, by_topic=True, read_new=new)

    def _problem(self, topic: int | None) -> TopicProblem:
        groups = topic_groups.at_topic(self.groups, topic)
        whose = topic_groups.whose(self.groups, topic)
        name = "" if topic is None else str(self.names[topic])
        own = {"name": name, "point": self.curves.point, "topic": topic}
        return TopicProblem.of_groups(self, groups, read_calibration(groups, topic=whose), **own)


def fit_topic_scores(
    parameters: TopicParameters,
    scores: Any,
    labels: Any,
    names: Any,
    sample_weight: Any = None,
    inclusion: Any = None,
    clusters: Any = None,
) -> FittedTopics:
    """Fit scores and labels of many topics; see `TopicCalibrator.fit`."""
    options = read_topic_options(parameters)
    data = read_topics(
        scores,
        labels,
        names,
        sample_weight,
        inclusion,
        clusters=clusters,
        positive=parameters.positive,
        scores_are=options.scores_are,
    )
    options = for_topics(options, parameters, data.names.size)
    # PyMC sets its own threads for NUTS.
    with one_blas_thread() if options.sampler is None else nullcontext():
        groups = fit_topic_groups(data, options)
        if data.cluster is not None:
            # Fitted as if documents were independent: dependence does not bias P(+ | s).
            p = _fitted_p(data, TopicCurves(Results(groups, {})), options.scores_are)
            sampled = data.rate_counts is not None
            effect = design_effect(data.positive, p, data.cluster, data.weight, sampled=sampled)
            if effect.factor > 1.0:
                groups = fit_topic_groups(data.divided_by(effect.factor), options)
            groups[tree.CLUSTERS] = xr.Dataset(asdict(effect))
    return FittedTopics.of_groups(parameters, groups, data.classes)


def _fitted_p(data: TopicScores, curves: TopicCurves, scores_are: str) -> Floats:
    """Return P(+ | s) of the documents fitted, by the curves of their topics."""
    raw = probability(data.score) if scores_are == "probabilities" else data.score
    p = curves.proba(Cells(raw, data.names, data.code, raw.shape), strict=False)[:, 1]
    return np.asarray(p)


def read_topic_options(parameters: TopicParameters) -> TopicOptions:
    """Return the settings of a TopicCalibrator's fit."""
    parts, pooling, inference = parameters.parts, parameters.pooling, parameters.inference
    if not isinstance(inference, NUTS):
        validation.check_choice("inference", inference, INFERENCES)
    sampler = None if inference == "exact" else settings.read_inference(inference)
    validation.check_choice("pooling", pooling, engine.POOLINGS)
    names = AUTO, COMBINED, DENSITIES_PART.name, *FAMILIES
    if isinstance(parts, OwnPart):
        raise ValueError(
            f"parts={parts!r} has no engine for many topics, which share families of densities: fit"
            f" a ScoreCalibrator of it to each topic, or choose one of {', '.join(names)}."
        )
    validation.check_choice("parts", parts, names)
    validation.check_choice("new_topics", parameters.new_topics, NEW_TOPICS)
    validation.check_choice("scores_are", parameters.scores_are, settings.SCORES_ARE)
    validation.check_choice("point", parameters.point, POINTS)
    _check_together(pooling, combined=parts == COMBINED, sampled=sampler is not None)
    for name in ("draws", "chains"):
        validation.check_count(name, getattr(parameters, name))
    families = families_of(parameters, pooling)
    lapse = settings.read_lapse(parameters.lapse)
    if lapse and len(families) == 1:
        raise ValueError(
            f"lapse={parameters.lapse!r} needs the combination, parts='combined' with"
            f" pooling='partial' and inference='exact'; got parts={parameters.parts!r},"
            f" pooling={pooling!r}, inference={'nuts' if sampler else 'exact'!r}."
        )
    return TopicOptions(
        families=families,
        pooling=pooling,
        hyperparameters=read_hyperparameters(parameters.prior_knowledge, pooling, families),
        chains=parameters.chains,
        draws=parameters.draws,
        scores_are=settings.resolve_scores(parameters.scores_are),
        sampler=sampler,
        rng=validation.generator(parameters.random_state),
        lapse=lapse,
    )


def for_topics(options: TopicOptions, parameters: TopicParameters, topics: int) -> TopicOptions:
    """Return the options for a number of topics: a single one is fitted without population."""
    if topics > 1 or options.pooling != "partial":
        return options
    if of_population := sorted(set(parameters.prior_knowledge or {}) - set(UNITS)):
        raise ValueError(
            f"one topic makes no population, and prior_knowledge of {', '.join(of_population)} is"
            " of one: give further topics, or pooling='none' and its hyperparameters."
        )
    validation.warn_user(
        "one topic makes no population: it is fitted by itself, as pooling='none' would."
    )
    return replace(options, pooling="none", families=families_of(parameters, "none"), sampler=None)


def families_of(parameters: TopicParameters, pooling: str) -> tuple[Family, ...]:
    """Return the families of densities to fit; several are combined."""
    parts = parameters.parts
    implied = parts == AUTO and pooling == "partial" and parameters.inference == "exact"
    if parts == COMBINED or implied:
        return tuple(FAMILIES[name] for name in DENSITIES)
    return (FAMILIES[parts if parts in FAMILIES else settings.REFERENCE],)


def _check_together(pooling: str, *, combined: bool, sampled: bool) -> None:
    """Raise ValueError for a pooling, parts and an inference that do not go together."""
    if sampled and pooling != "partial":
        raise ValueError(
            "inference must be 'exact' unless pooling is 'partial', got 'nuts' with"
            f" pooling={pooling!r}: without a population every topic's posterior is exact."
        )
    if sampled and combined:
        raise ValueError(
            "parts must be 'densities' with inference='nuts', got 'combined': its other parts"
            " are no draws of the program; leave inference at 'exact'."
        )
    if combined and pooling != "partial":
        raise ValueError(
            f"parts='combined' needs pooling='partial', got pooling={pooling!r}: choose"
            " 'densities', or leave it at 'auto'."
        )


def fit_topic_groups(data: TopicScores, options: TopicOptions) -> dict[str, xr.Dataset]:
    """Return the groups of all topics: of one family, or of the combination of several."""
    families, hyperparameters, rng = options.families, options.hyperparameters, options.rng
    units = resolve(families, data.units(), hyperparameters.own)
    scale, shape = (units.centre, units.spread), (options.chains, options.draws)
    # Constant scores imply zero width and shrink the widths of other topics.
    shaped = data if options.pooling == "none" else data.without(data.constant())
    if not shaped.score.size:
        raise ValueError(
            "scores must differ within a topic: all scores of every topic are the same, and say"
            " nothing of its labels."
        )
    ends = find_ends(shaped) if options.sampler is None else None
    topics = (shaped if ends is None else between(ends, shaped)).topics()
    groups: dict[str, xr.Dataset] = {}
    densities = []
    for family in families:
        densities.append(_fit_family(topics, family, scale, options))
        paths = densities_paths(family, families)
        groups |= topic_groups.part_groups(paths, densities[-1], data.names, shape)
    if len(families) > 1:
        combination = combine_topics(
            topics,
            densities,
            scale,
            rng,
            draws=options.draws * options.chains,
            hyperparameters=hyperparameters,
            lapse=options.lapse,
        )
        base = densities[0].mean_rates
        groups |= topic_groups.combination_groups(combination, base, data.names, shape)
    if ends is not None:
        pooled = options.pooling != "none"
        levels = draw_levels(
            ends,
            data,
            options.draws * options.chains,
            rng,
            hyperparameters.populations,
            apart=None if pooled else (units.prior_alpha, units.prior_beta),
        )
        groups |= topic_groups.level_groups(levels, data.names, shape)
    groups |= topic_groups.document_groups(data, shaped, families[0], scale, options.scores_are)
    if data.rate_counts is not None:
        groups |= topic_groups.with_base_rates(
            groups, *_base_rates(data.rate_counts, units, options)
        )
    return groups


def _base_rates(
    counts: Floats, prior: Hyperparameters, options: TopicOptions
) -> tuple[Floats, Floats]:
    """Return the betas of P(+) of every sampled topic, (topics, 2), and of an unseen one, (2,)."""
    positives, negatives = counts.T
    if options.pooling == "none":
        unseen = np.array([prior.prior_alpha, prior.prior_beta])
        return counts + unseen, unseen
    rate, population = draw_base_rates(
        positives, negatives, RATE_DRAWS, options.rng, options.hyperparameters.populations
    )
    new = np.asarray(options.rng.beta(*population))
    return np.array([beta_like(each) for each in rate]), beta_like(new)


def _fit_family(
    topics: list[BinaryScores], family: Family, scale: tuple[float, float], options: TopicOptions
) -> DensitiesOfTopics:
    """Return the draws of one family's densities, by the fast engine or by a sampler."""
    sampler, draws, chains = options.sampler, options.draws, options.chains
    given: dict[str, Any] = {"scale": scale, "hyperparameters": options.hyperparameters}
    if sampler is None:
        given |= {"draws": draws * chains, "pooling": options.pooling}
        return engine.fit_topics(topics, family, options.rng, **given)
    given |= {"options": sampler.sampler_options, "progressbar": sampler.progressbar}
    return engine.sample_topics(topics, family, options.rng, draws=draws, chains=chains, **given)


def extend_results(
    results: Results, data: TopicScores, families: tuple[Family, ...], rng: np.random.Generator
) -> Results:
    """Return results with further topics around the population, each fitted independently."""
    groups = results.groups
    of_levels = topic_groups.read_levels_of_population(groups)
    topics = (data if of_levels is None else between(of_levels[0], data)).topics()
    reading = Reading.of(topic_groups.at_topic(groups, None))
    scale = reading.centre, reading.spread
    sizes = groups[POSTERIOR].sizes
    shape = sizes["chain"], sizes["draw"]
    added: dict[str, xr.Dataset] = {}
    densities = []
    for family in families:
        paths = densities_paths(family, families)
        population = topic_groups.read_population(groups, paths)
        densities.append(engine.add_topics(topics, family, population, rng, scale))
        added |= topic_groups.added_groups(paths, densities[-1], data.names, shape)
    if len(families) > 1:
        base_weight, weight = topic_groups.weights_of_population(groups)
        along = topic_groups.read_recalibration(groups)
        # Weights are learned from the same number of draws of the densities.
        along = along.take(np.arange(min(MOST_DRAWS, along.size)))
        direct, weights = extend_combination(
            topics,
            densities,
            rng,
            base_weight=base_weight,
            recalibrate=along.predictive,
            fitted=topic_groups.read_population(groups, MONOTONE_PATHS),
            population=weight,
        )
        added |= topic_groups.added_groups(MONOTONE_PATHS, direct, data.names, shape)
        own = {"weight": (("topic", "part"), weights)}
        added[COMBINATION] = xr.Dataset(own, {"topic": data.names})
    if of_levels is not None:
        levels = add_levels(*of_levels, data, rng)
        added[LEVELS] = pack(levels, shape, data.names)
    documents = topic_groups.document_groups(
        data, data, families[0], scale, read_scores_are(groups), reading.score_range
    )
    joined = topic_groups.append_topics(groups, added) | topic_groups.join_documents(
        groups, documents
    )
    return Results({**groups, **joined}, results.attrs)
