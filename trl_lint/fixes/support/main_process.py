"""How a fix leaves something to the main process, and lets the others wait for it, in terms of what a place has."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.events import SideEffect
from trl_lint.analysis.observers.backends import uses_accelerate
from trl_lint.analysis.program.idioms.path_conditions import is_bound
from trl_lint.analysis.program.syntax import below, used_names
from trl_lint.analysis.transfer.processes.main_process_tests import main_process_test
from trl_lint.fixes.support.blocks import NO_PLACE
from trl_lint.fixes.support.edits import Edit, Import, NoFix
from trl_lint.fixes.support.importing import bound_at_top, has_place
from trl_lint.fixes.support.scope import binders
from trl_lint.knowledge.heuristics import BEFORE_ACCELERATE
from trl_lint.wording import state_in, uses_torch_distributed
from trl_lint.wording.started_later import is_group_started_before, is_group_started_later

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module

_STATE = "PartialState"
_SETS_UP = "`PartialState` starts the process group if nothing has done so before"
_TORCH = Import("torch")
_INSIDE = ".distributed"
_ONCE_STARTED = "before the process group is started, all processes still do it"
_SET_BY_LAUNCHERS = "only launchers like torchrun set `RANK`"


class MainProcess(NamedTuple):
    """What tells the main process from the others at a place.

    Attributes:
        condition: The condition that holds there only.
        wait: The statement in which all processes wait for each other, "" if none is certain to work.
        imports: The imports that they need.
        caution: Why this is not safe, "" if it is.
    """

    condition: str
    wait: str = ""
    imports: tuple[Edit, ...] = ()
    caution: str = ""


def main_process(event: SideEffect, statement: cst.CSTNode) -> MainProcess | NoFix:
    """What tells the main process from the others at a statement: an Accelerator, a condition of the code, the state.

    A Trainer had `is_world_process_zero` before it had an accelerator. The hooks of its callbacks get its state.
    """
    accelerator, module = event.accelerator, event.module
    if event.trainer and not module.mentions(rb"\.accelerator\b"):
        return MainProcess(f"{event.trainer}.is_world_process_zero()")
    if accelerator:
        return MainProcess(f"{accelerator}.is_main_process", f"{accelerator}.wait_for_everyone()")
    state = state_in(event.function)
    if state and event.function is not None and not is_bound(event.function.node, cst.Name(state)):
        return MainProcess(f"{state}.is_world_process_zero")
    own = main_process_test(module, event.function, event.node)
    if own:
        return MainProcess(own)
    found = partial_state(module, statement)
    if isinstance(found, NoFix):
        return _by_torch(event, statement)
    text, imports = found
    return MainProcess(f"{text}().is_main_process", f"{text}().wait_for_everyone()", imports, _SETS_UP)


def _by_torch(event: SideEffect, statement: cst.CSTNode) -> MainProcess | NoFix:
    """What torch says, in a file for torch.distributed that imports it; before the group, what the launcher says.

    Without a group, as it may be on one process, the condition holds.
    """
    module = event.module
    nothing = NoFix("no condition for the main process is known to work here")
    if not uses_torch_distributed(event):
        return nothing
    if is_group_started_later(module, event.function, event.node):
        needed = Import("os")
        is_bound_otherwise = "os" in used_names(module.tree) and not bound_at_top(module, needed, statement)
        if is_bound_otherwise or not has_place(module, needed, statement):
            return nothing
        return MainProcess('int(os.environ.get("RANK", 0)) == 0', "", (needed,), _SET_BY_LAUNCHERS)
    for wanted, inside in ((Import("torch.distributed"), ""), (Import("torch", "distributed"), ""), (_TORCH, _INSIDE)):
        name = bound_at_top(module, wanted, statement)
        if name and _is_only_imported(module.tree, name.partition(".")[0]):
            dist = f"{name}{inside}"
            if is_group_started_before(event.function, event.node):
                return MainProcess(f"{dist}.get_rank() == 0", f"{dist}.barrier()")
            return MainProcess(f"not {dist}.is_initialized() or {dist}.get_rank() == 0", caution=_ONCE_STARTED)
    return nothing


def partial_state(module: Module, statement: cst.CSTNode) -> tuple[str, tuple[Edit, ...]] | NoFix:
    """The expression for `PartialState` at a statement, and the import that it needs."""
    needed = Import("accelerate", _STATE)
    name = bound_at_top(module, needed, statement)
    if name and _is_only_imported(module.tree, name):
        return name, ()
    package = bound_at_top(module, Import("accelerate"), statement)
    if package and _is_only_imported(module.tree, package):
        return f"{package}.{_STATE}", ()
    if not uses_accelerate(module) or module.shows(BEFORE_ACCELERATE):
        return NoFix("the file does not use Accelerate")
    if _STATE in used_names(module.tree):
        return NoFix(f"`{_STATE}` may mean something else here")
    return (_STATE, (needed,)) if has_place(module, needed, statement) else NO_PLACE


def _is_only_imported(tree: cst.Module, name: str) -> bool:
    """Whether a name always has the meaning that the module's imports give it."""
    parameters = {node.name.value for node in below(tree) if isinstance(node, cst.Param)}
    bound = binders(tree, [name])
    return name not in parameters and all(isinstance(each, (cst.ImportAlias, cst.AsName)) for each in bound)
