"""Some ranks may miss a collective that the others wait in.

## What it does
Reports a call at which all ranks synchronise and that some of them may not reach, because

- it is under a condition that differs between ranks;
- some ranks leave before it (`return`, `break`, `continue`, an `except` that goes on);
- it is in a loop whose length differs between ranks, or may: `for row in rows[rank::world_size]:`.

Such calls are collectives (`gather`, `reduce`, `broadcast`, `barrier`, `wait_for_everyone`, …), functions that contain
one (`Trainer.evaluate`, `main_process_first`, your own helpers), wrapping a model (`prepare`,
`DistributedDataParallel`, `FSDP` with `sync_module_states=True`), and its forward and backward passes, including those
in `super().compute_loss(model, …)`. An `except` that goes on after an out-of-memory error in a step, or after an
exception that a `forward` of the project raises over its input, skips the backward pass that the other ranks wait in,
or the rest of it: DDP reduces gradients while it runs. So does a `training_step` of Lightning that returns None on some
ranks; recent releases of Lightning raise there. Calls that are collectives only under FSDP and DeepSpeed, such as
`save_state`, are TRL016's.

The finding is at the `return`, `continue` or `break` by which ranks leave, otherwise at the call. Its chain names the
condition and the missed call. A `# noqa` at the condition silences the former too.

Also reported are flags that only some ranks set, and that a Trainer reads on each rank by itself: those of its
`control` (`should_training_stop`, `should_epoch_stop`, `should_evaluate`, `should_save`, `should_log`), and Lightning's
`trainer.should_stop`. One callback that stops after a time by each rank's own clock leaves the others waiting.

It also reports a data set that only some ranks prepare before every rank passes it to a trainer: the ranks go through
different data, and one may have more batches than the others.

## Why is this bad?
A collective returns when every rank has called it. If one does not, the others wait, by default for half an hour, or
pair up with its next collective. On one GPU none of this shows.

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
If all ranks reach a condition on the rank, the call is moved out of it, so that all ranks make it. This is *unsafe*.
Other parts of the condition that are the same on all ranks stay: `if due and is_main_process:` becomes `if due:`, with
`if is_main_process:` inside for the rest. On one process the same happens in the same order; where that is not certain,
there is only a hint. A call whose result is used becomes a name before the condition, if its arguments exist on all
ranks by then. A call without a result (`barrier`, `evaluate`) moves before the condition if it comes first in it, and
after it if it comes last. Helpers that change an object, training, calls that fill their argument in place, and calls
whose argument is set anew under the condition afterwards (`losses = []`), are left to you.

Under a condition on data, and after leaving because of data, there is only a *hint*. Let the ranks agree on the
condition first (gather, reduce or broadcast it).

## Limits
Not in the default set, because they depend on the data, chance, the disk or the model (`--extend-select TRL006`):

- loops over each rank's own data, or over the rows that are dealt to it and their batches, of which some ranks may have
  one more, and conditions on data, except on their numbers (`if mask.any():`, `if loss > 9:`);
- conditions on batch sizes or texts, on data that are not a number, and on data from another file, except on a loss, or
  on what the wrapped model returns;
- branches on both sides of which the call is, perhaps not equally often;
- comparisons of the rank with another number (`if rank >= size:`), which may be true on no rank;
- files that some ranks may find, and random numbers (one seed draws the same on all ranks), unless the seed is made of
  the rank, or this rank's own data are computed with them, as in a loss of noisy images;
- what fails on some ranks only;
- forwards without gradients, which only synchronise a model's buffers: under DDP the next forward with gradients makes
  up for it, unless another collective comes first or none follows;
- forwards in a project whose launches all use DeepSpeed below stage 3, which only meets in `backward`, if the ranks
  miss nothing else;
- backward passes that a rank skips after its forward, in a loop that ends after a number of finished steps: its next
  pass makes up for it, unless the model has buffers.

Conditions on settings, `global_step` and `sync_gradients`, gathered or broadcast values, and the number of ranks are
the same everywhere. So is whether a list that all ranks fill in the same places is empty (`if len(rows):`). Conditions
that are not known to differ are not reported, nor are those that combine the rank with something unknown and leave no
rank out for certain. Branches that call the same collectives in the same order are correct; one that raises, or ends
its process with an error status, ends the job; `sys.exit()` leaves the others waiting. A branch that starts an endless
loop over (`continue` in `while True`) misses nothing if no collective comes before it, nor does one that skips a batch
where a number of finished steps ends the loop, if nothing else synchronises, nor a `break` in the last turn.

A collective over its own process group, or a model wrapped for one, under a condition on the rank is assumed to be
within that group, unless it was made of all ranks, or is one of a device mesh that one rank of the job reaches alone. A
group made with `use_local_synchronization=True` is made by its members alone. One that is made by all its members, but
not by all other ranks (`if rank in ranks: break` after it), is not in the default set: since torch 2.1 nobody waits for
these ranks, unless further groups follow. Code that fills an attribute where it is `None` may have run before, on all
ranks. Under `no_sync()` a backward pass reduces nothing, nor does that of a network which the function makes itself
(`probe = nn.Linear(8, 2)`, `clone = copy.deepcopy(net)`). A forward of a model that DDP wraps with
`broadcast_buffers=False` sends nothing; where the code names `SyncBatchNorm`, only after `model.eval()` in the same
function. Under `join()` ranks may run different numbers of steps. Not known: flags that a signal handler sets, though
the ranks get a signal at different steps; agree on them first (`all_reduce` with `MAX`).

## References
- https://github.com/huggingface/trl/pull/4041, https://github.com/huggingface/trl/pull/6403,
  https://github.com/huggingface/trl/pull/254 and https://github.com/huggingface/trl/pull/1255
- https://huggingface.co/docs/accelerate/concept_guides/deferring_execution
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.analysis.events import DatasetDivergence, Divergence
from trl_lint.analysis.trainer_events import ControlFlagSet
from trl_lint.domain.divisions import DividedBy
from trl_lint.domain.engines import LEAVE_WHOLE
from trl_lint.domain.provenance import Step, source_step, steps
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import Kind
from trl_lint.findings import Consequence
from trl_lint.knowledge.heuristics import NOT_A_NUMBER, TRAINED_NUMBER
from trl_lint.knowledge.lightning import AUTOMATIC_BACKWARD
from trl_lint.knowledge.schema import BACKWARD
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording import said
from trl_lint.wording.divergence import chain, here, missed, waiting
from trl_lint.wording.shown_code import source_of

if TYPE_CHECKING:
    from libcst import CSTNode

# The help, by what divides the ranks. {} says how they agree on a value.
_AGREE = "let the ranks agree on the condition first ({})"
_AGREE_BEFORE = "let the ranks agree on `<left>` first ({}), by which some of them have left before"
_STAY = "let no rank leave before it by `<left>`, which makes the condition differ"
_SKIP_TOGETHER = (
    "let all ranks skip the step together: after the `try`, let them agree on a flag that says whether it worked ({})"
)
_HELPS = {
    "leaves": f"call it before ranks leave, or {_AGREE}, so that all ranks leave or none",
    "forward": f"{_AGREE}, so that all ranks run the forward or none",
    "backward": f"{_AGREE}, so that all ranks skip the step or none",
    "failed": f"{_SKIP_TOGETHER}, and leave if it failed on any rank",
    "caught": f"{_SKIP_TOGETHER}, and call `backward` there, if it worked on all ranks",
    AUTOMATIC_BACKWARD: (
        "return a loss on every rank: where there is nothing to train on, `0 * sum(p.sum() for p in self.parameters())`"
    ),
    DividedBy.LOOP: "let the ranks agree on the number of iterations first ({}), or call it after the loop",
    DividedBy.SHARE: "cut, or fill up, what the ranks share to a multiple of their number, or call it after the loop",
    DividedBy.EXCEPTION: "call it after the `try`, on every rank",
    DividedBy.DECORATOR: "call it on every rank, outside this function",
    DividedBy.SEQUENTIAL: "call it after the `with` block",
}
_OF_ROOT = ": the reduction that the condition is computed from gives its result to one rank only"
# Collectives without a result.
_WITHOUT_RESULT = frozenset({"backward", "barrier", "wait_for_everyone", "save_checkpoint"})
_UNTIL = "until the time-out"
# The keyword by which a process group gets a device of its own.
_BINDS_DEVICE = rb"\bdevice_id\s*="
# What makes, or converts, modules with buffers.
_HAS_BUFFERS = rb"BatchNorm|\bregister_buffer\b"
_NAMES = {
    "forward": "the forward pass of a wrapped model",
    AUTOMATIC_BACKWARD: "the backward pass that Lightning starts",
}


class DivergentCollective(Rule[Divergence | DatasetDivergence | ControlFlagSet]):
    code = "TRL006"
    name = "divergent-collective"
    consequences = (Consequence.DEADLOCK, Consequence.WRONG_TRAINING)

    def check(self, event: Divergence | DatasetDivergence | ControlFlagSet) -> Iterator[Violation]:
        if isinstance(event, DatasetDivergence):
            yield _of_dataset(event)
        elif isinstance(event, ControlFlagSet):
            yield _of_flag(event)
        elif not event.sync_point.engines:
            yield _of_sync_point(event)


def _of_sync_point(event: Divergence) -> Violation:
    return Violation(
        event=event,
        message=_message(event),
        provenance=chain(event),
        help=_help(event).format(said("agree", event)) + _OF_ROOT * (Origin.ROOT in event.origins),
        branch=event.condition.node if event.exit else None,
        guard=event.condition,
        here=here(event),
        by_default=None if _is_sure(event) else False,
    )


def _is_sure(event: Divergence) -> bool:
    """Whether the others wait whatever the data are; any other finding is not in the default set."""
    if event.sync_point.kind == "forward" and not event.sync_point.grad:
        return False  # it only broadcasts buffers, if there are any, and the next forward may match it
    if _sends_nothing(event):
        return False
    if event.by_buffers and not event.module.mentions(_HAS_BUFFERS):
        return False
    if event.by is DividedBy.SHARE or _is_called_by_the_others(event) or _is_made_by_members(event):
        return False  # of rows, there may be a multiple of the number of ranks
    if event.origins == Origin.RANK:
        return not _compares_numbers_of_processes(event) or _is_set_on_some_ranks(event)
    # An additional draw does not make data the same on all ranks, nor does one that only the main process asks for.
    # One with a seed that is made of the rank differs for certain.
    by_chance = bool(event.origins & (Origin.IO | Origin.RNG)) and Origin.DATA not in event.origins
    by_chance = by_chance and event.origins != Origin.RANK | Origin.RNG
    by_chance = by_chance and not _has_part_on_rank(event, event.condition.node)
    if _asks_for_broken_data(event, by_chance) or _asks_for_no_number(event):
        return False
    if event.by is DividedBy.EXCEPTION:
        return event.caught
    if _depends_on_data_of_another_file(event):
        return False
    return not event.by.is_loop and not by_chance


def _sends_nothing(event: Divergence) -> bool:
    """Whether ranks only miss forwards, and all launches leave the parameters whole: DeepSpeed reduces in `backward`.

    Source: deepspeed/runtime/engine.py `DeepSpeedEngine.forward`, which only prepares something for stage 3
    """
    kinds = {each.kind for each in (event.sync_point, *event.missing)}
    in_use = event.module.engines()
    return kinds == {"forward"} and bool(in_use.shown) and in_use.are_only(LEAVE_WHOLE)


def _has_part_on_rank(event: Divergence, test: CSTNode) -> bool:
    """Whether a condition needs a test of the rank alone: `is_main_process and step % every == 0`."""
    from libcst import And, BooleanOperation

    match test:
        case BooleanOperation(left=left, operator=And(), right=right):
            return _has_part_on_rank(event, left) or _has_part_on_rank(event, right)
    known = event.node_values.get(id(test))
    return known is not None and known.rank.origins == Origin.RANK


def _depends_on_data_of_another_file(event: Divergence) -> bool:
    """Whether ranks diverge by data that come from another file, where a loader or a sampler may make them agree.

    Of five such places in two code bases, all were false; of others on data, half. No loader makes losses agree.
    """
    if event.by is not DividedBy.CONDITION or Origin.RANK in event.origins or Origin.DATA not in event.origins:
        return False
    if _is_on_trained_numbers(event):
        return False
    source = source_step(event.condition)
    return source is not None and source.module is not event.module


def _is_called_by_the_others(event: Divergence) -> bool:
    """Whether the ranks that seem to miss the call have one by the same name in their branch, perhaps as often."""
    if event.by is not DividedBy.CONDITION or event.function is None:
        return False
    from libcst import Call, Else, Raise

    from trl_lint.analysis.program.blocks import last_statement
    from trl_lint.analysis.program.idioms.path_conditions import arms_before, branch_of
    from trl_lint.analysis.program.syntax import last_name, of_class

    root = event.function.node
    branch = branch_of(root, event.condition.node)
    if branch is None:
        return False

    def is_called_in(part: CSTNode | None) -> bool:
        return part is not None and any(last_name(each.func) == event.sync_point.name for each in of_class(part, Call))

    if event.holds is event.after:  # of those who leave, the branch with the exit
        return is_called_in(branch.body)
    # Of those who do not make the call, the other one, and those of the tests before it.
    before = arms_before(root, branch)
    if before and isinstance(branch.orelse, Else) and isinstance(last_statement(branch.orelse.body), Raise):
        return all(is_called_in(each) for each in before)
    return is_called_in(branch.orelse)


def _is_made_by_members(event: Divergence) -> bool:
    """Whether it is a process group that all its members make: others have to make it, but nobody waits for them.

    With a device of its own the default group is split, in which all ranks take part.
    """
    from trl_lint.analysis.program.idioms.groups_of_members import has_all_members

    if event.by is not DividedBy.CONDITION or event.module.mentions(_BINDS_DEVICE):
        return False
    root = event.module.tree if event.function is None else event.function.node
    exit_ = event.node if event.after else None
    return has_all_members(root, event.sync_point.node, event.condition.node, exit_)


def _compares_numbers_of_processes(event: Divergence) -> bool:
    """Whether a test is like `rank >= size`, which may be true on no rank, and not like `rank > 0`."""
    from libcst import Comparison, ComparisonTarget, GreaterThan, GreaterThanEqual, Integer, LessThan, LessThanEqual

    match event.condition.node:
        case Comparison(left=left, comparisons=[ComparisonTarget(operator=operator, comparator=right)]):
            is_order = isinstance(operator, (GreaterThan, GreaterThanEqual, LessThan, LessThanEqual))
            return is_order and not isinstance(left, Integer) and not isinstance(right, Integer)
    return False


def _is_set_on_some_ranks(event: Divergence) -> bool:
    """Whether a test is on what only some ranks have changed: `if rank == 0: bad += 1`, then `if bad >= patience:`."""
    from libcst import If

    from trl_lint.analysis.program.syntax import ancestors

    for step in steps(event.condition):
        around = ancestors(step.module.tree, step.node) if step.node is not event.condition.node else ()
        if around and isinstance(around[-1], If) and around[-1].test is step.node:
            return True
    return False


def _asks_for_broken_data(event: Divergence, by_chance: bool) -> bool:
    """Whether a test like `if torch.isnan(pixels).any(): continue` is on numbers that are not trained, or random."""
    from trl_lint.analysis.program.syntax import identifiers

    if not any(map(NOT_A_NUMBER.fits, identifiers(event.condition.node))):
        return False
    return by_chance or not _is_on_trained_numbers(event)


def _is_on_trained_numbers(event: Divergence) -> bool:
    """Whether a test, or one behind it, is on what becomes NaN with the training: losses, and the model's outputs."""
    from trl_lint.analysis.program.syntax import identifiers

    tests = (event.condition, *steps(event.condition.before)[1:])
    return event.on_outputs or any(TRAINED_NUMBER.fits(name) for each in tests for name in identifiers(each.node))


