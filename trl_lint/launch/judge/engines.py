"""The engines that a file shows a project to use: by a launch command, a configuration, or code that configures one."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePath
from typing import NamedTuple

from trl_lint.analysis.program.project.source_text import code_of
from trl_lint.domain.engines import TrainingEngine
from trl_lint.knowledge.engines import (
    ACCELERATE,
    ASKS_FOR_GROUP,
    BUILT,
    CONFIGURATION_OPTIONS,
    COUNTS,
    DEEPSPEED_LAUNCHERS,
    DROPS_LAST,
    DROPS_LAST_IN_CODE,
    DROPS_LAST_IN_SETTINGS,
    IN_CODE,
    IN_CONFIGURATION,
    LAUNCHES,
    MENTIONS,
    ONE_NODE,
    ONE_PROCESS,
    OPTIONS,
    SETTINGS_FILES,
    SEVERAL_NODES,
    SEVERAL_PROCESSES,
    SPAWN_WORDS,
    SPAWNS,
    SPAWNS_RANKS,
    STARTS,
    STARTS_GROUP,
    TRAINS,
    CountOption,
    Sign,
)
from trl_lint.launch.commands.command_wrappers import unwrap
from trl_lint.launch.commands.commands import Command, Word
from trl_lint.launch.judge.arguments import leaves_open
from trl_lint.launch.judge.gpus import Gpus, gpus, is_one_of_several, may_be_one_of_several, options
from trl_lint.launch.judge.one_gpu import one_gpu_variables, sees_one_gpu
from trl_lint.launch.judge.own_stages import OwnStage, own_stage
from trl_lint.launch.judge.python_invocation import Start, bare_start, own_launcher
from trl_lint.launch.judge.scanned_files import JSON, LARGEST, YAML
from trl_lint.launch.parsers import readers
from trl_lint.launch.parsers.mentions import mentioned
from trl_lint.launch.parsers.usage import own_commands

# Accelerate's default settings, which no launch names.
HOME = "~"
_MAIN = re.compile(rb"^if\s+__name__\s*==", re.MULTILINE)
# Launchers that may follow another command: `submit.py --gpus 8 -- accelerate launch train.py`.
_ANYWHERE = (("accelerate", "launch"), ("torchrun",))


@dataclass(frozen=True, slots=True)
class LaunchEngines:
    """The engines of one launch of several processes.

    Attributes:
        certain: Whether nothing else is possible.
        configuration: The file that decides, "" if the command itself does or it is not known.
        program: The path of the script or module that it starts, as far as known.
        names: The settings files among its words.
        whole: Whether everything that could name an engine is known.
        one_node, one_process: Whether it says that it runs on one machine, or as one process.
        counted: Whether it gives the number of processes.
        options: The names of the options passed to the program, None if some may be unknown.
        drops_last: Whether it asks for full batches only.
        pattern: The files that `configuration` may be, as for `fnmatch`; HOME if it is the default.
    """

    engines: frozenset[TrainingEngine] = frozenset()
    certain: bool = False
    configuration: str = ""
    program: str = ""
    names: frozenset[str] = frozenset()
    whole: bool = False
    one_node: bool = False
    one_process: bool = False
    counted: bool = False
    options: frozenset[str] | None = None
    drops_last: bool = False
    pattern: str = ""


class Group(str, Enum):
    """What code does about process groups: it may start one, or only asks for one that other code may have started.

    NONE: it asks for none; whether it starts one was not determined.
    """

    NONE = ""
    ASKS = "asks"
    STARTS = "starts"


class BareStart(NamedTuple):
    """A program that bare python starts, as a path, and the names of the options passed to it.

    sees_several: whether it is certain to see several GPUs.
    """

    program: str
    options: frozenset[str] = frozenset()
    sees_several: bool = False


@dataclass(frozen=True, slots=True)
class FileEngines:
    """What a file shows: engines outside of launches, in the order of TrainingEngine, and its launches.

    Attributes:
        program: Whether it is a program, which says itself how it is run.
        bare: What it starts as one process, with bare python.
        spawns: Whether code creates processes itself, so that bare python starts several.
        spawns_ranks: Whether these are certainly the ranks of a job.
        one_process: Whether Accelerate's settings in it are for one process, None if it has none.
        drops_last: Whether settings in it, or code, ask for full batches only.
        names: The DeepSpeed settings files that Accelerate's settings name.
        group: What code does about process groups.
        built: The unqualified names of the modules whose classes settings have hydra build.
        trains: Whether code trains.
        own_stage: How code that starts DeepSpeed chooses its stage.
    """

    beside: tuple[TrainingEngine, ...] = ()
    launches: tuple[LaunchEngines, ...] = ()
    program: bool = False
    bare: frozenset[BareStart] = frozenset()
    spawns: bool = False
    spawns_ranks: bool = False
    one_process: bool | None = None
    drops_last: bool = False
    names: frozenset[str] = frozenset()
    group: Group = Group.NONE
    built: frozenset[str] = frozenset()
    trains: bool = False
    own_stage: OwnStage = OwnStage.NONE

    @property
    def is_silent(self) -> bool:
        """Whether it shows nothing about how anything is run."""
        return replace(self, program=False, group=Group.NONE, trains=False) == _NOTHING

    @property
    def engines(self) -> tuple[TrainingEngine, ...]:
        """All engines that it shows."""
        return _in_order({*self.beside, *(engine for launch in self.launches for engine in launch.engines)})


_NOTHING = FileEngines()
# The key by which Accelerate's settings refer to DeepSpeed's settings file.
_DEEPSPEED_FILE = re.compile(rb"""^[ \t]*deepspeed_config_file:[ \t]*["']?([^\s"'#]+)""", re.MULTILINE)
# The dotted name of a module, unlike a settings or data file: `package.train`, but not `config.yaml`.
_MODULE = re.compile(r"(?!.*\.(?:ya?ml|json|toml|txt|sh|cfg|ini|csv|log|pt|bin|ipynb)$)[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_VARIABLE = re.compile(r"\$\{[^}]*\}|\$\([^)]*\)|\$\w+")
# How much of the text before a word may belong to it: `["accelerate",` on the line above.
_BEFORE = 40


