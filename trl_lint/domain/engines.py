"""Engines: what wraps the model that is trained, and so decides which calls are collectives.

    accelerate launch --multi_gpu train.py           DDP
    accelerate launch --use_fsdp train.py            FSDP
    deepspeed train.py                               DEEPSPEED, of whatever stage
    zero_optimization: {stage: 3}                    DEEPSPEED_ZERO3, which is DEEPSPEED as well

What is known of a project is a fact like others: unknown, or the engines that it is shown to run under, each with the
place that shows it.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import NamedTuple


class TrainingEngine(str, Enum):
    """The values are the words of the setting `engines`."""

    DDP = "ddp"
    FSDP = "fsdp"
    DEEPSPEED = "deepspeed"
    DEEPSPEED_ZERO3 = "deepspeed-zero3"


# Under these a rank holds a piece of each parameter.
SHARDS_PARAMETERS = frozenset({TrainingEngine.FSDP, TrainingEngine.DEEPSPEED_ZERO3})
# Under these a checkpoint is written by all ranks together: DeepSpeed's has a part of the optimizer of each rank, and
# waits in a barrier at every stage.
SHARDS_CHECKPOINTS = frozenset({TrainingEngine.FSDP, TrainingEngine.DEEPSPEED, TrainingEngine.DEEPSPEED_ZERO3})
# Of these the wrapper hands on the attributes that it has not itself.
DEEPSPEED = frozenset({TrainingEngine.DEEPSPEED, TrainingEngine.DEEPSPEED_ZERO3})
HAND_ON_ATTRIBUTES = frozenset({TrainingEngine.FSDP}) | DEEPSPEED


# As messages call those that shard.
ENGINE_NAMES = {
    TrainingEngine.FSDP: "FSDP",
    TrainingEngine.DEEPSPEED: "DeepSpeed",
    TrainingEngine.DEEPSPEED_ZERO3: "DeepSpeed ZeRO-3",
}


class ShownEngine(NamedTuple):
    """An engine, and what shows that the project runs under it: a file, or the setting ("").

    chosen: not a file of settings that no launch in sight names, while launches name others.
    """

    engine: TrainingEngine
    where: str = ""
    chosen: bool = True

    @property
    def evidence(self) -> str:
        """What shows it, as messages say it."""
        return f"see `{self.where}`" if self.where else "see the setting `engines`"


class EnginesInUse(NamedTuple):
    """shown: what a project is shown to run under; nothing where that is unknown. only: nothing else is possible.

    one_node: each launch of a program says that it is on one machine. launched: whether there is a launch in sight.
    one_process: each command in sight that starts the program, or a program that imports the file, starts one process
    of it, and each of these programs is started. some_one_process: the same where some of them are started by none.
    own: those that the code of the program that was asked about chooses itself. alone: the options that it is given
    only where it is started as one process, of a program that other commands start on several. imported: whether
    another file of the project may import it. drops_last: whether all launches of the programs that it is a part of ask
    for full batches only, in their words, or in settings or code of theirs. no_group: whether these programs ask for a
    process group that nothing in them starts, and no launch in sight starts them on several processes.
    """

    shown: tuple[ShownEngine, ...] = ()
    only: bool = False
    one_node: bool = False
    launched: bool = False
    one_process: bool = False
    some_one_process: bool = False
    own: tuple[TrainingEngine, ...] = ()
    alone: frozenset[str] = frozenset()
    imported: bool = True
    drops_last: bool = False
    no_group: bool = False

    def one_of(self, engines: Collection[TrainingEngine]) -> ShownEngine | None:
        """The first that is one of these, as far as any is shown: of those that launches choose, if there are any."""
        found = sorted((each for each in self.shown if each.engine in engines), key=lambda each: not each.chosen)
        return next(iter(found), None)

    def are_likely_only(self, engines: Collection[TrainingEngine]) -> bool:
        """Whether it is certain, or settings name none but these and no launch in sight could have others.

        What a program chooses itself (`TrainingArguments(fsdp="full_shard")`) counts before all else. What other code
        knows of engines leaves the choice to whoever starts it.
        """
        if self.own:
            return all(engine in engines for engine in self.own)
        in_settings = [each.engine for each in self.shown if not each.where.endswith(".py")]
        if self.launched or not in_settings:
            return self.are_only(engines)
        return all(engine in engines for engine in in_settings)

    def are_only(self, engines: Collection[TrainingEngine]) -> bool:
        """Whether it is certain that no others than these are used."""
        return self.only and all(each.engine in engines for each in self.shown)


UNKNOWN_ENGINES = EnginesInUse()


def no_engines() -> EnginesInUse:
    """What is known where nobody has looked."""
    return UNKNOWN_ENGINES
