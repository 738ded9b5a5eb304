"""Each rank names the folder of a checkpoint for itself.

## What it does
Reports a folder that all ranks must share, and whose name each of them makes for itself: from its clock in seconds or
less (`datetime.now().strftime("%Y%m%d_%H%M%S")`, `time.time()`), from random letters (`uuid.uuid4()`,
`secrets.token_hex()`, `random` in a project that sets no seed), or from the number of its process (`os.getpid()`). Such
folders are

- `output_dir` of `TrainingArguments`, its heirs and TRL's configurations, also if it is assigned later;
- that of `accelerator.save_state`, of `save_checkpoint` of DeepSpeed's engine, and of `torch.distributed.checkpoint`.

## Why is this bad?
The processes of a launch do not start at the same moment, and draw different letters. So each has another folder:

- With `load_best_model_at_end=True`, a Trainer on each rank looks for the best checkpoint in the folder that it knows.
  Rank 0, which writes the weights, finds them; the others only warn, and keep the last ones. What is evaluated, or
  trained, after that is another model on each rank.
- Under FSDP and DeepSpeed, each rank writes its part of the model or of its optimizer. No folder has all parts, and the
  checkpoint cannot be loaded.
- Otherwise rank 0 writes the model, and each other rank its random state into a folder of its own: what a training goes
  on from has the random state of rank 0 only.

It shows only now and then if the name has the time in whole seconds, on which the clocks of all ranks may agree.

## Example
```python
run = datetime.now().strftime("%Y%m%d_%H%M%S")
args = TrainingArguments(output_dir=f"runs/{run}", load_best_model_at_end=True, ...)
```

## Use instead
```python
run = datetime.now().strftime("%Y%m%d_%H%M%S")
(run,) = broadcast_object_list([run])  # from accelerate.utils
args = TrainingArguments(output_dir=f"runs/{run}", load_best_model_at_end=True, ...)
```

Without Accelerate, once the process group is there: `names = [run]`, then `dist.broadcast_object_list(names, src=0)`.
Or give the name in the launch command, which runs once.

## Fix safety
There is only a *hint*: the name is best shared where it is made, and what else is named after it is for the author to
say.

## Limits
Not reported: names from settings or the environment (`$SLURM_JOB_ID`), which all ranks share; times in minutes or days;
names with the rank in them, which are meant to differ; names that are broadcast, or that only one rank uses; names that
are made before the processes are started; programs of one process; Lightning and Fabric, which broadcast the paths of
their checkpoints; a Trainer that writes no checkpoints (`save_strategy="no"`); files with `no_dist=True`; names of
unknown origin or form; unit tests. `random` counts as drawn in the same way on all ranks if any linted file mentions a
seed.

A name that is made where an option is not given (`if args.output_dir is None:`, `args.output_dir or stamp`, the default
of an option of argparse) is reported unless all known launches of several processes give the option, and is not in the
default set if it is not known what they give. A name that is kept in a field (`args.output_dir = stamp`) is followed
into other functions of the file if nothing else in the file sets a field of that name.

If nothing shows that the best model is loaded, or that ranks write parts of the model or its optimizer, only random
states are lost, and the finding is not in the default set. FSDP or DeepSpeed are shown by the project's launches,
settings or code.

## References
- transformers 4.51.3, trainer.py `Trainer._save_checkpoint`, `._save_rng_state`, `._load_best_model`
- https://github.com/TensorAuto/OpenTau/commit/241106e5217d446825e6d6e9396c4a7e7043e18e: the folder's name is made by
  the main process and broadcast
- https://github.com/h2oai/h2ogpt/commit/158b8836c45cbd915f1eabdcd72f23c5f876eda3
- https://github.com/swarajnanda2021/Dinov2_modified/commit/24aaebee1be3f96dba4fa89fc4ac42b5e9538662
- https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.path_events import PathOfEachRank
from trl_lint.domain.engines import ENGINE_NAMES, SHARDS_CHECKPOINTS
from trl_lint.domain.provenance import SharedName, source_step
from trl_lint.domain.ranks import Origin
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation

_PARTS = "each rank writes its part of the checkpoint into another folder, and no folder can be loaded"
_BEST = "only rank 0 finds the best checkpoint at the end, and the others keep their last weights"
_STATES = "rank 0 writes the model into one folder, and each other rank its random state into another"


class UnsharedPath(Rule[PathOfEachRank]):
    code = "TRL026"
    name = "unshared-path"
    consequences = (Consequence.WRONG_TRAINING, Consequence.CRASH, Consequence.RACE)
    preview = True

    def check(self, event: PathOfEachRank) -> Iterator[Violation]:
        is_given = _is_given(event)
        if event.module.one_process or is_given:
            return
        outcome, consequence = _outcome(event)
        yield Violation(
            event=event,
            message=f"`{event.user}` {_made(event)}: {outcome}",
            provenance=event.path.provenance,
            help=_help(event),
            consequence=consequence,
            by_default=False if consequence is Consequence.RACE or is_given is None else None,
        )


def _is_given(event: PathOfEachRank) -> bool | None:
    """Whether commands give the option without which the name is made; None if that is not known of all of them."""
    if not event.without:
        return False
    given = event.module.engines().given_options
    if given.launches:
        return all(any(name == event.without for name, _ in each) for each in given.launches)
    return None if given.names is None else event.without in given.names


def _made(event: PathOfEachRank) -> str:
    """How each rank makes the name."""
    gets = "may get another folder on each rank" if event.on_some_way else "gets another folder on each rank"
    gets = f"without `{event.without}` {gets}" if event.without else gets
    if Origin.CLOCK not in event.path.rank.origins:
        return f"{gets}, which makes its name for itself"
    in_seconds = isinstance(source_step(event.path.provenance), SharedName)
    unless = " (unless the clocks of all ranks show the same second)" if in_seconds else ""
    return f"{gets}, which reads the time for its name itself{unless}"


def _outcome(event: PathOfEachRank) -> tuple[str, Consequence]:
    if event.in_parts or event.engine_given:
        return _PARTS, Consequence.CRASH
    engines = event.module.engines()
    if event.loads_best and not engines.are_likely_only(SHARDS_CHECKPOINTS):
        return _BEST, Consequence.WRONG_TRAINING
    shown = engines.one_of(SHARDS_CHECKPOINTS)
    if shown is not None:
        return f"under {ENGINE_NAMES[shown.engine]} ({shown.evidence}) {_PARTS}", Consequence.CRASH
    return (_BEST, Consequence.WRONG_TRAINING) if event.loads_best else (_STATES, Consequence.RACE)


def _help(event: PathOfEachRank) -> str:
    if event.of_trainer or event.accelerator:
        share = "`(name,) = broadcast_object_list([name])` of `accelerate.utils`"
    else:
        share = "`names = [name]`, then `dist.broadcast_object_list(names, src=0)`"
    return f"make the name once and share it: {share}; or give it in the launch command"
