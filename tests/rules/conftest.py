"""For the tests of rules: what a fix writes stays on one line, however long it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from trl_lint.linter.rewriting import text_edits


@pytest.fixture(scope="module", autouse=True)
def no_limit() -> Iterator[None]:
    """`test_line_length.py` tests how long lines may be, and how they are split."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_edits, "limit_for", lambda path, text: 1000)
        yield
