"""Folders that are made anew: the line before has removed them, and fails where there is none.

shutil.rmtree(folder)
os.makedirs(folder)                          whoever gets here has just removed it, and finds none
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)                          not so: the first rank may have made it anew by then
if os.path.exists(folder):
    shutil.rmtree(folder)
os.makedirs(folder)                          the same
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import inwards, last_name

# Not in the tables: functions and methods that fail if there is no folder.
_REMOVES = frozenset({"rmdir", "rmtree"})
# What makes a path of a text, and the other way round.
_OF_PATHS = frozenset({"Path", "str"})


def is_removed_before(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether the statement before a call, in the same block, only removes the folder that the call makes."""
    for outer, inner in inwards(root, node):
        if isinstance(outer, (cst.IndentedBlock, cst.Module)) and isinstance(inner, cst.SimpleStatementLine):
            here = outer.body.index(inner)
            match outer.body[here - 1] if here else None:
                case cst.SimpleStatementLine(body=[cst.Expr(cst.Call() as call)]):
                    return _removes(call, _folder(node))
    return False


def _removes(call: cst.Call, folder: cst.BaseExpression | None) -> bool:
    removed = _folder(call) if last_name(call.func) in _REMOVES and len(call.args) <= 1 else None
    return removed is not None and folder is not None and removed.deep_equals(folder)


def _folder(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The folder that a call makes or removes: `out` of `os.makedirs(out)` and `Path(out).mkdir(parents=True)`."""
    match node:
        case cst.Call(args=[cst.Arg(value=folder, keyword=None), *_]):
            return _text_of(folder)
        case cst.Call(func=cst.Attribute(value=folder)):
            return _text_of(folder)
    return None


def _text_of(folder: cst.BaseExpression) -> cst.BaseExpression:
    match folder:
        case cst.Call(args=[cst.Arg(value=inside, keyword=None)]) if last_name(folder.func) in _OF_PATHS:
            return inside
    return folder
