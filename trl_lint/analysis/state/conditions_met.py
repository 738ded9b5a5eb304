"""The conditions that a run of a function has met so far, and what they have asked for."""

from __future__ import annotations

import libcst as cst


class ConditionsMet:
    """first: the first one. ask_anything: whether one may ask for anything. settings: what the others ask for."""

    __slots__ = ("ask_anything", "first", "settings")

    def __init__(self) -> None:
        self.first: cst.CSTNode | None = None
        self.ask_anything = False
        self.settings: set[str] = set()
