"""Classes that train a model in one process: their code puts it into DataParallel, and into no other wrapper.

For example:

    class Engine:
        def __init__(self, net): self.state.net = nn.DataParallel(net) if several else net      it does with `net`
    class Classifier(Engine): …                                                                 so does an heir
    class Either:
        def __init__(self, net): self.net = DDP(net) if distributed else nn.DataParallel(net)   it does not
    class Trainer:
        def __init__(self, net): self.net = net; self.other = nn.DataParallel(make())           nor with `net`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import assignments, last_name, names_in, of_class
from trl_lint.knowledge.models import WRAP_FOR_RANKS
from trl_lint.knowledge.torch_distributed import DATA_PARALLEL

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo

_OF_ONE = DATA_PARALLEL.rpartition(".")[2]


@noted_in_file
def wraps_for_one(cls: ClassInfo, name: str) -> bool:
    """Whether a class, or one above it in the project, has DataParallel wrap its attribute, and none has another."""
    bases = [each.node for each in cls.project_lineage()]
    if not any(_OF_ONE in _called(base) for base in bases) or any(names_in(base) & WRAP_FOR_RANKS for base in bases):
        return False
    return any(
        isinstance(target, cst.Attribute) and last_name(target) == name and _OF_ONE in _called(value)
        for base in bases
        for target, value in assignments(base)
    )


def _called(code: cst.CSTNode) -> set[str]:
    return {last_name(call.func) for call in of_class(code, cst.Call)}
