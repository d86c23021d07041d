"""The report as one HTML file: what goes into it, and how it is written."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from bayescal.palette import CLASS_COLOURS, MLE_COLOUR, OKABE_ITO, POSTERIOR_COLOUR
from bayescal.report.contents import Contents, Source, gather
from bayescal.report.provenance import HASH_NOTE
from bayescal.validation import check_fraction
from bayescal.whole_file import check_target, whole_file

SCRIPTS = ("numbers", "decisions", "svg", "figures", "tables", "controls", "page")
TITLE = "Calibration report"
COLOURS = {
    "posterior": POSTERIOR_COLOUR,
    "mle": MLE_COLOUR,
    "negative": CLASS_COLOURS[0],
    "positive": CLASS_COLOURS[1],
    "recall": OKABE_ITO["reddish purple"],
}


def write_report(
    calibrators: Source,
    path: str | Path,
    *,
    test: Any = None,
    fitted: Any = None,
    level: float = 0.9,
    threshold: float | None = None,
    recall: float = 0.9,
    title: str | None = None,
) -> Path:
    """
    Write a report: one HTML file that needs no network, whole or not at all.

    Parameters
    ----------
    calibrators : ScoreCalibrator, TopicCalibrator or mapping of str to ScoreCalibrator
        Fitted; of a mapping one calibrator at a time is asked for.
    path : str or Path
        Where to write the file, whose folder must exist; a file that is there is replaced.
    test : DataFrame or tuple, optional
        Held-out scores and labels, and with topics the topic of each: columns score, label and
        topic, or arrays in this order. Topics without any are shown without.
    fitted : DataFrame or tuple, optional
        For a `TopicCalibrator`, which does not keep them: the scores fitted, in the same form.
        They make the histograms, the empirical log-odds and the expected costs; without them costs
        are those of the model's own density of scores.
    level : float
        Posterior probability of the bands at each score.
    threshold : float, optional
        A score, of which the report says what precision and recall come of taking the documents of
        this score and above; by default, of each topic, the score at which its probability is one
        half.
    recall : float
        The share of all positives for which the report gives a threshold.
    title : str, optional
        Title of the page.

    Returns
    -------
    Path
        Path of the file.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If a calibrator is not fitted.
    ValueError
        If an argument is not as described; nothing is written then.
    FileNotFoundError, OSError
        If there is no such folder, or the file cannot be written; nothing stays then.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from bayescal import ScoreCalibrator
    >>> scores, labels = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> calibrator = ScoreCalibrator(random_state=0).fit(scores, labels)
    >>> with TemporaryDirectory() as folder:
    ...     write_report(calibrator, f"{folder}/report.html").stat().st_size < 500_000
    True
    """
    check_fraction(level=level, recall=recall)
    target = check_target(path)
    contents = gather(
        calibrators, test=test, fitted=fitted, level=level, threshold=threshold, recall=recall
    )
    text = render(contents, title=title or TITLE, level=level)
    with whole_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return target


def render(contents: Contents, *, title: str, level: float) -> str:
    """Return the page; its policy allows its own script and style and nothing else."""
    environment = Environment(
        loader=PackageLoader("bayescal.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["short"] = short
    style = _colours() + _source(environment, "style.css")
    parts = (_source(environment, f"{name}.js") for name in SCRIPTS)
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();\n"
    return environment.get_template("report.html").render(
        title=title,
        level=level,
        percent=f"{100.0 * level:g}",
        style=Markup(style),
        style_hash=_hash(style),
        script=Markup(script),
        script_hash=_hash(script),
        data=htmlsafe_json_dumps(contents.data, allow_nan=False, separators=(",", ":")),
        contents=contents,
        blocks=contents.blocks,
        hash_note=HASH_NOTE,
    )


def short(value: float | None) -> str:
    """
    Return a number for readers, with three digits or with all before the point.

    Examples
    --------
    >>> short(0.13), short(12345.6), short(5.0), short(None)
    ('0.130', '12,346', '5', '\N{EN DASH}')
    """
    if value is None:
        return "\N{EN DASH}"
    value = float(value)
    whole = value.is_integer() or abs(value) >= 100.0
    text = f"{value:,.0f}" if whole else f"{value:#.3g}"
    return text.replace("-", "\N{MINUS SIGN}")


def _colours() -> str:
    """Return the colours of what is drawn as variables of the style sheet, light and dark alike."""
    return f":root {{{' '.join(f'--{name}: {value};' for name, value in COLOURS.items())}}}\n"


def _source(environment: Environment, name: str) -> str:
    assert environment.loader is not None  # noqa: S101
    return environment.loader.get_source(environment, name)[0]


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
