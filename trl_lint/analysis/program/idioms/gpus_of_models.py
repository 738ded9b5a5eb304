"""The GPU that code puts a model onto before it is wrapped, if all processes that run the code take the same one.

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Net().to(device)                    "cuda", the first GPU unless something else chooses another one
model.cuda()                                "cuda"
model.to(args.device)                       "cuda:0", if that is what the option is by default
model.to(chosen())                          that of the one thing which this function of the file returns
model.to(f"cuda:{rank}"); model.cuda(gpu)   unknown
DDP(model, device_ids=[0])                  "cuda:0"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

import libcst as cst

from trl_lint.analysis.program.idioms.exclusive_places import excluded_by_all
from trl_lint.analysis.program.idioms.option_defaults import option_default
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.project.passed_arguments import argument_at
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import (
    assigned_parts,
    assignments,
    definitions_around,
    keyword_value,
    last_name,
    of_class,
    parts_of_target,
    precedes,
)
from trl_lint.knowledge.backends import FIND_GPUS
from trl_lint.knowledge.torch_distributed import DEVICE_IDS, WRAPPED_MODULE

_MOVES = frozenset({"cuda", "to"})
_GPU = re.compile(r"cuda(?::\d+)?")
# Code that sets an option to something else: `args.device = f"cuda:{rank}"`, also beside another one, or by its name.
_SETS = (
    rb"(?m)\.%(name)b[ \t]*=(?!=)|^[^\n=(\[]*\.%(name)b\b[^\n=(]*=(?!=)"
    rb"|\bsetattr\([^\n]*[\"']%(name)b[\"']|\[[\"']%(name)b[\"']\][ \t]*=(?!=)"
)
_ASKS = frozenset(name.rpartition(".")[2] for name in FIND_GPUS)


def shared_gpu(module: Module, root: cst.CSTNode, function: FunctionInfo | None, wrapper: cst.Call) -> str:
    """The GPU of a model that a call wraps, as it is written; "" if it is unknown, or may be each process's own."""
    given = frozenset(each.name for each in function.parameters) if function is not None else frozenset()
    read = _GpuNames(module, root, given)
    ids = keyword_value(wrapper, DEVICE_IDS)
    match ids:
        case cst.List(elements=[cst.Element(value=only)]) if gpu := read.gpu(only):
            return gpu
    model = argument_at(wrapper, *WRAPPED_MODULE)
    excluded = excluded_by_all(module.tree, [wrapper])
    moves = () if model is None else _moves_before(root, model, wrapper)
    places = [read.place(each) for each in moves if id(each) not in excluded]
    return places[-1] if all(places) and places else ""


class _GpuNames:
    """Reads what the expressions of a function say of GPUs."""

    def __init__(self, module: Module, root: cst.CSTNode, parameters: frozenset[str]) -> None:
        self.module = module
        self.root = root
        self.parameters = parameters

    def place(self, move: cst.Call) -> str:
        """The GPU of `model.cuda(…)` or `model.to(…)`."""
        device = argument_at(move, 0, "device")
        if device is None:
            return "cuda" if last_name(move.func) == "cuda" and not move.args else ""
        return self.gpu(device)

    def gpu(self, expression: cst.BaseExpression) -> str:
        """The GPU that an expression names; "" if it is another device, or none that is known."""
        name = self._name(expression, depth=4)
        return name if _GPU.fullmatch(name) else ""

    def _name(self, expression: cst.BaseExpression, depth: int) -> str:
        match self._resolved(expression) if depth else None:
            case cst.SimpleString() as text:
                return str(text.evaluated_value)
            case cst.Integer(value=number):
                return f"cuda:{number}"
            case cst.Attribute(attr=cst.Name(value=name)) as read if not self._is_set(name):
                return option_default(self.module, read) or ""
            case cst.IfExp(test=cst.Call(func=asked), body=chosen) if last_name(asked) in _ASKS:
                return self._name(chosen, depth - 1)
            case cst.Call(func=made, args=[cst.Arg(keyword=None, value=kind)]) if last_name(made) == "device":
                return self._name(kind, depth - 1)
            case cst.Call(func=made, args=[cst.Arg(value=kind), cst.Arg(value=cst.Integer(value=number))]) if (
                last_name(made) == "device"
            ):
                return f"{self._name(kind, depth - 1)}:{number}"
            case cst.Call() as call:
                return self._returned(call, depth - 1)
            case cst.Subscript(
                value=cst.Call() as call, slice=[cst.SubscriptElement(slice=cst.Index(cst.Integer() as number))]
            ):
                return self._returned(call, depth - 1, number.evaluated_value)
        return ""

    def _returned(self, call: cst.Call, depth: int, place: int | None = None) -> str:
        """The GPU that a function of the file returns, itself or at a place of a tuple."""
        is_given = last_name(call.func) in self.parameters
        helper = None if is_given else _helper(self.module.tree, call)
        returned = None if helper is None else _returned_at(helper, place)
        if helper is None or returned is None:
            return ""
        given = frozenset(each.name.value for each in of_class(helper.params, cst.Param))
        return _GpuNames(self.module, helper, given)._name(returned, depth)

    def _is_set(self, option: str) -> bool:
        sets = _SETS % {b"name": re.escape(option.encode())}
        return self.module.mentions(sets) or self.module.project_mentions(sets)

    def _resolved(self, expression: cst.BaseExpression) -> cst.BaseExpression | None:
        """What an expression stands for; None if it is a name that is assigned several things, or none."""
        if not isinstance(expression, cst.Name):
            return expression
        name = expression.value
        if name in self.parameters or name in _global_names(self.module.tree):
            return None
        values = _values(self.root, name) or _values(self.module.tree, name)
        first = values[0] if values else None
        return first if first is not None and all(each and each.deep_equals(first) for each in values) else None


