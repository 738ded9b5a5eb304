"""Attributes to which a method gives back what another method of the class has saved of them.

For example:

    def state_dict(self):
        return {"position": self.position}
    def load_state_dict(self, state):
        self.position = state["position"]           restored, under this key
        self.length = state["length"]               not: nothing shows that it is what the object had

    def save(self, path):
        pickle.dump((list(self.rows), self.next), open(path, "wb"))
    def load(self, path):
        rows, self.next = pickle.load(open(path, "rb"))
        self.rows = rows[:9]                        both are restored, from a file

Not so where code hands a state on from one rank to the others, who are alike then:

    rows.save(path)
    dist.barrier()
    rows.load(path)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.project.notes import noted_in_file, noted_of_linted
from trl_lint.analysis.program.syntax import (
    assigned_parts,
    last_name,
    names_in,
    of_class,
    parts_of_target,
    self_attribute,
)
from trl_lint.knowledge.effects import TAKE_DATA
from trl_lint.knowledge.heuristics import MAY_SYNCHRONISE
from trl_lint.knowledge.python import ADD_TO_CONTAINERS, READ_FILES

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.analysis.program.project.project import Project

# An attribute, with the key under which it is kept; in a file, none.
_Kept = tuple[str, str]
_IN_FILE = ""
_WRITERS, _READERS = (frozenset(each.rpartition(".")[2] for each in names) for names in (TAKE_DATA, READ_FILES))
_FILLS = ADD_TO_CONTAINERS | {"appendleft"}
# How many names in a row are followed.
_MAX_NAMES = 4


def is_restored(project: Project, cls: ClassInfo, method: FunctionInfo, name: str) -> bool:
    """Whether a method of a class gives an attribute of `self` what another one has saved of it in an earlier run."""
    mine = {each for each in _restored(method) if each[0] == name}
    if not mine:
        return False
    savers = [
        each for each in cls.project_methods() if each.node is not method.node and not mine.isdisjoint(_saved(each))
    ]
    return bool(savers) and not any(_is_handed_on(project, each.name, method.name) for each in savers)


@noted_of_linted
def _is_handed_on(project: Project, saver: str, restorer: str) -> bool:
    """Whether a function saves a state, or waits for other ranks, before it restores one."""
    modules = (project.module(path) for path, _ in project.linted_code(restorer))
    roots = (root for each in modules if each for root in (each.tree, *of_class(each.tree, cst.FunctionDef)))
    return any(_waits_before(root, saver, restorer) for root in roots)


def _waits_before(root: cst.CSTNode, saver: str, restorer: str) -> bool:
    nested = {
        id(call) for each in of_class(root, cst.FunctionDef) if each is not root for call in of_class(each, cst.Call)
    }
    before: list[str] = []
    for call in of_class(root, cst.Call):
        name = last_name(call.func)
        if id(call) in nested:
            continue
        if name == restorer:
            names = (*before, *(last_name(each.func) for each in of_class(call, cst.Call)[1:]))
            if any(each == saver or MAY_SYNCHRONISE.fits(each) for each in names):
                return True
        before.append(name)
    return False


def is_filled(cls: ClassInfo, name: str) -> bool:
    """Whether a method of a class adds to a container that is an attribute of `self`."""
    return any(
        isinstance(call.func, cst.Attribute)
        and call.func.attr.value in _FILLS
        and self_attribute(call.func.value) == name
        for each in cls.project_methods()
        for call in of_class(each.node, cst.Call)
    )


@noted_in_file
def _saved(method: FunctionInfo) -> frozenset[_Kept]:
    """What a method returns, or stores, under a key, or writes to a file."""
    root, found = method.node, set[_Kept]()
    for each in of_class(root, cst.DictElement):
        found |= {(name, key) for key in _text(each.key) for name in _attributes_in(root, each.value, 0)}
    for target, value in assigned_parts(root):
        found |= {(name, key) for key in _key(target) for name in _attributes_in(root, value, 0)}
    for call in of_class(root, cst.Call):
        if _is_of_module(call) and last_name(call.func) in _WRITERS:
            given = (name for each in call.args for name in _attributes_in(root, each.value, _MAX_NAMES))
            found |= {(name, _IN_FILE) for name in given}
    return frozenset(found)


@noted_in_file
def _restored(method: FunctionInfo) -> frozenset[_Kept]:
    """What a method assigns from the entries of a parameter, or from what it reads from a file."""
    root, found = method.node, set[_Kept]()
    given = {each.name for each in method.parameters}
    reads = any(map(_reads, of_class(root, cst.Call)))
    for target, value in assigned_parts(root):
        names = [name for each in parts_of_target(target) if (name := self_attribute(each))]
        for each in _parts_of(root, value, _MAX_NAMES if reads else 0) if names else ():
            if isinstance(each, cst.Call) and _reads(each):
                found |= {(name, _IN_FILE) for name in names}
            elif last_name(_owner(each)) in given:
                found |= {(name, key) for name in names for key in _key(each)}
    return frozenset(found)


def _reads(call: cst.Call) -> bool:
    return _is_of_module(call) and last_name(call.func) in _READERS


def _parts_of(root: cst.CSTNode, node: cst.BaseExpression, names: int) -> Iterator[cst.BaseExpression]:
    """The expressions in a value, and in those of so many names in a row that it is made of."""
    todo, seen = [node], set[str]()
    for depth in range(names + 1):
        for each in todo:
            for kind in (cst.Call, cst.Subscript, cst.Attribute):
                yield from of_class(each, kind)
        if depth < names and todo:
            new = {name for each in todo for name in names_in(each)} - seen
            seen |= new
            todo = [value for target, value in assigned_parts(root) if not new.isdisjoint(_bound(target))]


def _bound(target: cst.BaseExpression) -> Iterator[str]:
    return (each.value for each in parts_of_target(target) if isinstance(each, cst.Name))


def _attributes_in(root: cst.CSTNode, node: cst.BaseExpression, names: int) -> set[str]:
    return {self_attribute(each) for each in _parts_of(root, node, names)} - {""}


def _is_of_module(call: cst.Call) -> bool:
    """Whether a function is called by its name alone, or as one of a module: `pickle.load(file)`."""
    func = call.func
    return isinstance(func, cst.Name) or (isinstance(func, cst.Attribute) and not self_attribute(func.value))


def _owner(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """What an entry is taken of."""
    match node:
        case cst.Subscript(value=owner) | cst.Call(func=cst.Attribute(value=owner)):
            return owner
    return None


def _key(node: cst.BaseExpression) -> tuple[str, ...]:
    """The constant key of an entry, `state["position"]` or `state.get("position", 0)`; empty for anything else."""
    match node:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
            return _text(key)
        case cst.Call(func=cst.Attribute(attr=cst.Name("get" | "pop")), args=[cst.Arg(value=key), *_]):
            return _text(key)
    return ()


def _text(node: cst.BaseExpression) -> tuple[str, ...]:
    if isinstance(node, cst.SimpleString) and isinstance(node.evaluated_value, str):
        return (node.evaluated_value,)
    return ()
