"""Conditions on settings that the program itself replaces by what all ranks find in a folder that they share.

For example:

    if args.auto_resume:
        found = latest(args.folder)              a file, from a list of all of them
        if found:
            config.model.resume = found
    if config.model.resume: …                    lets in all ranks, as `if found:` does
    config.model.resume = latest(f"{rank}")      each rank may find something else
    if rank == 0: config.model.resume = found    the others keep what the setting was
    if not config.model.resume: …                the first rank may make what is missing
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, assignments, below, last_name, operands
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.settings import are_settings
from trl_lint.domain import ranks
from trl_lint.domain.control import Control
from trl_lint.domain.provenance import SharedName, source_step
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import place_of
from trl_lint.domain.values import Value
from trl_lint.knowledge.heuristics import is_rank_name


def asks_settings(frame: Frame, condition: Control) -> bool:
    """Whether a condition asks settings alone, one of which the function may replace by what all ranks find."""
    test = place_of(condition)
    if condition.rank != ranks.UNKNOWN or test is None or condition.provenance.module is not frame.module:
        return False
    asked = [*operands(test)]
    if any(isinstance(each, (cst.Comparison, cst.UnaryOperation)) for each in below(test)):
        return False
    return any(_is_replaced(frame, each) for each in asked) and all(
        _is_alike(frame.known_value(each)) or _is_replaced(frame, each) for each in asked
    )


def _is_replaced(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether it is a setting that only this function sets, and only to what all ranks find, on all of them."""
    if not isinstance(node, cst.Attribute) or not are_settings(node.value) or is_rank_name(node.attr.value):
        return False
    in_file = [target for target, _ in assignments(frame.module.tree) if last_name(target) == node.attr.value]
    here = [(target, value) for target, value in assignments(frame.root) if target.deep_equals(node)]
    return 0 < len(here) == len(in_file) and all(_is_found_by_all(frame, *each) for each in here)


def _is_found_by_all(frame: Frame, target: cst.CSTNode, value: cst.CSTNode) -> bool:
    around = [each for each in ancestors(frame.root, target) if isinstance(each, cst.BaseCompoundStatement)]
    tests = [each.test for each in around if isinstance(each, (cst.If, cst.While))]
    return len(tests) == len([each for each in around if not isinstance(each, cst.FunctionDef)]) and all(
        _is_alike(frame.known_value(each)) for each in (*tests, value)
    )


def _is_alike(value: Value | None) -> bool:
    """Whether a value is a setting, or comes from a list of the files in a folder that all ranks share."""
    if value is None or value.rank.is_uniform:
        return value is not None
    return value.rank.origins == Origin.IO and isinstance(source_step(value.provenance), SharedName)
