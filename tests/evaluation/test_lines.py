"""Which old lines became which new lines."""

import pytest

from evaluation.lines import carried
from trl_lint.linter.rewriting.hunks import Hunk, hunks


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("abc", "abc", []),
        ("abc", "abXc", [Hunk(2, 2, 2, 3)]),
        ("abc", "ac", [Hunk(1, 2, 1, 1)]),
        ("abc", "aXc", [Hunk(1, 2, 1, 2)]),
        ("aaa", "aaaa", [Hunk(3, 3, 3, 4)]),
        ("abcde", "XabYde", [Hunk(0, 0, 0, 1), Hunk(2, 3, 3, 4)]),
        ("", "a", [Hunk(0, 0, 0, 1)]),
    ],
)
def test_hunks(before, after, expected):
    assert hunks(before, after) == expected


@pytest.mark.parametrize(
    ("before", "after", "lines", "expected"),
    [
        ("abc", "abc", (2, 3), (2, 3)),
        ("abc", "Xabc", (1, 2), (2, 3)),
        ("abc", "aXYc", (2, 2), (2, 3)),
        ("abc", "aXYc", (3, 3), (4, 4)),
        ("abcd", "aXbYZd", (1, 3), (1, 5)),
        ("abc", "ac", (3, 3), (2, 2)),
    ],
)
def test_where_lines_have_gone(before, after, lines, expected):
    assert carried(hunks(before, after), *lines) == expected
