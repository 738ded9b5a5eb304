"""Models that DistributedDataParallel refuses to wrap, as none of their parameters is trained.

It raises on each rank before any communication, so that no rank waits there for the others:

    for p in net.parameters(): p.requires_grad = False
    net = DDP(net)                                        refused

    for p in net.parameters(): p.requires_grad = False
    net.head = nn.Linear(8, 2)                            or `unfreeze(net)`: whatever else is done with it
    net = DDP(net)                                        not known to be refused

Source: torch/nn/parallel/distributed.py, "DistributedDataParallel is not needed when a module doesn't have any
parameters that require a gradient."
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, last_name, of_class, precedes
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models import frozen_models
from trl_lint.knowledge.models import RETURN_THE_MODEL
from trl_lint.knowledge.schema import Row
from trl_lint.knowledge.torch_distributed import DDP

# What is called with a model, or of it, and leaves its parameters as they are.
_LOOKS = frozenset({"convert_sync_batchnorm", "print", "repr", "str", "type"})
_KEEPS = RETURN_THE_MODEL | {"load_state_dict", "state_dict"}


def is_refused(frame: Frame, row: Row, args: Arguments, node: cst.CSTNode) -> bool:
    """Whether a call wraps a model in DDP that this function has frozen as a whole, and only looked at since."""
    model, name = args.get(0, "module"), args.node(0, "module")
    if row.name != DDP or model is None or model.grad or name is None or not isinstance(name.value, cst.Name):
        return False
    frozen = frozen_models.frozen_at(frame, name.value.value)
    root = frame.root
    return frozen is not None and all(
        _is_harmless(root, each)
        for each in of_class(root, cst.Name)
        if each.value == name.value.value and precedes(root, frozen, each) and precedes(root, each, node)
    )


def _is_harmless(root: cst.CSTNode, mention: cst.Name) -> bool:
    """Whether a mention of a model adds no parameter, and trains none again."""
    match ancestors(root, mention)[-2:]:
        case [_, cst.FormattedStringExpression()]:
            return True
        case [_, cst.AssignTarget()]:
            return True  # what it is from then on, its value says
        case [cst.Call(func=func), cst.Arg()]:
            return last_name(func) in _LOOKS
        case [cst.Call(), cst.Attribute(value=owner, attr=method)]:
            return owner is mention and method.value in _KEEPS
    return False
