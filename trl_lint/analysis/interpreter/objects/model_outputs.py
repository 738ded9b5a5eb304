"""Parts of a model's output: its loss, a parameter that it returns, and tensors with a row per sample.

For example:

    outputs = model(**inputs)         this rank's own
    outputs.loss                      local(data), a mean over an unknown count
    outputs["logits"]                 shard
    outputs.logit_scale               same: a parameter, as CLIP returns one
    outputs.contrast                  unknown, if the forwards of the project compute it from what all ranks gather
    outputs["scale"]                  same, if the forwards of the project that return a dict compute it from parameters
    features, extra = model(x)        so is extra["scale"], if they return such a dict as the second part
"""

from __future__ import annotations

from collections.abc import Hashable

from trl_lint.analysis.program.definitions.gathered_outputs import is_gathered
from trl_lint.analysis.program.definitions.learned_entries import entries_of_part as learned_entries
from trl_lint.analysis.program.definitions.learned_entries import is_learned_entry
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.derived import derived
from trl_lint.domain.kinds import BatchRole, TensorValue, role_of
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import heuristics

# A model parameter that is returned with the outputs.
LEARNED = TensorValue(ranks.SAME)


def attribute(frame: Frame, receiver: Value, name: str) -> Value:
    """A field of a model's output: its loss is a local mean over an unknown count."""
    if is_learned_scale(receiver, name):
        return LEARNED
    if _is_gathered(frame, receiver, name):
        return TensorValue(ranks.UNKNOWN, grad=receiver.grad)
    if name in ("loss", "aux_loss"):
        rank = ranks.Rank(State.LOCAL, receiver.rank.origins, "mean") if receiver.rank.differs else receiver.rank
        return derived(rank, Kind.TENSOR, receiver, scalar=True, dtype="float")
    return derived(receiver.rank, Kind.BATCH, receiver)


def entry(frame: Frame, receiver: Value, key: object) -> Value | None:
    """`outputs["loss"]`: a part of a model's output, or of metrics, if the key says what it is."""
    if not isinstance(key, str):
        return None
    if key == "loss" or is_learned_scale(receiver, key) or _is_gathered(frame, receiver, key):
        return attribute(frame, receiver, key)
    if receiver.rank.differs and role_of(receiver) is BatchRole.OUTPUT and is_learned_entry(frame.engine.project, key):
        return LEARNED
    return None


def entries_of_part(frame: Frame, output: Value, index: int, count: int, part: Value) -> dict[Hashable, Value]:
    """The entries of this one of so many parts of a model's output, if it is a dict in which something is learned."""
    if role_of(output) is not BatchRole.OUTPUT or not output.rank.differs:
        return {}
    known = learned_entries(frame.engine.project, index, count)
    return {key: LEARNED if is_learned else part for key, is_learned in known.items()}


def is_learned_scale(receiver: Value, name: str) -> bool:
    """Whether a part of this name of a model's output is a parameter, as CLIP returns one with the features."""
    return role_of(receiver) is BatchRole.OUTPUT and heuristics.LEARNED_SCALE.fits(name)


def _is_gathered(frame: Frame, receiver: Value, name: str) -> bool:
    is_own = role_of(receiver) is BatchRole.OUTPUT and receiver.rank.differs
    return is_own and is_gathered(frame.engine.project, name)
