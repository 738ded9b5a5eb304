"""The interpreter's engine: names across files, runs of functions, and the entry points of a module."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import libcst as cst

from trl_lint.analysis import expressions, facts, library_calls, statements
from trl_lint.analysis.arguments import Arguments
from trl_lint.analysis.classes import ClassInfo, Function, Parameter, alike, freeze
from trl_lint.analysis.events import Event, Trace
from trl_lint.analysis.frame import NUMERIC, Frame
from trl_lint.analysis.heap import UNIFORM, Cell, Control, Memory, join, reachable
from trl_lint.analysis.project import Module, Project
from trl_lint.analysis.values import (
    BOTTOM,
    MISSING,
    NO_WRITES,
    NONE,
    SAME,
    UNKNOWN,
    WORLD_TRUE,
    Kind,
    Value,
    Wrapping,
    Write,
)
from trl_lint.knowledge import library
from trl_lint.knowledge import torch as torch_table
from trl_lint.knowledge.schema import Attribute, Class, Hook
from trl_lint.knowledge.transformers import CONSTRUCTOR

# How deep calls are followed, and in how many different ways one function is run before they are joined.
MAX_DEPTH = 14
MAX_CONTEXTS = 8
# How many star imports of a file are followed to find a name.
MAX_STARS = 5
# How often the methods of a class are run again because an attribute they read has changed.
MAX_ROUNDS = 4


class Imported:
    """A name (or, without one, a module) of another file of the project, not looked at yet."""

    __slots__ = ("name", "path")

    def __init__(self, path: Any, name: str | None) -> None:
        self.path = path
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Imported) and (self.path, self.name) == (other.path, other.name)

    def __hash__(self) -> int:
        return hash((self.path, self.name))


class Summary:
    """One run of one function: what it returns and does, for given facts of its arguments."""

    __slots__ = (
        "attribute_writes",
        "cell_writes",
        "dependencies",
        "final",
        "inputs",
        "pending_used",
        "result",
        "round",
        "trace",
        "yielded",
    )

    def __init__(self) -> None:
        self.result: Value = BOTTOM
        self.yielded: Value | None = None
        self.inputs: list[Any] = []
        self.final: dict[Any, Cell] = {}
        self.trace = Trace()
        self.dependencies: dict[Any, int] = {}
        self.attribute_writes: set[Any] = set()
        self.cell_writes: set[Any] = set()
        self.pending_used = False
        self.round = 0

    def is_current(self) -> bool:
        return all(cls.version(name) == version for (cls, name), version in self.dependencies.items())


class Engine:
    """Analyses the modules of one project. `versions` are the releases of the libraries in use, where known."""

    def __init__(self, project: Project, versions: Mapping[str, str] | None = None) -> None:
        self.project = project
        self.versions: Mapping[str, str] = versions or library.NO_VERSIONS
        self.depth = 0
        self.round = 0
        self.engine_arms: dict[int, bool | None] = {}  # by condition; see `conditions.engine_arm`
        self._serial = itertools.count(1)
        self._running: list[Any] = []
        self._attributes: dict[tuple[str, str], Attribute | None] = {}
        self._methods: dict[tuple[str, str], Any] = {}
        self._stores: dict[Any, int] = {}
        self._settled: dict[tuple[Imported, bool], Value] = {}
        self._entered: list[tuple[Function, Mapping[str, Value]]] = []
        self._classes: dict[int, ClassInfo] = {}
        self._functions: dict[int, Function] = {}
        self._hooks: dict[str, dict[str, tuple[Hook, ...]]] = {}

    # --- identities and tables ---

    def fresh(self) -> int:
        return next(self._serial)

    def store_identity(self, owner: Any, name: str) -> int:
        key = (owner, name)
        if key not in self._stores:
            self._stores[key] = self.fresh()
        return self._stores[key]

    def library_attribute(self, cls: str, name: str) -> Attribute | None:
        key = (cls, name)
        if key not in self._attributes:
            self._attributes[key] = library.attribute(cls, name, self.versions)
        return self._attributes[key]

    def library_method(self, cls: str, name: str) -> Any:
        key = (cls, name)
        if key not in self._methods:
            self._methods[key] = library.method(cls, name, self.versions)
        return self._methods[key]

    def library_hooks(self, cls: str) -> dict[str, tuple[Hook, ...]]:
        if cls not in self._hooks:
            self._hooks[cls] = library.hooks_of(cls, self.versions)
        return self._hooks[cls]

    def class_row(self, name: str) -> Class | None:
        return next(
            (row for row in library.holding(library.rows(name), self.versions) if isinstance(row, Class)),
            None,
        )

    # --- names ---

    def global_name(self, module: Module, name: str, frame: Frame | None = None) -> Value | None:
        """A global or builtin name, as a function of the module sees it."""
        self.load(module)
        if module.state == "running" and module.memory is not None:
            found = module.memory().names.get(name)
            if found is not None and frame is not None and found.kind in (Kind.CELLS, Kind.TUPLE):
                frame.memory.load(found, module.memory().heap)
        else:
            found = module.names.get(name)
            if found is not None and frame is not None and found.kind in (Kind.CELLS, Kind.TUPLE):
                frame.memory.load(found, module.heap)
        if found is None:
            builtin = _BUILTINS.get(name)
            if builtin is not None:
                return builtin
            found = self._starred(module, name)
            if found is None:
                return None
        if found.const is not MISSING and module.state == "done":
            return _without_constant(found)
        return found

    def global_names(self, module: Module) -> dict[str, Value]:
        """The module's global names, to be assigned to by a function that declares them `global`."""
        return module.memory().names if module.state == "running" else module.names

    def settle(self, value: Value, *, base: bool = False) -> Value:
        """Look an imported name of the project up, now that it is used (`base`: as a base class)."""
        if value.kind is not Kind.MODULE or not isinstance(value.data, Imported) or value.data.name is None:
            return value
        reference = value.data
        key = (reference, base)
        found = self._settled.get(key)
        if found is None:
            self._settled[key] = UNKNOWN  # imports that go round in circles
            found = self._settled[key] = self._find_imported(reference, base)
        return found

    def _find_imported(self, reference: Imported, base: bool) -> Value:
        known = self._in_tables(reference)
        if known is not None:
            return known
        below = self.project.below(reference.path, reference.name or "")
        if below is not None:
            return Value(facts.SAME, Kind.MODULE, Imported(below, None))
        if not (base or self.project.may_open(reference.path)):
            return UNKNOWN
        module = self.project.module(reference.path)
        if module is None:
            return UNKNOWN
        self.load(module)
        names = module.memory().names if module.state == "running" else module.names
        found = names.get(reference.name) or self._starred(module, reference.name)
        if found is not None:
            return self.settle(found, base=base)
        return UNKNOWN

    def _in_tables(self, reference: Imported) -> Value | None:
        """A name of accelerate or transformers, when those are the linted project: the tables know it better."""
        name = reference.name or ""
        dotted = f"{self.project.name_of(reference.path)}.{name}"
        if name.startswith("is_") and name.endswith("_available"):
            return Value(facts.SAME, Kind.MODULE, dotted)  # whether a package is installed
        if dotted.partition(".")[0] not in _TABLED:
            return None
        canonical = library.canonical(dotted)
        if library.rows(canonical) or library.constructor(canonical) is not None:
            return Value(facts.SAME, Kind.MODULE, canonical)
        return None

    def member(self, owner: Value, name: str) -> Value:
        """`module.name`, of a library or of the project."""
        if isinstance(owner.data, Imported):
            return self.settle(Value(facts.SAME, Kind.MODULE, Imported(owner.data.path, name)))
        dotted = f"{owner.data}.{name}"
        canonical = library.canonical(dotted)
        if canonical == "os.environ":
            return Value(facts.SAME, Kind.INSTANCE, "os.environ")
        for row in library.rows(canonical):
            if isinstance(row, Attribute):
                return row.value
        return Value(facts.SAME, Kind.MODULE, dotted)

    def run_import(self, frame: Frame, node: cst.Import) -> None:
        for alias in node.names:
            dotted = _dotted(alias.name)
            path = self.project.find(dotted, frame.module)
            if alias.asname is not None:
                target: Any = dotted if path is None else Imported(path, None)
                frame.memory.names[alias.asname.name.value] = Value(facts.SAME, Kind.MODULE, target)  # type: ignore[union-attr]
            else:
                top = dotted.partition(".")[0]
                root = self.project.find(top, frame.module)
                target = top if root is None else Imported(root, None)
                frame.memory.names[top] = Value(facts.SAME, Kind.MODULE, target)

    def run_import_from(self, frame: Frame, node: cst.ImportFrom) -> None:
        dotted = frame.module.absolute(len(node.relative), _dotted(node.module) if node.module else "")
        path = self.project.find(dotted, frame.module)
        if isinstance(node.names, cst.ImportStar):
            if path is not None:
                frame.module.stars.append(path)
            return
        for alias in node.names:
            name = alias.name.value
            bound = alias.asname.name.value if alias.asname is not None else name  # type: ignore[union-attr]
            frame.memory.names[bound] = self._imported(frame.module, dotted, path, str(name))

    def _imported(self, importer: Module, dotted: str, path: Any, name: str) -> Value:
        if path is None:
            inner = self.project.find(f"{dotted}.{name}", importer) if dotted else None
            if inner is not None:
                return Value(facts.SAME, Kind.MODULE, Imported(inner, None))
            return self.member(Value(facts.SAME, Kind.MODULE, dotted), name)
        return Value(facts.SAME, Kind.MODULE, Imported(path, name))

    def _starred(self, module: Module, name: str) -> Value | None:
        """A name that `from … import *` may have brought; only a few files are opened to find out."""
        if not module.stars or name in module.not_starred:
            return None
        for path in module.stars[:MAX_STARS]:
            other = self.project.module(path)
            if other is not None and other.state != "running":
                self.load(other)
                found = other.names.get(name)
                if found is not None:
                    return found
        module.not_starred.add(name)
        return None

    def class_variable(self, cls: ClassInfo, name: str) -> Value | None:
        """A name assigned in the body of the class or a base in sight."""
        for each in cls.in_sight():
            found = each.variables.get(name)
            if found is UNKNOWN and name in each.annotations:
                frame = Frame(self, each.module)
                found = each.variables[name] = self.annotated(frame, each.annotations.pop(name)) or UNKNOWN
            if found is not None:
                return _without_constant(found)
        return None

    # --- definitions ---

    def function(self, node: Any, outer: Frame | None, module: Module | None = None) -> Function:
        known = self._functions.get(id(node))
        if known is None:
            module = module or (outer.module if outer is not None else None)
            known = self._functions[id(node)] = Function(node, module)
            if outer is None and module is not None:
                module.functions.append(known)
        known.closure = outer
        return known

    def class_info(self, frame: Frame, node: cst.ClassDef) -> ClassInfo:
        known = self._classes.get(id(node))
        if known is not None:
            return known
        bases = [self._base(frame, arg) for arg in node.bases if arg.star == ""]
        cls = self._classes[id(node)] = ClassInfo(node, frame.module, bases)
        for statement in node.body.body:
            if isinstance(statement, cst.FunctionDef):
                method = Function(statement, frame.module, cls)
                cls.methods.setdefault(method.name, method)
                cls.methods[method.name] = (
                    method if not method.decorators & {"setter"} else cls.methods[method.name]
                )
            elif isinstance(statement, cst.SimpleStatementLine):
                self._class_statement(frame, cls, statement)
        frame.module.classes.append(cls)
        return cls

    def _base(self, frame: Frame, arg: cst.Arg) -> ClassInfo | str | None:
        node = arg.value
        if isinstance(node, cst.Subscript):  # Generic[T]
            node = node.value
        value = self.settle(expressions.evaluate(frame, node), base=True)
        if value.kind is Kind.CLASS:
            return value.data
        if value.kind is Kind.MODULE and isinstance(value.data, str):
            return library.canonical(value.data)
        return None

    def _class_statement(self, frame: Frame, cls: ClassInfo, line: cst.SimpleStatementLine) -> None:
        for small in line.body:
            if (
                isinstance(small, cst.Assign)
                and len(small.targets) == 1
                and isinstance(small.targets[0].target, cst.Name)
            ):
                cls.variables[small.targets[0].target.value] = expressions.evaluate(frame, small.value)
            elif isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
                cls.variables[small.target.value] = UNKNOWN
                cls.annotations[small.target.value] = small.annotation.annotation

    def annotated(self, frame: Frame, annotation: Any) -> Value | None:
        """What a parameter is by its annotation: an instance of a class whose objects the rules ask about."""
        if isinstance(annotation, cst.SimpleString):
            try:
                annotation = cst.parse_expression(annotation.raw_value)
            except cst.ParserSyntaxError:
                return None
        if isinstance(annotation, cst.BinaryOperation):  # X | None
            options = [self.annotated(frame, annotation.left), self.annotated(frame, annotation.right)]
            found = [option for option in options if option is not None]
            return found[0] if len(found) == 1 and _is_none(annotation) else None
        if isinstance(annotation, cst.Subscript):
            if _dotted(annotation.value).endswith("Optional"):
                element = annotation.slice[0].slice
                return self.annotated(frame, element.value) if isinstance(element, cst.Index) else None
            return None
        if not isinstance(annotation, (cst.Name, cst.Attribute)):
            return None
        return self._of_class(self.settle(expressions.evaluate(frame, annotation)))

    def _of_class(self, value: Value) -> Value | None:
        if value.kind is Kind.CLASS and not isinstance(value.data, str):
            if library_calls.calls.is_module_class(value.data):
                return Value(facts.SAME, Kind.MODEL, value.data, wrapping=Wrapping.UNKNOWN)
            return Value(facts.SAME, Kind.INSTANCE, value.data)
        if value.kind is not Kind.MODULE or not isinstance(value.data, str):
            return None
        name = library.canonical(value.data)
        if name in _ANNOTATED_KINDS:
            return _ANNOTATED_KINDS[name]
        if name in ("torch.nn.Module", "transformers.PreTrainedModel") or library.is_model_class(name):
            return Value(facts.SAME, Kind.MODEL, wrapping=Wrapping.UNKNOWN)
        made = library.constructor(name, self.versions)
        if isinstance(made, Value) and made.kind is not Kind.LOADER:
            return made
        return None

    # --- running functions ---

    def load(self, module: Module) -> None:
        """Run a module's body, once."""
        if module.state != "new":
            return
        module.state = "running"
        frame = Frame(self, module)
        module.memory = lambda: frame.memory
        frame.memory.names["__name__"] = Value(facts.SAME, Kind.STRING, const="__main__")
        statements.run_block(frame, module.tree.body)
        module.names, module.heap, module.trace = frame.memory.names, frame.memory.heap, frame.trace
        module.state = "done"

    def call(
        self, frame: Frame, function: Function, args: Arguments, node: Any, owner: Value | None
    ) -> Value:
        """Call a function in sight: by its summary for these facts, or by running it."""
        if self.depth > MAX_DEPTH:
            return UNKNOWN
        function.reached = True
        if function.module is not None:
            self.load(function.module)
        names = self._bind(frame, function, args, node, owner)
        if function.closure is not None or isinstance(function.node, cst.Lambda):
            return self._inline(frame, function, names, node)
        return self._summarised(frame, function, names, node, owner)

    def _inline(self, frame: Frame, function: Function, names: dict[str, Value], node: Any) -> Value:
        """A nested function sees, and may change, what its maker sees: it runs anew at each call."""
        key = ("inline", id(function.node))
        if self._running.count(key) > 1:
            return BOTTOM
        inner = Frame(self, function.module, function, None, function.closure, frame.memory.control)
        inner.memory = Memory(names, frame.memory.heap, frame.memory.attributes, frame.memory.control)
        inner.class_cells, inner.dirty, inner.dirty_cells = frame.class_cells, frame.dirty, frame.dirty_cells
        inner.dependencies, inner.cell_writes = frame.dependencies, frame.cell_writes
        inner.attribute_writes, inner.allocations = frame.attribute_writes, {}
        inner.trace = frame.trace
        self._running.append(key)
        self.depth += 1
        value = self._run_body(inner, function)
        self.depth -= 1
        self._running.pop()
        frame.pending_used |= inner.pending_used
        return self._explained(frame, value, function, node)

    def _run_body(self, frame: Frame, function: Function) -> Value:
        """Run a function's body in a prepared frame; the value it returns."""
        node = function.node
        if isinstance(node, cst.Lambda):
            return expressions.evaluate(frame, node.body)
        entry = frame.memory.control
        if statements.run_block(frame, node.body.body):
            frame.returned.append((NONE, frame.memory))
        result: Value = BOTTOM
        memory: Memory | None = None
        divided = self._divided(frame, entry)
        for value, state in frame.returned:
            result = join(result, value, divided)
            memory = state if memory is None else memory.merge(state)
        if memory is not None:
            frame.memory = memory
        if frame.yielded is not None:
            return Value(facts.SAME, Kind.RANGE, (frame.yielded, facts.UNKNOWN))
        return result

    def _divided(self, frame: Frame, entry: Control) -> facts.Rank:
        """Whether ranks leave a function at different places."""
        for _, state in frame.returned:
            if state.control.level > entry.level and state.control.rank.differs:
                return state.control.rank
        return facts.SAME

    def _summarised(
        self, frame: Frame, function: Function, names: dict[str, Value], node: Any, owner: Value | None
    ) -> Value:
        cls = owner.data if owner is not None and isinstance(owner.data, ClassInfo) else function.cls
        inputs = self._inputs(names, frame.memory)
        key = self._key(frame, function, names, cls)
        if key in self._running:
            return BOTTOM
        if key not in function.summaries and len(function.summaries) >= MAX_CONTEXTS:
            key, names, inputs = self._widened(frame, function, names, inputs, cls)
            if key in self._running:
                return BOTTOM
        self._flush(frame)
        summary = function.summaries.get(key)
        if summary is None or not self._usable(summary):
            summary = self._run(function, key, names, inputs, cls, frame.memory)
        frame.trace.calls[(id(node), id(function))] = summary
        return self._instantiate(frame, summary, inputs, node, function)

    def _usable(self, summary: Summary) -> bool:
        """A run of this round is good enough: if what it read has changed since, the next round finds out."""
        return summary.round == self.round or summary.is_current()

    def _flush(self, frame: Frame) -> None:
        """Before a callee looks at shared objects, make known what this run did to them."""
        if frame.dirty or frame.dirty_cells:
            frame.flush(frame.memory)

    def _key(self, frame: Frame, function: Function, names: dict[str, Value], cls: Any) -> Any:
        heap = frame.memory.heap
        parts = [(name, freeze(value, heap)) for name, value in names.items()]
        if function.pending_used:
            parts.append(
                ("", tuple(sorted(hash(write) for value in names.values() for write in value.pending)))
            )
        return (
            id(function.node),
            id(cls),
            frame.memory.control.level,
            frame.memory.control.engine,
            tuple(parts),
        )

    def _inputs(self, names: dict[str, Value], memory: Memory) -> list[Any]:
        found: dict[Any, None] = {}
        for value in names.values():
            if value.kind in (Kind.CELLS, Kind.TUPLE, Kind.RANGE):
                for identity in reachable(value, memory.heap):
                    found[identity] = None
        return list(found)

    def _widened(
        self, frame: Frame, function: Function, names: dict[str, Value], inputs: list[Any], cls: Any
    ) -> tuple[Any, dict[str, Value], list[Any]]:
        """One context for all further calls: their facts joined."""
        key = (id(function.node), id(cls), "joined")
        known = function.joined.get(id(cls))
        if known is not None:
            joined = {name: join(value, known.get(name, BOTTOM)) for name, value in names.items()}
            if all(alike(joined[name], known.get(name, BOTTOM)) for name in joined):
                names = known
            else:
                function.summaries.pop(key, None)
                names = joined
        function.joined[id(cls)] = names
        return key, names, inputs

    def _run(
        self,
        function: Function,
        key: Any,
        names: dict[str, Value],
        inputs: list[Any],
        cls: Any,
        caller: Memory,
    ) -> Summary:
        level = caller.control.level
        control = caller.control if level or caller.control.engine else UNIFORM
        frame = Frame(self, function.module, function, cls, None, control)
        frame.key = key
        frame.memory = Memory(
            dict(names), {i: caller.heap[i] for i in inputs if i in caller.heap}, {}, control
        )
        self._claim(frame, cls, inputs)
        summary = Summary()
        self._running.append(key)
        self.depth += 1
        summary.result = self._run_body(frame, function)
        self.depth -= 1
        self._running.pop()
        frame.flush(frame.memory)
        summary.inputs = inputs
        summary.final = self._final(frame, summary.result, inputs)
        summary.trace = frame.trace
        summary.dependencies = frame.dependencies
        summary.attribute_writes, summary.cell_writes = frame.attribute_writes, frame.cell_writes
        summary.pending_used = frame.pending_used
        function.pending_used |= frame.pending_used
        summary.round = self.round
        function.summaries[key] = summary
        return summary

    def _claim(self, frame: Frame, cls: Any, inputs: Iterable[Any]) -> None:
        """Containers handed over may live on an object: writes to them are writes to that object."""
        if isinstance(cls, ClassInfo):
            for each in cls.in_sight():
                for identity in inputs:
                    if identity in each.heap:
                        frame.class_cells[identity] = cls

    def _final(self, frame: Frame, result: Value, inputs: list[Any]) -> dict[Any, Cell]:
        heap = frame.memory.heap
        kept = {identity: heap[identity] for identity in inputs if identity in heap}
        for identity in (*reachable(result, heap), *self._inputs_of_cells(kept, heap)):
            if identity in heap:
                kept[identity] = heap[identity]
        return kept

    def _inputs_of_cells(self, cells: dict[Any, Cell], heap: dict[Any, Cell]) -> Iterator[Any]:
        for cell in cells.values():
            for value in cell.values():
                yield from reachable(value, heap)

    def _instantiate(
        self, frame: Frame, summary: Summary, inputs: list[Any], node: Any, function: Function
    ) -> Value:
        """The caller's state and value after a call with this summary."""
        frame.dependencies.update(
            {key: version for key, version in summary.dependencies.items() if key not in frame.dependencies}
        )
        frame.attribute_writes |= summary.attribute_writes
        frame.trace.shows |= summary.trace.shows
        frame.forget(summary.attribute_writes, summary.cell_writes)
        frame.pending_used |= summary.pending_used and function.pending_used and self._passes_pending(frame)
        renamed = dict(zip(summary.inputs, inputs, strict=False))
        for identity in summary.final:
            if identity not in renamed:
                renamed[identity] = self._renamed(frame, identity, node)
        for identity, cell in summary.final.items():
            target = renamed[identity]
            content = _rename_cell(cell, renamed)
            if identity in summary.inputs and target in frame.class_cells:
                frame.touch(target)
            frame.memory.heap[target] = content
        return self._explained(frame, _rename(summary.result, renamed), function, node)

    def _passes_pending(self, frame: Frame) -> bool:
        return any(value.pending for value in frame.memory.names.values())

    def _renamed(self, frame: Frame, identity: Any, node: Any) -> Any:
        """The caller's own name for a container that a callee made; those on objects keep theirs."""
        if identity in frame.class_cells or self._lives_on_object(frame, identity):
            return identity
        key = (id(node), identity)
        if key not in frame.allocations:
            frame.allocations[key] = self.fresh()
        return frame.allocations[key]

    def _lives_on_object(self, frame: Frame, identity: Any) -> bool:
        cls = frame.cls
        if cls is not None and any(identity in each.heap for each in cls.in_sight()):
            frame.class_cells[identity] = cls
            return True
        return False

    def _explained(self, frame: Frame, value: Value, function: Function, node: Any) -> Value:
        """A differing result came through this call."""
        if value.rank.differs and value.why is not None and isinstance(node, cst.CSTNode):
            why = frame.step(node, f"returned by `{function.name}`", value.why)
            return value.but(why=why, pending=NO_WRITES, const=value.const)
        return value

    # --- binding parameters ---

    def _bind(
        self, frame: Frame, function: Function, args: Arguments, node: Any, owner: Value | None
    ) -> dict[str, Value]:
        names: dict[str, Value] = {}
        positional = list(args.positional)
        if owner is not None:
            positional.insert(0, owner)
        index = 0
        taken: set[str] = set()
        for parameter in function.parameters:
            name = parameter.name
            if parameter.star == "*":
                rest = positional[index:]
                index = len(positional)
                names[name] = self._rest_of(frame, parameter, rest, args.star)
            elif parameter.star == "**":
                names[name] = self._keywords_of(frame, parameter, args, taken)
            elif parameter.positional and index < len(positional):
                names[name] = self._handed(frame, positional[index], node, index == 0 and owner is not None)
                index += 1
                taken.add(name)
            elif name in args.keywords:
                names[name] = self._handed(frame, args.keywords[name], node, False)
                taken.add(name)
            else:
                names[name] = self._missing(frame, function, parameter, args)
        return names

    def _handed(self, frame: Frame, value: Value, node: Any, is_owner: bool) -> Value:
        """An argument, marked with the call by which it came: a callee that stores it stores it from here."""
        if is_owner or not value.rank.differs or value.writes or value.kind not in NUMERIC:
            return value
        if value.pending or frame.statement is None:
            return value
        mark = Write(frame.module, frame.statement, "", value.rank, value.why)
        return value.but(pending=frozenset((mark,)))

    def _rest_of(self, frame: Frame, parameter: Parameter, rest: list[Value], star: Value | None) -> Value:
        if star is None:
            return Value(facts.SAME, Kind.TUPLE, tuple(rest))
        element = star
        for value in rest:
            element = join(element, value)
        return frame.allocate(parameter.node, Cell("list", rest=element))

    def _keywords_of(self, frame: Frame, parameter: Parameter, args: Arguments, taken: set[str]) -> Value:
        entries = {name: value for name, value in args.keywords.items() if name not in taken}
        return frame.allocate(parameter.node, Cell("dict", dict(entries), args.double))

    def _missing(self, frame: Frame, function: Function, parameter: Parameter, args: Arguments) -> Value:
        possible = [value for value in (args.star, args.double) if value is not None]
        if possible:
            return possible[0].but(const=MISSING)
        if parameter.default is None:
            return UNKNOWN
        return self.default(function, parameter)

    def default(self, function: Function, parameter: Parameter) -> Value:
        module_frame = Frame(self, function.module)
        return expressions.evaluate(module_frame, parameter.default)

    # --- entry points ---

    def enter(self, function: Function, parameters: Mapping[str, Value]) -> None:
        """A function was handed to a library, which will call it with values of these facts."""
        self._entered.append((function, parameters))

    def analyse(self, module: Module) -> list[Event]:
        """All events of a module: its body, its classes, and the functions nobody in sight calls."""
        self.load(module)
        roots: list[Trace] = [module.trace]
        # What libraries call comes first; plain helpers run on their own only if nothing in sight uses them.
        for cls in sorted(module.classes, key=lambda cls: not library_calls.is_entry_class(cls)):
            self.analyse_class(cls)
            roots.extend(cls.traces)
        roots.extend(self._handed_over())
        for function in list(module.functions):
            if not function.reached:
                roots.append(self._run_unreached(function).trace)
        roots.extend(self._handed_over())
        return _events(roots)

    def _handed_over(self) -> list[Trace]:
        traces = []
        while self._entered:
            function, parameters = self._entered.pop()
            function.reached = True
            summary = self._enter_with(function, None, parameters)
            traces.append(summary.trace)
        return traces

    def _run_unreached(self, function: Function) -> Summary:
        function.reached = True
        return self._enter_with(function, None, {})

    def _enter_with(self, function: Function, cls: ClassInfo | None, given: Mapping[str, Value]) -> Summary:
        """Run a function as a library would call it."""
        frame = Frame(self, function.module)
        names = self._entry_names(frame, function, cls, given)
        return self._enter_names(frame, function, cls, names)

    def _enter_names(
        self, frame: Frame, function: Function, cls: ClassInfo | None, names: dict[str, Value]
    ) -> Summary:
        key = self._key(frame, function, names, cls)
        summary = function.summaries.get(key)
        if summary is None or not self._usable(summary):
            inputs = self._inputs(names, frame.memory)
            summary = self._run(function, key, names, inputs, cls, frame.memory)
        return summary

    def _entry_names(
        self, frame: Frame, function: Function, cls: ClassInfo | None, given: Mapping[str, Value]
    ) -> dict[str, Value]:
        """The parameters of an entry point: from the tables by name or position, else from annotations."""
        names: dict[str, Value] = {}
        ordered = list(given.items())
        position = 0
        for index, parameter in enumerate(function.parameters):
            name = parameter.name
            if index == 0 and cls is not None and not function.is_static:
                kind = Kind.CLASS if "classmethod" in function.decorators else Kind.INSTANCE
                names[name] = Value(facts.SAME, kind, cls)
                continue
            if parameter.star == "**":
                rest = {
                    key: self._sourced(frame, parameter, value, key)
                    for key, value in ordered
                    if key not in names
                }
                rest.pop("*", None)
                star = rest.pop("**", None)
                names[name] = frame.allocate(parameter.node, Cell("dict", rest, star))
                continue
            if parameter.star == "*":
                names[name] = given.get("*", UNKNOWN)
                continue
            value = given.get(name)
            if value is None and parameter.positional and position < len(ordered) and not _is_callback(given):
                key, candidate = ordered[position]
                if not key.startswith("*") and key not in {each.name for each in function.parameters}:
                    value = candidate
            position += 1
            if value is None:
                value = self._by_annotation(frame, parameter)
            names[name] = self._sourced(frame, parameter, value, name)
        return names

    def _by_annotation(self, frame: Frame, parameter: Parameter) -> Value:
        if parameter.annotation is None:
            return UNKNOWN
        return self.annotated(frame, parameter.annotation) or UNKNOWN

    def _sourced(self, frame: Frame, parameter: Parameter, value: Value, name: str) -> Value:
        value = library_calls.opened(frame, value, (parameter.node, name))
        if value.rank.differs or (value.kind is Kind.MODEL and value.wrapping is Wrapping.WRAPPED):
            text = (
                f"`{name}` is this rank's own data"
                if value.rank.differs
                else f"`{name}` is the wrapped model"
            )
            return value.but(why=frame.step(parameter.node, text))
        if value.kind is Kind.LOADER and value.data is not None and value.data.why is None:
            return value.but(
                data=value.data.but(
                    why=frame.step(parameter.node, f"`{name}` gives each rank its own batches")
                )
            )
        return value

    def analyse_class(self, cls: ClassInfo) -> None:
        """Run all methods of a class: its hooks as their callers call them, the rest with unknown arguments."""
        if cls.state != "new":
            return
        cls.state = "running"
        for base in cls.in_sight():
            if base is not cls:
                self.load(base.module)
                self.analyse_class(base)
        for _ in range(MAX_ROUNDS):
            self.round += 1
            summaries = list(self._class_roots(cls))
            if all(summary.is_current() for summary in summaries):
                break
        cls.traces = [summary.trace for summary in summaries]
        cls.traces.extend(self._drained(cls))
        cls.state = "done"

    def _class_roots(self, cls: ClassInfo) -> Iterator[Summary]:
        hooks = self._hooks_of(cls)
        first = ("__init__",)
        order = sorted(cls.methods, key=lambda name: (name not in first, name not in hooks, name in ("log",)))
        late: list[Function] = []
        for name in order:
            method = cls.methods[name]
            if name in hooks:
                for row in hooks[name]:
                    yield self._enter_hook(cls, method, row)
                yield from self._called_by_bases(cls, method)
            elif name == "__init__" and method.reached and not library_calls.is_entry_class(cls):
                continue
            elif name == "__init__":
                yield self._enter_with(method, cls, self._init_parameters(cls, method))
            else:
                late.append(method)
        for method in late:
            contexts = list(self._called_by_bases(cls, method))
            yield from contexts
            if not contexts and not method.reached:
                yield self._enter_with(method, cls, {})
            elif not contexts:
                yield from (summary for summary in method.summaries.values() if not summary.is_current())
        for name, rows in hooks.items():
            inherited = None if name in cls.methods else cls.find(name)
            if inherited is not None and inherited.shows:
                yield self._enter_hook(cls, inherited, rows[-1])

    def _hooks_of(self, cls: ClassInfo) -> dict[str, tuple[Hook, ...]]:
        merged: dict[str, tuple[Hook, ...]] = {}
        for base in cls.library_bases():
            for name, rows in self.library_hooks(base).items():
                merged.setdefault(name, rows)
        return merged

    def _init_parameters(self, cls: ClassInfo, method: Function) -> dict[str, Value]:
        """What a trainer is built from is the same on all ranks; its model is not wrapped yet."""
        if not library_calls.is_entry_class(cls):
            return {}
        given: dict[str, Value] = {"*": SAME, "**": SAME}
        for parameter in method.parameters[1:]:
            if not parameter.star:
                given[parameter.name] = self._built_from(cls, method, parameter)
        return given

    def _built_from(self, cls: ClassInfo, method: Function, parameter: Parameter) -> Value:
        if parameter.name in CONSTRUCTOR and cls.is_subclass("transformers.Trainer"):
            return CONSTRUCTOR[parameter.name]
        known = self._by_annotation(Frame(self, method.module), parameter)
        return known if known is not UNKNOWN else SAME

    def _enter_hook(self, cls: ClassInfo, method: Function, row: Hook) -> Summary:
        summary = self._enter_with(method, cls, row.parameters)
        above = method.cls.find_above(method.name) if method.cls is not None else None
        if row.stored is not None and above is None:
            self._store_returned(cls, method, row, summary)
        return summary

    def _store_returned(self, cls: ClassInfo, method: Function, row: Hook, summary: Summary) -> None:
        """A base out of sight logs a part of what the hook returns."""
        result = summary.result
        if result.kind is Kind.TUPLE and row.stored is not None and row.stored < len(result.data):
            frame = Frame(self, method.module, method, cls)
            frame.memory.heap = dict(summary.final)
            frame.statement = method.node
            library_calls.report(frame, row.name, result.data[row.stored], method.node, mapping=True)
            summary.trace.events.update(frame.trace.events)

    def _called_by_bases(self, cls: ClassInfo, method: Function) -> Iterator[Summary]:
        """An override runs as the class it comes from calls it on `self`."""
        for base in cls.in_sight():
            if base is cls or base.find(method.name) is None:
                continue
            for args, memory in base.calls.get(method.name, [])[:MAX_CONTEXTS]:
                frame = Frame(self, base.module, None, base)
                frame.memory = memory.fork()
                owner = None if method.is_static else Value(facts.SAME, Kind.INSTANCE, cls)
                names = self._bind(frame, method, args, method.node, owner)
                method.reached = True
                yield self._enter_names(frame, method, cls, names)

    def _drained(self, cls: ClassInfo) -> list[Trace]:
        """What a base out of sight shows of its stores: its `log` averages over steps, not over ranks."""
        traces = []
        for base in cls.library_bases():
            for name in library.stores(base, self.versions):
                value = cls.attribute(name)
                if value is None or value.kind is not Kind.CELLS or self._drains_itself(cls, name):
                    continue
                frame = Frame(self, cls.module, None, cls)
                frame.memory.heap = dict(cls.contents())
                frame.statement = cls.node
                library_calls.report(frame, f"{base}.log", value, cls.node, mapping=True)
                traces.append(frame.trace)
        return traces

    def _drains_itself(self, cls: ClassInfo, name: str) -> bool:
        """Whether a `log` in sight reads the store: then what it shows is in sight too."""
        log = cls.find("log")
        if log is None:
            return False
        return any(key[1] == name for summary in log.summaries.values() for key in summary.dependencies)


