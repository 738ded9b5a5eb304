"""Numbers and flags of an object that only a method changes which only some ranks call.

For example:

    class Stopping:
        def __init__(self):
            self.stop = False
        def __call__(self, score):
            if score < self.best:
                self.stop = True

    if rank == 0:
        self.stopping(score)        noted: the only call
    if self.stopping.stop:          differs between ranks: the others never set it
        break
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import libcst as cst

from trl_lint.analysis.interpreter.objects.prepared_on_one import attribute_targets
from trl_lint.analysis.interpreter.objects.present_on_some import may_have
from trl_lint.analysis.program.definitions.call_order import methods_run_by
from trl_lint.analysis.program.definitions.changed_state import is_set_only_in, uses_of_method_of
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import attribute_values, last_name
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.processes.changed_on_some import ChangedOnSome
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING
from trl_lint.domain.control import Uniformity
from trl_lint.domain.provenance import Step
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import Kind, Value


def value_left_by_some(frame: Frame, cls: ClassInfo, name: str, value: Value) -> Value:
    """The value of an attribute, which differs between ranks if only some of them have changed it."""
    called = cls.notes.of(ChangedOnSome).by_method
    if not called or frame.function is None or frame.function.name == "__init__":
        return value
    if value.kind is not Kind.NUMBER or value.rank != ranks.SAME or value.const is not MISSING:
        return value
    if any(Origin.RANK in each.rank.origins for each in frame.memory.control.conditions):
        return value
    setters = [each for each in cls.project_methods() if each.name != "__init__" and _changes(cls, each, name)]
    call = called.get((cls, setters[0].name)) if len(setters) == 1 else None
    if call is None or any(frame.function is each for each in methods_run_by(cls, setters[0].name)):
        return value
    if _is_reset(cls, setters[0], name, called) or not _is_only_call(frame, cls, setters[0], call):
        return value
    if may_have(cls, name) or not is_set_only_in(frame.engine.project, cls.project_lineage(), name):
        return value
    return value.replace(rank=ranks.RANK_LOCAL, const=MISSING, provenance=call)


def _changes(cls: ClassInfo, method: FunctionInfo, name: str) -> bool:
    """Whether a method gives an attribute something else than what it has at the beginning."""
    bound = sum(each == name for each, _ in attribute_targets(method))
    begun = _begun(cls, name)
    return bound > sum(begun is not None and each.deep_equals(begun) for each in _given(method, name))


def _begun(cls: ClassInfo, name: str) -> cst.BaseExpression | None:
    """What the constructor gives an attribute, if it does so once."""
    constructor = cls.find("__init__")
    given = _given(constructor, name) if constructor is not None else []
    return given[0] if len(given) == 1 else None


def _given(method: FunctionInfo, name: str) -> list[cst.BaseExpression]:
    return [value for each, value in attribute_values(method.node) if each == name]


def _is_reset(cls: ClassInfo, setter: FunctionInfo, name: str, called: Iterable[tuple[ClassInfo, str]]) -> bool:
    """Whether the ranks that change an attribute may give it back what it has at the beginning, before they go on.

    They do if the method that changes it ends with that, or if they alone call another one that does.
    """
    begun = _begun(cls, name)
    if begun is None or not isinstance(setter.node, cst.FunctionDef):
        return True
    given = _given(setter, name)[-1:]
    resetting = (each for each in cls.project_methods() if each is not setter and each.name != "__init__")
    if any((cls, each.name) in called and _given(each, name) for each in resetting):
        return True
    return any(each.deep_equals(begun) for each in given) and _ends_with(setter, given)


def _ends_with(method: FunctionInfo, values: Sequence[cst.BaseExpression]) -> bool:
    """Whether the last of some values is assigned by a statement of the method's body, and not of a block in it."""
    if not isinstance(method.node.body, cst.IndentedBlock):
        return False
    lines = [each for each in method.node.body.body if isinstance(each, cst.SimpleStatementLine)]
    return any(value is each for line in lines for _, value in attribute_values(line) for each in values)


def _is_only_call(frame: Frame, cls: ClassInfo, method: FunctionInfo, call: Step) -> bool:
    """Whether a call is the only one of a method on the objects of a class, by what has been run and by the text."""
    runs = [key for key in method.summaries if key[1] == id(cls)]
    if not runs or any(key[2] is not Uniformity.DIVERGENT for key in runs) or not isinstance(call.node, cst.Call):
        return False
    match call.node.func:
        case cst.Attribute(value=cst.Name("self"), attr=cst.Name(name)) if name == method.name:
            return uses_of_method_of(frame.engine.project, cls.project_lineage(), name) == 1
        case cst.Attribute(value=owner, attr=cst.Name(name)) if name == method.name:
            wanted = rb"\b%b\s*\.\s*%b\b" % (last_name(owner).encode(), name.encode())
        case callee:
            wanted = rb"(?<!def )\b%b\(" % last_name(callee).encode()
    return _is_made_once(frame, cls) and len(re.findall(wanted, frame.engine.project.code(call.module.path))) == 1


def _is_made_once(frame: Frame, cls: ClassInfo) -> bool:
    """Whether all objects of a class are made in one place."""
    if cls.is_copy:
        return True
    wanted = re.compile(rb"(?<!class )\b%b\(" % cls.name.encode())
    return sum(len(wanted.findall(code)) for _, code in frame.engine.project.linted_code(cls.name)) == 1
