"""The arguments of a call, evaluated in order, with those that `*` and `**` add."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter.objects import present_on_some
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import BatchValue, ContainerValue, TupleValue
from trl_lint.domain.ranks import State
from trl_lint.domain.values import SAME, UNKNOWN, Kind, Value


def evaluated(frame: Frame, node: cst.Call) -> Arguments:
    """Evaluate the arguments in order."""
    args = Arguments()
    for arg in node.args:
        value = frame.engine.evaluate(frame, arg.value)
        for observe in frame.observers.argument:
            observe(frame, value, node)
        if arg.star:
            value = present_on_some.used(frame, arg.value, value)
        if arg.star == "*":
            _add_star(frame, args, value)
        elif arg.star == "**":
            add_double(frame, args, value)
        elif arg.keyword is not None:
            args.nodes[arg.keyword.value] = arg
            args.keywords[arg.keyword.value] = value
        else:
            args.nodes[len(args.positional)] = arg
            args.positional.append(value)
    return args


def _add_star(frame: Frame, args: Arguments, value: Value) -> None:
    if isinstance(value, TupleValue):
        args.positional.extend(value.items)
    else:
        element = containers.item_of(frame, value)
        args.star = element if args.star is None else join(args.star, element)


def add_double(frame: Frame, args: Arguments, value: Value) -> None:
    """Add what `**value` gives."""
    if isinstance(value, ContainerValue):
        for cell in frame.memory.cells(value):
            for key, item in cell.entries.items():
                if isinstance(key, str):
                    args.keywords.setdefault(key, item)
            if cell.rest is not None:
                args.double = cell.rest if args.double is None else join(args.double, cell.rest)
    elif value.kind is Kind.BATCH:
        element = value.as_a(BatchValue)
        args.double = element if args.double is None else join(args.double, element)
    elif value.kind is not Kind.NONE:
        args.double = (
            SAME if value.rank.state is State.SAME else Value(value.rank) if value.rank.is_uniform else UNKNOWN
        )
