"""What a method reads from an attribute of `self`, by the order in which the methods of the class run.

    class Trainer:
        def __init__(self, model):
            self.model = model                                  bare
            self.build()
            self.prepare()
        def build(self):
            self.loader = DataLoader(self.rows)                 gone once `prepare` has run
        def prepare(self):
            self.loader = self.accelerator.prepare(self.loader)    what every method called later reads
        def fit(self, rows):
            self.model = self.accelerator.prepare(self.model)   wrapped from here on
            self.evaluate(rows)
        def evaluate(self, rows):
            self.model.generate(rows)                           MAYBE: wrapped if `fit` has called it
        def predict(self, rows):
            self.model = self.accelerator.prepare(self.model)
            self.scores(rows)                                   wrapped in what `scores` runs
            self.model = self.accelerator.unwrap_model(self.model)

What methods leave in an attribute is joined, in no order: if one has wrapped a model and another has not, the join is
unknown. But a call of the reader after the assignment shows one path on which the model is wrapped, and what a
constructor always replaces is gone when others read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

import libcst as cst

from trl_lint.analysis.program.definitions import call_order, construction
from trl_lint.analysis.program.definitions.creations import programs_of
from trl_lint.analysis.program.idioms.path_conditions import are_in_opposite_branches
from trl_lint.analysis.program.idioms.switched_by_heirs import is_switched_off
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.overridden import overridden_methods
from trl_lint.analysis.program.project.project import Project
from trl_lint.analysis.program.syntax import ancestors, of_class, self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models.wrapped_models import may_be_wrapped
from trl_lint.domain.equality import same_facts
from trl_lint.domain.model_roles import is_data_parallel, is_sharded, wrapping_of
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Kind, Value, Wrapping


class Wrappings:
    """By attribute: the assignments of a wrapped model, each with its method and the value, by the id of the target."""

    def __init__(self) -> None:
        self.by_attribute: dict[str, dict[int, tuple[FunctionInfo, cst.Attribute, Value]]] = {}


def note_wrapping(frame: Frame, cls: ClassInfo, target: cst.Attribute, value: Value) -> None:
    """Note that a method assigns a wrapped model to an attribute of its object."""
    name, method = self_attribute(target), frame.function
    if name and method is not None and method.name != "__init__" and may_be_wrapped(value):
        noted = cls.notes.of(Wrappings).by_attribute.setdefault(name, {})
        if id(target) not in noted:
            cls.count(name)  # what has read the attribute so far did not know of it
        noted[id(target)] = (method, target, value)
        frame.engine.note_stored(Wrappings, cls, target, value)


def wrapped_value(frame: Frame, cls: ClassInfo, name: str, value: Value, node: cst.CSTNode) -> Value:
    """The value of `self.name`, at a node, on the path on which another method has wrapped it; `value` if none has."""
    wrapped = _wrapped_before(frame, cls, name, value, node)
    return value if wrapped is None else as_read_elsewhere(frame, wrapped)


def has_wrapped_before(frame: Frame) -> bool:
    """Whether a method that runs before the current one has wrapped a model of its object, and no test asks for it."""
    cls = frame.cls
    if cls is None or frame.evaluated_conditions.reads_anything:
        return False
    noted = (base.notes.of(Wrappings).by_attribute for base in cls.project_lineage())
    values = {name: frame.read_attribute(cls, name) for name in chain.from_iterable(noted)}
    found = (
        _wrapped_before(frame, cls, name, value, frame.root) for name, value in values.items() if value is not None
    )
    return any(each is not None and not is_data_parallel(each) for each in found)


def _wrapped_before(frame: Frame, cls: ClassInfo, name: str, value: Value, node: cst.CSTNode) -> Value | None:
    """What a method that runs before the current one leaves in `self.name`, if it wraps it, at a node."""
    reader = frame.function
    if reader is None or reader.cls is None or reader.name == "__init__" or not is_uninformative(value):
        return None
    if not same_facts(value, frame.from_other_scope(cls.attribute(name, built=True) or value)):
        return None  # this method has assigned or tested it itself
    if name in _assignments(reader) and (frame.cls, name) in frame.memory.attributes:
        return None  # it has assigned it on one way
    for method, assigned in _assigned_in(cls, name):
        assigned_values = cls.values_assigned_in(name, method)
        is_sure = all(map(may_be_wrapped, assigned_values)) or _shards(method, assigned, assigned_values)
        if method is reader or not assigned_values or not is_sure:
            continue
        after = methods_after(frame, cls.origin, method, assigned)
        if any(each.node is reader.node for each in after) or _is_after_call(frame, cls.origin, method, assigned, node):
            return assigned_values[0]
    for method, target, until, wrapped in _among_others(cls, name):
        if method is reader:
            continue
        after = methods_after(frame, cls.origin, method, target, until)
        is_after = until is None and _is_after_call(frame, cls.origin, method, target, node)
        if is_after or any(each.node is reader.node for each in after):
            return wrapped
    return None


def _shards(method: FunctionInfo, assign: cst.Assign, values: Sequence[Value]) -> bool:
    """Whether a method puts a model into FSDP each time that it runs, and in a way that shards it."""
    is_chosen = any(isinstance(each, (cst.If, cst.Match, cst.Try)) for each in ancestors(method.node, assign))
    return not is_chosen and all(map(is_sharded, values))


def as_read_elsewhere(frame: Frame, wrapped: Value) -> Value:
    """A wrapped model as a method reads it that may also run where it is bare, of which FSDP keeps the attributes."""
    if is_sharded(wrapped):
        return frame.from_other_scope(wrapped)
    if wrapped.kind is not Kind.MODEL:
        return wrapped
    frame.engine.wraps_on_one_path = True
    frame.engine.note_stored("wraps on one way")
    return frame.from_other_scope(wrapped.replace(wrapping=Wrapping.MAYBE))


def _among_others(cls: ClassInfo, name: str) -> Iterator[tuple[FunctionInfo, cst.Attribute, cst.Assign | None, Value]]:
    """The assignments of a wrapped model in methods with several to that attribute.

    Each with its method, the next assignment that replaces it, if there is one, and the value.
    """
    never_run = overridden_methods(cls)
    for base in cls.project_lineage():
        for method, target, value in base.notes.of(Wrappings).by_attribute.get(name, {}).values():
            if id(method.node) in never_run or is_switched_off(cls, method, target):
                continue
            assigned = _assignments(method).get(name, ())
            places = [index for index, each in enumerate(assigned) if target in _targets(each)]
            if places and len(assigned) > 1:
                later = assigned[places[0] + 1 :]
                replaced = (each for each in later if not are_in_opposite_branches(method.node, target, each))
                yield method, target, next(replaced, None), value


def is_uninformative(value: Value) -> bool:
    """Whether nothing is known of the wrapper around a value."""
    return value.kind is Kind.UNKNOWN or wrapping_of(value) is Wrapping.UNKNOWN


def _assigned_in(cls: ClassInfo, name: str) -> Iterator[tuple[FunctionInfo, cst.Assign]]:
    """The methods, except `__init__`, that assign `self.name` once and have left a value there; with the assignment."""
    lineage = cls.project_lineage()
    writers = {writer for base in lineage for writer in base.writers(name)} - overridden_methods(cls)
    for method in (each for each in cls.project_methods() if id(each.node) in writers):
        assigned = _assignments(method).get(name, ())
        if method.name != "__init__" and len(assigned) == 1 and not is_switched_off(cls, method, assigned[0]):
            yield method, assigned[0]


def _assignments(method: FunctionInfo) -> dict[str, tuple[cst.Assign, ...]]:
    """The assignments to attributes of `self` in a method, by attribute name."""
    return method.module.notes.cached((_assignments, method), partial(_by_attribute, method.node))


def _by_attribute(code: cst.CSTNode) -> dict[str, tuple[cst.Assign, ...]]:
    found: dict[str, tuple[cst.Assign, ...]] = {}
    for assign in of_class(code, cst.Assign):
        for name in {self_attribute(each) for each in _targets(assign)} - {""}:
            found[name] = (*found.get(name, ()), assign)
    return found


def _targets(assign: cst.Assign) -> list[cst.BaseExpression]:
    return [each for target in assign.targets for each in _parts(target.target)]


def _parts(target: cst.BaseExpression) -> list[cst.BaseExpression]:
    return [each.value for each in target.elements] if isinstance(target, (cst.List, cst.Tuple)) else [target]


def methods_after(
    frame: Frame, cls: ClassInfo, method: FunctionInfo, node: cst.CSTNode, until: cst.CSTNode | None = None
) -> tuple[FunctionInfo, ...]:
    """The methods that run after a node of a method; see `call_order.methods_run_after`."""
    notes = method.module.notes
    work = partial(_find_methods_after, frame.engine.project, cls, method, node, until)
    return notes.cached((methods_after, cls, method, node, until), work)


def _is_after_call(
    frame: Frame, cls: ClassInfo, method: FunctionInfo, assigned: cst.CSTNode, node: cst.CSTNode
) -> bool:
    """Whether a node of the current method comes after a call through which the class runs the assignment."""
    work = partial(call_order.is_after_call, cls, method, assigned, frame.root, node)
    return method.module.notes.cached((_is_after_call, cls, method, assigned, node), work)


def _find_methods_after(
    project: Project, cls: ClassInfo, method: FunctionInfo, node: cst.CSTNode, until: cst.CSTNode | None
) -> tuple[FunctionInfo, ...]:
    return tuple(call_order.methods_run_after(cls, method, node, until, programs_of(project, cls)))


def value_left(frame: Frame, cls: ClassInfo, name: str, value: Value) -> Value:
    """The value of `self.name` without what is always replaced before a constructor ends; else `value`."""
    reader = frame.function
    if not cls.is_assigned_by_several(name) or (reader is not None and _runs_in_construction(cls, reader)):
        return value
    replaced = construction.replaced(cls.origin, name)
    if not replaced or not same_facts(value, frame.from_other_scope(cls.attribute(name, built=True) or value)):
        return value  # this method has assigned it itself
    left = cls.values_assigned_except(name, frozenset(id(each.node) for each in replaced))
    return value if left.rank.state is State.BOTTOM else frame.from_other_scope(left)


def _runs_in_construction(cls: ClassInfo, method: FunctionInfo) -> bool:
    return method in construction.run_in_construction(cls.origin)
