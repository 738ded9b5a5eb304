"""What code binds and reads: names, attributes, and where a place is only reached under a condition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, below, children, of_class
from trl_lint.domain.provenance import SourceModule
from trl_lint.fixes.support.node_types import Path, Scope
from trl_lint.knowledge.heuristics import CHANGES_IN_PLACE
from trl_lint.knowledge.torch_ops import of_method

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo

# What is inside runs at other times, or in a scope of its own.
_SCOPES = (cst.FunctionDef, cst.Lambda, cst.BaseComp)


# Whose contents the plans of many findings ask for: they are worked out once.
_LARGE = (cst.Module, cst.ClassDef, cst.FunctionDef)


def scope_of(owner: FunctionInfo | None, module: SourceModule) -> Scope:
    """The function that a place stands in (`owner`), or the module where it is in none."""
    scope: Scope = module.tree if owner is None else owner.node
    return scope


def nodes(root: cst.CSTNode) -> Iterable[cst.CSTNode]:
    """A node and all below it but blanks and punctuation, in the order of the text."""
    return _kept_nodes(root) if isinstance(root, _LARGE) else below(root)


# Trees are never changed, and their nodes are told apart by what they are, not by what they say.
@lru_cache(maxsize=16)
def _kept_nodes(root: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    return tuple(below(root))


def contains(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a node is this one, or stands below it."""
    return any(each is node for each in nodes(root))


def names_spelled(root: cst.CSTNode, name: str) -> Sequence[cst.Name]:
    """The nodes below another one that spell a name, whatever they are there: read, bound, an attribute, a keyword."""
    return _names(root).get(name, ())


@lru_cache(maxsize=16)
def _names(root: cst.CSTNode) -> Mapping[str, Sequence[cst.Name]]:
    found: dict[str, list[cst.Name]] = {}
    for node in of_class(root, cst.Name):
        found.setdefault(node.value, []).append(node)
    return found


def is_before(root: cst.CSTNode, node: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether a node starts before another one in the text."""
    order = _order(root) if isinstance(root, _LARGE) else {each: index for index, each in enumerate(nodes(root))}
    return order[node] < order[other]


# Loops are asked about for each finding in them.
@lru_cache(maxsize=256)
def bound_targets(root: cst.CSTNode) -> tuple[cst.BaseExpression, ...]:
    """All that is assigned to, deleted or otherwise bound below a node: names, attributes and items."""
    return tuple(part for node in nodes(root) for target in _targets(node) for part in _parts(target))


def _targets(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """What a node itself binds, as it is written."""
    part = _BOUND.get(type(node))
    if part is not None:
        target = getattr(node, part)
        return [] if target is None else [target]
    if type(node) is cst.ImportAlias and node.asname is None:
        bound: cst.BaseExpression = node.name
        while isinstance(bound, cst.Attribute):
            bound = bound.value
        return [bound]
    return []


# What binds something, and the field that holds it. Looked up by class: this is asked of each node of a function.
_BOUND: dict[type[cst.CSTNode], str] = {
    cst.AnnAssign: "target",
    cst.AsName: "name",
    cst.AssignTarget: "target",
    cst.AugAssign: "target",
    cst.ClassDef: "name",
    cst.CompFor: "target",
    cst.Del: "target",
    cst.For: "target",
    cst.FunctionDef: "name",
    cst.MatchAs: "name",
    cst.MatchMapping: "rest",
    cst.MatchStar: "name",
    cst.NameItem: "name",
    cst.NamedExpr: "target",
    cst.Param: "name",
}


def _parts(target: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The targets in a tuple or list of them, however deep."""
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _parts(element.value)
    else:
        yield target


def is_pure(node: cst.CSTNode) -> bool:
    """Whether an expression gives the same whenever it is evaluated with the same values, and does nothing else."""
    return not any(_has_effects(each) for each in nodes(node))


def _has_effects(node: cst.CSTNode) -> bool:
    match node:
        case cst.NamedExpr() | cst.Await() | cst.Yield():
            return True
        case cst.Call(func=cst.Name(value=name)):
            return name not in _PURE_BUILTINS
        case cst.Call(func=cst.Attribute(attr=cst.Name(value=name))):
            return not of_method(name).again
        case cst.Call():
            return True
    return False


_PURE_BUILTINS = frozenset({"abs", "float", "int", "len", "max", "min", "round"})


def may_change_objects(root: cst.CSTNode) -> bool:
    """Whether code below a node changes an object in place: by an item, an attribute, or a method that says so."""
    for node in nodes(root):
        if any(isinstance(part, (cst.Attribute, cst.Subscript)) for each in _targets(node) for part in _parts(each)):
            return True
        if works_in_place(node):
            return True
    return False


def works_in_place(node: cst.CSTNode) -> bool:
    """Whether a node is a call of a method that by its name changes its object: `x.add_(…)`."""
    method = node.func if isinstance(node, cst.Call) else None
    return isinstance(method, cst.Attribute) and CHANGES_IN_PLACE.fits(method.attr.value)


def binds(node: cst.CSTNode) -> set[str]:
    """The names that a node itself binds, whatever is below it."""
    return {each.value for target in _targets(node) for each in _parts(target) if isinstance(each, cst.Name)}


def binders(root: cst.CSTNode, names: Iterable[str]) -> list[cst.CSTNode]:
    """The nodes below a function or module that bind one of these names; its parameters are not among them."""
    wanted = set(names)
    if isinstance(root, _LARGE):
        found = {id(node): node for name in wanted for node in _kept_binders(root).get(name, ())}
        return sorted(found.values(), key=_order(root).__getitem__) if len(wanted) > 1 else list(found.values())
    return [node for node in nodes(root) if not isinstance(node, cst.Param) and not wanted.isdisjoint(binds(node))]


@lru_cache(maxsize=16)
def _kept_binders(root: cst.CSTNode) -> dict[str, list[cst.CSTNode]]:
    found: dict[str, list[cst.CSTNode]] = {}
    for node in nodes(root):
        for name in () if isinstance(node, cst.Param) else binds(node):
            found.setdefault(name, []).append(node)
    return found


@lru_cache(maxsize=16)
def _order(root: cst.CSTNode) -> dict[cst.CSTNode, int]:
    return {node: index for index, node in enumerate(nodes(root))}


class Binding(NamedTuple):
    """`name = value`: the whole assignment, and its only target."""

    assign: cst.Assign
    name: cst.Name

    @property
    def value(self) -> cst.BaseExpression:
        return self.assign.value


def as_binding(node: cst.CSTNode) -> Binding | None:
    """The parts of an assignment to one name; None for any other node."""
    match node:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)]):
            return Binding(node, name)
    return None


