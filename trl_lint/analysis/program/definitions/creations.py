"""Where a program creates objects of a class: what it passes there, and on which ranks.

    class Report(TrainerCallback):
        def __init__(self, path): self.path = path

    trainer.add_callback(Report(f"report_{rank}.json"))       may_differ(…, "path"): each rank may pass another one
    if rank == 0: trainer.add_callback(Report("report.json"))  is_of_some_ranks(…): the others have no such object

The code of all linted files counts, as far as it is written there. A script that sees one GPU is one process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.definitions.lightning_trainers import has_parts_of_one_process
from trl_lint.analysis.program.definitions.unit_tests import is_test_file
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.project.import_lines import import_lines, imported_files, is_apart
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import identifiers, inwards, last_name, of_class
from trl_lint.knowledge.backends import SINGLE_PROCESS
from trl_lint.knowledge.heuristics import MAY_ASK_FOR_RANK, RANK_LOCAL_PATH, is_rank_name
from trl_lint.knowledge.launcher_variables import RANK_VARIABLES


class Creation(NamedTuple):
    """A call of a class: the code of its arguments, and whether a condition around it may ask for the rank.

    by_one: whether no Trainer of Lightning in its file starts processes that make it again. in_test: whether it is in a
    unit test. path: its file.
    """

    path: Path
    positional: tuple[str, ...]
    keywords: tuple[tuple[str, str], ...]
    of_some_ranks: bool
    by_one: bool
    in_test: bool


def is_created(project: Project, cls: ClassInfo) -> bool:
    """Whether code in sight creates an object of a class by its name."""
    return bool(_creations(project, cls.name))


def is_of_some_ranks(project: Project, cls: ClassInfo) -> bool:
    """Whether each known creation of an object of a class is under a condition that may ask for the rank."""
    known = _creations(project, cls.name)
    return bool(known) and all(each.of_some_ranks for each in known)


def is_of_others(project: Project, cls: ClassInfo, path: Path) -> bool:
    """Whether programs apart from a file have all objects of a class: they define it, or each known creation."""
    made = [each.path for each in _creations(project, cls.name)] or [cls.module.path]
    return is_apart(project, path, cls.module.path) or all(is_apart(project, path, each) for each in made)


def is_of_one_process(project: Project, cls: ClassInfo) -> bool:
    """Whether one process alone makes each known creation, but for those of tests, for a Trainer of Lightning."""
    known = [each for each in _creations(project, cls.name) if not each.in_test]
    return bool(known) and all(each.by_one for each in known)


def asks_for_one_device(project: Project, cls: ClassInfo) -> bool:
    """Whether each known creation, but for those of tests, asks for one device of one node: `Loop(devices=1)`."""
    known = [dict(each.keywords) for each in _creations(project, cls.name) if not each.in_test]
    return bool(known) and all(each.get("devices") == "1" and "num_nodes" not in each for each in known)


def programs_of(project: Project, cls: ClassInfo) -> tuple[cst.Module, ...]:
    """The code of the linted files that create an object of a class by its name: of its own file first."""
    return tuple(each.tree for each in _programs_of(project, cls))


def parts_of_programs(project: Project, cls: ClassInfo, pattern: re.Pattern[bytes]) -> Iterator[cst.Module]:
    """The code of the files that these import, and in which a pattern is found."""
    programs = _programs_of(project, cls)
    found = {part for each in programs for part in imported_files(project, each.path, project.code(each.path))}
    for part in sorted(found - {each.path for each in programs}):
        module = project.module(part) if pattern.search(project.code(part)) is not None else None
        yield from () if module is None else (module.tree,)


def _programs_of(project: Project, cls: ClassInfo) -> tuple[Module, ...]:
    return project.notes.cached((programs_of, cls), lambda: (cls.module, *_find_programs(project, cls)))


def _find_programs(project: Project, cls: ClassInfo) -> Iterator[Module]:
    for path, code in project.linted_code(cls.name):
        if path != cls.module.path and any(cls.name in names for _, names in import_lines(code)):
            files = set(imported_files(project, path, code))
            # A package may pass on what it takes from its files.
            packages = (each for each in files if each.name == "__init__.py")
            if cls.module.path in files.union(
                *(imported_files(project, each, project.code(each)) for each in packages)
            ):
                module = project.module(path)
                yield from () if module is None else (module,)


def may_differ(project: Project, cls: ClassInfo, name: str) -> bool:
    """Whether a known creation passes the constructor something that has a word for the rank, the time or the like."""
    constructor = cls.find("__init__")
    names = [] if constructor is None else [each.name for each in constructor.parameters[1:]]
    passed = (each for creation in _creations(project, cls.name) for each in _passed(creation, names))
    return any(given == name and RANK_LOCAL_PATH.fits(code) for given, code in passed)


def _passed(creation: Creation, names: list[str]) -> Iterator[tuple[str, str]]:
    yield from zip(names, creation.positional, strict=False)
    yield from creation.keywords


def _creations(project: Project, name: str) -> tuple[Creation, ...]:
    return project.notes.cached((_creations, name), lambda: tuple(_find_creations(project, name)))


def _find_creations(project: Project, name: str) -> Iterator[Creation]:
    called = re.compile(rb"\b%b\s*\(" % re.escape(name).encode())
    for path, code in project.linted_code(name):
        module = project.module(path) if called.search(code) else None
        if module is not None and not module.mentions(SINGLE_PROCESS):
            yield from map(partial(_creation, module), _calls_of(module, name))


def _calls_of(module: Module, name: str) -> Iterator[cst.Call]:
    return (each for each in of_class(module.tree, cst.Call) if last_name(each.func) == name)


def _creation(module: Module, call: cst.Call) -> Creation:
    positional = tuple(_code_of(module, each.value) for each in call.args if each.keyword is None)
    named = ((each.keyword, each.value) for each in call.args)
    keywords = tuple((keyword.value, _code_of(module, value)) for keyword, value in named if keyword is not None)
    of_some_ranks = any(map(_may_ask_for_rank, _tests_around(module, call)))
    in_test = is_test_file(module.path)
    return Creation(module.path, positional, keywords, of_some_ranks, has_parts_of_one_process(module), in_test)


def _code_of(module: Module, value: cst.BaseExpression) -> str:
    """The code of an argument; a constant text is the same for all ranks, whatever its words."""
    return "" if isinstance(value, cst.SimpleString) else module.tree.code_for_node(value)


def _tests_around(module: Module, call: cst.Call) -> Iterator[cst.BaseExpression]:
    """The conditions that decide whether a call is made, in its function."""
    for outer, inner in inwards(module.tree, call):
        if isinstance(outer, (cst.If, cst.IfExp)) and inner is not outer.test:
            yield outer.test


def _may_ask_for_rank(test: cst.BaseExpression) -> bool:
    words = [*identifiers(test), *(str(each.evaluated_value) for each in of_class(test, cst.SimpleString))]
    return any(is_rank_name(each) or MAY_ASK_FOR_RANK.fits(each) or each in RANK_VARIABLES for each in words)
