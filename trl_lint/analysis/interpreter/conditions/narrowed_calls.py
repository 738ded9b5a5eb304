"""How a test that is a call narrows the name that it asks about, if its outcome is true, and some also if it is false.

For example:

    isinstance(reward, nn.Module)      a model, wrapped or not, if nothing was known of it
    isinstance(data, IterableDataset)  a data set of that class
    isinstance(model, FSDP)            a wrapper of which it is not known what it forwards
    isinstance(layer, Own) or isinstance(layer, Other)      not wrapped, since it is one of these classes
    isinstance(layer, Own) or isinstance(layer, Other) and layer.bias       the same, as each of both asks for a class
    isinstance(task, Caption)          of several objects of the project those of this class; else the others
    isinstance(self.logger, WandbLogger)   a logger of that class, if nothing more was known of it
    isinstance(shown, Figure)          a picture, and no metric
    key.startswith("memory_")          a key of a dict that begins so
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance, class_names
from trl_lint.analysis.program.idioms.path_conditions import alternatives, parts_of
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.data import data_sets
from trl_lint.domain.choices import OneOfProjectObjects
from trl_lint.domain.constants import MISSING
from trl_lint.domain.heap import WILDCARD
from trl_lint.domain.key_beginnings import KeyBeginning
from trl_lint.domain.kinds import LibraryInstance, LibraryName, StringValue, TupleValue
from trl_lint.domain.model_roles import wrapping_of
from trl_lint.domain.ranks import SAME, State
from trl_lint.domain.values import Kind, Value, Wrapping
from trl_lint.knowledge import datasets, library
from trl_lint.knowledge.lightning import is_told_by_test
from trl_lint.knowledge.loggers import IN_ROWS, PICTURES
from trl_lint.knowledge.models import MODEL_CLASSES, WRAPPER_CLASSES
from trl_lint.knowledge.schema import SOME_MODEL

# What is among the metrics of a step, and may be a picture as well.
_SHOWN = frozenset({Kind.BATCH, Kind.NUMBER, Kind.TENSOR, Kind.UNKNOWN})


def narrow(frame: Frame, test: cst.Call, outcome: bool) -> None:
    """Narrow what `isinstance`, `hasattr` or `startswith` has returned true for, or false."""
    if outcome and isinstance(test.func, cst.Attribute) and test.func.attr.value == "startswith":
        _narrow_to_beginning(frame, test.func.value, test)
    if _is_call_of(test, "isinstance") and len(test.args) > 1:
        _narrow_to_library(frame, test.args[0].value, test.args[1].value, outcome)
    name = _subject(test, "isinstance", "hasattr")
    value = frame.memory.names.get(name) if name else None
    if isinstance(value, OneOfProjectObjects):
        if _is_call_of(test, "isinstance") and (classes := _classes(frame, test)):
            frame.memory.names[name] = _those_of(value, classes, outcome)
    elif name and outcome:
        _refine(frame, name, _classes(frame, test) if _is_call_of(test, "isinstance") else None)


def _narrow_to_library(frame: Frame, subject: cst.BaseExpression, asked: cst.BaseExpression, outcome: bool) -> None:
    """Let a name, or an attribute of `self`, of unknown class be an object of the library's class that is asked for."""
    cls = frame.known_value(asked)
    name = library.canonical(cls.name) if isinstance(cls, LibraryName) else ""
    value = frame.value_of(subject)
    is_unknown = value.kind is Kind.UNKNOWN and value.rank.state is State.UNKNOWN
    is_wider = isinstance(value, LibraryInstance) and library.is_subclass(name, value.name)
    if not is_told_by_test(name) or not (is_unknown or is_wider):
        return
    known = LibraryInstance(name, value.rank) if outcome else value
    match subject:
        case cst.Name(value=key):
            if outcome and key in frame.memory.names:
                frame.memory.names[key] = known
        case cst.Attribute(value=cst.Name() as owner, attr=cst.Name(value=attribute)):
            receiver = frame.known_value(owner)
            if isinstance(receiver, ProjectInstance) and receiver.cls.find(attribute) is None:
                # Where the test fails it is what it was: then the two ways join to this.
                frame.memory.attributes[receiver.cls, attribute] = known


