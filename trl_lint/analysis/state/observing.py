"""Observers: they watch the walk and report events to the rules; they never change values.

The interpreter knows no observer by name. It offers the hooks below, and calls those that some observer overrides and
that a selected rule needs. A module in `trl_lint/analysis/observers/` with an `OBSERVER` is found automatically.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Concatenate, Generic, NamedTuple, ParamSpec, TypeAlias, TypeVar

from trl_lint.analysis.events import Event
from trl_lint.domain.divisions import DividedBy
from trl_lint.domain.ranks import Origin

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.event_trace import EventTrace
    from trl_lint.domain.absence import Absence
    from trl_lint.domain.control import Control
    from trl_lint.domain.provenance import Step
    from trl_lint.domain.sync_points import SyncPoint
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Collective, Row

# The frame is in a layer above, and holds the observers.
FrameT = TypeVar("FrameT")
ArgsT = ParamSpec("ArgsT")
ResultT = TypeVar("ResultT")
# A statement by which ranks leave a branch, so that they do not reach the code after it; one that may also end the
# process.
Exit: TypeAlias = "cst.Break | cst.Continue | cst.Return"
End: TypeAlias = "cst.Expr | cst.Raise"
Exits: TypeAlias = "tuple[Exit | End, ...]"


class CalleeRun(NamedTuple):
    """What a call of a function of the project leads to: its synchronisation points, how it was entered, its trace."""

    sync_points: list[SyncPoint]
    entry: Control
    trace: EventTrace


class Reached(NamedTuple):
    """From where a run is reached, once all runs are known.

    Attributes:
        trains: Whether a training step reaches it.
        steps: Whether a training step on a batch of a prepared loader reaches it.
        builds: Whether it is reached while a trainer is being constructed.
        launched: Whether each process of a distributed run is known to get there.
        called: The call in another file by which they do, if that is how, after what shows that there are several.
        called_back: Whether a function reaches it that a library was given, and calls.
    """

    trains: bool
    steps: bool
    builds: bool
    launched: bool
    called: Step | None = None
    called_back: bool = False


class Branch(NamedTuple):
    """A place where ranks may take different branches.

    Attributes:
        marks: The number of synchronisation points before its first branch, before its second, and at its end.
        through: Which of the branches reach its end.
        exits: The statements by which each branch may also leave.
        origins: What makes the condition differ.
        by: What divides the ranks. With SEQUENTIAL, one rank after the other takes the first branch.
        tried: The body of the `try` whose exceptions lead to the first branch.
        skipped: The number of points before and after that body, if what it catches is raised whenever memory is short.
        refused: Whether it catches what a model's forward raises because of its input.
        asks_rank: Whether the condition depends on the rank itself, not on something derived from it.
        of_one: The index of the branch that one rank of the whole job takes at most, whatever groups there are.
    """

    test: cst.CSTNode
    provenance: Step
    marks: tuple[int, int, int]
    through: tuple[bool, bool] = (True, True)
    exits: tuple[Exits, Exits] = ((), ())
    origins: Origin = Origin.NONE
    by: DividedBy = DividedBy.CONDITION
    tried: cst.CSTNode | None = None
    skipped: tuple[int, int] = (0, 0)
    refused: bool = False
    asks_rank: bool = False
    of_one: int | None = None

    @property
    def may_leave(self) -> tuple[bool, bool]:
        """Which of its branches may leave."""
        return bool(self.exits[0]), bool(self.exits[1])

    @property
    def continuing(self) -> int:
        """The index of the branch that continues after it, if the other one leaves, or may."""
        if self.through[0] is not self.through[1]:
            return self.through.index(True)
        return int(self.may_leave[0] or not self.may_leave[1])

    def points_after(self, points: Sequence[SyncPoint]) -> list[SyncPoint]:
        """The points of a run in the order in which ranks reach them from here: earlier ones in a later iteration."""
        return [*points[self.marks[2] :], *points[: self.marks[2]]]

    def exit_of(self, index: int) -> Exit | End | None:
        """The statement by which ranks leave a branch: the last one if all of them do."""
        exits = self.exits[index]
        return exits[0 if self.through[index] else -1] if exits else None


class Observer(Generic[FrameT]):
    """Watches the walk by the hooks that it overrides; a hook that is not overridden costs nothing.

    It has no state, as one object serves all analyses: what it records is in the `Notes` of a frame, a trace or a
    module.

    emits: the events that it reports. needed_by: the events of others that depend on its notes; None: all of them. It
    runs if any of these is requested.
    """

    emits: ClassVar[frozenset[type[Event]]] = frozenset()
    needed_by: ClassVar[frozenset[type[Event]] | None] = frozenset()
    # The classes of the statements for which `on_statement` is called; none: all of them.
    statements: ClassVar[tuple[type[cst.CSTNode], ...]] = ()
    # Whether it runs only if one of its events is requested explicitly, and not when all events are.
    on_request: ClassVar[bool] = False

    # --- calls ---

    def on_library_call(self, frame: FrameT, name: str, args: Arguments, node: cst.CSTNode) -> None:
        """A function or class of a library is called by its canonical dotted name."""

    def on_row(
        self, frame: FrameT, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        """A library's function or method is called; `row`: its row in the tables, `receiver`: whose method it is.

        Arguments of a sink are also reported as `Logged`.
        """

    def on_method_call(self, frame: FrameT, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        """`receiver.name(...)`, before the callee is resolved."""

    def on_attribute(self, frame: FrameT, receiver: Value, name: str, node: cst.CSTNode) -> None:
        """`receiver.name` is read or set, of a library's object, or of a name in a library."""

    def on_unknown_call(self, frame: FrameT, args: Arguments, node: cst.CSTNode) -> None:
        """Code of unknown effect is called."""

    def on_project_call(self, frame: FrameT, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        """A function of the project was called; `run` is the result."""

    def on_argument(self, frame: FrameT, value: Value, call: cst.Call) -> None:
        """An argument of a call was evaluated."""

    def on_collective(self, frame: FrameT, row: Collective, args: Arguments, node: cst.CSTNode) -> None:
        """A collective is called."""

    def on_model_call(self, frame: FrameT, model: Value, node: cst.CSTNode) -> None:
        """`model(...)`, or a call of something that may be a model."""

    def on_model_method(self, frame: FrameT, model: Value, name: str, node: cst.CSTNode) -> None:
        """A method of a model is called that may run (a part of) it."""

    def on_instantiate(self, frame: FrameT, base: str, args: Arguments, node: cst.CSTNode) -> None:
        """An object of a library's class, or of a project class with this base, is created.

        `base` is "" if a class of the project calls the `__init__` of a library base.
        """

    # --- control flow ---

    def on_statement(self, frame: FrameT, statement: cst.CSTNode, before: Control) -> None:
        """A statement was run, with all that is in it. before: which ranks reached it."""

    def on_enter(self, frame: FrameT, item: cst.BaseExpression, value: Value) -> None:
        """A `with` statement enters this item."""

    def on_branch(self, frame: FrameT, branch: Branch) -> None:
        """Called where two branches that ranks may have taken differently join again."""

    def on_lacked(self, frame: FrameT, node: cst.CSTNode, absence: Absence) -> None:
        """A value that some ranks lack is read or used: if these ranks reach the node, they fail."""

    def on_fork(
        self, frame: FrameT, test: cst.CSTNode, marks: tuple[int, int, int], through: tuple[bool, bool]
    ) -> None:
        """A branch outside of loops ends that ranks are not known to take differently; see `Branch`."""

    def on_exit(self, frame: FrameT, before: Control, decorated: Control) -> None:
        """The end of the body of a function or a module is reached.

        before: how it was entered. decorated: which ranks its decorators let in.
        """

    # --- the whole program ---

    def on_reached(self, event: Event, reached: Reached) -> Event | None:
        """One of its own events, now that it is known from where its run is reached; None drops it."""
        return event

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        """The events of a module, once all of its runs are known.

        program: the trace of its body, as a script. imported: the modules that it imports.
        """
        return events


class Observers(Generic[FrameT]):
    """For each hook, the methods of the observers that override it, in the order of their modules."""

    def __init__(self, observers: Iterable[Observer[FrameT]]) -> None:
        self._observers = tuple(observers)
        self.library_call = self._of(Observer.on_library_call)
        self.row = self._of(Observer.on_row)
        self.method_call = self._of(Observer.on_method_call)
        self.attribute = self._of(Observer.on_attribute)
        self.unknown_call = self._of(Observer.on_unknown_call)
        self.project_call = self._of(Observer.on_project_call)
        self.argument = self._of(Observer.on_argument)
        self.collective = self._of(Observer.on_collective)
        self.model_call = self._of(Observer.on_model_call)
        self.model_method = self._of(Observer.on_model_method)
        self.instantiate = self._of(Observer.on_instantiate)
        self.statement = self._by_statement()
        self.enter = self._of(Observer.on_enter)
        self.branch = self._of(Observer.on_branch)
        self.fork = self._of(Observer.on_fork)
        self.lacked = self._of(Observer.on_lacked)
        self.exit = self._of(Observer.on_exit)
        self.settled = self._of(Observer.settled)
        # By the class of the event: an observer is called only for its own events.
        self.reached = {
            event: each.on_reached
            for each in self._observers
            if type(each).on_reached is not Observer.on_reached
            for event in each.emits
        }

    def _by_statement(self) -> Mapping[type[cst.CSTNode], Sequence[Callable[[FrameT, cst.CSTNode, Control], None]]]:
        """The `on_statement` of those that look at statements of a class, by this class."""
        import libcst as cst  # rules import this module, and are imported without LibCST

        overriding = [each for each in self._observers if type(each).on_statement is not Observer.on_statement]
        kinds = (*cst.BaseSmallStatement.__subclasses__(), *cst.BaseCompoundStatement.__subclasses__())
        found = {
            kind: [each.on_statement for each in overriding if not each.statements or kind in each.statements]
            for kind in kinds
        }
        return {kind: observing for kind, observing in found.items() if observing}

    def _of(
        self, hook: Callable[Concatenate[Observer[FrameT], ArgsT], ResultT]
    ) -> tuple[Callable[ArgsT, ResultT], ...]:
        name = hook.__name__
        return tuple(getattr(each, name) for each in self._observers if getattr(type(each), name) is not hook)


def observers_for(
    observers: Iterable[Observer[FrameT]], events: frozenset[type[Event]] | None
) -> list[Observer[FrameT]]:
    """The observers that are needed if these events are requested (None: all of them)."""
    if events is None:
        return [each for each in observers if not each.on_request]
    return [each for each in observers if each.needed_by is None or events & (each.emits | each.needed_by)]
