"""A batch that a wrapped model is trained on is rank-local data, wherever the loop takes it from.

    for batch in loader:                    loader: a name of which nothing is known, or one that shards by itself
        loss = model(batch["x"])            model: wrapped, so there are several ranks
        accelerator.backward(loss)          batch: BatchValue(SHARD), since each rank trains on other samples

A loop with gradients off evaluates; so does one whose training steps are under `if train:`, if `train` is false, and
one that calls a method with gradients off, `loss = self.val_batch(batch)`, and none that trains. So does one that has
a function run a model with gradients off, `score(model, batch)`, if neither its file nor that of the loop trains.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.interpreter.control_flow.evaluation_mode import calls_training, function_run, runs_evaluated
from trl_lint.analysis.program.idioms.path_conditions import is_bound
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import children, last_name, names_in, of_class, self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models.wrapped_models import has_wrapped_model
from trl_lint.domain import ranks
from trl_lint.domain.heap import WILDCARD
from trl_lint.domain.kinds import BatchValue, TupleValue
from trl_lint.domain.ranks import State
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge.heuristics import COMPUTES_GRADIENTS
from trl_lint.knowledge.models import FORWARDS, GENERATES
from trl_lint.knowledge.torch import SETS_GRADIENTS, STEPS_OF_TRAINING, WITHOUT_GRADIENTS

_LITERALS = ("False", "True")
# Methods that run a model.
_RUN = FORWARDS | GENERATES


def evaluates(frame: Frame, loop: cst.For | cst.While) -> bool:
    """Whether a loop trains nothing: gradients are off around it or in it, or its model is in evaluation mode."""
    names = names_in(loop.body)
    is_off = not frame.memory.control.grad or (SETS_GRADIENTS in names and _switches_gradients_off(frame, loop))
    if names & STEPS_OF_TRAINING:
        names = _names_called(frame, loop.body, loop)  # `step` may be a number
        if names & STEPS_OF_TRAINING or (not is_off and calls_training(frame, loop)):
            return False
    if is_off or names & (WITHOUT_GRADIENTS | GENERATES):
        return True
    is_off = _calls_without_gradients(frame, loop) or _calls_functions_without_gradients(frame, loop)
    return is_off or runs_evaluated(frame, loop)


def asking_for_batches(
    frame: Frame, loop: cst.For | cst.While, element: Value | None = None
) -> cst.For | cst.While | None:
    """A loop that evaluates the batches that it asks for: over a number of steps (the element), or a `while`.

    One rank alone may do so: some of the batches are enough for it.
    """
    counts = element is None or (element.kind is Kind.NUMBER and not element.rank.differs)
    of_all = counts and not frame.memory.control.is_chosen_by_rank
    return loop if of_all and evaluates(frame, loop) else None


def _calls_without_gradients(frame: Frame, loop: cst.For | cst.While) -> bool:
    """Whether one of the methods that a loop calls of its object turns gradients off, and none of them trains."""
    called = _methods_called(frame.cls, loop.body)
    for each in called:  # which grows
        called += [one for one in _methods_called(frame.cls, each.node) if one not in called]
    names = [names_in(each.node) for each in called]
    return any(each & WITHOUT_GRADIENTS for each in names) and not any(each & STEPS_OF_TRAINING for each in names)


def _calls_functions_without_gradients(frame: Frame, loop: cst.For | cst.While) -> bool:
    """Whether a loop has a function of the project run a model with gradients off, and no file of these trains."""
    found = (function_run(frame, each.func) for each in of_class(loop.body, cst.Call))
    called = [each for each in found if each is not None]
    off = (each for each in called if names_in(each.node) & WITHOUT_GRADIENTS)
    if not any(map(_runs_what_it_gets, off)) or calls_training(frame, loop):
        return False
    return not any(_has_training_steps(each.tree) for each in {frame.module, *(one.module for one in called)})


def _runs_what_it_gets(function: FunctionInfo) -> bool:
    """Whether a function calls one of its parameters, or what `self` holds: a metric, or an average of weights, does
    not: `accuracy(logits, labels)`, `update(average, model)`.
    """
    names = {each.name for each in function.parameters}
    for call in of_class(function.node, cst.Call):
        match call.func:
            case cst.Name(name) if name in names:
                return True
            case cst.Attribute(value=cst.Name(owner), attr=cst.Name(name)) if (
                owner in names and name in FORWARDS | GENERATES
            ):
                return True
        part = self_attribute(call.func)
        if part and function.cls is not None and function.cls.find(part) is None:
            return True
    return False


def _has_training_steps(code: cst.CSTNode) -> bool:
    return any(last_name(each.func) in STEPS_OF_TRAINING for each in of_class(code, cst.Call))


def _methods_called(cls: ClassInfo | None, code: cst.CSTNode) -> list[FunctionInfo]:
    if cls is None:
        return []
    found = (cls.find(self_attribute(call.func)) for call in of_class(code, cst.Call))
    return list(dict.fromkeys(each for each in found if each is not None))


def _switches_gradients_off(frame: Frame, loop: cst.For | cst.While) -> bool:
    """Whether a call turns gradients off in a loop: `with torch.set_grad_enabled(False):`."""
    calls = [each for each in of_class(loop.body, cst.Call) if last_name(each.func) == SETS_GRADIENTS and each.args]
    return bool(calls) and all(_known_flag(frame, each.args[0].value, loop) is False for each in calls)


def _names_called(frame: Frame, node: cst.CSTNode, loop: cst.For | cst.While) -> set[str]:
    """The names of the calls in a part of a loop, except in dead branches of known flags: `if train:`."""
    return {last_name(each.func) for each in _live(frame, node, loop) if isinstance(each, cst.Call)}


def _live(frame: Frame, node: cst.CSTNode, loop: cst.For | cst.While) -> Iterator[cst.CSTNode]:
    """A part of a loop and all that is in it, except in dead branches of known flags: `if train:`."""
    yield node
    parts = children(node)
    if isinstance(node, cst.If):
        known = _known_flag(frame, node.test, loop)
        parts = [
            part for part in parts if part is not (node.body if known is False else node.orelse if known else None)
        ]
    for part in parts:
        yield from _live(frame, part, loop)


def _known_flag(frame: Frame, test: cst.BaseExpression, loop: cst.For | cst.While) -> bool | None:
    """The value of a flag that is known before a loop and not assigned in it."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        known = _known_flag(frame, test.expression, loop)
        return None if known is None else not known
    match test:
        case cst.Name(name) if name in _LITERALS:
            return name == "True"
        case cst.Name(name) if not is_bound(loop, test):
            const = frame.memory.names.get(name, UNKNOWN).const
            return const if isinstance(const, bool) else None
        case cst.Comparison(cst.Name(name) as left, [cst.ComparisonTarget(operator, cst.SimpleString() as text)]) if (
            isinstance(operator, (cst.Equal, cst.NotEqual)) and not is_bound(loop, left)
        ):
            const = frame.memory.names.get(name, UNKNOWN).const
            is_whole = isinstance(const, str) and WILDCARD not in const
            return (const == text.evaluated_value) is isinstance(operator, cst.Equal) if is_whole else None
    return None


