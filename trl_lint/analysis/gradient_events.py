"""Events about gradients, for the rules; see `events.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trl_lint.analysis.events import Event
from trl_lint.knowledge import mentions

if TYPE_CHECKING:
    from libcst import Attribute, BaseExpression, Call

    from trl_lint.analysis.program.idioms.accumulation import Entered
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.domain.provenance import Step
    from trl_lint.domain.values import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardsClipped(Event):
    """The gradients of a `model` that FSDP 1 shards are clipped by the norm that this rank's parts of them have.

    owner: the expression for the model. whole: whether all of its parameters are passed.
    """

    mentions = (mentions.CLIPS_BY_NORM,)
    anywhere = True  # only a wrapper shards, and what wraps may be in another file

    node: Call
    model: Value
    owner: BaseExpression
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCountedAgain(Event):
    """An Accelerator's `accumulate`, at or below the node, counts a batch that another one around it has counted."""

    mentions = (mentions.LIBRARIES, mentions.ACCUMULATES)

    entered: Entered


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientCut(Event):
    """A collective gathers what is trained, and a loss is computed from the copies, which have no gradient.

    argument: what it gathers. loss: the backward pass. whole: whether nothing else in the loss is known to be trained.
    """

    mentions = (mentions.LIBRARIES, mentions.GATHERS)
    anywhere = True

    node: Call
    argument: BaseExpression
    loss: Step | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleStepped(Event):
    """A schedule that goes by a metric is stepped with a `value` of this rank's own data, or that one rank has."""

    mentions = (mentions.LIBRARIES, mentions.STEPS)

    node: Call
    value: Value
    metric: BaseExpression


@dataclass(frozen=True, slots=True, kw_only=True)
class LoneScheduleStep(Event):
    """Only ranks that fulfil a `test` of their number step a schedule, in a loop in which all of them train."""

    mentions = (mentions.LIBRARIES, mentions.STEPS)

    node: Call
    condition: Step | None
    test: BaseExpression


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSet(Event):
    """A method that all ranks call sets a learning rate by what differs between them.

    test: the condition that decides which ranks set it; None if it is the value that differs. decided_by: why it does.
    """

    mentions = (mentions.LIBRARIES, mentions.SETS_RATES)

    decided_by: Step | None
    test: BaseExpression | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientsKept(Event):
    """An optimizer steps right after a backward pass whose gradients a call of `no_sync()`, the node, keeps unreduced.

    The node may also be what turns the reduction off: `require_backward_grad_sync` of DDP, or a call of FSDP's
    `set_requires_gradient_sync`. step: the call that takes the step, or that of a function which does.
    """

    mentions = (mentions.LIBRARIES, mentions.KEEPS_GRADIENTS)
    anywhere = True  # the wrapper may be from another file

    node: Attribute | Call
    step: Call


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedBare(Event):
    """The forward, at the node, of a model that is trained without a wrapper, in a loop that trains another with it.

    other: the callee of a forward of that one.
    """

    mentions = (mentions.LIBRARIES, mentions.WRAPPED, mentions.STEPS)

    node: Call
    other: BaseExpression


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerUnused(Event):
    """A model is wrapped, at the node, that has a layer whose parameters no code uses, and DDP waits for these.

    name: the attribute. is_pooler: whether it is an encoder of which only the pooler is unused. readers: methods that
    use it, and that nothing calls. runs: whether it runs without gradients. made: the place of the layer in its
    constructor. wrapped: where the model is.
    """

    mentions = (mentions.LIBRARIES, mentions.WRAPPED)
    anywhere = True

    name: str
    made: BaseExpression
    constructor: FunctionInfo
    wrapped: Step
    is_pooler: bool = False
    readers: frozenset[str] = frozenset()
    runs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenLate(Event):
    """A `part` of a model is frozen after DDP has wrapped it, which waits for its gradients as it trains the rest."""

    mentions = (mentions.LIBRARIES, mentions.WRAPPED)
    anywhere = True

    part: BaseExpression
    wrapped: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsApart(Event):
    """A Trainer of Lightning, at the node, whose DDP waits for all gradients, trains a module that toggles optimizers.

    owner: the name of the module's class. toggled: where its training step turns to one of the optimizers.
    """

    mentions = (mentions.LIBRARIES, mentions.WRAPPED)
    anywhere = True

    owner: str
    toggled: Step
