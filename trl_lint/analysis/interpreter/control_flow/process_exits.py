"""Ends of this rank's process: `sys.exit()` leaves like a `return`, and with an error status like a `raise`.

For example:

    if rank != 0:
        sys.exit()     only the main process continues
    if not found:
        sys.exit(2)    the launcher ends all ranks
    if not found:
        fail("none")   so does a function of the project that ends with `sys.exit(2)`
    if rank != 0:
        leave()        only the main process continues, if this function ends with `sys.exit()`
    only_main()        the same, if this one does it `if rank != 0`
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from trl_lint.analysis.interpreter.expressions import evaluate
from trl_lint.analysis.program.blocks import last_statement
from trl_lint.analysis.program.definitions.objects import FunctionValue
from trl_lint.analysis.program.syntax import last_name
from trl_lint.analysis.state.callees import function_of
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.observing import Exits
from trl_lint.domain.control import UNIFORM, Control, Uniformity
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.ranks import Origin, Rank
from trl_lint.domain.values import BOTTOM, UNKNOWN, Kind, Value
from trl_lint.knowledge.python import (
    ABORTS,
    END_OF_PROCESS,
    ENDS_PROCESS,
    ENDS_PROCESS_UNBOUND,
    KILLS,
    NAMES_OF_ENDS,
    OWN_PROCESS,
)

_NAMES = NAMES_OF_ENDS | {KILLS.rpartition(".")[2]}
# What divides the ranks one by one: the number of each, and its own batch, whose loss alone may be no number.
_DIVIDES = frozenset({Origin.RANK, Origin.DATA})
_FAILING = frozenset(name.rpartition(".")[2] for name in (ABORTS, KILLS))


class ProcessEnds:
    """Where a run ends the process without an error.

    controls: the control there, by the id of the statement. called: the controls under which functions that it calls
    do. calls: the ids of the calls that never return.
    """

    def __init__(self) -> None:
        self.controls: dict[int, Control] = {}
        self.called: list[Control] = []
        self.calls: set[int] = set()


def ends(frame: Frame, call: cst.Call) -> bool:
    """Whether a call ends this rank's process."""
    func = call.func
    if last_name(func) not in _NAMES:
        return False
    if isinstance(func, cst.Name) and frame.engine.lookup(frame, func.value) is None:
        return func.value in ENDS_PROCESS_UNBOUND
    name = library_name_of(evaluate(frame, func))
    return name in ENDS_PROCESS or (name == KILLS and _is_of_this_process(frame, call))


def _is_of_this_process(frame: Frame, call: cst.Call) -> bool:
    """`os.kill(os.getpid(), signal)`"""
    process = call.args[0].value if call.args else None
    return isinstance(process, cst.Call) and library_name_of(evaluate(frame, process.func)) == OWN_PROCESS


def never_returns(frame: Frame, statement: cst.Expr, call: cst.Call, result: Value) -> bool:
    """Whether a call ends this rank's process in a function of the project, whose last statement does that.

    A function that raises may be one that a subclass replaces.
    """
    if result is not BOTTOM:
        return False
    if id(call) in frame.notes.of(ProcessEnds).calls:
        _end(frame, statement)
        return True
    callee = evaluate(frame, call.func) if _is_dotted(call.func) else UNKNOWN
    function = callee.function if isinstance(callee, FunctionValue) else function_of(frame, call.func)
    last = None if function is None or isinstance(function.node, cst.Lambda) else last_statement(function.node.body)
    return isinstance(last, cst.Expr) and isinstance(last.value, cst.Call) and last_name(last.value.func) in _NAMES


def _is_dotted(callee: cst.BaseExpression) -> bool:
    return isinstance(callee, cst.Name) or (isinstance(callee, cst.Attribute) and _is_dotted(callee.value))


def leave(frame: Frame, statement: cst.Expr | cst.Raise, raised: cst.BaseExpression | None) -> None:
    """Note that some ranks end here while the others continue. An error status would end the others, too."""
    arguments = raised.args if isinstance(raised, cst.Call) else ()
    if isinstance(raised, cst.Call) and last_name(raised.func) in _FAILING:
        return
    if not arguments or _is_success(frame, arguments[0].value):
        _end(frame, statement)


def _end(frame: Frame, statement: cst.Expr | cst.Raise) -> None:
    frame.exits.append(statement)
    frame.notes.of(ProcessEnds).controls[id(statement)] = frame.memory.control


def ends_in(frame: Frame, entry: Control) -> tuple[Control, ...]:
    """The conditions under which a function that has run ends the process without an error, for each place.

    An `except` clause that does has removed it from the exits: it has failed. If all the ways out come after a use of a
    value that some ranks lack, these have failed there, too.
    """
    noted = frame.notes.of(ProcessEnds)
    controls = [noted.controls[id(each)] for each in frame.exits if id(each) in noted.controls]
    before = frozenset(id(each.provenance) for each in entry.conditions)
    ends = [each.without_conditions(before).once_others_failed(False) for each in (*controls, *noted.called)]
    if frame.returned and all(memory.control.others_failed for _, memory in frame.returned):
        ends.append(UNIFORM.once_others_failed())
    return tuple(ends)


def note_call(frame: Frame, node: cst.CSTNode, result: Value, ended: Iterable[Control]) -> None:
    """Note that a function was called that ends the process of some ranks, or of all that call it.

    Other conditions than those on the rank usually hold for all ranks or for none.
    """
    for control in ended:
        noted = frame.notes.of(ProcessEnds)
        if control.others_failed:
            frame.memory.control = frame.memory.control.once_others_failed()
        elif control.uniformity is Uniformity.UNIFORM:
            if result is BOTTOM:
                noted.calls.add(id(node))
        elif any(Origin.RANK in each.rank.origins for each in control.conditions if each.rank.differs):
            for each in control.conditions:
                condition = Control(each.uniformity, each.provenance, each.rank)
                frame.memory.control = frame.memory.control.under(condition)
            noted.called.append(frame.memory.control)


def _is_success(frame: Frame, status: cst.BaseExpression) -> bool:
    value = evaluate(frame, status)
    return value.kind is Kind.NONE or (type(value.const) is int and value.const == 0)


def raises_end(statement: cst.Raise) -> bool:
    """Whether the raised exception ends this rank's process: `raise SystemExit(0)`."""
    raised = statement.exc.func if isinstance(statement.exc, cst.Call) else statement.exc
    return isinstance(raised, cst.Name) and raised.value == END_OF_PROCESS


def exits_in(frame: Frame, start: int, end: int | None = None) -> Exits:
    """The exits between two marks that lead to the code around: not those that end the process."""
    return tuple(each for each in frame.exits[start:end] if not isinstance(each, (cst.Expr, cst.Raise)))


def exits_of_branches(frame: Frame, rank: Rank, start: int, middle: int) -> tuple[Exits, Exits]:
    """The exits of both branches of an `if`, and where the rank or its own data divide it, also the ends of a process.

    Other conditions usually hold for all ranks or for none: no input, a wrong setting.
    """
    if rank.differs and rank.origins in _DIVIDES:
        return tuple(frame.exits[start:middle]), tuple(frame.exits[middle:])
    return exits_in(frame, start, middle), exits_in(frame, middle)
