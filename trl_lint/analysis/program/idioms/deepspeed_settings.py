"""DeepSpeed's settings: reads of them that fail without an engine, and the ZeRO stages that leave the parameters whole.

For example:

    stage = model.config["zero_optimization"]["stage"]                   a model's config has no such key
    rows = model.config.get("train_micro_batch_size_per_gpu", 1)
    state.deepspeed_plugin.deepspeed_config["train_batch_size"] = 8      fails where a launch chooses another engine
    enabled = is_engine and engine.zero_optimization_stage() == 2
    with GatheredParameters(weights, enabled=enabled): …                 nothing is gathered: only stage 3 partitions
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, assigned_once, last_name, of_class
from trl_lint.knowledge.engines import DEEPSPEED_SETTINGS, PLUGIN_OF_STATE


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


def needs_engine(root: cst.CSTNode) -> bool:
    """Whether a function (or module) reads something from Accelerate's plugin for DeepSpeed, whatever happens in it.

    The plugin is None under any other engine (accelerate: `state.py::AcceleratorState.deepspeed_plugin`).
    """
    block = root.body if isinstance(root, cst.FunctionDef) else root
    statements = block.body if isinstance(block, (cst.IndentedBlock, cst.Module)) else ()
    for statement in statements:
        part = statement.test if isinstance(statement, cst.If) else statement
        if not isinstance(part, cst.BaseCompoundStatement) and _reads_plugin(part):
            return True
        if of_class(statement, cst.Return):
            return False
    return False


def _reads_plugin(part: cst.CSTNode) -> bool:
    read = (each for each in of_class(part, cst.Attribute) if _is_plugins(each))
    return any(not any(isinstance(outer, _IF_ASKED) for outer in ancestors(part, each)) for each in read)


def _is_plugins(node: cst.Attribute) -> bool:
    """Whether an attribute is one of the plugin, not the plugin itself."""
    return isinstance(node.value, cst.Attribute) and node.value.attr.value == PLUGIN_OF_STATE


# What is in them may not run.
_IF_ASKED = (cst.BaseComp, cst.BooleanOperation, cst.IfExp, cst.Lambda)
_PARTITIONS = 3


def leaves_whole(root: cst.CSTNode, test: cst.BaseExpression | None, names: frozenset[str] = frozenset()) -> bool:
    """Whether a condition, or the condition that a name is bound to in `root`, is true at such a stage only.

    names: those that are being followed; `enabled = enabled and stage == 2` leads back to one.
    """
    match test:
        case cst.Name(value=name):
            bound = None if name in names else assigned_once(root, name)
            return not isinstance(bound, cst.Name) and leaves_whole(root, bound, names | {name})
        case cst.BooleanOperation(left=left, operator=cst.And(), right=right):
            return leaves_whole(root, left, names) or leaves_whole(root, right, names)
        case cst.Comparison(
            left=asked, comparisons=[cst.ComparisonTarget(operator=cst.Equal(), comparator=cst.Integer(value=stage))]
        ):
            name = last_name(asked.func if isinstance(asked, cst.Call) else asked)
            return "stage" in name.lower() and int(stage, 0) < _PARTITIONS
    return False
