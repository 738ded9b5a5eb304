"""What other files use of a file: whether those of a project around its own import it, what they take from one that
mentions Lightning, and which definitions nothing in these projects uses, beside others that a program imports by name.

    trainers.py     class PairTrainer(Trainer): …         train.py uses this one,
                    class TripletTrainer(Trainer): …      and nothing this one: it was tried out, or left over
    train.py        from trainers import PairTrainer

A package that is installed is for the programs of others. So is a file of which all, or the module itself, is imported
somewhere; and code that imports by names that it makes up may use anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from trl_lint import files
from trl_lint.analysis.program.project.import_lines import import_lines
from trl_lint.analysis.program.project.source_text import code_of, count_of
from trl_lint.domain.engines import EnginesInUse
from trl_lint.launch.judge.built_classes import united
from trl_lint.launch.judge.engines import is_program
from trl_lint.linter.execution.project_files import content_of
from trl_lint.linter.execution.project_scan import ProjectScan

_DEFINED = re.compile(rb"(?m)^(?:async[ \t]+)?(?:class|def)[ \t]+(\w+)")
# What a project imports to find modules, classes or functions without naming them.
_FINDERS = ("getmembers", "hydra", "import_module", "importlib", "instantiate", "locate", "pkgutil", "pydoc")
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
    used: set[str] = set()
    for names in (names for code in importing for names in _names_from(path.stem, code_of(code))):
        if not names:
            return frozenset()
        used |= names
    built = united(each.built for each in projects.values())
    code = code_of(source)
    own = {each.decode("utf-8", "replace") for each in _DEFINED.findall(code)} - used - built.whole - built.parts
    if not own or _FINDS_OWN.search(code) is not None:
        return frozenset()
    return frozenset(each for each in own if count_of(each, code) == 1)


def _is_installed(path: Path, home: Path) -> bool:
    """Whether a file is in a package of a project that says how it is installed."""
    return os.path.isfile(path.parent / "__init__.py") and any(
        os.path.isfile(home / each) for each in files.INSTALL_MARKS
    )


def _importing(path: Path, folder: Path, scan: ProjectScan) -> Iterator[bytes]:
    """The content of the other files of a project that may import a file."""
    for each in scan.importers.importing(path.stem):
        if folder / each != path:
            yield content_of(folder / each)


def _names_from(stem: str, code: bytes) -> Iterator[set[str]]:
    """The names that each import takes from a module; none if it takes all, or the module itself."""
    for base, names in import_lines(code):
        last = {each.rpartition(".")[2] for each in names}
        if stem in last:
            yield set()
        elif base.rpartition(".")[2] == stem:
            yield last
