"""Global names that functions assign, so that their values depend on when they are read.

    _tracker = None

    def start():
        global _tracker
        _tracker = wandb

Here, `_tracker` is such a name.
"""

from __future__ import annotations

from trl_lint.analysis.program.project.project import Module

_GLOBAL = rb"(?m)^\s+global\s"


def is_declared_global(module: Module, name: str) -> bool:
    """Whether a function of a module declares a name as `global`."""
    # Most modules declare none, so that they are searched once and not once per name.
    return module.mentions(_GLOBAL) and module.mentions(_GLOBAL + rb"[^\n]*\b" + name.encode() + rb"\b")
