"""Settings that a function sets to a constant shortly before it tests them.

For example:

    config.set("distributed", "use", False)
    if config.getboolean("distributed", "use") and n > 1: …    False, whatever `n` is
    args.distributed = False
    if args.distributed: …                                     False
    check(args)
    if args.distributed: …                                     None: the function called may have set it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, inwards, of_class
from trl_lint.analysis.program.tree_caches import tree_cache

# A setting: the name of the object that holds it, and the names or keys that lead there.
_Place: TypeAlias = tuple[str, ...]
_CONSTANTS = {"True": True, "False": False, "None": False}
# Statements of which another part may have been run just before a test in one of them.
_OPEN = (cst.For, cst.While, cst.Try, cst.TryStar)
_SETS = "set"
_GETS = "get"


def decided(root: cst.CSTNode, test: cst.BaseExpression, truth: Callable[[cst.CSTNode], bool | None]) -> bool | None:
    """The result of a test in a function, or a module, if settings that it has just set decide it; else None.

    truth: what is known of the other parts of the test.
    """
    # The code of a function, or even of a file, is only read if that can matter: most tests read no setting.
    return _decided(root, test, truth) if _reads_settings(test) and _set_to_constants(root) else None


def _reads_settings(test: cst.CSTNode) -> bool:
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return _reads_settings(inner)
        case cst.BooleanOperation(left=left, right=right):
            return _reads_settings(left) or _reads_settings(right)
    return _place_read(test) is not None


def _decided(root: cst.CSTNode, test: cst.CSTNode, truth: Callable[[cst.CSTNode], bool | None]) -> bool | None:
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            known = _decided(root, inner, truth)
            return None if known is None else not known
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            is_any = isinstance(operator, cst.Or)
            parts = [_decided(root, each, truth) for each in (left, right)]
            return is_any if is_any in parts else None if None in parts else not is_any
    known = truth(test)
    return _last_set(root, test) if known is None else known


def _last_set(root: cst.CSTNode, test: cst.CSTNode) -> bool | None:
    """The constant that a setting has where it is tested, if a statement before it, on every way, has set it to one."""
    place = _place_read(test)
    if place is None or place not in _set_to_constants(root):
        return None
    for outer, inner in reversed(list(inwards(root, test))):
        if isinstance(outer, (cst.FunctionDef, cst.Lambda)) and outer is not root:
            return None
        if isinstance(outer, _OPEN) and _may_set(outer, place):
            return None
        if not isinstance(outer, (cst.IndentedBlock, cst.Module)):
            continue
        start = next(index for index, each in enumerate(outer.body) if each is inner)
        for statement in reversed(outer.body[:start]):
            known = _set_by(statement, place)
            if known is not None or _may_set(statement, place):
                return known
    return None


def _set_by(statement: cst.CSTNode, place: _Place) -> bool | None:
    match statement:
        case cst.SimpleStatementLine(body=[small]):
            found = _place_set(small)
            return found[1] if found is not None and found[0] == place else None
    return None


def _may_set(code: cst.CSTNode, place: _Place) -> bool:
    """Whether code may set a setting: it sets one of that object otherwise, or hands on the object, or gives it up."""
    return any(name.value == place[0] and not _is_harmless(code, name, place) for name in of_class(code, cst.Name))


def _is_harmless(code: cst.CSTNode, name: cst.Name, place: _Place) -> bool:
    """Whether a use of the object's name leaves the setting as it is: it reads or sets another one, or reads any."""
    chain: cst.CSTNode = name
    for outer in reversed(ancestors(code, name)):
        match outer:
            case cst.Attribute(value=value) | cst.Subscript(value=value) if value is chain:
                chain = outer
            case cst.Attribute() | cst.Arg() if chain is name:
                return isinstance(outer, cst.Attribute) or outer.keyword is name  # only another thing of this name
            case cst.Call(func=func) if func is chain:
                return _reads_or_sets_another(outer, place)
            case cst.AssignTarget() | cst.AnnAssign() | cst.AugAssign() | cst.Del() | cst.For() | cst.Element():
                found = _path(chain)
                return chain is not name and found is not None and place[: len(found)] != found
            case _:
                return chain is not name
    return chain is not name


def _reads_or_sets_another(call: cst.Call, place: _Place) -> bool:
    if _place_read(call) is not None:
        return True
    found = _place_set(cst.Expr(call))
    return found is not None and found[0] != place


@tree_cache(64)
def _set_to_constants(root: cst.CSTNode) -> frozenset[_Place]:
    """The settings that statements of a function, or a module, set to constants."""
    smalls = (*of_class(root, cst.Assign), *of_class(root, cst.Expr))
    return frozenset(found[0] for each in smalls if (found := _place_set(each)) is not None)


def _place_set(statement: cst.CSTNode) -> tuple[_Place, bool] | None:
    """The setting that a statement sets to a constant, and whether that counts as true."""
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target)], value=cst.Name(constant)) if constant in _CONSTANTS:
            place = _path(target)
            return None if place is None or len(place) == 1 else (place, _CONSTANTS[constant])
        case cst.Expr(cst.Call(cst.Attribute(owner, cst.Name(method)), [*keys, cst.Arg(cst.Name(constant))])) if (
            constant in _CONSTANTS and method == _SETS and keys
        ):
            place = _with_keys(_path(owner), keys)
            return None if place is None else (place, _CONSTANTS[constant])
    return None


def _place_read(node: cst.CSTNode) -> _Place | None:
    """The setting that an expression reads: `args.use`, `config["use"]`, `config.getboolean("distributed", "use")`."""
    match node:
        case cst.Attribute() | cst.Subscript():
            return _path(node)
        case cst.Call(cst.Attribute(owner, cst.Name(method)), [_, *_] as keys) if method.startswith(_GETS):
            return _with_keys(_path(owner), keys)
    return None


def _with_keys(owner: _Place | None, keys: Sequence[cst.Arg]) -> _Place | None:
    names = [each.value.raw_value for each in keys if isinstance(each.value, cst.SimpleString) and not each.star]
    return (*owner, *names) if owner is not None and len(names) == len(keys) else None


def _path(node: cst.CSTNode) -> _Place | None:
    """The names and keys by which something is reached; None if one of them is not written out."""
    match node:
        case cst.Name(name) if name != "self":
            return (name,)
        case cst.Attribute(value, cst.Name(name)):
            owner = _path(value)
        case cst.Subscript(value, [cst.SubscriptElement(cst.Index(cst.SimpleString() as text))]):
            owner, name = _path(value), text.raw_value
        case _:
            return None
    return None if owner is None else (*owner, name)
