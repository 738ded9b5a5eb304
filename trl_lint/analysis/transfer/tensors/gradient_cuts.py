"""Which collectives cut a value off from the parameters that it is computed from.

What `all_gather` fills, and what `accelerator.gather` returns, are copies without a gradient, also of this rank's own
rows. The collectives of `torch.distributed.nn.functional` have a backward pass; so has `all_gather` of Lightning and
Fabric with `sync_grads=True`. A reduction in place leaves the tensor where it is in the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.domain.gradient_paths import TRAINED, Gradient, combined
from trl_lint.knowledge.torch import LAYERS_WITH_PARAMETERS

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.state.refining import Exchange
    from trl_lint.domain.heap import Cell
    from trl_lint.domain.kinds import LibraryInstance
    from trl_lint.domain.values import Value

_GATHERED = "gathered"
_WITHOUT_GRADIENT = frozenset({"bool", "int"})


def cuts(frame: Frame, exchange: Exchange, operand: Value) -> bool:
    """Whether a collective gets what is trained, where gradients are on, and returns it without a gradient."""
    if exchange.how != _GATHERED or exchange.has_backward or not frame.memory.control.grad:
        return False
    return operand.gradient is not None and operand.grad and operand.dtype not in _WITHOUT_GRADIENT


def of_layer(frame: Frame, layer: LibraryInstance, output: Value) -> Value:
    """What a layer of torch computes: trained, where gradients are on."""
    is_trained = frame.memory.control.grad and layer.grad and layer.name.startswith(LAYERS_WITH_PARAMETERS)
    return output.replace(gradient=combined(output.gradient, TRAINED)) if is_trained else output


def where_on(frame: Frame, value: Value) -> Value:
    """A value that is computed here: where gradients are off it has none."""
    return value if value.gradient is None or frame.memory.control.grad else value.replace(gradient=None)


def with_part(whole: Value, part: Value) -> Gradient | None:
    """The gradient of a tensor of which a part is assigned: `rows[start:end] = features`."""
    if whole.gradient is None or (part.gradient is not None and part.gradient.cut is not None):
        return whole.gradient
    return TRAINED


def cell_with_part(cell: Cell, part: Value) -> Cell:
    """A list after a part of it was assigned: `rows[rank] = features`."""

    def kept(value: Value) -> Value:
        return value if value.gradient is None else value.replace(gradient=with_part(value, part))

    if all(each.gradient is None for each in cell.values()):
        return cell
    return cell.changed(kept)
