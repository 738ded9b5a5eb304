"""Files that one process makes before the others look for them, in `prepare_data` of Lightning.

def rows_of(path):
    if not os.path.isfile(path):
        with open(path, "w") as file: ...     by then it exists, and no rank gets here
    return read(path)

class Rows(LightningDataModule):
    def prepare_data(self): rows_of(PATH)     one process of each node; the others wait
    def setup(self, stage): self.rows = rows_of(PATH)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.events import Event, SideEffect
from trl_lint.analysis.state.event_trace import EventTrace, called_traces
from trl_lint.domain.ranks import Origin
from trl_lint.knowledge.lightning import PREPARES, prepares_on_one

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame


class MadeBefore:
    """The ids of the nodes in a file that one process reaches before all of them do."""

    def __init__(self) -> None:
        self.nodes: set[int] = set()


def note(frame: Frame, called: EventTrace) -> None:
    """A function is called: what it changes is changed by one process, if `prepare_data` calls it."""
    function, cls = frame.function, frame.cls
    if function is None or function.name != PREPARES or cls is None or not prepares_on_one(cls.library_bases()):
        return
    for trace in called_traces(called):
        for event in trace.events.values():
            if isinstance(event, SideEffect):
                event.module.notes.of(MadeBefore).nodes.add(id(event.node))
                frame.engine.note_stored(MadeBefore, function, event.node)


def are_made(event: Event) -> bool:
    """Whether an event changes files if they do not exist, which by then they do."""
    if not isinstance(event, SideEffect) or id(event.node) not in event.module.notes.of(MadeBefore).nodes:
        return False
    return any(each.rank.origins == Origin.IO for each in event.control.conditions)
