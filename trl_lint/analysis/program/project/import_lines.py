"""What a file imports, found by searching its import lines; which files those are, and what they define."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint.analysis.program.project.notes import noted, noted_of_linted
from trl_lint.analysis.program.project.search_path import folders_for
from trl_lint.analysis.program.project.source_text import code_of

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.import_search import ImportSearch
    from trl_lint.analysis.program.project.project import Project

# `from a.b import c, d`, `from . import (c, d)` and `import a.b as c, d`, at the start of a line.
_MODULE = rb"[\w.]+(?:[ \t]+as[ \t]+\w+)?"
IMPORT_LINES = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#]*)"
    rb"|import[ \t]+(%b(?:[ \t]*,[ \t]*%b)*))" % (_MODULE, _MODULE),
    re.MULTILINE,
)
# At most this many files are searched for a definition.
_MOST_FILES = 300
# What a file that is meant to be started compares its name with.
_PROGRAM = b"__main__"
_NAME = re.compile(rb"\w+(?:\.\w+)*")
_NO_NAMES = re.compile(rb"\s+as\s+\w+|#[^\n]*")


@lru_cache(1024)
def import_lines(code: bytes) -> Sequence[tuple[str, Sequence[str]]]:
    """The imported names with their module, which is empty for `import a, b.c`."""
    found = IMPORT_LINES.findall(code)
    names = ((base, _NAME.findall(_NO_NAMES.sub(b"", imported or modules))) for base, imported, modules in found)
    return tuple((base.decode(), tuple(name.decode() for name in each)) for base, each in names)


def imported_files(
    project: ImportSearch, path: Path, source: bytes, wanted: Collection[str] | None = None
) -> Iterator[Path]:
    """The files of the project that a file imports; if names are `wanted`, those from which it may have one of them."""
    parts = project.name_of(path).split(".")
    package = parts if path.name == "__init__.py" else parts[:-1]
    added = folders_for(project, path, source)
    for module, names in import_lines(source):
        if wanted is not None and names and not any(each in wanted for each in names):
            continue  # without names, it imports all of them: `from .hooks import *`
        if not module:
            yield from filter(None, (project.find_from(name, path, added=added) for name in names))
            continue
        base = _absolute(module, package)
        file = path if base == ".".join(parts) else project.find_from(base, path, added=added)
        if file is None:
            continue
        if file != path:
            yield file
        yield from filter(None, (project.below(file, name) for name in names))


def files_with_names(project: Project, path: Path) -> Iterator[Path]:
    """The files that a file imports, and those from which the packages among them have the names that it imports."""
    source = project.text(path)
    names = {each for _, imported in import_lines(source) for each in imported}
    for file in imported_files(project, path, source):
        yield file
        if file.name == "__init__.py":
            yield from imported_files(project, file, project.text(file), names)


def program_mentions(project: Project, path: Path, pattern: bytes, without: bytes = b"") -> bool:
    """Whether a regular expression matches in the code of a file, of those linted that import it, or of what these do.

    What a file imports is followed through the `__init__` of a package to where it is defined. without: of this code.
    """

    def found() -> bool:
        reached = {each: _with_imports(project, each) for each in project.linted}
        programs = [files for each, files in reached.items() if path in files]
        return occurs(project, set(_with_imports(project, path)).union(*programs), pattern, without)

    return project.of_linted((program_mentions, path, pattern, without), found)


def related_mentions(project: Project, path: Path, pattern: bytes, without: bytes = b"") -> bool:
    """Whether a regular expression matches in the code of the linted files, but for programs apart from a file.

    without: of this code.
    """

    def found() -> bool:
        said = (each for each in project.linted if occurs(project, (each,), pattern, without))
        return any(not is_apart(project, path, each) for each in said)

    return project.of_linted((related_mentions, path, pattern, without), found)


def is_apart(project: Project, path: Path, other: Path) -> bool:
    """Whether another file is a program that no file imports, and that does not import this one, even indirectly."""
    used = _used_by_program(project, other)
    return used is not None and path not in used


@noted_of_linted
def _used_by_program(project: Project, path: Path) -> frozenset[Path] | None:
    """A program and what it imports; None if these are too many, or if the file is none, or imported by another one."""
    if _PROGRAM not in project.text(path):
        return None
    if any(path in _with_imports(project, each) for each in project.linted if each != path):
        return None
    reached = files_in_reach(project, path)
    return None if reached is None else frozenset(reached)


def occurs(project: Project, files: Iterable[Path], pattern: bytes, without: bytes) -> bool:
    """Whether a regular expression matches in the code of files, after what another one matches is taken out."""
    wanted, left_out = re.compile(pattern), re.compile(without) if without else None
    codes = (project.code(each) for each in files if wanted.search(project.text(each)))
    return any(wanted.search(left_out.sub(b"", code) if left_out else code) for code in codes)


@noted
def _with_imports(project: Project, path: Path) -> frozenset[Path]:
    """A file and those that it imports, with the files where the imported names are defined."""
    return frozenset((path, *files_with_names(project, path)))


def is_defined_in_reach(project: Project, starts: Iterable[Path], name: str) -> bool:
    """Whether files, or those they import (even indirectly), define a function or `self` attribute of this name."""
    key = (is_defined_in_reach, name, tuple(sorted(set(starts))))
    return project.notes.cached(key, lambda: any(_defines(project, path, name) for path in _reach(project, key[2])))


def files_in_reach(project: Project, path: Path) -> list[Path] | None:
    """A file and those that it imports, even indirectly; None if these are too many."""
    found = list(_reach(project, [path]))
    return found if len(found) < _MOST_FILES else None


@noted_of_linted
def codes_of_programs(project: Project, path: Path) -> Mapping[Path, bytes] | None:
    """The code of a file, of the linted ones that reach it by imports, and of what all of these reach, by path.

    None if that are too many files.
    """
    reached = [files_in_reach(project, each) for each in {path, *project.linted}]
    programs = [files for files in reached if files is None or path in files]
    if any(files is None for files in programs):
        return None
    return {each: project.code(each) for files in programs for each in files or ()}


@noted_of_linted
def linted_and_imported(project: Project) -> Sequence[Path]:
    """The linted files and those that they import, even indirectly, as far as these are not too many."""
    return tuple(_reach(project, sorted(project.linted)))


def _defines(project: Project, path: Path, name: str) -> bool:
    text = project.text(path)
    defined = rb"\bdef %b\(|\bself\.%b\s*(?::[^=\n]*)?=[^=]" % ((re.escape(name).encode(),) * 2)
    return name.encode() in text and re.search(defined, code_of(text)) is not None


def _reach(project: Project, starts: Iterable[Path]) -> Iterator[Path]:
    waiting = list(starts)
    seen = set(waiting)
    for path in waiting:
        yield path
        imported = imported_files(project, path, project.text(path))
        new = (each for each in imported if each not in seen and project.may_open(each))
        for each in new if len(seen) < _MOST_FILES else ():
            seen.add(each)
            waiting.append(each)


def _absolute(base: str, package: Sequence[str]) -> str:
    """The absolute name of the module in `from ..base import`, seen from a package."""
    name = base.lstrip(".")
    level = len(base) - len(name)
    return ".".join([*(package[: len(package) - level + 1] if level else ()), *([name] if name else ())])
