"""Read what was saved: a calibrator's file, or a folder that `bayescal fit` wrote."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import xarray as xr

from bayescal.calibrators.multiclass_calibrator import MulticlassCalibrator
from bayescal.calibrators.ordinal_calibrator import OrdinalCalibrator
from bayescal.calibrators.recalibrator import Recalibrator
from bayescal.calibrators.score_calibrator import ScoreCalibrator
from bayescal.calibrators.topic_calibrator import TopicCalibrator
from bayescal.fitting.problems.problem import Calibrator, Problems, problems_of_each
from bayescal.fitting.results import storage, tree

Read = TypeVar("Read", bound=Calibrator)

# Files in a folder of `bayescal fit`: the record of the run, and topics fitted together.
SUMMARY, TOPICS_FILE = "summary.json", "topics.nc"


class CalibratorsOfTopics(Mapping[str, Read]):
    """The calibrators of topics fitted one by one, by topic; each file is read on access."""

    def __init__(self, files: Mapping[str, Path], read: Callable[[Path, str], Read]) -> None:
        self._files, self._read = files, read

    def __getitem__(self, topic: str) -> Read:
        return self._read(self._files[topic], topic)

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def fitted_problems(self) -> Problems:
        """Return the problem of each topic, read on access."""
        return problems_of_each(self)


def read_saved(
    path: str | Path, read: Callable[[Path, str | None], Read]
) -> Read | CalibratorsOfTopics[Read]:
    """Return the calibrator of a file, or the calibrators of a folder."""
    source = Path(path)
    if not source.is_dir():
        return read(source, None)
    try:
        record = json.loads((source / SUMMARY).read_text(encoding="utf-8"))
        names = {topic["topic"]: str(topic["file"]) for topic in record["topics"]}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as err:
        raise ValueError(
            f"{source} must be a .nc file or a folder that bayescal fit wrote, but its"
            f" {SUMMARY} is missing or unreadable."
        ) from err
    for name in names.values():
        if (source / name).resolve().parent != source.resolve():
            raise ValueError(
                f"{source / SUMMARY} must name files of its own folder, got {name!r}: do not load"
                " a folder whose origin is unknown to you."
            )
    # Only the summary counts: files of an earlier fit may remain in the folder.
    if set(names.values()) == {TOPICS_FILE}:
        return read(source / TOPICS_FILE, None)
    files = {topic: source / name for topic, name in names.items()}
    return read(files[None], None) if None in files else CalibratorsOfTopics(files, read)


# Classes by the name in their files; each has `from_results`, which takes a tree of results.
CALIBRATORS: dict[str, Any] = {
    each._fit_type.estimator: each
    for each in (
        ScoreCalibrator,
        TopicCalibrator,
        MulticlassCalibrator,
        OrdinalCalibrator,
        Recalibrator,
    )
}


def load(
    path: str | Path,
) -> (
    ScoreCalibrator
    | TopicCalibrator
    | MulticlassCalibrator
    | OrdinalCalibrator
    | Recalibrator
    | CalibratorsOfTopics[ScoreCalibrator]
):
    """Read fitted calibrators.

    Parameters
    ----------
    path : str or Path
        A file that a calibrator's `save` wrote, or a folder that ``bayescal fit --out`` or
        ``bayescal text fit --out`` wrote.

    Returns
    -------
    an estimator, or CalibratorsOfTopics
        The saved calibrator; for a folder of topics fitted one by one, a mapping from each topic's
        name to its ScoreCalibrator.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If bayescal did not write it, or a later version did.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from bayescal import ScoreCalibrator
    >>> calibrator = ScoreCalibrator(inference="mle").fit([-2.0, -1.0, 0.5, 1.0], [0, 0, 1, 1])
    >>> with TemporaryDirectory() as folder:
    ...     load(calibrator.save(f"{folder}/corn.nc")).predict([-3.0, 3.0]).tolist()
    [0, 1]
    """
    return read_saved(path, _read_file)


def calibrator_of(results: xr.DataTree, source: Path) -> Any:
    """Return the calibrator whose file, `source`, holds a tree of results."""
    made_by = results.attrs[tree.ESTIMATOR]
    if made_by not in CALIBRATORS:
        raise ValueError(
            f"{source} holds a {made_by!r}, which is not among {', '.join(CALIBRATORS)}: import the"
            " module that registers it first."
        )
    return CALIBRATORS[made_by].from_results(results)


def _read_file(source: Path, topic: str | None) -> Any:
    return calibrator_of(storage.read_tree(source, topic), source)
