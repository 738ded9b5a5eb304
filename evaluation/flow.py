"""Which statements a value provably reaches: just enough data flow to know that a mutant is really wrong.

It shares nothing with the analysis that is measured. It says "provable" only for statements of one function, in the
order of the text, through assignments and operations that surely pass the value on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst
import libcst.matchers as m

from evaluation.source import Source, descendants, dotted
from trl_lint.analysis.program.syntax import children

# Attributes for the form of a tensor, not its values.
FORM = {"shape", "device", "dtype", "ndim", "numel", "size", "dim", "keys", "is_cuda", "requires_grad"}
# Functions and modules whose result carries the values of their arguments.
PURE_FUNCTIONS = {"float", "int", "max", "min", "abs", "round", "sum", "nanmin", "nanmax", "nanstd", "zip"}
PURE_MODULES = {"torch", "F", "np", "math"}

METHOD_COLLECTIVES = {"gather", "gather_for_metrics", "reduce"}
TRAINER_COLLECTIVES = {"_nested_gather"}
IMPORTED_COLLECTIVES = {"gather", "nested_gather"}
STORES = {"self._metrics", "self.stats", "self._stored_metrics"}
# A dict of this name is logged if the function returns it to `store_metrics` or passes it to `log`.
METRIC_DICTS = {"metrics", "logs", "stats"}
METRIC_FUNCTIONS = {"get_batch_loss_metrics"}
LOGGERS = {"self.log", "self.accelerator.log", "accelerator.log", "wandb.log", "trackio.log"}
IsSource = Callable[[cst.CSTNode], bool]


def is_collective(source: Source, node: cst.CSTNode) -> bool:
    """Whether the node calls a collective that returns a result computed from its first argument."""
    if not (isinstance(node, cst.Call) and node.args and not node.args[0].star):
        return False
    name = dotted(node.func) or ""
    receiver, _, last = name.rpartition(".")
    if receiver.split(".")[-1].endswith("accelerator"):
        return last in METHOD_COLLECTIVES
    if receiver == "self":
        return last in TRAINER_COLLECTIVES
    return not receiver and last in IMPORTED_COLLECTIVES and _imported(source, last)


def _imported(source: Source, name: str) -> bool:
    pattern = m.ImportAlias(name=m.Name(name), asname=None)
    return any(m.matches(node, pattern) for node in source.all(cst.ImportAlias))


def collectives(source: Source) -> list[cst.Call]:
    """All calls of collectives in the file."""
    return [node for node in source.all(cst.Call) if is_collective(source, node)]


class Flow:
    """Whether the value of a source node is part of the value of an expression."""

    def __init__(self, source: Source, is_source: IsSource) -> None:
        self.source = source
        self.is_source = is_source

    def reaches(self, node: cst.CSTNode) -> bool:
        """Whether the expression surely carries the value of a source."""
        if self.is_source(node):
            return True
        special = {cst.Attribute: self._attribute, cst.Call: self._call, cst.IfExp: self._choice}
        if type(node) in special:
            return special[type(node)](node)
        if isinstance(node, (cst.Lambda, cst.FormattedString, cst.Comparison)):
            return False
        return any(self.reaches(child) for child in children(node))

    def _attribute(self, node: cst.Attribute) -> bool:
        return node.attr.value not in FORM and self.reaches(node.value)

    def _choice(self, node: cst.IfExp) -> bool:
        return self.reaches(node.body) or self.reaches(node.orelse)

    def _call(self, node: cst.Call) -> bool:
        if is_collective(self.source, node):
            return False
        if isinstance(node.func, cst.Attribute) and self.reaches(node.func):
            return True
        return _is_pure(node.func) and any(self.reaches(argument.value) for argument in node.args)


def _is_pure(function: cst.BaseExpression) -> bool:
    name = dotted(function)
    if name is None:
        return isinstance(function, cst.Attribute)
    root, _, rest = name.partition(".")
    return name in PURE_FUNCTIONS if not rest else root in PURE_MODULES or root != "self"


@dataclass(frozen=True)
class Sink:
    """A way in which values get into a log: a part of a statement, and what is logged there."""

    name: str
    values: Callable[[Source, cst.CSTNode], Sequence[cst.CSTNode]]


def _store(node: cst.CSTNode) -> str | None:
    """The dotted name below a chain of subscripts."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return dotted(node)


def _appended(source: Source, node: cst.CSTNode) -> Sequence[cst.CSTNode]:
    pattern = m.Call(func=m.Attribute(attr=m.Name("append") | m.Name("extend")), args=[m.Arg()])
    if m.matches(node, pattern) and _store(node.func.value) in STORES:
        return [node.args[0].value]
    return []


