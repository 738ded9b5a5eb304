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

    parser.add_argument("--rows", type=int, default=0)
    if args.rows is not None: …                             true: 0 is not None
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.literal_tests import UNKNOWN, literal
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import last_name, of_class
from trl_lint.knowledge.argparse_actions import UNSET_BY_ACTION

_ADDS = "add_argument"
_STORE = cst.SimpleString('"store"')


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
    """Whether a test, `args.again` or `args.resume is not None`, is of an option with which it is false by default."""
    match test:
        case cst.Comparison(
            left=cst.Attribute() as read,
            comparisons=[cst.ComparisonTarget(operator=cst.IsNot(), comparator=cst.Name("None"))],
        ):
            values = off_values(module, read)
            return bool(values) and all(each is None for each in values)
        case cst.Attribute():
            return bool(off_values(module, test))
    return False


def off_values(module: Module, read: cst.Attribute) -> tuple[object, ...]:
    """What an option is until a command gives it, for each time it is added: `None`, `False`, 0; empty if it is on."""
    found = _unset(module).get(read.attr.value, ())
    return () if UNKNOWN in found or any(found) else found


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
def _unset(module: Module) -> dict[str, tuple[object, ...]]:
    """What the options are until a command gives them, by the name of the attribute, for each time one is added."""
    found: dict[str, tuple[object, ...]] = {}
    for call in of_class(module.tree, cst.Call):
        if last_name(call.func) == _ADDS:
            keywords = {each.keyword.value: each.value for each in call.args if each.keyword is not None}
            action = UNSET_BY_ACTION.get(_text(keywords.get("action", _STORE)), UNKNOWN)
            value = literal(module, keywords["default"]) if "default" in keywords else action
            value = UNKNOWN if "required" in keywords else value
            for each in call.args:
                if each.keyword is None and _text(each.value).startswith("--"):
                    name = _attribute(_text(each.value))
                    found[name] = (*found.get(name, ()), value)
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
