"""What a test that is a call tells of the name that it asks about, where it has come out as true.

isinstance(reward, nn.Module)      a model, wrapped or not, where nothing was known of it
isinstance(data, IterableDataset)  a data set of that class
isinstance(model, FSDP)            a wrapper of which it is not known what it forwards
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import class_names
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.data import data_sets
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Kind, Value, Wrapping
from trl_lint.knowledge import datasets
from trl_lint.knowledge.models import MODEL_CLASSES, WRAPPER_CLASSES
from trl_lint.knowledge.schema import SOME_MODEL


def narrow(frame: Frame, test: cst.Call) -> None:
    """Refine what is known of a name that `isinstance` or `hasattr` has been asked about, with yes for an answer."""
    if not (isinstance(test.func, cst.Name) and test.func.value in ("isinstance", "hasattr") and test.args):
        return
    subject = test.args[0].value
    value = frame.memory.names.get(subject.value) if isinstance(subject, cst.Name) else None
    if value is None or not isinstance(subject, cst.Name):
        return
    classes = _classes(frame, test) if test.func.value == "isinstance" else None
    narrowed = _narrowed(value, classes)
    if narrowed is not None:
        frame.memory.names[subject.value] = narrowed


def _narrowed(value: Value, classes: list[str] | None) -> Value | None:
    """classes: the own names of those that it is of; None where it was asked for something else than its class."""
    if classes is not None and datasets.is_dataset(value):
        return data_sets.narrowed(value, classes)
    if value.kind is Kind.UNKNOWN and classes and MODEL_CLASSES.issuperset(classes):
        differs = value.rank.state not in (State.SAME, State.UNKNOWN)
        return None if differs else SOME_MODEL.but(rank=value.rank, grad=value.grad)
    if value.kind is not Kind.MODEL or value.wrapping is not Wrapping.WRAPPED:
        return None
    if classes is not None and WRAPPER_CLASSES.isdisjoint(classes):
        return value.but(wrapping=Wrapping.UNKNOWN)
    return None


def _classes(frame: Frame, test: cst.Call) -> list[str]:
    """The own names of the classes in the second argument of isinstance; empty when one is unknown."""
    return class_names(frame.node_values.get(id(test.args[1].value))) if len(test.args) > 1 else []
