"""What a metric of torchmetrics has counted on this rank: only its `compute` adds up what all ranks have.

    class Matrix(MulticlassConfusionMatrix):      a class that leaves `compute` as it is,
        def accuracy(self):                       and reads what it has counted in another method
            return self.confmat.diag().sum() / self.confmat.sum()

    self.matrix.compute()                         unknown: torchmetrics reduces it
    self.matrix.accuracy()                        local(data), in a LightningModule, which gets this rank's share

Only a result of which nothing else is known is concerned.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import of_class, self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.kinds import TensorValue, TupleValue
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.evaluation import COMPUTING, REDUCES_STATES, STATES, is_metric_class
from trl_lint.knowledge.lightning import is_module

_KINDS = frozenset({Kind.BATCH, Kind.NUMBER, Kind.TENSOR, Kind.UNKNOWN})


def of_this_rank(frame: Frame, receiver: Value, method: FunctionInfo, node: cst.CSTNode, returned: Value) -> Value:
    """The result of a method of a metric, called where each rank has its own share of the data."""
    if not isinstance(receiver, ProjectInstance) or not _counts(receiver.cls):
        return returned
    if frame.cls is None or not is_module(frame.cls.library_bases()):
        return returned
    if not STATES & _read_by(receiver.cls, method):
        return returned
    step = frame.step(node, "`{}` is of what the metric has counted on this rank: `compute` is not called")
    return _counted(returned, TensorValue(ranks.LOCAL, grad=False, provenance=step))


def _counted(value: Value, known: Value) -> Value:
    """A result, or the parts of a tuple: what is known of it where nothing was."""
    if isinstance(value, TupleValue):
        return value.with_parts(tuple(_counted(each, known) for each in value.items))
    return known if value.rank == ranks.UNKNOWN and value.kind in _KINDS else value


def _counts(cls: ClassInfo) -> bool:
    """Whether a class is a metric of torchmetrics that leaves it to torchmetrics what is reduced, and when."""
    if not any(map(is_metric_class, cls.library_bases())) or any(map(cls.find, COMPUTING)):
        return False
    return not any(each.module.mentions(REDUCES_STATES) for each in cls.project_lineage())


def _read_by(cls: ClassInfo, method: FunctionInfo) -> set[str]:
    """The attributes of `self` that a method, and those that it calls on the same object, mention."""
    found: set[str] = set()
    waiting = [method]
    while waiting:
        for name in {self_attribute(each) for each in of_class(waiting.pop().node, cst.Attribute)} - found:
            found.add(name)
            called = cls.find(name) if name else None
            waiting += [called] if called is not None else []
    return found
