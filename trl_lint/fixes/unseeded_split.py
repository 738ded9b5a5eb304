"""The fix for a random draw on each rank: pass a seed that is the same on all ranks."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.events import DatasetDrawn
from trl_lint.analysis.program.syntax import below, is_literal_none
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.blocks import certainly_bound, enclosing_statement, torch_in_reach
from trl_lint.fixes.support.edits import Edit, FixPlan, NoFix, Replace
from trl_lint.fixes.support.node_types import Scope
from trl_lint.fixes.support.scope import scope_of
from trl_lint.fixes.support.tree import keyword_of, with_keyword
from trl_lint.knowledge.heuristics import SEED_ARGUMENT

_CHANGES = "it changes the order of the rows, on one process as well"
_SEEDS = SEED_ARGUMENT.words | {"seeds"}


class UnseededSplitFix(RuleFix[DatasetDrawn]):
    title = "Draw with the same seed on all ranks"
    is_collective = False
    applicabilities = (Applicability.UNSAFE, Applicability.DISPLAY)
    # Without a seed, no rank can reuse what another one has computed.
    uncovers = frozenset({"TRL012"})

    def plan(self, event: DatasetDrawn) -> FixPlan | NoFix:
        """The plan to draw with the same seed on all ranks, or why that is left to the author."""
        if not event.is_here:
            return NoFix("it is drawn in another file")
        if event.is_apart:
            return NoFix("each rank may have its own seed on purpose, for other draws")
        if not (event.row.keyword or event.row.receiver):
            return NoFix("there is no call to which a seed could be passed")
        root = scope_of(event.drawer, event.module)
        found = enclosing_statement(root, event.node)
        seed = None if found is None else next(_seeds(event, root, found.statement), None)
        if seed is None:
            return NoFix("no seed is available here that is certain to be the same on all ranks")
        return _with_keyword(event, root, seed) if event.row.keyword else _with_receiver(event, seed)


def _seeds(event: DatasetDrawn, root: Scope, statement: cst.CSTNode) -> Iterator[str]:
    """The texts of seeds available at a statement and the same on all ranks, the trainer's own first."""
    if isinstance(event.arguments, cst.Name) and event.arguments.value in event.names:
        yield from _text_if_bound(root, statement, f"{event.arguments.value}.seed")
    for text in event.seeds:
        yield from _text_if_bound(root, statement, text)
    for node in below(root):
        match node:
            case cst.Arg(keyword=cst.Name(value=name), value=cst.Integer(value=text)) if name in _SEEDS:
                yield text


def _text_if_bound(root: Scope, statement: cst.CSTNode, text: str) -> Iterator[str]:
    """The text of an expression, if the name that it starts with has a value at a statement."""
    if certainly_bound(root, text.partition(".")[0], statement):
        yield text


def _with_keyword(event: DatasetDrawn, root: Scope, seed: str) -> FixPlan | NoFix:
    """Add the keyword argument to the call, or replace an existing one."""
    edits: list[Edit] = []
    if event.row.needs:
        needed = torch_in_reach(event.module, root, event.node)
        if isinstance(needed, NoFix):
            return needed
        edits += needed
    keyword, _, value = event.row.keyword.format(seed=seed, torch="torch").partition("=")
    call = event.node
    if not isinstance(call, cst.Call):
        return NoFix("it is not drawn by a call")
    if any(arg.keyword is None and is_literal_none(arg.value) for arg in call.args):
        return NoFix("its seed is passed by position, as `None`")
    expression = cst.parse_expression(value)
    existing = next((arg for arg in call.args if keyword_of(arg) == keyword), None)
    if existing is not None:
        return FixPlan((Replace(existing.value, expression), *edits), caution=_CHANGES)
    return FixPlan((Replace(call, with_keyword(call, keyword, expression)), *edits), caution=_CHANGES)


def _with_receiver(event: DatasetDrawn, seed: str) -> FixPlan | NoFix:
    """The same method of a separate generator: `random.Random(seed).shuffle(rows)`."""
    func = event.node.func if isinstance(event.node, cst.Call) else None
    if not isinstance(func, cst.Attribute):
        return NoFix("the function is imported by name, so its generator is not available here")
    text = event.row.receiver.format(module=event.module.tree.code_for_node(func.value), seed=seed)
    return FixPlan((Replace(func.value, cst.parse_expression(text)),), caution=_CHANGES)
