"""A collective that some ranks may not reach.

## What it does
Reports a call at which all ranks synchronise and which some of them may not reach: it stands under a condition that
differs between ranks, they have left before it (`return`, `break`, `continue`, an `except` that goes on), or it is
in a loop that the ranks go round a different number of times. Such calls are collectives (`gather`, `reduce`,
`broadcast`, `barrier`, `wait_for_everyone`, …), what contains one (`Trainer.evaluate`, `main_process_first`, helpers
in sight), wrapping a model (`prepare`, `DistributedDataParallel`), its forward and backward passes, those in
`super().compute_loss(model, …)` as well. An `except` that goes on where forward and backward of a step may run out of
memory, or where a `forward` in sight raises an exception of the project's own over its input, lets a rank skip the
backward pass that the others wait in. What is a collective under FSDP and DeepSpeed only, such as `save_state`, is
TRL016's.
The finding stands at the `return`, `continue` or `break` by which ranks leave, else at the call; its chain names the
condition, and the call that is missed. Where ranks leave, a `# noqa` at the condition silences it as well.

Also a data set that is prepared under a condition on the rank, and then handed to a trainer on every rank: they go
through different data, and one of them may have more batches than the others.

## Why is this bad?
A collective returns when every rank has called it. If one does not, the others wait for it, by default for half
an hour, or take its next collective for this one. On one GPU nothing of this shows.

## Example
```python
if entropies.numel() == 0:  # this rank's own
    return torch.zeros_like(mask)
threshold = torch.quantile(accelerator.gather(entropies), 0.8)
```

## Use instead
```python
gathered = accelerator.gather(accelerator.pad_across_processes(entropies, pad_index=float("nan")))
gathered = gathered[~gathered.isnan()]
if gathered.numel() == 0:  # the same on all ranks
    return torch.zeros_like(mask)
threshold = torch.quantile(gathered, 0.8)
```

## Fix safety
Where all ranks come to a condition on the rank, the call is taken out of it, which is unsafe: all ranks make it. What
the condition asks besides the rank, the same on all ranks, goes on to be asked: `if due and is_main_process:` becomes
`if due:`, with `if is_main_process:` in it for what is left. On one process the same is done in the same order; where
that does not follow from the condition (it is kept in a name with other things, or is false on one process), there is
only a hint. A call whose result is used becomes a name before the condition, if what it is given is there on all ranks
by then and only computed from what is; one whose result nobody uses
(`barrier`, `evaluate`) moves before the condition if it comes first under it, and behind it if it comes
last. A helper that changes an object, training, and calls that fill their argument in place are left to the author.

Under a condition on data, and after an exit on data, there is only a hint: whether what stands before the call is fit
for all ranks is for its author to say. Let the ranks agree on the condition first (gather, reduce or broadcast it).

## Limits
Conditions on settings, on `global_step` and `sync_gradients`, on gathered or broadcast values, and on the number of
ranks are the same everywhere; whether anything is in a list that all ranks fill in the same places is not known to
differ (`if len(rows):`); what is not known to differ is not reported, nor is a condition that asks for the rank and
for something unknown. The two ways through a branch are compared: ways with the same sequence of collectives are
right. A collective over a process group of its own under a condition on the rank is taken for one among the ranks of
that group. A group that is made with `use_local_synchronization=True` is made by its members alone, and what fills an
attribute where it is None may have been called before, by all ranks. An arm that raises ends the job and is no way
out.

Not in the default set, as they depend on the data, on chance, the disk or the model: loops that go over each rank's own
data, how large batches are and the texts in them, data that are not a number, files that some ranks may find, numbers
that are drawn at random (one seed draws the same on all ranks), what only fails on some of them, and forwards without
gradients, which synchronise the buffers of a model that has some: under DDP the next forward with gradients makes up
for that, unless another collective comes first, or none follows. `--extend-select TRL006` reports them.

## References
- https://github.com/huggingface/trl/pull/4041, https://github.com/huggingface/trl/pull/6403,
  https://github.com/huggingface/trl/pull/254 and https://github.com/huggingface/trl/pull/1255
- https://huggingface.co/docs/accelerate/concept_guides/deferring_execution
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import DatasetParted, Divergence, DividedBy
from trl_lint.domain.provenance import Step
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import Kind
from trl_lint.findings import Consequence
from trl_lint.knowledge.heuristics import NOT_A_NUMBER, TRAINED_NUMBER
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording import said
from trl_lint.wording.divergence import chain, here, missed

# How to mend it, by what divides the ranks. {} says how they agree on a value.
_AGREE = "let the ranks agree on the condition first ({})"
_SKIP_TOGETHER = (
    "let all ranks skip the step together: behind the `try`, let them agree on a flag that says whether it worked ({})"
)
_HELPS = {
    "leaves": f"call it before ranks leave, or {_AGREE}, so that all of them leave or none",
    "forward": f"{_AGREE}, so that all of them run the forward or none",
    "failed": f"{_SKIP_TOGETHER}, and leave where it failed on any of them",
    "caught": f"{_SKIP_TOGETHER}, and call `backward` where it worked on all of them",
    DividedBy.LOOP: "let the ranks agree on the number of rounds first ({}), or call it behind the loop",
    DividedBy.EXCEPTION: "call it behind the `try`, on every rank",
    DividedBy.DECORATOR: "call it on every rank, outside this function",
    DividedBy.TURNS: "call it behind the `with` block",
}
# What gives nothing back.
_WITHOUT_RESULT = frozenset({"backward", "barrier", "wait_for_everyone", "save_checkpoint"})
_UNTIL = "until the time-out"
_NAMES = {"forward": "the forward pass of a wrapped model"}


class DivergentCollective(Rule[Divergence | DatasetParted]):
    code = "TRL006"
    name = "divergent-collective"
    consequences = (Consequence.DEADLOCK, Consequence.WRONG_TRAINING)

    def check(self, event: Divergence | DatasetParted) -> Iterator[Violation]:
        if isinstance(event, DatasetParted):
            yield _of_dataset(event)
        elif not event.sync_point.engines:
            yield _of_sync_point(event)


def _of_sync_point(event: Divergence) -> Violation:
    return Violation(
        event=event,
        message=_message(event),
        provenance=chain(event),
        help=_help(event).format(said("agree", event)),
        branch=event.condition.node if event.way_out else None,
        guard=event.condition,
        here=here(event),
        by_default=None if _is_sure(event) else False,
    )


def _is_sure(event: Divergence) -> bool:
    """Whether the others wait whatever the data are: what is less than that has to be asked for."""
    if event.sync_point.kind == "forward" and not event.sync_point.grad:
        return False  # it only broadcasts the buffers, if the model has some, and the next forward may pair up with it
    if event.origins == Origin.RANK:
        return True
    by_chance = bool(event.origins & (Origin.IO | Origin.RNG))
    if _asks_for_broken_data(event, by_chance) or _asks_for_no_number(event):
        return False
    if event.by is DividedBy.EXCEPTION:
        return event.caught
    # What was drawn besides makes data no more alike.
    return event.by is not DividedBy.LOOP and (not by_chance or Origin.DATA in event.origins)


def _asks_for_broken_data(event: Divergence, by_chance: bool) -> bool:
    """`if torch.isnan(pixels).any(): continue`: of numbers that no training has made, or with chance in them."""
    from trl_lint.analysis.program.syntax import identifiers

    names = set(identifiers(event.condition.node))
    return any(map(NOT_A_NUMBER.fits, names)) and (by_chance or not any(map(TRAINED_NUMBER.fits, names)))


def _asks_for_no_number(event: Divergence) -> bool:
    """`if rows >= args.rows:`, `if batch["task"] in TASKS:`: loaders make most of these alike on all ranks."""
    from trl_lint.analysis.program.idioms.batch_conditions import asks_for_size, texts_asked_for

    if event.origins != Origin.DATA or event.by is not DividedBy.CONDITION or event.owner is None:
        return False
    seen, test = event.seen, event.condition.node
    texts = texts_asked_for(test)
    if texts and all(id(each) in seen and seen[id(each)].kind is Kind.BATCH for each in texts):
        return True
    return asks_for_size(event.owner.node, test, lambda part: id(part) not in seen or seen[id(part)].rank.differs)


def _of_dataset(event: DatasetParted) -> Violation:
    return Violation(
        event=event,
        message=(
            f"only some ranks prepare `{event.name}` here: the others go on with the raw one, and where it has more or "
            "fewer batches some wait until the time-out"
        ),
        provenance=Step(event.handed.module, event.handed.node, event.handed.text, event.condition),
        help=f"prepare it on every rank, the main process first: {said('first', event)}",
        metric=event.name,
        consequence=Consequence.WRONG_TRAINING,
        by_hand="what all ranks have to do, and in which order, is the author's to say",
    )


def _message(event: Divergence) -> str:
    name = event.sync_point.name
    call = _NAMES.get(name, f"`{name}`")
    if event.by is DividedBy.TURNS:
        return f"{call} is called by one rank after the other, but waits for all of them: a deadlock"
    if event.caught:
        return f"ranks on which the `try` fails skip {call}: with several processes the others wait for them {_UNTIL}"
    who = "the others wait for them" if event.after else "some wait for the others"
    return f"{missed(event, call)}: with several processes {who} {_UNTIL}"


def _help(event: Divergence) -> str:
    if event.caught:
        return _HELPS["caught"]
    if event.after and event.by is not DividedBy.EXCEPTION:
        return _HELPS["forward" if event.sync_point.kind == "forward" else "leaves"]
    if event.after:
        return _HELPS["failed"]
    return _HELPS.get(event.by) or _under_condition(event)


def _under_condition(event: Divergence) -> str:
    """How to mend a call under a condition: which of them is the main process is nothing to agree on."""
    if event.sync_point.kind == "forward":
        first = "run it on every rank"
        if not event.sync_point.grad:
            first += ", or have one run the bare model"
    elif event.sync_point.name in _WITHOUT_RESULT:
        first = "call it on every rank, outside the condition"
    else:
        first = "call it on every rank and use its result under the condition"
    return first if event.origins == Origin.RANK else f"{first}, or {_AGREE}"
