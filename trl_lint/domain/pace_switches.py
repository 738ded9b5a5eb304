"""Context managers that change whether ranks wait for each other in a training step: `no_sync()`, `join()`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from trl_lint.domain import ranks
from trl_lint.domain.control import Pace
from trl_lint.domain.kinds import InstanceValue

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from trl_lint.domain.values import Facts


class PaceSwitch(InstanceValue):
    """A context manager inside which ranks run their training steps at this pace."""

    __slots__ = ("pace",)
    parts: ClassVar[dict[str, object]] = {"pace": Pace.TOGETHER}

    def __init__(self, pace: Pace, **facts: Unpack[Facts]) -> None:
        super().__init__(ranks.SAME, **facts)
        self.pace = pace
