"""Calls of a library that starts a process per device: whether their arguments say that there are several.

For example:

    Fabric()                                         one process per GPU
    Fabric(devices=1)                                one process
    Trainer()                                        nothing is said: many such programs are run on one GPU
    Trainer(devices=4), Trainer(strategy="ddp")      several processes; the first does not say so before Lightning 2
    Trainer(strategy=DDPStrategy())                  the same
    Trainer(strategy="ddp_spawn")                    several, but not of the code around the call
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import last_name
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.knowledge.lightning import KNOWS_PROCESSES
from trl_lint.knowledge.process_starts import BY_NUMBER, COUNT_DEVICES, ELSEWHERE, NAME_STRATEGY, OF_PROCESSES


def starts_several(module: Module, name: str, args: Arguments) -> bool:
    """Whether a call that starts a process per device runs the code around it on several of them."""
    keyword = COUNT_DEVICES.get(name)
    if not keyword:
        return True
    if _asks_for_one(args, keyword):
        return False
    strategies = NAME_STRATEGY.get(name)
    if not strategies or _names_strategy(args, strategies):
        return True
    return name in BY_NUMBER and (_counts_several(args) or _is_left_to_settings(module, args))


def _asks_for_one(args: Arguments, keyword: str) -> bool:
    """Whether a call asks for one device of one node."""
    devices = args.keywords.get(keyword)
    return devices is not None and devices.const in (1, "1") and "num_nodes" not in args.keywords


def _names_strategy(args: Arguments, strategies: tuple[str, ...]) -> bool:
    """Whether a call names a strategy of several processes that run the code around it."""
    named = [_strategy(args, each) for each in strategies]
    return any(each.startswith(OF_PROCESSES) and not any(part in each for part in ELSEWHERE) for each in named)


def _counts_several(args: Arguments) -> bool:
    """Whether a call asks for several devices or nodes, and names no strategy for them."""
    counts = [args.keywords[each].const for each in ("devices", "num_nodes") if each in args.keywords]
    return "strategy" not in args.keywords and any(type(each) is int and (each > 1 or each == -1) for each in counts)


def _is_left_to_settings(module: Module, args: Arguments) -> bool:
    """Whether settings of any kind are passed on, in a file that is for several processes: `Trainer(**settings)`."""
    return args.double is not None and "devices" not in args.keywords and module.mentions(KNOWS_PROCESSES)


def _strategy(args: Arguments, keyword: str) -> str:
    """The name of a strategy, or of its class, in lower case; "" if it is not known."""
    expression = args.expression(keyword)
    value = args.keywords.get(keyword)
    if isinstance(expression, cst.Call):
        return last_name(expression.func).lower()
    return value.const.lower() if value is not None and isinstance(value.const, str) else ""
