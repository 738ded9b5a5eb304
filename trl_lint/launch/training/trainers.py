"""Whether a Python program trains. It is followed from its body through the functions and classes that it names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from trl_lint.knowledge import heuristics
from trl_lint.knowledge.heuristics import Guess
from trl_lint.launch.training.disk import Disk
from trl_lint.launch.training.python_index import BODY, LARGEST, File, ImportedName, Unit, parsed

# Libraries whose `…Trainer` classes are a transformers.Trainer, or wrap the model as it does.
LIBRARIES = frozenset({"transformers", "trl", "sentence_transformers", "adapters"})
ACCELERATOR = "Accelerator"
# Libraries that are recognised by name, wherever their files are.
_KNOWN = frozenset({"accelerate", "torch", "transformers"})
# Distributes the batches over all GPUs itself (transformers 2 and 3, trainer_tf.py: MirroredStrategy).
_SPREADING = frozenset({"TFTrainer"})
# Trainers with their own loop around an Accelerator: they wrap nothing in DataParallel.
_LOOPS = frozenset({ACCELERATOR, "AlignPropTrainer", "DDPOTrainer", "PPOTrainer", "PPOv2Trainer"})
# How much of a program is searched.
_MOST_UNITS = 800
_MOST_FILES = 60
_DEEPEST = 6


@dataclass(frozen=True, slots=True)
class Training:
    """How a program trains: the name of the trainer class, and where it is used.

    on_request: whether it trains only if its arguments ask for that (`--do_train`).
    """

    trainer: str
    path: Path
    line: int
    column: int
    on_request: bool = False

    @property
    def wraps(self) -> bool:
        """Whether it wraps the model in DataParallel if it sees several GPUs."""
        return self.trainer not in _LOOPS


@dataclass(frozen=True, slots=True)
class _Place:
    """A unit of a file of the project."""

    path: Path
    name: str


# What each name in a file refers to, by how many imports were followed to reach it: a unit of the project, or a dotted
# name of something else.
_Names: TypeAlias = dict[tuple[Path, str, int], _Place | str]


class Trainers:
    """Answers for the programs of one project; each file is read once.

    Args:
        roots: Where imports are looked up, in addition to the script's folder.
        user_trainers: The dotted names of user-defined trainers.
        overlay: Contents that replace those on the disk.
    """

    def __init__(
        self, roots: Sequence[Path], user_trainers: Iterable[str] = (), overlay: Mapping[Path, bytes] | None = None
    ) -> None:
        self.roots = tuple(roots)
        self.disk = Disk(overlay)
        self._own = frozenset(user_trainers)
        self._files: dict[Path, File | None] = {}
        self._answers: dict[Path, Training | None] = {}
        self._names: dict[tuple[Path, ...], _Names] = {}
        self._modules: dict[tuple[tuple[Path, ...], tuple[str, ...]], Path | None] = {}

    def training(self, script: Path) -> Training | None:
        """How the program trains; None if it does not, or if it chooses its processes and devices itself."""
        if script not in self._answers:
            self._answers[script] = _Program(self, script).training()
        return self._answers[script]

    def fixed_gpu(self, script: Path) -> str:
        """Code of the program that names a GPU by its number, also in the hooks of its trainers; "" if none."""
        return _Program(self, script).fixed_gpu()

    def module(self, name: str, folders: Iterable[Path]) -> Path | None:
        """The file that `python -m name` runs."""
        parts = name.split(".")
        if not all(each.isidentifier() for each in parts):
            return None
        for folder in folders:
            below = folder.joinpath(*parts)
            for path in (below / "__main__.py", below.with_name(f"{below.name}.py")):
                if self.disk.has_file(path):
                    return path
        return None

    def imported(self, parts: tuple[str, ...], tops: tuple[Path, ...]) -> Path | None:
        """The file that an import names, which is looked up in some folders."""
        key = (tops, parts)
        if key not in self._modules:
            self._modules[key] = self._module_of(parts, tops)
        return self._modules[key]

    def _module_of(self, parts: tuple[str, ...], tops: tuple[Path, ...]) -> Path | None:
        for top in tops:
            below = top.joinpath(*parts)
            own = below.with_name(f"{below.name}.py") if parts else below / "__init__.py"
            for path in (own, below / "__init__.py"):
                if self.disk.has_file(path):
                    return path
        return None

    def names(self, roots: tuple[Path, ...]) -> _Names:
        """What the names in files refer to, for all programs whose imports are looked up in the same folders."""
        return self._names.setdefault(roots, {})

    def file(self, path: Path) -> File | None:
        if path not in self._files:
            self._files[path] = self._read(path)
        return self._files[path]

    def _read(self, path: Path) -> File | None:
        source = self.disk.read(path, LARGEST)
        return None if source is None else parsed(source)

    def is_trainer(self, name: str) -> bool:
        """Whether a dotted name, as imported, is a trainer of a library."""
        if name in self._own:
            return True
        first, class_name = name.split(".")[0], name.rpartition(".")[2]
        return first in LIBRARIES and heuristics.TRAINER_CLASS.fits(class_name) and class_name not in _SPREADING


class _Reached:
    """The reached units of a program, by names: a method is reached if its class is and its name occurs after a dot."""

    def __init__(self, start: _Place) -> None:
        self.waiting = [start]
        self.seen = {start}
        self._files = {start.path}
        self._attributes: set[str] = set()
        self._uncalled: dict[str, list[_Place]] = {}

    def add(self, place: _Place) -> None:
        if place not in self.seen and (place.path in self._files or len(self._files) < _MOST_FILES):
            self._files.add(place.path)
            self.seen.add(place)
            self.waiting.append(place)

    def add_methods(self, place: _Place, unit: Unit, *, are_hooks: bool = False) -> None:
        """Add the methods that a unit calls, and those of a class reached just now that were called before.

        are_hooks: whether the unit is a class whose methods are called by a library.
        """
        for name in unit.methods:
            self._uncalled.setdefault(name, []).append(_Place(place.path, f"{place.name}.{name}"))
        named = unit.attributes | (self._attributes & set(unit.methods))
        self._attributes |= unit.attributes
        for name in sorted((named | set(unit.methods) if are_hooks else named) & self._uncalled.keys()):
            for method in self._uncalled.pop(name):
                self.add(method)


class _Program:
    """One started file, and what is reached from it."""

    def __init__(self, trainers: Trainers, script: Path) -> None:
        self.trainers = trainers
        self.script = script
        self._roots = tuple(dict.fromkeys((script.parent, *trainers.roots)))
        self._used: dict[str, Training] = {}
        self._trains = False
        self._calls_backward = False
        self._names = trainers.names(self._roots)

    def training(self) -> Training | None:
        for place, unit in self._units():
            if unit.places_itself:
                return None
            self._note_trainers(place, unit)
        found = next((each for name, each in self._used.items() if name != ACCELERATOR), None)
        if found and self._trains:
            file = self.trainers.file(self.script)
            return replace(found, on_request=file is not None and file.on_request)
        return self._used.get(ACCELERATOR) if self._calls_backward else None

    def fixed_gpu(self) -> str:
        return next((unit.fixed_gpu for _, unit in self._units(with_trainers=True) if unit.fixed_gpu), "")

    def _units(self, *, with_trainers: bool = False) -> Iterator[tuple[_Place, Unit]]:
        """The reached units. Trainers, whose methods are hooks, and what only these reach, are among them if wanted."""
        reached = _Reached(_Place(self.script, BODY))
        while reached.waiting and len(reached.seen) < _MOST_UNITS:
            place = reached.waiting.pop(0)
            file = self.trainers.file(place.path)
            unit = file.units.get(place.name) if file else None
            if unit is None:
                continue
            yield place, unit
            for name in (*unit.names, *unit.bases):
                found = self._found(place.path, name)
                if isinstance(found, _Place) and (with_trainers or not self._is_trainer(found)):
                    reached.add(found)
            reached.add_methods(place, unit, are_hooks=with_trainers and self._is_trainer(place))

    def _note_trainers(self, place: _Place, unit: Unit) -> None:
        """Note the trainers that a unit uses, and whether it trains with one."""
        for name, (line, column) in unit.names.items():
            if kind := self._kind(place.path, name):
                self._used.setdefault(kind, Training(kind, place.path, line, column))
        for receiver, method, arguments in unit.called:
            if method == "train":
                self._trains |= self._is_instance(place, unit, receiver, heuristics.TRAINER_OBJECT)
            elif method == "backward" or (method == "prepare" and heuristics.OPTIMIZER_OBJECT.fits(arguments)):
                self._calls_backward |= self._is_instance(place, unit, receiver, heuristics.ACCELERATOR_OBJECT)

    def _is_instance(self, place: _Place, unit: Unit, receiver: str, called: Guess) -> bool:
        if called.fits(receiver.rpartition(".")[2]) and not receiver.endswith("()"):
            return True
        constructors = {receiver[:-2]} if receiver.endswith("()") else unit.constructors.get(receiver, set())
        return any(self._kind(place.path, each) or self._returns_trainer(place.path, each) for each in constructors)

    def _returns_trainer(self, path: Path, name: str) -> bool:
        """Whether a name is a function of the project that uses a trainer: most likely it returns one."""
        found = self._found(path, name)
        if not isinstance(found, _Place):
            return False
        file = self.trainers.file(found.path)
        unit = file.units.get(found.name) if file else None
        return unit is not None and any(self._kind(found.path, each) for each in unit.names)

    def _kind(self, path: Path, name: str) -> str:
        """The unqualified name of a trainer class or `Accelerator`; "" for all others."""
        found = self._found(path, name)
        if isinstance(found, _Place):
            return found.name if self._is_trainer(found) else ""
        class_name = found.rpartition(".")[2]
        if found.split(".")[0] == "accelerate":
            return class_name if class_name == ACCELERATOR else ""
        return class_name if self.trainers.is_trainer(found) else ""

    def _is_trainer(self, place: _Place, depth: int = 0) -> bool:
        """Whether a class of the project derives from a trainer."""
        file = self.trainers.file(place.path)
        unit = file.units.get(place.name) if file else None
        for base in unit.bases if unit and depth < _DEEPEST else ():
            found = self._found(place.path, base)
            if self._is_trainer(found, depth + 1) if isinstance(found, _Place) else self.trainers.is_trainer(found):
                return True
        return False

    # --- names ---

    def _found(self, path: Path, name: str, depth: int = 0) -> _Place | str:
        """What a name in a file refers to."""
        key = (path, name, depth)
        if key not in self._names:
            self._names[key] = self._resolve(path, name, depth)
        return self._names[key]

    def _resolve(self, path: Path, name: str, depth: int) -> _Place | str:
        file = self.trainers.file(path)
        first, _, rest = name.partition(".")
        if file is None or depth > _DEEPEST:
            return ""
        if first in file.units:
            return _Place(path, first)
        imported = file.imports.get(first)
        if imported is not None:
            return self._target(path, imported, rest, depth)
        for star in file.stars:
            if found := self._target(path, ImportedName(star.module, first, star.level), rest, depth):
                return found
        return ""

    def _target(self, path: Path, imported: ImportedName, rest: str, depth: int) -> _Place | str:
        names = [each for each in (imported.module, imported.name, rest) if each]
        spelled = ".".join(names)
        if not imported.level and (self.trainers.is_trainer(spelled) or spelled.partition(".")[0] in _KNOWN):
            return spelled
        tops = self._tops(path, imported.level) if imported.level else self._roots
        parts = spelled.split(".")
        for length in range(len(parts), -1 if imported.level else 0, -1):
            if module := self.trainers.imported(tuple(parts[:length]), tops):
                left = ".".join(parts[length:])
                return self._found(module, left, depth + 1) if left and module != path else ""
        return spelled if not imported.level else ""

    def _tops(self, path: Path, level: int) -> tuple[Path, ...]:
        """The folder that the dots of a relative import lead to, if it is in the project."""
        tops = path.parents[level - 1 : level]
        return tuple(each for each in tops if any(each.is_relative_to(root) for root in self._roots))
