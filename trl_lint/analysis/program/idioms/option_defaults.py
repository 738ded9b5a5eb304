"""The defaults of a program's own options, as the file that reads an option adds it.

For example:

    parser.add_argument("--dist-backend", default="nccl")
    dist.init_process_group(args.dist_backend)              "nccl", unless a command says otherwise

    @dataclass
    class Config:
        kind: str = "constant"
    get_scheduler(config.kind, optimizer)                   "constant", unless somebody passes another one

    parser.add_argument("--again", action="store_true")
    os.makedirs(path, exist_ok=args.again)                  false, unless a command gives the option
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import last_name, of_class

_ADDS = "add_argument"
_NOTHING = frozenset({"False", "None"})
_STORE = cst.SimpleString('"store"')
# Without a default, an option with one of these actions is None or False until a command gives it.
_UNSET_BY_DEFAULT = frozenset({"store", "store_true"})


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


def is_off(module: Module, test: cst.CSTNode | None) -> bool:
    """Whether a test, `args.again` or `args.resume is not None`, is of an option that is off, or None, by default."""
    match test:
        case cst.Comparison(
            left=cst.Attribute() as read,
            comparisons=[cst.ComparisonTarget(operator=cst.IsNot(), comparator=cst.Name("None"))],
        ):
            return read.attr.value in _off(module)
        case cst.Attribute(attr=cst.Name(name)):
            return name in _off(module)
    return False


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
def _off(module: Module) -> frozenset[str]:
    """The options that are off, or None, by default, by the name of the attribute, however often they are added."""
    found: dict[str, bool] = {}
    for call in of_class(module.tree, cst.Call):
        if last_name(call.func) == _ADDS:
            keywords = {each.keyword.value: each.value for each in call.args if each.keyword is not None}
            default = keywords.get("default")
            is_left = "required" not in keywords and _text(keywords.get("action", _STORE)) in _UNSET_BY_DEFAULT
            is_unset = is_left if default is None else isinstance(default, cst.Name) and default.value in _NOTHING
            for each in call.args:
                if each.keyword is None and _text(each.value).startswith("--"):
                    name = _attribute(_text(each.value))
                    found[name] = found.get(name, True) and is_unset
    return frozenset(name for name, is_unset in found.items() if is_unset)


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
