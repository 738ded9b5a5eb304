"""Positions are those of LibCST's own provider."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from trl_lint.linter.positions import Positions

ROOT = Path(__file__).parents[1]
FILES = sorted(
    [*(ROOT / "fixtures").glob("*/broken*.py"), *(ROOT / "trl_lint" / "analysis" / "interpreter").rglob("*.py")]
)
ODD = (
    "\ufeffif x :\r\n\tdef f ( a , * , b = 1 ) :  # c\r\n\t\treturn ( ( a )\r\n\r\n )\r\n"
    "class  C : pass ; y = '''\na\rb'''\n@ d\nasync def g(): ...\n"
)
# The same statement several times, and within another one.
TWICE = (
    "def f():\n    g()\n\nclass C:\n    def f():\n        g()\n\ndef f():\n    g()\ng()\nif x:\n  g()\nelse:\n  g()\n"
)
# The last line has no end, and its text is in a comment, and in a string.
NO_END = "if x:\n  #  g(a, b)\n  y = '''\n  g(a, b)\n'''\n  g(a, b)"


def _files():
    """In every run every sixth file, which together have most kinds of nodes; the others are alike and slow."""
    for number, path in enumerate(FILES):
        marks = [pytest.mark.slow] if number % 6 else []
        yield pytest.param(path, id=path.relative_to(ROOT).as_posix(), marks=marks)


def places(tree):
    return MetadataWrapper(tree, unsafe_skip_copy=True).resolve(PositionProvider)


def check_all(tree, theirs):
    ours = Positions(tree)
    assert len(ours) == len(theirs)
    assert all(ours[node] == place for node, place in theirs.items())


def check_each(tree, text, theirs):
    some = [node for node in theirs if isinstance(node, (cst.Call, cst.ClassDef, cst.FunctionDef, cst.Name))][::7]
    assert all(Positions(tree, text)[node] == theirs[node] for node in some[:8])
    ours = Positions(tree, text)
    assert all(ours[node] == theirs[node] for node in some)


@pytest.mark.parametrize("path", list(_files()))
def test_nodes_of_a_file_stand_where_libcst_says(path):
    """All of them, and each of some without the others."""
    text = path.read_text(encoding="utf-8")
    tree = cst.parse_module(text)
    theirs = places(tree)
    check_all(tree, theirs)
    check_each(tree, text, theirs)


@pytest.mark.parametrize("text", [ODD, "", "\n\n# only\n"])
def test_all_nodes_stand_where_libcst_says(text):
    tree = cst.parse_module(text.encode())
    check_all(tree, places(tree))


@pytest.mark.parametrize("text", [ODD, TWICE, "x = 1"])
def test_a_node_is_found_without_the_others(text):
    tree = cst.parse_module(text)
    check_each(tree, text, places(tree))


@pytest.mark.parametrize("text", [NO_END, NO_END.replace("\n", "\r\n"), NO_END.replace("  g(a, b)\n'", "'")])
def test_the_last_line_may_have_no_end(text):
    tree = cst.parse_module(text)
    last = tree.body[0].body.body[-1]
    assert Positions(tree, text)[last] == places(tree)[last]


def test_a_node_of_another_tree_is_not_found():
    places = Positions(cst.parse_module("x = 1\n"), "x = 1\n")
    assert places.get(cst.Name("x")) is None
