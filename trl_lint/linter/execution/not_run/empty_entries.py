"""Loops over an entry that is made empty and that nothing fills: they have no turn.

    boards = {"image": {}, "scalar": {}}                 in the forward of a model, which returns it
    for key in boards["scalar"]:                         nothing else writes to an entry of this name
        writer.add_scalar(key, boards["scalar"][key])

Names decide: each place with the name in quotes, in the file, in those that it imports and in the linted ones, has to
make such an entry or to read one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import libcst as cst

from trl_lint.analysis.program.project.import_lines import files_in_reach
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import inwards, last_name

_VIEWS = frozenset({"items", "keys", "values"})
# After the name in quotes: an empty dict or list is made.
_MADE = rb"\s*:\s*(?:\{\s*\}|\[\s*\]|dict\(\s*\)|list\(\s*\))"
# A loop goes over the entry, or one of the values in it is read.
_WALKED = rb"\s*\](?:\.(?:items|keys|values)\(\))?\s*:\s*$"
_READ = rb"\s*\]\[\s*\w+\s*\](?!\s*(?:\[|[-+*/|@%]?=(?!=)|\.(?:append|extend|setdefault|update)\b))"
_QUOTED = rb"[\"']%b[\"']"
# The holder of the entry, with an entry whose name is not in the code.
_OTHERWISE = rb"\b%b(?:\[\s*[^\"'\s]|\.(?:items|setdefault|update|values)\()"


def goes_over_nothing(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in a loop over such an entry."""
    for entry in _entries_around(module, node):
        key = (goes_over_nothing, module.path, *entry)
        if project.of_linted(key, partial(_is_never_filled, project, module, entry)):
            return True
    return False


def _entries_around(module: Module, node: cst.CSTNode) -> Iterator[tuple[str, str]]:
    """The entries that the loops around a node go over: the last name of the holder, and the name of the entry."""
    for loop, inner in inwards(module.tree, node):
        if not isinstance(loop, cst.For) or inner is not loop.body:
            continue
        match loop.iter:
            case cst.Call(func=cst.Attribute(value=cst.Subscript() as entry, attr=cst.Name(view))) if view in _VIEWS:
                yield from _entry(entry)
            case cst.Subscript() as entry:
                yield from _entry(entry)


def _entry(node: cst.Subscript) -> Iterator[tuple[str, str]]:
    match node.slice:
        case [cst.SubscriptElement(cst.Index(cst.SimpleString() as name))] if last_name(node.value):
            yield last_name(node.value), str(name.raw_value)


def _is_never_filled(project: Project, module: Module, entry: tuple[str, str]) -> bool:
    holder, name = (re.escape(each.encode()) for each in entry)
    reached = files_in_reach(project, module.path)
    if reached is None:
        return False
    contents = [project.code(each) for each in {*reached, *project.linted}]
    quoted, otherwise = re.compile(_QUOTED % name), re.compile(_OTHERWISE % holder)
    made, read = re.compile(_MADE), re.compile(b"(?m)" + b"|".join((_MADE, _WALKED, _READ)))
    places = [(code, found.end()) for code in contents for found in quoted.finditer(code)]
    if not any(made.match(*place) for place in places) or not all(read.match(*place) for place in places):
        return False
    return not any(otherwise.search(code) for code in contents)
