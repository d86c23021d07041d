"""Read what was saved: a calibrator's file, or a folder that `bayescal fit` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import xarray as xr

from bayescal import plain_calibrator, topic_calibrator
from bayescal.results import provenance, storage
from bayescal.saved import CalibratorsOfTopics, read_saved
from bayescal.score_calibrator import ScoreCalibrator
from bayescal.topic_calibrator import TopicCalibrator

# Classes by the name that their files say; each has `from_results`, which takes the tree of one.
CALIBRATORS: dict[str, Any] = {
    plain_calibrator.NAME: ScoreCalibrator,
    topic_calibrator.NAME: TopicCalibrator,
}


def load(
    path: str | Path,
) -> ScoreCalibrator | TopicCalibrator | CalibratorsOfTopics[ScoreCalibrator]:
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
    return read_saved(path, _read_file)


def calibrator_of(results: xr.DataTree, source: Path) -> Any:
    """
    Return the calibrator whose file, `source`, holds a tree of results.

    Raises
    ------
    ValueError
        If no class is known by the name in it.
    """
    made_by = results.attrs[provenance.ESTIMATOR]
    if made_by not in CALIBRATORS:
        raise ValueError(
            f"{source} holds a {made_by!r}, which is not among {', '.join(CALIBRATORS)}: import the"
            " module that registers it first."
        )
    return CALIBRATORS[made_by].from_results(results)


def _read_file(source: Path) -> Any:
    return calibrator_of(storage.read_tree(source), source)