def _values(scope: cst.CSTNode, name: str) -> list[cst.BaseExpression | None]:
    """What a function, or a module outside its functions, binds a name to."""
    parts = (each for target, value in assigned_parts(scope) for each in _parts(target, value))
    loops = ((part, each.iter) for each in of_class(scope, cst.For) for part in parts_of_target(each.target))
    others: tuple[cst.AnnAssign | cst.AugAssign | cst.NamedExpr, ...] = (
        *of_class(scope, cst.AnnAssign),
        *of_class(scope, cst.AugAssign),
        *of_class(scope, cst.NamedExpr),
    )
    bound = chain(parts, loops, ((each.target, each.value) for each in others))
    found = [(target, value) for target, value in bound if _is_name(target, name)]
    is_module = isinstance(scope, cst.Module)
    return [value for target, value in found if not (is_module and definitions_around(scope, target))]


def _parts(
    target: cst.BaseExpression, value: cst.BaseExpression
) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """What is assigned to the parts of a target; of what a call returns, to each name the one at its place."""
    is_flat = isinstance(target, cst.Tuple) and all(
        isinstance(each, cst.Element) and isinstance(each.value, cst.Name) for each in target.elements
    )
    for place, part in enumerate(parts_of_target(target)):
        yield part, _item(value, place) if is_flat and isinstance(value, cst.Call) else value


def _item(value: cst.BaseExpression, place: int) -> cst.Subscript:
    return cst.Subscript(value, [cst.SubscriptElement(cst.Index(cst.Integer(str(place))))])


def _helper(tree: cst.Module, call: cst.Call) -> cst.FunctionDef | None:
    """The function of a file that a call without a receiver gets, if the file has only one of its name."""
    if not isinstance(call.func, cst.Name):
        return None
    found = [each for each in of_class(tree, cst.FunctionDef) if each.name.value == call.func.value]
    one = found[0] if len(found) == 1 else None
    return None if one is None or one.decorators or definitions_around(tree, one) != [one] else one


def _returned_at(helper: cst.FunctionDef, place: int | None) -> cst.BaseExpression | None:
    """What a function returns in its only `return`; with a place, what is there in the tuple that it returns."""
    found = [each for each in of_class(helper.body, cst.Return) if not definitions_around(helper.body, each)]
    match found[0].value if len(found) == 1 else None:
        case cst.Tuple(elements=parts) if place is not None and place < len(parts):
            return parts[place].value if all(isinstance(each, cst.Element) for each in parts) else None
        case one:
            return one if place is None else None


def _global_names(tree: cst.CSTNode) -> set[str]:
    """The names that the functions of a module bind for it."""
    return {item.name.value for each in of_class(tree, cst.Global) for item in each.names}


def _is_name(target: cst.CSTNode, name: str) -> bool:
    return isinstance(target, cst.Name) and target.value == name


def _moves_before(root: cst.CSTNode, model: cst.BaseExpression, wrapper: cst.Call) -> Iterator[cst.Call]:
    """The calls that move a model, in the order of the text: where it is assigned, in statements, in the wrapper."""
    if isinstance(model, (cst.Attribute, cst.Name)):
        made = [value for target, value in assignments(root) if target.deep_equals(model)]
        moved = [each.value for each in of_class(root, cst.Expr) if _is_called_on(each.value, model)]
        moves = {id(move) for each in (*made, *moved) for move in _chain(each)}
        yield from (each for each in of_class(root, cst.Call) if id(each) in moves and precedes(root, each, wrapper))
    yield from _chain(model)


def _is_called_on(expression: cst.BaseExpression, model: cst.BaseExpression) -> bool:
    """Whether an expression is a method call of the model, or a chain that begins with one."""
    while isinstance(expression, cst.Call) and isinstance(expression.func, cst.Attribute):
        expression = expression.func.value
        if expression.deep_equals(model):
            return True
    return False


def _chain(expression: cst.BaseExpression) -> Iterator[cst.Call]:
    """The moves in a chain of calls: `Net().to(device).train()`, the first one first."""
    if isinstance(expression, cst.Call) and isinstance(expression.func, cst.Attribute):
        yield from _chain(expression.func.value)
        if expression.func.attr.value in _MOVES and not _is_of_type(expression):
            yield expression


def _is_of_type(move: cst.Call) -> bool:
    """Whether a call changes the type of the numbers only: `model.to(torch.bfloat16)`, `model.to(dtype=dtype)`."""
    first = argument_at(move, 0, "device")
    match first:
        case cst.Attribute(value=cst.Name("torch")):
            return True
    return first is None and bool(move.args)
