"""Programs with marks that say which rank fact the argument of `reveal_rank(x)` on their line has, and which dimensions
of the argument of `reveal_shape(x)` differ between ranks.

`# revealed: local(data)` is the only fact; `# revealed: same | local(data)` is the set of facts if the line is reached
on several paths; `# revealed: never` says that no process reaches it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from trl_lint.analysis.events import Revealed
from trl_lint.analysis.interprocedural.entry_points import Engine
from trl_lint.analysis.program.project.project import Project
from trl_lint.domain.kinds import shape_of
from trl_lint.linter.locate import positions

MARK = re.compile(r"#\s*revealed:\s*(?P<facts>[^#]+?)\s*$")
NEVER = "never"

Facts = dict[int, frozenset[str]]


def marks(text: str) -> Facts:
    """The facts in the marks of a program, by line."""
    found: Facts = {}
    for number, line in enumerate(text.splitlines(), 1):
        mark = MARK.search(line)
        if mark:
            found[number] = frozenset(fact.strip() for fact in mark["facts"].split("|"))
    return found


def unmarked(text: str) -> list[int]:
    """The lines with a reveal but no mark."""
    lines = enumerate(text.splitlines(), 1)
    return [number for number, line in lines if re.search(r"reveal_(rank|shape)\(", line) and not MARK.search(line)]


def _fact_of(event: Revealed) -> str:
    if not event.shape:
        return str(event.value.rank)
    shape = shape_of(event.value)
    return "unknown" if shape is None else str(shape)


def revealed(paths: Sequence[Path], versions: Mapping[str, str] | None = None) -> dict[Path, Facts]:
    """The facts that the analysis finds at the reveals in some files of one project, by file and line."""
    project = Project(tuple(dict.fromkeys(path.parent for path in paths)))
    engine = Engine(project, versions)
    found: dict[Path, dict[int, set[str]]] = {path: {} for path in paths}
    for path in paths:
        module = project.module(path)
        assert module is not None, f"{path} can't be parsed"
        for event in engine.analyse(module):
            if isinstance(event, Revealed):
                line = positions(event.module)[event.node].start.line
                found[event.module.path].setdefault(line, set()).add(_fact_of(event))
    return {path: {line: frozenset(facts) for line, facts in lines.items()} for path, lines in found.items()}


def differences(path: Path, expected: Facts, actual: Facts) -> list[str]:
    """The differences, one line each: `file:line: expected …, got …`."""
    wrong = []
    for line in sorted(expected.keys() | actual.keys()):
        wanted = expected.get(line, frozenset())
        got = actual.get(line, frozenset((NEVER,)))
        if wanted != got:
            wrong.append(f"{path.name}:{line}: expected {_shown(wanted)}, got {_shown(got)}")
    return wrong


def _shown(facts: frozenset[str]) -> str:
    return " | ".join(sorted(facts)) or "no reveal"


def fact(program: str, tmp_path: Path, versions: Mapping[str, str] | None = None) -> str:
    """The fact at the only reveal of a small program."""
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    lines = revealed([path], versions)[path]
    return " | ".join(_shown(facts) for _, facts in sorted(lines.items())) or NEVER
