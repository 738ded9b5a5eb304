"""What a function returns, and leaves in its object, if some ranks return from it before the others.

For example:

    def is_due(last):
        if time.time() - last > 60:
            return True                       on some ranks sooner than on others
        return 0 < interval <= steps          not known: the result is local(clock), as with `or`
    def is_main(self):
        if self.mode == "DP":
            return True
        if self.local_rank == 0:              not known, but may be the rank: so is the result not known
            return True
        return False
    def loss_of(self, batch):
        loss = self.model(batch)
        if loss > 2: return None              the result is None on some ranks
        return loss
    def update(self, metrics):
        if not metrics: return False          metrics: None on all ranks but the first
        self.bad_epochs += 1                  differs between ranks from here on, as if it were in the branch of an `if`
"""

from __future__ import annotations

from trl_lint.analysis.interpreter.conditions import none_tests
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import identifiers
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING, OPEN
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.kinds import flag
from trl_lint.domain.ranks import Origin, Rank, State
from trl_lint.domain.sync_points import place_of
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.heuristics import MAY_ASK_FOR_RANK

# Why a condition may differ between ranks that run the same code on the same files.
_RANK_LOCAL = Origin.CLOCK | Origin.DATA


def dividing_fact(frame: Frame, entry: Control) -> Rank:
    """The fact of a condition by which ranks leave a function at different places."""
    for _, state in frame.returned:
        if state.control.uniformity > entry.uniformity and state.control.rank.differs:
            return state.control.rank
    return ranks.SAME


def with_early_returns(frame: Frame, result: Value, divided: Rank) -> Value:
    """The result of a function that is unknown on some path: it differs if a rank's early return does.

    It is not known either if the ranks may choose between True and False by a condition that may ask for the rank.

    divided: the condition by which ranks leave the function at different places.
    """
    if result.rank.state is State.SAME and result.const in OPEN and _may_be_of_rank(frame):
        return result.replace(rank=ranks.UNKNOWN)
    if result.rank.state is not State.UNKNOWN or not divided.differs or divided.origins & ~_RANK_LOCAL:
        return result
    if not all(_is_flag(value) for value, _ in frame.returned):
        return result
    early = [state.control for value, state in frame.returned if isinstance(value.const, bool)]
    provenance = next((each.provenance for each in early if each.rank.differs), None)
    if provenance is None:
        return result
    return flag(rank=Rank(State.LOCAL, divided.origins), provenance=provenance)


def with_none_on_some(frame: Frame, result: Value, divided: Rank) -> Value:
    """The result of a function that returns None where a test of this rank's own data sends it out early.

    divided: the condition by which ranks leave the function at different places.
    """
    if not none_tests.is_of_own_data(divided) or not result.rank.differs:
        return result
    early = (state.control for value, state in frame.returned if value.kind is Kind.NONE)
    by_own_data = (each for control in early for each in control.conditions if each.rank.differs)
    test = next((place for each in by_own_data if (place := place_of(each)) is not None), None)
    if test is None or all(value.kind is Kind.NONE for value, _ in frame.returned):
        return result
    return none_tests.none_on_some(result, frame.module, test, divided)


def _is_flag(value: Value) -> bool:
    return isinstance(value.const, bool) or (value.kind is Kind.NUMBER and value.dtype == "bool")


def _may_be_of_rank(frame: Frame) -> bool:
    """Whether a function returns True or False, depending on an unknown condition that may ask for the rank."""
    if not all(isinstance(value.const, bool) for value, _ in frame.returned):
        return False
    return any(_may_ask_for_rank(each) for _, state in frame.returned for each in state.control.conditions)


def _may_ask_for_rank(condition: Control) -> bool:
    test = place_of(condition)
    if condition.uniformity is not Uniformity.UNKNOWN or test is None:
        return False
    return any(map(MAY_ASK_FOR_RANK.fits, identifiers(test)))


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
