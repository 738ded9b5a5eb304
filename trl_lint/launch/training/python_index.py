"""What matters of a Python file for starting programs: its functions, classes and imports.

It is parsed with `ast`, since a whole training program is searched for one line of a script.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from trl_lint import quiet_ast
from trl_lint.knowledge.python import COMMAND_DECORATORS
from trl_lint.launch.training.fixed_gpus import fixed_gpu
from trl_lint.launch.training.placement import ProcessPlacement, dotted
from trl_lint.launch.training.train_flag import TrainFlag

LARGEST = 1_000_000
BODY = ""
# Libraries with which no trainer wraps its model in DataParallel: unsloth patches trainers so that they see one GPU,
# and the others train on devices of another kind, of which a process has one.
_WITHOUT_DATA_PARALLEL = re.compile(
    r"(?:unsloth|habana_frameworks|optimum\.(?:habana|neuron|tpu|graphcore)|torch_neuronx|poptorch)\b"
)


@dataclass(slots=True)
class Unit:
    """A function, a method, a class with the code that runs to create it and its objects, or the body of a module.

    Attributes:
        names: The dotted names that it reads, with positions.
        called: Methods, as (receiver, method, the names in the arguments). A receiver that is a call ends in `()`.
        constructors: By variable, the dotted names called to create its value.
        attributes: The names after dots.
        bases, methods: Those of a class. Methods that have units are not part of the class's own unit.
        places_itself: Whether it chooses the processes or devices that it runs on.
        fixed_gpu: Code in it that names a GPU by its number, "" if there is none.
    """

    names: dict[str, tuple[int, int]] = field(default_factory=dict)
    called: list[tuple[str, str, str]] = field(default_factory=list)
    constructors: dict[str, set[str]] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)
    bases: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    places_itself: bool = False
    fixed_gpu: str = ""


@dataclass(frozen=True, slots=True)
class ImportedName:
    """`from <dots><module> import <name>`, or `import module` if there is no name."""

    module: str
    name: str = ""
    level: int = 0


@dataclass(slots=True)
class File:
    """The units of a file by name, and the names that its imports bind. stars: modules imported with `*`.

    on_request: whether it reads the flag that asks it to train (`training_args.do_train`), and never sets it itself.
    """

    units: dict[str, Unit] = field(default_factory=dict)
    imports: dict[str, ImportedName] = field(default_factory=dict)
    stars: list[ImportedName] = field(default_factory=list)
    on_request: bool = False


def parsed(source: bytes) -> File | None:
    """The index of a file; None if it is no Python."""
    if len(source) > LARGEST:
        return None
    tree = quiet_ast.parsed(source)
    try:
        return _file(tree) if tree is not None else None
    except RecursionError:
        return None


def _file(tree: ast.Module) -> File:
    file = File()
    body: list[ast.stmt] = []
    for node in _statements(tree.body):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            file.units[node.name] = _unit([node])
            body += (ast.Expr(each) for each in node.decorator_list)
        elif isinstance(node, ast.ClassDef):
            _add_class(file, node)
        else:
            body.append(node)
    body += _only_command(tree)
    file.units[BODY] = _unit(body)
    flag = TrainFlag()
    for each in ast.walk(tree):
        _add_imports(file, each)
        flag.visit(each)
    file.on_request = flag.is_asked_only
    file.units[BODY].places_itself |= any(map(_is_without_data_parallel, ast.walk(tree)))
    if any(map(_is_without_data_parallel, body)):  # importing a function from the file runs its imports
        for unit in file.units.values():
            unit.places_itself = True
    return file


def _only_command(tree: ast.Module) -> list[ast.Expr]:
    """The function that an app of the file runs (`@app.command()`); with several, the arguments decide, so none."""
    functions = [each for each in tree.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
    commands = [each for each in functions if any(map(_is_command, each.decorator_list))]
    if len(commands) != 1:
        return []
    only = commands[0]
    return [ast.Expr(ast.Name(only.name, lineno=only.lineno, col_offset=only.col_offset))]


def _is_command(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Attribute) and called.attr in COMMAND_DECORATORS


def _is_without_data_parallel(node: ast.AST) -> bool:
    """Whether a node imports a library with which no trainer wraps its model in DataParallel."""
    if isinstance(node, ast.ImportFrom):
        return not node.level and _WITHOUT_DATA_PARALLEL.match(f"{node.module}.") is not None
    return isinstance(node, ast.Import) and any(_WITHOUT_DATA_PARALLEL.match(f"{each.name}.") for each in node.names)


def _add_class(file: File, node: ast.ClassDef) -> None:
    """Add the units of a class: the code run to create it or an object, and each method that has to be called."""
    methods = {each.name: each for each in node.body if _is_called_by_name(each)}
    units = {name: _unit([method]) for name, method in methods.items()}
    class_unit = _unit(each for each in node.body if not _is_called_by_name(each))
    class_unit.bases = tuple(name for base in node.bases if (name := dotted(base)))
    class_unit.methods = tuple(methods)
    of_objects: dict[str, set[str]] = {}
    for unit in (class_unit, *units.values()):
        for name, constructors in unit.constructors.items():
            if name.startswith("self."):
                of_objects.setdefault(name, set()).update(constructors)
    for unit in (class_unit, *units.values()):
        unit.constructors |= of_objects
    file.units[node.name] = class_unit
    file.units |= {f"{node.name}.{name}": unit for name, unit in units.items()}


def _is_called_by_name(node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("__")


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, including those in its compound statements."""
    for node in body:
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            if isinstance(node, ast.If):
                yield ast.Expr(node.test)
            elif isinstance(node, ast.With):
                yield from (ast.Expr(each.context_expr) for each in node.items)
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from _statements(handler.body)
        else:
            yield node


