"""One form for code that logs the same thing: does a fixed text mean the same as the original?

Two texts are compared after the rewrites below, each of which keeps what the metric means over the ranks:

- `gather_for_metrics` becomes `gather`;
- a reduction of gathered values is also done inside: `gather(e).float().mean()` → `gather(e.float().mean()).mean()`;
- a reduction of a single element is removed;
- `reduce(e.sum(), reduction="sum")` becomes `gather(e.sum()).sum()`;
- in a gather, `torch.tensor(e.item(), device=….device)` (a number that becomes a tensor again) becomes `e`;
- `.detach()` may be anywhere in the chain around a gather, and before or after `.cpu()`;
- a name that is bound once and read once is replaced by its value, if that runs as often there, on the same ranks;
- parentheses, line breaks, quotes and comments are ignored.

Means and sums, other arguments, other conditions, and a missing gather stay different.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

REDUCTIONS = frozenset({"sum", "mean", "max", "min", "amax", "amin", "nansum", "nanmean"})
# Applied to one element, they return it, whatever it is (`nansum` turns a nan into 0).
IDENTITIES = REDUCTIONS - {"nansum", "nanmean"}
CASTS = frozenset({"float", "double", "half", "bfloat16", "long", "int", "to", "detach", "clone", "contiguous"})
HOST_TAILS = frozenset({"cpu", "item", "tolist", "numpy"})
# Methods that only compute a value from a value: it does not matter whether, when and how often they are called.
QUIET = REDUCTIONS | CASTS | HOST_TAILS | {"abs", "exp", "log", "std", "var", "view", "reshape", "squeeze", "unsqueeze"}
GATHERS = frozenset({"gather", "gather_for_metrics"})
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break, ast.Yield, ast.YieldFrom, ast.Await)


@dataclass(frozen=True)
class Helper:
    """A function with one `return` that a neutral step created, and the text that contains it."""

    name: str
    text: str


def same(one: str, other: str, helper: Helper | None = None) -> bool:
    """Whether two files are the same code once both are in canonical form; `helper` is undone in `other`.

    Statements that are equal to the letter are skipped.
    """
    left, right = _parsed(one), _parsed(other)
    if helper is not None:
        right.body = _without_helper(right, helper).body
    left.body, right.body = _differing(left.body, right.body)
    return _unparsed(left) == _unparsed(right)


def canonical(text: str) -> str:
    """The code of a file in canonical form."""
    return _unparsed(_parsed(text))


def _unparsed(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS):
            _inline(node)
    return ast.unparse(_Expressions().visit(tree))


# --- what differs at all --------------------------------------------------------------------------------


def _parsed(text: str) -> ast.Module:
    """The tree of a text, in which every statement has its lines."""
    tree, lines = ast.parse(text), text.splitlines(keepends=True)
    for node in _members(tree.body):
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        node.code = "".join(lines[first - 1 : node.end_lineno])
    return tree


def _members(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.ClassDef):
            yield from _members(node.body)


def _differing(left: list, right: list) -> tuple[list, list]:
    """Two bodies without their common beginning and end; of a pair of classes, the same for their bodies."""
    while left and right and left[0].code == right[0].code:
        left, right = left[1:], right[1:]
    while left and right and left[-1].code == right[-1].code:
        left, right = left[:-1], right[:-1]
    if len(left) == len(right):
        for one, other in zip(left, right, strict=True):
            if isinstance(one, ast.ClassDef) and isinstance(other, ast.ClassDef):
                one.body, other.body = _differing(one.body, other.body)
                one.body, other.body = one.body or [ast.Pass()], other.body or [ast.Pass()]
    return left, right


# --- the helper of a neutral step -----------------------------------------------------------------------


class _Substitute(ast.NodeTransformer):
    """Replaces names by expressions."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.values.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return node if value is None else copy.deepcopy(value)