def _narrow_to_beginning(frame: Frame, subject: cst.BaseExpression, test: cst.Call) -> None:
    value = frame.memory.names.get(subject.value) if isinstance(subject, cst.Name) else None
    given = frame.known_value(test.args[0].value) if len(test.args) == 1 else None
    if type(value) is not StringValue or value.const is not MISSING or given is None:
        return
    starts = [each.const for each in (given.items if isinstance(given, TupleValue) else (given,))]
    texts = tuple(each for each in starts if isinstance(each, str) and WILDCARD not in each)
    if isinstance(subject, cst.Name) and texts and len(texts) == len(starts):
        frame.memory.names[subject.value] = value.as_a(KeyBeginning).with_parts(texts)


def narrow_to_one_of(frame: Frame, test: cst.BooleanOperation) -> None:
    """Narrow a name for which one of several `isinstance` calls has returned true, whatever else must hold with it."""
    calls = [next(filter(_asks_for_class, parts_of(each)), None) for each in alternatives(test)]
    asked = [each for each in calls if isinstance(each, cst.Call)]
    names = {_subject(each, "isinstance") for each in asked}
    classes = [_classes(frame, each) for each in asked]
    if len(asked) == len(calls) and len(names) == 1 and all(classes):
        _refine(frame, names.pop(), [name for each in classes for name in each])


def _asks_for_class(test: cst.BaseExpression) -> bool:
    return isinstance(test, cst.Call) and bool(_subject(test, "isinstance"))


def _refine(frame: Frame, name: str, classes: list[str] | None) -> None:
    value = frame.memory.names.get(name)
    narrowed = None if value is None else _narrowed(value, classes)
    if narrowed is not None:
        frame.memory.names[name] = narrowed


def _those_of(value: OneOfProjectObjects, classes: list[str], outcome: bool) -> Value:
    """Those of several objects that are of one of these classes, or of none of them, as far as it is known."""
    instances = (each for each in value.options if isinstance(each, ProjectInstance))
    kept = tuple(each for each in instances if _is_of(each.cls, classes) is not (not outcome))
    if not kept:
        return Value(value.rank)
    return kept[0] if len(kept) == 1 else value.with_parts(kept)


def _is_of(cls: ClassInfo, classes: list[str]) -> bool | None:
    """Whether a class is, or inherits from, one of these; None if that is not known."""
    bases = list(cls.lineage())
    names = (each.name if isinstance(each, ClassInfo) else each.rpartition(".")[2] for each in bases if each)
    if any(name in classes for name in names):
        return True
    return None if None in bases else False


def _is_call_of(test: cst.Call, *functions: str) -> bool:
    return isinstance(test.func, cst.Name) and test.func.value in functions


def _subject(test: cst.Call, *functions: str) -> str:
    """The name that one of these functions asks about; "" for another expression, or another call."""
    subject = test.args[0].value if _is_call_of(test, *functions) and test.args else None
    return subject.value if isinstance(subject, cst.Name) else ""


def _narrowed(value: Value, classes: list[str] | None) -> Value | None:
    """classes: the unqualified names of its classes; None if the test does not ask for the class."""
    if classes is not None and datasets.is_dataset(value):
        return data_sets.narrowed(value, classes)
    of_rows = value.kind is Kind.BATCH and IN_ROWS.issuperset(classes or ())
    if classes and PICTURES.issuperset(classes) and value.kind in _SHOWN and not of_rows:
        return value.replace(rank=SAME)  # no metric; after the branch, the fact of what else it may be is left
    if value.kind is Kind.UNKNOWN and classes and MODEL_CLASSES.issuperset(classes):
        differs = value.rank.state not in (State.SAME, State.UNKNOWN)
        return None if differs else SOME_MODEL.replace(rank=value.rank, grad=value.grad)
    if wrapping_of(value) is not Wrapping.WRAPPED:
        return None
    if classes is not None and WRAPPER_CLASSES.isdisjoint(classes):
        return value.replace(wrapping=Wrapping.UNKNOWN)
    return None


def _classes(frame: Frame, test: cst.Call) -> list[str]:
    """The unqualified names of the classes in the second argument of isinstance; empty if one is unknown."""
    return class_names(frame.known_value(test.args[1].value)) if len(test.args) > 1 else []
