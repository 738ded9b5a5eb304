"""The page that explains the facts to users shows them in a program: they are those that the analysis finds."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from markdowns import block  # noqa: E402

from reveals import differences, marks, revealed, unmarked  # noqa: E402
from trl_lint.analysis.interprocedural.contexts import MAX_CONTEXTS  # noqa: E402

PAGE = (Path(__file__).parents[2] / "docs" / "semantics.md").read_text(encoding="utf-8")


def test_the_facts_of_the_example(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(block(PAGE, "revealed"), encoding="utf-8")
    expected = marks(block(PAGE, "revealed"))
    assert len(expected) > 5 and unmarked(block(PAGE, "revealed")) == []
    assert differences(path, expected, revealed([path])[path]) == []


def test_the_number_of_contexts():
    assert MAX_CONTEXTS == 8 and "Up to eight kinds of call are distinguished" in PAGE
