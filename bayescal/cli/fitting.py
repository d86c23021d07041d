"""Calibrators of a table's topics: each separate, or pooled around their population."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayescal.cli import terminal
from bayescal.cli.columns import names_in
from bayescal.cli.predictions import Calibrated, calibrated, most_undecided_first
from bayescal.cli.scores import ScoreTable, fittable, refuse_if_all, split_by_topic
from bayescal.support import parallel, validation

if TYPE_CHECKING:
    from bayescal.fitting.fitted_scores import FittedScores
    from bayescal.fitting.settings import Parts, ScoreParameters


def inference_of(arguments: Mapping[str, Any]) -> str:
    """Return the inference of a call, given or implied by a program."""
    if arguments["inference"] is not None:
        return str(arguments["inference"])
    return "exact" if arguments["model"] is None else "nuts"


def read_parameters(arguments: Mapping[str, Any]) -> ScoreParameters:
    """Return the checked parameters of a call, before scores are read; this runs a program."""
    from bayescal.fitting.fitted_scores import read_prior_knowledge
    from bayescal.fitting.parts import combination, configured
    from bayescal.fitting.settings import SCORES_ARE, ScoreParameters, read_options

    family, model, inference = arguments["family"], arguments["model"], inference_of(arguments)
    names, scores_are = names_in(arguments["parts"]), arguments["scores_are"]
    with terminal.usage_errors():
        for name in names:
            validation.check_choice(
                "--parts", name, (configured.AUTO, combination.COMBINED, *combination.PARTS)
            )
        validation.check_choice("--family", family or configured.AUTO, configured.family_names())
        validation.check_choice("--scores-are", scores_are, SCORES_ARE)
    if arguments["lower_is_positive"] and scores_are == "probabilities":
        raise terminal.UsageError(
            "--lower-is-positive turns the sign of scores, which probabilities have not: leave"
            " it out and name the positive label with --positive, or pass 1 - p."
        )
    parts = parts_of(names, family, model)
    _check_program(model, inference, arguments["covariate_columns"])
    known = arguments.get("prior_knowledge")
    sampler = {name: arguments[name] for name in ("tune", "target_accept")}
    parameters = ScoreParameters(
        parts,
        configured.NUTS(sampler) if inference == "nuts" else inference,
        scores_are=scores_are,
        draws=arguments["draws"],
        chains=arguments["chains"],
        random_state=arguments["seed"],
        **({} if known is None else {"prior_knowledge": known}),
    )
    if known is not None:
        with terminal.usage_errors("--prior-knowledge: "):
            read_options(parameters)
            read_prior_knowledge(parameters)
    return parameters


def _check_program(model: str | None, inference: str, columns: str | None) -> None:
    """Raise UsageError if a program, or its covariates, do not fit the other options."""
    from bayescal.distributions import programs

    if model is None:
        if columns is not None:
            raise terminal.UsageError(
                "--covariate-columns needs --model, a program that takes covariates; got"
                f" {columns} without one."
            )
        return
    if inference in ("exact", "mle"):
        raise terminal.UsageError(
            f"--model needs --inference nuts or map, got --model {model} with {inference}, which"
            " uses --family only."
        )
    with terminal.usage_errors("--model: "):
        program = programs.load(model)
        _ = program.answer
    if program.takes_covariates and columns is None:
        raise terminal.UsageError(
            f"--model {model} takes covariates: name their columns with --covariate-columns, such"
            " as length,site."
        )
    if columns is not None and not program.takes_covariates:
        raise terminal.UsageError(
            f"--model {model} takes no covariates, got --covariate-columns {columns}: leave it"
            " out, or give the program an argument covariates."
        )


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
Task = tuple[ScoreTable, "ScoreParameters", float]


@dataclass(frozen=True)
class RefusedTopic:
    """A topic that a calibrator rejected, with the reason."""

    reason: str


def calibrate(
    problems: Sequence[ScoreTable],
    parameters: ScoreParameters,
    screen: terminal.Screen,
    *,
    level: float,
    jobs: int = 1,
    advice: terminal.Advice = terminal.option_advice,
    folder: Path | None = None,
) -> tuple[list[Calibrated], dict[str, str]]:
    """Return the fits of all topics with both classes, of one seed, and reasons for the others."""
    from bayescal.fitting.settings import inference_name

    fitted, left_out = fittable(problems)
    tasks = [(problem, parameters, level) for problem in fitted]
    files, done = calibrator_files([problem.topic for problem in fitted]), []
    what = f"{inference_name(parameters)}:"
    with screen.progress(what, len(fitted)) as update, parallel.workers(jobs, folder):
        results = parallel.in_parallel(_calibrate_task, tasks)
        for problem, file in zip(fitted, files, strict=True):
            update(description=f"{what} {problem.name}")
            result, warned = next(results)
            for text, category in warned:
                screen.warn(f"{problem.subject}{text} {advice(category)}")
            if isinstance(result, RefusedTopic):
                left_out[problem.name] = result.reason
            else:
                done.append(replace(result, file=file))
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


def calibrate_one(problem: ScoreTable, parameters: ScoreParameters, level: float) -> Calibrated:
    """Fit one topic."""
    calibrator = fit_rows(parameters, problem)
    (fitted,) = calibrator.fitted_problems().values()
    return calibrated(problem, calibrator, fitted, SINGLE, level)


def fit_rows(parameters: ScoreParameters, table: ScoreTable) -> FittedScores:
    """Fit a topic's rows to fit."""
    from bayescal.fitting.fitted_scores import fit_scores
    from bayescal.fitting.results.storage import TOPIC

    rows = table.fit_rows
    parameters = replace(parameters, positive=table.classes[1])
    fitted = fit_scores(
        parameters,
        table.score[rows],
        table.labels(rows),
        covariates=table.columns_of(rows),
        **table.weights(rows),
    )
    if table.topic is not None:
        attrs = {**fitted.results.attrs, TOPIC: table.topic}
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
        stem = SINGLE.removesuffix(".nc")
        if topic is not None:
            stem = re.sub(r"[^A-Za-z0-9._-]+", "_", topic).strip("._-")
            stem = f"{'topic_' * bool(DEVICE.match(stem))}{stem}"[:LONGEST_STEM] or "topic"
        name, k = stem, 1
        # Some file systems do not distinguish Corn from corn.
        while name.casefold() in taken:
            k += 1
            name = f"{stem}-{k}"
        taken.add(name.casefold())
        names.append(f"{name}.nc")
    return names


