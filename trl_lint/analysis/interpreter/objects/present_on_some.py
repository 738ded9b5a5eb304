"""Reading what some ranks lack: a name or an attribute that is not bound there, or None that is used as an object.

writer.flush()                   read and used: the ranks without it fail here
if writer is not None: …         asked for, which is a question for the rank
assert writer                    from here on it is there
helper(writer)                   handed on: whether it is used, `helper` says
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import parts_of
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import names_in, self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.absence import Absence
from trl_lint.domain.equality import same_facts
from trl_lint.domain.ranks import State
from trl_lint.domain.values import SAME, UNKNOWN, Kind, Value
from trl_lint.knowledge.python import BASES_WITHOUT_ATTRIBUTES


def of_name(frame: Frame, node: cst.Name, value: Value) -> Value:
    """What a name stands for, wherever it is bound: on the ranks that lack it, reading it fails."""
    absence = value.absence
    if absence is None or absence.is_none:
        return value
    if node.value in frame.memory.names or (frame.outer is None and _is_bound_by_module_only(frame, node.value)):
        _emit(frame, node, absence)
    return _plain(value)


def _is_bound_by_module_only(frame: Frame, name: str) -> bool:
    """Whether a global name is bound by the body of the module alone."""
    return not frame.module.mentions(rb"(?m)^\s+global\s[^\n]*\b" + name.encode() + rb"\b")


def of_attribute(frame: Frame, cls: ClassInfo, name: str, value: Value, node: cst.CSTNode) -> Value:
    """What an attribute of an object in sight holds: on the ranks that lack it, reading it fails, or gives None."""
    absence = value.absence
    if absence is None:
        return value
    if _is_set_outside_class(cls, name):
        return value.replace(absence=None)
    if absence.is_none:
        return value
    of_others = cls.values_assigned_by_others(name, frame.key)
    frame.objects.dependencies[(cls, name)] = cls.version(name)
    others = [each for each in (of_others, frame.engine.class_variable(cls, name)) if each is not None]
    others = [each for each in others if each.rank.state is not State.BOTTOM and not _is_of(each.absence, absence)]
    if others and all(map(_is_none_on_some, others)):
        return value.replace(absence=absence.as_none())
    if not others and not _may_have(cls, name) and isinstance(node, cst.Attribute):
        _emit(frame, node, absence)
    return value.replace(absence=None)


def _is_none_on_some(value: Value) -> bool:
    """Whether a value is None, for all ranks or for some."""
    return value.kind is Kind.NONE or (value.absence is not None and value.absence.is_none)


def _is_of(one: Absence | None, other: Absence) -> bool:
    """Whether one thing is bound where another is, and nowhere else."""
    return one is not None and not one.is_none and one.is_as(other.test, other.holds)


def _is_set_outside_class(cls: ClassInfo, name: str) -> bool:
    """Whether code outside of a class, in its file, gives its objects an attribute: `trainer.writer = writer`."""
    field = name.encode()
    return cls.module.mentions(
        rb"(?m)^\s*(?!self\.)[\w.]+\." + field + rb"\s*(?::[^=\n]+)?=[^=]"
    ) or cls.module.mentions(rb"setattr\(\s*\w+\s*,\s*[\"']" + field + rb"[\"']")


def _may_have(cls: ClassInfo, name: str) -> bool:
    """Whether an object may have an attribute that no method in sight assigns."""
    if any(base is None for base in cls.lineage()) or cls.find(name) or cls.find("__getattr__"):
        return True
    if not BASES_WITHOUT_ATTRIBUTES.issuperset(cls.library_bases()):
        return True
    return any(not _SETS_ATTRIBUTES.isdisjoint(names_in(each.node)) for each in cls.project_lineage())


# By these an object gets attributes that the text does not name.
_SETS_ATTRIBUTES = frozenset({"__dict__", "__setattr__", "setattr"})


def used(frame: Frame, node: cst.CSTNode, value: Value) -> Value:
    """A value as what is done with it finds it, which None can't be: its attribute is read, it is called, it is added.

    Those that get past this have it.
    """
    if value.absence is None or not value.absence.is_none:
        return value
    _emit(frame, node, value.absence)
    return _plain(value)


def note_presence(frame: Frame, test: cst.BaseExpression) -> None:
    """A test has come out true: what it asks for is there from here on."""
    for expression in map(_present_if_true, parts_of(test)):
        value = frame.node_values.get(id(expression), UNKNOWN)
        if value.absence is None:
            continue
        if isinstance(expression, cst.Name):
            frame.memory.names[expression.value] = value.replace(absence=None)
        for key, attribute in frame.memory.attributes.items():
            if attribute is value and self_attribute(expression) == key[1]:
                frame.memory.attributes[key] = value.replace(absence=None)


def _present_if_true(part: cst.CSTNode) -> cst.CSTNode:
    """What is there, and not None, where a part of a test is true: of `x is not None`, and of `x`, what `x` is."""
    match part:
        case cst.Comparison(
            left=asked, comparisons=[cst.ComparisonTarget(operator=cst.IsNot(), comparator=cst.Name(value="None"))]
        ):
            return asked
        case cst.Call(func=cst.Name(value="isinstance"), args=[cst.Arg(value=asked), *_]):
            return asked
    return part


def _emit(frame: Frame, node: cst.CSTNode, absence: Absence) -> None:
    for observe in frame.observers.lacked:
        observe(frame, node, absence)


def _plain(value: Value) -> Value:
    plain = value.replace(absence=None)
    return next((each for each in (UNKNOWN, SAME) if value.provenance is None and same_facts(plain, each)), plain)
