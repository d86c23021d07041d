"""The report as one HTML file: what goes into it, and how it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bayescal.report.contents import Source, gather
from bayescal.report.provenance import HASH_NOTE
from bayescal.report.rendering import render, write_page
from bayescal.validation import check_fraction
from bayescal.whole_file import check_target

SCRIPTS = (
    "numbers",
    "decisions",
    "svg",
    "tables",
    "figure_element",
    "figures",
    "chooser",
    "controls",
    "appearance",
    "page",
)
TITLE = "Calibration report"


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
    text = render(
        "report",
        SCRIPTS,
        contents.data,
        title=title or TITLE,
        level=level,
        percent=f"{100.0 * level:g}",
        contents=contents,
        blocks=contents.blocks,
        hash_note=HASH_NOTE,
    )
    return write_page(target, text)
