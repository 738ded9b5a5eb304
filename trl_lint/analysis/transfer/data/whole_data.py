"""Data sets that each rank has all of: where a loader's rows come from, and whether that asks for the rank anywhere.

rows = Rows(path)                                   its class has an item for each index, and does not know the rank
train, test = random_split(rows, (0.9, 0.1))        parts of it, which are the same kind of data
datasets.load_dataset(name), torchvision.datasets.CIFAR10(folder)

None of them is whole for certain:

Rows(path, rank)                                    the rank may choose its rows
Buffer()                                            each rank may fill it with rows that it has made
Stream(path)                                        an iterable data set, which may divide itself
make_rows(args)                                     of another package
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import (
    ancestors,
    assigned_once,
    assigned_parts,
    assignments,
    names_in,
    of_class,
    parts_of_target,
    precedes,
    self_attribute,
)
from trl_lint.domain.choices import OneOfProjectObjects
from trl_lint.domain.kinds import LibraryName, library_name_of
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import Value
from trl_lint.knowledge import library
from trl_lint.knowledge.datasets import DATASET_CLASSES, is_dataset
from trl_lint.knowledge.heuristics import KNOWS_SHARES, NAMES_DEVICE
from trl_lint.knowledge.python import ADD_TO_CONTAINERS
from trl_lint.knowledge.torch_distributed import BASES_OF_DATA, DATA_SETS, OF_OTHER_DATA, ROWS_OF_LOADER

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame


# Why a data set has other rows on each rank: not the order in which a folder lists its files.
_OF_OTHER_ROWS = Origin.DATA | Origin.RANK | Origin.RNG


class Rows(NamedTuple):
    """The rows that a call of a loader gets. data: the data set, or the one that they are a part of."""

    data: Value
    expression: cst.BaseExpression | None


def rows_of(frame: Frame, args: Arguments) -> Rows | None:
    """The rows of a loader with these arguments; None if it gets none."""
    data, given = args.get(*ROWS_OF_LOADER), args.node(*ROWS_OF_LOADER)
    if data is None:
        return None
    expression = None if given is None else given.value
    return Rows(data if expression is None else _origin(frame, data, expression, expression), expression)


def _origin(frame: Frame, value: Value, node: cst.BaseExpression, use: cst.CSTNode, depth: int = 4) -> Value:
    """The data set that an expression is, or of which it is a part, as far as this function shows it before its use."""
    if (
        isinstance(value, (OneOfProjectObjects, ProjectInstance))
        or is_dataset(value)
        or value.rank.differs
        or not depth
    ):
        return value
    if isinstance(node, cst.Name):
        made = _bound_last(frame.root, node.value, use)
        return value if made is None else _origin(frame, frame.value_of(made), made, made, depth - 1)
    if not isinstance(node, cst.Call) or id(node) not in frame.node_values:
        return value
    name = library.canonical(library_name_of(frame.engine.evaluate(frame, node.func)))
    if name.startswith(DATA_SETS):
        return LibraryName(name)
    if name in OF_OTHER_DATA and node.args:
        first, *others = (each.value for each in node.args)
        if not any(_may_be_by_rank(frame, each) for each in others):
            return _origin(frame, frame.value_of(first), first, node, depth - 1)
    return value


def _may_be_by_rank(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether the rank may decide what an expression is, as far as its code and that of its name show."""
    made = assigned_once(frame.root, node.value) if isinstance(node, cst.Name) else None
    names = names_in(node) | (set() if made is None else names_in(made))
    return frame.value_of(node).rank.differs or any(map(KNOWS_SHARES.fits, names))


def _bound_last(root: cst.CSTNode, name: str, use: cst.CSTNode) -> cst.BaseExpression | None:
    """What a name is bound to last before its use, if that is on each way there."""
    found = [
        each
        for each in of_class(root, cst.Assign)
        if any(_is_named(target.target, name) for target in each.targets) and precedes(root, each, use)
    ]
    around = {id(each) for each in ancestors(root, use)}
    if not found or not all(id(each) in around for each in ancestors(root, found[-1])[:-1]):
        return None
    # Of `train, test = read("train"), read("test")`, the part for this name.
    parts = [value for target, value in assigned_parts(found[-1]) if _is_named(target, name)]
    return parts[0] if len(parts) == 1 else found[-1].value


