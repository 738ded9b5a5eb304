"""A loss with which a wrapped model is trained is computed from this rank's own data, whatever has computed it.

    loss, metrics = engine.compute(batch)     engine: unknown; loss: local(data), as a backward pass starts from it
    if not torch.isfinite(loss): continue     local(data): it may be true on one rank only
    accelerator.backward(loss)                or `self.step(loss)`, a method of the file that starts it
    model(batch).sum().backward()             local(data): the backward pass starts from what is computed here
    loss = all_reduce_mean(other)             unknown: by its name, the function may have reduced it
    loss = engine.compute(batch, all_gather)  unknown, likewise
    loss, accuracy = criterion(x, y)          unknown, if the forward of the project's `criterion` gathers
    loss = engine.compute(batch)              unknown, if the loaders here give each rank all rows in one order

Only a value of which nothing else is known is concerned, or no more than that something in it is drawn at random, where
gradients are on and a model is or may be wrapped. In a file that gives all ranks one seed, what is drawn may be alike:
there, something else has to be in it.
"""

from __future__ import annotations

from functools import partial

import libcst as cst

from trl_lint.analysis.interpreter.objects import method_order, whole_loaders
from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.idioms.training_loss import helpers_in, trained_targets
from trl_lint.analysis.program.syntax import below, callee_of, last_name, names_in, of_class, self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models import exchanging_models
from trl_lint.analysis.transfer.models.made_here import parts_of
from trl_lint.analysis.transfer.models.wrapped_models import has_wrapped_model
from trl_lint.domain import ranks
from trl_lint.domain.kinds import TensorValue
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.heuristics import EXCHANGES, MAY_REDUCE, SEEDS_ALL, SEEDS_APART

_KINDS = frozenset({Kind.BATCH, Kind.TENSOR, Kind.UNKNOWN})


def as_loss(frame: Frame, target: cst.Name, value: Value) -> Value:
    """A value that is bound to a name; rank-local if it is unknown and a backward pass starts from the name."""
    if not _may_be_loss(frame, value):
        return value
    if not frame.module.mentions(rb"\bbackward\(") or id(target) not in _trained(frame):
        return value
    return _of_this_rank(frame, target, value)


def as_start(frame: Frame, loss: cst.BaseExpression, value: Value) -> Value:
    """What a backward pass starts from, `loss.backward()`; rank-local if it is unknown and computed right here."""
    if not _may_be_loss(frame, value) or not any(of_class(loss, cst.Call)):
        return value
    frame.node_values[id(loss)] = found = _of_this_rank(frame, loss, value)
    return found


def _may_be_loss(frame: Frame, value: Value) -> bool:
    is_open = value.rank == ranks.UNKNOWN or (value.rank.differs and value.rank.origins == Origin.RNG)
    return is_open and value.kind in _KINDS and frame.memory.control.grad


def _of_this_rank(frame: Frame, node: cst.BaseExpression, value: Value) -> Value:
    if _may_be_reduced(frame):
        return value
    _read_attributes(frame)
    if not has_wrapped_model(frame) and not method_order.has_wrapped_before(frame):
        return value
    if whole_loaders.gives_all_rows(frame) or (value.rank.differs and _may_be_drawn_alike(frame, node)):
        return value
    step = frame.step(node, "the model is trained with `{}`, of which each rank has its own")
    if value.rank.differs:
        return value.replace(rank=ranks.LOCAL, provenance=step)
    return TensorValue(ranks.LOCAL, grad=True, provenance=step)


def _may_be_drawn_alike(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether a loss is made of models and draws alone, in a file that gives all ranks one seed."""
    if not frame.module.notes.cached(_gives_one_seed, partial(_gives_one_seed, frame.module.tree)):
        return False
    parts = parts_of(frame.root, getattr(frame.statement, "value", None) or node)
    called = {id(part) for each in parts if isinstance(each, cst.Call) for part in below(each.func)}
    named = (each for each in parts if isinstance(each, (cst.Attribute, cst.Name)) and id(each) not in called)
    values = filter(None, map(frame.known_value, named))
    return not any(each.rank == ranks.UNKNOWN and each.kind in _KINDS for each in values)


def _gives_one_seed(tree: cst.Module) -> bool:
    calls = (each for each in of_class(tree, cst.Call) if SEEDS_ALL.fits(last_name(each.func)))
    return any(not any(map(SEEDS_APART.fits, names_in(each))) for each in calls)


def _trained(frame: Frame) -> frozenset[int]:
    notes = frame.module.notes
    helpers = notes.cached(helpers_in, partial(helpers_in, frame.module.tree))
    return notes.cached((_trained, frame.root), partial(trained_targets, frame.root, helpers))


def _read_attributes(frame: Frame) -> None:
    """Read what the function uses of its object: the model may be used only after the loss.

    If another method starts the backward pass, read all that the object holds: maybe only that method uses the model.
    """
    if frame.cls is None:
        return
    used = {self_attribute(each) for each in of_class(frame.root, cst.Attribute)} - {""}
    for name in used if "backward" in names_in(frame.root) else frame.cls.assigned():
        frame.read_attribute(frame.cls, name)


def _may_be_reduced(frame: Frame) -> bool:
    """Whether what the current statement calls has a name by which it may reduce the loss over the ranks, or gathers
    in its own code what they have, or what it passes has the name of an exchange.
    """
    if frame.statement is None:
        return True
    for call in of_class(frame.statement, cst.Call):
        passed = (last_name(each.value) for each in call.args if isinstance(each.value, (cst.Attribute, cst.Name)))
        if MAY_REDUCE.fits(last_name(callee_of(call))) or any(map(EXCHANGES.fits, passed)):
            return True
        if _gathers(frame, call.func):
            return True
    return False


def _gathers(frame: Frame, callee: cst.BaseExpression) -> bool:
    """Whether a callee is a model of the project whose forward gathers what all ranks have."""
    known = None
    if isinstance(callee, cst.Name):
        known = frame.engine.lookup(frame, callee.value)
    elif frame.cls is not None and (own := self_attribute(callee)):
        known = frame.read_attribute(frame.cls, own)
    model = None if known is None else class_of(frame.engine.settle(known))
    return model is not None and exchanging_models.gathers(frame, model)
