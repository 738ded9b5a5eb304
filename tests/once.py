"""Values that one worker of pytest-xdist creates and all of them use."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

try:
    import fcntl
except ImportError:  # without locks each worker creates its own
    fcntl = None


def once(factory: pytest.TempPathFactory, key: object, make: Callable[[Path], Any]) -> Any:
    """A copy of what `make` returns for a key. The first caller runs it, with a folder that is kept; the others wait.

    If it raises, the next caller tries again.
    """
    top = factory.getbasetemp()
    if fcntl is not None and "PYTEST_XDIST_WORKER" in os.environ:
        top = top.parent
    folder = top / "once" / hashlib.sha256(repr(key).encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / "made.pickle"
    with (folder / "lock").open("w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            content = pickle.dumps(make(folder))
            made.write_bytes(content)
    return pickle.loads(made.read_bytes())
