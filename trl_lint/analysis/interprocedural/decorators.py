"""Decorators: which ranks run the function that they decorate.

For example:

    @accelerator.on_main_process      some of them
    @click.command()                  all of them: it is known by its name
    @draccus.wrap()                   all of them: it fills in the settings, and calls the function
    @timed                            all of them, if the source of `timed` is known and its wrapper always calls `f`
    @register("name")                 all of them, if its source returns `f` itself
    @Reported("error")                all of them, if the method `__call__` of the class does one of these, and has no
                                      word for the rank
    @clock("train")                   all of them, if it is a context manager that lets no rank wait
    @for_each_image                   what its wrapper makes of one result per image is no mean over their pixels
    @lru_cache                        all of them, if it is called from one place only: a second call may not run it
    @somebody_elses                   not known

    def timed(f):
        def inner(*args):
            start = time.time()
            result = f(*args)         no path through `inner` skips this
            return result
        return inner
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.interpreter import expressions
from trl_lint.analysis.interprocedural import own_rank_decorators
from trl_lint.analysis.interprocedural.bound_by_decorated import absence_of_result
from trl_lint.analysis.interprocedural.own_rank_decorators import (
    division_by,
    function_around,
    of_some,
    result_of_some,
    returned_function,
)
from trl_lint.analysis.program.definitions.objects import ClassValue, FunctionValue
from trl_lint.analysis.program.idioms.single_places import is_run_from_one_place
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import ancestors, assignments, callee_of, is_super, last_name, names_in, of_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.control import UNIFORM, Control, Uniformity
from trl_lint.domain.derived import derived
from trl_lint.domain.kinds import LibraryName
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge import library
from trl_lint.knowledge.heuristics import MAY_ASK_FOR_RANK, is_rank_name
from trl_lint.knowledge.python import CALL_ALWAYS, CHOOSES_BY_TYPE, HARMLESS_DECORATORS, KEEP_RESULTS, RANK_DECORATORS
from trl_lint.knowledge.schema import Collective, Function

# The names of collectives that exchange data, without their module.
_COLLECTIVES = frozenset(
    row.name.rpartition(".")[2] for row in library.ROWS if isinstance(row, Collective) and row.result != "barrier"
)
# The names of all collectives, and of what else makes ranks wait for each other.
_WAITS = frozenset(row.name.rpartition(".")[2] for row in library.ROWS if isinstance(row, Collective)) | {"wait"}
# The names of the libraries' contexts that one rank runs before the others, without their module.
_ORDERED_CONTEXTS = frozenset(
    row.name.rpartition(".")[2] for row in library.ROWS if isinstance(row, Function) and row.first_rank
)
# Nodes that may skip a part of the expression or the statement.
_MAY_LEAVE_OUT = (cst.BooleanOperation, cst.CompFor, cst.IfExp, cst.Lambda)
_NUMERIC = frozenset({Kind.NUMBER, Kind.TENSOR})
_CALL = "__call__"
# What makes a function that yields once, and a class, decorators as well: the function runs inside the context.
_CONTEXT = "contextmanager"
_CONTEXT_CLASS = "contextlib.ContextDecorator"


class _Applied(NamedTuple):
    """What a decorator of the project does to a function. given: its name for the function. module: its file."""

    node: cst.FunctionDef
    given: str
    module: Module


def entered_by(frame: Frame, function: FunctionInfo) -> Control:
    """Which ranks the decorators let run a function: all, some, or, if a decorator is not known, possibly some."""
    if not function.decorators:
        return UNIFORM
    if function.decorators & RANK_DECORATORS:
        provenance = frame.step(function.node, "its decorator runs it on some ranks only")
        return Control(Uniformity.DIVERGENT, provenance, ranks.RANK_LOCAL)
    if function.decorators & KEEP_RESULTS and not _is_first_run(frame, function):
        return Control(Uniformity.UNKNOWN, frame.step(function.node, "its decorator may return a result that it keeps"))
    unknown = [each for each in _decorators_of(function) if not _lets_all_ranks_in(frame, each)]
    if not unknown:
        return UNIFORM
    for each in unknown:
        if (division := division_by(frame, each)) is not None:
            return own_rank_decorators.entered_by(frame, division)
    return Control(Uniformity.UNKNOWN, frame.step(function.node, "which ranks its decorator runs it on is not known"))


def _is_first_run(frame: Frame, function: FunctionInfo) -> bool:
    """Whether what keeps the results of a function has none of them before the one place that it is called from."""
    kept = (each for each in _decorators_of(function) if last_name(callee_of(each)) in KEEP_RESULTS)
    keepers = [frame.engine.settle(expressions.evaluate(frame, callee_of(each))) for each in kept]
    are_empty = all(isinstance(each, LibraryName) and each.name.startswith("functools.") for each in keepers)
    return are_empty and is_run_from_one_place(frame.engine.project, function.name)


def _decorators_of(function: FunctionInfo) -> list[cst.BaseExpression]:
    return [each.decorator for each in getattr(function.node, "decorators", ())]


def result_for_callers(
    frame: Frame, function: FunctionInfo, result: Value, before: Control, decorated: Control
) -> Value:
    """What callers get where the body of a function returns `result`: a decorator may reduce it.

    before: how the function is entered. decorated: which ranks its decorators let run it.
    """
    result = _changed_result(frame, function, result)
    if decorated.uniformity is not Uniformity.DIVERGENT:
        return result
    dividing = [found for each in _decorators_of(function) if (found := division_by(frame, each)) is not None]
    if not dividing and function.decorators & RANK_DECORATORS:
        absence = None if result.kind is Kind.NONE else absence_of_result(frame, function, before, decorated)
        joined = of_some(result, decorated)
        return joined if absence is None else joined.replace(absence=absence)
    return result_of_some(dividing[0], result, decorated) if len(dividing) == 1 else UNKNOWN


def _changed_result(frame: Frame, function: FunctionInfo, result: Value) -> Value:
    if function.decorators & CHOOSES_BY_TYPE:
        return UNKNOWN
    if function.decorators <= HARMLESS_DECORATORS:
        return result
    found = (_wrapper_of(frame, each) for each in _decorators_of(function))
    wrappers = [each for each in found if each is not None]
    if any(_changes_result(*each) for each in wrappers):
        return UNKNOWN
    if result.kind in _NUMERIC and any(_calls_per_element(*each) for each in wrappers):
        # What the wrapper makes of the results of all its calls.
        return derived(result.rank, result.kind, result, scalar=result.scalar)
    return result


def _calls_per_element(inner: cst.FunctionDef, name: str) -> bool:
    """Whether a wrapper calls a function in a loop, with what belongs to the turn: `[f(x) for x in rows]`."""
    loops: list[tuple[cst.BaseExpression, cst.CSTNode]] = [
        (each.target, each.body) for each in of_class(inner, cst.For)
    ]
    loops += [(each.target, _comprehension_of(inner, each)) for each in of_class(inner, cst.CompFor)]
    for target, body in loops:
        turn = set(names_in(target))
        calls = (each for each in of_class(body, cst.Call) if _calls(each, name))
        if any(not turn.isdisjoint(names_in(arg.value)) for each in calls for arg in each.args):
            return True
    return False


def _comprehension_of(root: cst.CSTNode, loop: cst.CompFor) -> cst.CSTNode:
    """The comprehension that a `for` inside it belongs to."""
    return next(each for each in reversed(ancestors(root, loop)) if not isinstance(each, cst.CompFor))


def _wrapper_of(frame: Frame, decorator: cst.BaseExpression) -> tuple[cst.FunctionDef, str] | None:
    """What a decorator of the project puts in the place of a function, and its name for the function."""
    if last_name(callee_of(decorator)) in HARMLESS_DECORATORS:
        return None
    applied = _applied(_value_of(frame, decorator), decorator)
    inner = None if applied is None else returned_function(applied.node)
    return None if applied is None or inner is None else (inner, applied.given)


def _value_of(frame: Frame, decorator: cst.BaseExpression) -> Value | None:
    """What a decorator, or what is called to get it, is a name for."""
    target = callee_of(decorator)
    is_named = isinstance(target, (cst.Attribute, cst.Name))
    return frame.engine.settle(expressions.evaluate(frame, target)) if is_named else None


def _applied(value: Value | None, decorator: cst.BaseExpression) -> _Applied | None:
    """The function of the project that gets the decorated one: `@timed`, what `@timed("a")` returns, or `__call__`."""
    is_called = isinstance(decorator, cst.Call)
    if isinstance(value, FunctionValue):
        function, of_object = value.function, 0
        node = returned_function(function.node) if is_called else function.node
    elif isinstance(value, ClassValue) and is_called and (found := value.cls.find(_CALL)) is not None:
        function, of_object = found, 1
        node = function.node
    else:
        return None
    parameters = node.params.params[of_object:] if isinstance(node, cst.FunctionDef) else ()
    if not isinstance(node, cst.FunctionDef) or len(parameters) != 1:
        return None
    return _Applied(node, parameters[0].name.value, function.module)


def _changes_result(inner: cst.FunctionDef, name: str) -> bool:
    """Whether a wrapper may return something else than the result of the function of this name."""
    if not _COLLECTIVES.isdisjoint(last_name(each.func) for each in of_class(inner, cst.Call)):
        return True
    returned = [each.value for each in of_class(inner, cst.Return) if each.value is not None]
    return any(_is_made_of_result(inner, each, name) for each in returned)


def _is_made_of_result(inner: cst.FunctionDef, returned: cst.BaseExpression, name: str) -> bool:
    """Whether a wrapper returns what it computes from the result of the decorated function, not the result itself."""
    given = [(target.value, value) for target, value in assignments(inner) if isinstance(target, cst.Name)]
    results = {target for target, value in given if _calls(value, name)}
    made = [value for target, value in given if isinstance(returned, cst.Name) and target == returned.value] or [
        returned
    ]
    return any(not _calls(each, name) and not (results | {name}).isdisjoint(names_in(each)) for each in made)


def _calls(expression: cst.BaseExpression, name: str) -> bool:
    return isinstance(expression, cst.Call) and last_name(expression.func) == name


def _lets_all_ranks_in(frame: Frame, decorator: cst.BaseExpression) -> bool:
    if last_name(callee_of(decorator)) in HARMLESS_DECORATORS:
        return True
    value = _value_of(frame, decorator)
    if isinstance(value, LibraryName):
        return value.name in CALL_ALWAYS
    if value is not None and _is_context(value, decorator):
        return not any(_may_take_turns(frame, each) for each in _code_of_context(frame, decorator))
    applied = _applied(value, decorator)
    if applied is None or (isinstance(value, ClassValue) and _has_word_for_rank(names_in(applied.node))):
        return False
    is_always = _calls_always(applied) and not _may_order(Frame(frame.engine, applied.module), applied.node)
    return is_always or _hands_back(applied)


def _is_context(value: Value, decorator: cst.BaseExpression) -> bool:
    """Whether a decorator is a context manager in sight, in which the function runs: `@clock()`.

    A class may have its own `__call__` that does no more than ask its base for the decorated function.
    """
    if not isinstance(decorator, cst.Call):
        return False
    if isinstance(value, FunctionValue):
        return value.function.decorators == {_CONTEXT}
    if not isinstance(value, ClassValue) or _CONTEXT_CLASS not in value.cls.library_bases():
        return False
    applied = _applied(value, decorator)
    own = [] if applied is None else [each.value for each in of_class(applied.node, cst.Return)]
    is_left_to_base = value.cls.find(_CALL) is None or (bool(own) and all(map(_asks_base, own)))
    return is_left_to_base and value.cls.find("__enter__") is not None


def _may_take_turns(frame: Frame, entered: FunctionInfo) -> bool:
    """Whether what enters a context, or a function in sight that it calls, may let in one rank after the other."""
    home = Frame(frame.engine, entered.module)
    called = (_value_of(home, each) for each in of_class(entered.node, cst.Call))
    helpers = (each.function for each in called if isinstance(each, FunctionValue))
    return any(_waits_by_rank(each.node) for each in (entered, *helpers))


def _waits_by_rank(code: cst.CSTNode) -> bool:
    """Whether code with conditions has a word for the rank, or for waiting."""
    words = names_in(code) if any(of_class(code, cst.If)) else set()
    return not words.isdisjoint(_WAITS) or _has_word_for_rank(words)


def _has_word_for_rank(words: set[str]) -> bool:
    return any(is_rank_name(each) or MAY_ASK_FOR_RANK.fits(each) for each in words)


def _asks_base(returned: cst.BaseExpression | None) -> bool:
    """Whether it is `super().__call__(…)`."""
    callee = returned.func if isinstance(returned, cst.Call) else None
    return isinstance(callee, cst.Attribute) and callee.attr.value == _CALL and is_super(callee.value)


def _may_order(frame: Frame, decorator: cst.FunctionDef) -> bool:
    """Whether the wrapper of a decorator calls in a context that may let in one rank after the other.

    frame: of the decorator's file. `with main_first(): return f(*args)`, where main_first has an `if`, or calls what
    has one: it may wait if this is not rank 0. Or `with accelerator.main_process_first():`.
    """
    contexts = [item.item for each in of_class(decorator, cst.With) for item in each.items]
    if any(last_name(callee_of(each)) in _ORDERED_CONTEXTS for each in contexts):
        return True
    entered = [code for each in contexts for code in _code_of_context(frame, each)]
    return any(any(of_class(each.node, cst.If)) or _may_take_turns(frame, each) for each in entered)


def _code_of_context(frame: Frame, context: cst.BaseExpression) -> Iterator[FunctionInfo]:
    """The function of a context manager, or the method by which its class enters, if they are in sight."""
    target = callee_of(context)
    if not isinstance(target, (cst.Attribute, cst.Name)):
        return
    value = frame.engine.settle(expressions.evaluate(frame, target))
    if isinstance(value, FunctionValue):
        yield value.function
    elif isinstance(value, ClassValue) and (enter := value.cls.find("__enter__")) is not None:
        yield enter


def _hands_back(applied: _Applied) -> bool:
    """Whether a decorator returns the function that it is given, wherever it returns something."""
    decorator, name = applied.node, applied.given
    targets = (each for each, _ in assignments(decorator.body) if isinstance(each, (cst.Name, cst.Tuple)))
    bound = {each for target in targets for each in names_in(target)}
    bound |= {each.name.value for each in of_class(decorator.body, cst.FunctionDef)}
    own = (each for each in of_class(decorator, cst.Return) if function_around(decorator, each) is decorator)
    returned = [each.value for each in own]
    are_it = (isinstance(each, cst.Name) and each.value == name for each in returned)
    return name not in bound and bool(returned) and all(are_it)


def _calls_always(applied: _Applied) -> bool:
    """Whether the function that a decorator returns calls the decorated one on all paths."""
    inner = returned_function(applied.node)
    if inner is None:
        return False
    decorators = {last_name(callee_of(each.decorator)) for each in inner.decorators}
    return decorators <= HARMLESS_DECORATORS and _is_called(inner.body.body, applied.given) is True


def _is_called(block: Sequence[cst.CSTNode], name: str) -> bool | None:
    """Whether all paths through a block call a function; False if some leave without; None if they reach its end."""
    for statement in block:
        answer = _is_called_in(statement, name)
        if answer is not None:
            return answer
    return None


def _is_called_in(statement: cst.CSTNode, name: str) -> bool | None:
    match statement:
        case cst.If():
            other = statement.orelse
            rest = other.body.body if isinstance(other, cst.Else) else (other,) if other is not None else ()
            branches = (_is_called(statement.body.body, name), _is_called(rest, name))
            return False if False in branches else None if None in branches else True
        case cst.With():
            return _is_called(statement.body.body, name)
        case cst.Try():
            return _is_called(statement.body.body, name)
        case cst.SimpleStatementLine() | cst.BaseSmallStatement():
            if any(_is_call(statement, each, name) for each in of_class(statement, cst.Call)):
                return True
    return False if of_class(statement, cst.Return) else None


def _is_call(statement: cst.CSTNode, call: cst.Call, name: str) -> bool:
    around = ancestors(statement, call)
    return last_name(call.func) == name and not any(isinstance(each, _MAY_LEAVE_OUT) for each in around)
