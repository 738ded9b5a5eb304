"""What a wrapper of a model was made with, and what follows for who waits in its forward.

DDP(model, process_group=group)           the ranks of the group
DDP(model, broadcast_buffers=False)       nobody: only its backward pass sends something
DDP(SyncBatchNorm.convert_sync_batchnorm(model), broadcast_buffers=False)     all ranks, for the statistics
model.eval(); model(batch)                nobody: then the layers use the statistics that they have
head(x), and nobody reads the result      nobody, if the class of `head` has no buffers: no backward pass follows either
head = FSDP(head); head(x)                all the same: its ranks gather the parameters, as those of ZeRO 3 do
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.definitions.without_parameters import has_no_buffers
from trl_lint.analysis.program.idioms.result_uses import is_dropped
from trl_lint.analysis.program.syntax import is_literal_none, last_name, of_class
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import ModelRole
from trl_lint.domain.model_roles import averages_statistics, in_model_role, sends_gradients_only
from trl_lint.domain.provenance import steps
from trl_lint.domain.values import UNKNOWN, Value
from trl_lint.knowledge.models import SWITCH_MODES
from trl_lint.knowledge.torch_distributed import AVERAGES_IN_FORWARD, BUFFERS_OF_WRAPPER, OF_APEX, PROCESS_GROUP

_EVALUATES, _FORWARD = "eval", "forward"


def is_of_a_group(model: Value) -> bool:
    """Whether a model is wrapped for a process group: `DDP(model, process_group=group)`."""
    calls = (step.node for step in steps(model.provenance) if isinstance(step.node, cst.Call))
    return any(
        arg.keyword is not None and arg.keyword.value == PROCESS_GROUP and not is_literal_none(arg.value)
        for call in calls
        for arg in call.args
    )


def is_of_apex(model: Value) -> bool:
    """Whether the wrapper may be that of apex, for which the other ranks do not wait before the backward pass."""
    return any(step.module.mentions(OF_APEX) for step in steps(model.provenance))


def made_by_ddp(frame: Frame, model: Value, args: Arguments) -> Value:
    """A model in DDP, as these arguments make it: without buffers to broadcast, its forward sends nothing."""
    if args.keywords.get(BUFFERS_OF_WRAPPER, UNKNOWN).const is not False:
        return model
    cls = class_of(model)
    modules = [frame.module] if cls is None else [frame.module, cls.module]
    averages = any(each.mentions(AVERAGES_IN_FORWARD) for each in modules)
    return in_model_role(model, ModelRole.STATISTICS if averages else ModelRole.GRADIENTS_ONLY)


def sends_nothing_forward(frame: Frame, model: Value, node: cst.CSTNode) -> bool:
    """Whether nobody waits in this forward of a model that is wrapped, as it has nothing to send before its gradients.

    A SyncBatchNorm needs the other ranks only while it is trained (torch/nn/modules/batchnorm.py, `need_sync`).
    """
    if sends_gradients_only(model) or (averages_statistics(model) and _is_evaluated_by(frame.root, node)):
        return True
    cls = class_of(model)
    return cls is not None and is_dropped(frame.root, node) and has_no_buffers(cls)


def _is_evaluated_by(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a function has told the model that it calls to evaluate, and not to train again before the call."""
    if not isinstance(node, cst.Call):
        return False
    model = node.func
    if isinstance(model, cst.Attribute) and model.attr.value == _FORWARD:
        model = model.value
    told = None
    for each in of_class(root, cst.Call):
        if each is node:
            break
        match each:
            case cst.Call(cst.Attribute(receiver, cst.Name(mode))) if mode in SWITCH_MODES:
                told = each if receiver.deep_equals(model) else told
    return told is not None and (last_name(told.func) == _EVALUATES or _is_off(told))


def _is_off(switch: cst.Call) -> bool:
    """`model.train(False)`, by which a model is told to evaluate, too."""
    return any(isinstance(each.value, cst.Name) and each.value.value == "False" for each in switch.args)
