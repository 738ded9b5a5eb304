"""Settings that show whether there are several processes: the process group is started only if they are true.

For example:

    if config.distributed:                config.distributed: true for several ranks, from here on and in all functions
        dist.init_process_group("nccl")   the same for `rank = started() if config.distributed else 0`
    else:                                 so this branch is of one process
        device = "cpu"
    if not dist.is_initialized():         as started here; both branches are run, as there is no group the first time
        dist.init_process_group("nccl")
    if not config.debug:
        dist.init_process_group("nccl")
    else:                                 config.debug: false for several ranks, unless a file sets it
        rank = 0
    hasattr(config, "distributed")        the same as the flag: without it, there is one process
    if config.log:                        config.log: unknown
        wandb.init()
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.blocks import ends_outside
from trl_lint.analysis.program.definitions.objects import FunctionValue
from trl_lint.analysis.program.idioms.passed_ranks import is_set_by_file
from trl_lint.analysis.program.idioms.path_conditions import alternatives
from trl_lint.analysis.program.syntax import (
    ancestors,
    assigned_parts,
    identifiers,
    inwards,
    is_literal_none,
    last_name,
    of_class,
    resolved,
)
from trl_lint.analysis.state import settings
from trl_lint.domain.constants import MISSING, WORLD_FALSE, WORLD_SIZE, WORLD_TRUE, World
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.backends import FIND_GPUS
from trl_lint.knowledge.heuristics import (
    ASKS_FOR_GPUS,
    DISTRIBUTED_SETTING,
    JOB_SETTING,
    MAY_ASK_FOR_RANK,
    NAMES_ENGINE,
    RANK_FIELD,
    WORLD_FIELD,
    is_rank_name,
)
from trl_lint.knowledge.launcher_variables import ENVIRON, SET_BY_TORCHRUN
from trl_lint.knowledge.process_starts import ASK_FOR_GROUP, START_PROCESSES, STARTS_OF_GROUP
from trl_lint.knowledge.python import DICTS_OF_ATTRIBUTES

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.frame import Frame

# The kinds that such a setting may have.
_SETTINGS = frozenset({Kind.NUMBER, Kind.UNKNOWN})


def note_start(frame: Frame, node: cst.CSTNode) -> None:
    """The process group is started here."""
    if frame.function is not None:
        frame.engine.job_flags.starters.add(frame.function)
        frame.engine.note_stored("starts", frame.function)
        for target in _set_with_start(frame.function.node, node):
            _note_flag(frame, target)
    _note_conditions(frame, node)


def note_call(frame: Frame, function: FunctionInfo, node: cst.CSTNode, before: int) -> None:
    """A function of the project was called; before: the number of synchronisation points until then.

    A function that does more than start the group is the program that several processes run.
    """
    if function in frame.engine.job_flags.starters and all(
        point.kind == "barrier" for point in frame.sync_points[before:]
    ):
        _note_conditions(frame, node)


def note_decided(frame: Frame, node: cst.If) -> None:
    """Only one branch of a decided condition is run: the group may be started in the other one."""
    if starts_once(frame, node):
        note_start(frame, node)


def runs_before_group(frame: Frame, node: cst.If, is_true: bool) -> bool:
    """Whether all ranks reach the branch that the analysis takes to be dead, because it runs before there is a group.

    if not is_initialized():              if is_initialized():
        init_process_group("nccl")            return
                                          init_process_group("nccl")
    """
    if not starts_once(frame, node):
        return False
    other = node.orelse if is_true else node.body
    if other is None:
        return ends_outside(node.body) and not starts_group(frame, node)
    return starts_group(frame, other)


def starts_once(frame: Frame, node: cst.If) -> bool:
    """Whether the group is started only if there is none: `if not is_initialized(): init_process_group("nccl")`.

    The walk assumes that there is a group, and so does not reach the start. In a function, the start may also come
    after the condition, if that leaves. A group of one process is for tests.
    """
    names = (last_name(call.func) for call in of_class(node.test, cst.Call))
    if not any(name in ASK_FOR_GROUP for name in names):
        return False
    return any(starts_group(frame, code) for code in (node, frame.root) if not isinstance(code, cst.Module))


def is_true_for_several(frame: Frame, test: cst.BaseExpression) -> bool:
    """Whether a condition is known to hold if there are several processes, as its flags are now."""
    value, test = frame.known_value(test), flag_of(test)
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return _is_of_one(frame, test.expression)
    if isinstance(test, cst.BooleanOperation):
        parts = (is_true_for_several(frame, each) for each in (test.left, test.right))
        return any(parts) if isinstance(test.operator, cst.Or) else all(parts)
    value = frame.known_value(test) or value
    if value is None or not isinstance(test, (cst.Attribute, cst.Name, cst.Comparison)):
        return False
    if isinstance(test, cst.Comparison):
        return counted(test) in frame.engine.job_flags.counts or asks_for_launcher(frame, test)
    return with_job_flags(frame, test, value).const is WORLD_TRUE


def _is_of_one(frame: Frame, flag: cst.BaseExpression) -> bool:
    """Whether a setting is known to be false if there are several processes."""
    value = frame.known_value(flag)
    if value is None or not isinstance(flag, cst.Attribute):
        return False
    return with_job_flags(frame, flag, value).const is WORLD_FALSE


def asks_for_launcher(frame: Frame, test: cst.Comparison) -> bool:
    """Whether a condition asks for a variable that torchrun sets for each process, and that the file does not set.

    `"WORLD_SIZE" in os.environ`
    """
    match test:
        case cst.Comparison(cst.SimpleString() as text, [cst.ComparisonTarget(cst.In(), place)]):
            name, is_environment = text.raw_value, library_name_of(frame.known_value(place)) == ENVIRON
            return is_environment and name in SET_BY_TORCHRUN and not is_set_by_file(frame.module, name)
    return False


def on_gpus(frame: Frame, node: cst.If | cst.IfExp) -> cst.CSTNode | None:
    """The branch that is taken wherever there are GPUs: that of `if torch.cuda.is_available():`."""
    match node.test:
        case cst.UnaryOperation(operator=cst.Not(), expression=cst.Call() as call):
            branch: cst.CSTNode | None = node.orelse
        case cst.Call() as call:
            branch = node.body
        case _:
            return None
    asked = library_name_of(frame.engine.settle(frame.engine.evaluate(frame, call.func)))
    return branch if asked in FIND_GPUS else None


def text_on_gpus(frame: Frame, expression: cst.BaseExpression | None) -> str | None:
    """The text that a choice is where there are GPUs: `"auto" if torch.cuda.is_available() else None`."""
    chosen = None if expression is None else resolved(frame.root, expression)
    branch = on_gpus(frame, chosen) if isinstance(chosen, cst.IfExp) else None
    text = frame.value_of(branch).const
    return text if isinstance(text, str) else None


def is_only_for_several(frame: Frame, function: FunctionInfo, node: cst.CSTNode) -> bool:
    """Whether a call of a function that starts the group is only under conditions for several processes, or for GPUs.

    If there is another branch, or processes are started, the called function may be the program itself.
    """
    if function not in frame.engine.job_flags.starters:
        return False
    conditions = [(outer, inner) for outer, inner in inwards(frame.root, node) if isinstance(outer, cst.If)]
    if not all(
        (outer.orelse is None and outer.body is inner and _is_about_processes(frame, outer))
        or inner is on_gpus(frame, outer)
        for outer, inner in conditions
    ):
        return False
    return not any(last_name(call.func) in START_PROCESSES for call in of_class(frame.root, cst.Call))


def mentions_job(test: cst.BaseExpression) -> bool:
    """Whether the names in a condition refer to how the job is run: `args.distributed`."""
    return any(map(JOB_SETTING.fits, identifiers(test)))


def asks_for_several(test: cst.BaseExpression) -> bool:
    """Whether a condition asks, by its names, if there are several processes, not which of them this one is.

    `num_gpus > 1`, `args.distributed`, and `args.local_rank != -1`, where one process has no rank.
    """
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return asks_for_several(test.expression)
    if isinstance(test, cst.BooleanOperation):
        return asks_for_several(test.left) and asks_for_several(test.right)
    names = list(identifiers(test))
    if any(is_rank_name(each) or RANK_FIELD.fits(each) or MAY_ASK_FOR_RANK.fits(each) for each in names):
        return isinstance(test, cst.Comparison) and any(_is_no_rank(each.comparator) for each in test.comparisons)
    return any(_is_of_the_job(each) or each in ASK_FOR_GROUP for each in names)


def flag_of_job(test: cst.BaseExpression) -> str:
    """The flag in a condition like `not args.distributed`, if it says whether there are several processes; "" without.

    They agree on that, however the code finds it out.
    """
    flag = test.expression if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not) else test
    name = last_name(flag) if isinstance(flag, (cst.Attribute, cst.Name)) else ""
    return name if DISTRIBUTED_SETTING.fits(name) else ""


def _is_no_rank(value: cst.BaseExpression) -> bool:
    """`-1` or `None`, which a program of one process has for its rank."""
    if isinstance(value, cst.UnaryOperation) and isinstance(value.operator, cst.Minus):
        return isinstance(value.expression, cst.Integer) and value.expression.value == "1"
    return is_literal_none(value)


def names_engine(test: cst.BaseExpression) -> bool:
    """Whether a condition names an engine that trains on several processes: `args.backend == "deepspeed"`."""
    words = (each.raw_value for each in of_class(test, cst.SimpleString))
    return any(map(NAMES_ENGINE.fits, (*identifiers(test), *words)))


def _is_about_processes(frame: Frame, node: cst.If) -> bool:
    """Whether a condition asks if there are several processes; `world_size is None` asks for one."""
    if any(isinstance(each.operator, cst.Is) for each in of_class(node.test, cst.ComparisonTarget)):
        return False
    return isinstance(frame.value_of(node.test).const, World) or mentions_job(node.test)


def _note_conditions(frame: Frame, node: cst.CSTNode) -> None:
    for outer, inner in inwards(frame.root, node):
        if not isinstance(outer, (cst.If, cst.IfExp)) or inner is outer.test:
            continue
        other = outer.orelse if inner is outer.body else outer.body
        if inner is outer.body and not starts_group(frame, other):
            for part in _parts_about_processes(outer.test):
                _note_flag(frame, part)
        if other is not None and _is_of_first_rank_alone(other) and not starts_group(frame, other):
            _note_alone(frame, outer.test, inner is outer.body)


def _note_flag(frame: Frame, part: cst.BaseExpression) -> None:
    flags, part = frame.engine.job_flags, flag_of(part)
    if isinstance(part, cst.Attribute):
        _note_attribute(frame, part.attr.value)
    elif isinstance(part, cst.Name):
        flags.names.add((frame.function, part.value))
        frame.engine.note_stored("asked", frame.function, part.value)
    elif isinstance(part, cst.Comparison) and (count := counted(part)):
        flags.counts.add(count)
        frame.engine.note_stored("counted", count)


def flag_of(test: cst.BaseExpression) -> cst.BaseExpression:
    """The flag that a condition asks for: `parallel` of `parallel == True` and `bool(parallel) is True`.

    `args.parallel` of `getattr(args, "parallel", False)`.
    """
    match test:
        case cst.Comparison(left, [cst.ComparisonTarget(cst.Equal() | cst.Is(), cst.Name("True"))]):
            return flag_of(left)
        case cst.Call(cst.Name("bool"), [cst.Arg(flag, keyword=None, star="")]):
            return flag_of(flag)
        case cst.Call(cst.Name("getattr"), [cst.Arg(owner), cst.Arg(cst.SimpleString() as name), *_]) if (
            name.raw_value.isidentifier()
        ):
            return cst.Attribute(owner, cst.Name(name.raw_value))
    return test


def _is_of_first_rank_alone(arm: cst.CSTNode) -> bool:
    """Whether a branch gives one process its rank, or the number of processes: `rank, world_size = 0, 1`."""
    return any(
        isinstance(number, cst.Integer)
        and (
            (number.value == "0" and (RANK_FIELD.fits(name) or is_rank_name(name)))
            or (number.value == "1" and WORLD_FIELD.fits(name))
        )
        for name, number in ((last_name(target), value) for target, value in assigned_parts(arm))
    )


def _note_alone(frame: Frame, test: cst.BaseExpression, is_denied: bool) -> None:
    """Note the options with which a program starts no group. One that the file sets may say that it has been started.

    is_denied: whether the group is started where the test is true, so that it denies them.
    """
    if is_denied:
        if not isinstance(test, cst.UnaryOperation) or not isinstance(test.operator, cst.Not):
            return
        test = test.expression
    for flag in alternatives(test):
        if isinstance(flag, cst.Attribute) and settings.are_settings(flag.value):
            name = flag.attr.value
            if not settings.is_assigned(frame, name):
                frame.engine.job_flags.alone.add(name)
                frame.engine.note_stored("alone", name)


def _note_attribute(frame: Frame, name: str) -> None:
    frame.engine.job_flags.attributes.add(name)
    frame.engine.note_stored("asked", name)


def _set_with_start(function: cst.CSTNode, start: cst.CSTNode) -> Iterator[cst.Attribute | cst.Name]:
    """The attributes and names that a function sets on the way to the start of the group, and clears where it has none.

    For example, `distributed`:

        if "RANK" not in os.environ:                          if args.launcher == "none":
            args.distributed = False                              distributed = False
            return                                            else:
        args.distributed = True                                   distributed = True
        dist.init_process_group("nccl")                           init_dist(args.launcher)

    A name may be cleared later for something else, so the two must be branches of one condition, and nothing else may
    set it.
    """
    around = {id(each) for each in ancestors(function, start)}
    flags: dict[str, cst.Attribute | cst.Name] = {}
    set_to: dict[str, set[tuple[str, bool]]] = {}
    for assign in of_class(function, cst.Assign):
        value = assign.value.value if isinstance(assign.value, cst.Name) else ""
        is_literal = value in ("True", "False")
        suites = (each for each in ancestors(function, assign) if isinstance(each, cst.BaseSuite))
        is_there = all(id(each) in around for each in suites)
        for target in (each.target for each in assign.targets):
            if isinstance(target, cst.Name) and JOB_SETTING.fits(target.value):
                is_of_start = is_there if value == "True" else not _is_in_other_branch(function, assign, around)
                flags[target.value] = target
                set_to.setdefault(target.value, set()).add((value, is_of_start))
            elif isinstance(target, cst.Attribute) and is_literal and JOB_SETTING.fits(target.attr.value):
                flags[f".{target.attr.value}"] = target
                set_to.setdefault(f".{target.attr.value}", set()).add((value, is_there))
    yield from (flags[key] for key, values in set_to.items() if values == {("True", True), ("False", False)})


def _is_in_other_branch(function: cst.CSTNode, node: cst.CSTNode, around: Collection[int]) -> bool:
    """Whether a node is in another branch of a condition than the start of the group. around: the ids around that."""
    return any(
        isinstance(outer, cst.If) and id(outer) in around and id(inner) not in around
        for outer, inner in inwards(function, node)
    )


def _parts_about_processes(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The parts of a condition that show whether there are several processes.

    Each part of `fsdp or ddp` does. Of parts that must all be true, only those with a matching name do:
    `args.distributed and args.gpus > 1`, without an `args.train` next to them.
    """
    if not isinstance(test, cst.BooleanOperation):
        yield test
        return
    parts = (*_parts_about_processes(test.left), *_parts_about_processes(test.right))
    is_any = isinstance(test.operator, cst.Or)
    yield from (part for part in parts if is_any or any(map(_is_of_the_job, identifiers(part))))


