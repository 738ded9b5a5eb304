"""One run of one function: its names and heap, the events it emits, and helpers shared by all parts of the walk."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from trl_lint.analysis.events import Event
from trl_lint.analysis.program.definitions.objects import FunctionValue, ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.notes import Notes
from trl_lint.analysis.state.evaluated_conditions import EvaluatedConditions
from trl_lint.analysis.state.event_trace import trace_of
from trl_lint.analysis.state.object_access import ObjectAccess, load_attribute
from trl_lint.domain import ranks
from trl_lint.domain.control import UNIFORM, Control, Uniformity
from trl_lint.domain.heap import Cell, Memory, join_cells, reachable
from trl_lint.domain.kinds import (
    ContainerValue,
    Identity,
    LibraryName,
    LoaderValue,
    ProjectName,
    TupleValue,
    class_name_of,
)
from trl_lint.domain.model_roles import is_undecided, once_tested
from trl_lint.domain.provenance import Step, WrappedWhere
from trl_lint.domain.ranks import Rank, State
from trl_lint.domain.sync_points import SyncPoint
from trl_lint.domain.values import NO_WRITES, UNKNOWN, Kind, Payload, Value, Write
from trl_lint.knowledge.heuristics import BEFORE_ACCELERATE

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.interpreter import Interpreter
    from trl_lint.analysis.state.observing import End, Exit

# Where a container is allocated: a node, or a key that distinguishes several allocations at one node.
Place: TypeAlias = "cst.CSTNode | tuple[Hashable, ...]"
# Kinds of values that are metrics when they are logged.
NUMERIC = frozenset({Kind.TENSOR, Kind.NUMBER, Kind.NUMBER_LIST, Kind.BATCH})
ACCELERATOR = "accelerate.Accelerator"
# The greatest number of times that one place of a function runs because loops around it are unrolled.
MAX_UNROLLED = 4000


class Frame:
    """The walk's state inside one function (or module body).

    memory is the state at the current program point; forks swap it. exits counts the statements that leave without
    raising (return, break, continue, the end of this process) so far, by which an `if` knows that one of its branches
    left.
    """

    # The calls through which a nested function is run by its caller, whose containers are allocated with its own.
    called_at: tuple[Hashable, ...] = ()

    def __init__(
        self,
        engine: Interpreter,
        module: Module,
        function: FunctionInfo | None = None,
        cls: ClassInfo | None = None,
        outer: Frame | None = None,
        control: Control = UNIFORM,
    ) -> None:
        self.engine = engine
        self.observers = engine.observers
        self.domains = engine.domains
        self.module = module
        self.function = function
        self.cls = cls  # the class of `self`, which may be a subclass of the one that defines the method
        self.outer = outer
        self.trace = trace_of(module, function)
        self.returned: list[tuple[Value, Memory]] = []
        self.yielded: Value | None = None
        self.exits: list[Exit | End] = []  # the statements that have left, in the order of the walk
        self.unroll_index: tuple[int, ...] = ()  # the iterations of the unrolled loops around
        self.unrolled = 1  # how often the current place runs because of unrolled loops
        self.nonlocals: set[str] = set()  # names that `nonlocal` and `global` declare
        self.loops: list[Loop] = []
        # Whether the batch of a prepared loader is being trained on; None if that depends on the caller.
        self.stepping: bool | None = None
        self.statement: Any = None
        self.node_values: dict[int, Value] = {}  # the value of each expression when it was last evaluated, by its node
        self.context_values: dict[int, Value] = {}  # what a `with` statement binds, by its call
        self.discarded: Any = None  # the call whose result the current statement discards
        self.sync_points: list[SyncPoint] = []  # the calls at which all ranks synchronise, in program order
        self.notes = Notes()
        self.asks_for_engine = False  # whether it queries, or determines, what wraps or shards the model
        self.evaluated_conditions = EvaluatedConditions()
        self.attribute_error_depth = 0  # how many `try` blocks around catch AttributeError
        self.bases_made = False  # whether the `__init__` of a base in sight has run on `self`
        self.set_attributes: list[cst.Attribute] = []  # the attributes it sets on objects that may be wrapped models
        self.objects = ObjectAccess()
        self.memory = Memory({}, {}, {}, control, self.objects.kept)
        self.key: Hashable = function
        self.allocations: dict[Hashable, Identity] = {}  # the containers allocated here, by place, in all runs
        self.allocated: set[Identity] = set()  # those that this run has allocated
        self.pending_used = False
        self._accelerator = ""

    @property
    def root(self) -> cst.Module | cst.FunctionDef | cst.Lambda:
        """The code that is run: that of a function, or of the module."""
        return self.module.tree if self.function is None else self.function.node

    def reachable_values(self) -> Iterator[Value]:
        """The values of the names here and in outer scopes, and of the attributes."""
        scope: Frame | None = self
        while scope is not None:
            yield from scope.memory.names.values()
            yield from scope.memory.attributes.values()
            scope = scope.outer

    # --- code that is run elsewhere ---

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Run code that a library, or the system, calls later: what it changes, and where it waits, is dropped."""
        before, start = self.memory, len(self.sync_points)
        self.memory = before.fork()
        yield
        self.memory = before
        del self.sync_points[start:]

    # --- containers ---

    def allocate(self, node: Place, cell: Cell) -> ContainerValue:
        """A new container allocated at `node`; a later iteration of a loop allocates the same one again."""
        identity = self.container_at((node if isinstance(node, tuple) else id(node), self.unroll_index))
        self.memory.heap[identity] = cell
        return ContainerValue(ranks.SAME, frozenset((identity,)))

    def container_at(self, key: Hashable) -> Identity:
        """The container that is allocated at a place, the same one each time."""
        key = (*self.called_at, key) if self.called_at else key
        identity = self.allocations.get(key)
        if identity is None:
            identity = self.allocations[key] = self.engine.fresh(key)
        self.allocated.add(identity)
        return identity

    def may_unroll(self, rounds: int) -> bool:
        """Whether a loop may be unrolled: the total number of runs in nested loops is limited."""
        return self.unrolled * rounds <= MAX_UNROLLED

    def update(self, value: Value, change: Callable[[Cell], Cell]) -> None:
        """Replace each container that a value may be by `change(cell)`."""
        heap = self.memory.heap
        for identity in value.identities:
            cell = heap.get(identity)
            if cell is not None:
                heap[identity] = change(cell)
                if identity in self.objects.class_cells:
                    self.touch(identity)

    def touch(self, identity: Identity) -> None:
        """Note that a container on an object was changed."""
        self.objects.cell_writes.add(identity)
        self.objects.dirty_cells.add(identity)

    def is_stored(self, value: Value) -> bool:
        """Whether a container is stored on `self` (or on another object of the project)."""
        return any(identity in self.objects.class_cells for identity in value.identities)

    # --- attributes of objects in sight ---

    def read_attribute(self, cls: ClassInfo, name: str) -> Value | None:
        key = (cls, name)
        value = self.memory.attributes.get(key)
        if value is not None:
            return value
        value = cls.attribute(name, self._is_built(cls, name))
        self.objects.dependencies[key] = cls.version(name)
        if value is not None and value.rank.state is not State.BOTTOM:
            value = self.from_other_scope(value)
            load_attribute(self.memory, cls, value)
            for identity in reachable(value, self.memory.heap):
                self.objects.class_cells.setdefault(identity, cls)
            self.memory.attributes[key] = value
        return value

    def _is_built(self, cls: ClassInfo, name: str) -> bool:
        """Whether this attribute has been set; in an `__init__`, only if the `__init__` of a base has set it."""
        if self.function is None or self.function.name != "__init__":
            return True
        return self.bases_made and cls.origin is self.function.cls and name not in cls.assigned()

    def from_other_scope(self, value: Value) -> Value:
        """A value of another function or class, as read here: a condition met here may decide whether it is wrapped."""
        if not is_undecided(value):
            return value
        tested = self.evaluated_conditions
        step = value.provenance
        names = step.names if isinstance(step, WrappedWhere) else frozenset(tested.settings)
        is_decided = tested.reads_anything or not names.isdisjoint(tested.settings)
        return once_tested(value) if is_decided else value

    def consume(self, value: Value) -> None:
        """Note that the contents of a container were read, so that a change of them requires another run.

        A container that this run has allocated is empty at the start of each run: changes by others do not matter.
        """
        for identity in value.identities:
            owner = self.objects.class_cells.get(identity)
            if owner is not None and identity not in self.allocated:
                self.objects.dependencies[(owner, identity)] = owner.version(identity)

    def value_of(self, node: cst.CSTNode | None) -> Value:
        """The value of an expression when it was last evaluated; UNKNOWN if it has not been."""
        return self.node_values.get(id(node), UNKNOWN)

    def known_value(self, node: cst.CSTNode | None) -> Value | None:
        """The value of an expression when it was last evaluated; None if it has not been."""
        return self.node_values.get(id(node))

    def write_attribute(self, cls: ClassInfo, name: str, value: Value) -> None:
        self.memory.attributes[(cls, name)] = value
        self.objects.dirty.add((cls, name))
        self.objects.attribute_writes.add((cls, name))
        for identity in reachable(value, self.memory.heap):
            if identity not in self.objects.class_cells:
                self.objects.class_cells[identity] = cls
                self.touch(identity)

    def flush(self, memory: Memory) -> None:
        """Publish what this run has written to objects since the last flush."""
        self.objects.publish(memory, self.key, self._base_of_heirs)

    def _base_of_heirs(self, cls: ClassInfo) -> ClassInfo | None:
        """The base that defines the function and has no objects of its own: it joins what its heirs' have."""
        base = self.function.cls if self.function is not None else None
        return None if base is None or base is cls.origin or not self.engine.is_left_to_heirs(base) else base

    def forget(self, attributes: set[tuple[ClassInfo, str]], cells: set[Identity]) -> None:
        """A callee changed these attributes and cells: drop or join what was known of them here."""
        for key in attributes | self.objects.take_set_by_bases({name for _, name in attributes}):
            self.objects.dirty.discard(key)
            if self.memory.attributes.pop(key, None) is not None:
                self.read_attribute(*key)  # at once: where paths meet, what was known before must not count on all
        for identity in cells:
            owner = self.objects.class_cells.get(identity)
            mine = self.memory.heap.get(identity)
            if owner is not None and mine is not None:
                theirs = owner.contents().get(identity)
                if theirs is not None:
                    self.memory.heap[identity] = join_cells(mine, theirs)
                    self._load_entries(owner, identity)

    def _load_entries(self, owner: ClassInfo, identity: Identity) -> None:
        """Take over what a callee has put into a container on an object: `self.sums["loss"].append(loss)`."""
        container = ContainerValue(ranks.SAME, frozenset((identity,)))
        load_attribute(self.memory, owner, container)
        for each in reachable(container, self.memory.heap):
            self.objects.class_cells.setdefault(each, owner)

    def note_hooks_called(self, cls: ClassInfo) -> None:
        """A library has called methods of this class: take over what they may have left in its attributes."""
        self.flush(self.memory)
        lineage = cls.project_lineage()
        cells = {each for each, owner in self.objects.class_cells.items() if owner in lineage}
        for identity in cells:
            self.objects.dependencies[(cls, identity)] = cls.version(identity)
        names = {name for _, name in self.memory.attributes}
        self.forget(
            {(each, name) for each in lineage for name in names if self._is_assigned_by_others(each, name)}, cells
        )

    def _is_assigned_by_others(self, cls: ClassInfo, name: str) -> bool:
        return self.function is not None and cls.is_assigned_by_others(name, self.function)

    # --- what a fix may use here ---

    def accelerator(self) -> str:
        """The expression by which code at this point reaches the Accelerator; "" if none is available."""
        if not self._accelerator:
            self._accelerator = self._find_accelerator()
        return self._accelerator

    def _find_accelerator(self) -> str:
        scope: Frame | None = self
        while scope is not None:
            for name, value in scope.memory.names.items():
                if _is_accelerator(value):
                    return name
                if self.has_accelerator(value):
                    return f"{name}.accelerator"
                other = _other_accelerator(value)
                if other:
                    return f"{name}.{other}"
            scope = scope.outer
        names = self.engine.global_names(self.module).items()
        return next((name for name, value in names if _is_accelerator(value)), "")

    def has_accelerator(self, value: Value) -> bool:
        """Whether a value is an object of the project that has an Accelerator as its `accelerator`."""
        if not isinstance(value, ProjectInstance):
            return False
        attribute = value.cls.attribute("accelerator")
        if attribute is not None and attribute.rank.state is not State.BOTTOM:
            return _is_accelerator(attribute)
        if value.cls.module.shows(BEFORE_ACCELERATE):
            return False
        rows = (self.engine.library_attribute(base, "accelerator") for base in value.cls.library_bases())
        return any(row is not None and _is_accelerator(row.value) for row in rows)

    def custom_reducers(self) -> tuple[tuple[str, str, str], ...]:
        """The user's own reducers that can be called here: the text of the callee, its dotted name, its reduction.

        A function of another module is called by its bare name, for which an import has to be added.
        """
        found = []
        for name, reduction in self.engine.reducers:
            module, _, function = name.rpartition(".")
            if self.engine.class_row(module) is not None:
                text = self._method_in_reach(module, function)
            else:
                text = function if self._may_call(module, function) else ""
            if text:
                found.append((text, name, reduction))
        return tuple(found)

    def _method_in_reach(self, cls: str, name: str) -> str:
        for owner, value in self.memory.names.items():
            if isinstance(value, ProjectInstance) and cls in value.cls.library_bases():
                return f"{owner}.{name}"
        return ""

    def _may_call(self, module: str, name: str) -> bool:
        """Whether the name means that function in this file, or is unused."""
        if module == self.module.name:
            return name in self.module.names
        known = self.engine.global_name(self.module, name, self)
        if known is None:
            return name not in self.memory.names
        if isinstance(known, FunctionValue):
            return known.function.module.name == module
        return isinstance(known, (LibraryName, ProjectName)) and known.name in (name, f"{module}.{name}")

    # --- explanations and events ---

    def step(self, node: cst.CSTNode, text: str, before: Step | None = None) -> Step:
        return Step(self.module, node, text, before)

    def emit(self, kind: type[Event], node: cst.CSTNode, tag: Hashable = None, **fields: Any) -> None:
        """Record an event for the rules, if any needs it; `tag` distinguishes events of one kind at one node."""
        if not self.engine.needs_event(kind):
            return
        self.trace.events[(id(node), kind, tag, self.unroll_index)] = kind(
            module=self.module, node=node, control=self.memory.control, function=self.function, **fields
        )

    def written(self, value: Value, name: str, expression: cst.CSTNode | None = None) -> Value:
        """A value after the current statement has put it into a container of metrics.

        expression is where the value is in the statement, if it is there. A value that came here unchanged as a
        parameter was put there by the caller's statement.
        """
        if value.writes or value.kind not in NUMERIC | {Kind.UNKNOWN}:
            return value
        if not value.rank.differs:
            return self._written_on_some_ranks(value, name)
        if value.pending:
            self.pending_used = True
            return value.replace(writes=value.pending, pending=NO_WRITES)
        return value.replace(writes=frozenset((self.write_here(value, name, expression),)))

    def _written_on_some_ranks(self, value: Value, name: str) -> Value:
        """A value that is the same on all ranks; if only some of them store it, the stored one differs."""
        control = self.memory.control
        if (
            value.rank.state is not State.SAME
            or control.uniformity is not Uniformity.DIVERGENT
            or not control.rank.differs
        ):
            return value
        write = Write(self.module, self.statement, name, Rank(State.LOCAL, control.rank.origins), control.provenance)
        return value.replace(writes=frozenset((write,)))

    def write_here(
        self, value: Value, name: str, expression: cst.CSTNode | None, passed_to: tuple[FunctionInfo, str] | None = None
    ) -> Write:
        """The current statement as the one that passes this value on (to a function, as the parameter of a name)."""
        payload = None
        if expression is not None:
            control = self.memory.control
            reducers = self.custom_reducers() if self.engine.custom else ()
            reach = (self.accelerator(), reducers, passed_to)
            payload = Payload(expression, value, self.node_values, control, self.function, *reach)
        return Write(self.module, self.statement, name, value.rank, value.provenance, payload)


