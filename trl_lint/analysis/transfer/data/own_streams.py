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

Some ranks may have one row more than others, unless the class looks how many are left (`len(self.rows) % self.size`),
or starts the rows over.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.own_rows import rows_given_by, shares_of, starts_in, written
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import last_name, of_class, self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.constants import WORLD_SIZE
from trl_lint.domain.values import Value
from trl_lint.knowledge.torch_distributed import DISTRIBUTED_SAMPLER

# What the names of the classes of data sets begin with.
_DATA_SETS = "torch.utils.data."
# The function of itertools that starts rows over.
_CYCLE = "cycle"


def gives_own_rows(frame: Frame, cls: ClassInfo) -> bool:
    """Whether the objects of a class of data sets give each rank rows of its own."""
    return gives_rows(cls) and any(
        _is_rank(frame, cls, method, part) for each in cls.project_lineage() for method, part in starts_in(each.node)
    )


def gives_all_dealt(frame: Frame, cls: ClassInfo) -> bool:
    """Whether a stream gives all rows that are dealt to a rank once, also the last ones, of which others may have none.

    Each part of its code that takes a share is one by the number of the rank and that of all ranks.
    """
    found = cls.find("__iter__")
    method = None if found is None else found.node
    if not isinstance(method, cst.FunctionDef) or DISTRIBUTED_SAMPLER in cls.library_bases():
        return False
    if _is_left(method) or any(_may_be_endless(each.node) for each in cls.project_lineage()):
        return False
    shares = list(shares_of(method))
    return bool(shares) and all(
        _is_rank(frame, cls, method, written(method, rank))
        and _is_size(frame, cls, method, written(method, size))
        and _goes_to_the_end(node)
        and not _rounds_by(cls, size)
        for node, rank, size in shares
    )


def _is_left(method: cst.FunctionDef) -> bool:
    """Whether a loop of a method is left before its end, perhaps after as many rows on all ranks."""
    bodies = [each.body for each in of_class(method, cst.For)]
    return any(any(of_class(each, cst.Break)) or any(of_class(each, cst.Return)) for each in bodies)


def _may_be_endless(cls: cst.ClassDef) -> bool:
    """Whether a class has code that may start rows over: `while`, `itertools.cycle(rows)`."""
    return any(of_class(cls, cst.While)) or any(last_name(each.func) == _CYCLE for each in of_class(cls, cst.Call))


def _goes_to_the_end(share: cst.CSTNode) -> bool:
    """Whether a share ends where the rows do, and not at a number that may be a multiple: `rows[rank:total:size]`."""
    match share:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Slice(upper=end))]):
            return end is None
        case cst.Call(func=cst.Name("range"), args=[_, cst.Arg(value=end), _]):
            return isinstance(end, cst.Call) and last_name(end.func) == "len"
    return True


def _is_size(frame: Frame, cls: ClassInfo, method: cst.FunctionDef, size: cst.CSTNode) -> bool:
    """Whether a number is that of all ranks: an attribute, or what the method asks for."""
    attribute = self_attribute(size)
    value = frame.read_attribute(cls, attribute) if attribute else _evaluated(frame, cls, method, size)
    return value is not None and value.const is WORLD_SIZE


def _rounds_by(cls: ClassInfo, size: cst.BaseExpression) -> bool:
    """Whether a class divides by the number of ranks, asks for the rest, or adds rows: it may give all ranks as many.

    It may do so by another name, as in `rows + rows[: -len(rows) % num_replicas]`. The turns of ranks are no such rest.
    """
    turns = {id(each.left) for each in of_class(cls.node, cst.Comparison)}
    name = last_name(size)
    return any(
        isinstance(each.operator, (cst.Divide, cst.FloorDivide, cst.Modulo))
        and (last_name(each.right) == name or isinstance(each.right, cst.Call))
        and id(each) not in turns
        for each in of_class(cls.node, cst.BinaryOperation)
    )


def has_length_of_rows(cls: ClassInfo) -> bool:
    """Whether a data set has as many items as one of the attributes whose items it gives has: `len(self.rows)`."""
    method = cls.find("__len__")
    given = {name for each in cls.project_lineage() for name in rows_given_by(each.node)}
    returned = () if method is None else of_class(method.node, cst.Return)
    counted = [_counted(each.value) for each in returned]
    return len(counted) == 1 and counted[0] in given


def _counted(number: cst.BaseExpression | None) -> str:
    """The attribute in `len(self.rows)`; "" for other numbers."""
    match number:
        case cst.Call(func=cst.Name("len"), args=[cst.Arg(value=rows)]):
            return self_attribute(rows)
    return ""


def gives_rows(cls: ClassInfo) -> bool:
    """Whether the objects of a class are data sets of torch."""
    return any(base.startswith(_DATA_SETS) and base.endswith("Dataset") for base in cls.library_bases())


def _is_rank(frame: Frame, cls: ClassInfo, method: cst.FunctionDef, part: cst.CSTNode) -> bool:
    """Whether a part of the number of a row is the rank: an attribute, or what the method asks for."""
    attribute = self_attribute(part)
    if attribute:
        value = frame.read_attribute(cls, attribute)
        return value is not None and value.rank.is_by_rank
    value = _evaluated(frame, cls, method, part)
    return value is not None and value.rank.is_by_rank


def _evaluated(frame: Frame, cls: ClassInfo, method: cst.FunctionDef, part: cst.CSTNode) -> Value | None:
    """The value of a call in a method of a class; None for anything else."""
    function = cls.find(method.name.value)
    if not isinstance(part, cst.Call) or function is None or function.node is not method:
        return None
    return frame.engine.evaluate(Frame(frame.engine, function.module, function), part)
