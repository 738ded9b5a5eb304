"""Numbers and flags of objects that a function sets only on the ranks that have not left it before.

For example:

    def update(self, metrics):
        if not metrics: return False      metrics: None on all ranks but the first
        self.bad_epochs += 1              differs between ranks from here on, as if it were in the branch of an `if`
"""

from __future__ import annotations

from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.constants import MISSING
from trl_lint.domain.ranks import Rank, State
from trl_lint.domain.values import Kind


def attributes_of_some_ranks(frame: Frame, divided: Rank) -> list[tuple[ClassInfo, str]]:
    """The attributes that some of the ways out have set, where a condition that differs between ranks chooses the way.

    The other ranks keep the previous value, so it is read here. A constructor has no previous value. divided: the
    condition by which ranks leave the function at different places.
    """
    if not divided.differs or frame.function is None or frame.function.name == "__init__":
        return []
    states = [state for _, state in frame.returned if state.control.rank.differs]
    found = []
    for key in frame.objects.attribute_writes:
        having = [state.attributes[key] for state in states if key in state.attributes]
        lacking = [state for state in states if key not in state.attributes]
        if not lacking or not having or any(value.kind is not Kind.NUMBER for value in having):
            continue
        for state in lacking:
            frame.memory = state
            frame.read_attribute(*key)
        found.append(key)
    return found


def note_differing(frame: Frame, attributes: list[tuple[ClassInfo, str]], divided: Rank) -> None:
    """Note, at the end of the function, that these attributes differ between ranks."""
    provenance = next((state.control.provenance for _, state in frame.returned if state.control.rank.differs), None)
    for key in attributes:
        value = frame.memory.attributes.get(key)
        if value is not None and value.rank.state is State.SAME:
            rank = Rank(State.LOCAL, divided.origins)
            frame.memory.attributes[key] = value.replace(rank=rank, const=MISSING, provenance=provenance)