def sole_binding(root: cst.CSTNode, name: cst.CSTNode) -> Binding | None:
    """The assignment that alone binds a name in a function or module, its parameters apart; None without one."""
    found = binders(root, [name.value]) if isinstance(name, cst.Name) else []
    only = found[0] if len(found) == 1 else None
    return as_binding(ancestors(root, only)[-1]) if isinstance(only, cst.AssignTarget) else None


@lru_cache(maxsize=256)
def bound_names(root: cst.CSTNode) -> frozenset[str]:
    """The names that code below a node binds (those that it declares `global` or `nonlocal` as well)."""
    return frozenset(each.value for each in bound_targets(root) if isinstance(each, cst.Name))


def declared_names(root: cst.CSTNode) -> set[str]:
    """The names that code below a node declares `global` or `nonlocal`."""
    return {node.name.value for node in nodes(root) if isinstance(node, cst.NameItem)}


def free_name(root: cst.CSTNode, wished: str, also_taken: Iterable[str] = ()) -> str:
    """A name that nothing in a function or module uses: the wished one, or it with a number."""
    taken = {node.value for node in nodes(root) if isinstance(node, cst.Name)} | set(also_taken)
    name, number = wished, 2
    while name in taken:
        name, number = f"{wished}_{number}", number + 1
    return name


def dotted(node: cst.CSTNode | None) -> str:
    """`a.b.c` of a chain of attributes that starts with a name; "" for any other expression."""
    parts = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    return ".".join([node.value, *reversed(parts)]) if isinstance(node, cst.Name) else ""


def root_name(node: cst.CSTNode | None) -> str:
    """The name that `name`, `name.x`, `name.x.y` starts with; "" for any other expression."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""


def always_reached(path: Path, node: cst.CSTNode, *, through_loops: bool = False) -> bool:
    """Whether whoever enters the outermost node of a path gets to the node at its end, unless it raises.

    through_loops: whether a loop counts as entered. The outermost node may be a function, a loop or a module.
    """
    steps = (*path[1:], node)
    return not any(_is_optional(outer, inner, through_loops) for outer, inner in zip(path, steps, strict=True))


def _is_optional(outer: cst.CSTNode, inner: cst.CSTNode, through_loops: bool) -> bool:
    """Whether one gets to the outer node and may not get to the inner one, which is a child of it."""
    match outer:
        case cst.If() | cst.IfExp():
            return inner is not outer.test
        case cst.BooleanOperation():
            return inner is not outer.left
        case cst.For():
            return inner is not outer.iter and not (through_loops and inner is outer.body)
        case cst.While():
            return inner is not outer.test and not (through_loops and inner is outer.body)
        case cst.BaseComp() | cst.Lambda() | cst.Match() | cst.Try() | cst.TryStar() | cst.Assert():
            return True
        case cst.IndentedBlock() | cst.Module():
            return _may_be_left(outer, inner)
    return False


def _may_be_left(block: cst.IndentedBlock | cst.Module, inner: cst.CSTNode) -> bool:
    """Whether a statement before this one may leave the block."""
    first = _first_to_leave(block)
    reached = next((each for each in block.body if each is inner or each is first), inner)
    return reached is not inner


@lru_cache(maxsize=256)
def _first_to_leave(block: cst.IndentedBlock | cst.Module) -> cst.CSTNode | None:
    return next(filter(leaves, block.body), None)


def leaves(node: cst.CSTNode, in_loop: bool = False) -> bool:
    """Whether a `return` stands below a node, or a `break` or `continue` of a loop around it."""
    match node:
        case cst.Return():
            return True
        case cst.Break() | cst.Continue():
            return not in_loop
        case cst.FunctionDef() | cst.Lambda():
            return False
        case cst.For() | cst.While():
            in_loop = True
    return any(leaves(child, in_loop) for child in children(node))


def is_nested(path: Path) -> bool:
    """Whether a comprehension, a lambda or a function stands on a path."""
    return any(isinstance(each, _SCOPES) for each in path)
