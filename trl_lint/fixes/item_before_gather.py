"""The fix for a collective that gets a Python number: which tensor to pass, and how to reduce the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import libcst as cst

from trl_lint.analysis.events import CollectiveCalled
from trl_lint.analysis.program.syntax import ancestors, last_name
from trl_lint.analysis.transfer.tensors.tensor_devices import may_be_cpu
from trl_lint.domain.kinds import NumberValue
from trl_lint.domain.numbers import source_of
from trl_lint.domain.provenance import is_of_full_batches
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Kind, Value
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.blocks import torch_in_reach
from trl_lint.fixes.support.edits import Edit, FixPlan, NoFix, Replace
from trl_lint.fixes.support.node_types import Path
from trl_lint.fixes.support.reductions import (
    REPEATED,
    goes_to_host,
    is_mean,
    is_transparent,
    needs_cast,
    written_reduction,
)
from trl_lint.fixes.support.scope import scope_of
from trl_lint.fixes.support.tree import (
    call_of,
    goes_to_cpu,
    has_comment,
    in_parentheses_of,
    keyword_argument,
    keyword_of,
    method_call,
    tensor_of,
    uses_of,
    with_argument,
)
from trl_lint.fixes.support.whole_gathers import of_all_ranks
from trl_lint.knowledge.torch_ops import ElementTransfer, of_method

_AS_LIST = "the result is used as a list of one value per rank"
_HELP_AS_LIST = "pass it as a tensor of one element, and call `.tolist()` on the result"
# Functions that move a tensor to the host.
_HOST_FUNCTIONS = frozenset({"float", "int"})
# Calls around the collective that use the result as one value per rank.
_LIST_FUNCTIONS = frozenset(
    {"len", "list", "sum", "sorted", "max", "min", "enumerate", "zip", "tuple", "set", "any", "all"}
)
# Not in torch_ops: names as written, of any object that takes a list.
_TENSOR_FUNCTIONS = frozenset({"extend", "stack", "cat", "mean", "sum", "array"})


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to write.

    Attributes:
        tensor: What to pass to the collective.
        factory: Whether it is a number that has to become a tensor first.
        device: The text of the device to create it on, or to move it to from the CPU.
        cast: Whether to convert it to float.
        reduction: The reduction that is repeated on the result, or "" for none.
        host: Whether the new expression ends in `.item()`, or has `convert` around it.
        convert: "int" or "float", or "" for `.item()`.
        whole: Whether `gather` has to take the place of `gather_for_metrics`, which would cut values of some ranks.
    """

    tensor: cst.BaseExpression
    factory: bool = False
    device: str = ""
    cast: bool = False
    reduction: str = ""
    host: bool = True
    convert: str = ""
    whole: bool = False


class ItemBeforeGatherFix(RuleFix[CollectiveCalled]):
    uncovers = frozenset({"TRL014"})

    def plan(self, event: CollectiveCalled) -> FixPlan | NoFix:
        """The plan to pass a tensor instead of a Python number, or why that is left to the author."""
        plan = _plan(event)
        if isinstance(plan, NoFix):
            return plan
        call, is_cut = event.node, event.cuts_ranks and not is_of_full_batches(event.operand.provenance)
        edits: list[Edit] = [Replace(call, _rewritten(call, event.argument, replace(plan, whole=is_cut)))]
        if plan.factory:
            torch = torch_in_reach(event.module, scope_of(event.function, event.module), call)
            if isinstance(torch, NoFix):
                return torch
            edits += torch
        rounds = plan.factory and event.operand.dtype != "int"
        return FixPlan(tuple(edits), caution="a Python float becomes a tensor, which rounds it" if rounds else "")

    def title_for(self, event: CollectiveCalled) -> str:
        return f"Pass a tensor to `{event.row.name.rpartition('.')[2]}`"


def _plan(event: CollectiveCalled) -> _Plan | NoFix:
    """What to write in place of the call, or why nothing can be written."""
    problem = _unsuitable(event)
    if problem:
        return NoFix(problem, help=_HELP_AS_LIST if problem == _AS_LIST else "")
    tensor, value = _peel(event.argument.value, event.operand)
    use = _use_of_result(event)
    if use is None:
        return NoFix("the result is used as a tensor or list of one value per rank", help=_HELP_AS_LIST)
    factory = value.kind is Kind.NUMBER or value.device == "host"
    device = ""
    if factory or may_be_cpu(value):
        device = _device(event)
        if not device:
            return NoFix("no `Accelerator` is available here for the device of the new tensor")
    own_name = event.row.name.rpartition(".")[2]
    if own_name == "reduce":
        return _Plan(
            tensor, factory, device, needs_cast(value, _mode(event), written_reduction(tensor)), "", not use.tail
        )
    reduction = _reduction(tensor, event.operand, value)
    if not reduction:
        return NoFix("it is not known how to combine the ranks' values")
    cast = not use.floats and needs_cast(value, use.reduction or reduction, written_reduction(tensor))
    convert = "" if factory else _converted_by(event.argument.value)
    convert = "" if convert == value.dtype else convert
    return _Plan(tensor, factory, device, cast, "" if use.reduction else reduction, not use.tail, convert)


