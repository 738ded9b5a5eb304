"""Names that each rank makes for itself, where all ranks need the same folder.

Events of a program with `stamp = datetime.now().strftime("%Y%m%d_%H%M%S")`:

    TrainingArguments(output_dir=f"out/{stamp}")      PathOfEachRank(user="TrainingArguments")
    args.output_dir = f"out/{uuid.uuid4()}"           PathOfEachRank, as `args` is one
    accelerator.save_state(f"out/{stamp}")            PathOfEachRank(user="accelerator.save_state")
    TrainingArguments(output_dir=f"out/{day}")        none, with `%Y%m%d`: ranks agree on the day
    accelerator.save_state(f"out/{rank}")             none: it is meant to be one for each rank
    torch.save(state, f"out/{stamp}.pt")              none: no rank needs the file of another one
    if accelerator.is_main_process:
        accelerator.save_state(f"out/{stamp}")        none: only one rank names it
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.path_events import PathOfEachRank
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.data.draws import is_arguments
from trl_lint.domain.control import Uniformity
from trl_lint.domain.provenance import NameOfOneRank, NameOfOwn, NameOnSomeWay, SharedName, source_step
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import UNKNOWN, Kind
from trl_lint.knowledge import library
from trl_lint.knowledge.heuristics import ARGUMENTS_WITH_RANK
from trl_lint.knowledge.one_folder import (
    ARGUMENTS,
    CHOOSE_ENGINE,
    FOLDER,
    LOADS_BEST,
    SAVED_TOGETHER,
    SAVES,
    SAVES_MODEL_ONLY,
    SAVES_NOTHING,
)

if TYPE_CHECKING:
    from trl_lint.analysis.events import Event
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.state.observing import Reached
    from trl_lint.domain.control import Control
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Row


class UnsharedPaths(Observer["Frame"]):
    emits = frozenset({PathOfEachRank})

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        saved = SAVED_TOGETHER.get(name)
        for each in () if saved is None else saved.folders:
            path = args.get(*each)
            if saved is not None and path is not None and _is_own(frame, path):
                argument = args.node(*each)
                expression = None if argument is None else argument.value
                _emit(frame, node, path, _shown(frame, node), expression, in_parts=saved.in_parts)
                return

    def on_instantiate(self, frame: Frame, base: str, args: Arguments, node: cst.CSTNode) -> None:
        path = args.get(*FOLDER) if library.is_subclass(base, ARGUMENTS, frame.engine.versions) else None
        if path is None or not _is_own(frame, path) or _saves_nothing(frame, args):
            return
        argument = args.node(*FOLDER)
        _emit(
            frame,
            node if argument is None else argument.value,
            path,
            _shown(frame, node),
            None if argument is None else argument.value,
            of_trainer=True,
            loads_best=_is_true(args, LOADS_BEST),
            engine_given=any(map(_is_given, (args.keywords.get(each) for each in CHOOSE_ENGINE))),
        )

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        """`training_args.output_dir = path`."""
        match statement:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute(value=owner, attr=cst.Name(name)))]):
                path = frame.node_values.get(id(statement.value), UNKNOWN)
                if name == FOLDER[1] and _is_own(frame, path) and _are_arguments(frame, owner):
                    _emit(frame, statement.value, path, _shown(frame, owner), statement.value, of_trainer=True)

    def on_reached(self, event: Event, reached: Reached) -> Event | None:
        if not isinstance(event, PathOfEachRank) or not reached.launched:
            return None
        return replace(event, called=reached.called)


def _emit(
    frame: Frame,
    node: cst.CSTNode,
    path: Value,
    user: str,
    expression: cst.BaseExpression | None,
    *,
    of_trainer: bool = False,
    loads_best: bool = False,
    in_parts: bool = False,
    engine_given: bool = False,
) -> None:
    """Emit an event, if all ranks get here."""
    control = frame.memory.control
    if control.others_failed or is_test(frame.function):
        return
    if not all(each.uniformity is Uniformity.UNIFORM or each.rank.is_uniform for each in control.conditions):
        return
    frame.emit(
        PathOfEachRank,
        node,
        path=path,
        user=user,
        expression=expression,
        of_trainer=of_trainer,
        loads_best=loads_best,
        in_parts=in_parts,
        engine_given=engine_given,
        on_some_way=isinstance(source_step(path.provenance), NameOnSomeWay),
        accelerator=frame.accelerator(),
    )


def _is_own(frame: Frame, path: Value) -> bool:
    """Whether a name has a part that each rank makes for itself, and not to tell its own files apart."""
    made = source_step(path.provenance)
    if not path.rank.differs or made is None:
        return False
    if isinstance(made, NameOfOwn):
        return True
    if path.rank.origins == Origin.RNG:
        return not frame.engine.project.mentions_anywhere(_SEEDS)
    is_coarse = isinstance(made, (SharedName, NameOfOneRank)) and made.coarse
    return path.rank.origins == Origin.CLOCK and not is_coarse


def _are_arguments(frame: Frame, owner: cst.BaseExpression) -> bool:
    """Whether an object is the arguments of a Trainer: by its class, or by its name if that is not known."""
    value = frame.node_values.get(id(owner), UNKNOWN)
    if is_arguments(frame, value):
        return True
    return value.kind is Kind.UNKNOWN and isinstance(owner, cst.Name) and ARGUMENTS_WITH_RANK.fits(owner.value)


def _saves_nothing(frame: Frame, args: Arguments) -> bool:
    """Whether the Trainer writes no checkpoint, or nothing but what rank 0 writes and no other rank reads."""
    strategy, text = args.keywords.get(SAVES), args.expression(SAVES)
    is_never = strategy is not None and strategy.const in SAVES_NOTHING
    is_never = is_never or (text is not None and frame.module.tree.code_for_node(text) in SAVES_NOTHING)
    return is_never or (_is_true(args, SAVES_MODEL_ONLY) and not _is_true(args, LOADS_BEST))


def _is_true(args: Arguments, name: str) -> bool:
    value = args.keywords.get(name)
    return value is not None and value.const is True


def _is_given(value: Value | None) -> bool:
    return value is not None and value.kind is not Kind.NONE and value.const not in ("", False)


def _shown(frame: Frame, node: cst.CSTNode) -> str:
    """What needs the folder, as messages say it."""
    code = node.func if isinstance(node, cst.Call) else node
    return frame.module.tree.code_for_node(code)


_SEEDS = rb"seed"

OBSERVER = UnsharedPaths()
