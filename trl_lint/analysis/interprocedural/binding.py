"""Binds the arguments of a call to parameters: `def log(self, loss, *, step=None)`, called with `trainer.log(x)`.

For example:

    self   the instance that the method is called on
    loss   x, marked with the call: if the callee stores it, this call counts as the place
    step   its default, evaluated where the function is defined
"""

from __future__ import annotations

from collections.abc import Hashable

import libcst as cst

from trl_lint.analysis.interprocedural import annotated_only
from trl_lint.analysis.program.definitions.construction import CONSTRUCTOR
from trl_lint.analysis.program.definitions.own_loaders import may_be_loader
from trl_lint.analysis.program.definitions.parameter_uses import by_name, is_none_by_default, is_only_compared
from trl_lint.analysis.program.idioms.helper_numbers import only_shares_work
from trl_lint.analysis.program.idioms.never_none import is_never_none
from trl_lint.analysis.program.idioms.samplers import as_sharding
from trl_lint.analysis.program.project.classes import FunctionInfo, Parameter
from trl_lint.analysis.program.syntax import callee_of, last_name
from trl_lint.analysis.state import settings
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import NUMERIC, Frame
from trl_lint.analysis.state.written_lengths import left_out
from trl_lint.analysis.transfer.processes.world_sizes import as_world_size
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING, PRESENT, GivenNumber
from trl_lint.domain.heap import Cell
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import TupleValue, library_name_of
from trl_lint.domain.small_tuples import is_small
from trl_lint.domain.values import BOTTOM, UNKNOWN, Kind, Value
from trl_lint.knowledge.heuristics import RANK_FIELD, RANK_NUMBER, RANK_OF_MATRICES
from trl_lint.knowledge.process_starts import ONE_PER_PROCESS
from trl_lint.knowledge.schema import RANK_INDEX

# What a number, or a text, may be as far as it is known.
_MAY_COUNT = frozenset({Kind.NUMBER, Kind.STRING, Kind.UNKNOWN})

_CALLED_AS_WRITTEN = frozenset({"classmethod", "staticmethod"})


def bind(frame: Frame, function: FunctionInfo, args: Arguments, receiver: Value | None) -> dict[str, Value]:
    """The values of a function's parameters, by name."""
    names: dict[str, Value] = {}
    positional = list(args.positional)
    if receiver is not None:
        positional.insert(0, receiver)
    index = 0
    bound: set[str] = set()
    for parameter in function.parameters:
        name = parameter.name
        if parameter.star == "*":
            rest = positional[index:]
            index = len(positional)
            names[name] = _starred_arguments(frame, parameter, rest, args.star)
        elif parameter.star == "**":
            names[name] = _keywords_of(frame, function, parameter, args, bound)
        elif parameter.positional and index < len(positional):
            index_passed = index - (receiver is not None)
            expression = args.expression(index_passed) if index_passed >= 0 else None
            value = _refined_by_parameter(frame, function, parameter, positional[index])
            names[name] = _passed(frame, value, index_passed < 0, expression, (function, name))
            index += 1
            bound.add(name)
        elif name in args.keywords:
            expression = args.expression(name)
            value = _refined_by_parameter(frame, function, parameter, args.keywords[name])
            names[name] = _passed(frame, value, False, expression, (function, name))
            bound.add(name)
        else:
            names[name] = _missing(frame, function, parameter, args)
    return names


def lacks_argument(function: FunctionInfo, args: Arguments, receiver: Value | None) -> bool:
    """Whether a call leaves out an argument, so that it fails: a notebook calls an older version of the function."""
    if args.star is not None or args.double is not None or function.decorators - _CALLED_AS_WRITTEN:
        return False
    given = len(args.positional) + (receiver is not None)
    required = [each for each in function.parameters if each.default is None and not each.star]
    lacking = [each for index, each in enumerate(required) if not each.positional or index >= given]
    return any(each.name not in args.keywords for each in lacking)


def is_refused(function: FunctionInfo, args: Arguments, node: cst.CSTNode, receiver: Value | None) -> bool:
    """Whether Python refuses a call by name, as it leaves out an argument or has one too many.

    A constructor may be given others by the class of its class.
    """
    if not args.are_those_of(node) or last_name(callee_of(node)) != function.name or function.name == CONSTRUCTOR:
        return False
    is_bound = receiver is not None and bool(function.parameters) and not function.parameters[0].star
    return not function.decorators - _CALLED_AS_WRITTEN and not args.fit(function.parameters[is_bound:])


def expression_of(
    function: FunctionInfo, name: str, args: Arguments, receiver: Value | None
) -> cst.BaseExpression | None:
    """The argument expression for a parameter in a call; None if there is none, or it comes from a starred argument."""
    if name in args.keywords:
        return args.expression(name)
    index = 0 if receiver is None else -1
    for parameter in function.parameters:
        if not parameter.positional or parameter.star:
            return None
        if parameter.name == name:
            return args.expression(index) if 0 <= index < len(args.positional) else None
        index += 1
    return None


