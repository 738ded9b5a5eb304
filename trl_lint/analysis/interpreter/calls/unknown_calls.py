"""Results of unknown callees, as far as their names and those of the arguments tell them.

For example:

    processor(texts, return_tensors="pt")                  derived from `texts`
    model.generate(**inputs, do_sample=False)              token ids, as long as this rank's longest completion
    reward(prompts=prompts, completions=completions)       one reward for each: rank-local if these are
    self.first_stage_model.encode(batch["x"])              computed from this rank's own data
    self.criterion(logits, batch["labels"])                computed from this rank's own data
    reduce_loss(loss)                                      unknown: it may reduce it over the ranks
    env.reset(seed=seed + rank)                            drawn at random by each rank
    env.step(policy(own))                                  computed from this rank's own data, if `own` is
    rows.shard(size, rank)                                 this rank's own rows
    data.batched(8, partial=False)                         unknown, but all its batches have as many rows
    build_loader(rows, drop_last=True)                     likewise
    build_loader(rows, sampler=DistributedSampler(rows))   a loader with this sampler
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter.calls import built_loaders
from trl_lint.analysis.interpreter.calls.model_calls import generated, output_of
from trl_lint.analysis.interpreter.operations.pure_calls import element_of, loaded_result
from trl_lint.analysis.program.syntax import callee_of, last_name
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.data import own_shares
from trl_lint.domain import ranks
from trl_lint.domain.kinds import BatchRole, BatchValue, LibraryInstance, is_none, library_name_of
from trl_lint.domain.provenance import FullBatches, RowPerSample
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge import heuristics
from trl_lint.knowledge.datasets import DROPS_INCOMPLETE, INCOMPLETE_TOO, MAKES_BATCHES, WEB_LOADER
from trl_lint.knowledge.models import GENERATES
from trl_lint.knowledge.random_draws import TRAINER
from trl_lint.knowledge.simulators import PLAYS, RESETS, SEED, SEEDS, SIMULATOR


def result(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value | None:
    """The result of a call of something unknown; None if no name tells anything about it."""
    loader = built_loaders.built(frame, args, node)
    if loader is not None:
        return loader
    if any(map(heuristics.RETURNS_TENSORS.fits, args.keywords)):
        return loaded_result(frame, args)
    if any(map(heuristics.GENERATION_SETTING.fits, args.keywords)) and _calls_generate(node):
        return generated(frame, args)
    known = _full_batches(frame, args, node) or _played(frame, args, node)
    if known is not None:
        return known
    picked = own_shares.picked_by(frame, args, last_name(callee_of(node)))
    if picked is not None:
        return picked
    computed = _scaled(args, node) or _computed(frame, args, node)
    rewards = any(map(heuristics.REWARDED.fits, args.keywords)) and _are_rank_local_samples(frame, args)
    if computed is None and not rewards:
        return None
    for observe in frame.observers.unknown_call:
        observe(frame, args, node)
    if computed is not None:
        step = frame.step(node, "`{}` is computed from this rank's own data", computed.provenance)
        return computed.replace(provenance=step)
    step = frame.step(node, "`{}` rewards this rank's own samples")
    if frame.cls is not None and frame.engine.is_subclass(frame.cls, TRAINER):
        step = RowPerSample(step.module, step.node, step.text)
    return BatchValue(ranks.SHARD, BatchRole.FIELD, provenance=step)


def _full_batches(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value | None:
    """A loader or the data of webdataset that has no incomplete batches; None for anything else."""
    name = last_name(callee_of(node))
    incomplete, dropped = args.keywords.get(INCOMPLETE_TOO), args.keywords.get(DROPS_INCOMPLETE)
    of_data = name == MAKES_BATCHES and incomplete is not None and incomplete.const is False
    if of_data or (dropped is not None and dropped.const is True):
        return Value(provenance=FullBatches(frame.module, node, _FULL))
    data = args.get(0, "dataset")
    is_full = name == WEB_LOADER and data is not None and isinstance(data.provenance, FullBatches)
    return data if is_full else None


_FULL = "all its batches have as many rows"


def _played(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value | None:
    """What a simulator gives that gets this rank's own actions or seed; None for other calls, of which others may know.

    What comes of a seed that is made of the rank is drawn, from then on. One of those that the rank has chosen is data,
    as rows are.
    """
    callee = callee_of(node)
    if not isinstance(callee, cst.Attribute) or callee.attr.value not in SEEDS | PLAYS:
        return None
    if not heuristics.SIMULATOR.fits(last_name(callee.value)):
        return None
    found = loaded_result(frame, args)
    if found is None or found.provenance is None:
        _forget_seed(frame, callee, args)
        return found or _of_own_seed(frame, callee)
    if Origin.DATA in found.rank.origins:
        return found
    if own_shares.is_of_own_loop(frame, node):
        return found.replace(rank=ranks.Rank(State.LOCAL, found.rank.origins | Origin.DATA))
    drawn = found.replace(rank=ranks.Rank(State.LOCAL, found.rank.origins | Origin.RNG))
    _note_seed(frame, callee, drawn)
    return drawn


def _note_seed(frame: Frame, callee: cst.Attribute, drawn: Value) -> None:
    """From here on, what the simulator of a name gives is drawn with a seed that is made of the rank."""
    name = callee.value.value if isinstance(callee.value, cst.Name) else ""
    known = frame.memory.names.get(name)
    is_open = known is not None and (known.kind is Kind.UNKNOWN or library_name_of(known) == SIMULATOR)
    if is_open and callee.attr.value in SEEDS and Origin.RANK in drawn.rank.origins:
        frame.memory.names[name] = LibraryInstance(SIMULATOR, provenance=drawn.provenance)


def _forget_seed(frame: Frame, callee: cst.Attribute, args: Arguments) -> None:
    """From here on, what the simulator of a name gives is drawn with another seed, which may be the same on all ranks.

    For example, `env.reset(seed=0)` before an evaluation.
    """
    place = -1 if callee.attr.value == RESETS else 0  # `env.seed(0)`
    seed = args.get(place, SEED) if callee.attr.value in SEEDS else None
    name = callee.value.value if isinstance(callee.value, cst.Name) else ""
    known = frame.memory.names.get(name)
    if seed is not None and not is_none(seed) and known is not None and library_name_of(known) == SIMULATOR:
        frame.memory.names[name] = UNKNOWN


def _of_own_seed(frame: Frame, callee: cst.Attribute) -> Value | None:
    """What a simulator gives that was given such a seed before."""
    simulator = frame.value_of(callee.value)
    if library_name_of(simulator) != SIMULATOR or simulator.provenance is None:
        return None
    return BatchValue(_DRAWN_BY_RANK, provenance=simulator.provenance)


_DRAWN_BY_RANK = ranks.Rank(State.LOCAL, Origin.RANK | Origin.RNG)


def _scaled(args: Arguments, node: cst.CSTNode) -> Value | None:
    """`scaler.scale(loss)`: the loss times a factor."""
    loss = args.positional[0] if len(args.all()) == 1 == len(args.positional) else None
    callee = callee_of(node)
    if loss is None or not isinstance(callee, cst.Attribute) or not heuristics.SCALES_A_LOSS.fits(last_name(callee)):
        return None
    return loss if loss.kind is Kind.TENSOR and loss.grad and loss.rank.differs else None


def _computed(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value | None:
    """What a model computes from this rank's own data, or a loss that does not gather it; None for other callees."""
    name = last_name(callee_of(node))
    is_loss = heuristics.CALLED_LOSS.fits(name) and not heuristics.MAY_REDUCE.fits(name)
    if not (is_loss or _runs_model(node)) or not _gets_own_data(frame, args):
        return None
    names = [*args.keywords, *(last_name(arg.value) for arg in args.nodes.values())]
    if is_loss and any(map(heuristics.CONTRASTED.fits, names)):
        return None
    output = output_of(frame, args)
    return output.replace(rank=ranks.Rank(State.LOCAL, output.rank.origins)) if is_loss else output


