"""Every rank writes the same file, table or run.

## What it does
Reports effects on shared things that all processes of a distributed run perform:

- writing a file whose path is the same on all ranks: `open(path, "w")`, `torch.save`, `save_image`, `cv2.imwrite`,
  `DataFrame.to_csv`, `Path.write_text`, `save_pretrained` of a model, tokenizer, processor or config, and the like;
  downloading one, as data sets of torchvision do with `download=True`, and `snapshot_download` with `local_dir`;
- creating a folder without `exist_ok` (`os.makedirs`, `Path.mkdir`), or where that is an option which is off by default
  (`exist_ok=args.resume is not None`), removing or renaming a file, also with a file system of fsspec (`fs.makedirs`),
  iopath's `PathManager` or `tf.io.gfile`;
- commands of the shell that do the same, run by `os.system`, `os.popen` or `subprocess`: `rm -rf`, `mv`, `tar`,
  `unzip`, `wget`, `git clone`, `… > file`, and `mkdir` without `-p` where its error is raised;
- the hub: `create_repo`, `push_to_hub`;
- trackers: `wandb.init`, `SummaryWriter`, and `wandb.log`, `wandb.config.update` and `trackio.log` without a guard,
  and uses of a run that only the main process has, `wandb.run.id`, `wandb.run.summary[…] = …`, `wandb.config.x = 1`
  and `experiment.config.update` and `experiment.summary[…] = …` of Lightning's `WandbLogger` among them;
- printing a table.

Effects of one kind in the same branch or loop are one finding: one test of the rank around them does for all.

## Why is this bad?
Ranks that write one file at the same time leave a mixture, or fail. The second `os.makedirs` raises. A tracker that is
only started on the main process raises on the others; one that is started everywhere gets every table once per rank.

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
A call that is its own statement is put under `if accelerator.is_main_process:`, which changes nothing on one process.
Without an `Accelerator`, the condition is `state.is_world_process_zero` in a hook of a `TrainerCallback`, else the one
that the same function, class or file has for the main process, such as `if rank == 0:` or `if is_main_process():`, or
else `PartialState().is_main_process` in files that use Accelerate. A condition that is only asked where there are
several processes (`if num_gpus > 1:` around it), or of a parameter that may be None, is not used elsewhere. If all
ranks read the file again, they wait for it first.

- *Safe* for output that is only shown (a tracker, a printed table) and calls nothing else, unless `PartialState` is
  needed, and for `exist_ok=True` where the code has checked whether the folder exists.
- *Unsafe* for files, because other ranks may need them and have to wait for them, and for `exist_ok=True` elsewhere,
  because an existing folder is no longer an error.
- A *hint* if each rank writes data of its own, or what a function out of sight makes of each of its own rows, which a
  guard would lose, if the call is part of a larger statement (but for `with open(…) as file:` around lines that only
  write it), if the file, or one with the same text in its name, is read again where not all ranks could wait, or just
  before, while others may still read it, if all ranks remove what is there just before, if other code under a condition
  on it is meant for all ranks, if the weights of a model are saved that FSDP or DeepSpeed ZeRO-3 shards, and if there
  is no condition for the main process.

## Limits
Pure waste, such as all ranks saving the same model at the end of a script, is not in the default set;
`--extend-select TRL008` reports it.

Only code that every process is known to run is checked: hooks of a Trainer, functions passed to it (reward functions,
`compute_metrics`) and what they call, training and validation hooks of Lightning, what its trainer calls of loggers,
constructors of its callbacks, modules and data modules, those of OpenMMLab's metrics and hooks, those of detectron2's
hooks and of SpeechBrain's `Brain` in a project that starts several processes, `run` of heirs of a Fabric or
LightningLite, programs that create an `Accelerator`, a process group, a DDP, FSDP or DeepSpeed model or a trainer,
themselves or by a helper that only makes one, programs that a command of the project starts on several processes, but
for branches with other options than it gives (`if args.mode == "prepare":`), and functions in which all ranks
synchronise or that check for the rank, themselves, in another method of their class, or in a helper that only waits for
all ranks (`comm.synchronize()`). A finding in a helper names what shows that there are several processes, and the call
that leads there.

Paths that may differ between ranks are not reported; values made only of settings (`args.output_dir`, `cfg["name"]`,
command options, files that all ranks read) are assumed to be equal. Files that all ranks list in one folder are the
same, and a name with the time in whole seconds may be. How often a loop runs does not matter. Of a command of the
shell, only the first thing is reported that does harm, and nothing if it tests something itself (`[ -d out ] || …`) or
has a variable or another command in it (`$RANK`). What an object does that is only created under a test for the rank,
such as a callback, is not reported, nor what follows a use of a value that the other ranks lack: they have failed there
(TRL017). Nor are guards that may keep ranks out, except:

- conditions on a rank's own data (`if loss < best_loss`), which may hold on several ranks; the finding names them;
- guards before a call in which all ranks synchronise;
- a guard that asks if there is a process group (`not is_initialized() or get_rank() == 0`, or a helper that does) above
  the `init_process_group` of the same function, or the call that leads there: until then, it lets all ranks in;
- `is_main_process or use_deepspeed`, and `args.clear or ask()`, where one part lets all ranks in; so does that of `not
  args.spawned or args.rank == 0` if `--spawned` is off by default, and none of the project's commands gives it, of
  which some start several processes;
- `if os.path.exists(path)`, which is true for all ranks that look at the same moment. With a folder created, or a file
  downloaded after it, that rarely happens, so it is not in the default set. Nor is what a program makes if it is
  missing, before a Trainer of Lightning (in `fit`) or a Fabric (in `launch`) starts the other processes, if no command
  starts them all at once;
- a test for files where both branches start a run of a tracker, `if resumed: wandb.init(id=last)` with `else:
  wandb.init()`;
- a `try` that catches any error: as a rule, nothing goes wrong. One that catches errors of files (`except OSError`), or
  makes what must be new (`os.mkdir(lock)`), may be how one rank is chosen. `except FileNotFoundError` may be that only
  if something in it is taken away (`os.rename(job, mine)`);
- `wandb.run is not None`, which only shows that a run was started. A Trainer's callback does that on the main process,
  so this is not in the default set.

Also correct: runs with a `group` (unless all have the same name, and it is not one of ranks, `group="DDP"`), or with a
`mode` that the code chooses (one from the settings is the same on all ranks), functions that guard themselves
(`Trainer.log`, `Trainer.save_model`, `Trainer.push_to_hub`, `accelerator.save`, `accelerator.log`), a file opened for
appending that is only closed, that only some ranks write to (also in functions that it is passed to), or each rank only
lines that name it, a table that adds each rank's own rows to a file (`rows.to_csv(path, mode="a")`), a call whose error
is expected (`except FileExistsError`), what each rank does while it holds the lock of a file (`with FileLock(path):`),
and scripts that load a model with `device_map="auto"`, which run as one process. So is what a function only makes if it
is missing, where some ranks have called it before in the same way (`if rank == 0: build(path)`), and all have waited
for them. A file that all ranks append to keeps the lines of each, which is often meant; a name with the time in it
often makes one per rank. Neither is in the default set. Nor is a file that they write only with an option that is off
by default (`if args.save_config:`), and that the project's commands and code never set.

## References
- https://github.com/huggingface/trl/pull/1951
- https://huggingface.co/docs/accelerate/concept_guides/deferring_execution
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator

from trl_lint.analysis.events import SideEffect
from trl_lint.domain.provenance import StartedLater
from trl_lint.findings import Consequence
from trl_lint.knowledge.effects import APPENDED
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording import said

_OWN = "put the rank into the file's name, or gather the data first and write it on the main process only"
# How an effect is described that another process may see half done.
_REWRITES = "writes the same file"


class UnguardedSideEffect(Rule[SideEffect]):
    code = "TRL008"
    name = "unguarded-side-effect"
    consequences = (Consequence.RACE, Consequence.CRASH, Consequence.WRONG_NUMBER, Consequence.WASTE)

    def check(self, event: SideEffect) -> Iterator[Violation]:
        if event.module.one_process or _may_be_of_one_rank(event):
            return
        if event.looked:
            yield _looked(event)
            return
        if event.has_run:
            yield _of_those_with_a_run(event)
            return
        where = f" where `{event.where}` holds" if event.where else ""
        yield Violation(
            event=event,
            message=f"`{event.name}` runs on all processes{where}: each of them {event.effect.does}{_outcome(event)}",
            provenance=event.called,
            help=_OWN if event.own else _help(event),
            consequence=_consequence(event),
            by_default=None if _is_worth_a_look(event) else False,
            cause=_shared_block(event),
        )


def _may_be_of_one_rank(event: SideEffect) -> bool:
    """Whether an option leaves it to one rank, and a launch may give that option."""
    given = event.module.engines().given_options.names if event.without else frozenset[str]()
    return given is None or not event.without.isdisjoint(given)


def _is_worth_a_look(event: SideEffect) -> bool:
    """Whether it may do harm: of 45 places read that append, or are named by the clock, 13 were false and none real."""
    if event.early and not event.module.engines().at_once:
        return False
    return not event.by_clock and event.effect != APPENDED


def _shared_block(event: SideEffect) -> Hashable:
    """What it shares with effects of its kind in the same branch or loop: one test of the rank around it does for all.

    None in the body of a function, which may be long.
    """
    from libcst import FunctionDef, IndentedBlock

    from trl_lint.analysis.program.syntax import inwards

    blocks = [each for each in inwards(event.module.tree, event.node) if isinstance(each[1], IndentedBlock)]
    if not blocks or isinstance(blocks[-1][0], FunctionDef):
        return None
    return id(blocks[-1][1]), event.effect, event.own, event.where, _is_worth_a_look(event)


def _outcome(event: SideEffect) -> str:
    """What comes of it, as the end of the message."""
    apart = "; if their clocks differ, each has one of its own" if event.by_clock else ""
    if event.own:
        return f", with data of its own, and only those of the last one remain{apart}"
    if apart:
        return apart
    if event.effect.fails:
        return ", and all but the first fail"
    if event.effect.does.startswith(_REWRITES) and _consequence(event) is Consequence.RACE:
        content = ", with the same content," if event.own is False else ""
        return f"{content} at the same time, which may damage {'them' if event.effect.does.endswith('s') else 'it'}"
    return ""


def _help(event: SideEffect) -> str:
    if isinstance(event.called, StartedLater):
        return "start the process group before the condition asks for it"
    if event.effect.instead:
        return event.effect.instead
    if event.effect.fetches:
        return f"let the main process do it first, and the others wait for it: {said('first', event)}"
    return f"do it on the main process only: {said('main', event)}"


def _looked(event: SideEffect) -> Violation:
    """`if not os.path.exists(folder): os.makedirs(folder)`: usually the first rank is done before the others check."""
    outcome = "the second one fails" if event.effect.fails else f"each {event.effect.does}"
    return Violation(
        event=event,
        message=(
            f"`{event.name}` runs on all processes that find nothing there: if two of them look at the same moment, "
            + outcome
        ),
        provenance=event.called,
        help=_help(event),
        consequence=Consequence.RACE,
        by_default=False,
    )


def _of_those_with_a_run(event: SideEffect) -> Violation:
    """`if wandb.run is not None: wandb.log(…)`: a Trainer's callback starts a run on the main process only."""
    return Violation(
        event=event,
        message=f"`{event.name}` runs on all processes with an active run, which may be more than the main process",
        provenance=event.called,
        help=f"check for the main process instead of a run: {said('main', event)}",
        consequence=Consequence.WASTE,
        by_default=False,
    )


def _consequence(event: SideEffect) -> Consequence:
    cls = event.function.cls if event.function is not None else None
    if event.effect.fails:
        return Consequence.CRASH
    # A library calls the methods of its own classes, and what it is given; `ABC` and `Generic` call none.
    bases = () if cls is None else cls.library_bases()
    is_hook = any(base.partition(".")[0] not in sys.stdlib_module_names for base in bases)
    return (event.effect.in_hooks if is_hook or event.called_back else None) or event.effect.consequence