# `--pool`: all topics of a file together, around their population.


def pool(
    table: ScoreTable,
    arguments: Mapping[str, Any],
    screen: terminal.Screen,
    folder: Path | None = None,
) -> list[Calibrated]:
    """Fit all topics of a table together; return them with the most undecided first."""
    from bayescal.calibrators.loading import TOPICS_FILE
    from bayescal.calibrators.topic_calibrator import TopicCalibrator

    calibrator = TopicCalibrator(
        parts=_pooled_parts(arguments, table),
        scores_are=arguments["scores_are"],
        positive=table.classes[1],
        draws=arguments["draws"],
        chains=arguments["chains"],
        random_state=arguments["seed"],
        n_jobs=None if arguments["jobs"] == 1 else arguments["jobs"],
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
    level = arguments["level"]
    results = [
        calibrated(each, calibrator, fitted.answering(each.name), TOPICS_FILE, level)
        for each in problems
    ]
    return most_undecided_first(results)


def _pooled_parts(arguments: Mapping[str, Any], table: ScoreTable) -> str:
    """Return the parts for --parts and --family; raise UsageError if they cannot be pooled."""
    from bayescal.families import FAMILIES
    from bayescal.fitting.parts import configured

    family, parts, inference = (arguments[name] for name in ("family", "parts", "inference"))
    if table.topics is None:
        raise terminal.UsageError("--pool needs topics: name their column with --topic-column.")
    if arguments["model"] is not None:
        raise terminal.UsageError(
            f"--pool takes no program, got --model {arguments['model']}: leave out --model, or"
            " --pool."
        )
    if inference != "exact":
        raise terminal.UsageError(f"--pool needs --inference exact, got {inference}.")
    if family in (None, configured.AUTO):
        return str(parts)
    with terminal.usage_errors():
        families = (configured.AUTO, *FAMILIES)
        validation.check_choice("--family with --pool", family, families)
    if parts not in (configured.AUTO, configured.Densities.name):
        raise terminal.UsageError(
            f"--family with --pool needs --parts densities, got --parts {parts}."
        )
    return str(family)
