"""A graph for ONNX runtimes, in double precision."""

from importlib import import_module
from typing import Any

import numpy as np

from bayescal.report.export.class_map import ClassContent
from bayescal.report.export.knots import Knots
from bayescal.report.export.writing import Content, Format
from bayescal.support.validation import Floats

OPSET, IR_VERSION = 17, 8  # versions of 2022, for older runtimes
DIMENSION = "documents"
INT64, DOUBLE = 7, 11  # onnx.TensorProto.INT64 and DOUBLE


def render(content: Content) -> bytes:
    """Return the model: an input of scores, and an output for each curve."""
    graph = _graph_for(content, list(content.table.curves))
    for name, knots in content.table.curves.items():
        _add_curve(graph, content.column, name, knots, bounded=content.table.bounded)
    return _written(graph, content, list(content.table.curves), [DIMENSION])


class _Graph:
    """Nodes and constants of a graph; their names differ from the input's."""

    def __init__(self, helper: Any, column: str) -> None:
        # A longer name differs from the input's.
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

    def node(
        self, operator: str, *inputs: str, name: str | None = None, more: int = 0, **attributes: Any
    ) -> str:
        """Add a node and return the name of its output, the first of several."""
        output = name or f"{self._own}node/{len(self.nodes)}"
        outputs = [output, *(f"{output}/{k}" for k in range(more))]
        self.nodes.append(self._helper.make_node(operator, inputs, outputs, **attributes))
        return output


def _graph_for(content: Content | ClassContent, outputs: list[str]) -> _Graph:
    """Return an empty graph; raise ValueError if its input has the name of an output."""
    if content.column in outputs:
        raise ValueError(
            f"column must not be the name of an output, one of {', '.join(outputs)}; got"
            f" {content.column!r}: the graph's input needs a name of its own."
        )
    return _Graph(_require_onnx().helper, content.column)