def _refined_by_parameter(frame: Frame, function: FunctionInfo, parameter: Parameter, value: Value) -> Value:
    """An argument, or what its parameter's name or annotation says if the argument is unknown: a model, an Accelerator.

    For other objects, such as a data set, the class does not say whether they are the same on all ranks.
    """
    if may_be_loader(value):
        sharding = as_sharding(function.module, parameter.name, UNKNOWN)
        return value if sharding is UNKNOWN else sharding
    if value.kind is not Kind.UNKNOWN or value.rank != ranks.UNKNOWN:
        return value
    sharding = as_sharding(function.module, parameter.name, value)
    if sharding is not value:
        return sharding
    if parameter.annotation is None:
        return by_name(function.module, parameter.name) or value
    found = frame.engine.annotated(Frame(frame.engine, function.module), parameter.annotation)
    if found is None:
        return value
    if found.kind is Kind.MODEL:
        found = annotated_only.of_unknown(frame.engine.project, function, parameter, found)
        return found if value.grad else found.replace(grad=False)  # frozen before its class was known
    return found if library_name_of(found) in ONE_PER_PROCESS else value


def _passed(
    frame: Frame,
    value: Value,
    is_owner: bool,
    expression: cst.CSTNode | None,
    parameter: tuple[FunctionInfo, str],
) -> Value:
    """An argument, marked with the call that passes it: if the callee stores it, this call counts as the place."""
    value = _as_there(frame, parameter[0], parameter[1], expression, value)
    value = as_world_size(parameter[1], _as_rank(*parameter, value))
    if not is_owner and frame.statement is not None:
        for refine in frame.domains.argument:
            value = refine(frame, expression, parameter, value)
    if is_owner or not value.rank.differs or value.writes or value.kind not in NUMERIC:
        return value
    if value.pending or frame.statement is None:
        return value
    return value.replace(pending=frozenset((frame.write_here(value, "", expression, parameter),)))


def _as_there(frame: Frame, function: FunctionInfo, name: str, expression: cst.CSTNode | None, value: Value) -> Value:
    """The argument of a parameter that is None by default: one that never is tells the call from those without it."""
    is_open = value.const is MISSING and not value.rank.is_by_rank and value.kind in _MAY_COUNT
    if not is_open or not is_none_by_default(function, cst.Name(name)) or not is_never_none(frame.root, expression):
        return value
    return value.replace(const=PRESENT)


def _as_rank(function: FunctionInfo, name: str, value: Value) -> Value:
    """The argument of a parameter called `rank`: a constant 0 is the rank of a run on one process, `run(0, gpus)`."""
    if value.const is True or value.const is False or value.const != 0:
        return value
    makes = function.cls or function
    is_rank = RANK_NUMBER.fits(name) or (RANK_FIELD.fits(name) and not RANK_OF_MATRICES.fits(makes.name))
    return RANK_INDEX if is_rank and not only_shares_work(function.node, name) else value


def _starred_arguments(frame: Frame, parameter: Parameter, rest: list[Value], star: Value | None) -> Value:
    if star is None and is_small(rest):
        return TupleValue(ranks.SAME, tuple(rest))
    element = BOTTOM if star is None else star
    for value in rest:
        element = join(element, value)
    return frame.allocate(parameter.node, Cell("list", rest=element))


def rest_from(given: Value, position: int) -> Value:
    """What `*args` gets of what a library gives by position, if as many parameters come before it."""
    return given.with_parts(given.items[position:]) if isinstance(given, TupleValue) else given


def _keywords_of(frame: Frame, function: FunctionInfo, parameter: Parameter, args: Arguments, bound: set[str]) -> Value:
    entries: dict[Hashable, Value] = {name: value for name, value in args.keywords.items() if name not in bound}
    rest = args.double if args.double is not None or entries else options_of(function)
    return frame.allocate(parameter.node, Cell("dict", entries, rest))


def options_of(function: FunctionInfo) -> Value | None:
    """What `**options` of a command gets where no known code passes it any: those of the command line."""
    return settings.SETTING if function.is_command else None


def _missing(frame: Frame, function: FunctionInfo, parameter: Parameter, args: Arguments) -> Value:
    possible = [value for value in (args.star, args.double) if value is not None]
    if possible:
        given = settings.spread(frame, parameter.name, possible[0].replace(const=MISSING))
        return as_world_size(parameter.name, given)
    if parameter.default is None:
        return settings.option(parameter.name, UNKNOWN) if function.is_command else UNKNOWN
    if (empty := left_out(frame, function, parameter)) is not None:
        return empty
    around = Frame(frame.engine, function.module, outer=function.closure)
    value = frame.engine.evaluate(around, parameter.default)
    if type(value.const) is int and is_only_compared(function, parameter.name):
        return value.replace(const=GivenNumber(value.const))  # `is_first()` is `0 == 0`, on all ranks
    return _as_rank(function, parameter.name, value)
