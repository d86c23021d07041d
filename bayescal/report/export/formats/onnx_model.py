"""A graph for ONNX runtimes, in double precision."""

from importlib import import_module
from typing import Any

import numpy as np

from bayescal.report.export.knots import Knots
from bayescal.report.export.writing import Content, Format

OPSET, IR_VERSION = 17, 8  # of 2022, so that runtimes of these years read it
DIMENSION = "documents"
INT64 = 7  # onnx.TensorProto.INT64


def render(content: Content) -> bytes:
    """Return the model: an input of scores, and an output for each curve."""
    if content.column in content.table.curves:
        raise ValueError(
            f"column must not be the name of an output, one of {', '.join(content.table.curves)};"
            f" got {content.column!r}: the graph's input needs a name of its own."
        )
    helper = _require_onnx().helper
    graph = _Graph(helper, content.column)
    double = helper.np_dtype_to_tensor_dtype(np.dtype(np.float64))
    for name, knots in content.table.curves.items():
        _add_curve(graph, content.column, name, knots, bounded=content.table.bounded)
    made = helper.make_graph(
        graph.nodes,
        "bayescal",
        [helper.make_tensor_value_info(content.column, double, [DIMENSION])],
        [helper.make_tensor_value_info(each, double, [DIMENSION]) for each in content.table.curves],
        graph.constants,
        doc_string="\n".join(content.fact_lines),
    )
    model = helper.make_model(
        made,
        producer_name="bayescal",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    _require_onnx().checker.check_model(model, full_check=True)
    written: bytes = model.SerializeToString()
    return written


class _Graph:
    """Nodes and constants of a graph, each with a name that is not the input's."""

    def __init__(self, helper: Any, column: str) -> None:
        # No name that begins with it and goes on is the input's.
        self._helper, self._own = helper, f"{column}/"
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any) -> str:
        """Add a constant and return its name."""
        name, array = f"{self._own}constant/{len(self.constants)}", np.asarray(values)
        kind = self._helper.np_dtype_to_tensor_dtype(array.dtype)
        self.constants.append(
            self._helper.make_tensor(name, kind, array.shape, array.tobytes(), raw=True)
        )
        return name

    def node(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        output = name or f"{self._own}node/{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(operator, inputs, [output], **attributes))
        return output


def _add_curve(graph: _Graph, score: str, name: str, knots: Knots, *, bounded: bool) -> None:
    first, last = graph.constant(knots.score[0]), graph.constant(knots.score[-1])
    inside = graph.node("Clip", score, first, last)
    # nan equals nothing.
    answered = graph.node("Equal", score, inside if bounded else score)
    index = _search(graph, inside, knots)
    at, log_odds, slope = (
        graph.node("Gather", graph.constant(row), index)
        for row in (knots.score, knots.log_odds, knots.slope)
    )
    rise = graph.node("Mul", slope, graph.node("Sub", inside, at))
    probability = graph.node("Sigmoid", graph.node("Add", log_odds, rise))
    graph.node("Where", answered, probability, graph.constant(np.nan), name=name)


def _search(graph: _Graph, score: str, knots: Knots) -> str:
    """Return the index of the last knot that is not above each score, by bisection."""
    halvings = int(np.ceil(np.log2(knots.score.size)))
    padded = np.full(1 << halvings, np.inf)
    padded[: knots.score.size] = knots.score
    node = graph.constant(padded)
    index = graph.node("ConstantOfShape", graph.node("Shape", score))
    index = graph.node("Cast", index, to=INT64)
    for k in reversed(range(halvings)):
        candidate = graph.node("Add", index, graph.constant(np.int64(1 << k)))
        reached = graph.node("LessOrEqual", graph.node("Gather", node, candidate), score)
        index = graph.node("Where", reached, candidate, index)
    return index


def _require_onnx() -> Any:
    try:
        return import_module("onnx")
    except ModuleNotFoundError as err:
        # What is missing inside an installed library is another matter.
        if err.name != "onnx":
            raise
        raise ImportError(
            "the format 'onnx' needs onnx, which is not installed: pip install bayescal[onnx]."
        ) from err


FORMAT = Format("onnx", "a graph for ONNX runtimes, in double precision", ".onnx", render)
