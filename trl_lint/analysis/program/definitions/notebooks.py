"""Code of a notebook that one process runs, its kernel: the cells, and functions that nothing there starts others for.

trainer = Trainer()                    the kernel's, even if it may start a process group
move_files("out")
notebook_launcher(train)               `train` is run by several processes, and what it calls
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from trl_lint.knowledge.engines import SPAWNS, STARTS_OF_LIGHTNING

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module

_ENDING = ".ipynb"


def is_run_by_kernel(module: Module, function: FunctionInfo | None) -> bool:
    """Whether only the kernel of a notebook runs a function, or the body of a module."""
    if module.path.suffix != _ENDING:
        return False
    return function is None or not starts_processes(module.source or module.tree.bytes)


def starts_from_kernel(module: Module | None) -> bool:
    """Whether a module is a notebook whose kernel starts processes: what a cell does is done before, once for all.

    One that starts none may become a program of several processes.
    """
    return module is not None and module.path.suffix == _ENDING and starts_processes(module.source or module.tree.bytes)


@lru_cache(maxsize=16)
def starts_processes(source: bytes) -> bool:
    """Whether the module of a notebook starts processes. Its shell lines, which are comments there, count.

    One that only imports Lightning, for a seed or a callback, starts none.
    """
    of_lightning = {b"lightning" in match[0] for match in SPAWNS.finditer(source)}
    return False in of_lightning or (True in of_lightning and STARTS_OF_LIGHTNING.search(source) is not None)
