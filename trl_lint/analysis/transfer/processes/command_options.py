"""Code that only runs with other options than the commands give that start a program as several processes.

For example, with `torchrun --nproc_per_node 8 run.py --fold 3 --mode train`:

    if args.fold: save(rows)                 all processes may get there
    if args.mode == "prepare": save(rows)    another command may start one process for that: which do is not known
    if args.mode == "train": train()
    else: save(rows)                         the same
    if not args.dry: save(rows)              all processes get there, as `--dry` is not given
    if "cache" in cfg["data"]: save(rows)    these, too: a file with settings says how a job goes, not which one it is

Where the options of these commands are not known, nothing is known of either branch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.program.blocks import last_statement
from trl_lint.analysis.program.idioms.literal_tests import UNKNOWN, outcome
from trl_lint.analysis.program.idioms.option_defaults import off_values, option_default
from trl_lint.analysis.program.idioms.path_conditions import Condition, is_none_test, none_test_operand
from trl_lint.analysis.program.syntax import below, children, holder_name, last_name, of_class
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.knowledge.heuristics import SETTINGS_OBJECT
from trl_lint.knowledge.python import COMMAND_LINES

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module

_WORDS = {"false": False, "none": None, "null": None, "true": True}
_COMMAND_LINES = frozenset(each.rpartition(".")[2] for each in COMMAND_LINES)
_DENIES = (cst.NotEqual, cst.NotIn, cst.IsNot)


class _Branch(NamedTuple):
    """Code behind tests of options. tests: each with the outcome it needs; inside: the ids of its nodes."""

    tests: tuple[Condition, ...]
    inside: frozenset[int]


def given_to(program: Module) -> tuple[Mapping[str, str], ...]:
    """The options of each command that starts a program as several processes, with their values, if all are known.

    Of an option that is given twice the value is not known.
    """
    launches = program.engines().given_options.launches
    counts = [(launch, Counter(name for name, _ in launch)) for launch in launches]
    return tuple({name: value if count[name] == 1 else "" for name, value in launch} for launch, count in counts)


def left_out(module: Module, commands: Collection[Mapping[str, str]]) -> frozenset[int]:
    """The ids of the nodes of a file that no command with these options is known to get to."""
    own = ((each.node, frozenset(one.name for one in each.parameters)) for each in called_by_command(module))
    unmet = (
        branch.inside
        for root, names in ((module.tree, frozenset[str]()), *own)
        for branch in _branches(root, names)
        if not any(all(_is_met(module, test, names, given) for test in branch.tests) for given in commands)
    )
    return frozenset[int]().union(*unmet)


def called_by_command(module: Module) -> Iterator[FunctionInfo]:
    """The functions of a file whose parameters are options of the command: `@click.command()`, `fire.Fire(main)`."""
    calls = (each for each in of_class(module.tree, cst.Call) if last_name(each.func) in _COMMAND_LINES)
    called = {each.value.value for call in calls for each in call.args if isinstance(each.value, cst.Name)}
    return (each for each in module.functions if each.is_command or (each.cls is None and each.name in called))


@tree_cache(16)
def _branches(root: cst.CSTNode, names: frozenset[str]) -> tuple[_Branch, ...]:
    found = ((tuple(_asking(condition, names)), nodes) for condition, nodes in _guarded(root))
    return tuple(
        _Branch(tests, frozenset(id(each) for node in nodes for each in below(node))) for tests, nodes in found if tests
    )


def _guarded(root: cst.CSTNode) -> Iterator[tuple[Condition, list[cst.CSTNode]]]:
    """The outcomes of tests, each with the nodes behind it: of its branches, and of what follows one that returns."""
    for branch in of_class(root, cst.If):
        yield Condition(branch.test, True), [branch.body]
        if branch.orelse is not None:
            yield Condition(branch.test, False), [branch.orelse]
    for block in of_class(root, cst.IndentedBlock):
        for number, each in enumerate(block.body):
            if isinstance(each, cst.If) and isinstance(last_statement(each.body), cst.Return):
                yield Condition(each.test, False), list(block.body[number + 1 :])


def _asking(known: Condition, names: frozenset[str]) -> Iterator[Condition]:
    """The parts of an outcome that ask for options, each with the outcome it needs.

    Of several parts of which one is enough, all are needed, if each asks for options: which command gives them is open.
    """
    match known.test:
        case cst.UnaryOperation(operator=cst.Not(), expression=denied):
            yield from _asking(Condition(denied, not known.holds), names)
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            parts = [[*_asking(Condition(each, known.holds), names)] for each in (left, right)]
            if isinstance(operator, cst.And) is known.holds or all(parts):
                yield from (each for several in parts for each in several)
        case _ if any(_options_of(known.test, names)):
            yield known


def _options_of(node: cst.CSTNode, names: frozenset[str]) -> Iterator[cst.Attribute | cst.Name]:
    """The options that a test reads: `args.mode` in `args.mode == "prepare"`. names: those of parameters that are."""
    match node:
        case cst.Attribute() if SETTINGS_OBJECT.fits(holder_name(node).lower()):
            yield node
        case cst.Name(name) if name in names:
            yield node
        case cst.Attribute():
            yield from _options_of(node.value, names)
        case _:
            for each in children(node):
                yield from _options_of(each, names)


def _is_met(module: Module, needed: Condition, names: frozenset[str], given: Mapping[str, str]) -> bool:
    """Whether a test has the outcome that is needed with the options of a command."""
    options = [*_options_of(needed.test, names)]
    of_texts = any(of_class(needed.test, cst.SimpleString))
    values = {_shown(each): _value(module, each, given, of_texts) for each in options}
    found = outcome(needed.test, values)
    if found is not None:
        return found is needed.holds
    is_given = all(last_name(each) in given for each in options)
    match needed.test:
        case cst.Attribute():  # a flag is off unless it is given
            return is_given is needed.holds
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator)]):
            if none_test_operand(needed.test) is not None:
                return is_given is not (is_none_test(needed.test) is needed.holds)
            return is_given and needed.holds is not isinstance(operator, _DENIES)
    return is_given and needed.holds


def _shown(option: cst.Attribute | cst.Name) -> str:
    return f"{holder_name(option)}.{option.attr.value}" if isinstance(option, cst.Attribute) else option.value


def _value(module: Module, option: cst.Attribute | cst.Name, given: Mapping[str, str], of_texts: bool) -> object:
    """What an option is with those of a command: a text, or what that is read as; its default if it is not given."""
    text = given.get(last_name(option))
    if text is None:
        default = option_default(module, option)
        return default if default is not None else _off_value(module, option)
    if not text or of_texts:
        return text or UNKNOWN
    return int(text) if text.isdecimal() else _WORDS.get(text.lower(), text)


def _off_value(module: Module, option: cst.Attribute | cst.Name) -> object:
    """What an option is that is off until a command gives it; UNKNOWN for another one."""
    found = off_values(module, option) if isinstance(option, cst.Attribute) else ()
    return found[0] if found and all(each == found[0] for each in found) else UNKNOWN
