"""What commands start: several processes with a launcher, and which engine that is, or a program with bare python."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from trl_lint.domain.engines import TrainingEngine
from trl_lint.knowledge.engines import (
    CONFIGURATION_OPTION,
    COUNTS,
    DEEPSPEED_LAUNCHERS,
    ONE_NODE,
    ONE_PROCESS,
    OPTIONS,
    SETTINGS_FILES,
    SEVERAL_NODES,
    CountOption,
    spelled,
)
from trl_lint.knowledge.heuristics import FILE_TO_BE_CHOSEN
from trl_lint.launch.commands.command_wrappers import unwrap
from trl_lint.launch.commands.commands import Command, Word
from trl_lint.launch.judge.arguments import leaves_open
from trl_lint.launch.judge.gpus import Gpus, gpus, is_first_rank, is_one_of_several, may_be_one_of_several, options
from trl_lint.launch.judge.one_gpu import says_one_gpu, sees_one_gpu, starts_others_itself
from trl_lint.launch.judge.python_invocation import OwnLauncher, Start, bare_start, own_launcher

# Accelerate's default settings, which no launch names.
HOME = "~"
# Launchers that may follow another command: `submit.py --gpus 8 -- accelerate launch train.py`.
_ANYWHERE = (("accelerate", "launch"), ("torchrun",))
# The dotted name of a module, unlike a settings or data file: `package.train`, but not `config.yaml`.
_MODULE = re.compile(r"(?!.*\.(?:ya?ml|json|toml|txt|sh|cfg|ini|csv|log|pt|bin|ipynb)$)[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_PLAIN = re.compile(r"[A-Za-z]+[,;:]?")
SHELL_SCRIPTS = (".sh", ".bash")
_VARIABLE = re.compile(r"\$\{[^}]*\}|\$\([^)]*\)|\$\w+")


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
        pattern: The files that `configuration` may be, as for `fnmatch`; HOME if it is the default.
        by_program: Whether it starts one process, which starts the others, if there are any.
        one_each: Whether it says that it starts one process on each machine, perhaps by a variable as it is set nearby.
        values: The same options with their values, "" where there is none or it is unknown.
        first_rank: Whether it starts one process by hand, as the first of a number that it does not give.
        code: The Python files among the words after the program, which may be settings.
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
    pattern: str = ""
    by_program: bool = False
    one_each: bool = False
    values: frozenset[tuple[str, str]] = frozenset()
    first_rank: bool = False
    code: frozenset[str] = frozenset()


class BareStart(NamedTuple):
    """A program that bare python starts, as a path, and the names of the options passed to it.

    sees_several, sees_one: whether it is certain to see several GPUs, or at most one. open: whether other options may
    be passed as well, or other processes be started beside it.
    """

    program: str
    options: frozenset[str] = frozenset()
    sees_several: bool = False
    open: bool = False
    sees_one: bool = False


def starts(
    commands: Iterable[Command], alone: Collection[str] = ()
) -> tuple[tuple[LaunchEngines, ...], frozenset[BareStart]]:
    """The launches of several processes, and what bare python starts."""
    launches: list[LaunchEngines] = []
    bare: set[BareStart] = set()
    for command in commands:
        launcher = _launcher(command)
        start = None if launcher else bare_start(command)
        if launcher is not None and not _is_prose(launcher.words):
            launch = _launch(launcher.name, launcher.words)
            launch = launch if launch.program else replace(launch, program=_other_program(command, launcher))
            front = _front(command, launcher.words)
            is_alone = sees_one_gpu(command, launcher.name, alone, front, is_one=_is_one(launcher.words))
            launches.append(replace(launch, one_process=True) if is_alone else launch)
        elif start is not None and says_one_gpu(start):
            given = None if leaves_open(start.arguments) else _option_names(start.arguments)
            launches.append(
                LaunchEngines(program=_path_of(start), one_process=True, counted=True, options=given, by_program=True)
            )
        elif start is not None and is_one_of_several(start):
            by_program, is_first = starts_others_itself(start), is_first_rank(start)
            launches.append(LaunchEngines(program=_path_of(start), by_program=by_program, first_rank=is_first))
        elif start is not None and not may_be_one_of_several(start) and (path := _path_of(start)):
            bare.add(_started_bare(start, path))
    return tuple(launches), frozenset(bare)


def _started_bare(start: Start, path: str) -> BareStart:
    is_open = leaves_open(start.arguments) or any(each.name == "srun" for each in start.wrappers)
    seen = gpus(start).gpus
    is_alone = seen in (Gpus.ONE, Gpus.CPU)
    return BareStart(path, _option_names(start.arguments), seen is Gpus.SEVERAL, is_open, is_alone)


def _is_prose(words: Sequence[Word]) -> bool:
    """Whether all that follows a launcher are plain words, as in a text: `(deepspeed or python directly)`."""
    return len(words) > 1 and all(_PLAIN.fullmatch(each.raw) for each in words)


def _other_program(command: Command, launcher: OwnLauncher) -> str:
    """What a command starts that names no program: a shell script, or what the launcher's library has for it."""
    after = launcher.words[0].value or "" if launcher.words else ""
    return _script_of(command) or (launcher.program.format(after) if after.isidentifier() else "")


