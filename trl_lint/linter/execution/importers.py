"""Which programs may run a file: those that import it, directly or through other files.

For example:

    train.py     from lib.trainer import MyTrainer      train.py may run lib/trainer.py,
    trainer.py   from . import losses                   and lib/losses.py through it
    build.py     import_module(f"tasks.{name}")         build.py may run tasks/first.py
    main.py      hydra.utils.instantiate(cfg.task)      main.py may run tasks.py
    task.yaml    _target_: tasks.Training
    count.py     from lib.rows import Rows              does not run all that lib/__init__.py imports

Which file a name means is said in `module_names.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from trl_lint.analysis.program.project.import_lines import import_lines
from trl_lint.knowledge.engines import BUILDERS
from trl_lint.launch.judge.engines import Group
from trl_lint.linter.execution.module_names import ModuleNames, last_of, name_of


@dataclass(frozen=True, slots=True)
class Importer:
    """A Python file of a project.

    Attributes:
        path: Its path.
        imports: See `imported`.
        built: The names of modules that it may import, wherever they lie.
        program: Whether it is a program.
        group: Its use of process groups.
        trains: Whether its code trains.
        wraps: Whether its code wraps a model in DistributedDataParallel.
    """

    path: str
    imports: tuple[str, ...]
    program: bool
    group: Group = Group.NONE
    trains: bool = False
    built: tuple[str, ...] = ()
    wraps: bool = False


# What imports modules by texts, and the beginning of such a text that is put together: `"tasks." + name`.
_IMPORTS_BY_TEXT = re.compile(rb"\b(?:import_module|__import__)\(")
_BEGINNING = re.compile(rb"""["'](\w[\w.]{0,80})\.(?:["']\s*\+|%s|\{)""")
# The last part of the name of all modules in a folder.
_ANY = "*"


def imported(code: bytes) -> frozenset[str]:
    """The names of imported modules, and those of what is imported from them, which may be modules too.

    A relative name has the dots of its import: `..losses.dpo`. `tasks.*` is any module in a folder.
    """
    lines = import_lines(code)
    named = [each for module, names in lines for each in (module, *(_below(module, name) for name in names))]
    if _IMPORTS_BY_TEXT.search(code) is not None:
        named += (f"{each[1].decode()}.{_ANY}" for each in _BEGINNING.finditer(code))
    return frozenset(each for each in named if last_of(each))


def _below(module: str, name: str) -> str:
    return f"{module}.{name}" if module.strip(".") else module + name


def with_built(files: Collection[Importer], modules: Collection[str]) -> list[Importer]:
    """Python files, those that have hydra build what settings say as if they imported the modules named there."""
    if not modules:
        return list(files)
    return [
        each if BUILDERS.isdisjoint(map(last_of, each.imports)) else replace(each, built=tuple(sorted(modules)))
        for each in files
    ]


class Importers:
    """The Python files of a project, and which programs may run each of them.

    code: the paths of all of them. programs: the paths of programs. folders_of_programs: the folders that have some.
    wrapping: the paths of those that wrap a model in DistributedDataParallel.
    """

    def __init__(self, files: Collection[Importer]) -> None:
        self.code = frozenset(each.path for each in files)
        self.programs = frozenset(each.path for each in files if each.program)
        self.folders_of_programs = frozenset(PurePosixPath(each).parent for each in self.programs)
        self.wrapping = frozenset(each.path for each in files if each.wraps)
        self._modules = ModuleNames(self.code)
        self._by_name: dict[str, list[tuple[Importer, str]]] = {}
        for each in files:
            for name in (*self._spelled_out(each.imports), *each.built):
                self._by_name.setdefault(last_of(name), []).append((each, name))
        self._programs_of: dict[str, frozenset[str]] = {}
        self._importers_of: dict[str, tuple[Importer, ...]] = {}
        self._groups = {each.path: each.group for each in files if each.group is not Group.NONE}
        self._trains = frozenset(each.path for each in files if each.trains)

    def _spelled_out(self, imports: Iterable[str]) -> Iterator[str]:
        """The names of imports, those of the files in a folder for all modules in it."""
        for name in imports:
            folder, _, last = name.rpartition(".")
            if last != _ANY:
                yield name
                continue
            end = f"/{folder.replace('.', '/')}"
            inside = (each for each in self.code if f"/{PurePosixPath(each).parent}".endswith(end))
            yield from sorted(f"{folder}.{name_of(each)}" for each in inside)

    def programs_of(self, path: str) -> frozenset[str]:
        """The programs that may run a file by importing it."""
        known = self._programs_of
        if path not in known:
            users = list(self._users(path, known))
            own = frozenset(each.path for each in users if each.program)
            known[path] = own.union(*(known[each.path] for each in users if each.path in known))
        return known[path]

    def programs_running(self, path: str) -> frozenset[str]:
        """The programs that may run a file, the file itself among them if it is one."""
        return self.programs_of(path) | (self.programs & {path})

    def is_part_of(self, path: str, program: str) -> bool:
        """Whether a file is a program, or one that it may import."""
        return path == program or program in self.programs_of(path)

    def users_of(self, path: str) -> frozenset[str]:
        """The files that import a file, directly or through others."""
        return frozenset(each.path for each in self._users(path))

    def has_no_group(self, program: str) -> bool:
        """Whether a program uses a process group that neither it nor its imports may start."""
        return self._uses_none_of_its_own(program, Group.ASKS, Group.NEEDS)

    def fails_without_group(self, program: str) -> bool:
        """Whether it also raises where there is none, if it gets there, however it is started."""
        return self._uses_none_of_its_own(program, Group.NEEDS)

    def _uses_none_of_its_own(self, program: str, *uses: Group) -> bool:
        # Few files use one, so check that first.
        return self._has_part(program, *uses) and not self._has_part(program, Group.STARTS)

    def _has_part(self, program: str, *groups: Group) -> bool:
        return any(each in groups and self.is_part_of(path, program) for path, each in self._groups.items())

    def trains(self, program: str) -> bool:
        """Whether a program, or code that it imports, trains."""
        return any(self.is_part_of(path, program) for path in self._trains)

    def import_one_of(self, names: Collection[str]) -> bool:
        """Whether a file imports a module, or a name from one, that is called one of these."""
        return any(name in self._by_name for name in names)

    def importing(self, name: str) -> list[str]:
        """The paths of the files that import a module, or a name from one, that is called like this."""
        return list(dict.fromkeys(each.path for each, _ in self._by_name.get(name, ())))

    def is_imported(self, path: str) -> bool:
        """Whether another file may import this one."""
        return any(each.path != path for each in self._importing(path))

    def _users(self, path: str, known: Container[str] = ()) -> Iterator[Importer]:
        """The files that import a file, directly or through others. known: those whose own users are not followed."""
        waiting, seen = [path], set[str]()
        while waiting:
            for importer in self._importing(waiting.pop()):
                if importer.path not in seen:
                    seen.add(importer.path)
                    yield importer
                    if importer.path not in known:
                        waiting.append(importer.path)

    def _importing(self, path: str) -> Sequence[Importer]:
        """The files that may import a file. They are found once, as most files lead to those that many import."""
        if path not in self._importers_of:
            named = self._by_name.get(name_of(path), ())
            found = (each for each, name in named if path not in self.code or self._may_import(each, name, path))
            self._importers_of[path] = tuple(dict.fromkeys(found))
        return self._importers_of[path]

    def _may_import(self, file: Importer, name: str, path: str) -> bool:
        return name in file.built or path in self._modules.meant_by(name, file.path)
