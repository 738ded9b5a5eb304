"""Code for a value of an option with which a function is called for one process, and not started in several.

For example:

    def process(rank, size, task):
        if task == "train":
            train()                                     run by one process
        elif task == "train_dist":
            train_on_all()

    if "dist" not in args.task:
        process(0, 1, args.task)                        called with literals
        exit(0)
    for rank in range(gpus):
        Process(target=process, args=(rank, gpus, args.task)).start()       never with "train"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import (
    ancestors,
    assigned_parts,
    definitions_around,
    inwards,
    last_name,
    last_statement,
    of_class,
)
from trl_lint.domain.provenance import steps
from trl_lint.knowledge.engines import SPAWNS_RANKS
from trl_lint.knowledge.process_starts import START_RANKS
from trl_lint.linter.execution.literal_tests import UNKNOWN, conditions_around, literal, outcome

if TYPE_CHECKING:
    from trl_lint.rules.base import Violation

# How many calls lead from the branch to the place, in its file.
_DEEPEST = 3
_STARTS = SPAWNS_RANKS.pattern + rb"|\bProcess\("
_EXITS = frozenset({"_exit", "exit", "quit"})
# What is passed to a function, by its parameters; None is the number that a launcher passes.
_Passed = Mapping[str, "cst.BaseExpression | None"]


def is_chosen_for_one(project: Project, violation: Violation) -> bool:
    """Whether a place, or one on the way to it, is in such a branch of a function that others are started with."""
    places = [(violation.module, violation.node)]
    for step in steps(violation.provenance):
        module = project.module(step.module.path)
        if module is not None and module.tree is step.module.tree:
            places.append((module, step.node))
    return any(_is_in_branch_for_one(project, *place) for place in places)


def _is_in_branch_for_one(project: Project, module: Module, node: cst.CSTNode, depth: int = _DEEPEST) -> bool:
    if not module.mentions(_STARTS):
        return False
    match definitions_around(module.tree, node):
        case [cst.FunctionDef() as function, *_] if depth and _is_used_here_only(project, module, function):
            known = dict(_required(module, function, node))
            if known and _is_for_one(module, function, known):
                return True
            uses = [each for each in _uses(module, function) if not _is_name_of(module, each)]
            return bool(uses) and all(_is_call_for_one(project, module, each, depth) for each in uses)
    return False


def _is_call_for_one(project: Project, module: Module, use: cst.Name, depth: int) -> bool:
    outer = ancestors(module.tree, use)[-1]
    is_call = isinstance(outer, cst.Call) and outer.func is use
    return is_call and _is_in_branch_for_one(project, module, use, depth - 1)


def _uses(module: Module, function: cst.FunctionDef) -> list[cst.Name]:
    return [each for each in of_class(module.tree, cst.Name) if each.value == function.name.value]


def _is_name_of(module: Module, name: cst.Name) -> bool:
    return isinstance(ancestors(module.tree, name)[-1], cst.FunctionDef)


def _required(module: Module, function: cst.FunctionDef, node: cst.CSTNode) -> Iterator[tuple[str, object]]:
    """The literals that parameters are equal to at a place, as the tests around it say."""
    changed = {target.value for target, _ in assigned_parts(function) if isinstance(target, cst.Name)}
    names = {each.name.value for each in function.params.params} - changed
    for test, holds in conditions_around(function, node):
        match test:
            case cst.Comparison(cst.Name(name), [cst.ComparisonTarget(cst.Equal(), right)]) if holds and name in names:
                value = literal(module, right)
                if isinstance(value, str):
                    yield name, value


def _is_used_here_only(project: Project, module: Module, function: cst.FunctionDef) -> bool:
    """Whether the other linted files have functions of their own, if they mention the name."""
    name = function.name.value
    own, taken = (re.compile(each % name.encode()) for each in (rb"\bdef %b\b", rb"\bimport\b[^\n]*\b%b\b"))
    others = (code for path, code in project.linted_code(name) if path != module.path)
    return all(own.search(code) is not None and taken.search(code) is None for code in others)


def _is_for_one(module: Module, function: cst.FunctionDef, known: Mapping[str, object]) -> bool:
    """Whether a function is called with a rank of 0, and nothing starts several processes of it with these values."""
    called: list[_Passed] = []
    started: list[_Passed] = []
    for use in _uses(module, function):
        around = ancestors(module.tree, use)
        outer = around[-1]
        if isinstance(outer, cst.FunctionDef):
            continue
        is_call = isinstance(outer, cst.Call) and outer.func is use
        passed = _passed(function, outer.args) if isinstance(outer, cst.Call) else _started_with(function, around, use)
        if passed is None:
            return False
        if not _is_excluded(module, use, passed, known):
            if not is_call:
                return False
            called.append(passed)
        elif not is_call:
            started.append(passed)
    return bool(called) and bool(started) and all(_is_alone(module, each, started) for each in called)


def _started_with(function: cst.FunctionDef, around: tuple[cst.CSTNode, ...], use: cst.Name) -> _Passed | None:
    """What a function is started with: `Process(target=f, args=(rank, size))`, `spawn(f, args=(size,))`."""
    match around[-2:]:
        case [cst.Call(func=starter, args=args), cst.Arg(value=given)] if given is use:
            is_numbered = last_name(starter) in START_RANKS
            words = [each.value for each in args if each.keyword is not None and each.keyword.value == "args"]
            if (is_numbered or last_name(starter) == "Process") and len(words) == 1 and isinstance(words[0], cst.Tuple):
                return _passed(function, [cst.Arg(each.value) for each in words[0].elements], numbered=is_numbered)
    return None


def _passed(function: cst.FunctionDef, args: Sequence[cst.Arg], *, numbered: bool = False) -> _Passed | None:
    """The arguments by parameter; None if they are not known."""
    names = [each.name.value for each in function.params.params]
    if any(each.star for each in args) or len(args) + numbered > len(names):
        return None
    first: dict[str, cst.BaseExpression | None] = dict.fromkeys(names[:1] if numbered else ())
    rest = zip(names[1:] if numbered else names, args, strict=False)
    return first | {each.keyword.value if each.keyword is not None else name: each.value for name, each in rest}


def _is_excluded(module: Module, use: cst.CSTNode, passed: _Passed, known: Mapping[str, object]) -> bool:
    """Whether the conditions of a use exclude that it passes these values."""
    given: dict[str, object] = {}
    for name, value in known.items():
        expression = passed.get(name)
        if expression is None:
            continue
        own = literal(module, expression)
        if own is not UNKNOWN and own != value:
            return True
        given[module.tree.code_for_node(expression)] = value
    assigned = {module.tree.code_for_node(target) for target, _ in assigned_parts(module.tree)}
    given = {code: value for code, value in given.items() if "." in code and code not in assigned}
    return any(outcome(test, given) is (not holds) for test, holds in _conditions(module, use))


def _conditions(module: Module, use: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """The tests around a use and those before it that leave the program, each with the outcome that leads to it."""
    yield from conditions_around(module.tree, use)
    for block, inner in inwards(module.tree, use):
        if isinstance(block, (cst.IndentedBlock, cst.Module)):
            before = block.body[: block.body.index(inner)]
            yield from ((each.test, False) for each in before if isinstance(each, cst.If) and _leaves(each))


def _leaves(branch: cst.If) -> bool:
    match last_statement(branch.body):
        case cst.Return() | cst.Raise():
            return True
        case cst.Expr(value=cst.Call(func=function)):
            return last_name(function) in _EXITS
    return False


def _is_alone(module: Module, called: _Passed, started: Sequence[_Passed]) -> bool:
    """Whether a call passes 0 where the others are started with a number of their own."""
    zeros = {name for name, each in called.items() if each is not None and literal(module, each) == 0}
    return any(all(_is_own(module, each, name) for each in started) for name in zeros)


def _is_own(module: Module, passed: _Passed, name: str) -> bool:
    return name in passed and (passed[name] is None or literal(module, passed[name]) is UNKNOWN)
