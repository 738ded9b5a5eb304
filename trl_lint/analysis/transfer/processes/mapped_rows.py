"""Rows that something unknown has made, each of one of this rank's own rows: they are likely to be its own as well.

For example, where `completions` are this rank's own, and nothing is known of `text_of`:

    texts = [text_of(each) for each in completions]
    json.dump(texts, file)                                made of own rows
    for text in texts: file.write(text)                   so are these
    for each in completions: file.write(text_of(each))    and these
    json.dump(total(completions), file)                   unknown: it may be the sum over all ranks
    numpy.save("rows.npy", numpy.random.permutation(n))   unknown: any file of the program may have seeded NumPy

So are the rows that a rank makes of its share of all of them, if something in them tells which it is:

    for i in range(rank, len(docs), world_size):
        rows.append({"id": i, "text": text_of(docs[i])})
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, assigned_once, last_name, names_in, of_class
from trl_lint.domain.kinds import IterableValue
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.heuristics import MAY_REDUCE

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame

# Of these, each rank has its own, and nobody wants all of them.
_UNWANTED = Origin.CLOCK | Origin.MEMORY | Origin.IO
# How deep the containers of data are.
_DEEPEST = 3
_ADDS = frozenset({"add", "append", "extend"})


def are_made_of_own(frame: Frame, data: cst.BaseExpression, depth: int = 3) -> bool:
    """Whether data is a list, or a table of such lists, whose items are each made of one of this rank's own rows."""
    if is_own(frame, frame.value_of(data)):
        return True
    match data:
        case cst.ListComp() | cst.GeneratorExp() | cst.SetComp():
            return _is_of_own(frame, data.elt, data.for_in.target, data.for_in.iter, depth)
        case cst.Dict() if data.elements and depth:
            return all(are_made_of_own(frame, each.value, depth - 1) for each in data.elements)
        case cst.Name(name) if depth:
            made = assigned_once(frame.root, name)
            return made is not None and (
                are_made_of_own(frame, made, depth - 1) or _is_filled_with_own(frame, name, depth - 1)
            )
    return False


def is_row_of_own(frame: Frame, row: cst.BaseExpression, call: cst.Call, depth: int = 3) -> bool:
    """Whether a call in a loop over this rank's own rows takes something that is made of the row."""
    loops = (each for each in ancestors(frame.root, call) if isinstance(each, cst.For))
    return any(_is_of_own(frame, row, each.target, each.iter, depth) for each in loops)


def _is_filled_with_own(frame: Frame, name: str, depth: int) -> bool:
    """Whether all that is added to a list is made of this rank's own rows."""
    added = list(_added_to(frame.root, name))
    return bool(added) and all(is_row_of_own(frame, each.args[0].value, each, depth) for each in added)


def _added_to(root: cst.CSTNode, name: str) -> Iterator[cst.Call]:
    for call in of_class(root, cst.Call):
        match call:
            case cst.Call(func=cst.Attribute(value=cst.Name(owner)), args=[_]) if owner == name:
                if last_name(call.func) in _ADDS:
                    yield call


def _is_of_own(
    frame: Frame, row: cst.BaseExpression, target: cst.BaseExpression, rows: cst.BaseExpression, depth: int
) -> bool:
    """Whether a row is made of what a loop takes from rows of this rank's own, and is not known to be shared."""
    is_shared = _is_shared(frame, frame.value_of(row))
    may_reduce = any(MAY_REDUCE.fits(last_name(each.func)) for each in of_class(row, cst.Call))
    is_of_row = not names_in(row).isdisjoint(names_in(target))
    return is_of_row and not is_shared and not may_reduce and are_made_of_own(frame, rows, depth)


def is_own(frame: Frame, value: Value, depth: int = 0) -> bool:
    """Whether data, or what a container of it holds, is this rank's own: all of it, or all its rows of a share."""
    if isinstance(value, IterableValue):
        return _are_own_rows(frame, [value.element], depth)
    parts = frame.memory.contents(value) if depth < _DEEPEST else []
    if not parts:
        return value.kind is not Kind.LOADER and _differs(value)
    if _is_list(frame, value):
        return _are_own_rows(frame, parts, depth)
    return all(is_own(frame, each, depth + 1) for each in parts) or any(_is_share(frame, each) for each in parts)


def _are_own_rows(frame: Frame, rows: Iterable[Value], depth: int) -> bool:
    return all(is_own(frame, each, depth + 1) or _is_of_share(frame, each) for each in rows)


def _is_share(frame: Frame, value: Value) -> bool:
    """Whether a list has only rows of this rank's share: `{"score": score, "rows": rows}` has such a list."""
    rows = frame.memory.contents(value) if _is_list(frame, value) else []
    return bool(rows) and all(_is_by_rank(each) or _is_of_share(frame, each) for each in rows)


def _is_of_share(frame: Frame, row: Value) -> bool:
    """Whether a row has a part that differs by the rank, such as the number of a row that only this rank takes."""
    return any(_is_by_rank(each) for each in frame.memory.contents(row))


def _is_list(frame: Frame, value: Value) -> bool:
    cells = frame.memory.cells(value)
    return bool(cells) and all(each.shape == "list" for each in cells)


def _is_shared(frame: Frame, value: Value, depth: int = 0) -> bool:
    """Whether data, and all that a container of it holds, is the same on all ranks."""
    parts = frame.memory.contents(value) if depth < _DEEPEST else []
    return value.rank.state is State.SAME and all(_is_shared(frame, each, depth + 1) for each in parts)


def _is_by_rank(value: Value) -> bool:
    return _differs(value) and Origin.RANK in value.rank.origins


def _differs(value: Value) -> bool:
    """Whether it is data of which each rank has other rows.

    What is only drawn at random is not known to be: with one seed, all ranks draw the same.
    """
    origins = value.rank.origins
    return value.rank.differs and not origins & _UNWANTED and origins != Origin.RNG
