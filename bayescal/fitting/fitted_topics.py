"""The fit of many topics, and its parameters."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

from numpy.typing import NDArray

from bayescal.families import FAMILIES, Family
from bayescal.fitting.engines.pooled.combination import DENSITIES
from bayescal.fitting.engines.pooled.engine import POOLINGS
from bayescal.fitting.engines.pooled.hyperparameters import UNITS, read_hyperparameters
from bayescal.fitting.engines.pooled.nuts import Sampler
from bayescal.fitting.parts.combination import COMBINED
from bayescal.fitting.parts.configured import AUTO, NUTS, OwnPart
from bayescal.fitting.parts.densities import DENSITIES as DENSITIES_PART
from bayescal.fitting.parts.part import COMBINATION, CONSTANTS
from bayescal.fitting.problems.problem import Problems
from bayescal.fitting.problems.results_problem import ResultsProblems, describe_topics
from bayescal.fitting.results import diagnostics, topics, tree
from bayescal.fitting.results.calibration import POINTS, PREDICTIVE, Priors, TopicCurves
from bayescal.fitting.results.tree import Fit, Results
from bayescal.fitting.scores import check_alike, read_topics
from bayescal.fitting.settings import REFERENCE, SCORES_ARE, read_lapse, resolve_scores
from bayescal.fitting.topic_fitting import TopicOptions, extend_results, fit_topic_groups
from bayescal.support.parallel import one_blas_thread
from bayescal.support.score_checks import warn_of_scores
from bayescal.support.validation import check_choice, check_count, first_of, generator, warn_user

FAMILY_NAMES = ("gaussian", "laplace", REFERENCE, "asymmetric_gaussian")
PART_NAMES = (AUTO, COMBINED, DENSITIES_PART.name, *FAMILY_NAMES)
INFERENCES = ("exact", "nuts")
NEW_TOPICS = ("population", "error")


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
    point: str | None = None
    lapse: str | float = AUTO
    draws: int = 1000
    chains: int = 4
    random_state: Any = None


class FittedTopics(Fit[TopicParameters]):
    """The fit of many topics."""

    estimator = "TopicCalibrator"
    parameter_type = TopicParameters

    def __init__(
        self, parameters: TopicParameters, results: Results, classes: NDArray[Any]
    ) -> None:
        super().__init__(parameters, results, classes)
        self.curves = TopicCurves(results, parameters.point or PREDICTIVE)
        stated = parameters.scores_are != AUTO
        self.score_problems_, reversed_topics = topics.read_problems(
            results.groups, classes, stated=stated
        )
        counts = results.groups[tree.LIKELIHOOD]["total_weight"].transpose("topic", "klass").values
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
        return topics.names_of(self.results.groups)

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
            diagnosed = diagnostics.diagnose(topics.at_topics(self.results.groups, added))
        diagnostics.warn_of_problems(diagnosed)
        warnings = self.score_problems_
        if self._reversed:
            warnings = (
                f"positives lie below negatives in {len(self._reversed)} of {self.names.size}"
                " topics, unlike in the others: check the labels of"
                f" {first_of(self._reversed)} (flagged_)",
            )
        warn_of_scores(warnings)

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
        if "base_rate" in groups[CONSTANTS]:
            raise ValueError(
                "add_topics must follow a fit without inclusion: fit all topics together."
            )
        rng = generator(self.parameters.random_state)
        with one_blas_thread():
            results = extend_results(self.results, data, self.families, rng)
        return type(self)(self.parameters, results, self.classes)

    def population(self) -> Self:
        """Return the fit without its topics."""
        if self.parameters.pooling != "partial":
            raise AttributeError(
                f"pooling={self.parameters.pooling!r} has no population; use 'partial'."
            )
        return type(self)(self.parameters, topics.without_topics(self.results), self.classes)

    def checked(self, prior: Priors | None) -> Priors | None:
        """Return a class prior; raise ValueError if it names a topic that was not fitted."""
        if isinstance(prior, Mapping) and (unknown := set(prior) - set(self.names.tolist())):
            shown = ", ".join(sorted(map(repr, unknown))[:5])
            raise ValueError(f"prior must name topics that were fitted, got {shown}.")
        return prior

    def fitted_problems(self, *, strict: bool) -> Problems:
        """Return the problem of each topic by name; `strict` refuses new topics."""
        parameters, families = self.parameters, self.families
        hyperparameters = read_hyperparameters(
            parameters.prior_knowledge, parameters.pooling, families
        )
        inference = parameters.inference
        return ResultsProblems(
            results=self.results,
            labels=self.classes,
            point=self.curves.point,
            inference=inference if isinstance(inference, str) else inference.name,
            diagnostics=self.diagnostics_,
            score_problems=partial(getattr, self, "score_problems_"),
            describe=partial(
                describe_topics, self.results.groups, families, parameters.pooling, hyperparameters
            ),
            flagged=self.flagged,
        ).problems(with_new=not strict)


def fit_topic_scores(
    parameters: TopicParameters,
    scores: Any,
    labels: Any,
    names: Any,
    sample_weight: Any = None,
    inclusion: Any = None,
) -> FittedTopics:
    """Fit scores and labels of many topics; see `TopicCalibrator.fit`."""
    options = read_topic_options(parameters)
    data = read_topics(
        scores,
        labels,
        names,
        sample_weight,
        inclusion,
        positive=parameters.positive,
        scores_are=options.scores_are,
    )
    options = for_topics(options, parameters, data.names.size)
    # PyMC sets its own threads for NUTS.
    with one_blas_thread() if options.sampler is None else nullcontext():
        groups = fit_topic_groups(data, options)
    return FittedTopics.of_groups(parameters, groups, data.classes)


def read_topic_options(parameters: TopicParameters) -> TopicOptions:
    """Return the settings of a TopicCalibrator's fit."""
    parts, pooling = parameters.parts, parameters.pooling
    inference, sampler = _read_inference(parameters.inference)
    check_choice("pooling", pooling, POOLINGS)
    if isinstance(parts, OwnPart):
        raise ValueError(
            f"parts={parts!r} has no engine for many topics, which share families of densities: fit"
            f" a ScoreCalibrator of it to each topic, or choose one of {', '.join(PART_NAMES)}."
        )
    check_choice("parts", parts, PART_NAMES)
    check_choice("new_topics", parameters.new_topics, NEW_TOPICS)
    check_choice("scores_are", parameters.scores_are, SCORES_ARE)
    if parameters.point is not None:
        check_choice("point", parameters.point, POINTS)
    if sampler is not None:
        _check_sampled(pooling, parts == COMBINED)
    if parts == COMBINED:
        _check_combined(pooling)
    for name in ("draws", "chains"):
        check_count(name, getattr(parameters, name))
    families = families_of(parameters, pooling)
    lapse = read_lapse(parameters.lapse)
    if lapse and len(families) == 1:
        raise ValueError(
            f"lapse={parameters.lapse!r} needs the combination, parts='combined' with"
            f" pooling='partial' and inference='exact'; got parts={parameters.parts!r},"
            f" pooling={pooling!r}, inference={inference!r}."
        )
    return TopicOptions(
        families=families,
        pooling=pooling,
        hyperparameters=read_hyperparameters(parameters.prior_knowledge, pooling, families),
        chains=parameters.chains,
        draws=parameters.draws,
        scores_are=resolve_scores(parameters.scores_are),
        sampler=sampler,
        rng=generator(parameters.random_state),
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
    warn_user("one topic makes no population: it is fitted by itself, as pooling='none' would.")
    return replace(options, pooling="none", families=families_of(parameters, "none"), sampler=None)


def families_of(parameters: TopicParameters, pooling: str) -> tuple[Family, ...]:
    """Return the families of densities to fit; several are combined."""
    parts = parameters.parts
    implied = parts == AUTO and pooling == "partial" and parameters.inference == "exact"
    if parts == COMBINED or implied:
        return tuple(FAMILIES[name] for name in DENSITIES)
    return (FAMILIES[parts if parts in FAMILY_NAMES else REFERENCE],)


def _read_inference(inference: Any) -> tuple[str, Sampler | None]:
    """Return the name of an inference, and the sampler of "nuts"."""
    if not isinstance(inference, NUTS):
        check_choice("inference", inference, INFERENCES)
        return inference, Sampler() if inference == "nuts" else None
    inference.check_flags()
    return inference.name, Sampler(inference.sampler_options, inference.progressbar)


def _check_sampled(pooling: str, combined: bool) -> None:
    if pooling != "partial":
        raise ValueError(
            "inference must be 'exact' unless pooling is 'partial', got 'nuts' with"
            f" pooling={pooling!r}: without a population every topic's posterior is exact."
        )
    if combined:
        raise ValueError(
            "parts must be 'densities' with inference='nuts', got 'combined': its other parts"
            " are no draws of the program; leave inference at 'exact'."
        )


def _check_combined(pooling: str) -> None:
    if pooling != "partial":
        raise ValueError(
            f"parts='combined' needs pooling='partial', got pooling={pooling!r}: choose"
            " 'densities', or leave it at 'auto'."
        )
