"""Code that names one GPU by its number, which is another process's for all processes but one.

    mask = torch.tensor(rows, device="cuda:0")    model.cuda(0)    torch.device("cuda", 0)    device_map={"": 0}

In one process, that may be right. Where a launcher starts one process per GPU, the tensors of the second process meet
its model on `cuda:1`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trl_lint.launch.training.placement import dotted

_NUMBERED = re.compile(r"cuda:\d+\Z")
# Functions and methods whose last argument may be the number of a GPU, and names and keys of what may be it.
_TAKE_NUMBER = frozenset({"cuda", "device", "set_device", "to"})
_DEVICES = frozenset({"device", "device_map"})
_TOO_DEEP = "…"


def fixed_gpu(node: ast.AST) -> str:
    """The code that names a GPU by its number, as far as one node does so without its children; "" if none."""
    if isinstance(node, ast.Constant):
        return repr(node.value) if isinstance(node.value, str) and _NUMBERED.match(node.value) else ""
    return _shown(node) if any(_is_number(each) for each in _devices(node)) else ""


def _devices(node: ast.AST) -> Iterator[ast.expr]:
    """What a node gives as a device, or as the device of a map with one entry: `{"": 0}`."""
    given: list[tuple[object, ast.expr]] = []
    if isinstance(node, ast.Call):
        name = (dotted(node.func) or "").rpartition(".")[2] or getattr(node.func, "attr", "")
        if name in _TAKE_NUMBER:
            yield from node.args[-1:]
        given = [(each.arg, each.value) for each in node.keywords]
    elif isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        given = [(key.value, value) for key, value in pairs if isinstance(key, ast.Constant)]
    elif isinstance(node, ast.Assign):
        names = [(dotted(each) or "").rpartition(".")[2] for each in node.targets]
        given = [(name, node.value) for name in names]
    for name, value in given:
        if name in _DEVICES:
            yield value.values[0] if isinstance(value, ast.Dict) and len(value.values) == 1 else value


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _shown(node: ast.AST) -> str:
    try:
        return ast.unparse(node)
    except RecursionError:  # a chain of hundreds of calls, which only Python's parser follows to its end
        return _TOO_DEEP