# --- helpers --------------------------------------------------------------------------------------------


def _events(roots: Iterable[Trace]) -> list[Event]:
    """The events of these runs and of all they called."""
    found: list[Event] = []
    seen: set[int] = set()
    todo = list(roots)
    while todo:
        trace = todo.pop()
        if id(trace) in seen:
            continue
        seen.add(id(trace))
        found.extend(trace.events.values())
        todo.extend(summary.trace for summary in trace.calls.values())
    return found


def _is_callback(given: Mapping[str, Value]) -> bool:
    return "control" in given


def _dotted(node: Any) -> str:
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    parts.append(node.value if isinstance(node, cst.Name) else "?")
    return ".".join(reversed(parts))


def _is_none(annotation: cst.BinaryOperation) -> bool:
    return any(
        isinstance(side, cst.Name) and side.value == "None" for side in (annotation.left, annotation.right)
    )


def _without_constant(value: Value) -> Value:
    from trl_lint.analysis.values import World

    if value.const is MISSING or isinstance(value.const, World) or value.kind is Kind.STRING:
        return value
    return value.but(const=MISSING)


def _rename(value: Value, renamed: Mapping[Any, Any]) -> Value:
    if value.kind is Kind.CELLS:
        return value.but(data=frozenset(renamed.get(identity, identity) for identity in value.data))
    if value.kind is Kind.TUPLE:
        items = tuple(_rename(item, renamed) for item in value.data)
        return value if all(a is b for a, b in zip(items, value.data, strict=True)) else value.but(data=items)
    if value.kind is Kind.RANGE:
        return value.but(data=(_rename(value.data[0], renamed), value.data[1]))
    return value


