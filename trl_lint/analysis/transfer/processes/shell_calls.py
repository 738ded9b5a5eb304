"""What a call that runs a command changes, if that is the same command on all ranks.

os.system(f"rm -rf {args.output_dir}")                 removes the same files
subprocess.run(["rm", "-rf", args.output_dir])         so does this
subprocess.run("rm -rf out".split())                   and this
subprocess.check_call(["mkdir", args.output_dir])      creates the same folder, and fails on the other ranks
os.system(f"mkdir {args.output_dir}")                  nothing: the others go on after the error
os.system(f"rm -rf out_{rank}")                        nothing that they share
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.program.idioms.shell_lines import Change, change_of_line, change_of_words
from trl_lint.analysis.program.syntax import assigned_once, last_name
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.transfer.processes.shared_places import is_shared
from trl_lint.domain.heap import WILDCARD
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.schema import Effect
from trl_lint.knowledge.shell_commands import (
    CHECK_STATUS,
    CHECKS_STATUS,
    IN_FOLDER,
    IN_SHELL,
    RUN_LINES,
    RUN_WORDS,
)

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame

_SPLITS = "split"
# How many names and sums of a text are looked into.
_DEEPEST = 16


class SharedChange(NamedTuple):
    """effect: what each rank does, all in the same place. name: the command. place: the text that names the place."""

    effect: Effect
    name: str
    place: Value


def change_by(frame: Frame, function: str, args: Arguments) -> SharedChange | None:
    """What a call of a library's function changes by the command that it runs; None if nothing is known to be."""
    command = args.get(*(RUN_LINES.get(function) or RUN_WORDS[function]))
    if command is None or not _is_in_same_folder(args):
        return None
    parts, change = _read(frame, function, args, command)
    if change is None or not all(map(is_shared, parts)):
        return None
    effect, name = change
    place = next((each for each in parts if not each.rank.is_uniform), parts[0])
    return SharedChange(effect, function if WILDCARD in name else name or function, place)


def _read(frame: Frame, function: str, args: Arguments, command: Value) -> tuple[tuple[Value, ...], Change | None]:
    """The values of which a command is made, and what it changes."""
    checked = function in CHECK_STATUS or _is_true(args, CHECKS_STATUS)
    if function in RUN_LINES or _is_true(args, IN_SHELL):
        return (command,), change_of_line(_text(frame, command, args.expression(0)), checked=checked)
    words = containers.positions_of(frame, command) or _first_words(frame, args.expression(0))
    if words:
        texts = [each.const if isinstance(each.const, str) else WILDCARD for each in words]
        return (*words, *frame.memory.contents(command)), change_of_words(texts, checked=checked)
    split = _split_text(frame, args.expression(0))
    if split is not None and isinstance(split.const, str):
        return (split,), change_of_words(split.const.split(), checked=checked)
    return (command,), None


def _text(frame: Frame, value: Value, node: cst.BaseExpression | None, deepest: int = _DEEPEST) -> str:
    """A text with a wildcard for each part that is not known, also if it is added up from things of unknown classes."""
    if isinstance(value.const, str):
        return value.const
    match node if deepest else None:
        case cst.Name(name):
            made = assigned_once(frame.root, name)
            return WILDCARD if made is None else _part(frame, made, deepest - 1)
        case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
            return _part(frame, left, deepest - 1) + _part(frame, right, deepest - 1)
        case cst.Call(cst.Attribute(cst.SimpleString() as between, cst.Name("join")), [cst.Arg(cst.List(parts))]):
            return str(between.evaluated_value).join(_part(frame, each.value, deepest - 1) for each in parts)
    return WILDCARD


def _part(frame: Frame, node: cst.BaseExpression, deepest: int) -> str:
    return _text(frame, frame.value_of(node), node, deepest)


def _first_words(frame: Frame, command: cst.BaseExpression | None) -> tuple[Value, ...]:
    """The words with which a list is made, to which others may be added; none if it is made otherwise."""
    made = assigned_once(frame.root, command.value) if isinstance(command, cst.Name) else None
    if not isinstance(made, cst.List):
        return ()
    return tuple(frame.value_of(each.value) for each in made.elements)


def _split_text(frame: Frame, command: cst.BaseExpression | None) -> Value | None:
    """The text of which `text.split()` or `shlex.split(text)` makes words; None if it is something else."""
    if isinstance(command, cst.Name):
        command = assigned_once(frame.root, command.value)
    if not isinstance(command, cst.Call) or last_name(command.func) != _SPLITS:
        return None
    text = command.args[0].value if command.args else None
    if isinstance(command.func, cst.Attribute) and (text is None or not _is_module(frame, command.func.value)):
        text = command.func.value
    return None if text is None else frame.known_value(text)


def _is_module(frame: Frame, node: cst.BaseExpression) -> bool:
    return frame.value_of(node).kind is Kind.MODULE


def _is_true(args: Arguments, keyword: str) -> bool:
    value = args.keywords.get(keyword)
    return value is not None and value.const is True


def _is_in_same_folder(args: Arguments) -> bool:
    folder = args.keywords.get(IN_FOLDER)
    return folder is None or folder.kind is Kind.NONE or is_shared(folder)
