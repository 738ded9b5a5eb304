"""Wrapped models that other code puts into an attribute of an object, instead of the bare model that is there.

    class Loop:
        def __init__(self, vae): self.vae = vae
        def prepare(self):
            self.vae.net = self.accelerator.prepare(self.vae.net)
            self.vae.encode(x)              `encode` runs with the wrapper
        def run(self):
            self.prepare()
            self.vae.decode(x)              so does `decode`, as `run` calls it after `prepare`
    # vae.py
    class VAE:
        def encode(self, x):
            return self.net.encode(x)       MAYBE: wrapped on the path on which the loop has prepared it

What is left in the attribute is joined with what the class itself assigns, in no order, and that may be unknown. But a
call of the method after the assignment, by the code that has made it, shows one path on which the model is wrapped.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from trl_lint.analysis.interpreter.objects import method_order
from trl_lint.analysis.program.definitions import call_order
from trl_lint.analysis.program.idioms.path_conditions import ifs_around
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import last_name, of_class, self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.values import Value


class Given:
    """By class and attribute, the wrapped models that a function has put into objects of it so far."""

    def __init__(self) -> None:
        self.by_class: dict[ClassInfo, dict[str, Value]] = {}


class GivenByMethods:
    """The same for the objects in attributes of a class: each with the method that has done it, and the assignment."""

    def __init__(self) -> None:
        self.by_class: dict[ClassInfo, dict[str, tuple[FunctionInfo, cst.Attribute, Value]]] = {}


class ReadWrapped:
    """By attribute of a class, the methods that read the wrapper on some path, each with the wrapped model."""

    def __init__(self) -> None:
        self.by_attribute: dict[str, dict[cst.CSTNode, Value]] = {}


def note(frame: Frame, cls: ClassInfo, target: cst.Attribute, value: Value) -> None:
    """Note the assignment of a wrapped model to an attribute of an object of a class: `vae.net = DDP(vae.net)`."""
    if self_attribute(target) or not method_order.is_wrapped(value):
        return
    if _is_frozen((frame.module, cls.module), target.attr.value):
        return
    frame.notes.of(Given).by_class.setdefault(cls.origin, {})[target.attr.value] = value
    if frame.cls is not None and frame.function is not None and self_attribute(target.value):
        given = frame.cls.origin.notes.of(GivenByMethods).by_class.setdefault(cls.origin, {})
        given[target.attr.value] = (frame.function, target, value)
        frame.engine.note_stored(GivenByMethods, frame.cls, target, value)


def _is_frozen(modules: Sequence[Module], name: str) -> bool:
    """Whether files freeze what they call by a name, and never unfreeze it: `prepare` does not wrap such a model."""
    call = rb"\b" + name.encode() + rb"\.requires_grad_\("
    freed = any(module.mentions(call + rb"(?!\s*False\b)") for module in modules)
    return not freed and any(module.mentions(call + rb"\s*False\b") for module in modules)


def note_call(frame: Frame, cls: ClassInfo, method: FunctionInfo) -> None:
    """Note that a method is called on an object into which the code before has put a wrapped model."""
    given = {**_given_by_methods(frame, cls), **frame.notes.of(Given).by_class.get(cls.origin, {})}
    for name, value in given.items():
        readers = cls.origin.notes.of(ReadWrapped).by_attribute.setdefault(name, {})
        for each in call_order.methods_run_by(cls, method.name):
            if each.node not in readers:
                readers[each.node] = value
                cls.count(name)  # what has read the attribute so far did not know of it
                frame.engine.note_stored(ReadWrapped, cls, name, each.name)


def _given_by_methods(frame: Frame, cls: ClassInfo) -> dict[str, Value]:
    """What methods that run before the current one have put into the objects of a class."""
    if frame.cls is None or frame.function is None:
        return {}
    found = {}
    for each in (frame.cls.origin, *frame.cls.project_lineage()):
        for name, (method, target, value) in each.notes.of(GivenByMethods).by_class.get(cls.origin, {}).items():
            after = method_order.methods_after(frame, frame.cls.origin, method, target)
            if any(other.node is frame.function.node for other in after):
                found[name] = value
    return found


def given_model(frame: Frame, cls: ClassInfo, name: str, value: Value, node: cst.CSTNode) -> Value:
    """The value of `self.name`, in a method that is called once other code has put a wrapped model there."""
    if frame.function is None or not method_order.is_uninformative(value):
        return value
    readers = cls.origin.notes.of(ReadWrapped).by_attribute.get(name)
    wrapped = readers.get(frame.function.node) if readers else None
    if wrapped is None or _is_of_tested_class(frame, name, node):
        return value
    return method_order.as_read_elsewhere(frame, wrapped)


def _is_of_tested_class(frame: Frame, name: str, node: cst.CSTNode) -> bool:
    """Whether a test says that `self.name` is of some class where a node is: a wrapper is not."""
    around = (branch.test for branch, holds in ifs_around(frame.root, node) if holds)
    calls = (call for test in around for call in of_class(test, cst.Call) if last_name(call.func) == "isinstance")
    return any(call.args and self_attribute(call.args[0].value) == name for call in calls)
