"""The definitions of a release, read from its sources with `ast`: nothing of it is imported."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from evaluation import releases

# The sources of a library's rows; the whole package if it is not listed.
FILES = {
    "transformers": (
        "feature_extraction_utils.py", "modeling_utils.py", "tokenization_utils_base.py", "trainer.py",
        "hf_argparser.py", "trainer_callback.py", "trainer_pt_utils.py", "trainer_seq2seq.py", "trainer_utils.py",
        "training_args.py", "training_args_seq2seq.py", "utils/logging.py",
    ),
}  # fmt: skip
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
# The methods of which it is asked what names their bodies use: in libraries of `FILES` of all, elsewhere of these.
WITH_NAMES = frozenset({"get_batch_loss_metrics"})
# Where statements hold others.
_BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")


@dataclass
class Signature:
    """The parameters of a callable, without `self`, and the names its body uses if that is asked (`WITH_NAMES`)."""

    parameters: tuple[str, ...]
    rest: bool  # it takes *args
    names: frozenset[str]

    def has(self, position: int, name: str) -> bool:
        return position < len(self.parameters) and self.parameters[position] == name


@dataclass
class ClassSource:
    name: str
    bases: tuple[str, ...]
    methods: dict[str, Signature] = field(default_factory=dict)
    # Attributes by name, with the expressions they are assigned.
    attributes: dict[str, frozenset[str]] = field(default_factory=dict)
    # Functions that its body imports: they become its methods.
    imported: set[str] = field(default_factory=set)


@dataclass
class Library:
    """The classes and functions of one release by their own names; a name may be defined in several files."""

    classes: dict[str, list[ClassSource]] = field(default_factory=dict)
    functions: dict[str, list[Signature]] = field(default_factory=dict)

    def family(self, name: str) -> Iterator[ClassSource]:
        """The classes of that name and their bases, nearest first."""
        queue, seen = [name], {name}
        while queue:
            for found in self.classes.get(queue.pop(0), ()):
                yield found
                for base in found.bases:
                    if base not in seen:
                        seen.add(base)
                        queue.append(base)


def shared(package: str, version: str, make: Callable[[], Library]) -> Library:
    """How workers share what is read; `conftest.py` replaces it."""
    return make()


@cache
def library(package: str, version: str) -> Library:
    """Raises `releases.IndexUnreachable` if the release is neither cached nor available."""
    root = releases.fetch(releases.Release(package, version)) / package
    return shared(package, version, lambda: _library(root, package))


def _library(root: Path, package: str) -> Library:
    chosen = FILES.get(package)
    found = Library()
    for path in [root / name for name in chosen] if chosen else sorted(root.rglob("*.py")):
        if path.exists():
            _read(path, found, all_names=chosen is not None)
    return found


def _statements(root: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node, as `ast.walk` gives them, without the expressions, which are most of a tree."""
    todo = deque([root])
    while todo:
        node = todo.popleft()
        yield node
        for name in _BLOCKS:
            todo.extend(getattr(node, name, ()))


def _read(path: Path, found: Library, *, all_names: bool) -> None:
    for node in _statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            source = _class(node, all_names)
            # An alias that only warns and delegates is not the class.
            if f"_{source.name}" not in _written_bases(node):
                found.classes.setdefault(source.name, []).append(source)
        elif isinstance(node, _Function) and node.col_offset == 0:
            found.functions.setdefault(node.name, []).append(_signature(node, all_names, method=False))


def _written_bases(node: ast.ClassDef) -> tuple[str, ...]:
    return tuple(ast.unparse(base).rpartition(".")[2] for base in node.bases)


def _class(node: ast.ClassDef, all_names: bool) -> ClassSource:
    # A module imports a class as `_GRPOTrainer` if it derives one of the same name from it.
    bases = tuple(
        base[1:] if base.startswith("_") and not base.startswith("_Base") else base for base in _written_bases(node)
    )
    source = ClassSource(node.name, bases)
    assigned: dict[str, set[str]] = {}
    for item in node.body:
        if isinstance(item, _Function):
            if any(isinstance(name, ast.Name) and "property" in name.id for name in item.decorator_list):
                assigned.setdefault(item.name, set()).add("property")
            # A property's setter follows its getter, and the getter counts.
            source.methods.setdefault(item.name, _signature(item, all_names, method=True))
        elif isinstance(item, (ast.Assign, ast.AnnAssign)):
            _assign(item, assigned, of_class=True)
        elif isinstance(item, ast.ImportFrom):
            source.imported |= {alias.asname or alias.name for alias in item.names}
    for item in _statements(node):
        if isinstance(item, (ast.Assign, ast.AnnAssign)):
            _assign(item, assigned, of_class=False)
    source.attributes = {name: frozenset(values) for name, values in assigned.items()}
    return source


def _assign(item: ast.Assign | ast.AnnAssign, assigned: dict[str, set[str]], *, of_class: bool) -> None:
    value = ast.unparse(item.value) if item.value is not None else ""
    targets = item.targets if isinstance(item, ast.Assign) else [item.target]
    for target in targets:
        for each in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
            if of_class and isinstance(each, ast.Name):
                assigned.setdefault(each.id, set()).add(value)
            elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "self":
                assigned.setdefault(each.attr, set()).add(value)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, all_names: bool, *, method: bool) -> Signature:
    arguments = node.args
    parameters = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    static = any(isinstance(name, ast.Name) and name.id == "staticmethod" for name in node.decorator_list)
    if method and not static:
        parameters = parameters[1:]
    parameters += [argument.arg for argument in arguments.kwonlyargs]
    inside = list(ast.walk(node)) if all_names or node.name in WITH_NAMES else []
    names = {item.id for item in inside if isinstance(item, ast.Name)}
    names |= {item.attr for item in inside if isinstance(item, ast.Attribute)}
    return Signature(tuple(parameters), arguments.vararg is not None, frozenset(names))
