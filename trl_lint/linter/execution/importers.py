"""Which programs may run a file: those that import it, directly or through other files, judged by module names.

    train.py     from lib.trainer import MyTrainer      train.py may run lib/trainer.py,
    trainer.py   from . import losses                   and lib/losses.py through it
    main.py      hydra.utils.instantiate(cfg.task)      main.py may run tasks.py
    task.yaml    _target_: tasks.Training

If a name fits several files, all of them are assumed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from trl_lint.analysis.program.project.import_lines import import_lines
from trl_lint.knowledge.engines import BUILDERS
from trl_lint.launch.judge.engines import Group


@dataclass(frozen=True, slots=True)
class Importer:
    """A Python file of a project.

    Attributes:
        path: Its path.
        imports: See `imported`.
        program: Whether it is a program.
        group: Its use of process groups.
        trains: Whether its code trains.
    """

    path: str
    imports: tuple[str, ...]
    program: bool
    group: Group = Group.NONE
    trains: bool = False


def imported(code: bytes) -> frozenset[str]:
    """The last parts of the names of imported modules, and the names imported from them, which may be modules too."""
    named = (each for module, names in import_lines(code) for each in (module, *names))
    return frozenset(each.rpartition(".")[2] for each in named) - {""}


def with_built(files: Collection[Importer], modules: Collection[str]) -> list[Importer]:
    """Python files, those that have hydra build what settings say as if they imported the modules named there."""
    if not modules:
        return list(files)
    return [
        each if BUILDERS.isdisjoint(each.imports) else replace(each, imports=(*each.imports, *sorted(modules)))
        for each in files
    ]


class Importers:
    """The Python files of a project, and which programs may run each of them.

    code: the paths of all of them. programs: the paths of programs.
    """

    def __init__(self, files: Collection[Importer]) -> None:
        self.code = frozenset(each.path for each in files)
        self.programs = frozenset(each.path for each in files if each.program)
        self._by_name: dict[str, list[Importer]] = {}
        for each in files:
            for name in each.imports:
                self._by_name.setdefault(name, []).append(each)
        self._programs_of: dict[str, frozenset[str]] = {}
        self._groups = {each.path: each.group for each in files if each.group is not Group.NONE}
        self._trains = frozenset(each.path for each in files if each.trains)

    def programs_of(self, path: str) -> frozenset[str]:
        """The programs that may run a file by importing it."""
        if path not in self._programs_of:
            self._programs_of[path] = frozenset(each.path for each in self._users(path) if each.program)
        return self._programs_of[path]

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
        paths = (path for path, each in self._groups.items() if each in groups)
        return any(path == program or program in self.programs_of(path) for path in paths)

    def trains(self, program: str) -> bool:
        """Whether a program, or code that it imports, trains."""
        return any(path == program or program in self.programs_of(path) for path in self._trains)

    def import_one_of(self, names: Collection[str]) -> bool:
        """Whether a file imports a module, or a name from one, that is called one of these."""
        return any(name in self._by_name for name in names)

    def importing(self, name: str) -> list[str]:
        """The paths of the files that import a module, or a name from one, that is called like this."""
        return [each.path for each in self._by_name.get(name, ())]

    def is_imported(self, path: str) -> bool:
        """Whether another file may import this one."""
        return any(each.path != path for each in self._by_name.get(_name_of(path), ()))

    def _users(self, path: str) -> Iterator[Importer]:
        waiting, seen = [_name_of(path)], {_name_of(path)}
        while waiting:
            for importer in self._by_name.get(waiting.pop(), ()):
                yield importer
                name = _name_of(importer.path)
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)


def _name_of(path: str) -> str:
    """The name that a file is imported by."""
    where = PurePosixPath(path)
    return where.parent.name if where.stem == "__init__" else where.stem
