"""Reads of values that some ranks lack: a name or an attribute that is unbound there, or None used as an object.

For example:

    writer.flush()                   read and used: the ranks that lack it fail here
    if writer is not None: …         tested: the condition depends on the rank
    assert writer                    from here on, all ranks have it
    helper(writer)                   passed on: `helper` decides whether it is used
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter.objects import prepared_on_one, set_where_called
from trl_lint.analysis.program.definitions import set_by_text
from trl_lint.analysis.program.definitions.changed_state import (
    is_declared_global,
    is_set_once_outside_class,
    is_set_outside_class,
)
from trl_lint.analysis.program.idioms.path_conditions import parts_of
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import ancestors, below, names_in, of_class, self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.processes import lacking_ranks, placeholders
from trl_lint.domain import ranks
from trl_lint.domain.absence import Absence, Instead
from trl_lint.domain.equality import same_facts
from trl_lint.domain.kinds import ContainerValue, as_instead
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.sync_points import place_of
from trl_lint.domain.values import SAME, UNKNOWN, Value
from trl_lint.knowledge import lightning
from trl_lint.knowledge.python import BASES_WITHOUT_ATTRIBUTES


def of_name(frame: Frame, node: cst.Name, value: Value) -> Value:
    """The value of a name, once read: reading it fails on the ranks where it is not bound."""
    absence = value.absence
    if absence is None or not absence.is_unbound:
        return value
    name = node.value
    if name in frame.memory.names or (frame.outer is None and not is_declared_global(frame.module, name)):
        _emit(frame, node, absence)
    return _plain(value)


def of_attribute(frame: Frame, cls: ClassInfo, name: str, value: Value, node: cst.CSTNode) -> Value:
    """The value of an attribute, once read: on the ranks that lack it, reading it fails or returns None."""
    absence = prepared_on_one.absence_of(frame, cls, name, value)
    if absence is None:
        return _of_called_on_some(frame, cls, name, value, node)
    if absence is not value.absence:
        if absence.is_none:
            return value.replace(absence=absence)
        _emit(frame, node, absence)
        return value
    if is_set_outside_class(cls.module, name) and not _is_set_there(frame, name, absence):
        return value.as_present()
    if not absence.is_unbound:
        return value
    of_others = cls.values_assigned_by_others(name, frame.key)
    frame.objects.dependencies[(cls, name)] = cls.version(name)
    others = [each for each in (of_others, frame.engine.class_variable(cls, name)) if each is not None]
    others = [each for each in others if each.rank.state is not State.BOTTOM and not _is_of(each.absence, absence)]
    instead = _common({_instead(each) for each in others})
    if instead is Instead.NONE or (instead is Instead.FLAG and value.rank.state is State.UNKNOWN):
        return value.replace(absence=absence.with_other(instead))
    if not others and not may_have(cls, name) and isinstance(node, cst.Attribute):
        _emit(frame, node, absence)
    return value.as_present()


def _of_called_on_some(frame: Frame, cls: ClassInfo, name: str, value: Value, node: cst.CSTNode) -> Value:
    """The same for an attribute that only a method sets which only some ranks call."""
    absence = set_where_called.absence_of(frame, cls, name, value)
    if absence is None or may_have(cls, name):
        return value
    if absence.is_none:
        return value.replace(absence=absence)
    if isinstance(node, cst.Attribute):
        _emit(frame, node, absence)
    return value


def of_question(frame: Frame, cls: ClassInfo, name: str, value: Value) -> Absence | None:
    """Why `hasattr` is false on some ranks for an attribute with this value; None if it is not known to be."""
    absence = value.absence
    if absence is None and not may_have(cls, name):
        absence = set_where_called.lacking(frame, cls, name)
    return absence if absence is not None and absence.is_unbound else None


def _is_set_there(frame: Frame, name: str, absence: Absence) -> bool:
    """Whether the place that sets an attribute on some ranks is the only one outside its class."""
    place = absence.bound.node
    is_outside = isinstance(place, cst.Attribute) and not self_attribute(place)
    return is_outside and is_set_once_outside_class(frame.engine.project, name)


def _instead(value: Value) -> Instead | None:
    """What all ranks have, or some of them, with this value, if it is None or a constant flag."""
    return as_instead(value) if value.absence is None else value.absence.instead


def _common(found: set[Instead | None]) -> Instead | None:
    return next(iter(found)) if len(found) == 1 else None


def _is_none_on_some(value: Value) -> bool:
    return _instead(value) is Instead.NONE


def _is_of(one: Absence | None, other: Absence) -> bool:
    """Whether a value is bound on exactly the same ranks as another one."""
    return one is not None and one.is_unbound and (one.test, one.holds) == (other.test, other.holds)


def may_have(cls: ClassInfo, name: str) -> bool:
    """Whether an object may have an attribute that no known method assigns."""
    if any(base is None for base in cls.lineage()) or cls.find(name) or cls.find("__getattr__"):
        return True
    if any(each not in BASES_WITHOUT_ATTRIBUTES and lightning.may_have(each, name) for each in cls.library_bases()):
        return True
    return any(set_by_text.may_set(each.node, name) for each in cls.project_lineage())


def used(frame: Frame, node: cst.CSTNode, value: Value) -> Value:
    """Note a use that fails for None: reading an attribute, a call, an addition. Return the value after it.

    The ranks that get past the use have the value. Whether it differs between these is not known if all that is known
    to differ is which ranks have it.
    """
    if value.absence is None or not value.absence.is_none:
        return value
    _emit(frame, node, value.absence)
    return _plain(value.replace(rank=ranks.UNKNOWN) if value.rank.is_by_rank and value.provenance is None else value)


def note_presence(frame: Frame, test: cst.BaseExpression) -> None:
    """Called where a test is true: from here on, no rank lacks the values that it tests."""
    for expression in map(_present_if_true, parts_of(test)):
        value = frame.value_of(expression)
        if value.absence is None:
            continue
        if isinstance(expression, cst.Name):
            frame.memory.names[expression.value] = value.as_present()
        if isinstance(expression, cst.Subscript):
            container = frame.value_of(expression.value)
            frame.update(container, lambda cell: cell.changed(Value.as_present))
        for key, attribute in frame.memory.attributes.items():
            if attribute is value and self_attribute(expression) == key[1]:
                frame.memory.attributes[key] = value.as_present()


def once_kept(frame: Frame, value: Value, expression: cst.CSTNode | None) -> Value:
    """A value as a container holds it. The ranks that lack it do not get here if a condition on the rank keeps them
    away, or may not if a condition asks for the value itself: `if callable(hook): hooks.append(hook)`.
    """
    if value.absence is None:
        return value
    tests = map(place_of, frame.memory.control.conditions)
    is_asked = expression is not None and any(mentions(each, expression) for each in tests)
    return value.as_present() if is_asked or _is_guarded(frame) else value


def of_entry(frame: Frame, node: cst.Subscript, container: Value, index: Value, value: Value) -> Value:
    """The value of a subscript, with its absence if it is one entry of a list or dict that a function has under a name
    of its own: `box[0]`. Other functions may give it another one.
    """
    if container.absence is not None:
        placeholders.note_read(frame, node, container.absence)
    is_one = isinstance(container, ContainerValue) and len(container.identities) == 1
    if value.absence is None or not is_one or type(index.const) not in (int, str) or not _is_none_on_some(value):
        return value.as_present()
    is_own = isinstance(node.value, cst.Name) and _is_own_name(frame, node.value.value)
    return value if is_own else value.as_present()


def _is_own_name(frame: Frame, name: str) -> bool:
    """Whether a name is of this function, or of a module of which no function has it."""
    if frame.function is not None:
        return name in frame.memory.names and name not in frame.nonlocals
    functions = of_class(frame.module.tree, cst.FunctionDef)
    return not any(name in names_in(each) for each in functions)


def note_removal(frame: Frame, container: Value) -> bool:
    """Where a condition on the rank decides whether something is taken out of a container, take out the None that some
    ranks have in it. Returns whether that is what the code does: `if hooks[name] is None: del hooks[name]`.
    """
    values = (value for cell in frame.memory.cells(container) for value in cell.values())
    if not any(map(_is_none_on_some, values)) or not _is_guarded(frame):
        return False
    frame.update(container, lambda cell: cell.changed(Value.as_present))
    return True


def _is_guarded(frame: Frame) -> bool:
    return any(Origin.RANK in each.rank.origins for each in frame.memory.control.conditions)


def mentions(test: cst.CSTNode | None, expression: cst.CSTNode) -> bool:
    """Whether a test has an expression in it."""
    kind = type(expression)
    return test is not None and any(type(part) is kind and part.deep_equals(expression) for part in below(test))


def _present_if_true(part: cst.CSTNode) -> cst.CSTNode:
    """The expression that is not None if this part of a test is true: `x` for `x is not None`, and for `x`."""
    match part:
        case cst.Comparison(
            left=asked, comparisons=[cst.ComparisonTarget(operator=cst.IsNot(), comparator=cst.Name(value="None"))]
        ):
            return asked
        case cst.Call(func=cst.Name(value="isinstance"), args=[cst.Arg(value=asked), *_]):
            return asked
    return part


def _is_of_those_who_define(frame: Frame, absence: Absence) -> bool:
    """Whether the ranks that have a function have the value, too: both are bound in the same branch of a condition."""
    function, place = frame.function, absence.bound
    if function is None or place.module is not function.module:
        return False
    around = (each for each in ancestors(place.module.tree, function.node) if isinstance(each, cst.If))
    return any(part is place.node for each in around for part in below(each.body))


def _emit(frame: Frame, node: cst.CSTNode, absence: Absence) -> None:
    if _is_of_those_who_define(frame, absence):
        return
    for observe in frame.observers.lacked:
        observe(frame, node, absence)
    if lacking_ranks.fail_at(frame, node, absence):
        frame.memory.control = frame.memory.control.once_others_failed()


def _plain(value: Value) -> Value:
    plain = value.as_present()
    return next((each for each in (UNKNOWN, SAME) if value.provenance is None and same_facts(plain, each)), plain)
