"""The launches of the fixtures are judged as expected, and rewritten to exactly the committed bytes."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import pytest

from trl_lint.launch.judge.gpus import Gpus, gpus
from trl_lint.launch.judge.python_invocation import Start, bare_start, own_launcher
from trl_lint.launch.parsers import readers
from trl_lint.launch.rewrite import TextEdit, applied, rewrite

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parents[2] / "fixtures" / "bare_python_launch"
EXPECTED = tomllib.loads((FOLDER / "expectations.toml").read_text(encoding="utf-8"))
FILES = sorted(path.name for path in (FOLDER / "launches").iterdir() if path.name not in ("train.py", "prepare.py"))
WORDS = {Gpus.SEVERAL: "certain"}


def trains(start: Start) -> bool:
    return "prepare" not in start.path


def judged(start: Start, text: str) -> tuple[str, tuple[TextEdit, ...]]:
    if not trains(start):
        return "no trainer", ()
    verdict, telling = gpus(start).gpus, gpus(start).evidence
    if verdict is Gpus.UNKNOWN and telling:
        return "unclear", ()
    if verdict not in (Gpus.SEVERAL, Gpus.UNKNOWN):
        return verdict.value, ()
    edits = rewrite(start, text)
    return WORDS.get(verdict, verdict.value) + ("" if edits else ", no fix"), edits or ()


def test_there_are_enough() -> None:
    said = [
        each for rows in EXPECTED.values() for row in rows.values() for each in ([row] if isinstance(row, str) else row)
    ]
    right = [each for each in said if not each.startswith(("certain", "unknown"))]
    assert len(said) >= 40
    assert len(right) * 2 >= len(said)
    assert sorted(EXPECTED) == FILES


@pytest.mark.parametrize("name", FILES)
def test_fixture(name: str) -> None:
    data = (FOLDER / "launches" / name).read_bytes()
    reading = readers.read(Path(name), data)
    assert not reading.problem
    found = defaultdict(list)
    fixes: dict[str, list[TextEdit]] = {"fixed": [], "fixed_unsafe": []}
    for command in reading.commands:
        line = str(reading.text.count("\n", 0, command.start) + 1)
        start = bare_start(command)
        if own_launcher(command):
            found[line].append("own launcher")
        elif start is not None:
            said, edits = judged(start, reading.text)
            found[line].append(said)
            fixes["fixed_unsafe"] += edits
            fixes["fixed"] += edits if said == "certain" else ()
    assert {line: rows[0] if len(rows) == 1 else rows for line, rows in found.items()} == EXPECTED[name]
    for folder, edits in fixes.items():
        path = FOLDER / folder / name
        assert path.exists() == bool(edits)
        if edits:
            assert applied(reading.text, edits).encode() == path.read_bytes()
