"""Operators for TRL011 and TRL012: tensors that leave their device, datasets that lose their order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst
import libcst.matchers as m

from evaluation.flow import collectives, simple_statements, touched
from evaluation.neutral import Place
from evaluation.operators import Operator, Site, place_of, reduced_outside, reduction, value_of, wrapped
from evaluation.source import Source, dotted

FACTORIES = {"torch.tensor", "torch.zeros", "torch.ones", "torch.full", "torch.arange", "torch.empty"}
# Context managers of accelerate and TRL under which the main process goes first.
FIRST = ("main_process_first", "global_then_local_main_first")


def to_the_cpu(source: Source) -> Iterator[Site]:
    """`gather(x).mean()` becomes `gather(x.cpu()).mean()`."""
    for call in collectives(source):
        value = value_of(call)
        if reduction(value) or reduced_outside(source, call):
            inner = place_of(source, value, value, value)
            yield Site(Place(value, f"{wrapped(inner, value)}.cpu()", inner.subject, value))


def without_device(source: Source) -> Iterator[Site]:
    """`torch.tensor(x, device=device)` in a collective loses its device: directly, or through one local variable."""
    factories = {id(node): node for node in source.all(cst.Call) if _has_device(node)}
    for call in collectives(source):
        value = value_of(call)
        factory = factories.get(id(value)) or _bound_to(source, call, value)
        if factory is not None and id(factory) in factories:
            args = [source.code(each).rstrip(", \n") for each in factory.args if not _is_device(each)]
            code = f"{source.code(factory.func)}({', '.join(args)})"
            names = {value.value} if isinstance(value, cst.Name) else set()
            fair = partial(touched, source, call, names, set())
            yield Site(Place(factory, "{}", code, factory), (source.statement(call),), fair)


def _has_device(call: cst.Call) -> bool:
    return dotted(call.func) in FACTORIES and any(map(_is_device, call.args))


def _is_device(arg: cst.Arg) -> bool:
    return arg.keyword is not None and arg.keyword.value == "device"


def _bound_to(source: Source, call: cst.Call, value: cst.BaseExpression) -> cst.CSTNode | None:
    """The value of a name that a collective is given, if the function binds it only once."""
    scope = source.enclosing(call, cst.FunctionDef)
    if scope is None or not isinstance(value, cst.Name):
        return None
    bound = [
        node.value for node in m.findall(scope, m.Assign()) if m.matches(node.targets[0].target, m.Name(value.value))
    ]
    return bound[0] if len(bound) == 1 else None


def everybody_first(source: Source) -> Iterator[Site]:
    """The block in which the main process computes a dataset first becomes one in which all compute it at once."""
    for block in source.all(cst.With):
        items = [item.item for item in block.items]
        names = [_own_name(item.func) for item in items if isinstance(item, cst.Call)]
        if len(items) == 1 and names and names[0] in FIRST:
            due = tuple(_computing(source, block))
            if due:
                yield Site(Place(items[0], "{}", "torch.no_grad()", items[0]), due)


def _own_name(func: cst.BaseExpression) -> str:
    """The last name of the callee."""
    return func.attr.value if isinstance(func, cst.Attribute) else getattr(func, "value", "")


def _computing(source: Source, block: cst.With) -> Iterator[cst.CSTNode]:
    """The statements of a block that compute a dataset themselves, outside exception handlers."""
    computes = m.Call(func=m.Attribute(attr=m.Name("map") | m.Name("filter")))
    for statement in simple_statements(block):
        if source.enclosing(statement, cst.ExceptHandler) is not None:
            continue
        for call in m.findall(statement, computes):
            receiver = dotted(call.func.value) or ""
            if "dataset" in receiver:
                yield statement
                break


DEVICE_OPERATORS = (
    Operator("take the tensor to the CPU", "TRL011", to_the_cpu, follows=False),
    Operator("build the tensor on the CPU", "TRL011", without_device, needles=("device=",)),
    Operator("drop main_process_first", "TRL012", everybody_first, needles=FIRST, by_default=0.9),
)
