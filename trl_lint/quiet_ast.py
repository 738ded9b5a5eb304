"""Parse the users' Python code without the warnings of this Python about it."""

from __future__ import annotations

import ast
import warnings


def parsed(source: str | bytes) -> ast.Module | None:
    """The tree of Python code; None if this Python can't parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