# Asked for each finding in a file.
@lru_cache(maxsize=64)
def is_program(data: bytes) -> bool:
    """Whether Python code is a program: `if __name__ == "__main__":`."""
    return _MAIN.search(data) is not None


def of_file(path: PurePath, data: bytes) -> FileEngines:
    """What a file shows; nothing if it can't be read."""
    if len(data) > LARGEST:
        return _NOTHING
    if path.suffix == ".py":
        spawns = _spawns(data)
        ranks = spawns and SPAWNS_RANKS.search(data) is not None
        program = is_program(data)
        launches, bare = _starts(own_commands(path, data)) if program else ((), frozenset())
        bare |= _started_by_code(path, data)
        drops_last = DROPS_LAST_IN_CODE.search(data) is not None
        stage, group, trains = own_stage(data), _group_of(data), TRAINS.search(data) is not None
        engines = _of_code(data) | ({TrainingEngine.DEEPSPEED_ZERO3} if stage is OwnStage.SHARDED else set())
        shown = FileEngines(_in_order(engines), launches, program, bare, spawns, ranks, drops_last=drops_last)
        return replace(shown, group=group, trains=trains, own_stage=stage)
    drops_last = path.suffix in (JSON, *YAML) and DROPS_LAST_IN_SETTINGS.search(data) is not None
    starts, one_process = STARTS.search(data) is not None, _is_for_one_process(path, data)
    built = _built(data) if path.suffix in YAML else frozenset[str]()
    if not starts and one_process is None and not MENTIONS.search(data):
        return FileEngines(drops_last=drops_last, built=built)
    if path.suffix == JSON:
        return FileEngines(_in_order(_of_deepspeed_configuration(data)), drops_last=drops_last)
    launches, bare = _shown_starts(path, data) if starts or LAUNCHES.search(data) else ((), frozenset())
    outside_launches = _in_order(_signs(IN_CONFIGURATION, data))
    named = frozenset(match[1].decode("utf-8", "replace") for match in _DEEPSPEED_FILE.finditer(data))
    found = FileEngines(
        outside_launches, launches, bare=bare, one_process=one_process, drops_last=drops_last, names=named
    )
    return replace(found, built=built)


def _built(data: bytes) -> frozenset[str]:
    found = BUILT.findall(data) if b"_target_" in data else ()
    return frozenset(module.rpartition(b".")[2].decode() for module in found)


