"""Classes of which only some ranks make an object: what its methods do, the other ranks do not.

For example:

    saver = Saver(net) if rank == 0 else None          on some ranks: `Saver.save` runs on the first rank only
    if rank != 0: return []
    return [Saver(net)]                                so it does here, whatever becomes of the list
    log = Log(path) if rank == 0 else Log(None)        on all ranks: each has one
    Log(path)                                          on all ranks, even if there is also one of the first rank
    log = Log(path, writes=True) if rank == 0 else Log(path, writes=False)
                                                       on all ranks, but what the constructor does only if it writes is
                                                       done on the first rank only
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.events import Event, SideEffect
from trl_lint.analysis.program.definitions.construction import CONSTRUCTOR
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import inwards
from trl_lint.analysis.state.event_trace import EventTrace
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import place_of

# A condition on the rank, and the place where an object is made under it: in which of its branches, or after them.
_Way = tuple[int, str]


class MadeHere:
    """Where objects of a class are made: on all ranks, or under which conditions on the rank."""

    def __init__(self) -> None:
        self.on_all = False
        self.on_some: set[_Way] = set()
        self.places: list[tuple[_Way | None, EventTrace, cst.CSTNode]] = []

    def are_of_some(self, function: FunctionInfo, node: cst.CSTNode) -> bool:
        """Whether a constructor gets to a place of it for some ranks only."""
        doing = [
            way
            for way, trace, call in self.places
            for edge, summary in trace.calls.items()
            if edge[:2] == (id(call), id(function)) and any(key[0] == id(node) for key in summary.trace.events)
        ]
        known = {way for way in doing if way is not None}
        return len(known) == 1 and None not in doing

    @property
    def is_of_some(self) -> bool:
        """Whether some ranks have such an object and the others have none, neither of the other branch."""
        conditions = {condition for condition, _ in self.on_some}
        return not self.on_all and bool(conditions) and len(conditions) == len(self.on_some)


def note(frame: Frame, cls: ClassInfo, node: cst.CSTNode) -> None:
    """An object of a class is made."""
    condition = next((each for each in frame.memory.control.conditions if _is_of_rank(each)), None)
    test = None if condition is None else place_of(condition)
    way = None if test is None else (id(test), _branch(frame.root, test, node))
    for each in cls.origin.project_lineage():
        made = each.notes.of(MadeHere)
        made.places.append((way, frame.trace, node))
        if way is None:
            made.on_all = True
        else:
            made.on_some.add(way)
        frame.engine.note_stored(MadeHere, each, way)


def is_by_all(event: Event) -> bool:
    """Whether what a method does is done by all ranks, as far as the places show where objects of its class are made.

    It is not if all known objects of the class, and of those that inherit from it, are made on some ranks only.
    """
    if not isinstance(event, SideEffect) or event.function is None or event.function.cls is None:
        return True
    made = event.function.cls.origin.notes.of(MadeHere)
    if event.function.name == CONSTRUCTOR and made.are_of_some(event.function, event.node):
        return False
    return not made.is_of_some


def _is_of_rank(condition: Control) -> bool:
    return condition.uniformity is Uniformity.DIVERGENT and Origin.RANK in condition.rank.origins


def _branch(root: cst.CSTNode, test: cst.CSTNode, node: cst.CSTNode) -> str:
    """In which branch of a condition a place is; "" if it is after it, or if the condition is in a caller."""
    for outer, inner in inwards(root, node):
        if isinstance(outer, (cst.If, cst.IfExp)) and outer.test is test and inner is not test:
            return "body" if inner is outer.body else "orelse"
    return ""
