"""How the result of a call is used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import dropwhile, islice
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import (
    are_in_opposite_branches,
    conditions_around,
    contradiction,
    is_lasting,
)
from trl_lint.analysis.program.syntax import (
    ancestors,
    assigned_once,
    assignments,
    below,
    contexts_around,
    inwards,
    is_literal_none,
    names_in,
    of_class,
    precedes,
    self_attribute,
    used_names,
)
from trl_lint.knowledge import torch_ops
from trl_lint.knowledge.models import EMBEDDED_INPUTS, INNER_MODEL, INPUT_EMBEDDINGS, RETURN_THE_MODEL


def is_dropped(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a result is not used with its gradients: it is detached or not kept, or its name is not read again.

    That is so if the name is rebound before it is read, or no path leads to a read.

    root: the function (or module) of the node.
    """
    path = ancestors(root, node)
    if is_detached(root, node):
        return True
    match path[-1] if path else None:
        case cst.Expr():
            return True
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))]) as statement:
            mentions = _mentions(root, name, statement)
            reads = [each for each in mentions if not isinstance(ancestors(root, each)[-1], cst.AssignTarget)]
            if reads and not any(_may_read(root, node, each) and not is_detached(root, each) for each in reads):
                return True
            if any(isinstance(each, (cst.For, cst.While)) for each in path):
                return not mentions
            return _is_rebound(root, node, [each for each, is_later in mentions.items() if is_later])
    return False


