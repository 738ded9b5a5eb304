"""How values come into what is logged: the statements that put them there, and what a fix has to know of those."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from libcst import CSTNode

    from trl_lint.domain.control import Control
    from trl_lint.domain.provenance import SourceModule, Step
    from trl_lint.domain.ranks import Rank
    from trl_lint.domain.values import Value


class Payload:
    """The expression whose value a statement hands on, and what a fix has to know about the place.

    value: the facts of the expression. seen: those of its parts, by the id of their node. control: whether all
    ranks get there together. owner: the enclosing function. accelerator: the text by which the Accelerator is
    reached there, or "". reducers: the user's own that can be called there, as (text, dotted name, reduction).
    handed: if it is the argument of a call, the function it is handed to and the name it has there.
    """

    __slots__ = ("accelerator", "control", "expression", "handed", "owner", "reducers", "seen", "value")

    def __init__(
        self,
        expression: CSTNode,
        value: Value,
        seen: dict[int, Value],
        control: Control,
        owner: Any,
        accelerator: str,
        reducers: tuple[tuple[str, str, str], ...] = (),
        handed: tuple[Any, str] | None = None,
    ) -> None:
        self.handed = handed
        self.expression = expression
        self.value = value
        self.seen = seen
        self.control = control
        self.owner = owner
        self.accelerator = accelerator
        self.reducers = reducers


class Write:
    """A statement that put a local value into a metrics container. Equal for the same statement.

    payload is None where the value does not stand in the statement as one expression.
    """

    __slots__ = ("module", "node", "payload", "rank", "what", "why")

    def __init__(
        self,
        module: SourceModule,
        node: CSTNode,
        what: str,
        rank: Rank,
        why: Step | None,
        payload: Payload | None = None,
    ) -> None:
        self.module = module
        self.node = node
        self.what = what
        self.rank = rank
        self.why = why
        self.payload = payload

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Write) and self.node is other.node and self.what == other.what

    def __hash__(self) -> int:
        return hash((id(self.node), self.what))


NO_WRITES: frozenset[Write] = frozenset()
