"""Wrappers of DDP that are made and thrown away, so that the model in them is trained without one.

What is told of a script:

    DDP(model)                  WrapperDropped
    model = DDP(model)          nothing: it is kept
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.events import WrapperDropped
from trl_lint.analysis.program.unit_tests import is_test
from trl_lint.analysis.state.observing import Observer
from trl_lint.knowledge.torch_distributed import DDP

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame


class DroppedWrappers(Observer["Frame"]):
    emits = frozenset({WrapperDropped})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        # A test may ask for the error that wrapping raises.
        if name == DDP and frame.discarded is node and not is_test(frame.function):
            frame.emit(WrapperDropped, node)


OBSERVER = DroppedWrappers()
