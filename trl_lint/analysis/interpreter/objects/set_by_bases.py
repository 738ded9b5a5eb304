"""What the `__init__` of a base has set to a constant, as the `__init__` that has called it reads it.

    class Rows(Dataset):
        def __init__(self, folder, mode="w"): self.mode = mode

    class Cached(Rows):
        def __init__(self, folder, mode="w"):
            super().__init__(folder, mode)
            if self.mode == "w": self.write()       does not run for `Cached(folder, mode="r")`,

whatever mode other objects of the class have. A method that a class below the base has, and that the base may call, may
set the attribute, too; so may code of any of them by a text: `setattr(self, name, value)`.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.set_by_text import may_set
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.state.frame import Frame


def take_over(frame: Frame, cls: ClassInfo, base: FunctionInfo, node: cst.Call) -> None:
    """Take over what the `__init__` of a base leaves with one constant on objects of a class, where it is called."""
    runs = [run for edge, run in frame.trace.calls.items() if edge[:2] == (id(node), id(base))]
    if len(runs) != 1 or base.cls is None:
        return
    above = base.cls.project_lineage()
    lineage = cls.project_lineage()
    below = [each for each in lineage if each not in above]
    for name, value in runs[0].constants.items():
        is_set_again = any(name in each.assigned() for each in below)
        if not is_set_again and not any(may_set(each.node, name) for each in lineage):
            frame.memory.attributes[(cls, name)] = value
            frame.objects.set_by_bases.add((cls, name))
