"""Names: of the module, of builtins, and of other files, which are opened when one of their names is used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import libcst as cst

from trl_lint.analysis.interpreter.control_flow import statements
from trl_lint.analysis.interprocedural import named_classes
from trl_lint.analysis.interprocedural.library_lookup import Tables
from trl_lint.analysis.program.definitions import late_imports
from trl_lint.analysis.program.definitions.changed_state import is_changed, is_declared_global
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.state import records
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.choices import (
    NamedIn,
    NamesOfFile,
    OneOfFunctions,
    OneOfProjectClasses,
    OneOfProjectNames,
    OneOfProjectObjects,
)
from trl_lint.domain.constants import MISSING, PRESENT, WORLD_SIZE, WORLD_TRUE, World
from trl_lint.domain.control import UNIFORM
from trl_lint.domain.devices import GLOBAL_RANK, Device
from trl_lint.domain.joins import join_all
from trl_lint.domain.kinds import NONE, ContainerValue, LibraryInstance, LibraryName, ProjectName, StringValue, flag
from trl_lint.domain.provenance import LauncherVariable
from trl_lint.domain.ranks import State
from trl_lint.domain.values import SAME, UNKNOWN, Kind, Value
from trl_lint.knowledge import heuristics, library
from trl_lint.knowledge import torch as torch_table
from trl_lint.knowledge.launcher_variables import GLOBAL_RANK_VARIABLES, RANK_VARIABLES, WORLD_VARIABLES
from trl_lint.knowledge.schema import RANK_INDEX, WORLD, Attribute

# The kinds of a module's state in a name: a number, or None for nothing yet.
_STATES = frozenset({Kind.NONE, Kind.NUMBER})
# The maximum number of star imports of a file that are followed to find a name.
MAX_STARS = 5
# The kinds of what the code of a project defines, for good.
_DEFINED = frozenset({Kind.CLASS, Kind.FUNCTION, Kind.MODULE})
# The longest chain of imports through which a name is followed to what it is bound to.
_MAX_IMPORTS = 5
# A library whose files are never read: the tables have its functions, and most of them are not written in Python.
_NEVER_READ = "torch"
# Libraries whose sources say no more than the tables do, and are slow to analyse.
_LINTED_LIBRARIES = frozenset({"accelerate", "peft", "transformers"})


# Constants with the name of a launcher variable hold its number.
NAMED_CONSTANTS = dict.fromkeys(RANK_VARIABLES, RANK_INDEX) | dict.fromkeys(WORLD_VARIABLES, WORLD)


class Names(Tables):
    """Looks up names, and runs the bodies of modules for it."""

    def __init__(self, project: Project, versions: Mapping[str, str] | None = None) -> None:
        super().__init__(project, versions)
        self._settled: dict[tuple[Path, str, bool], Value] = {}

    def imported(self, module: Module) -> Iterator[Module]:
        """The files of the project that a module imports, once their bodies have been run."""
        named = [value.path for value in module.names.values() if isinstance(value, ProjectName)]
        for path in dict.fromkeys((*named, *module.stars[:MAX_STARS])):
            other = self.project.module(path)
            if other is not None and other is not module:
                self.load(other)
                yield other

    def load(self, module: Module) -> None:
        """Run a module's body, once."""
        if module.state != "new":
            return
        module.state = "running"
        frame = Frame(self, module)
        module.memory = lambda: frame.memory
        frame.memory.names["__name__"] = StringValue(ranks.SAME, const="__main__")
        try:
            statements.run_block(frame, module.tree.body)
            for observe in self.observers.exit:
                observe(frame, UNIFORM, UNIFORM)
        except RecursionError:  # not a problem of the importing module
            module.gave_up = True
        module.names, module.heap, module.trace = frame.memory.names, frame.memory.heap, frame.trace
        module.state = "done"

    def global_name(self, module: Module, name: str, frame: Frame | None = None) -> Value | None:
        """A global or builtin name, as a function of the module sees it."""
        self.load(module)
        memory = module.memory() if module.state == "running" and module.memory is not None else None
        found = (module.names if memory is None else memory.names).get(name)
        if found is not None and frame is not None and found.kind in (Kind.CONTAINER, Kind.TUPLE):
            frame.memory.load(found, module.heap if memory is None else memory.heap)
        if found is None or (found.kind is Kind.NONE and module.state == "done"):
            found = self._imported_late(module, name) or found
        if found is None:
            builtin = _BUILTINS.get(name)
            if builtin is not None:
                return builtin
            found = self._starred(module, name)
            if found is None:
                return None
        if module.state == "done" and found.kind in _STATES and _may_change(module, name, found):
            return UNKNOWN
        if isinstance(found, LibraryName) and module.state == "done" and _may_be_none(module, name, found):
            return found.replace(rank=ranks.UNKNOWN)
        is_set = found.const is PRESENT and frame is not None and is_declared_global(module, name)
        if found.const is not MISSING and (module.state == "done" or is_set):
            return without_constant(found)  # a function may set it to None
        return found

    def _imported_late(self, module: Module, name: str) -> Value | None:
        """A global name that a function of the module binds by an import."""
        node = late_imports.import_of(module, name)
        if node is None:
            return None
        frame = Frame(self, module)
        statements.HANDLERS[type(node)](frame, node)
        return frame.memory.names.get(name)

    def global_names(self, module: Module) -> dict[str, Value]:
        """The module's global names, for a function that assigns names that it declares `global`."""
        return module.memory().names if module.state == "running" and module.memory is not None else module.names

    def settle(self, value: Value, *, base: bool = False) -> Value:
        """Look up an imported name of the project, now that it is used (`base`: as a base class)."""
        if not isinstance(value, ProjectName) or value.name is None:
            return self._settled_choice(value) if isinstance(value, (NamedIn, OneOfProjectNames)) else value
        key = (value.path, value.name, base)
        found = self._settled.get(key)
        if found is None:
            self._settled[key] = UNKNOWN  # for circular imports
            found = self._find_imported(value, base)
            if found is UNKNOWN and self.custom:
                found = self._custom_class(value)
            self._settled[key] = found
        return found

    def with_contents(self, frame: Frame, value: Value) -> Value:
        """The same as `settle`; the classes and functions that an imported container holds are then known to the frame.

        Numbers and other state may be replaced by any code that imports it.
        """
        found = self.settle(value)
        if isinstance(value, ProjectName) and isinstance(found, ContainerValue):
            module = self.binding_module(value)
            heap = {} if module is None or module.memory is None else module.memory().heap
            held = [each for identity in found.identities if identity in heap for each in heap[identity].values()]
            if held and all(each.kind in _DEFINED for each in held):
                frame.memory.load(found, heap)
        return found

    def binding_module(self, reference: ProjectName) -> Module | None:
        """The module that binds an imported name to an object, and does not import it itself."""
        for _ in range(_MAX_IMPORTS):
            module = self.project.module(reference.path)
            if module is not None:
                self.load(module)
            bound = None if module is None else self.global_names(module).get(reference.name or "")
            if not isinstance(bound, ProjectName):
                return module
            reference = bound
        return None

    def _settled_choice(self, value: NamedIn | OneOfProjectNames) -> Value:
        """The choice between what several names mean, if that is known of all of them."""
        if isinstance(value, NamedIn):
            return named_classes.named_in(self, value)
        found = join_all([self.settle(option) for option in value.options])
        return found if isinstance(found, (OneOfFunctions, OneOfProjectClasses, OneOfProjectObjects)) else SAME

    def _custom_class(self, reference: ProjectName) -> Value:
        """A class that the configuration has, although its source does not show it."""
        dotted = self.custom_name(reference.path, reference.name or "", is_class=True)
        return LibraryName(dotted) if dotted else UNKNOWN

    def _find_imported(self, reference: ProjectName, base: bool) -> Value:
        known = self._in_tables(reference)
        if known is not None:
            return known
        below = self.project.below(reference.path, reference.name or "")
        if below is not None:
            return self._rebound_object(reference, below) or ProjectName(below)
        if not (base or self.project.may_open(reference.path)):
            return self._guessed_by_name(reference)
        module = self.project.module(reference.path)
        if module is None:
            return UNKNOWN
        self.load(module)
        name = reference.name or ""
        found = self.global_names(module).get(name) or self._starred(module, name)
        if found is not None:
            return self.settle(found, base=base)
        return _computed(module, name) or UNKNOWN

    def _rebound_object(self, reference: ProjectName, below: Path) -> Value | None:
        """The object that a package binds to the name of its own module: `from .train import train` in its `__init__`.

        The import of the module binds it to the name first, and the imported object is bound to that name afterwards.
        """
        name = reference.name or ""
        imports_from_it = re.search(
            rb"(?m)^from[ \t]+[\w.]*\b" + name.encode() + rb"[ \t]+import\b", self.project.text(reference.path)
        )
        module = (
            self.project.module(reference.path) if imports_from_it and self.project.may_open(reference.path) else None
        )
        if module is None:
            return None
        self.load(module)
        found = self.global_names(module).get(name)
        is_from_module = isinstance(found, ProjectName) and (found.path, found.name) == (below, name)
        return self.settle(found) if found is not None and is_from_module else None

    def _guessed_by_name(self, reference: ProjectName) -> Value:
        """A name of a file that is not opened: what all training code means by it, if it has such a meaning."""
        name = reference.name or ""
        if heuristics.is_rank_name(name):
            return LibraryName(f"{self.project.name_of(reference.path)}.{name}")
        return NAMED_CONSTANTS[name] if heuristics.LAUNCHER_CONSTANT.fits(name) else UNKNOWN

    def _in_tables(self, reference: ProjectName) -> Value | None:
        """A name that the configuration has, or, when accelerate or transformers is linted, the tables have."""
        name = reference.name or ""
        custom = self.custom_name(reference.path, name) if self.custom else ""
        if custom:
            return self._of_library(custom)
        dotted = f"{self.project.name_of(reference.path)}.{name}"
        if heuristics.PACKAGE_CHECK.fits(name):
            return LibraryName(dotted)  # whether a package is installed
        if dotted.partition(".")[0] not in _LINTED_LIBRARIES:
            return None
        canonical = library.canonical(dotted)
        return LibraryName(canonical) if _is_in_knowledge(canonical) else None

    def member(self, receiver: LibraryName | ProjectName, name: str) -> Value:
        """`module.name`, of a library or of the project."""
        if isinstance(receiver, ProjectName):
            is_dict = name == "__dict__" and receiver.name is None
            return NamesOfFile((receiver.path,)) if is_dict else self.settle(ProjectName(receiver.path, name))
        return self._of_library(f"{receiver.name}.{name}")

    def _of_library(self, dotted: str) -> Value:
        """The value of a dotted name before it is called."""
        canonical = library.canonical(dotted)
        if canonical == "os.environ":
            return LibraryInstance("os.environ")
        for row in library.rows(canonical, self.versions):
            if isinstance(row, Attribute):
                return row.value
        name = dotted.rpartition(".")[2]
        return NAMED_CONSTANTS[name] if heuristics.LAUNCHER_CONSTANT.fits(name) else LibraryName(dotted)

    def _file(self, dotted: str, importer: Module) -> Path | None:
        """The file that an import refers to; None for a library that only the tables describe."""
        return None if dotted.partition(".")[0] == _NEVER_READ else self.project.find(dotted, importer)

    def run_import(self, frame: Frame, node: cst.Import) -> None:
        for alias in node.names:
            dotted = dotted_name(alias.name)
            path = self._file(dotted, frame.module)
            bound = alias.evaluated_alias
            if bound is not None:
                frame.memory.names[bound] = LibraryName(dotted) if path is None else ProjectName(path)
            else:
                top = dotted.partition(".")[0]
                root = self._file(top, frame.module)
                frame.memory.names[top] = LibraryName(top) if root is None else ProjectName(root)

    def run_import_from(self, frame: Frame, node: cst.ImportFrom) -> None:
        dotted = frame.module.absolute(len(node.relative), dotted_name(node.module) if node.module else "")
        path = self._file(dotted, frame.module)
        if isinstance(node.names, cst.ImportStar):
            if path is not None:
                frame.module.stars.append(path)
            elif dotted not in frame.module.library_stars:
                frame.module.library_stars.append(dotted)
            return
        for alias in node.names:
            name = alias.evaluated_name
            frame.memory.names[alias.evaluated_alias or name] = self._imported(frame.module, dotted, path, name)

    def _imported(self, importer: Module, dotted: str, path: Any, name: str) -> Value:
        if path is None:
            inner = self._file(f"{dotted}.{name}", importer) if dotted else None
            if inner is not None:
                return ProjectName(inner)
            return self.member(LibraryName(dotted), name)
        custom = self.custom_name(path, name) if self.custom else ""
        return self._of_library(custom) if custom else ProjectName(path, name)

    def _starred(self, module: Module, name: str) -> Value | None:
        """A name that `from … import *` may have bound; only a few files are opened for it."""
        if not (module.stars or module.library_stars) or name in module.not_starred:
            return None
        reached = [module]
        for each in reached:  # and those that are added here, as a file passes on what it imports in this way
            for path in each.stars[:MAX_STARS]:
                other = self._that_may_bind(path, name)
                if other is not None and (found := other.names.get(name)) is not None:
                    return found
                if other is not None and other not in reached:
                    reached.append(other)
        packages = [package for each in reached for package in reversed(each.library_stars)]
        found = self._of_starred_library(packages, name)
        if found is None:
            module.not_starred.add(name)
        return found

    def _that_may_bind(self, path: Path, name: str) -> Module | None:
        """A file that may bind a name, or import it with all names of another file."""
        if not (self.project.mentions(path, name) or self.project.mentions(path, "import *")):
            return None
        other = self.project.module(path)
        if other is None or other.state == "running":
            return None
        self.load(other)
        return other

    def _of_starred_library(self, packages: list[str], name: str) -> Value | None:
        for package in packages:
            dotted = f"{package}.{name}"
            canonical = library.canonical(dotted)
            if _is_in_knowledge(canonical) or library.is_alias(dotted):
                return self._of_library(canonical)
        if packages and heuristics.is_rank_name(name):
            return LibraryName(f"{packages[0]}.{name}")  # as if it were imported by name
        return None

    def class_variable(self, cls: ClassInfo, name: str, frame: Frame | None = None) -> Value | None:
        """A name assigned in the body of the class or of a base whose source is available.

        frame: where it is read; it then knows what a container holds, unless code of the file changes that.
        """
        for each in cls.project_lineage():
            found = each.variables.get(name)
            if found is UNKNOWN and name in each.annotated:
                body, field = Frame(self, each.module), each.annotated.pop(name)
                made = records.rank_of_factory(body, field)
                found = made or self.annotated(body, field.annotation.annotation) or UNKNOWN
                each.variables[name] = found
            if found is not None:
                if frame is not None and found.kind is Kind.CONTAINER and not is_changed(each.module, name):
                    frame.memory.load(found, each.module.heap)
                return without_constant(found)
        return None


