"""One row per tensor operation: each name once, each member of each column in use, and no other table of them."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from trl_lint.knowledge import torch_ops
from trl_lint.knowledge.torch_ops import OPERATIONS, PLAIN, Operation, of_function, of_method, operation

ROOT = Path(__file__).parents[2]
NAMES = frozenset(row.name for row in OPERATIONS)
COLUMNS = [name for name in Operation._fields if name not in ("name", "reduction")]
# Modules of operations that torch does not have under the same name: on arrays, numbers and lists.
OTHERS = ("numpy", "math", "itertools", "builtins", "torch.nn.functional", "torch.nn.utils.rnn")


def test_each_name_has_one_row() -> None:
    assert len(NAMES) == len(OPERATIONS)
    assert "" not in NAMES


def test_each_row_says_something() -> None:
    assert [row.name for row in OPERATIONS if row._replace(name="") == PLAIN] == []


def test_a_row_is_found_by_its_name() -> None:
    for row in OPERATIONS:
        assert operation(row.name) is of_method(row.name) is of_function(row.name) is row
    assert operation("frobnicate") is None
    assert of_method("frobnicate") is of_function("torch.frobnicate") is PLAIN


def test_a_function_has_the_row_of_the_method_unless_it_has_its_own() -> None:
    assert of_function("torch.sum") is of_function("numpy.sum") is of_method("sum")
    assert of_function("torch.zeros") is operation("torch.zeros")
    assert of_method("zeros") is PLAIN
    assert of_function("mine.zeros") is PLAIN


@pytest.mark.parametrize("column", COLUMNS)
def test_each_member_of_a_column_is_in_use(column: str) -> None:
    """A member that no row has is a transfer that is never used."""
    values = {getattr(row, column) for row in (*OPERATIONS, PLAIN)}
    kind = type(getattr(PLAIN, column) if column != "in_place" else next(filter(None, values)))
    members = {False, True} if kind is bool else set(kind)
    assert members - values == set()


@pytest.mark.parametrize("column", [name for name in COLUMNS if not isinstance(getattr(PLAIN, name), bool)])
def test_each_member_of_a_column_is_asked_for(column: str) -> None:
    """By the member's name in the transfers or the fixes; the first of a column is the default."""
    text = "".join(path.read_text(encoding="utf-8") for path in modules())
    values = {getattr(row, column) for row in OPERATIONS} - {getattr(PLAIN, column)}
    asked = {member for member in values if f"{type(member).__name__}.{member.name}" in text}
    assert {member.name for member in values - asked} - OTHERWISE.get(column, set()) == set()


# Members that need no name: the text of the member is the dtype; the other branch of a test.
OTHERWISE = {"dtype": {"BOOL", "COUNTS", "FLOAT", "INT"}, "in_place": {"COMPUTES"}}


@pytest.mark.parametrize("column", [name for name in COLUMNS if isinstance(getattr(PLAIN, name), bool)])
def test_each_yes_or_no_of_a_row_is_asked_for(column: str) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in modules())
    assert re.search(rf"(?:\brow|of_method\([\w.]+\))\.{column}\b", text)


def test_a_reduction_has_its_kind_and_nothing_else_has() -> None:
    of_a_kind = {row.name for row in OPERATIONS if row.reduction}
    assert of_a_kind == {row.name for row in OPERATIONS if row.rank is torch_ops.RankTransfer.REDUCES}
    assert {row.name for row in OPERATIONS if row.repeats} <= of_a_kind


def test_what_is_evaluated_again_changes_nothing_and_draws_nothing() -> None:
    drawing = {member for member in torch_ops.RankTransfer if member.name.startswith("DRAWS")}
    again = [row for row in OPERATIONS if row.repeatable]
    assert [row.name for row in again if row.in_place or row.rank in drawing] == []
    assert [row.name for row in again if row.name.endswith("_") and not row.name.startswith("__")] == []


# --- the operations exist in torch -------------------------------------------------------------------------


# From a plug-in, or for named tensors, which torch 2.13 no longer has.
NOT_IN_TORCH = frozenset({"has_names", "names", "npu"})


@cache
def owners() -> list[object]:
    torch = pytest.importorskip("torch", reason="whether torch has an operation is asked of torch")
    numpy = pytest.importorskip("numpy", reason="whether numpy has an operation is asked of numpy")
    return [torch.Tensor, torch, numpy.ndarray, *map(importlib.import_module, OTHERS)]


def has(owner: object, name: str) -> bool:
    return hasattr(owner, name) and not inspect.ismodule(getattr(owner, name))


def is_there(row: Operation) -> bool:
    root, _, own = row.name.rpartition(".")
    return has(importlib.import_module(root), own) if root else any(has(place, own) for place in owners())


def test_torch_has_the_operations() -> None:
    missing = {row.name for row in OPERATIONS if not is_there(row)}
    assert {name for name in missing if name.rpartition(".")[2] not in NOT_IN_TORCH} == set()


# --- no other table has the operations ---------------------------------------------------------------------

BUILTINS = frozenset(dir(builtins))
WHY = "Not in torch_ops:"


@cache
def modules() -> list[Path]:
    inside = [ROOT / "trl_lint" / package for package in ("analysis", "fixes")]
    return sorted(path for folder in inside for path in folder.rglob("*.py"))


def tables(tree: ast.AST) -> Iterator[ast.expr]:
    """The literals with three or more names of operations: sets, lists, tuples, and dicts by their keys.

    Literals with only Python's own names do not count.
    """
    for node in ast.walk(tree):
        entries = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
        if isinstance(node, ast.Dict | ast.List | ast.Set | ast.Tuple):
            texts = {entry.value for entry in entries if isinstance(entry, ast.Constant)}
            named = NAMES & {text for text in texts if isinstance(text, str)}
            if len(named) >= 3 and not named <= BUILTINS:
                yield node


def is_explained(lines: list[str], node: ast.expr) -> bool:
    """Whether a comment above (or in the last line before) a table explains why it is separate."""
    above = node.lineno - 1
    while above and not lines[above].lstrip().startswith("#") and node.lineno - above < 5:
        above -= 1
    block = []
    while lines[above].lstrip().startswith("#"):
        block.append(lines[above].strip())
        above -= 1
    return any(WHY in line for line in block)


def test_names_of_operations_stand_in_no_other_table() -> None:
    for path in modules():
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        found = [lines[node.lineno - 1] for node in tables(ast.parse(text)) if not is_explained(lines, node)]
        assert found == [], path


def test_what_is_a_table_and_what_explains_it() -> None:
    def found(text: str) -> list[bool]:
        return [is_explained(text.splitlines(), node) for node in tables(ast.parse(text))]

    assert found('A = {"sum", "mean"}\n') == []
    assert found('A = {"sum", "min", "max"}\n') == []
    assert found('A = frozenset({"sum", "mean", "max"})\n') == [False]
    assert found('A = {"sum": 1, "mean": 2, "max": 3}\n') == [False]
    assert found('# Others.\nif name in ("sum", "mean", "max"):\n    pass\n') == [False]
    assert found('# Not in torch_ops: Python\'s own.\nA = frozenset(\n    {"sum", "min", "mean"}\n)\n') == [True]