def _asks_for_no_number(event: Divergence) -> bool:
    """Whether a test on data is not known to be one on their numbers.

    Loaders mostly make `rows >= args.rows` and `batch["task"] in TASKS` uniform. Of a value that somebody computes out
    of sight it is not known.
    """
    from trl_lint.analysis.program.idioms.batch_conditions import (
        CodePlace,
        compared_with_text,
        tests_numbers,
        tests_only_sizes,
    )

    if event.origins != Origin.DATA or event.by is not DividedBy.CONDITION or event.function is None:
        return False
    seen, test, root = event.node_values, event.condition.node, event.function.node

    def differs(part: CSTNode) -> bool:
        return id(part) not in seen or seen[id(part)].rank.differs

    texts = compared_with_text(test)
    if texts and all(id(each) in seen and seen[id(each)].kind is Kind.BATCH for each in texts):
        return True
    return tests_only_sizes(root, test, differs) or not tests_numbers(
        CodePlace(event.module.tree, root), test, differs, event.asks_for_numbers
    )


def _of_dataset(event: DatasetDivergence) -> Violation:
    return Violation(
        event=event,
        message=(
            f"only some ranks prepare `{event.name}` here: the others use the raw one, and if the numbers of batches "
            "differ, some ranks wait until the time-out"
        ),
        provenance=Step(event.use.module, event.use.node, event.use.text, event.condition),
        help=f"prepare it on every rank, the main process first: {said('first', event)}",
        metric=event.name,
        consequence=Consequence.WRONG_TRAINING,
        by_hand="the code does not show what every rank must do, and in which order",
    )


