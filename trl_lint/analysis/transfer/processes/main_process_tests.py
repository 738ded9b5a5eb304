"""The conditions by which code tells the main process from the others, to ask the same elsewhere in the same words.

For example, in a script of plain `torch.distributed`:

    def train(args):
        rank = dist.get_rank()
        torch.save(state, "last.pt")           all ranks write it; `if rank == 0:` is how this function would ask
        if rank == 0:
            torch.save(state, "best.pt")

    def report(table):
        table.to_csv("table.csv")              `if is_main_process():`, as another function asks

    def evaluate(loader):
        if is_main_process(): ...

A test that is asked only where there are several processes is not asked elsewhere, where it may be false on one:

    def validate(rank, args):              rank: None on one process
        if args.num_gpus > 1:
            if rank == 0: ...
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import Condition, ifs_around, is_bound, is_lasting, parts_of
from trl_lint.analysis.program.syntax import (
    ancestors,
    identifiers,
    is_literal_none,
    last_name,
    of_class,
    precedes,
    value_names,
)
from trl_lint.analysis.transfer.processes import job_flags
from trl_lint.domain.constants import ONE_PROCESS_TRUE, World
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.numbers import single_process_value
from trl_lint.domain.values import Kind
from trl_lint.knowledge.heuristics import MAIN_PROCESS, MAY_ASK_FOR_RANK

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.frame import Frame

# Nodes whose contents may not run, or run at another time.
_MAY_BE_SKIPPED = (cst.If, cst.For, cst.While, cst.Try, cst.TryStar, cst.Match, cst.FunctionDef, cst.Lambda)


class _Test(NamedTuple):
    """A condition that holds on the main process alone.

    function: the one that asks it, None for the file's own code. if_several: the parts of the conditions around it that
    ask whether there are several processes.
    """

    function: FunctionInfo | None
    condition: cst.BaseExpression
    if_several: tuple[Condition, ...]


class MainProcessTests:
    """The conditions of a file that hold on the main process alone, by the identity of their nodes."""

    def __init__(self) -> None:
        self.found: dict[int, _Test] = {}


def note(frame: Frame, condition: cst.CSTNode) -> None:
    """Note the parts of a condition that hold on the main process alone."""
    for part in _parts(condition):
        value = frame.known_value(part)
        if value is None or not value.rank.is_by_rank or not _is_plain(part):
            continue
        if single_process_value(value) is ONE_PROCESS_TRUE:
            test = _Test(frame.function, part, tuple(_if_several(frame, part)))
            frame.module.notes.of(MainProcessTests).found.setdefault(id(part), test)
            frame.engine.note_stored(MainProcessTests, frame.module, part)


def _parts(condition: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The operands of a conjunction, without a negation."""
    for part in parts_of(condition):
        if isinstance(part, cst.UnaryOperation) and isinstance(part.operator, cst.Not):
            yield part.expression
        elif isinstance(part, cst.BaseExpression):
            yield part


def _if_several(frame: Frame, condition: cst.BaseExpression) -> Iterator[Condition]:
    """The parts of the conditions around one, or that it is a part of, that ask whether there are several processes."""
    around = ancestors(frame.root, condition)
    whole = [part for each in around if isinstance(each, cst.BooleanOperation) for part in parts_of(each)]
    beside = [Condition(each, True) for each in whole if each is not condition and each not in around]
    for part in (*_parts_around(frame.root, condition), *beside):
        if isinstance(frame.value_of(part.test).const, World) or job_flags.asks_for_several(part.test):
            yield part


def _parts_around(root: cst.CSTNode, node: cst.CSTNode) -> Iterator[Condition]:
    """The parts of the conditions of the branches around a place."""
    for branch, holds in ifs_around(root, node):
        yield from (Condition(each, holds) for each in parts_of(branch.test))


def _is_plain(test: cst.BaseExpression) -> bool:
    """Whether a test of the rank shows at once that it is for the main process: `rank == 0`, `args.is_main`."""
    match test:
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.In())]):
            return True
        case cst.Name() | cst.Attribute() | cst.Call(args=[]) if MAY_ASK_FOR_RANK.fits(_asked_name(test)):
            return True
    return _is_first(test)


def _asked_name(test: cst.BaseExpression) -> str:
    return last_name(test.func if isinstance(test, cst.Call) else test)


def excludes_others(test: cst.BaseExpression) -> bool:
    """Whether a condition shows at once that it can hold on the main process alone: `done and rank == 0`."""
    return any(isinstance(part, cst.BaseExpression) and _is_first(part) for part in parts_of(test))