def _is_of_the_job(name: str) -> bool:
    return JOB_SETTING.fits(name) or ASKS_FOR_GPUS.fits(name)


def counted(test: cst.Comparison) -> str:
    """The attribute that is greater than one if `test` is true: `gpus` of `args.gpus > 1`."""
    comparison = test.comparisons[0]
    is_several = len(test.comparisons) == 1 and isinstance(comparison.operator, (cst.GreaterThan, cst.NotEqual))
    name = test.left.attr.value if isinstance(test.left, cst.Attribute) else ""
    is_one = isinstance(comparison.comparator, cst.Integer) and comparison.comparator.value == "1"
    return name if is_several and is_one and ASKS_FOR_GPUS.fits(name) else ""


def starts_group(frame: Frame, code: cst.CSTNode | None) -> bool:
    """Whether a piece of code starts the group, for example the other branch with another backend."""
    calls = of_class(code, cst.Call) if code is not None else ()
    return any(_is_start(frame, each.func) and not _is_of_one_process(each) for each in calls)


def _is_start(frame: Frame, called: cst.BaseExpression) -> bool:
    """Whether a callee starts the group: a function of torch, or a project function that was seen to do so."""
    name = last_name(called)
    if name in STARTS_OF_GROUP:
        return True
    known = frame.engine.lookup(frame, name) if isinstance(called, cst.Name) else None
    settled = frame.engine.settle(known) if known is not None else None
    function = settled.function if isinstance(settled, FunctionValue) else None
    of_name = (each for each in frame.engine.job_flags.starters if each.name == name)
    return any(each is function or (function is None and each.module is frame.module) for each in of_name)


