"""The conditions that a run of a function has evaluated so far, and which settings they read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import libcst as cst


@dataclass(slots=True, eq=False)
class EvaluatedConditions:
    """first: the first one. reads_anything: whether one may read anything. settings: those that the others read."""

    first: cst.CSTNode | None = None
    reads_anything: bool = False
    settings: set[str] = field(default_factory=set)

    def copy(self) -> EvaluatedConditions:
        """What has been evaluated so far."""
        return replace(self, settings=set(self.settings))
