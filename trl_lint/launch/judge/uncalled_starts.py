"""Functions that start a process group and that nothing calls: a file may import one without starting a group.

For example:

    dist.py      def setup_distributed():                                 named nowhere but in its own line
                     dist.init_process_group("nccl")                      and where it is imported:
    train.py     from utils.dist import setup_distributed, get_rank       nothing starts a group here
    train.py     setup_distributed()                                      named again: it may
    pyproject.toml   start = "utils.dist:setup_distributed"               named again: it may
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from trl_lint import quiet_ast
from trl_lint.knowledge.backends import GROUP_WORDS, STARTS_ANY_GROUP
from trl_lint.launch.judge.switched_off import blanked, line_starts, span

_STARTS = re.compile(STARTS_ANY_GROUP)
# Code that may call a function of its file without naming it, for the file itself or for whoever starts it.
_CALLS_ANY = re.compile(rb"\b(?:exec|eval|globals|locals)\(|\bvars\(\s*\)|\bFire\(\s*\)|__getattr__|\b__main__\b")
_WORD = re.compile(r"\w+")


def starts_any_group(data: bytes) -> bool:
    """Whether code starts a process group, or has a library do so."""
    return any(word in data for word in GROUP_WORDS) and _STARTS.search(data) is not None


@lru_cache(maxsize=64)
def starting_functions(data: bytes) -> frozenset[str]:
    """The functions of a file that hold all its starts of a group; none if something else in it starts one.

    A function that is decorated may be called by its decorator, a method by its name, and a test by pytest.
    """
    if not starts_any_group(data) or _CALLS_ANY.search(data) is not None:
        return frozenset()
    tree = quiet_ast.parsed(data)
    if tree is None:
        return frozenset()
    lines = data.split(b"\n")
    functions = {
        each.name
        for each in _plain_functions(tree)
        if starts_any_group(b"\n".join(lines[each.lineno - 1 : each.end_lineno]))
    }
    return frozenset() if starts_any_group(without(data, functions)) else frozenset(functions)


def without(data: bytes, names: Collection[str]) -> bytes:
    """Code without the functions at its top with one of these names, and without these names where it imports them."""
    tree = quiet_ast.parsed(data) if any(each.encode() in data for each in names) else None
    if tree is None:
        return data
    functions = [each for each in _plain_functions(tree) if each.name in names]
    starts = line_starts(data)
    rest = blanked(data, [span(starts, [each]) for each in functions])
    return re.sub(rb"\b(?:%b)\b" % "|".join(sorted(names)).encode(), b"_", rest)


def named_in(data: bytes, names: Collection[str], *, is_python: bool) -> frozenset[str]:
    """Those names that a file may use: it does more than define or import them, or can't be read."""
    may = [each for each in names if each.encode() in data]
    if not may:
        return frozenset()
    tree = quiet_ast.parsed(data) if is_python else None
    if tree is None:
        return frozenset(each for each in may if re.search(rb"\b%b\b" % each.encode(), data) is not None)
    return frozenset(may).intersection(_used(tree))


def reads_names_of(data: bytes, modules: Collection[str]) -> bool:
    """Whether code may have names of one of these modules without spelling them: `getattr(dist, name)`."""
    may = [each.encode() for each in modules if each.encode() in data]
    if not may:
        return False
    either = b"|".join(map(re.escape, may))
    by_text = rb"\b(?:getattr|vars|dir|import_module|__import__)\([^)\n]*\b(?:%b)\b|\b(?:%b)\.__dict__\b"
    return re.search(by_text % (either, either), data) is not None


def _plain_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for each in tree.body:
        if isinstance(each, ast.FunctionDef) and not each.decorator_list and not each.name.startswith("test_"):
            yield each


def _used(tree: ast.Module) -> Iterator[str]:
    """The names that code uses, those in its strings among them, but for the texts that only say what it does."""
    texts = _documentation(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case ast.alias(name=name, asname=new) if new is not None or "." in name:
                yield from name.split(".")
            case ast.Import(names=modules):
                yield from (each.name for each in modules)
            case ast.ImportFrom(module=str(module)):
                yield from module.split(".")
            case ast.Constant(value=str(text)) if id(node) not in texts:
                yield from _WORD.findall(text)


def _documentation(tree: ast.Module) -> Mapping[int, ast.Expr]:
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.Expr))
    return {id(each.value): each for each in statements}
