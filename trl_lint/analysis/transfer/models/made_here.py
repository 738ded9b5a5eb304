"""Losses of a network that the same function makes: its backward pass reduces nothing, whatever ran before.

    model(x).sum().backward()                     before: a wrapper reduces the gradients
    probe = nn.Linear(8, 2)                       made here, as in `net, probe = DDP(net), nn.Linear(8, 2)`
    loss = F.cross_entropy(probe(x), y)           of `probe` alone
    loss.backward()                               no rank waits for another

    clone = copy.deepcopy(model.module)           made here, too
    loss = disc(generator(z)).mean()              of a wrapper as well, if `generator` is one
    loss = criterion(model(x), y)                 `criterion = nn.MSELoss()` has nothing to train

    probe.load_state_dict(model.state_dict())     with the numbers of a wrapper, it is still no part of it
    probe.weight.data.copy_(model.module.weight)  the same, as under `no_grad`

    self.net = Net()                              of a plain object's class, as all that it assigns to `self.net`
    loss = F.mse_loss(self.net(x), y)             of `self.net` alone, in another of its methods

The parts of a loss are followed through the names that the function binds, up to what is computed without gradients.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

import libcst as cst

from trl_lint.analysis.program.definitions.kept_networks import made_for
from trl_lint.analysis.program.definitions.model_attributes import is_trained
from trl_lint.analysis.program.definitions.objects import ProjectModel
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import (
    ancestors,
    assigned_parts,
    below,
    callee_of,
    contexts_around,
    holder_name,
    last_name,
    names_in,
    of_class,
    parts_of_target,
    precedes,
    self_attribute,
)
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import PreparedObject, class_name_of
from trl_lint.domain.model_roles import wrapping_of
from trl_lint.domain.values import Kind, Value, Wrapping
from trl_lint.knowledge.models import HAVE_PARAMETERS, RETURN_THE_MODEL
from trl_lint.knowledge.python import COPIES_WITH_FIELDS
from trl_lint.knowledge.torch import WITHOUT_GRADIENTS, WITHOUT_HISTORY

# Methods by which a module stays made of what it was made of. The numbers of a tensor, without what they are made of.
_ADDS_NOTHING = RETURN_THE_MODEL | {"load_state_dict"}
_NUMBERS = "data"
_COPIES = frozenset(name.rpartition(".")[2] for name in COPIES_WITH_FIELDS)


def is_of_network_made_here(frame: Frame, loss: cst.CSTNode) -> bool:
    """Whether a loss is computed with a network that this function makes, and with no wrapped or unknown model."""
    parts = parts_of(frame.root, loss)
    run = [each.func for each in parts if isinstance(each, cst.Call)]
    return is_computed_apart(frame, parts) and any(_is_made_here(frame, each) for each in run)


def is_computed_apart(frame: Frame, parts: Sequence[cst.CSTNode]) -> bool:
    """Whether none of the parts of a loss runs a wrapper, or is a model that may have one."""
    ids = {id(each) for each in parts}
    if any(point.kind == "forward" and id(point.node) in ids for point in frame.sync_points):
        return False
    values = (frame.known_value(each) for each in parts)
    return not any(value is not None and _may_be_shared(value) for value in values)


def makes(frame: Frame, argument: cst.BaseExpression) -> bool:
    """Whether what a function passes is a network, or a part of one, that it makes."""
    value = frame.known_value(argument)
    return _is_made_here(frame, argument) or (value is not None and _is_new(argument, value))


# Asked for in each iteration of a training loop in which its facts grow, and of the loops around it.
@tree_cache(64)
def parts_of(root: cst.CSTNode, expression: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    """The nodes that a value is computed from, in the text of one function; what has no gradient is left out."""
    found: list[cst.CSTNode] = []
    todo, followed = [expression], set[int]()
    while todo:
        for node in _with_gradients(todo.pop()):
            found.append(node)
            for bound in _reaching(root, node) if isinstance(node, cst.Name) else ():
                if id(bound) not in followed and not (_is_copy(bound) or _is_off(root, bound)):
                    followed.add(id(bound))
                    todo.append(bound)
    return tuple(found)


def _reaching(root: cst.CSTNode, name: cst.Name) -> Sequence[cst.CSTNode]:
    """What a name may be bound to where it is read: back to an assignment that is made on each way there."""
    found: list[cst.CSTNode] = []
    around = set(map(id, ancestors(root, name)))
    for binding in reversed(_bindings(root).get(name.value, ())):
        if binding.replaces and precedes(root, binding.value, name) and id(binding.block) in around:
            return [binding.value, *(each for each in found if precedes(root, each, name))]
        found.append(binding.value)
    return found


def _with_gradients(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes below a node, except those that a method cuts off: `model(x)` of `model(x).detach()`."""
    called = (each.func for each in of_class(node, cst.Call) if isinstance(each.func, cst.Attribute))
    cut = (each.value for each in called if each.attr.value in WITHOUT_HISTORY)
    left_out = {id(each) for part in cut for each in below(part)}
    return (each for each in below(node) if id(each) not in left_out)


