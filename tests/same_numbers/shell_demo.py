"""What the demo, folders of texts, and sites say and write; exported graphs of ONNX."""

import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np

import bayescal
from bayescal.cli import fitting
from bayescal.cli.commands import demo
from bayescal.report.export import writing
from bayescal.text import reuters_scores
from tests.same_numbers.shell_fits import STRAIGHT
from tests.shell_answers import said
from tests.small_fits import classes, one

SMALL = {"draws": 15, "chains": 2}
# Files in folders: by their class, or without one.
KINDS = {"grain": "wheat crop harvest corn", "money": "bank rate loan dollar"}
TEXTS = {
    f"docs/{kind}/{k:02d}.txt": " ".join(words.split()[: 2 + k % 3] + ["the", "say"][: k % 2])
    for kind, words in KINDS.items()
    for k in range(16)
} | {"docs/new.txt": "wheat bank crop unheard", "docs/other.txt": "loan"}


def small_demo(words):
    """Return what the demo says with quick fits and two of its ten topics."""
    patches = (
        (fitting, "FitOptions", partial(fitting.FitOptions, parts="logistic", **SMALL)),
        (bayescal, "ScoreCalibrator", partial(bayescal.ScoreCalibrator, "logistic", **SMALL)),
        (bayescal, "TopicCalibrator",
         partial(bayescal.TopicCalibrator, parts="gaussian", **SMALL)),
        (reuters_scores, "TOPICS", ("corn", "ship")),
    )  # fmt: skip
    with ExitStack() as stack:
        for place, name, other in patches:
            if name == "FitOptions":
                other.of = fitting.FitOptions.of
            stack.enter_context(mock.patch.object(place, name, other))
        return said(words)


def grids():
    """Return the documents of the demo, and the scores at which it draws curves."""
    table = demo.demo_table(3, positives=4)
    return {
        "rows": np.flatnonzero(~table.test),
        "grids": [demo._grid(problem) for problem in demo.split_by_topic(table)],
        "documents": table.frame["document"].to_numpy()[~table.test].astype(str),
    }


def graph(calibrator, **options):
    """Return the nodes and constants of an exported graph."""
    import onnx
    from onnx import numpy_helper

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.onnx"
        writing.export(calibrator(), path, format="onnx", **options)
        model = onnx.load(path)
    shapes = [str(each.type.tensor_type) for each in (*model.graph.input, *model.graph.output)]
    return {
        "nodes": [
            f"{node.op_type} {','.join(node.input)} -> {','.join(node.output)}"
            f" {[(each.name, onnx.helper.get_attribute_value(each)) for each in node.attribute]}"
            for node in model.graph.node
        ],
        "constants": [
            np.where(np.isinf(array := numpy_helper.to_array(each).astype(float)), 1e9, array)
            for each in model.graph.initializer
        ],
        "model": [model.ir_version, model.opset_import[0].version, model.producer_name,
                  model.graph.name, "".join(shapes).split()],
    }  # fmt: skip


CASES = {
    "demo": partial(small_demo, "demo"),
    "demo, seed": partial(small_demo, "demo --seed 4 --out here"),
    "grids": grids,
    "texts": lambda: said("text fit docs --words 6 --folds 3 --out grain", files=TEXTS),
    "bad texts": lambda: said(
        "text fit empty", "text fit blank", "text fit latin", "text fit docs --positive cow",
        files=TEXTS | {"empty/a.md": "a", "blank/a/b.txt": " \n", "latin/a/b.txt": b"a\xe4b"}),
    "one class": lambda: said(
        "recalibrate all.csv --out m", "audit two.csv",
        f"fit two.csv --score-column p --label-column y {STRAIGHT}",
        files={"all.csv": "p,y\n" + "".join(f"0.{k},1\n" for k in range(1, 9)),
               "two.csv": "p,y\n" + "".join(f"0.{k},2\n" for k in range(1, 9))}),
    "sites": lambda: said(
        "audit outcomes.csv --site-column site --inclusion-column weight --threshold 0.3"
        " --out audit.html", files=_weighted()),
    "graph": partial(graph, one),
    "graph, point": partial(graph, lambda: one("probabilities"), level=None, column="p"),
    "graph, classes": partial(graph, classes, level=0.8),
    "graph, classes without bands": partial(graph, classes, level=None, prior=[0.5, 0.3, 0.2]),
}  # fmt: skip


def _weighted():
    """Return outcomes at sites, with probabilities of being labelled."""
    rng = np.random.default_rng(5)
    p = np.round(rng.beta(1.0, 2.0, 60), 3)
    rows = [
        f"{each},{int(rng.random() < each**1.5)},{'abc'[k % 7 // 3]},{(0.4, 0.9)[k % 2]}"
        for k, each in enumerate(p.tolist())
    ]
    return {"outcomes.csv": "\n".join(["p,y,site,weight", *rows]) + "\n"}
