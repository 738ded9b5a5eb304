"""Engines: what wraps the model that is trained, and so decides which calls are collectives.

    accelerate launch --multi_gpu train.py           DDP
    accelerate launch --use_fsdp train.py            FSDP
    deepspeed train.py                               DEEPSPEED, of any stage
    zero_optimization: {stage: 3}                    DEEPSPEED_ZERO3, which is also DEEPSPEED

What is known of a project is a fact like others: unknown, or the engines that it is shown to run under, each with the
place that shows it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class TrainingEngine(str, Enum):
    """The values are the words of the setting `engines`."""

    DDP = "ddp"
    FSDP = "fsdp"
    DEEPSPEED = "deepspeed"
    DEEPSPEED_ZERO3 = "deepspeed-zero3"


# With these engines a rank holds a piece of each parameter.
SHARDS_PARAMETERS = frozenset({TrainingEngine.FSDP, TrainingEngine.DEEPSPEED_ZERO3})
# With these engines each rank has all parameters, and runs a forward pass by itself; DDP, too, but it sends buffers.
LEAVE_WHOLE = frozenset({TrainingEngine.DEEPSPEED})
# With these engines all ranks write a checkpoint together: that of DeepSpeed has a part of the optimizer of each rank,
# and waits in a barrier at every stage.
SHARDS_CHECKPOINTS = frozenset({TrainingEngine.FSDP, TrainingEngine.DEEPSPEED, TrainingEngine.DEEPSPEED_ZERO3})
# The wrappers of these engines pass attributes that they lack on to the model.
DEEPSPEED = frozenset({TrainingEngine.DEEPSPEED, TrainingEngine.DEEPSPEED_ZERO3})
HAND_ON_ATTRIBUTES = frozenset({TrainingEngine.FSDP}) | DEEPSPEED


# The names of the sharding engines in messages.
ENGINE_NAMES = {
    TrainingEngine.FSDP: "FSDP",
    TrainingEngine.DEEPSPEED: "DeepSpeed",
    TrainingEngine.DEEPSPEED_ZERO3: "DeepSpeed ZeRO-3",
}


class ShownEngine(NamedTuple):
    """An engine, and what shows that the project runs under it: a file, or the setting ("").

    chosen: False for a settings file that no known launch command names, if launch commands name other files.
    """

    engine: TrainingEngine
    where: str = ""
    chosen: bool = True

    @property
    def evidence(self) -> str:
        """What shows it, as messages say it."""
        return f"see `{self.where}`" if self.where else "see the setting `engines`"


@dataclass(frozen=True, slots=True)
class SaidOptions:
    """The options of which files of a project speak that are no code.

    on: those that one of them turns on, or just mentions. off: the others, with their values. It is written as a
    digest, as there may be thousands.
    """

    on: frozenset[str]
    off: frozenset[tuple[str, object]]
    digest: str

    def values(self, option: str) -> tuple[object, ...]:
        """What an option is in all files that speak of it; empty if none does, or if one of them turns it on."""
        return tuple(value for name, value in self.off if name == option)


class GivenOptions(NamedTuple):
    """The options that commands give to programs, by their names in code: `do_pred` for `--do-pred`.

    names: of all commands; None if no launcher starts one, or some may be unknown. launches: for each that starts
    several processes, the options with their values, "" where one is unknown; empty if some options may be unknown.
    said: what settings, commands and documents of the project say, if launchers start these programs.
    """

    names: frozenset[str] | None = None
    launches: frozenset[frozenset[tuple[str, str]]] = frozenset()
    said: SaidOptions | None = None

    def are_always(self, option: str, values: Collection[str], default: str = "") -> bool:
        """Whether an option has one of these values in all known launches of several processes, if there are some.

        default: its value where a launch does not give it.
        """
        said = ({value for name, value in each if name == option} or {default} for each in self.launches)
        return bool(self.launches) and all(each.issubset(values) for each in said)


class EnginesInUse(NamedTuple):
    """What is known of the engines that a project, or one of its files, runs under.

    Attributes:
        shown: The engines that it is shown to run under, empty if unknown.
        only: Whether no other engine is possible.
        one_node: Whether each launch of a program says that it is on one machine, or the program starts all processes
            there itself.
        launched: Whether a launch is known; at_once: one that starts all processes before the program runs.
        one_process: Whether all programs that run the file are started by known commands, each of which starts one
            process.
        one_gpu: Whether each of these sees one GPU, too, so that nothing is wrapped in DataParallel.
        some_one_process: As `one_process`, if some of these programs are started by no command.
        chosen_by_program: The engines that the code of the programs that it is part of chooses, if each chooses some.
        single_process_options: The options that the program is given only where it is started as one process, if other
            commands start it on several.
        imported: Whether another file of the project may import it, or settings name a class of it to be built.
        no_group: Whether these programs use a process group that nothing in them starts, and no known launch starts
            them on several processes, or they raise where there is no group.
        several_shown: The file with a launch of one of these programs, or of the file itself, that says that it starts
            several processes on a machine, "" if there is none.
        started_on_several: The file with a launch of the file itself that says that it starts several at once, "" if
            there is none.
        started: Whether another file of the project has a command that starts the file.
        main_one_process: Whether each known start of the file itself starts one process, although others that import
            it may be started as several.
        started_from: The folders of the projects around this one with a command that starts a program of its name, or
            of one that imports it.
        home: The folder of the file's own project, "" if it is not known.
        lightning: Whether Lightning may run the file's modules: False if nothing around runs them, but other things.
        lightning_several: Whether programs that have Lightning run them name a strategy of several processes.
        untrained: The classes of the file that nothing around makes but settings, as parts of other models, or programs
            that have Lightning run nothing.
        unvalidated: The classes of the file that Lightning only runs without a validation.
        others_started: Whether commands of the project start other programs on several processes, and none is known
            that starts a program that the file is part of.
        given_options: The options that commands give to the programs that the file is part of.
        passed_over: The definitions of the file that nothing uses, beside others that programs import by name.
        taken: What other files import from the file by name, if it mentions Lightning; None if that is not known.
        missing: The modules that the file imports from folders of its own project that are in no folder there.
        one_device: Whether settings of the project build all its Trainers, each for one device, and no launch is known.
    """

    shown: tuple[ShownEngine, ...] = ()
    only: bool = False
    one_node: bool = False
    launched: bool = False
    one_process: bool = False
    some_one_process: bool = False
    chosen_by_program: tuple[TrainingEngine, ...] = ()
    single_process_options: frozenset[str] = frozenset()
    imported: bool = True
    no_group: bool = False
    several_shown: str = ""
    started: bool = False
    started_from: frozenset[str] = frozenset()
    home: str = ""
    lightning: bool = True
    lightning_several: bool = False
    untrained: frozenset[str] = frozenset()
    unvalidated: frozenset[str] = frozenset()
    others_started: bool = False
    given_options: GivenOptions = GivenOptions()
    passed_over: frozenset[str] = frozenset()
    at_once: bool = False
    taken: frozenset[str] | None = None
    one_gpu: bool = False
    started_on_several: str = ""
    one_device: bool = False
    missing: frozenset[str] = frozenset()
    main_one_process: bool = False

    def one_of(self, engines: Collection[TrainingEngine]) -> ShownEngine | None:
        """The first engine that is shown and is one of these; those that launches choose come first."""
        found = sorted((each for each in self.shown if each.engine in engines), key=lambda each: not each.chosen)
        return next(iter(found), None)

    def without_code(self) -> EnginesInUse:
        """The same, without the engines that only code shows, which may be that of other programs."""
        return self._replace(shown=tuple(each for each in self.shown if not each.where.endswith(".py")))

    def are_likely_only(self, engines: Collection[TrainingEngine]) -> bool:
        """Whether it is certain, or settings name only these and no known launch could use others.

        What a program chooses itself (`TrainingArguments(fsdp="full_shard")`) has priority. If other code mentions an
        engine, the choice is still left to the person who launches it.
        """
        if self.chosen_by_program:
            return all(engine in engines for engine in self.chosen_by_program)
        in_settings = [each.engine for each in self.shown if not each.where.endswith(".py")]
        if self.launched or not in_settings:
            return self.are_only(engines)
        return all(engine in engines for engine in in_settings)

    @property
    def always_several(self) -> bool:
        """Whether launches are known, all of several processes with a GPU each: nothing is wrapped in DataParallel."""
        return self.launched and not (self.one_process or self.some_one_process)

    def are_only(self, engines: Collection[TrainingEngine]) -> bool:
        """Whether it is certain that only these are used."""
        return self.only and all(each.engine in engines for each in self.shown)


UNKNOWN_ENGINES = EnginesInUse()


def no_engines() -> EnginesInUse:
    """The facts of a project that was not examined."""
    return UNKNOWN_ENGINES
