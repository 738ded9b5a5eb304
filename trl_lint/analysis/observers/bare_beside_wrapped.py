"""Models that are trained without a wrapper, in a loop that trains another one with it.

Events of a function with `generator = DDP(Generator())`, and one loop that steps an optimizer of each model:

    discriminator = Discriminator()
    discriminator(x).mean()                     TrainedBare: nothing reduces its gradients
    discriminator = DDP(Discriminator())
    discriminator(x).mean()                     none
    nets = [generator, Discriminator()]
    nets[1](x).mean()                           none: what has the list may wrap it

There is none if the model may be wrapped or reduced elsewhere: if it is passed to anything but what is known to leave
it as it is, kept in an object or a list, or of a class that knows the rank (each rank has a part of its own). Nor if a
wrapper is a part of it, if only some ranks train it, or if it gets what the ranks have exchanged.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.gradient_events import TrainedBare
from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.idioms.hand_reduction import reduces_gradients
from trl_lint.analysis.program.idioms.path_conditions import ifs_around
from trl_lint.analysis.program.idioms.stepped_models import optimizers_in, steps_model
from trl_lint.analysis.program.syntax import (
    LOOPS,
    ancestors,
    assigned_parts,
    last_name,
    names_in,
    of_class,
    used_names,
    value_names,
)
from trl_lint.analysis.state.callees import code_called, library_function_of
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain.model_roles import is_data_parallel, wrapping_of
from trl_lint.domain.values import WRAPPED_ON_SOME_WAY, Kind, Wrapping
from trl_lint.knowledge.heuristics import AVERAGES_WEIGHTS, MAY_ASK_FOR_RANK, MAY_REDUCE, MAY_WRAP
from trl_lint.knowledge.models import LEAVE_BARE, LEAVE_BARE_METHODS, LEAVE_GRADIENTS
from trl_lint.knowledge.torch import GIVES_PARAMETERS, GIVES_WEIGHTS
from trl_lint.knowledge.torch_distributed import HANDS_ROWS_ON

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.control import Control
    from trl_lint.domain.values import Value


# The method of an Accelerator that is passed optimizers, too, and reduces nothing.
_PREPARES = "prepare"
# The argument that says where a model is.
_PLACE = "device"
# Attributes by which code reads gradients, or is called with them: it may reduce them.
_HANDLES_GRADIENTS = frozenset({"grad", "register_hook", "register_post_accumulate_grad_hook"})
# What has a function of the first name, which computes gradients and reads none: `torch.autograd.grad`.
_COMPUTES = "autograd"


class _OneForward(NamedTuple):
    """A forward with gradients of a model that a name stands for."""

    node: cst.Call
    name: str
    cls: ClassInfo | None


class ForwardsInLoops:
    """The forwards in a run of a function: of bare models, and of wrapped ones."""

    def __init__(self) -> None:
        self.bare: dict[int, _OneForward] = {}
        self.wrapped: dict[int, _OneForward] = {}
        self.shared: set[str] = set()


class BareBesideWrapped(Observer["Frame"]):
    emits = frozenset({TrainedBare})

    def on_model_call(self, frame: Frame, model: Value, node: cst.CSTNode) -> None:
        control = frame.memory.control
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Name) or not control.grad or not model.grad:
            return
        if control.is_of_some_ranks:
            return
        call = _OneForward(node, node.func.value, class_of(model))
        if model.wrapping in WRAPPED_ON_SOME_WAY and not is_data_parallel(model):
            frame.notes.of(ForwardsInLoops).wrapped[id(node)] = call
        elif model.wrapping is Wrapping.BARE and call.cls is not None:
            frame.notes.of(ForwardsInLoops).bare[id(node)] = call
            if _is_of_all_ranks(frame, node):
                frame.notes.of(ForwardsInLoops).shared.add(call.name)

    def on_exit(self, frame: Frame, before: Control, decorated: Control) -> None:
        forwards = frame.notes.of(ForwardsInLoops)
        if not forwards.bare or not forwards.wrapped or is_test(frame.function):
            return
        for name in sorted({each.name for each in forwards.bare.values()} - forwards.shared):
            calls = [each for each in forwards.bare.values() if each.name == name]
            others = [each for each in forwards.wrapped.values() if each.name != name]
            first = next((each for each in calls if _is_trained(frame, each)), None)
            beside = None if first is None else next((each for each in others if _is_beside(frame, first, each)), None)
            if first is not None and beside is not None and _stays_bare(frame, first):
                frame.emit(TrainedBare, first.node, other=beside.node.func)


def _is_of_all_ranks(frame: Frame, call: cst.Call) -> bool:
    """Whether a model gets the same on all ranks, or may: what is gathered. Its gradients are the same then, too."""
    values = (frame.known_value(each.value) for each in call.args)
    if any(each is not None and each.kind is Kind.TENSOR and each.rank.is_uniform for each in values):
        return True
    names = {name for each in call.args for name in used_names(each.value)}
    given = [value for target, value in assigned_parts(frame.root) if names & used_names(target)]
    calls = (each for part in (*(arg.value for arg in call.args), *given) for each in of_class(part, cst.Call))
    in_place = (each.value for each in of_class(frame.root, cst.Expr) if names & used_names(each.value))
    called = (last_name(each.func) for each in (*calls, *in_place) if isinstance(each, cst.Call))
    return any(MAY_REDUCE.fits(name) or name in HANDS_ROWS_ON for name in called)


def _is_trained(frame: Frame, call: _OneForward) -> bool:
    """Whether an optimizer of this very model steps in the loop of a forward."""
    loop = _outermost_loop(frame, call.node)
    optimizers = () if loop is None else optimizers_in(frame.root, loop)
    steps = [each for each in optimizers if steps_model(frame.root, each, call.node.func)]
    return bool(steps) and not any(_is_for_some(frame, each) for each in (call.node, *steps))


def _is_for_some(frame: Frame, place: cst.CSTNode) -> bool:
    """Whether only some ranks may reach a place, by the value of a test around it or by the names in it."""
    tests = [branch.test for branch, _ in ifs_around(frame.root, place)]
    values = (frame.known_value(each) for each in tests)
    if any(each is not None and each.rank.differs for each in values):
        return True
    return any(map(MAY_ASK_FOR_RANK.fits, (name for each in tests for name in names_in(each))))


def _is_beside(frame: Frame, call: _OneForward, other: _OneForward) -> bool:
    """Whether another model is trained in the same loop."""
    loop = _outermost_loop(frame, call.node)
    return loop is not None and loop is _outermost_loop(frame, other.node) and _is_trained(frame, other)


def _outermost_loop(frame: Frame, node: cst.CSTNode) -> cst.CSTNode | None:
    return next((each for each in ancestors(frame.root, node) if isinstance(each, LOOPS)), None)


def _stays_bare(frame: Frame, call: _OneForward) -> bool:
    """Whether nothing is known that may wrap a model, or reduce its gradients, in the function that makes it."""
    made = [value for target, value in assigned_parts(frame.root) if _is_name(target, call.name)]
    lineage = () if call.cls is None else call.cls.project_lineage()
    if not made or any(MAY_WRAP.fits(name) for each in lineage for name in names_in(each.node)):
        return False
    if any(_is_of_a_rank(frame, each) for each in made) or AVERAGES_WEIGHTS.found_in(frame.module.code):
        return False
    if _sends_weights(frame, call.name):
        return False
    handled = (each for each in of_class(frame.root, cst.Attribute) if each.attr.value in _HANDLES_GRADIENTS)
    if any(last_name(each.value) != _COMPUTES for each in handled):
        return False
    uses = (each for each in value_names(frame.root) if each.value == call.name)
    if not all(_leaves_bare(frame, each) for each in uses):
        return False
    is_reduced = reduces_gradients(frame.root, partial(code_called, frame))
    return not (is_reduced or _may_be_reduced_by_its_optimizer(frame, call))


def _may_be_reduced_by_its_optimizer(frame: Frame, call: _OneForward) -> bool:
    """Whether something unknown gets an optimizer of a model: `sync_gradients(optimizer)`."""
    root = frame.root
    stepping = (each for each in optimizers_in(root, root) if isinstance(each, cst.Name))
    names = {each.value for each in stepping if steps_model(root, each, call.node.func)}
    for user in of_class(root, cst.Call):
        passed = {each.value.value for each in user.args if isinstance(each.value, cst.Name)}
        if not names.isdisjoint(passed) and last_name(user.func) != _PREPARES and not _is_harmless(frame, user):
            return True
    return False


def _is_name(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _is_of_a_rank(frame: Frame, made: cst.BaseExpression) -> bool:
    """Whether a model is made with a wrapper, or with something that depends on the rank: `Head(classes, rank=rank)`.

    Or what names stand for does: `Head(mine)` after `mine = classes // world_size`.
    """
    innermost = made
    while isinstance(innermost, cst.Call) and isinstance(innermost.func, cst.Attribute):
        if not isinstance(innermost.func.value, cst.Call):
            break
        innermost = innermost.func.value  # what is moved: `Net(width).to(local_rank)`
    passed = (arg for each in of_class(innermost, cst.Call) for arg in each.args)
    args = [each.value for each in passed if last_name(each.keyword) != _PLACE]
    known = filter(None, map(frame.known_value, args))
    if any(wrapping_of(each) in WRAPPED_ON_SOME_WAY for each in known):
        return True
    names = used_names(innermost).union(*(_names_behind(frame.root, each) for each in args))
    return any(map(MAY_WRAP.fits, names))


def _names_behind(root: cst.CSTNode, value: cst.BaseExpression) -> set[str]:
    """The names in an expression, and in what the function assigns to them, and so on."""
    given: dict[str, set[str]] = {}
    for target, each in assigned_parts(root):
        for name in used_names(target) if isinstance(target, (cst.Name, cst.Tuple)) else ():
            given.setdefault(name, set()).update(used_names(each))
    found, todo = set[str](), list(used_names(value))
    while todo:
        if (name := todo.pop()) not in found:
            found.add(name)
            todo += given.get(name, ())
    return found


def _sends_weights(frame: Frame, model: str) -> bool:
    """Whether the weights that a model gives are passed to what may send them: `state = model.state_dict()`."""
    gives = GIVES_PARAMETERS | {GIVES_WEIGHTS}
    giving = (each for each in of_class(frame.root, cst.Attribute) if each.attr.value in gives)
    asked = {id(each) for each in giving if _is_name(each.value, model)}
    kept = {
        name
        for target, value in assigned_parts(frame.root)
        if any(id(each) in asked for each in of_class(value, cst.Attribute))
        for name in used_names(target)
    }
    users = (each for each in of_class(frame.root, cst.Call) if _may_send(last_name(each.func)))
    return any(not kept.isdisjoint(used_names(arg.value)) for each in users for arg in each.args)


def _may_send(name: str) -> bool:
    return name != _PREPARES and (MAY_REDUCE.fits(name) or MAY_WRAP.fits(name))


def _leaves_bare(frame: Frame, use: cst.Name) -> bool:
    """Whether a use of a model is none that may wrap it or a part, keep it, or pass it on to what may."""
    if any(target is use for target, _ in assigned_parts(frame.root)):
        return True
    parent = ancestors(frame.root, use)[-1]
    match parent:
        case cst.Attribute(value=value, attr=cst.Name(name)) if value is use and name in GIVES_PARAMETERS:
            return _gets_parameters(frame, ancestors(frame.root, parent)[-1])
        case cst.Attribute(value=value) if value is use:
            return _leaves_part(frame, parent)
        case cst.Call(func=value) if value is use:
            return True
        case cst.Arg():
            call = ancestors(frame.root, parent)[-1]
            return isinstance(call, cst.Call) and _is_harmless(frame, call)
    return False


def _leaves_part(frame: Frame, part: cst.CSTNode) -> bool:
    """Whether a part of a model is neither replaced nor passed to what may wrap it: `model.head = DDP(model.head)`."""
    if any(target is part for target, _ in assigned_parts(frame.root)):
        return False
    user = ancestors(frame.root, part)[-1]
    match user:
        case cst.Attribute():
            return _leaves_part(frame, user)
        case cst.Arg():
            call = ancestors(frame.root, user)[-1]
            return isinstance(call, cst.Call) and _is_harmless(frame, call)
    return True


def _gets_parameters(frame: Frame, asked: cst.CSTNode) -> bool:
    """Whether what is done with a model's parameters, of a call that gives them, does not reduce or send them."""
    user = ancestors(frame.root, asked)[-1]
    match user:
        case cst.Arg():
            call = ancestors(frame.root, user)[-1]
            return isinstance(call, cst.Call) and _is_harmless(frame, call)
        case cst.For(target=target, body=body):
            names = used_names(target)
            args = (each for call in of_class(body, cst.Call) for each in call.args)
            return all(names.isdisjoint(used_names(each.value)) for each in args)
    return True


def _is_harmless(frame: Frame, call: cst.Call) -> bool:
    code = code_called(frame, call.func)
    if code is not None:
        return _is_code_harmless(frame, code, set())
    if isinstance(call.func, cst.Attribute) and call.func.attr.value in LEAVE_BARE_METHODS | LEAVE_GRADIENTS:
        return True
    name = library_function_of(frame, call.func)
    return any(name == each or name.startswith(f"{each}.") for each in LEAVE_BARE)


def _is_code_harmless(frame: Frame, code: cst.CSTNode, seen: set[int]) -> bool:
    """Whether nothing in a function, or in those that it calls, has a name of what wraps or reduces."""
    seen.add(id(code))
    if any(map(MAY_WRAP.fits, names_in(code))):
        return False
    called = (code_called(frame, each.func) for each in of_class(code, cst.Call))
    return all(_is_code_harmless(frame, each, seen) for each in called if each is not None and id(each) not in seen)


OBSERVER = BareBesideWrapped()
