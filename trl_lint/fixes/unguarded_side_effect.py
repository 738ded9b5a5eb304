"""The fix for a side effect on every rank: a guard for the main process, or a form that all ranks may execute."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.events import SideEffect
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import ancestors, below, last_name, names_in, of_class
from trl_lint.domain.control import Uniformity
from trl_lint.domain.engines import ENGINE_NAMES, SHARDS_PARAMETERS
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.provenance import StartedLater
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.blocks import StatementInBlock, own_line
from trl_lint.fixes.support.edits import Enclose, FixPlan, Insert, NoFix, Replace
from trl_lint.fixes.support.file_blocks import file_block
from trl_lint.fixes.support.main_process import MainProcess, main_process
from trl_lint.fixes.support.scope import binds, is_before, scope_of, sole_binding
from trl_lint.fixes.support.tree import keyword_of, text_of, with_conjunct, with_keyword
from trl_lint.knowledge.effects import COPIES, OF_MODELS, OF_PATHS, REMOVALS
from trl_lint.knowledge.heuristics import MAIN_PROCESS, MAY_SYNCHRONISE, READS_FILE
from trl_lint.wording import said

# Modules whose objects are passed to a tracker: creating them involves no collective.
_TABLES = frozenset({"pandas", "trackio", "wandb"})
_WAITED_FOR = "it is not known whether other processes need it and have to wait for it"
_MAY_BE_COLLECTIVE = "a call inside it may have to be made by all processes"
_NO_ERROR = "an existing one is no longer an error, on one process as well"
_EXIST_OK = "exist_ok"
# The method that returns the weights as this process has them.
_STATE = "state_dict"
_GATHERED = (
    "save weights that all processes have gathered: `trainer.save_model(…)`, or `accelerator.get_state_dict(…)` on all "
    "of them and its result on the main process only"
)
# A condition with another part may be this long.
_LONGEST = 88
# Texts that are no longer than this name no file: modes, separators, extensions.
_SHORT = 5
# The letters of the modes of files, and those by which one is written.
_MODES, _WRITES = frozenset("rwaxbtU+"), frozenset("wax")
# With this many positional arguments, `exist_ok` may be one of them.
_BY_POSITION = 3


class UnguardedSideEffectFix(RuleFix[SideEffect]):
    is_collective = False

    def plan(self, event: SideEffect) -> FixPlan | NoFix:
        """The plan to put a call whose result is unused under `is_main_process`, or why that is left to the author."""
        if _is_for_all(event):
            return _for_all(event)
        if event.looked and event.effect.fails:
            return NoFix("it can't be told to go on if something is there already")
        if isinstance(event.called, StartedLater):
            return NoFix("a condition for the main process holds on all ranks here")
        if event.own:
            return NoFix("each process writes data of its own, which would be lost")
        found = _statement(event)
        if isinstance(found, NoFix):
            return found
        main = main_process(event, found.statement)
        if isinstance(main, NoFix):
            return main
        needs_all = _needs_all(event)
        if needs_all is not None:
            return needs_all
        if not event.effect.shown and _is_read_again(event):
            return _with_wait(event, found, main)
        reason = "" if event.effect.shown else _needed_by_others(event, found)
        if reason:
            return NoFix(reason)
        caution = main.caution if event.effect.shown else _WAITED_FOR
        edits = (_guarded(found, main.condition), *main.imports)
        return FixPlan(edits, caution=caution or _caution_for_arguments(event))

    def title_for(self, event: SideEffect) -> str:
        return "Let all ranks create it" if _is_for_all(event) else "Do it on the main process only"


def _needs_all(event: SideEffect) -> NoFix | None:
    """Why one process must not do it without the others; None if it may."""
    shown = event.module.engines().one_of(SHARDS_PARAMETERS) if _saves_weights(event) else None
    if shown is not None and shown.chosen:
        return NoFix(f"under {ENGINE_NAMES[shown.engine]} ({shown.evidence}) each process has a part only", _GATHERED)
    if not event.effect.shown and _is_read_just_before(event):
        return NoFix("it is read just before, so the main process would have to wait until the others have read it")
    if not event.effect.shown and _is_removed_just_before(event):
        return NoFix(
            "what was there is removed just before, and another process may do so once the main process has written",
            f"remove what is there and write on the main process only: {said('main', event)}",
        )
    return None


def _saves_weights(event: SideEffect) -> bool:
    """Whether a model is saved, or something with the state of one."""
    if event.effect is OF_MODELS.get(event.name):
        return True
    root = scope_of(event.function, event.module)
    bound = (sole_binding(root, arg.value) for arg in event.node.args)
    saved = (event.node, *(each.value for each in bound if each is not None))
    inside = (node for each in saved for node in below(each) if isinstance(node, cst.Call))
    return any(last_name(each.func) == _STATE for each in inside)


def _statement(event: SideEffect) -> StatementInBlock[cst.SimpleStatementLine | cst.With] | NoFix:
    """The statement that does nothing but this, or why there is none."""
    root = scope_of(event.function, event.module)
    block = file_block(event.module, root, event.node)
    if block is not None:
        return block
    found = own_line(root, event.node)
    if found is None:
        return NoFix("it is part of a larger statement", _help(event))
    only = found.statement.body[0]
    is_all = isinstance(only, cst.Expr) and only.value is event.node
    return found if is_all else NoFix("its result is used by all processes", _help(event))


def _help(event: SideEffect) -> str:
    """How to do something on the main process whose result is used; "" if the rule says it."""
    if event.effect.instead or event.effect.fetches or event.own or event.has_run:
        return ""
    return f"do it, and use its result, on the main process only: {said('main', event)}"


def _is_for_all(event: SideEffect) -> bool:
    """Whether an argument makes the call correct on all ranks, which need its result."""
    return _EXIST_OK in event.effect.unless


def _for_all(event: SideEffect) -> FixPlan | NoFix:
    if sum(not keyword_of(arg) for arg in event.node.args) >= _BY_POSITION:
        return NoFix("`exist_ok` may be given by its position")
    caution = "" if event.looked else _NO_ERROR
    return FixPlan((Replace(event.node, with_keyword(event.node, _EXIST_OK, cst.Name("True"))),), caution=caution)


def _guarded(found: StatementInBlock[cst.SimpleStatementLine | cst.With], main: str) -> Replace | Enclose:
    """The edit that lets only the main process run a line: a part of the condition around it, or another condition."""
    outer = found.around[-2] if len(found.around) > 1 else None
    if isinstance(outer, cst.If) and len(found.siblings) == 1 and outer.orelse is None:
        test = with_conjunct(outer.test, cst.parse_expression(main))
        head = f"{'    ' * sum(isinstance(node, cst.IndentedBlock) for node in found.around[:-1])}if {text_of(test)}:"
        if len(head) <= _LONGEST and "\n" not in head and "__name__" not in head:
            return Replace(outer.test, test)
    return Enclose(found.statement, f"if {main}")


def _is_read_again(event: SideEffect) -> bool:
    """Whether the function reads the same path below, or other code of the file one with the same text in its name."""
    root, path = scope_of(event.function, event.module), _path_of(event)
    if not path:
        return False
    later = (each for each in _reading_calls(root) if is_before(root, event.node, each))
    if any(text_of(arg.value) == path for each in later for arg in each.args):
        return True
    texts = _texts(cst.parse_expression(path))
    inside = {id(each) for each in _reading_calls(root)}
    elsewhere = (each for each in _reading_calls(event.module.tree) if id(each) not in inside)
    return bool(texts) and any(texts & _texts(arg.value) for each in elsewhere for arg in each.args)


def _is_read_just_before(event: SideEffect) -> bool:
    """Whether the function reads the same path above, and nothing shows that all processes have done so by then."""
    root, path = scope_of(event.function, event.module), _path_of(event)
    if not path:
        return False
    above = [each for each in below(root) if isinstance(each, cst.Call) and is_before(root, each, event.node)]
    of_path = (each for each in above if any(text_of(arg.value) == path for arg in each.args))
    reads = [each for each in of_path if READS_FILE.fits(last_name(each.func)) and not _opens_to_write(each)]
    last = reads[-1] if reads else None
    meets = (each for each in above if MAY_SYNCHRONISE.fits(last_name(each.func)))
    return last is not None and not any(is_before(root, last, each) for each in meets)


def _is_removed_just_before(event: SideEffect) -> bool:
    """Whether the function removes the same path above, on all processes, in a way that no fix of this rule changes:
    if something is there, or without an error if there is nothing.
    """
    root, path = scope_of(event.function, event.module), _path_of(event)
    if not path:
        return False
    above = [each for each in below(root) if isinstance(each, cst.Call) and is_before(root, each, event.node)]
    removals = [each for each in above if last_name(each.func) in REMOVALS and _mentions_path(each, path)]
    if not removals or any(
        MAY_SYNCHRONISE.fits(last_name(each.func)) for each in above if is_before(root, removals[-1], each)
    ):
        return False
    conditions = _conditions(root, removals[-1]) - _conditions(root, event.node)
    if any(MAIN_PROCESS.fits(each) for test in conditions for each in names_in(test)):
        return False
    return any(_mentions_path(each, path) for each in conditions) or any(map(keyword_of, removals[-1].args))


def _conditions(root: cst.CSTNode, node: cst.CSTNode) -> set[cst.BaseExpression]:
    return {each.test for each in ancestors(root, node) if isinstance(each, cst.If)}


def _opens_to_write(call: cst.Call) -> bool:
    """Whether one of the arguments is the mode of a file that is written, and not read as well."""
    modes = (arg.value.raw_value for arg in call.args if isinstance(arg.value, cst.SimpleString))
    return any(set(mode) <= _MODES and not _WRITES.isdisjoint(mode) and "+" not in mode for mode in modes)


def _reading_calls(root: cst.CSTNode) -> list[cst.Call]:
    """The calls that read a file, or copy it, which fails where it is not there yet."""
    return [each for each in of_class(root, cst.Call) if _reads(last_name(each.func)) and not _opens_to_write(each)]


def _reads(function: str) -> bool:
    return READS_FILE.fits(function) or function in COPIES


def _texts(path: cst.CSTNode) -> set[str]:
    """The pieces of text in the expression of a path that may name a file: `"{}/scores.csv"`, but not `"w"`."""
    texts = {node.raw_value for node in below(path) if isinstance(node, cst.SimpleString)}
    texts |= {node.value for node in below(path) if isinstance(node, cst.FormattedStringText)}
    return {text for text in texts if len(text) > _SHORT}


def _with_wait(
    event: SideEffect, found: StatementInBlock[cst.SimpleStatementLine | cst.With], main: MainProcess
) -> FixPlan | NoFix:
    """The plan to let the main process write what all processes read, and the others wait for it."""
    if event.control.uniformity is not Uniformity.UNIFORM or not main.wait:
        return NoFix("it is read again, so the other processes would have to wait for it")
    guard = Enclose(found.statement, f"if {main.condition}")
    wait = Insert(found.statement, main.wait, behind=True)
    return FixPlan(
        (guard, wait, *main.imports), caution="it is read again, so the other processes wait for it in a barrier"
    )


def _needed_by_others(event: SideEffect, found: StatementInBlock[cst.SimpleStatementLine | cst.With]) -> str:
    """Why the other ranks need its effect, as far as the conditions show; "" if nothing shows that they do."""
    path = _path_of(event)
    for node in found.around if path else ():
        if isinstance(node, cst.If) and _mentions_path(node.test, path) and any(map(binds, below(node.body))):
            return "the condition tests for it, and other code under the condition is for all processes or none"
    return ""


def _mentions_path(test: cst.BaseExpression, path: str) -> bool:
    """Whether a condition, or a call, is about a path; parentheses around it do not matter."""
    parts = (node for node in below(test) if isinstance(node, cst.BaseExpression))
    return any(text_of(part.with_changes(lpar=[], rpar=[])) == path for part in parts)


def _path_of(event: SideEffect) -> str:
    """The text of the path that a call is passed, or is a method of; "" if there is none."""
    parameter = event.effect.path
    if parameter is None:
        func = event.node.func
        return text_of(func.value) if isinstance(func, cst.Attribute) and last_name(func) in OF_PATHS else ""
    position, name = parameter
    arguments = [arg for index, arg in enumerate(event.node.args) if keyword_of(arg) == name or index == position]
    return text_of(arguments[0].value.with_changes(lpar=[], rpar=[])) if arguments else ""


def _caution_for_arguments(event: SideEffect) -> str:
    """Why the calls in the arguments matter; "" if none of them may have to be made by all processes."""
    inner = [each for arg in event.node.args for each in below(arg) if isinstance(each, cst.Call)]
    return "" if all(_makes_a_table(event.module, each.func) for each in inner) else _MAY_BE_COLLECTIVE


def _makes_a_table(module: Module, func: cst.BaseExpression) -> bool:
    """Whether a function belongs to a module that only creates objects for a tracker."""
    if not (isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name)):
        return False
    return library_name_of(module.names.get(func.value.value)).partition(".")[0] in _TABLES