def _script_of(command: Command) -> str:
    """The shell script that a command starts: `./train.sh --launcher torchrun` starts what the script starts."""
    first = next(iter(unwrap(command.words).rest), None)
    return first.tail if first is not None and first.tail.endswith(SHELL_SCRIPTS) else ""


def launched_program(command: Command) -> str:
    """The path of the program that a command starts with a launcher of several processes; "" if it does not."""
    launcher = _launcher(command)
    return _started(launcher.words)[1] if launcher else ""


def _launcher(command: Command) -> OwnLauncher | None:
    """The launcher that a command calls, perhaps behind another command: then the words begin with the launcher."""
    if found := own_launcher(command):
        return found
    rest = unwrap(command.words).rest
    values = [each.value for each in rest]
    for names in _ANYWHERE:
        for place in range(len(values) - len(names) + 1):
            if tuple(values[place : place + len(names)]) == names:
                return OwnLauncher(" ".join(names), rest[place:])
    return None


def _front(command: Command, words: Sequence[Word]) -> Sequence[Word]:
    """The words before these, the last ones of a command."""
    rest = unwrap(command.words).rest
    return rest[: len(rest) - len(words)]


def _launch(launcher: str, words: Sequence[Word]) -> LaunchEngines:
    passed = [(name, value) for name, value, _ in options(words)]
    place, started = _started(words)
    launcher_options = _launcher_options(words)
    found = {option.engine for name, value in passed for option in OPTIONS if option.fits(name, value)}
    named = next(((value, text) for name, value, text in options(words) if spelled(name) == CONFIGURATION_OPTION), None)
    to_be_chosen = named is not None and FILE_TO_BE_CHOSEN.fits(named[0])
    configuration = named[0] if named and not to_be_chosen else ""
    is_deepspeed = launcher in DEEPSPEED_LAUNCHERS
    is_fixed = _has_fixed_option(ONE_PROCESS, launcher_options, words)
    return LaunchEngines(
        frozenset(found | {TrainingEngine.DEEPSPEED} if is_deepspeed else found),
        bool(found),
        configuration,
        started,
        frozenset(each.value for each in words if each.value and each.value.endswith(SETTINGS_FILES)),
        _is_engine_known(launcher, bool(found) or is_deepspeed or bool(configuration)) and not leaves_open(words),
        _has_fixed_option(ONE_NODE, passed, words),
        is_fixed and not _is_several(launcher_options),
        any(spelled(name) in COUNTS for name, _ in launcher_options),
        None if leaves_open(words) else _option_names(words[place:]),
        "*" if to_be_chosen else _pattern(named[1]) if named else HOME if _is_of_accelerate(launcher) else "",
        one_each=_any_fits(ONE_PROCESS, launcher_options),
        values=_option_values(words[place:]),
        code=frozenset(each.value for each in words[place + 1 :] if each.value and each.value.endswith(".py")),
    )


def _is_one(words: Sequence[Word]) -> bool:
    """Whether a launcher is told to start one process, by a value or by that of a variable."""
    passed = _launcher_options(words)
    return _any_fits(ONE_PROCESS, passed) and not _is_several(passed)


def _launcher_options(words: Sequence[Word]) -> list[tuple[str, str]]:
    """The options in front of the program, with their values."""
    place, _ = _started(words)
    return [(name, value) for name, value, _ in options(words[:place])]


def _pattern(option: str) -> str:
    """What is known of the file named by an option: `configs/*.yaml` for `--config_file configs/${KIND}.yaml`."""
    return _VARIABLE.sub("*", re.split(r"[\s=]", option, maxsplit=1)[-1].strip("\"'"))


def _is_several(passed: Sequence[tuple[str, str]]) -> bool:
    return _any_fits(SEVERAL_NODES, passed)


def _any_fits(table: Sequence[CountOption], passed: Sequence[tuple[str, str]]) -> bool:
    return any(option.fits(name, value) for name, value in passed for option in table)


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


def _option_names(words: Sequence[Word]) -> frozenset[str]:
    """The names of options as in Python code: `do_pred` for `--do-pred`."""
    return frozenset(name for name, _ in _option_values(words))


def _option_values(words: Sequence[Word]) -> frozenset[tuple[str, str]]:
    """The same with their values, that of a variable as it is set nearby; "" if there is none or it is unknown."""
    return frozenset((name.lstrip("-").replace("-", "_"), value) for name, value, _ in options(words))


def _path_of(start: Start) -> str:
    """The known path of what is started, also for a module."""
    return _file_of(start.module_name) if start.module_name else start.path


def _file_of(module: str) -> str:
    return f"{module.replace('.', '/')}.py"
