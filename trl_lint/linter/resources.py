"""What an analysis does to the process: it may exhaust its stack or memory, and it pauses garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trl_lint.linter.results import GIVEN_UP, SourceError


@contextmanager
def resource_errors(path: Path) -> Iterator[None]:
    """Turn exhausted recursion or memory into an error that the user understands."""
    try:
        yield
    except RecursionError:
        raise SourceError(str(path), 1, 1, "nested too deeply", GIVEN_UP) from None
    except MemoryError:
        raise SourceError(str(path), 1, 1, "it needs more memory than available", GIVEN_UP) from None


@contextmanager
def without_collector() -> Iterator[None]:
    """Pause garbage collection: trees are large and free of cycles, and scanning them costs as much as parsing them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
