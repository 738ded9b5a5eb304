"""Files that a function reads and parts of which it uses unchanged, and which words say where a file is.

    checkpoint = torch.load(os.path.join(args.out, "last.pt"))
    model.load_state_dict(checkpoint["model"])      keys=("model",), words={"out", "last.pt"}

Nothing is known of what something else gets as well: `strip(checkpoint)`, `for name in checkpoint["model"]: …`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import libcst as cst

from trl_lint.analysis.program.syntax import (
    LOOPS,
    ancestors,
    assignments,
    children,
    holder_name,
    is_literal_none,
    last_name,
    of_class,
    precedes,
)
from trl_lint.knowledge.heuristics import COUNTER, SETTINGS_OBJECT
from trl_lint.knowledge.torch import KEEP_NAMES

Asks: TypeAlias = "Callable[[cst.Call], bool]"

_TAKE = frozenset({"get", "pop"})
# Names that say nothing of where a file is.
_SAY_NOTHING = frozenset({"Path", "PurePath", "format", "path", "pathlib"})
_NO_PLACES = frozenset({"os", "osp", "pathlib", "self", "torch"})
# Between a name and the scope that binds it.
_BOUND_BY = "@"
# What uses a value and leaves it as it is.
_LEAVE_AS_IS = (
    cst.Assign,
    cst.AssignTarget,
    cst.Attribute,
    cst.AugAssign,
    cst.BinaryOperation,
    cst.Comparison,
    cst.ComparisonTarget,
    cst.Del,
    cst.FormattedStringExpression,
)
# How many names are followed to what they are assigned.
_FOLLOWED = 12


class ReadPart(NamedTuple):
    """A part of a file: the call that reads it, the keys of the part, and the words that say where the file is."""

    call: cst.Call
    keys: tuple[str, ...]
    words: frozenset[str]


def read_part(
    scopes: Sequence[cst.CSTNode],
    node: cst.BaseExpression,
    reads: Asks,
    followed: frozenset[str] = frozenset(),
    wanted: str = "",
) -> ReadPart | None:
    """The part of a file that an expression in a function is; None if it is something else, or may be changed.

    scopes: the function, those around it, and the module. reads: whether a call reads a file, whose path is its first
    argument. followed: the names that lead here; one that is assigned a part of itself (`state = state["model"]`) is
    the whole or the part. wanted: the key of what is taken from it here; what is done with others does not matter.
    """
    root, taken = scopes[0], _taken_from(node)
    if taken is not None:
        owner, key = taken
        found = read_part(scopes, owner, reads, followed, key)
        return None if found is None else found._replace(keys=(*found.keys, key))
    match node:
        case cst.Call(args=[path, *_]) if reads(node):
            return ReadPart(node, (), words_of(scopes, path.value))
        case cst.Name(name) if name not in followed:
            given = (
                value for target, value in assignments(root) if isinstance(target, cst.Name) and target.value == name
            )
            values = [each for each in given if not is_literal_none(each) and not _is_given_later(root, node, each)]
            parts = [read_part(scopes, value, reads, followed | {name}) for value in values]
            first = parts[0] if parts else None
            are_alike = all(each is not None and first is not None and each[1:] == first[1:] for each in parts)
            return first if are_alike and _is_only_read(root, name, wanted) else None
    return None


def _is_given_later(root: cst.CSTNode, node: cst.CSTNode, value: cst.CSTNode) -> bool:
    """Whether a name has a value only after a place: `state = torch.load(…)`, and what is saved as `state` at last."""
    around = [each for each in ancestors(root, node) if isinstance(each, LOOPS)]
    in_one_loop = any(each in around for each in ancestors(root, value) if isinstance(each, LOOPS))
    return precedes(root, node, value) and not in_one_loop


def keys_taken(root: cst.CSTNode, read: cst.Call) -> frozenset[str]:
    """The keys of all parts that a function takes of what a call in it reads."""
    names = {target.value for target, value in assignments(root) if value is read and isinstance(target, cst.Name)}
    nodes: tuple[cst.CSTNode, ...] = (*of_class(root, cst.Subscript), *of_class(root, cst.Call))
    parts = [part for part in map(_taken_from, nodes) if part is not None]
    return frozenset(key for owner, key in parts if isinstance(owner, cst.Name) and owner.value in names)


def _taken_from(node: cst.CSTNode) -> tuple[cst.BaseExpression, str] | None:
    """What an item is taken from, and its key: `state["model"]`, `state.pop("model")`."""
    match node:
        case cst.Subscript(value=owner, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]):
            return owner, str(key.evaluated_value)
        case cst.Call(
            func=cst.Attribute(value=owner, attr=cst.Name(method)), args=[cst.Arg(value=cst.SimpleString() as key), *_]
        ) if method in _TAKE:
            return owner, str(key.evaluated_value)
    return None


def _is_only_read(root: cst.CSTNode, name: str, wanted: str) -> bool:
    """Whether all that a function does with a name is to take items, and to pass it to what leaves it as it is."""
    used = (each for each in of_class(root, cst.Name) if each.value == name)
    return all(_is_read(root, each) or _is_of_another(root, each, wanted) for each in used)


def _is_of_another(root: cst.CSTNode, node: cst.CSTNode, wanted: str) -> bool:
    """Whether a place takes, or changes, an item with another key than the wanted one: `int(state["epoch"])`."""
    taken = filter(None, map(_taken_from, ancestors(root, node)[-2:]))
    return bool(wanted) and any(owner is node and key != wanted for owner, key in taken)


def _is_read(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a place where something is used leaves it as it is, and its items."""
    *_, outer, parent = (None, None, *ancestors(root, node))
    match parent:
        case cst.Arg(keyword=keyword):
            return keyword is node or (isinstance(outer, cst.Call) and last_name(outer.func) in KEEP_NAMES)
        case cst.Subscript(value=owner) if owner is node:
            is_changed = isinstance(outer, (cst.AssignTarget, cst.AugAssign, cst.Del))
            return not is_changed and _taken_from(parent) is not None and _is_read(root, parent)
        case cst.Attribute(value=owner) if owner is node:
            return outer is not None and _taken_from(outer) is not None and _is_read(root, outer)
        case cst.Element() if isinstance(outer, cst.Tuple):  # `step, best = state["step"], state["best"]`
            return _is_read(root, outer)
    return isinstance(parent, _LEAVE_AS_IS)


