"""Faults that can be put into a module: one small change of one expression or statement."""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

# The opposite, and the neighbour that differs where both sides are equal.
COMPARED = {
    ast.Lt: (ast.GtE, ast.LtE), ast.LtE: (ast.Gt, ast.Lt),
    ast.Gt: (ast.LtE, ast.GtE), ast.GtE: (ast.Lt, ast.Gt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
OPERATED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_PAIRS = [
    ("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all"), ("sum", "mean"),
    ("exp", "expm1"), ("log", "log1p"), ("floor", "ceil"), ("cumsum", "cumprod"),
]  # fmt: skip
# Functions whose first two arguments may change places.
COMMUTE = {"maximum", "minimum", "max", "min", "logaddexp", "hypot", "multiply", "add"}
RENAMED = dict(_PAIRS) | {second: first for first, second in _PAIRS}
# What no fault may change: texts, annotations, and checks that only type checkers need.
LEFT_ALONE = (ast.JoinedStr, ast.Assert, ast.Import, ast.ImportFrom, ast.Raise)


@dataclass(frozen=True)
class Fault:
    """One change of a module's source.

    Attributes
    ----------
    path : str
        The file, relative to the project.
    function : str
        The function or class around it, with dots; empty at module level.
    first, last : int
        Lines of the statement that is changed (of its header, where it holds others).
    before, after : str
        The source of the changed expression or statement.
    start, end : int
        Where it stands in the file, in bytes of UTF-8.
    nth : int
        How many changes like it come before it in the same function.
    """

    path: str
    function: str
    first: int
    last: int
    before: str
    after: str
    start: int
    end: int
    nth: int = 0

    @property
    def rank(self) -> str:
        """Return a random number that stays when code elsewhere in the file changes."""
        text = "\0".join((self.path, self.function, self.before, self.after, str(self.nth)))
        return hashlib.sha256(text.encode()).hexdigest()

    def applied(self, source: str) -> str:
        """Return the module's source with the fault in it."""
        data = source.encode()
        return (data[: self.start] + self.after.encode() + data[self.end :]).decode()


def faults_of(root: Path, path: str) -> list[Fault]:
    """Return all faults that can be put into a file."""
    source = (root / path).read_text(encoding="utf-8")
    seen: Counter[tuple[str, ...]] = Counter()
    found = []
    for fault in _Search(path, source).faults():
        change = (fault.function, fault.before, fault.after)
        found.append(replace(fault, nth=seen[change]))
        seen[change] += 1
    return found


class _Search:
    """The walk through one module's tree."""

    def __init__(self, path: str, source: str) -> None:
        self.path, self.source = path, source
        lines = source.encode().splitlines(keepends=True)
        self.offsets = [0]
        for line in lines:
            self.offsets.append(self.offsets[-1] + len(line))

    def faults(self) -> Iterator[Fault]:
        yield from self._of_body(ast.parse(self.source).body, ())

    def _of_body(self, body: list[ast.stmt], names: tuple[str, ...]) -> Iterator[Fault]:
        for statement in body:
            if isinstance(statement, LEFT_ALONE) or _is_for_types(statement):
                continue
            inner = names
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                inner = (*names, statement.name)
                if statement.name == "__repr__":
                    continue
            yield from self._of_statement(statement, inner)
            for field in ("body", "orelse", "finalbody"):
                yield from self._of_body(getattr(statement, field, []), inner)

    def _of_statement(self, statement: ast.stmt, names: tuple[str, ...]) -> Iterator[Fault]:
        lines = (statement.lineno, _last_line_of_header(statement))
        if isinstance(statement, ast.Expr):
            if isinstance(statement.value, ast.Constant):
                return  # a docstring
            yield self._fault(statement, "pass", names, lines)
        for node in _expressions(statement):
            for after in _changes(node):
                yield self._fault(node, after, names, lines)

    def _fault(
        self, node: ast.stmt | ast.expr, after: str, names: tuple[str, ...], lines: tuple[int, int]
    ) -> Fault:
        assert node.end_lineno is not None  # noqa: S101
        assert node.end_col_offset is not None  # noqa: S101
        start = self.offsets[node.lineno - 1] + node.col_offset
        end = self.offsets[node.end_lineno - 1] + node.end_col_offset
        before = self.source.encode()[start:end].decode()
        return Fault(self.path, ".".join(names), *lines, before, after, start, end)


def _is_for_types(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.If):
        return False
    return "TYPE_CHECKING" in ast.unparse(statement.test)


def _last_line_of_header(statement: ast.stmt) -> int:
    body = getattr(statement, "body", None)
    end = body[0].lineno - 1 if body else statement.end_lineno
    return max(statement.lineno, end or statement.lineno)


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """Give the expressions of a statement itself: not of those within it, nor annotations."""
    for field, value in ast.iter_fields(statement):
        if field in ("body", "orelse", "finalbody", "handlers", "annotation", "returns", "bases"):
            continue
        if field in ("decorator_list", "type_params", "cases"):
            continue
        parts = value if isinstance(value, list) else [value]
        if field == "args":
            parts = [*value.defaults, *(d for d in value.kw_defaults if d is not None)]
        for part in parts:
            if isinstance(part, ast.AST):
                yield from _within(part)


def _within(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, LEFT_ALONE):
        return
    if isinstance(node, ast.expr):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _within(child)


def _changes(node: ast.expr) -> Iterator[str]:
    """Give the sources that may stand for an expression, each in brackets where it needs them."""
    for changed in _changed(node):
        text = ast.unparse(ast.fix_missing_locations(changed))
        simple = isinstance(changed, ast.Constant | ast.Call | ast.Name | ast.Attribute)
        yield text if simple else f"({text})"


def _changed(node: ast.expr) -> Iterator[ast.expr]:
    other = copy.copy(node)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for operator in COMPARED[type(node.ops[0])]:
            other.ops = [operator()]
            yield other
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATED:
        other.op = OPERATED[type(node.op)]()
        yield other
    elif isinstance(node, ast.BoolOp):
        other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield other
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not | ast.Invert):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        other.body, other.orelse = node.orelse, node.body
        yield other
    elif isinstance(node, ast.Constant):
        yield from _constants(node.value)
    elif isinstance(node, ast.Call):
        yield from _calls(node)


def _constants(value: object) -> Iterator[ast.expr]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
    elif isinstance(value, float):
        yield ast.Constant(1.5 * value if value else 1.0)


def _calls(node: ast.Call) -> Iterator[ast.expr]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in RENAMED:
        other = copy.deepcopy(node)
        setattr(other.func, "attr" if isinstance(node.func, ast.Attribute) else "id", RENAMED[name])
        yield other
    starred = any(isinstance(argument, ast.Starred) for argument in node.args[:2])
    if len(node.args) >= 2 and name not in COMMUTE and not starred:
        other = copy.deepcopy(node)
        other.args[0], other.args[1] = other.args[1], other.args[0]
        yield other
    for k, keyword in enumerate(node.keywords):
        if keyword.arg is not None:
            other = copy.deepcopy(node)
            del other.keywords[k]
            yield other
