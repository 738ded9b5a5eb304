"""The tree of a text that was changed in a place or two: unchanged functions keep their nodes.

    def f(x):                    def f(x):
        return g(x)                  return g(x)        its nodes are those of the old tree

    def g(x):            ->      def g(x):
    return x                     return x + 1       parsed again

Parsing all of a large file takes too long for a keystroke; trees never change, so they can share nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import TypeAlias, TypeVar

import libcst as cst

from trl_lint.analysis.program.project.nesting import TooDeep
from trl_lint.analysis.program.project.partial_trees import (
    PARTS,
    WaitingBlock,
    around,
    bodies,
    functions_of,
    is_whole,
    partly_parsed,
)
from trl_lint.analysis.program.project.project import DecodeError, Module, decode
from trl_lint.analysis.program.syntax import of_class

_Statement = TypeVar("_Statement", bound=cst.CSTNode)
# What a body was parsed from: its text, and the file's default indentation.
_Read: TypeAlias = tuple[str, str]


def reparsed(text: str, before: cst.Module | None) -> cst.Module | None:
    """The tree of a text, with the nodes of an earlier one for every function whose text is the same.

    None if the text has to be parsed as a whole, for the tree or for its syntax error.
    """
    try:
        tree = partly_parsed(text)
    except (TooDeep, cst.ParserSyntaxError, cst.CSTValidationError):
        return None
    known: dict[_Read, list[WaitingBlock]] = {}
    for block in _blocks(before) if before is not None else ():
        known.setdefault(_read_of(block), []).append(block)
    for block in _blocks(tree):
        same = known.get(_read_of(block))
        if same:  # each only once, as a tree may not contain a node twice
            block.share_statements(same.pop())
    return tree if is_whole(tree) else None


def _blocks(tree: cst.Module) -> Iterator[WaitingBlock]:
    for function in functions_of(tree.body):
        body = function.body
        if isinstance(body, WaitingBlock):
            yield body


def _read_of(block: WaitingBlock) -> _Read:
    return block.text, block.default_indent


@dataclass(frozen=True)
class ChangedBody:
    """A module in which only the body of one function was changed.

    Attributes:
        function: The old function.
        new: The new function.
        tree: The tree of the new text, which shares all nodes with the old one except the function and those around it.
        replacements: For each of these, by the id of the old node, the new node.
    """

    function: cst.FunctionDef
    new: cst.FunctionDef
    tree: cst.Module
    replacements: Mapping[int, cst.CSTNode]

    @classmethod
    def between(cls, module: Module, source: bytes) -> ChangedBody | None:
        """The change from a module to another text; None if it is more than one body, or that can't be parsed."""
        try:
            old, new = module.text, decode(source)[0]
        except DecodeError:
            return None
        span = _changed_body(old, new)
        if span is None:
            return None
        start, end, new_end = span
        matching = [each for each in functions_of(module.tree.body) if _text_of(each) == old[start:end]]
        if len(matching) != 1 or not isinstance(matching[0].body, WaitingBlock):
            return None
        before = matching[0].body
        block = WaitingBlock.at(before, new[start:new_end], before.default_indent)
        if not block.is_readable():
            return None
        block.set_statements(with_old_nodes(before.body, block.body))
        return cls._with(module.tree, matching[0], matching[0].with_changes(body=block))

    def keeps_writes(self) -> bool:
        """Whether the function still writes everything it wrote into containers, as far as its changed lines show.

        New lines may call something, as additional writes are visible in the containers.
        """
        before, after = (_lines(each) for each in (self.function, self.new))
        removed = [line for name, line in before.items() if name not in after]
        added = [line for name, line in after.items() if name not in before]
        if any(of_class(line, cst.Call) for line in removed) or not all(map(_only_reads_or_binds, (*removed, *added))):
            return False
        names = {each.value for line in before.values() for each in of_class(line, cst.Name)}
        return _bound(removed) == _bound(added) & names

    @classmethod
    def _with(cls, tree: cst.Module, old: cst.FunctionDef, new: cst.FunctionDef) -> ChangedBody:
        """A tree in which one function is replaced, with new nodes around it."""
        replacements: dict[int, cst.CSTNode] = {id(old): new}
        child: cst.CSTNode = old
        for parent in reversed(list(around(tree, old))):
            replacements[id(parent)] = _with_replaced(parent, child, replacements[id(child)])
            child = parent
        changed = replacements[id(tree)]
        assert isinstance(changed, cst.Module)
        return cls(old, new, changed, replacements)


