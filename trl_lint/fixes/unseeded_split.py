"""The plan for a draw that each rank makes for itself: it is given a seed that is the same on all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from trl_lint.analysis.events import DatasetDrawn
from trl_lint.fixes.support.blocks import certainly_bound, enclosing_statement, torch_in_reach
from trl_lint.fixes.support.edits import Edit, NoRewrite, Replace, Rewrite
from trl_lint.fixes.support.scope import nodes
from trl_lint.knowledge.heuristics import SEED_ARGUMENT

_CHANGES = "it decides which rows come when, on one process as well"
_NONE = cst.SimpleWhitespace("")
_SEEDS = SEED_ARGUMENT.words | {"seeds"}


def plan(event: DatasetDrawn) -> Rewrite | NoRewrite:
    """How to draw with the same seed on all ranks."""
    if not event.is_here:
        return NoRewrite("it is drawn in another file")
    root = event.drawer.node if event.drawer is not None else event.module.tree
    found = enclosing_statement(root, event.node)
    seed = None if found is None else next(_seeds(event, root, found[0]), None)
    if seed is None:
        return NoRewrite("there is no seed in reach of which it is sure that all ranks have the same")
    return _with_keyword(event, root, seed) if event.how.keyword else _with_receiver(event, seed)


def _seeds(event: DatasetDrawn, root: Any, statement: Any) -> Iterator[str]:
    """The texts of seeds that are there at a statement and the same on all ranks, the trainer's own first."""
    if isinstance(event.arguments, cst.Name) and event.arguments.value in event.names:
        yield from _there(root, statement, f"{event.arguments.value}.seed")
    for text in event.seeds:
        yield from _there(root, statement, text)
    for node in nodes(root):
        match node:
            case cst.Arg(keyword=cst.Name(value=name), value=cst.Integer(value=text)) if name in _SEEDS:
                yield text


def _there(root: Any, statement: Any, text: str) -> Iterator[str]:
    if certainly_bound(root, text.partition(".")[0], statement):
        yield text


def _with_keyword(event: DatasetDrawn, root: Any, seed: str) -> Rewrite | NoRewrite:
    """The call with one more argument, in place of one of that name that says nothing."""
    edits: list[Edit] = []
    if event.how.needs:
        needed = torch_in_reach(event.module, root, event.node)
        if isinstance(needed, NoRewrite):
            return needed
        edits += needed
    keyword, _, value = event.how.keyword.format(seed=seed, torch="torch").partition("=")
    call: Any = event.node
    if any(arg.keyword is None and isinstance(arg.value, cst.Name) and arg.value.value == "None" for arg in call.args):
        return NoRewrite("its seed is given by its position, as `None`")
    expression = cst.parse_expression(value)
    given = next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == keyword), None)
    if given is not None:
        return Rewrite((Replace(given.value, expression), *edits), caution=_CHANGES)
    added = cst.Arg(expression, cst.Name(keyword), equal=cst.AssignEqual(_NONE, _NONE))
    return Rewrite((Replace(call, call.with_changes(args=_with_last(call, added))), *edits), caution=_CHANGES)


def _with_last(call: cst.Call, added: cst.Arg) -> list[cst.Arg]:
    """The arguments and one more, laid out as they are: on a line of its own where they have theirs."""
    if not call.args:
        return [added]
    *others, last = call.args
    between = others[-1].comma if others else _comma_of_one(call)
    if isinstance(last.comma, cst.Comma):  # a comma at the end stays at the end
        return [*others, last.with_changes(comma=between), added.with_changes(comma=last.comma)]
    plain = last.with_changes(comma=between, whitespace_after_arg=_NONE)
    return [*others, plain, added.with_changes(whitespace_after_arg=last.whitespace_after_arg)]


def _comma_of_one(call: cst.Call) -> cst.Comma:
    """The comma behind a single argument: with a new line, if the argument is on one."""
    is_folded = isinstance(call.whitespace_before_args, cst.ParenthesizedWhitespace)
    return cst.Comma(whitespace_after=call.whitespace_before_args if is_folded else cst.SimpleWhitespace(" "))


def _with_receiver(event: DatasetDrawn, seed: str) -> Rewrite | NoRewrite:
    """The same method of a generator of its own: `random.Random(seed).shuffle(rows)`."""
    func: Any = getattr(event.node, "func", None)
    if not isinstance(func, cst.Attribute):
        return NoRewrite("the function is imported by its own name, and its generator is out of reach")
    text = event.how.receiver.format(module=event.module.tree.code_for_node(func.value), seed=seed)
    return Rewrite((Replace(func.value, cst.parse_expression(text)),), caution=_CHANGES)
