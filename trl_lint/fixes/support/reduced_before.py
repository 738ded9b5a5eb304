"""A value that the code has already reduced over the ranks, and bound to a name.

avg_loss = accelerator.gather(loss.repeat(batch_size)).mean()
accelerator.log({"loss": loss.item()})                           ->  avg_loss.item()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import dropwhile, takewhile

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, below, of_class
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Kind, Value
from trl_lint.fixes.support.blocks import certainly_bound, enclosing_statement
from trl_lint.fixes.support.logged import LogSite
from trl_lint.fixes.support.reductions import REPEATED, is_mean
from trl_lint.fixes.support.scope import Binding, as_binding, binders, binds, dotted, is_before, works_in_place
from trl_lint.fixes.support.tree import method_call
from trl_lint.knowledge.torch_ops import ElementTransfer, of_method

_GATHERS = frozenset({"gather", "gather_for_metrics"})
# What makes the mean of several copies of one value, which is that value.
_COPIES = frozenset({"expand", "repeat"})


def reduced_before(place: LogSite, core: cst.BaseExpression, value: Value) -> cst.Name | None:
    """The name that already has the value of all ranks where it is logged; None if there is none.

    value: the facts of what is reduced.
    """
    reduction = REPEATED.get(value.rank.how)
    subject = _subject(core, copies=False)
    if reduction is None or not subject or value.kind is Kind.NUMBER:
        return None
    for binding in _gathered(place.root, reduction).get(subject, ()):
        known = place.value_of(binding.value)
        if known is not None and known.rank.state is State.SAME and _has_it_there(place, binding, subject):
            return cst.Name(binding.name.value)
    return None


# Asked for each metric that a function logs.
@tree_cache(64)
def _gathered(root: cst.CSTNode, reduction: str) -> Mapping[str, Sequence[Binding]]:
    """The assignments of what is gathered and reduced so, by what that is."""
    found: dict[str, list[Binding]] = {}
    for binding in filter(None, map(as_binding, of_class(root, cst.Assign))):
        if subject := _gathered_subject(binding.value, reduction):
            found.setdefault(subject, []).append(binding)
    return found


def _subject(node: cst.BaseExpression, *, copies: bool) -> str:
    """The text of the name or attribute whose elements an expression has; "" if it is something else.

    copies: whether it may have them several times.
    """
    while (method := method_call(node)) is not None:
        is_same = of_method(method.name).elements is ElementTransfer.SAME and not method.args
        if not is_same and not (copies and method.name in _COPIES):
            return ""
        node = method.receiver
    return dotted(node)


def _gathered_subject(node: cst.BaseExpression, reduction: str) -> str:
    """What `accelerator.gather(x).mean()` reduces over the ranks; "" if it is no such expression."""
    method = method_call(node)
    gather = None if method is None or method.name != reduction or method.args else method_call(method.receiver)
    if gather is None or gather.name not in _GATHERS or len(gather.args) != 1:
        return ""
    return _subject(gather.args[0].value, copies=is_mean(reduction))


def _has_it_there(place: LogSite, binding: Binding, subject: str) -> bool:
    """Whether a name always has the reduced value of the subject as it is where it is logged."""
    root, name = place.root, binding.name.value
    here = enclosing_statement(root, place.statement)
    if here is None or len(binders(root, [name])) != 1 or not is_before(root, binding.assign, place.statement):
        return False
    if not certainly_bound(root, name, here.statement) or _loops(root, binding.assign) != _loops(root, place.statement):
        return False
    start = dropwhile(lambda node: node is not binding.assign, below(root))
    between = takewhile(lambda node: node is not place.statement, start)
    return not any(_changes(node, subject) for node in between)


def _loops(root: cst.CSTNode, node: cst.CSTNode) -> list[int]:
    """The loops around a node."""
    return [id(each) for each in ancestors(root, node) if isinstance(each, (cst.For, cst.While))]


def _changes(node: cst.CSTNode, subject: str) -> bool:
    """Whether a node binds a part of `a.b`, or changes it in place."""
    owner = subject.partition(".")[0]
    if owner in binds(node):
        return True
    if isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign)):
        return dotted(node.target) == subject
    method = method_call(node) if works_in_place(node) else None
    return method is not None and dotted(method.receiver) == subject
