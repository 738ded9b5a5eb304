"""What a metric of torchmetrics has counted on this rank: only its `compute` adds up what all ranks have.

    class Matrix(MulticlassConfusionMatrix):      a class that leaves `compute` as it is,
        def accuracy(self):                       and reads what it has counted in another method
            return self.confmat.diag().sum() / self.confmat.sum()

    self.matrix.compute()                         unknown: torchmetrics reduces it
    self.matrix.accuracy()                        local(data), in a LightningModule, which gets this rank's share

Of these, only a result of which nothing else is known is concerned.

    class Rate(Metric):                           a class with a `compute` of its own
        self.add_state("hits", ..., dist_reduce_fx="sum")

    self.rate.compute()                           reduced: torchmetrics does so with the states before it runs,
                                                  and all ranks meet in it
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import assignments, last_name, names_in, of_class, self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.kinds import TensorValue, TupleValue
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.evaluation import (
    ADDS_STATE,
    COMPUTES,
    COMPUTING,
    OWN_SYNCHRONISATION,
    REDUCES_STATES,
    STATES,
    WITHOUT_SYNCHRONISATION,
    is_metric_class,
)
from trl_lint.knowledge.lightning import is_module
from trl_lint.knowledge.schema import REDUCED, REDUCED_METRICS

_KINDS = frozenset({Kind.BATCH, Kind.NUMBER, Kind.TENSOR, Kind.UNKNOWN})


def result(frame: Frame, receiver: Value, method: FunctionInfo, node: cst.CSTNode, returned: Value) -> Value:
    """The result of a method, which may be one of a metric."""
    if not isinstance(receiver, ProjectInstance) or not any(map(is_metric_class, receiver.cls.library_bases())):
        return returned
    if method.name not in COMPUTES:
        return _of_this_rank(frame, receiver, method, node, returned)
    return _computed(returned) if _is_of_states(receiver.cls, method) else returned


def meets(frame: Frame, receiver: Value, method: FunctionInfo) -> bool:
    """Whether torchmetrics reduces the states of a metric, in which all ranks meet, before a method runs."""
    if method.name not in COMPUTES or not isinstance(receiver, ProjectInstance):
        return False
    cls = receiver.cls
    if not any(map(is_metric_class, cls.library_bases())) or frame.module.mentions(OWN_SYNCHRONISATION):
        return False
    if frame.module.program_mentions(rb"\b%b\([^)]*%b" % (cls.name.encode(), OWN_SYNCHRONISATION)):
        return False  # another file makes one that synchronises in its own way, or not at all
    calls = (call for each in cls.project_lineage() for call in of_class(each.node, cst.Call))
    return any(map(_state, calls)) and _is_of_states(cls, method)


def _computed(value: Value) -> Value:
    """What is computed from states that have been reduced."""
    if isinstance(value, TupleValue):
        return value.with_parts(tuple(map(_computed, value.items)))
    if value.kind is Kind.CONTAINER:
        return REDUCED_METRICS
    return REDUCED if value.rank.differs else value


def _is_of_states(cls: ClassInfo, compute: FunctionInfo) -> bool:
    """Whether what a `compute` reads and other methods assign are states, which torchmetrics reduces before."""
    lineage = cls.project_lineage()
    if any(WITHOUT_SYNCHRONISATION & names_in(each.node) for each in lineage):
        return False
    added = [_state(call) for each in lineage for call in of_class(each.node, cst.Call)]
    assigned = (_assigned_in(each.node) for each in cls.project_methods() if each.name != "__init__")
    own = _read_by(cls, compute) & set[str]().union(*assigned)
    return None in added or own <= set(added)


def _state(call: cst.Call) -> str | None:
    """The name of a state that a call adds; None if it is not a literal, and "" if it adds none."""
    if last_name(call.func) != ADDS_STATE:
        return ""
    named = [each.value for each in call.args if each.keyword is None or each.keyword.value == "name"]
    return str(named[0].evaluated_value) if named and isinstance(named[0], cst.SimpleString) else None


def _assigned_in(method: cst.CSTNode) -> set[str]:
    """The attributes of `self` that a method assigns, or adds something to."""
    added = {self_attribute(each.target) for each in of_class(method, cst.AugAssign)}
    return added | {self_attribute(target) for target, _ in assignments(method)}


def _of_this_rank(
    frame: Frame, receiver: ProjectInstance, method: FunctionInfo, node: cst.CSTNode, returned: Value
) -> Value:
    """The result of a method of a metric, called where each rank has its own share of the data."""
    if not _counts(receiver.cls):
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
    """Whether a metric leaves it to torchmetrics what is reduced, and when."""
    return not any(map(cls.find, COMPUTING)) and not any(
        each.module.mentions(REDUCES_STATES) for each in cls.project_lineage()
    )


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