def trained_on(frame: Frame, node: cst.For, element: Value) -> Value:
    """The element of a loop; rank-local if the loop trains a wrapped model on it."""
    batch = element.items[-1] if element.items else element
    if batch.rank.state is not State.UNKNOWN or batch.kind not in (Kind.BATCH, Kind.UNKNOWN):
        return element
    targets = node.target.elements if isinstance(node.target, (cst.List, cst.Tuple)) else ()
    name = targets[-1].value if targets else node.target
    if not has_wrapped_model(frame) or not _is_innermost(frame, node):
        return element
    if batch.kind is not Kind.BATCH and not _is_read_as_batch(node.body, name):
        return element
    rank_local = BatchValue(
        ranks.SHARD, provenance=frame.step(node, "the model is trained here on each rank's own batches"), grad=False
    )
    if element.items:
        return element.with_parts((*element.items[:-1], rank_local))
    return TupleValue(ranks.SAME, (*(UNKNOWN for _ in targets[1:]), rank_local)) if targets else rank_local


def _is_innermost(frame: Frame, loop: cst.For) -> bool:
    """Whether a backward pass is written in a loop, and not only in loops inside it.

    One under a flag that is off is none of this run: `if train:` where the same function evaluates.
    """
    attributes = (each for each in _live(frame, loop.body, loop) if isinstance(each, cst.Attribute))
    backward = [each for each in attributes if COMPUTES_GRADIENTS.fits(each.attr.value)]
    if not backward:
        return False
    loops = (*of_class(loop.body, cst.For), *of_class(loop.body, cst.While))
    inner = {id(node) for each in loops for node in of_class(each, cst.Attribute)}
    return any(id(node) not in inner for node in backward)


def _is_read_as_batch(body: cst.CSTNode, target: cst.BaseExpression) -> bool:
    """Whether the fields of a loop variable are read: `batch["x"]`, `model(**batch)`, `x, y = batch`.

    `step, (x, y) = item` is no batch alone: all ranks count the same steps.
    """
    if not isinstance(target, cst.Name):
        return isinstance(target, (cst.List, cst.Tuple))
    for node in (*of_class(body, cst.Subscript), *of_class(body, cst.Arg), *of_class(body, cst.Assign)):
        match node:
            case cst.Subscript(value=cst.Name(name), slice=[cst.SubscriptElement(cst.Index(cst.SimpleString()))]):
                pass
            case cst.Arg(star="**", value=cst.Name(name)):
                pass
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple(fields))], value=cst.Name(name)):
                if any(isinstance(each.value, (cst.Tuple, cst.List)) for each in fields):
                    continue
            case _:
                continue
        if name == target.value:
            return True
    return False
