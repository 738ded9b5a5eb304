"""What the benchmark of whole commands measures, and in which order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import peers
from bench.peers import Cost, in_the_middle, lines_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def corpus(tmp_path):
    """A tree of two files, the larger of which is changed."""
    root = tmp_path / "tree"
    (root / "package").mkdir(parents=True)
    large, small = root / "package" / "large.py", root / "small.py"
    large.write_text("x = 1\n" * 10, encoding="utf-8")
    small.write_text("x = 1\n", encoding="utf-8")
    return SimpleNamespace(root=root, files=[large, small])


def test_what_is_changed_before_which_run(monkeypatch, corpus):
    """The change of a comment is the only one since the run before."""
    seen = []

    def command(words, folder, environment=None):
        changed = Path(folder, "package", "large.py").read_text(encoding="utf-8").replace("x = 1\n", "").strip()
        seen.append((words[-1], changed))
        return Cost(len(seen), 1, 1)

    monkeypatch.setattr(peers, "of_command", command)
    found = peers.of_tree(corpus, ["package/large.py", "small.py"], 1, {"ruff": ("ruff", "check")})
    assert [changed for _, changed in seen] == ["", "", "", "", "", "# 0", "changed_0 = 1", "changed_0 = 1"]
    assert list(found) == ["floor", *peers.WAYS, "a comment changed", "one file changed", "ruff"]
    assert all("changed" not in path.read_text(encoding="utf-8") for path in corpus.files)


def test_what_is_printed():
    costs = {"floor": Cost(2, 2, 30), "cold": Cost(6, 7, 80), "warm": Cost(1, 1, 40)}
    rows = lines_of("trl", 3, costs)
    assert rows[0] == ("trl", 3, "floor", "2.00", "1.00", "0.33", "2.00", "30")
    assert rows[2] == ("", "", "warm", "1.00", "0.50", "0.17", "1.00", "40")


def test_the_median_is_taken_of_each_figure():
    assert in_the_middle([Cost(1, 9, 5), Cost(2, 8, 6), Cost(3, 7, 4)]) == Cost(2, 8, 5)


def test_what_a_command_takes(tmp_path):
    """In a process of its own: Linux counts the memory of the process that starts a command as the command's, too."""
    measured = f"('python', '-c', 'sum(range(3_000_000))'), {str(tmp_path)!r}"
    script = f"from bench.peers import of_command; c = of_command({measured}); print(c.cpu, c.wall, c.memory)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    cost = Cost(*map(float, done.stdout.split()))
    assert 0 < cost.cpu < 60 and 0 < cost.wall < 60 and 1 < cost.memory < 1000
