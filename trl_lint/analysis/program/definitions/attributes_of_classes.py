"""Attributes that code puts on a wrapper class of torch, by its name: all models in such a wrapper have them.

DistributedDataParallel.config = property(lambda self: self.module.config)
setattr(DDP, "config", property(lambda self: self.module.config))

They count in the whole project, as any file may import the one that does so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trl_lint.analysis.program.project.notes import noted_of_linted
from trl_lint.knowledge.torch_distributed import DATA_PARALLEL, DDP

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Project

# What a file that names one of the classes mentions, and the short names by which code imports them.
_MENTIONED = DATA_PARALLEL.rpartition(".")[2]
_SHORT = {"DDP": DDP.rpartition(".")[2], "DP": _MENTIONED}
_CLASS = rb"(?<![\w.])((?:\w+\.)*\w*DataParallel|DDP|DP)"
_SET = re.compile(
    rb"^[ \t]*%b\.(\w+)[ \t]*(?::[^=\n]+)?=(?!=)|\bsetattr\(\s*%b\s*,\s*[\"'](\w+)[\"']" % (_CLASS, _CLASS),
    re.MULTILINE,
)


def classes_given(project: Project, name: str) -> frozenset[str]:
    """The classes on which code sets an attribute of this name, each as `class_name` has it."""
    return _by_name(project).get(name, frozenset())


def class_name(name: str) -> str:
    """The name of a class without its modules, and as torch has it: `DistributedDataParallel` for `DDP`."""
    last = name.rpartition(".")[2]
    return _SHORT.get(last, last)


@noted_of_linted
def _by_name(project: Project) -> dict[str, frozenset[str]]:
    """The classes on which code sets attributes, by the names of these."""
    found: dict[str, frozenset[str]] = {}
    for _, code in project.linted_code(_MENTIONED):
        for match in _SET.findall(code):
            cls, name = (each.decode() for each in match if each)
            found[name] = found.get(name, frozenset()) | {class_name(cls)}
    return found
