"""Functions that a program runs in separate processes, with their arguments.

For example:

    mp.spawn(train, args=(size, options))                 train(rank, size, options): the rank comes first
    mp.spawn(train, args=(size, options), nprocs=1)       the same in one process, of each node if there are some
    notebook_launcher(train, args=(options,))             train(options)
    for i in range(size):
        mp.Process(target=train, args=(i, options))       train(i, options): `i` is the rank
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import FunctionValue
from trl_lint.analysis.program.idioms.helper_numbers import only_shares_work
from trl_lint.analysis.program.syntax import innermost, last_name, names_in, of_class
from trl_lint.analysis.state.given_functions import GivenFunction
from trl_lint.analysis.transfer.processes.world_sizes import as_world_size
from trl_lint.domain import ranks
from trl_lint.domain.kinds import LibraryName, PartialCall
from trl_lint.domain.numbers import is_one
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import UNKNOWN, Value
from trl_lint.knowledge.heuristics import RANK_FIELD, RANK_NUMBER
from trl_lint.knowledge.process_starts import LAUNCHERS, Gets, ProcessLauncher
from trl_lint.knowledge.schema import RANK_INDEX

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame

# Why what a program reads before it starts its processes would differ between them, had each of them read it.
_READ_ONCE = Origin.CLOCK | Origin.IO | Origin.MEMORY | Origin.RNG


def launch(frame: Frame, launcher: ProcessLauncher, args: Arguments, node: cst.CSTNode, receiver: Value | None) -> None:
    """Have a function run in one process per rank. receiver: what the launcher is a method of, if anything."""
    position, _ = launcher.function
    given = args.positional[position + 1 :] if launcher.arguments is None else _items(args.get(*launcher.arguments))
    starts_one = launcher.processes is not None and is_one(args.get(*launcher.processes))
    first: Value | None = None
    match launcher.gets:
        case Gets.RANK:
            first = _number(frame, node)
        case Gets.OBJECT:
            first = receiver
        case Gets.FIRST:
            first = args.positional[0] if args.positional else UNKNOWN
    values = (*(() if first is None else (first,)), *map(_read_before, given))
    _enter(frame, args.get(*launcher.function), values, several=not starts_one)


def _launched(launcher: ProcessLauncher, frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """A launcher: runs a function in one process per rank."""
    launch(frame, launcher, args, node, None)
    return frame.engine.unresolved(frame, args, node)


def _process(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`Process`, started in a loop: a rank if the loop counter is passed to it as its rank, otherwise a helper."""
    target, arguments, expression = args.keywords.get("target"), args.keywords.get("args"), args.expression("args")
    elements = [each.value for each in expression.elements] if isinstance(expression, cst.Tuple) else []
    loop = innermost(frame.root, node, cst.For)
    counter = _counter(loop)
    if loop is not None and counter and any(_is_named(each, counter) for each in elements):
        bound = _bound_in(loop)
        values = [
            _number(frame, node) if _is_named(each, counter) else _in_iteration(each, value, bound)
            for each, value in zip(elements, _items(arguments), strict=False)
        ]
        target_expression = args.expression("target")
        if target_expression is None or not names_in(target_expression) & bound:
            _enter(frame, target, values, needs_rank_parameter=True)
    return frame.engine.unresolved(frame, args, node)


def _context(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`mp.get_context("spawn")` has the same functions as the module."""
    return LibraryName("torch.multiprocessing")


def _enter(
    frame: Frame,
    callee: Value | None,
    values: Sequence[Value],
    *,
    needs_rank_parameter: bool = False,
    several: bool = True,
) -> None:
    """Have the engine run a function with these arguments, the positional ones first.

    needs_rank_parameter: only if the parameter for the number of the process is named like a rank. several: whether it
    is more than one process that runs it.
    """
    named: dict[str, Value] = {}
    if isinstance(callee, PartialCall):
        values, named = [*callee.positional, *values], dict(callee.keywords)
        callee = callee.callee
    if not isinstance(callee, FunctionValue) or callee.function.closure is not None:
        return
    names = [parameter.name for parameter in callee.function.parameters if not parameter.star]
    ranks_of = (name for name, value in zip(names, values, strict=False) if value.rank == RANK_INDEX.rank)
    if needs_rank_parameter and not any(_is_rank(callee.function, name) for name in ranks_of):
        return
    by_name = {name: value for name, value in named.items() if name in names} | dict(zip(names, values, strict=False))
    facts_of = {name: UNKNOWN if each.identities else as_world_size(name, each) for name, each in by_name.items()}
    frame.engine.enter(GivenFunction(callee.function, facts_of, called_back=False, several=several))


def _is_rank(function: FunctionInfo, parameter: str) -> bool:
    """Whether a function that a program runs in processes of its own is told which rank it is by a parameter."""
    is_named = RANK_NUMBER.fits(parameter) or RANK_FIELD.fits(parameter)
    return is_named and not only_shares_work(function.node, parameter)


def _read_before(value: Value) -> Value:
    """What is read before the processes are started is the same for all of them: the time, a draw, a folder's contents.

    What differs by the rank of the process that starts them may be of a node.
    """
    is_read_once = value.rank.differs and not value.rank.origins & ~_READ_ONCE
    return value.replace(rank=ranks.SAME, provenance=None) if is_read_once else value


def _in_iteration(expression: cst.BaseExpression, value: Value, bound: set[str]) -> Value:
    """An argument in a loop that starts one process per iteration; what is called there is called for each of them."""
    if names_in(expression) & bound:
        return UNKNOWN
    return value if of_class(expression, cst.Call) else _read_before(value)


def _number(frame: Frame, node: cst.CSTNode) -> Value:
    return RANK_INDEX.replace(
        provenance=frame.step(node, "it runs once per process and gets the number of the process")
    )


def _items(arguments: Value | None) -> tuple[Value, ...]:
    return () if arguments is None else arguments.items


def _counter(loop: cst.For | None) -> str:
    """The counter of a loop: `for rank in range(size)`."""
    match loop:
        case cst.For(target=cst.Name(value=name), iter=cst.Call(func=func)) if last_name(func) == "range":
            return name
    return ""


def _is_named(node: cst.BaseExpression, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _bound_in(loop: cst.For) -> set[str]:
    """The names that each iteration of a loop binds again."""
    targets = (each.target for each in of_class(loop, cst.AssignTarget))
    return names_in(loop.target).union(*map(names_in, targets))


HANDLERS: dict[str, Callable[[Frame, Arguments, cst.CSTNode], Value]] = {
    **{name: partial(_launched, launcher) for name, launcher in LAUNCHERS.items()},
    "multiprocessing.Process": _process,
    "multiprocessing.get_context": _context,
    "torch.multiprocessing.Process": _process,
    "torch.multiprocessing.get_context": _context,
}
