"""For the tests of rules: what a fix writes stays on one line, however long it is, and no thread is started."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from trl_lint.linter import deep_stack
from trl_lint.linter.rewriting import text_edits


@pytest.fixture(scope="module", autouse=True)
def no_limit() -> Iterator[None]:
    """`test_line_length.py` tests how long lines may be, and how they are split."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_edits, "limit_for", lambda path, text: 1000)
        yield


@pytest.fixture(scope="module", autouse=True)
def on_this_stack() -> Iterator[None]:
    """These programs are small, and a thread with a deep stack takes as long as a sixth of their analysis.

    `test_depth.py` tests what needs one.
    """
    limit = sys.getrecursionlimit()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deep_stack._thread, "is_deep", True, raising=False)
        sys.setrecursionlimit(20 * limit)
        yield
        sys.setrecursionlimit(limit)
