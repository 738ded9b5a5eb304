"""Classes of a project that inherit from torch's DataLoader, and what they loop over.

class Loader(DataLoader):
    def __init__(self, rows):
        super().__init__(rows, sampler=DistributedSampler(rows))

for batch in Loader(rows): ...      batches of the DataLoader that `super().__init__` makes

class InBackground(DataLoader):     the same: its batches are made ahead. Its objects are those of DataLoader, and each
    def __iter__(self):             gives batches of its own, as the class adds nothing else
        return BackgroundGenerator(super().__iter__())
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import is_super, last_name
from trl_lint.domain.choices import OneOfProjectObjects
from trl_lint.domain.values import Value
from trl_lint.knowledge.sharing_loaders import MADE_AHEAD
from trl_lint.knowledge.torch_distributed import DATA_LOADER

# The attribute that stands for the DataLoader that an object is.
LOADER_ITSELF = "<DataLoader>"


def is_loader(cls: ClassInfo) -> bool:
    """Whether objects of a class are looped over as a DataLoader is."""
    if DATA_LOADER not in cls.library_bases() or cls.find("__next__") is not None:
        return False
    iterates = cls.find("__iter__")
    return iterates is None or _passes_on(iterates)


def adds_nothing(cls: ClassInfo) -> bool:
    """Whether objects of a class do no more than a DataLoader does."""
    return is_loader(cls) and all(each.methods.keys() <= {"__iter__"} for each in cls.project_lineage())


def _passes_on(iterates: FunctionInfo) -> bool:
    """Whether a method does no more than to pass on what the method above it gives, in a thread of its own."""
    match iterates.node.body:
        case cst.IndentedBlock(
            body=[cst.SimpleStatementLine(body=[cst.Return(value=cst.Call(func=function, args=[first, *_]))])]
        ):
            return last_name(function) in MADE_AHEAD and _is_above(first.value, iterates.name)
    return False


def _is_above(node: cst.BaseExpression, name: str) -> bool:
    """Whether an expression is `super().name()`."""
    function = node.func if isinstance(node, cst.Call) else None
    return isinstance(function, cst.Attribute) and function.attr.value == name and is_super(function.value)


def may_be_loader(value: Value) -> bool:
    """Whether a value is one of several objects, of which one is a loader, and another is not."""
    classes = map(class_of, value.options) if isinstance(value, OneOfProjectObjects) else ()
    return len({cls is not None and is_loader(cls) for cls in classes}) > 1