def _is_of_one_process(call: cst.Call) -> bool:
    """`init_process_group("gloo", world_size=1, rank=0)`."""
    keywords = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
    size = keywords.get("world_size")
    return isinstance(size, cst.Integer) and size.value == "1"


def with_job_flags(frame: Frame, node: cst.Attribute | cst.Name, value: Value) -> Value:
    """The value of a name or an attribute, with what is known of it as a job setting."""
    flags = frame.engine.job_flags
    if value.rank.differs or value.kind not in _SETTINGS:
        return value
    if isinstance(node, cst.Attribute):
        if value.const is MISSING and node.attr.value in flags.counts:
            return value.replace(const=WORLD_SIZE)
        if value.const is MISSING and node.attr.value in flags.alone and settings.are_settings(node.value):
            return value.replace(const=WORLD_FALSE)
        is_flag = node.attr.value in flags.attributes
    else:
        is_flag = (frame.function, node.value) in flags.names
    is_open = value.const is MISSING or isinstance(value.const, bool)
    return value.replace(const=WORLD_TRUE) if is_flag and is_open else value


def is_flag(frame: Frame, receiver: Value, name: str) -> bool:
    """Whether an object has an attribute with this name wherever there are several processes: the program asks it."""
    is_open = receiver.kind is Kind.UNKNOWN or library_name_of(receiver) in DICTS_OF_ATTRIBUTES
    return is_open and name in frame.engine.job_flags.attributes