def _is_in_knowledge(canonical: str) -> bool:
    """Whether the tables know a name of a library."""
    return bool(library.rows(canonical)) or library.constructor(canonical) is not None


def _computed(module: Module, name: str) -> Value | None:
    """`envs.RANK`, where the module has a `__getattr__` and a table of the launcher's variables; None for others."""
    compute = next((each for each in module.functions if each.name == "__getattr__"), None)
    is_named = heuristics.LAUNCHER_CONSTANT.fits(name) and module.mentions(rb"[\"']" + name.encode() + rb"[\"']")
    if compute is None or not is_named:
        return None
    value = NAMED_CONSTANTS[name]
    if not value.rank.differs:
        return value
    provenance = LauncherVariable(module, compute.node, f"`{name}` is the number of this rank")
    # Such a module is right to tell the rank: whoever takes it for the index of a device is not.
    return value.replace(provenance=provenance, device=Device(GLOBAL_RANK) if name in GLOBAL_RANK_VARIABLES else "")


def _may_change(module: Module, name: str, value: Value) -> bool:
    """Whether some function assigns a global name, so that its value depends on when it is read."""
    if value.rank.state is not State.SAME:
        return False
    return is_declared_global(module, name) and not _is_count_of_processes(module, name, value)


def _is_count_of_processes(module: Module, name: str, value: Value) -> bool:
    """Whether the start of the processes sets a global name to their number; until then, it is that of one."""
    alone = rb"(?m)^%b[ \t]*(?::[^=\n]*)?=[ \t]*(?:-?[01]|None)\b" % re.escape(name.encode())
    return value.const is WORLD_SIZE and module.mentions(alone)


