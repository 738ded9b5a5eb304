"""What the comparison of two versions reports as a difference."""

import json

from evaluation.compare import Row, differences, findings


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


def test_findings_are_read_from_a_version_in_a_folder(tmp_path):
    """A version is whatever `python -m trl_lint` runs in that folder."""
    version, tree = tmp_path / "version", tmp_path / "tree"
    for folder in (version / "trl_lint", tree):
        folder.mkdir(parents=True)
    finding = {
        "filename": str(tree / "a.py"),
        "location": {"row": 1, "column": 2},
        "code": "TRL001",
        "fix": None,
        "message": "words",
    }
    (version / "trl_lint" / "__init__.py").touch()
    (version / "trl_lint" / "__main__.py").write_text(f"print({json.dumps(json.dumps([finding]))})\n")
    assert findings(version, tree) == [Row("a.py", 1, 2, "TRL001", "", "[]", "words")]
