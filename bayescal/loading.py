"""Read what was saved: a calibrator's file, or a folder that `bayescal fit` wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bayescal import score_calibrator, topic_calibrator
from bayescal.fitted.many import problems_of_each
from bayescal.fitted.problem import Problems
from bayescal.results import provenance, storage
from bayescal.score_calibrator import ScoreCalibrator
from bayescal.topic_calibrator import TopicCalibrator

# Classes by the name that their files say; each has `from_results`, which takes the tree of one.
CALIBRATORS: dict[str, Any] = {
    score_calibrator.NAME: ScoreCalibrator,
    topic_calibrator.NAME: TopicCalibrator,
}
# What `bayescal fit` writes into a folder: the record of the run, and topics fitted together.
SUMMARY, TOPICS_FILE = "summary.json", "topics.nc"


class CalibratorsOfTopics(Mapping[str, ScoreCalibrator]):
    """
    The calibrators of topics fitted one by one, by topic; each is read when it is asked for.

    Parameters
    ----------
    files : mapping of str to Path
        The file of each topic's calibrator.
    """

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files

    def __getitem__(self, topic: str) -> ScoreCalibrator:
        return ScoreCalibrator.load(self._files[topic])

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def fitted_problems(self) -> Problems:
        """Return the problem of each topic, read when it is asked for."""
        return problems_of_each(self)


def load(path: str | Path) -> ScoreCalibrator | TopicCalibrator | CalibratorsOfTopics:
    """
    Read fitted calibrators, whatever wrote them.

    Parameters
    ----------
    path : str or Path
        A file that `ScoreCalibrator.save` or `TopicCalibrator.save` wrote, or a folder that
        ``bayescal fit --out`` or ``bayescal text fit --out`` wrote.

    Returns
    -------
    ScoreCalibrator, TopicCalibrator or CalibratorsOfTopics
        What was saved; of a folder the one calibrator, that of all topics pooled, or, of topics
        fitted one by one, a mapping from each topic's name to its ScoreCalibrator.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it was not written by bayescal, or by a later version of it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from bayescal import ScoreCalibrator
    >>> calibrator = ScoreCalibrator(inference="mle").fit([-2.0, -1.0, 0.5, 1.0], [0, 0, 1, 1])
    >>> with TemporaryDirectory() as folder:
    ...     load(calibrator.save(f"{folder}/corn.nc")).predict([-3.0, 3.0]).tolist()
    [0, 1]
    """
    source = Path(path)
    if source.is_dir():
        return _load_folder(source)
    return _load_file(source)


def _load_file(source: Path) -> ScoreCalibrator | TopicCalibrator:
    results = storage.read_tree(source)
    made_by = results.attrs[provenance.ESTIMATOR]
    if made_by not in CALIBRATORS:
        raise ValueError(
            f"{source} holds a {made_by!r}, which is not among {', '.join(CALIBRATORS)}: import the"
            " module that registers it first."
        )
    calibrator: ScoreCalibrator | TopicCalibrator = CALIBRATORS[made_by].from_results(results)
    return calibrator


def _load_folder(folder: Path) -> ScoreCalibrator | TopicCalibrator | CalibratorsOfTopics:
    if (folder / TOPICS_FILE).is_file():
        return TopicCalibrator.load(folder / TOPICS_FILE)
    try:
        record = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        files = {topic["topic"]: folder / topic["file"] for topic in record["topics"]}
    except (OSError, ValueError, KeyError, TypeError) as err:
        raise ValueError(
            f"{folder} must be a .nc file or a folder that bayescal fit wrote, but its"
            f" {SUMMARY} is missing or unreadable."
        ) from err
    if None in files:
        return ScoreCalibrator.load(files[None])
    return CalibratorsOfTopics(files)