def _is_off(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    return not WITHOUT_GRADIENTS.isdisjoint(contexts_around(root, node))


@dataclass(frozen=True, slots=True)
class _BoundValue:
    """A value of a name. block: the statements around. replaces: whether nothing of an earlier value is left."""

    value: cst.CSTNode
    block: cst.CSTNode | None
    replaces: bool


@tree_cache(16)
def _bindings(root: cst.CSTNode) -> dict[str, list[_BoundValue]]:
    """What a function binds its names to: by assignments, loops, and methods that add (`losses.append(x)`)."""
    found: dict[str, list[_BoundValue]] = {}
    for node in below(root):
        if node.__class__ not in _BINDING:
            continue
        for target, value, replaces in _bound(node):
            around = ancestors(root, node)
            block = next((each for each in reversed(around) if isinstance(each, _BLOCKS)), root)
            binding = _BoundValue(value, block, replaces and isinstance(target, cst.Name))
            found.setdefault(holder_name(target), []).append(binding)
    return found


def bound_names(root: cst.CSTNode) -> Set[str]:
    """The names that a function binds, or adds something to."""
    return _bindings(root).keys()


_BLOCKS = (cst.IndentedBlock, cst.Module)
# Asked first: the patterns below are slow, and most nodes are of other classes.
_BINDING = frozenset({cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor, cst.Expr})


def _bound(node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression, bool]]:
    """The targets that a statement binds, their values, and whether these replace the earlier ones."""
    match node:
        case cst.Assign():
            yield from ((part, value, True) for each, value in assigned_parts(node) for part in parts_of_target(each))
        case cst.AnnAssign(target=target, value=cst.BaseExpression() as value):
            yield target, value, True
        case cst.AugAssign(target=target, value=value) | cst.NamedExpr(target=target, value=value):
            yield target, value, False
        case cst.For(target=target, iter=iterable) | cst.CompFor(target=target, iter=iterable):
            yield from ((name, iterable, False) for name in of_class(target, cst.Name))
        case cst.Expr(value=cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(method)), args=args)):
            if method not in _ADDS_NOTHING and last_name(receiver) != _NUMBERS:
                yield from ((receiver, each.value, False) for each in args)


def _may_be_shared(value: Value) -> bool:
    """Whether a value is a model that may have a wrapper, or be inside one."""
    if isinstance(value, PreparedObject):
        return True
    return value.kind is Kind.MODEL and wrapping_of(value) is not Wrapping.BARE


def _is_made_here(frame: Frame, callee: cst.BaseExpression) -> bool:
    """Whether what is called is a network, or a part of one, that the function or its object binds to what it makes."""
    if isinstance(callee, cst.Attribute) and frame.cls is not None and _is_kept(frame, frame.cls, callee):
        return True
    name = holder_name(callee)
    made = [each.value for each in _bindings(frame.root).get(name, ()) if not _is_off(frame.root, each.value)]
    known = [(each, frame.node_values[id(each)]) for each in made if id(each) in frame.node_values]
    others = [(each, value) for each, value in known if holder_name(callee_of(each)) != name]  # not `net = net.cuda()`
    return bool(others) and all(_is_new(each, value) for each, value in others)


def _is_kept(frame: Frame, cls: ClassInfo, callee: cst.Attribute) -> bool:
    """Whether what is called is a network, or a part of one, that a plain object makes and keeps."""
    name = next((found for each in of_class(callee, cst.Attribute) if (found := self_attribute(each))), "")
    calls = made_for(cls, name) if name else ()
    value = frame.read_attribute(cls, name) if calls else None
    if value is None or _may_be_shared(value):
        return False
    named = {last_name(each.func) for each in calls if not _is_copy(each)}
    own = value.cls.name if isinstance(value, ProjectModel) else class_name_of(value).rpartition(".")[2]
    return named <= {own} and all(_is_new(each, value) for each in calls)


def _is_new(node: cst.CSTNode, value: Value) -> bool:
    """Whether an expression makes a network with parameters, or copies one."""
    if _is_copy(node) or not isinstance(node, cst.Call):
        return _is_copy(node)
    if isinstance(value, ProjectModel):
        return wrapping_of(value) is Wrapping.BARE and is_trained(value.cls)
    return class_name_of(value).startswith("torch.nn.") and not HAVE_PARAMETERS.isdisjoint(names_in(node))


def _is_copy(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and last_name(node.func) in _COPIES
