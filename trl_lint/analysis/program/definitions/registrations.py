"""The classes and functions that a project puts into a registry or a table, as the text of the files shows them.

    @MODELS.register("small")                in the registry MODELS
    @MODELS("small")                         the same
    @register_model("large")                 in TABLE, where `register_model` is a function that assigns `TABLE[name]`

    class Task:
        kinds = {}
        def __init_subclass__(cls): cls.kinds[cls.__name__] = cls         all heirs of Task are in its `kinds`
        @classmethod
        def register(cls, name): … cls.kinds[name] = each                 those with the decorator `@Task.register(…)`

The heirs of any class are found in the same way.
"""

from __future__ import annotations

import re
from pathlib import Path

from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.project.import_lines import linted_and_imported
from trl_lint.analysis.program.project.notes import noted_of_linted
from trl_lint.analysis.program.project.project import Project
from trl_lint.domain.kinds import ProjectName

# What stands between the decorator and the name that it decorates: its arguments, and other decorators.
_TO_NAME = rb"[ \t]*(?:\([^()\n]*\))?[ \t]*\r?\n(?:@[^\n]*\n)*(?:class|def)[ \t]+(\w+)"
_CLASS = re.compile(rb"(?m)^class[ \t]+(\w+)[ \t]*\(([^()]*)\)[ \t]*:")
_METHOD = re.compile(rb"[ \t]+def[ \t]+(\w+)")
_OF_HEIRS = "__init_subclass__"


@noted_of_linted
def in_table(project: Project, name: str, home: Path | None) -> tuple[ProjectName, ...]:
    """What is registered under a name of a registry or table. home: the file that defines it."""
    found = _decorated(project, name, rb"%b(?:\.\w*register\w*)?" % name.encode())
    for function in () if found or home is None else _functions_that_fill(project.code(home), name):
        found += _decorated(project, function, function.encode())
    return tuple(found)


def in_table_of(project: Project, owner: ClassInfo, table: str) -> tuple[ProjectName, ...]:
    """What a class puts into a table of its own: heirs when they are defined, and what has a decorator."""
    return _in_table_of(project, owner.name, owner.module.path, table)


@noted_of_linted
def _in_table_of(project: Project, owner: str, home: Path, table: str) -> tuple[ProjectName, ...]:
    methods = _methods_that_fill(project.code(home), owner, table)
    if _OF_HEIRS in methods:
        return heirs(project, owner)
    found: list[ProjectName] = []
    for each in methods:
        found += _decorated(project, owner, b"%b\\.%b" % (owner.encode(), each.encode()))
    return tuple(found)


def _functions_that_fill(code: bytes, table: str) -> list[str]:
    """Functions at the top of a file that assign entries of a table."""
    assigned = re.compile(rb"(?m)^[ \t]+%b\[[^\]\n]+\][ \t]*=[^=]" % table.encode())
    blocks = re.split(rb"(?m)^(?=[^\s)])", code) if assigned.search(code) else []
    named = ((block, re.match(rb"def[ \t]+(\w+)", block)) for block in blocks)
    return [name[1].decode() for block, name in named if name is not None and assigned.search(block)]


def _methods_that_fill(code: bytes, owner: str, table: str) -> list[str]:
    """The methods of a class at the top of a file that assign entries of a table of the class."""
    assigned = re.compile(rb"(?m)^[ \t]+\w+\.%b\[[^\]\n]+\][ \t]*=[^=]" % table.encode())
    start = re.search(rb"(?m)^class[ \t]+%b\b" % owner.encode(), code)
    if start is None or not assigned.search(code):
        return []
    body = re.split(rb"(?m)^(?=[^\s)])", code[code.find(b"\n", start.end()) + 1 :])[0]
    first = re.search(rb"(?m)^([ \t]+)def[ \t]", body)
    methods = [] if first is None else re.split(rb"(?m)^(?=%bdef[ \t])" % first[1], body)
    named = ((each, _METHOD.match(each)) for each in methods)
    return [name[1].decode() for each, name in named if name is not None and assigned.search(each)]


@noted_of_linted
def heirs(project: Project, owner: str) -> tuple[ProjectName, ...]:
    """The classes at the top of files that programs import with a base of this name, or with one of these as a base."""
    bases = _bases(project)
    known, found = {owner.encode()}, dict[tuple[Path, bytes], None]()
    while new := [key for key, names in bases.items() if key not in found and names & known]:
        found.update(dict.fromkeys(new))
        known.update(name for _, name in new)
    return tuple(ProjectName(path, name.decode()) for path, name in sorted(found))


@noted_of_linted
def _bases(project: Project) -> dict[tuple[Path, bytes], set[bytes]]:
    """The names of the bases of each class at the top of a file that programs import."""
    return {
        (path, match[1]): {each.strip().rpartition(b".")[2] for each in match[2].split(b",")}
        for path in linted_and_imported(project)
        for match in _CLASS.finditer(project.code(path))
    }


def _decorated(project: Project, word: str, decorator: bytes) -> list[ProjectName]:
    """The classes and functions with a decorator at the top of a file that programs import."""
    wanted = re.compile(rb"(?m)^@(?:\w+\.)*" + decorator + _TO_NAME)
    files = [path for path in linted_and_imported(project) if project.mentions(path, word)]
    found = {(path, match[1]) for path in files for match in wanted.finditer(project.code(path))}
    return [ProjectName(path, each.decode()) for path, each in sorted(found)]