def _unsuitable(event: CollectiveCalled) -> str:
    """Why this call is not fixed, whatever it is passed; "" if it may be."""
    call, row = event.node, event.row
    if event.numbers or event.operand.kind is not Kind.NUMBER:
        return "a container of numbers: the code does not show how to combine them"
    if row.into is not None:
        return "this collective works in place on its tensor"
    if row.result not in ("gathered", "reduced"):
        return "this collective does not combine the ranks' values"
    if any(arg.star for arg in call.args):
        return "the arguments are starred"
    if not isinstance(event.argument, cst.Arg):
        return "the argument is not written here"
    tensor, _ = _peel(event.argument.value, event.operand)
    if has_comment(event.argument.value) and not has_comment(tensor):
        return "the fix would remove a comment"
    if _used_as_list(event):
        return _AS_LIST
    return ""


def _peel(node: cst.BaseExpression, value: Value) -> tuple[cst.BaseExpression, Value]:
    """Strip the conversions to the host (`.item()`, `.cpu()`, `float(…)`, …); return the tensor and its facts."""
    while True:
        method = method_call(node)
        if method is not None and goes_to_host(method.name) and not method.args:
            node, value = method.receiver, _source(value, method.name)
        elif method is not None and method.name == "to" and goes_to_cpu(method.args):
            node, value = method.receiver, _source(value, "cpu")
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and len(node.args) == 1:
            if node.func.value not in _HOST_FUNCTIONS or not _from_tensor(value):
                return node, value
            node, value = node.args[0].value, _source(value, "float")
        else:
            return node, value


def _converted_by(node: cst.BaseExpression) -> str:
    """The function around an argument that determines the type of the number: `int` or `float`."""
    match node:
        case cst.Call(func=cst.Name(value=name)) if name in _HOST_FUNCTIONS:
            return name
    return ""


def _source(value: Value, step: str) -> Value:
    """The facts of the receiver of a step to the host, such as `.item()`."""
    if step in ("cpu", "numpy"):
        return value.replace(device="")  # it was on another device before
    return source_of(value) or value


def _from_tensor(value: Value) -> bool:
    """Whether a number is known to come from a tensor."""
    while isinstance(value, NumberValue) and value.source is not None:
        value = value.source
    return value.kind in (Kind.TENSOR, Kind.BATCH)


def _reduction(tensor: cst.BaseExpression, operand: Value, source: Value) -> str:
    """The reduction to repeat: the one written in the code, otherwise the one in the facts."""
    written = written_reduction(tensor)
    if written is not None:
        return REPEATED.get(written, "")
    rank = operand.rank
    if rank.state is State.PARTIAL:
        return REPEATED.get(rank.how, "")
    return "mean" if operand.dtype == "float" and not _is_product(tensor) else ""


def _is_product(node: cst.BaseExpression) -> bool:
    """Whether a number may be weighted, as a loss by the length of its batch, so that a mean would be wrong."""
    if not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, cst.Multiply):
        return False
    return not any(isinstance(side, cst.BaseNumber) for side in (node.left, node.right))


def _mode(event: CollectiveCalled) -> str:
    """The reduction of a `reduce` call: its argument, otherwise the default."""
    _, _, default = event.row.reduction or (0, "", "")
    for index, arg in enumerate(event.node.args):
        is_mode = keyword_of(arg) == "reduction" or (arg.keyword is None and index == 1)
        if is_mode and isinstance(arg.value, cst.SimpleString):
            return str(arg.value.evaluated_value)
    return default


def _device(event: CollectiveCalled) -> str:
    """The text of the device of the object whose collective is called."""
    func = event.node.func
    if not isinstance(func, cst.Attribute):
        return ""
    owner = event.module.tree.code_for_node(func.value).strip()
    cls = event.row.name.rpartition(".")[0]
    if cls == "accelerate.Accelerator":
        return f"{owner}.device"
    return f"{owner}.args.device" if cls == "transformers.Trainer" else ""


# --- how the result is used -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Use:
    """How a result is used: tensor methods follow (`tail`), and one of them reduces it by `reduction`.

    floats: it is converted to float before that.
    """

    tail: bool = False
    reduction: str = ""
    floats: bool = False


