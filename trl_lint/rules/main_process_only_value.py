"""A value that only the main process has is used by all ranks.

## What it does
Reports names and attributes that some ranks do not have, where these ranks use them as well:

- a name that is only bound under a condition on the rank (`if rank == 0: writer = SummaryWriter()`), read where all
  ranks get to; that may be a module, a function or a class as well;
- what is None on some ranks (`run = wandb.init() if is_main_process else None`, `run = None` before an `if`, or a
  function that returns None there, or that a decorator such as `@rank_zero_only` runs on some ranks only), used as an
  object: an attribute, a call, an item, a loop over it, unpacking, a test for an element (`name in seen`), what a list
  is extended with or a network loads (`rows.extend(chosen)`, `net.load_state_dict(state)`), or a path (`open(log)`,
  `os.path.join(folder, "last.pt")`);
- an element of a list or a dict that is None on some ranks (`[Log(), Saver() if rank == 0 else None]`), used in a loop
  over all elements, or by its number or key in the function that has the list or dict (`box[0]`, not yet broadcast);
- what `Trainer.hyperparameter_search` returns, which is None on all ranks but the first (with Optuna);
- a checkpoint that is None on some ranks, from which a Trainer goes on (`train(resume_from_checkpoint=last)`);
- an item of a list that has only None in it on some ranks (`scores = [None] * count` in the other branch), which they
  go on with;
- the same of attributes (`self.writer`), in any method that all ranks call. An attribute that other methods, base
  classes or other code in the file assign is not reported, unless that is one method whose only call is under the
  condition (`if rank == 0: self.start_log()`);
- the same of attributes that a method binds which a decorator runs on some ranks only: `@rank_zero_only`, or one of the
  project (`if rank == 0: return method(*args)`);
- an attribute that `prepare_data` of a Lightning data module binds, which one process of each node runs, read in
  `setup` or another method that all run.

The condition may be on any rank, not only the main one. A use in the other branch of the condition, or of one on the
same (`if rank != 0:`), is reported as well if it is in the same function. One finding stands at the first use; further
uses of the same binding are listed with it.

## Why is this bad?
On one process everything works. With several, all ranks but the one that has the value raise an exception, usually at
the first step: `UnboundLocalError`, `NameError`, or `AttributeError: 'NoneType' object has no attribute …`. The job
ends, or the main process waits for the others in its next collective. Items that are None need not fail: a reward that
only the main process has computed may count as zero on all other ranks.

## Example
```python
if accelerator.is_main_process:
    writer = SummaryWriter(args.output_dir)

for step, batch in enumerate(loader):
    loss = train_step(batch)
    writer.add_scalar("loss", loss, step)
```

## Use instead
```python
for step, batch in enumerate(loader):
    loss = train_step(batch)
    if accelerator.is_main_process:
        writer.add_scalar("loss", loss, step)
```

If all ranks need the value, send it to them: `value = broadcast_object_list([value])[0]`.

## Fix safety
A *hint*: the code does not show whether the other ranks need the value.

## Limits
Not reported: uses under another condition on the rank, or on something that may follow from the rank; after a check of
the value itself (`if writer is not None`, `if writer`, `hasattr`, `assert writer`); once None has been taken out of a
list or a dict (`[each for each in hooks if each]`, `hooks.remove(None)`); where the other ranks have left before; in a
`try` that catches the exception; in an `except` clause that raises again, or catches other errors than those of a batch
that is too large (`RuntimeError`, `Exception`); a value that all ranks bind again in between, for example with a
broadcast; and functions of which nothing shows that all ranks call them. Conditions on settings, on a rank's own data,
on a file that is there, and how far the training is do not count as checks; one on a file that is missing does, as the
first rank may make it.

What a search for hyper-parameters returns is in the default set only in a project that shows a launch of several
processes.

A flag that is set to True under a test of the rank, and to False elsewhere, is that test. A condition that combines the
rank with something else by `or` may let all ranks in, so it is not followed. A value that a helper from outside the
project may return as None is not known.

## References
- https://github.com/coqui-ai/Trainer/commit/02164513efec3977270283d5205b2f1cb82504ee
- https://github.com/meta-llama/llama-recipes/commit/fc5485d91683cd9554acf140347423fb18a95b85
- https://github.com/meituan/YOLOv6/commit/0311108efb4c1274affd9e04fb81608a114987cc
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import ValueLacked
from trl_lint.domain.absence import Absence, Instead
from trl_lint.domain.provenance import Step, steps
from trl_lint.findings import Consequence
from trl_lint.knowledge.lightning import PREPARES
from trl_lint.knowledge.transformers import GIVEN_TO_FIRST
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording.shown_code import shown_source, source_of


class MainProcessOnlyValue(Rule[ValueLacked]):
    code = "TRL017"
    name = "main-process-only-value"
    consequences = (Consequence.CRASH, Consequence.WRONG_TRAINING, Consequence.DEADLOCK)

    def check(self, event: ValueLacked) -> Iterator[Violation]:
        if event.module.one_process:
            return
        name = shown_source(event.module, event.node)
        provenance: Step = event.absence.bound
        for each in steps(event.called):
            provenance = each.preceded_by(provenance)
        yield Violation(
            event=event,
            message=_message(event, name),
            provenance=provenance,
            help=_help(event, name),
            consequence=_consequence(event),
            by_hand="the code does not show whether the other ranks need it",
            by_default=False if _is_mostly_of_one_process(event) else None,
            cause=(id(event.absence.bound.node), event.absence.bound.module.path),
        )


def _is_mostly_of_one_process(event: ValueLacked) -> bool:
    """Whether it is a search for hyper-parameters in a project that shows no launch of several processes."""
    return event.absence.test in GIVEN_TO_FIRST and not event.module.engines().several_shown


def _consequence(event: ValueLacked) -> Consequence | None:
    if event.resumes:
        return Consequence.DEADLOCK
    return Consequence.WRONG_TRAINING if event.absence.instead is Instead.NONES else None


def _message(event: ValueLacked, name: str) -> str:
    absence = event.absence
    if absence.test == PREPARES:
        binds = "sets" if absence.is_none else "defines"
        return (
            f"only the first process of each node runs `{PREPARES}`, which {binds} `{name}`, and all use it: "
            "with several processes, the others fail here"
        )
    where = _ranks(absence)
    if absence.instead is Instead.NONES:
        return (
            f"`{name}` has only None in it on {where}, and all ranks use it: with several processes, those without "
            "values go on with None"
        )
    if event.resumes:
        return (
            f"`{name}` is None on {where}, and all ranks train from it: with several processes, those without it begin "
            "with the first step, and in their last steps wait for the others, which have fewer left"
        )
    is_for_others = event.control.is_chosen_by_rank
    if absence.is_none:
        users, failing = ("these", "they") if is_for_others else ("all ranks", "those without it")
        return f"`{name}` is None on {where}, and {users} use it: with several processes, {failing} fail here"
    users, failing = ("the others", "they") if is_for_others else ("all ranks", "the others")
    return f"only {where} define `{name}`, and {users} read it: with several processes, {failing} fail here"


def _ranks(absence: Absence) -> str:
    """The ranks that the message begins with: those that have None, or those that have a value."""
    if absence.test in GIVEN_TO_FIRST:
        return "all ranks but the first"
    if absence.is_by_decorator:
        return f"ranks that `@{source_of(absence.condition)}` {'does not let' if absence.is_none else 'lets'} in"
    holds = absence.holds is not (absence.is_none or absence.instead is Instead.NONES)
    return f"ranks where `{source_of(absence.condition)}` is {'true' if holds else 'false'}"


def _help(event: ValueLacked, name: str) -> str:
    absence = event.absence
    if absence.test == PREPARES:
        return "define it in `setup`, which all processes run"
    if event.resumes:
        return "look for the checkpoint on all ranks, or send what one has found: `broadcast_object_list`"
    if absence.instead is Instead.NONES:
        return f"send it to all ranks before they use it: `{name} = broadcast_object_list({name})`"
    if absence.is_none:
        return f"use it only where it is there (`if {name} is not None:`), or give every rank one"
    guard = f" (`if {source_of(absence.condition)}:`)" if event.is_here and absence.holds else ""
    return f"use it under the same condition{guard}, or define it on every rank (broadcast what the others need)"
