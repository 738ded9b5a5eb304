"""The path of a file to which a text is written here.

with open(path, "a") as file:
    file.write(text)                        `path`
    print(text, file=file)                  `path`
    csv.writer(file).writerow(row)          `path`
writer = csv.writer(file)
writer.writerow(row)                        `path`
open(path, "w").write(text)                 `path`
open(path, "wb").write(data)                none: it is no text
self.file.write(text)                       none: it is not known which file that is
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.open_files import bound_to
from trl_lint.analysis.program.syntax import ancestors, assigned_once, last_name, of_class

_OPENS = "open"
# Classes of the csv module that write rows to the file that they get first.
_WRITE_ROWS = frozenset({"DictWriter", "writer"})
# How many names are looked up.
_DEEPEST = 3


def path_of(root: cst.CSTNode, file: cst.BaseExpression, deepest: int = _DEEPEST) -> cst.BaseExpression | None:
    """The expression for the path of a text file that is opened for writing in some code, by what is written to."""
    if isinstance(file, cst.Call):
        if last_name(file.func) == _OPENS:
            return _path_opened(file)
        wraps = last_name(file.func) in _WRITE_ROWS and file.args
        return path_of(root, file.args[0].value, deepest - 1) if wraps and deepest else None
    if not isinstance(file, cst.Name):
        return None
    opened = _opened_as(root, file)
    if opened is not None:
        return _path_opened(opened)
    made = assigned_once(root, file.value)
    return path_of(root, made, deepest - 1) if isinstance(made, cst.Call) and deepest else None


def _opened_as(root: cst.CSTNode, file: cst.Name) -> cst.Call | None:
    """The call that opens the file of a name: that of the `with` around it, or else one that is assigned to it."""
    around = {id(each) for each in ancestors(root, file)}
    assigned = None
    for call in of_class(root, cst.Call):
        bound = bound_to(root, call) if last_name(call.func) == _OPENS else None
        if bound is not None and bound[0].value == file.value:
            if id(bound[1]) in around and bound[1] is not root:
                return call
            assigned = call if bound[1] is root else assigned
    return assigned


def _path_opened(call: cst.Call) -> cst.BaseExpression | None:
    """The path of a call that opens a file for writing a text: `open(path, "w")`, `path.open("w")`."""
    said = [arg for arg in call.args if arg.keyword is None or arg.keyword.value in ("file", "mode")]
    is_method = isinstance(call.func, cst.Attribute) and len(said) == 1
    place = 0 if is_method else 1
    mode = next(
        (arg.value for i, arg in enumerate(call.args) if (arg.keyword.value if arg.keyword else i) in (place, "mode")),
        None,
    )
    if not isinstance(mode, cst.SimpleString) or not _writes_text(mode.raw_value):
        return None
    if is_method and isinstance(call.func, cst.Attribute):
        return call.func.value
    return next((arg.value for arg in call.args if arg.keyword is None or arg.keyword.value == "file"), None)


def _writes_text(mode: str) -> bool:
    return mode[:1] in ("a", "w", "x") and "b" not in mode
