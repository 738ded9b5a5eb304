"""The nodes below and around a node of a LibCST tree, without white space and punctuation.

`node.children` has a visitor rewrite the node, and most of what it finds is white space: walking a tree with it takes
as long as parsing the text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import pairwise, takewhile
from operator import attrgetter
from typing import NamedTuple, TypeAlias, TypeVar

import libcst as cst

from trl_lint.analysis.program.tree_caches import tree_cache

# Prefixes of the names of fields that hold no code.
PUNCTUATION = (
    *("asynchronous", "colon", "comma", "dot", "equal", "first_colon", "first_line", "footer", "header"),
    *("lbrace", "lbracket", "leading", "lines_after", "lpar", "newline", "posonly_ind", "rbrace", "rbracket"),
    *("relative", "rpar", "second_colon", "semicolon", "trailing", "whitespace"),
)

LOOPS: tuple[type[cst.For | cst.While], ...] = (cst.For, cst.While)

_Node = TypeVar("_Node", bound=cst.CSTNode)
_Part: TypeAlias = cst.CSTNode | Sequence[cst.CSTNode]

# By class, a getter of the fields that may hold code; None if there are none.
_parts: dict[type[cst.CSTNode], Callable[[cst.CSTNode], tuple[_Part, ...]] | None] = {}


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes directly below a node, in the order of the text."""
    kind = type(node)
    parts = _parts[kind] if kind in _parts else _parts.setdefault(kind, _parts_of(node))
    if parts is None:
        return []
    found: list[cst.CSTNode] = []
    for value in parts(node):
        if value.__class__ in _SEQUENCES:
            found += value
        elif value.__class__ not in _NO_NODES:
            found.append(value)  # type: ignore[arg-type]
    return found


