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

from collections.abc import Iterable, Iterator, Sequence
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
_APPLIES = "map"


def is_lone_actor(project: Project, cls: ClassInfo) -> bool:
    """Whether Ray runs one object of a class, in a process of its own, which starts no process group.

    It is made once, in no loop nor in a function that is called in one, and the class is not handed to other code,
    which might make more of them. Unit tests do not count.
    """
    if "remote" not in decorators_of(cls.node) or any(last_name(each.func) in TAKE_RANK for each in _calls(cls)):
        return False
    return _is_made_once(project, cls.name)


def _calls(cls: ClassInfo) -> Sequence[cst.Call]:
    return of_class(cls.node, cst.Call)


@noted_of_linted
def _is_made_once(project: Project, name: str) -> bool:
    made = 0
    for tree, each in _uses(project, name):
        around = ancestors(tree, each)
        if _is_asked_for(around[-1]):
            made += 1
            functions = [outer.name.value for outer in around if isinstance(outer, cst.FunctionDef)]
            if _is_repeated(around) or any(_is_run_again(project, function) for function in functions):
                return False
        elif not isinstance(around[-1], (cst.ClassDef, cst.ImportAlias, cst.AsName, cst.Annotation)):
            return False
    return made == 1


@noted_of_linted
def _is_run_again(project: Project, name: str) -> bool:
    """Whether code calls a function in a loop, or passes it to what does so: `make(rank)`, `map(make, ranks)`."""
    for tree, each in _uses(project, name):
        match ancestors(tree, each):
            case [*around, cst.Call()] | [*around, cst.Call(), cst.Attribute(cst.Name("self"))] if _is_repeated(around):
                return True
            case [*_, cst.Call(func=called), cst.Arg()] if last_name(called) == _APPLIES:
                return True
    return False


def _uses(project: Project, name: str) -> Iterator[tuple[cst.Module, cst.Name]]:
    """The places of a name in the linted files that are no unit tests."""
    for path, code in project.linted_code(name):
        module = None if is_test_file(path) or name.encode() not in code else project.module(path)
        if module is not None:
            yield from ((module.tree, each) for each in of_class(module.tree, cst.Name) if each.value == name)


def _is_repeated(around: Iterable[cst.CSTNode]) -> bool:
    return any(isinstance(outer, _REPEATED) for outer in around)


def _is_asked_for(outer: cst.CSTNode) -> bool:
    return isinstance(outer, cst.Attribute) and outer.attr.value in _ASKED_FOR
