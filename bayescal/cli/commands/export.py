"""`bayescal export`: a calibrator as a file that needs no bayescal."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bayescal.cli import options, scores
from bayescal.cli.predictions import SIGN_TURNED, load, of_classes, read_record, state_positive
from bayescal.cli.terminal import Screen, UsageError, usage_errors
from bayescal.support.validation import first_of

Out = Annotated[Path, options.option("--out", options.OUTPUT, "The file to write.", "FILE")]
FORMAT = (
    "python: a module that needs numpy alone; json: knots to interpolate, for any language;"
    " sql: expressions for SELECT; onnx: a graph for ONNX runtimes."
)
FormatName = Annotated[str, options.option("--format", options.OUTPUT, FORMAT)]
Topic = Annotated[str | None, options.option("--topic", None, "The topic to write, of several.")]
BAND = "Whether to write the band at each score, which needs a posterior."
Band = Annotated[bool, options.option("--band/--no-band", options.OUTPUT, BAND)]
COLUMN = "The name of scores where the file is used: the column of sql, the input of onnx."
Column = Annotated[str, options.option("--score-column", options.COLUMNS, COLUMN)]

app = typer.Typer()


@app.command()
def export(
    calibrator: options.CalibratorPath,
    out: Out,
    format_name: FormatName = "python",
    topic: Topic = None,
    level: options.Level = 0.9,
    band: Band = True,
    prior: options.Prior = None,
    score_column: Column = "score",
    quiet: options.Quiet = False,
) -> None:
    """Write a calibrator to a file that needs no bayescal.

    [bold]bayescal export calibrated --format sql --out corn.sql[/bold]

    takes the folder, or a .nc file, that bayescal fit has written. Its
    probabilities equal those of bayescal predict within 0.0001.
    """
    from bayescal.report.export.writing import export as write

    screen = Screen(quiet=quiet)
    with screen.warnings(lambda _: ""), usage_errors(errors=(ValueError, OSError, ImportError)):
        source = load(calibrator)
        written = write(
            source,
            out,
            format=format_name,
            topic=_topic_of(source, topic),
            level=level if band else None,
            prior=prior,
            column=score_column,
        )
    if not of_classes(source):
        state_positive(screen, source)
    if scores.sign_of(read_record(calibrator).get("arguments", {})) < 0:
        screen.warn(SIGN_TURNED)
    screen.say(f"Written to {written}: {written.stat().st_size / 1e3:.0f} kB")


def _topic_of(source: Any, topic: str | None) -> Any:
    """Return the topic of --topic, which may be a number in the calibrator."""
    problems = None if of_classes(source) else source.fitted_problems()
    if problems is None or not problems.by_topic:
        return topic
    names = {str(name): name for name in problems}
    if topic not in names:
        raise UsageError(
            f"--topic must name one of the topics fitted, {first_of(list(names))}; got"
            f" {'none' if topic is None else repr(topic)}."
        )
    return names[topic]