class _Calls(ast.NodeTransformer):
    """Replaces calls of a function with one `return`, with plain names as arguments, by its value."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.name = function.name
        self.parameters = [each.arg for each in function.args.args]
        self.value = function.body[0].value

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        called = isinstance(node.func, ast.Name) and node.func.id == self.name and not node.keywords
        if not called or not all(isinstance(each, ast.Name) for each in node.args):
            return node
        return _Substitute(dict(zip(self.parameters, node.args, strict=True))).visit(copy.deepcopy(self.value))


def _without_helper(tree: ast.Module, helper: Helper) -> ast.Module:
    """The tree with the helper's value in place of its calls, and without its definition or import."""
    functions = [node for node in ast.parse(helper.text).body if isinstance(node, ast.FunctionDef)]
    function = next((node for node in functions if node.name == helper.name), None)
    if function is None or len(function.body) != 1 or not isinstance(function.body[0], ast.Return):
        return tree
    tree.body = [node for node in tree.body if not _brings(node, helper.name)]
    return _Calls(function).visit(tree)


def _brings(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.ImportFrom):
        return [each.name for each in node.names] == [name]
    return isinstance(node, ast.FunctionDef) and node.name == name


# --- expressions ----------------------------------------------------------------------------------------


class _Expressions(ast.NodeTransformer):
    """The rewrites of a collective and of the chain of methods around it."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        node = _reduce_as_gather(_to_cpu(node))
        if is_gather(node):
            node.func.attr = "gather"
        return _chain_in_order(_reduced_inside(node))


def _method(node: ast.AST) -> str:
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def _bare(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and not node.args and not node.keywords


def _call(receiver: ast.expr, name: str, like: ast.Call | None = None) -> ast.Call:
    """`receiver.name()`, with the arguments of another call."""
    arguments = (like.args, like.keywords) if like is not None else ([], [])
    return ast.Call(ast.Attribute(receiver, name, ast.Load()), *arguments)


def _of_accelerator(node: ast.AST) -> bool:
    """Whether the node calls a method of an object that is named like an accelerator."""
    if not _method(node):
        return False
    receiver = node.func.value
    name = receiver.attr if isinstance(receiver, ast.Attribute) else getattr(receiver, "id", "")
    return name.endswith("accelerator")


def is_gather(node: ast.AST) -> bool:
    """Whether the node is `accelerator.gather(e)` or `accelerator.gather_for_metrics(e)`."""
    return _of_accelerator(node) and _method(node) in GATHERS and len(node.args) == 1 and not node.keywords


def _to_cpu(node: ast.Call) -> ast.Call:
    """Rewrite `.to("cpu")` as `.cpu()`."""
    target = node.args[0] if _method(node) == "to" and len(node.args) == 1 and not node.keywords else None
    return _call(node.func.value, "cpu") if isinstance(target, ast.Constant) and target.value == "cpu" else node


def _reduce_as_gather(node: ast.Call) -> ast.Call:
    """Rewrite `reduce(e.sum(), reduction="sum")` as a gather of one element and its reduction."""
    if not _of_accelerator(node) or _method(node) != "reduce" or not node.args:
        return node
    given = [*node.args[1:], *(each.value for each in node.keywords if each.arg == "reduction")]
    plain = len(given) <= 1 and len(node.keywords) == (len(given) if len(node.args) == 1 else 0)
    how = getattr(given[0], "value", None) if given else "sum"
    if not plain or how not in ("sum", "mean") or not _one_element(node.args[0]):
        return node
    gather = ast.Call(ast.Attribute(node.func.value, "gather", ast.Load()), [node.args[0]], [])
    return _call(gather, how)


def _one_element(node: ast.AST) -> bool:
    """Whether an expression visibly has one element: it ends in a reduction over all of them."""
    while _method(node) in CASTS:
        node = node.func.value
    return _bare(node) and _method(node) in REDUCTIONS


def _reduced_inside(node: ast.expr) -> ast.expr:
    """Rewrite `gather(e).<casts>.R()` as `gather(e.<casts>.R()).R()`; of one element, drop what does nothing."""
    if is_gather(node):
        node.args[0] = _collapsed(_as_tensor(node.args[0], node.func.value))
        return node
    if not (_bare(node) and _method(node) in REDUCTIONS):
        return node
    casts, gather = [], node.func.value
    while _method(gather) in CASTS:
        casts.append(gather)
        gather = gather.func.value
    if is_gather(gather):
        inner = gather.args[0]
        for cast in reversed(casts):
            inner = _call(inner, _method(cast), cast)
        reduction = _method(node)
        return _call(_gathered(gather, _collapsed(_call(inner, reduction))), reduction)
    # A second reduction of a gather's result.
    return _collapsed(node) if _has_gather_in_chain(node) else node


def _as_tensor(node: ast.expr, accelerator: ast.expr) -> ast.expr:
    """Rewrite `torch.tensor(e.item(), device=accelerator.device)` as `e`: one element goes to the host and back."""
    made = _method(node) == "tensor" and ast.unparse(node.func) == "torch.tensor" and len(node.args) == 1
    if not made or [each.arg for each in node.keywords] != ["device"]:
        return node
    number, device = node.args[0], ast.unparse(node.keywords[0].value)
    is_number = _method(number) == "item" and _bare(number) and device == f"{ast.unparse(accelerator)}.device"
    return number.func.value if is_number else node


def _gathered(gather: ast.Call, argument: ast.expr) -> ast.Call:
    return ast.Call(gather.func, [argument], [])


def _has_gather_in_chain(node: ast.AST) -> bool:
    while _method(node) and not is_gather(node):
        node = node.func.value
    return is_gather(node)


def _collapsed(node: ast.expr) -> ast.expr:
    """The expression without reductions of one element at its end."""
    while _bare(node) and _method(node) in REDUCTIONS and _one_element(node.func.value):
        before = node.func.value
        while _method(before) in CASTS:
            before = before.func.value
        if _method(node) not in IDENTITIES and _method(node) != _method(before):
            break
        node = node.func.value
    return node


def _chain_in_order(node: ast.expr) -> ast.expr:
    """A chain around a gather with one `.detach()`, innermost."""
    outside, gather = _peeled(node)
    if not is_gather(gather):
        return node
    inside, root = _peeled(gather.args[0], stop=False)
    kept = [each for each in inside if _method(each) != "detach"]
    tail = [each for each in outside if _method(each) != "detach"]
    if len(kept) < len(inside) or len(tail) < len(outside):
        root = _call(root, "detach")
    return _rebuilt(_gathered(gather, _rebuilt(root, kept)), tail)


def _peeled(node: ast.expr, *, stop: bool = True) -> tuple[list[ast.Call], ast.expr]:
    """The quiet methods at the end of an expression (down to a gather), and the expression below them."""
    methods = []
    while _method(node) in QUIET and not (stop and is_gather(node)) and not _is_module(node.func.value):
        methods.append(node)
        node = node.func.value
    return methods, node


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("torch", "np", "F", "math")


def _rebuilt(root: ast.expr, methods: Sequence[ast.Call]) -> ast.expr:
    for each in reversed(methods):
        root = _call(root, _method(each), each)
    return root


# --- names ----------------------------------------------------------------------------------------------


def _inline(function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Replace names that are bound once and read once by their values."""
    while any([_inline_in(block, function) for block in _blocks(function)]):
        pass


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements of a function, without those of nested functions."""
    for part in ("body", "orelse", "finalbody"):
        block = getattr(node, part, None)
        if isinstance(block, list) and block:
            yield block
            for statement in block:
                if not isinstance(statement, SCOPES):
                    yield from _blocks(statement)
    for handler in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
        yield from _blocks(handler)


def _inline_in(block: list[ast.stmt], function: ast.AST) -> bool:
    """Inline a name in one block; return whether there was one."""
    uses = _Uses(function)
    for index, statement in enumerate(block):
        name = _bound_name(statement)
        if name is None or not uses.once(name):
            continue
        reader = next((at for at in range(index + 1, len(block)) if uses.reads_in(block[at], name)), None)
        if reader is None or not _may_move(statement.value, block[index + 1 : reader], block[reader], name):
            continue
        block[reader] = _Substitute({name: statement.value}).visit(block[reader])
        del block[index]
        return True
    return False


def _bound_name(statement: ast.stmt) -> str | None:
    """The name in `name = value`."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target.id if isinstance(target, ast.Name) else None
    return None


