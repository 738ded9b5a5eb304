"""What a program gets from outside: options of its command line, and the contents of files that all ranks read.

For example:

    json.load(open(args.config))           SETTING, if the path is the same on all ranks
    json.load(open(f"{rank}.json"))        unknown
    tyro.cli(Config)                       SETTING
    fire.Fire(main)                        every parameter of `main` is a SETTING
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
    """`open(path)`: all ranks read the same content. A file opened for writing is unknown."""
    path, mode = args.get(0, "file"), args.get(1, "mode")
    reads = mode is None or (isinstance(mode.const, str) and mode.const.startswith("r"))
    return settings.SETTING if reads and path is not None and path.rank.is_uniform else UNKNOWN


def _command_line(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`fire.Fire(main)`: the command line gives the arguments of `main`, or the fields of a class."""
    callee = args.positional[0] if args.positional else UNKNOWN
    result = frame.engine.unresolved(frame, args, node)
    if not isinstance(callee, FunctionValue):
        return settings.SETTING
    callee.function.is_command = True
    frame.engine.note_stored(_command_line, callee.function)
    return result


def _read(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`json.load(file)`."""
    frame.engine.unresolved(frame, args, node)
    source = next(iter(args.all()), UNKNOWN)
    return settings.SETTING if source.rank.is_uniform else UNKNOWN


def _settings_object(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`Namespace(**options)`."""
    frame.engine.unresolved(frame, args, node)
    return settings.SETTING if _are_uniform(args) else UNKNOWN


def _dict_of_attributes(name: str, frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`EasyDict(options)`, in which programs store other things than settings, too."""
    frame.engine.unresolved(frame, args, node)
    return LibraryInstance(name, ranks.SETTING if args.all() and _are_uniform(args) else ranks.UNKNOWN)


def _are_uniform(args: Arguments) -> bool:
    return all(each.rank.is_uniform for each in args.all())


HANDLERS: dict[str, Callable[[Frame, Arguments, cst.CSTNode], Value]] = {
    **dict.fromkeys(COMMAND_LINES, _command_line),
    **dict.fromkeys(MAKE_SETTINGS, _settings_object),
    **dict.fromkeys(READ_FILES, _read),
    **{name: partial(_dict_of_attributes, name) for name in DICTS_OF_ATTRIBUTES},
}
