"""Fields of objects that go with them into the functions that are called, and out of them.

For example:

    def start(args): args.rank = dist.get_rank()   start(options) has set `options.rank`
    def load(opt): seed(opt.seed)                  load(args) seeds with what `args.seed` is
    def parse(): …; return args                    `options = parse()` has the fields of its `args`
    alone.world_size = 1; Agent(alone)             this Agent is made, and runs, with `args.world_size` 1

What is known of a field is in `given_fields`: in the state of a function it is a name with a dot.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from trl_lint.analysis.interpreter.objects import aliases, assignment, given_fields
from trl_lint.analysis.interpreter.objects.flags_by_rank import is_own
from trl_lint.analysis.interprocedural.binding import expression_of
from trl_lint.analysis.interprocedural.returned_arguments import returned_name
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import assignments
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.values import UNKNOWN, Value

# The owner of the fields of what a function returns, among those that it leaves to its caller.
_RETURNED = ""


def of_arguments(frame: Frame, function: FunctionInfo, args: Arguments, receiver: Value | None) -> dict[str, Value]:
    """What is known of the fields of the arguments of a call, by the names of the parameters."""
    found = {}
    # What the objects of a class have in common is not decided by a number that one of them is given.
    is_shared = function.name == "__init__" and isinstance(receiver, ProjectInstance) and not receiver.cls.is_copy
    for arg in args.nodes.values():
        fields = given_fields.of(frame, arg.value)
        if is_shared:
            fields = {name: value for name, value in fields.items() if not given_fields.is_constant(value)}
        if fields:
            bound = (each.name for each in function.parameters if not each.star)
            name = next((each for each in bound if expression_of(function, each, args, receiver) is arg.value), None)
            found.update({f"{name}.{field}": value for field, value in fields.items() if name is not None})
    return found


def enter(frame: Frame) -> None:
    """Note the owners of the fields that a function is entered with."""
    owners = {name.partition(".")[0] for name in frame.memory.names if "." in name}
    if owners:
        frame.notes.of(given_fields.Fields).owners |= owners


def changed_for_caller(
    function: FunctionInfo, names: Mapping[str, Value], after: Mapping[str, Value]
) -> dict[str, Value]:
    """What a function has changed for its callers: its arguments, and fields of these and of what it returns."""
    return {**aliases.changed_for_caller(function.node, names, after), **_left(function, names, after)}


def _left(function: FunctionInfo, names: Mapping[str, Value], after: Mapping[str, Value]) -> dict[str, Value]:
    """The fields that a function leaves on its arguments and on what it returns. names: its state at the start."""
    fields = {name: value for name, value in after.items() if "." in name and given_fields.may_go(value)}
    fields.update({name: UNKNOWN for name in names if "." in name and name not in fields})
    node = function.node
    if not fields or not isinstance(node, cst.FunctionDef):
        return {}
    returned = returned_name(node)
    rebound = {target.value for target, _ in assignments(node) if isinstance(target, cst.Name)}
    found = {}
    for name, value in fields.items():
        owner, _, field = name.partition(".")
        if is_own(value):
            continue  # off only for the ranks that were in one branch
        if owner == returned and value is not UNKNOWN:
            found[f"{_RETURNED}.{field}"] = value
        if owner in names and owner not in rebound and names.get(name) is not value:
            found[name] = value
    return found


def apply(
    frame: Frame,
    function: FunctionInfo,
    args: Arguments,
    node: cst.CSTNode,
    receiver: Value | None,
    exchanged: Mapping[str, Value],
) -> None:
    """Note, at a call of a function, what it has left on its arguments and on what it returns (among `exchanged`)."""
    returned = {}
    _rebind_starred(frame, function, args, receiver, exchanged)
    for name, value in exchanged.items():
        owner, dot, field = name.partition(".")
        if not dot:
            continue
        if owner == _RETURNED:
            returned[field] = value
        elif (expression := expression_of(function, owner, args, receiver)) is not None:
            if value is UNKNOWN:
                given_fields.drop(frame, expression, field)
            else:
                given_fields.put(frame, expression, {field: value})
    if returned:
        frame.notes.of(given_fields.Fields).returned[id(node)] = returned


def _rebind_starred(
    frame: Frame, function: FunctionInfo, args: Arguments, receiver: Value | None, exchanged: Mapping[str, Value]
) -> None:
    """Give the arguments that a function gets in `*tensors` the values that it has left in this tuple."""
    place = 0 if receiver is None else -1
    for parameter in function.parameters:
        if parameter.star == "*":
            items = exchanged[parameter.name].items if parameter.name in exchanged else ()
            for index, item in enumerate(items, place):
                expression = args.expression(index)
                if expression is not None:
                    assignment.rebind(frame, expression, item)
            return
        place += 1
