"""The facts at a statement that the user asks about: `trl-lint explain FILE:LINE`.

The event for `loss = model(**batch).loss`, if the user asks about line 3:

    1   model, loader = accelerator.prepare(model, loader)
    2   for batch in loader:
    3       loss = model(**batch).loss          Known(values=(model: wrapped, batch: shard, …, loss: local(data)))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.events import Known
from trl_lint.analysis.state.observing import Observer

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.control import Control
    from trl_lint.domain.values import Value


class KnownFacts(Observer["Frame"]):
    emits = frozenset({Known})
    on_request = True

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        nodes = frame.module.asked.get(id(statement))
        if nodes is not None:
            values = tuple((node, value) for node in nodes if (value := _value_of(frame, node)) is not None)
            frame.emit(Known, statement, values=values, reached=before)


def _value_of(frame: Frame, node: cst.CSTNode) -> Value | None:
    """The value of an expression, or of a name once it is bound."""
    value = frame.known_value(node)
    if value is None and isinstance(node, cst.Name):
        value = frame.memory.names.get(node.value)
    return value


OBSERVER = KnownFacts()
