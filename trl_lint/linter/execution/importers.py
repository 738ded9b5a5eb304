"""Which programs may run a file: those that import it, directly or through other files, judged by module names.

    train.py     from lib.trainer import MyTrainer      train.py may run lib/trainer.py,
    trainer.py   from . import losses                   and lib/losses.py through it, and lib/__init__.py
    main.py      hydra.utils.instantiate(cfg.task)      main.py may run tasks.py
    task.yaml    _target_: tasks.Training
    plugins.py   import_module(f"models.{name}")        plugins.py may run what nobody imports otherwise

An import means a file in the folder of the importing file, or in one around it, if there is one; a relative import only
what its dots say. Otherwise it may mean any file whose path ends like it; the first part may be a name that the project
is installed under.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from trl_lint.analysis.program.project.import_lines import import_lines
from trl_lint.knowledge.engines import BUILDERS, FIND_MODULES
from trl_lint.launch.judge.engines import Group


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
    """

    path: str
    imports: tuple[str, ...]
    program: bool
    group: Group = Group.NONE
    trains: bool = False
    built: tuple[str, ...] = ()


def imported(code: bytes) -> frozenset[str]:
    """The names of imported modules, and those of what is imported from them, which may be modules too.

    A relative name has the dots of its import: `..losses.dpo`.
    """
    lines = import_lines(code)
    named = (each for module, names in lines for each in (module, *(_below(module, name) for name in names)))
    return frozenset(each for each in named if last_of(each))


def _below(module: str, name: str) -> str:
    return f"{module}.{name}" if module.strip(".") else module + name


def _packages_of(name: str) -> Iterator[str]:
    """The names of the packages that are imported on the way to a module: `a` and `a.b` for `a.b.c`."""
    outer = name.rpartition(".")[0]
    while outer.strip("."):
        yield outer
        outer = outer.rpartition(".")[0]


def last_of(name: str) -> str:
    """The last part of a dotted name."""
    return name.rpartition(".")[2]


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

    code: the paths of all of them. programs: the paths of programs.
    """

    def __init__(self, files: Collection[Importer]) -> None:
        self.code = frozenset(each.path for each in files)
        self.programs = frozenset(each.path for each in files if each.program)
        self._modules = Modules(self.code)
        self._by_name: dict[str, list[tuple[Importer, str]]] = {}
        self._through: dict[str, list[tuple[Importer, str]]] = {}
        for each in files:
            for name in (*each.imports, *each.built):
                self._by_name.setdefault(last_of(name), []).append((each, name))
            for name in {around for imported in each.imports for around in _packages_of(imported)}:
                self._through.setdefault(last_of(name), []).append((each, name))
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
        return list(dict.fromkeys(each.path for each, _ in self._by_name.get(name, ())))

    def is_imported(self, path: str) -> bool:
        """Whether another file may import this one."""
        return any(each.path != path for each in self._importing(path))

    def _users(self, path: str) -> Iterator[Importer]:
        waiting, seen = [path], {path}
        while waiting:
            here = waiting.pop()
            found = list(self._importing(here))
            for importer in found if found or here in self.programs else self._finding():
                yield importer
                if importer.path not in seen:
                    seen.add(importer.path)
                    waiting.append(importer.path)

    def _importing(self, path: str) -> Iterator[Importer]:
        """The files that may import a file."""
        by_name = self._by_name.get(_name_of(path), ())
        for each, name in (*by_name, *self._through.get(_name_of(path), ())) if _is_package(path) else by_name:
            if path not in self.code or name in each.built or path in self._modules.meant_by(name, each.path):
                yield each

    def _finding(self) -> list[Importer]:
        """The files that may import others by names that they put together: those that nobody imports otherwise."""
        return [each for name in sorted(FIND_MODULES) for each, _ in self._by_name.get(name, ())]


class Modules:
    """The Python files of a project, by the names that they may be imported by."""

    def __init__(self, paths: Collection[str]) -> None:
        self._paths = frozenset(paths)
        self._named: dict[str, list[str]] = {}
        for each in sorted(paths):
            self._named.setdefault(_name_of(each), []).append(each)
        self._meant: dict[tuple[str, str], frozenset[str]] = {}

    def meant_by(self, name: str, importer: str) -> frozenset[str]:
        """The files that an imported name may mean in a file."""
        folder = importer.rpartition("/")[0]
        if (name, folder) not in self._meant:
            self._meant[name, folder] = self._found(name, folder)
        return self._meant[name, folder]

    def _found(self, name: str, folder: str) -> frozenset[str]:
        near = self._near(name, folder)
        if near:
            return near
        outer = name.rpartition(".")[0]
        if outer.strip(".") and any(not each.endswith("__init__.py") for each in self._near(outer, folder)):
            return frozenset()  # not a module, but a name in one
        if name.startswith("."):
            return frozenset()  # a name in a package
        return self._ending_like(name) or self._ending_like(name.partition(".")[2])

    def _ending_like(self, name: str) -> frozenset[str]:
        of_name = self._named.get(last_of(name), ()) if name else ()
        return frozenset(each for each in of_name if f"/{_dotless(each)}".endswith(f"/{name.replace('.', '/')}"))

    def _near(self, name: str, folder: str) -> frozenset[str]:
        """The files of this name at the place that its dots say, or in a folder or those around it."""
        path = name.lstrip(".")
        around = [folder, *map(str, PurePosixPath(folder).parents)] if folder else [""]
        dots = len(name) - len(path)
        starts = around[dots - 1 : dots] if dots else around
        ends = [f"{path.replace('.', '/')}{end}" for end in (".py", "/__init__.py")]
        found = (f"{start}/{end}" if start not in ("", ".") else end for start in starts for end in ends)
        return self._paths.intersection(found)


def _is_package(path: str) -> bool:
    return PurePosixPath(path).stem == "__init__"


def _name_of(path: str) -> str:
    """The name that a file is imported by."""
    return _dotless(path).rpartition("/")[2]


def _dotless(path: str) -> str:
    """The path of a module, without what says that it is a file."""
    where = PurePosixPath(path)
    return str(where.parent if _is_package(path) else where.with_suffix(""))
