"""Modules of Lightning that settings only build as a part of another model, or that only programs without a Trainer
make: their own validation never runs.

    model:
      target: own.LatentDiffusion
      params:
        first_stage_config:
          target: own.AutoencoderKL        class AutoencoderKL(LightningModule): def validation_step(self, …): …

The settings of another project may train them: there they are findings of the default set.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.call_order import methods_run_by
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import definitions_around
from trl_lint.knowledge.lightning import OF_TRAINER, is_module


def is_of_part(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in a method that only a trainer calls, of a module that nothing around makes for one."""
    untrained = module.engines().untrained
    around = {id(each) for each in definitions_around(module.tree, node)} if untrained else set()
    cls = next((each for each in module.classes if id(each.node) in around and each.name in untrained), None)
    if cls is None or not is_module(cls.library_bases()):
        return False
    return any(id(method.node) in around for name in OF_TRAINER for method in methods_run_by(cls, name))
