"""Classes of a project that inherit from `dict`, and the entries of their objects.

class Meters(dict):
    def __init__(self, names):
        super().__init__({name: Meter() for name in names})
    def add(self, name):
        self[name] = Meter()
    def sums(self):
        return [each.sum() for each in self.values()]      of the dict that the object is
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.syntax import last_name, of_class
from trl_lint.domain.heap import Cell
from trl_lint.domain.kinds import ContainerValue
from trl_lint.domain.values import Value
from trl_lint.knowledge.python import DICTS

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame

# The attribute that stands for the dict that an object is.
_DICT_ITSELF = "<Dict>"
# With a method of its own among these, an object may keep its entries elsewhere, or have others.
_OF_ENTRIES = frozenset({
    "__delitem__", "__getattr__", "__getattribute__", "__getitem__", "__iter__", "__missing__", "__new__",
    "__setattr__", "__setitem__",
})  # fmt: skip
# What else fills an object, or makes entries of its attributes; and the last names of the classes.
_FILL = frozenset({"__dict__", "__setitem__"})
_NAMES = frozenset(name.rpartition(".")[2] for name in DICTS)


@noted
def is_dict(cls: ClassInfo) -> bool:
    """Whether objects of a class have the entries of a dict, and no other way to get at them."""
    if DICTS.isdisjoint(cls.library_bases()) or _fills_otherwise(cls):
        return False
    return all(isinstance(each, (ClassInfo, str)) for each in cls.lineage()) and not any(map(cls.find, _OF_ENTRIES))


def _fills_otherwise(cls: ClassInfo) -> bool:
    """`self.__dict__ = self`, after which attributes are entries, `dict.update(self, …)`, `super().__setitem__(…)`."""
    accesses = [each for one in cls.project_lineage() for each in of_class(one.node, cst.Attribute)]
    return any(each.attr.value in _FILL or last_name(each.value) in _NAMES for each in accesses)


def note(frame: Frame, receiver: Value, entries: Value) -> None:
    """An object that is a dict has got its entries, known or not: in its constructor, `super().__init__(entries)`."""
    if isinstance(receiver, ProjectInstance) and is_dict(receiver.cls):
        frame.write_attribute(receiver.cls, _DICT_ITSELF, entries)


def with_entries(frame: Frame, value: Value) -> Value:
    """The dict that an object of the project is, if its entries are known; other values as they are."""
    if not isinstance(value, ProjectInstance) or not is_dict(value.cls):
        return value
    found = frame.read_attribute(value.cls, _DICT_ITSELF)
    return found if isinstance(found, ContainerValue) else value


def as_filled(frame: Frame, value: Value) -> Value:
    """The same, for a new entry: in the constructor, which need not call that of `dict`, it may be the first one."""
    found = with_entries(frame, value)
    if found is not value or not isinstance(value, ProjectInstance) or not is_dict(value.cls):
        return found
    if frame.function is None or frame.function.name != "__init__" or frame.cls is not value.cls:
        return value
    note(frame, value, frame.allocate((_DICT_ITSELF, id(frame.root)), Cell("dict")))
    return with_entries(frame, value)
