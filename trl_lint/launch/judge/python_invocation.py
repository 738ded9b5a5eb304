"""Which commands start a script or a module with plain Python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trl_lint.knowledge.heuristics import INTERPRETER_VARIABLE, TOOL_SCRIPT
from trl_lint.launch.commands.command_wrappers import Unwrapped, Wrapper, unwrap
from trl_lint.launch.commands.commands import Command, Word, laid_over
from trl_lint.launch.judge.launchers import (
    INTERPRETER,
    LAUNCHER_MODULES,
    LAUNCHER_SCRIPTS,
    NO_SCRIPT,
    PLAIN_FLAGS,
    TOOLS,
    VALUE_FLAGS,
    launcher,
)

# Runners that take a script directly, `uv run train.py`.
_SCRIPT_RUNNERS = frozenset({("uv", "run")})
_SCRIPT = re.compile(r"[^-].*\.py\Z", re.DOTALL)


class OwnLauncher(NamedTuple):
    """A launcher of several processes that a command calls.

    name: in words. words: those after it, or after its module or script. program: as in `Launcher`.
    """

    name: str
    words: Sequence[Word]
    program: str = ""


@dataclass(frozen=True, slots=True)
class Start:
    """One process of Python, started by nothing that starts several.

    Attributes:
        interpreter: None if the runner takes the script directly (`uv run train.py`).
        flags: Those of the interpreter, without `-m` and the module.
        script, module: What is started: one of the two. The script's path may be known by its `tail` only, a module by
            its value, which may begin with flags (`-mpkg.train`): see `module_name`.
        arguments: The words after it.
        wrappers: The prefixes in front, outermost first.
    """

    command: Command
    interpreter: Word | None
    flags: tuple[Word, ...]
    script: Word | None
    module: Word | None
    arguments: tuple[Word, ...]
    wrappers: tuple[Wrapper, ...]
    environment: Mapping[str, str | None]

    @property
    def path(self) -> str:
        """The script's path, or its known end; "" for a module."""
        return self.script.tail if self.script else ""

    @property
    def module_name(self) -> str:
        """The module's name; "" for a script."""
        return _module_name(self.module) if self.module else ""


def bare_start(command: Command) -> Start | None:
    """The start of a script or module with plain Python in this command, or None."""
    found = unwrap(command.words)
    if not found.rest or own_launcher(command):
        return None
    if not is_interpreter(found.rest[0]):
        return _by_runner(command, found)
    return _by_interpreter(command, found)


def own_launcher(command: Command) -> OwnLauncher | None:
    """The launcher of several processes that this command calls, or None."""
    rest = unwrap(command.words).rest
    if found := launcher([each.value for each in rest]):
        return OwnLauncher(" ".join(found.words), rest[len(found.words) :], found.program)
    if not rest or not is_interpreter(rest[0]):
        return None
    flags, behind = _flags(rest[1:])
    words = rest[1 + len(flags) :]
    if behind == "module":
        place = _place_of_module(words)
        name = _module_name(words[place]) if place < len(words) else ""
        return OwnLauncher(f"python -m {name}", words[place + 1 :]) if name in LAUNCHER_MODULES else None
    path = words[0].tail if behind == "script" else ""
    script = next((name for name in LAUNCHER_SCRIPTS if path == name or path.endswith("/" + name)), None)
    return OwnLauncher(script, words[1:]) if script else None


def is_interpreter(word: Word) -> bool:
    """Whether this word runs Python: by its name, by its path, or by the name of a variable."""
    if word.value is not None:
        return INTERPRETER.match(word.value) is not None
    if word.raw.endswith(("/python", "/python3", '/python"', '/python3"')):
        return INTERPRETER.match(word.tail) is not None
    return INTERPRETER_VARIABLE.fits(word.raw)


def _by_runner(command: Command, found: Unwrapped) -> Start | None:
    runner = found.wrappers[-1].prefix.words if found.wrappers else ()
    script = found.rest[0]
    if runner not in _SCRIPT_RUNNERS or not _SCRIPT.match(script.value or ""):
        return None
    if any(each.value in ("-m", "--module") for each in found.wrappers[-1].words):
        return None
    return Start(command, None, (), script, None, found.rest[1:], found.wrappers, _environment(command, found))


def _by_interpreter(command: Command, found: Unwrapped) -> Start | None:
    interpreter, *rest = found.rest
    flags, behind = _flags(rest)
    words = rest[len(flags) :]
    if not words or behind == "nothing":
        return None
    environment = _environment(command, found)
    if behind == "module":
        place = _place_of_module(words)
        if place == len(words) or _is_tool(_module_name(words[place])):
            return None
        behind_module = tuple(words[place + 1 :])
        return Start(command, interpreter, tuple(flags), None, words[place], behind_module, found.wrappers, environment)
    script = words[0]
    if not _starts_script(script):
        return None
    return Start(command, interpreter, tuple(flags), script, None, tuple(words[1:]), found.wrappers, environment)


def _environment(command: Command, found: Unwrapped) -> Mapping[str, str | None]:
    inherited = command.environment if all(each.prefix.environment for each in found.wrappers) else {}
    return laid_over(inherited, found.environment)


def _place_of_module(words: Sequence[Word]) -> int:
    """The index of the module among the words from the flag `m` on: of `-m mod`, `-um mod`, or `-mmod` as one word."""
    return 0 if (words[0].value or "").partition("m")[2] else 1


def _module_name(word: Word) -> str:
    value = word.value or ""
    return value.partition("m")[2] if value.startswith("-") else value


def _is_tool(name: str) -> bool:
    return name in TOOLS or name.partition(".")[0] in TOOLS or not re.fullmatch(r"[A-Za-z_][\w.]*", name)


def _starts_script(word: Word) -> bool:
    """Whether a word is a path to a Python file that may train; of an unknown one the end must say so."""
    path = word.tail if word.value is None else word.value
    name = path.rsplit("/", 1)[-1]
    return name.endswith(".py") and name != ".py" and not TOOL_SCRIPT.fits(name) and not re.search(r"[*?\n]", path)


def _flags(words: Sequence[Word]) -> tuple[list[Word], str]:
    """The interpreter's flags at the front, and what follows: "script", "module" or "nothing"."""
    flags: list[Word] = []
    for place, word in enumerate(words):
        if place < len(flags):
            continue
        value = word.value
        if value is None or len(value) < 2 or value[0] != "-":
            return flags, "script"
        kind = _flag(value)
        if kind in ("nothing", "module"):
            return flags, kind
        flags.append(word)
        if kind == "value":
            flags += words[place + 1 : place + 2]
    return flags, "nothing"


def _flag(value: str) -> str:
    """What a word of flags does: "plain", "value" (the next word belongs to it), "module" or "nothing"."""
    for place, letter in enumerate(value[1:], 1):
        if letter == "m":
            return "module"
        if letter in NO_SCRIPT or letter == "-":
            return "nothing"
        if letter in VALUE_FLAGS:
            return "value" if place == len(value) - 1 else "plain"
        if letter not in PLAIN_FLAGS:
            return "nothing"
    return "plain"
