"""Calibrators of a table's topics: each separate, or pooled around their population."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayescal.cli import terminal
from bayescal.cli.predictions import Calibrated, calibrated, most_undecided_first
from bayescal.cli.scores import ScoreTable, TopicRows, fittable, refuse_if_all, split_by_topic
from bayescal.support import parallel, validation

if TYPE_CHECKING:
    from bayescal.fitting.fitted_scores import FittedScores
    from bayescal.fitting.settings import Inference, Parts, ScoreParameters


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """
    The options of a calibrator; see `cli.options`.

    All topics have the same seed: results do not depend on other topics in the file.
    """

    lower_is_positive: bool = False
    scores_are: str = "auto"
    family: str | None = None
    parts: str = "auto"
    inference: str | None = None
    model: str | None = None
    covariate_columns: str | None = None
    prior_knowledge: str | None = None
    jobs: int = 1
    draws: int = 1000
    chains: int = 4
    tune: int = 1000
    target_accept: float = 0.9
    level: float = 0.9
    seed: int = 0

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> FitOptions:
        """Return the options among the arguments of a call."""
        names = [field.name for field in fields(cls) if field.name in arguments]
        return cls(**{name: arguments[name] for name in names})

    @property
    def part_names(self) -> list[str]:
        """Return the names in --parts."""
        return [name.strip() for name in self.parts.split(",")]

    @property
    def inference_name(self) -> str:
        """Return the inference, given or implied by a program."""
        if self.inference is not None:
            return str(self.inference)
        return "exact" if self.model is None else "nuts"

    def check(self) -> None:
        """Check the options, before scores are read; this loads a program, which runs it."""
        from bayescal.distributions import programs
        from bayescal.fitting.parts import combination, configured
        from bayescal.fitting.settings import SCORES_ARE

        terminal.check_at_least(
            1, **{"--draws": self.draws, "--chains": self.chains, "--jobs": self.jobs}
        )
        terminal.check_at_least(0, **{"--tune": self.tune, "--seed": self.seed})
        with terminal.usage_errors():
            for name in self.part_names:
                validation.check_choice(
                    "--parts", name, (configured.AUTO, combination.COMBINED, *combination.PARTS)
                )
            validation.check_choice(
                "--family", self.family or configured.AUTO, configured.family_names()
            )
            validation.check_choice("--scores-are", self.scores_are, SCORES_ARE)
            validation.check_fraction(
                **{"--level": self.level, "--target-accept": self.target_accept}
            )
        if self.lower_is_positive and self.scores_are == "probabilities":
            raise terminal.UsageError(
                "--lower-is-positive turns the sign of scores, which probabilities have not: leave"
                " it out and name the positive label with --positive, or pass 1 - p."
            )
        parts_of(self.part_names, self.family, self.model)
        if self.model is not None and self.inference_name in ("exact", "mle"):
            raise terminal.UsageError(
                f"--model needs --inference nuts or map, got --model {self.model} with"
                f" {self.inference_name}, which uses --family only."
            )
        if self.model is not None:
            with terminal.usage_errors("--model: "):
                program = programs.load(self.model)
                _ = program.answer
            if program.takes_covariates and self.covariate_columns is None:
                raise terminal.UsageError(
                    f"--model {self.model} takes covariates: name their columns with"
                    " --covariate-columns, such as length,site."
                )
            if self.covariate_columns is not None and not program.takes_covariates:
                raise terminal.UsageError(
                    f"--model {self.model} takes no covariates, got --covariate-columns"
                    f" {self.covariate_columns}: leave it out, or give the program an argument"
                    " covariates."
                )
        elif self.covariate_columns is not None:
            raise terminal.UsageError(
                "--covariate-columns needs --model, a program that takes covariates; got"
                f" {self.covariate_columns} without one."
            )
        if self.prior_knowledge is not None:
            with terminal.usage_errors("--prior-knowledge: "):
                self._check_prior_knowledge()

    def _check_prior_knowledge(self) -> None:
        from bayescal.fitting.fitted_scores import read_prior_knowledge
        from bayescal.fitting.settings import read_options

        parameters = self.score_parameters()
        read_options(parameters)
        read_prior_knowledge(parameters)

    def score_parameters(self) -> ScoreParameters:
        """Return the parameters of a fit of one topic."""
        from bayescal.fitting.settings import ScoreParameters

        return ScoreParameters(**self.arguments())

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a calibrator of one topic."""
        known = {} if self.prior_knowledge is None else {"prior_knowledge": self.prior_knowledge}
        return known | {
            "parts": parts_of(self.part_names, self.family, self.model),
            "inference": self._inference(),
            "scores_are": self.scores_are,
            "draws": self.draws,
            "chains": self.chains,
            "random_state": self.seed,
        }

    def _inference(self) -> Inference:
        from bayescal.fitting.parts.configured import NUTS

        if self.inference_name == "nuts":
            options = {"tune": self.tune, "target_accept": self.target_accept}
            return NUTS(options)
        return self.inference_name


