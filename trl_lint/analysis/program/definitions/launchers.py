"""Functions that start the processes of a program: they are run once, before there are any ranks.

For example:

    command = [sys.executable, "-m", "torch.distributed.launch", "--nproc_per_node", str(gpus), script]
    subprocess.run(command)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import of_class
from trl_lint.knowledge.process_starts import LAUNCH_WORDS, RUNS_COMMAND

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo


def is_launcher(function: FunctionInfo | None) -> bool:
    """Whether a function puts a command that starts several processes together, in a file that runs commands."""
    if function is None or not function.module.mentions(RUNS_COMMAND):
        return False
    lists = of_class(function.node, cst.List)
    return any(_text(each.value).startswith(LAUNCH_WORDS) for found in lists for each in found.elements)


def _text(node: cst.BaseExpression) -> str:
    """The beginning of a string: `--nproc_per_node=` of `f"--nproc_per_node={gpus}"`."""
    match node:
        case cst.SimpleString():
            return node.raw_value
        case cst.FormattedString(parts=[cst.FormattedStringText(value=text), *_]):
            return text
    return ""
