"""Nested functions that handle a signal: each process that gets it runs them, at any time after the call.

def handler(signum, frame):
    if rank == 0: trainer.save_checkpoint(path)     run where it is registered: other ranks do not save
signal.signal(signal.SIGTERM, handler)              what follows does not come after it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import FunctionValue
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.domain.values import SAME, UNKNOWN

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


def _registered(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    handler = args.get(1, "handler")
    if isinstance(handler, FunctionValue) and handler.function.closure is frame:
        with frame.aside():
            frame.engine.call_value(frame, handler, Arguments([SAME, UNKNOWN]), node)
    return UNKNOWN


HANDLERS: dict[str, Callable[[Frame, Arguments, cst.CSTNode], Value]] = {"signal.signal": _registered}