def parts_of(names: list[str], family: str | None, model: str | None) -> Parts:
    """Return the parts for --parts, --family and --model."""
    from bayescal.fitting.parts import combination, configured

    if model is not None:
        if family is not None or names != [configured.AUTO]:
            raise terminal.UsageError(
                f"--model {model} says what is fitted: leave out --family and --parts."
            )
        return configured.Program(model)
    wanted = family
    if wanted is None or wanted == configured.AUTO:
        return names[0] if len(names) == 1 else names
    densities = configured.Densities(wanted)
    if names == [configured.AUTO]:
        return densities
    if combination.COMBINED in names:
        return [*names, densities]
    if family is not None and densities.name not in names:
        raise terminal.UsageError(
            f"--family needs densities or combined among --parts, got --family {family} with"
            f" --parts {','.join(names)}."
        )
    return [densities if name == densities.name else name for name in names]


# Topics fitted separately, in --jobs processes.

# Texts of warnings, and their categories.
Warned = list[tuple[str, type[Warning]]]
# All inputs of a fit: a topic, its parameters and the level of the band.
Task = tuple[TopicRows, "ScoreParameters", float]


@dataclass(frozen=True)
class RefusedTopic:
    """A topic that a calibrator rejected, with the reason."""

    reason: str


def calibrate(
    problems: Sequence[TopicRows],
    settings: FitOptions,
    screen: terminal.Screen,
    *,
    advice: terminal.Advice = terminal.option_advice,
    folder: Path | None = None,
) -> tuple[list[Calibrated], dict[str, str]]:
    """Fit every topic with both classes; return results, and reasons for topics without one."""
    fitted, left_out = fittable(problems)
    tasks = [(problem.alone(), settings.score_parameters(), settings.level) for problem in fitted]
    files, done = calibrator_files([problem.topic for problem in fitted]), []
    what = f"{settings.inference_name}:"
    with screen.progress(what, len(fitted)) as update, parallel.workers(settings.jobs, folder):
        results = parallel.in_parallel(_calibrate_task, tasks)
        for problem, file in zip(fitted, files, strict=True):
            update(description=f"{what} {problem.name}")
            result, warned = next(results)
            for text, category in warned:
                screen.warn(f"{problem.subject}{text} {advice(category)}")
            if isinstance(result, RefusedTopic):
                left_out[problem.name] = result.reason
            else:
                done.append(replace(result, problem=problem, file=file))
            update(advance=1)
    refuse_if_all(problems, left_out)
    return done, left_out


def _calibrate_task(task: Task) -> tuple[Calibrated | RefusedTopic, Warned]:
    """Fit one topic, perhaps in another process, which returns warnings as text."""
    result: Calibrated | RefusedTopic
    with warnings.catch_warnings(record=True) as caught:
        for category in terminal.warning_categories():
            warnings.simplefilter("always", category)
        try:
            with terminal.usage_errors():
                result = calibrate_one(*task)
        except terminal.UsageError as err:
            result = RefusedTopic(str(err))
    # Distinct warnings only, since several methods read the scores.
    return result, list(dict.fromkeys((str(w.message), w.category) for w in caught))


def calibrate_one(problem: TopicRows, parameters: ScoreParameters, level: float) -> Calibrated:
    """Fit one topic."""
    calibrator = fit_rows(parameters, problem)
    (fitted,) = calibrator.fitted_problems().values()
    return calibrated(problem, calibrator, fitted, SINGLE, level)


