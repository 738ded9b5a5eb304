"""For the tests of rules: what a fix writes stays on one line, however long it is."""

from __future__ import annotations

import pytest

from trl_lint.linter.rewriting import text_edits


@pytest.fixture(autouse=True)
def no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """`test_line_length.py` tests how long lines may be, and how they are split."""
    monkeypatch.setattr(text_edits, "limit_for", lambda path, text: 1000)
