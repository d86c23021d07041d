"""Pages: the data of their figures, the numbers beside them and in their text; `cli` has others."""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx

from bayescal import ScoreCalibrator, TopicCalibrator, condense
from bayescal.monitoring import audit
from bayescal.report import write_report
from bayescal.report.rendering import unpacked
from tests.recorded.metrics import WEIGHT, P, Y

S, NAMES = np.round(P, 1) * 4.0 - 2.0, np.where(Y, "yes", "no")
ELSEWHERE = {"run", "hashes", "words", "versions"}
COMMENTS, DATA = r'(?s)""".*?"""|(#|--)[^\n]*', r'id="data">(.*?)</script>'
MARKUP = r"(?s)<(script|style).*?</\1>|<section id=.provenance.*|<[^>]*>"


def _read(path):
    """Return the numbers of a file, as data and in texts, without those of versions and hashes."""
    if path.suffix == ".onnx":
        graph = onnx.load(path).graph
        attributes = [each.i for node in graph.node for each in node.attribute]
        return attributes, [onnx.numpy_helper.to_array(each) for each in graph.initializer]
    text, is_page = path.read_text("utf-8"), path.suffix == ".html"
    shown = re.sub(MARKUP if is_page else COMMENTS, " ", text)
    if not is_page and path.suffix != ".json":
        return shown
    found = json.loads(re.search(DATA, text)[1] if is_page else text, object_hook=_plain)
    return [shown if is_page else "", {k: each for k, each in found.items() if k not in ELSEWHERE}]


def _plain(each):
    """Return a matrix, or a mapping with the lengths of short texts, so that others differ."""
    if "bytes" in each:
        return unpacked(each).tolist()
    return each | {
        k: f"{v} {len(v)}" for k, v in each.items() if isinstance(v, str) and len(v) < 20
    }


def _page(write, **options):
    """Return all numbers of a page."""
    with TemporaryDirectory() as folder:
        page = write(Path(folder) / "page.html", **options)
        return [_read(path) for path in (page, page.with_suffix(".numbers.json"))]


def pages():
    fast = {"parts": "gaussian", "draws": 10, "random_state": 0}
    fitted, report = (kind(**fast) for kind in (ScoreCalibrator, TopicCalibrator))
    fitted, report = fitted.fit(S, NAMES), report.fit(S, Y, np.arange(60) // 15).report
    several = {"one": fitted, "other": ScoreCalibrator(inference="mle").fit(S, NAMES)}
    weighted = audit(Y, P, sample_weight=WEIGHT, noun="patient", draws=40, random_state=0)
    return {
        "few": _page(fitted.report, test=(S[:9], NAMES[:9]), collection=condense(S)),
        "several": _page(lambda path: write_report(several, path, threshold=0.5, recall=0.7)),
        "no documents": _page(report, level=0.8),
        "audit": _page(weighted.report),
    }
