"""Classes of a project that inherit from torch's DataLoader, and what they loop over.

class Loader(DataLoader):
    def __init__(self, rows):
        super().__init__(rows, sampler=DistributedSampler(rows))

for batch in Loader(rows): ...      batches of the DataLoader that `super().__init__` makes
"""

from __future__ import annotations

from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.domain.choices import OneOfProjectObjects
from trl_lint.domain.values import Value
from trl_lint.knowledge.torch_distributed import DATA_LOADER

# The attribute that stands for the DataLoader that an object is.
LOADER_ITSELF = "<DataLoader>"


def is_loader(cls: ClassInfo) -> bool:
    """Whether objects of a class are looped over as a DataLoader is."""
    return DATA_LOADER in cls.library_bases() and not any(map(cls.find, ("__iter__", "__next__")))


def may_be_loader(value: Value) -> bool:
    """Whether a value is one of several objects, of which one is a loader, and another is not."""
    classes = map(class_of, value.options) if isinstance(value, OneOfProjectObjects) else ()
    return len({cls is not None and is_loader(cls) for cls in classes}) > 1