def _of_flag(event: ControlFlagSet) -> Violation:
    condition = source_of(event.condition)
    ranks = f"ranks where `{condition}` is {'false' if event.holds is False else 'true'}"
    waits = "the others wait for them" if event.leaves else "they wait for the others"
    by_data = not event.origins & ~(Origin.DATA | Origin.IO | Origin.RNG)
    is_trained = Origin.DATA in event.origins and (event.on_own_loss or TRAINED_NUMBER.fits(condition))
    return Violation(
        event=event,
        message=f"only {ranks} set `{event.flag}` and {event.does}: with several processes {waits} {_UNTIL}",
        provenance=event.condition,
        help=f"{_AGREE}, so that all ranks set the flag or none".format(said("agree", event)),
        metric=event.flag,
        by_default=False if by_data and not is_trained else None,
        by_hand="the code does not show how the ranks are to agree",
    )


def _message(event: Divergence) -> str:
    name = event.sync_point.name
    call = _NAMES.get(name, f"`{name}`")
    if event.by is DividedBy.SEQUENTIAL:
        return f"{call} waits for all ranks, but they call it one after the other: a deadlock with several processes"
    if event.caught:
        return f"ranks where the `try` fails skip {call}: with several processes the others wait for them {_UNTIL}"
    if _is_made_by_members(event):
        return f"{missed(event, call)}: groups that all ranks make later have other names on them, and wait {_UNTIL}"
    return f"{missed(event, call)}: with several processes {waiting(event)} {_UNTIL}"


