"""Methods of an object, or of a class, of which the program tells several that it may be, or some among others.

hooks = [Saves(), args.hook]
for hook in hooks:
    hook.after_epoch(epoch)         that of Saves runs; what the other one does is unknown, and so is the result
cls.from_pretrained(path)           what holds for each class that `cls` may be
"""

from __future__ import annotations

from functools import partial

import libcst as cst

from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.point_sequences import one_of_calls
from trl_lint.domain.choices import AmongOthers, OneOfClasses, among_unknown
from trl_lint.domain.joins import join_all
from trl_lint.domain.kinds import BoundMethod
from trl_lint.domain.values import Value
from trl_lint.knowledge import library


def called_on_some(
    frame: Frame, receiver: AmongOthers, name: str, args: Arguments, node: cst.CSTNode, known: Value
) -> Value:
    """The method of each that has one runs; what it returns may be the result. known: what is known of that."""
    classes = ((each, class_of(each)) for each in receiver.options)
    having = [BoundMethod(each, name) for each, cls in classes if cls is not None and cls.find(name) is not None]
    calls = (partial(frame.engine.call_value, frame, each, args, node) for each in having)
    return among_unknown(known, list(one_of_calls(frame, calls)))


def loaded_by_one_of(classes: OneOfClasses, name: str) -> Value | None:
    """The result of a class method that loads something, whichever of several classes it is called on."""
    values = [library.maker(f"{library.canonical(cls)}.{name}") for cls in sorted(classes.names)]
    found = [value for value in values if value is not None]
    return join_all(found) if len(found) == len(values) else None
