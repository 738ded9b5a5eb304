"""Code that runs only without an Accelerator: nothing has wrapped its models or started processes.

For example:

    self.accelerator = accelerator or Accelerator()
    def save(self, path):
        if self.accelerator is not None:
            self.accelerator.unwrap_model(self.model).save_pretrained(path)
        else:
            self.model.save_pretrained(path)            not run
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import conditions_at, is_bound
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import definitions_around, last_name
from trl_lint.knowledge.heuristics import ACCELERATOR_OBJECT


def is_without_accelerator(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is reached only if its Accelerator is None or False, and never rebound."""
    if not module.mentions(rb"(?i)accelerator"):
        return False
    functions = [each for each in definitions_around(module.tree, node) if isinstance(each, cst.FunctionDef)]
    root = functions[-1] if functions else module.tree
    return any(
        not holds and ACCELERATOR_OBJECT.fits(last_name(asked)) and not is_bound(root, asked)
        for asked, holds in conditions_at(root, node)
    )
