"""Reads of DeepSpeed settings from an engine's `config`: a model's config has no such keys.

For example:

    stage = model.config["zero_optimization"]["stage"]
    rows = model.config.get("train_micro_batch_size_per_gpu", 1)
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors
from trl_lint.knowledge.engines import DEEPSPEED_SETTINGS


def reads_setting(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether one of DeepSpeed's settings is read from the value of a node.

    root: the function (or module) of the node. node: a node that reads the value (`x.config`).
    """
    match ancestors(root, node)[-2:]:
        case [_, cst.Subscript(value=value, slice=[cst.SubscriptElement(slice=cst.Index(value=key))])]:
            return value is node and _is_setting(key)
        case [cst.Call(args=[cst.Arg(value=key), *_]), cst.Attribute(value=value, attr=cst.Name("get"))]:
            return value is node and _is_setting(key)
    return False


def _is_setting(key: cst.BaseExpression) -> bool:
    return isinstance(key, cst.SimpleString) and key.evaluated_value in DEEPSPEED_SETTINGS
