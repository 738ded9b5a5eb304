"""Functions and classes of the linted project, as the interpreter knows them."""

from __future__ import annotations

import copy
from collections import ChainMap
from collections.abc import Hashable, Iterator, Mapping, MutableMapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import libcst as cst

from trl_lint.analysis.program.blocks import is_blank
from trl_lint.analysis.program.project.assigned_attributes import always_assigned, assigned_in, is_assigned_after_base
from trl_lint.analysis.program.project.assigned_values import (
    ValuesByRun,
    in_any_order,
    is_number_of_rank,
    join_reduced,
    joined_without,
    may_be_wrapped,
    method_of,
    without_plain_constant,
)
from trl_lint.analysis.program.project.given_ranks import rank_from_some
from trl_lint.analysis.program.project.notes import Notes
from trl_lint.analysis.program.project.overridden import overridden_methods
from trl_lint.analysis.program.syntax import of_class
from trl_lint.domain import ranks
from trl_lint.domain.equality import contents_of, same_contents, same_facts
from trl_lint.domain.heap import Cell, JoinedHeap, join_cells
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import Identity
from trl_lint.domain.values import BOTTOM, Kind, Value
from trl_lint.knowledge import library, models
from trl_lint.knowledge.python import COMMAND_DECORATORS

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module

# The largest number of allocation sites in one file by which the objects of a class are distinguished. Other files do
# not count: which of several programs' objects are distinguished must not depend on their order.
MAX_ALLOCATION_SITES = 16


class FunctionInfo:
    """A function of the project. `summaries` holds its summaries, one per call context."""

    __slots__ = (
        "closure",
        "cls",
        "decorators",
        "first_rank",
        "is_command",
        "joined",
        "module",
        "name",
        "node",
        "parameters",
        "pending_used",
        "reached",
        "summaries",
    )

    def __init__(
        self,
        node: cst.FunctionDef | cst.Lambda,
        module: Module,
        cls: ClassInfo | None = None,
        closure: Any = None,
    ) -> None:
        self.node = node
        self.module = module
        self.cls = cls
        self.closure = closure  # the Frame it was defined in, for nested functions
        self.name = node.name.value if isinstance(node, cst.FunctionDef) else "<lambda>"
        self.decorators = frozenset(decorators_of(node))
        self.parameters = _parameters(node.params)
        self.summaries: dict[tuple[Hashable, ...], Any] = {}
        self.joined: dict[tuple[Hashable, ...], Any] = {}  # the join of calls beyond the limit: see `contexts`
        self.pending_used = False
        self.reached = False
        # Whether it is a command of the command line, called with the same options on all ranks.
        self.is_command = bool(self.decorators & COMMAND_DECORATORS)
        # For a context manager: which rank enters before the others, one per "job" or one per "node".
        self.first_rank = ""

    @property
    def is_open(self) -> bool:
        """Whether it is a method with an empty body, so that what it does and returns is up to a subclass."""
        return self.cls is not None and isinstance(self.node, cst.FunctionDef) and _is_open(self.node)

    @property
    def is_static(self) -> bool:
        return "staticmethod" in self.decorators

    @property
    def is_property(self) -> bool:
        return bool(self.decorators & {"property", "cached_property"})

    @property
    def returns_itself(self) -> bool:
        """Whether it is a method that only returns the object that it is called on."""
        if self.cls is None or self.is_static or self.is_property or "classmethod" in self.decorators:
            return False
        returned = [each.value for each in of_class(self.node, cst.Return)]
        receiver = self.parameters[0].name if self.parameters else ""
        return bool(returned) and all(isinstance(each, cst.Name) and each.value == receiver for each in returned)

    @property
    def shows(self) -> bool:
        """Whether it passes metrics to a sink, which may then depend on what a subclass has stored."""
        return self.name == "log" or any(summary.trace.shows for summary in self.summaries.values())

    def has_run_on(self, cls: ClassInfo) -> bool:
        """Whether it has been run on an object of a class."""
        return any(key[1] == id(cls) for key in self.summaries)

    def count_runs_on(self, cls: ClassInfo | None) -> int:
        """The number of contexts in which it has been run on an object of a class; without one, as a function."""
        return sum(key[1] == id(cls) for key in self.summaries)

    def __repr__(self) -> str:
        return f"{self.cls.name}.{self.name}" if self.cls else self.name