def _use_of_result(event: CollectiveCalled) -> _Use | None:
    """How the result is used in place, or otherwise through the name it is bound to; None: per rank."""
    around = ancestors(scope_of(event.function, event.module), event.node)
    here = _use_of((*around, event.node))
    if here != _Use():
        return here
    uses = [_use_of(chain) for chain in _later_uses(event, around) if not isinstance(chain[-2], cst.AssignTarget)]
    if all(use == _Use() for use in uses):
        return _Use()
    reducing = [use for use in uses if use is not None and use.reduction]
    if len(reducing) < len(uses):
        return None
    # The name stays bound to the tensor that all of its uses reduce.
    means = [use for use in reducing if is_mean(use.reduction) and not use.floats]
    return (means or reducing)[0]


def _use_of(chain: Path) -> _Use | None:
    """How the methods called on the innermost node of a chain use it."""
    tail = floats = False
    while len(chain) >= 3:
        node, attribute, outer = chain[-1], chain[-2], chain[-3]
        if not isinstance(attribute, cst.Attribute) or attribute.value is not node:
            break
        if not (isinstance(outer, cst.Call) and outer.func is attribute):
            return None
        row = of_method(attribute.attr.value)
        if row.repeats:
            return _Use(True, row.name, floats)
        if not is_transparent(row.name):
            return None
        chain, tail, floats = chain[:-2], True, floats or row.elements is ElementTransfer.FLOATS
    return _Use(tail)


def _bound_names(around: Path) -> list[str]:
    """The names that a call's result is directly assigned to."""
    bound: list[cst.BaseExpression]
    match around[-1] if around else None:
        case cst.Assign(targets=targets):
            bound = [each.target for each in targets]
        case cst.AnnAssign(target=target) | cst.NamedExpr(target=target):
            bound = [target]
        case _:
            bound = []
    return [each.value for each in bound if isinstance(each, cst.Name)]


def _later_uses(event: CollectiveCalled, around: Path) -> list[Path]:
    """The uses of these names after the call, each with the nodes around it."""
    root = scope_of(event.function, event.module)
    return [chain for name in _bound_names(around) for chain in uses_of(root, name, after=event.node)]


def _used_as_list(event: CollectiveCalled) -> bool:
    """Whether the result, directly or by name, is used as one value per rank: indexed, unpacked, or iterated."""
    around = ancestors(scope_of(event.function, event.module), event.node)
    if not around:
        return False
    if _takes_list((*around[-3:], event.node)):
        return True
    parent = around[-1]
    if isinstance(parent, cst.Assign) and isinstance(parent.targets[0].target, (cst.Tuple, cst.List)):
        return True
    return any(_takes_list(use) for use in _later_uses(event, around))


def _takes_list(chain: Path) -> bool:
    """Whether the surrounding code uses the innermost node of a chain as a sequence."""
    node, parents = chain[-1], chain[:-1][::-1]
    if not parents:
        return False
    parent = parents[0]
    if isinstance(parent, cst.Subscript):
        return parent.value is node
    if isinstance(parent, (cst.For, cst.CompFor)):
        return parent.iter is node
    if isinstance(parent, cst.StarredElement):
        return True
    if isinstance(parent, cst.Arg) and len(parents) > 1 and isinstance(parents[1], cst.Call):
        if parent.star:
            return True
        func = parents[1].func
        if isinstance(func, cst.Name):
            return func.value in _LIST_FUNCTIONS
        return isinstance(func, cst.Attribute) and func.attr.value in _TENSOR_FUNCTIONS
    return False


# --- the new expression ---------------------------------------------------------------------------------


def _rewritten(call: cst.Call, argument: cst.Arg, plan: _Plan) -> cst.Call:
    """The collective with a tensor as argument, reduced again outside, and moved to the host last."""
    tensor = plan.tensor
    if plan.factory:
        tensor = tensor_of(tensor, cst.parse_expression(plan.device))
    elif plan.device:
        tensor = call_of(tensor, "to", cst.Arg(cst.parse_expression(plan.device)))
    if plan.cast:
        tensor = call_of(tensor, "float")
    gathered = with_argument(call, argument, tensor)
    inner = gathered.with_changes(args=_named_mode(call, gathered.args), lpar=[], rpar=[])
    whole = of_all_ranks(inner) if plan.whole else inner
    inner = inner if isinstance(whole, NoFix) else whole
    if plan.reduction:
        inner = call_of(inner, plan.reduction)
    if plan.host and plan.convert:
        inner = cst.Call(cst.Name(plan.convert), [cst.Arg(inner)])
    elif plan.host:
        inner = call_of(inner, "item")
    return in_parentheses_of(call, inner)


def _named_mode(call: cst.Call, args: Sequence[cst.Arg]) -> Sequence[cst.Arg]:
    """Pass the reduction of `reduce(x, "mean")` by keyword: next to a tensor, a bare string reads badly."""
    if last_name(call.func) != "reduce" or len(args) < 2 or args[1].keyword is not None:
        return args
    named = keyword_argument("reduction", args[1].value)
    return [args[0], args[1].with_changes(keyword=named.keyword, equal=named.equal), *args[2:]]
