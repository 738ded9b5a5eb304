"""What a program is told from outside: options of its command line, and what is in files that all ranks read.

json.load(open(args.config))           SETTING, as long as the path is the same on all ranks
json.load(open(f"{rank}.json"))        nothing is known of it
tyro.cli(Config)                       SETTING
fire.Fire(main)                        whatever `main` has for a parameter is a SETTING
Namespace(**json.load(open(path)))     SETTING, and so is EasyDict(…)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from trl_lint.analysis.program.definitions.objects import FunctionValue
from trl_lint.analysis.state import settings
from trl_lint.domain import ranks
from trl_lint.domain.kinds import LibraryInstance
from trl_lint.domain.values import UNKNOWN, Value
from trl_lint.knowledge.python import COMMAND_LINES, DICTS_OF_ATTRIBUTES, MAKE_SETTINGS, READ_FILES

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame


def opened(args: Arguments) -> Value:
    """`open(path)`: what all ranks read is the same. Of a file that is written, nothing is known."""
    path, mode = args.get(0, "file"), args.get(1, "mode")
    reads = mode is None or (isinstance(mode.const, str) and mode.const.startswith("r"))
    return settings.SETTING if reads and path is not None and path.rank.is_alike else UNKNOWN


def _command_line(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`fire.Fire(main)`: what the command line says is what `main` is given, or what an object of a class holds."""
    callee = args.positional[0] if args.positional else UNKNOWN
    result = frame.engine.unresolved(frame, args, node)
    if not isinstance(callee, FunctionValue):
        return settings.SETTING
    callee.function.is_command = True
    frame.engine.noted(_command_line, callee.function)
    return result


def _read(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`json.load(file)`."""
    frame.engine.unresolved(frame, args, node)
    source = next(iter(args.all()), UNKNOWN)
    return settings.SETTING if source.rank.is_alike else UNKNOWN


def _made(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`Namespace(**options)`."""
    frame.engine.unresolved(frame, args, node)
    return settings.SETTING if _are_alike(args) else UNKNOWN


def _dict_of_attributes(name: str, frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`EasyDict(options)`, into which programs put more than settings."""
    frame.engine.unresolved(frame, args, node)
    return LibraryInstance(name, ranks.SETTING if args.all() and _are_alike(args) else ranks.UNKNOWN)


def _are_alike(args: Arguments) -> bool:
    return all(each.rank.is_alike for each in args.all())


HANDLERS: dict[str, Callable[[Frame, Arguments, cst.CSTNode], Value]] = {
    **dict.fromkeys(COMMAND_LINES, _command_line),
    **dict.fromkeys(MAKE_SETTINGS, _made),
    **dict.fromkeys(READ_FILES, _read),
    **{name: partial(_dict_of_attributes, name) for name in DICTS_OF_ATTRIBUTES},
}
