"""Classes that have Ray run others as its workers: an object of one is in the only process that drives them.

class Driver:
    def __init__(self, rows):
        rows.to_parquet("rows.parquet")                one process writes it, whoever creates the object
    def start(self):
        self.workers = ray.remote(Worker)              Worker: run by several processes
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import of_class
from trl_lint.analysis.program.tree_caches import tree_cache

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo


def drives_workers(cls: ClassInfo) -> bool:
    """Whether methods of a class, or of one that it inherits from, make workers of other classes."""
    return any(_makes_workers(each.node) for each in (cls, *cls.project_lineage()))


@tree_cache(64)
def _makes_workers(cls: cst.CSTNode) -> bool:
    return any(_is_remote(each.func) and each.args and each.args[0].keyword is None for each in of_class(cls, cst.Call))


def _is_remote(callee: cst.BaseExpression) -> bool:
    match callee:
        case cst.Attribute(value=cst.Name("ray"), attr=cst.Name("remote")):
            return True
    return False
