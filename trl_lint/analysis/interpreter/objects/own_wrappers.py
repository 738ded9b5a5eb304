"""Wrappers defined in the project: subclasses of DistributedDataParallel or DataParallel.

    class Wrapper(DistributedDataParallel):
        def outputs(self):
            return self.module.outputs()

    model = Wrapper(net)      wrapped, by the class that it inherits from
    model.outputs()           fine: the class defines it
    model.depth               missing
    if is_exported(model):    a function whose source is unavailable may know the wrapper, so what depends on its
        model.export()        answer is not reported

A project may also replace the `__getattr__` of a wrapper of torch, which then has all attributes of the model, or put
single attributes on its class (`program/definitions/attributes_of_classes.py`).

Nothing is known of a class that may have any attribute (`__getattr__`, `setattr`), nor of one whose `__init__` does not
pass its first argument to the base class.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions import attributes_of_classes
from trl_lint.analysis.program.definitions.objects import FunctionValue
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import callee_of, inwards, last_name, names_in, of_class
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import LibraryName
from trl_lint.domain.provenance import WrappedByProjectClass, steps
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.models import WRAPPER_CLASSES
from trl_lint.knowledge.torch_distributed import DATA_PARALLEL, DDP

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Project

_WRAPPERS = (DDP, DATA_PARALLEL)
# Names used by classes whose attributes cannot be known statically.
_ANY_ATTRIBUTE = frozenset({"__dict__", "__getattr__", "__getattribute__", "setattr"})
_FORWARDS = re.compile(
    rb"""\b(?:DDP|\w*DataParallel)(?:\.__getattr__\s*=(?!=)|,\s*["']__getattr__["'],)"""  # the latter in `setattr`
)

# Builtins that treat a wrapper like any other object.
_OF_PYTHON = frozenset({"callable", "getattr", "hasattr", "isinstance"})


def wrapped_by_project_class(frame: Frame, cls: ClassInfo, args: Arguments, node: cst.CSTNode) -> Value | None:
    """The wrapped model that a project's wrapper class returns for its arguments; None for all other classes."""
    base = next((each for each in _WRAPPERS if each in cls.library_bases()), None)
    if base is None or not _is_transparent(cls):
        return None
    wrapped = frame.engine.call_value(frame, LibraryName(base), args, node)
    if wrapped.kind is not Kind.MODEL:
        return None
    names = frozenset[str]().union(
        *({*each.methods, *each.variables, *each.assigned()} for each in cls.project_lineage())
    )
    return wrapped.replace(
        provenance=WrappedByProjectClass(frame.module, node, "it is wrapped here", wrapped.provenance, names=names)
    )


def has(frame: Frame, model: Value, name: str) -> bool:
    """Whether a model is wrapped in a class to which the project gives an attribute of this name, or may give any."""
    project = frame.engine.project
    classes = attributes_of_classes.classes_given(project, name)
    if _forward_attributes(project) or (classes and not classes.isdisjoint(_classes(model))):
        return True
    return any(isinstance(each, WrappedByProjectClass) and name in each.names for each in steps(model.provenance))


def _classes(model: Value) -> set[str]:
    """The names of the classes that a model is wrapped in: DistributedDataParallel where a library wraps it."""
    callees = (callee_of(each.node) for each in steps(model.provenance))
    names = {attributes_of_classes.class_name(last_name(each)) for each in callees}
    return names if WRAPPER_CLASSES & names else {*names, attributes_of_classes.class_name(DDP)}


def _forward_attributes(project: Project) -> bool:
    """Whether the project makes a wrapper of torch forward attributes: `DistributedDataParallel.__getattr__ = …`."""
    return project.notes.cached(
        _forward_attributes,
        lambda: any(_FORWARDS.search(code) for _, code in project.linted_code("__getattr__")),
    )


def is_guarded_by_unknown_test(frame: Frame, model: Value, node: cst.CSTNode) -> bool:
    """Whether a read from a project's wrapper runs only if a function whose source is unavailable accepted it."""
    if not isinstance(node, cst.Attribute) or not any(
        isinstance(each, WrappedByProjectClass) for each in steps(model.provenance)
    ):
        return False
    around = inwards(frame.root, node)
    tests = [one.test for one, part in around if isinstance(one, (cst.If, cst.IfExp)) and part is one.body]
    return any(_is_unknown_test(frame, test, node.value) for test in tests)


def _is_unknown_test(frame: Frame, test: cst.BaseExpression, expression: cst.BaseExpression) -> bool:
    if not isinstance(test, cst.Call) or not any(arg.value.deep_equals(expression) for arg in test.args):
        return False
    function = frame.engine.settle(frame.value_of(test.func))
    return not isinstance(function, FunctionValue) and last_name(test.func) not in _OF_PYTHON


def _is_transparent(cls: ClassInfo) -> bool:
    """Whether all attributes of its objects are known statically, and it wraps its first argument."""
    classes = cls.project_lineage()
    if any(base is None for each in classes for base in each.bases):
        return False
    return not any(_ANY_ATTRIBUTE & set(names_in(each.node)) for each in classes) and all(
        map(_passes_first_argument_on, classes)
    )


def _passes_first_argument_on(cls: ClassInfo) -> bool:
    """Whether the `__init__` of a class, if it has one, passes its first argument first to that of its base."""
    init = cls.methods.get("__init__")
    if init is None:
        return True
    if not isinstance(init.node, cst.FunctionDef) or len(init.node.params.params) < 2:
        return False
    first = init.node.params.params[1].name.value
    return any(
        isinstance(each.func, cst.Attribute)
        and each.func.attr.value == "__init__"
        and bool(each.args)
        and isinstance(each.args[0].value, cst.Name)
        and each.args[0].value.value == first
        for each in of_class(init.node.body, cst.Call)
    )
