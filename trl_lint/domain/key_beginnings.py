"""Keys of a dict of which only the beginning is known.

for key in outputs:
    if key.startswith("memory_"):
        show(outputs[key])            an entry under such a name, and not `outputs["masks"]`
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from trl_lint.domain.heap import WILDCARD, Cell
from trl_lint.domain.kinds import StringValue
from trl_lint.domain.values import Value


class KeyBeginning(StringValue):
    """A text that begins with one of several others; nothing else is known of it."""

    __slots__ = ("starts",)
    parts: ClassVar[dict[str, object]] = {"starts": ()}

    starts: tuple[str, ...]

    def entry_of(self, cell: Cell) -> Value | None:
        """What a dict holds under such a key; None if there is nothing."""
        entries = {key: value for key, value in cell.entries.items() if self._may_be(key)}
        found = cell.holding(entries, cell.rest)
        return found.element().as_present() if entries or cell.rest is not None else None

    def _may_be(self, key: Hashable) -> bool:
        if not isinstance(key, str):
            return False
        head, unknown, _ = key.partition(WILDCARD)
        return head.startswith(self.starts) or (bool(unknown) and any(each.startswith(head) for each in self.starts))
