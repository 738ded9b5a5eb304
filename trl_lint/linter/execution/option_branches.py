"""Code of a program that runs only with one of its options: with one that commands give where they start one process,
or with one that no command gives.

For example:

    parser.add_argument("--do_pred", action="store_true")
    if args.do_pred or args.do_eval is not None:
        open(path, "w")

    if args.keep:
        trainer.add_callback(Keeper)        all of `class Keeper`, if nothing else names it

    torchrun train.py --epochs 3
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import product

import libcst as cst

from trl_lint.analysis.program.blocks import exits_before
from trl_lint.analysis.program.idioms.literal_tests import COUNT, outcome, read_name, tests_around
from trl_lint.analysis.program.idioms.numbers_of_things import is_count
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import below, children, definitions_around, innermost, of_class
from trl_lint.analysis.transfer.processes.command_options import called_by_command
from trl_lint.knowledge.heuristics import RANK_FIELD, SETTINGS_OPTION, WORLD_FIELD, is_rank_name
from trl_lint.knowledge.transformers import OFF_BY_DEFAULT
from trl_lint.linter.execution.default_values import is_off, own_default, unset_values

# The values that an option may have where a command does not give it; empty if that is not known.
_Values = Callable[[str], Collection[object]]


def is_behind_option(module: Module, node: cst.CSTNode, options: Collection[str]) -> bool:
    """Whether a node is in a branch taken only with one of these options, none of which is on by default."""

    def values(option: str) -> Collection[object]:
        return own_default(module, option) if option in options else ()

    return bool(options) and _is_behind(module, node, values)


def is_behind_unused_option(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in a branch taken only with options that are off by default, and that nothing sets: neither a
    command, of those that start the programs that the file is part of, nor code.
    """
    given = module.engines().given_options.names
    if given is None:
        return False
    # A recipe that turns on an option of the library may be there, though no command is shown with it.
    has_recipes = any(SETTINGS_OPTION.fits(f"--{each}") for each in given)
    known = given if has_recipes else given | OFF_BY_DEFAULT

    def values(option: str) -> Collection[object]:
        return () if option in known or _is_of_launchers(option) else unset_values(project, module, option)

    return _is_behind(module, node, values)


def _is_of_launchers(option: str) -> bool:
    """Whether launchers give an option, by its name, whether or not their commands show it."""
    return is_rank_name(option) or RANK_FIELD.fits(option) or WORLD_FIELD.fits(option)


def _is_behind(module: Module, node: cst.CSTNode, values: _Values, depth: int = 2) -> bool:
    """Whether a node is only reached with options that have other values, or in a definition only named there."""
    if any(_never_is(module, node, *each, values) for each in _conditions(module, node)):
        return True
    definition = next(iter(definitions_around(module.tree, node)), None)
    if not depth or definition is None or definition.decorators or module.engines().imported:
        return False
    inside = set(map(id, below(definition)))
    names = (each for each in of_class(module.tree, cst.Name) if each.value == definition.name.value)
    uses = [each for each in names if id(each) not in inside]
    return bool(uses) and all(_is_behind(module, each, values, depth - 1) for each in uses)


def _conditions(module: Module, node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """The tests that decide whether a node is reached, each with the outcome for which it is."""
    yield from tests_around(module.tree, node)
    yield from ((each.test, False) for each in exits_before(module.tree, node))


def _never_is(module: Module, node: cst.CSTNode, test: cst.BaseExpression, wanted: bool, values: _Values) -> bool:
    """Whether a test never has an outcome, with options that are off."""
    function = innermost(module.tree, node, cst.FunctionDef)
    parameters = {one.name for each in called_by_command(module) if each.node is function for one in each.parameters}
    known: dict[str, Collection[object]] = {}
    for each in _reads(test):
        holder, _, option = read_name(each).rpartition(".")
        if not holder and function is not None and is_count(function, option):
            known[option] = (COUNT,)
        elif (holder or option in parameters) and (found := values(option)) and all(map(is_off, found)):
            known[read_name(each)] = found
    given = (dict(zip(known, each, strict=True)) for each in product(*known.values()))
    return bool(known) and all(outcome(test, each) is (not wanted) for each in given)


def _reads(test: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What a test reads: names, and attributes of anything that has a name."""
    if read_name(test):
        yield test
    else:
        for each in children(test):
            yield from _reads(each)
