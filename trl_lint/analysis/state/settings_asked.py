"""Conditions on settings of which nothing but their names is known: `if args.save_results and not cfg.debug:`.

What a program is started with is the same on all ranks, unless the program itself puts their numbers into it.
"""

from __future__ import annotations

import re

import libcst as cst

from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.ranks import State
from trl_lint.knowledge.heuristics import SETTING_OF_RANK, SETTINGS_OBJECT, tells_rank


def asks_for_setting(frame: Frame, test: cst.CSTNode) -> bool:
    """Whether a condition asks for nothing but settings, and for what is the same on all ranks."""
    match test:
        case cst.Attribute():
            return _is_known(frame, test) or _is_setting(frame, test)
        case cst.UnaryOperation(expression=part):
            return asks_for_setting(frame, part)
        case cst.BooleanOperation(left=left, right=right):
            return asks_for_setting(frame, left) and asks_for_setting(frame, right)
        case cst.Comparison(left=left, comparisons=others):
            return all(asks_for_setting(frame, part) for part in (left, *(each.comparator for each in others)))
    return _is_known(frame, test)


def _is_known(frame: Frame, node: cst.CSTNode) -> bool:
    value = frame.node_values.get(id(node))
    return value is not None and value.rank.state is State.SAME


def _is_setting(frame: Frame, node: cst.Attribute) -> bool:
    """`args.debug`, `self.config.train.debug`, if the file never sets it."""
    value = frame.node_values.get(id(node))
    if value is not None and value.rank.differs:
        return False
    names = [node.attr.value]
    inner = node.value
    while isinstance(inner, cst.Attribute):
        names.append(inner.attr.value)
        inner = inner.value
    if not isinstance(inner, cst.Name):
        return False
    objects = [*names[1:], inner.value]
    if not any(map(SETTINGS_OBJECT.fits, objects)) or any(map(_tells_rank, [*names, *objects])):
        return False
    return re.search(rf"\.{re.escape(names[0])}\s*[|&]?=(?!=)", frame.module.text) is None


def _tells_rank(name: str) -> bool:
    return tells_rank(name) or SETTING_OF_RANK.fits(name)
