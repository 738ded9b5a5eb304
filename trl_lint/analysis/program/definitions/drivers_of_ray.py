"""Classes that have Ray run others as its workers: an object of one is in the only process that drives them.

class Driver:
    def __init__(self, rows):
        rows.to_parquet("rows.parquet")                one process writes it, whoever creates the object
    def start(self):
        self.workers = ray.remote(Worker)              Worker: run by several processes

@ray.remote
class Trainer:                                         a lone actor: its methods run in one process, too
    def evaluate(self): ...

trainer = Trainer.remote(args)
actors = [Actor.remote(rank) for rank in range(8)]     Actor: run by several processes
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.unit_tests import is_test_file
from trl_lint.analysis.program.project.classes import decorators_of
from trl_lint.analysis.program.project.notes import noted_of_linted
from trl_lint.analysis.program.syntax import LOOPS, ancestors, last_name, of_class
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.knowledge.process_starts import TAKE_RANK

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo
    from trl_lint.analysis.program.project.project import Project


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


# What a class is asked for where an object of it is made: `Trainer.options(num_cpus=1).remote(args)`.
_ASKED_FOR = frozenset({"options", "remote"})
_REPEATED = (*LOOPS, cst.CompFor, cst.BaseComp)


def is_lone_actor(project: Project, cls: ClassInfo) -> bool:
    """Whether Ray runs one object of a class, in a process of its own, which starts no process group.

    It is made once, in no loop, and the class is not handed to other code, which might make more of them. Unit tests
    do not count.
    """
    if "remote" not in decorators_of(cls.node) or any(last_name(each.func) in TAKE_RANK for each in _calls(cls)):
        return False
    return _is_made_once(project, cls.name)


def _calls(cls: ClassInfo) -> Sequence[cst.Call]:
    return of_class(cls.node, cst.Call)


@noted_of_linted
def _is_made_once(project: Project, name: str) -> bool:
    made = 0
    for path, code in project.linted_code(name):
        module = None if is_test_file(path) or name.encode() not in code else project.module(path)
        if module is None:
            continue
        for each in of_class(module.tree, cst.Name):
            if each.value != name:
                continue
            around = ancestors(module.tree, each)
            if _is_asked_for(around[-1]):
                made += 1
                if any(isinstance(outer, _REPEATED) for outer in around):
                    return False
            elif not isinstance(around[-1], (cst.ClassDef, cst.ImportAlias, cst.AsName, cst.Annotation)):
                return False
    return made == 1


def _is_asked_for(outer: cst.CSTNode) -> bool:
    return isinstance(outer, cst.Attribute) and outer.attr.value in _ASKED_FOR
