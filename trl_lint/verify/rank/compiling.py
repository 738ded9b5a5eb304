"""Code that `torch.compile` compiles: marks must not break a graph, and not everything it executes is recorded.

torch moves calls of functions that it considers logging to the end of the graph (since 2.3; before that, a mark breaks
the graph, and `fullgraph=True` refuses it). Marks in inlined functions are dropped.

Source: torch/_dynamo/config.py `reorderable_logging_functions`, and torch/_dynamo/convert_frame.py
`register_bytecode_hook`, of torch 2.13.0
"""

from __future__ import annotations

from types import CodeType, ModuleType

from . import executing, trace
from .imports import Patch
from .job import Job


def patch_config(module: ModuleType) -> None:
    """Register the functions of marks as logging functions."""
    known = getattr(module, "reorderable_logging_functions", None)
    if isinstance(known, set):
        known.update(executing.functions())


def patch_frames(job: Job) -> Patch:
    """Record that code of the user was compiled."""

    def patch(module: ModuleType) -> None:
        def on_compiled(code: CodeType, compiled: CodeType) -> None:
            if trace.current is not None and code.co_filename in job.user_files:
                trace.write("compiled")

        if (register := getattr(module, "register_bytecode_hook", None)) is not None:
            register(on_compiled)

    return patch