def below(root: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all below it, in the order of the text."""
    return iter(_walked(root).nodes) if root.__class__ in _DEFINITIONS else _nodes_below(root)


def _nodes_below(root: cst.CSTNode) -> Iterator[cst.CSTNode]:
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        found = children(node)
        found.reverse()
        todo += found


def of_class(root: cst.CSTNode, kind: type[_Node]) -> Sequence[_Node]:
    """The nodes of one class among a node and all below it, in the order of the text.

    Several queries on one piece of code share one walk through it.
    """
    return _walked(root).by_class.get(kind, ())  # type: ignore[return-value]


class _Walked(NamedTuple):
    """A node and all below it, in the order of the text: each node, the one that it is in, and the nodes by class."""

    nodes: list[cst.CSTNode]
    parents: list[cst.CSTNode]  # the first node is in itself
    by_class: Mapping[type[cst.CSTNode], list[cst.CSTNode]]


def _walked(root: cst.CSTNode) -> _Walked:
    return _definition(root) if root.__class__ in _DEFINITIONS else _piece(root)


def _walk(root: cst.CSTNode) -> _Walked:
    nodes: list[cst.CSTNode] = []
    parents: list[cst.CSTNode] = []
    by_class: dict[type[cst.CSTNode], list[cst.CSTNode]] = defaultdict(list)
    todo, around = [root], [root]
    while todo:
        node, parent = todo.pop(), around.pop()
        kind = type(node)
        if kind in _NESTED and node is not root:
            inner = _definition(node)
            nodes += inner.nodes
            parents += (parent, *inner.parents[1:])
            for each, found in inner.by_class.items():
                by_class[each] += found
            continue
        nodes.append(node)
        parents.append(parent)
        by_class[kind].append(node)
        if parts := children(node):
            parts.reverse()
            todo += parts
            around += [node] * len(parts)
    return _Walked(nodes, parents, by_class)


# Trees are never changed. The many small pieces that are queried must not evict whole functions from the cache.
_NESTED = frozenset({cst.ClassDef, cst.FunctionDef})
_DEFINITIONS = frozenset({*_NESTED, cst.Module})
_definition = tree_cache(1024)(_walk)
_piece = tree_cache(4096)(_walk)


def ancestors(root: cst.CSTNode, node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    """The nodes around `node`, from `root` inwards; empty when it is not below the root."""
    parents = _parents(root)
    around: list[cst.CSTNode] = []
    while node is not root:
        parent = parents.get(id(node))
        if parent is None:
            return ()
        around.append(parent)
        node = parent
    return tuple(reversed(around))


def inwards(root: cst.CSTNode, node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """The nodes around `node`, from `root` inwards, each with the node directly in it that leads to `node`."""
    return pairwise((*ancestors(root, node), node))


def innermost(root: cst.CSTNode, node: cst.CSTNode, *kinds: type[_Node]) -> _Node | None:
    """The innermost node of these classes around a node."""
    return next((each for each in reversed(ancestors(root, node)) if isinstance(each, kinds)), None)


def precedes(root: cst.CSTNode, node: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether a node comes before another one in the text, and is not around it. Both are below the root."""
    places = _places(root)
    mine, theirs = places.get(id(node)), places.get(id(other))
    return mine is not None and theirs is not None and mine[1] <= theirs[0]


@tree_cache(64)
def _places(root: cst.CSTNode) -> dict[int, tuple[int, int]]:
    """The numbers of the nodes in the order of the text, from that of each node to that of the first one after it."""
    after: dict[int, int] = {}
    found: dict[int, tuple[int, int]] = {}
    nodes, parents, _ = _walked(root)
    for number in range(len(nodes) - 1, -1, -1):
        key = id(nodes[number])
        found[key] = number, after.get(key, number + 1)
        after.setdefault(id(parents[number]), found[key][1])
    return found


# Queried once per finding, on trees that are never changed. Keyed by id, because LibCST's hash needs a call.
@tree_cache(64)
def _parents(root: cst.CSTNode) -> dict[int, cst.CSTNode]:
    nodes, parents, _ = _walked(root)
    return dict(zip(map(id, reversed(nodes)), reversed(parents), strict=True))


def definitions_around(root: cst.CSTNode, node: cst.CSTNode) -> list[cst.ClassDef | cst.FunctionDef]:
    """The classes and functions around a node, from the outermost inwards, and last the node itself if it is one."""
    around = (*ancestors(root, node), node)
    return [each for each in around if each.__class__ in _NESTED]  # type: ignore[misc]


def last_name(node: cst.CSTNode | None) -> str:
    """The last part of a dotted expression: its attribute, or the name itself."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def heading(node: cst.CSTNode) -> cst.CSTNode | None:
    """The node that a finding at a statement points at: for a statement with a block, the last part before the block.

    That is the test of an `if`, for example. A statement without a block is returned as it is. None if there is only a
    keyword before the block (`try:`).
    """
    if not isinstance(node, (*_WITH_BLOCKS, cst.Match)):
        return node
    if isinstance(node, (cst.ClassDef, cst.FunctionDef)):
        return node.name
    parts = takewhile(lambda part: not isinstance(part, (cst.BaseSuite, cst.MatchCase)), children(node))
    return next(reversed(list(parts)), None)


_WITH_BLOCKS = (cst.BaseCompoundStatement, cst.Else, cst.ExceptHandler, cst.ExceptStarHandler, cst.Finally)


# By class, because `isinstance` takes ten times as long for LibCST nodes.
_SEQUENCES = frozenset({list, tuple})
_NO_NODES = frozenset({bool, int, str, cst.MaybeSentinel, type(None)})


def _parts_of(node: cst.CSTNode) -> Callable[[cst.CSTNode], tuple[_Part, ...]] | None:
    names = _in_text_order(node)
    if len(names) == 1:
        only = attrgetter(names[0])
        return lambda node: (only(node),)
    return attrgetter(*names) if names else None


def _in_text_order(node: cst.CSTNode) -> tuple[str, ...]:
    """The fields of a node's class that may hold code, in the order in which LibCST visits them."""
    recorder = _Recorder()
    node._visit_and_replace_children(recorder)
    # Some fields are visited only if they hold something.
    names = (*recorder.names, *(field.name for field in fields(node) if field.type is not str))
    return tuple(dict.fromkeys(name for name in names if not name.startswith(PUNCTUATION)))


class _Recorder(cst.CSTVisitor):
    """Record the fields of the node that it visits, without descending."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        return False

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        self.names.append(attribute)


def only_element(node: cst.CSTNode | None) -> cst.BaseExpression | None:
    """The element of a list or tuple display with exactly one; None for anything else."""
    elements = node.elements if isinstance(node, (cst.List, cst.Tuple)) else ()
    return elements[0].value if len(elements) == 1 and isinstance(elements[0], cst.Element) else None


def parts_of_target(target: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The targets in nested tuples or lists of targets."""
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from parts_of_target(element.value)
    else:
        yield target


def is_literal_none(node: cst.CSTNode | None) -> bool:
    """Whether an expression is `None`."""
    return isinstance(node, cst.Name) and node.value == "None"


def keyword_value(call: cst.CSTNode, name: str) -> cst.BaseExpression | None:
    """What a call is given by that keyword; None if it is not a call, or not given it."""
    given = call.args if isinstance(call, cst.Call) else ()
    return next((each.value for each in given if each.keyword is not None and each.keyword.value == name), None)


def callee_of(node: cst.CSTNode) -> cst.CSTNode:
    """The callee of a call; the node itself if it calls without being a `Call` (a decorator, a `with` item)."""
    return node.func if isinstance(node, cst.Call) else node


def is_main_guard(test: cst.BaseExpression) -> bool:
    """`__name__ == "__main__"`."""
    return isinstance(test, cst.Comparison) and isinstance(test.left, cst.Name) and test.left.value == "__name__"


def holder_name(node: cst.CSTNode | None) -> str:
    """The name that `name.x`, `name[i].x` starts with; "" for any other expression."""
    while isinstance(node, (cst.Attribute, cst.Subscript)):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""


def assignments(root: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """What a piece of code assigns to, each with the value, in the order of the text: `a = b = 1` assigns twice."""
    return ((target.target, each.value) for each in of_class(root, cst.Assign) for target in each.targets)


def assigned_parts(root: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """The same, with the parts of a tuple apart: `rank, size = 0, 1` assigns to both."""
    for target, value in assignments(root):
        match target, value:
            case cst.Tuple(elements=names), cst.Tuple(elements=values) if len(names) == len(values):
                yield from ((name.value, each.value) for name, each in zip(names, values, strict=True))
            case _:
                yield target, value


def assigned_once(root: cst.CSTNode, name: str) -> cst.BaseExpression | None:
    """The value that a function (or module) assigns to a name, or to a part of its value, if it does so only once."""
    values = _assigned(root).get(name, ())
    return values[0] if len(values) == 1 else None


# Asked for many names of a function in turn.
@tree_cache(256)
def _assigned(root: cst.CSTNode) -> Mapping[str, Sequence[cst.BaseExpression]]:
    """By name, the values that a piece of code assigns to it, or to a part of its value."""
    found: dict[str, list[cst.BaseExpression]] = defaultdict(list)
    for target, value in assignments(root):
        found[holder_name(target)].append(value)
    return found


def resolved(root: cst.CSTNode, node: cst.BaseExpression) -> cst.BaseExpression:
    """The expression that a name stands for, if a function (or module) assigns to it only once."""
    return (isinstance(node, cst.Name) and assigned_once(root, node.value)) or node


def operands(test: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The operands of a condition or a number, down to the leaves: `a`, `b` and `c` of `a % b == c`."""
    match test:
        case cst.BooleanOperation(left=left, right=right) | cst.BinaryOperation(left=left, right=right):
            parts = [left, right]
        case cst.Comparison(left=left, comparisons=comparisons):
            parts = [left, *(each.comparator for each in comparisons)]
        case cst.UnaryOperation(expression=expression):
            parts = [expression]
        case _:
            yield test
            return
    for part in parts:
        yield from operands(part)


def names_in(node: cst.CSTNode) -> set[str]:
    """The names that are read, bound or declared anywhere in a piece of code, including names of attributes."""
    return {each.value for each in of_class(node, cst.Name)}


def value_names(root: cst.CSTNode) -> Iterator[cst.Name]:
    """The names that code below a node reads or binds, without those of attributes and keywords."""
    aside = {id(node.attr) for node in of_class(root, cst.Attribute)}
    aside |= {id(node.keyword) for node in of_class(root, cst.Arg)}
    return (node for node in of_class(root, cst.Name) if id(node) not in aside)


def used_names(root: cst.CSTNode) -> set[str]:
    """The names that code below a node reads or binds, as texts."""
    return {name.value for name in value_names(root)}


@tree_cache(256)
def nonlocal_names(root: cst.CSTNode) -> frozenset[str]:
    """The names that the functions inside one bind for it: whoever holds such a function may do so at any time."""
    return frozenset(item.name.value for each in of_class(root, cst.Nonlocal) for item in each.names)


def loop_targets(root: cst.CSTNode) -> set[str]:
    """The names that the loops of a function bind in each iteration."""
    return {name.value for each in of_class(root, cst.For) for name in of_class(each.target, cst.Name)}


def contexts_around(root: cst.CSTNode, node: cst.CSTNode) -> set[str]:
    """The last parts of the names of the context managers around a node: `no_grad` of `with torch.no_grad():`."""
    items = [item.item for each in ancestors(root, node) if isinstance(each, cst.With) for item in each.items]
    return {last_name(item.func) for item in items if isinstance(item, cst.Call)}


def has_text(node: cst.CSTNode, text: str) -> bool:
    """Whether code has a text, such as the name of an attribute that it asks for: `hasattr(self, "rows")`."""
    return any(each.raw_value == text for each in of_class(node, cst.SimpleString))


def identifiers(node: cst.CSTNode) -> Iterator[str]:
    """The names and attributes in a condition."""
    todo = [node]
    while todo:
        current = todo.pop()
        if type(current) is cst.Name:
            yield current.value
        elif type(current) is cst.Attribute:
            yield current.attr.value
            todo.append(current.value)
        else:
            todo.extend(_operands(current))


def item_keys(root: cst.CSTNode) -> Iterator[str]:
    """The texts by which code reads items: `distributed` of `config["distributed"]`."""
    indices = (each.slice.value for each in of_class(root, cst.SubscriptElement) if isinstance(each.slice, cst.Index))
    return (str(each.evaluated_value) for each in indices if isinstance(each, cst.SimpleString))


def _operands(node: cst.CSTNode) -> list[cst.CSTNode]:
    operands = _OPERANDS.get(type(node))
    return operands(node) if operands is not None else []


_OPERANDS: dict[type, Callable[..., list[cst.CSTNode]]] = {
    cst.BooleanOperation: lambda node: [node.left, node.right],
    cst.Call: lambda node: [node.func, *(arg.value for arg in node.args)],
    cst.Comparison: lambda node: [node.left, *(target.comparator for target in node.comparisons)],
    cst.List: lambda node: [element.value for element in node.elements],
    cst.NamedExpr: lambda node: [node.value],
    cst.Subscript: lambda node: [node.value],
    cst.Tuple: lambda node: [element.value for element in node.elements],
    cst.UnaryOperation: lambda node: [node.expression],
}


def declares(node: cst.AnnAssign) -> bool:
    """Whether a statement only says what an attribute is, which other code has set, or will: `self.net: Net = ...`."""
    return isinstance(node.target, cst.Attribute) and isinstance(node.value, cst.Ellipsis)


def self_attribute(node: cst.CSTNode) -> str:
    """The name in `self.name`; "" for anything else."""
    match node:
        case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)):
            return name
    return ""


def calls_super(root: cst.CSTNode, name: str) -> bool:
    """Whether a piece of code calls `super().name(…)`."""
    return any(
        isinstance(call.func, cst.Attribute) and call.func.attr.value == name and is_super(call.func.value)
        for call in of_class(root, cst.Call)
    )


def is_super(node: cst.CSTNode) -> bool:
    """Whether an expression is `super()`, with or without arguments."""
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "super"


def positional_parameters(given: cst.Parameters) -> list[str]:
    """The names of the parameters that a call may pass by their place, in their order."""
    return [each.name.value for each in (*given.posonly_params, *given.params)]


def named_parameters(given: cst.Parameters) -> list[str]:
    """The names of all parameters but `*args` and `**keywords`."""
    return [*positional_parameters(given), *(each.name.value for each in given.kwonly_params)]


def attribute_values(root: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression]]:
    """The attributes of `self` that a piece of code assigns, each with the value, in the order of the text."""
    return ((name, value) for target, value in assignments(root) if (name := self_attribute(target)))
