"""The methods of a class that a runner or a trainer of a library calls on every process, as a program gives it objects.

class Keeps(mmengine.hooks.Hook):
    def after_train_epoch(self, runner): ...     run by all, as is its constructor
    def helper(self): ...                        not run by the runner

class Keeps(detectron2.engine.HookBase):
    def after_train(self): ...                   the same, if any code of the project starts several processes
"""

from __future__ import annotations

from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.knowledge import detectron2, openmmlab, speechbrain


def run_by_all(cls: ClassInfo) -> frozenset[str]:
    """The methods of a class that a runner calls on every process; its constructor is among them."""
    bases = cls.library_bases()
    names = openmmlab.run_by_all(bases)
    for library in (detectron2, speechbrain):
        of_trainer = [library.RUN_BY_ALL[each] for each in bases if each in library.RUN_BY_ALL]
        if of_trainer and cls.module.project_mentions(library.STARTS_SEVERAL):
            names = names.union(*of_trainer)
    return names
