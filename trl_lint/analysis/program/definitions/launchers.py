"""Functions that start the processes of a program: they are run once, before there are any ranks.

For example:

    command = [sys.executable, "-m", "torch.distributed.launch", "--nproc_per_node", str(gpus), script]
    subprocess.run(command)

    command = ["python", "-m"]
    command.append("torch.distributed.launch")          put together word by word
    os.system(" ".join(command))

    os.system(f"torchrun --nproc_per_node {gpus} train.py")           a line for the shell
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import assigned_once, last_name, of_class
from trl_lint.knowledge.process_starts import LAUNCH_WORDS, RUNS_COMMAND
from trl_lint.knowledge.shell_commands import RUN_LINES, RUN_WORDS

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo

_RUN = frozenset(name.rpartition(".")[2] for name in (*RUN_LINES, *RUN_WORDS))


def is_launcher(function: FunctionInfo | None) -> bool:
    """Whether a function puts a command that starts several processes together, in a file that runs commands."""
    if function is None or not function.module.mentions(RUNS_COMMAND):
        return False
    if any(_text(each).startswith(LAUNCH_WORDS) for each in _words(function.node)):
        return True
    return any(word in _text(line) for line in _lines(function) for word in LAUNCH_WORDS)


def _words(function: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """What is in lists, or is appended to one."""
    for found in of_class(function, cst.List):
        yield from (each.value for each in found.elements)
    for call in of_class(function, cst.Call):
        match call:
            case cst.Call(func=cst.Attribute(attr=cst.Name("append")), args=[cst.Arg(value=word)]):
                yield word


def _lines(function: FunctionInfo) -> Iterator[cst.BaseExpression]:
    """What is given to the functions that run a command, as it is written there or assigned to a name."""
    run = [each for each in of_class(function.node, cst.Call) if last_name(each.func) in _RUN and each.args]
    for line in (each.args[0].value for each in run):
        value = assigned_once(function.node, line.value) if isinstance(line, cst.Name) else line
        if value is not None:
            yield value


def _text(node: cst.BaseExpression) -> str:
    """A string, without what is filled in: `--nproc_per_node=` of `f"--nproc_per_node={gpus}"`."""
    match node:
        case cst.SimpleString():
            return node.raw_value
        case cst.FormattedString(parts=parts):
            return "".join(each.value for each in parts if isinstance(each, cst.FormattedStringText))
        case cst.ConcatenatedString(left=left, right=right):
            return _text(left) + _text(right)
        case cst.BinaryOperation(left=left, operator=cst.Add() | cst.Modulo()):
            return _text(left)
        case cst.Call(func=cst.Attribute(value=cst.SimpleString() as line, attr=cst.Name("format"))):
            return _text(line)
    return ""
