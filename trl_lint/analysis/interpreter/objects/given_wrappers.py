"""Wrapped models that other code puts into an attribute of an object, instead of the bare model that is there.

    class Loop:
        def __init__(self, vae): self.vae = vae
        def prepare(self):
            self.vae.net = self.accelerator.prepare(self.vae.net)
            self.vae.encode(x)              `encode` runs with the wrapper
        def run(self):
            self.prepare()
            self.vae.decode(x)              so does `decode`, as `run` calls it after `prepare`
            self.shows.run(self.vae)        so does what `run` of another object calls on what it gets
    # vae.py
    class VAE:
        def encode(self, x):
            return self.net.encode(x)       MAYBE: wrapped on the path on which the loop has prepared it

What is left in the attribute is joined with what the class itself assigns, in no order, and that may be unknown. But a
call of the method after the assignment, by the code that has made it, shows one path on which the model is wrapped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from trl_lint.analysis.interpreter.objects import method_order
from trl_lint.analysis.program.definitions import call_order
from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.idioms.path_conditions import ifs_around
from trl_lint.analysis.program.idioms.wrapped_anew import is_wrapped_anew
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.passed_arguments import by_position
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import assignments, last_name, of_class, self_attribute
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models.wrapped_models import may_be_wrapped
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
    if self_attribute(target) or not may_be_wrapped(value):
        return
    if _is_frozen((frame.module, cls.module), target.attr.value):
        return
    frame.notes.of(Given).by_class.setdefault(cls.origin, {})[target.attr.value] = value
    if frame.cls is not None and frame.function is not None and _is_kept(frame.function, target.value):
        given = frame.cls.origin.notes.of(GivenByMethods).by_class.setdefault(cls.origin, {})
        given[target.attr.value] = (frame.function, target, value)
        frame.engine.note_stored(GivenByMethods, frame.cls, target, value)


def keep(frame: Frame, cls: ClassInfo, target: cst.Attribute, value: Value) -> None:
    """Keep what is assigned to an attribute of an object; a wrapper in place of one only in this function."""
    if is_wrapped_anew(frame.root, frame.statement, target):
        frame.memory.attributes[cls, target.attr.value] = value
    else:
        frame.write_attribute(cls, target.attr.value, value)


def _is_kept(method: FunctionInfo, owner: cst.BaseExpression) -> bool:
    """Whether an object is in an attribute of the one whose method it is, or gets there in it: `self.vae = vae`."""
    if self_attribute(owner):
        return True
    kept = (target for target, value in assignments(method.node) if value.deep_equals(owner))
    return isinstance(owner, cst.Name) and any(map(self_attribute, kept))


def _is_frozen(modules: Sequence[Module], name: str) -> bool:
    """Whether files freeze what they call by a name, and never unfreeze it: `prepare` does not wrap such a model."""
    call = rb"\b" + name.encode() + rb"\.requires_grad_\("
    freed = any(module.mentions(call + rb"(?!\s*False\b)") for module in modules)
    return not freed and any(module.mentions(call + rb"\s*False\b") for module in modules)


def note_call(frame: Frame, cls: ClassInfo, method: FunctionInfo) -> None:
    """Note that a method is called on an object into which the code before has put a wrapped model."""
    given = {**_given_by_methods(frame, cls), **frame.notes.of(Given).by_class.get(cls.origin, {})}
    _note_readers(frame, cls, method.name, given)


def reads_one(cls: ClassInfo, method: FunctionInfo) -> bool:
    """Whether a method of a class is known to read a wrapper that other code has put into its object."""
    return any(method.node in readers for readers in cls.origin.notes.of(ReadWrapped).by_attribute.values())


def note_passed(frame: Frame, method: FunctionInfo, args: Arguments) -> None:
    """Note what a method calls on an object that it gets, of which the same is known: `evaluator.run(self.vae)`."""
    if frame.cls is None or not any(each.notes.of(GivenByMethods).by_class for each in frame.cls.project_lineage()):
        return
    for key, value in args.named():
        expression, cls = args.expression(key), class_of(value)
        name = key if isinstance(key, str) else _name_at(method, key)
        if cls is not None and name and expression is not None and self_attribute(expression):
            given = _given_by_methods(frame, cls)
            for called in _called_on(method, name) if given else ():
                _note_readers(frame, cls, called, given)


def _called_on(method: FunctionInfo, name: str, depth: int = 3) -> Iterator[str]:
    """The methods that are called on a parameter, also by other methods of the class that it is passed to."""
    for call in of_class(method.node, cst.Call):
        match call.func:
            case cst.Attribute(value=cst.Name(owner), attr=cst.Name(called)) if owner == name:
                yield called
            case cst.Attribute() if depth and method.cls is not None:
                other = method.cls.find(self_attribute(call.func) or "")
                for place, arg in enumerate(call.args) if other is not None else ():
                    if isinstance(arg.value, cst.Name) and arg.value.value == name and other is not None:
                        passed = arg.keyword.value if arg.keyword else _name_at(other, place)
                        yield from _called_on(other, passed, depth - 1)


def _name_at(method: FunctionInfo, place: int) -> str:
    """The name of the parameter at a place of a call on `self`; "" if there is none."""
    names = [each.name for each in by_position(method, is_bound=True)]
    return names[place] if place < len(names) else ""


def _note_readers(frame: Frame, cls: ClassInfo, called: str, given: Mapping[str, Value]) -> None:
    """Note that a method of a class, and what it calls, runs where wrapped models are in these attributes."""
    for name, value in given.items():
        readers = cls.origin.notes.of(ReadWrapped).by_attribute.setdefault(name, {})
        for each in call_order.methods_run_by(cls, called):
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
