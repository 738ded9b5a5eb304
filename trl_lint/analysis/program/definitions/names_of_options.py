"""Names that a module binds to all options of its command line at once.

For example:

    for name in vars(args):
        globals()[name] = getattr(args, name)     each name that nothing else binds is an attribute of `args`
    globals().update(vars(args))                  the same
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import of_class

_ALL_NAMES = "globals"
_SETS_NAMES = rb"\bglobals\(\)"


@noted
def owners(module: Module) -> tuple[str, ...]:
    """The names of the objects whose attributes a module binds to names of its own."""
    return tuple(dict.fromkeys(_owners(module.tree))) if module.mentions(_SETS_NAMES, _ALL_NAMES) else ()


def _owners(tree: cst.Module) -> Iterator[str]:
    for assigned in of_class(tree, cst.Assign):
        match assigned:
            case cst.Assign(
                targets=[cst.AssignTarget(cst.Subscript(value=cst.Call(func=cst.Name("globals"))))],
                value=cst.Call(func=cst.Name("getattr"), args=[cst.Arg(cst.Name(owner)), *_]),
            ):
                yield owner
    for call in of_class(tree, cst.Call):
        match call:
            case cst.Call(
                func=cst.Attribute(value=cst.Call(func=cst.Name("globals")), attr=cst.Name("update")),
                args=[cst.Arg(cst.Call(func=cst.Name("vars"), args=[cst.Arg(cst.Name(owner))]))],
            ):
                yield owner
