"""Buffers that a model registers: attributes of `self`, whose tensors other code may change in place.

self.register_buffer("steps", torch.tensor(0))      the same on all ranks, if the class only counts with it
self.register_buffer("mean", torch.zeros(8))        unknown, if `self.mean.lerp_(…)` follows
"""

from __future__ import annotations

from trl_lint.analysis.program.definitions.changed_state import is_set_outside_any_class, is_set_outside_class
from trl_lint.analysis.program.idioms.counting_buffers import only_counts
from trl_lint.analysis.program.project.classes import ClassInfo, is_module_class
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.ranks import State

REGISTERS = "register_buffer"


def note(frame: Frame, cls: ClassInfo, args: Arguments) -> None:
    """`self.register_buffer(name, tensor)`: an assignment, where all that changes the buffer is known."""
    name, tensor = args.get(0, "name"), args.get(1, "tensor")
    if name is None or tensor is None or not isinstance(name.const, str) or tensor.rank.state is not State.SAME:
        return
    if not is_module_class(cls) or not only_counts(cls, name.const) or is_set_outside_class(cls.module, name.const):
        return
    if not is_set_outside_any_class(frame.engine.project, name.const):
        frame.write_attribute(cls, name.const, tensor)
