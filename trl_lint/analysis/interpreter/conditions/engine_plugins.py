"""Conditions under which a program only creates the settings of an engine, and does nothing else that the engine needs.

For example:

    if args.deepspeed:
        plugin = DeepSpeedPlugin(zero_stage=3)      configures sharding, but nothing handles it: the code that saves
    accelerator = Accelerator(deepspeed_plugin=plugin)     the model later does so as if nothing was sharded

    if trainer.is_fsdp_enabled:
        trainer.accelerator.state.fsdp_plugin.set_state_dict_type("FULL_STATE_DICT")     saving is a collective anyway
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from trl_lint.analysis.program.syntax import below, callee_of, identifiers, last_name, of_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.knowledge.accelerate import ENGINE_PLUGINS, SET_STATE_DICT_TYPE
from trl_lint.knowledge.heuristics import NAMES_ENGINE


def exclude_plugin_test(frame: Frame, node: cst.If | cst.IfExp) -> None:
    """Do not treat this test as one for an engine if its branches only create the engine's settings."""
    known = frame.engine.engine_outcomes
    if id(node.test) in known or not any(map(NAMES_ENGINE.fits, identifiers(node.test))):
        return
    if _only_creates_settings(node) or _only_sets_type(node):
        known.update(dict.fromkeys(map(id, below(node.test))))


def _only_creates_settings(node: cst.If | cst.IfExp) -> bool:
    branches = (node.body, node.orelse) if isinstance(node, cst.IfExp) else tuple(_branches(node))
    return any(map(_creates_settings, branches)) and all(map(_is_simple, branches))


def _only_sets_type(node: cst.If | cst.IfExp) -> bool:
    """Whether a branch only chooses in which form the weights are saved; what follows it is run under all engines."""
    lines = node.body.body if isinstance(node, cst.If) and node.orelse is None else ()
    return bool(lines) and all(
        isinstance(line, cst.SimpleStatementLine) and all(map(_sets_type, line.body)) for line in lines
    )


def _sets_type(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.Expr) and last_name(callee_of(statement.value)) == SET_STATE_DICT_TYPE


def _branches(node: cst.If) -> Iterator[cst.CSTNode]:
    yield node.body
    if isinstance(node.orelse, cst.If):
        yield from _branches(node.orelse)
    elif node.orelse is not None:
        yield node.orelse.body


def _creates_settings(branch: cst.CSTNode) -> bool:
    lines: Sequence[cst.CSTNode] = branch.body if isinstance(branch, cst.IndentedBlock) else (branch,)
    return any(
        last_name(call.func) in ENGINE_PLUGINS
        for line in lines
        if not isinstance(line, cst.BaseCompoundStatement)
        for call in of_class(line, cst.Call)
    )


def _is_simple(branch: cst.CSTNode) -> bool:
    """Whether a branch contains no compound statement."""
    lines = branch.body if isinstance(branch, cst.IndentedBlock) else ()
    return not any(isinstance(line, cst.BaseCompoundStatement) for line in lines)