def _is_for_one_process(path: PurePath, data: bytes) -> bool | None:
    """Whether settings of Accelerate are for one process; None for a file without them."""
    if path.suffix not in YAML or ACCELERATE.search(data) is None:
        return None
    return SEVERAL_PROCESSES.search(data) is None


def _group_of(data: bytes) -> Group:
    """What code does about process groups; if it asks for none, it is not searched for starting one."""
    if ASKS_FOR_GROUP.search(data) is None:
        return Group.NONE
    return Group.STARTS if may_start_group(data) else Group.ASKS


def may_start_group(data: bytes) -> bool:
    """Whether code may start a process group, or have a library do so."""
    return STARTS_GROUP.search(data.lower()) is not None


def _spawns(data: bytes) -> bool:
    """Whether code creates processes itself. The regex is slow, so it only searches lines with a word for that."""
    return any(SPAWNS.search(lines) is not None for word in SPAWN_WORDS for lines in _around(data, word))


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


def _starts(
    commands: Iterable[Command], alone: Collection[str] = ()
) -> tuple[tuple[LaunchEngines, ...], frozenset[BareStart]]:
    """The launches of several processes, and what bare python starts."""
    launches: list[LaunchEngines] = []
    bare: set[BareStart] = set()
    for command in commands:
        launcher, words = _launcher(command)
        start = None if launcher else bare_start(command)
        if launcher:
            launch = _launch(launcher, words)
            launches.append(replace(launch, one_process=True) if sees_one_gpu(command, launcher, alone) else launch)
        elif start is not None and is_one_of_several(start):
            launches.append(LaunchEngines(program=_path_of(start)))
        elif start is not None and not may_be_one_of_several(start) and (path := _path_of(start)):
            bare.add(BareStart(path, _option_names(start.arguments), gpus(start).gpus is Gpus.SEVERAL))
    return tuple(launches), frozenset(bare)


def _started_by_code(path: PurePath, data: bytes) -> frozenset[BareStart]:
    """The programs that Python code starts with bare python: `os.system("python train.py")`.

    Nothing if it also launches several processes, since a condition may choose between the two.
    """
    launches, bare = _starts(readers.all_commands(path, data)) if readers.may_start(path, data) else ((), frozenset())
    return frozenset() if launches else bare


def _shown_starts(path: PurePath, data: bytes) -> tuple[tuple[LaunchEngines, ...], frozenset[BareStart]]:
    """What a text that is not Python starts."""
    alone = one_gpu_variables(data)
    return _with_mentioned(*_starts(readers.all_commands(path, data), alone), *_starts(mentioned(path, data), alone))


def _with_mentioned(
    launches: tuple[LaunchEngines, ...],
    bare: frozenset[BareStart],
    more_launches: tuple[LaunchEngines, ...],
    more_bare: frozenset[BareStart],
) -> tuple[tuple[LaunchEngines, ...], frozenset[BareStart]]:
    """What a text starts, and the programs that it only mentions and starts nowhere."""
    known = {each.program for each in launches} | {each.program for each in bare} | {""}
    launches += tuple(each for each in more_launches if each.program not in known)
    return launches, bare | {each for each in more_bare if each.program not in known}


def _option_names(words: Sequence[Word]) -> frozenset[str]:
    """The names of options as in Python code: `do_pred` for `--do-pred`."""
    return frozenset(name.lstrip("-").replace("-", "_") for name, _, _ in options(words))


def _path_of(start: Start) -> str:
    """The known path of what is started, also for a module."""
    module = start.module.value if start.module is not None else None
    return _file_of(module) if module else start.path