def _rename_cell(cell: Cell, renamed: Mapping[Any, Any]) -> Cell:
    entries = {key: _rename(value, renamed) for key, value in cell.entries.items()}
    rest = None if cell.rest is None else _rename(cell.rest, renamed)
    return Cell(cell.shape, entries, rest, cell.factory, cell.length)


# Libraries whose own sources say no more than the tables do, at a high price.
_TABLED = frozenset({"accelerate", "peft", "transformers"})

_ANNOTATED_KINDS = {
    "torch.Tensor": Value(facts.UNKNOWN, Kind.TENSOR),
    "torch.FloatTensor": Value(facts.UNKNOWN, Kind.TENSOR, dtype="float"),
    "torch.LongTensor": Value(facts.UNKNOWN, Kind.TENSOR, dtype="int"),
    "builtins.int": Value(facts.UNKNOWN, Kind.NUMBER, scalar=True, dtype="int"),
    "builtins.float": Value(facts.UNKNOWN, Kind.NUMBER, scalar=True, dtype="float"),
    "builtins.str": Value(facts.UNKNOWN, Kind.STRING),
}

_BUILTINS: dict[str, Value] = {
    **{
        name: Value(facts.SAME, Kind.MODULE, f"builtins.{name}")
        for name in (
            *torch_table.PURE_BUILTINS,
            "callable",
            "delattr",
            "hasattr",
            "id",
            "isinstance",
            "issubclass",
            "open",
            "print",
            "setattr",
            "type",
        )
    },
    "True": Value(facts.SAME, Kind.NUMBER, const=True, scalar=True, dtype="bool"),
    "False": Value(facts.SAME, Kind.NUMBER, const=False, scalar=True, dtype="bool"),
    "None": NONE,
    "TYPE_CHECKING": Value(facts.SAME, Kind.NUMBER, const=WORLD_TRUE, scalar=True, dtype="bool"),
}
