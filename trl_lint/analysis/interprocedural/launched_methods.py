"""Methods that objects of their own class run in separate processes, which get the number of the process first.

For example:

    def train(self):
        mp.spawn(self.work, nprocs=2)       work(self, rank): `rank` is the number of the process
    def work(self, rank): ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.project.passed_arguments import argument_at
from trl_lint.analysis.program.syntax import last_name, of_class, self_attribute
from trl_lint.analysis.state.callees import library_function_of
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.provenance import Step
from trl_lint.knowledge.process_starts import LAUNCHERS, Gets
from trl_lint.knowledge.schema import RANK_INDEX

if TYPE_CHECKING:
    from trl_lint.analysis.interprocedural.summaries import Runs
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.domain.values import Value

_STARTS = {name: each for name, each in LAUNCHERS.items() if each.gets is Gets.RANK}
_NAMES = frozenset(name.rpartition(".")[2] for name in _STARTS)
_MENTIONS = rb"\b(?:%b)\(" % b"|".join(sorted(each.encode() for each in _NAMES))
_TEXT = "it runs once per process and gets the number of the process"


def in_order(
    engine: Runs, cls: ClassInfo, methods: Sequence[FunctionInfo]
) -> list[tuple[FunctionInfo, Mapping[str, Value]]]:
    """The methods with the parameters that get the number of the process, those first that have one: they call others.

    No other method calls these, though one names them.
    """
    found = [(each, _number(engine, cls, each)) for each in methods]
    return sorted(found, key=lambda each: not each[1])


def _number(engine: Runs, cls: ClassInfo, method: FunctionInfo) -> Mapping[str, Value]:
    """The parameter of a method that gets the number of the process, if a method of the class launches it."""
    names = [each.name for each in method.parameters if each.positional and not each.star]
    if len(names) < 2 or method.is_static:
        return {}
    for base in cls.project_lineage():
        for call in of_class(base.node, cst.Call) if base.module.mentions(_MENTIONS) else ():
            if last_name(call.func) in _NAMES and _is_launched(Frame(engine, base.module), call, method.name):
                return {names[1]: RANK_INDEX.replace(provenance=Step(base.module, call, _TEXT))}
    return {}


def _is_launched(frame: Frame, call: cst.Call, method: str) -> bool:
    """Whether a call launches a method of the object by its name: `mp.spawn(self.work, nprocs=2)`."""
    launcher = _STARTS.get(library_function_of(frame, call.func))
    if launcher is None:
        return False
    function = argument_at(call, *launcher.function)
    return function is not None and self_attribute(function) == method
