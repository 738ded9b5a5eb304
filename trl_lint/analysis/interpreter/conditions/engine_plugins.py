"""Conditions under which a program only makes the settings of an engine, and does nothing that the engine asks for.

if args.deepspeed:
    plugin = DeepSpeedPlugin(zero_stage=3)      it says what shards the model, and takes no care of that: what is
accelerator = Accelerator(deepspeed_plugin=plugin)     saved further on is saved as if nothing was sharded
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from trl_lint.analysis.program.syntax import below, identifiers, last_name, of_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.knowledge.accelerate import ENGINE_PLUGINS
from trl_lint.knowledge.heuristics import NAMES_ENGINE


def leave_out(frame: Frame, node: cst.If | cst.IfExp) -> None:
    """Take what is asked there for no question about an engine, where only its settings are made."""
    known = frame.engine.engine_arms
    if id(node.test) in known or not any(map(NAMES_ENGINE.fits, identifiers(node.test))):
        return
    if _only_makes_settings(node):
        known.update(dict.fromkeys(map(id, below(node.test))))


def _only_makes_settings(node: cst.If | cst.IfExp) -> bool:
    arms = (node.body, node.orelse) if isinstance(node, cst.IfExp) else tuple(_arms(node))
    return any(map(_makes_settings, arms)) and all(map(_is_simple, arms))


def _arms(node: cst.If) -> Iterator[cst.CSTNode]:
    yield node.body
    if isinstance(node.orelse, cst.If):
        yield from _arms(node.orelse)
    elif node.orelse is not None:
        yield node.orelse.body


def _makes_settings(arm: cst.CSTNode) -> bool:
    lines: Sequence[cst.CSTNode] = arm.body if isinstance(arm, cst.IndentedBlock) else (arm,)
    return any(
        last_name(call.func) in ENGINE_PLUGINS
        for line in lines
        if not isinstance(line, cst.BaseCompoundStatement)
        for call in of_class(line, cst.Call)
    )


def _is_simple(arm: cst.CSTNode) -> bool:
    """Whether nothing else is asked there."""
    lines = arm.body if isinstance(arm, cst.IndentedBlock) else ()
    return not any(isinstance(line, cst.BaseCompoundStatement) for line in lines)