class Loop:
    """A loop: its states at `break`, `continue`; its code if it `evaluates`; `of_items`: runs once per known item."""

    __slots__ = ("breaks", "continues", "evaluates", "left_by", "of_items", "skipped_by")

    def __init__(self, evaluates: cst.For | cst.While | None = None, *, of_items: bool = False) -> None:
        self.evaluates, self.of_items = evaluates, of_items
        self.breaks: list[Memory] = []
        self.left_by: list[cst.Break] = []  # the statement of each of these
        self.continues: list[Memory] = []
        self.skipped_by: list[cst.Continue] = []


def _is_accelerator(value: Value) -> bool:
    return class_name_of(value) == ACCELERATOR


def _other_accelerator(value: Value) -> str:
    """The other attribute under which an object of the project keeps its Accelerator: `self.accelerate`."""
    if not isinstance(value, ProjectInstance):
        return ""
    attributes = (item for cls in value.cls.project_lineage() for item in cls.attributes.items())
    return next((name for name, attribute in attributes if name != "accelerator" and _is_accelerator(attribute)), "")


def explain(frame: Frame, value: Value, node: cst.CSTNode, text: str) -> Value:
    """A value of a knowledge table, with the place it came from."""
    provenance = frame.step(node, text)
    if isinstance(value, TupleValue):
        return value.with_parts(tuple(_explained(item, provenance) for item in value.items))
    return value.replace(provenance=provenance)


def _explained(item: Value, provenance: Step) -> Value:
    if isinstance(item, LoaderValue) and item.batch is not None:
        return item.with_parts(item.batch.replace(provenance=provenance), item.sampler)
    return item.replace(provenance=provenance) if item.rank.differs else item