def _is_first(test: cst.BaseExpression) -> bool:
    match test:
        case cst.Comparison(left, [cst.ComparisonTarget(cst.Equal(), cst.Integer("0"))]):
            # `is_main_process() == 0` is for the others.
            return not (isinstance(left, cst.Comparison) or MAIN_PROCESS.fits(_asked_name(left)))
        case cst.Name() | cst.Attribute() | cst.Call(args=[]):
            return MAIN_PROCESS.fits(_asked_name(test))
    return False


def main_process_test(module: Module, function: FunctionInfo | None, place: cst.CSTNode) -> str:
    """The condition for the main process as the code around a place would write it; "" if it has none.

    One of the same function is taken before those of others, one for the whole job before one for each machine, and the
    most frequent before rarer ones. function: that of the place, None for the file's own code.
    """
    counted = Counter(
        (each.function is not function, is_of_machine(each.condition), module.tree.code_for_node(each.condition))
        for each in module.notes.of(MainProcessTests).found.values()
        if _holds_at(module, function, place, each)
    )
    best = min(counted, key=lambda key: (key[:2], -counted[key], len(key[2]), key[2]), default=None)
    return "" if best is None else best[2]


def is_of_machine(test: cst.CSTNode) -> bool:
    """Whether a test asks for the rank within one machine, by its names."""
    return any("local" in name.lower() for name in identifiers(test))


def _holds_at(module: Module, function: FunctionInfo | None, place: cst.CSTNode, test: _Test) -> bool:
    """Whether a condition can be asked at a place, and has the same answer there."""
    condition = test.condition
    if any(character in module.tree.code_for_node(condition) for character in "\n#"):
        return False
    root = module.tree if function is None else function.node
    names = list(value_names(condition))
    if not all(is_lasting(root, each) for each in (*names, *of_class(condition, cst.Attribute))):
        return False
    if not _is_here_too(root, place, test.if_several) or any(_may_be_none(root, function, each) for each in names):
        return False
    if test.function is function:
        is_asked = not _needs_group(module, condition) or _is_asked_always(root, condition)
        return is_asked and all(_is_bound_before(root, place, each) for each in names)
    return not _needs_group(module, condition) and all(_is_shared(module, function, test, each) for each in names)


def _is_here_too(root: cst.CSTNode, place: cst.CSTNode, asked: Sequence[Condition]) -> bool:
    """Whether a place is under the same parts of conditions as another one."""
    here = list(_parts_around(root, place)) if asked else []
    return all(any(each.holds is own.holds and each.test.deep_equals(own.test) for own in here) for each in asked)


def _may_be_none(root: cst.CSTNode, function: FunctionInfo | None, name: cst.Name) -> bool:
    """Whether a name is a parameter that is None by default, or that some call passes as None."""
    parameters = () if function is None or is_bound(root, name) else function.parameters
    own = next((each for each in parameters if each.name == name.value), None)
    if function is None or own is None:
        return False
    passed = (each.names.get(own.name) for each in function.summaries.values())
    is_passed = any(value is not None and value.kind is Kind.NONE for value in passed)
    return is_passed or (own.default is not None and is_literal_none(own.default))


def _needs_group(module: Module, test: cst.BaseExpression) -> bool:
    """Whether a condition fails without a process group: it calls torch itself."""
    calls = of_class(test, cst.Call)
    names = (name.value for call in calls for name in value_names(call.func))
    return any(library_name_of(module.names.get(name)).partition(".")[0] == "torch" for name in names)


def _is_asked_always(root: cst.CSTNode, condition: cst.BaseExpression) -> bool:
    """Whether a function asks it unconditionally: the only branch around it is the one that it decides on."""
    around = [each for each in ancestors(root, condition)[1:] if isinstance(each, _MAY_BE_SKIPPED)]
    return len(around) == 1


def _is_bound_before(root: cst.CSTNode, place: cst.CSTNode, name: cst.Name) -> bool:
    """Whether a name has its value at a place: it is not bound in the function, or unconditionally before."""
    bindings = [each for each in of_class(root, cst.AssignTarget) if name.value in {n.value for n in value_names(each)}]
    if not bindings:
        return not is_bound(root, name)
    around = [each for each in ancestors(root, bindings[0])[1:] if isinstance(each, _MAY_BE_SKIPPED)]
    return len(bindings) == 1 and not around and precedes(root, bindings[0], place)


def _is_shared(module: Module, function: FunctionInfo | None, test: _Test, name: cst.Name) -> bool:
    """Whether a name means the same in two functions: it is one of the file, or the object of their methods."""
    both = [each for each in (function, test.function) if each is not None]
    parameters = [parameter.name for each in both for parameter in each.parameters]
    if len(both) == 2 and both[0].cls is not None and both[0].cls is both[1].cls and name.value == "self":
        return parameters.count("self") == 2 and both[0].name != "__init__"
    is_own = name.value in parameters or any(is_bound(each.node, name) or each.closure is not None for each in both)
    return not is_own and name.value in module.names
