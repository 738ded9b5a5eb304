"""Callables with some of their arguments bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from trl_lint.domain import ranks
from trl_lint.domain.values import Facts, Kind, Value

if TYPE_CHECKING:
    from typing_extensions import Unpack


class PartialCall(Value):
    """A callable with some arguments bound: `functools.partial(callee, *positional, **keywords)`."""

    __slots__ = ("callee", "keywords", "positional")
    kind = Kind.BOUND
    parts: ClassVar[dict[str, object]] = {"callee": None, "positional": (), "keywords": ()}

    def __init__(
        self,
        callee: Value,
        positional: Sequence[Value] = (),
        keywords: Sequence[tuple[str, Value]] = (),
        **facts: Unpack[Facts],
    ) -> None:
        super().__init__(ranks.SAME, **facts)
        self.callee = callee
        self.positional = tuple(positional)
        self.keywords = tuple(keywords)
