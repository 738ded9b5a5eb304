"""What one Python file says, as far as a started program is concerned: its functions, classes and imports.

It is read with `ast`, as whole trainings are looked through for the sake of one line in a script.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from trl_lint.launch.gpus import VISIBLE

LARGEST = 1_000_000
BODY = ""
# What starts the processes itself, or waits for those who do, by the end of its dotted name.
_OWN_LAUNCHERS = frozenset({
    "notebook_launcher", "debug_launcher", "init_process_group", "elastic_launch", "TorchTrainer", "mp.spawn",
    "xmp.spawn", "multiprocessing.spawn", "start_processes",
})  # fmt: skip
# A model that is spread over the GPUs is not wrapped (transformers/trainer.py, is_model_parallel).
_SPREAD = frozenset({"auto", "balanced", "balanced_low_0", "sequential"})
_CPU = frozenset({"use_cpu", "no_cuda", "cpu"})
# It patches trainers so that they see one GPU.
_PATCHING = frozenset({"unsloth"})


@dataclass(slots=True)
class Unit:
    """A function, a class with all its methods, or the body of a module.

    names: the dotted names that it reads, with where. called: methods, as (receiver, method, the names in the
    arguments); a receiver that is made on the spot ends in `()`. made: by variable, the dotted names called to make
    its value. bases: of a class. places_itself: it chooses the processes or the devices that it runs on.
    """

    names: dict[str, tuple[int, int]] = field(default_factory=dict)
    called: list[tuple[str, str, str]] = field(default_factory=list)
    made: dict[str, set[str]] = field(default_factory=dict)
    bases: tuple[str, ...] = ()
    places_itself: bool = False


@dataclass(frozen=True, slots=True)
class Imported:
    """`from <dots><module> import <name>`, or `import module` where there is no name."""

    module: str
    name: str = ""
    level: int = 0


@dataclass(slots=True)
class File:
    """The units of a file by name, and what its imports bind. stars: modules all of whose names are imported."""

    units: dict[str, Unit] = field(default_factory=dict)
    imports: dict[str, Imported] = field(default_factory=dict)
    stars: list[Imported] = field(default_factory=list)


def parsed(source: bytes) -> File | None:
    """What a file says; None where it is no Python."""
    if len(source) > LARGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        return _file(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _file(tree: ast.Module) -> File:
    file = File()
    body: list[ast.stmt] = []
    for node in _statements(tree.body):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            file.units[node.name] = _unit([node])
            body += (ast.Expr(each) for each in node.decorator_list)
        elif isinstance(node, ast.ClassDef):
            unit = file.units[node.name] = _unit(node.body)
            unit.bases = tuple(name for base in node.bases if (name := dotted(base)))
        else:
            body.append(node)
    file.units[BODY] = _unit(body)
    for node in ast.walk(tree):
        _add_imports(file, node)
    file.units[BODY].places_itself |= any(each.module.split(".")[0] in _PATCHING for each in file.imports.values())
    return file


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those under its conditions among them."""
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
            file.imports.setdefault(name, Imported(alias.name if alias.asname else name))
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            imported = Imported(node.module or "", alias.name, node.level)
            if alias.name == "*":
                file.stars.append(imported)
            else:
                file.imports.setdefault(alias.asname or alias.name, imported)


def _unit(body: Iterable[ast.AST]) -> Unit:
    unit = Unit()
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call):
            _add_call(unit, node)
        elif isinstance(node, ast.Assign):
            _add_assignment(unit, node)
        elif isinstance(node, (ast.Name, ast.Attribute)) and (name := dotted(node)):
            unit.names.setdefault(name, (node.lineno, node.col_offset + 1))
            continue
        waiting += _parts(node)
    return unit


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """What is run of a node: annotations and the question for a class are not."""
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
    name = dotted(node.func) or ""
    unit.places_itself |= any(name == each or name.endswith(f".{each}") for each in _OWN_LAUNCHERS)
    unit.places_itself |= any(_places(each) for each in node.keywords)
    if name.endswith("environ.setdefault") and node.args:
        unit.places_itself |= isinstance(node.args[0], ast.Constant) and node.args[0].value in VISIBLE
    if isinstance(node.func, ast.Attribute):
        value = node.func.value
        made = dotted(value.func) if isinstance(value, ast.Call) else None
        arguments = " ".join(dotted(each) or "" for each in node.args)
        unit.called.append((f"{made}()" if made else dotted(value) or "", node.func.attr, arguments))


def _places(keyword: ast.keyword) -> bool:
    value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
    return (keyword.arg == "device_map" and value in _SPREAD) or (keyword.arg in _CPU and value is True)


def _add_assignment(unit: Unit, node: ast.Assign) -> None:
    for target in node.targets:
        if isinstance(target, ast.Subscript) and (dotted(target.value) or "").endswith("environ"):
            unit.places_itself |= isinstance(target.slice, ast.Constant) and target.slice.value in VISIBLE
        name = dotted(target)
        if name and isinstance(node.value, ast.Call) and (made := dotted(node.value.func)):
            unit.made.setdefault(name, set()).add(made)


def dotted(node: ast.AST) -> str | None:
    """`a.b.c` of a chain of names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])
