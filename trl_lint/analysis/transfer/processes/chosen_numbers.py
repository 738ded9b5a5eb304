"""Numbers that a condition chooses on each rank, and loops that run so many times.

For example:

    epochs = 5
    if rank == 0: epochs = 3            differs because of the condition, and one of two numbers is written here
    start = 0
    if rank == 0: start = read()        differs as well: whatever is read, the others begin at 0
    if path is not None: start = 3      and so, if only one rank has a path
    for epoch in range(start, epochs)   not: each rank may have as many epochs, from its own first one to its own last
    for epoch in range(start, 9)        as often as is left, which differs between ranks
    size = total // world_size
    if rank == 0: size += total % world_size
    for row in range(size)              not: the ranks share the rows, and what is left over may be nothing
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from trl_lint.analysis.program.syntax import is_literal_none
from trl_lint.domain.constants import MISSING
from trl_lint.domain.kinds import NumberValue
from trl_lint.domain.provenance import ChosenNumber, steps
from trl_lint.domain.ranks import CHOSEN, ZERO, Origin, Rank, State
from trl_lint.domain.values import Kind, Value

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.control import Control
    from trl_lint.domain.heap import Memory

    _Names: TypeAlias = Mapping[str, Value]


def note_after(frame: Frame, before: Memory, ends: tuple[_Names, _Names], division: Control) -> None:
    """Explain numbers that differ after a condition because of it: `if is_main_process: count += 1`.

    ends: the names at the ends of its branches.
    """
    if not division.rank.differs:
        return
    taken, skipped = ends
    for name, value in list(frame.memory.names.items()):
        one, other = taken.get(name), skipped.get(name)
        if one is not None and other is not None and one is not other:
            is_kept = before.names.get(name) is other
            frame.memory.names[name] = chosen(value, (one, other), division, is_kept=is_kept)


def note_attributes(
    frame: Frame, keys: Iterable[tuple[Hashable, str]], ends: tuple[Memory, Memory], division: Control
) -> None:
    """Explain numbers of objects, which only one branch sets, in the same way. ends: the states after its branches."""
    for key in keys if division.rank.differs else ():
        one, other = (each.attributes.get(key) for each in ends)
        if one is not None and other is not None and key in frame.memory.attributes:
            frame.memory.attributes[key] = chosen(frame.memory.attributes[key], (one, other), division)


def chosen(joined: Value, values: tuple[Value, Value], division: Control, *, is_kept: bool = False) -> Value:
    """What a condition that differs between ranks makes of two values; if a number, with the reason why it differs.

    A number that differs already differs for the reason of the condition: `if not failed: failed = test(count)`.
    is_kept: whether the second value is that from before the condition.
    """
    if not division.rank.differs:
        return joined
    is_written = any(map(_is_written, values[1:] if is_kept else values))
    is_open = _is_unknown(joined) and any(map(_is_unknown, values))
    if _asks_for_rank(division) and is_written and is_open:
        joined = NumberValue(Rank(State.LOCAL, division.rank.origins), const=MISSING)
    elif values[1] is joined:
        return joined
    if joined.kind is not Kind.NUMBER or not joined.rank.differs:
        return joined
    if joined.provenance is not None:
        cause = next((each for each in steps(division.provenance) if each is values[1].provenance), None)
        return joined if cause is None else joined.replace(provenance=cause)
    cause = division.provenance
    if is_written and _asks_for_rank(division) and not _compares_two(cause.node):
        cause = ChosenNumber(cause.module, cause.node, cause.text, cause.before)
    return joined.replace(provenance=cause)


def length_of_range(length: Rank, args: Arguments) -> Rank:
    """The fact of the number of iterations of a `range`, of which one end is a number that a condition has chosen."""
    differing = [each for each in args.positional if each.rank.state is not State.SAME and not each.rank.is_uniform]
    if len(differing) != 1 or not differing[0].rank.differs or Origin.RANK not in differing[0].rank.origins:
        return length
    is_chosen = any(isinstance(each, ChosenNumber) for each in steps(differing[0].provenance))
    return Rank(State.LOCAL, length.origins, CHOSEN) if is_chosen else length


def _is_written(value: Value) -> bool:
    """Whether it is a number in the code, or an attribute of which no other is known yet than 0."""
    return type(value.const) is int or value.rank == ZERO


def _is_unknown(value: Value) -> bool:
    """Whether it may be any number, such as what each rank reads from its disk, or `checkpoint["epoch"] + 1`."""
    is_read = value.rank.differs and value.rank.origins == Origin.IO
    return value.kind in (Kind.BATCH, Kind.NUMBER, Kind.UNKNOWN) and (is_read or value.rank.state is State.UNKNOWN)


def _asks_for_rank(division: Control) -> bool:
    return division.rank.differs and Origin.RANK in division.rank.origins


def _compares_two(test: cst.CSTNode) -> bool:
    """Whether a test is like `rank < left_over` or `rank == size - 1`, by which ranks share something."""
    match test:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(comparator=right)]):
            return not any(isinstance(each, cst.Integer) or is_literal_none(each) for each in (left, right))
    return False
