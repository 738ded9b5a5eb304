"""Calls of a library that starts a process per device: whether their arguments say that there are several.

For example:

    Fabric()                                         one process per GPU
    Fabric(devices=1)                                one process
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"         the same, whatever is made after it
    Trainer()                                        nothing is said: many such programs are run on one GPU, unless
                                                     other code of the file is for several processes
    Trainer(devices=4), Trainer(strategy="ddp")      several processes; the first does not say so before Lightning 2
    Trainer(strategy=DDPStrategy())                  the same
    Trainer(strategy="ddp" if gpus > 1 else "auto")  several on one of the ways, which is enough
    if gpus > 1:
        strategy = DDPStrategy()
    Trainer(strategy=strategy)                       the same
    parser.add_argument("--strategy", default="ddp")
    Trainer(strategy=args.strategy)                  the same
    def strategy_of(args): return DDPStrategy(find_unused_parameters=args.unused)
    Trainer(**args.trainer)                          the same: the file makes a strategy of several, for its Trainer
    assert strategy is None or strategy == "ddp"
    Trainer(strategy=strategy)                       the same: the code allows for it
    Trainer(strategy="ddp_spawn")                    several, but not of the code around the call
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.blocks import last_statement
from trl_lint.analysis.program.idioms.option_defaults import parameter_default, setting_default
from trl_lint.analysis.program.idioms.path_conditions import branch_of
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.syntax import assignments, last_name, of_class
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.domain.kinds import is_none
from trl_lint.knowledge.backends import SEES_ONE_GPU
from trl_lint.knowledge.lightning import BEFORE_2, FABRICS, FOR_SEVERAL, KNOWS_PROCESSES
from trl_lint.knowledge.process_starts import (
    ARE_STRATEGIES,
    BY_NUMBER,
    COUNT_DEVICES,
    ELSEWHERE,
    NAME_STRATEGY,
    OF_PROCESSES,
)

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value

_STRATEGY = "strategy"
# The names of what takes a strategy, too, beside a Trainer.
_TAKE_THEM = frozenset(each.rpartition(".")[2] for each in FABRICS)


def starts_several(frame: Frame, name: str, args: Arguments) -> bool:
    """Whether a call that starts a process per device runs the code around it on several of them."""
    keyword = COUNT_DEVICES.get(name)
    if not keyword:
        return True
    if _asks_for_one(args, keyword) or _sees_one(frame, args):
        return False
    strategies = NAME_STRATEGY.get(name)
    if not strategies or _names_strategy(frame, args, strategies):
        return True
    if name not in BY_NUMBER or _is_before_2(frame, name) or not _is_open(args.keywords.get("strategy")):
        return False
    # Of settings that are out of sight, many are for one device: those of the old name date from before 2.0.
    is_left = not BY_NUMBER[name] and _is_left_to_settings(frame, args)
    return is_left or _counts_several(args) or _takes_all(frame, args)


def _asks_for_one(args: Arguments, keyword: str) -> bool:
    """Whether a call asks for one device of one node."""
    devices = args.keywords.get(keyword)
    return devices is not None and devices.const in (1, "1") and "num_nodes" not in args.keywords


def _sees_one(frame: Frame, args: Arguments) -> bool:
    """Whether the program takes all GPUs but one out of sight, on one node."""
    return "num_nodes" not in args.keywords and frame.module.mentions(SEES_ONE_GPU)


def _is_before_2(frame: Frame, name: str) -> bool:
    """Whether a class is one of a release before 2.0, by what the project pins, or by what the file uses."""
    package = BY_NUMBER[name]
    release = frame.engine.versions.get(package) if package else "2"
    return release.startswith(("0", "1")) if release else frame.module.mentions(BEFORE_2)


def _names_strategy(frame: Frame, args: Arguments, strategies: tuple[str, ...]) -> bool:
    """Whether a call names a strategy of several processes that run the code around it."""
    named = [strategy for each in strategies for strategy in _strategies(frame, args, each)]
    return any(each.startswith(OF_PROCESSES) and not any(part in each for part in ELSEWHERE) for each in named)


def _counts_several(args: Arguments) -> bool:
    """Whether a call asks for several devices or nodes."""
    counts = [args.keywords[each].const for each in ("devices", "num_nodes") if each in args.keywords]
    return any(type(each) is int and (each > 1 or each == -1) for each in counts)


def _takes_all(frame: Frame, args: Arguments) -> bool:
    """Whether a call leaves the number of devices open, so that all are used, in a file that is for several."""
    accelerator = args.keywords.get("accelerator")
    is_cpu = accelerator is not None and accelerator.const == "cpu"
    is_open = _is_open(args.keywords.get("devices")) and args.double is None
    return is_open and not is_cpu and frame.module.mentions(FOR_SEVERAL)


def _is_open(argument: Value | None) -> bool:
    """Whether an argument leaves the choice to Lightning."""
    return argument is None or is_none(argument) or argument.const == "auto"


def _is_left_to_settings(frame: Frame, args: Arguments) -> bool:
    """Whether settings of any kind are passed on, in a file that is for several processes: `Trainer(**settings)`."""
    return args.double is not None and "devices" not in args.keywords and frame.module.mentions(KNOWS_PROCESSES)


def _strategies(frame: Frame, args: Arguments, keyword: str) -> list[str]:
    """The names of the strategies that a keyword may choose, or of their classes, in lower case, as far as known."""
    value = args.keywords.get(keyword)
    if value is not None and isinstance(value.const, str):
        return [value.const.lower()]
    expression = args.expression(keyword)
    default = setting_default(frame.module, expression) or parameter_default(frame.root, expression)
    chosen = (*_assigned(frame, expression), *_compared(frame, expression))
    made = _made(frame.module) if keyword == _STRATEGY and _is_out_of_sight(args) else ()
    return [*([default.lower()] if default else ()), *made, *(name for each in chosen for name in _named(each))]


def _is_out_of_sight(args: Arguments) -> bool:
    """Whether the strategy is an attribute, what a call gives, or an entry of settings: `strategy=self.strategy`."""
    expression = args.expression(_STRATEGY)
    return args.double is not None if expression is None else isinstance(expression, (cst.Attribute, cst.Call))


@noted
def _made(module: Module) -> tuple[str, ...]:
    """The names of the strategies that a file makes, for a Trainer if it makes no Fabric: `DDPStrategy()`."""
    calls = of_class(module.tree, cst.Call)
    if any(last_name(each.func) in _TAKE_THEM for each in calls):
        return ()
    makers = (each for each in calls if last_name(each.func).endswith(ARE_STRATEGIES))
    return tuple(sorted({name for each in makers for name in _named(each)}))


def _assigned(frame: Frame, expression: cst.BaseExpression | None) -> list[cst.BaseExpression]:
    """What an argument may be: all that the function, or the module, assigns to its name, on whatever way."""
    if not isinstance(expression, cst.Name):
        return [] if expression is None else [expression]
    name = expression.value
    return [value for target, value in assignments(frame.root) if isinstance(target, cst.Name) and target.value == name]


def _compared(frame: Frame, expression: cst.BaseExpression | None) -> Iterator[cst.BaseExpression]:
    """What the function, or the module, compares a setting with, and does not refuse: `if strategy == "ddp":`."""
    if not isinstance(expression, (cst.Attribute, cst.Name)):
        return
    for each in of_class(frame.root, cst.Comparison):
        branch = branch_of(frame.root, each)
        if branch is None or not isinstance(last_statement(branch.body), cst.Raise):
            match each:
                case cst.Comparison(left, [cst.ComparisonTarget(cst.Equal() | cst.In(), other)]):
                    yield from (other,) if left.deep_equals(expression) else ()
                    yield from (left,) if other.deep_equals(expression) else ()


def _named(expression: cst.BaseExpression) -> Iterator[str]:
    match expression:
        case cst.Call(func=func):
            texts = (str(each.evaluated_value) for each in of_class(expression, cst.SimpleString))
            yield "_".join((last_name(func), *texts)).lower()  # `DDPStrategy(start_method="spawn")`
        case cst.SimpleString():
            yield str(expression.evaluated_value).lower()
        case cst.IfExp(body=body, orelse=orelse):
            yield from _named(body)
            yield from _named(orelse)
        case cst.List(elements=elements) | cst.Set(elements=elements) | cst.Tuple(elements=elements):
            for each in elements:
                yield from _named(each.value)
