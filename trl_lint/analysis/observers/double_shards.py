"""Rows that are dealt to the ranks twice, so that each of them gets a share of its share.

Events of a program:

    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    loader = accelerator.prepare(loader)                       DealtTwice: `prepare` deals the batches of any loader
    Trainer(model, train_dataset=rows.shard(size, rank))       DealtTwice: so does the Trainer
    sampler = DistributedSampler(rows[rank::size])             DealtTwice

    def train_dataloader(self):                                DealtTwice, in a module or the data of Lightning
        return DataLoader(rows, sampler=OwnShare(rows))

    def _get_train_sampler(self):                              DealtTwice, in a Trainer, which prepares its loaders
        return DistributedSampler(self.train_dataset)

    if accelerator.num_processes == 1:                         none: several ranks do not get there
        loader = accelerator.prepare(loader)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import libcst as cst

from trl_lint.analysis.data_events import DealtTwice
from trl_lint.analysis.program.definitions.objects import ProjectInstance, class_of
from trl_lint.analysis.program.syntax import assignments, names_in, precedes, self_attribute
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.data.dealt_rows import (
    Dealing,
    Dealings,
    DealtInRun,
    are_own_indices,
    call_of_sampler,
    deals,
    dealt,
    is_on_way,
    is_own_sampler,
    may_be_left,
    share_of_class,
)
from trl_lint.analysis.transfer.data.given_shares import given_share
from trl_lint.analysis.transfer.data.own_shares import are_for_all
from trl_lint.analysis.transfer.data.places_of_shares import is_rank
from trl_lint.analysis.transfer.data.returned_rows import keep_returned, note_returned
from trl_lint.domain.constants import WORLD_SIZE
from trl_lint.domain.kinds import LoaderValue, class_name_of, is_none
from trl_lint.domain.provenance import steps
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Wrapping
from trl_lint.knowledge import library, sharding
from trl_lint.knowledge.datasets import is_dataset
from trl_lint.knowledge.lightning import PACKAGE, TRAIN_DATA, TRAINERS, VALIDATION_DATA, prepares_on_one
from trl_lint.knowledge.random_draws import TRAINER
from trl_lint.knowledge.schema import Function, Transfer
from trl_lint.knowledge.torch_distributed import DATA_LOADER, DISTRIBUTED_SAMPLER, OF_LOADER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.state.observing import CalleeRun
    from trl_lint.domain.control import Control
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Row

_SAMPLES = "the sampler of this loader deals the rows to the ranks"
_MAKE_LOADERS = (TRAIN_DATA, VALIDATION_DATA)


class KeptShare:
    """Whether a run of a constructor keeps a share of the rows in the object."""

    def __init__(self) -> None:
        self.dealing: Dealing | None = None


class DoubleShards(Observer["Frame"]):
    emits = frozenset({DealtTwice})
    statements = (cst.Assign, cst.Return)

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name == sharding.SHARD:
            _note_split(frame, args, sharding.OF_SHARD, node, is_list=is_dataset(receiver))
        elif name == "fit" and class_name_of(receiver) in TRAINERS and _injects(frame):
            argument = args.node(1, "train_dataloaders")
            rows = None if argument is None else dealt(frame, argument.value)
            if rows is not None and _is_dealt_by_lightning(rows, (class_name_of(receiver),)):
                _emit(frame, rows, node, "Lightning's sampler")

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        split = sharding.SPLITS.get(name)
        if split is not None:
            data = args.get(0, "dataset")
            _note_split(frame, args, split, node, is_list=data is not None and is_dataset(data))
        elif name == sharding.SUBSET:
            indices = args.node(*sharding.INDICES_OF_SUBSET)
            if indices is not None and are_own_indices(frame, indices.value):
                _note(frame, node, Dealing(frame.step(node, "each rank takes its own rows here"), is_list=True))

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        """A function returns rows, or an object that keeps a share of the rows is created, or is told the rank."""
        if not isinstance(node, cst.Call):
            return
        note_returned(frame, function, run.trace, node)
        given = None if function.cls is None else given_share(frame, function, node)
        if given is not None and function.name != "__init__":
            _note_told(frame, node, given)
        if function.name == "__init__" and run.trace is not frame.trace:
            kept = run.trace.notes.of(KeptShare).dealing or given
            known = frame.module.notes.of(Dealings).by_call
            if kept is not None or id(node) in known:
                is_stream = function.cls is not None and not sharding.STREAMS.isdisjoint(function.cls.library_bases())
                _note(frame, node, replace(kept, is_list=False) if kept is not None and is_stream else kept)

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        match statement:
            case cst.Assign(targets=[target], value=value) if name := self_attribute(target.target):
                _note_kept(frame, name, value)
            case cst.Return(value=cst.BaseExpression() as value):
                _check_hook(frame, value)
                _check_loader(frame, dealt(frame, value) if _is_for_lightning(frame) else None, value)
                keep_returned(frame, value)

    def on_instantiate(self, frame: Frame, base: str, args: Arguments, node: cst.CSTNode) -> None:
        if base == DATA_LOADER:
            _note_loader(frame, args, node)
        elif base == DISTRIBUTED_SAMPLER:
            if are_for_all(args):
                _emit(frame, _of_argument(frame, args, 0, "dataset"), node, "`DistributedSampler`")
        elif base and library.is_subclass(base, TRAINER, frame.engine.versions):
            _check_trainer(frame, args, node)

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        if isinstance(row, Function) and row.returns == Transfer.PREPARED and args.star is None:
            for place, value in enumerate(args.positional):
                expression = args.expression(place)
                dealing = None if expression is None or is_none(value) else dealt(frame, expression)
                _emit(frame, _of_loader(value) or dealing, node, f"`{name.rpartition('.')[2]}`")


# --- who deals first ------------------------------------------------------------------------------------


def _note(frame: Frame, node: cst.CSTNode, dealing: Dealing | None) -> None:
    frame.notes.of(DealtInRun).by_call[id(node)] = dealing
    frame.module.notes.of(Dealings).note(node, dealing)
    frame.engine.note_stored(Dealings, frame.module, id(node))


def _note_split(
    frame: Frame, args: Arguments, parameters: tuple[tuple[int, str], tuple[int, str]], node: cst.CSTNode, is_list: bool
) -> None:
    """A call that takes the rows of a rank, if it is told the rank, and the number of all ranks."""
    rank, size = (args.get(*each) for each in parameters)
    if is_rank(rank) and size is not None and size.const is WORLD_SIZE:
        _note(frame, node, Dealing(frame.step(node, "each rank takes its own rows here"), is_list=is_list))


def _note_told(frame: Frame, call: cst.Call, dealing: Dealing) -> None:
    """An object is told the rank by a method: it was created here, or `self` has it."""
    holder = call.func.value if isinstance(call.func, cst.Attribute) else call
    if isinstance(holder, cst.Name):
        made = [value for target, value in assignments(frame.root) if target.deep_equals(holder)]
        if made and precedes(frame.root, made[-1], call):
            _note(frame, made[-1], dealing)
    elif (name := self_attribute(holder)) and frame.cls is not None:
        _keep(frame, frame.cls, name, dealing)


def _keep(frame: Frame, cls: ClassInfo, name: str, dealing: Dealing) -> None:
    """Objects of a class have a share in an attribute."""
    owner = next((each for each in cls.project_lineage() if frame.function in each.methods.values()), cls)
    frame.module.notes.of(Dealings).by_attribute[id(owner.node), name] = dealing
    frame.engine.note_stored(Dealings, frame.module, name)


def _note_kept(frame: Frame, name: str, value: cst.BaseExpression) -> None:
    """An object keeps a share of the rows in an attribute."""
    if frame.cls is None or frame.function is None:
        return
    found = dealt(frame, value)
    if found is None:
        return
    _keep(frame, frame.cls, name, found)
    if frame.function.name == "__init__":
        frame.trace.notes.of(KeptShare).dealing = found


def _note_loader(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    """A loader is made, of rows or with a sampler that are dealt."""
    given = next(((value, args.node(*each)) for each in OF_LOADER if not is_none(value := args.get(*each))), None)
    if given is not None:
        sampler, argument = given
        dealing = _of_sampler(frame, argument, node) if deals(frame, sampler) else None
        if dealing is not None:
            is_own = sampler is args.get(*OF_LOADER[0]) and is_own_sampler(sampler)
            dealing = replace(dealing, is_own=is_own)
        if dealing is not None or id(node) in frame.module.notes.of(Dealings).by_call:
            _note(frame, node, dealing)
        _check_loader(frame, dealing, node)
        return
    rows = _of_argument(frame, args, 0, "dataset")
    if rows is not None:
        _note(frame, node, rows)
        _check_loader(frame, rows, node)


def _of_sampler(frame: Frame, argument: cst.Arg | None, node: cst.CSTNode) -> Dealing:
    """The dealing of a loader's sampler, which it gets as an argument."""
    loader = node if isinstance(node, cst.Call) else None
    if argument is None:
        return Dealing(frame.step(node, _SAMPLES), by_sampler=True)
    sampler = call_of_sampler(frame, argument.value)
    return Dealing(frame.step(argument.value, _SAMPLES), by_sampler=True, loader=loader, sampler=sampler)