def _may_be_none(module: Module, name: str, value: Value) -> bool:
    """Whether a global name is None until, or unless, some function assigns a library to it: `_tracker = wandb`."""
    is_none = rb"(?m)^\s*" + name.encode() + rb"\s*(?::[^=\n]*)?=\s*None\b"
    return _may_change(module, name, value) and module.mentions(is_none)


def dotted_name(node: cst.CSTNode) -> str:
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    parts.append(node.value if isinstance(node, cst.Name) else "?")
    return ".".join(reversed(parts))


def without_constant(value: Value) -> Value:
    if value.const is MISSING or isinstance(value.const, World) or value.kind is Kind.STRING:
        return value
    return value.replace(const=MISSING)


_BUILTINS: dict[str, Value] = {
    **{
        name: LibraryName(f"builtins.{name}")
        for name in (
            *torch_table.PURE_BUILTINS,
            "bytearray",
            "callable",
            "delattr",
            "exec",
            "globals",
            "hasattr",
            "id",
            "isinstance",
            "issubclass",
            "open",
            "print",
            "setattr",
            "type",
            "vars",
        )
    },
    "True": flag(True),
    "False": flag(False),
    "None": NONE,
    "__file__": StringValue(ranks.SAME),
    "TYPE_CHECKING": flag(WORLD_TRUE),
}