def _file_of(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


def launched_program(command: Command) -> str:
    """The path of the program that a command starts with a launcher of several processes; "" if it does not."""
    launcher, words = _launcher(command)
    return _started(words)[1] if launcher else ""


def _launcher(command: Command) -> tuple[str, Sequence[Word]]:
    """The launcher that a command calls, and the words after it; "" for none."""
    rest = unwrap(command.words).rest
    if found := own_launcher(command):
        return found, _words_after(rest, found.rpartition(" ")[2])
    values = [each.value for each in rest]
    for names in _ANYWHERE:
        for place in range(len(values) - len(names) + 1):
            if tuple(values[place : place + len(names)]) == names:
                return " ".join(names), rest[place:]
    return "", ()


def _words_after(words: Sequence[Word], launcher: str) -> Sequence[Word]:
    """The words after the launcher, or after its module or script."""
    names = (each.value or each.tail for each in words)
    place = next((place for place, name in enumerate(names) if name == launcher or name.endswith(f"/{launcher}")), -1)
    return words[place + 1 :]


def _launch(launcher: str, words: Sequence[Word]) -> LaunchEngines:
    passed = [(name, value) for name, value, _ in options(words)]
    place, started = _started(words)
    launcher_options = [(name, value) for name, value, _ in options(words[:place])]
    found = {option.engine for name, value in passed for option in OPTIONS if option.fits(name, value)}
    named = next(((value, text) for name, value, text in options(words) if name in CONFIGURATION_OPTIONS), None)
    configuration = named[0] if named else ""
    is_deepspeed = launcher in DEEPSPEED_LAUNCHERS
    return LaunchEngines(
        frozenset(found | {TrainingEngine.DEEPSPEED} if is_deepspeed else found),
        bool(found),
        configuration,
        started,
        frozenset(each.value for each in words if each.value and each.value.endswith(SETTINGS_FILES)),
        _is_engine_known(launcher, bool(found) or is_deepspeed or bool(configuration)) and not leaves_open(words),
        _has_fixed_option(ONE_NODE, passed, words),
        _has_fixed_option(ONE_PROCESS, launcher_options, words) and not _is_several(launcher_options),
        any(name in COUNTS for name, _ in launcher_options),
        None if leaves_open(words) else _option_names(words[place:]),
        _drops_last(words[place:]),
        _pattern(named[1]) if named else HOME if _is_of_accelerate(launcher) else "",
    )


def _pattern(option: str) -> str:
    """What is known of the file named by an option: `configs/*.yaml` for `--config_file configs/${KIND}.yaml`."""
    return _VARIABLE.sub("*", re.split(r"[\s=]", option, maxsplit=1)[-1].strip("\"'"))


def _drops_last(words: Sequence[Word]) -> bool:
    """Whether the option is passed to a program, as a flag or with a true value."""
    passed = [value for name, value, _ in options(words) if name.lstrip("-").replace("-", "_") == DROPS_LAST]
    return any(value.lower() in ("", "1", "on", "true", "yes") for value in passed)


def _is_several(passed: Sequence[tuple[str, str]]) -> bool:
    return any(option.fits(name, value) for name, value in passed for option in SEVERAL_NODES)


def _has_fixed_option(options: Sequence[CountOption], passed: Sequence[tuple[str, str]], words: Sequence[Word]) -> bool:
    """Whether one of these options is given with a fixed value."""
    return any(option.fits(name, value) and not _may_vary(name, words) for name, value in passed for option in options)


def _started(words: Sequence[Word]) -> tuple[int, str]:
    """The index of the program that a launcher starts among the words, and its path or the known end of it.

    If there is none, the number of words and "".
    """
    for place, word in enumerate(words):
        if word.tail.endswith(".py"):
            return place, word.tail
        if word.value in ("-m", "--module") and place + 1 < len(words):
            return place, _file_of(words[place + 1].tail)
    # `accelerate launch --config_file one.yaml package.train`: a forgotten `-m`.
    for place, (before, word) in enumerate(pairwise(words), 1):
        if _MODULE.fullmatch(word.value or "") and not before.raw.startswith("-"):
            return place, _file_of(word.value or "")
    return len(words), ""


def _is_engine_known(launcher: str, is_named: bool) -> bool:
    """Whether the engine of a launch follows from the command: Accelerate's default is in the home folder instead."""
    return is_named or not _is_of_accelerate(launcher)


def _is_of_accelerate(launcher: str) -> bool:
    return launcher.startswith(("accelerate", "python -m accelerate"))


def _may_vary(name: str, words: Sequence[Word]) -> bool:
    """Whether the value of an option comes from a variable, which has a default: `--nnodes=${NODES:-1}`."""
    behind = (*words[1:], None)
    return any(
        "$" in word.raw or (after is not None and "=" not in word.raw and "$" in after.raw)
        for word, after in zip(words, behind, strict=True)
        if word.raw.startswith(name)
    )
