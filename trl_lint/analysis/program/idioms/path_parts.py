"""The path that an expression is, in parts: texts as they are, and names and other code as they are written.

    os.path.join(args.out, "best.pt")      args.out  /best.pt
    folder / f"step_{step}.pt"             args.out  /step_  step  .pt    with `folder = Path(args.out)`
    last if args.resume else first         two paths

Two paths are the same if their parts are, as long as no name in them is bound again in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import libcst as cst

from trl_lint.analysis.program.syntax import (
    assigned_once,
    assignments,
    holder_name,
    last_name,
    loop_targets,
    names_in,
    of_class,
    precedes,
    value_names,
)
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.knowledge.file_reads import KEEP_PATHS, KEEP_PATHS_AS_METHODS

# How many names are followed to what they are assigned, and how many paths one expression may be.
_FOLLOWED = 5
_MOST_PATHS = 4


@dataclass(frozen=True, slots=True)
class Named:
    """A part of a path that only the run knows: its code, and the name at the beginning of it."""

    code: str
    base: str


Part: TypeAlias = "str | Named"
Path: TypeAlias = "tuple[Part, ...]"
Code: TypeAlias = "Callable[[cst.CSTNode], str]"


def paths_of(root: cst.CSTNode, node: cst.BaseExpression, code: Code) -> tuple[Path, ...]:
    """The paths that an expression in a function or module may be. code: gives the text of a node."""
    return tuple(map(_joined, list(_paths(root, node, code, _FOLLOWED))[:_MOST_PATHS]))


def _paths(root: cst.CSTNode, node: cst.BaseExpression, code: Code, depth: int) -> Iterator[Path]:
    match node:
        case cst.SimpleString():
            text = node.evaluated_value
            yield (text if isinstance(text, str) else "",)
        case cst.IfExp(body=body, orelse=orelse):
            yield from _paths(root, body, code, depth)
            yield from _paths(root, orelse, code, depth)
        case cst.Name() if depth and (value := _assigned(root, node)) is not None:
            yield from _paths(root, value, code, depth - 1)
        case _ if depth and (given := _given(node)) is not None:
            between, operands = given
            yield from _combined(root, operands, between, code, depth - 1)
        case _:
            yield _named(root, node, code)


def _assigned(root: cst.CSTNode, node: cst.Name) -> cst.BaseExpression | None:
    """The path that a name is assigned before it is used, if nothing else binds it."""
    value = _value_of(root, node.value)
    if value is None or not _makes_path(value) or not precedes(root, value, node):
        return None
    others = {each.value for each in value_names(value)} | loop_targets(root)
    parameters = (each.name.value for each in of_class(root, cst.Param))
    return None if node.value in others or node.value in parameters else value


def _value_of(root: cst.CSTNode, name: str) -> cst.BaseExpression | None:
    """What a name is assigned, if only once; no attribute of it is assigned either."""
    value = assigned_once(root, name)
    if value is None:
        return None
    targets = [target for target, given in assignments(root) if given is value and holder_name(target) == name]
    return value if all(isinstance(each, cst.Name) for each in targets) else None


def _makes_path(value: cst.BaseExpression) -> bool:
    """Whether a value is the same path wherever its code is the same, unlike what a call of unknown code returns."""
    match value:
        case cst.Attribute() | cst.IfExp() | cst.Name() | cst.SimpleString():
            return True
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString()))]):
            return True
    return _given(value) is not None


def _given(node: cst.BaseExpression) -> tuple[str, list[cst.BaseExpression]] | None:
    """What a path is put together from, and what stands between the parts."""
    match node:
        case cst.FormattedString(parts=parts):
            return "", [_expression(each) for each in parts]
        case cst.BinaryOperation(left=left, operator=cst.Divide() | cst.Add() as operator, right=right):
            return "/" if isinstance(operator, cst.Divide) else "", [left, right]
        case cst.Call(func=func, args=args) if any(each.star or each.keyword for each in args):
            return None
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name("join"))) if last_name(owner) in ("path", "osp"):
            return "/", [each.value for each in node.args]
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name("joinpath"))):
            return "/", [owner, *(each.value for each in node.args)]
        case cst.Call(func=func, args=[_, *_]) if last_name(func) in KEEP_PATHS:
            return "/", [each.value for each in node.args]
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name)), args=[]) if name in KEEP_PATHS_AS_METHODS:
            return "/", [owner]
    return None


def _expression(part: cst.BaseFormattedStringContent) -> cst.BaseExpression:
    """A part of an f-string as an expression; one with a format is what it is with it."""
    if isinstance(part, cst.FormattedStringText):
        return cst.SimpleString(repr(part.value))
    held = cst.ensure_type(part, cst.FormattedStringExpression)
    return held.expression if held.format_spec is None else cst.FormattedString([held])


def _combined(
    root: cst.CSTNode, operands: list[cst.BaseExpression], between: str, code: Code, depth: int
) -> Iterator[Path]:
    found: list[Path] = [()]
    for place, each in enumerate(operands):
        gap = (between,) if place and between else ()
        ways = _of_operand(root, each, code, depth)
        found = [(*path, *gap, *way) for path in found for way in ways][:_MOST_PATHS]
    yield from found


def _of_operand(root: cst.CSTNode, node: cst.BaseExpression, code: Code, depth: int) -> list[Path]:
    if isinstance(node, cst.FormattedString) and len(node.parts) == 1:
        held = node.parts[0]
        if isinstance(held, cst.FormattedStringExpression) and held.format_spec is not None:
            return [(Named(f"{code(held.expression)}:{_spec(held)}", _base(held.expression)),)]
    return list(_paths(root, node, code, depth))


def _spec(held: cst.FormattedStringExpression) -> str:
    return "".join(each.value for each in held.format_spec or () if isinstance(each, cst.FormattedStringText))


def _named(root: cst.CSTNode, node: cst.BaseExpression, code: Code) -> Path:
    """A part that only the run knows; `settings["path"]` is the same as what `settings` was taken from with it."""
    text, base = code(node), _base(node)
    value = None if isinstance(node, cst.Name) else _value_of(root, base)
    if isinstance(value, (cst.Attribute, cst.Name, cst.Subscript)) and _base(value) != base and text.startswith(base):
        return (Named(code(value) + text.removeprefix(base), _base(value)),)
    return (Named(text, base),)


def _base(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Call):
        return _base(node.func)
    return holder_name(node) or next(iter(sorted(names_in(node))), "")


def _joined(path: Path) -> Path:
    """A path whose neighbouring texts are one, without repeated separators."""
    found: list[Part] = []
    for part in path:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif part:
            found.append(part)
    texts = [_without_repeated(each) if isinstance(each, str) else each for each in found]
    if texts and isinstance(texts[-1], str):
        texts[-1] = texts[-1].rstrip("/")
    if texts and isinstance(texts[0], str):
        texts[0] = texts[0].removeprefix("./")
    return tuple(each for each in texts if each)


def _without_repeated(text: str) -> str:
    while "//" in text:
        text = text.replace("//", "/")
    return text


def replaced(path: Path, given: Mapping[str, tuple[Path, ...]]) -> Path | None:
    """A path of a callee as its caller sees it; None if it is made of what the caller does not know.

    given: for each parameter, the paths that it may be, of which there must be one.
    """
    found: list[Part] = []
    for part in path:
        if isinstance(part, str):
            found.append(part)
            continue
        passed = given.get(part.base, ())
        if len(passed) != 1 or not part.code.startswith(part.base):
            return None
        rest = part.code.removeprefix(part.base)
        if not rest:
            found += passed[0]
        elif len(passed[0]) == 1 and isinstance(own := passed[0][0], Named) and rest[:1] in (".", ":", "["):
            found.append(Named(own.code + rest, own.base))
        else:
            return None
    return _joined(tuple(found))


def is_within(path: Path, folder: Path) -> bool:
    """Whether a path is below a folder."""
    size = len(folder)
    if not size or len(path) < size or path[: size - 1] != folder[:-1]:
        return False
    last, same = path[size - 1], folder[-1]
    if isinstance(last, str) and isinstance(same, str):
        return last.startswith(f"{same}/") or (last == same and _starts_below(path[size:]))
    return last == same and _starts_below(path[size:])


def _starts_below(rest: Path) -> bool:
    return bool(rest) and isinstance(rest[0], str) and rest[0].startswith("/")


def is_bound_between(root: cst.CSTNode, path: Path, first: cst.CSTNode, second: cst.CSTNode) -> bool:
    """Whether a name in a path is bound again between two places of a function or module."""
    named = {each.base for each in path if isinstance(each, Named)}
    targets = [target for name, target in _targets(root) if name in named]
    return any(precedes(root, first, each) and precedes(root, each, second) for each in targets)


@tree_cache(64)
def _targets(root: cst.CSTNode) -> tuple[tuple[str, cst.CSTNode], ...]:
    """The names in what assignments and loops bind."""
    bound: list[cst.CSTNode] = [each.target for each in of_class(root, cst.AssignTarget)]
    bound += [each.target for each in of_class(root, cst.AnnAssign)]
    bound += [each.target for each in of_class(root, cst.AugAssign)]
    bound += [each.target for each in of_class(root, cst.For)]
    bound += [each.target for each in of_class(root, cst.NamedExpr)]
    return tuple((name.value, name) for target in bound for name in of_class(target, cst.Name))
