"""Code that only the branch of one process runs, next to one that starts several, or behind an option of one process.

For example:

    def alone(): SingleRunner(model).train()
    def on_all(): mp.spawn(worker)                    worker: DistributedRunner(model).train()
    if args.distributed and torch.cuda.device_count() > 1:
        on_all()
    else:
        alone()                                       what only `alone` calls is run by one process

    if args.predict: predict(model)                       so is what only `predict` calls, if commands give this
                                                          option only where they start one process

    class DistributedRunner(SingleRunner):
        def train(self): …                            so is `SingleRunner.train`, which no heir has: this is another

    def alone(): Runner(model).train()
    def worker(rank): runner = Runner(model); runner.train_on_all()      so is `Runner.train`, if no method calls it

Functions and classes are followed by their names in all linted files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeGuard

import libcst as cst

from trl_lint.analysis.program.project.notes import noted_of_linted
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import (
    ancestors,
    calls_super,
    definitions_around,
    identifiers,
    inwards,
    last_name,
    names_in,
    of_class,
)
from trl_lint.domain.provenance import steps
from trl_lint.knowledge.heuristics import ASKS_FOR_GPUS, JOB_SETTING
from trl_lint.knowledge.process_starts import CALLED_BY_EACH, START_RANKS, STARTS_OF_GROUP
from trl_lint.linter.execution.option_branches import is_behind_option

if TYPE_CHECKING:
    from trl_lint.domain.provenance import Step
    from trl_lint.rules.base import Violation

# How many calls lead from the branch to the code.
_DEEPEST = 3
# What each process of a job calls, and what starts them: the code is not for one process.
_OF_SEVERAL = START_RANKS | {name.rpartition(".")[2] for name in CALLED_BY_EACH}


def is_run_alone(project: Project, violation: Violation) -> bool:
    """Whether the function around a place, or its class, is only used in the branch of one process.

    So is a place for whose reason such a function is given: the value that it keeps is that of the only process.
    """
    if not _has_branches(project):
        return False
    places = [(violation.module, violation.node), *_places_in(project, violation.provenance)]
    return any(_is_in_code_of_one(project, *place) for place in places)


def _places_in(project: Project, reason: Step | None) -> Iterator[tuple[Module, cst.CSTNode]]:
    """The places of a chain that are in linted files."""
    for step in steps(reason):
        module = project.module(step.module.path)
        if module is not None and module.tree is step.module.tree:
            yield module, step.node


def _is_in_code_of_one(project: Project, module: Module, node: cst.CSTNode) -> bool:
    around = definitions_around(module.tree, node)
    match around:
        case [cst.FunctionDef() as function, *_]:
            return _is_called_alone(project, function, _DEEPEST)
        case [cst.ClassDef() as cls, cst.FunctionDef() as method, *_]:
            return _is_created_alone(project, cls, method.name.value)
    return False


@noted_of_linted
def _has_branches(project: Project) -> bool:
    """Whether any linted file mentions what starts processes, or is given options for one: else there is no branch."""
    return _starts_somewhere(project) or _has_options(project)


def _starts_somewhere(project: Project) -> bool:
    return any(name.encode() in code for name in START_RANKS for _, code in project.linted_code(name))


def _has_options(project: Project) -> bool:
    return any(project.engines_for(path).single_process_options for path in project.linted)


def _is_called_alone(project: Project, function: cst.FunctionDef, depth: int) -> bool:
    """Whether a function is called, and nowhere but in the branch of one process, and used for nothing else."""
    return depth > 0 and not _is_of_several(project, function) and _is_used_alone(project, function.name.value, depth)


@noted_of_linted
def _is_used_alone(project: Project, name: str, depth: int) -> bool:
    """The same of all functions of a name, as far as it depends on where the name is: asked once for all of them.

    In a collection of recipes, each has a `train` that calls its `compute_loss`: the first other use decides.
    """
    used = False
    for module, use in _uses(project, name):
        if _is_other(module, use):
            continue
        if not (_is_called(module, use) and _is_in_branch(project, module, use, depth)):
            return False
        used = True
    return used


@noted_of_linted
def _is_created_alone(project: Project, cls: cst.ClassDef, method: str) -> bool:
    """Whether a method is that of objects only which the branch of one process creates; its heirs have their own.

    Objects that others create may have it, if they do not call it.
    """
    if _is_of_several(project, own if (own := _unless_called_inside(cls, method)) else cls):
        return False
    created = False
    for module, use in _uses(project, cls.name.value):
        outer = ancestors(module.tree, use)[-1]
        if _is_bound(module, use) or (_is_object(outer, use) and outer.attr.value != method):
            continue
        heir = _heir(module, use)
        if heir is not None and _overrides(heir, method):
            continue
        if not _is_called(module, use):
            return False
        if _is_in_branch(project, module, use, _DEEPEST):
            created = True
        elif own is None or not _is_kept_for_others(module, use, method):
            return False
    return created


def _unless_called_inside(cls: cst.ClassDef, method: str) -> cst.FunctionDef | None:
    """The method, if only whoever has an object of the class calls it: the class does not, and hands no object on."""
    if cls.bases or cls.keywords or cls.decorators or method.startswith("__"):
        return None
    around = [ancestors(cls, each)[-1] for each in of_class(cls, cst.Name) if each.value == "self"]
    handed_on = [each for each in around if not isinstance(each, (cst.Attribute, cst.Param))]
    called = [each for each in around if isinstance(each, cst.Attribute) and each.attr.value == method]
    if handed_on or called:
        return None
    return next((each for each in of_class(cls, cst.FunctionDef) if each.name.value == method), None)


def _is_kept_for_others(module: Module, use: cst.Name, method: str) -> bool:
    """Whether an object is made here under a name of which the function only uses attributes, and not the method."""
    around = [each for each in ancestors(module.tree, use) if not isinstance(each, cst.Attribute)]
    definitions = definitions_around(module.tree, use)
    match around[-2:]:
        case [cst.Assign([cst.AssignTarget(cst.Name(name))]), cst.Call()] if definitions:
            uses = [each for each in of_class(definitions[-1], cst.Name) if each.value == name]
            return all(_is_other_use(definitions[-1], each, method) for each in uses)
    return False


def _is_other_use(function: cst.CSTNode, use: cst.Name, method: str) -> bool:
    outer = ancestors(function, use)[-1]
    return isinstance(outer, cst.AssignTarget) or (_is_object(outer, use) and outer.attr.value != method)


def _is_object(outer: cst.CSTNode, use: cst.Name) -> TypeGuard[cst.Attribute]:
    """Whether a name is that of which an attribute is read, and not that of the attribute."""
    return isinstance(outer, cst.Attribute) and outer.value is use


def _is_in_branch(project: Project, module: Module, use: cst.CSTNode, depth: int) -> bool:
    """Whether a node is in the branch of one process, behind an option of it, or in a function that only these call."""
    for outer, inner in inwards(module.tree, use):
        if isinstance(outer, cst.If) and inner is not outer.test and outer.orelse is not None:
            other = outer.orelse if inner is outer.body else outer.body
            if _asks_for_processes(outer.test) and _starts(project, other) and not _is_of_several(project, inner):
                return True
    if is_behind_option(module, use, module.engines().single_process_options):
        return True
    around = definitions_around(module.tree, use)
    return bool(around) and isinstance(around[0], cst.FunctionDef) and _is_called_alone(project, around[0], depth - 1)


def _asks_for_processes(test: cst.BaseExpression) -> bool:
    return any(JOB_SETTING.fits(name) or ASKS_FOR_GPUS.fits(name) for name in identifiers(test))


def _starts(project: Project, arm: cst.CSTNode) -> bool:
    """Whether a branch starts the processes of a job, itself or by calling a function that does."""
    return _calls_one_of(arm, START_RANKS | _callers_of(project, START_RANKS))


def _is_of_several(project: Project, code: cst.CSTNode) -> bool:
    """Whether code does what each process of a job does, or calls a function by its name that starts their group."""
    return _calls_one_of(code, _OF_SEVERAL | _callers_of(project, STARTS_OF_GROUP))


def _calls_one_of(code: cst.CSTNode, names: frozenset[str]) -> bool:
    return any(last_name(call.func) in names for call in of_class(code, cst.Call))


@noted_of_linted
def _callers_of(project: Project, names: frozenset[str]) -> frozenset[str]:
    """The names of the functions of the linted files that call one of these."""
    return frozenset(_find_callers(project, names))


def _find_callers(project: Project, names: frozenset[str]) -> Iterator[str]:
    for path in {path for name in names for path, code in project.linted_code(name) if name.encode() in code}:
        module = project.module(path)
        functions = () if module is None else of_class(module.tree, cst.FunctionDef)
        yield from (function.name.value for function in functions if _calls_one_of(function, names))


def _uses(project: Project, name: str) -> Iterator[tuple[Module, cst.Name]]:
    """Where the linted files have a name; as a field of something, it may be that of its module."""
    for path, code in project.linted_code(name):
        module = project.module(path) if name.encode() in code else None
        if module is None:
            continue
        yield from ((module, each) for each in of_class(module.tree, cst.Name) if each.value == name)


def _is_bound(module: Module, use: cst.Name) -> bool:
    """Whether a name is defined or imported here."""
    around = ancestors(module.tree, use)
    if isinstance(around[-1], (cst.FunctionDef, cst.ClassDef)):
        return around[-1].name is use
    return any(isinstance(each, (cst.Import, cst.ImportFrom)) for each in around)


def _is_other(module: Module, use: cst.Name) -> bool:
    """Whether a name is bound here, or is that of a field of an object, and not of a function: `args.predict`."""
    outer = ancestors(module.tree, use)[-1]
    if isinstance(outer, cst.Attribute) and outer.attr is use and isinstance(outer.value, cst.Name):
        return not is_imported(module, outer.value.value)
    return _is_bound(module, use)


def is_imported(module: Module, name: str) -> bool:
    """Whether a file imports a name."""
    imports = (*of_class(module.tree, cst.Import), *of_class(module.tree, cst.ImportFrom))
    return any(name in names_in(each) for each in imports)


def _is_called(module: Module, use: cst.Name) -> bool:
    around = ancestors(module.tree, use)
    called: cst.CSTNode = use
    for outer in reversed(around):
        if isinstance(outer, cst.Call):
            return outer.func is called
        if not isinstance(outer, cst.Attribute) or outer.attr is not use:
            return False
        called = outer
    return False


def _heir(module: Module, use: cst.Name) -> cst.ClassDef | None:
    """The class that has the named class as a base."""
    around = [each for each in ancestors(module.tree, use) if not isinstance(each, cst.Attribute)][-2:]
    match around:
        case [cst.ClassDef(bases=bases) as heir, cst.Arg() as base] if any(each is base for each in bases):
            return heir
    return None


def _overrides(heir: cst.ClassDef, method: str) -> bool:
    """Whether a class has a method of its own, and does not call that of its base."""
    own = (each for each in of_class(heir.body, cst.FunctionDef) if each.name.value == method)
    return any(own) and not any(calls_super(each, method) for each in of_class(heir.body, cst.FunctionDef))