def _is_named(target: cst.BaseExpression, name: str) -> bool:
    return any(isinstance(each, cst.Name) and each.value == name for each in parts_of_target(target))


def makers(frame: Frame, data: Value) -> tuple[Module, ...] | None:
    """The files with the classes of a data set that each rank has all of; None if it may have a share of it."""
    if data.rank.differs:
        return None
    if isinstance(data, OneOfProjectObjects):
        found = [makers(frame, each) for each in data.options]
        return None if None in found else tuple(module for each in found for module in each or ())
    if isinstance(data, ProjectInstance):
        lineage = data.cls.project_lineage()
        return tuple(each.module for each in lineage) if _is_whole(frame, data.cls) else None
    if library_name_of(data) in DATASET_CLASSES or (isinstance(data, LibraryName) and data.name.startswith(DATA_SETS)):
        return ()
    return None


def _is_whole(frame: Frame, cls: ClassInfo) -> bool:
    """Whether objects of a class have an item for each index, and rows that all ranks get from their arguments."""
    if not _has_items(cls):
        return False
    if any(each is None for each in cls.lineage()) or not all(map(_is_plain, cls.library_bases())):
        return False
    if any(map(_shares, cls.project_lineage())) or _is_filled(cls):
        return False
    return not any(_differs(frame, name, frame.read_attribute(cls, name)) for name in sorted(cls.assigned()))


def _has_items(cls: ClassInfo) -> bool:
    """Whether the index decides which item of an object is read, and not a draw."""
    item = cls.find("__getitem__")
    if item is None or cls.find("__len__") is None or cls.find("__iter__") is not None:
        return False
    return len(item.parameters) > 1 and item.parameters[1].name in names_in(item.node.body)


def _is_filled(cls: ClassInfo) -> bool:
    """Whether others may give an object its rows, each rank those that it has made: `buffer.append(sample)`."""
    readers = (cls.find(name) for name in ("__getitem__", "__len__"))
    rows = {self_attribute(node) for each in readers if each is not None for node in of_class(each.node, cst.Attribute)}
    constructor = cls.find("__init__")
    made = names_in(constructor.node.body) if constructor is not None else set()
    methods = {name: each for base in cls.project_lineage() for name, each in base.methods.items()}
    return any(
        name not in made and not name.startswith("__") and not (rows - {""}).isdisjoint(_changed(each.node))
        for name, each in methods.items()
    )


def _changed(method: cst.CSTNode) -> Iterator[str]:
    """The attributes of `self` that a method assigns, or whose contents it changes."""
    for target, _ in assignments(method):
        yield from (self_attribute(each) for each in parts_of_target(target) if self_attribute(each))
    for call in of_class(method, cst.Call):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in ADD_TO_CONTAINERS:
            yield self_attribute(call.func.value)


def _is_plain(base: str) -> bool:
    """Whether a base of a class, of a library, shares nothing out."""
    return base in BASES_OF_DATA or base.startswith(DATA_SETS)


def _shares(cls: ClassInfo) -> bool:
    """Whether the code of a class knows of shares."""
    return KNOWS_SHARES.fits(cls.module.tree.code_for_node(cls.node))


def _differs(frame: Frame, name: str, value: Value | None) -> bool:
    """Whether an attribute, or something in it, is another one on each rank, and is not just the device."""
    if value is None or NAMES_DEVICE.fits(name):
        return False
    return _holds_differing(frame, value)


def _holds_differing(frame: Frame, value: Value, depth: int = 3) -> bool:
    """Whether a value, or something in a container that it is, is another one on each rank."""
    inside = [each.element() for each in frame.memory.cells(value)] if depth else []
    differs = value.rank.differs and bool(value.rank.origins & _OF_OTHER_ROWS)
    return differs or any(_holds_differing(frame, each, depth - 1) for each in inside)