def _is_open(node: cst.FunctionDef) -> bool:
    return node.name.value != "__init__" and is_blank(node.body)


class Parameter:
    """One parameter. star: "" for a plain one, "*" or "**"; positional: whether a position can fill it."""

    __slots__ = ("annotation", "default", "name", "node", "positional", "star")

    def __init__(self, node: cst.Param, star: str, positional: bool) -> None:
        self.node = node
        self.name = node.name.value
        self.annotation = node.annotation.annotation if node.annotation else None
        self.default = node.default
        self.star = star
        self.positional = positional


def _parameters(params: cst.Parameters) -> tuple[Parameter, ...]:
    found = [Parameter(param, "", True) for param in (*params.posonly_params, *params.params)]
    if isinstance(params.star_arg, cst.Param):
        found.append(Parameter(params.star_arg, "*", True))
    found.extend(Parameter(param, "", False) for param in params.kwonly_params)
    if params.star_kwarg is not None:
        found.append(Parameter(params.star_kwarg, "**", False))
    return tuple(found)


def decorators_of(node: cst.CSTNode) -> Iterator[str]:
    """The last parts of the names of the decorators of a function or a class."""
    for decorator in getattr(node, "decorators", ()):
        target = decorator.decorator
        if isinstance(target, cst.Call):
            target = target.func
        if isinstance(target, cst.Attribute):
            yield target.attr.value
        elif isinstance(target, cst.Name):
            yield target.value