def _assigned(source: Source, node: cst.CSTNode) -> Sequence[cst.CSTNode]:
    if not m.matches(node, m.Assign(targets=[m.AssignTarget(target=m.Subscript())])):
        return []
    store = _store(node.targets[0].target)
    if store in STORES or (store in METRIC_DICTS and _is_logged(source, node, store)):
        return [node.value]
    return []


def _is_logged(source: Source, node: cst.CSTNode, name: str) -> bool:
    function = source.enclosing(node, cst.FunctionDef)
    if function is None or function.name.value in METRIC_FUNCTIONS:
        return function is not None
    return any(
        dotted(call.func) in LOGGERS
        and dotted(call.args[0].value) == name
        and source.enclosing(call, cst.FunctionDef) is function
        for call in source.all(cst.Call)
        if call.args
    )


def _logged(source: Source, node: cst.CSTNode) -> Sequence[cst.CSTNode]:
    if isinstance(node, cst.Call) and node.args and dotted(node.func) in LOGGERS:
        return [node.args[0].value]
    return []


def _handed_to_helper(source: Source, node: cst.CSTNode) -> Sequence[cst.CSTNode]:
    if isinstance(node, cst.Call) and dotted(node.func) == "self._log_self_distillation_metric":
        return [argument.value for argument in node.args]
    return []


SINKS = (
    Sink("append to a metric store", _appended),
    Sink("entry of a metric store or logged dict", _assigned),
    Sink("log call", _logged),
    Sink("method that appends its argument to the store", _handed_to_helper),
)


