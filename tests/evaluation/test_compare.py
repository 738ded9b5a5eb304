"""What the comparison of two versions reports as a difference."""

import json
from pathlib import Path

from evaluation import compare
from evaluation.compare import Lint, Row, compared, differences, lint


def row(line: int = 3, applicability: str = "safe", edits: str = "[]", message: str = "as it was") -> Row:
    return Row("train.py", line, 5, "TRL001", applicability, edits, message)


def test_the_same_findings_are_no_difference_whatever_their_words():
    assert not any(differences([row(message="old words")], [row(message="new words")]).values())


def test_a_finding_that_moves_is_gone_and_new():
    found = differences([row(line=3)], [row(line=4)])
    assert [len(found[kind]) for kind in ("gone", "new", "other fix")] == [1, 1, 0]


def test_a_second_finding_at_one_place_is_new():
    assert len(differences([row()], [row(), row(message="another metric")])["new"]) == 1


def test_another_edit_or_another_trust_in_it_is_another_fix():
    assert len(differences([row()], [row(edits=json.dumps([{"content": "x"}]))])["other fix"]) == 1
    assert len(differences([row()], [row(applicability="unsafe")])["other fix"]) == 1


def test_a_tree_that_takes_much_longer_is_a_difference():
    """Not a little longer, and not a moment that is twice as long."""
    times = ((10.0, 16.0), (10.0, 13.0), (0.5, 2.0), (1.0, 3.5))
    assert [Lint([], new).is_much_slower_than(Lint([], old)) for old, new in times] == [True, False, False, True]


def a_version(folder: Path, *found: dict, before: str = "") -> Path:
    """A version is whatever `python -m trl_lint` runs in that folder."""
    package = folder / "trl_lint"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(f"{before}\nprint({json.dumps(json.dumps(found))})\n")
    return folder


def a_finding(tree: Path) -> dict:
    place = {"filename": str(tree / "a.py"), "location": {"row": 1, "column": 2}}
    return {**place, "code": "TRL001", "fix": None, "message": "words"}


def test_findings_are_read_from_a_version_in_a_folder(tmp_path):
    version = a_version(tmp_path / "version", a_finding(tmp_path))
    found = lint(version, tmp_path)
    assert found.rows == [Row("a.py", 1, 2, "TRL001", "", "[]", "words")] and found.seconds > 0


def test_what_differs_is_counted_and_shown(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(compare, "SECONDS_MORE", 0.3)
    old, new = a_version(tmp_path / "old", a_finding(tmp_path)), a_version(tmp_path / "new")
    slow = a_version(tmp_path / "slow", before="import time\nwhile time.process_time() < 0.8: pass")
    roots = [("mine", tmp_path)]
    assert compared(roots, old, old, verbose=True) == 0
    assert compared(roots, old, new, verbose=True) == 1
    assert "mine: gone: a.py:1:2: TRL001" in capsys.readouterr().out
    assert compared(roots, new, slow, verbose=False) == 1
    assert "s of CPU" in capsys.readouterr().out.splitlines()[-1]