def _of_argument(frame: Frame, args: Arguments, position: int, name: str) -> Dealing | None:
    argument = args.node(position, name)
    found = None if argument is None else dealt(frame, argument.value)
    value = args.get(position, name)
    return found or (None if value is None else _of_value(frame, value))


def _of_value(frame: Frame, value: Value) -> Dealing | None:
    """The dealing of rows that come from another function, or of which a class of data sets gives a share."""
    if isinstance(value, ProjectInstance):
        return share_of_class(frame, value.cls)
    return None if value.rank.state is State.SAME else _noted(value)


def _noted(value: Value) -> Dealing | None:
    for step in steps(value.provenance):
        module = cast("Module", step.module)
        found = module.notes.of(Dealings).by_call.get(id(step.node))
        if found is not None:
            return found
    return None


def _of_loader(value: Value) -> Dealing | None:
    """The dealing of the batches of a loader that `prepare` has not seen."""
    batch = value.batch if isinstance(value, LoaderValue) else None
    is_share = batch is not None and batch.rank.differs and batch.wrapping is not Wrapping.WRAPPED
    return _noted(batch) if batch is not None and is_share else None


# --- who deals again ------------------------------------------------------------------------------------


def _check_trainer(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    """A Trainer is made, whose loaders deal the rows, unless its class makes loaders of its own."""
    called = frame.engine.settle(frame.engine.evaluate(frame, node.func)) if isinstance(node, cst.Call) else None
    cls = None if called is None else class_of(called)
    trained: Dealing | None = None
    for name, maker in sharding.DATA_OF_TRAINER.items():
        rows = _of_argument(frame, args, -1, name) if cls is None or cls.find(maker) is None else None
        # Splits that are dealt in one place are trained on, whether or not they are evaluated on as well.
        if rows is not None and (trained is None or rows.step.node is not trained.step.node):
            _emit(frame, rows, node, "the Trainer", evaluates=name.startswith("eval"))
            trained = rows


def _check_hook(frame: Frame, value: cst.BaseExpression) -> None:
    """A Trainer's hook returns the sampler of a loader that the Trainer prepares."""
    name = "" if frame.function is None else frame.function.name
    maker = sharding.SAMPLER_HOOKS.get(name)
    if maker is None or frame.cls is None or not library.holding((sharding.PREPARES_LOADERS,), frame.engine.versions):
        return
    is_trainer = frame.engine.is_subclass(frame.cls, TRAINER) and frame.cls.find(maker) is None
    if is_trainer and not _is_older(frame) and deals(frame, frame.known_value(value)):
        dealing = Dealing(frame.step(value, "this sampler deals the rows to the ranks"), by_sampler=True)
        _emit(frame, dealing, value, "the Trainer", evaluates="eval" in name)


def _is_older(frame: Frame) -> bool:
    """Whether a hook may be for an older Trainer: one that is like its own, or that the project has a copy of."""
    project = frame.engine.project
    has_copy = any(path.parts[-2:] == sharding.LIBRARY_FILE for path in project.linted)
    return has_copy or not sharding.OF_OLD_HOOKS.isdisjoint(names_in(frame.root))


def _check_loader(frame: Frame, dealing: Dealing | None, node: cst.CSTNode) -> None:
    """A loader is made that Lightning asks a method for, and whose rows it deals."""
    if dealing is None or frame.cls is None or not _is_for_lightning(frame):
        return
    if _is_dealt_by_lightning(dealing, frame.cls.library_bases()):
        evaluates = frame.function is not None and frame.function.name == VALIDATION_DATA
        _emit(frame, dealing, node, "Lightning's sampler", evaluates=evaluates)


def _is_dealt_by_lightning(dealing: Dealing, classes: Iterable[str]) -> bool:
    """Whether Lightning gives a loader a sampler: of its rows, or since release 2 around a sampler of the project.

    classes: classes of Lightning that the program uses. The package has its new name since about that release.
    """
    if dealing.by_sampler:
        return dealing.is_own and any(each.partition(".")[0] == PACKAGE for each in classes)
    return dealing.is_list


def _is_for_lightning(frame: Frame) -> bool:
    """Whether Lightning asks the method around for loaders, and gives them a sampler."""
    if frame.function is None or frame.function.name not in _MAKE_LOADERS or frame.cls is None:
        return False
    return prepares_on_one(frame.cls.library_bases()) and _injects(frame)


def _injects(frame: Frame) -> bool:
    """Whether a trainer of Lightning in the project is made that injects samplers, and none that may not."""
    return _mentions(frame, sharding.INJECTS_SAMPLERS) and not _mentions(frame, sharding.MAY_INJECT_NONE)


def _mentions(frame: Frame, pattern: bytes) -> bool:
    """Whether the file, or another one of the project, has a text."""
    return frame.module.mentions(pattern) or frame.module.project_mentions(pattern)


def _emit(frame: Frame, dealing: Dealing | None, node: cst.CSTNode, again: str, *, evaluates: bool = False) -> None:
    if dealing is None or frame.memory.control.is_of_some_ranks:
        return
    if _mentions(frame, sharding.PREPARES_OTHERWISE):
        return
    first = dealing.step
    if sharding.IS_PREPARED in first.module.text or sharding.IS_PREPARED in frame.module.text:
        return
    is_here = first.module is frame.module
    passed = [each.value for each in node.args] if isinstance(node, cst.Call) else []
    place = dealing.call or first.node
    if not is_on_way(frame, node, place, passed) or may_be_left(frame, place, node):
        return
    second = frame.step(node, f"{again} deals them again here", first)
    frame.emit(
        DealtTwice,
        first.node if is_here else node,
        tag=id(first.node),
        first=first,
        second=second,
        by_sampler=dealing.by_sampler,
        again=again,
        loader=dealing.loader if is_here else None,
        sampler=dealing.sampler if is_here else None,
        evaluates=evaluates,
    )


OBSERVER = DoubleShards()
