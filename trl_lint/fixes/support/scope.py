"""What code binds and reads: names and attributes; and whether a place is only reached under a condition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, below, children, of_class, parts_of_target
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.domain.provenance import SourceModule
from trl_lint.fixes.support.node_types import Path, Scope
from trl_lint.knowledge.heuristics import CHANGES_IN_PLACE
from trl_lint.knowledge.torch_ops import of_method

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo

# Nodes whose contents run at other times, or in a separate scope.
_SCOPES = (cst.FunctionDef, cst.Lambda, cst.BaseComp)


# Nodes whose contents many plans need, so they are computed once.
_LARGE = (cst.Module, cst.ClassDef, cst.FunctionDef)


def scope_of(owner: FunctionInfo | None, module: SourceModule) -> Scope:
    """The function that contains a place (`owner`), or the module if there is none."""
    scope: Scope = module.tree if owner is None else owner.node
    return scope


def contains(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a node is the root or below it."""
    return any(each is node for each in below(root))


def names_spelled(root: cst.CSTNode, name: str) -> Sequence[cst.Name]:
    """The nodes below a root that spell a name in any role: read, bound, attribute, keyword."""
    return _names(root).get(name, ())


@tree_cache(16)
def _names(root: cst.CSTNode) -> Mapping[str, Sequence[cst.Name]]:
    found: dict[str, list[cst.Name]] = {}
    for node in of_class(root, cst.Name):
        found.setdefault(node.value, []).append(node)
    return found


def is_before(root: cst.CSTNode, node: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether a node starts before another one in the text."""
    order = _order(root) if isinstance(root, _LARGE) else {each: index for index, each in enumerate(below(root))}
    return order[node] < order[other]


# Loops are queried for each finding in them.
@tree_cache(256)
def bound_targets(root: cst.CSTNode) -> tuple[cst.BaseExpression, ...]:
    """All names, attributes and items assigned to, deleted or otherwise bound below a node."""
    return tuple(part for node in below(root) for target in _targets(node) for part in parts_of_target(target))


def _targets(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """What a node itself binds, as written."""
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


# Nodes that bind something, and the field with the target. A lookup by class, because it runs for each node of a
# function.
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


def is_pure(node: cst.CSTNode) -> bool:
    """Whether an expression always has the same value for the same inputs, and no effects."""
    return not any(_has_effects(each) for each in below(node))


def _has_effects(node: cst.CSTNode) -> bool:
    match node:
        case cst.NamedExpr() | cst.Await() | cst.Yield():
            return True
        case cst.Call(func=cst.Name(value=name)):
            return name not in _PURE_BUILTINS
        case cst.Call(func=cst.Attribute(attr=cst.Name(value=name))):
            return not of_method(name).repeatable
        case cst.Call():
            return True
    return False


_PURE_BUILTINS = frozenset({"abs", "float", "int", "len", "max", "min", "round"})


def may_change_objects(root: cst.CSTNode) -> bool:
    """Whether code below a node changes an object in place: through an item, an attribute, or a method named so."""
    for node in below(root):
        if any(
            isinstance(part, (cst.Attribute, cst.Subscript))
            for each in _targets(node)
            for part in parts_of_target(each)
        ):
            return True
        if works_in_place(node):
            return True
    return False


def works_in_place(node: cst.CSTNode) -> bool:
    """Whether a node calls a method that by its name changes its object: `x.add_(…)`."""
    method = node.func if isinstance(node, cst.Call) else None
    return isinstance(method, cst.Attribute) and CHANGES_IN_PLACE.fits(method.attr.value)


def binds(node: cst.CSTNode) -> set[str]:
    """The names that a node itself binds, not what is below it."""
    return {each.value for target in _targets(node) for each in parts_of_target(target) if isinstance(each, cst.Name)}


def binders(root: cst.CSTNode, names: Iterable[str]) -> list[cst.CSTNode]:
    """The nodes below a function or module that bind one of these names, except parameters."""
    wanted = set(names)
    if isinstance(root, _LARGE):
        found = {id(node): node for name in wanted for node in _kept_binders(root).get(name, ())}
        return sorted(found.values(), key=_order(root).__getitem__) if len(wanted) > 1 else list(found.values())
    return [node for node in below(root) if not isinstance(node, cst.Param) and not wanted.isdisjoint(binds(node))]


@tree_cache(16)
def _kept_binders(root: cst.CSTNode) -> dict[str, list[cst.CSTNode]]:
    found: dict[str, list[cst.CSTNode]] = {}
    for node in below(root):
        for name in () if isinstance(node, cst.Param) else binds(node):
            found.setdefault(name, []).append(node)
    return found


@tree_cache(16)
def _order(root: cst.CSTNode) -> dict[cst.CSTNode, int]:
    return {node: index for index, node in enumerate(below(root))}


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
    """The only assignment of a name in a function or module, not counting parameters; None if there is none."""
    found = binders(root, [name.value]) if isinstance(name, cst.Name) else []
    only = found[0] if len(found) == 1 else None
    return as_binding(ancestors(root, only)[-1]) if isinstance(only, cst.AssignTarget) else None


@tree_cache(256)
def bound_names(root: cst.CSTNode) -> frozenset[str]:
    """The names that code below a node binds (including those declared `global` or `nonlocal`)."""
    return frozenset(each.value for each in bound_targets(root) if isinstance(each, cst.Name))


def declared_names(root: cst.CSTNode) -> set[str]:
    """The names that code below a node declares `global` or `nonlocal`."""
    return {node.name.value for node in of_class(root, cst.NameItem)}


def free_name(root: cst.CSTNode, wished: str, also_taken: Iterable[str] = ()) -> str:
    """A name that is unused in a function or module: the wished one, possibly with a number."""
    used = {node.value for node in of_class(root, cst.Name)} | set(also_taken)
    name, number = wished, 2
    while name in used:
        name, number = f"{wished}_{number}", number + 1
    return name


def dotted(node: cst.CSTNode | None) -> str:
    """`a.b.c` for a chain of attributes that starts with a name; "" for any other expression."""
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
    """Whether entering the outermost node of a path always leads to the node at its end, unless it raises.

    through_loops: whether loops count as entered. The outermost node may be a function, a loop or a module.
    """
    steps = (*path[1:], node)
    return not any(_is_optional(outer, inner, through_loops) for outer, inner in zip(path, steps, strict=True))


def _is_optional(outer: cst.CSTNode, inner: cst.CSTNode, through_loops: bool) -> bool:
    """Whether the outer node may run without its child, the inner node."""
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


@tree_cache(256)
def _first_to_leave(block: cst.IndentedBlock | cst.Module) -> cst.CSTNode | None:
    return next(filter(leaves, block.body), None)


def leaves(node: cst.CSTNode, in_loop: bool = False) -> bool:
    """Whether there is a `return` below a node, or a `break` or `continue` of a loop around it."""
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
    """Whether there is a comprehension, a lambda or a function on a path."""
    return any(isinstance(each, _SCOPES) for each in path)
