"""The fix for a tensor on the wrong device for a collective: create it on, or move it to, the accelerator's device."""

from __future__ import annotations

from typing import TypeGuard

import libcst as cst

from trl_lint.analysis.events import CollectiveCalled, StepReturned
from trl_lint.analysis.program.syntax import ancestors, last_name
from trl_lint.domain.control import Uniformity
from trl_lint.domain.provenance import Step
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.edits import FixPlan, NoFix, Replace
from trl_lint.fixes.support.node_types import Path
from trl_lint.fixes.support.scope import scope_of
from trl_lint.fixes.support.tree import (
    call_of,
    goes_to_cpu,
    has_comment,
    in_parentheses_of,
    method_call,
    uses_of,
    with_argument,
    with_keyword,
)
from trl_lint.knowledge.torch_ops import DeviceTransfer, ElementTransfer, of_method


class WrongDeviceCollectiveFix(RuleFix[CollectiveCalled | StepReturned]):
    def plan(self, event: CollectiveCalled | StepReturned) -> FixPlan | NoFix:
        if isinstance(event, CollectiveCalled):
            return _for_collective(event, getattr(event.operand.device, "provenance", None))
        return _for_step(event, getattr(event.value.device, "provenance", None))

    def title_for(self, event: CollectiveCalled | StepReturned) -> str:
        if isinstance(event, StepReturned):
            return "Create it on the accelerator's device"
        return f"Pass `{event.row.name.rpartition('.')[2]}` a tensor on the accelerator's device"

    def uniformity(self, event: CollectiveCalled | StepReturned) -> Uniformity:
        """The caller gathers what a step returns, whatever happens here."""
        return event.control.uniformity if isinstance(event, CollectiveCalled) else Uniformity.UNIFORM


def _for_collective(event: CollectiveCalled, producer: Step | None) -> FixPlan | NoFix:
    """The plan to pass a collective a tensor on the accelerator's device."""
    call = event.node
    argument = event.argument
    if event.parts != (event.operand,) or not isinstance(argument, cst.Arg) or argument.star:
        return NoFix("it is not known which of several tensors must be moved")
    if event.row.into is not None:
        return NoFix("this collective works in place on its tensor")
    device = device_text(event)
    if not device:
        return NoFix("no `Accelerator` is available here to move the tensor to its device")
    tensor = argument.value
    method = method_call(tensor)
    if method is not None and (method.name == "cpu" or (method.name == "to" and goes_to_cpu(method.args))):
        if has_comment(tensor) and not has_comment(method.receiver):
            return NoFix("the fix would remove a comment")
        inner = with_argument(call, argument, method.receiver).with_changes(lpar=[], rpar=[])
        return FixPlan((Replace(call, in_parentheses_of(call, call_of(inner, "cpu"))),))
    if _becomes_an_array(event):
        return NoFix("the result is converted to an array, which a tensor on a GPU cannot be")
    if producer is not None and producer.node is tensor and _is_factory(tensor):
        return FixPlan((Replace(tensor, with_keyword(tensor, "device", cst.parse_expression(device))),))
    return FixPlan((Replace(tensor, call_of(tensor, "to", cst.Arg(cst.parse_expression(device)))),))


def _for_step(event: StepReturned, producer: Step | None) -> FixPlan | NoFix:
    """The plan to create the tensor that a hook returns on the accelerator's device."""
    if not event.accelerator:
        return NoFix("no `Accelerator` is available here for the device of the tensor")
    root = scope_of(event.function, event.module)
    around = () if producer is None else ancestors(root, producer.node)
    if producer is None or not around or not _is_factory(producer.node):
        return NoFix("the tensor is not created in this method")
    caution = "" if _only_returned(root, around, producer.node) else "the tensor is also used elsewhere"
    by = with_keyword(producer.node, "device", cst.parse_expression(f"{event.accelerator}.device"))
    return FixPlan((Replace(producer.node, by),), caution=caution)


def device_text(event: CollectiveCalled) -> str:
    """The text of the device of the collective's object, otherwise of the available accelerator."""
    func = event.node.func
    cls = event.row.name.rpartition(".")[0]
    if isinstance(func, cst.Attribute):
        owner = event.module.tree.code_for_node(func.value).strip()
        if cls == "accelerate.Accelerator":
            return f"{owner}.device"
        if cls == "transformers.Trainer":
            return f"{owner}.args.device"
    return f"{event.accelerator}.device" if event.accelerator else ""


def _is_factory(node: cst.CSTNode) -> TypeGuard[cst.Call]:
    """Whether it calls a function that creates a tensor on a given device (a method moves one)."""
    if not isinstance(node, cst.Call) or not node.args or any(arg.star for arg in node.args):
        return False
    name = last_name(node.func)
    moves = of_method(name).device is not DeviceTransfer.KEEPS
    return not moves and name not in _ON_THE_HOST and not name[:1].isupper()


# They use the host's memory, and take no `device`.
_ON_THE_HOST = frozenset({"from_numpy", "frombuffer"})


def _becomes_an_array(event: CollectiveCalled) -> bool:
    """Whether the result becomes a NumPy array before it is moved to the CPU."""
    around = ancestors(scope_of(event.function, event.module), event.node)
    node: cst.CSTNode = event.node
    for parent in reversed(around):
        if isinstance(parent, cst.Attribute) and parent.value is node:
            if parent.attr.value in ("numpy", "__array__"):
                return True
            row = of_method(parent.attr.value)
            if row.device is DeviceTransfer.CPU or row.elements in (ElementTransfer.NUMBER, ElementTransfer.NUMBERS):
                return False
        elif not (isinstance(parent, cst.Call) and parent.func is node):
            return False
        node = parent
    return False


def _only_returned(root: cst.CSTNode, around: Path, node: cst.CSTNode) -> bool:
    """Whether the name that a tensor is bound to is used only in `return`."""
    parent = around[-1]
    if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
        return any(isinstance(each, cst.Return) for each in around)
    target = parent.targets[0].target
    if not isinstance(target, cst.Name):
        return False
    uses = [chain for chain in uses_of(root, target.value, after=node) if not isinstance(chain[-2], cst.AssignTarget)]
    return all(any(isinstance(each, cst.Return) for each in chain) for chain in uses)
