"""How a script is run: its calls show that every rank runs it, or that there is one process only.

What is noted of a program:

    accelerator = Accelerator()           module.starts: every rank runs this script
    AutoModel.from_pretrained(name, device_map="auto")   module.one_process: one process for all GPUs
    Own.from_pretrained(name, device_map="auto")         the same, with a class of the project
    def main(device_map: str = "auto"): …                the same, if a model is loaded with it
    device_map="auto" if torch.cuda.is_available() else None     the same
    device_map="auto" if args.num_gpus > 1 else None      the same, unless launches of several processes give it one GPU
    init_process_group("nccl", world_size=1, rank=0)     the same, also in a function that `mp.spawn` starts
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"             the same, in a script that creates an Accelerator or a Trainer
    import gradio                                        the same there

It is also noted for the run of each function: a helper in another file is what the program is that calls it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.data_events import DatasetPrepared, DealtTwice, EpochsAlike
from trl_lint.analysis.events import (
    DatasetDrawn,
    Event,
    Logged,
    MetricShown,
    SideEffect,
    UnshardedData,
)
from trl_lint.analysis.path_events import PathOfEachRank
from trl_lint.analysis.program.definitions.parameter_uses import default_text
from trl_lint.analysis.program.idioms.chosen_by_option import OptionTest, are_met, option_tests
from trl_lint.analysis.program.idioms.path_conditions import ifs_around
from trl_lint.analysis.program.syntax import identifiers, last_name, resolved
from trl_lint.analysis.state.event_trace import EventTrace, called_traces
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.processes import job_flags
from trl_lint.domain.kinds import is_none
from trl_lint.domain.numbers import is_one
from trl_lint.domain.provenance import Step
from trl_lint.knowledge import library
from trl_lint.knowledge.backends import SINGLE_PROCESS, SPREADING
from trl_lint.knowledge.process_starts import MAY_START_RANKS, SET_UP_SCRIPTS

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.control import Control
    from trl_lint.domain.engines import EnginesInUse
    from trl_lint.domain.values import Value

# The method by which classes of Transformers and Diffusers load a model, and those that inherit from them.
_LOADS = "from_pretrained"

# Events that do no harm on a single process.
_OF_SEVERAL = frozenset(
    {
        DatasetDrawn,
        DatasetPrepared,
        DealtTwice,
        EpochsAlike,
        Logged,
        MetricShown,
        PathOfEachRank,
        SideEffect,
        UnshardedData,
    }
)


class StartFacts:
    """What a run of a function shows: that each rank runs it, or one process for all GPUs.

    by_option: the loads that an option lets a model spread with, each with the tests of it.
    """

    def __init__(self) -> None:
        self.starts = False
        self.one_process = False
        self.by_option: dict[int, tuple[OptionTest, ...]] = {}


class ProgramStarts(Observer["Frame"]):
    needed_by = _OF_SEVERAL

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        _note(frame, name, args, node)

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        """Code that a program reaches in other files runs as the program does."""
        runs = called_traces(program)
        facts = [each.notes.of(StartFacts) for each in runs]
        is_single = any(each.one_process for each in facts) or any(map(_is_one_by_option, runs))
        if is_single or (program.started and all(map(_is_of_group_of_one, program.started))):
            return [each for each in events if type(each) not in _OF_SEVERAL]
        if not any(each.starts for each in facts):
            return events
        reached = {id(each.node) for run in runs for each in run.events.values()}
        return [_marked_as_started(each) if id(each.node) in reached else each for each in events]

    def on_unknown_call(self, frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
        """Any call may load the model: `BUILDERS[name](path, device_map="auto")`."""
        _record_load(frame, args, node)

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        """The class may be one of the project: `Own.from_pretrained(path, device_map="auto")`."""
        if name == _LOADS:
            _record_load(frame, args, node)

    def on_instantiate(self, frame: Frame, base: str, args: Arguments, node: cst.CSTNode) -> None:
        if base:
            _note(frame, base, args, node)


def _is_of_group_of_one(started: EventTrace) -> bool:
    """Whether what a program starts a process for is one process: `mp.spawn(main, nprocs=1)`, with a group of one."""
    return any(each.notes.of(StartFacts).one_process for each in called_traces(started))


def _marked_as_started(event: Event) -> Event:
    return replace(event, started=True) if isinstance(event, DatasetPrepared) else event


def _is_one_by_option(run: EventTrace) -> bool:
    by_option = run.notes.of(StartFacts).by_option
    return run.module is not None and any(_may_spread(each, run.module.engines()) for each in by_option.values())


def _may_spread(tests: tuple[OptionTest, ...], engines: EnginesInUse) -> bool:
    return are_met(tests, engines.given_options) is not False


def _note(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
    _record_load(frame, args, node)
    _record(frame, one_process=name in SET_UP_SCRIPTS and _is_group_of_one(frame, args))
    if name in SET_UP_SCRIPTS or library.is_subclass(name, "transformers.Trainer"):
        _record(frame, starts=True, one_process=frame.module.mentions(SINGLE_PROCESS))


def _record(frame: Frame, *, starts: bool = False, one_process: bool = False) -> None:
    if starts or one_process:
        frame.module.starts |= starts
        frame.module.surely_one_process |= one_process
        facts = frame.trace.notes.of(StartFacts)
        facts.starts |= starts
        facts.one_process |= one_process
        frame.engine.note_stored("starts", frame.module, starts, one_process)


def _record_load(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    """Note a load of a model onto all GPUs at once; one that an option lets it do is for the launches to tell."""
    if not _spreads_model(frame, args):
        return
    tests = option_tests(frame.module, node)
    if not tests:
        _record(frame, one_process=True)
        return
    frame.module.one_by_option[id(node)] = partial(_may_spread, tests)
    frame.trace.notes.of(StartFacts).by_option[id(node)] = tests
    frame.engine.note_stored("starts", frame.module, node)


def _spreads_model(frame: Frame, args: Arguments) -> bool:
    """Whether a model is loaded onto all GPUs at once: Accelerate refuses to train such a model on several ranks.

    The program is assumed to run with the default of a parameter, unless a caller is known to pass None, and where
    there are GPUs, if it asks for them.
    """
    device_map = args.keywords.get("device_map")
    if device_map is None or is_none(device_map):
        return False
    if isinstance(device_map.const, str):
        return device_map.const in SPREADING
    given = args.expression("device_map")
    return default_text(frame.function, given) in SPREADING or job_flags.text_on_gpus(frame, given) in SPREADING


def _is_group_of_one(frame: Frame, args: Arguments) -> bool:
    """Whether a process group of one is created unconditionally: `init_process_group("nccl", world_size=1, rank=0)`.

    A program may try it several times, on one port after the other.
    """
    if not is_one(args.keywords.get("world_size")) or not all(map(_is_attempt, frame.memory.control.conditions)):
        return False
    return not _is_of_this_run(frame, args.expression("world_size"))


def _is_of_this_run(frame: Frame, given: cst.BaseExpression | None) -> bool:
    """Whether the size of a group is given from outside, and may be another one in other runs of a function.

    The function tests it (`if world_size > 1:`), or its file starts processes: `mp.spawn(main, …)`, or `main(0, 1)`.
    """
    if given is None or isinstance(resolved(frame.root, given), cst.Integer):
        return False
    tested = {name for branch, _ in ifs_around(frame.root, given) for name in identifiers(branch.test)}
    return last_name(given) in tested or frame.module.mentions(MAY_START_RANKS)


def _is_attempt(condition: Control) -> bool:
    """Whether a condition is that nothing has been raised in a `try`."""
    return isinstance(condition.provenance, Step) and type(condition.provenance.node) is cst.Try


OBSERVER = ProgramStarts()
