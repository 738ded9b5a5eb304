"""The conditions that a run of a function has evaluated so far, and which settings they read."""

from __future__ import annotations

import libcst as cst


class EvaluatedConditions:
    """first: the first one. reads_anything: whether one may read anything. settings: those that the others read."""

    __slots__ = ("first", "reads_anything", "settings")

    def __init__(self) -> None:
        self.first: cst.CSTNode | None = None
        self.reads_anything = False
        self.settings: set[str] = set()

    def copy(self) -> EvaluatedConditions:
        """What has been evaluated so far."""
        copied = EvaluatedConditions()
        copied.first, copied.reads_anything, copied.settings = self.first, self.reads_anything, set(self.settings)
        return copied
