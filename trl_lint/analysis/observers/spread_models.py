"""Models whose layers are spread over all GPUs of a process, where something wraps them for several processes.

Events of a program:

    model = AutoModel.from_pretrained(name, device_map="auto")
    trainer = Trainer(model, args)       SpreadModelTrained
    model = accelerator.prepare(model)   SpreadModelTrained
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.events import SpreadModelTrained
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain.model_roles import is_spread
from trl_lint.knowledge import library
from trl_lint.knowledge.backends import ALLOWS_SPREAD
from trl_lint.knowledge.schema import Function, Transfer

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Row


class SpreadModels(Observer["Frame"]):
    emits = frozenset({SpreadModelTrained})

    def on_instantiate(self, frame: Frame, base: str, args: Arguments, node: cst.CSTNode) -> None:
        if base and library.is_subclass(base, "transformers.Trainer", frame.engine.versions):
            _emit(frame, args.get(0, "model"), "a Trainer", node)

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        if isinstance(row, Function) and row.returns == Transfer.PREPARED:
            for value in args.positional:
                _emit(frame, value, f"`{name.rpartition('.')[2]}`", node)


def _emit(frame: Frame, model: Value | None, receiver: str, node: cst.CSTNode) -> None:
    if model is not None and is_spread(model) and not frame.module.mentions(ALLOWS_SPREAD):
        frame.emit(SpreadModelTrained, node, model=model, receiver=receiver)


OBSERVER = SpreadModels()