def _help(event: Divergence) -> str:
    if event.sync_point.name == AUTOMATIC_BACKWARD:
        return _HELPS[AUTOMATIC_BACKWARD]
    if event.caught:
        return _HELPS["caught"]
    kind = event.sync_point.kind
    if kind == BACKWARD.kind and event.by is DividedBy.CONDITION and event.origins != Origin.RANK:
        return _HELPS["backward"]
    if event.after and event.by is not DividedBy.EXCEPTION:
        return _HELPS["forward" if kind == "forward" else "leaves"]
    if event.after:
        return _HELPS["failed"]
    return _HELPS.get(event.by) or _under_condition(event)


def _under_condition(event: Divergence) -> str:
    """The help for a call under a condition: for the main process there is nothing to agree on."""
    if event.sync_point.kind == "forward":
        first = "run it on every rank"
        if not event.sync_point.grad:
            first += ", or run the bare model on one"
    elif event.sync_point.name in _WITHOUT_RESULT:
        first = "call it on every rank, outside the condition"
    else:
        first = "call it on every rank, and use its result inside the condition"
    left = _exit_behind(event)
    if left is not None:
        shown = source_of(left).replace("{", "{{").replace("}", "}}")
        return (_STAY if event.origins == Origin.RANK else _AGREE_BEFORE).replace("<left>", shown)
    return first if event.origins == Origin.RANK else f"{first}, or {_AGREE}"


def _exit_behind(event: Divergence) -> Step | None:
    """The test of an earlier exit that makes the condition differ: its ranks have counted fewer steps, for example."""
    from libcst import Break, Continue, If, Return

    from trl_lint.analysis.program.blocks import last_statement
    from trl_lint.analysis.program.syntax import ancestors

    for step in steps(event.condition)[:-1]:
        match ancestors(step.module.tree, step.node):
            case (*_, If(test=test, body=body)) if test is step.node:
                if isinstance(last_statement(body), (Break, Continue, Return)):
                    return step
    return None
