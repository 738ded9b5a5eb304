"""Data sets of the project that give the rows of one rank, each at a place that its number decides.

class Lines(IterableDataset):
    def __init__(self, files, rank, size): ...                  is passed the rank, of all ranks or of a mesh
    def __iter__(self):
        for path in self.files[self.rank :: self.size]:         the rows are this rank's own
            yield from open(path)

class Windows(IterableDataset):
    def __iter__(self):
        rank, size = dist.get_rank(), dist.get_world_size()     likewise
        yield from self.rows[rank::size]
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.own_rows import starts_in
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import self_attribute
from trl_lint.analysis.state.frame import Frame

# What the names of the classes of data sets begin with.
_DATA_SETS = "torch.utils.data."


def gives_own_rows(frame: Frame, cls: ClassInfo) -> bool:
    """Whether the objects of a class of data sets give each rank rows of its own."""
    return gives_rows(cls) and any(
        _is_rank(frame, cls, method, part) for each in cls.project_lineage() for method, part in starts_in(each.node)
    )


def gives_rows(cls: ClassInfo) -> bool:
    """Whether the objects of a class are data sets of torch."""
    return any(base.startswith(_DATA_SETS) and base.endswith("Dataset") for base in cls.library_bases())


def _is_rank(frame: Frame, cls: ClassInfo, method: cst.FunctionDef, part: cst.CSTNode) -> bool:
    """Whether a part of the number of a row is the rank: an attribute, or what the method asks for."""
    attribute = self_attribute(part)
    if attribute:
        value = frame.read_attribute(cls, attribute)
        return value is not None and value.rank.is_by_rank
    function = cls.find(method.name.value)
    if not isinstance(part, cst.Call) or function is None or function.node is not method:
        return False
    return frame.engine.evaluate(Frame(frame.engine, function.module, function), part).rank.is_by_rank