def is_detached(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a value is only used without its gradients: `fake.detach()`."""
    around = ancestors(root, node)[-1:]
    return any(isinstance(each, cst.Attribute) and torch_ops.of_method(each.attr.value).detaches for each in around)


def _may_read(root: cst.CSTNode, node: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether a path that runs this node may lead to another one, for example where a name is read.

    If a condition around the one contradicts one around the other, and neither changes in the function, no path runs
    both: `if fast: x = inner(y)` and, later, `if not fast: loss += x`.
    """
    opposed = contradiction(conditions_around(root, node), conditions_around(root, other))
    return opposed is None or not is_lasting(root, opposed.test)


def is_only_returned(function: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether the result of a call is returned, alone or in a tuple, and not kept in any other way."""
    path = ancestors(function, node)
    match path[-1] if path else None:
        case cst.Return():
            return True
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))]) as statement:
            later = [each for each, is_later in _mentions(function, name, statement).items() if is_later]
            ways = [ancestors(function, each) for each in later if not are_in_opposite_branches(function, node, each)]
            return bool(ways) and all(map(_is_in_return, ways))
    return False


def _is_in_return(path: Sequence[cst.CSTNode]) -> bool:
    """Whether a value is returned itself: `return model`, `return model, optimizer`."""
    outer = path[-3:] if len(path) > 2 and isinstance(path[-1], cst.Element) else path[-1:]
    return bool(outer) and isinstance(outer[0], cst.Return)


def is_lost_in_loop(root: cst.CSTNode, node: cst.CSTNode, model: cst.BaseExpression | None) -> bool:
    """Whether the variable of a loop is rebound to what a call makes of it, and that is not read afterwards.

    for model in models: model = prepare(model)     # `models` still holds the old ones

    root: the function (or module) of the node. model: the argument.
    """
    path = ancestors(root, node)
    match path[-1] if path else None:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))]) as statement if name == _moved(model):
            loops = [each for each in path if isinstance(each, cst.For)]
            if not loops or name not in names_in(loops[-1].target):
                return False
            later = [each for each, is_later in _mentions(root, name, statement).items() if is_later]
            return all(are_in_opposite_branches(root, node, each) or _is_of_loop(root, each, path) for each in later)
    return False


def _moved(model: cst.BaseExpression | None) -> str | None:
    """The name of a model, of which methods may be called that return the model itself: `net.cuda()`."""
    match model:
        case cst.Name(name):
            return name
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(method))) if method in RETURN_THE_MODEL:
            return _moved(inner)
    return None


def _is_of_loop(root: cst.CSTNode, name: cst.Name, path: tuple[cst.CSTNode, ...]) -> bool:
    """Whether a name is the variable of a loop around it that is not in the path, and so has the value of that loop."""
    return any(
        isinstance(outer, cst.For)
        and outer not in path
        and inner is not outer.iter
        and inner is not outer.orelse
        and name.value in names_in(outer.target)
        for outer, inner in inwards(root, name)
    )


def _is_rebound(root: cst.CSTNode, node: cst.CSTNode, later: Iterable[cst.Name]) -> bool:
    """Whether a name bound to a result is rebound on every path before it is read.

    Code in the other branch of a condition around it does not count as later. A rebinding in a branch or a loop of its
    own counts only inside that block.
    """
    path = ancestors(root, node)
    bound: set[int] = set()  # the blocks that have rebound it so far
    for name in later:
        above = ancestors(root, name)
        if are_in_opposite_branches(root, node, name) or not bound.isdisjoint(map(id, above)):
            continue
        if not isinstance(above[-1], cst.AssignTarget):
            return False
        binding = above[-2]
        if isinstance(binding, cst.Assign) and name.value in used_names(binding.value):
            return False
        if not any(isinstance(each, _MAY_NOT_RUN) and each not in path for each in above):
            return True
        bound.add(next(id(each) for each in reversed(above) if isinstance(each, cst.BaseSuite)))
    return True


_MAY_NOT_RUN = (cst.If, cst.Else, cst.For, cst.While, cst.Try, cst.TryStar, cst.ExceptHandler, cst.Match)


class Forwards(NamedTuple):
    """The calls that run a model's forward.

    names: those of the model. attributes: those of `self` that are the model. passed: the ids of further calls, which
    run it if they have it as an argument: `super().compute_loss(model, inputs)`.
    """

    names: frozenset[str]
    attributes: frozenset[str]
    passed: frozenset[int] = frozenset()

    def calls_in(self, code: cst.CSTNode) -> list[cst.Call]:
        return [each for each in of_class(code, cst.Call) if self._is_model(each.func) or self._is_passed_to(each)]

    def _is_passed_to(self, call: cst.Call) -> bool:
        return id(call) in self.passed and any(self._is_model(each.value) for each in call.args)

    def _is_model(self, node: cst.BaseExpression) -> bool:
        return (isinstance(node, cst.Name) and node.value in self.names) or self_attribute(node) in self.attributes


def is_combined_with_calls(root: cst.CSTNode, node: cst.CSTNode, forwards: Forwards, ignored: frozenset[str]) -> bool:
    """Whether a result is passed to a later call that runs a model, or combined with the result of such a call.

    Args:
        root: The function (or module) that contains the node.
        node: What computes the result.
        forwards: Which calls run the model.
        ignored: Contexts in which such a call does not count.
    """
    from_result: set[str] = set()
    from_calls: set[str] = set()
    for statement in filter(partial(_may_read, root, node), of_class(root, cst.SimpleStatementLine)):
        small = statement.body[0]
        if not isinstance(small, (cst.Assign, cst.Return)) or small.value is None:
            continue
        spelled = used_names(small.value)
        contains_node = any(each is node for each in below(statement))
        calls = () if ignored & contexts_around(root, statement) else forwards.calls_in(statement)
        # A name bound from both may be either of them; a tuple keeps them separate.
        is_combined = (
            isinstance(small.value, cst.Call)
            and (from_result - from_calls) & spelled
            and (calls or (from_calls - from_result) & spelled)
        )
        if (
            is_combined
            or (
                contains_node
                and (from_calls & spelled or any(_is_computed_with(root, small.value, node, call) for call in calls))
            )
            or any(from_result & used_names(call) for call in calls)
        ):
            return True
        targets = targets_of(small)
        if contains_node or from_result & spelled:
            from_result |= targets
        if calls or from_calls & spelled:
            from_calls |= targets
    return False


def _is_passed(result: cst.CSTNode, call: cst.CSTNode) -> bool:
    """Whether a call is passed a result, or what is computed from it: `head(model(x))`."""
    return isinstance(call, cst.Call) and any(each is result for arg in call.args for each in below(arg))


def _is_computed_with(root: cst.CSTNode, value: cst.CSTNode, result: cst.CSTNode, call: cst.Call) -> bool:
    """Whether one is passed to the other, or they are in one sum or the like: `model(x).mean() - head(y).mean()`."""
    if _is_passed(call, result) or _is_passed(result, call):
        return True
    operations = () if is_detached(root, call) else of_class(value, cst.BinaryOperation)
    return any({result, call} <= set(below(each)) for each in operations)


def is_added_to(root: cst.CSTNode, node: cst.CSTNode, names: frozenset[str]) -> bool:
    """Whether a result, or a value computed from it, is added to a value with one of these names.

    root: the function (or module) of the node.
    """
    from_result: set[str] = set()
    for statement in of_class(root, cst.SimpleStatementLine) if names else ():
        small = statement.body[0]
        if not isinstance(small, (cst.Assign, cst.AugAssign, cst.Return)) or small.value is None:
            continue
        if any(_adds(each, from_result, names) for each in of_class(small.value, cst.BinaryOperation)):
            return True
        if any(each is node for each in below(statement)) or from_result & used_names(small.value):
            from_result |= targets_of(small)
    return False


def _adds(sum_: cst.BinaryOperation, from_result: set[str], names: frozenset[str]) -> bool:
    sides = _names_added(sum_.left, from_result), _names_added(sum_.right, from_result)
    return isinstance(sum_.operator, cst.Add) and any(
        from_result & one and names & other for one, other in (sides, sides[::-1])
    )


def _names_added(node: cst.BaseExpression, from_result: set[str]) -> set[str]:
    """The names in an addend, without those that only scale a result: `ratio` in `result * ratio`."""
    if not isinstance(node, cst.BinaryOperation):
        return used_names(node)
    names = _names_added(node.left, from_result) | _names_added(node.right, from_result)
    scales = isinstance(node.operator, (cst.Divide, cst.Multiply)) and not names.isdisjoint(from_result)
    return names & from_result if scales else names


def calls_a_name_in(tree: cst.CSTNode, node: cst.CSTNode, excluded: cst.CSTNode, ignored: frozenset[str]) -> bool:
    """Whether the function around a node, if it is not `excluded`, calls one of the names in the node.

    Behind `net = net.module`, `net` is what the node gives.

    tree: the module of the node. ignored: contexts in which such a call does not count.
    """
    around = [each for each in ancestors(tree, node) if isinstance(each, cst.FunctionDef)]
    if not around or around[-1] is excluded:
        return False
    wrapped = node.args if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) else [node]
    names = frozenset(name for each in wrapped for name in used_names(each))
    root = around[-1]
    calls = (each for each in Forwards(names, names).calls_in(root) if not ignored & contexts_around(root, each))
    bound = {target.value for target, value in assignments(root) if value is node and isinstance(target, cst.Name)}
    return any(names_in(each.func).isdisjoint(bound) or precedes(root, each, node) for each in calls)


def embeds_for_a_forward(tree: cst.CSTNode, root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a call computes embeddings of token ids, in a file that passes embeddings to a forward instead of ids.

    If that forward bypasses the wrapper, it has a finding of its own.

    root: the function (or module) of the call.
    """
    if not isinstance(node, cst.Call):
        return False
    callee: cst.CSTNode | None = node.func
    if isinstance(callee, cst.Name):
        callee = assigned_once(root, callee.value)
    named = callee is not None and INPUT_EMBEDDINGS & names_in(callee)
    return bool(named) and any(
        each.keyword is not None and each.keyword.value == EMBEDDED_INPUTS for each in of_class(tree, cst.Arg)
    )


def is_checked_first(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether code checks for an attribute before reading it: `hasattr(x.config, "a") and x.config.a`.

    root: the function (or module) of the node. node: a node that reads the value (`x.config`).
    """
    return any(_is_checked_in(outer, inner, node) for outer, inner in inwards(root, node))


def _is_checked_in(outer: cst.CSTNode, inner: cst.CSTNode, node: cst.CSTNode) -> bool:
    match outer:
        case cst.Call(func=cst.Name("hasattr"), args=[cst.Arg(value=value), *_]):
            return value is node
        case cst.BooleanOperation(left=test, operator=cst.And(), right=guarded):
            return inner is guarded and _implies_attribute(test, node)
        case cst.If(test=test, body=guarded) | cst.IfExp(test=test, body=guarded):
            return inner is guarded and _implies_attribute(test, node)
    return False


def _implies_attribute(test: cst.BaseExpression, node: cst.CSTNode) -> bool:
    """Whether a condition is true only if `hasattr` is true for the same value."""
    match test:
        case cst.BooleanOperation(left=left, operator=cst.And(), right=right):
            return _implies_attribute(left, node) or _implies_attribute(right, node)
        case cst.Call(func=cst.Name("hasattr"), args=[cst.Arg(value=value), *_]):
            return value.deep_equals(node)
    return False


def only_guards_uses(root: cst.CSTNode, node: cst.Call, name: str) -> bool:
    """Whether a test for an attribute only guards uses of that attribute, and no other code there handles wrappers.

    if hasattr(model, "x"): model.x()                               yes
    skip = model.x() if hasattr(model, "x") else {}                 yes: nothing is done instead
    if hasattr(model, "x"): model.x()
    else: unwrapped(model).x()                                      no
    if not hasattr(model, "x"): return
    model.x()                                                       yes
    """
    inner: cst.CSTNode = node
    path = ancestors(root, node)
    if isinstance(path[-1], cst.UnaryOperation):
        return (
            _leaves_without(root, path) and _uses(root, node.args[0].value, name) and not _handles_wrappers(root, node)
        )
    for outer in reversed(path):
        match outer:
            case cst.BooleanOperation(operator=cst.And()):
                inner = outer
                continue
            case cst.If(test=test, body=body, orelse=None) if test is inner and not _is_elif(root, outer):
                pass
            case cst.IfExp(test=test, body=body, orelse=cst.Dict(elements=[]) | cst.List(elements=[])) if test is inner:
                pass
            case _:
                return False
        return _uses(body, node.args[0].value, name) and not _handles_wrappers(root, outer)
    return False


def _leaves_without(root: cst.CSTNode, path: Sequence[cst.CSTNode]) -> bool:
    """Whether a function returns, and nothing else, where a model has not one of the attributes that it needs."""
    match [*islice(dropwhile(_denies_or_asks_on, reversed(path)), 3)]:
        case [cst.If(body=body, orelse=None), cst.IndentedBlock(), cst.FunctionDef() as function] if function is root:
            match body.body:
                case [cst.SimpleStatementLine([cst.Return(value)])] | [cst.Return(value)]:
                    return value is None or is_literal_none(value)
    return False


def _denies_or_asks_on(node: cst.CSTNode) -> bool:
    return isinstance(getattr(node, "operator", None), (cst.Not, cst.Or))


def _is_elif(root: cst.CSTNode, branch: cst.CSTNode) -> bool:
    return isinstance(ancestors(root, branch)[-1], cst.If)


def _uses(body: cst.CSTNode, model: cst.BaseExpression, name: str) -> bool:
    """Whether code reads an attribute of a model, or of the module in it."""
    return any(
        each.attr.value == name and (each.value.deep_equals(model) or _reads_module(each.value, model))
        for each in of_class(body, cst.Attribute)
    )


def _handles_wrappers(root: cst.CSTNode, excluded: cst.CSTNode) -> bool:
    """Whether code outside of a node unwraps a model, or checks whether it is wrapped."""
    inside = set(map(id, below(excluded)))
    named = {each.value for each in of_class(root, cst.Name) if id(each) not in inside}
    texts = {each.value.strip("\"'") for each in of_class(root, cst.SimpleString) if id(each) not in inside}
    return INNER_MODEL in named | texts or any("unwrap" in each for each in named)


def has_no_module(root: cst.CSTNode, node: cst.Attribute) -> bool:
    """Whether the node is in the exception handler of reading `.module`, so that there is no wrapper."""
    return any(
        isinstance(outer, cst.Try) and isinstance(inner, cst.ExceptHandler) and _reads_module(outer.body, node.value)
        for outer, inner in inwards(root, node)
    )


def _reads_module(body: cst.CSTNode, model: cst.BaseExpression) -> bool:
    return any(each.deep_equals(model) for each in values_with_module(body))


def values_with_module(code: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The expressions whose `.module` some code reads: that code knows of the wrapper."""
    return (each.value for each in of_class(code, cst.Attribute) if each.attr.value == INNER_MODEL)


def targets_of(statement: cst.BaseSmallStatement) -> set[str]:
    """The names that an assignment binds."""
    targets = statement.targets if isinstance(statement, cst.Assign) else ()
    return set().union(*(names_in(each.target) for each in targets))


def _mentions(root: cst.CSTNode, name: str, statement: cst.CSTNode) -> dict[cst.Name, bool]:
    """The occurrences of a name outside of a statement, in the order of the text, and whether each comes after it."""
    inside = set(below(statement))
    found: dict[cst.Name, bool] = {}
    is_later = False
    for each in below(root):
        if each is statement:
            is_later = True
        elif isinstance(each, cst.Name) and each.value == name and each not in inside:
            found[each] = is_later
    return found
