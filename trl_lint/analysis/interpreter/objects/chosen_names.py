"""Names that a setting tells: of a class in a module of the project, and of the module itself.

    globals()[args.kind], vars(models)[args.kind]               what the module binds to the name
    getattr(models, args.kind + "Trainer")                      the same, of the names that end in `Trainer`
    importlib.import_module("models.small")                     the module, as if it had been imported
    importlib.import_module(f"models.{args.kind}_model")        one of the linted modules whose names fit
    importlib.import_module("models.default")                   nothing: it raises, if `models` has no such module
    for name, cls in module.__dict__.items():                   `cls` is what the module binds to some name

What each rank names for itself is unknown.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.choices import MAX_OPTIONS, NamedIn, NamesOfFile, SomeFile
from trl_lint.domain.heap import WILDCARD, names_like
from trl_lint.domain.kinds import IterableValue, LibraryName, ProjectName, StringValue, TupleValue
from trl_lint.domain.ranks import State
from trl_lint.domain.values import BOTTOM, UNKNOWN, Value


def member(module: Value, name: Value) -> Value | None:
    """What a module of the project binds to a name; None if it is no such module."""
    paths = _paths_of(module)
    return None if paths is None else named(paths, name)


def names_of(module: Value) -> Value | None:
    """The names of a module of the project, as a dict; None if it is no such module."""
    paths = _paths_of(module)
    return None if paths is None else NamesOfFile(paths)


def names_here(frame: Frame) -> Value:
    """`globals()`"""
    return NamesOfFile((frame.module.path,))


def this_module(frame: Frame, name: Value) -> Value | None:
    """`sys.modules[__name__]`; None for any other name."""
    return ProjectName(frame.module.path) if name.const == "__main__" else None


def attribute(receiver: SomeFile, name: str) -> Value:
    """`module.name` of one of several modules."""
    if isinstance(receiver, NamesOfFile):
        return UNKNOWN
    return NamesOfFile(receiver.paths) if name == "__dict__" else NamedIn(receiver.paths, name)


def call_on_names(receiver: NamesOfFile, name: str, args: Arguments) -> Value:
    """A method of the names of a module: `globals().get(name)`, `vars(models).items()`."""
    if name == "get" and args.positional:
        return named(receiver.paths, args.positional[0])
    anything = NamedIn(receiver.paths, WILDCARD)
    key = StringValue(ranks.SAME)
    elements: dict[str, Value] = {"items": TupleValue(ranks.SAME, (key, anything)), "values": anything, "keys": key}
    return IterableValue(ranks.SAME, elements[name], ranks.SAME) if name in elements else UNKNOWN


def imported_module(frame: Frame, name: Value) -> Value | None:
    """`importlib.import_module(name)`; None if nothing is known of the name."""
    text = name.const
    if not isinstance(text, str) or name.rank.differs or not text.strip(WILDCARD) or text.startswith("."):
        return None
    if WILDCARD not in text:
        path = frame.engine.project.find(text, frame.module)
        if path is not None:
            return ProjectName(path)
        return BOTTOM if _is_missing(frame, text) else LibraryName(text)
    found = partial(_files_named, frame.engine.project, frame.module, text)
    paths = frame.engine.project.notes.cached((_files_named, frame.module.path, text), found)
    return SomeFile(paths) if 0 < len(paths) <= MAX_OPTIONS else None


def _is_missing(frame: Frame, dotted: str) -> bool:
    """Whether a package of the project lacks a module, so that its import raises; `package._C` may be compiled."""
    package, _, rest = dotted.partition(".")
    if not rest or rest.rpartition(".")[2].startswith("_"):
        return False
    own = frame.module.name.partition(".")[0]
    return package == own or frame.engine.project.find(package, frame.module) is not None


def _files_named(project: Project, importer: Module, pattern: str) -> tuple[Path, ...]:
    """The linted files of one package that a name fits."""
    package, _, last = pattern.rpartition(".")
    if WILDCARD in package or not package:
        return ()
    wanted = names_like(last, ".py")
    found = {path for path in project.linted if wanted.fullmatch(path.name)}
    return tuple(
        path
        for path in sorted(found)
        if path.parent.name == package.rpartition(".")[2]
        and path.name != "__init__.py"
        and project.find(f"{package}.{path.stem}", importer) == path
    )


def _paths_of(module: Value) -> tuple[Path, ...] | None:
    if isinstance(module, ProjectName) and module.name is None:
        return (module.path,)
    return module.paths if isinstance(module, SomeFile) and not isinstance(module, NamesOfFile) else None


def named(paths: tuple[Path, ...], name: Value) -> Value:
    """What one of several modules binds to a name: `globals()[name]`."""
    if name.rank.differs or name.rank.state is State.BOTTOM:
        return UNKNOWN
    text = name.const
    return NamedIn(paths, text if isinstance(text, str) and text else WILDCARD)
