"""Flags that a function returns early, by what differs between ranks: the result is that of one `or`.

def is_due(last):
    if time.time() - last > 60:
        return True                       on some ranks sooner than on others
    return 0 < interval <= steps          not known: the result is local(clock), as with `or`
"""

from __future__ import annotations

from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import NumberValue
from trl_lint.domain.ranks import Origin, Rank, State
from trl_lint.domain.values import Kind, Value

# Why a condition may differ between ranks that run the same code on the same files.
_RANK_LOCAL = Origin.CLOCK | Origin.DATA


def with_early_returns(frame: Frame, result: Value, divided: Rank) -> Value:
    """The result of a function that is unknown on some path: it differs if a rank's early return does.

    divided: the condition by which ranks leave the function at different places.
    """
    if result.rank.state is not State.UNKNOWN or not divided.differs or divided.origins & ~_RANK_LOCAL:
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
