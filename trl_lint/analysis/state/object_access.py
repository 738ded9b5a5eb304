"""What a run of a function has read and written of objects that all runs share.

For example:

    self.best = loss        a write, which other methods see once it is flushed
    if self.best > loss:    a read: the run is repeated if another method has written since
"""

from __future__ import annotations

from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.domain.kinds import Identity


class ObjectAccess:
    """What a run has read and written of the project's objects, which all runs share.

    dependencies: the versions of the attributes and containers that it has read. class_cells: the owner of each
    container. dirty, dirty_cells: what it has written and not yet flushed. inlined: how often nested functions, which
    share this, have run as part of it.
    """

    __slots__ = ("attribute_writes", "cell_writes", "class_cells", "dependencies", "dirty", "dirty_cells", "inlined")

    def __init__(self) -> None:
        self.dependencies: dict[tuple[ClassInfo, str | Identity], int] = {}
        self.attribute_writes: set[tuple[ClassInfo, str]] = set()
        self.cell_writes: set[Identity] = set()
        self.class_cells: dict[Identity, ClassInfo] = {}
        self.dirty: set[tuple[ClassInfo, str]] = set()
        self.dirty_cells: set[Identity] = set()
        self.inlined = 0

    def fork(self) -> tuple[set[tuple[ClassInfo, str]], set[Identity]]:
        """Begin a branch: writes of the other branch are not flushed in it. Return the writes so far, for `merge`."""
        written = (self.dirty, self.dirty_cells)
        self.dirty, self.dirty_cells = self.dirty.copy(), self.dirty_cells.copy()
        return written

    def merge(self, written: tuple[set[tuple[ClassInfo, str]], set[Identity]]) -> None:
        """End a branch: add back the unflushed writes of before it, and of others."""
        self.dirty |= written[0]
        self.dirty_cells |= written[1]

    def mark_read(self) -> None:
        """Mark the current version of everything that this run has both read and written as read."""
        for key in self.attribute_writes & self.dependencies.keys():
            self.dependencies[key] = key[0].version(key[1])
