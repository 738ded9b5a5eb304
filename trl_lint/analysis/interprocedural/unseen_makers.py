"""Objects that no code in sight makes: what their constructors are passed, and when these run.

    def begin(trainer: Base):
        trainer.initialize()            which asks `if self.is_ddp:`: `Base.__init__` runs first, with unknown arguments

    begin(find_class(name)())           no call of `Base` in any file

Otherwise it would depend on the order of the files whether anything is known of the attributes when a method runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.program.definitions import creations
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo, Parameter
from trl_lint.analysis.state import records, settings
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.ranks import State
from trl_lint.domain.values import SAME, UNKNOWN, Value
from trl_lint.knowledge.heuristics import MAY_ASK_FOR_RANK
from trl_lint.knowledge.transformers import CONSTRUCTOR, CONSTRUCTOR_OF_CALLBACK

if TYPE_CHECKING:
    from trl_lint.analysis.state.interpreter import Interpreter


def constructor_of(engine: Interpreter, cls: ClassInfo) -> tuple[ClassInfo, FunctionInfo] | None:
    """The constructor to run for an object of a class that is used, and the class to run it on; None if there is none.

    There is none to run for a class that is analysed by now. That of a class of which code in sight makes an object is
    waited for.
    """
    method = None if records.generates_init(cls) else cls.find("__init__")
    if method is None or method.cls is None:
        return None
    made = cls if engine.is_mixed_in(method.cls, cls) else method.cls
    if made.state != "new" or method.has_run_on(made):
        return None
    if creations.is_created(engine.project, made):
        cls.awaits_constructor = True
        return None
    return made, method


def arguments(engine: Interpreter, cls: ClassInfo, method: FunctionInfo) -> dict[str, Value]:
    """The arguments of a trainer's constructor are the same on all ranks; its model is not wrapped yet."""
    if not engine.is_entry_class(cls):
        return settings.of_constructor(cls, method)
    parameters: dict[str, Value] = {"*": SAME, "**": SAME}
    for parameter in method.parameters[1:]:
        if not parameter.star:
            parameters[parameter.name] = _argument(engine, cls, method, parameter)
    return parameters


def _argument(engine: Interpreter, cls: ClassInfo, method: FunctionInfo, parameter: Parameter) -> Value:
    if parameter.name in CONSTRUCTOR and engine.is_subclass(cls, "transformers.Trainer"):
        return CONSTRUCTOR[parameter.name]
    known = by_annotation(engine, Frame(engine, method.module), parameter)
    if known is UNKNOWN and engine.is_subclass(cls, "transformers.TrainerCallback"):
        known = CONSTRUCTOR_OF_CALLBACK.get(parameter.name, UNKNOWN)
    if known.rank.state is not State.UNKNOWN or creations.may_differ(engine.project, cls, parameter.name):
        return known
    named = settings.parameter_by_name(parameter.name, known)
    if named.rank.differs or MAY_ASK_FOR_RANK.fits(parameter.name):
        return named
    return SAME if known is UNKNOWN else known.replace(rank=SAME.rank)


def by_annotation(engine: Interpreter, frame: Frame, parameter: Parameter) -> Value:
    """The value that the annotation of a parameter describes, if it has one."""
    if parameter.annotation is None:
        return UNKNOWN
    return engine.annotated(frame, parameter.annotation) or UNKNOWN