class ClassInfo:
    """A class of the project, with what is known of the attributes of its instances.

    bases: classes of the project as ClassInfo, library classes by canonical name, None for unknown ones.
    attributes, heap: the join of all that its methods assign, loaded and flushed by the interpreter.
    """

    def __init__(self, node: cst.ClassDef, module: Module, bases: Sequence[ClassInfo | str | None]) -> None:
        self.node = node
        self.module = module
        self.name = node.name.value
        self.bases = tuple(bases)
        self.methods: dict[str, FunctionInfo] = {}
        self.attributes: dict[str, Value] = {}
        self._assigned_values: dict[str, ValuesByRun] = {}
        self.heap: dict[Identity, Cell] = {}
        self._versions: dict[str | Identity, int] = {}
        self._heirs: list[ClassInfo] = []  # subclasses, whose version totals include changes noted here
        self._totals: dict[str | Identity, int] | None = None
        self.variables: dict[str, Value] = {}  # names assigned in the body of the class
        self.annotated: dict[str, cst.AnnAssign] = {}  # names with an annotation, removed when one is read
        self.traces: list[Any] = []
        self.stored: dict[Any, Any] = {}  # hooks whose results a library base logs, with their summaries
        self.notes = Notes()
        self.origin = self  # the class itself, for the copy that represents one allocation site
        self._allocated: dict[Module, dict[Hashable, ClassInfo]] = {}
        self.is_apart = False  # whether it is a copy whose objects are made with other settings than all others
        self.fixed: frozenset[str] = frozenset()  # for a copy: the attributes that nothing changes after `__init__`
        self.calls: dict[str, dict[Any, Any]] = {}  # how classes of the project call methods of their own `self`
        self.state = "new"
        self.made = False  # whether a constructor has run for its objects, or there is none to run
        self.awaits_constructor = False  # whether it runs only later, for an object that another file makes
        self._assigned: frozenset[str] | None = None
        self._certain_attributes: frozenset[str] | None = None
        self._project_lineage: tuple[ClassInfo, ...] | None = None
        self._library_bases: tuple[str, ...] | None = None
        # The library class that this class is, if the linted project is transformers itself: its loop is too dynamic to
        # show how it calls its hooks.
        canonical = library.canonical(f"{module.name}.{self.name}")
        self.canonical = canonical if canonical.startswith("transformers.") and library.rows(canonical) else ""

    def __repr__(self) -> str:
        return self.name

    def lineage(self) -> Iterator[ClassInfo | str | None]:
        """This class and its bases, depth first and each once: ClassInfo, canonical names, None if unknown."""
        seen: set[ClassInfo | str | None] = set()
        todo: list[ClassInfo | str | None] = [self]
        while todo:
            item = todo.pop()
            if item in seen:
                continue
            seen.add(item)
            yield item
            if isinstance(item, ClassInfo):
                todo.extend(reversed(item.bases))
                if item.canonical:
                    todo.append(item.canonical)

    def project_lineage(self) -> tuple[ClassInfo, ...]:
        """The class and its bases that are part of the project."""
        if self._project_lineage is None:
            self._project_lineage = tuple(item for item in self.lineage() if isinstance(item, ClassInfo))
        return self._project_lineage

    def project_methods(self) -> list[FunctionInfo]:
        """The methods of the class and of its bases in the project, also those that are overridden."""
        return [method for cls in self.project_lineage() for method in cls.methods.values()]

    def library_bases(self) -> tuple[str, ...]:
        """The canonical names of its bases (or of itself) that the knowledge tables may contain."""
        if self._library_bases is None:
            self._library_bases = tuple(item for item in self.lineage() if isinstance(item, str))
        return self._library_bases

    def find(self, name: str) -> FunctionInfo | None:
        """The method of this name in the class or its bases in the project."""
        for cls in self.project_lineage():
            if name in cls.methods:
                return cls.methods[name]
        return None

    def find_above(self, name: str, base: ClassInfo | None = None) -> FunctionInfo | None:
        """The method that `super().name` means in `base` (or this class), if its source is available."""
        classes = self.project_lineage()
        first = classes.index(base) if base in classes else 0
        return next((cls.methods[name] for cls in classes[first + 1 :] if name in cls.methods), None)

    # --- its instances ---

    @property
    def is_copy(self) -> bool:
        """Whether it represents the objects of one allocation site."""
        return self.origin is not self

    def allocated_at(self, site: Hashable, module: Module, apart: bool = False) -> ClassInfo:
        """The copy of this class for the objects from one allocation site in a file, with attributes of their own.

        `losses = Meter()` is kept separate from `accuracy = Meter()`. The class itself joins the attributes of all of
        them, and is used for objects whose allocation site is unknown. It knows nothing of those that are kept apart.
        """
        sites = self._allocated.setdefault(module, {})
        known = sites.get(site)
        if known is None and len(sites) < MAX_ALLOCATION_SITES:
            known = sites[site] = copy.copy(self)
            known.attributes, known._assigned_values, known.heap, known.is_apart = {}, {}, {}, apart
            known.made, known.awaits_constructor = True, False
            known._versions, known._heirs, known._totals, known._project_lineage = {}, [], None, None
        return known or self

    def with_allocation_sites(self) -> tuple[ClassInfo, ...]:
        """The class, and its copies for the allocation sites."""
        return (self, *(each for sites in self._allocated.values() for each in sites.values()))

    # --- the attributes of its instances ---

    def attribute(self, name: str, built: bool = False) -> Value | None:
        """The join of what is assigned to `self.name` here and in the bases in the project; None if nothing is.

        What a method of a base leaves in its own objects does not count if it has been run on this class as well, or
        is overridden here; what it leaves in those of other heirs only if nothing else is known. BOTTOM if it is
        assigned somewhere that has not been run yet. built: the object is constructed, so that an assignment in a
        base's `__init__` no longer counts if the `__init__` of a subclass always replaces it, or wraps it on one path:
        the unwrapped value of the other path is then the base's.
        """
        replaced = overridden_methods(self)
        for left_out, with_heirs in ((replaced, False), (replaced, True), (frozenset[Hashable](), True)):
            if (value := self._attribute(name, built, left_out, with_heirs)) is not None:
                return value
        return BOTTOM if any(name in cls.assigned() for cls in self.project_lineage()) else None

    def _attribute(self, name: str, built: bool, replaced: frozenset[Hashable], with_heirs: bool) -> Value | None:
        found: list[Value] = []
        having = [cls for cls in self.project_lineage() if name in cls.attributes]
        if built:
            replaced = replaced.union(*(cls._constructors_above() for cls in having if cls._replaces(name)))
        for cls in having:
            writers, left = cls.writers(name), cls._left_in(name, with_heirs or cls is self)
            is_whole = left is cls._assigned_values[name] and replaced.isdisjoint(writers)
            value = cls.attributes[name] if is_whole else joined_without(left, replaced)
            replaced |= writers
            if value.rank.state is not ranks.State.BOTTOM:
                found.append(value)
        return reduce(join, found) if found else None

    def contents(self) -> MutableMapping[Identity, Cell]:
        """The heap of its instances, joined over the bases in the project."""
        layers = [cls.heap for cls in self.project_lineage() if cls.heap]
        return layers[0] if len(layers) == 1 else JoinedHeap(*layers)

    def flush(self, name: str, value: Value, writer: Hashable, heap: dict[Identity, Cell]) -> None:
        """Note the value that a method leaves in `self.name`; it replaces what this method left there before.

        Readers are not invalidated by one more container if it has the same contents as a known one.
        """
        if self.is_copy and not self.is_apart:
            # A function may make several records, each with values of its own.
            run = writer if isinstance(writer, tuple) else (writer,)
            self.origin.flush(name, value, writer if "__init__" in self.methods else (*run, id(self)), heap)
        by_writer = self._assigned_values.setdefault(name, ValuesByRun())
        if may_be_wrapped(value) and not (writer in by_writer and may_be_wrapped(by_writer[writer])):
            self.count(name)
        kept = value if name in self.fixed or (self.is_apart and "." in name) else without_plain_constant(value)
        merged = by_writer.join_with(writer, kept)
        if merged.kind is Kind.UNKNOWN and "__init__" in self.methods:
            merged = rank_from_some(by_writer, self.methods["__init__"].node) or merged
        merged = in_any_order(merged, by_writer.values())
        known = self.attributes.get(name)
        if known is None or not same_facts(known, merged):
            is_news = known is None or contents_of(known, self.heap) != contents_of(merged, ChainMap(heap, self.heap))
            self.attributes[name] = merged
            if is_news:
                self.count(name)

    def flush_cell(self, identity: Identity, cell: Cell) -> None:
        if self.is_copy and not self.is_apart:
            self.origin.flush_cell(identity, cell)
        known = self.heap.get(identity)
        merged = cell if known is None else join_reduced(known, cell, join_cells(known, cell))
        if known is None or not same_contents(known, merged):
            self.heap[identity] = merged
            self.count(identity)

    def _replaces(self, name: str) -> bool:
        """Whether the value that its `__init__` leaves in `self.name` replaces those that its bases have left."""
        if name in self.certain_attributes():
            return True
        body = self._init_body()
        values = [] if body is None else self._assigned_in(name, self.methods["__init__"])
        is_certain = bool(values) and (all(map(may_be_wrapped, values)) or all(map(is_number_of_rank, values)))
        return is_certain and body is not None and is_assigned_after_base(body, name)

    def _init_body(self) -> cst.BaseSuite | None:
        init = self.methods.get("__init__")
        return init.node.body if init is not None and isinstance(init.node, cst.FunctionDef) else None

    def _constructors_above(self) -> frozenset[Hashable]:
        """The constructors of its bases, as writers of attributes."""
        inits = (base.methods.get("__init__") for base in self.project_lineage()[1:])
        return frozenset(id(init.node) for init in inits if init is not None)

    def writers(self, name: str) -> frozenset[Hashable]:
        """The methods that have left something in `self.name`, by the ids of their nodes."""
        return frozenset(map(method_of, self._assigned_values.get(name, ())))

    def is_assigned_by_others(self, name: str, method: FunctionInfo) -> bool:
        """Whether methods other than this one and `__init__` have left something in `self.name`."""
        mine = {id(each.node) for each in (method, self.methods.get("__init__")) if each is not None}
        return any(not (isinstance(by, tuple) and by[0] in mine) for by in self._assigned_values.get(name, {}))

    def is_assigned_by_several(self, name: str) -> bool:
        """Whether more than one method, or the same one in several runs, has left something in `self.name`."""
        return sum(len(cls._left_in(name, cls is self)) for cls in self.project_lineage()) > 1

    def values_assigned_in(self, name: str, method: FunctionInfo) -> list[Value]:
        """The values that runs of a method have left in `self.name`."""
        return [value for cls in self.project_lineage() for value in cls._assigned_in(name, method, cls is self)]

    def _left_in(self, name: str, with_heirs: bool) -> Mapping[Hashable, Value]:
        """What runs of methods have left in `self.name`. with_heirs: also in objects of heirs of the class."""
        return self._assigned_values[name].left(with_heirs) if name in self._assigned_values else {}

    def _assigned_in(self, name: str, method: FunctionInfo, with_heirs: bool = True) -> list[Value]:
        values = self._left_in(name, with_heirs).items()
        return [value for by, value in values if isinstance(by, tuple) and by[0] == id(method.node)]

    def values_assigned_by_others(self, name: str, writer: Hashable) -> Value:
        """The join of what other methods than `writer` have left in `self.name`; BOTTOM if nothing."""
        return self.values_assigned_except(name, frozenset((method_of(writer),)))

    def values_assigned_except(self, name: str, methods: frozenset[Hashable]) -> Value:
        """The join of what methods have left in `self.name`, except those with such keys; BOTTOM if nothing."""
        merged, methods = BOTTOM, methods | overridden_methods(self)
        for cls in self.project_lineage():
            merged = join(merged, joined_without(cls._left_in(name, cls is self), methods))
            methods |= cls.writers(name)
        return merged

    def certain_attributes(self) -> frozenset[str]:
        """The names that its `__init__` assigns to `self` unconditionally, after it has called those of its bases."""
        if self._certain_attributes is None:
            body = self._init_body()
            self._certain_attributes = frozenset() if body is None else always_assigned(body)
        return self._certain_attributes

    def count(self, name: str | Identity) -> None:
        """Note that the value of a name has changed, so that its readers have to be run again."""
        self._versions[name] = self._versions.get(name, 0) + 1
        for heir in self._heirs:
            if heir._totals is not None:
                heir._totals[name] = heir._totals.get(name, 0) + 1

    def version(self, name: str | Identity) -> int:
        """How often the value of an attribute or a container has changed, here and in the bases in the project."""
        if self._totals is None:
            self._totals = {}
            for cls in self.project_lineage():
                cls._heirs.append(self)
                for each, count in cls._versions.items():
                    self._totals[each] = self._totals.get(each, 0) + count
        return self._totals.get(name, 0)

    def assigned(self) -> frozenset[str]:
        """The names of all `self.x` that a method of this class assigns (a walk over statements only)."""
        if self._assigned is None:
            found: set[str] = set()
            for method in self.methods.values():
                if isinstance(method.node, cst.FunctionDef):
                    found |= assigned_in(method.node.body)
            self._assigned = frozenset(found)
        return self._assigned


def is_module_class(cls: ClassInfo) -> bool:
    return any(base in models.MODULE_CLASSES or library.is_model_class(base) for base in cls.library_bases())


def has_forward(cls: ClassInfo) -> bool:
    """Whether it may be a network. A module without a forward only holds state, for example an optimizer's."""
    return any(base not in models.WITHOUT_FORWARD for base in cls.library_bases()) or cls.find("forward") is not None
