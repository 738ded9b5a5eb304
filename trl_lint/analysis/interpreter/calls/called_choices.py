"""Methods of an object, or of a class, of which the program tells several that it may be, or some among others.

hooks = [Saves(), args.hook]
for hook in hooks:
    hook.after_epoch(epoch)         that of Saves runs; what the other one does is unknown, and so is the result
def start(saver: Base):
    saver.save()                    that of each heir of Base runs, if Base leaves it to them what it does
cls.from_pretrained(path)           what holds for each class that `cls` may be
"""

from __future__ import annotations

from functools import partial
from itertools import islice

import libcst as cst

from trl_lint.analysis.program.definitions import creations, registrations
from trl_lint.analysis.program.definitions.objects import ProjectInstance, class_of
from trl_lint.analysis.program.definitions.unit_tests import is_test_file
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.point_sequences import one_of_calls
from trl_lint.domain.choices import MAX_OPTIONS, AmongOthers, OneOfClasses, among_unknown
from trl_lint.domain.joins import join_all
from trl_lint.domain.kinds import BoundMethod
from trl_lint.domain.values import UNKNOWN, Value
from trl_lint.knowledge import library


def called_on_some(
    frame: Frame, receiver: AmongOthers, name: str, args: Arguments, node: cst.CSTNode, known: Value
) -> Value:
    """The method of each that has one runs; what it returns may be the result. known: what is known of that."""
    classes = ((each, class_of(each)) for each in receiver.options)
    having = [BoundMethod(each, name) for each, cls in classes if cls is not None and cls.find(name) is not None]
    calls = (partial(frame.engine.call_value, frame, each, args, node) for each in having)
    return among_unknown(known, list(one_of_calls(frame, node, calls)))


def called_on_heirs(frame: Frame, cls: ClassInfo, name: str, args: Arguments, node: cst.CSTNode, known: Value) -> Value:
    """A method that a class leaves to its heirs, called on an object of which only that class is known.

    What a class calls on its own objects is run for each heir by itself.
    """
    project = frame.engine.project
    if frame.cls is cls or creations.is_created(project, cls):
        return known
    found = (class_of(frame.engine.settle(each)) for each in registrations.heirs(project, cls.name))
    completing = (each for each in found if each is not None and _completes(frame, each, cls, name))
    having = list(islice(completing, MAX_OPTIONS + 1))
    if not 0 < len(having) <= MAX_OPTIONS:
        return known
    some = UNKNOWN.as_a(AmongOthers).with_parts(tuple(map(ProjectInstance, having)))
    return called_on_some(frame, some, name, args, node, known)


def _completes(frame: Frame, heir: ClassInfo, cls: ClassInfo, name: str) -> bool:
    """Whether each rank may have an object of an heir, which says what a method does."""
    project = frame.engine.project
    if cls not in heir.project_lineage() or is_test_file(heir.module.path):
        return False
    if creations.is_of_others(project, heir, frame.module.path):
        return False
    method = heir.methods.get(name)
    return method is not None and not method.is_open and not creations.is_of_some_ranks(project, heir)


def loaded_by_one_of(classes: OneOfClasses, name: str) -> Value | None:
    """The result of a class method that loads something, whichever of several classes it is called on."""
    values = [library.maker(f"{library.canonical(cls)}.{name}") for cls in sorted(classes.names)]
    found = [value for value in values if value is not None]
    return join_all(found) if len(found) == len(values) else None
