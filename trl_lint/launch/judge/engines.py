"""The engines that a file shows a project to use: by a launch command, a configuration, or code that configures one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from pathlib import PurePath

from trl_lint.analysis.program.project.source_text import code_of
from trl_lint.domain.engines import TrainingEngine
from trl_lint.knowledge.backends import COUNTS_NODES, LOCAL_ADDRESS
from trl_lint.knowledge.engines import (
    ACCELERATE,
    ASKING_FOR_GROUP,
    ASKS_FOR_GROUP,
    BUILT,
    CHOOSES_GPUS,
    COUNTS_GPUS,
    DDP_WORDS,
    IN_CODE,
    IN_CONFIGURATION,
    LAUNCHES,
    MENTIONS,
    NEEDING_GROUP,
    NEEDS_GROUP,
    SEVERAL_PROCESSES,
    SPAWN_WORDS,
    SPAWNS,
    SPAWNS_RANKS,
    STARTS,
    STARTS_GROUP,
    TRAINING,
    TRAINS_ON_SEVERAL,
    WRAPS_IN_DDP,
    Sign,
)
from trl_lint.launch.judge.one_gpu import one_gpu_variables
from trl_lint.launch.judge.own_stages import OwnStage, own_stage
from trl_lint.launch.judge.scanned_files import JSON, LARGEST, YAML
from trl_lint.launch.judge.spawn_options import spawn_options
from trl_lint.launch.judge.starts import BareStart, LaunchEngines, starts
from trl_lint.launch.judge.switched_off import running_code, switches_group_off
from trl_lint.launch.judge.uncalled_starts import starts_any_group
from trl_lint.launch.parsers import readers
from trl_lint.launch.parsers.mentions import mentioned
from trl_lint.launch.parsers.usage import own_commands

# What shows that a file is meant to be started: nobody would import one that starts the process group in its body.
_MAIN = re.compile(rb"^(?:if\s+__name__\s*==|(?:\w+\.)*init_process_group\()", re.MULTILINE)


class Group(str, Enum):
    """What code does about process groups: it may start one, or only uses one that other code may have started.

    NONE: it uses none; whether it starts one was not determined. ASKS: it asks whether there is one. NEEDS: it raises
    where there is none.
    """

    NONE = ""
    ASKS = "asks"
    NEEDS = "needs"
    STARTS = "starts"


class Reach(str, Enum):
    """Where the processes may be whose group code starts.

    NONE: it starts none. HERE: it starts the processes itself, with an address that only their machine can reach.
    """

    NONE = ""
    HERE = "here"
    ANYWHERE = "anywhere"


@dataclass(frozen=True, slots=True)
class FileEngines:
    """What a file shows: engines outside of launches, in the order of TrainingEngine, and its launches.

    Attributes:
        program: Whether it is a program, which says itself how it is run.
        bare: What it starts as one process, with bare python.
        spawns: Whether code creates processes itself, so that bare python starts several.
        spawns_ranks: Whether these are certainly the ranks of a job.
        one_process: Whether Accelerate's settings in it are for one process, None if it has none.
        names: The DeepSpeed settings files that Accelerate's settings name, or code.
        group: What code does about process groups.
        wraps: Whether code wraps a model in DistributedDataParallel, which raises where there is no group.
        built: The unqualified names of the modules whose classes settings have hydra build.
        trains: Whether code trains.
        own_stage: How code that starts DeepSpeed chooses its stage.
        spread: The programs that Python code starts as several processes.
        spawns_if: The options without which code creates no processes.
        spawns_per_gpu: Whether it starts as many ranks as its commands show it GPUs.
        reach: Where the processes may be whose group code starts.
        group_off: Whether it is a program, and a constant at its top switches off all code that starts the group.
    """

    beside: tuple[TrainingEngine, ...] = ()
    launches: tuple[LaunchEngines, ...] = ()
    program: bool = False
    bare: frozenset[BareStart] = frozenset()
    spawns: bool = False
    spawns_ranks: bool = False
    one_process: bool | None = None
    names: frozenset[str] = frozenset()
    group: Group = Group.NONE
    wraps: bool = False
    built: frozenset[str] = frozenset()
    trains: bool = False
    own_stage: OwnStage = OwnStage.NONE
    spread: frozenset[str] = frozenset()
    spawns_if: frozenset[str] = frozenset()
    reach: Reach = Reach.NONE
    group_off: bool = False
    spawns_per_gpu: bool = False

    @property
    def is_silent(self) -> bool:
        """Whether it shows nothing about how anything is run."""
        return replace(self, program=False, group=Group.NONE, wraps=False, trains=False) == _NOTHING

    @property
    def engines(self) -> tuple[TrainingEngine, ...]:
        """All engines that it shows."""
        return _in_order({*self.beside, *(engine for launch in self.launches for engine in launch.engines)})


_NOTHING = FileEngines()
# The key by which Accelerate's settings refer to DeepSpeed's settings file.
_DEEPSPEED_FILE = re.compile(rb"""^[ \t]*deepspeed_config_file:[ \t]*["']?([^\s"'#]+)""", re.MULTILINE)
# And the keywords by which code names it: of TrainingArguments, DeepSpeed's `initialize` and Accelerate's plugin.
_DEEPSPEED_FILE_IN_CODE = re.compile(rb"""\b(?:deepspeed|config|hf_ds_config)\s*=\s*["']([^\s"']+\.json)["']""")
_LOCAL_ADDRESS = re.compile(LOCAL_ADDRESS)
_COUNTS_NODES = re.compile(COUNTS_NODES)
# How much of the text before a word may belong to it: `["accelerate",` on the line above.
_BEFORE = 40


# Asked for each finding in a file.
@lru_cache(maxsize=64)
def is_program(data: bytes) -> bool:
    """Whether Python code is a program: `if __name__ == "__main__":`, or a body that starts the process group."""
    return (b"__name__" in data or b"init_process_group" in data) and _MAIN.search(data) is not None


def of_file(path: PurePath, data: bytes) -> FileEngines:
    """What a file shows; nothing if it can't be read."""
    if len(data) > LARGEST:
        return _NOTHING
    if path.suffix == ".py":
        running = running_code(data)
        spawns = _spawns(running)
        ranks = spawns and any(each.search(running) is not None for each in (SPAWNS_RANKS, TRAINS_ON_SEVERAL))
        group_off = not spawns and switches_group_off(data, running, may_start_group)
        program = is_program(data) or group_off
        launches, bare = starts(own_commands(path, data)) if program else ((), frozenset())
        by_code, more_bare = _started_by_code(path, data)
        stage, group, trains = own_stage(data), _group_of(data), any(each in data for each in TRAINING)
        engines = _of_code(data) | ({TrainingEngine.DEEPSPEED_ZERO3} if stage is OwnStage.SHARDED else set())
        shown = FileEngines(_in_order(engines), launches, program, bare | more_bare, spawns, ranks)
        behind = spawn_options(running) if ranks else frozenset[str]()
        shown = replace(shown, group=group, trains=trains, own_stage=stage, spread=by_code, spawns_if=behind)
        wraps = any(word in data for word in DDP_WORDS) and WRAPS_IN_DDP.search(data) is not None
        named = _named_settings(_DEEPSPEED_FILE_IN_CODE, data) if JSON.encode() in data else frozenset[str]()
        shown = replace(shown, spawns_per_gpu=ranks and _spawns_per_gpu(running))
        return replace(shown, reach=_reach_of(data, spawns_ranks=ranks), group_off=group_off, wraps=wraps, names=named)
    if readers.front_end(path) == readers.NOTEBOOK:  # its text says nothing about programs but how they are started
        launches, bare = _shown_starts(path, data) if readers.matters(data) else ((), frozenset[BareStart]())
        return FileEngines(launches=launches, bare=bare)
    is_start, one_process = STARTS.search(data) is not None, _is_for_one_process(path, data)
    built = _built(data) if path.suffix in YAML else frozenset[str]()
    if not is_start and one_process is None and not MENTIONS.search(data):
        return FileEngines(built=built)
    if path.suffix == JSON:
        return FileEngines(_in_order(_of_deepspeed_configuration(data)))
    launches, bare = _shown_starts(path, data) if is_start or LAUNCHES.search(data) else ((), frozenset())
    outside_launches = _in_order(_signs(IN_CONFIGURATION, data))
    named = _named_settings(_DEEPSPEED_FILE, data)
    found = FileEngines(outside_launches, launches, bare=bare, one_process=one_process, names=named)
    return replace(found, built=built)


def _named_settings(how: re.Pattern[bytes], data: bytes) -> frozenset[str]:
    return frozenset(match[1].decode("utf-8", "replace") for match in how.finditer(data))


def _built(data: bytes) -> frozenset[str]:
    found = BUILT.findall(data) if b"_target_" in data else ()
    return frozenset(module.rpartition(b".")[2].decode() for module in found)


def _is_for_one_process(path: PurePath, data: bytes) -> bool | None:
    """Whether settings of Accelerate are for one process; None for a file without them."""
    if path.suffix not in YAML or ACCELERATE.search(data) is None:
        return None
    return SEVERAL_PROCESSES.search(data) is None


def _group_of(data: bytes) -> Group:
    """What code does about process groups; if it uses none, it is not searched for starting one."""
    use = use_of_group(data)
    return Group.STARTS if use is not Group.NONE and may_start_group(data) else use


def use_of_group(data: bytes) -> Group:
    """What code does about a process group that it does not start."""
    if any(word in data for word in NEEDING_GROUP) and NEEDS_GROUP.search(data) is not None:
        return Group.NEEDS
    return Group.ASKS if ASKING_FOR_GROUP in data and ASKS_FOR_GROUP.search(data) is not None else Group.NONE


def _reach_of(data: bytes, *, spawns_ranks: bool) -> Reach:
    if not starts_any_group(data):
        return Reach.NONE
    is_here = spawns_ranks and _LOCAL_ADDRESS.search(data) is not None and not _COUNTS_NODES.search(code_of(data))
    return Reach.HERE if is_here else Reach.ANYWHERE


def may_start_group(data: bytes) -> bool:
    """Whether code may start a process group, or have a library do so; what is written about it starts none."""
    return _starts_group(data) and _starts_group(code_of(data))


def _starts_group(data: bytes) -> bool:
    return STARTS_GROUP.search(data.lower()) is not None


def _spawns(data: bytes) -> bool:
    """Whether code creates processes itself. The regex is slow, so it only searches lines with a word for that."""
    return any(SPAWNS.search(lines) is not None for word in SPAWN_WORDS for lines in _around(data, word))


def _spawns_per_gpu(running: bytes) -> bool:
    """Whether code that starts ranks may start one on each GPU that its commands show it."""
    if COUNTS_GPUS not in running or CHOOSES_GPUS.search(running) is not None:
        return False
    return SPAWNS_RANKS.search(running) is not None


def _around(data: bytes, word: bytes) -> Iterator[bytes]:
    """Each line of a text that contains a word, with the end of the text before it."""
    at = data.find(word)
    while at >= 0:
        end = data.find(b"\n", at)
        yield data[data.rfind(b"\n", 0, max(0, at - _BEFORE)) + 1 : end if end >= 0 else len(data)]
        at = data.find(word, at + 1)


def _of_code(data: bytes) -> set[TrainingEngine]:
    signs = [sign for sign in IN_CODE if sign.may_be_in(data)]
    # A string of several words (`fsdp="full_shard auto_wrap"`) is prose to `code_of`.
    whole = {sign.engine for sign in signs if "#" in sign.pattern and sign.is_in(data)}
    rest = [sign for sign in signs if "#" not in sign.pattern]
    code = code_of(data) if rest else b""
    return whole | {sign.engine for sign in rest if sign.is_in(code)}


def _in_order(engines: set[TrainingEngine]) -> tuple[TrainingEngine, ...]:
    return tuple(each for each in TrainingEngine if each in engines)


def _signs(signs: Sequence[Sign], text: bytes) -> set[TrainingEngine]:
    return {sign.engine for sign in signs if sign.is_in(text)}


def _of_deepspeed_configuration(data: bytes) -> set[TrainingEngine]:
    """The engines of DeepSpeed's own configuration: `{"zero_optimization": {"stage": 3}}`."""
    try:
        table = json.loads(data)
    except (ValueError, RecursionError):
        return set()
    zero = table.get("zero_optimization") if isinstance(table, dict) else None
    if not isinstance(zero, dict):
        return set()
    return (
        {TrainingEngine.DEEPSPEED, TrainingEngine.DEEPSPEED_ZERO3}
        if zero.get("stage") == 3
        else {TrainingEngine.DEEPSPEED}
    )


def _started_by_code(path: PurePath, data: bytes) -> tuple[frozenset[str], frozenset[BareStart]]:
    """The programs that Python code starts as several processes, and as one: `os.system("python train.py")`.

    A launcher may start one process, too: `os.system("torchrun --nproc_per_node 1 train.py")`. If the code also starts
    several, nothing is known of one, since a condition may choose between the two.
    """
    launches, bare = starts(readers.all_commands(path, data)) if readers.may_start(path, data) else ((), frozenset())
    # Settings of Accelerate may be for one process.
    several = (each for each in launches if not each.one_process and (each.counted or not each.pattern))
    spread = frozenset(each.program for each in several) - {""}
    if not all(each.one_process and each.program for each in launches):
        return spread, frozenset()
    once = {BareStart(each.program, each.options or frozenset(), open=each.options is None) for each in launches}
    return spread, bare | once


def _shown_starts(path: PurePath, data: bytes) -> tuple[tuple[LaunchEngines, ...], frozenset[BareStart]]:
    """What a text that is not Python starts."""
    alone = one_gpu_variables(data)
    return _with_mentioned(*starts(readers.all_commands(path, data), alone), *starts(mentioned(path, data), alone))


def _with_mentioned(
    launches: tuple[LaunchEngines, ...],
    bare: frozenset[BareStart],
    more_launches: tuple[LaunchEngines, ...],
    more_bare: frozenset[BareStart],
) -> tuple[tuple[LaunchEngines, ...], frozenset[BareStart]]:
    """What a text starts, and the programs that it only mentions and starts nowhere."""
    known = {each.program for each in launches} | {each.program for each in bare} | {""}
    launches += tuple(each for each in more_launches if each.program not in known)
    # A command may go on after what is mentioned of it.
    return launches, bare | {each._replace(open=True) for each in more_bare if each.program not in known}
