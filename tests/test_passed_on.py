"""Arguments on their way through the package: where one name is asked for again, it is given."""

import ast
from collections import defaultdict
from pathlib import Path

import bayescal

PACKAGE = Path(bayescal.__file__).parent
# A caller and a function that it calls, with parameters of one name that are not handed on.
NOT_HANDED_ON = {
    ("raw_scores", "last_step", "documents"),  # one is a number, the other an array
    ("labels", "encode_labels", "positive"),  # in the shell it is text
    ("fit_text", "ScoreCalibrator", "positive"),  # TextCalibrator sets it
    ("calibration", "data", "site"),
    ("read_topics", "encode_labels", "scores"),  # of all topics together they say nothing
    ("cross_validated", "encode_labels", "scores"),  # a calibrator's positive class decides
    # Of one name alone.
    ("cell", "Cell", "shown"),
    ("_compared", "Cell", "lower"),  # observed counts have no interval
    ("_compared", "Cell", "upper"),
    ("curve_at", "RowCurve", "band"),
    ("problem", "BinaryScores", "name"),
    ("read_labelled", "BinaryScores", "name"),  # of the argument, and of the scores
    ("read_labelled_topics", "BinaryScores", "name"),
    ("held_out", "BinaryScores", "covariates"),  # `predict` takes them
    ("read_new", "BinaryScores", "ends"),
    # A verdict has a level of its own, 95 % unless the user asks it alone.
    ("_tested", "class_verdict", "level"),
    ("audit_outcomes", "verdict_of", "level"),
    ("verdict_of", "_ScoreTest", "drawn"),  # an array, and whether to use it
    ("changes_of", "Interval", "draws"),  # a number of draws, and the draws
    ("count_positives", "PositiveCount", "draws"),
    ("_sides_of", "DensitySides", "centre"),  # unwarped scores have none
    ("foresee", "labels_needed", "level"),
    ("foresee", "labels_needed", "random_state"),
    ("foresee", "labels_needed", "threshold"),
}


CLASSES = {}  # of the package by name, for the parameters that a class inherits


class Package:
    """Functions and classes by module, and where names that modules import come from."""

    def __init__(self):
        self.defined, self.imported, self.found = {}, defaultdict(dict), []
        for path in sorted(PACKAGE.rglob("*.py")):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            module = ".".join(parts).removesuffix(".__init__")
            tree = ast.parse(path.read_bytes())
            kinds = ast.FunctionDef | ast.ClassDef
            self.defined[module] = {n.name: n for n in tree.body if isinstance(n, kinds)}
            CLASSES.update((n.name, n) for n in tree.body if isinstance(n, ast.ClassDef))
            self._read(module, tree, None, None)

    def _read(self, module, node, within, caller):
        """Note the imports of a module, and its calls with the function and class around each."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ImportFrom) and (child.module or "").startswith("bayescal"):
                for each in child.names:
                    self.imported[module][each.asname or each.name] = child.module, each.name
            elif isinstance(child, ast.Call) and caller is not None:
                self.found.append((module, within, caller, child))
            inside = child if isinstance(child, ast.ClassDef) else within
            now = child if isinstance(child, ast.FunctionDef) else caller
            self._read(module, child, inside, now)

    def find(self, module, name):
        """Return the function or class that a module's name refers to, or None."""
        while name not in self.defined.get(module, {}) and name in self.imported[module]:
            module, name = self.imported[module][name]
        return self.defined.get(module, {}).get(name)

    def called(self, module, within, call):
        """Return the positional and the other parameters of what a call calls, or None."""
        match call.func:
            case ast.Name(id=name):
                return _parameters(self.find(module, name))
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                return _parameters(_method(within, name))
            case ast.Attribute(value=ast.Call(func=ast.Name(id="cls")), attr=name):
                return _parameters(_method(within, name))
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                if owner in self.imported[module]:
                    place = ".".join(self.imported[module][owner])
                    if place in self.defined:
                        return _parameters(self.find(place, name))
                return _parameters(_method(self.find(module, owner), name))
        return None

    def calls(self):
        """Yield each call, the innermost function that it is in, and what it calls."""
        for module, within, caller, call in self.found:
            found = self.called(module, within, call)
            if found is not None:
                yield call, caller, *found


def _method(owner, name):
    if not isinstance(owner, ast.ClassDef):
        return None
    named = [n for n in owner.body if isinstance(n, ast.FunctionDef) and n.name == name]
    return _Method(named[0]) if named else None


class _Method:
    def __init__(self, node):
        self.node = node
        static = any(getattr(each, "id", "") == "staticmethod" for each in node.decorator_list)
        self.first = 0 if static else 1


def _parameters(found):
    """Return the name, the positional and the other parameters of a function or a class."""
    if isinstance(found, ast.ClassDef):
        init = _method(found, "__init__")
        if init is not None:
            return found.name, *_parameters(init)[1:]
        bases = (CLASSES.get(getattr(each, "id", None)) for each in found.bases)
        inherited = [each[1] for each in map(_parameters, bases) if each is not None]
        record = any("dataclass" in ast.unparse(each) for each in found.decorator_list)
        if not record and not inherited:
            return None
        own = [n for n in found.body if record and isinstance(n, ast.AnnAssign)]
        own = [n.target.id for n in own if not ast.unparse(n.annotation).startswith("ClassVar")]
        return found.name, list(dict.fromkeys([*(inherited[0] if inherited else []), *own])), []
    node, first = (found.node, found.first) if isinstance(found, _Method) else (found, 0)
    if node is None:
        return None
    positional = [each.arg for each in node.args.posonlyargs + node.args.args][first:]
    return node.name, positional, [each.arg for each in node.args.kwonlyargs]


def _open(call):
    """Return whether a call unpacks arguments, whose names are not to be seen."""
    starred = any(isinstance(each, ast.Starred) for each in call.args)
    return starred or any(each.arg is None for each in call.keywords)


def test_what_a_function_takes_it_hands_on():
    """Where caller and called have a parameter of one name, the call says something of it."""
    seen, dropped = 0, set()
    for call, caller, name, positional, others in Package().calls():
        if not _open(call):
            arguments = caller.args
            own = {n.arg for n in arguments.posonlyargs + arguments.args + arguments.kwonlyargs}
            shared = (own & {*positional, *others}) - {"self", "cls"}
            given = {*positional[: len(call.args)], *(each.arg for each in call.keywords)}
            seen += len(shared)
            # A number without ends has no level.
            ends = name != "Interval" or len(call.args) + len(call.keywords) > 1
            dropped |= {(caller.name, name, each) for each in shared - given if ends}
    assert seen > 3000
    assert dropped == NOT_HANDED_ON