def _with_replaced(parent: cst.CSTNode, child: cst.CSTNode, new: cst.CSTNode) -> cst.CSTNode:
    """A node with one of its parts replaced."""
    for name in PARTS:
        part = getattr(parent, name, None)
        if part is child:
            return parent.with_changes(**{name: new})
        if isinstance(part, Sequence) and any(each is child for each in part):
            return parent.with_changes(**{name: [new if each is child else each for each in part]})
    raise AssertionError("it is no part of it")


def with_old_nodes(old: Sequence[_Statement], new: Sequence[_Statement]) -> list[_Statement]:
    """The statements of a new text, with the old nodes wherever the text is unchanged."""
    head = _in_common(old, new)
    tail = _in_common(old[head:][::-1], new[head:][::-1])
    middle = new[head : len(new) - tail]
    if len(middle) == 1 == len(old) - head - tail:
        middle = [_merged(old[head], middle[0])]
    return [*old[:head], *middle, *old[len(old) - tail :]]


def _in_common(one: Sequence[_Statement], other: Sequence[_Statement]) -> int:
    """How many statements at the start of two sequences are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if not _equal(a, b)), min(len(one), len(other)))


def _merged(old: _Statement, new: _Statement) -> _Statement:
    """A compound statement with a change somewhere inside, with the old nodes around the change."""
    if type(old) is not type(new):
        return new
    changes: dict[str, object] = {}
    for name in PARTS:
        one, other = getattr(old, name, None), getattr(new, name, None)
        if isinstance(one, cst.IndentedBlock) and isinstance(other, cst.IndentedBlock):
            changes[name] = one.with_changes(body=with_old_nodes(one.body, other.body), footer=other.footer)
        elif isinstance(one, cst.CSTNode) and isinstance(other, cst.CSTNode):
            changes[name] = one if _equal(one, other) else _merged(one, other)
    merged = old.with_changes(**changes) if changes else new
    return merged if _equal(merged, new) else new


def _equal(one: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether two nodes are the same code: a faster `CSTNode.deep_equals`."""
    todo: list[tuple[object, object]] = [(one, other)]
    while todo:
        a, b = todo.pop()
        if a is b:
            continue
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            if len(a) != len(b):
                return False
            todo += zip(a, b, strict=True)
        elif type(a) is not type(b):
            return False
        elif isinstance(a, cst.CSTNode):
            todo += [(getattr(a, name), getattr(b, name)) for name in _parts(type(a))]
        elif a != b:
            return False
    return True


@cache
def _parts(node_class: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(node_class))


def _lines(function: cst.FunctionDef) -> dict[int, cst.SimpleStatementLine]:
    """The lines of a function, by their ids."""
    return {id(line): line for line in of_class(function, cst.SimpleStatementLine)}


def _only_reads_or_binds(line: cst.SimpleStatementLine) -> bool:
    """Whether a line only reads something, or binds names."""
    return all(isinstance(each, (cst.Expr, cst.Pass)) or _names_bound(each) is not None for each in line.body)


def _bound(lines: Iterable[cst.SimpleStatementLine]) -> set[str]:
    return {name for line in lines for each in line.body for name in _names_bound(each) or ()}


def _names_bound(statement: cst.BaseSmallStatement) -> list[str] | None:
    """The names that an assignment to names binds; None for any other statement."""
    if not isinstance(statement, cst.Assign):
        return None
    targets = [each.target for each in statement.targets]
    names = [each.value for each in targets if isinstance(each, cst.Name)]
    return names if len(names) == len(targets) else None


def _text_of(function: cst.FunctionDef) -> str | None:
    return function.body.text if isinstance(function.body, WaitingBlock) else None


def _changed_body(old: str, new: str) -> tuple[int, int, int] | None:
    """The body that contains a whole change: its start, and its end in the old and in the new text."""
    longer = len(new) - len(old)
    before, after = bodies(old), bodies(new)
    if len(before) != len(after):
        return None
    changed = [index for index, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
    index = changed[0] if changed else -1
    if not changed:  # the body has kept its length: compare the texts to find it
        index = next((i for i, (start, end) in enumerate(before) if old[start:end] != new[start:end]), -1)
    if index < 0:
        return None
    (start, end), (new_start, new_end) = before[index], after[index]
    shifted = [(first + longer, last + longer) for first, last in before[index + 1 :]]
    if start != new_start or new_end != end + longer or shifted != after[index + 1 :]:
        return None
    return (start, end, new_end) if old[:start] == new[:start] and old[end:] == new[new_end:] else None
