"""Numbers that a test of the rank changes on all ranks, but not alike: that is why they differ.

For example:

    if is_main_process:
        if loss < best: waited = 0
    else:
        waited += 1              `waited` differs because of `is_main_process`, and not only of `loss < best`
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.control import Control
from trl_lint.domain.heap import Memory
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import Kind, Value

_Key = TypeVar("_Key", bound=Hashable)


def note_changed(
    frame: Frame,
    before: Memory,
    taken: Memory,
    skipped: Memory,
    division: Control,
    on_some: Collection[tuple[Hashable, str]],
) -> None:
    """Let numbers differ by the rank, after a test of the rank, which so far do because of a condition in a branch.

    before, taken, skipped: the states before the test and at the end of its branches. on_some: the attributes that only
    one branch assigns.
    """
    if division.rank.is_by_rank:
        known = before.attributes | {key: taken.attributes[key] for key in on_some if key in taken.attributes}
        after = frame.memory
        _note(frame, after.names, before.names, taken.names, skipped.names, division)
        _note(frame, after.attributes, known, taken.attributes, skipped.attributes, division)


def _note(
    frame: Frame,
    values: dict[_Key, Value],
    before: Mapping[_Key, Value],
    taken: Mapping[_Key, Value],
    skipped: Mapping[_Key, Value],
    division: Control,
) -> None:
    for key, value in list(values.items()):
        if value.kind is not Kind.NUMBER or not value.rank.differs or Origin.RANK in value.rank.origins:
            continue
        one, other = taken.get(key), skipped.get(key)
        is_changed = one is not None and other is not None and one is not other
        if is_changed and before.get(key) not in (one, other) and _is_by_condition(frame, value):
            rank = ranks.join(value.rank, division.rank)
            values[key] = value.replace(rank=rank, provenance=division.provenance)


def _is_by_condition(frame: Frame, value: Value) -> bool:
    """Whether a number differs because only some ranks have changed it, on a branch of this function."""
    if value.provenance is None:
        return False
    around = ancestors(frame.root, value.provenance.node)
    return bool(around) and isinstance(around[-1], cst.If) and around[-1].test is value.provenance.node
