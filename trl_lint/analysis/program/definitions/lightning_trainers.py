"""What an object of unknown class is by how it is used: a Trainer of Lightning.

For example, nothing else takes this keyword:

    trainer = instantiate(settings.trainer)
    trainer.fit(model, datamodule=data)
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import of_class
from trl_lint.domain.kinds import LibraryInstance
from trl_lint.knowledge.lightning import IMPORTS, ONLY_TRAINERS_TAKE, RUNS_OF_TRAINER


def trainer_by_use(module: Module, root: cst.CSTNode, name: str) -> LibraryInstance | None:
    """The Trainer that a name in a piece of code is, if one of its methods is passed what only a Trainer takes.

    Which of the two packages it is from is known by what the file imports.
    """
    found = next((trainer for imports, trainer in IMPORTS.items() if module.mentions(imports)), None)
    if found is None or not any(_runs(call, name) for call in of_class(root, cst.Call)):
        return None
    return LibraryInstance(found)


def _runs(call: cst.Call, name: str) -> bool:
    match call.func:
        case cst.Attribute(value=cst.Name(value=holder), attr=cst.Name(value=method)):
            given = {arg.keyword.value for arg in call.args if arg.keyword is not None}
            return holder == name and method in RUNS_OF_TRAINER and not ONLY_TRAINERS_TAKE.isdisjoint(given)
    return False
