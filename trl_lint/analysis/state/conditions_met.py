"""The conditions that a run of a function has evaluated so far, and which settings they read."""

from __future__ import annotations

import libcst as cst


class ConditionsMet:
    """first: the first one. ask_anything: whether one may read anything. settings: those that the others read."""

    __slots__ = ("ask_anything", "first", "settings")

    def __init__(self) -> None:
        self.first: cst.CSTNode | None = None
        self.ask_anything = False
        self.settings: set[str] = set()
