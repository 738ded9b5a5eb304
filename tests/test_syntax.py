"""The nodes below and around a node are those of LibCST, without whitespace and punctuation."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import libcst as cst
import pytest

from trl_lint.analysis.program.syntax import ancestors, below, children, of_class, precedes

FILES = sorted((Path(__file__).parents[1] / "trl_lint" / "analysis" / "interpreter").rglob("*.py"))[:12]
LEFT_OUT = (
    *(cst.SimpleWhitespace, cst.ParenthesizedWhitespace, cst.TrailingWhitespace, cst.EmptyLine, cst.Newline),
    *(cst.Comment, cst.Comma, cst.Colon, cst.Semicolon, cst.Dot, cst.AssignEqual, cst.Asynchronous, cst.ParamSlash),
    *(cst.LeftParen, cst.RightParen, cst.LeftSquareBracket, cst.RightSquareBracket),
    *(cst.LeftCurlyBrace, cst.RightCurlyBrace),
)
# The children of a type are determined at its first node: the first of each kind here has no format, default or base.
ODD = """\
f"{x}"; f"{x!r:>{width}}"
def f(a, /, b, *c, d=1, **e): return lambda x, *y, z=2: (x, y) if z else a
@decorated
class C(B, metaclass=M):
    x: int = 1
    async def g(self) -> None:
        async with a as b, c: await d
        async for x, *y in z: break
        else: pass
from ... import a as b, c
from .. import *
match x:
    case {"a": [1, *rest], **more} if rest: pass
    case C(1, y=2) | None as z: pass
x[1:2:3, ...] = [*a, {**b, "c": d}, {e for f in g if h}]
try: raise A from B
except* C as e: del e
finally: assert x, "y"
while (x := y) not in z: continue
type T[*Ts] = int
"""


@pytest.mark.parametrize("text", [ODD, *(path.read_text(encoding="utf-8") for path in FILES)])
def test_the_nodes_are_those_of_libcst_in_the_order_of_the_text(text):
    tree = cst.parse_module(text)
    todo, theirs = [tree], []
    while todo:
        node = todo.pop()
        theirs.append(node)
        todo.extend(each for each in reversed(node.children) if not isinstance(each, LEFT_OUT))
    ours = list(below(tree))
    assert len(ours) == len(theirs)
    assert all(one is other for one, other in zip(ours, theirs, strict=True))


def test_ancestors_lead_from_the_root_to_the_parent():
    tree = cst.parse_module("def f():\n    return g(x)\n")
    for node in below(tree):
        chain = (*ancestors(tree, node), node)
        assert chain[0] is tree
        assert all(any(each is inner for each in children(outer)) for outer, inner in pairwise(chain))
    assert ancestors(tree, cst.Name("x")) == ()


NESTED = """\
class C:
    def f(self, x):
        if x:
            return lambda y: (x, y)
        def g(): return x
        return g
    z = f(1, 2)
"""
ROOTS = (cst.Module, cst.ClassDef, cst.FunctionDef, cst.If, cst.Call)


@pytest.mark.parametrize("root", [each for kind in ROOTS for each in of_class(cst.parse_module(NESTED), kind)])
def test_a_definition_and_a_smaller_piece_are_walked_alike(root):
    nodes = list(below(root))
    assert nodes[0] is root
    for kind in set(map(type, nodes)):
        assert [*map(id, of_class(root, kind))] == [id(each) for each in nodes if type(each) is kind]
    for number, node in enumerate(nodes):
        around = ancestors(root, node)
        assert (around == ()) == (node is root)
        assert not around or any(each is node for each in children(around[-1]))
        inside = {id(each) for each in below(node)}
        later = [each for each in nodes[number:] if id(each) not in inside]
        assert [each for each in nodes if precedes(root, node, each)] == later
