"""Flags that a function answers early, by what differs between ranks: it answers as one `or` would.

def is_due(last):
    if time.time() - last > 60:
        return True                       on some ranks sooner than on others
    return 0 < interval <= steps          not known: the whole is local(clock), as with `or`
"""

from __future__ import annotations

from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import NumberValue
from trl_lint.domain.ranks import Origin, Rank, State
from trl_lint.domain.values import Kind, Value

# What one rank sees, and another not, while all of them run the same code on the same files.
_OWN = Origin.CLOCK | Origin.DATA


def told(frame: Frame, result: Value, divided: Rank) -> Value:
    """What a function gives back of which nothing is known on some way: it differs where a rank's own answer may.

    divided: the condition by which ranks leave the function at different places.
    """
    if result.rank.state is not State.UNKNOWN or not divided.differs or divided.origins & ~_OWN:
        return result
    if not all(_is_flag(value) for value, _ in frame.returned):
        return result
    early = [state.control for value, state in frame.returned if isinstance(value.const, bool)]
    provenance = next((each.provenance for each in early if each.rank.differs), None)
    if provenance is None:
        return result
    return NumberValue(Rank(State.LOCAL, divided.origins), scalar=True, dtype="bool", provenance=provenance)


def _is_flag(value: Value) -> bool:
    return isinstance(value.const, bool) or (value.kind is Kind.NUMBER and value.dtype == "bool")