def fit_rows(parameters: ScoreParameters, problem: TopicRows) -> FittedScores:
    """Fit a topic's rows to fit."""
    from bayescal.fitting.fitted_scores import fit_scores
    from bayescal.fitting.results.storage import TOPIC

    table, rows = problem.table, problem.fit_rows
    parameters = replace(parameters, positive=table.classes[1])
    fitted = fit_scores(
        parameters,
        table.score[rows],
        table.labels(rows),
        covariates=table.columns_of(rows),
        **table.weights(rows),
    )
    if problem.topic is not None:
        attrs = {**fitted.results.attrs, TOPIC: problem.topic}
        fitted.results = replace(fitted.results, attrs=attrs)
    return fitted


# Names of the files of calibrators.

SINGLE = "posterior.nc"
LONGEST_STEM = 80
# Windows opens devices under these names, with any extension.
DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def calibrator_files(topics: Sequence[str | None]) -> list[str]:
    """Return distinct file names for the calibrators of topics, valid on all systems."""
    from bayescal.calibrators.loading import TOPICS_FILE

    # A topic called topics must not take the name of the file of all.
    taken = {TOPICS_FILE.removesuffix(".nc")}
    names = []
    for topic in topics:
        stem = SINGLE.removesuffix(".nc") if topic is None else _stem(topic)
        name, k = stem, 1
        # Some file systems do not distinguish Corn from corn.
        while name.casefold() in taken:
            k += 1
            name = f"{stem}-{k}"
        taken.add(name.casefold())
        names.append(f"{name}.nc")
    return names


def _stem(topic: str) -> str:
    text = re.sub(r"[^A-Za-z0-9._-]+", "_", topic).strip("._-")
    if DEVICE.match(text):
        text = f"topic_{text}"
    return text[:LONGEST_STEM] or "topic"


# `--pool`: all topics of a file together, around their population.


def pool(
    table: ScoreTable, settings: FitOptions, screen: terminal.Screen, folder: Path | None = None
) -> list[Calibrated]:
    """Fit all topics of a table together; return them with the most undecided first."""
    from bayescal.calibrators.loading import TOPICS_FILE
    from bayescal.calibrators.topic_calibrator import TopicCalibrator

    calibrator = TopicCalibrator(
        parts=_pooled_parts(settings, table),
        scores_are=settings.scores_are,
        positive=table.classes[1],
        draws=settings.draws,
        chains=settings.chains,
        random_state=settings.seed,
        n_jobs=None if settings.jobs == 1 else settings.jobs,
        memory=folder,
    )
    problems, rows = split_by_topic(table), table.fit_rows
    with (
        screen.progress("pool:", len(problems)) as update,
        screen.warnings(),
        terminal.usage_errors(),
        parallel.reporting(lambda done, total: update(completed=done, total=total)),
    ):
        score, labels, topics = table.examples(rows)
        calibrator.fit(score, labels, topics, **table.weights(rows))
    fitted = calibrator.fitted_problems()
    results = [
        calibrated(each, calibrator, fitted.answering(each.name), TOPICS_FILE, settings.level)
        for each in problems
    ]
    return most_undecided_first(results)


def _pooled_parts(settings: FitOptions, table: ScoreTable) -> str:
    """Return the parts for --parts and --family; raise UsageError if they cannot be pooled."""
    from bayescal.fitting.fitted_topics import FAMILY_NAMES
    from bayescal.fitting.parts import configured

    if table.topic is None:
        raise terminal.UsageError("--pool needs topics: name their column with --topic-column.")
    if settings.model is not None:
        raise terminal.UsageError(
            f"--pool takes no program, got --model {settings.model}: leave out --model, or --pool."
        )
    if settings.inference_name != "exact":
        raise terminal.UsageError(f"--pool needs --inference exact, got {settings.inference_name}.")
    if settings.family in (None, configured.AUTO):
        return settings.parts
    with terminal.usage_errors():
        families = (configured.AUTO, *FAMILY_NAMES)
        validation.check_choice("--family with --pool", settings.family, families)
    if settings.parts not in (configured.AUTO, configured.Densities.name):
        raise terminal.UsageError(
            f"--family with --pool needs --parts densities, got --parts {settings.parts}."
        )
    return str(settings.family)
