"""The interface of the interpreter, for frames and the code that works on them.

The walk over expressions needs the transfers and the observers, and these evaluate parts of expressions in turn. All of
them depend on this protocol only; `interprocedural.entry_points.Engine` implements it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from trl_lint.domain.kinds import LibraryName, ProjectName

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.events import Event
    from trl_lint.analysis.program.definitions.settings_of_job import JobFlags
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.analysis.program.project.project import Module, Project
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.state.given_functions import GivenFunction
    from trl_lint.analysis.state.observing import Observers
    from trl_lint.analysis.state.refining import Domains
    from trl_lint.domain.averaging import Mean
    from trl_lint.domain.sync_points import SyncPoint
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Attribute, Class, Row


class Interpreter(Protocol):
    """What the lower layers may use of the interpreter.

    Attributes:
        engine_outcomes: By condition, which of its branches is for an engine that shards (None: neither).
        means: By the expression that computes it, or the call that returns it, each mean over a rank-local count.
        job_flags: The settings that show whether there are several ranks.
        earlier_points: The points at which all ranks have synchronised in the callers of the current run.
        caller_values: The facts of the parts of conditions in the callers of the current run, by the id of the node.
        reducers: The user's own collectives.
        wraps_on_one_path: Whether a model was seen that is wrapped on one path and unwrapped on another.
    """

    engine_outcomes: dict[int, bool | None]
    means: dict[Hashable, Mean]
    custom: Mapping[str, tuple[Row, ...]]
    domains: Domains[Frame]
    job_flags: JobFlags
    earlier_points: tuple[SyncPoint, ...]
    caller_values: tuple[Mapping[int, Value], ...]
    observers: Observers[Frame]
    project: Project
    reducers: tuple[tuple[str, str], ...]
    versions: Mapping[str, str]
    wraps_on_one_path: bool

    def needs_event(self, kind: type[Event]) -> bool:
        """Whether any rule needs events of this kind."""
        ...

    def note_stored(self, *what: object) -> None:
        """Report that a run of a function has kept something that outlasts it, new or known: what, and where."""
        ...

    def imported(self, module: Module) -> Iterator[Module]:
        """The files of the project that a module imports, once their bodies have been run."""
        ...

    # --- expressions and calls ---

    def evaluate(self, frame: Frame, node: cst.CSTNode) -> Value:
        """The value of an expression."""
        ...

    def lookup(self, frame: Frame, name: str) -> Value | None:
        """The value of a name at this point."""
        ...

    def call_value(self, frame: Frame, callee: Value, args: Arguments, node: cst.CSTNode) -> Value:
        """The result of a call of a value."""
        ...

    def call_property(self, frame: Frame, receiver: Value, method: FunctionInfo, node: cst.CSTNode) -> Value:
        """The result of reading a property."""
        ...

    def call_factory(self, frame: Frame, factory: Value, key: Hashable, node: cst.CSTNode) -> Value:
        """The value that a defaultdict's factory creates where a missing key is read."""
        ...

    def unresolved(self, frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
        """The result of a call of an unknown callee."""
        ...

    def run_block(self, frame: Frame, body: Iterable[cst.CSTNode]) -> bool:
        """Run the statements of a suite. Return whether its end is reached."""
        ...

    # --- functions and classes in sight ---

    def call(
        self, frame: Frame, function: FunctionInfo, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> Value: ...

    def enter(self, passed: GivenFunction) -> None: ...

    def function(
        self, node: cst.FunctionDef | cst.Lambda, outer: Frame | None, module: Module | None = None
    ) -> FunctionInfo: ...

    def on_some_ranks(self, function: FunctionInfo) -> FunctionInfo: ...

    def class_info(self, frame: Frame, node: cst.ClassDef) -> ClassInfo: ...

    def tuple_class(self, frame: Frame, call: cst.CSTNode, name: str, fields: Sequence[str]) -> ClassInfo: ...

    def class_variable(self, cls: ClassInfo, name: str, frame: Frame | None = None) -> Value | None: ...

    def note_used(self, cls: ClassInfo) -> None:
        """An object of a class is used of which no constructor is known to have run."""
        ...

    def is_entry_class(self, cls: ClassInfo) -> bool: ...

    def is_left_to_heirs(self, base: ClassInfo) -> bool: ...

    def is_mixed_in(self, base: ClassInfo | None, cls: ClassInfo) -> bool: ...

    def is_subclass(self, cls: ClassInfo, canonical: str) -> bool: ...

    def annotated(self, frame: Frame, annotation: cst.BaseExpression) -> Value | None: ...

    # --- names and modules ---

    def global_name(self, module: Module, name: str, frame: Frame | None = None) -> Value | None: ...

    def load(self, module: Module) -> None: ...

    def binding_module(self, reference: ProjectName) -> Module | None: ...

    def global_names(self, module: Module) -> dict[str, Value]: ...

    def settle(self, value: Value, *, base: bool = False) -> Value: ...

    def with_contents(self, frame: Frame, value: Value) -> Value: ...

    def member(self, receiver: LibraryName | ProjectName, name: str) -> Value: ...

    def run_import(self, frame: Frame, node: cst.Import) -> None: ...

    def run_import_from(self, frame: Frame, node: cst.ImportFrom) -> None: ...

    # --- what is known of libraries ---

    def class_row(self, name: str) -> Class | None: ...

    def library_attribute(self, cls: str, name: str) -> Attribute | None: ...

    def library_method(self, cls: str, name: str) -> Any: ...

    def custom_rows(self, function: FunctionInfo) -> tuple[Row, ...]: ...

    def custom_attribute(self, cls: ClassInfo, name: str) -> Attribute | None: ...

    # --- the heap ---

    def fresh(self, site: Hashable = None) -> int:
        """A number that no container on the heap has yet. site: the place that it is allocated at, in any run."""
        ...

    def site_of(self, identity: int) -> Hashable:
        """The place that a container was allocated at, whichever run of its function did so."""
        ...

    def store_identity(self, receiver: ClassInfo | str, name: str) -> int: ...
