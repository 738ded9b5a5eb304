"""Code of a program that runs only with one of its options: with one that commands give where they start one process,
with one that no command gives, or with one that turns on a trial.

For example:

    parser.add_argument("--do_pred", action="store_true")
    if args.do_pred or args.do_eval is not None:
        open(path, "w")

    if args.keep:
        trainer.add_callback(Keeper)        all of `class Keeper`, if nothing else names it

    if args.debug:
        rows = Subset(rows, numpy.random.choice(len(rows), 64))

    torchrun train.py --epochs 3
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import product

import libcst as cst

from trl_lint.analysis.program.blocks import exits_before, last_statement
from trl_lint.analysis.program.idioms.literal_tests import COUNT, outcome, read_name, tests_around
from trl_lint.analysis.program.idioms.numbers_of_things import is_count
from trl_lint.analysis.program.project.import_lines import linted_and_imported
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import ancestors, below, children, definitions_around, innermost, of_class
from trl_lint.analysis.transfer.processes.command_options import called_by_command
from trl_lint.knowledge import lightning
from trl_lint.knowledge.heuristics import (
    DISTRIBUTED_SETTING,
    RANK_FIELD,
    SETTINGS_OPTION,
    TRIAL_RUN,
    WORLD_FIELD,
    is_rank_name,
)
from trl_lint.knowledge.transformers import OFF_BY_DEFAULT
from trl_lint.linter.execution.default_values import is_off, own_default, unset_values
from trl_lint.linter.execution.linted_programs import lints_program

# The values that an option of a file may have where a command does not give it; empty if that is not known.
_Values = Callable[[Module, str], Collection[object]]


def is_behind_option(module: Module, node: cst.CSTNode, options: Collection[str]) -> bool:
    """Whether a node is in a branch taken only with one of these options, none of which is on by default."""

    def values(module: Module, option: str) -> Collection[object]:
        return own_default(module, option) if option in options else ()

    return bool(options) and _is_behind(None, module, node, values)


def is_behind_unused_option(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in a branch taken only with options that are off by default, and that nothing sets: neither a
    command, of those that start the programs that the file is part of, nor code.
    """
    return _is_behind(project, module, node, partial(_unused_values, project))


def is_of_trial(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in a branch taken only with an option that turns on a trial, and is off by default.

    Unlike for others, commands may be unknown: who turns it on wants to see the code run, and no more.
    """
    return _is_behind(project, module, node, partial(_trial_values, project))


def _trial_values(project: Project, module: Module, option: str) -> Collection[object]:
    """The values of an option that turns on a trial; none if a command gives it, or a file may turn it on."""
    given = module.engines().given_options
    on = (given.names or frozenset[str]()) | (given.said.on if given.said is not None else frozenset[str]())
    if not TRIAL_RUN.fits(option) or option in on:
        return ()
    return unset_values(project, module, option, given.said.values(option) if given.said is not None else ())


def _unused_values(project: Project, module: Module, option: str) -> Collection[object]:
    """The values of an option that no command gives to the programs that a file is part of.

    Where some of their options may be unknown, settings of the project have to say that it is off; one for several
    processes is on nevertheless where a command starts these.
    """
    given = module.engines().given_options
    said = given.said.values(option) if given.said is not None else ()
    is_open = given.names is None and (not said or DISTRIBUTED_SETTING.fits(option))
    if is_open or _is_set_by_others(option):
        return ()
    names = given.names or frozenset[str]()
    # A recipe that turns on an option of the library may be there, though no command is shown with it.
    has_recipes = any(SETTINGS_OPTION.fits(f"--{each}") for each in names)
    known = names if has_recipes else names | OFF_BY_DEFAULT
    return () if option in known else unset_values(project, module, option, said)


def _is_set_by_others(option: str) -> bool:
    """Whether launchers give an option, by its name, whether or not their commands show it, or a trainer counts it."""
    is_of_launchers = is_rank_name(option) or RANK_FIELD.fits(option) or WORLD_FIELD.fits(option)
    return is_of_launchers or option in lightning.COUNTS


def _is_behind(project: Project | None, module: Module, node: cst.CSTNode, values: _Values, depth: int = 2) -> bool:
    """Whether a node is only reached with options that have other values, or in a definition only named there."""
    if any(_never_is(module, node, *each, values) for each in _conditions(module, node)):
        return True
    definition = next(iter(definitions_around(module.tree, node)), None)
    if not depth or definition is None or definition.decorators:
        return False
    if not module.engines().imported:
        uses = [(module, each) for each in _named_in(module, definition.name.value, definition)]
    else:
        uses = _uses(project, module, definition) if project is not None and lints_program(project) else []
    return bool(uses) and all(_is_behind(project, *each, values, depth - 1) for each in uses)


def _uses(project: Project, home: Module, definition: cst.ClassDef | cst.FunctionDef) -> list[tuple[Module, cst.Name]]:
    """Where code in sight names a definition of a file that others import; none if it may also find it by its name.

    Nor if none of those others is in sight.
    """
    name = definition.name.value
    in_text = re.compile(rb"[\"']%b[\"']" % name.encode())
    found: list[tuple[Module, cst.Name]] = []
    for path in (each for each in linted_and_imported(project) if project.mentions(each, name)):
        module = project.module(path)
        if module is None or in_text.search(project.code(path)):
            return []
        found += ((module, each) for each in _named_in(module, name, definition))
    return found if any(module is not home for module, _ in found) else []


def _named_in(module: Module, name: str, definition: cst.CSTNode) -> Iterator[cst.Name]:
    """Where a file names a definition, but for its own code, others of this name, and where it is imported."""
    inside = set(map(id, below(definition)))
    for each in of_class(module.tree, cst.Name):
        if each.value == name and id(each) not in inside:
            around = ancestors(module.tree, each)
            match around[-1]:
                case cst.ClassDef(name=own) | cst.FunctionDef(name=own) if own is each:
                    continue
                case cst.ImportAlias(asname=None):
                    continue
            yield each


def _conditions(module: Module, node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """The tests that decide whether a node is reached, each with the outcome for which it is."""
    yield from tests_around(module.tree, node)
    exits = exits_before(module.tree, node)
    # Who gets an error without an option gives it.
    yield from ((each.test, False) for each in exits if not isinstance(last_statement(each.body), cst.Raise))


def _never_is(module: Module, node: cst.CSTNode, test: cst.BaseExpression, wanted: bool, values: _Values) -> bool:
    """Whether a test never has an outcome, with options that are off."""
    function = innermost(module.tree, node, cst.FunctionDef)
    parameters = {one.name for each in called_by_command(module) if each.node is function for one in each.parameters}
    known: dict[str, Collection[object]] = {}
    for each in _reads(test):
        holder, _, option = read_name(each).rpartition(".")
        if not holder and function is not None and is_count(function, option):
            known[option] = (COUNT,)
        elif (holder or option in parameters) and (found := values(module, option)) and all(map(is_off, found)):
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