class _Uses:
    """How often each name of a function is bound and read, in nested functions as well."""

    def __init__(self, function: ast.AST) -> None:
        self.bound: dict[str, int] = {}
        self.read: dict[str, int] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Name):
                counts = self.read if isinstance(node.ctx, ast.Load) else self.bound
                counts[node.id] = counts.get(node.id, 0) + 1
            else:
                for name in _other_bindings(node):
                    self.bound[name] = self.bound.get(name, 0) + 1

    def once(self, name: str) -> bool:
        return self.bound.get(name) == 1 and self.read.get(name) == 1

    @staticmethod
    def reads_in(statement: ast.AST, name: str) -> bool:
        return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(statement))


def _other_bindings(node: ast.AST) -> list[str]:
    """The names that a node binds without a Name node: parameters, imports, exceptions, globals."""
    match node:
        case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.alias(name=name, asname=other):
            return [other or name.partition(".")[0]]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return names
    return []


def _may_move(value: ast.expr, between: Sequence[ast.stmt], reader: ast.stmt, name: str) -> bool:
    """Whether a value is the same, and computed as often on the same ranks, where its name is read."""
    roots = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    if any(roots & _changed(statement) for statement in between):
        return False
    if is_quiet(value):
        # The reader itself may change a root only after the name is read, as in a simple statement.
        return _stands_straight(reader, name) or (not roots & _changed(reader) and not _in_scope_or_loop(reader, name))
    if any(isinstance(node, LEAVING) for statement in between for node in ast.walk(statement)):
        return False
    return _stands_straight(reader, name)


