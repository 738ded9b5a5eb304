"""Patterns in gitignore's syntax: the same matches as pathspec's own expressions, without exponential ones."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest
from cpu_time import spent
from pathspec import GitIgnoreSpec

from trl_lint.linter.files import patterns
from trl_lint.linter.files.discovery import find_files

# Short patterns over few letters, so that stars compete for them.
PIECES = ["a", "b", "*", "**", "?", "[ab]", "[!a]", "a*", "*a", "*b*", "a*b*a", "*a*a*b", "a**b", ".", "\\*", "[a*]"]
NAMES = ["a", "b", "ab", "ba", "aab", "abab", "aabba", "b.a", "*", "a*b"]


def expression(line: str) -> str | None:
    """The expression that pathspec creates for a line; None for one that is invalid or matches nothing."""
    try:
        (pattern,) = GitIgnoreSpec.from_lines([line]).patterns
    except (ValueError, IndexError):
        return None
    return pattern.regex.pattern if pattern.include is not None else None


def test_the_same_matches():
    chance = random.Random(1)
    seen = 0
    for _ in range(4_000):
        names = ["".join(chance.choices(PIECES, k=chance.randint(1, 3))) for _ in range(chance.randint(1, 5))]
        line = "/" * (chance.random() < 0.2) + "/".join(names) + "/" * (chance.random() < 0.2)
        regex = expression(line)
        if regex is None:
            continue
        made = patterns.linear(regex)
        seen += made != regex
        for _ in range(12):
            path = "/".join(chance.choices(NAMES, k=chance.randint(1, 6))) + "/" * (chance.random() < 0.3)
            before, after = re.search(regex, path), re.search(made, path)
            assert (before is None) == (after is None), (line, path)
            if before and after:
                assert before.groupdict().get("ps_d") == after.groupdict().get("ps_d"), (line, path)
    assert seen > 1_000


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("*a*a*a*ab", "a" * 60),
        ("x/*a*a*a*ab/y", f"x/{'a' * 60}/y"),
        ("a**a**a**ab", "a" * 60),
        ("a/**/a/**/a/**/b", "/".join("a" * 60)),
        ("**/a/**/a/**/b", "/".join("a" * 60)),
        ("**/*a*a/**/*a*a/**/b", "/".join(["aa"] * 40)),
        ("*?*?*?*[ab]*c", "a" * 60),
    ],
)
def test_more_stars_cost_little_more(line, path):
    """Hundreds of times the cost of pathspec's own expression for one star is far below the cost of backtracking."""
    spec, easy = patterns.spec([line]), patterns.spec(["*b"])
    assert spec.check_file(path).include is None
    few = spent(lambda: [easy.check_file(path) for _ in range(20)])
    assert spent(lambda: [spec.check_file(path) for _ in range(20)]) < 100 * few


def test_of_many_stars_only_the_last_may_look_back():
    (pattern,) = patterns.spec(["*a*a*a*a*a*a*ab"]).patterns
    assert pattern.regex.pattern.count("(?P=first") == 6
    assert len(re.findall(r"\[\^/\]\*(?!\?)", pattern.regex.pattern)) == 1
    assert patterns.spec(["*.py", "a/*/b", "**/x", "a/**/b"]).check_file("q.py").include


def test_hostile_patterns_of_a_tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".gitignore").write_text("*a" * 100 + "b\n" + "**/a/" * 100 + "b\n!keep.py\nout.py\n")
    for name in ("a" * 200 + ".py", "keep.py", "out.py"):
        (tmp_path / name).touch()
    found = find_files([Path()], exclude=["*a" * 100 + "b"], root=tmp_path)
    assert [path.name for path in found] == [f"{'a' * 200}.py", "keep.py"]


def test_lines_that_no_path_fits_are_passed_over():
    assert patterns.spec(["a" * 5_000, "[", "\\", "!", "x.py"]).check_file("x.py").include
    with pytest.raises(patterns.TooMany):
        patterns.spec(f"a{i}" for i in range(patterns.MOST + 1))


def test_git_says_the_same(tmp_path):
    """Compare the rewritten patterns with git itself."""
    lines = ["*a*b*c", "x/*a*a/y", "p/**/q*r*s/**/t", "!keep*a*b*c", "d*e*f/"]
    paths = ["aabbc", "abd", "x/baab/y", "x/aba/y", "p/qrs/t", "p/1/2/qarbs/3/4/t", "p/qr/t", "keep-a-b-c", "def"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("\n".join(lines))
    shown = subprocess.run(
        ["git", "-C", str(tmp_path), "check-ignore", "--stdin"], input="\n".join(paths), capture_output=True, text=True
    )
    assert shown.stdout.splitlines() == [path for path in paths if patterns.spec(lines).check_file(path).include]
