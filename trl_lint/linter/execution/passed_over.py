"""What other files use of a file: whether those of a project around its own import it, what they take from one that
mentions Lightning, and which definitions nothing in these projects uses, beside others that a program imports by name.

    trainers.py     class PairTrainer(Trainer): …         train.py uses this one,
                    class TripletTrainer(Trainer): …      and nothing this one: it was tried out, or left over
    train.py        from trainers import PairTrainer

A package that is installed is for the programs of others. So is a file of which all, or the module itself, is imported
somewhere; and code that imports by names that it makes up may use anything. What hydra builds is named in settings: if
they name some definitions of a file, it builds those, and not the others, unless a variable or code may name these.

    callbacks.py    class Saver(Callback): …              upload.yaml    _target_: imports.Uploader
                    class Uploader(Callback): …           imports.py     from callbacks import *
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from trl_lint import files
from trl_lint.analysis.program.project.import_lines import IMPORT_LINES, import_lines
from trl_lint.analysis.program.project.source_text import code_of, count_of
from trl_lint.domain.engines import EnginesInUse
from trl_lint.knowledge.engines import BUILDERS
from trl_lint.launch.judge.built_classes import BuiltClasses, united
from trl_lint.launch.judge.engines import is_program
from trl_lint.linter.execution.project_files import content_of
from trl_lint.linter.execution.project_scan import ProjectScan

_DEFINED = re.compile(rb"(?m)^(?:async[ \t]+)?(?:class|def)[ \t]+(\w+)")
# What a project imports to find modules, classes or functions without naming them.
_FINDERS = ("getmembers", "import_module", "importlib", "locate", "pkgutil", "pydoc")
# Code that has hydra find what settings may not name.
_BUILDS_OTHERS = re.compile(rb"\bget_(?:class|method|object|static_method)\(")
# Code that finds them in its own file.
_FINDS_OWN = re.compile(rb"(?<![.\w])(?:eval|exec|globals|Fire)\(|\b(?:__dict__|__init_subclass__|__subclasses__)\b")
_LIGHTNING = b"lightning"


def with_uses(found: EnginesInUse, path: Path, projects: Mapping[Path, ProjectScan]) -> EnginesInUse:
    """What is known of how a file is run, with what other files use of it.

    projects: its own project, and those around it, by folder.
    """
    home = Path(found.home)
    around = {folder: scan for folder, scan in projects.items() if folder != home}
    imported = found.imported or _is_imported_from(path, around)
    taken = _taken(path, projects) if imported and _LIGHTNING in content_of(path) else None
    return found._replace(imported=imported, passed_over=_passed_over(path, home, projects), taken=taken)


def _taken(path: Path, projects: Mapping[Path, ProjectScan]) -> frozenset[str] | None:
    """What files of these projects take from a file by name; None if one takes all of it, or the module itself."""
    if not all(each.whole for each in projects.values()):
        return None
    importing = (code for folder, scan in projects.items() for code in _importing(path, folder, scan))
    taken = [names for code in importing for names in _names_from(path.stem, code)]
    return frozenset[str]().union(*taken) if all(taken) and "*" not in set().union(*taken) else None


def _is_imported_from(path: Path, projects: Mapping[Path, ProjectScan]) -> bool:
    """Whether a file of one of these projects imports a file by its name and that of its folder."""
    wanted = f".{path.parent.name}.{path.stem}."
    return any(
        wanted in f".{base}.{name}."
        for folder, scan in projects.items()
        for code in _importing(path, folder, scan)
        for base, names in import_lines(code)
        for name in names
    )


def _passed_over(path: Path, home: Path, projects: Mapping[Path, ProjectScan]) -> frozenset[str]:
    if path.name == "__init__.py" or _is_installed(path, home) or not all(each.whole for each in projects.values()):
        return frozenset()
    importing = [each for folder, scan in projects.items() for each in _importing(path, folder, scan)]
    if not any(is_program(each) for each in importing):
        return frozenset()
    source = content_of(path)
    if is_program(source) or any(each.importers.import_one_of(_FINDERS) for each in projects.values()):
        return frozenset()
    built = united(each.built for each in projects.values())
    used = _used(path, projects, built)
    code = code_of(source)
    defined = {each.decode("utf-8", "replace") for each in _DEFINED.findall(code)}
    named = built.whole | built.parts
    own = set() if used is None else defined - used - named
    if not own or _FINDS_OWN.search(code) is not None:
        return frozenset()
    is_open = bool(built.open) or defined.isdisjoint(named)
    if is_open and any(each.importers.import_one_of(BUILDERS) for each in projects.values()):
        return frozenset()
    return frozenset(each for each in own if count_of(each, code) == 1)


def _used(path: Path, projects: Mapping[Path, ProjectScan], built: BuiltClasses) -> set[str] | None:
    """What files of these projects take from a file by name; None if code may use any of it."""
    used: set[str] = set()
    for folder, scan in projects.items():
        if any(_BUILDS_OTHERS.search(code) for name in BUILDERS for _, code in _with_paths(name, path, folder, scan)):
            return None
        for other, code in _with_paths(path.stem, path, folder, scan):
            names = list(_names_from(path.stem, _without_libraries(path, other, code_of(code))))
            if all(names):
                used |= set[str]().union(*names)
            elif not _is_for_settings(other, code, folder, scan, built):
                return None
    return used


def _without_libraries(path: Path, other: Path, code: bytes) -> bytes:
    """Code of another file, without what imports a library that is called like a file of a package elsewhere."""
    if other.parent == path.parent or not os.path.isfile(path.parent / "__init__.py"):
        return code
    name = re.escape(path.stem).encode()
    return re.sub(rb"(?m)^[ \t]*import[ \t]+%b[ \t]*(?:as[ \t]+\w+[ \t]*)?$" % name, b"", code)


def _is_for_settings(path: Path, code: bytes, folder: Path, scan: ProjectScan, built: BuiltClasses) -> bool:
    """Whether a file has nothing but imports, for the settings that name what is in it: no other file imports it."""
    if path.name == "__init__.py" or not built.are_in(path) or IMPORT_LINES.sub(b"", code_of(code)).strip():
        return False
    others = (each for _, each in _with_paths(path.stem, path, folder, scan))
    return not any(True for each in others for _ in _names_from(path.stem, code_of(each)))


def _is_installed(path: Path, home: Path) -> bool:
    """Whether a file is in a package of a project that says how it is installed."""
    return os.path.isfile(path.parent / "__init__.py") and any(
        os.path.isfile(home / each) for each in files.INSTALL_MARKS
    )


def _importing(path: Path, folder: Path, scan: ProjectScan) -> Iterator[bytes]:
    """The content of the other files of a project that may import a file."""
    return (code for _, code in _with_paths(path.stem, path, folder, scan))


def _with_paths(name: str, path: Path, folder: Path, scan: ProjectScan) -> Iterator[tuple[Path, bytes]]:
    """The files of a project, other than a given one, that import something of this name, and their content."""
    for each in scan.importers.importing(name):
        if folder / each != path:
            yield folder / each, content_of(folder / each)


def _names_from(stem: str, code: bytes) -> Iterator[set[str]]:
    """The names that each import takes from a module; none if it takes all, or the module itself."""
    for base, names in import_lines(code):
        last = {each.rpartition(".")[2] for each in names}
        if stem in last:
            yield set()
        elif base.rpartition(".")[2] == stem:
            yield last