def logged_values(source: Source, statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The expressions that a simple statement puts into a log."""
    for node in (statement, *descendants(statement)):
        for sink in SINKS:
            yield from sink.values(source, node)


def bound(target: cst.BaseExpression) -> set[str]:
    """The names an assignment to this target binds: `x`, `self.x`, each part of a tuple."""
    if isinstance(target, (cst.Tuple, cst.List)):
        return set().union(*(bound(element.value) for element in target.elements))
    name = dotted(target)
    return {name} if name else set()


def assignments(statement: cst.CSTNode) -> Iterator[tuple[set[str], cst.BaseExpression, bool]]:
    """The names, the value and whether the old value is lost, for each assignment in a simple statement."""
    for node in getattr(statement, "body", ()):
        if isinstance(node, cst.Assign):
            yield set().union(*(bound(target.target) for target in node.targets)), node.value, True
        elif isinstance(node, cst.AnnAssign) and node.value is not None:
            yield bound(node.target), node.value, True
        elif isinstance(node, cst.AugAssign):
            yield bound(node.target), node.value, False


def simple_statements(scope: cst.CSTNode) -> Iterator[cst.SimpleStatementLine]:
    """The simple statements of a function (not those of nested functions), in the order of the text."""
    for child in children(scope):
        if isinstance(child, cst.SimpleStatementLine):
            yield child
        elif not isinstance(child, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            yield from simple_statements(child)


def reached(source: Source, node: cst.CSTNode) -> tuple[list[cst.CSTNode], set[str]]:
    """The statements that put the value of `node` into a log, and the names that carry it.

    Only later statements of the same function that are not in another branch.
    """
    scope = source.enclosing(node, cst.FunctionDef) or source.module
    own = source.statement(node)
    names: set[str] = set()
    flow = Flow(source, lambda n: n is node or (dotted(n) in names))
    hits, carried, started = [], set(), False
    for statement in simple_statements(scope):
        started = started or statement is own
        if not started or _kept_apart(source, own, statement):
            continue
        if any(flow.reaches(value) for value in logged_values(source, statement)):
            hits.append(statement)
        for targets, value, overwrites in assignments(statement):
            if flow.reaches(value):
                names |= targets
                carried |= targets
            elif overwrites:
                names -= targets
    return hits, carried


def _kept_apart(source: Source, first: cst.CSTNode, second: cst.CSTNode) -> bool:
    """Whether the statements are in different branches of one `if`."""
    above = {id(node): child for child, node in _steps(source, first)}
    for child, node in _steps(source, second):
        if id(node) in above:
            arms = {id(child), id(above[id(node)])}
            return isinstance(node, cst.If) and len(arms) == 2
    return False


def _steps(source: Source, node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    for parent in source.ancestors(node):
        yield node, parent
        node = parent


def is_global(source: Source, node: cst.CSTNode) -> bool:
    """Whether all data in an expression are results of earlier collectives: another collective would change nothing."""
    scope = source.enclosing(node, cst.FunctionDef) or source.module
    own = source.statement(node)
    known: set[str] = set()
    for statement in simple_statements(scope):
        if statement is own:
            break
        for targets, value, overwrites in assignments(statement):
            if _made_global(source, value, known):
                known |= targets
            elif overwrites:
                known -= targets
    return _made_global(source, node, known)


def _made_global(source: Source, node: cst.CSTNode, known: set[str]) -> bool:
    if is_collective(source, node):
        return True
    data = list(_data(source, node))
    return bool(data) and all(is_collective(source, part) or dotted(part) in known for part in data)


def _data(source: Source, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The names and collective calls whose values make up an expression."""
    if is_collective(source, node):
        yield node
    elif isinstance(node, cst.Attribute) and node.attr.value in FORM:
        return
    elif dotted(node) is not None and not dotted(node).startswith("self."):
        yield node if isinstance(node, cst.Name) else _root(node)
    elif isinstance(node, cst.Call):
        if isinstance(node.func, cst.Attribute) and dotted(node.func.value) not in PURE_MODULES:
            yield from _data(source, node.func.value)
        for argument in node.args:
            yield from _data(source, argument.value)
    else:
        for child in children(node):
            yield from _data(source, child)


def _root(node: cst.CSTNode) -> cst.CSTNode:
    while isinstance(node, cst.Attribute):
        node = node.value
    return node


def touched(source: Source, node: cst.CSTNode, names: set[str], functions: set[str]) -> list[cst.CSTNode]:
    """All statements of the file that may carry the value: other findings of the rule are legitimate there.

    Names count in the function of the node, `self.` attributes in the whole file; a function that returns the value
    carries it to its callers.
    """
    home = source.enclosing(node, cst.FunctionDef)
    marked = {(_owner(home, name), name) for name in names}
    calls = set(functions)
    hits: dict[int, cst.CSTNode] = {}
    grew = True
    while grew:
        grew = False
        for use in _uses(source):
            if id(use.statement) not in hits and use.mentions(marked, calls):
                hits[id(use.statement)] = use.statement
                marked |= use.targets
                calls |= use.returned_by
                grew = True
    return list(hits.values())


def same_key(source: Source, statements: Sequence[cst.CSTNode]) -> list[cst.CSTNode]:
    """The statements that mention a key of a store which one of these writes: they may read the value back."""
    keys = {
        source.code(node)
        for statement in statements
        for node in descendants(statement)
        if isinstance(node, (cst.SimpleString, cst.FormattedString)) and source.enclosing(node, cst.Index)
    }
    return [use.statement for use in _uses(source) if any(key in source.code(use.statement) for key in keys)]


def _owner(scope: cst.FunctionDef | None, name: str) -> cst.FunctionDef | None:
    return None if "." in name else scope


@dataclass(frozen=True)
class _Use:
    """A statement, the names it mentions and binds, the functions it calls, the function it returns from."""

    statement: cst.CSTNode
    names: frozenset
    targets: frozenset
    calls: frozenset
    returned_by: frozenset

    def mentions(self, marked: set, calls: set[str]) -> bool:
        return not marked.isdisjoint(self.names) or not calls.isdisjoint(self.calls)


def _uses(source: Source) -> list[_Use]:
    if not hasattr(source, "uses"):
        scopes = [None, *source.all(cst.FunctionDef)]
        source.uses = [
            _use_of(scope, statement) for scope in scopes for statement in simple_statements(scope or source.module)
        ]
    return source.uses


def _use_of(scope: cst.FunctionDef | None, statement: cst.CSTNode) -> _Use:
    nodes = list(_read(statement))
    names = {name for node in nodes if (name := dotted(node))}
    targets = set().union(*(names for names, _, _ in assignments(statement)))
    called = {(dotted(node.func) or "").split(".")[-1] for node in nodes if isinstance(node, cst.Call)}
    returns = scope is not None and any(isinstance(node, cst.Return) for node in nodes)
    return _Use(
        statement,
        frozenset((_owner(scope, name), name) for name in names),
        frozenset((_owner(scope, name), name) for name in targets),
        frozenset(called - {""}),
        frozenset({scope.name.value} if returns else ()),
    )


def _read(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes below a statement, without the names of attributes and keywords."""
    yield node
    skipped = {id(node.attr)} if isinstance(node, cst.Attribute) else set()
    if isinstance(node, cst.Arg) and node.keyword is not None:
        skipped.add(id(node.keyword))
    for child in children(node):
        if id(child) not in skipped:
            yield from _read(child)