def _written(
    graph: _Graph, content: Content | ClassContent, outputs: list[str], shape: list[Any]
) -> bytes:
    """Return the bytes of a checked model whose input and outputs have the same shape."""
    helper = _require_onnx().helper
    double = helper.np_dtype_to_tensor_dtype(np.dtype(np.float64))
    made = helper.make_graph(
        graph.nodes,
        "bayescal",
        [helper.make_tensor_value_info(content.column, double, shape)],
        [helper.make_tensor_value_info(each, double, shape) for each in outputs],
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


def _add_curve(graph: _Graph, score: str, name: str, knots: Knots, *, bounded: bool) -> None:
    first, last = graph.constant(knots.score[0]), graph.constant(knots.score[-1])
    inside = graph.node("Clip", score, first, last)
    # nan is unequal to itself.
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
    """Return the index of the last knot at or below each score, by bisection."""
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


# The map of several classes: draws come first, (draws, documents, classes).

PROBABILITY, LOWER, UPPER = "probability", "lower", "upper"


def render_classes(content: ClassContent) -> bytes:
    """Return the model: an input of shape (documents, classes), and outputs of the same shape."""
    level = content.facts["level"]
    outputs = [PROBABILITY] if level is None else [PROBABILITY, LOWER, UPPER]
    graph = _graph_for(content, outputs)
    p = _add_draws(graph, content)
    graph.node("ReduceMean", p, name=PROBABILITY, axes=[0], keepdims=0)
    if level is not None:
        size = int(content.facts["draws"])
        k = graph.constant(np.array([size]))
        ordered = graph.node("TopK", p, k, more=1, largest=0, axis=0)
        for name, share in ((LOWER, 0.5 - level / 2.0), (UPPER, 0.5 + level / 2.0)):
            at = share * (size - 1)
            before = int(min(np.floor(at), size - 2))
            ends = [
                graph.node(
                    "Mul",
                    graph.node("Gather", ordered, graph.constant(np.int64(k)), axis=0),
                    graph.constant(1.0 - abs(at - k)),
                )
                for k in (before, before + 1)
            ]
            graph.node("Add", *ends, name=name)
    return _written(graph, content, outputs, [DIMENSION, len(content.facts["classes"])])


def _add_draws(graph: _Graph, content: ClassContent) -> str:
    """Add the map of every draw, and return the name of its probabilities."""
    arrays, constants = content.arrays, content.constants

    def each(name: str) -> str:
        values = arrays[name]
        return graph.constant(values[:, None] if values.ndim == 2 else values[:, None, None])

    log_p = graph.node("LogSoftmax", _add_logits(graph, content), axis=1)
    excluded = graph.node("IsInf", log_p, detect_positive=0)
    zero, one = graph.constant(0.0), graph.constant(1.0)
    below = graph.node("Max", graph.node("Neg", log_p), zero)
    gap = graph.node("Where", excluded, zero, below)
    depth = graph.node(
        "Log", graph.node("Add", one, graph.node("Div", gap, graph.constant(constants["UNIT"])))
    )
    anchor = arrays["ANCHOR"]
    warped, certainty = _add_warp(
        graph, content, depth, excluded, [graph.constant(value) for value in anchor], anchor[1]
    )
    feature = graph.node("LogSoftmax", warped, axis=-1)
    feature = graph.node("Max", feature, graph.constant(-constants["DEEPEST"]))
    shared = feature
    if arrays["COMPONENTS"] is not None:
        away = graph.node("Sub", feature, graph.constant(arrays["CENTRE"]))
        shared = graph.node("MatMul", away, graph.constant(arrays["COMPONENTS"].T.copy()))
    own, _ = _add_warp(
        graph,
        content,
        depth,
        excluded,
        [each("GAIN"), each("POWER"), each("ASYMMETRY")],
        arrays["POWER"][:, None, None],
    )
    eta = graph.node("Add", own, each("BIAS"))
    for name, values in (("SLOPE", feature), ("CERTAINTY", certainty)):
        eta = graph.node("Add", eta, graph.node("Mul", each(name), values))
    confusion = graph.constant(arrays["CONFUSION"])
    eta = graph.node("Add", eta, graph.node("MatMul", shared, confusion))
    double = graph.node("Cast", graph.node("Not", excluded), to=DOUBLE)
    count = graph.node("ReduceSum", double, graph.constant(np.array([1])), keepdims=1)
    lapse = each("LAPSE")
    p = graph.node(
        "Add",
        graph.node("Mul", graph.node("Sub", one, lapse), graph.node("Softmax", eta, axis=-1)),
        graph.node("Mul", lapse, graph.node("Div", double, count)),
    )
    p = graph.node("Mul", p, graph.constant(arrays["TILT"]))
    total = graph.node("ReduceSum", p, graph.constant(np.array([-1])), keepdims=1)
    return graph.node("Div", p, total)


def _add_logits(graph: _Graph, content: ClassContent) -> str:
    if not content.constants["ARE_PROBABILITIES"]:
        return graph.node("Mul", content.column, graph.constant(content.constants["FACTOR"]))
    floor, zero = (graph.constant(content.constants[name]) for name in ("FLOOR", "ZERO"))
    none = graph.node("Equal", content.column, graph.constant(0.0))
    above = graph.node("Max", content.column, floor)
    return graph.node("Log", graph.node("Where", none, zero, above))


def _add_warp(
    graph: _Graph,
    content: ClassContent,
    depth: str,
    excluded: str,
    parameters: list[str],
    power_values: Floats | float,
) -> tuple[str, str]:
    """Add warped log-probabilities and certainty; parameters are gain, power and asymmetry."""
    gain, power, asymmetry = parameters
    one = graph.constant(1.0)
    scale = graph.constant(-1.0 / np.expm1(np.asarray(power_values) * np.log(2.0)))
    risen = graph.node("Sub", graph.node("Exp", graph.node("Mul", power, depth)), one)
    plain = graph.node("Mul", graph.node("Mul", gain, scale), risen)
    plain = graph.node("Where", excluded, graph.constant(content.constants["EXCLUDED"]), plain)
    rest = graph.node("Sub", one, graph.node("Softmax", plain, axis=-1))
    rest = graph.node("Max", rest, graph.constant(content.constants["LEAST_REST"]))
    certainty = graph.node("Neg", graph.node("Log", rest))
    return graph.node("Add", plain, graph.node("Mul", asymmetry, certainty)), certainty


def _require_onnx() -> Any:
    try:
        return import_module("onnx")
    except ModuleNotFoundError as err:
        # Other modules may be missing inside an installed onnx.
        if err.name != "onnx":
            raise
        raise ImportError(
            "the format 'onnx' needs onnx, which is not installed: pip install bayescal[onnx]."
        ) from err


FORMAT = Format(
    "onnx", "a graph for ONNX runtimes, in double precision", ".onnx", render, render_classes
)
