"""Every rank writes the same file, table or run.

## What it does
Reports what all processes of a distributed run do to the same thing: `open(path, "w")`, `torch.save`, `save_image`,
`cv2.imwrite`, `DataFrame.to_csv`, `Path.write_text` and the like to a path that is the same everywhere, `os.makedirs`
and `Path.mkdir` without `exist_ok`, and `create_repo` of the hub, removing or renaming a file, `wandb.init`,
`SummaryWriter`, `wandb.log`, `wandb.config.update` and `trackio.log` without a guard, a table on the screen,
`save_pretrained` and `push_to_hub` of a model, a tokenizer, a processor or a config, and what is asked of the run of a
tracker that only the main process has.

## Why is this bad?
Ranks that write one file at the same time leave a mixture of both, or fail; the second `os.makedirs` raises; a
tracker that is started on the main process only raises on the others, and one that is started everywhere gets every
table once per rank.

## Example
```python
wandb.log({"completions": wandb.Table(dataframe=df)})
```

## Use instead
```python
if self.accelerator.is_main_process:
    wandb.log({"completions": wandb.Table(dataframe=df)})
```

## Fix safety
A call that stands alone is put under `if accelerator.is_main_process:`, which on one process changes nothing. The
fix is *safe* for what is only shown to a reader (a tracker, a table on the screen) and calls nothing else, and
*unsafe* for files: whether other ranks need them, and have to wait for them, is for the author to say. It is a *hint*
where the call is part of a larger statement (`with open(…)`), where the function reads the file again, where what else
stands under a condition that asks for it is for all ranks, and where no `Accelerator` is in reach.

A folder is made by all ranks, with `exist_ok=True`, which is unsafe: one that is there already is no error any more. It
is safe where the code has looked whether it is there.

## Limits
What is a waste only, such as all ranks saving the same model at the end of a script, is not in the default set;
`--extend-select TRL008` reports it.

Only code that each process is known to run is looked at: hooks of a Trainer, the functions that it is given (reward
functions, `compute_metrics`) and what they call, hooks of Lightning for training and validation, programs that make an
`Accelerator`, a process group, a DDP, FSDP or DeepSpeed model or a trainer, and functions in which all ranks meet in a
collective, or that ask which of them this is, themselves or by another method of their class. An object is made by all
ranks if one of its methods does so, or has a decorator that lets only some of them in. Paths that are not known to be
the same on all ranks, and guards that are not known to let all ranks in, are silent; what is made of nothing but
settings (`args.output_dir`, `cfg["name"]`, the options of a command, what is in a file that all ranks read) is taken to
be the same on all of them. How often a loop goes round keeps nobody out of it, and a condition on a rank's own data
(`if loss < best_loss`) lets in whom it holds for, which may be several: the finding names it. A finding in a helper
says by which call in another file all ranks come there. Behind a
call in which all ranks meet, a guard before it is known to let them all in, as they are there. A condition of which one
part is enough is reported with that part where all ranks come by it: beside the rank, a question for the engine
(`is_main_process or use_deepspeed`), else a setting (`args.clear or ask()`). Files that each rank finds in one folder
are the same ones, and what is called after the time in whole seconds is one thing or several, by chance. `if
os.path.exists(path)` lets all ranks in that look at the same moment; where a folder is made behind it, which is seldom
more than one of them, `--extend-select TRL008` reports it. `wandb.run is not None` says where a run was started, not
that it was started once; as a Trainer's callback does so on the main process alone, `--extend-select TRL008` reports
it. A run with a `group` is meant to be one of several, but one with a name that is
the same on all ranks. What guards itself (`Trainer.log`, `Trainer.save_model`, `Trainer.push_to_hub`,
`accelerator.save`, `accelerator.log`) is right. A file that is opened to add to it (`"a"`) is left alone by the ranks
that have nothing to write: where all writes are in loops over what only some ranks have filled, or under a guard. A
script that loads a model with `device_map="auto"` is run by one process, as Accelerate refuses to train such a model on
several.

## References
- https://github.com/huggingface/trl/pull/1951
- https://huggingface.co/docs/accelerate/concept_guides/deferring_execution
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from trl_lint.analysis.events import SideEffect
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording import said


class UnguardedSideEffect(Rule[SideEffect]):
    code = "TRL008"
    name = "unguarded-side-effect"
    consequences = (Consequence.RACE, Consequence.CRASH, Consequence.WRONG_NUMBER, Consequence.WASTE)

    def check(self, event: SideEffect) -> Iterator[Violation]:
        if event.module.one_process:
            return
        if event.looked:
            yield _looked(event)
            return
        if event.has_run:
            yield _of_those_with_a_run(event)
            return
        apart = ", or one of its own where their clocks differ" if event.by_clock else ""
        where = f" where `{event.where}` holds" if event.where else ""
        outcome = apart + ("; the second one fails" if event.effect.fails and not event.by_clock else "")
        yield Violation(
            event=event,
            message=f"`{event.name}` runs on all processes{where}: each of them {event.effect.does}{outcome}",
            provenance=event.called,
            help=event.effect.instead or f"do it on the main process only: {said('main', event)}",
            consequence=_consequence(event),
        )


def _looked(event: SideEffect) -> Violation:
    """`if not os.path.exists(folder): os.makedirs(folder)`: as a rule the first rank is through before others look."""
    return Violation(
        event=event,
        message=(
            f"`{event.name}` runs on all processes that find nothing there: where two of them look at the same moment, "
            "the second one fails"
        ),
        provenance=event.called,
        help=event.effect.instead,
        consequence=Consequence.RACE,
        by_default=False,
    )


def _of_those_with_a_run(event: SideEffect) -> Violation:
    """`if wandb.run is not None: wandb.log(…)`: a Trainer's callback starts a run on the main process only."""
    return Violation(
        event=event,
        message=f"`{event.name}` runs on all processes that have a run, which may be more than the main one",
        provenance=event.called,
        help=f"ask for the main process, and not for a run: {said('main', event)}",
        consequence=Consequence.WASTE,
        by_default=False,
    )


def _consequence(event: SideEffect) -> Consequence:
    cls = event.owner.cls if event.owner is not None else None
    if event.effect.fails:
        return Consequence.CRASH
    # A library calls the methods of its own classes; `ABC` and `Generic` call none.
    bases = () if cls is None else cls.library_bases()
    is_hook = any(base.partition(".")[0] not in sys.stdlib_module_names for base in bases)
    return (event.effect.in_hooks if is_hook else None) or event.effect.consequence
