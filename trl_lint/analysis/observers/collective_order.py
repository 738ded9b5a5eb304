"""The synchronisation points of a run, in program order, those of its callees included.

    accelerator.gather(loss)              frame.sync_points: [gathered]
    log_all(metrics)  # gathers inside                       [gathered, gathered (via log_all)]
    accelerator.wait_for_everyone()                          [gathered, gathered (via log_all), barrier]

`rendezvous` compares the ways through a branch by them. They say as well who waits in a barrier while others work,
which is a part of what a function is run for (`transfer/first_rank.py`): so they are always noted.
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from trl_lint.analysis.program.classes import FunctionInfo
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.observing import CalleeRun, Observer
from trl_lint.analysis.transfer.groups import groups_of
from trl_lint.domain.control import Control
from trl_lint.domain.kinds import PreparedObject
from trl_lint.domain.provenance import Step
from trl_lint.domain.sync_points import HIDDEN, SyncPoint, place_of
from trl_lint.domain.values import Kind, Value, Wrapping
from trl_lint.knowledge.heuristics import MAY_SYNCHRONISE
from trl_lint.knowledge.models import RUN_A_MODEL
from trl_lint.knowledge.schema import Collective, Function, Row, Transfer

# How many synchronisation points of one call are kept.
_MAX_PASSED = 12


class CollectiveOrder(Observer["Frame"]):
    needed_by = None  # the control of every event, and what a function is run for

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, owner: Value | None
    ) -> None:
        if row is not None and row.synchronises is not None:
            own = name.rpartition(".")[2]
            kind, only_sharded, symmetric = row.synchronises
            _note(frame, node, own, kind, only_sharded=only_sharded, symmetric=symmetric)
        if isinstance(row, Function) and row.returns == Transfer.PREPARED and _wraps(row, args):
            _note(frame, node, name.rpartition(".")[2], "wrap")

    def on_collective(self, frame: Frame, row: Collective, args: Arguments, node: cst.CSTNode) -> None:
        own = row.name.rpartition(".")[2]
        subgroup = any(group.kind is not Kind.NONE for group in groups_of(row, args))
        symmetric = row.into is None and not subgroup
        _note(frame, node, own, row.result or own, subgroup=subgroup, symmetric=symmetric)

    def on_model_call(self, frame: Frame, model: Value, node: cst.CSTNode) -> None:
        """DDP broadcasts its buffers and gets ready to reduce its gradients."""
        if model.kind is not Kind.MODEL or model.wrapping is Wrapping.WRAPPED:
            _note(frame, node, "forward", "forward")

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        model = next(iter(args.positional), None)
        if name in RUN_A_MODEL and (
            isinstance(model, PreparedObject) or (model and model.wrapping is Wrapping.WRAPPED)
        ):
            _note(frame, node, "forward", "forward")

    def on_call_out_of_sight(self, frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
        func = node.func if isinstance(node, cst.Call) else None
        name = func.attr if isinstance(func, cst.Attribute) else func
        if isinstance(name, cst.Name) and MAY_SYNCHRONISE.fits(name.value):
            _note(frame, node, name.value, HIDDEN)

    def on_call_in_sight(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        for point in run.sync_points[:_MAX_PASSED]:
            copy = _note(
                frame,
                node,
                point.name,
                point.kind,
                only_sharded=point.only_sharded,
                subgroup=point.subgroup,
                symmetric=point.symmetric,
            )
            copy.certain = point.certain and not _own(point.control, run.entry) and not point.control.engine
            text = f"`{point.name}` is called in `{function.name}`" if point.via is None else f"in `{function.name}`"
            copy.via = Step(function.module, point.node, text, point.via)


def _wraps(row: Function, args: Arguments) -> bool:
    """Whether a model is prepared that has anything to train: its wrapper compares the parameters of all ranks."""
    if row.switch is not None and args.get(*row.switch) is not None:
        return False
    return any(value.kind is Kind.MODEL and value.grad is not False for value in args.positional)


def _note(
    frame: Frame,
    node: cst.CSTNode,
    name: str,
    kind: str,
    *,
    only_sharded: bool = False,
    subgroup: bool = False,
    symmetric: bool = False,
) -> SyncPoint:
    point = SyncPoint(
        node,
        name,
        kind,
        frame.memory.control,
        frame.unroll_index,
        only_sharded=only_sharded,
        subgroup=subgroup,
        symmetric=symmetric,
    )
    frame.sync_points.append(point)
    return point


def _own(control: Control, entry: Control) -> Iterable[Control]:
    """The conditions that the function itself sets up."""
    outer = {id(place_of(each)) for each in entry.conditions}
    return [each for each in control.conditions if id(place_of(each)) not in outer]


OBSERVER = CollectiveOrder()