def _runs_model(node: cst.CSTNode) -> bool:
    """Whether a callee is named like a model, or as the half of one: `unet(x)`, `first_stage_model.encode(x)`."""
    callee = callee_of(node)
    if isinstance(callee, cst.Attribute) and heuristics.PART_OF_FORWARD.fits(callee.attr.value):
        return heuristics.CALLED_MODEL.fits(last_name(callee.value))
    return heuristics.CALLED_MODEL.fits(last_name(callee))


def _gets_own_data(frame: Frame, args: Arguments) -> bool:
    """Whether tensors that are computed from this rank's own data are passed, also in a list, or such data itself."""
    passed = (element_of(frame, value) if value.kind in _HOLDERS else value for value in args.all())
    return any(
        value.kind in (Kind.TENSOR, Kind.BATCH) and value.rank.differs and Origin.DATA in value.rank.origins
        for value in passed
    ) or any(own_shares.is_share(frame, value) for value in args.all())


_HOLDERS = frozenset({Kind.CONTAINER, Kind.TUPLE})


def _calls_generate(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in GENERATES


def _are_rank_local_samples(frame: Frame, args: Arguments) -> bool:
    """Whether the rewarded samples are rank-local: none of them gathered before."""
    samples = [value for name, value in args.keywords.items() if name == "prompts" or heuristics.REWARDED.fits(name)]
    facts = [element_of(frame, value).rank for value in samples]
    is_gathered = any(fact.state is State.SAME for fact in facts)
    return len(facts) > 1 and not is_gathered and any(Origin.DATA in fact.origins for fact in facts)
