"""Methods of models that write files: their code is run where they are called, with the place that they are given.

class Student(nn.Module):
    def export(self, folder): self.encoder.save_pretrained(folder)         it does
    def keep(self, folder): self.export(os.path.join(folder, "best"))      it does, in another method
    def forward(self, x): return self.encoder(x)                           it does not

model.module.export("best")                              `save_pretrained` on all ranks
if rank == 0: accelerator.unwrap_model(model).keep(out)  on one of them
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance, class_of
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import last_name, of_class, self_attribute
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.model_roles import wrapping_of
from trl_lint.domain.values import Value
from trl_lint.knowledge.writing_calls import WRITING_CALLS


def run(frame: Frame, model: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
    """Run a method of a project's model that is in no wrapper for the files that it writes."""
    cls, wrapping = class_of(model), wrapping_of(model)
    method = None if cls is None or wrapping is None or not wrapping.is_bare else cls.find(name)
    if cls is not None and method is not None and _writes(method, cls):
        frame.engine.call(frame, method, args, node, ProjectInstance(cls))


def _writes(method: FunctionInfo, cls: ClassInfo) -> bool:
    """Whether a method writes a file itself, or in another method of its class."""
    called = [found for name in _own_calls(method) if (found := cls.find(name)) is not None]
    return any(map(_writes_itself, (method, *called)))


@noted_in_file
def _writes_itself(method: FunctionInfo) -> bool:
    return any(last_name(each.func) in WRITING_CALLS for each in of_class(method.node.body, cst.Call))


@noted_in_file
def _own_calls(method: FunctionInfo) -> tuple[str, ...]:
    return tuple(sorted({self_attribute(each.func) for each in of_class(method.node.body, cst.Call)} - {""}))
