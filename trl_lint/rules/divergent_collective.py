"""A collective that some ranks may not reach.

## What it does
Reports a call at which all ranks meet and to which some of them may not come: it stands under a condition that
differs between ranks, they have left before it (`return`, `break`, `continue`, an `except` that goes on), or it is
in a loop that the ranks go round a different number of times. Such calls are collectives (`gather`, `reduce`,
`broadcast`, `barrier`, `wait_for_everyone`, …), what contains one (`Trainer.evaluate`, `main_process_first`, helpers
in sight), wrapping a model (`prepare`, `DistributedDataParallel`), its forward and backward passes. An `except` that
goes on where forward and backward of a step may run out of memory, or where a `forward` in sight raises an exception of
the project's own over its input, lets a rank skip the backward pass that the others wait in. What is a collective under
FSDP and DeepSpeed only, such as `save_state`, is TRL016's.
The finding stands at the condition where ranks leave, else at the call; its chain names the other of the two.

Also a data set that is prepared under a condition on the rank, and then handed to a trainer on every rank: they go
through different data, and one of them may have more batches than the others.

## Why is this bad?
A collective returns when every rank has called it. If one does not come, the others wait for it, by default for half
an hour, or take its next collective for this one. On one GPU nothing of this shows.

## Example
```python
if entropies.numel() == 0:  # this rank's own
    return torch.zeros_like(mask)
threshold = torch.quantile(accelerator.gather(entropies), 0.8)
```

## Use instead
```python
gathered = accelerator.gather(entropies)
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
ranks are the same everywhere; what is not known to differ is not reported, nor is a condition that asks
for the rank and for something unknown. The two ways through a branch are compared: ways that
meet in the same sequence are right. A collective over a process group of its own under a condition on the rank is
taken for one among the ranks of that group. An arm that raises ends the job and is no way out.

## References
- https://github.com/huggingface/trl/pull/4041, https://github.com/huggingface/trl/pull/6403,
  https://github.com/huggingface/trl/pull/254 and https://github.com/huggingface/trl/pull/1255
- https://huggingface.co/docs/accelerate/concept_guides/deferring_execution
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import DatasetParted, Divergence
from trl_lint.domain.provenance import Step
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording import said

_AGREE = "let the ranks agree on the condition first ({})"
_HELP = f"call it on every rank and use its result under the condition, or {_AGREE}"
# How to mend it where there is no result to use.
_HELPS = {
    "leaves": f"call it before ranks leave, or {_AGREE}, so that all of them leave or none",
    "caught": (
        "let all ranks skip the step together: run the forward in the `try`, let the ranks agree on a flag behind it "
        "({}), and call `backward` where it worked on all of them"
    ),
    "forward": f"run it on every rank, or {_AGREE}",
    "nothing": f"call it on every rank, outside the condition, or {_AGREE}",
}
# What gives nothing back.
_WITHOUT_RESULT = frozenset({"barrier", "wait_for_everyone", "save_checkpoint"})
_OUTCOME = "with several processes the others wait in it until the time-out"
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
        provenance=_chain(event),
        help=_help(event).format(said("agree", event)),
    )


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
    if event.one_by_one:
        return f"{call} is called by one rank after the other, but waits for all of them: a deadlock"
    if event.caught:
        return f"ranks on which this is raised skip {call}: {_OUTCOME}"
    if event.after:
        return f"ranks that leave here do not reach {call}: {_OUTCOME}"
    return f"{call} may not be reached by all ranks: {_OUTCOME}"


def _help(event: Divergence) -> str:
    if event.caught:
        return _HELPS["caught"]
    if event.after:
        return _HELPS["leaves"]
    if event.sync_point.kind == "forward":
        return _HELPS["forward"]
    return _HELPS["nothing"] if event.sync_point.name in _WITHOUT_RESULT else _HELP


def _chain(event: Divergence) -> Step | None:
    """What parts the ranks, then where they would meet."""
    chain: Step | None = event.condition
    if event.after:
        chain = Step(event.module, event.sync_point.node, "the other ranks call it here", chain)
    via = event.sync_point.via
    while via is not None:
        chain = Step(via.module, via.node, via.text, chain)
        via = via.before
    return chain