def words_of(scopes: Sequence[cst.CSTNode], node: cst.BaseExpression) -> frozenset[str]:
    """The words by which code says where a file is: names, what they are assigned, attributes, and names of files.

    scopes: the function of the code, those around it, and the module. A name is marked with the one that binds it.
    """
    found: set[str] = set()
    todo: list[cst.BaseExpression] = [node]
    for expression in todo:
        new = {each for each in _words_in(scopes, expression) if each not in found}
        found |= new
        bound = (_bound(each, scopes) for each in sorted(new))
        todo += [value for value in bound if value is not None][: _FOLLOWED - len(todo)]
    return frozenset(each for each in found if not any(guess.fits(plain(each)) for guess in (COUNTER, SETTINGS_OBJECT)))


def plain(word: str) -> str:
    """A word as it is written."""
    return word.partition(_BOUND_BY)[0]


def _bound(word: str, scopes: Sequence[cst.CSTNode]) -> cst.BaseExpression | None:
    """What a name is assigned, or what a loop takes it from."""
    name, _, binder = word.partition(_BOUND_BY)
    scope = next((each for each in scopes if str(id(each)) == binder), None)
    if scope is None:
        return None
    loops = (each for each in of_class(scope, cst.For) if isinstance(each.target, cst.Name))
    loop = next((each for each in loops if cst.ensure_type(each.target, cst.Name).value == name), None)
    return _assigned(scope, name) if loop is None else loop.iter


def _assigned(scope: cst.CSTNode, name: str) -> cst.BaseExpression | None:
    """The one thing that a name is assigned besides None, which says of no file where it is: `last = None`."""
    given = [value for target, value in assignments(scope) if holder_name(target) == name]
    places = [each for each in given if not is_literal_none(each)]
    return places[0] if len(places) == 1 else None


def _marked(scopes: Sequence[cst.CSTNode], name: str) -> str:
    """A name with the scope that binds it."""
    scope = next((each for each in scopes if _binds(each, name)), scopes[-1])
    return f"{name}{_BOUND_BY}{id(scope)}"


def _binds(scope: cst.CSTNode, name: str) -> bool:
    parameters = (each.name.value for each in of_class(scope, cst.Param))
    loops = (each.target for each in of_class(scope, cst.For))
    targets = (*(target for target, _ in assignments(scope)), *loops)
    return name in parameters or any(isinstance(each, cst.Name) and each.value == name for each in targets)


def _words_in(scopes: Sequence[cst.CSTNode], node: cst.CSTNode) -> Iterator[str]:
    match node:
        case cst.Name(name):
            yield from () if name in _NO_PLACES else (_marked(scopes, name),)
        case cst.Attribute(value=owner, attr=cst.Name(name)):
            yield from () if name in _SAY_NOTHING else (name,)
            if not isinstance(owner, (cst.Attribute, cst.Name)):
                yield from _words_in(scopes, owner)
        case cst.SimpleString():
            text = str(node.evaluated_value).rpartition("/")[2]
            yield from (text,) if "." in text.strip(".") else ()
        case cst.Call(func=func, args=args):
            if isinstance(func, cst.Attribute):
                yield from _words_in(scopes, func.value)
            for each in args:
                yield from _words_in(scopes, each.value)
        case _:
            for child in children(node):
                yield from _words_in(scopes, child)