def is_quiet(value: ast.expr) -> bool:
    """Whether an expression only computes a value from values: no other calls, no collective."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and (_method(node) not in QUIET or _of_accelerator(node)):
            return False
        if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
            return False
    return True


def _changed(statement: ast.stmt) -> set[str]:
    """The names that a statement binds, or whose contents it sets or changes in place."""
    changed: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            changed.add(_root(node))
        elif _method(node).endswith("_"):
            changed.add(_root(node.func.value))
        else:
            changed.update(_other_bindings(node))
    return changed - {"", "self"} | {name for name in changed if name == "self" and _sets_self(statement)}


def _sets_self(statement: ast.stmt) -> bool:
    """Whether a statement binds an attribute of self itself, not an entry of an object stored there."""
    return any(
        isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and _root(node) == "self"
        for node in ast.walk(statement)
    )


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _chain_to(node: ast.AST, name: str) -> list[ast.AST]:
    """The nodes from a statement down to the name."""
    if isinstance(node, ast.Name) and node.id == name:
        return [node]
    for child in ast.iter_child_nodes(node):
        below = _chain_to(child, name)
        if below:
            return [node, *below]
    return []


_MAYBE = (ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, *FUNCTIONS)
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)


def _stands_straight(statement: ast.stmt, name: str) -> bool:
    """Whether the name is read exactly once whenever the statement is reached."""
    return isinstance(statement, _SIMPLE) and not any(isinstance(node, _MAYBE) for node in _chain_to(statement, name))


def _in_scope_or_loop(statement: ast.stmt, name: str) -> bool:
    """Whether the name is read in a nested scope, or in a loop that changes values meanwhile."""
    return any(isinstance(node, (*SCOPES, ast.For, ast.While)) for node in _chain_to(statement, name))
