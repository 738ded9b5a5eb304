"""Code that names one GPU by its number, which is another process's for all processes but one.

    mask = torch.tensor(rows, device="cuda:0")    model.cuda(0)    torch.device("cuda", 0)    device_map={"": 0}

In one process, that may be right. Where a launcher starts one process per GPU, the tensors of the second process meet
its model on `cuda:1`.
"""

from __future__ import annotations

import ast
import re

from trl_lint.launch.training.placement import dotted

_NUMBERED = re.compile(r"cuda:\d+\Z")
# Functions and methods whose last argument may be the number of a GPU, and keywords that may be it.
_TAKE_NUMBER = frozenset({"cuda", "device", "set_device", "to"})
_DEVICES = frozenset({"device", "device_map"})


def fixed_gpu(node: ast.AST) -> str:
    """The code that names a GPU by its number, as far as one node does so without its children; "" if none."""
    if isinstance(node, ast.Constant):
        return repr(node.value) if isinstance(node.value, str) and _NUMBERED.match(node.value) else ""
    if not isinstance(node, ast.Call):
        return ""
    name = (dotted(node.func) or "").rpartition(".")[2] or getattr(node.func, "attr", "")
    is_numbered = name in _TAKE_NUMBER and bool(node.args) and _is_number(node.args[-1])
    is_numbered |= any(each.arg in _DEVICES and _is_number(_only_value(each.value)) for each in node.keywords)
    return ast.unparse(node) if is_numbered else ""


def _only_value(node: ast.expr) -> ast.expr:
    """The device of a map with one entry, `{"": 0}`."""
    return node.values[0] if isinstance(node, ast.Dict) and len(node.values) == 1 else node


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int
