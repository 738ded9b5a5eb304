"""The model of a trainer in hooks that the library calls while it is not wrapped, though it is wrapped later.

For example, TRL's PPO prepares the model at the end of its constructor, and saves the policy alone:

    class Own(PPOTrainer):
        def create_optimizer_and_scheduler(self, num_training_steps):
            self.count()                     the constructor calls it before it prepares
        def count(self):
            self.model.size                  BARE: nothing else calls `count`
        def _save(self, output_dir=None, state_dict=None):
            self.model.config                BARE, unless the class has a `save_model` that does not set another model
        def log(self, logs, start_time=None):
            self.model.config                wrapped
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import attribute_values, calls_super, of_class, self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.values import Value
from trl_lint.knowledge.schema import BARE_MODEL
from trl_lint.knowledge.transformers import MODEL, SAVING, WRITING


def model_here(frame: Frame, cls: ClassInfo, name: str) -> Value | None:
    """The bare model, if the current method reads it and only such hooks run the method; else None."""
    if name != MODEL:
        return None
    scope = frame  # of the method, if a function inside it reads the model
    while scope.outer is not None and (scope.function is None or scope.function.cls is None):
        scope = scope.outer
    reader = scope.function
    if reader is None or (cls, name) in scope.objects.attribute_writes | frame.objects.attribute_writes:
        return None
    rows = (frame.engine.library_attribute(base, name) for base in cls.library_bases())
    row = next((each for each in rows if each is not None), None)
    if row is None or not row.bare_in:
        return None
    hooks = row.bare_in if _saves_as_library(cls) else row.bare_in - {WRITING}
    return BARE_MODEL if _is_only_in(frame, cls, reader.name, hooks, frozenset()) else None


def _saves_as_library(cls: ClassInfo) -> bool:
    """Whether the method that saves is the library's, calls that, or sets another model as that does."""
    saving = cls.find(SAVING)
    return saving is None or calls_super(saving.node, SAVING) or MODEL in dict(attribute_values(saving.node))


def _is_only_in(frame: Frame, cls: ClassInfo, method: str, hooks: frozenset[str], below: frozenset[str]) -> bool:
    """Whether a method is one of these hooks, or is called by such methods of its object and by nothing else."""
    if method in hooks:
        return True
    if method in below or any(frame.engine.library_method(base, method) for base in cls.library_bases()):
        return False
    callers = {each.name for each in cls.project_methods() if _calls(each.node, method)}
    return bool(callers) and all(_is_only_in(frame, cls, each, hooks, below | {method}) for each in callers)


def _calls(code: cst.CSTNode, method: str) -> bool:
    return any(self_attribute(call.func) == method for call in of_class(code, cst.Call))
