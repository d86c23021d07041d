"""A module of Python that needs numpy alone."""

import base64
import json
from textwrap import indent, wrap

import numpy as np

from bayescal.report.export.class_map import MAP, ClassContent, read_text
from bayescal.report.export.knots import Knots
from bayescal.report.export.writing import Content, Format
from bayescal.support.validation import Floats

# `{{` and `}}` are braces of the module.
MODULE = read_text("python_module.txt")
BEYOND = {
    False: "\n        Beyond the knots the answer is that of the nearest one.",
    True: "\n        The answer to what is not from 0 to 1 is nan.",
}


def render(content: Content) -> bytes:
    """Return the module's source, ASCII."""
    table, facts = content.table, content.facts
    names = list(table.curves)
    several = len(names) > 1
    module = MODULE.format(
        column=json.dumps(content.column)[1:-1],
        first="[0]" if several else "",
        facts="\n".join(content.fact_lines),
        classes=ascii([facts["negative_class"], facts["positive_class"]]),
        level=facts["level"],
        error=facts["error"],
        tables="\n".join(_source(name, knots) for name, knots in table.curves.items()),
        and_band=", and its band" if several else "",
        scores_are=facts["scores_are"],
        beyond=BEYOND[table.bounded],
        names=", ".join(names),
        s="s" if several else "",
        calls=", ".join(f"_read(scores, {name.upper()})" for name in names),
        outside=", left=np.nan, right=np.nan" if table.bounded else "",
    )
    return module.encode("ascii")


def _source(name: str, knots: Knots) -> str:
    rows = (f"[{', '.join(map(repr, row.tolist()))}]," for row in (knots.score, knots.log_odds))
    return f"{name.upper()} = np.array([\n{indent(chr(10).join(rows), '    ')}\n])"


CLASS_MODULE = read_text("class_module.txt")


def render_classes(content: ClassContent) -> bytes:
    """Return the module's source, ASCII."""
    facts = content.facts
    module = CLASS_MODULE.format(
        size=len(facts["classes"]),
        facts="\n".join(content.fact_lines),
        constants="\n".join(f"{name} = {value!a}" for name, value in content.constants.items()),
        error=facts["error"],
        level=facts["level"] or 0.9,
        map=MAP,
        arrays="\n".join(_array_source(*each) for each in content.arrays.items()),
    )
    return module.encode("ascii")


def _array_source(name: str, values: Floats | None) -> str:
    if values is None:
        return f"{name} = None"
    text = base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode("ascii")
    lines = "\n".join(wrap(text, 96))
    return f'{name} = _read({values.shape}, """\n{lines}\n""")'


FORMAT = Format(
    "python", "a module of Python that needs numpy alone", ".py", render, render_classes
)
