"""The defaults of a program's own options, as the file that reads an option adds it.

For example:

    parser.add_argument("--dist-backend", default="nccl")
    dist.init_process_group(args.dist_backend)              "nccl", unless a command says otherwise

    @dataclass
    class Config:
        kind: str = "constant"
    get_scheduler(config.kind, optimizer)                   "constant", unless somebody passes another one
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import last_name, of_class

_ADDS = "add_argument"


def option_default(module: Module, read: cst.CSTNode | None) -> str | None:
    """The text that an option has by default, if `read` is an attribute named after one; None if it has none."""
    if not isinstance(read, cst.Attribute):
        return None
    return _defaults(module).get(read.attr.value)


def setting_default(module: Module, read: cst.CSTNode | None) -> str | None:
    """The text that an option has by default, or a field that a class of the file declares."""
    if not isinstance(read, cst.Attribute):
        return None
    return option_default(module, read) or _fields(module).get(read.attr.value)


def parameter_default(function: cst.CSTNode, read: cst.CSTNode | None) -> str | None:
    """The text that a parameter has by default, if `read` is one."""
    if not (isinstance(function, cst.FunctionDef) and isinstance(read, cst.Name)):
        return None
    known = (*function.params.params, *function.params.kwonly_params)
    return next((_text(each.default) or None for each in known if each.name.value == read.value), None)


@noted
def _fields(module: Module) -> dict[str, str]:
    """The defaults of fields that are texts: `kind: str = "nccl"`, also in a call of `field`."""
    found: dict[str, str] = {}
    for each in of_class(module.tree, cst.AnnAssign):
        value = each.value
        if isinstance(value, cst.Call):
            value = next((one.value for one in value.args if one.keyword and one.keyword.value == "default"), None)
        if isinstance(each.target, cst.Name) and _text(value):
            found[each.target.value] = _text(value)
    return found


@noted
def _defaults(module: Module) -> dict[str, str]:
    """The defaults of options that are texts, by the name of the attribute; of several additions the last counts."""
    found: dict[str, str] = {}
    for call in of_class(module.tree, cst.Call):
        if last_name(call.func) == _ADDS:
            texts = [each.value for each in call.args if each.keyword is None]
            keywords = {each.keyword.value: each.value for each in call.args if each.keyword is not None}
            default = _text(keywords.get("default"))
            found.update({_attribute(text): default for text in map(_text, texts) if text.startswith("--") and default})
    return found


def _text(node: cst.BaseExpression | None) -> str:
    """The content of a string literal; "" for anything else."""
    return node.raw_value if isinstance(node, cst.SimpleString) else ""


def _attribute(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")
