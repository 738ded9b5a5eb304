"""Who drew a value: the place where each rank shuffles, splits or samples with its own generator.

    random.shuffle(rows)             the order of the rows is rank-local
    torch.randperm(len(rows))        the indices come from this draw
    rows[i]                          drawn, if the place `i` is
    torch.tensor(rows)               drawn, if the rows are
    DataLoader(drawn)                the loader iterates over drawn data

The transfer functions are in `transfer/data/draws.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trl_lint.analysis.state.refining import Domain, FunctionCall
from trl_lint.analysis.transfer.data import (
    drawn_folds,
    drawn_masks,
    drawn_on_creation,
    drawn_places,
    drawn_splits,
    drawn_tensors,
    draws,
)
from trl_lint.domain.derived import of_drawn_table
from trl_lint.domain.values import Kind
from trl_lint.knowledge.random_draws import ROWS_OF_TABLES

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Function as FunctionRow
    from trl_lint.knowledge.torch_ops import Operation


class DrawDomain(Domain["Frame"]):
    def method(
        self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode, value: Value
    ) -> Value:
        draws.of_generator(frame, name, args, node)
        value = draws.by_own_generator(frame, name, args, node, value)
        value = drawn_folds.of_folds(frame, name, args, node, value)
        value = drawn_masks.sampled(frame, receiver, name, args, node, value)
        return of_drawn_table(receiver, value) if name in ROWS_OF_TABLES else value

    def tensor_method(
        self, frame: Frame, row: Operation, receiver: Value, args: Arguments, node: cst.CSTNode, value: Value
    ) -> Value:
        return drawn_tensors.converted(row, receiver, value)

    def subscript(self, frame: Frame, container: Value, node: cst.Subscript, value: Value) -> Value:
        return drawn_splits.at_name(frame, container, node, drawn_places.at_place(frame, node, value))

    def unknown_method(
        self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode, value: Value
    ) -> Value:
        value = drawn_places.of_members(frame, name, node, value)
        return drawn_places.selected(frame, receiver, name, args, value)

    def stored(self, frame: Frame, target: cst.Attribute, value: Value) -> None:
        draws.stored(frame, target, value)

    def library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> Value | None:
        return drawn_splits.made(frame, name, args, node) or draws.called(frame, name, args, node)

    def function(self, frame: Frame, call: FunctionCall, value: Value) -> Value:
        value = drawn_tensors.made(frame, call.name, call.args, value)
        return draws.explained(frame, call.name, call.args, call.node, value)

    def library_function(
        self, frame: Frame, row: FunctionRow, args: Arguments, node: cst.CSTNode, receiver: Value | None, value: Value
    ) -> Value:
        return draws.of_dataset(frame, row, args, node, receiver, value)

    def created(self, frame: Frame, bases: Iterable[str], args: Arguments, node: cst.CSTNode, value: Value) -> Value:
        if value.kind is Kind.LOADER:
            return draws.loaded(frame, args, value)
        found = draws.dataset_of(frame, bases, args, value)
        return value if found is not value and drawn_on_creation.is_of_others(frame, node, found) else found


DOMAIN = DrawDomain()
