"""Code of a program without what a constant at its top switches off: as shipped, the rest is all that runs.

For example:

    ddp = False                                      bound nowhere else in the file
    def setup(rank):
        dist.init_process_group("nccl", rank=rank)   only called where the constant switches it off
    if ddp:
        setup(0)                                     switched off
    else:
        train()

Such a program starts no process group, however much of its code is about one.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from trl_lint import quiet_ast
from trl_lint.knowledge.engines import SPAWN_WORDS, TOLD_RANK
from trl_lint.knowledge.process_starts import DISTINCT_STARTS

# Only code with such a line, and a condition, has a constant that switches something off.
_CONSTANT = re.compile(rb"(?m)^(\w+)[ \t]*(?::[^=\n]+)?=[ \t]*(?:False|True)\b")
# Code that can bind names that do not appear in the text.
_BINDS_ANY = re.compile(rb"\bexec\(|\bglobals\(|\bvars\(\s*\)|\bimport[ \t]*\*")
_STARTS = re.compile(rb"\b(?:%b)\(" % "|".join(sorted(DISTINCT_STARTS)).encode())

_Span = tuple[int, int]


def running_code(data: bytes) -> bytes:
    """A file without the branches that its constants switch off; they are blank, and all lines are kept.

    A file that starts nothing is as it is.
    """
    if not (_may_start(data) and _may_switch(data)):
        return data
    tree = quiet_ast.parsed(data)
    return data if tree is None else blanked(data, _switched_off(data, tree))


def switches_group_off(data: bytes, running: bytes, may_start_group: Callable[[bytes], bool]) -> bool:
    """Whether a file has code that starts a process group, and nothing that may do so is left of what runs as shipped.

    running: see `running_code`. may_start_group: whether code may start one.
    """
    if running == data or _STARTS.search(_without_unnamed(data)) is None:
        return False  # what only other files call is not switched off
    called = _without_unnamed(running)
    return _STARTS.search(called) is None and not may_start_group(called)


def _may_start(data: bytes) -> bool:
    return any(word in data for word in SPAWN_WORDS) or _STARTS.search(data) is not None


def _may_switch(data: bytes) -> bool:
    """Whether a file may have such a constant: parsing it takes much longer than searching it."""
    if _BINDS_ANY.search(data) is not None:
        return False
    names = {match[1] for match in _CONSTANT.finditer(data)}
    return any(re.search(rb"\b(?:el)?if\b[^\n]*\b%b\b" % name, data) is not None for name in names)


def _switched_off(data: bytes, tree: ast.Module) -> list[_Span]:
    constants = {name: value for name, value in _constants(tree) if not _is_quoted(data, name)}
    starts = line_starts(data)
    branches = (node for node in ast.walk(tree) if isinstance(node, ast.If))
    arms = ((_value(each.test, constants), each) for each in branches)
    off = (each.orelse if holds else each.body for holds, each in arms if holds is not None)
    return [span(starts, arm) for arm in off if arm]


def _constants(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """The names that a file binds once, at its top, to True or False."""
    bound = Counter(_bound(tree))
    for line in tree.body:
        match line:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=bool(value)))
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=bool(value)))
            ) if bound[name] == 1:
                yield name, value


def _bound(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                yield name
            case ast.alias(name=name, asname=new):
                yield new or name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name


def _is_quoted(data: bytes, name: str) -> bool:
    """Whether code may set a name by its text, or as an attribute of its module."""
    spelled = re.escape(name).encode()
    return re.search(rb"""["']%b["']|\.%b[ \t]*=(?!=)""" % (spelled, spelled), data) is not None


def _value(test: ast.expr, constants: dict[str, bool]) -> bool | None:
    """What a condition is by these constants; None if it depends on something else."""
    match test:
        case ast.Name(id=name):
            return constants.get(name)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = _value(operand, constants)
            return None if value is None else not value
        case ast.BoolOp(op=operator, values=parts):
            decides = isinstance(operator, ast.Or)
            return decides if any(_value(each, constants) is decides for each in parts) else None
    return None


def _without_unnamed(data: bytes) -> bytes:
    """Code without the functions at its top that nothing in it names, and without options to be told a rank.

    Whoever starts a program by hand may give it the option.
    """
    tree = quiet_ast.parsed(data)
    if tree is None:
        return data
    starts = line_starts(data)
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef) and not each.decorator_list}
    unnamed = functions.keys() - set(_used(tree)) - {name for name in functions if _is_quoted(data, name)}
    if unnamed:
        return _without_unnamed(blanked(data, [span(starts, [functions[each]]) for each in unnamed]))
    return TOLD_RANK.sub(b"", data)


def _used(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name


def line_starts(data: bytes) -> list[int]:
    found = [0]
    found.extend(match.end() for match in re.finditer(rb"\r\n|\r|\n", data))
    return found


def span(starts: list[int], statements: list[ast.stmt]) -> _Span:
    first, last = statements[0], statements[-1]
    end = starts[(last.end_lineno or last.lineno) - 1] + (last.end_col_offset or 0)
    return starts[first.lineno - 1] + first.col_offset, end


def blanked(data: bytes, spans: Iterable[_Span]) -> bytes:
    """Code with these places replaced by `pass`, which keeps it whole, and the line ends that they had."""
    kept = bytearray(data)
    # From the end: what is before stays where it is. Of places within others only the outer ones are left.
    outer: list[_Span] = []
    for start, end in sorted(spans):
        if not outer or start >= outer[-1][1]:
            outer.append((start, end))
    for start, end in reversed(outer):
        kept[start:end] = b"pass" + b"\n" * data.count(b"\n", start, end)
    return bytes(kept)