def _add_imports(file: File, node: ast.AST) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            file.imports.setdefault(name, ImportedName(alias.name if alias.asname else name))
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            imported = ImportedName(node.module or "", alias.name, node.level)
            if alias.name == "*":
                file.stars.append(imported)
            else:
                file.imports.setdefault(alias.asname or alias.name, imported)


def _unit(body: Iterable[ast.AST]) -> Unit:
    unit, placement = Unit(), ProcessPlacement()
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        placement.visit(node)
        unit.fixed_gpu = unit.fixed_gpu or fixed_gpu(node)
        unit.places_itself |= _is_without_data_parallel(node)
        if isinstance(node, ast.Attribute):
            _add_attributes(unit, node)
        if isinstance(node, ast.Call):
            _add_call(unit, node)
        elif isinstance(node, ast.Assign):
            _add_assignment(unit, node)
        elif isinstance(node, (ast.Name, ast.Attribute)) and (name := dotted(node)):
            unit.names.setdefault(name, (node.lineno, node.col_offset + 1))
            continue
        waiting += _parts(node)
    unit.places_itself |= placement.chosen()
    return unit


def _add_attributes(unit: Unit, node: ast.expr) -> None:
    while isinstance(node, ast.Attribute):
        unit.attributes.add(node.attr)
        node = node.value


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The children of a node that are run: not annotations, nor the arguments of `isinstance`."""
    skipped = {"annotation", "returns", "bases"}
    if isinstance(node, ast.Call) and dotted(node.func) in ("isinstance", "issubclass"):
        return
    for name, value in ast.iter_fields(node):
        if name in skipped:
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                yield each


def _add_call(unit: Unit, node: ast.Call) -> None:
    if isinstance(node.func, ast.Attribute):
        value = node.func.value
        constructor = dotted(value.func) if isinstance(value, ast.Call) else None
        arguments = " ".join(dotted(each) or "" for each in node.args)
        unit.called.append((f"{constructor}()" if constructor else dotted(value) or "", node.func.attr, arguments))


def _add_assignment(unit: Unit, node: ast.Assign) -> None:
    for target in node.targets:
        name = dotted(target)
        if name and isinstance(node.value, ast.Call) and (constructor := dotted(node.value.func)):
            unit.constructors.setdefault(name, set()).add(constructor)
