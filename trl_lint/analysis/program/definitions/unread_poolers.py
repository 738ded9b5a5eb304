"""Encoders of transformers in an attribute of a class, of whose output nothing reads what the pooler makes.

For example, after `self.bert = BertModel.from_pretrained(name)`:

    return self.head(self.bert(**inputs).last_hidden_state)     unread
    output = self.bert(**inputs); return output[0]              unread
    return self.bert(**inputs)                                  who gets it may read all of it
    _, pooled = self.bert(**inputs, return_dict=False)          the same
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, of_class, self_attribute, value_names
from trl_lint.knowledge.trained_layers import PARTS_BEFORE_POOLER, WITHOUT_POOLED

if TYPE_CHECKING:
    from trl_lint.analysis.program.definitions.unread_layers import MadePart
    from trl_lint.analysis.program.project.classes import ClassInfo


def is_pooler_unread(cls: ClassInfo, part: MadePart) -> bool:
    """Whether the code of a class runs an encoder that it has, and uses nothing of it that the pooler makes."""
    runs = False
    for base in cls.project_lineage():
        for read in of_class(base.node, cst.Attribute):
            if read.attr.value != part.name or read is part.target:
                continue
            around = ancestors(base.node, read)
            if not self_attribute(read) or not _leaves_pooler(base.node, read, around):
                return False
            runs = runs or _is_run(read, around)
    return runs


def _is_run(read: cst.CSTNode, around: tuple[cst.CSTNode, ...]) -> bool:
    return isinstance(around[-1], cst.Call) and around[-1].func is read


def _leaves_pooler(root: cst.CSTNode, read: cst.CSTNode, around: tuple[cst.CSTNode, ...]) -> bool:
    """Whether a read of an encoder uses nothing that its pooler makes."""
    if _is_run(read, around):
        return _is_first_read(root, around[-1], around[:-1])
    outer = around[-1]
    return isinstance(outer, cst.Attribute) and outer.attr.value in PARTS_BEFORE_POOLER


def _is_first_read(root: cst.CSTNode, output: cst.CSTNode, around: tuple[cst.CSTNode, ...]) -> bool:
    """Whether only the first part of an output, or what is no output of the pooler, is read."""
    match around[-1]:
        case cst.Attribute(attr=cst.Name(name)):
            return name in WITHOUT_POOLED
        case cst.Subscript(value=value, slice=[cst.SubscriptElement(cst.Index(index))]) if value is output:
            return _is_other_key(index)
        case cst.Assign(targets=[cst.AssignTarget(cst.Name(name))]):
            function = next((each for each in reversed(around) if isinstance(each, cst.FunctionDef)), None)
            return function is not None and _are_first_reads(function, name, around[-1])
    return False


def _is_other_key(index: cst.BaseExpression) -> bool:
    match index:
        case cst.Integer(value=value):
            return value == "0"
        case cst.SimpleString():
            return str(index.evaluated_value) in WITHOUT_POOLED
    return False


def _are_first_reads(function: cst.FunctionDef, name: str, assigned: cst.CSTNode) -> bool:
    """Whether all uses of a name in a function, but its one assignment, read such a part of it."""
    uses = [each for each in value_names(function) if each.value == name]
    targets = {id(each.target) for each in getattr(assigned, "targets", ())}
    reads = [each for each in uses if id(each) not in targets]
    return all(
        not isinstance(around[-1], cst.Assign) and _is_first_read(function, each, around)
        for each in reads
        if (around := ancestors(function, each))
    )
