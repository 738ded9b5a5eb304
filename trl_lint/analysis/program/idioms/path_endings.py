"""The text at the end of a path, as far as it is written out.

For example:

    os.path.join(folder, f"{step}.png")   .png
    folder / ("grid_" + name + ".jpg")    .jpg
    path                                  as for the value of the name, if the function assigns it once
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import assigned_once


def ending(root: cst.CSTNode, node: cst.CSTNode | None, depth: int = 3) -> str:
    """The text at the end of a path in a function (or module); "" if unknown."""
    match node:
        case cst.SimpleString():
            value = node.evaluated_value
            return value if isinstance(value, str) else ""
        case cst.FormattedString(parts=[*_, cst.FormattedStringText(value=text)]):
            return text
        case cst.ConcatenatedString(right=right) | cst.BinaryOperation(right=right):
            return ending(root, right, depth)
        case cst.Call(args=[*_, cst.Arg(value=last, star="")]):
            return ending(root, last, depth)
        case cst.Name(value=name) if depth:
            return ending(root, assigned_once(root, name), depth - 1)
    return ""
